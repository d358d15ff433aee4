import math
import re
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair.metrics import (
    madd,
    madd_curve,
    madd_optimal_bandwidth,
    permutation_test,
)
from skfair.statistics import CountTable


def histogram_madd(y_score, groups, n_bins, weights=None):
    """Sum of absolute differences of two normalised histograms (equations 1 to 3)."""
    edges = np.arange(n_bins + 1) / n_bins
    weights = np.ones(len(y_score)) if weights is None else np.asarray(weights)
    densities = []
    for group in np.unique(groups):
        own = groups == group
        counts, _ = np.histogram(y_score[own], bins=edges, weights=weights[own])
        densities.append(counts / weights[own].sum())
    return np.abs(densities[0] - densities[1]).sum()


@st.composite
def grid_rows(draw):
    """Rows whose scores often lie on edges of bins."""
    n_rows = draw(st.integers(2, 20))
    size = {"min_size": n_rows, "max_size": n_rows}
    grid = draw(st.sampled_from([1, 2, 7, 10, 49, 100]))
    score = st.one_of(st.integers(0, grid).map(lambda k: k / grid), st.floats(0, 1))
    groups = draw(st.lists(st.integers(0, 1), **size))
    groups[:2] = 0, 1
    weights = draw(st.lists(st.integers(1, 4), **size))
    return np.array(draw(st.lists(score, **size))), np.array(groups), np.array(weights)


@given(grid_rows(), st.one_of(st.integers(1, 500), st.sampled_from([7, 10, 49, 100])))
@pytest.mark.promise("MADD is the distance of the histograms")
def test_madd_is_the_distance_of_histograms(rows, n_bins):
    y_score, groups, weights = rows
    options = {"sensitive_features": groups, "bandwidth": 1 / n_bins}
    assert madd(None, y_score, **options) == pytest.approx(
        histogram_madd(y_score, groups, n_bins), abs=1e-14
    )
    assert madd(None, y_score, sample_weight=weights, **options) == pytest.approx(
        histogram_madd(y_score, groups, n_bins, weights), abs=1e-14
    )


@given(grid_rows(), st.floats(0.002, 1))
def test_bandwidth_gives_the_number_of_bins_rounded_down(rows, bandwidth):
    y_score, groups, _ = rows
    value = madd(None, y_score, sensitive_features=groups, bandwidth=bandwidth)
    n_bins = math.floor(1 / bandwidth + 1e-9)
    assert value == pytest.approx(histogram_madd(y_score, groups, n_bins), abs=1e-14)


@pytest.mark.slow
def test_bandwidth_of_one_over_m_gives_m_bins():
    # A score in the middle of each of m bins, the groups taking turns: 2 with m bins.
    for m in range(2, 501):
        y_score, groups = (np.arange(m) + 0.5) / m, np.arange(m) % 2
        value = madd(None, y_score, sensitive_features=groups, bandwidth=1 / m)
        assert value == pytest.approx(2, abs=1e-12), m


@pytest.mark.parametrize("m", [2, 3, 10, 100, 333])
def test_last_bin_is_closed(m):
    y_score, groups = [1.0, 1 - 0.5 / m], [0, 1]
    assert madd(None, y_score, sensitive_features=groups, bandwidth=1 / m) == 0


# Just below 5 / 6 and 9 / 10, m times the score is rounded up to k; 15 / 22 is below.
@pytest.mark.parametrize(
    ("m", "k"),
    [(2, 1), (6, 5), (10, 3), (10, 7), (10, 9), (22, 15), (49, 29), (100, 57)],
)
def test_bins_are_closed_on_the_left_at_exactly_k_over_m(m, k):
    def value(first, second):
        scores = [first, second]
        return madd(None, scores, sensitive_features=[0, 1], bandwidth=1 / m)

    edge = k / m
    assert value(edge, edge + 0.5 / m) == 0
    assert value(edge, np.nextafter(edge, 0)) == 2
    assert value(edge - 0.5 / m, np.nextafter(edge, 0)) == 0


@pytest.mark.slow
@given(grid_rows())
def test_curve_is_madd_at_every_bandwidth(rows):
    y_score, groups, weights = rows
    options = {"sensitive_features": groups, "sample_weight": weights}
    bandwidths, values = madd_curve(None, y_score, n_bandwidths=25, **options)
    assert bandwidths.tolist() == [1 / m for m in range(25, 0, -1)]
    expected = [madd(None, y_score, bandwidth=float(h), **options) for h in bandwidths]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("n_groups", [2, 40])
@pytest.mark.parametrize("multigroup", ["pairwise", "pooled"])
def test_rows_counted_by_bin_give_the_value_of_sorted_scores(n_groups, multigroup):
    rng = np.random.default_rng(0)
    y_score = rng.choice([rng.random(2000), rng.integers(0, 50, 2000) / 49])
    rows = {"sensitive_features": rng.integers(0, n_groups, 2000)}
    statistic = CountTable.from_rows(None, y_score, **rows)
    for n_bins in (1, 7, 10, 49):
        options = {"bandwidth": 1 / n_bins, "multigroup": multigroup}
        expected = madd(None, statistic, **options)
        assert madd(None, y_score, **rows, **options) == expected


@pytest.mark.parametrize("bandwidth", [1e-5, 1e-300, 5e-324])
def test_tiny_bandwidth_separates_distinct_scores(bandwidth):
    y_score, groups = [0.1, 0.5, 0.7, 0.9], [0, 1, 0, 1]
    assert madd(None, y_score, sensitive_features=groups, bandwidth=bandwidth) == 2


@pytest.mark.parametrize("n_bandwidths", [0, -3, 2.5, "many", None])
def test_curve_needs_a_positive_number_of_bandwidths(n_bandwidths):
    with pytest.raises(ValueError, match=f"n_bandwidths must .* got {n_bandwidths!r}"):
        madd_curve(
            None, [0.1, 0.9], sensitive_features=[0, 1], n_bandwidths=n_bandwidths
        )


@pytest.mark.parametrize("bandwidth", [0, 1.5, -1, np.nan, "x", None])
def test_bad_bandwidth(bandwidth):
    match = f"bandwidth must be .*got {re.escape(repr(bandwidth))}"
    with pytest.raises(ValueError, match=match):
        madd(None, [0.1, 0.2], sensitive_features=[0, 1], bandwidth=bandwidth)


def test_groups_too_small_for_a_stable_interval_are_refused():
    """A row of a weight below 1 is a row."""
    scores, rows = np.array([0.2, 0.9]), {"sensitive_features": [0, 1]}
    weighted = madd(None, scores, **rows, sample_weight=[0.3, 0.3])
    assert weighted == madd(None, scores, **rows)
    with pytest.raises(ValueError, match=r"1 and 1 rows, .*for bandwidth='auto'"):
        madd_optimal_bandwidth(None, scores, **rows, min_length=2)


@given(grid_rows(), st.floats(0.01, 1))
def test_range(rows, bandwidth):
    y_score, groups, weights = rows
    for sample_weight in (None, weights, weights / 7):
        value = madd(
            None,
            y_score,
            sensitive_features=groups,
            bandwidth=bandwidth,
            sample_weight=sample_weight,
        )
        assert 0 <= value <= 2


def test_pairs_of_a_test_have_the_madd_of_their_rows():
    """Also where bins next to each other, and the first one, are filled or empty."""
    scores = np.array([0.1, 0.3, 0.3, 0.6, 0.3, 0.6, 0.9, 0.9, 0.0, 0.1, 0.1, 1.0])
    groups = np.repeat(["a", "b", "c"], 4)
    metric = partial(madd, bandwidth=0.25)
    result = permutation_test(
        metric, None, scores, sensitive_features=groups, n_permutations=9
    )
    for pair in result.pairs.itertuples():
        both = np.isin(groups, [pair.group, pair.other])
        value = metric(None, scores[both], sensitive_features=groups[both])
        assert pair.gap == pytest.approx(value, rel=1e-12)
    assert sorted(result.pairs["gap"]) == [1.0, 1.5, 1.5]

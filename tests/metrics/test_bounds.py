"""Bounds from histograms contain the values of the rows."""

from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.metrics import (
    abcc,
    demographic_parity_difference,
    madd,
    max_gap,
    mcdp,
    metric_bounds,
)
from skfair.statistics import CountTable

BOUNDED = (mcdp, abcc, demographic_parity_difference)
ROUNDING = 1e-12


def random_case(rng):
    """Few rows with ties, atoms at 0 and 1, scores at and beside edges, and weights."""
    n_groups = int(rng.integers(2, 6))
    n = int(rng.integers(n_groups, 30))
    n_bins = 2 ** int(rng.integers(0, 6))
    edges = np.arange(n_bins + 1) / n_bins
    beside = np.nextafter(edges, rng.choice([0.0, 1.0]))
    pools = [
        rng.random(n),
        edges,
        beside,
        [0.0, 1.0],
        rng.random(3),
        rng.beta(0.2, 9, n),
    ]
    picked = [pools[i] for i in rng.integers(0, len(pools), 3)]
    scores = rng.choice(np.concatenate(picked), n)
    groups = np.append(np.arange(n_groups), rng.integers(0, n_groups, n - n_groups))
    weights = [None, rng.integers(1, 4, n), rng.random(n) + 0.01][rng.integers(3)]
    return scores, {"sensitive_features": groups, "sample_weight": weights}, n_bins


def check(rng):
    scores, rows, n_bins = random_case(rng)
    multigroup = ["pairwise", "pooled"][rng.integers(2)]
    histogram = CountTable.from_rows(None, scores, n_bins=n_bins, **rows)
    whole = histogram.totals.dtype.kind == "i"
    cells = histogram.to_frame()
    for metric in BOUNDED:
        value = metric(None, scores, multigroup=multigroup, **rows)
        found = metric_bounds(metric, histogram, multigroup=multigroup)
        rounding = 0 if metric is mcdp and whole else ROUNDING
        assert found.lower - rounding <= value <= found.upper + rounding
        assert 0 <= found.lower <= found.upper <= 1
        if metric is not mcdp:
            assert found.width <= 2 / n_bins + ROUNDING
        elif (cells["low"] == cells["high"]).all():
            assert found.width <= rounding
    fine = n_bins // 2 ** int(rng.integers(0, n_bins.bit_length()))
    found = metric_bounds(madd, histogram, bandwidth=1 / fine, multigroup=multigroup)
    value = madd(None, scores, bandwidth=1 / fine, multigroup=multigroup, **rows)
    assert found.lower == found.upper == pytest.approx(value, abs=0 if whole else 1e-12)


@pytest.mark.slow
@pytest.mark.promise("Bounds of a histogram contain the value of the rows")
def test_bounds_contain_the_values():
    rng = np.random.default_rng(0)
    for _ in range(30):
        check(rng)


@pytest.mark.slow
def test_bounds_are_those_of_any_rows_with_this_histogram():
    """No rows with the same cells lie outside, and some come close to each bound."""
    rng = np.random.default_rng(3)
    scores, groups = rng.random(40), np.repeat([0, 1], [15, 25])
    histogram = CountTable.from_rows(None, scores, sensitive_features=groups, n_bins=4)
    bins, values = np.floor(scores * 4), []
    for _ in range(200):
        moved = scores.copy()
        for cell in {*zip(bins, groups, strict=True)}:
            rows = np.flatnonzero((bins == cell[0]) & (groups == cell[1]))
            rows = rows[scores[rows].argsort()]
            low, high = scores[rows[[0, -1]]]
            if len(rows) > 2:
                middle = rng.choice([low, high, (low + high) / 2])
                moved[rows[1:-1]] = middle
        values.append(mcdp(None, moved, sensitive_features=groups))
    found = metric_bounds(mcdp, histogram)
    assert found.lower <= min(values)
    assert max(values) <= found.upper
    assert max(values) > found.upper - 0.12  # one row stays at the other end of a cell


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["smooth", "crowded", "tied"])
def test_width_of_one_pass(shape):
    rng = np.random.default_rng(0)
    n = 200_000
    groups = rng.integers(0, 2, n)
    scores = {
        "smooth": rng.beta(2 + 0.3 * groups, 3),
        "crowded": np.exp(rng.normal(-6 + 0.3 * groups, 2)).clip(0, 1),
        "tied": rng.beta(2 + 0.3 * groups, 3).round(3),
    }[shape]
    histogram = CountTable.from_rows(
        None, scores, sensitive_features=groups, n_bins=2**16
    )
    found = metric_bounds(mcdp, histogram)
    value = mcdp(None, scores, sensitive_features=groups)
    assert found.lower <= value <= found.upper
    assert found.width < 1e-3


@pytest.mark.slow
def test_many_groups():
    rng = np.random.default_rng(0)
    n_groups = 40
    groups = np.append(np.arange(n_groups), rng.integers(0, n_groups, 3000))
    scores = rng.beta(1 + groups / n_groups, 2)
    rows = {"sensitive_features": groups}
    histogram = CountTable.from_rows(None, scores, n_bins=2**20, **rows)
    for multigroup in "pairwise", "pooled":
        value = mcdp(None, scores, multigroup=multigroup, **rows)
        found = metric_bounds(mcdp, histogram, multigroup=multigroup)
        assert found.lower <= value <= found.upper
        assert found.width < 0.02


@pytest.mark.slow
def test_windows():
    """MCDP(epsilon) is bounded like MCDP(0), for two groups and for many."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores, rows, n_bins = random_case(rng)
        histogram = CountTable.from_rows(None, scores, n_bins=n_bins, **rows)
        options = {"epsilon": float(rng.choice([0.01, 0.1, rng.random() / 2]))}
        options["multigroup"] = ["pairwise", "pooled"][rng.integers(2)]
        found = metric_bounds(mcdp, histogram, **options)
        value = mcdp(None, scores, **options, **rows)
        assert found.lower - ROUNDING <= value <= found.upper + ROUNDING
        assert metric_bounds(partial(mcdp, **options), histogram) == found


def test_what_has_no_bounds():
    histogram = CountTable.from_rows(
        None, [0.1, 0.9], sensitive_features=[0, 1], n_bins=64
    )
    with pytest.raises(ValueError, match=r"one of .*madd.*mcdp.* got <function max_g"):
        metric_bounds(max_gap, histogram)
    with pytest.raises(ValueError, match="scale must be left at its default: bounds"):
        metric_bounds(mcdp, histogram, scale="rank")
    with pytest.raises(TypeError, match="mcdp has no option 'epsilom'"):
        metric_bounds(mcdp, histogram, epsilom=0.1)
    with pytest.raises(ValueError, match="multigroup must be 'pairwise' or 'pooled'"):
        metric_bounds(abcc, histogram, multigroup="all")


@pytest.mark.parametrize("metric", BOUNDED)
def test_undefined(metric):
    groups = encode_groups(["a", "b", "b"], labels=["a", "b", "c"])
    histogram = CountTable.from_rows(
        None, [0.1, 0.2, 0.3], sensitive_features=groups, n_bins=64
    )
    with pytest.warns(UndefinedMetricWarning, match="'c' has 0 rows"):
        found = metric_bounds(metric, histogram)
    assert np.isnan([found.lower, found.upper]).all()
    with pytest.raises(TypeError, match=r"must be a table of scores in bins"):
        metric_bounds(metric, [0.1, 0.2])


def test_madd_of_other_bins():
    histogram = CountTable.from_rows(
        None, [0.1, 0.9], sensitive_features=[0, 1], n_bins=8
    )
    for bandwidth in 0.1, 1 / 16:
        with pytest.raises(ValueError, match="bandwidth must be 1 / m for a power of"):
            metric_bounds(madd, histogram, bandwidth=bandwidth)
    one = CountTable.from_rows(None, [0.1], sensitive_features=[0], n_bins=8)
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(metric_bounds(madd, one, bandwidth=0.5).lower)


def test_table():
    histogram = CountTable.from_rows(
        None, [0.1, 0.9], sensitive_features=[0, 1], n_bins=64
    )
    assert metric_bounds(mcdp, histogram).to_frame().to_dict("list") == {
        "lower": [1.0],
        "upper": [1.0],
    }

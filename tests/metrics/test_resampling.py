"""Draws of rows and of counts, and what is read from their values, in exact numbers."""

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skfair.groups import encode_groups
from skfair.metrics import (
    bootstrap_interval,
    demographic_parity_difference,
    equalized_odds_difference,
    mcdp,
    permutation_test,
)
from skfair.statistics import CountTable


@pytest.mark.slow
def test_rows_of_no_stratum_are_neither_permuted_nor_drawn():
    """Of a metric of its own, strata x and y are permuted, and 4 rows are in none."""
    strata = encode_groups(["x", "y", None] * 4, missing="drop")
    groups, scores = np.array(list("aaabbabbaaab")), np.arange(12) / 12

    def spread(y_true, y_score, *, sensitive_features):
        labels = np.asarray(sensitive_features)
        return abs(y_score[labels == "a"].sum() - y_score[labels == "b"].sum())

    rows = {"sensitive_features": groups, "control_features": strata, "random_state": 0}
    found = permutation_test(spread, None, scores, **rows, n_permutations=200)
    by_hand = Counter()
    for code in (0, 1):
        own = strata.codes == code
        assert own.sum() == 4
        assert (groups[own] == "a").sum() in (1, 2, 3)
        by_hand[code] = {
            round(spread(None, scores[own], sensitive_features=list(order)), 9)
            for order in permutations(groups[own])
        }
    expected = {max(one, other) for one in by_hand[0] for other in by_hand[1]}
    assert set(found.null_distribution.round(9)) == expected


@pytest.mark.parametrize("seed", range(12))
def test_basic_interval_is_that_of_the_resamples(seed):
    """Both ends are cut at 0, and at the largest value seen."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 2, 20 + seed)
    scores = rng.random(len(groups)) / (1 + groups * (seed % 3))
    found = bootstrap_interval(
        *(mcdp, None, scores),
        sensitive_features=groups,
        n_resamples=5,
        confidence_level=0.5,
        random_state=seed,
    )
    # Quartiles of five values are the second and the fourth.
    _, low, _, high, most = sorted(found.distribution)
    most = max(most, found.value)
    ends = [np.clip(2 * found.value - end, 0, most) for end in (high, low)]
    assert [found.lower, found.upper] == pytest.approx(ends, abs=1e-12)


@pytest.mark.filterwarnings("ignore:The metric is .* for all")
@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 1, 3]))
def test_pvalue_by_brute_force(seed, n_strata):
    """Values with ties, with rounding, and without a value, of the very same draws."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(2, 9))
    groups, effects = rng.integers(0, 2, n_rows), rng.integers(0, 3, n_rows)
    within = None if n_strata is None else rng.integers(0, n_strata, n_rows)
    scale, seen = rng.choice([1e-3, 1, 1e4]), []

    def metric(y_true, y_score, *, sensitive_features):
        codes = sensitive_features
        value = scale * float(effects @ (codes == 0))
        value += rng.choice([-1, 1]) * 2e-13 * max(1, value)
        seen.append((codes.copy(), math.nan if value > 5 * scale else value))
        return seen[-1][1]

    result = permutation_test(
        metric,
        None,
        np.zeros(n_rows),
        sensitive_features=groups,
        within=within,
        n_permutations=12,
        random_state=seed % 1000,
    )
    (_, observed), *shuffles = seen
    if math.isnan(observed):
        assert math.isnan(result.pvalue)
        return
    assert len(shuffles) == 12
    larger = [not value < observed - 5e-13 * max(1, observed) for _, value in shuffles]
    assert result.pvalue == (1 + sum(larger)) / 13
    defined = [value for _, value in shuffles if not math.isnan(value)]
    expected = np.mean(defined) if defined else math.nan
    assert result.null_mean == pytest.approx(expected, nan_ok=True)
    for codes, _ in shuffles:
        for stratum in [0] if within is None else range(n_strata):
            own = np.ones(n_rows, bool) if within is None else within == stratum
            assert sorted(codes[own]) == sorted(seen[0][0][own])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scores", "confusion", "outcomes"])
def test_rows_and_statistics_are_permuted_alike(kind):
    """Both have the shares that all permutations of six rows have."""
    groups = np.array([0, 0, 0, 1, 1, 1])
    scores = np.array([0.1, 0.3, 0.3, 0.5, 0.8, 0.9])
    y_true, y_pred = np.array([0, 1, 1, 0, 1, 0]), np.array([0, 1, 0, 1, 1, 1])
    owner = {"sensitive_features": groups}
    metric, true, values, statistic = {
        "scores": (mcdp, None, scores, CountTable.from_rows(None, scores, **owner)),
        "confusion": (
            equalized_odds_difference,
            y_true,
            y_pred,
            CountTable.from_rows(y_true, y_pred, **owner),
        ),
        "outcomes": (
            demographic_parity_difference,
            None,
            y_pred,
            CountTable.from_rows(None, y_pred, **owner),
        ),
    }[kind]
    # A few permutations of rows take the place of all orders of equal groups.
    expected = Counter()
    within = y_true if kind == "confusion" else np.zeros(6)
    for order in permutations(range(6)):
        order = list(order)
        if order[:3] == sorted(order[:3]) and order[3:] == sorted(order[3:]):
            given_groups = np.isin(np.arange(6), order[3:]).astype(int)
            kept = all(
                given_groups[within == one].sum() == groups[within == one].sum()
                for one in np.unique(within)
            )
            if kept:
                value = metric(true, values, sensitive_features=given_groups)
                expected[round(value, 9)] += 1
    n = 120
    options = {"n_permutations": n, "random_state": 0}
    for found in (
        permutation_test(metric, true, values, **owner, **options),
        permutation_test(metric, None, statistic, **options),
    ):
        shares = Counter(found.null_distribution.round(9).tolist())
        assert shares.keys() == expected.keys()
        for value, times in expected.items():
            share = times / expected.total()
            noise = math.sqrt(share * (1 - share) / n)
            assert shares[value] / n == pytest.approx(share, abs=4.5 * noise)


def test_one_resample_is_enough():
    rows = {"sensitive_features": [0, 0, 1, 1], "random_state": 0}
    scores = [0.1, 0.4, 0.3, 0.9]
    assert len(
        bootstrap_interval(mcdp, None, scores, **rows, n_resamples=1).distribution
    )
    found = permutation_test(mcdp, None, scores, **rows, n_permutations=1)
    assert found.pvalue in (0.5, 1)

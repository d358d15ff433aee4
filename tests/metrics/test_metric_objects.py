"""Metrics as objects: of skfair, and others by two base classes."""

import pickle
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from skfair.metrics import (
    DifferenceOfRates,
    GapOfDistributions,
    abcc,
    abroca,
    bootstrap_interval,
    calibration_gap,
    certify,
    confidence_interval,
    demographic_parity_difference,
    equalized_odds_difference,
    make_fairness_scorer,
    mcdp,
    mean_error_difference,
    metric_bounds,
    permutation_test,
    predictive_value_difference,
    true_positive_rate_difference,
    values_by_class,
    values_by_stratum,
)
from skfair.monitoring import FairnessMonitor
from skfair.statistics import CountTable


class FalseDiscoveryRateDifference(DifferenceOfRates):
    """Difference of the shares of positive decisions that are wrong."""

    def outcomes(self, y_true, y_pred):
        return ~y_true, y_pred


@dataclass(frozen=True, kw_only=True)
class PowerMeanGap(GapOfDistributions):
    """Power mean of the gap between two CDFs."""

    power: float = 2.0

    def measure(self, gap):
        powers = np.abs(gap.difference[:-1]) ** self.power
        return float(powers @ np.diff(gap.scores)) ** (1 / self.power)


RNG = np.random.default_rng(0)
N = 400
GROUPS, WEIGHTS = RNG.integers(0, 3, N), RNG.uniform(0.5, 2, N)
STRATA, LABELS, DECISIONS = RNG.integers(0, 2, (3, N))
SCORES = RNG.beta(2 + GROUPS, 3)
ROWS = {"sensitive_features": GROUPS}
OWN = {
    "rate": (FalseDiscoveryRateDifference(), (LABELS, DECISIONS)),
    "gap": (PowerMeanGap(), (None, SCORES)),
    "gap of ranks": (PowerMeanGap(scale="rank", power=1.5), (None, SCORES)),
}
each_own = pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n == "gap of ranks")) for n in OWN],
)


def brute_force(name, groups=GROUPS, rows=slice(None), weights=None):
    """Largest value over pairs of groups, by the definition."""
    metric, (_, values) = OWN[name]
    weights = np.ones(N) if weights is None else weights
    present, groups = np.unique(groups[rows]), groups[rows]
    values, weights, true = values[rows], weights[rows], LABELS[rows]
    if name == "rate":
        rates = [
            np.average(1 - true[own], weights=weights[own])
            for own in ((groups == g) & (values == 1) for g in present)
        ]
        return max(rates) - min(rates)
    if metric.scale == "rank":
        below = ((values[None] < values[:, None]) * weights).sum(axis=1)
        tied = ((values[None] == values[:, None]) * weights).sum(axis=1)
        values = (below + tied / 2) / weights.sum()
    grid = np.unique(values)

    def cdf(own):
        return [np.average(values[own] <= t, weights=weights[own]) for t in grid]

    cdfs = [cdf(groups == g) for g in present]
    return max(
        float(np.abs(np.subtract(a, b))[:-1] ** metric.power @ np.diff(grid))
        ** (1 / metric.power)
        for a in cdfs
        for b in cdfs
    )


@each_own
def test_the_value_is_the_largest_over_pairs_and_strata(name):
    metric, arguments = OWN[name]
    assert metric(*arguments, **ROWS) == pytest.approx(brute_force(name), abs=1e-12)
    weighted = metric(*arguments, **ROWS, sample_weight=WEIGHTS)
    expected = brute_force(name, weights=WEIGHTS)
    assert weighted == pytest.approx(expected, abs=1e-12)
    found = metric(*arguments, **ROWS, control_features=STRATA)
    by_stratum = [brute_force(name, rows=s == STRATA) for s in (0, 1)]
    assert found == pytest.approx(max(by_stratum), abs=1e-12)
    table = values_by_stratum(metric, *arguments, **ROWS, control_features=STRATA)
    np.testing.assert_allclose(table["value"], by_stratum, atol=1e-12)
    pooled = replace(metric, multigroup="pooled")
    assert 0 < pooled(*arguments, **ROWS) < metric(*arguments, **ROWS)


@each_own
def test_tests_intervals_and_certificates(name):
    metric, arguments = OWN[name]
    test = permutation_test(
        metric, *arguments, **ROWS, n_permutations=19, random_state=0
    )
    assert test.ordered_by == "pairs"
    assert len(test.pairs) == 3
    assert test.pairs["gap"].max() == pytest.approx(test.value)
    drawn = bootstrap_interval(
        metric, *arguments, **ROWS, n_resamples=19, random_state=0
    )
    assert drawn.lower <= drawn.value <= drawn.upper
    for strata in None, STRATA:
        found = confidence_interval(metric, *arguments, **ROWS, control_features=strata)
        assert found.lower <= found.value <= found.upper < 1
    assert certify(metric, *arguments, **ROWS, at_most=0.95).certified


@pytest.mark.parametrize("name", ["rate", "gap"])
def test_monitors_and_scorers(name):
    metric, (y_true, values) = OWN[name]
    monitor = FairnessMonitor(metric)
    for half in slice(200), slice(200, None):
        true = None if y_true is None else y_true[half]
        monitor.update(true, values[half], sensitive_features=GROUPS[half])
    expected = metric(y_true, values, **ROWS)
    assert monitor.interval_.value == pytest.approx(expected, abs=1e-12)
    response = "predict" if name == "rate" else "predict_proba"
    scorer = make_fairness_scorer(
        metric, sensitive_features=0, response_method=response
    )
    X = np.column_stack([GROUPS, SCORES])
    scores = cross_val_score(
        LogisticRegression(), X, LABELS, scoring=scorer, error_score="raise"
    )
    assert (scores <= 0).all()
    assert scores.min() < 0
    assert repr(clone(scorer, safe=False)) == repr(scorer)


def test_a_gap_has_classes_bounds_of_bins_and_statistics():
    metric, (_, scores) = OWN["gap"]
    value = metric(None, scores, **ROWS)
    histogram = CountTable.from_rows(None, scores, n_bins=64, **ROWS)
    bounds = metric_bounds(metric, histogram)
    assert bounds.lower <= value <= bounds.upper < bounds.lower + 0.05
    assert metric(None, CountTable.from_rows(None, scores, **ROWS)) == value
    three = RNG.dirichlet([1, 2, 3], N)
    by_class = values_by_class(metric, None, three, **ROWS)
    assert metric(None, three, **ROWS) == by_class.max()


@each_own
def test_undefined_and_wrong_input(name):
    metric, (y_true, values) = OWN[name]
    with pytest.warns(UndefinedMetricWarning, match=type(metric).__name__):
        assert np.isnan(metric(y_true, values, sensitive_features=np.zeros(N)))
    with pytest.raises(ValueError, match="sensitive_features has 2 rows, expected 400"):
        metric(y_true, values, sensitive_features=["a", "b"])
    with pytest.raises(ValueError, match="sensitive_features is None"):
        metric(y_true, values)
    with pytest.raises(ValueError, match="multigroup must be 'pairwise' or 'pooled'"):
        replace(metric, multigroup="all")


def test_options_are_compared_printed_and_pickled():
    metric = PowerMeanGap(power=3)
    assert metric == PowerMeanGap(power=3) != PowerMeanGap()
    assert "power=3" in repr(metric)
    assert pickle.loads(pickle.dumps(metric)) == metric
    with pytest.raises(TypeError, match="powr"):
        PowerMeanGap(powr=3)


def test_a_message_says_that_rows_that_count_are_missing():
    class Named(FalseDiscoveryRateDifference):
        rows_counted = "of people who are hired"

    rows = {"sensitive_features": ["F", "F", "M", "M"]}
    for metric, which in (
        (FalseDiscoveryRateDifference(), "rows that count"),
        (Named(), "people who are hired"),
    ):
        match = f", of {which}, is undefined .* 'F' has 0 rows"
        with pytest.warns(UndefinedMetricWarning, match=match):
            assert np.isnan(metric([0, 1, 0, 1], [0, 0, 1, 1], **rows))


# --- the arguments are read once


class Counted:
    """A column that counts how often it is converted to an array."""

    def __init__(self, values):
        self.values, self.n_conversions = np.asarray(values), 0

    def __array__(self, dtype=None, copy=None):
        self.n_conversions += 1
        return self.values if dtype is None else self.values.astype(dtype)

    def __len__(self):
        return len(self.values)


OF_LABELS = [
    demographic_parity_difference,
    equalized_odds_difference,
    true_positive_rate_difference,
    predictive_value_difference,
    mean_error_difference,
]
OF_SCORES = [mcdp, partial(mcdp, epsilon=0.05), abcc, abroca, calibration_gap]


@pytest.mark.parametrize("metric", [*OF_LABELS, *OF_SCORES])
@pytest.mark.parametrize("n_strata", [pytest.param(1, marks=pytest.mark.slow), 20])
@pytest.mark.promise("A metric converts each argument once, within strata, too")
def test_each_argument_is_converted_once(metric, n_strata):
    values = DECISIONS if metric in OF_LABELS else SCORES
    y_true, y_pred, weight = map(Counted, (LABELS, values, WEIGHTS))
    strata = Counted(np.arange(N) % n_strata) if n_strata > 1 else None
    groups = Counted(np.arange(N) // 20 % 2)
    value = metric(
        y_true,
        y_pred,
        sensitive_features=groups,
        control_features=strata,
        sample_weight=weight,
    )
    assert np.isfinite(value)
    columns = [y_true, y_pred, groups, weight] + ([strata] if strata else [])
    assert [column.n_conversions for column in columns] == [1] * len(columns)


@pytest.mark.parametrize("metric", [*OF_LABELS, *OF_SCORES])
def test_a_column_counts_as_the_values_in_it(metric):
    """As CatBoost predicts labels, of shape (n_samples, 1)."""
    values = DECISIONS if metric in OF_LABELS else SCORES
    found = metric(LABELS[:, None], values[:, None], **ROWS)
    assert found == metric(LABELS, values, **ROWS)


def test_equalized_odds_checks_the_positive_label():
    rows = {"sensitive_features": GROUPS, "pos_label": 1}
    plain = equalized_odds_difference(LABELS, DECISIONS, **ROWS)
    assert equalized_odds_difference(LABELS, DECISIONS, **rows) == plain
    with pytest.raises(ValueError, match="'yes'"):
        equalized_odds_difference(LABELS, DECISIONS, **rows | {"pos_label": "yes"})

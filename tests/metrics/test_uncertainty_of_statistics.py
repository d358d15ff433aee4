"""Tests and intervals from statistics follow the distributions that rows give."""

from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.inspection import CDFGapDisplay, MCDPCurveDisplay
from skfair.metrics import (
    DCPResult,
    abcc,
    bootstrap_interval,
    certify,
    confidence_interval,
    cvar_fairness,
    cvar_fairness_report,
    cvar_fairness_test,
    dcp,
    demographic_parity_difference,
    equalized_odds_difference,
    impact_ratios,
    madd,
    max_gap,
    mcdp,
    metric_bounds,
    permutation_test,
    proxy_bounds,
    rate_variance,
)
from skfair.statistics import CountTable


def draw(n=600, n_groups=2, seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_groups, n)
    scores = rng.beta(2 + 0.1 * groups, 3).round(2)
    y_true = rng.integers(0, 2, n)
    y_pred = (rng.random(n) < 0.4 + 0.1 * y_true).astype(int)
    return scores, y_true, y_pred, groups


SCORES, Y_TRUE, Y_PRED, GROUPS = draw()
OF_SCORES = CountTable.from_rows(None, SCORES, sensitive_features=GROUPS)
OF_CLASSES = CountTable.from_rows(Y_TRUE, Y_PRED, sensitive_features=GROUPS)
OF_OUTCOMES = CountTable.from_rows(None, Y_PRED, sensitive_features=GROUPS)
CASES = {
    "mcdp": (mcdp, OF_SCORES, None, SCORES),
    "mcdp(epsilon)": (partial(mcdp, epsilon=0.05), OF_SCORES, None, SCORES),
    "madd": (partial(madd, bandwidth=0.1), OF_SCORES, None, SCORES),
    "equalized odds": (equalized_odds_difference, OF_CLASSES, Y_TRUE, Y_PRED),
    "dcp": (dcp, OF_CLASSES, Y_TRUE, Y_PRED),
    "parity": (demographic_parity_difference, OF_OUTCOMES, None, Y_PRED),
    "max gap": (max_gap, OF_OUTCOMES, None, Y_PRED),
    "cvar": (cvar_fairness, OF_OUTCOMES, None, Y_PRED),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(name, marks=[] if name in ("mcdp", "parity") else pytest.mark.slow)
        for name in CASES
    ],
)
def test_resamples_are_distributed_as_those_of_rows(case):
    metric, statistic, y_true, y_score = CASES[case]
    n = 150
    one = bootstrap_interval(metric, None, statistic, n_resamples=n, random_state=0)
    other = bootstrap_interval(
        metric,
        y_true,
        y_score,
        sensitive_features=GROUPS,
        n_resamples=n,
        random_state=1,
    )
    assert one.value == pytest.approx(other.value, abs=1e-12)
    noise = other.distribution.std() * np.sqrt(2 / n)
    assert one.distribution.mean() == pytest.approx(
        other.distribution.mean(), abs=5 * noise
    )
    assert one.distribution.std() == pytest.approx(other.distribution.std(), rel=0.4)


def test_histogram():
    histogram = CountTable.from_rows(None, SCORES, sensitive_features=GROUPS, n_bins=64)
    found = permutation_test(mcdp, None, histogram, n_permutations=99, random_state=0)
    same = permutation_test(
        mcdp, None, histogram.round_to_edges(), n_permutations=99, random_state=0
    )
    assert found.pvalue == same.pvalue
    assert found.value == mcdp(None, histogram.round_to_edges())
    found = bootstrap_interval(abcc, None, histogram, n_resamples=49, random_state=0)
    assert found.lower <= found.value <= found.upper


@pytest.mark.parametrize(
    "n_bins", [8, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 64, 2**16))]
)
@pytest.mark.parametrize("method", ["band", "finite_sample"])
def test_confidence_interval_of_a_histogram(n_bins, method):
    """It contains the interval of the rows, which is what wide bins lead to."""
    histogram = CountTable.from_rows(
        None, SCORES, sensitive_features=GROUPS, n_bins=n_bins
    )
    for metric in (mcdp, abcc, partial(mcdp, epsilon=0.1)):
        found = confidence_interval(metric, None, histogram, method=method)
        rows = confidence_interval(
            metric, None, SCORES, sensitive_features=GROUPS, method=method
        )
        limits = metric_bounds(metric, histogram)
        assert limits.lower <= found.value <= limits.upper
        assert found.lower <= rows.value <= found.upper
        slack = 2 * limits.width + 1e-9
        assert abs(found.lower - rows.lower) <= slack + 0.01 * (metric is abcc)
        assert abs(found.upper - rows.upper) <= slack + 0.01 * (metric is abcc)
    if n_bins >= 8:
        found = confidence_interval(
            partial(madd, bandwidth=1 / 8), None, histogram, method=method
        )
        assert found == confidence_interval(
            partial(madd, bandwidth=1 / 8),
            None,
            SCORES,
            sensitive_features=GROUPS,
            method=method,
        )


def test_histogram_of_other_metrics():
    rows = {"sensitive_features": GROUPS, "n_bins": 64}
    histogram = CountTable.from_rows(None, SCORES, **rows)
    with pytest.raises(ValueError, match=r"bandwidth must be 1 / m .* got 'auto'"):
        confidence_interval(madd, None, histogram)
    for function in (confidence_interval, permutation_test, bootstrap_interval):
        with pytest.raises(TypeError, match="got a table of scores in bins"):
            function(demographic_parity_difference, None, histogram)
    one = CountTable.from_rows(None, [0.1, 0.2], sensitive_features=["a", "a"])
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(confidence_interval(mcdp, None, one).lower)


@pytest.mark.parametrize("function", [permutation_test, bootstrap_interval])
def test_broken_arguments(function):
    weighted = CountTable.from_rows(
        None, [0.1, 0.2, 0.3], sensitive_features=[0, 0, 1], sample_weight=[1, 2, 3]
    )
    with pytest.raises(ValueError, match="people without sample weights"):
        function(mcdp, None, weighted)
    for name in "sensitive_features", "sample_weight", "control_features":
        with pytest.raises(ValueError, match=f"{name} must be None where a table"):
            function(mcdp, None, OF_SCORES, **{name: GROUPS})
    with pytest.raises(ValueError, match="y_true must be None where a table"):
        function(mcdp, Y_TRUE, OF_SCORES)
    with pytest.raises(ValueError, match="sensitive_features is None"):
        function(mcdp, None, SCORES)


def test_within():
    labels = (GROUPS == 0) == Y_TRUE
    statistic = CountTable.from_rows(
        labels.astype(int), labels.astype(int), sensitive_features=GROUPS
    )
    # Predictions without errors: within true labels every permutation has a DCP of 0.
    found = permutation_test(dcp, None, statistic, n_permutations=19)
    assert found.pvalue == 1
    assert found.null_mean == 0


def test_undefined():
    one = CountTable.from_rows(None, [0.1, 0.2], sensitive_features=["a", "a"])
    with pytest.warns(UndefinedMetricWarning):
        found = permutation_test(mcdp, None, one, n_permutations=5)
    assert np.isnan(found.pvalue)
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(bootstrap_interval(mcdp, None, one, n_resamples=5).lower)


@pytest.mark.parametrize(
    "function",
    [
        *(permutation_test, bootstrap_interval, confidence_interval),
        partial(certify, at_most=0.5),
    ],
)
def test_a_table_counts_rows_and_knows_no_people(function):
    message = (
        "clusters must be None where a table takes the place of the rows: it counts "
        "rows, and does not know which of them are of one person; give the rows"
    )
    for values in GROUPS, range(len(OF_SCORES)):
        with pytest.raises(ValueError, match=message):
            function(mcdp, None, OF_SCORES, clusters=values)


def test_a_table_is_not_permuted_within_values_of_rows():
    message = "within must be None where a table takes the place .* control_features"
    with pytest.raises(ValueError, match=message):
        permutation_test(mcdp, None, OF_SCORES, within=Y_TRUE)
    with pytest.raises(ValueError, match="within must be 'auto', None or an array"):
        permutation_test(mcdp, None, OF_SCORES, within="rows")
    for within in "auto", None:
        options = {"n_permutations": 9, "random_state": 0, "within": within}
        assert permutation_test(mcdp, None, OF_SCORES, **options).pvalue <= 1


@pytest.mark.parametrize(
    ("function", "true", "values"),
    [
        (DCPResult.from_predictions, Y_TRUE, Y_PRED),
        (cvar_fairness_report, None, Y_PRED),
        (partial(cvar_fairness_test, alpha=0.5, epsilon=0.5), None, Y_PRED),
        (rate_variance, None, Y_PRED),
        (impact_ratios, None, Y_PRED),
        (partial(proxy_bounds, mcdp), None, SCORES),
        (CDFGapDisplay.from_predictions, None, SCORES),
        (MCDPCurveDisplay.from_predictions, None, SCORES),
    ],
)
def test_strata_of_a_table_are_not_pooled_silently(function, true, values):
    """Functions that take no strata of rows refuse those of a table."""
    rows = {"sensitive_features": GROUPS, "control_features": np.arange(600) % 3}
    table = CountTable.from_rows(true, values, **rows)
    message = "the table has strata, .* make the table without control_features"
    with pytest.raises(ValueError, match=message):
        function(None, table)


def test_strata_of_bins_are_not_pooled_silently():
    rows = {"sensitive_features": GROUPS, "control_features": np.arange(600) % 3}
    table = CountTable.from_rows(None, SCORES, n_bins=8, **rows)
    with pytest.raises(ValueError, match="the table has strata"):
        metric_bounds(mcdp, table)

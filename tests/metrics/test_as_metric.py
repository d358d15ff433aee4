"""What is taken as a metric: a name, a class, an object, a function, a partial."""

import warnings
from collections import Counter
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics import (
    bootstrap_interval,
    certify,
    confidence_interval,
    demographic_parity_difference,
    madd_curve,
    mcdp,
    mcdp_curve,
    permutation_test,
    values_by_class,
    values_by_stratum,
)
from skfair.monitoring import FairnessMonitor

RNG = np.random.default_rng(0)
GROUPS, STRATA = RNG.integers(0, 2, (2, 120))
SCORES, WEIGHTS = RNG.random(120).round(2), RNG.uniform(0.5, 2, 120)
ROWS = {"sensitive_features": GROUPS}

#: The same metric, given in several ways.
SAME = {
    "function": partial(mcdp, epsilon=0.05),
    "class": partial(mcdp.metric, epsilon=0.05),
    "object": mcdp.metric(epsilon=0.05),
    "partial of an object": partial(mcdp.metric(), epsilon=0.05),
    "partial of a partial": partial(partial(mcdp, epsilon=0.3), epsilon=0.05),
}
LONG = "bootstrap_interval", "certify"
#: What takes a metric, and gives a number that depends on it.
CONSUMERS = {
    "permutation_test": lambda metric, **options: (
        permutation_test(
            metric, None, SCORES, **ROWS, n_permutations=9, random_state=0, **options
        ).null_mean
    ),
    "bootstrap_interval": lambda metric, **options: (
        bootstrap_interval(
            metric, None, SCORES, **ROWS, n_resamples=9, random_state=0, **options
        ).lower
    ),
    "confidence_interval": lambda metric, **options: (
        confidence_interval(metric, None, SCORES, **ROWS, **options).upper
    ),
    "certify": lambda metric, **options: (
        certify(metric, None, SCORES, **ROWS, at_most=0.5, **options).pvalue
    ),
    "values_by_stratum": lambda metric, **options: values_by_stratum(
        metric, None, SCORES, **ROWS, control_features=STRATA, **options
    )["value"].sum(),
    "values_by_class": lambda metric, **options: values_by_class(
        metric, None, np.stack([SCORES, 1 - SCORES], axis=1), **ROWS, **options
    ).sum(),
}


@pytest.mark.parametrize(
    "consumer",
    [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in CONSUMERS],
)
def test_a_metric_is_given_in_several_ways(consumer):
    measure = CONSUMERS[consumer]
    expected = measure(SAME["function"])
    assert expected != measure(mcdp)
    for metric in SAME.values():
        assert measure(metric) == expected
    for metric in ("neg_mcdp", mcdp.metric()):
        assert measure(metric) == measure(mcdp)
        assert measure(metric, epsilon=0.05) == expected


def test_a_monitor_takes_a_metric_in_several_ways():
    for metric in SAME.values():
        monitor = FairnessMonitor(metric)
        monitor.update(None, SCORES, **ROWS)
        expected = mcdp(None, SCORES, **ROWS, epsilon=0.05)
        assert monitor.interval_.value == expected
        assert "mcdp, epsilon=0.05" in repr(monitor)


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_an_unknown_option_is_named_beside_those_that_there_are(consumer):
    measure = CONSUMERS[consumer]
    said = r"mcdp has no option 'epsilom', expected one of \[.*'epsilon'.*\]"
    for metric in (mcdp, mcdp.metric):
        with pytest.raises(TypeError, match=said):
            measure(partial(metric, epsilom=0.05))
    with pytest.raises(TypeError, match=said):
        measure("mcdp", epsilom=0.05)


def test_what_is_no_metric_is_refused():
    for metric in ("mcpd", None, 3):
        with pytest.raises(TypeError, match="metric must be a function"):
            permutation_test(metric, None, SCORES, **ROWS)
    with pytest.raises(TypeError, match="Did you mean 'madd'"):
        permutation_test("made", None, SCORES, **ROWS)
    with pytest.raises(ValueError, match="got bootstrap_interval"):
        confidence_interval(bootstrap_interval, None, SCORES, **ROWS)
    with pytest.raises(TypeError, match="must take sensitive_features, which sorted"):
        permutation_test(sorted, None, SCORES, **ROWS)
    for name, value in (("sensitive_features", GROUPS), ("sample_weight", WEIGHTS)):
        with pytest.raises(ValueError, match=f"{name} must be given beside the metric"):
            permutation_test(partial(mcdp, **{name: value}), None, SCORES, **ROWS)


# --- warnings


@pytest.mark.parametrize("consumer", ["permutation_test", "bootstrap_interval"])
def test_a_metric_without_a_value_is_warned_of_once(consumer):
    function = {"p": permutation_test, "b": bootstrap_interval}[consumer[0]]
    for given in (np.zeros(120), GROUPS):
        strata = {"control_features": GROUPS} if given is GROUPS else {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = function(mcdp, None, SCORES, sensitive_features=given, **strata)
        assert np.isnan(found.value)
        assert [each.category for each in caught] == [UndefinedMetricWarning]


@pytest.mark.parametrize("curve", [mcdp_curve, madd_curve])
def test_curves_without_a_value_warn_once(curve):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _, values = curve(None, SCORES, sensitive_features=np.zeros(120))
    assert np.isnan(values).all()
    assert [each.category for each in caught] == [UndefinedMetricWarning]


def test_a_curve_within_strata_is_the_largest_at_each_point():
    at, values = madd_curve(None, SCORES, **ROWS, control_features=STRATA)
    parts = [
        madd_curve(None, SCORES[own], sensitive_features=GROUPS[own])
        for own in (STRATA == 0, STRATA == 1)
    ]
    assert (at == parts[0][0]).all()
    assert (values == np.maximum(parts[0][1], parts[1][1])).all()


# --- permutations that cross strata


@pytest.mark.parametrize(
    "metric",
    [
        mcdp,
        pytest.param(
            partial(demographic_parity_difference, multistratum="weighted"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_permutations_across_strata_are_evaluated_in_the_strata(metric):
    """Groups move from stratum to stratum, which may lose one of them."""
    groups, strata = np.repeat([0, 1, 0, 1], [1, 5, 6, 4]), np.repeat([0, 1], [6, 10])
    scores = RNG.random(16).round(1)
    seen = []

    def record(y_true, y_score, *, sensitive_features):
        seen.append(sensitive_features)
        return 0.0

    options = {"n_permutations": 30, "random_state": 0, "within": None}
    permutation_test(record, None, scores, sensitive_features=groups, **options)
    rows = {"sensitive_features": groups, "control_features": strata}
    found = permutation_test(metric, None, scores, **rows, **options)
    assert found.ordered_by == "value"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)  # a stratum is left out
        expected = [
            metric(None, scores, sensitive_features=codes, control_features=strata)
            for codes in seen[1:]
        ]
    assert found.null_distribution == pytest.approx(expected, abs=1e-12)


# --- functions of the user's own


def weighted_means(y_true, y_score, *, sensitive_features, sample_weight=None):
    """Difference of weighted means, nan where a group weighs little."""
    weights = np.ones(len(y_score)) if sample_weight is None else sample_weight
    own = [sensitive_features == group for group in (0, 1)]
    if min(weights[each].sum() for each in own) < 30:
        return np.nan
    means = [np.average(y_score[each], weights=weights[each]) for each in own]
    return abs(means[0] - means[1])


def test_a_function_is_called_in_each_stratum_with_weights():
    rows = {"control_features": STRATA, "sample_weight": WEIGHTS}
    table = values_by_stratum(weighted_means, None, SCORES, **ROWS, **rows)
    for stratum in (0, 1):
        own = stratum == STRATA
        expected = weighted_means(
            None,
            SCORES[own],
            sensitive_features=GROUPS[own],
            sample_weight=WEIGHTS[own],
        )
        assert table["value"][stratum] == expected
    test = {"n_permutations": 9, "random_state": 0, "within": None}
    found = permutation_test(weighted_means, None, SCORES, **ROWS, **rows, **test)
    assert found.value == table["value"].max()


def test_a_function_is_given_each_row_as_often_as_it_is_drawn():
    seen = []

    def record(y_true, y_score, *, sensitive_features, sample_weight):
        weights = sample_weight.round(9)  # a sum of equal weights rounds
        rows = zip(y_score, sensitive_features, weights, strict=True)
        seen.append(Counter(rows))
        return float(len(seen))

    scores = RNG.permutation(120) / 120
    rows = {**ROWS, "sample_weight": WEIGHTS, "n_resamples": 5, "random_state": 0}
    bootstrap_interval(record, None, scores, **rows)
    given, *drawn = seen
    assert set(given) == set(zip(scores, GROUPS, WEIGHTS.round(9), strict=True))
    sizes = np.bincount(GROUPS)
    for resample in drawn:
        assert set(resample) < set(given)
        assert resample.total() == 120
        assert max(resample.values()) > 1
        of_group = Counter()
        for (_, group, _), times in resample.items():
            of_group[group] += times
        assert [of_group[0], of_group[1]] == sizes.tolist()


def test_a_function_that_returns_nan_is_undefined():
    few = np.arange(120) < 10
    rows = {"sensitive_features": few.astype(int), "random_state": 0}
    for function in (permutation_test, bootstrap_interval):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = function(weighted_means, None, SCORES, **rows)
        assert np.isnan(found.value)
    table = values_by_stratum(
        weighted_means,
        None,
        SCORES,
        **ROWS,
        control_features=np.where(few, "few", "many"),
    )
    assert table["value"].isna().tolist() == [True, False]

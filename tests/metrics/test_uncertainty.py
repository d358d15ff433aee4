"""Permutation tests and bootstrap intervals."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics import (
    abcc,
    bootstrap_interval,
    demographic_parity_difference,
    equalized_odds_difference,
    madd,
    make_fairness_scorer,
    mcdp,
    mcdp_curve,
    mean_error_difference,
    permutation_test,
    values_by_class,
    values_by_stratum,
)

METRICS = [
    mcdp,
    partial(mcdp, epsilon=0.05),
    partial(mcdp, multigroup="pooled"),
    partial(madd, bandwidth=0.1),
    abcc,
    demographic_parity_difference,
    partial(demographic_parity_difference, threshold=0.5),
]


def draw(shift, n_samples=300, seed=0):
    generator = np.random.default_rng(seed)
    groups = generator.integers(0, 2, n_samples)
    return generator.beta(2 + shift * groups, 3), groups


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.promise("A p-value is the share of permutations with at least the value")
def test_permutations_by_hand(metric):
    scores, groups = draw(0.3, 60)
    result = permutation_test(
        metric,
        None,
        scores,
        sensitive_features=groups,
        n_permutations=50,
        random_state=1,
    )
    null = result.null_distribution
    assert result.value == metric(None, scores, sensitive_features=groups)
    assert result.null_mean == pytest.approx(null.mean())
    n_as_large = np.sum(null >= result.value - 1e-12)
    assert result.pvalue == pytest.approx((1 + n_as_large) / 51)
    assert len(np.unique(null)) > 5


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_interval_by_hand(metric):
    scores, groups = draw(0.6, 200)
    result = bootstrap_interval(
        metric,
        None,
        scores,
        sensitive_features=groups,
        n_resamples=99,
        confidence_level=0.8,
        random_state=0,
    )
    observed = metric(None, scores, sensitive_features=groups)
    low, high = np.quantile(result.distribution, [0.1, 0.9])
    assert result.value == observed
    assert result.lower == pytest.approx(max(0, 2 * observed - high))
    largest = max(observed, result.distribution.max())
    assert result.upper == pytest.approx(min(2 * observed - low, largest))


@pytest.mark.slow
@pytest.mark.parametrize("function", [permutation_test, bootstrap_interval])
def test_weights_and_labels_are_handed_on(function):
    scores, groups = draw(0.3, 50)
    labels, weights = np.arange(50) % 2, np.arange(1.0, 51)

    def check(y_true, y_score, *, sensitive_features, sample_weight):
        positions = [scores.tolist().index(score) for score in y_score]
        assert (y_true == labels[positions]).all()
        assert (sample_weight == weights[positions]).all()
        return 0.0

    within = {"within": None} if function is permutation_test else {}
    function(
        check,
        labels,
        scores,
        sensitive_features=groups,
        sample_weight=weights,
        random_state=0,
        **within,
    )


@pytest.mark.parametrize("function", [permutation_test, bootstrap_interval])
def test_undefined_metric_gives_nan(function):
    with pytest.warns(UndefinedMetricWarning, match="only"):
        result = function(mcdp, None, [0.1, 0.2], sensitive_features=["F", "F"])
    assert np.isnan(result.value)


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (permutation_test, {"n_permutations": 0}, "n_permutations must be .* got 0"),
        (bootstrap_interval, {"n_resamples": 2.5}, "n_resamples must be .* got 2.5"),
        (
            bootstrap_interval,
            {"confidence_level": 95},
            r"confidence_level must be a number in \(0, 1\), got 95",
        ),
        (permutation_test, {"sample_weight": [1]}, "sample_weight must have shape"),
    ],
)
def test_bad_parameters(function, options, message):
    with pytest.raises(ValueError, match=message):
        function(mcdp, None, [0.1, 0.2], sensitive_features=[0, 1], **options)


@pytest.mark.parametrize("metric", [mcdp_curve, lambda y, s, sensitive_features: s])
def test_metrics_without_a_number(metric):
    rows = [None, [0.1, 0.2, 0.3, 0.4]]
    groups = {"sensitive_features": ["F", "M", "F", "M"]}
    with pytest.raises(TypeError, match="metric must return a number, got a"):
        permutation_test(metric, *rows, **groups)
    with pytest.raises(TypeError, match="metric must return a number, got a"):
        bootstrap_interval(metric, *rows, **groups)
    with pytest.raises(TypeError, match="metric must return a number, got a"):
        values_by_stratum(metric, *rows, **groups, control_features=[0, 0, 1, 1])
    with pytest.raises(TypeError, match="metric must return a number, got a"):
        values_by_class(metric, None, [[0.5, 0.5]] * 4, **groups)


def test_tables_of_values_need_a_metric():
    groups = {"sensitive_features": ["F", "M"]}
    with pytest.raises(TypeError, match=r"must be a function, .* got 'mcpd'"):
        values_by_stratum("mcpd", None, [0, 1], **groups, control_features=[0, 0])
    with pytest.raises(TypeError, match=r"must be a function, .* got 'mcpd'"):
        values_by_class("mcpd", None, [[0.5, 0.5]] * 2, **groups)


def test_bootstrap_leaves_undefined_resamples_out():
    groups = np.repeat(["a", "b"], [40, 60])
    y_true = np.zeros(100, int)
    y_true[:2] = 1  # some resamples have no positive of "a"
    y_true[40:70] = 1
    y_pred = np.arange(100) % 3 == 0
    with pytest.warns(UndefinedMetricWarning, match=r"on (\d+) of 99 resamples: they"):
        result = bootstrap_interval(
            equalized_odds_difference,
            y_true,
            y_pred,
            sensitive_features=groups,
            n_resamples=99,
            random_state=0,
        )
    assert 0 < np.isnan(result.distribution).sum() < 40
    assert 0 <= result.lower <= result.upper <= 1

    def rarely(y_true, y_score, *, sensitive_features):
        same = np.array_equal(y_score, np.arange(100))
        return 0.5 if same else math.nan

    with pytest.warns(UndefinedMetricWarning, match="99 of 99 resamples: too many"):
        result = bootstrap_interval(
            rarely, None, np.arange(100), sensitive_features=groups, n_resamples=99
        )
    assert math.isnan(result.lower)
    assert math.isnan(result.upper)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [2.0**-60, 2.0**60])
@pytest.mark.parametrize("metric", [partial(abcc, scale="real"), mean_error_difference])
def test_p_values_of_numbers_are_the_same_in_every_unit(metric, unit):
    generator = np.random.default_rng(0)
    y_true, y_score = generator.random((2, 40)).round(1)
    group = np.repeat(["a", "b"], 20)

    def test(unit):
        return permutation_test(
            metric,
            y_true * unit,
            y_score * unit,
            sensitive_features=group,
            n_permutations=59,
            random_state=0,
        )

    assert test(unit).pvalue == test(1.0).pvalue
    assert test(unit).value == test(1.0).value * unit


def largest_difference(y_true, y_pred, *, sensitive_features):
    """A metric of a user, who compares labels one by one."""
    labels = np.unique(sensitive_features)
    means = [y_pred[sensitive_features == label].mean() for label in labels]
    return max(means) - min(means)


def test_a_users_metric_gets_intersections_of_columns():
    scores, groups = draw(1)
    columns = pd.DataFrame({"a": groups, "b": np.arange(300) % 2})
    arguments = largest_difference, None, scores
    expected = demographic_parity_difference(None, scores, sensitive_features=columns)
    test = permutation_test(*arguments, sensitive_features=columns, n_permutations=9)
    interval = bootstrap_interval(*arguments, sensitive_features=columns, n_resamples=9)
    assert test.value == interval.value == pytest.approx(expected)
    scorer = make_fairness_scorer(largest_difference, sensitive_features=["a", "b"])
    model = DummyClassifier(strategy="uniform", random_state=0).fit(columns, groups)
    predicted = model.predict(columns)
    found = demographic_parity_difference(None, predicted, sensitive_features=columns)
    assert -scorer(model, columns, groups) == pytest.approx(found)


@pytest.mark.slow
@pytest.mark.promise("A permutation test holds its level")
def test_test_holds_its_level():
    rejected = 0
    for seed in range(200):
        scores, groups = draw(0.0, 40, seed)
        result = permutation_test(
            mcdp,
            None,
            np.round(scores, 1),
            sensitive_features=groups,
            n_permutations=39,
            random_state=seed,
        )
        rejected += result.pvalue <= 0.1
    assert rejected <= 20 + 3 * np.sqrt(200 * 0.1 * 0.9)

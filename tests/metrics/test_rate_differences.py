"""Differences of single rates, and the shortfall of the impact ratio."""

from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import precision_score, recall_score

from skfair.metrics import (
    certify,
    confidence_interval,
    equalized_odds_difference,
    false_positive_rate_difference,
    group_metrics,
    impact_ratio_shortfall,
    impact_ratios,
    max_gap,
    permutation_test,
    predictive_value_difference,
    true_positive_rate_difference,
)
from skfair.statistics import CountTable

OF_RATES = {
    true_positive_rate_difference: recall_score,
    false_positive_rate_difference: partial(recall_score, pos_label=0),
    predictive_value_difference: precision_score,
}


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    group = generator.choice(["a", "b", "c"], 600)
    y_true = generator.integers(0, 2, 600)
    wrong = generator.random(600) < np.where(group == "a", 0.4, 0.2)
    return y_true, np.where(wrong, 1 - y_true, y_true), group


@pytest.mark.parametrize("metric", OF_RATES, ids=lambda metric: metric.__name__)
def test_values_are_differences_of_the_rates_of_scikit_learn(rows, metric):
    y_true, y_pred, group = rows
    rates = [OF_RATES[metric](y_true[group == g], y_pred[group == g]) for g in "abc"]
    value = metric(y_true, y_pred, sensitive_features=group)
    assert value == pytest.approx(np.ptp(rates))
    everyone = OF_RATES[metric](y_true, y_pred)
    pooled = metric(y_true, y_pred, sensitive_features=group, multigroup="pooled")
    assert pooled == pytest.approx(max(abs(np.array(rates) - everyone)))


def test_equalized_odds_is_the_larger_of_two(rows):
    y_true, y_pred, group = rows
    given = (y_true, y_pred)
    values = [
        metric(*given, sensitive_features=group)
        for metric in (true_positive_rate_difference, false_positive_rate_difference)
    ]
    larger = equalized_odds_difference(*given, sensitive_features=group)
    assert larger == pytest.approx(max(values))


@pytest.mark.parametrize("metric", OF_RATES, ids=lambda metric: metric.__name__)
def test_tests_and_intervals(rows, metric):
    y_true, y_pred, group = rows
    options = {"sensitive_features": group}
    value = metric(y_true, y_pred, **options)
    name = {
        true_positive_rate_difference: "true_positive_rate",
        false_positive_rate_difference: "false_positive_rate",
        predictive_value_difference: "predictive_value",
    }[metric]
    result = group_metrics(name, y_true, y_pred, **options).difference().loc[name]
    interval = confidence_interval(metric, y_true, y_pred, **options)
    assert interval.value == value == pytest.approx(result["value"])
    assert interval.lower == pytest.approx(result["lower"])
    assert interval.upper == pytest.approx(result["upper"])
    certified = certify(metric, y_true, y_pred, at_most=0.9, **options)
    assert certified.certified
    test = permutation_test(
        metric, y_true, y_pred, n_permutations=99, random_state=0, **options
    )
    assert 0.01 <= test.pvalue <= 0.2


@pytest.mark.parametrize("metric", OF_RATES, ids=lambda metric: metric.__name__)
def test_a_table_of_both_labels_has_every_rate(rows, metric):
    y_true, y_pred, group = rows
    statistic = CountTable.from_rows(y_true, y_pred, sensitive_features=group)
    value = metric(y_true, y_pred, sensitive_features=group)
    assert metric(None, statistic) == pytest.approx(value)
    with pytest.raises(ValueError, match="y_true must be None"):
        metric(y_true, statistic)


def test_undefined_without_rows_in_the_denominator():
    y_true, y_pred, group = [1, 0, 0, 0], [1, 1, 0, 0], ["a", "a", "b", "b"]
    for metric in (true_positive_rate_difference, predictive_value_difference):
        with pytest.warns(UndefinedMetricWarning, match="'b' has 0 rows"):
            assert np.isnan(metric(y_true, y_pred, sensitive_features=group))
        with pytest.raises(ValueError, match="y_true must be"):
            metric(None, y_pred, sensitive_features=group)


def test_the_shortfall_is_one_minus_the_smallest_impact_ratio(rows):
    _, y_pred, group = rows
    table = impact_ratios(None, y_pred, sensitive_features=group)
    value = impact_ratio_shortfall(None, y_pred, sensitive_features=group)
    assert value == pytest.approx(1 - table["impact_ratio"].min())
    ratio = group_metrics("selection_rate", None, y_pred, sensitive_features=group)
    for multigroup in ("pairwise", "pooled"):
        value = impact_ratio_shortfall(
            None, y_pred, sensitive_features=group, multigroup=multigroup
        )
        found = ratio.ratio(multigroup=multigroup)["value"].item()
        assert value == pytest.approx(1 - found)
    zeros = np.zeros(len(group))
    with pytest.warns(UndefinedMetricWarning, match="nobody is selected"):
        assert np.isnan(impact_ratio_shortfall(None, zeros, sensitive_features=group))


@pytest.mark.parametrize("y_pred", [["yes", "yes ", "yes", "yes"], ["yes "] * 4])
def test_positive_labels_that_look_alike(y_pred):
    """A positive label with a space at its end counts as a negative one."""
    groups = list("abab")
    with pytest.warns(UserWarning, match="'yes' and 'yes ', which look alike"):
        max_gap(None, y_pred, sensitive_features=groups, pos_label="yes")

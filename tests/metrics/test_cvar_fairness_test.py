"""The CVaR test and the max-gap test: exactness, decision, sentence."""

import pickle
from functools import partial
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.metrics import (
    cvar_fairness_test,
    max_gap,
    max_gap_test,
    permutation_test,
    rate_variance,
)
from skfair.statistics import CountTable

OPTIONS = {"alpha": 0.5, "epsilon": 0.3, "random_state": 0}


def all_orders(y_pred, groups, statistic):
    """Share of all orders of the outcomes that reach the observed statistic."""
    observed = statistic(np.array(y_pred), groups)
    orders = set(permutations(y_pred))  # all equally likely
    values = [statistic(np.array(order), groups) for order in orders]
    return np.mean(np.array(values) >= observed - 1e-12)


@pytest.mark.parametrize(
    "sampling",
    [
        pytest.param("fixed", marks=pytest.mark.slow),
        pytest.param("weighted", marks=pytest.mark.slow),
        "attribute_specific",
    ],
)
def test_pvalue_is_that_of_all_permutations(sampling):
    y_pred, groups = [1, 1, 0, 0, 1, 1], [0, 0, 0, 1, 1, 2]

    def statistic(outcomes, labels):
        return rate_variance(
            None, outcomes, sensitive_features=labels, sampling=sampling
        ).value

    exact = all_orders(y_pred, groups, statistic)
    result = cvar_fairness_test(
        None,
        y_pred,
        sensitive_features=groups,
        sampling=sampling,
        n_permutations=200,
        **OPTIONS,
    )
    assert result.value == statistic(y_pred, groups)
    spread = np.sqrt(exact * (1 - exact) / 200)
    assert abs(result.pvalue - exact) < 4 * spread + 1e-3


@pytest.mark.slow
def test_max_gap_pvalue_is_that_of_all_permutations():
    y_pred, groups = [1, 1, 0, 0, 0, 1, 0], [0, 0, 0, 1, 1, 2, 2]

    def statistic(outcomes, labels):
        return max_gap(None, outcomes, sensitive_features=labels)

    exact = all_orders(y_pred, groups, statistic)
    result = max_gap_test(
        None, y_pred, sensitive_features=groups, n_permutations=500, random_state=0
    )
    assert result.value == statistic(y_pred, groups)
    assert abs(result.pvalue - exact) < 4 * np.sqrt(exact * (1 - exact) / 500)


@pytest.mark.slow
@pytest.mark.promise("CVaR and max-gap tests hold their level with tiny groups")
def test_level_with_most_groups_of_zero_to_three_rows():
    # The study of 2,000 audits is benchmarks/cvar_test_level.py.
    generator = np.random.default_rng(0)
    alarms = 0
    for seed in range(150):
        groups = generator.integers(0, 1000, 1500)
        outcomes = generator.random(1500) < 0.5
        result = cvar_fairness_test(
            None,
            outcomes,
            sensitive_features=groups,
            alpha=0.9,
            epsilon=0.3,
            n_permutations=199,
            random_state=seed,
        )
        alarms += result.pvalue <= 0.05
    assert binomtest(alarms, 150, 0.05).pvalue > 0.01


@pytest.mark.parametrize("epsilon", [0.1, 0.4, 0.9])
def test_decision_of_algorithm_1(epsilon):
    generator = np.random.default_rng(0)
    groups = generator.integers(0, 40, 400)
    y_pred = generator.random(400) < np.where(groups % 4 == 0, 0.9, 0.4)
    result = cvar_fairness_test(
        None,
        y_pred,
        sensitive_features=groups,
        alpha=0.75,
        epsilon=epsilon,
        n_permutations=9,
    )
    assert result.threshold == pytest.approx(0.25 * epsilon**2 / 2)
    assert result.reject == (result.value >= result.threshold)


def test_statistic_stands_for_rows_and_seed_for_result():
    generator = np.random.default_rng(0)
    groups, y_pred = generator.integers(0, 9, 100), generator.integers(0, 2, 100)
    statistic = CountTable.from_rows(None, y_pred, sensitive_features=groups)
    options = {**OPTIONS, "n_permutations": 99}
    one = cvar_fairness_test(None, y_pred, sensitive_features=groups, **options)
    two = cvar_fairness_test(None, statistic, **options)
    np.testing.assert_array_equal(one.null_distribution, two.null_distribution)
    assert one.pvalue == two.pvalue
    assert pickle.loads(pickle.dumps(one)).pvalue == one.pvalue
    state = np.random.RandomState(0)
    three = cvar_fairness_test(None, statistic, **{**options, "random_state": state})
    assert three.pvalue == one.pvalue


def test_sentence_names_everything_a_report_needs():
    frame = pd.DataFrame({"sex": list("FFMMF"), "race": list("xxyyy")})
    result = cvar_fairness_test(
        None,
        [1, 1, 0, 0, 1],
        sensitive_features=frame,
        n_permutations=199,
        **OPTIONS,
    )
    text = str(result)
    for part in ("0.3", "alpha = 0.5", "199", "5 rows of 3 groups", "of which 1 have"):
        assert part in text
    assert "decides for a CVaR fairness of at least 0.3" in text
    assert f"p = {result.pvalue:.3g}" in text
    assert "null_distribution" not in repr(result)


def test_undefined_is_nan_and_does_not_reject():
    groups = encode_groups(["a", "b"], labels=["a", "b", "c"])
    with pytest.warns(UndefinedMetricWarning, match="none of the 3 groups"):
        result = cvar_fairness_test(None, [1, 0], sensitive_features=groups, **OPTIONS)
    assert np.isnan([result.value, result.pvalue]).all()
    assert result.reject is False
    assert "nothing can be said" in str(result)
    with pytest.warns(UndefinedMetricWarning, match="max_gap is undefined"):
        largest = max_gap_test(None, [1, 0], sensitive_features=["a", "a"])
    assert np.isnan([largest.value, largest.pvalue, largest.null_mean]).all()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"alpha": 1.0}, r"alpha must be a number in \[0, 1\), got 1\.0"),
        ({"alpha": -0.1}, r"alpha must be"),
        ({"epsilon": 0}, r"epsilon must be a number in \(0, 1\], got 0"),
        ({"epsilon": -0.2}, r"epsilon must be"),
        ({"n_permutations": 0}, "n_permutations must be an integer of at least 1"),
        ({"sampling": "iid"}, "sampling must be"),
        ({"group_weights": [0.0, 0.0]}, "group_weights must have a positive sum"),
    ],
)
def test_bad_options(option, message):
    with pytest.raises(ValueError, match=message):
        cvar_fairness_test(
            None, [1, 0, 1, 0], sensitive_features=list("aabb"), **{**OPTIONS, **option}
        )


# --- sample weights


def weighted_rows(n=60, n_groups=4):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, n_groups, n)
    y_true, y_pred = rng.integers(0, 2, n), rng.integers(0, 2, n)
    return y_true, y_pred, groups, rng.random(n) + 0.2


@pytest.mark.slow
@pytest.mark.parametrize("group_weights", ["uniform", "proportional"])
def test_weighted_max_gap_test_is_the_test_of_the_metric(group_weights):
    y_true, y_pred, groups, weights = weighted_rows()
    rows = {"sensitive_features": groups, "sample_weight": weights}
    options = {"n_permutations": 99, "random_state": 3}
    metric = partial(max_gap, group_weights=group_weights)
    for quality in ("selection_rate", "false_positive_rate"):
        found = max_gap_test(
            y_true,
            y_pred,
            quality=quality,
            group_weights=group_weights,
            **rows,
            **options,
        )
        of_quality = partial(metric, quality=quality)
        assert found.value == of_quality(y_true, y_pred, **rows)
        if quality == "selection_rate":
            test = permutation_test(metric, None, y_pred, **rows, **options)
            assert found.pvalue == test.pvalue
            np.testing.assert_array_equal(
                found.null_distribution, test.null_distribution
            )


@pytest.mark.slow
def test_weighted_tests_find_large_differences_and_leave_out_what_they_say():
    rng = np.random.default_rng(0)
    groups = np.append(np.repeat(np.arange(8), 40), 8)  # the last has one row
    y_pred = rng.random(321) < np.where(groups == 0, 0.9, 0.3)
    rows = {"sensitive_features": groups, "sample_weight": rng.random(321) + 0.5}
    options = {"n_permutations": 199, "random_state": 0}
    found = cvar_fairness_test(None, y_pred, alpha=0.5, epsilon=0.3, **rows, **options)
    assert found.pvalue == 0.005
    assert found.n_small_groups == 1
    coded = encode_groups(groups, min_group_size=2)
    rows["sensitive_features"] = coded
    with pytest.warns(UndefinedMetricWarning, match="max_gap leaves groups out"):
        assert max_gap_test(None, y_pred, **rows, **options).pvalue == 0.005


def test_weighted_groups_of_one_row_are_undefined():
    with pytest.warns(UndefinedMetricWarning, match="none of the 2 groups"):
        found = cvar_fairness_test(
            None, [1, 0], sensitive_features=["a", "b"], sample_weight=[1, 2], **OPTIONS
        )
    assert np.isnan([found.value, found.pvalue]).all()
    assert found.reject is False


def test_weights_need_rows_of_a_fixed_plan():
    _, y_pred, groups, weights = weighted_rows()
    with pytest.raises(ValueError, match="sampling must be 'fixed' with sample_weight"):
        cvar_fairness_test(
            None,
            y_pred,
            sensitive_features=groups,
            sample_weight=weights,
            alpha=0.5,
            epsilon=0.3,
            sampling="weighted",
        )
    statistic = CountTable.from_rows(
        None, y_pred, sensitive_features=groups, sample_weight=weights
    )
    with pytest.raises(ValueError, match="people without sample weights"):
        max_gap_test(None, statistic)
    with pytest.raises(ValueError, match="sample_weight must be None where a table"):
        max_gap_test(None, statistic, sample_weight=weights)

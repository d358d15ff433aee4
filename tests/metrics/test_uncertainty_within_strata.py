"""Permutation tests and bootstrap intervals within strata."""

from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.metrics import (
    bootstrap_interval,
    confidence_interval,
    equalized_odds_difference,
    mcdp,
    permutation_test,
)


def draw_departments(rng, n_rows):
    """Scores that depend on the department only, to which groups apply differently."""
    departments = rng.integers(0, 3, n_rows)
    groups = (rng.random(n_rows) < 0.1 + 0.4 * departments).astype(int)
    return rng.beta(1 + 2 * departments, 3), groups, departments


def largest(metric, strata):
    """The largest value over strata, for rows that stay in their order."""

    def metric_of_strata(y_true, y_score, *, sensitive_features):
        codes = sensitive_features
        return max(
            metric(
                None if y_true is None else y_true[strata == one],
                y_score[strata == one],
                sensitive_features=codes[strata == one],
            )
            for one in np.unique(strata)
        )

    return metric_of_strata


def test_groups_are_permuted_within_strata():
    y_score, groups, departments = draw_departments(np.random.default_rng(0), 150)
    options = {"sensitive_features": groups, "n_permutations": 29, "random_state": 0}
    found = permutation_test(
        mcdp, None, y_score, control_features=departments, **options
    )
    expected = permutation_test(
        largest(mcdp, departments), None, y_score, within=departments, **options
    )
    assert found.null_distribution == pytest.approx(expected.null_distribution)
    assert found.value == expected.value
    assert (found.ordered_by, expected.ordered_by) == ("pairs", "value")
    assert set(found.pairs["stratum"]) == set(departments)


@pytest.mark.slow
def test_errors_are_permuted_within_labels_and_strata():
    rng = np.random.default_rng(1)
    y_score, groups, departments = draw_departments(rng, 240)
    y_true = rng.integers(0, 2, 240)
    metric = largest(equalized_odds_difference, departments)
    y_pred = (y_score > 0.5).astype(int)
    options = {"sensitive_features": groups, "n_permutations": 29, "random_state": 0}
    found = permutation_test(
        equalized_odds_difference,
        y_true,
        y_pred,
        control_features=departments,
        **options,
    )
    expected = permutation_test(
        metric, y_true, y_pred, within=2 * departments + y_true, **options
    )
    assert found.null_distribution == pytest.approx(expected.null_distribution)


def test_a_metric_that_knows_no_strata():
    y_score, groups, departments = draw_departments(np.random.default_rng(2), 120)

    def known(y_true, y_score, *, sensitive_features):
        return mcdp(y_true, y_score, sensitive_features=sensitive_features)

    options = {"sensitive_features": groups, "control_features": departments}
    for test, n in (
        (permutation_test, {"n_permutations": 9}),
        (bootstrap_interval, {"n_resamples": 9}),
    ):
        first, second = (
            test(metric, None, y_score, **options, **n, random_state=0)
            for metric in (known, mcdp)
        )
        columns = ["value", "null_mean" if test is permutation_test else "lower"]
        expected = second.to_frame()[columns]
        pd.testing.assert_frame_equal(first.to_frame()[columns], expected)


def test_resamples_keep_the_groups_of_each_stratum():
    y_score, groups, departments = draw_departments(np.random.default_rng(7), 90)
    departments = np.where(np.arange(90) % 10 == 0, None, departments)
    seen = []

    def spy(y_true, y_score, *, sensitive_features):
        seen.append(Counter(sensitive_features.tolist()))
        return 0.0

    bootstrap_interval(
        spy,
        None,
        y_score,
        sensitive_features=groups,
        control_features=encode_groups(departments, missing="drop"),
        n_resamples=5,
    )
    assert len(seen) == 18  # three strata, the rows as given and five resamples
    assert seen[:3] == seen[3:6] == seen[-3:]


def test_strata_left_out_are_named_once():
    y_score, groups, departments = draw_departments(np.random.default_rng(4), 90)
    groups[departments == 1] = 0
    options = {"sensitive_features": groups, "control_features": departments}
    for test, n in (
        (permutation_test, {"n_permutations": 9}),
        (bootstrap_interval, {"n_resamples": 9}),
    ):
        with pytest.warns(UndefinedMetricWarning, match="leaves out") as caught:
            test(mcdp, None, y_score, **options, **n)
        assert len(caught) == 1
        with pytest.warns(UndefinedMetricWarning, match="no stratum"):
            result = test(
                mcdp, None, y_score, **options | {"control_features": groups}, **n
            )
        assert np.isnan(result.value)


@pytest.mark.parametrize("test", [permutation_test, bootstrap_interval])
def test_strata_are_no_option_of_the_metric(test):
    # They would stay where they are when rows are drawn.
    y_score, groups, departments = draw_departments(np.random.default_rng(6), 90)
    metric = partial(mcdp, control_features=departments)
    with pytest.raises(ValueError, match="control_features must be given beside"):
        test(metric, None, y_score, sensitive_features=groups)


def test_the_interval_of_one_stratum_has_the_value_of_the_metric():
    weighted = partial(mcdp, multistratum="weighted")
    for seed in (11, 15, 16):  # a mean of one number rounded it
        rng = np.random.default_rng(seed)
        scores, groups = rng.random(60), rng.integers(0, 2, 60)
        rows = {"sensitive_features": groups, "control_features": ["x"] * 60}
        rows["sample_weight"] = rng.random(60) + 0.1
        interval = confidence_interval(weighted, None, scores, **rows)
        assert interval.value == weighted(None, scores, **rows)

"""A skeleton of a metric with its test: copy this file, and change what is marked.

    cp tests/skeletons/test_add_a_metric.py tests/metrics/test_my_metric.py
    python -m pytest -n 0 tests/metrics/test_my_metric.py

The metric is the difference of false omission rates. When its tests pass, move the
class to `skfair/metrics`, as CONTRIBUTING.md says.
"""

import itertools

import numpy as np
import pytest

from skfair.metrics import (
    DifferenceOfRates,
    confidence_interval,
    make_fairness_scorer,
    permutation_test,
)


# CHANGE: the base. `DifferenceOfRates` compares a rate of each group,
# `GapOfDistributions` the distributions of scores (by a method `measure`). A mean of a
# number in [0, 1] of each row, such as a loss, is a `DifferenceOfMeans` (`_rates.py`),
# whose `check` returns the numbers; `DemographicParity` there is an example.
class FalseOmissionRateDifference(DifferenceOfRates):
    """Largest difference between groups of the false omission rate."""

    # CHANGE: the rows that count, as messages say it. A rate among people of one true
    # label also has `exchangeable = "same true label"`.
    rows_counted = "of rows with the negative decision"

    # CHANGE: both arrays are True or False for each row. The first says which rows are
    # hits, the second which rows count.
    def outcomes(self, y_true, y_pred):
        return y_true, ~y_pred


metric = FalseOmissionRateDifference()


# CHANGE: the definition, as plainly as it can be written.
def by_definition(y_true, y_pred, groups):
    rates = [
        np.mean(y_true[(groups == group) & (y_pred == 0)] == 1)
        for group in np.unique(groups)
    ]
    return max(abs(a - b) for a, b in itertools.combinations(rates, 2))


@pytest.fixture
def people():
    """True labels, predictions and three groups of 200 people."""
    rng = np.random.default_rng(0)
    return *rng.integers(0, 2, (2, 200)), rng.choice(["a", "b", "c"], 200)


def test_value_by_definition(people):
    y_true, y_pred, groups = people
    value = metric(y_true, y_pred, sensitive_features=groups)
    assert value == pytest.approx(by_definition(*people), abs=1e-12)


# CHANGE: a few rows whose value you know.
def test_a_value_by_hand():
    # Two people of each group are refused: none of "a" wrongly, and one of "b".
    y_true, groups = [0, 0, 1, 0], ["a", "a", "b", "b"]
    assert metric(y_true, [0, 0, 0, 0], sensitive_features=groups) == 0.5


# What follows from the class: nothing to change.
def test_interval_test_and_scorer(people):
    y_true, y_pred, groups = people
    rows = {"sensitive_features": groups}
    interval = confidence_interval(metric, y_true, y_pred, **rows)
    assert interval.lower <= interval.value <= interval.upper
    test = permutation_test(
        metric, y_true, y_pred, **rows, n_permutations=99, random_state=0
    )
    assert test.value == interval.value
    assert len(test.pairs) == 3
    assert make_fairness_scorer(metric, sensitive_features="group")

import json

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import confusion_matrix

from skfair.groups import encode_groups
from skfair.metrics import (
    certify,
    confidence_interval,
    equalized_odds_difference,
    make_fairness_scorer,
    permutation_test,
)
from skfair.statistics import CountTable


@pytest.mark.parametrize("n_classes", [2, 3, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("multigroup", ["pairwise", "pooled"])
def test_definition(make_predictions, n_classes, multigroup):
    y_true, y_pred, groups = make_predictions(600, n_classes=n_classes)
    rates = [
        confusion_matrix(y_true[groups == a], y_pred[groups == a], normalize="true")
        for a in range(4)
    ]
    if multigroup == "pairwise":
        expected = max(np.abs(a - b).max() for a in rates for b in rates)
    else:
        everyone = confusion_matrix(y_true, y_pred, normalize="true")
        expected = max(np.abs(a - everyone).max() for a in rates)
    value = equalized_odds_difference(
        y_true, y_pred, sensitive_features=groups, multigroup=multigroup
    )
    assert type(value) is float
    assert value == pytest.approx(expected, abs=1e-12)
    statistic = CountTable.from_rows(y_true, y_pred, sensitive_features=groups)
    assert equalized_odds_difference(None, statistic, multigroup=multigroup) == value


def test_class_that_is_only_predicted():
    value = equalized_odds_difference(
        ["x", "x", "x", "x"], ["x", "y", "x", "x"], sensitive_features=list("aabb")
    )
    assert value == 0.5


@pytest.fixture
def few_positives():
    """True classes, predictions and groups: "b" has 3 rows of the label 1."""
    y_true = np.r_[np.tile([0, 1], 20), np.zeros(20, int), 1, 1, 1]
    y_pred = np.r_[np.tile([0, 1, 1, 1], 10), np.tile([0, 1], 10), 0, 0, 0]
    return y_true, y_pred, np.repeat(["a", "b"], [40, 23])


SMALL = "at least 5 rows of each true label, but 'b' has 3 rows of 1"


@pytest.mark.parametrize("weight", [None, 1, 7.5])
def test_few_rows_of_a_true_label_are_undefined(few_positives, weight):
    """Rows count, whatever they weigh, given one by one or as a statistic."""
    y_true, y_pred, labels = few_positives
    weights = None if weight is None else np.full(63, weight)
    groups = encode_groups(labels, min_group_size=5)
    rows = {"sensitive_features": groups, "sample_weight": weights}
    statistic = CountTable.from_rows(y_true, y_pred, **rows)
    again = CountTable.from_dict(json.loads(json.dumps(statistic.to_dict())))
    half = np.arange(63) % 2 == 0
    parts = [
        CountTable.from_rows(
            y_true[part],
            y_pred[part],
            sensitive_features=groups[part],
            sample_weight=None if weights is None else weights[part],
        )
        for part in (half, ~half)
    ]
    for given in (statistic, again, sum(parts)):
        with pytest.warns(UndefinedMetricWarning, match=SMALL):
            assert np.isnan(equalized_odds_difference(None, given))
    with pytest.warns(UndefinedMetricWarning, match=SMALL):
        assert np.isnan(equalized_odds_difference(y_true, y_pred, **rows))
    enough = encode_groups(labels, min_group_size=3)
    value = equalized_odds_difference(
        y_true, y_pred, sensitive_features=enough, sample_weight=weights
    )
    assert value == 1.0


def test_tests_intervals_and_scorers_say_that_rows_of_a_label_are_few(few_positives):
    y_true, y_pred, labels = few_positives
    groups = encode_groups(labels, min_group_size=5)
    rows = {"sensitive_features": groups}
    with pytest.warns(UndefinedMetricWarning, match=SMALL):
        interval = confidence_interval(
            equalized_odds_difference, y_true, y_pred, **rows
        )
    with pytest.warns(UndefinedMetricWarning, match=SMALL):
        result = certify(equalized_odds_difference, y_true, y_pred, **rows, at_most=0.5)
    with pytest.warns(UndefinedMetricWarning, match=SMALL):
        test = permutation_test(
            equalized_odds_difference, y_true, y_pred, **rows, n_permutations=9
        )
    model = DummyClassifier().fit(y_pred[:, None], y_true)
    scorer = make_fairness_scorer(equalized_odds_difference)
    with pytest.warns(UndefinedMetricWarning, match=SMALL):
        score = scorer(model, y_pred[:, None], y_true, sensitive_features=groups)
    numbers = [
        interval.value,
        interval.lower,
        result.smallest_certified,
        test.pvalue,
        score,
    ]
    assert np.isnan(numbers).all()
    assert not result.certified


def test_strata_leave_out_groups_with_few_rows_of_a_label(few_positives):
    """Within true labels a small cell is a small group, which is left out."""
    y_true, y_pred, labels = few_positives
    y_true, y_pred = np.r_[y_true, [1] * 8], np.r_[y_pred, [0] * 4, [1] * 4]
    groups = encode_groups(np.r_[labels, ["c"] * 8], min_group_size=5)
    with pytest.warns(UndefinedMetricWarning, match="without 'b': 3 rows"):
        value = equalized_odds_difference(
            y_true, y_pred, sensitive_features=groups, control_features=y_true
        )
    assert value == 0.5  # of "a" and "c" among true 1, "a" and "b" among true 0


def test_a_true_label_of_one_row_counts():
    """The other group has no rate of it, which leaves the difference undefined."""
    rows = {"sensitive_features": list("aaabb")}
    with pytest.warns(UndefinedMetricWarning, match="'b' has 0 rows of 1"):
        value = equalized_odds_difference([1, 0, 0, 0, 0], [1, 0, 1, 0, 0], **rows)
    assert np.isnan(value)

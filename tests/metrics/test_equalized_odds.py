import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import confusion_matrix

from skfair.metrics import equalized_odds_difference
from skfair.statistics import GroupedConfusion


@pytest.mark.parametrize("n_classes", [2, 3, 5])
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
    statistic = GroupedConfusion.from_predictions(
        y_true, y_pred, sensitive_features=groups
    )
    assert equalized_odds_difference(None, statistic, multigroup=multigroup) == value


def test_class_that_is_only_predicted():
    value = equalized_odds_difference(
        ["x", "x", "x", "x"], ["x", "y", "x", "x"], sensitive_features=list("aabb")
    )
    assert value == 0.5


def test_group_without_a_label_is_undefined():
    with pytest.warns(UndefinedMetricWarning, match="group 'b' has no row .* 'y'"):
        value = equalized_odds_difference(
            ["x", "y", "x", "x"], ["x", "y", "x", "x"], sensitive_features=list("aabb")
        )
    assert np.isnan(value)

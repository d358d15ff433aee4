import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from skfair._utils._columns import names_columns
from skfair.groups import encode_groups
from skfair.inspection._display import responses_of


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("sex", True),
        (0, True),
        (np.int32(0), True),
        (len, True),
        (["sex", "race"], True),
        (("sex",), True),
        ([0, 1], True),
        ([], True),
        (["F", "M", "F"], False),
        ((0, 1, 1), False),
        (True, False),
        ([0.5, 1.5], False),
        ([["F"], ["M"]], False),
        (np.array(["sex", "race"]), False),
        (pd.Series(["F", "M"]), False),
        (encode_groups(["F", "M"]), False),
    ],
)
def test_what_names_columns(given, expected):
    assert names_columns(given, 3) is expected


class ByGroup(ClassifierMixin, BaseEstimator):
    """Predicts 0.9 for group M, if it is told the groups."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X, sensitive_features=None):
        if sensitive_features is None:
            return np.full((len(X), 2), 0.5)
        positive = np.where(np.asarray(sensitive_features) == "M", 0.9, 0.2)
        return np.column_stack([1 - positive, positive])


def test_labels_are_handed_to_an_estimator_that_takes_them():
    X = pd.DataFrame({"sex": ["F", "M", "M"]})
    model = ByGroup().fit(X, [0, 1, 1])
    scores, groups, _ = responses_of(
        [(model, None)], X, ["F", "M", "M"], "predict_proba"
    )
    assert scores.tolist() == [0.2, 0.9, 0.9]
    assert groups.labels == ("F", "M")
    scores, *_ = responses_of([(model, None)], X, "sex", "predict_proba")
    assert scores.tolist() == [0.5] * 3

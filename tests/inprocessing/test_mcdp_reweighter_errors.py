"""One clear error for bad parameters, rows and classifiers inside."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.inprocessing import MCDPReweighter


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"strength": -1}, r"strength must be a number in \[0, inf\), got -1"),
        ({"strength": np.inf}, "strength"),
        ({"strength": np.nan}, "strength"),
        ({"temperature": 0}, r"temperature must be a number in \(0, inf\), got 0"),
        ({"objective": "madd"}, "objective must be 'mcdp', 'dp' or 'abcc', got 'madd'"),
        ({"form": "both"}, "form must be 'two_label' or 'sample_weight', got 'both'"),
        ({"max_iter": 1}, "max_iter must be an integer of at least 2"),
        ({"averaging": "yes"}, "averaging"),
        ({"validation_fraction": 1}, "validation_fraction must be None or a number"),
        ({"validation_fraction": 1e-9}, "validation_fraction=1e-09 of 1500 rows"),
        ({"tol": -1}, "tol"),
        ({"drop_sensitive": 1}, "drop_sensitive"),
        ({"drop_sensitive": True}, "drop_sensitive=True needs sensitive_features"),
    ],
)
def test_bad_parameters(people, options, match, logistic):
    X, y, sex = people
    with pytest.raises(ValueError, match=match):
        logistic(**options).fit(X, y, sensitive_features=sex)


@pytest.mark.parametrize(
    ("inner", "match"),
    [
        (KNeighborsClassifier(), "which KNeighborsClassifier does not"),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), "KNeighbors"),
        (FrozenEstimator(LogisticRegression()), "which FrozenEstimator does not"),
        (RidgeClassifier(), "estimator must have predict_proba, got RidgeClassifier"),
    ],
)
def test_estimators_that_cannot_be_reweighted(people, inner, match):
    X, y, sex = people
    with pytest.raises(TypeError, match=match):
        MCDPReweighter(inner).fit(X, y, sensitive_features=sex)


class Breaks(ClassifierMixin, BaseEstimator):
    """Gives NaN once it has seen weights."""

    def __init__(self, always=False):
        self.always = always

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.broken_ = self.always or sample_weight is not None
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), np.nan if self.broken_ else 0.5)


def test_nan_scores_stop_with_the_round_and_the_cause(people):
    X, y, sex = people
    with pytest.raises(ValueError, match=r"Breaks gave 1500 NaN .* in round 1, prob"):
        MCDPReweighter(Breaks()).fit(X, y, sensitive_features=sex)
    with pytest.raises(ValueError, match="in round 0, already without reweighting"):
        MCDPReweighter(Breaks(always=True)).fit(X, y, sensitive_features=sex)

"""Decisions of repaired scores at the threshold of the classifier that is repaired."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skfair.postprocessing import MADDPostProcessor, UnawarePostProcessor

FIXED = FixedThresholdClassifier(LogisticRegression(), threshold=0.3)
TUNED = TunedThresholdClassifierCV(LogisticRegression(), cv=2, thresholds=7)
WITH_THRESHOLD = {
    "fixed": FIXED,
    "automatic": FixedThresholdClassifier(LogisticRegression()),
    "of the first class": FixedThresholdClassifier(
        LogisticRegression(), threshold=0.3, pos_label="no"
    ),
    "tuned": TUNED,
    "in a pipeline": make_pipeline(StandardScaler(), FIXED),
    "in a search": GridSearchCV(FIXED, {"estimator__C": [1.0]}, cv=2),
    "none": LogisticRegression(),
}
QUICK = "fixed", "of the first class"


@pytest.fixture(scope="module")
def people():
    generator = np.random.default_rng(0)
    sex = generator.integers(0, 2, 300)
    X = np.column_stack([generator.normal(size=300) + sex, sex])
    chance = 1 / (1 + np.exp(0.5 - X[:, 0]))
    return X, np.where(generator.random(300) < chance, "yes", "no")


@pytest.fixture(
    scope="module",
    params=["madd", pytest.param("unaware", marks=pytest.mark.slow)],
)
def repair(request):
    """Make a repair that leaves scores as they are."""
    options = {"cv": 2, "sensitive_features": 1}
    if request.param == "madd":
        return partial(MADDPostProcessor, repair_level=0, **options)
    group = LogisticRegression()
    return partial(UnawarePostProcessor, strength=0, group_estimator=group, **options)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK))
        for name in WITH_THRESHOLD
    ],
)
def test_what_repairs_nothing_predicts_as_the_classifier(repair, name, people):
    X, y = people
    plain = clone(WITH_THRESHOLD[name]).fit(X, y)
    model = repair(FrozenEstimator(plain)).fit(X, y)
    assert_array_equal(model.predict(X), plain.predict(X))


def test_equal_probabilities_are_decided_as_the_classifier_decides(repair):
    row = np.arange(200)
    X = np.column_stack([row // 100, row // 2 % 2])
    y = np.where(row % 2, "yes", "no")  # half of the rows of each leaf
    tree = DecisionTreeClassifier().fit(X, y)
    assert (tree.predict_proba(X) == 0.5).all()
    model = repair(FrozenEstimator(tree)).fit(X, y)
    assert_array_equal(model.predict(X), tree.predict(X))


@pytest.mark.slow
def test_threshold_of_folds_is_their_median(repair, people):
    X, y = people
    model = repair(TUNED, cv=3).fit(X, y)
    own = [each.best_threshold_ for each in model.estimators_]
    assert len(set(own)) > 1
    assert model.threshold_ == np.median(own)
    positive = model.predict_proba(X)[:, 1] >= model.threshold_
    assert_array_equal(model.predict(X) == "yes", positive)


def test_a_threshold_that_is_given_takes_precedence(repair, people):
    X, y = people
    model = repair(FIXED, threshold=0.7).fit(X, y)
    assert model.threshold_ == 0.7
    positive = model.predict_proba(X)[:, 1] >= 0.7
    assert_array_equal(model.predict(X) == "yes", positive)
    with pytest.raises(ValueError, match=r"threshold must be None or a number in .*2"):
        repair(FIXED, threshold=2).fit(X, y)


def test_a_threshold_of_other_scores_must_be_replaced(repair, people):
    X, y = people
    other = clone(FIXED).set_params(response_method="decision_function")
    with pytest.raises(ValueError, match=r"threshold=None takes .*decision_function"):
        repair(other).fit(X, y)
    assert repair(other, threshold=0.4).fit(X, y).threshold_ == 0.4


@pytest.mark.filterwarnings("ignore:.*has no sensitive_features")
def test_without_groups_the_threshold_is_the_same(repair, people):
    X, y = people
    model = repair(FIXED, sensitive_features=None).fit(X, y)
    assert_array_equal(model.predict(X), clone(FIXED).fit(X, y).predict(X))

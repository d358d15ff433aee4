"""Scorers of estimators whose scores are not probabilities."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skfair.metrics import (
    abcc,
    demographic_parity_difference,
    madd,
    make_fairness_scorer,
    mcdp,
    values_by_class,
)


class Labels(ClassifierMixin, BaseEstimator):
    """Classifier that predicts labels only."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(X["x0"] > 0).astype(int)]


@pytest.fixture(scope="module")
def target(biased):
    """Target of a regression, far outside [0, 1]."""
    X, y = biased
    return 1000 * (X["x1"] + y + 0.5 * X["sex"]).to_numpy()


def of_sex(metric=mcdp, **options):
    return make_fairness_scorer(metric, sensitive_features="sex", **options)


@pytest.mark.parametrize("metric", [mcdp, abcc, madd, partial(mcdp, epsilon=0.1)])
def test_regressor(biased, target, metric):
    X, _ = biased
    model = Ridge().fit(X, target)
    expected = metric(None, model.predict(X), sensitive_features=X["sex"], scale="rank")
    assert 0 < expected < 1
    assert of_sex(metric, scale="rank")(model, X, target) == -expected
    assert of_sex(partial(metric, scale="rank"))(model, X, target) == -expected


@pytest.mark.parametrize("model", [LinearSVC(), RidgeClassifier()])
def test_classifier_without_probabilities(biased, model):
    X, y = biased
    labels = np.array(["no", "yes"])[y]
    pipeline = make_pipeline(StandardScaler(), model).fit(X, labels)
    scores = pipeline.decision_function(X)
    expected = mcdp(None, scores, sensitive_features=X["sex"], scale="rank")
    assert of_sex(scale="rank")(pipeline, X, labels) == -expected
    routed = of_sex(scale="rank")(pipeline, X, labels, sensitive_features=X["race"])
    assert routed == -mcdp(None, scores, sensitive_features=X["race"], scale="rank")


def test_probabilities_come_before_decision_functions(biased):
    X, _ = biased
    y = np.arange(len(X)) % 3
    model = LogisticRegression(max_iter=1000).fit(X, y)
    metric = partial(mcdp, epsilon=0.02, scale="rank")
    values = values_by_class(
        metric, None, model.predict_proba(X), sensitive_features=X["sex"]
    )
    assert of_sex(metric)(model, X, y) == -values.max()
    margins = of_sex(metric, response_method="decision_function")
    values = values_by_class(
        metric, None, model.decision_function(X), sensitive_features=X["sex"]
    )
    assert margins(model, X, y) == -values.max()


def test_decision_function_of_several_classes(biased):
    X, _ = biased
    y = np.array(["a", "b", "c", "d"])[np.arange(len(X)) % 4]
    model = LinearSVC().fit(X, y)
    values = values_by_class(
        partial(mcdp, scale="rank"),
        y,
        model.decision_function(X),
        sensitive_features=X["sex"],
    )
    assert of_sex(scale="rank")(model, X, y) == -values.max()


@pytest.mark.parametrize(
    ("model", "method"), [(LinearSVC(), "decision_function"), (Ridge(), "predict")]
)
@pytest.mark.parametrize("groups", [None, "routed"])
def test_error_without_a_scale_says_what_helps(biased, model, method, groups):
    X, y = biased
    model.fit(X, y)
    name = type(model).__name__
    match = rf"{name} has no predict_proba.* scale='rank' .* compare its {method}\."
    given = {} if groups is None else {"sensitive_features": X["sex"]}
    with pytest.raises(ValueError, match=match):
        of_sex()(model, X, y, **given)


def test_labels_have_no_ranks(biased):
    X, y = biased
    model = Labels().fit(X, y)
    match = "Labels has no predict_proba or decision_function, whose scores"
    with pytest.raises(ValueError, match=match):
        of_sex(scale="rank")(model, X, y)
    with pytest.raises(ValueError, match=r"Labels has no predict_proba, whose .*d\.$"):
        of_sex()(model, X, y)
    assert of_sex(demographic_parity_difference)(model, X, y) <= 0


def test_regressor_of_probabilities(biased, target):
    X, _ = biased
    model = Ridge().fit(X, target)
    scorer = of_sex(response_method="predict", scale="rank")
    assert scorer(model, X, target) == of_sex(scale="rank")(model, X, target)
    with pytest.raises(ValueError, match="y_true must be binary"):
        of_sex(response_method="predict")(model, X, target)

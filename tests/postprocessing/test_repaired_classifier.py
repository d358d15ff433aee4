"""A repair of one's own, in the meta-estimator that holds rows out for it."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skfair.exceptions import MitigationWarning
from skfair.groups import encode_groups
from skfair.metrics import get_fairness_scorer
from skfair.postprocessing import MADDPostProcessor, RepairedClassifier


class EqualMeans(BaseEstimator):
    def __init__(self, strength=1.0):
        self.strength = strength

    def fit(self, rows):
        codes, weights = rows.groups.codes, rows.weights
        means = np.bincount(codes, weights * rows.y_pred) / np.bincount(codes, weights)
        everyone = np.average(rows.y_pred, weights=weights)
        self.shifts_ = self.strength * (everyone - means)
        return self

    def __call__(self, scores, groups):
        return (scores + self.shifts_[groups]).clip(0, 1)


@pytest.fixture(scope="module")
def people(make_people):
    X, y, sex = make_people(600)
    return X[["skill", "proxy"]], y, sex


def test_the_repair_learns_from_held_out_scores(people):
    X, y, sex = people
    inner = LogisticRegression()
    model = RepairedClassifier(inner, EqualMeans(), cv=3, random_state=None)
    model.fit(X, y, sensitive_features=sex)
    splits = list(np.array_split(np.arange(len(y)), 3))
    cv = [(np.setdiff1d(np.arange(len(y)), test), test) for test in splits]
    model.set_params(cv=cv).fit(X, y, sensitive_features=sex)
    held_out = cross_val_predict(inner, X, y, cv=cv, method="predict_proba")[:, 1]
    groups = encode_groups(sex)
    means = [held_out[groups.codes == code].mean() for code in (0, 1)]
    assert_allclose(model.repair_.shifts_, held_out.mean() - means)
    plain = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    expected = np.clip(plain + model.repair_.shifts_[groups.codes], 0, 1)
    found = model.predict_proba(X, sensitive_features=sex)
    assert_allclose(found[:, 1], expected)
    chosen = np.where(expected > 0.5, "yes", "no")
    assert_array_equal(model.predict(X, sensitive_features=sex), chosen)
    assert model.score(X, y, sensitive_features=sex) == np.mean(chosen == y)
    stated = model.comparison_.mitigated["mcdp"]
    assert stated < 0.7 * model.comparison_.baseline["mcdp"]


def test_rows_without_a_group_stay_and_weights_count(people):
    X, y, sex = people
    few = np.arange(len(y)) % 10 == 0
    groups = encode_groups(np.where(few, None, sex), missing="drop")
    model = RepairedClassifier(LogisticRegression(), EqualMeans(), cv=2)
    model.fit(X, y, sensitive_features=groups)
    assert model.comparison_.n_samples == (~few).sum()
    found = model.predict_proba(X, sensitive_features=groups)[few]
    assert_allclose(found, model.estimator_.predict_proba(X)[few])
    weights = np.where(sex == "F", 0.0, 1.0)
    with pytest.raises(ValueError, match="expected at least two"):
        model.fit(X, y, sensitive_features=sex, sample_weight=weights)


@pytest.mark.slow
def test_in_a_pipeline_a_search_and_a_pickle(people):
    X, y, sex = people
    X = X.assign(sex=sex.to_numpy())
    model = RepairedClassifier(
        LogisticRegression(),
        EqualMeans(),
        sensitive_features="sex",
        drop_sensitive=True,
        cv=2,
    )
    pipeline = make_pipeline(FunctionTransformer(), model)
    strengths = {"repairedclassifier__repair__strength": [0.2, 1.0]}
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    search = GridSearchCV(pipeline, strengths, scoring=scorer, cv=2).fit(X, y)
    assert list(search.best_params_.values()) == [1.0]
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert_array_equal(again.predict_proba(X), search.predict_proba(X))
    assert clone(model).repair.strength == 1.0
    assert not hasattr(model.repair, "shifts_")


def test_a_frozen_classifier_is_repaired_as_it_is(people):
    X, y, sex = people
    frozen = FrozenEstimator(LogisticRegression().fit(X[:200], y[:200]))
    model = RepairedClassifier(frozen, EqualMeans())
    model.fit(X[200:], y[200:], sensitive_features=sex[200:])
    assert model.estimator_ is frozen
    assert model.comparison_.n_samples == 400


def test_no_gain_is_said(people):
    X, y, sex = people
    model = RepairedClassifier(LogisticRegression(), EqualMeans(-1.0), cv=2)
    with pytest.warns(MitigationWarning, match="no gain is shown"):
        model.fit(X, y, sensitive_features=sex)


def test_without_groups_it_is_the_plain_classifier(people):
    X, y, _ = people
    model = RepairedClassifier(LogisticRegression(), EqualMeans())
    with pytest.warns(UserWarning, match="nothing is repaired"):
        model.fit(X, y)
    plain = LogisticRegression().fit(X, y).predict_proba(X)
    assert_allclose(model.predict_proba(X), plain)
    assert model.comparison_ is None


def test_it_agrees_with_the_repair_of_distributions(people):
    """Both make the means alike; that of distributions all quantiles."""
    X, y, sex = people
    means = RepairedClassifier(LogisticRegression(), EqualMeans(), cv=2)
    full = MADDPostProcessor(LogisticRegression(), repair_level=1.0, cv=2)
    for model in (means, full):
        scores = model.fit(X, y, sensitive_features=sex).predict_proba(
            X, sensitive_features=sex
        )[:, 1]
        gap = scores[sex == "F"].mean() - scores[sex == "M"].mean()
        assert abs(gap) < 0.03


def test_bad_input(people):
    X, y, sex = people
    model = RepairedClassifier(LogisticRegression(), EqualMeans(), cv=2)
    with pytest.raises(TypeError, match="estimator must have predict_proba"):
        clone(model).set_params(estimator=RidgeClassifier()).fit(X, y)
    with pytest.raises(TypeError, match="repair must have fit and be callable"):
        clone(model).set_params(repair=LogisticRegression()).fit(X, y)
    model.fit(X, y, sensitive_features=sex)
    with pytest.raises(ValueError, match="needs the group of each row"):
        model.predict(X)
    with pytest.raises(ValueError, match="'X'"):
        model.predict(X, sensitive_features=np.full(len(y), "X"))
    model.repair_.shifts_ = np.array([0, np.nan])
    with pytest.raises(ValueError, match=r"repair must return .* of the group 'M'"):
        model.predict(X, sensitive_features=sex)

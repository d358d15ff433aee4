import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.tree import DecisionTreeClassifier

from skfair.postprocessing import MADDPostProcessor, ScoreRepairer


@pytest.mark.parametrize("ensemble", [True, False, "auto"])
def test_repair_on_new_rows(people, ensemble, make_people, gap):
    X, y, sex = people
    new, new_y, new_sex = make_people(2000, seed=1)
    model = MADDPostProcessor(
        LogisticRegression(), ensemble=ensemble, repair_level=1.0
    ).fit(X, y, sensitive_features=sex)
    plain = LogisticRegression().fit(X, y)
    assert gap(plain, new, new_sex) > 0.4
    assert gap(model, new, new_sex, sensitive_features=new_sex) < 0.08
    predicted = model.predict(new, sensitive_features=new_sex)
    assert set(predicted) == {"no", "yes"}
    assert np.mean(predicted == new_y) > 0.6
    assert len(model.estimators_) == len(model.repairers_) == 1 + 4 * bool(ensemble)
    assert model.groups_ == ("F", "M")


def test_fitted_attributes(people):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression(), n_levels=21)
    assert model.fit(X, y, sensitive_features=sex) is model
    assert list(model.objective_.columns) == [
        "level",
        "total",
        "accuracy_loss",
        "fairness_loss",
    ]
    assert len(model.objective_) == 21
    best = model.objective_["total"].argmin()
    assert model.repair_level_ == model.objective_["level"][best]
    assert isinstance(model.repairer_, ScoreRepairer)
    assert_array_equal(model.classes_, ["no", "yes"])
    assert_array_equal(model.feature_names_in_, X.columns)
    assert model.n_features_in_ == 3
    assert_allclose(
        model.estimator_.predict_proba(X),
        np.mean([member.predict_proba(X) for member in model.estimators_], axis=0),
    )
    assert set(model.estimator_.predict(X)) == {"no", "yes"}


def test_level_0_is_the_plain_classifier(people):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression(), ensemble=False, repair_level=0)
    model.fit(X, y, sensitive_features=sex)
    plain = LogisticRegression().fit(X, y)
    assert_array_equal(
        model.predict_proba(X, sensitive_features=sex)[:, 1],
        plain.predict_proba(X)[:, 1],
    )


def test_threshold_of_predictions(people):
    X, y, _ = people
    model = MADDPostProcessor(
        LogisticRegression(), sensitive_features="is_man", threshold=0.3
    ).fit(X, y)
    expected = np.where(model.predict_proba(X)[:, 1] >= 0.3, "yes", "no")
    assert_array_equal(model.predict(X), expected)


def test_frozen_estimator_stays_as_it_is(people, gap):
    X, y, sex = people
    plain = LogisticRegression().fit(X[:1000], y[:1000])
    coefficients = plain.coef_.copy()
    model = MADDPostProcessor(FrozenEstimator(plain), repair_level=1.0)
    model.fit(X[1000:], y[1000:], sensitive_features=sex[1000:])
    assert_array_equal(plain.coef_, coefficients)
    assert len(model.estimators_) == 1
    assert gap(model, X[1000:], sex[1000:], sensitive_features=sex[1000:]) < 0.005
    with pytest.raises(ValueError, match=r"y has the classes \['maybe'\]"):
        model.fit(X[:3], ["yes", "no", "maybe"], sensitive_features=sex[:3])
    with pytest.raises(NotFittedError):
        MADDPostProcessor(FrozenEstimator(LogisticRegression())).fit(
            X, y, sensitive_features=sex
        )


def test_frozen_estimator_without_groups(people):
    X, y, _ = people
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    with pytest.warns(UserWarning, match="nothing is repaired"):
        model = MADDPostProcessor(frozen).fit(X, y)
    assert model.estimator_ is frozen


def test_same_seed_same_result(people):
    X, y, sex = people
    options = {"random_state": 0, "ties": "random"}
    tree = DecisionTreeClassifier(max_depth=3)
    scores = [
        MADDPostProcessor(tree, **options)
        .fit(X, y, sensitive_features=sex)
        .predict_proba(X, sensitive_features=sex)
        for _ in range(2)
    ]
    assert_array_equal(*scores)
    other = MADDPostProcessor(tree, n_jobs=2, **options)
    other.fit(X, y, sensitive_features=sex)
    assert_array_equal(other.predict_proba(X, sensitive_features=sex), scores[0])


def test_inputs_are_not_modified(people):
    X, y, sex = people
    before = X.copy(), y.copy(), sex.copy()
    model = MADDPostProcessor(LogisticRegression())
    model.fit(X, y, sensitive_features=sex).predict(X, sensitive_features=sex)
    pd.testing.assert_frame_equal(X, before[0])
    assert_array_equal(y, before[1])
    pd.testing.assert_series_equal(sex, before[2])
    assert not hasattr(model.estimator, "coef_")


def test_clone_and_pickle(people):
    X, y, _ = people
    model = MADDPostProcessor(LogisticRegression(), sensitive_features="is_man")
    assert clone(model).get_params().keys() == model.get_params().keys()
    model.fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"repair_level": 2}, r"repair_level must be 'auto' or a number in \[0, 1\]"),
        ({"repair_level": "all"}, "repair_level"),
        ({"theta": -1}, "theta"),
        ({"threshold": 2}, "threshold"),
        ({"n_levels": 1}, "n_levels"),
        ({"bandwidth": 0}, "bandwidth"),
        ({"cv": 1}, "cv"),
        ({"ensemble": "yes"}, "ensemble must be True, False or 'auto'"),
        ({"accuracy_loss": "hinge"}, "accuracy_loss"),
        ({"fairness": "dcp"}, "fairness"),
        ({"ties": "first"}, "ties"),
        ({"drop_sensitive": 1}, "drop_sensitive"),
        ({"drop_sensitive": True}, "drop_sensitive=True needs sensitive_features"),
        ({"unknown_groups": "drop"}, "unknown_groups"),
    ],
)
def test_bad_parameters(people, options, match):
    X, y, sex = people
    with pytest.raises(ValueError, match=match):
        MADDPostProcessor(LogisticRegression(), **options).fit(
            X, y, sensitive_features=sex
        )


def test_bad_rows(people):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression())
    with pytest.raises(ValueError, match="Only binary classification"):
        model.fit(X, np.arange(len(y)) % 3, sensitive_features=sex)
    with pytest.raises(ValueError, match="sensitive_features has 5 rows"):
        model.fit(X, y, sensitive_features=sex[:5])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:5], sensitive_features=sex)
    with pytest.raises(ValueError, match="cv=5 needs as many rows of each class"):
        model.fit(X[:8], [0, 1] * 4, sensitive_features=sex[:8])
    with pytest.raises(TypeError, match="must have predict_proba"):
        MADDPostProcessor(RidgeClassifier()).fit(X, y, sensitive_features=sex)
    with pytest.raises(ValueError, match="X has no column 'race'"):
        MADDPostProcessor(LogisticRegression(), sensitive_features="race").fit(X, y)

"""Rows to predict whose group is missing, or was absent in fit."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from skfair.groups import encode_groups
from skfair.postprocessing import MADDPostProcessor


def baseline_scores(model, X):
    return np.mean([each.predict_proba(X)[:, 1] for each in model.estimators_], axis=0)


@pytest.fixture(scope="module")
def people(make_people):
    X, y, sex = make_people(400)
    return X[["skill", "proxy"]].assign(sex=sex.to_numpy(dtype=object)), y


@pytest.fixture(scope="module")
def plain(people):
    X, y = people
    return LogisticRegression().fit(X[["skill", "proxy"]], y)


@pytest.fixture
def model(people, plain):
    X, y = people
    model = MADDPostProcessor(
        FrozenEstimator(plain), sensitive_features="sex", drop_sensitive=True
    )
    return model.fit(X, y)


MISSING = [None, np.nan, pd.NA]


@pytest.mark.slow
@pytest.mark.parametrize("missing", MISSING)
def test_pooled_answers_a_missing_group(people, plain, model, missing):
    X, y = people
    model.set_params(unknown_groups="pooled").fit(X, y)
    batch = X.head(5).reset_index(drop=True)
    expected = model.predict_proba(batch)
    batch.loc[2, "sex"] = missing
    found = model.predict_proba(batch)
    others = [0, 1, 3, 4]
    assert_array_equal(found[others], expected[others])
    kept = plain.predict_proba(batch[["skill", "proxy"]])[2, 1]
    assert found[2, 1] == pytest.approx(kept)
    assert_allclose(model.predict_proba(batch.iloc[[2]]), found[[2]])  # alone


@pytest.mark.parametrize(
    "bad", ["X", None, *(pytest.param(x, marks=pytest.mark.slow) for x in MISSING[1:])]
)
def test_the_remedy_can_be_typed(people, model, bad):
    batch = people[0].head(5).reset_index(drop=True)
    batch.loc[[1, 3], "sex"] = bad
    with pytest.raises(
        ValueError, match=r"in 2 rows \(1, 3\), .*\['F', 'M'\]"
    ) as error:
        model.predict_proba(batch)
    remedy = "set_params(unknown_groups='pooled')"
    assert remedy in str(error.value)
    served = eval(f"model.{remedy}", {"model": model})  # what the user types
    found = served.predict_proba(batch)
    assert_array_equal(found[[0, 2, 4]], model.predict_proba(batch.iloc[[0, 2, 4]]))


def test_rows_left_out_of_fit_are_answered(people, model):
    X, y = people
    sex = X["sex"].where(np.arange(len(X)) % 9 > 0, None)
    groups = encode_groups(sex, missing="drop")
    model.set_params(sensitive_features=None, drop_sensitive=False, cv=2)
    X = X[["skill", "proxy"]]
    for estimator in (model.estimator, LogisticRegression()):
        model.set_params(estimator=estimator).fit(X, y, sensitive_features=groups)
        found = model.predict_proba(X, sensitive_features=groups)[:, 1]
        scores = baseline_scores(model, X)
        assert_allclose(found[groups.codes < 0], scores[groups.codes < 0])
        assert (found[groups.codes >= 0] != scores[groups.codes >= 0]).any()
        assert_array_equal(model.predict_proba(X, sensitive_features=sex)[:, 1], found)
        with pytest.raises(ValueError, match=r"groups \['X'\] in 1 row \(0\)"):
            model.predict_proba(X[:1], sensitive_features=["X"])


def test_a_group_of_missing_values_is_served_as_such(people, plain):
    X, y = people
    sex = X["sex"].where(np.arange(len(X)) % 3 > 0, None)
    groups = encode_groups(sex, missing="group")
    model = MADDPostProcessor(FrozenEstimator(plain), repair_level=1.0)
    X = X[["skill", "proxy"]]
    model.fit(X, y, sensitive_features=groups)
    assert_array_equal(
        model.predict_proba(X, sensitive_features=sex),
        model.predict_proba(X, sensitive_features=groups),
    )

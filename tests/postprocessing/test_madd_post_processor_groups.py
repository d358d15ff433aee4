"""Where the groups come from, and which of them are repaired."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skfair.postprocessing import MADDPostProcessor


def test_keyword_wins_over_the_column_at_prediction(people):
    X, y, _ = people
    model = MADDPostProcessor(LogisticRegression(), sensitive_features="is_man")
    model.fit(X, y)
    swapped = 1 - X["is_man"]
    assert not np.allclose(
        model.predict_proba(X, sensitive_features=swapped), model.predict_proba(X)
    )


class NeedsColumns(TransformerMixin, BaseEstimator):
    """Fails unless it gets a dataframe of the columns that it expects."""

    def __init__(self, columns=()):
        self.columns = columns

    def fit(self, X, y=None):
        assert list(X.columns) == list(self.columns)
        return self

    def transform(self, X):
        assert list(X.columns) == list(self.columns)
        return X

    def __sklearn_is_fitted__(self):
        return True


@pytest.mark.parametrize("drop", [True, False])
def test_inner_estimator_gets_the_users_dataframe(people, drop):
    X, y, _ = people
    columns = ["skill", "proxy"] if drop else ["is_man", "skill", "proxy"]
    model = MADDPostProcessor(
        make_pipeline(NeedsColumns(columns), LogisticRegression()),
        sensitive_features="is_man",
        drop_sensitive=drop,
    ).fit(X, y)
    assert model.predict(X).shape == y.shape
    assert model.n_features_in_ == 3


def test_several_columns_are_their_intersection(people, gap):
    X, y, _ = people
    X = X.assign(old=(X["proxy"] > 0))
    columns = ["is_man", "old"]
    model = MADDPostProcessor(LogisticRegression(), sensitive_features=columns)
    assert len(model.fit(X, y).groups_) == 4
    assert gap(model, X, X[columns]) < 0.1


def test_no_repair_without_groups(people):
    X, y, _ = people
    model = MADDPostProcessor(LogisticRegression())
    with pytest.warns(UserWarning, match="has no sensitive_features"):
        model.fit(X, y)
    plain = LogisticRegression().fit(X, y)
    assert_array_equal(model.predict(X), plain.predict(X))
    assert model.repairer_ is None
    assert model.repair_level_ == 0


def test_unknown_group_at_predict(people):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression())
    model.fit(X, y, sensitive_features=sex)
    with pytest.raises(ValueError, match=r"groups \['X'\] in 1 rows"):
        model.predict(X[:2], sensitive_features=["F", "X"])
    model.set_params(unknown_groups="pooled").fit(X, y, sensitive_features=sex)
    scores = model.predict_proba(X[:2], sensitive_features=["F", "X"])
    assert_allclose(scores[1], model.estimator_.predict_proba(X[:2])[1])


def test_predict_without_groups(people):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression())
    model.fit(X, y, sensitive_features=sex)
    with pytest.raises(ValueError, match="sensitive_features is None"):
        model.predict(X)


def test_small_groups(people):
    X, y, sex = people
    rare = np.array(sex, dtype=object)
    rare[:3] = "X"
    model = MADDPostProcessor(LogisticRegression(), bandwidth=0.1)
    assert len(model.fit(X, y, sensitive_features=rare).estimators_) == 1
    model.set_params(ensemble=True)
    with pytest.raises(ValueError, match=r"none of 'X', which has 3 in all"):
        model.fit(X, y, sensitive_features=rare)

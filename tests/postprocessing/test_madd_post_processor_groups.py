"""Where the groups come from, and which of them are repaired."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skfair.groups import encode_groups
from skfair.postprocessing import MADDPostProcessor


def test_column_keyword_and_callable_agree(people):
    X, y, sex = people
    by_column = MADDPostProcessor(LogisticRegression(), sensitive_features="is_man")
    by_keyword = MADDPostProcessor(LogisticRegression())
    by_callable = MADDPostProcessor(
        LogisticRegression(), sensitive_features=lambda X: X["is_man"] == 1
    )
    by_column.fit(X, y)
    by_keyword.fit(X, y, sensitive_features=sex)
    by_callable.fit(X, y)
    expected = by_column.predict_proba(X)
    assert_array_equal(by_keyword.predict_proba(X, sensitive_features=sex), expected)
    assert_array_equal(by_callable.predict_proba(X), expected)
    X = X.to_numpy()
    array = MADDPostProcessor(LogisticRegression(), sensitive_features=0)
    assert_allclose(array.fit(X, y).predict_proba(X), expected, atol=1e-12)


def test_keyword_wins_over_the_column(people):
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
    columns = ["skill", "noise"] if drop else ["is_man", "skill", "noise"]
    model = MADDPostProcessor(
        make_pipeline(NeedsColumns(columns), LogisticRegression()),
        sensitive_features="is_man",
        drop_sensitive=drop,
    ).fit(X, y)
    assert model.predict(X).shape == y.shape
    assert model.n_features_in_ == 3


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_dropping_columns_of_arrays(people, kind):
    X, y, sex = people
    options = {"sensitive_features": [0], "drop_sensitive": True}
    model = MADDPostProcessor(LogisticRegression(), **options).fit(kind(X), y)
    other = MADDPostProcessor(LogisticRegression())
    other.fit(kind(X)[:, 1:], y, sensitive_features=sex)
    assert_allclose(
        model.predict_proba(kind(X)),
        other.predict_proba(kind(X)[:, 1:], sensitive_features=sex),
    )


def test_several_columns_are_their_intersection(people, gap):
    X, y, _ = people
    X = X.assign(old=(X["noise"] > 0))
    columns = ["is_man", "old"]
    model = MADDPostProcessor(LogisticRegression(), sensitive_features=columns)
    assert len(model.fit(X, y).groups_) == 4
    assert gap(model, X, X[columns]) < 0.1


def test_without_groups_it_is_the_plain_classifier_and_warns(people):
    X, y, _ = people
    model = MADDPostProcessor(LogisticRegression())
    with pytest.warns(UserWarning, match="has no sensitive_features"):
        model.fit(X, y)
    plain = LogisticRegression().fit(X, y)
    assert_allclose(model.predict_proba(X), plain.predict_proba(X))
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
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X, y, sensitive_features=sex)
    with pytest.raises(ValueError, match="sensitive_features is None"):
        model.predict(X)
    with pytest.raises(ValueError, match="sensitive_features has 3 rows"):
        model.predict(X, sensitive_features=["F", "M", "F"])


def test_rows_left_out_of_the_repair(people):
    X, y, sex = people
    known = sex.mask(np.arange(len(sex)) % 10 == 0, None)
    groups = encode_groups(known, missing="drop")
    model = MADDPostProcessor(LogisticRegression(), unknown_groups="pooled")
    model.fit(X, y, sensitive_features=groups)
    assert model.groups_ == ("F", "M")
    assert np.isfinite(model.predict_proba(X, sensitive_features=groups)).all()
    with pytest.raises(ValueError, match="200 missing"):
        model.fit(X, y, sensitive_features=known)


def test_small_groups(people):
    X, y, sex = people
    rare = np.array(sex, dtype=object)
    rare[:3] = "X"
    model = MADDPostProcessor(LogisticRegression(), bandwidth=0.1)
    assert len(model.fit(X, y, sensitive_features=rare).estimators_) == 1
    model.set_params(ensemble=True)
    with pytest.raises(ValueError, match=r"none of 'X', which has 3 in all"):
        model.fit(X, y, sensitive_features=rare)
    with pytest.raises(ValueError, match=r"groups \['F'\], expected at least two"):
        model.fit(X, y, sensitive_features=np.full(len(y), "F"))


def test_absent_category_is_no_group(people):
    X, y, sex = people
    groups = pd.Categorical(sex, categories=["F", "M", "X"])
    model = MADDPostProcessor(LogisticRegression())
    assert model.fit(X, y, sensitive_features=groups).groups_ == ("F", "M")

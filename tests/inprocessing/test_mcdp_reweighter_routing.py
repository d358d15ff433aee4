"""How weights, groups and other metadata reach the classifier inside."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfair.inprocessing import MCDPReweighter


@pytest.fixture(scope="module")
def jobs():
    generator = np.random.default_rng(0)
    sex = generator.choice(["F", "M"], 1200)
    job = np.where(
        generator.random(1200) < 0.3,
        generator.choice(["nurse", "clerk", "smith"], 1200),
        np.where(sex == "F", "nurse", "smith"),
    )
    X = pd.DataFrame(
        {
            "age": generator.normal(40, 10, 1200),
            "job": pd.Categorical(job),
            "sex": pd.Categorical(sex),
        }
    )
    y = (X["age"] / 10 + 2 * (job == "smith") + generator.normal(size=1200) > 5) + 0
    return X, y


def encoder(rest):
    return make_column_transformer(
        (OneHotEncoder(), ["job"]), ("drop", ["sex"]), remainder=rest
    )


def fitted(inner, X, y, **options):
    model = MCDPReweighter(inner, sensitive_features="sex", strength=1.0, **options)
    return model.fit(X, y)


@pytest.mark.slow
def test_pipelines_with_routing(jobs):
    X, y = jobs
    inner = make_pipeline(encoder("passthrough"), LogisticRegression())
    expected = fitted(inner, X, y).predict_proba(X)
    with config_context(enable_metadata_routing=True):
        with pytest.raises(TypeError, match=r"set_fit_request\(sample_weight=True\)"):
            fitted(inner, X, y)
        inner[-1].set_fit_request(sample_weight=True)
        assert_array_equal(fitted(inner, X, y).predict_proba(X), expected)
        search = GridSearchCV(
            LogisticRegression().set_fit_request(sample_weight=True),
            {"C": [1.0]},
            scoring=get_scorer("roc_auc").set_score_request(sample_weight=True),
            cv=2,
        )
        numbers = X.assign(job=X["job"].cat.codes)
        model = fitted(search, numbers, y, drop_sensitive=True, cv=2)
        assert model.estimator_.best_params_ == {"C": 1.0}


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers what its fit was given."""

    def fit(self, X, y, sample_weight=None, marks=None, mode=None):
        self.classes_, self.mode_ = np.unique(y), mode
        self.pairs_ = set(zip(np.asarray(X)[:, 0].tolist(), marks, strict=True))
        self.n_rows_ = len(y)
        return self

    def predict_proba(self, X):
        return np.tile([0.4, 0.6], (len(X), 1))


@pytest.mark.parametrize("routing", [pytest.param(False, marks=pytest.mark.slow), True])
def test_fit_params_go_with_their_rows(jobs, routing):
    X, y = jobs
    ages, marks = X[["age"]], X["age"].to_numpy() * 2
    given = {"marks": marks, "mode": "fast"}
    with config_context(enable_metadata_routing=routing):
        inner = Recorder()
        if routing:
            inner.set_fit_request(sample_weight=True, marks=True, mode=True)
        model = MCDPReweighter(
            inner, group_estimator=LogisticRegression(), strength=0.3, cv=2
        )
        model.fit(ages, y, sensitive_features=X["sex"], **given)
        other = model.with_strength(0.2, ages, **given)
    for recorder in (model.estimator_, other.estimator_):
        assert recorder.mode_ == "fast"
        assert recorder.n_rows_ == 2 * len(y)
        assert all(mark == 2 * age for age, mark in recorder.pairs_)

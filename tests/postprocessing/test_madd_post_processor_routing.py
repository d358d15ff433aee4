"""In pipelines, searches and cross-validation, with and without metadata routing."""

import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.metrics import get_fairness_scorer
from skfair.postprocessing import MADDPostProcessor


def test_sample_weight_reaches_classifier_and_repair(people):
    X, y, sex = people
    weights = np.where(np.arange(len(y)) < 1000, 1.0, 0.0)
    model = MADDPostProcessor(GaussianNB(), cv=KFold(2))
    model.fit(X, y, sensitive_features=sex, sample_weight=weights)
    total = sum(np.diff(cdf.high, prepend=0).size for cdf in model.repairer_.cdfs_)
    assert total <= 1004
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.warns(UserWarning, match=r"Pipeline\.fit takes no sample_weight"):
        MADDPostProcessor(pipeline, cv=2).fit(
            X, y, sensitive_features=sex, sample_weight=weights
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["is_man", None])
def test_in_pipeline_and_grid_search(people, name):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression(), sensitive_features=name, cv=3)
    scaler = StandardScaler().set_output(transform="pandas")
    search = GridSearchCV(
        make_pipeline(scaler, model),
        {
            "maddpostprocessor__repair_level": [0.0, 1.0],
            "maddpostprocessor__estimator__C": [0.1, 1.0],
        },
        scoring={
            "accuracy": "accuracy",
            "neg_mcdp": get_fairness_scorer("neg_mcdp", sensitive_features=name),
        },
        refit="accuracy",
        cv=3,
        error_score="raise",
    )
    if name is None:
        search.set_params(scoring=get_fairness_scorer("neg_mcdp"), refit=True)
    with config_context(enable_metadata_routing=name is None):
        given = {"sensitive_features": sex} if name is None else {}
        search.fit(X, y, **given)
    key = "mean_test_score" if name is None else "mean_test_neg_mcdp"
    gaps = -search.cv_results_[key].reshape(2, 2)  # by C, by level
    assert np.isfinite(gaps).all()
    assert (gaps[:, 1] < gaps[:, 0] / 3).all()


def test_scorer_hands_groups_on_without_routing(people):
    X, y, sex = people
    model = MADDPostProcessor(LogisticRegression())
    model.fit(X, y, sensitive_features=sex)
    scorer = get_fairness_scorer("neg_mcdp")
    assert scorer(model, X, y, sensitive_features=sex) > -0.05


@pytest.mark.slow
def test_routing_to_classifier_and_splitter(people):
    X, y, sex = people
    clusters = np.arange(len(y)) % 50
    weights = np.ones(len(y))
    with config_context(enable_metadata_routing=True):
        inner = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            LogisticRegression().set_fit_request(sample_weight=True),
        )
        model = MADDPostProcessor(inner, cv=GroupKFold(3)).set_fit_request(
            sample_weight=True
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            model.fit(
                X, y, sensitive_features=sex, sample_weight=weights, groups=clusters
            )
        assert len(model.estimators_) == 3
        results = cross_validate(
            MADDPostProcessor(LogisticRegression()),
            X,
            y,
            params={"sensitive_features": sex},
            scoring=get_fairness_scorer("neg_mcdp"),
            error_score="raise",
        )
        assert results["test_score"].min() > -0.2

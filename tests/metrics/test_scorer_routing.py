"""Scorers whose groups are handed on by scikit-learn's metadata routing."""

import pickle
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    average_precision_score,
    fbeta_score,
    get_scorer,
    make_scorer,
)
from sklearn.model_selection import (
    KFold,
    TunedThresholdClassifierCV,
    cross_val_score,
    cross_validate,
)

from skfair.groups import encode_groups
from skfair.metrics import get_fairness_scorer, make_group_scorer, mcdp
from skfair.postprocessing import MADDPostProcessor

# Few rows may show no gain, or nothing to repair.
pytestmark = pytest.mark.filterwarnings("ignore::skfair.exceptions.MitigationWarning")


@pytest.mark.promise("A scorer is the metric of the fold, without its sign")
def test_cross_val_score_routed_equals_by_hand(biased, routing, make_model, by_hand):
    X, y = biased
    features, sex = X.drop(columns="sex"), X["sex"]
    expected = by_hand(features, y, sex)
    for labels in (sex, encode_groups(sex)):
        scores = cross_val_score(
            make_model(),
            features,
            y,
            scoring=get_fairness_scorer("neg_mcdp"),
            params={"sensitive_features": labels},
            cv=2,
            error_score="raise",
        )
        assert scores.tolist() == expected


SCORERS = {
    "make_scorer": lambda: make_scorer(
        mcdp, response_method="predict_proba", greater_is_better=False
    ).set_score_request(sensitive_features=True),
    "overruled column": partial(
        get_fairness_scorer, "neg_mcdp", sensitive_features="race"
    ),
    "alias": lambda: get_fairness_scorer("neg_mcdp").set_score_request(
        sensitive_features="sex"
    ),
}


@pytest.mark.parametrize(
    "way",
    [pytest.param(n, marks=[pytest.mark.slow] * (n != "alias")) for n in SCORERS],
)
def test_ways_to_route_groups(way, biased, routing, make_model, by_hand):
    X, y = biased
    name = "sex" if way == "alias" else "sensitive_features"
    scores = cross_val_score(
        make_model(),
        X,
        y,
        scoring=SCORERS[way](),
        params={name: X["sex"]},
        cv=2,
        error_score="raise",
    )
    assert scores.tolist() == by_hand(X, y, X["sex"])


@pytest.mark.slow
def test_tuned_threshold_routed(biased, routing):
    X, y = biased
    tuned = TunedThresholdClassifierCV(
        LogisticRegression(),
        scoring=get_fairness_scorer("neg_demographic_parity_difference"),
    ).fit(X, y, sensitive_features=X["sex"])
    assert tuned.best_score_ == 0  # everyone refused, or everyone accepted


def test_tuned_threshold_without_routing_says_what_is_missing(biased):
    X, y = biased
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    with pytest.raises(ValueError, match="sensitive_features is None"):
        TunedThresholdClassifierCV(LogisticRegression(), scoring=scorer).fit(X, y)


def test_sample_weight_can_be_requested(biased, routing, make_model):
    X, y = biased
    model = make_model().fit(X, y)
    scorer = get_fairness_scorer("neg_mcdp").set_score_request(sample_weight=True)
    assert scorer.get_metadata_routing().score.requests["sensitive_features"] is True
    weights = np.arange(1, len(y) + 1)
    scores = model.predict_proba(X)[:, 1]
    assert scorer(
        model, X, y, sensitive_features=X["sex"], sample_weight=weights
    ) == -mcdp(y, scores, sensitive_features=X["sex"], sample_weight=weights)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["average_precision", "accuracy"])
def test_group_scorers_compute_the_score_by_name(biased, routing, name, make_model):
    """Whether the model takes groups at prediction or not."""
    X, y = biased
    features, sex = X.drop(columns="sex"), X["sex"]
    model = MADDPostProcessor(LogisticRegression(), repair_level=1, cv=2)
    options = {"params": {"sensitive_features": sex}, "error_score": "raise"}
    scores = cross_val_score(
        model, features, y, scoring=make_group_scorer(name), cv=KFold(2), **options
    )
    for (train, test), score in zip(KFold(2).split(X), scores, strict=True):
        given = {"sensitive_features": sex.iloc[test]}
        model.fit(features.iloc[train], y[train], sensitive_features=sex.iloc[train])
        if name == "accuracy":
            expected = np.mean(model.predict(features.iloc[test], **given) == y[test])
        else:
            metric = get_scorer(name)._score_func
            scored = model.predict_proba(features.iloc[test], **given)[:, 1]
            expected = get_scorer(name)._sign * metric(y[test], scored)
        assert score == pytest.approx(expected)
    plain = make_model()
    scorer = make_group_scorer(name)
    found = cross_val_score(plain, features, y, scoring=scorer, **options)
    assert_allclose(found, cross_val_score(plain, features, y, scoring=name))


@pytest.mark.slow
def test_default_scorer_of_a_classifier_that_needs_groups(biased, routing):
    X, y = biased
    model = MADDPostProcessor(LogisticRegression(), cv=2)
    options = {"params": {"sensitive_features": X["sex"]}, "cv": 2}
    scores = cross_val_score(model, X, y, error_score="raise", **options)
    named = make_group_scorer("accuracy")
    assert (
        scores.tolist()
        == cross_val_score(model, X, y, scoring=named, **options).tolist()
    )


@pytest.mark.slow
def test_scikit_learns_scorers_fail_with_the_cure(biased, routing):
    X, y = biased
    with pytest.warns(UserWarning, match=r"skfair\.metrics\.make_group_scorer\("):
        scores = cross_val_score(
            MADDPostProcessor(LogisticRegression(), cv=2),
            X,
            y,
            scoring="average_precision",
            params={"sensitive_features": X["sex"]},
            cv=2,
        )
    assert np.isnan(scores).all()


def test_group_scorers_keep_requests_options_and_print(routing):
    inner = make_scorer(fbeta_score, beta=2).set_score_request(sample_weight="w")
    scorer = pickle.loads(pickle.dumps(make_group_scorer(inner)))
    requests = scorer.get_metadata_routing().score.requests
    groups = {"sensitive_features": True, "control_features": True}
    assert requests == {"sample_weight": "w", **groups}
    assert "sensitive_features" not in inner.get_metadata_routing().score.requests
    assert repr(scorer).startswith("make_group_scorer(make_scorer(fbeta_score")
    assert make_group_scorer(scorer) is scorer
    with pytest.raises(ValueError, match=r"scoring must be the name of a scorer"):
        make_group_scorer(fbeta_score)
    with pytest.raises(ValueError, match="'no_such_scorer'"):
        make_group_scorer("no_such_scorer")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["average_precision", "f1"])
def test_the_second_of_two_text_labels_is_positive(biased, name):
    X, y = biased
    words, sex = np.where(y == 1, "yes", "no"), X["sex"]
    scorer = make_group_scorer(name)
    for given in ({"sensitive_features": sex}, {}):
        model = MADDPostProcessor(LogisticRegression(), cv=2)
        in_words = model.fit(X, words, sensitive_features=sex)
        model = LogisticRegression().fit(X, words) if not given else in_words
        score = scorer(model, X, words, **given)
        numbers = clone(model)
        numbers.fit(X, y, **given)
        assert score == pytest.approx(scorer(numbers, X, y, **given))
    assert "pos_label" not in scorer._kwargs


def test_a_positive_label_that_is_no_class(biased):
    X, y = biased
    words = np.where(y == 1, "yes", "no")
    model = MADDPostProcessor(LogisticRegression(), cv=2)
    model.fit(X, words, sensitive_features=X["sex"])
    scorer = make_scorer(
        average_precision_score, response_method="predict_proba", pos_label=1
    )
    with pytest.raises(ValueError, match=r"pos_label must be one of \['no', 'yes'\]"):
        make_group_scorer(scorer)(model, X, words, sensitive_features=X["sex"])


class GroupAware(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Scores group 1 with 0.9 and everyone else with 0.1, if told the group."""

    __metadata_request__predict_proba: ClassVar = {"sensitive_features": True}

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.n_features_in_ = X.shape[1]
        return self

    def predict_proba(self, X, sensitive_features=None):
        positive = np.full(len(X), 0.5)
        if sensitive_features is not None:
            positive = np.where(np.asarray(sensitive_features) == 1, 0.9, 0.1)
        return np.column_stack([1 - positive, positive])

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] >= 0.5).astype(int)]


def test_routed_groups_reach_a_predict_method_that_asks(biased, routing):
    X, y = biased
    scoring = {
        "fairness": get_fairness_scorer("neg_mcdp"),
        "loss": "neg_log_loss",
        "again": get_fairness_scorer("neg_madd"),
    }
    scores = cross_validate(
        GroupAware(),
        X,
        y,
        scoring=scoring,
        params={"sensitive_features": X["sex"]},
        error_score="raise",
    )
    assert scores["test_fairness"].tolist() == [-1] * 5
    assert scores["test_again"].tolist() == [-2] * 5
    # Responses made with groups must not leak into scorers that give none.
    assert scores["test_loss"] == pytest.approx(np.log(0.5))


def test_groups_given_directly_reach_predict_without_routing(biased):
    X, y = biased
    scorer = get_fairness_scorer("neg_mcdp")
    assert scorer(GroupAware().fit(X, y), X, y, sensitive_features=X["sex"]) == -1

"""Scorers of disparities within strata, in columns of X or routed."""

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from skfair.groups import encode_groups
from skfair.metrics import (
    demographic_parity_difference,
    get_fairness_scorer,
    make_fairness_scorer,
    make_group_scorer,
    mcdp,
)

CV = KFold(3)


def scores_by_hand(X, y, strata):
    """Negated MCDP of sex within strata, in each fold; strata None are the labels."""
    scores = []
    for train, test in CV.split(X):
        model = LogisticRegression().fit(X.iloc[train], y[train])
        y_score = model.predict_proba(X.iloc[test])[:, 1]
        own = y[test] if strata is None else strata[test]
        groups = X["sex"].iloc[test]
        scores.append(
            -mcdp(None, y_score, sensitive_features=groups, control_features=own)
        )
    return scores


@pytest.mark.slow
@pytest.mark.parametrize("convert", [list, np.array, encode_groups])
def test_routed_strata(biased, routing, convert):
    X, y = biased
    scores = cross_val_score(
        LogisticRegression(),
        X,
        y,
        scoring=get_fairness_scorer("neg_mcdp", control_features="age"),  # overruled
        cv=CV,
        params={"sensitive_features": X["sex"], "control_features": convert(X["race"])},
        error_score="raise",
    )
    assert scores.tolist() == scores_by_hand(X, y, X["race"].to_numpy())


@pytest.mark.slow
def test_equal_opportunity_in_a_search(biased, routing):
    X, y = biased
    positives = encode_groups(np.where(y == 1, 1, None), missing="drop")
    search = GridSearchCV(
        LogisticRegression(),
        {"C": [0.1, 1.0]},
        scoring={
            "fairness": get_fairness_scorer("neg_mcdp", sensitive_features="sex"),
            "performance": make_group_scorer("average_precision"),
        },
        refit="fairness",
        cv=CV,
        error_score="raise",
    ).fit(X, y, control_features=positives)
    expected = []
    for train, test in CV.split(X):
        model = LogisticRegression(C=1.0).fit(X.iloc[train], y[train])
        own = test[y[test] == 1]
        y_score = model.predict_proba(X.iloc[own])[:, 1]
        expected.append(-mcdp(None, y_score, sensitive_features=X["sex"].iloc[own]))
    assert search.cv_results_["mean_test_fairness"][1] == pytest.approx(
        np.mean(expected)
    )


def mean_difference(y_true, y_score, *, sensitive_features, pos_label=1):
    """A metric that knows no strata, of the probability of `pos_label`."""
    codes = sensitive_features
    return abs(y_score[codes == 0].mean() - y_score[codes == 1].mean())


@pytest.mark.parametrize("pos_label", [0, 1])
def test_a_metric_that_knows_no_strata(biased, pos_label):
    X, y = biased
    model = LogisticRegression().fit(X, y)
    scorer = make_fairness_scorer(
        partial(mean_difference, pos_label=pos_label),
        sensitive_features="sex",
        control_features="race",
        response_method="predict_proba",
    )
    expected = demographic_parity_difference(
        None,
        model.predict_proba(X)[:, 1],
        sensitive_features=X["sex"],
        control_features=X["race"],
    )
    for one in (scorer, pickle.loads(pickle.dumps(scorer))):
        assert one(model, X, y) == pytest.approx(-expected)


def test_strata_given_directly(biased):
    X, y = biased
    model = LogisticRegression().fit(X, y)
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    value = scorer(model, X, y, control_features=X["race"])
    y_score = model.predict_proba(X)[:, 1]
    rows = {"sensitive_features": X["sex"], "control_features": X["race"]}
    assert value == -mcdp(None, y_score, **rows)
    weighted = get_fairness_scorer("neg_mcdp", multistratum="weighted")
    assert weighted(model, X, y, **rows) == -mcdp(
        None, y_score, **rows, multistratum="weighted"
    )


class TakesStrata(ClassifierMixin, BaseEstimator):
    """Predicts the stratum that it is told."""

    __metadata_request__predict_proba = {"control_features": True}  # noqa: RUF012

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X, control_features):
        share = np.asarray(control_features) / 2
        return np.column_stack([1 - share, share])


def test_strata_are_passed_to_models_that_take_them(biased):
    X, y = biased
    strata = np.arange(len(X)) % 3
    model = TakesStrata().fit(X, y)
    brier = make_group_scorer("neg_brier_score")(model, X, y, control_features=strata)
    assert brier == pytest.approx(-np.mean((y - strata / 2) ** 2))
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    # All scores of a stratum are the same.
    assert scorer(model, X, y, control_features=strata) == 0


@pytest.mark.parametrize(
    ("control", "message"),
    [
        ("department", r"X has no column 'department' \(control_features\)"),
        (99, "control_features=99 is out of range"),
    ],
)
def test_unknown_columns(biased, control, message):
    X, y = biased
    scorer = get_fairness_scorer(
        "neg_mcdp", sensitive_features="sex", control_features=control
    )
    with pytest.raises(ValueError, match=message):
        scorer(LogisticRegression().fit(X, y), X, y)


def test_scorers_print_their_strata():
    scorer = get_fairness_scorer(
        "neg_mcdp", sensitive_features="sex", control_features="race"
    )
    assert "control_features='race'" in repr(scorer)
    assert "control_features" not in repr(get_fairness_scorer("neg_mcdp"))

"""Scorers by column: ways to name it, options, responses, and names."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skfair.groups import encode_groups
from skfair.metrics import (
    demographic_parity_difference,
    get_fairness_scorer,
    get_fairness_scorer_names,
    make_fairness_scorer,
    mcdp,
)

GRID = {"logisticregression__C": [0.01, 1.0]}


@pytest.mark.parametrize(
    "selector",
    ["sex", 5, -2, lambda X: X["sex"], lambda X: encode_groups(X["sex"])],
    ids=["name", "position", "negative position", "callable", "callable of Groups"],
)
def test_ways_to_name_a_column(table, selector, make_model):
    X, y = table
    model = make_model().fit(X, y)
    expected = get_fairness_scorer("neg_mcdp", sensitive_features="sex")(model, X, y)
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features=selector)
    assert scorer(model, X, y) == expected


def test_several_columns_are_their_intersection(table, make_model):
    X, y = table
    model = make_model().fit(X, y)
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features=["sex", "race"])
    both = X["sex"].astype(str) + X["race"].astype(str)
    assert scorer(model, X, y) == scorer(model, X, y, sensitive_features=both)


def test_numpy_input_by_position(table, make_model):
    X, y = table
    model = make_model().fit(X.to_numpy(), y)
    by_position = get_fairness_scorer("neg_mcdp", sensitive_features=5)
    expected = by_position(model, X.to_numpy(), y, sensitive_features=X["sex"])
    assert by_position(model, X.to_numpy(), y) == expected
    by_name = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    with pytest.raises(ValueError, match=r"'sex' names a column, but X is a ndarray"):
        by_name(model, X.to_numpy(), y)


def test_scorers_pickle_clone_and_print(table, make_model):
    X, y = table
    model = make_model().fit(X, y)
    scorer = make_fairness_scorer(mcdp, sensitive_features=["sex"], epsilon=0.05)
    again = pickle.loads(pickle.dumps(scorer))
    assert again(model, X, y) == scorer(model, X, y)
    search = clone(GridSearchCV(model, GRID, scoring=scorer))
    assert repr(search.scoring) == (
        "make_fairness_scorer(mcdp, sensitive_features=['sex'], "
        "response_method='predict_proba', epsilon=0.05)"
    )


def test_options_of_the_metric_are_handed_on(table, make_model):
    X, y = table
    model = make_model().fit(X, y)
    scorer = make_fairness_scorer(mcdp, sensitive_features="sex", epsilon=0.1)
    scores = model.predict_proba(X)[:, 1]
    assert scorer(model, X, y) == -mcdp(
        y, scores, sensitive_features=X["sex"], epsilon=0.1
    )


@pytest.mark.parametrize("positive", [("no", "yes"), (False, True), (1, 2)])
def test_decisions_of_any_labels(table, positive, make_model):
    X, y = table
    labels = np.array(positive)[y]
    model = make_model().fit(X, labels)
    scorer = get_fairness_scorer(
        "neg_demographic_parity_difference", sensitive_features="sex"
    )
    decisions = model.predict(X) == positive[1]
    rates = pd.Series(decisions).groupby(X["sex"]).mean()
    assert scorer(model, X, labels) == pytest.approx(-abs(rates[0] - rates[1]))


def test_auto_response_follows_the_metric():
    def labels_only(y_true, y_pred, *, sensitive_features):
        return 0.0

    assert "='predict_proba'" in repr(make_fairness_scorer(partial(mcdp, epsilon=0.1)))
    assert "='predict'" in repr(make_fairness_scorer(labels_only))
    assert "='predict'" in repr(make_fairness_scorer(demographic_parity_difference))


def test_first_class_as_positive_label(table, make_model):
    X, y = table
    model = make_model().fit(X, y)

    def mean_score(y_true, y_score, *, sensitive_features, pos_label=0):
        return float(np.mean(y_score))

    scorer = make_fairness_scorer(mean_score)
    expected = -model.predict_proba(X)[:, 0].mean()
    assert scorer(model, X, y, sensitive_features=X["sex"]) == pytest.approx(expected)


def test_names():
    names = get_fairness_scorer_names()
    assert names == sorted(names)
    assert {"neg_mcdp", "neg_madd", "neg_abcc"} <= set(names)
    for name in names:
        get_fairness_scorer(name)
    with pytest.raises(ValueError, match=r"scoring must be one of .*got 'mcdp'"):
        get_fairness_scorer("mcdp")

"""Scorers by column in every scikit-learn function that takes one."""

import pytest
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.inspection import permutation_importance
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    cross_val_score,
    cross_validate,
    learning_curve,
)

from skfair.metrics import get_fairness_scorer, madd, make_fairness_scorer, mcdp

GRID = {"logisticregression__C": [0.01, 1.0]}


@pytest.mark.parametrize("metric", [mcdp, madd])
def test_cross_val_score_by_column_equals_by_hand(table, metric, make_model, by_hand):
    X, y = table
    scorer = make_fairness_scorer(metric, sensitive_features="sex")
    scores = cross_val_score(make_model(), X, y, scoring=scorer, error_score="raise")
    assert scores.tolist() == by_hand(X, y, X["sex"], metric)


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize(
    "Search", [GridSearchCV, HalvingGridSearchCV, RandomizedSearchCV]
)
def test_searches(table, Search, n_jobs, make_model):
    X, y = table
    options = {"n_iter": 2, "random_state": 0} if Search is RandomizedSearchCV else {}
    search = Search(
        make_model(),
        GRID,
        scoring=get_fairness_scorer("neg_mcdp", sensitive_features="sex"),
        error_score="raise",
        n_jobs=n_jobs,
        **options,
    ).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_score_ == max(scores[-2:])
    assert -1 <= search.score(X, y) < 0


def test_cross_validate_with_several_columns_at_once(table, make_model, by_hand):
    X, y = table
    scoring = {
        name: get_fairness_scorer("neg_mcdp", sensitive_features=name)
        for name in ("sex", "race")
    }
    scores = cross_validate(make_model(), X, y, scoring=scoring, error_score="raise")
    assert scores["test_sex"].tolist() == by_hand(X, y, X["sex"])
    assert scores["test_race"].tolist() == by_hand(X, y, X["race"])


def test_permutation_importance_and_learning_curve(table, make_model, by_hand):
    X, y = table
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    importances = permutation_importance(
        make_model().fit(X, y), X, y, scoring=scorer, n_repeats=2, random_state=0
    ).importances_mean
    # Nobody can be treated differently by a sex that was drawn at random.
    assert importances[X.columns.get_loc("sex")] > 0.05
    *_, test_scores = learning_curve(
        make_model(), X, y, scoring=scorer, train_sizes=[1.0], error_score="raise"
    )
    assert test_scores[0].tolist() == by_hand(X, y, X["sex"])

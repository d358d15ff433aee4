"""The rules as `refit` of searches."""

import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

from skfair.datasets import make_biased_classification
from skfair.metrics import get_fairness_scorer
from skfair.model_selection import BestUnder, FairestWithin

PARAMETERS = {"C": [1e-4, 1e-3, 1e-2, 0.1, 1.0]}


@pytest.fixture(scope="module")
def people():
    return make_biased_classification(
        600, group_sizes={"sex": {0: 0.4, 1: 0.6}}, random_state=0
    )


@pytest.fixture(scope="module")
def scoring():
    fairness = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    return {"average_precision": "average_precision", "neg_mcdp": fairness}


@pytest.mark.parametrize("search_class", [GridSearchCV, RandomizedSearchCV])
@pytest.mark.parametrize(
    "rule",
    [
        FairestWithin(tolerance=0.98),
        FairestWithin(kind="one_standard_error"),
        BestUnder(limit=0.16),
    ],
)
def test_in_searches(search_class, rule, people, scoring):
    X, y = people
    options = {"n_iter": 4, "random_state": 0} if search_class != GridSearchCV else {}
    search = search_class(
        LogisticRegression(),
        PARAMETERS,
        scoring=scoring,
        refit=rule,
        cv=3,
        error_score="raise",
        **options,
    ).fit(X, y)
    assert search.best_index_ == rule(search.cv_results_)
    table = pd.DataFrame(search.cv_results_)
    performance = table["mean_test_average_precision"]
    if isinstance(rule, BestUnder):
        chosen = performance[table["mean_test_neg_mcdp"] >= -rule.limit].idxmax()
    else:
        close = performance >= rule.least_performance(search.cv_results_)
        chosen = table["mean_test_neg_mcdp"][close].idxmax()
    assert search.best_index_ == chosen
    assert search.best_params_["C"] == search.best_estimator_.C
    assert search.predict(X).shape == y.shape


def test_search_without_the_metric(people, scoring):
    X, y = people
    search = GridSearchCV(
        LogisticRegression(), PARAMETERS, scoring=["accuracy"], refit=FairestWithin()
    )
    with pytest.raises(ValueError, match=r"'average_precision', it has \['accuracy'\]"):
        search.fit(X, y)
    single = clone(search).set_params(scoring="accuracy")
    with pytest.raises(ValueError, match=r"it has \['score'\]"):
        single.fit(X, y)


def test_halving_searches_ignore_functions_for_refit(people, scoring):
    """What the documentation says of them, to be noticed when it changes."""
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import HalvingGridSearchCV

    X, y = people

    def score(estimator, X, y):
        values = {name: scorer(estimator, X, y) for name, scorer in scorers.items()}
        return {"score": values["average_precision"], **values}

    scorers = {**scoring, "average_precision": get_scorer("average_precision")}
    rule = FairestWithin(tolerance=0.5)
    search = HalvingGridSearchCV(
        LogisticRegression(),
        PARAMETERS,
        scoring=score,
        refit=rule,
        cv=3,
        factor=2,
        random_state=0,
    ).fit(X, y)
    found = search.cv_results_
    last = found["iter"] == found["iter"].max()
    assert found["mean_test_score"][search.best_index_] == pytest.approx(
        found["mean_test_score"][last].max()
    )
    chosen = rule(found)
    assert last[chosen]
    assert (
        found["mean_test_neg_mcdp"][chosen] == found["mean_test_neg_mcdp"][last].max()
    )

"""Scorers in every scikit-learn function that takes one."""

import pickle
from functools import partial
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.datasets import make_biased_classification
from skfair.groups import encode_groups
from skfair.metrics import (
    demographic_parity_difference,
    get_fairness_scorer,
    get_fairness_scorer_names,
    madd,
    make_fairness_scorer,
    mcdp,
)

GRID = {"logisticregression__C": [0.01, 1.0]}


@pytest.fixture(scope="module")
def table():
    X, y = make_biased_classification(
        600,
        group_sizes={"sex": {0: 0.4, 1: 0.6}, "race": {0: 0.5, 1: 0.3, 2: 0.2}},
        score_shifts={"sex": {1: 0.5}},
        random_state=0,
    )
    return X.astype({"sex": int, "race": int}), y


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def make_model():
    return make_pipeline(StandardScaler(), LogisticRegression())


def by_hand(X, y, groups, metric=mcdp):
    """Negated metric on the five folds that scikit-learn makes."""
    splits = sklearn.model_selection.StratifiedKFold(5).split(X, y)
    return [
        -metric(
            y[test],
            make_model().fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])[:, 1],
            sensitive_features=np.asarray(groups)[test],
        )
        for train, test in splits
    ]


@pytest.mark.parametrize("metric", [mcdp, madd])
def test_cross_val_score_by_column_equals_by_hand(table, metric):
    X, y = table
    scorer = make_fairness_scorer(metric, sensitive_features="sex")
    scores = cross_val_score(make_model(), X, y, scoring=scorer, error_score="raise")
    assert scores.tolist() == by_hand(X, y, X["sex"], metric)


def test_cross_val_score_routed_equals_by_hand(table, routing):
    X, y = table
    features, sex = X.drop(columns="sex"), X["sex"]
    for labels in (sex, sex.to_numpy(), encode_groups(sex), sex.to_list()):
        scores = cross_val_score(
            make_model(),
            features,
            y,
            scoring=get_fairness_scorer("neg_mcdp"),
            params={"sensitive_features": labels},
            error_score="raise",
        )
        assert scores.tolist() == by_hand(features, y, sex)


def test_plain_make_scorer_works_under_routing(table, routing):
    X, y = table
    scorer = make_scorer(
        mcdp, response_method="predict_proba", greater_is_better=False
    ).set_score_request(sensitive_features=True)
    scores = cross_val_score(
        make_model(),
        X,
        y,
        scoring=scorer,
        params={"sensitive_features": X["sex"]},
        error_score="raise",
    )
    assert scores.tolist() == by_hand(X, y, X["sex"])


def test_routed_groups_win_over_the_column(table, routing):
    X, y = table
    scores = cross_val_score(
        make_model(),
        X,
        y,
        scoring=get_fairness_scorer("neg_mcdp", sensitive_features="race"),
        params={"sensitive_features": X["sex"]},
        error_score="raise",
    )
    assert scores.tolist() == by_hand(X, y, X["sex"])


@pytest.mark.parametrize(
    "selector",
    ["sex", 5, -2, lambda X: X["sex"], lambda X: encode_groups(X["sex"])],
    ids=["name", "position", "negative position", "callable", "callable of Groups"],
)
def test_ways_to_name_a_column(table, selector):
    X, y = table
    model = make_model().fit(X, y)
    expected = get_fairness_scorer("neg_mcdp", sensitive_features="sex")(model, X, y)
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features=selector)
    assert scorer(model, X, y) == expected


def test_several_columns_are_their_intersection(table):
    X, y = table
    model = make_model().fit(X, y)
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features=["sex", "race"])
    both = X["sex"].astype(str) + X["race"].astype(str)
    assert scorer(model, X, y) == scorer(model, X, y, sensitive_features=both)


def test_numpy_input_by_position(table):
    X, y = table
    model = make_model().fit(X.to_numpy(), y)
    by_position = get_fairness_scorer("neg_mcdp", sensitive_features=5)
    expected = by_position(model, X.to_numpy(), y, sensitive_features=X["sex"])
    assert by_position(model, X.to_numpy(), y) == expected
    by_name = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    with pytest.raises(ValueError, match=r"'sex' names a column, but X is a ndarray"):
        by_name(model, X.to_numpy(), y)


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize(
    "Search", [GridSearchCV, HalvingGridSearchCV, RandomizedSearchCV]
)
def test_searches(table, Search, n_jobs):
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


def test_multimetric_search_routed(table, routing):
    X, y = table
    scoring = {"accuracy": "accuracy", "fairness": get_fairness_scorer("neg_mcdp")}
    search = GridSearchCV(
        make_model(), GRID, scoring=scoring, refit="accuracy", error_score="raise"
    ).fit(X, y, sensitive_features=X["sex"])
    fairness = search.cv_results_["mean_test_fairness"]
    assert fairness[1] == np.mean(by_hand(X, y, X["sex"]))


def test_cross_validate_with_several_columns_at_once(table):
    X, y = table
    scoring = {
        name: get_fairness_scorer("neg_mcdp", sensitive_features=name)
        for name in ("sex", "race")
    }
    scores = cross_validate(make_model(), X, y, scoring=scoring, error_score="raise")
    assert scores["test_sex"].tolist() == by_hand(X, y, X["sex"])
    assert scores["test_race"].tolist() == by_hand(X, y, X["race"])


def test_tuned_threshold_routed(table, routing):
    X, y = table
    tuned = TunedThresholdClassifierCV(
        LogisticRegression(),
        scoring=get_fairness_scorer("neg_demographic_parity_difference"),
    ).fit(X, y, sensitive_features=X["sex"])
    assert tuned.best_score_ == 0  # everyone refused, or everyone accepted


def test_tuned_threshold_without_routing_says_what_is_missing(table):
    X, y = table
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    with pytest.raises(ValueError, match="sensitive_features is None"):
        TunedThresholdClassifierCV(LogisticRegression(), scoring=scorer).fit(X, y)


def test_permutation_importance_and_learning_curve(table):
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


def test_scorers_pickle_clone_and_print(table):
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


def test_options_of_the_metric_are_handed_on(table):
    X, y = table
    model = make_model().fit(X, y)
    scorer = make_fairness_scorer(mcdp, sensitive_features="sex", epsilon=0.1)
    scores = model.predict_proba(X)[:, 1]
    assert scorer(model, X, y) == -mcdp(
        y, scores, sensitive_features=X["sex"], epsilon=0.1
    )


def test_sample_weight_can_be_requested(table, routing):
    X, y = table
    model = make_model().fit(X, y)
    scorer = get_fairness_scorer("neg_mcdp").set_score_request(sample_weight=True)
    assert scorer.get_metadata_routing().score.requests["sensitive_features"] is True
    weights = np.arange(1, len(y) + 1)
    scores = model.predict_proba(X)[:, 1]
    assert scorer(
        model, X, y, sensitive_features=X["sex"], sample_weight=weights
    ) == -mcdp(y, scores, sensitive_features=X["sex"], sample_weight=weights)


def test_alias_of_the_request_is_kept(table, routing):
    X, y = table
    scorer = get_fairness_scorer("neg_mcdp").set_score_request(sensitive_features="sex")
    scores = cross_val_score(
        make_model(),
        X,
        y,
        scoring=scorer,
        params={"sex": X["sex"]},
        error_score="raise",
    )
    assert scores.tolist() == by_hand(X, y, X["sex"])


@pytest.mark.parametrize("positive", [("no", "yes"), (False, True), (1, 2)])
def test_decisions_of_any_labels(table, positive):
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


def test_routed_groups_reach_a_predict_method_that_asks(table, routing):
    X, y = table
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


def test_groups_given_directly_reach_predict_without_routing(table):
    X, y = table
    scorer = get_fairness_scorer("neg_mcdp")
    assert scorer(GroupAware().fit(X, y), X, y, sensitive_features=X["sex"]) == -1


def test_first_class_as_positive_label(table):
    X, y = table
    model = make_model().fit(X, y)

    def mean_score(y_true, y_score, *, sensitive_features, pos_label=0):
        return float(np.mean(y_score))

    scorer = make_fairness_scorer(mean_score)
    expected = -model.predict_proba(X)[:, 0].mean()
    assert scorer(model, X, y, sensitive_features=X["sex"]) == pytest.approx(expected)


def test_fold_without_a_group_scores_nan_with_its_name(table):
    X, y = table
    model = make_model().fit(X, y)
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    women = X["sex"] == 0
    with pytest.warns(UndefinedMetricWarning, match=r"only \[0\]"):
        assert np.isnan(scorer(model, X[women], y[women]))
    lost = encode_groups(X["race"])[np.asarray(X["race"] < 2)]
    with pytest.warns(UndefinedMetricWarning, match="2 has 0 rows"):
        value = scorer(
            model,
            X[X["race"] < 2],
            y[X["race"] < 2],
            sensitive_features=lost,
        )
    assert np.isnan(value)


def test_no_groups_at_all(table):
    X, y = table
    with pytest.raises(ValueError, match="scorer of mcdp was given no groups"):
        get_fairness_scorer("neg_mcdp")(make_model().fit(X, y), X, y)


def test_column_that_is_not_there(table):
    X, y = table
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="gender")
    with pytest.raises(ValueError, match=r"no column 'gender'.*'sex', 'race'"):
        scorer(make_model().fit(X, y), X, y)


def test_wrong_length_of_groups(table):
    X, y = table
    scorer = get_fairness_scorer("neg_mcdp")
    with pytest.raises(ValueError, match="has 599 rows, expected 600"):
        scorer(make_model().fit(X, y), X, y, sensitive_features=X["sex"][1:])


def test_multiclass_is_refused(table):
    X, _ = table
    y = np.arange(len(X)) % 3
    model = make_model().fit(X, y)
    for name in ("neg_mcdp", "neg_demographic_parity_difference"):
        scorer = get_fairness_scorer(name, sensitive_features="sex")
        with pytest.raises(ValueError, match=r"y_true must be binary, got 3 classes"):
            scorer(model, X, y)


def test_names():
    names = get_fairness_scorer_names()
    assert names == sorted(names)
    assert {"neg_mcdp", "neg_madd", "neg_abcc"} <= set(names)
    for name in names:
        get_fairness_scorer(name)
    with pytest.raises(ValueError, match=r"scoring must be one of .*got 'mcdp'"):
        get_fairness_scorer("mcdp")

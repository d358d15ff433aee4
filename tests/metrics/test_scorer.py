"""Scorers by column: ways to name it, options, responses, and names."""

import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    cross_validate,
    learning_curve,
)

from skfair.datasets import make_biased_classification
from skfair.groups import encode_groups
from skfair.metrics import (
    demographic_parity_difference,
    get_fairness_scorer,
    get_fairness_scorer_names,
    make_fairness_scorer,
    mcdp,
    values_by_class,
)

GRID = {"logisticregression__C": [0.01, 1.0]}


@pytest.mark.parametrize(
    "selector",
    [
        "sex",
        5,
        pytest.param(-2, marks=pytest.mark.slow),
        pytest.param(lambda X: X["sex"], marks=pytest.mark.slow),
        lambda X: encode_groups(X["sex"]),
    ],
    ids=["name", "position", "negative position", "callable", "callable of Groups"],
)
def test_ways_to_name_a_column(biased, selector, make_model):
    X, y = biased
    model = make_model().fit(X, y)
    expected = get_fairness_scorer("neg_mcdp", sensitive_features="sex")(model, X, y)
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features=selector)
    assert scorer(model, X, y) == expected


def test_several_columns_are_their_intersection(biased, make_model):
    X, y = biased
    model = make_model().fit(X, y)
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features=["sex", "race"])
    both = X["sex"].astype(str) + X["race"].astype(str)
    assert scorer(model, X, y) == scorer(model, X, y, sensitive_features=both)


def test_scorers_pickle_clone_and_print(biased, make_model):
    X, y = biased
    model = make_model().fit(X, y)
    scorer = make_fairness_scorer(mcdp, sensitive_features=["sex"], epsilon=0.05)
    again = pickle.loads(pickle.dumps(scorer))
    assert again(model, X, y) == scorer(model, X, y)
    search = clone(GridSearchCV(model, GRID, scoring=scorer))
    assert repr(search.scoring) == (
        "make_fairness_scorer(mcdp, sensitive_features=['sex'], "
        "response_method='predict_proba', epsilon=0.05)"
    )


def test_options_of_the_metric_are_handed_on(biased, make_model):
    X, y = biased
    model = make_model().fit(X, y)
    scorer = make_fairness_scorer(mcdp, sensitive_features="sex", epsilon=0.1)
    scores = model.predict_proba(X)[:, 1]
    assert scorer(model, X, y) == -mcdp(
        y, scores, sensitive_features=X["sex"], epsilon=0.1
    )


@pytest.mark.parametrize("make", [make_fairness_scorer, get_fairness_scorer])
def test_unknown_options_are_refused_before_any_fit(make):
    metric = mcdp if make is make_fairness_scorer else "neg_mcdp"
    with pytest.raises(TypeError, match=r"mcdp has no option 'epsilom', .*'epsilon'"):
        make(metric, sensitive_features="sex", epsilom=0.1)


def test_metrics_with_any_options_are_accepted():
    def metric(y_true, y_pred, *, sensitive_features, **options):
        return options["epsilon"]

    assert make_fairness_scorer(metric, epsilon=0.1)._kwargs == {"epsilon": 0.1}
    given = make_fairness_scorer(partial(mcdp, epsilon=0.1), epsilon=0.2)
    assert given._kwargs == {"epsilon": 0.2}


def test_positive_label_set_by_partial_is_kept(biased, make_model):
    X, y = biased
    model = make_model().fit(X, y)

    def rate(y_true, y_pred, *, sensitive_features, pos_label=None):
        return float(np.mean(y_pred == pos_label))

    scorer = make_fairness_scorer(partial(rate, pos_label=0), sensitive_features="sex")
    assert scorer(model, X, y) == -np.mean(model.predict(X) == 0)


@pytest.mark.parametrize("positive", [("no", "yes"), (False, True), (1, 2)])
def test_decisions_of_any_labels(biased, positive, make_model):
    X, y = biased
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


def test_first_class_as_positive_label(biased, make_model):
    X, y = biased
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


# --- without usable groups or labels


def test_fold_without_a_group_scores_nan_with_its_name(biased, make_model):
    X, y = biased
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


GIVEN = {"sensitive_features": "race", "groups": [0, 1, 2]}


@pytest.mark.parametrize("make", [get_fairness_scorer, make_fairness_scorer])
def test_expected_groups_are_known_in_every_fold(biased, make_model, make):
    X, y = biased
    model = make_model().fit(X, y)
    metric = "neg_mcdp" if make is get_fairness_scorer else mcdp
    scorer = make(metric, **GIVEN)
    assert scorer(model, X, y) == make(metric, sensitive_features="race")(model, X, y)
    fold = X["race"] < 2
    for one in (scorer, clone(scorer, safe=False), pickle.loads(pickle.dumps(scorer))):
        with pytest.warns(UndefinedMetricWarning, match="2 has 0 rows"):
            assert np.isnan(one(model, X[fold], y[fold]))
    by_array = {"sensitive_features": X.loc[fold, "race"]}
    with pytest.warns(UndefinedMetricWarning, match="2 has 0 rows"):
        assert np.isnan(scorer(model, X[fold], y[fold], **by_array))
    assert "sensitive_features='race', groups=[0, 1, 2]" in repr(scorer)
    few = make(metric, sensitive_features="race", groups=[0, 1])
    with pytest.raises(ValueError, match=r"unknown groups \[2\], .* only \[0, 1\]"):
        few(model, X, y)


def test_expected_groups_of_a_metric_of_the_users_own(biased, make_model):
    X, y = biased

    def rate(y_true, y_pred, *, sensitive_features):
        return (y_pred[sensitive_features == 0] == "x").mean()

    scorer = make_fairness_scorer(rate, **GIVEN)
    model, fold = make_model().fit(X, y), X["race"] < 2
    assert scorer(model, X, y) == 0
    with pytest.warns(UndefinedMetricWarning, match=r"rate .* 2 has 0 rows"):
        assert np.isnan(scorer(model, X[fold], y[fold]))


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        ("FM", TypeError, "groups must be a list of groups, got 'FM'"),
        ({"F", "M"}, TypeError, "groups must be a list of groups"),
        (["F", "F"], ValueError, r"groups must be distinct, got \['F'\] repeatedly"),
        ([{"F"}], TypeError, "groups must hold text, numbers"),
    ],
)
def test_expected_groups_are_checked_at_once(groups, error, message):
    with pytest.raises(error, match=message):
        get_fairness_scorer("neg_mcdp", groups=groups)


SEX_AND_RACE = ["sex", "race"]


@pytest.mark.parametrize("how", ["groups", "categories", "routed"])
def test_an_intersection_that_a_fold_lacks(biased, make_model, how):
    X, y = biased
    model, fold = make_model().fit(X, y), (X["race"] < 2).to_numpy()
    options, routed, part = {"sensitive_features": SEX_AND_RACE}, {}, X[fold]
    if how == "groups":
        options["groups"] = [(sex, race) for sex in (0, 1) for race in (0, 1, 2)]
    elif how == "routed":
        whole = encode_groups(X[SEX_AND_RACE])
        options, routed = {}, {"sensitive_features": whole[fold]}
    else:
        part = part.assign(race=pd.Categorical(part["race"], categories=[0, 1, 2]))
    scorer = get_fairness_scorer("neg_mcdp", **options)
    with pytest.warns(UndefinedMetricWarning, match=r"\(0, 2\) has 0 rows.*\(1, 2\)"):
        assert np.isnan(scorer(model, part, y[fold], **routed))


def test_no_groups_at_all(biased, make_model):
    X, y = biased
    with pytest.raises(ValueError, match="scorer of mcdp was given no groups"):
        get_fairness_scorer("neg_mcdp")(make_model().fit(X, y), X, y)


def test_column_that_is_not_there(biased, make_model):
    X, y = biased
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="gender")
    with pytest.raises(ValueError, match=r"no column 'gender'.*'sex', 'race'"):
        scorer(make_model().fit(X, y), X, y)


def test_column_that_the_model_does_not_know(biased, make_model):
    X, y = biased
    model = make_model().fit(X.drop(columns="sex"), y)
    for selector in ("sex", ["race", "sex"]):
        scorer = get_fairness_scorer("neg_mcdp", sensitive_features=selector)
        with pytest.raises(
            ValueError, match=r"without \['sex'\]: .* pass their values"
        ):
            scorer(model, X, y)
    assert scorer(model, X.drop(columns="sex"), y, sensitive_features=X["sex"]) < 0
    # Errors of another cause stay as they are.
    with pytest.raises(ValueError, match=r"missing(?!.*fitted without)"):
        scorer(model, X.drop(columns="x0"), y)


@pytest.mark.parametrize("selector", [0, [0], -1, [0, -1]])
def test_position_that_the_model_does_not_know(biased, make_model, selector):
    X, y = biased[0].to_numpy(), biased[1]
    taken_out = np.delete(X, selector, axis=1)
    model = make_model().fit(taken_out, y)
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features=selector)
    with pytest.raises(ValueError, match=r"without \[.*\]: .* pass their values"):
        scorer(model, X, y)
    # Errors of another cause stay as they are.
    with pytest.raises(ValueError, match=r"features(?s:(?!.*fitted without))"):
        scorer(model, np.hstack([X, X]), y)


def test_several_classes(biased, make_model):
    X, _ = biased
    y = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    model = make_model().fit(X, y)
    y_score = model.predict_proba(X)
    for name in ("neg_mcdp", "neg_madd", "neg_abcc"):
        scorer = get_fairness_scorer(name, sensitive_features="sex")
        values = values_by_class(
            scorer._metric, y, y_score, sensitive_features=X["sex"]
        )
        assert scorer(model, X, y) == -values.max()
        assert values.index.tolist() == model.classes_.tolist()
    means = make_fairness_scorer(
        demographic_parity_difference,
        sensitive_features="sex",
        response_method="predict_proba",
    )
    assert -1 < means(model, X, y) < 0
    scorer = make_fairness_scorer(mcdp, sensitive_features="sex")
    assert -1 < scorer(model, X[y != "a"], y[y != "a"]) <= 0  # folds may lack a class


def test_decisions_of_several_classes_are_refused(biased, make_model):
    X, _ = biased
    y = np.arange(len(X)) % 3
    model = make_model().fit(X, y)
    scorer = get_fairness_scorer(
        "neg_demographic_parity_difference", sensitive_features="sex"
    )
    with pytest.raises(ValueError, match=r"y_true must be binary, got 3 classes"):
        scorer(model, X, y)


# --- in every scikit-learn function that takes one


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_searches(biased, n_jobs, make_model):
    X, y = biased
    search = GridSearchCV(
        make_model(),
        GRID,
        scoring=get_fairness_scorer("neg_mcdp", sensitive_features="sex"),
        cv=2,
        error_score="raise",
        n_jobs=n_jobs,
    ).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_score_ == max(scores[-2:])
    assert -1 <= search.score(X, y) < 0


def searched(search_class, model, X, y, scorer):
    options = {"n_iter": 2} if search_class is RandomizedSearchCV else {}
    search = search_class(model, GRID, cv=2, scoring=scorer, **options).fit(X, y)
    return search.cv_results_["mean_test_score"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "scored",
    [
        partial(searched, HalvingGridSearchCV),
        partial(searched, RandomizedSearchCV),
        lambda model, X, y, scorer: learning_curve(model, X, y, scoring=scorer)[2],
        lambda model, X, y, scorer: (
            permutation_importance(model.fit(X, y), X, y, scoring=scorer).importances
        ),
    ],
    ids=["halving", "random search", "learning curve", "importance"],
)
def test_whatever_takes_a_scorer_takes_this_one(biased, make_model, scored):
    X, y = biased
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    assert np.isfinite(scored(make_model(), X, y, scorer)).all()


@pytest.mark.slow
def test_cross_validate_with_several_columns_at_once(biased, make_model, by_hand):
    X, y = biased
    scoring = {
        name: get_fairness_scorer("neg_mcdp", sensitive_features=name)
        for name in ("sex", "race")
    }
    scores = cross_validate(
        make_model(), X, y, scoring=scoring, cv=2, error_score="raise"
    )
    assert scores["test_sex"].tolist() == by_hand(X, y, X["sex"])
    assert scores["test_race"].tolist() == by_hand(X, y, X["race"])


@pytest.mark.parametrize("argument", ["sensitive_features", "control_features"])
@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(["F", "M"]),
        np.array(["F", "M"]),
        ["F", "M", "F"],
        encode_groups(["F", "M"]),
        pd.DataFrame({"sex": ["F", "M"]}),
    ],
    ids=lambda labels: type(labels).__name__,
)
def test_labels_in_place_of_a_column_are_refused_at_once(argument, labels):
    with pytest.raises(TypeError, match=f"{argument} of a scorer must name columns"):
        get_fairness_scorer("neg_mcdp", **{argument: labels})


def test_columns_of_an_array_that_the_estimator_knows_by_name():
    X, y = make_biased_classification(
        n_samples=200, group_sizes={"sex": {0: 0.4, 1: 0.6}}, random_state=0
    )
    model = LogisticRegression().fit(X, y)
    for named, array in (("sex", X.columns.get_loc("sex")), (["sex"], [-1])):
        scorer = get_fairness_scorer("neg_mcdp", sensitive_features=named)
        other = get_fairness_scorer("neg_mcdp", sensitive_features=array)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # X has no names
            found = scorer(model, X.to_numpy(), y)
            expected = other(model, X.to_numpy(), y)
        assert found == expected == scorer(model, X, y)
    with pytest.raises(ValueError, match="without column names"):
        scorer(LogisticRegression().fit(X.to_numpy(), y), X.to_numpy(), y)


def test_scoring_monitor():
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9")
    X, y = make_biased_classification(
        n_samples=200, group_sizes={"sex": {0: 0.4, 1: 0.6}}, random_state=0
    )
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    monitor = callback.ScoringMonitor(scoring={"neg_mcdp": scorer})
    model = LogisticRegression().set_callbacks(monitor)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # X has no names
        model.fit(X, y)
    whole_fit, *steps = monitor.get_logs().data
    assert whole_fit["neg_mcdp"] == scorer(model, X, y)
    assert len(steps) > 3


def test_a_metric_without_its_table_has_no_groups():
    """As libraries call the metrics of scorers, with a column for each class."""
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    with pytest.raises(ValueError, match=r"def neg_mcdp\(estimator, X, y\): return"):
        scorer._score_func([0, 1], np.eye(2), **scorer._kwargs)

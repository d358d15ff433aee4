import pickle
import re
import warnings
from copy import deepcopy
from dataclasses import asdict
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, get_scorer, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
)

from skfair.datasets import make_biased_classification
from skfair.metrics import get_fairness_scorer, make_group_scorer
from skfair.model_selection import BestUnder, FairestWithin

NAN = np.nan
PARAMETERS = {"C": [1e-4, 1e-3, 1e-2, 0.1, 1.0]}


def results(performance, fairness, folds=None):
    """Make `cv_results_` of a search over metrics `ap` and `fair`."""
    made = {
        "params": [{"i": i} for i in range(len(performance))],
        "mean_test_ap": np.array(performance),
        "mean_test_fair": np.array(fairness),
    }
    for i, scores in enumerate(folds or []):
        made[f"split{i}_test_ap"] = np.array(scores)
    return made


def within(**options):
    return FairestWithin("ap", "fair", **options)


@pytest.mark.parametrize(
    ("options", "least", "expected"),
    [
        ({}, 0.76, 1),
        ({"tolerance": 0.1}, 0.72, 2),
        pytest.param({"tolerance": 0}, 0.8, 0, marks=pytest.mark.slow),
        pytest.param({"tolerance": 0.05}, 0.76, 1, marks=pytest.mark.slow),
        ({"tolerance": 0.05, "kind": "absolute"}, 0.75, 1),
        pytest.param(
            {"tolerance": 0, "kind": "absolute"}, 0.8, 0, marks=pytest.mark.slow
        ),
        pytest.param(
            {"tolerance": 9, "kind": "absolute"}, -8.2, 3, marks=pytest.mark.slow
        ),
        ({"tolerance": 0.5, "reference": 1.0}, 0.5, 3),
        pytest.param(
            {"tolerance": 0.2, "kind": "absolute", "reference": 0.9},
            0.7,
            2,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_fairest_within(options, least, expected):
    cv_results = results([0.8, 0.77, 0.73, 0.5], [-0.4, -0.3, -0.2, -0.1])
    rule = within(**options)
    assert rule.min_performance(cv_results) == pytest.approx(least)
    assert rule(cv_results) == expected
    assert type(rule(cv_results)) is int
    assert rule(pd.DataFrame(cv_results)) == expected


def test_one_standard_error():
    folds = [[0.7, 0.74], [0.8, 0.75], [0.9, 0.73]]
    cv_results = results(np.mean(folds, axis=0), [-0.4, -0.3], folds)
    rule = within(kind="one_standard_error")
    error = np.std([0.7, 0.8, 0.9], ddof=1) / np.sqrt(3)
    assert_allclose(rule.min_performance(cv_results), 0.8 - error)
    assert rule(cv_results) == 0
    cv_results["mean_test_ap"][1] = 0.75
    assert rule(cv_results) == 1
    for missing in (0, 1):
        del cv_results[f"split{missing}_test_ap"]
    with pytest.warns(UserWarning, match=r"two folds or more.* 1 columns.*'ap'"):
        assert rule(cv_results) == 0


def test_bar_is_reached_despite_rounding():
    # 0.1 + 0.2 lies above 0.3 by rounding.
    rule = within(tolerance=0.1, kind="absolute")
    assert rule(results([0.3 + 0.1, 0.3], [-0.2, -0.1])) == 1
    under = BestUnder("ap", "fair", limit=0.3)
    assert under(results([0.9, 0.1], [-(0.1 + 0.2), -0.1])) == 0


@pytest.mark.parametrize(
    "rule",
    [
        within(),
        pytest.param(BestUnder("ap", "fair", limit=0.5), marks=pytest.mark.slow),
    ],
)
def test_ties_and_undefined_candidates(rule):
    assert rule(results([0.8, 0.8, 0.8], [-0.2, -0.2, -0.2])) == 0
    assert rule(results([0.79, 0.8, 0.8], [-0.2, -0.2, -0.2])) == 1
    assert rule(results([0.8, 0.8, 0.8], [-0.3, -0.2, -0.2])) == 1
    assert rule(results([NAN, 0.8, 0.9, np.inf], [0.0, -0.2, NAN, -0.1])) == 1
    with pytest.warns(UndefinedMetricWarning, match="the best by 'ap'"):
        assert rule(results([0.7, 0.8, NAN], [NAN, NAN, -0.1])) == 1
    with pytest.warns(UndefinedMetricWarning, match="finite .*the best by 'fair'"):
        assert rule(results([NAN, NAN], [-0.2, -0.1])) == 1
    with pytest.warns(UndefinedMetricWarning, match=r"the first, since no .*finite"):
        assert rule(results([NAN, NAN], [NAN, NAN])) == 0


def test_best_under():
    cv_results = results([0.8, 0.77, 0.73, 0.5], [-0.4, -0.3, -0.2, -0.1])
    for limit, expected in [(1, 0), (0.35, 1), (0.3, 1), (0.1, 3)]:
        assert BestUnder("ap", "fair", limit=limit)(cv_results) == expected
    with pytest.warns(
        UserWarning, match=r"limit=0.05; the fairest is taken, with -0.1"
    ):
        assert BestUnder("ap", "fair", limit=0.05)(cv_results) == 3
    with pytest.warns(UserWarning, match=r"negated disparity, .* got a score of 0.4"):
        assert (
            BestUnder("ap", "fair", limit=0.05)(results([0.7, 0.8], [0.4, -0.3])) == 1
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "fairness",
    [["fair", "errors"], ("fair", "errors")],
)
def test_several_fairness_scores(fairness):
    cv_results = results([0.8, 0.79, 0.78, 0.77], [-0.4, -0.1, -0.3, -0.2])
    cv_results["mean_test_errors"] = np.array([-0.1, -0.35, -0.2, -0.25])
    # The worst of both: .4, .35, .3 and .25.
    for tolerance, expected in [(0, 0), (0.01, 1), (0.02, 2), (0.1, 3)]:
        rule = FairestWithin("ap", fairness, tolerance=tolerance, kind="absolute")
        assert rule(cv_results) == expected
        assert deepcopy(rule) == eval(repr(rule)) == rule
    for limit, expected in [
        (0.35, 1),
        (0.3, 2),
        ([0.15, 0.4], 1),
        ([0.2, 0.3], 3),
        ([0.4, 0.1], 0),
    ]:
        assert BestUnder("ap", fairness, limit=limit)(cv_results) == expected
    with pytest.warns(UserWarning, match=r"limit=0.3, 0.1; the .* -0.3, -0.2"):
        assert BestUnder("ap", fairness, limit=[0.3, 0.1])(cv_results) == 2
    cv_results["mean_test_errors"][1] = NAN
    assert BestUnder("ap", fairness, limit=0.35)(cv_results) == 2
    del cv_results["mean_test_errors"]
    with pytest.warns(UserWarning, match="no metric 'errors'"):
        assert BestUnder("ap", fairness, limit=1)(cv_results) == 0


def test_none_within_the_reference():
    cv_results = results([0.7, 0.72, NAN], [-0.1, -0.2, 0])
    with pytest.warns(UserWarning, match=r"at least 0.855; the best .* with 0.72"):
        assert within(reference=0.9)(cv_results) == 1


def test_negative_performance():
    with pytest.raises(ValueError, match=r"never positive.*kind='absolute'"):
        FairestWithin("neg_log_loss")
    cv_results = results([-0.3, -0.31], [-0.4, -0.1])
    with pytest.warns(UserWarning, match=r"is -0.3 at best.*kind='absolute'"):
        assert within()(cv_results) == 0
    assert within(kind="absolute", tolerance=0.02)(cv_results) == 1


@pytest.mark.parametrize("rule", [within(), BestUnder("ap", "fair", limit=0.5)])
def test_missing_metric_lists_those_present(rule):
    cv_results = results([0.7, 0.8, 0.8], [-0.2, -0.2, -0.1])
    cv_results["mean_test_accuracy"] = cv_results.pop("mean_test_fair")
    expected = re.escape("no metric 'fair', it has ['ap', 'accuracy']")
    with pytest.warns(UserWarning, match=expected + r".* the best by 'ap'"):
        assert rule(cv_results) == 1
    near = "'acuracy'.*Did you mean 'accuracy'"
    with pytest.raises(ValueError, match=near):
        FairestWithin("acuracy").min_performance(cv_results)
    other = type(rule)(**{**asdict(rule), "performance": "f1"})
    with pytest.warns(UserWarning, match=r"no metric 'f1'.*KeyError.* best by 'ap'"):
        assert other(cv_results) == 1
    with pytest.raises(ValueError, match=r"no metric 'f1'"):
        FairestWithin("f1").min_performance(cv_results)


@pytest.mark.parametrize("rule", [within(), BestUnder("ap", "fair", limit=0.5)])
@pytest.mark.parametrize(
    ("cv_results", "message"),
    [
        ([0.8], "a dict or a DataFrame, got list"),
        ({"params": [{}]}, r"with mean_test_<metric>, got the columns \['params'\]"),
        ({"mean_test_ap": 0.8}, r"'mean_test_ap'.*one number .* shape \(\)"),
        ({"mean_test_ap": []}, r"one number for each candidate .* shape \(0,\)"),
        (
            results(np.ones((2, 3)), np.ones((2, 3))),
            r"'mean_test_ap'.*one number for each candidate .* shape \(2, 3\)",
        ),
        (results([0.8, 0.7], [-0.1]), r"'mean_test_fair'.* shape \(1,\)"),
    ],
)
def test_what_is_not_of_a_search(rule, cv_results, message):
    with pytest.raises(ValueError, match=message):
        rule(cv_results)


def test_a_rule_is_the_key_of_its_performance():
    rules = [within(), within(tolerance=0.1), BestUnder("ap", "fair", limit=0.5)]
    for rule in rules:
        assert {"ap": 1}[rule] == 1
        assert rule not in {"fair": 1}
        assert rule == deepcopy(rule)
        assert [rule == other for other in rules].count(True) == 1
        assert rule != 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"performance": 3}, "performance must be the name of a metric"),
        ({"fairness": None}, "fairness must be the name of a metric"),
        ({"fairness": []}, "fairness must be a list of one or more names"),
        ({"fairness": ["a", 3]}, "every entry of fairness must be the name"),
        ({"fairness": ["a", "a"]}, "fairness must be distinct"),
        ({"tolerance": -0.1}, r"tolerance must be a number in \[0, 0.5\], got -0.1"),
        ({"tolerance": 0.95}, r"at most 0.5 .*got 0.95.* lost.* before: 0.05"),
        ({"tolerance": NAN}, "tolerance must be"),
        ({"kind": "ratio"}, "kind must be 'relative', 'absolute' or"),
        ({"kind": "absolute"}, r"tolerance must be a number in \[0, inf\), got None"),
        ({"kind": "absolute", "tolerance": -1}, "tolerance must be a number in"),
        ({"kind": "one_standard_error", "tolerance": 0.1}, "tolerance must be None"),
        ({"kind": "one_standard_error", "reference": 0.9}, "reference must be None"),
        ({"reference": "plain"}, "reference must be a number"),
        ({"reference": -0.5}, r"reference=-0.5, so a share .*kind='absolute'"),
    ],
)
def test_bad_parameters_are_refused_before_the_search(options, message):
    with pytest.raises(ValueError, match=message):
        FairestWithin(**options)


@pytest.mark.parametrize("limit", [-0.1, NAN, None, "0.1", [0.1, -0.1], [], [0.1] * 3])
def test_bad_limit(limit):
    n = len(limit) if isinstance(limit, list) else 2
    message = "limit must be a number in" if n == 2 else r"one for each of .*, got"
    with pytest.raises(ValueError, match=message):
        BestUnder(fairness=["a", "b"], limit=limit)


@pytest.mark.parametrize("rule", [FairestWithin(), BestUnder(limit=0.1)])
def test_pickle_copy_and_repr(rule):
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert deepcopy(rule) == clone(rule, safe=False) == rule
    assert eval(repr(rule)) == rule
    assert hash(rule) == hash(deepcopy(rule))
    search = GridSearchCV(LogisticRegression(), PARAMETERS, refit=rule)
    assert clone(search).refit == rule


def test_only_the_last_iteration_of_halving_counts():
    cv_results = results([0.99, 0.8, 0.79], [-0.0, -0.4, -0.3])
    cv_results["iter"] = np.array([0, 1, 1])
    assert within()(cv_results) == 2
    assert BestUnder("ap", "fair", limit=0.5)(cv_results) == 1


SCORES = st.one_of(st.integers(0, 6).map(lambda i: i / 4), st.just(NAN))


@given(
    st.lists(st.tuples(SCORES, SCORES), min_size=1, max_size=8),
    st.sampled_from([0, 0.5]),
)
def test_against_the_sentence_that_states_the_rule(rows, tolerance):
    performance, fairness = (np.array(column) for column in zip(*rows, strict=True))
    cv_results = results(performance, -fairness)
    both = [i for i, row in enumerate(rows) if np.isfinite(row).all()]
    best = max((performance[i] for i in both), default=0)
    if best <= 0:
        return
    chosen = min(
        (fairness[i], -performance[i], i)
        for i in both
        if performance[i] >= (1 - tolerance) * best
    )[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert within(tolerance=tolerance)(cv_results) == chosen


# --- as `refit` of searches


@pytest.fixture(scope="module")
def biased():
    return make_biased_classification(
        600, group_sizes={"sex": {0: 0.4, 1: 0.6}}, random_state=0
    )


@pytest.fixture(scope="module")
def scoring():
    return FairestWithin().scoring(sensitive_features="sex")


def test_a_wrong_name_fails_before_the_fits():
    options = {"sensitive_features": "sex"}
    with pytest.raises(ValueError, match=r"'neg_mcpd'.* Did you mean 'neg_mcdp'"):
        FairestWithin("accuracy", "neg_mcpd").scoring(**options)
    with pytest.raises(ValueError, match=r"'acuracy'\. Did you mean 'accuracy'"):
        BestUnder("acuracy", limit=0.1).scoring(**options)
    names = ["neg_abcc", "neg_mcdp"]
    made = FairestWithin("accuracy", names).scoring(**options)
    assert [*made] == ["accuracy", *names]
    assert all(
        repr(made[name]) == repr(get_fairness_scorer(name, **options)) for name in names
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("search_class", "rule"),
    [
        (GridSearchCV, FairestWithin(tolerance=0.02)),
        (RandomizedSearchCV, FairestWithin(kind="one_standard_error")),
        (GridSearchCV, BestUnder(limit=0.16)),
    ],
)
def test_in_searches(search_class, rule, biased, scoring):
    X, y = biased
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
        close = performance >= rule.min_performance(search.cv_results_)
        chosen = table["mean_test_neg_mcdp"][close].idxmax()
    assert search.best_index_ == chosen
    assert search.best_params_["C"] == search.best_estimator_.C
    assert search.predict(X).shape == y.shape
    expected = get_scorer("average_precision")(search.best_estimator_, X, y)
    assert search.score(X, y) == expected


@pytest.mark.slow
def test_halving_searches_ignore_functions_for_refit(biased, scoring):
    """What the documentation says of them, to be noticed when it changes."""
    X, y = biased

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
    best = found["mean_test_score"]
    assert best[search.best_index_] == pytest.approx(best[last].max())
    chosen = rule(found)
    assert last[chosen]
    fairness = found["mean_test_neg_mcdp"]
    assert fairness[chosen] == fairness[last].max()


# --- labels other than 0 and 1


LABELS = [("<=50K", ">50K"), (False, True), (-1, 1)]


def search_by(search_class, performance, rule, **options):
    """Make a search over a performance, a metric of scores and one of decisions."""
    parity = "neg_demographic_parity_difference"
    scorers = {
        "ap": performance,
        "fair": get_fairness_scorer("neg_mcdp", sensitive_features="sex"),
        "parity": get_fairness_scorer(parity, sensitive_features="sex"),
    }
    if search_class is HalvingGridSearchCV:
        scorers["score"] = performance
        rule = "score"
        options |= {"random_state": 0}

    def score(estimator, X, y):
        return {name: scorer(estimator, X, y) for name, scorer in scorers.items()}

    return search_class(
        LogisticRegression(),
        {"C": [1e-3, 0.1]},
        scoring=score if "score" in scorers else scorers,
        refit=rule,
        cv=2,
        **options,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("search_class", "rule"),
    [
        (GridSearchCV, within()),
        (partial(RandomizedSearchCV, n_iter=2), BestUnder("ap", "parity", limit=0.2)),
        (HalvingGridSearchCV, None),
    ],
)
def test_choice_does_not_depend_on_labels(biased, search_class, rule):
    X, y = biased

    def search(y):
        performance = make_group_scorer("average_precision")
        options = {"error_score": "raise"}
        return search_by(search_class, performance, rule, **options).fit(X, y)

    expected = search(y)
    # What a search passes to the scorers does not depend on its class.
    for labels in LABELS if search_class is GridSearchCV else LABELS[:1]:
        found = search(np.array(labels)[y])
        assert found.best_index_ == expected.best_index_
        for name in ("ap", "fair", "parity"):
            scores = f"mean_test_{name}"
            assert_allclose(found.cv_results_[scores], expected.cv_results_[scores])


@pytest.mark.slow
def test_scikit_learns_scorers_need_the_positive_label(biased):
    """They fail at the first score; the rule says afterwards what to type instead."""
    X, y = biased
    y = np.array(["<=50K", ">50K"])[y]
    with pytest.raises(ValueError, match=r"pos_label=1 is not a valid label.*<=50K"):
        search_by(GridSearchCV, "average_precision", within(), error_score="raise").fit(
            X, y
        )
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        search_by(GridSearchCV, "average_precision", within()).fit(X, y)
    first, *_, last = [str(one.message) for one in seen]
    assert "pos_label=1 is not a valid label" in first
    assert "need pos_label, the positive label: use skfair.metrics." in last
    # The label that comes first may be the positive one.
    told = make_scorer(
        average_precision_score, response_method="predict_proba", pos_label="<=50K"
    )
    search = search_by(GridSearchCV, told, within(), error_score="raise").fit(X, y)
    scores = search.predict_proba(X)[:, 0]
    expected = average_precision_score(y == "<=50K", scores)
    assert search.score(X, y) == pytest.approx(expected)

"""First steps as somebody types them who knows scikit-learn, and perhaps fairlearn.

A step is a list of guesses in the order in which they come to mind. The last one works.
There is at most one wrong guess before it, whose error says what to type.
"""

import json
import re
import types
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    make_scorer,
)
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfair import frames
from skfair.datasets import make_biased_classification
from skfair.groups import encode_groups
from skfair.inprocessing import (
    DiffMCDPClassifier,
    MCDPBoostingClassifier,
    MCDPReweighter,
)
from skfair.inspection import (
    CDFGapDisplay,
    GroupCurveDisplay,
    explained_gap,
)
from skfair.metrics import (
    DCPResult,
    bootstrap_interval,
    certify,
    confidence_interval,
    cvar_fairness,
    cvar_fairness_report,
    cvar_fairness_test,
    dcp,
    demographic_parity_difference,
    equalized_odds_difference,
    false_positive_rate_difference,
    get_fairness_scorer,
    group_metrics,
    madd_optimal_bandwidth,
    make_fairness_scorer,
    max_gap,
    max_gap_test,
    mcdp,
    metric_bounds,
    permutation_test,
    predictive_value_difference,
    proxy_bounds,
    rate_variance,
    true_positive_rate_difference,
    values_by_stratum,
    worst_subgroup,
)
from skfair.model_selection import (
    FairestWithin,
    compare_models,
    cross_val_fairness,
)
from skfair.monitoring import FairnessMonitor
from skfair.postprocessing import (
    MADDPostProcessor,
    RepairedRegressor,
    ScoreRepairer,
    UnawarePostProcessor,
)
from skfair.report import FairnessReport
from skfair.sampling import rows_to_certify
from skfair.statistics import CountTable


def typed(*guesses, says=""):
    """Try guesses until one works: the second at the latest, after what was said."""
    for position, guess in enumerate(guesses):
        try:
            return guess()
        except (TypeError, ValueError) as error:
            last = position == len(guesses) - 1
            if position or last or not says or not re.search(says, str(error)):
                raise
    raise AssertionError("no guess")


@pytest.fixture(scope="module")
def people():
    """Features with the group among them, labels of text, and ages."""
    X, y = make_biased_classification(
        n_samples=600,
        group_sizes={"sex": {"F": 0.4, "M": 0.6}},
        base_rates={"sex": {"F": 0.3, "M": 0.5}},
        random_state=0,
    )
    X["sex"] = X["sex"].astype(object)
    ages = np.random.default_rng(0).integers(17, 95, len(X))
    return X, np.array(["<=50K", ">50K"])[y], pd.Series(ages, name="age")


def pipeline():
    """Fit as most people would, the group among the features."""
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["sex"]), remainder="passthrough"
    )
    return make_pipeline(columns, LogisticRegression())


@pytest.fixture(scope="module")
def fitted(people):
    X, y, _ = people
    return pipeline().fit(X, y)


# --- audit of a fitted pipeline


def test_audit_of_predictions(people, fitted):
    X, y, _ = people
    proba, y_pred = fitted.predict_proba(X), fitted.predict(X)
    groups = {"sensitive_features": X["sex"]}
    first = typed(
        lambda: mcdp(y, proba, **groups),
        lambda: mcdp(y, proba[:, 1], **groups),
        says="column of the positive class",
    )
    assert 0 < first < 1
    by_name = typed(
        lambda: mcdp(y, proba[:, 1], sensitive_features="sex"),
        lambda: mcdp(y, proba[:, 1], sensitive_features=X["sex"]),
        says=r"as table\['sex'\]",
    )
    assert by_name == first
    for metric in (demographic_parity_difference, max_gap):
        value = typed(
            partial(metric, y, y_pred, **groups),
            partial(metric, y, y_pred, **groups, pos_label=">50K"),
            says="pos_label must say which .*'>50K'",
        )
        assert 0 < value < 1
    typed(
        lambda: demographic_parity_difference(y, y_pred, **groups, threshold=0.5),
        lambda: demographic_parity_difference(y, y_pred, **groups, pos_label=">50K"),
        says="threshold must be None where .* labels .* pos_label",
    )
    typed(
        lambda: cvar_fairness_report(y, y_pred, **groups),
        lambda: cvar_fairness_report(y, y_pred, **groups, pos_label=">50K"),
        says="pos_label must say which",
    )


def test_labels_in_place_of_scores(people, fitted):
    X, y, _ = people
    y_pred, groups = fitted.predict(X), {"sensitive_features": X["sex"]}
    typed(
        lambda: mcdp(y, y_pred, **groups),
        lambda: mcdp(y, y_pred == ">50K", **groups),
        says="y_score == '>50K' if that is the positive label",
    )
    codes = np.where(y_pred == ">50K", 2, 1)
    typed(
        lambda: demographic_parity_difference(None, codes, **groups),
        lambda: demographic_parity_difference(None, codes, **groups, pos_label=2),
        says="pos_label=... names the positive one",
    )


def test_scores_where_decisions_are_wanted(people, fitted):
    X, y, _ = people
    scores, groups = fitted.predict_proba(X)[:, 1], {"sensitive_features": X["sex"]}
    y = (y == ">50K").astype(int)
    metrics = {
        metric.__name__: metric
        for metric in (
            equalized_odds_difference,
            true_positive_rate_difference,
            false_positive_rate_difference,
            predictive_value_difference,
            max_gap,
            cvar_fairness,
            dcp,
        )
    }
    metrics |= {
        rate: partial(group_metrics, rate, confidence_level=None)
        for rate in ("accuracy", "selection_rate", "false_negative_rate")
    }
    for metric in metrics.values():
        typed(
            partial(metric, y, scores, **groups),
            partial(metric, y, scores >= 0.5, **groups),
            says=r"must be class labels, got the continuous .* y_pred >= 0\.5",
        )


NAME = (
    r"must be a function, such as skfair\.metrics\.mcdp, or the name of one, got 'mcd'"
)
NO_GROUPS = "must take sensitive_features, which accuracy_score does not.*group_metrics"


@pytest.mark.parametrize(
    ("metric", "says"), [("mcd", NAME), (accuracy_score, NO_GROUPS)]
)
def test_metrics_by_name_or_without_groups(people, metric, says):
    X, y, _ = people
    histogram = CountTable.from_rows(None, [0.5], sensitive_features=["a"])
    rows, groups = (y, X["x0"]), {"sensitive_features": X["sex"]}
    calls = [
        partial(permutation_test, metric, *rows, **groups),
        partial(make_fairness_scorer, metric, sensitive_features="sex"),
        partial(cross_val_fairness, metric, pipeline(), X, y, **groups),
    ]
    if says == NAME:
        calls += [
            partial(bootstrap_interval, metric, *rows, **groups),
            partial(confidence_interval, metric, *rows, **groups),
            partial(certify, metric, *rows, at_most=0.1, **groups),
            partial(proxy_bounds, metric, *rows, cells=X["sex"], **groups),
            partial(FairnessMonitor, metric),
            partial(metric_bounds, metric, histogram=histogram),
        ]
    for call in calls:
        with pytest.raises(TypeError, match=says):
            call()
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    with pytest.raises(TypeError, match="got the scorer make_fairness"):
        cross_val_fairness(scorer, pipeline(), X, y, sensitive_features="sex")


def test_arguments_in_another_order(people, fitted):
    X, y, _ = people
    for make in (CDFGapDisplay.from_estimator, FairnessReport.from_estimator):
        with pytest.raises(TypeError, match="must be a fitted model, got a DataFrame"):
            make(X, fitted, y, sensitive_features=X["sex"])
    table = X.assign(y=y)
    with pytest.raises(TypeError, match=r"must be the name of a column .*got a Series"):
        FairnessReport.from_frame(
            table, y_true="y", y_score="x0", sensitive_features=X["sex"]
        )
    with pytest.raises(ValueError, match=r"must be the name of a metric.*got a dict"):
        FairestWithin(pd.DataFrame(X).to_dict())({})


#: What reads rows beside the metrics themselves, by the arguments that it takes.
OF_SCORES = {
    "madd_optimal_bandwidth": madd_optimal_bandwidth,
    "worst_subgroup": partial(worst_subgroup, n_permutations=1),
    "proxy_bounds": partial(proxy_bounds, mcdp, missing="bounds"),
    "values_by_stratum": partial(values_by_stratum, mcdp, control_features=[0, 1] * 50),
    "FairnessMonitor": lambda *rows, **groups: FairnessMonitor(mcdp).update(
        *rows, **groups
    ),
    "CountTable of bins": partial(CountTable.from_rows, n_bins=64),
    "GroupCurveDisplay": partial(
        GroupCurveDisplay.from_predictions,
        kind="calibration_gap",
        confidence_level=None,
    ),
}
OF_LABELS = {
    "rate_variance": rate_variance,
    "cvar_fairness_report": cvar_fairness_report,
    "cvar_fairness_test": partial(
        cvar_fairness_test, alpha=0.5, epsilon=0.1, n_permutations=9
    ),
    "max_gap_test": partial(max_gap_test, n_permutations=9),
    "DCPResult": DCPResult.from_predictions,
    "CountTable of labels": CountTable.from_rows,
}
OF_GROUPS = {
    "CountTable": partial(CountTable.from_rows, None),
    "ScoreRepairer": lambda s, **groups: ScoreRepairer().fit(s, **groups),
    "transform": lambda s, **groups: (
        ScoreRepairer().fit(s, sensitive_features=[0, 1] * 50).transform(s, **groups)
    ),
    "explained_gap": lambda s, **groups: explained_gap(
        s, explained_by=[0, 1, 1, 0] * 25, cv=2, **groups
    ),
    "compare_models": lambda s, **groups: compare_models(
        s > 0.5, {"a": s, "b": 1 - s}, baseline="a", margin=0.1, **groups
    ),
}


#: They draw, or fit models.
LONG = "GroupCurveDisplay", "compare_models", "explained_gap"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in LONG))
        for name in [*OF_SCORES, *OF_LABELS, *OF_GROUPS]
    ],
)
def test_rows_in_another_order_of_any_function(name):
    rng = np.random.default_rng(0)
    scores = pd.Series(rng.random(100).round(2))
    groups = pd.Series([0, 1] * 50, name="group").sample(frac=1, random_state=0)
    labels = pd.Series(np.arange(100) // 2 % 2)
    if name in OF_GROUPS:
        call = partial(OF_GROUPS[name], scores)
    elif name in OF_LABELS:
        call = partial(
            OF_LABELS[name], labels, labels.iloc[::-1].reset_index(drop=True)
        )
    else:
        call = partial(OF_SCORES[name], labels, scores)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", ".*same index labels in different orders")
        with pytest.raises(UserWarning, match="and sensitive_features have the same"):
            call(sensitive_features=groups)
        if name != "worst_subgroup":
            call(sensitive_features=groups.reset_index(drop=True))


# --- a cross-validated search with labels of text


def test_a_metric_in_place_of_a_scorer(people):
    X, y, _ = people
    score = partial(cross_val_score, pipeline(), X, y, cv=2, error_score="raise")
    with pytest.raises(TypeError, match="2 positional arguments"):
        score(scoring=mcdp)
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    assert np.isfinite(score(scoring=scorer)).all()


# --- mitigation, and deployment of what it made


MITIGATORS = {
    "MCDPReweighter": partial(MCDPReweighter, LogisticRegression()),
    "MADDPostProcessor": partial(MADDPostProcessor, LogisticRegression()),
    "UnawarePostProcessor": partial(UnawarePostProcessor, LogisticRegression()),
    "DiffMCDPClassifier": partial(DiffMCDPClassifier, max_iter=50),
}


@pytest.mark.parametrize("make", MITIGATORS.values(), ids=MITIGATORS)
def test_groups_given_to_the_constructor(people, make):
    X, y, _ = people
    says = r"got a Series.*fit\(X, y, sensitive_features=\.\.\.\)"
    with pytest.raises(TypeError, match=says):
        make(sensitive_features=X["sex"]).fit(X, y)


def test_deployment_of_one_row_as_json(people):
    X, y, _ = people
    options = {"sensitive_features": "sex", "drop_sensitive": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is not fairer on so few rows
        model = MADDPostProcessor(LogisticRegression(), **options).fit(X, y)
    row = json.loads(X.head(1).to_json(orient="records"))[0]
    by_dict = typed(
        lambda: model.predict(row),
        lambda: model.predict(pd.DataFrame([row])),
        says=r"got a dict. Pass one row as pandas\.DataFrame\(\[row\]\)",
    )
    by_position = typed(
        lambda: model.predict(X.iloc[0]),
        lambda: model.predict(X.iloc[[0]]),
        says=r"got a Series. Pass one row as X\.iloc\[\[0\]\]",
    )
    assert by_dict == by_position


# --- tables of any size, batches, and other kinds of scores


@pytest.mark.slow
def test_rows_in_duckdb():
    duckdb = pytest.importorskip("duckdb")
    table = duckdb.sql(
        "SELECT ((i * 7919) % 10007) / 10007 AS p, "
        "CASE WHEN (i * 31) % 10 < 4 THEN 'F' ELSE 'M' END AS sex "
        "FROM range(20000) AS t(i)"
    )
    value = typed(
        lambda: mcdp(None, table, sensitive_features="sex"),
        lambda: mcdp(
            None,
            frames.count_table(table, y_pred="p", sensitive_features="sex"),
        ),
        says=r"skfair\.frames\.count_table\(table, y_pred=",
    )
    assert 0 <= value < 0.1


@pytest.mark.slow
def test_missing_groups(people, fitted):
    """The error of labels, and of a named column of X, says what to type."""
    X, y, _ = people
    X = X.assign(sex=X["sex"].where(X.index > 9, None))
    y_score = fitted.predict_proba(people[0])[:, 1]
    labels = r"In place of labels pass .*encode_groups\(labels, missing='group'\)"
    value = typed(
        lambda: mcdp(y, y_score, sensitive_features=X["sex"]),
        lambda: mcdp(
            y, y_score, sensitive_features=encode_groups(X["sex"], missing="group")
        ),
        says=labels,
    )
    assert value > 0
    column = r"of X a function: lambda X: encode_groups.X\['sex'\], missing='group'."
    repaired = typed(
        lambda: MADDPostProcessor(pipeline(), sensitive_features="sex").fit(X, y),
        lambda: MADDPostProcessor(
            pipeline(),
            sensitive_features=lambda X: encode_groups(X["sex"], missing="group"),
        ).fit(X, y),
        says=column,
    )
    assert "(missing)" in repaired.groups_
    score = partial(cross_val_score, pipeline(), X, y, cv=2, error_score="raise")
    scorer = partial(get_fairness_scorer, "neg_mcdp")
    known = lambda X: encode_groups(X["sex"], missing="drop")  # noqa: E731
    typed(
        lambda: score(scoring=scorer(sensitive_features="sex")),
        lambda: score(scoring=scorer(sensitive_features=known)),
        says=column,
    )


def test_policies_about_groups_as_options_of_a_scorer():
    with pytest.raises(TypeError, match=r"takes missing: .* a function of X"):
        get_fairness_scorer("neg_mcdp", sensitive_features="sex", missing="drop")


def test_a_group_of_few_rows(people, fitted):
    """The warning of an undefined value says how to go on."""
    X, y, _ = people
    y_score, y_pred = fitted.predict_proba(X)[:, 1], fitted.predict(X)
    sex = X["sex"].mask(X.index < 9, "other").mask(X.index < 2, "none")
    rare = partial(encode_groups, sex, min_group_size=20)
    says = r"'none' has 2 rows and 'other' has 7 rows\. .*rare='merge'.*rare='drop'"
    with pytest.warns(UndefinedMetricWarning, match=says):
        assert np.isnan(mcdp(y, y_score, sensitive_features=rare()))
    assert mcdp(y, y_score, sensitive_features=rare(rare="drop")) > 0
    says = r"at least 1 row of each true label, but .*\. .*rare='drop'"
    few = X["sex"].mask(X.index < 1, "one")
    with pytest.warns(UndefinedMetricWarning, match=says):
        equalized_odds_difference(y, y_pred, sensitive_features=few)


def test_the_name_of_a_column_in_a_scorer_of_scikit_learn(people):
    X, y, _ = people
    scorer = make_scorer(
        mcdp, response_method="predict_proba", sensitive_features="sex"
    )
    with pytest.raises(ValueError, match="get_fairness_scorer take its name"):
        cross_val_score(pipeline(), X, y == ">50K", scoring=scorer, error_score="raise")
    with pytest.raises(ValueError, match=r"as table\['label'\]\.$"):
        mcdp("label", np.zeros(len(X)), sensitive_features=X["sex"])


def test_a_mitigator_without_groups(people):
    X, y, _ = people
    says = r"Pass them to fit, or name columns of X in MADDPostProcessor\(\.\.\., sens"
    with pytest.warns(UserWarning, match=says):
        MADDPostProcessor(pipeline()).fit(X, y)


def test_boosting_around_a_pipeline(people):
    """The error names the class of the pipeline, and does not print its steps."""
    X, y, _ = people
    says = r"got a Pipeline\. .* UnawarePostProcessor takes other classifiers"
    with pytest.raises(TypeError, match=says):
        MCDPBoostingClassifier(pipeline(), sensitive_features="sex").fit(X, y)


def reported(s, groups):
    few = {"n_resamples": 2, "n_permutations": 0, "pos_label": ">50K"}
    return FairnessReport.from_predictions(
        s.y, s.score, sensitive_features=groups, **few
    )


#: What is typed first, what is typed next, and what the error of the first says.
STEPS = {
    "weights by another name": (
        lambda s: mcdp(s.y, s.score, sensitive_features=s.sex, weights=s.ones),
        lambda s: mcdp(s.y, s.score, sensitive_features=s.sex, sample_weight=s.ones),
        "unexpected keyword argument 'weights'",
    ),
    "names of columns in place of labels": (
        lambda s: mcdp(s.y, s.score, sensitive_features=["sex", "age"]),
        lambda s: mcdp(s.y, s.score, sensitive_features=s.table[["sex", "age"]]),
        r"has 2 rows, expected 600.* pass their values: table\[\['sex', 'age'\]\]",
    ),
    "names of columns in a report": (
        lambda s: reported(s, ["sex"]),
        lambda s: reported(s, s.table[["sex"]]),
        r"has 1 rows, expected 600.* pass their values: table\[\['sex'\]\]",
    ),
    "groups of all rows for those of a fold": (
        lambda s: mcdp(s.y[:99], s.score[:99], sensitive_features=s.sex),
        lambda s: get_fairness_scorer("neg_mcdp", sensitive_features="sex")(
            s.model, s.X[:99], s.y[:99]
        ),
        r"has 600 rows, expected 99.* get_fairness_scorer\(\.\.\., sensitive_feat",
    ),
    "scores of which some are missing": (
        lambda s: mcdp(None, s.gaps, sensitive_features=s.sex),
        lambda s: mcdp(None, s.gaps[3:], sensitive_features=s.sex[3:]),
        r"got nan in row 0 \(3 such rows\)\. Leave the rows without a number out of",
    ),
    "ranks of scores of which some are missing": (
        lambda s: mcdp(None, s.gaps, sensitive_features=s.sex, scale="rank"),
        lambda s: mcdp(None, s.gaps[3:], sensitive_features=s.sex[3:], scale="rank"),
        "Leave the rows without a number out of all",
    ),
    "labels in place of shares of groups": (
        lambda s: rows_to_certify(0.1, s.sex),
        lambda s: rows_to_certify(0.1, s.sex.value_counts()),
        r"group_weights must be numbers.* as table\['group'\]\.value_counts\(\)",
    ),
    "groups of a repair by position": (
        lambda s: ScoreRepairer().fit(s.score, s.sex),
        lambda s: ScoreRepairer().fit(s.score, sensitive_features=s.sex),
        "sensitive_features is None.* given by name: sensitive_features=labels",
    ),
    "an option of encode_groups": (
        lambda s: mcdp(s.y, s.score, sensitive_features=s.sex, min_group_size=20),
        lambda s: mcdp(
            s.y, s.score, sensitive_features=encode_groups(s.sex, min_group_size=20)
        ),
        "unexpected keyword argument 'min_group_size'",
    ),
    "a mitigator of classifiers around a regressor": (
        lambda s: MADDPostProcessor(LinearRegression()).fit(
            s.numbers, s.y, sensitive_features=s.sex
        ),
        lambda s: RepairedRegressor(LinearRegression()).fit(
            s.numbers, s.score, sensitive_features=s.sex
        ),
        "got LinearRegression.* RepairedRegressor and UnawareRegressor .*take regre",
    ),
}


@pytest.mark.parametrize(("guess", "works", "says"), STEPS.values(), ids=STEPS)
def test_what_the_error_says_works(people, fitted, guess, works, says):
    X, y, age = people
    score = pd.Series(fitted.predict_proba(X)[:, 1])
    given = types.SimpleNamespace(
        model=fitted,
        X=X,
        y=y,
        sex=X["sex"],
        table=X.assign(age=np.where(age > 40, "old", "young")),
        numbers=X.drop(columns="sex"),
        score=score,
        gaps=score.mask(X.index < 3),
        ones=np.ones(len(X)),
    )
    assert typed(partial(guess, given), partial(works, given), says=says)


def test_labels_of_too_few_rows_are_no_names_of_columns(people):
    X, y, _ = people
    with pytest.raises(ValueError, match=r"one per sample\.$"):
        mcdp(y, y == ">50K", sensitive_features=X["sex"].tolist()[:20])


def test_a_file_in_place_of_a_table():
    with pytest.raises(TypeError, match=r"got a str\. Read the file first, as pandas"):
        frames.count_table("a.csv", y_pred="p", sensitive_features="sex")

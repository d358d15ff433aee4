"""Functions of the user's own: what they are given, and when they have no value."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression

from skfair.groups import encode_groups
from skfair.metrics import (
    bootstrap_interval,
    make_fairness_scorer,
    mcdp,
    permutation_test,
    values_by_class,
    values_by_stratum,
)
from skfair.model_selection import cross_val_fairness

RESAMPLING = [permutation_test, bootstrap_interval]


def mean_of(values):
    return values.mean() if len(values) else math.nan


def gap_of_sexes(y_true, y_score, *, sensitive_features):
    women, men = (mean_of(y_score[sensitive_features == sex]) for sex in "FM")
    return abs(women - men)


def gap_of_cohorts(y_true, y_score, *, sensitive_features):
    old = sensitive_features < pd.Timestamp("2000-01-01")
    return abs(mean_of(y_score[old]) - mean_of(y_score[~old]))


def gap_of_timestamps(y_true, y_score, *, sensitive_features):
    first = sensitive_features == pd.Timestamp("1990-01-01")
    return abs(mean_of(y_score[first]) - mean_of(y_score[~first]))


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    sex = np.array(["F", "M"])[rng.integers(0, 2, 60)]
    scores = rng.random(60) + (sex == "M")
    return scores, sex, (rng.random(60) < 0.5).astype(int)


def few(function):
    if function is bootstrap_interval:
        return {"n_resamples": 9, "random_state": 0}
    return {"n_permutations": 9, "random_state": 0, "within": None}


@pytest.mark.parametrize("function", RESAMPLING)
@pytest.mark.parametrize("container", [np.array, pd.Series, list, encode_groups])
def test_labels_are_compared_as_in_a_call_by_hand(people, function, container):
    scores, sex, _ = people
    rows = {"sensitive_features": container(sex), **few(function)}
    found = function(gap_of_sexes, None, scores, **rows)
    assert found.value == gap_of_sexes(None, scores, sensitive_features=sex)
    drawn = found.to_frame()[["pvalue" if "within" in rows else "lower"]]
    assert np.isfinite(drawn.to_numpy()).all()


def test_a_scorer_compares_labels_as_in_a_call_by_hand(people):
    scores, sex, y = people
    X = pd.DataFrame({"score": scores, "sex": sex})
    model = DummyClassifier(strategy="uniform", random_state=0).fit(X, y)
    scorer = make_fairness_scorer(
        gap_of_sexes, sensitive_features="sex", response_method="predict"
    )
    expected = gap_of_sexes(None, model.predict(X), sensitive_features=X["sex"])
    assert scorer(model, X, y) == -expected
    assert scorer(model, X, y, sensitive_features=sex) == -expected


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        pytest.param([0, 1], "int64", marks=pytest.mark.slow),
        ([0.5, 1.5], "float64"),
        pytest.param([False, True], "bool", marks=pytest.mark.slow),
        (["F", "M"], "object"),
        pytest.param([1, "M"], "object", marks=pytest.mark.slow),
        ([2**70, 1], "object"),
    ],
)
def test_every_function_gives_an_array_of_labels(labels, dtype):
    seen, scores = [], np.arange(12) / 12

    def spy(y_true, y_score, *, sensitive_features):
        seen.append(sensitive_features)
        return 0.0

    groups = pd.Series(labels * 6, dtype=object)
    rows = {"sensitive_features": groups}
    for function in RESAMPLING:
        function(spy, None, scores, **rows, **few(function))
    values_by_stratum(spy, None, scores, **rows, control_features=["x", "y", "y"] * 4)
    values_by_class(spy, None, np.column_stack([scores, 1 - scores]), **rows)
    cross_val_fairness(
        spy,
        LogisticRegression(),
        scores[:, None],
        [0, 1, 1] * 4,
        **rows,
        cv=2,
        within=None,
        n_resamples=2,
        n_permutations=2,
    )
    assert len(seen) > 20
    for array in seen:
        assert type(array) is np.ndarray
        assert array.dtype == dtype
        assert {*array.tolist()} <= {*labels}


def test_rows_without_a_group_are_left_out(people):
    scores, sex, _ = people
    sex = np.where(np.arange(60) % 5 == 0, None, sex)
    kept = sex != None  # noqa: E711
    groups = encode_groups(sex, missing="drop")
    found = permutation_test(
        gap_of_sexes, None, scores, sensitive_features=groups, n_permutations=5
    )
    expected = gap_of_sexes(None, scores[kept], sensitive_features=sex[kept])
    assert found.value == expected


@pytest.mark.parametrize("function", RESAMPLING)
@pytest.mark.parametrize(
    ("metric", "found"),
    [(gap_of_cohorts, "raises TypeError"), (gap_of_timestamps, "nan with an array")],
)
def test_a_value_that_would_be_lost_is_an_error(people, function, metric, found):
    scores, sex, _ = people
    born = pd.Series(pd.to_datetime(np.where(sex == "F", "1990-01-01", "2001-01-01")))
    plain = metric(None, scores, sensitive_features=born)
    message = rf"metric {metric.__name__} is {plain:.6g} .* as given, but {found}"
    rows = {"sensitive_features": born, **few(function)}
    with pytest.raises(ValueError, match=message):
        function(metric, None, scores, **rows)


def test_a_score_that_would_be_lost_is_an_error(people):
    scores, sex, y = people
    born = pd.to_datetime(np.where(sex == "F", "1990-01-01", "2001-01-01"))
    X = pd.DataFrame({"score": scores, "born": born})
    model = DummyClassifier(strategy="uniform", random_state=0).fit(X[["score"]], y)
    scorer = make_fairness_scorer(gap_of_timestamps, sensitive_features="born")
    with pytest.raises(ValueError, match=r"gap_of_timestamps is .* but nan"):
        scorer(model, X, y)


@pytest.mark.parametrize("function", RESAMPLING)
def test_errors_and_values_that_are_undefined_in_any_case_stay(people, function):
    scores, sex, _ = people

    def never(y_true, y_score, *, sensitive_features):
        return math.nan

    def fails(y_true, y_score, *, sensitive_features):
        raise KeyError("my own")

    rows = {"sensitive_features": sex, **few(function)}
    assert math.isnan(function(never, None, scores, **rows).value)
    with pytest.raises(KeyError, match="my own"):
        function(fails, None, scores, **rows)


def test_an_absent_group_has_no_value(people):
    scores, sex, _ = people

    def behind(y_true, y_score, *, sensitive_features):
        return mcdp(None, y_score % 1, sensitive_features=sensitive_features)

    groups = pd.Categorical(sex, categories=["F", "M", "X"])
    for metric in (gap_of_sexes, behind):
        with pytest.warns(UndefinedMetricWarning, match="'X' has 0 rows"):
            found = bootstrap_interval(metric, None, scores, sensitive_features=groups)
        assert math.isnan(found.value)

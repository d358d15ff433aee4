"""Disparities of predicted numbers, in the unit of the target."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance
from sklearn import config_context
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import cross_validate

from skfair.metrics import (
    abcc,
    bootstrap_interval,
    confidence_interval,
    demographic_parity_difference,
    get_fairness_scorer,
    group_metrics,
    madd,
    mcdp,
    mean_absolute_error_difference,
    mean_error_difference,
    permutation_test,
)
from skfair.statistics import GroupedScores

REAL = {"scale": "real"}
BY_GROUP = {
    "abcc": partial(abcc, **REAL),
    "means": partial(demographic_parity_difference, **REAL),
    "errors": mean_error_difference,
    "absolute errors": mean_absolute_error_difference,
}


@st.composite
def salaries(draw):
    """True and predicted values, groups that all have rows, and weights."""
    n_rows = draw(st.integers(3, 20))
    value = st.floats(-1e6, 1e6)
    size = {"min_size": n_rows, "max_size": n_rows}
    true, predicted = (np.array(draw(st.lists(value, **size))) for _ in range(2))
    weights = np.array(draw(st.lists(st.integers(1, 3), **size)))
    return true, predicted, np.arange(n_rows) % 3, weights


def definition(name, true, predicted, weights):
    """What is compared of each group: a number, or its predictions."""
    errors = predicted - true
    values = {"means": predicted, "errors": errors, "absolute errors": np.abs(errors)}
    return np.average(values[name], weights=weights)


@pytest.mark.parametrize("name", BY_GROUP)
@given(salaries())
def test_values_are_their_definitions(name, rows):
    true, predicted, groups, weights = rows
    of_group = [
        (true[groups == g], predicted[groups == g], weights[groups == g])
        for g in range(3)
    ]
    if name == "abcc":
        expected = max(
            wasserstein_distance(one[1], other[1], one[2], other[2])
            for one in of_group
            for other in of_group
        )
    else:
        by_group = [definition(name, *part) for part in of_group]
        expected = max(by_group) - min(by_group)
    given = {"sensitive_features": groups, "sample_weight": weights}
    found = BY_GROUP[name](true, predicted, **given)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-6)


@pytest.fixture(scope="module")
def people():
    """Years of school, salaries, sex and offices."""
    generator = np.random.default_rng(0)
    sex = np.where(generator.random(800) < 0.4, "F", "M")
    school = generator.normal(12, 3, 800) + (sex == "M")
    salary = 2_000 * school + generator.normal(0, 4_000, 800) + 3_000 * (sex == "M")
    return pd.DataFrame({"school": school}), salary, sex, np.arange(800) % 2


@pytest.mark.parametrize("name", BY_GROUP)
def test_another_unit_changes_the_unit_of_the_value(name, people):
    X, salary, sex, _ = people
    predicted, metric = LinearRegression().fit(X, salary).predict(X), BY_GROUP[name]
    value = metric(salary, predicted, sensitive_features=sex)
    assert metric(
        salary / 1000, predicted / 1000, sensitive_features=sex
    ) == pytest.approx(value / 1000)


@pytest.mark.parametrize("name", BY_GROUP)
def test_uncertainty_and_strata(name, people):
    X, salary, sex, office = people
    predicted, metric = LinearRegression().fit(X, salary).predict(X), BY_GROUP[name]
    given = {"sensitive_features": sex}
    value = metric(salary, predicted, **given)
    interval = bootstrap_interval(metric, salary, predicted, n_resamples=99, **given)
    assert interval.lower < value < interval.upper
    options = {"n_permutations": 99, "random_state": 0}
    test = permutation_test(metric, salary, predicted, **given, **options)
    assert test.value == pytest.approx(value)
    # Groups with other means and other errors, but errors that are as large.
    assert (test.pvalue < 0.05) == (name != "absolute errors")
    within = metric(salary, predicted, **given, control_features=office)
    of_offices = [
        metric(salary[own], predicted[own], sensitive_features=sex[own])
        for own in (office == 0, office == 1)
    ]
    assert within == max(of_offices)


def test_scorers_of_a_regressor(people):
    X, salary, sex, _ = people
    scoring = {
        "abcc": get_fairness_scorer("neg_abcc", **REAL),
        "means": get_fairness_scorer("neg_demographic_parity_difference", **REAL),
        "high": get_fairness_scorer(
            "neg_demographic_parity_difference", threshold=30_000, **REAL
        ),
        "errors": get_fairness_scorer("neg_mean_error_difference"),
        "absolute": get_fairness_scorer("neg_mean_absolute_error_difference"),
    }
    with config_context(enable_metadata_routing=True):
        found = cross_validate(
            LinearRegression(),
            X,
            salary,
            scoring=scoring,
            params={"sensitive_features": sex},
            cv=2,
            error_score="raise",
        )
    for name in ("abcc", "means", "errors", "absolute"):
        assert (found[f"test_{name}"] < -10).all()
    assert (found["test_high"] > -1).all()


@pytest.mark.slow
def test_metrics_of_regression_by_group(people):
    X, salary, sex, _ = people
    predicted = LinearRegression().fit(X, salary).predict(X)
    found = group_metrics(
        ["r2_score", mean_absolute_error], salary, predicted, sensitive_features=sex
    )
    table = found.by_group
    for group in ("F", "M"):
        own = sex == group
        given = salary[own], predicted[own]
        assert table.loc[group, "r2_score"] == pytest.approx(r2_score(*given))
        expected = mean_absolute_error(*given)
        assert table.loc[group, "mean_absolute_error"] == pytest.approx(expected)


def test_statistics_in_place_of_rows(people):
    _, salary, sex, _ = people
    statistic = GroupedScores.from_scores(salary, sensitive_features=sex, **REAL)
    for name in ("abcc", "means"):
        expected = BY_GROUP[name](None, salary, sensitive_features=sex)
        assert BY_GROUP[name](None, statistic) == pytest.approx(expected)


def test_bad_input(people):
    _, salary, sex, _ = people
    given = {"sensitive_features": sex}
    for metric in (mcdp, madd):
        with pytest.raises(ValueError, match="scale must be 'probability' or 'rank'"):
            metric(None, salary, **given, **REAL)
    with pytest.raises(ValueError, match=r"scale must be .* got .real"):
        confidence_interval(BY_GROUP["abcc"], None, salary, **given)
    for name in BY_GROUP:
        with pytest.raises(ValueError, match="must be finite, got nan"):
            BY_GROUP[name](salary, np.append(salary[1:], np.nan), **given)
    for name in ("errors", "absolute errors"):
        for true, match in (
            (None, "y_true must be the true values"),
            (salary[:5], r"y_true must have shape \(800,\)"),
            (sex, "y_true must be numbers, got 'M'"),
            (salary * np.inf, "y_true must be finite, got inf"),
        ):
            with pytest.raises(ValueError, match=match):
                BY_GROUP[name](true, salary, **given)
    with pytest.raises(ValueError, match="pos_label must be None with scale='real'"):
        BY_GROUP["means"](None, salary, **given, pos_label=1)

"""Disparities of predicted numbers, in the unit of the target."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance
from sklearn import config_context
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_validate

from skfair.metrics import (
    abcc,
    certify,
    confidence_interval,
    demographic_parity_difference,
    get_fairness_scorer,
    madd,
    mcdp,
    mean_absolute_error_difference,
    mean_error_difference,
)
from skfair.model_selection import cross_val_fairness
from skfair.monitoring import FairnessMonitor

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
@pytest.mark.promise("Disparities of predicted numbers are in the target's unit")
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


#: Numbers between -1 and 1 to which 2**41 can be added without rounding.
fine = st.integers(-(2**11), 2**11).map(lambda whole: whole / 2**11)


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_GROUP)
@given(st.data(), st.integers(0, 41), st.sampled_from([-1, 1]), st.integers(1, 2000))
def test_values_far_from_0_differ_as_values_near_0(name, data, power, sign, times):
    n_rows = data.draw(st.integers(2, 9))
    size = {"min_size": n_rows, "max_size": n_rows}
    predicted = np.array(data.draw(st.lists(fine, **size)))
    groups, origin = np.arange(n_rows) % 2, sign * 2.0**power
    weights = times * np.ones(n_rows)
    metric, given = BY_GROUP[name], {"sensitive_features": groups}
    given["sample_weight"] = weights
    value = metric(0 * predicted, predicted, **given)
    if name != "absolute errors":
        moved = metric(0 * predicted, predicted + origin, **given)
        assert moved == pytest.approx(value, rel=1e-9, abs=1e-9)
    moved = metric(0 * predicted + origin, predicted + origin, **given)
    assert moved == value


@pytest.mark.parametrize("scale", ["real", "rank"])
@pytest.mark.parametrize("as_objects", [False, True])
def test_whole_numbers_that_floats_cannot_tell_apart(scale, as_objects):
    y_score = np.arange(2**60, 2**60 + 6, dtype=object if as_objects else np.int64)
    given = {"sensitive_features": list("aaabbb")}
    with pytest.raises(
        ValueError, match=r"y_score must be .* 1152921504606846977 in ro"
    ):
        abcc(None, y_score, scale=scale, **given)
    with pytest.raises(ValueError, match="y_true must be numbers that a float"):
        mean_error_difference(y_score, np.zeros(6), **given)
    near = abcc(None, y_score - 2**60, scale=scale, **given)
    assert abcc(None, 2**60 + 2**10 * (y_score - 2**60), scale="rank", **given) > 0
    assert near == pytest.approx(3 if scale == "real" else 0.5)


@pytest.mark.parametrize("large", [1e151, -1.7e308])
def test_numbers_too_large_to_be_added_up(large):
    values, given = [large, 0, 0, 0], {"sensitive_features": [0, 1, 0, 1]}
    message = r"must lie between -.*e\+1.. and .*, got .* in row 0"
    for metric in (abcc, demographic_parity_difference):
        with pytest.raises(ValueError, match=f"y_(score|pred) {message}"):
            metric(None, values, **REAL, **given)
    with pytest.raises(ValueError, match=f"y_true {message}"):
        mean_error_difference(values, [0, 0, 0, 0], **given)
    assert mcdp(None, values, scale="rank", **given) == 0.5


@pytest.fixture(scope="module")
def people():
    """Years of school, salaries, sex and offices."""
    generator = np.random.default_rng(0)
    sex = np.where(generator.random(800) < 0.4, "F", "M")
    school = generator.normal(12, 3, 800) + (sex == "M")
    salary = 2_000 * school + generator.normal(0, 4_000, 800) + 3_000 * (sex == "M")
    return pd.DataFrame({"school": school}), salary, sex, np.arange(800) % 2


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


def test_bad_input(people):
    _, salary, sex, _ = people
    given = {"sensitive_features": sex}
    for metric in (mcdp, madd):
        with pytest.raises(ValueError, match="scale must be 'probability' or 'rank'"):
            metric(None, salary, **given, **REAL)
        with pytest.raises(ValueError, match="scale must be 'probability' or 'rank'"):
            confidence_interval(partial(metric, **REAL), None, salary, **given)
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
    means = partial(BY_GROUP["means"], pos_label=1)
    for call in (means, partial(confidence_interval, means)):
        with pytest.raises(ValueError, match="pos_label must be None with scale='real"):
            call(None, salary, **given)


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_GROUP)
@given(salaries(), st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
def test_intervals_hold_the_value_and_have_the_unit(name, rows, unit, origin):
    true, predicted, groups, weights = rows
    metric, given = BY_GROUP[name], {"sensitive_features": groups}
    given["sample_weight"] = weights
    found = confidence_interval(metric, true, predicted, **given)
    value = metric(true, predicted, **given)
    assert found.value == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert 0 <= found.lower <= found.value <= found.upper
    moved = unit * true + origin, unit * predicted + origin
    other = confidence_interval(metric, *moved, **given)
    close = partial(pytest.approx, rel=1e-6, abs=1e-6 * unit)
    assert other.lower == close(unit * found.lower)
    assert other.upper == close(unit * found.upper)


@pytest.mark.parametrize("name", BY_GROUP)
def test_intervals_between_0_and_1_are_those_of_probabilities(name, people):
    _, salary, sex, office = people
    scores = (salary - salary.min()) / (salary.max() - salary.min())
    of_errors = name in ("errors", "absolute errors")
    plain = demographic_parity_difference if of_errors else BY_GROUP[name].func
    given = {"sensitive_features": sex, "sample_weight": 1 + office}
    for within in (None, np.where(office, "x", "x")):
        expected = confidence_interval(
            plain, None, scores, control_features=within, **given
        )
        found = confidence_interval(
            BY_GROUP[name], 0 * scores, scores, control_features=within, **given
        )
        for end in ("value", "lower", "upper"):
            assert getattr(found, end) == pytest.approx(getattr(expected, end))


@pytest.mark.parametrize("name", BY_GROUP)
def test_certificates_are_in_the_unit(name, people):
    X, salary, sex, _ = people
    predicted, metric = LinearRegression().fit(X, salary).predict(X), BY_GROUP[name]
    given = {"sensitive_features": sex}
    found = certify(metric, salary, predicted, at_most=20_000, **given)
    assert found.certified
    assert found.value < found.smallest_certified < 20_000
    assert not certify(metric, salary, predicted, at_most=10, **given).certified
    with pytest.warns(UndefinedMetricWarning):
        nothing = certify(
            metric,
            salary,
            predicted,
            at_most=20_000,
            sensitive_features=np.where(sex == "F", sex, "F"),
        )
    assert np.isnan(nothing.smallest_certified)
    for method in ("finite_sample", "anytime"):
        with pytest.raises(ValueError, match=r"method must be 'band' for .* numbers"):
            confidence_interval(metric, salary, predicted, method=method, **given)
    with pytest.raises(ValueError, match="metric must have a largest value"):
        FairnessMonitor(metric)


def test_thresholds_of_numbers_have_the_interval_of_rates(people):
    _, salary, sex, _ = people
    options = {"threshold": 30_000}
    found, expected = (
        confidence_interval(
            partial(demographic_parity_difference, **given),
            None,
            values,
            sensitive_features=sex,
            method="finite_sample",
        )
        for given, values in (({**REAL, **options}, salary), ({}, salary >= 30_000))
    )
    assert found == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_GROUP)
@pytest.mark.promise("Intervals of predicted numbers cover the disparity")
def test_intervals_cover_skewed_numbers(name):
    groups = np.repeat([0, 1], [20, 200])
    generator, covered = np.random.default_rng(0), 0
    for _ in range(400):
        # Both groups have exponential errors and predictions, one three times as large.
        numbers = generator.exponential(np.where(groups == 0, 3, 1))
        found = confidence_interval(
            BY_GROUP[name], 0 * numbers, numbers, sensitive_features=groups
        )
        covered += found.lower <= 2 <= found.upper
    assert covered >= 0.93 * 400


@pytest.mark.slow
def test_pooled_folds_of_a_regressor(people):
    X, salary, sex, _ = people
    for metric in (BY_GROUP["abcc"], mean_error_difference):
        found = cross_val_fairness(
            metric,
            LinearRegression(),
            X,
            salary,
            sensitive_features=sex,
            n_resamples=39,
            n_permutations=39,
            random_state=0,
        )
        assert found.lower < found.value < found.upper
        assert found.pvalue < 0.05
        assert found.corrected < found.value

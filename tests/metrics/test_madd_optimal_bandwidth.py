import numpy as np
import pandas as pd
import pytest
from scipy.stats import gamma, norm
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics import madd, madd_curve, madd_optimal_bandwidth
from skfair.metrics._madd import stable_interval
from skfair.statistics import CountTable

# MADD of the published probabilities, P(y = 1) for every row, by model for
# (gender, poverty, disability).
PUBLISHED_PROBABILITIES = {
    "bbb": {
        "LR": (0.31, 0.84, 0.68),
        "KN": (0.34, 0.43, 0.36),
        "DT": (0.15, 0.29, 0.20),
        "NB": (0.53, 1.13, 1.67),
    },
    "fff": {
        "LR": (0.45, 0.39, 0.41),
        "KN": (0.29, 0.30, 0.40),
        "DT": (0.20, 0.25, 0.09),
        "NB": (0.40, 0.92, 1.20),
    },
}
# Tables 3 and 5 of the paper, which compare P(y = 1) of one group with P(y = 0) of
# the other.
PAPER_TABLES = {
    "bbb": {
        "LR": (1.71, 1.85, 1.55),
        "KN": (1.13, 1.12, 0.93),
        "DT": (0.69, 0.85, 0.65),
        "NB": (0.47, 0.87, 1.39),
    },
    "fff": {
        "LR": (1.14, 0.98, 0.92),
        "KN": (1.06, 0.93, 0.78),
        "DT": (0.76, 0.65, 0.55),
        "NB": (0.57, 0.46, 0.82),
    },
}
GROUPS = ("gender", "poverty", "disability")


def cells(tables):
    return [
        pytest.param(course, model, group, value, id=f"{course}-{model}-{group}")
        for course, models in tables.items()
        for model, values in models.items()
        for group, value in zip(GROUPS, values, strict=True)
    ]


@pytest.fixture(scope="module")
def courses(real_tables):
    return {
        course: pd.read_csv(real_tables / f"oulad_madd_{course}.csv.gz")
        for course in ("bbb", "fff")
    }


def scored(courses, course, model, group):
    rows = courses[course].dropna(subset=f"proba_{model}")
    return rows[f"proba_{model}"].clip(0, 1), rows[group].astype(int)


def algorithm_1(bandwidths, values, n_0, n_1, min_points=50, min_length=0.45):
    """Find the stable interval of MADD with two loops, as printed in the paper.

    It returns the standard deviation of every eligible interval. An interval from i
    to j holds the values i, ..., j.
    """
    order = ((n_0**0.5 + n_1**0.5) / (n_0 * n_1) ** 0.5) ** (2 / 3)
    length = order * min_length
    deviations = {}
    for i in range(len(values) - min_points + 1):
        left_bound = bandwidths[i]
        if left_bound > bandwidths[-1] - length:
            break
        right_bound = left_bound + length
        right = 0
        while right < len(bandwidths) and bandwidths[right] < right_bound:
            right += 1
        right = max(right - 1, i + min_points)
        for j in range(right, len(values)):
            deviations[i, j] = np.std(values[i : j + 1])
    return deviations


def interval_of_the_package(bandwidths, values, min_points=50, length=0.05):
    """Find the interval by the rule of the package with which the tables were made.

    Its least length does not depend on the groups, and a start is skipped whose
    shortest interval has too few bandwidths.
    """
    deviations = {}
    for i in range(np.searchsorted(bandwidths, bandwidths[-1] - length, "right")):
        least = np.searchsorted(bandwidths, bandwidths[i] + length) - 1
        for j in range(least, len(values) if least >= i + min_points else 0):
            deviations[i, j] = np.std(values[i : j + 1])
    i, j = min(deviations, key=deviations.get)
    return slice(i, j + 1)


def test_interval_may_start_exactly_one_length_below_one():
    # h_sup of four and four rows is 1, so intervals are .75 long: from 1/4 to 1.
    values = np.append(np.arange(106.0) ** 2, [5, 5, 5, 90])
    found = stable_interval(values, (4, 4), min_points=2, min_length=0.75)
    assert found == (106, 108, 5)


def test_interval_may_start_at_the_last_place_that_leaves_enough_points():
    values = np.append(np.arange(59.0) ** 2, np.full(51, 7.0))
    found = stable_interval(values, (10_000, 10_000))
    assert found == (59, 109, 7)


def test_result_carries_the_curve():
    rng = np.random.default_rng(5)
    y_score, groups = rng.random(300), rng.integers(0, 2, 300)
    found = madd_optimal_bandwidth(None, y_score, sensitive_features=groups)
    bandwidths, values = madd_curve(None, y_score, sensitive_features=groups)
    np.testing.assert_array_equal(found.bandwidths, bandwidths)
    np.testing.assert_array_equal(found.values, values)
    assert len(bandwidths) == 500


@pytest.mark.parametrize(("n_0", "n_1"), [(100, 100), (10, 1000), (1, 7)])
def test_h_sup_is_the_order_of_theorem_2(n_0, n_1):
    y_score = np.linspace(0, 1, n_0 + n_1)
    groups = np.repeat([0, 1], [n_0, n_1])
    found = madd_optimal_bandwidth(None, y_score, sensitive_features=groups)
    expected = (1 / np.sqrt(n_0) + 1 / np.sqrt(n_1)) ** (2 / 3)
    assert found.h_sup == pytest.approx(expected)


@pytest.mark.parametrize("multigroup", ["pairwise", "pooled"])
def test_result_names_the_groups_of_the_largest_value(multigroup):
    rng = np.random.default_rng(0)
    y_score = np.concatenate(
        [rng.beta(2, 2, 400), rng.beta(2, 2, 400), rng.random(400)]
    )
    y_score[800:] = y_score[800:] / 2
    groups = np.repeat(["a", "b", "c"], 400)
    found = madd_optimal_bandwidth(
        None, y_score, sensitive_features=groups, multigroup=multigroup
    )
    assert "c" in found.groups
    if multigroup == "pooled":
        assert found.groups == ("c", None)
        return
    pair = np.isin(groups, found.groups)
    alone = madd(None, y_score[pair], sensitive_features=groups[pair])
    assert found.value == alone


def truncated(distribution, n, rng):
    low, high = distribution.cdf([0, 1])
    return distribution.ppf(rng.uniform(low, high, n))


def test_simulation_of_the_paper():
    rng = np.random.default_rng(0)
    y_score = np.concatenate(
        [
            truncated(gamma(4, scale=1 / 11), 10_000, rng),
            truncated(norm(0.55, 0.1), 10_000, rng),
        ]
    )
    groups = np.repeat([0, 1], 10_000)
    found = madd_optimal_bandwidth(None, y_score, sensitive_features=groups)
    assert madd(None, y_score, sensitive_features=groups) == pytest.approx(
        1.195, abs=0.03
    )
    assert round(found.h_sup, 3) == 0.074
    assert 0.002 <= found.interval[0] < found.interval[1] <= 0.074


@pytest.mark.slow
@pytest.mark.parametrize(("course", "model", "group", "expected"), cells(PAPER_TABLES))
def test_tables_of_the_paper_come_from_mixed_probabilities(
    courses, course, model, group, expected
):
    y_score, groups = scored(courses, course, model, group)
    # 1 - .8 is below .2 by rounding, and would be one bin lower.
    mixed = y_score.where(groups == 1, (1 - y_score).round(12))
    result = madd_optimal_bandwidth(None, mixed, sensitive_features=groups)
    assert result.value == pytest.approx(expected, abs=0.024)
    of_package = interval_of_the_package(result.bandwidths, result.values)
    assert result.values[of_package].mean() == pytest.approx(expected, abs=0.0055)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_bandwidths", 2),
        ("n_bandwidths", 10.5),
        ("min_points", 1),
        ("min_points", 500),
        ("min_points", 3.5),
        ("min_length", 0),
        ("min_length", -1),
        ("min_length", float("nan")),
        ("min_length", "x"),
    ],
)
def test_parameters_out_of_range(name, value):
    with pytest.raises(ValueError, match=f"{name} must .* got {value!r}"):
        madd_optimal_bandwidth(
            None, [0.1, 0.9], sensitive_features=[0, 1], **{name: value}
        )


def test_no_eligible_interval():
    with pytest.raises(ValueError, match=r"no interval of 50 bandwidths .* too small"):
        madd_optimal_bandwidth(
            None, [0.1, 0.9], sensitive_features=[0, 1], min_length=5
        )


def test_within_strata_it_is_that_of_the_stratum_with_the_largest_value():
    rng = np.random.default_rng(0)
    groups, strata = rng.choice(["x", "y"], 1200), rng.choice(["a", "b"], 1200)
    y_score = rng.beta(2 + 3 * ((groups == "x") & (strata == "b")), 5)
    rows = {"sensitive_features": groups, "control_features": strata}
    found = madd_optimal_bandwidth(None, y_score, **rows)
    own = strata == "b"
    alone = madd_optimal_bandwidth(None, y_score[own], sensitive_features=groups[own])
    assert (found.stratum, alone.stratum) == ("b", None)
    assert found.interval == alone.interval
    assert found.value == alone.value == madd(None, y_score, **rows)
    np.testing.assert_array_equal(found.values, alone.values)
    weighted = madd_optimal_bandwidth(
        None, y_score, **rows, sample_weight=np.where(own, 2.0, 0.5)
    )
    assert weighted.stratum == "b"


def test_strata_without_two_groups_are_named():
    rng = np.random.default_rng(0)
    y_score, groups = rng.random(600), np.repeat(["x", "y"], 300)
    strata = np.where(np.arange(600) < 550, "a", "b")
    with pytest.warns(UndefinedMetricWarning, match=r"'b' \(only the group 'y' has"):
        found = madd_optimal_bandwidth(
            None, y_score, sensitive_features=groups, control_features=strata
        )
    assert found.stratum == "a"
    with pytest.warns(UndefinedMetricWarning, match="no stratum has two groups"):
        found = madd_optimal_bandwidth(
            None, y_score, sensitive_features=groups, control_features=groups
        )
    assert np.isnan(found.value)
    assert found.stratum is None
    with pytest.raises(ValueError, match="control_features"):
        madd_optimal_bandwidth(
            None, y_score, sensitive_features=groups, control_features=strata[1:]
        )
    statistic = CountTable.from_rows(None, y_score, sensitive_features=groups)
    with pytest.raises(ValueError, match="control_features must be None where a table"):
        madd_optimal_bandwidth(None, statistic, control_features=strata)


def test_one_stratum_is_everyone():
    rng = np.random.default_rng(0)
    rows = {"sensitive_features": np.repeat(["x", "y"], 300)}
    rows["sample_weight"], y_score = rng.integers(1, 3, 600), rng.random(600)
    plain = madd_optimal_bandwidth(None, y_score, **rows)
    one = madd_optimal_bandwidth(None, y_score, **rows, control_features=["all"] * 600)
    assert one.stratum == "all"
    assert plain.interval == one.interval
    np.testing.assert_array_equal(plain.values, one.values)


@pytest.mark.parametrize(
    "seed",
    [*range(2), *(pytest.param(i, marks=pytest.mark.slow) for i in range(2, 12))],
)
@pytest.mark.parametrize(
    ("min_points", "min_length"),
    [(50, 0.45), (5, 1.0), pytest.param(20, 0.1, marks=pytest.mark.slow)],
)
def test_interval_is_the_one_of_the_double_loop(seed, min_points, min_length):
    rng = np.random.default_rng(seed)
    n_0, n_1 = rng.integers(5, 3_000, 2)
    first, second = rng.beta(*rng.uniform(0.5, 6, 2), n_0), rng.beta(2, 2, n_1)
    y_score = np.concatenate([first, second]).round(rng.integers(1, 17))
    n_bandwidths = 110
    found = madd_optimal_bandwidth(
        None,
        y_score,
        sensitive_features=np.repeat([0, 1], [n_0, n_1]),
        n_bandwidths=n_bandwidths,
        min_points=min_points,
        min_length=min_length,
    )
    bandwidths = found.bandwidths.tolist()
    deviations = algorithm_1(bandwidths, found.values, n_0, n_1, min_points, min_length)
    interval = tuple(bandwidths.index(end) for end in found.interval)
    best = min(deviations.values())
    assert deviations[interval] == pytest.approx(best, abs=1e-7)
    assert found.std == pytest.approx(deviations[interval], abs=1e-12)
    inside = found.values[interval[0] : interval[1] + 1]
    assert found.value == pytest.approx(inside.mean(), abs=1e-12)
    contenders = [key for key, value in deviations.items() if value < best + 1e-9]
    if len(contenders) == 1:
        assert interval == contenders[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("course", "model", "group", "expected"), cells(PUBLISHED_PROBABILITIES)
)
def test_madd_of_the_published_probabilities(courses, course, model, group, expected):
    y_score, groups = scored(courses, course, model, group)
    assert round(madd(None, y_score, sensitive_features=groups), 2) == expected


def weighted_rows(n_rows=300):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, n_rows)
    scores = rng.beta(2 + 0.6 * groups, 3).round(2)
    return scores, groups, rng.random(n_rows) + 0.1


@pytest.mark.parametrize("multigroup", ["pairwise", "pooled"])
def test_fractional_weights_have_no_unit(multigroup):
    """Their totals, which may be below 1, are not numbers of rows."""
    scores, groups, weights = weighted_rows()
    rows = {"sensitive_features": groups, "multigroup": multigroup}
    found = [
        madd(None, scores, sample_weight=weights * unit, **rows)
        for unit in (1, 1 / weights.sum(), 1e-6, 5000.5)
    ]
    np.testing.assert_allclose(found, found[0], rtol=1e-9)


def test_effective_numbers_of_rows_choose_the_bandwidth():
    """Kish's, of both groups; only counts say that a row stands twice."""
    scores, groups, weights = weighted_rows()
    rows = {"sensitive_features": groups}
    result = madd_optimal_bandwidth(None, scores, sample_weight=weights, **rows)
    n = [
        weights[groups == g].sum() ** 2 / (weights[groups == g] ** 2).sum()
        for g in (0, 1)
    ]
    expected = ((n[0] ** 0.5 + n[1] ** 0.5) / (n[0] * n[1]) ** 0.5) ** (2 / 3)
    assert result.h_sup == pytest.approx(expected, rel=1e-9)
    twice = madd_optimal_bandwidth(
        None, np.repeat(scores, 2), sensitive_features=np.repeat(groups, 2)
    )
    two = np.full(len(scores), 2.0)
    people = madd_optimal_bandwidth(None, scores, counts=two, **rows)
    assert (people.h_sup, people.value) == (twice.h_sup, twice.value)
    heavy = madd_optimal_bandwidth(None, scores, sample_weight=two, **rows)
    plain = madd_optimal_bandwidth(None, scores, **rows)
    assert (heavy.h_sup, heavy.value) == pytest.approx((plain.h_sup, plain.value))
    # Batches of weighted rows add up to the same.
    parts = (
        CountTable.from_rows(
            None,
            scores[part],
            sensitive_features=groups[part],
            sample_weight=weights[part],
        )
        for part in (slice(100), slice(100, None))
    )
    assert madd_optimal_bandwidth(None, sum(parts)).h_sup == pytest.approx(expected)

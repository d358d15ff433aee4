"""What all metrics of skfair have: names of arguments, largest values, errors."""

import inspect
import math
from functools import wraps

import numpy as np
import pytest
from scipy import stats

import skfair.metrics
from skfair.metrics import (
    GapOfDistributions,
    abcc,
    confidence_interval,
    equalized_odds_difference,
    get_fairness_scorer_names,
    max_gap,
    mcdp,
    permutation_test,
)

#: Functions of all metrics that have a scorer: each is public.
METRICS = [
    getattr(skfair.metrics, name.removeprefix("neg_"))
    for name in get_fairness_scorer_names()
]


#: Public functions whose second argument are decisions or labels, and which are not
#: metrics with a scorer.
OF_LABELS = {
    "cvar_fairness_report",
    "cvar_fairness_test",
    "group_metrics",
    "impact_ratios",
    "max_gap_test",
    "rate_variance",
}
OF_ROWS = {
    name: function
    for name in skfair.metrics.__all__
    if "y_true"
    in inspect.signature(function := getattr(skfair.metrics, name)).parameters
}


@pytest.mark.parametrize("name", OF_ROWS)
def test_the_second_argument_is_named_by_what_it_holds(name):
    """`y_pred` where decisions or labels are compared, else `y_score`."""
    function = OF_ROWS[name]
    parameters = [*inspect.signature(function).parameters]
    second = parameters[parameters.index("y_true") + 1]
    expected = "y_pred" if name in OF_LABELS else "y_score"
    if function in METRICS:
        expected = function.metric.inputs[1]
    assert second == expected, f"{parameters}; a metric says it by `inputs`"


@pytest.mark.parametrize("metric", METRICS)
def test_metrics_take_their_rows_by_name(metric):
    true, values, groups = [0, 1, 0, 1], [0, 1, 1, 0], ["a", "a", "b", "b"]
    expected = metric(true, values, sensitive_features=groups)
    names = dict(zip(metric.metric.inputs, (true, values), strict=True))
    assert metric(**names, sensitive_features=groups) == expected


#: Labels and scores by which two groups of ten rows are as far apart as can be: in
#: scores or decisions, in outcomes, in errors, and in the order of scores.
ALTERNATE, APART = np.array([0, 1] * 10), np.repeat([0, 1], 10)
EXTREMES = [
    (ALTERNATE, APART),
    (APART, ALTERNATE),
    (1 - APART, APART),
    (ALTERNATE, np.where(APART, 1 - ALTERNATE, ALTERNATE)),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("metric", METRICS)
def test_the_maximum_is_reached_and_never_exceeded(metric):
    """In one of several layouts two groups are as far apart as the metric can see."""
    made = metric.metric()
    largest = made.upper_limit
    if math.isinf(largest):
        pytest.skip("no groups are as far apart as can be")
    groups = np.repeat(["a", "b"], 10)
    values = [metric(*rows, sensitive_features=groups) for rows in EXTREMES]
    # The distance from an average, or a baseline, of both groups is half as large.
    halves = made.leaves_groups_out or metric.__name__ == "dcp"
    reached = pytest.approx(largest / 2 if halves else largest, abs=1e-3)
    assert np.nanmax(values) == reached, f"`maximum` is {largest}, got {values}"


@pytest.mark.slow
def test_intervals_of_a_seminorm_keep_their_level():
    """Of any seminorm: here of the area, whose own bounds are sharper."""

    class Area(GapOfDistributions):
        def measure(self, gap):
            return float(abs(gap.difference[:-1]) @ np.diff(gap.scores))

    rng, covered, n_rows = np.random.default_rng(0), 0, 60
    truth = stats.beta(2, 5), stats.beta(3, 5)
    grid = np.linspace(0, 1, 2001)
    value = np.trapezoid(abs(truth[0].cdf(grid) - truth[1].cdf(grid)), grid)
    for _ in range(200):
        groups = rng.permutation(np.arange(n_rows) % 2)
        scores = np.where(groups, truth[1].rvs(n_rows, rng), truth[0].rvs(n_rows, rng))
        found = confidence_interval(Area(), None, scores, sensitive_features=groups)
        area = abcc(None, scores, sensitive_features=groups)
        assert found.value == pytest.approx(area, abs=1e-14)
        covered += found.lower <= value <= found.upper
    assert covered >= 0.95 * 200


# --- calls that lack something say what to type


@pytest.mark.parametrize("metric", [mcdp, abcc, max_gap, equalized_odds_difference])
@pytest.mark.promise("A wrong call of a metric is told what to type")
def test_wrong_calls_suggest_the_right_one(metric):
    name, (labels, values) = metric.__name__, metric.metric.inputs
    call = rf"call {name}\({labels}, {values}, sensitive_features=groups\)"
    scores, groups = [0, 1, 1, 0], ["a", "a", "b", "b"]
    with pytest.raises(ValueError, match=f"sensitive_features is None.*{call}"):
        metric(scores, groups)
    with pytest.raises(TypeError, match=values):
        metric(scores, sensitive_features=groups)
    with pytest.raises(TypeError):
        metric(scores, scores, groups)
    with pytest.raises(TypeError, match=labels):
        metric()


def test_labels_and_scores_in_the_wrong_order():
    scores, y_true, groups = [0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1], ["a", "a", "b", "b"]
    with pytest.raises(ValueError, match=r"binary, got 4 .* in the wrong order\?"):
        mcdp(scores, y_true, sensitive_features=groups)


# --- functions of the user's own


def test_a_wrapped_metric_keeps_its_null_hypothesis():
    @wraps(equalized_odds_difference)
    def doubled(*args, **rows):
        return 2 * equalized_odds_difference(*args, **rows)

    rng = np.random.default_rng(0)
    y_true, y_pred, groups = rng.integers(0, 2, (3, 60))
    rows = {"sensitive_features": groups, "n_permutations": 9, "random_state": 0}
    found = permutation_test(doubled, y_true, y_pred, **rows)
    plain = permutation_test(equalized_odds_difference, y_true, y_pred, **rows)
    doubles = pytest.approx(2 * plain.null_distribution)
    assert found.null_distribution == doubles

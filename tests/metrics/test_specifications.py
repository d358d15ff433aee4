"""What is known of each metric."""

import inspect
import math
from functools import partial, wraps

import numpy as np
import pytest
from scipy import stats
from skfair.metrics._noise import compare_seminorm
from skfair.metrics._spec import known_metrics, numbers_by_name, specification_of

import skfair.metrics
from skfair.metrics import (
    abcc,
    equalized_odds_difference,
    max_gap,
    mcdp,
    permutation_test,
)
from skfair.metrics._abcc import area
from skfair.metrics._confidence_interval import lower_bound, observe, upper_bound


def test_every_metric_with_a_scorer_is_public():
    public = {getattr(skfair.metrics, name) for name in skfair.metrics.__all__}
    assert set(numbers_by_name().values()) <= public


#: Public functions whose second argument are decisions or labels.
OF_LABELS = {
    "cvar_fairness",
    "cvar_fairness_report",
    "cvar_fairness_test",
    "dcp",
    "demographic_parity_difference",
    "equalized_odds_difference",
    "false_positive_rate_difference",
    "group_metrics",
    "impact_ratio_shortfall",
    "impact_ratios",
    "max_gap",
    "max_gap_test",
    "mean_absolute_error_difference",
    "mean_error_difference",
    "predictive_value_difference",
    "rate_variance",
    "top_groups",
    "true_positive_rate_difference",
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
    parameters = [*inspect.signature(OF_ROWS[name]).parameters]
    second = parameters[parameters.index("y_true") + 1]
    assert second == ("y_pred" if name in OF_LABELS else "y_score"), parameters


@pytest.mark.parametrize("metric", list(numbers_by_name().values()))
def test_metrics_take_their_rows_by_name(metric):
    true, values, groups = [0, 1, 0, 1], [0, 1, 1, 1], ["a", "a", "b", "b"]
    expected = metric(true, values, sensitive_features=groups)
    names = dict(zip(specification_of(metric)[0].inputs, (true, values), strict=True))
    assert metric(**names, sensitive_features=groups) == expected


@pytest.mark.parametrize("metric", list(known_metrics()))
def test_the_maximum_is_reached_and_never_exceeded(metric):
    """Of two groups as far apart as can be, or as the metric can see."""
    known = known_metrics()[metric]
    unbounded = known.combine is not None or math.isinf(known.maximum)
    if unbounded:
        pytest.skip("no number of groups that are far apart")
    y_true, y_score = np.array([0, 1] * 10), np.repeat([0, 1], 10)
    if metric.__name__ == "abroca":  # the ranks of one group are those of the other
        y_score = np.where(np.arange(20) < 10, y_true, 1 - y_true)
    if metric.__name__ == "predictive_value_difference":  # each is selected as often
        y_true, y_score = y_score, y_true
    if metric.__name__.startswith("calibration"):  # all outcomes are unexpected
        y_true = 1 - y_score
    groups = np.repeat(["a", "b"], 10)
    value = metric(y_true, y_score, sensitive_features=groups)
    assert value <= known.maximum
    if known.leaves_groups_out:  # distances from the average of both
        assert value == known.maximum / 2
    elif metric.__name__ != "dcp":  # of a baseline between both
        assert math.isclose(value, known.maximum)


@pytest.mark.slow
def test_intervals_of_a_seminorm_keep_their_level():
    """Of any seminorm: here of the area, whose own bounds are sharper."""
    rng, covered, n_rows = np.random.default_rng(0), 0, 60
    truth = stats.beta(2, 5), stats.beta(3, 5)
    grid = np.linspace(0, 1, 2001)
    value = np.trapezoid(abs(truth[0].cdf(grid) - truth[1].cdf(grid)), grid)
    for _ in range(200):
        groups = rng.permutation(np.arange(n_rows) % 2)
        scores = np.where(groups, truth[1].rvs(n_rows, rng), truth[0].rvs(n_rows, rng))
        observed = observe(abcc, None, scores, groups)
        found = compare_seminorm(observed, "band", measure=area, maximum=1.0)
        covered += lower_bound(found, 0.025) <= value <= upper_bound(found, 0.025)
    assert covered >= 0.95 * 200


# --- calls that lack something say what to type


@pytest.mark.parametrize("metric", [mcdp, abcc, max_gap, equalized_odds_difference])
@pytest.mark.promise("A wrong call of a metric is told what to type")
def test_wrong_calls_suggest_the_right_one(metric):
    name, (labels, values) = metric.__name__, specification_of(metric)[0].inputs
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

    assert specification_of(partial(doubled))[0].compares_errors()
    rng = np.random.default_rng(0)
    y_true, y_pred, groups = rng.integers(0, 2, (3, 60))
    rows = {"sensitive_features": groups, "n_permutations": 9, "random_state": 0}
    found = permutation_test(doubled, y_true, y_pred, **rows)
    plain = permutation_test(equalized_odds_difference, y_true, y_pred, **rows)
    doubles = pytest.approx(2 * plain.null_distribution)
    assert found.null_distribution == doubles

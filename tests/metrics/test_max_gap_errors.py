"""Bad input to max-gap and CVaR fairness."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from skfair.groups import encode_groups
from skfair.metrics import cvar_fairness, max_gap, rate_variance
from skfair.statistics import GroupedOutcomes


def sampled_rate_variance(y_true, y_pred, **options):
    return rate_variance(y_true, y_pred, sampling="weighted", **options).value


both = pytest.mark.parametrize("metric", [max_gap, cvar_fairness])


@both
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0, 0], "must have a positive sum, got 0"),
        ([1.5, -0.5], r"non-negative, got -0\.5 for group 'b'"),
        ({"b": -0.5, "a": 1.5}, r"non-negative, got -0\.5 for group 'b'"),
        ([np.nan, 1], "finite"),
        ([np.inf, 1], "finite"),
        ([1 / 3] * 3, r"shape \(2,\), one weight for each group, got \(3,\)"),
        (1.0, r"shape \(2,\), one weight for each group, got \(\)"),
        ([["a", "b"]], "one for each group"),
        ([[1], [1, 2]], "group_weights must be numbers, one for each group"),
        (np.array([1, "b"], object), "group_weights must be numbers.* 'b'"),
        ("population", "'uniform', 'proportional'.*'population'"),
        ({"a": 1.0}, r"lacks 1 groups .*\['b'\]"),
    ],
)
def test_bad_group_weights(metric, weights, message):
    with pytest.raises(ValueError, match=message):
        metric(None, [1, 0], sensitive_features=["a", "b"], group_weights=weights)


@pytest.mark.parametrize("metric", [max_gap, cvar_fairness, sampled_rate_variance])
@pytest.mark.parametrize(
    "weights", [[700, 300], [0.0007, 0.0003], {"a": 7, "b": 3}, [Fraction(7, 2), 1.5]]
)
def test_weights_need_not_sum_to_one(metric, weights):
    rows = {"y_pred": [1, 1, 0, 1, 0], "sensitive_features": list("aaabb")}
    value = metric(None, **rows, group_weights=weights)
    assert value == pytest.approx(metric(None, **rows, group_weights=[0.7, 0.3]))


@both
@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda t, p: p * 0.5, r"outcomes of 0 and 1, got .*0\.5.* in row 0"),
        (lambda t, p: p[:1], r"outcomes of shape \(3,\), got \(1,\)"),
        (lambda t, p: (p, p * 2), r"a mask of 0 and 1, got .*2.* in row 0"),
        (lambda t, p: p * np.nan, r"outcomes of 0 and 1, got .*nan"),
        (lambda t, p: None, r"outcomes of shape"),
    ],
)
def test_callables_must_return_zero_and_one(metric, result, message):
    with pytest.raises(ValueError, match=rf"quality .* must return {message}"):
        metric(
            None,
            np.array([1, 1, 0]),
            sensitive_features=["a", "b", "b"],
            quality=result,
        )


@both
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quality": "recall"}, "quality must be one of .*'recall'"),
        ({"quality": "accuracy"}, "y_true must be labels .*accuracy.*None"),
        ({"y_pred": ["x", "y"]}, "pos_label must .* y_pred holds the labels"),
        ({"y_pred": ["x", "y"], "pos_label": "z"}, "y_pred .*'z' .pos_label"),
        ({"y_pred": [1, 2]}, r"y_pred holds the labels \[1, 2\]"),
        ({"y_pred": [1, np.nan]}, "y_pred has 1 missing"),
        ({"y_pred": [[1, 0]]}, "y_pred must have shape"),
        ({"sensitive_features": ["a"]}, "sensitive_features has 1 rows, expected 2"),
        ({"sensitive_features": None}, "sensitive_features is None"),
        (
            {"y_true": ["1", "0"], "quality": "accuracy"},
            "must both be text or both be numbers",
        ),
        ({"y_true": [1], "quality": "accuracy"}, r"y_true must have shape \(2,\)"),
    ],
)
def test_bad_rows(metric, options, message):
    given = {"y_true": None, "y_pred": [1, 0], "sensitive_features": ["a", "b"]}
    given |= options
    with pytest.raises(ValueError, match=message):
        metric(given.pop("y_true"), given.pop("y_pred"), **given)


@both
def test_missing_value_in_one_of_several_columns(metric):
    frame = pd.DataFrame({"sex": ["F", "M", "F"], "race": ["x", None, "y"]})
    with pytest.raises(ValueError, match="1 missing values in column 'race'"):
        metric(None, [1, 0, 1], sensitive_features=frame)
    kept = encode_groups(frame, missing="drop")
    assert metric(None, [1, 0, 0], sensitive_features=kept) == 0.5


@both
@pytest.mark.parametrize(
    "extra",
    [
        {"sensitive_features": ["a", "b"]},
        {"pos_label": 1},
        {"sample_weight": [1, 1]},
        {"quality": "accuracy"},
    ],
)
def test_statistic_stands_alone(metric, extra):
    statistic = GroupedOutcomes.from_outcomes([1, 0], sensitive_features=["a", "b"])
    assert metric(None, statistic) == 0.5
    with pytest.raises(ValueError, match=f"{next(iter(extra))} must be None"):
        metric(None, statistic, **extra)


@pytest.mark.parametrize("alpha", [-0.1, 1, 1.0, np.nan, "0.5", None])
def test_bad_alpha(alpha):
    with pytest.raises(ValueError, match=r"alpha must be a number in \[0, 1\)"):
        cvar_fairness(None, [1, 0], sensitive_features=["a", "b"], alpha=alpha)

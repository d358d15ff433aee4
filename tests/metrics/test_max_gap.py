"""Max-gap fairness, qualities of service, group weights, groups left out."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.metrics import (
    cvar_fairness,
    demographic_parity_difference,
    max_gap,
    rate_variance,
)
from skfair.statistics import CountTable

both = pytest.mark.parametrize("metric", [max_gap, cvar_fairness])


QUALITIES = {
    "selection_rate": lambda t, p: (p == 1, np.ones(len(p), dtype=bool)),
    "true_positive_rate": lambda t, p: (p == 1, t == 1),
    "false_positive_rate": lambda t, p: (p == 1, t == 0),
    "accuracy": lambda t, p: (p == t, np.ones(len(p), dtype=bool)),
    "error_rate": lambda t, p: (p != t, np.ones(len(p), dtype=bool)),
    "precision": lambda t, p: (t == 1, p == 1),
}


def brute_force(quality, y_true, y_pred, groups, weights=None, sample_weight=None):
    outcomes, mask = QUALITIES[quality](y_true, y_pred)
    sample_weight = np.ones(len(groups)) if sample_weight is None else sample_weight
    rates = []
    for group in np.unique(groups):
        own = (groups == group) & mask
        rates.append(np.average(outcomes[own], weights=sample_weight[own]))
    weights = np.full(len(rates), 1 / len(rates)) if weights is None else weights
    return np.abs(np.array(rates) - weights @ np.array(rates)).max()


@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_definition(make_predictions, quality, weighted):
    y_true, y_pred, groups = make_predictions(300)
    sample_weight = np.random.default_rng(1).random(300) + 0.1 if weighted else None
    chosen = QUALITIES["precision"] if quality == "precision" else quality
    value = max_gap(
        y_true,
        y_pred,
        sensitive_features=groups,
        quality=chosen,
        sample_weight=sample_weight,
    )
    expected = brute_force(quality, y_true, y_pred, groups, sample_weight=sample_weight)
    assert value == pytest.approx(expected, abs=1e-14)


def test_proportional_weights_compare_with_everyone(make_predictions):
    _, y_pred, groups = make_predictions(300)
    value = max_gap(
        None, y_pred, sensitive_features=groups, group_weights="proportional"
    )
    expected = demographic_parity_difference(
        None, y_pred, sensitive_features=groups, multigroup="pooled"
    )
    assert value == pytest.approx(expected, abs=1e-14)


def test_given_weights_by_label_and_by_position(make_predictions):
    y_true, y_pred, groups = make_predictions(300)
    names = np.array(["d", "a", "c", "b"])[groups]
    weights = {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}
    array = np.array([0.1, 0.2, 0.3, 0.4])
    expected = brute_force("accuracy", y_true, y_pred, names, array)
    for given in (
        weights,
        array,
        list(array),
        pd.Series(weights)[["d", "c", "b", "a"]],
    ):
        value = max_gap(
            y_true,
            y_pred,
            sensitive_features=names,
            quality="accuracy",
            group_weights=given,
        )
        assert value == pytest.approx(expected, abs=1e-14)


def test_intersections_are_weighed_by_tuples():
    frame = pd.DataFrame({"sex": list("FFMM"), "race": list("xyxy")})
    weights = {("F", "x"): 0.7, ("F", "y"): 0.1, ("M", "x"): 0.1, ("M", "y"): 0.1}
    value = max_gap(None, [1, 0, 0, 0], sensitive_features=frame, group_weights=weights)
    assert value == pytest.approx(0.7)


def test_accuracy_takes_text_and_many_classes_without_pos_label():
    value = max_gap(
        ["a", "b", "c", "a"],
        ["a", "b", "a", "b"],
        sensitive_features=[0, 0, 1, 1],
        quality="accuracy",
    )
    assert value == 0.5


# --- groups that cannot be compared


@both
@pytest.mark.parametrize("scheme", ["uniform", "proportional"])
def test_absent_groups_are_left_out_whatever_the_weights(metric, scheme):
    groups = encode_groups(["a", "a", "b", "b"], labels=["a", "b", "c"])
    with pytest.warns(UndefinedMetricWarning, match=r"1 of 3 groups .*'c'"):
        value = metric(
            None, [1, 1, 1, 0], sensitive_features=groups, group_weights=scheme
        )
    assert value == 0.25


@both
def test_mapping_may_name_groups_without_rows(metric):
    weights = {"a": 0.4, "b": 0.4, "c": 0.2}
    with pytest.warns(UndefinedMetricWarning, match=r"1 of 3 groups have no rows"):
        value = metric(
            None, [1, 0], sensitive_features=["a", "b"], group_weights=weights
        )
    assert value == 0.5


@both
def test_undefined_is_nan(metric):
    groups = encode_groups(["a", "a"], labels=["a", "b"])
    with pytest.warns(UndefinedMetricWarning, match=r"fewer than two .*\('b'\)"):
        assert np.isnan(metric(None, [1, 0], sensitive_features=groups))


# --- bad input


def sampled_rate_variance(y_true, y_pred, **options):
    return rate_variance(y_true, y_pred, sampling="weighted", **options).value


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
        (pd.Series([1, 2, 3], ["a", "b", "b"]), "each group once, got 'b'"),
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
        (
            {"y_true": ["1", "0"], "quality": "accuracy"},
            "must both be text or both be numbers",
        ),
        ({"y_true": [1, 0], "y_pred": [np.inf, 0.0], "quality": "accuracy"}, "inf"),
        (
            {"y_true": [b"1", b"0"], "quality": "error_rate"},
            "must both be text or both be numbers",
        ),
        (
            {"y_true": [1, 0], "y_pred": [0.7, 0.2], "quality": "accuracy"},
            "y_pred must be class labels, got the continuous value 0.7",
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
def test_a_table_of_both_labels_has_every_quality(metric):
    y_true, y_pred, groups = ["y", "n"] * 6, list("yyynnnynynyn"), list("aabb") * 3
    table = CountTable.from_rows(y_true, y_pred, sensitive_features=groups)
    for quality in "selection_rate", "true_positive_rate", "accuracy":
        options = {"quality": quality, "pos_label": "y"}
        expected = metric(y_true, y_pred, sensitive_features=groups, **options)
        assert metric(None, table, **options) == pytest.approx(expected)


@pytest.mark.parametrize("alpha", [-0.1, 1, 1.0, np.nan, "0.5", None])
def test_bad_alpha(alpha):
    with pytest.raises(ValueError, match=r"alpha must be a number in \[0, 1\)"):
        cvar_fairness(None, [1, 0], sensitive_features=["a", "b"], alpha=alpha)


@both
def test_groups_with_few_rows_of_the_true_label_are_left_out(metric):
    """Of error rates the rows of the label count, not all rows of the group."""
    y_true = np.array([1] * 12 + [0] * 6)
    y_pred = np.array([1, 1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1] + [0] * 6)
    labels = np.array(["a"] * 5 + ["b"] * 5 + ["c"] * 2 + ["c"] * 6)
    groups = encode_groups(labels, min_group_size=5)
    options = {"quality": "true_positive_rate"}
    with pytest.warns(UndefinedMetricWarning, match=r"fewer than 5 rows .*\('c'\)"):
        value = metric(y_true, y_pred, sensitive_features=groups, **options)
    kept = labels != "c"
    expected = metric(
        y_true[kept], y_pred[kept], sensitive_features=labels[kept], **options
    )
    assert value == expected

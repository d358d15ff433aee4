"""Max-gap fairness, qualities of service, group weights, groups left out."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.metrics import cvar_fairness, demographic_parity_difference, max_gap

both = pytest.mark.parametrize("metric", [max_gap, cvar_fairness])


def rows(n_rows=300, n_groups=4, seed=0):
    generator = np.random.default_rng(seed)
    groups = generator.integers(0, n_groups, n_rows)
    y_true = generator.integers(0, 2, n_rows)
    y_pred = (generator.random(n_rows) < 0.2 + 0.15 * groups).astype(int)
    return y_true, y_pred, groups


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
def test_definition(quality, weighted):
    y_true, y_pred, groups = rows()
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


def test_proportional_weights_compare_with_everyone():
    _, y_pred, groups = rows()
    value = max_gap(
        None, y_pred, sensitive_features=groups, group_weights="proportional"
    )
    expected = demographic_parity_difference(
        None, y_pred, sensitive_features=groups, multigroup="pooled"
    )
    assert value == pytest.approx(expected, abs=1e-14)


def test_given_weights_by_label_and_by_position():
    y_true, y_pred, groups = rows()
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


@both
@pytest.mark.parametrize(
    "labels", [("no", "yes"), (-1, 1), (0, 1), (False, True), (0.0, 1.0)]
)
def test_labels_of_any_kind(metric, labels):
    y_true, y_pred, groups = rows()
    options = {"sensitive_features": groups, "quality": "true_positive_rate"}
    expected = metric(y_true, y_pred, **options)
    negative, positive = labels
    true, predicted = (np.where(v, positive, negative) for v in (y_true, y_pred))
    pos_label = "yes" if positive == "yes" else None
    assert metric(true, predicted, **options, pos_label=pos_label) == expected
    objects = [v.astype(object) for v in (true, predicted)]
    assert metric(*objects, **options, pos_label=pos_label) == expected


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
def test_groups_without_rows_that_count_are_left_out_and_counted(metric):
    y_true = [1, 1, 1, 1, 0, 0]
    y_pred = [1, 1, 1, 0, 1, 0]
    groups = ["a", "a", "b", "b", "c", "c"]
    with pytest.warns(UndefinedMetricWarning, match=r"1 of 3 groups .* \('c'\)"):
        value = metric(
            y_true,
            y_pred,
            sensitive_features=groups,
            quality="true_positive_rate",
        )
    assert value == 0.25


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
def test_groups_below_the_smallest_size_are_left_out(metric):
    groups = encode_groups(["a"] * 3 + ["b"] * 3 + ["c"], min_group_size=2)
    with pytest.warns(UndefinedMetricWarning, match=r"fewer than 2 rows"):
        value = metric(None, [1, 1, 1, 0, 0, 0, 1], sensitive_features=groups)
    assert value == 0.5


@both
def test_mapping_may_name_groups_without_rows(metric):
    weights = {"a": 0.4, "b": 0.4, "c": 0.2}
    with pytest.warns(UndefinedMetricWarning, match=r"1 of 3 groups have no rows"):
        value = metric(
            None, [1, 0], sensitive_features=["a", "b"], group_weights=weights
        )
    assert value == 0.5


@both
@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a", "a"], r"undefined .*at least two groups, got \['a'\]"),
        (encode_groups(["a", "a"], labels=["a", "b"]), r"fewer than two .*\('b'\)"),
    ],
)
def test_undefined_is_nan(metric, groups, message):
    with pytest.warns(UndefinedMetricWarning, match=message):
        assert np.isnan(metric(None, [1, 0], sensitive_features=groups))


def test_more_groups_than_rows_is_fine():
    groups = encode_groups(range(5), labels=range(100))
    with pytest.warns(UndefinedMetricWarning, match=r"95 of 100 groups"):
        assert max_gap(None, [1, 0, 0, 0, 0], sensitive_features=groups) == 0.8

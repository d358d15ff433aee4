import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import matthews_corrcoef

from skfair.metrics import group_metrics, max_gap
from skfair.report import FairnessReport
from skfair.statistics import GroupedConfusion

row = st.tuples(
    st.sampled_from("wxyz"),
    st.sampled_from("wxyz"),
    st.sampled_from("ABC"),
    st.integers(1, 8).map(lambda k: k / 4),
)
batch = st.lists(row, min_size=1, max_size=12)


def collected(rows, weighted=True):
    y_true, y_pred, groups, weights = (list(c) for c in zip(*rows, strict=True))
    return GroupedConfusion.from_predictions(
        y_true,
        y_pred,
        sensitive_features=groups,
        sample_weight=weights if weighted else None,
    )


def content(statistic):
    cells = {
        (group, true, pred): float(statistic.matrices[a, y, z])
        for a, group in enumerate(statistic.labels)
        for y, true in enumerate(statistic.classes)
        for z, pred in enumerate(statistic.classes)
        if statistic.matrices[a, y, z]
    }
    counts = dict(zip(statistic.labels, statistic.counts.tolist(), strict=True))
    return cells, counts


@given(batch, st.booleans())
def test_cells_are_sums_of_rows(rows, weighted):
    expected = {}
    for true, pred, group, weight in rows:
        key = group, true, pred
        expected[key] = expected.get(key, 0) + (weight if weighted else 1)
    assert content(collected(rows, weighted))[0] == expected


def test_shares():
    statistic = GroupedConfusion.from_predictions(
        [0, 0, 1, 1, 1], [0, 1, 1, 1, 0], sensitive_features=list("aabbb")
    )
    np.testing.assert_allclose(statistic.group_weights, [0.4, 0.6])
    np.testing.assert_allclose(statistic.label_frequencies, [[1, 0], [0, 1]])
    np.testing.assert_allclose(
        statistic.confusion, [[[0.5, 0.5], [0, 0]], [[0, 0], [1 / 3, 2 / 3]]]
    )
    np.testing.assert_allclose(
        statistic.prediction_frequencies, [[0.5, 0.5], [1 / 3, 2 / 3]]
    )
    assert statistic.matrices.dtype == np.int64


@pytest.mark.parametrize("container", [list, np.array, pd.Series, pd.Categorical])
def test_containers_of_labels(container):
    labels = ["x", "y", "x"]
    statistic = GroupedConfusion.from_predictions(
        container(labels), container(["x", "x", "x"]), sensitive_features=[0, 0, 1]
    )
    assert statistic.classes == ("x", "y")


def test_category_without_rows_is_no_class():
    y = pd.Categorical(["x", "x"], ["x", "unused"])
    statistic = GroupedConfusion.from_predictions(y, y, sensitive_features=[0, 1])
    assert statistic.classes == ("x",)


@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        (None, [0], "y_true must be labels .* got None"),
        ([0, None], [0, 1], "y_true has 1 missing labels"),
        ([0, 1], [0, np.nan], "y_pred has 1 missing labels"),
        ([0, 1], [0.2, 0.7], "y_pred must be class labels, got .* 0.2"),
        ([0, 1], [0], "y_true has 2 rows, expected 1"),
        ([[0, 1]], [0], r"y_true must have shape \(n_samples,\)"),
        ([], [], "y_true has 0 rows"),
    ],
)
def test_invalid_labels(y_true, y_pred, message):
    with pytest.raises(ValueError, match=message):
        GroupedConfusion.from_predictions(y_true, y_pred, sensitive_features=["F"])


KINDS = [["a", "b"], [0, 1], [b"0", b"1"], [datetime.date(2024, 1, d) for d in (1, 2)]]
SAME_KIND = [[0, 1], [False, True], [0.0, 1.0], [Decimal(0), Decimal(1)]]


@given(st.data())
@pytest.mark.promise("Labels that can never be equal are an error")
def test_labels_that_can_never_be_equal_are_refused(data):
    kinds = data.draw(st.permutations(KINDS))
    pairs = [data.draw(st.lists(st.sampled_from(kind), min_size=1)) for kind in kinds]
    first, second = (labels * 2 for labels in pairs[:2])
    size = min(len(first), len(second))
    with pytest.raises(ValueError, match="y_true and y_pred must both be text or both"):
        GroupedConfusion.from_predictions(
            first[:size], second[:size], sensitive_features=["A"] * size
        )
    monday, tuesday = (
        GroupedConfusion.from_predictions(one, one, sensitive_features=["A"] * len(one))
        for one in (first, second)
    )
    with pytest.raises(ValueError, match="classes of statistics must both be text"):
        monday + tuesday


@given(st.data())
def test_numbers_are_labels_of_one_kind(data):
    codes = data.draw(st.lists(st.integers(0, 1), min_size=1))
    groups = ["A"] * len(codes)
    true, predicted = (
        [labels[code] for code in codes]
        for labels in data.draw(st.tuples(*2 * [st.sampled_from(SAME_KIND)]))
    )
    statistic = GroupedConfusion.from_predictions(
        true, predicted, sensitive_features=groups
    )
    right = np.trace(statistic.matrices[0])
    assert right == len(codes)
    assert np.trace((statistic + statistic).matrices[0]) == 2 * len(codes)


@pytest.mark.parametrize("y_pred", [[0, 1, 1, 0], [0, 0, 0, 0]])
def test_negative_labels_of_two_kinds(y_pred):
    """Where -1 and 0 both are negative, no negative row would be right."""
    y_true, groups = [-1, 1, 1, -1], list("abab")
    for arguments in ((y_true, y_pred), (y_pred, y_true)):
        with pytest.warns(UserWarning, match="-1, 0 and 1, three classes"):
            max_gap(*arguments, sensitive_features=groups, quality="accuracy")
        with pytest.warns(UserWarning, match="-1, 0 and 1, three classes"):
            group_metrics(
                matthews_corrcoef,
                *arguments,
                sensitive_features=groups,
                confidence_level=None,
            )
    with pytest.warns(UserWarning, match="-1, 0 and 1, three classes"):
        FairnessReport.from_predictions(
            y_true, y_pred=y_pred, sensitive_features=groups, n_permutations=0
        )

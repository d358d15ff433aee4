"""DCP of predictions, and the result of its bounds."""

import pickle

import numpy as np
import pytest

from skfair.metrics import (
    DCPResult,
    dcp,
    dcp_bounds,
)


def test_metric_is_the_bound_of_the_counted_matrices(make_predictions):
    y_true, y_pred, groups = make_predictions(400, n_groups=3, n_classes=3)
    y_true, y_pred = (np.array(list("xyz"))[codes] for codes in (y_true, y_pred))
    groups = np.array(list("abc"))[groups]
    counts = np.array(
        [
            [
                [((groups == a) & (y_true == y) & (y_pred == z)).sum() for z in "xyz"]
                for y in "xyz"
            ]
            for a in "abc"
        ]
    )
    sums = counts.sum(axis=2)
    expected = dcp_bounds(
        counts / sums[..., None],
        sums.sum(axis=1),
        sums / sums.sum(axis=1, keepdims=True),
    )
    value = dcp(y_true, y_pred, sensitive_features=groups)
    assert type(value) is float
    assert value == pytest.approx(expected.upper, abs=1e-9)
    result = DCPResult.from_predictions(y_true, y_pred, sensitive_features=groups)
    assert result.groups == ("a", "b", "c")
    assert result.classes == ("x", "y", "z")


def test_labels_that_some_groups_never_have():
    y_true = ["x", "y", "y", "x", "x", "z"]
    y_pred = ["x", "y", "x", "x", "x", "z"]
    value = dcp(y_true, y_pred, sensitive_features=list("aaabbb"))
    assert value == pytest.approx(0, abs=1e-9)


# --- the result


def test_parts_add_up(instance):
    result = dcp_bounds(*instance(4, 6, 0))
    lowers, uppers = result.per_class
    assert lowers.sum() == pytest.approx(result.lower)
    assert uppers.sum() == pytest.approx(result.upper)
    assert (result.weights * result.eta).sum() == pytest.approx(result.upper)
    again = pickle.loads(pickle.dumps(result))
    assert repr(again) == repr(result)


def test_frame_says_who_and_how():
    confusion = [
        [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]],
        [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]],
        [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.5, 0.4]],
    ]
    result = dcp_bounds(confusion, [0.4, 0.4, 0.2], [[1 / 3] * 3] * 3)
    frame = result.to_frame()
    assert len(frame) == 9
    assert frame["disparity"].sum() == pytest.approx(result.upper)
    assert frame["share"].sum() == pytest.approx(1)
    first = frame.iloc[0]
    assert (first["group"], first["class"]) == (2, 2)
    assert (first["too_rare"], first["too_frequent"]) == (2, 1)
    assert (first["rate"], first["baseline_rate"]) == pytest.approx((0.4, 0.8))
    assert first["eta"] == pytest.approx(0.5)
    assert frame.iloc[1:]["too_rare"].isna().all()

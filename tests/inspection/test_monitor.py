"""Picture of the history of a monitor."""

import copy

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.inspection import MonitorDisplay
from skfair.metrics import mcdp
from skfair.monitoring import FairnessMonitor


def monitor(shift, n_looks=3):
    found = FairnessMonitor(mcdp, at_most=0.05)
    for look in range(n_looks):
        rng = np.random.default_rng(look)
        groups = rng.integers(0, 2, 400)
        scores = rng.beta(2 + shift * groups, 5)
        found.update(None, scores, sensitive_features=groups)
    return found


@pytest.mark.slow
def test_marks_are_those_of_the_history():
    display = MonitorDisplay.from_monitor(monitor(3.0), name="credit")
    history = monitor(3.0).history_
    np.testing.assert_array_equal(
        display.line_.get_xydata(), history[["n_rows", "value"]].to_numpy(float)
    )
    first = history.loc[history["alarm"], "n_rows"].iloc[0]
    assert display.alarm_line_.get_xdata()[0] == first
    assert display.limit_line_.get_ydata()[0] == 0.05
    assert display.ax_.get_ylim()[1] >= history["upper"].max()
    assert display.ax_.get_title() == "credit"


@pytest.mark.slow
def test_recent_rows_and_the_change():
    found = FairnessMonitor(mcdp, at_most=0.5)
    for look in range(16):
        rng = np.random.default_rng(look)
        groups = rng.integers(0, 2, 500)
        scores = rng.beta(2 + (4 if look > 12 else 0) * groups, 5)
        found.update(None, scores, sensitive_features=groups)
    display, history = MonitorDisplay.from_monitor(found), found.history_
    np.testing.assert_array_equal(
        display.recent_line_.get_xydata(), history[["n_rows", "recent"]].to_numpy(float)
    )
    assert display.alarm_line_ is None
    first = history.loc[history["change_alarm"], "n_rows"].iloc[0]
    assert display.change_line_.get_xdata()[0] == first
    time = found.change_time_
    assert display.change_span_.get_x() == 500 * time.lower
    assert display.change_span_.get_width() == 500 * (time.upper + 1 - time.lower)
    assert display.ax_.get_ylim()[1] >= history["recent_upper"].max()
    merged = found.merge(copy.deepcopy(found))
    assert MonitorDisplay.from_monitor(merged).change_span_ is not None
    assert merged.history_.index.tolist() == [15]


def test_the_level_is_not_rounded_to_certainty():
    found = FairnessMonitor(mcdp, confidence_level=0.999, min_group_size=1)
    found.update(None, [0.1, 0.9], sensitive_features=["a", "b"])
    label = MonitorDisplay.from_monitor(found).band_.get_label()
    assert label == "0.999 interval at all looks"


def test_no_alarm():
    display = MonitorDisplay.from_monitor(monitor(0.0, n_looks=1))
    assert display.alarm_line_ is None


@pytest.mark.slow
@pytest.mark.parametrize(("labels", "text"), [(["a", "b"], "b"), ([0, 1], "1")])
def test_alarm_within_strata_names_the_largest(labels, text):
    rng = np.random.default_rng(0)
    groups, strata = rng.integers(0, 2, (2, 2000))
    scores = rng.beta(2 + 4 * groups * strata, 5)
    found = FairnessMonitor(mcdp, at_most=0.05)
    rows = {"sensitive_features": groups, "control_features": np.take(labels, strata)}
    found.update(None, scores, **rows)
    display = MonitorDisplay.from_monitor(found)
    assert display.alarm_line_.get_label() == f"Alarm, after 2,000 rows, in {text}"


@pytest.mark.slow
def test_groups_that_are_left_out_and_join():
    """The legend names groups that are too small, and marks where more are compared."""
    found = FairnessMonitor(mcdp, at_most=0.9)
    rows = {"y_score": [0.1, 0.9, 0.5] * 6, "sensitive_features": list("abc") * 6}
    with pytest.warns(UndefinedMetricWarning, match="no group has at least 10 rows"):
        found.update(None, **rows)
    for _ in range(2):
        with pytest.warns(UndefinedMetricWarning, match="leaves groups out"):
            found.update(None, [0.1, 0.9] * 6, sensitive_features=list("ab") * 6)
    before = MonitorDisplay.from_monitor(found)
    assert before.line_.get_label() == "All rows so far, without c"
    assert before.join_lines_ == []
    found.update(None, **rows)
    display = MonitorDisplay.from_monitor(found)
    assert display.line_.get_label() == "All rows so far"
    assert [line.get_xdata()[0] for line in display.join_lines_] == [60]


def test_undefined_looks():
    found = FairnessMonitor(mcdp)
    with pytest.warns(UndefinedMetricWarning):
        found.update(None, [0.5], sensitive_features=["a"])
    assert MonitorDisplay.from_monitor(found).ax_.get_ylim()[1] >= 1


def test_a_monitor_without_looks_is_refused():
    with pytest.raises(ValueError, match="call update first"):
        MonitorDisplay.from_monitor(FairnessMonitor(mcdp))

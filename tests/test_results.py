"""What results show when they are printed."""

import numpy as np
import pandas as pd
import pytest

from skfair.inspection import explained_gap
from skfair.metrics import mcdp, worst_subgroup
from skfair.monitoring import FairnessMonitor

GROUPS = np.repeat(["F", "M"], 100)
SCORES = np.random.default_rng(0).random(200)
PEOPLE = pd.DataFrame({"sex": GROUPS, "young": np.arange(200) % 2 == 0})


def explained():
    return explained_gap(
        SCORES, sensitive_features=GROUPS, explained_by=PEOPLE["young"], random_state=0
    )


def worst():
    return worst_subgroup(None, SCORES, sensitive_features=PEOPLE, n_permutations=0)


@pytest.mark.parametrize("make", [explained, worst])
def test_a_result_is_printed_with_its_whole_table(make):
    result = make()
    with pd.option_context("display.width", 20, "display.max_columns", 2):
        text = str(result)
    assert text.endswith(f"\n{result.table.to_string()}")
    frame = result.to_frame()
    pd.testing.assert_frame_equal(frame, result.table)
    assert frame is not result.table


def test_a_monitor_says_what_it_has_seen():
    monitor = FairnessMonitor(mcdp, at_most=0.1)
    start = "FairnessMonitor(mcdp, at_most=0.1, confidence_level=0.95; "
    assert repr(monitor) == f"{start}no rows)"
    monitor.update(None, [0.25, 0.75], sensitive_features=["F", "M"])
    seen = "2 rows in 1 look, value 1 [0, 1], no alarm)"
    assert repr(monitor) == start + seen


def test_labels_with_control_codes_are_printed_without_them():
    """A terminal takes the escape sequence for the command to clear its screen."""
    people = PEOPLE.assign(sex=["\x1b[2Jwomen", "men"] * 100)
    found = worst_subgroup(None, SCORES, sensitive_features=people, n_permutations=0)
    assert "women" in str(found)
    assert "\x1b" not in str(found)

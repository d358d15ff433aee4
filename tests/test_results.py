"""What results show when they are printed, and in a notebook."""

import dataclasses
import importlib
import math
import re

import numpy as np
import pandas as pd
import pytest

import skfair
from skfair.inspection import explained_gap
from skfair.metrics import (
    BootstrapResult,
    MetricBounds,
    group_metrics,
    mcdp,
    worst_subgroup,
)
from skfair.model_selection import compare_models
from skfair.monitoring import FairnessMonitor

GROUPS = np.repeat(["F", "M"], 100)
SCORES = np.random.default_rng(0).random(200)
PEOPLE = pd.DataFrame({"sex": GROUPS, "young": np.arange(200) % 2 == 0})


def explained():
    return explained_gap(
        SCORES, sensitive_features=GROUPS, explained_by=PEOPLE["young"], random_state=0
    )


def worst(people=PEOPLE):
    return worst_subgroup(None, SCORES, sensitive_features=people, n_permutations=0)


def by_group():
    return group_metrics(
        ["selection_rate", "accuracy"],
        SCORES > 0.4,
        SCORES > 0.5,
        sensitive_features=PEOPLE,
    )


def compared():
    scores = {"old": SCORES, "new": SCORES[::-1]}
    groups = {"sensitive_features": GROUPS}
    return compare_models(SCORES > 0.4, scores, baseline="old", margin=0.1, **groups)


def cells_of(result):
    cells = re.findall(r"<t[dh]>(.*?)</t[dh]>", result._repr_html_())
    return [cell for cell in cells if cell]


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(explained, marks=pytest.mark.slow),
        worst,
        by_group,
        pytest.param(compared, marks=pytest.mark.slow),
    ],
)
def test_a_result_is_printed_with_its_whole_table(make):
    """Neither wrapped nor cut at the width of a terminal."""
    result = make()
    with pd.option_context("display.width", 20, "display.max_columns", 2):
        text = str(result)
    frame = result.to_frame()
    assert [*map(str, frame)] in [line.split() for line in text.splitlines()]
    assert text.count("\n") >= len(frame)
    assert repr(result) == text


def test_numbers_are_rounded_where_they_are_shown_and_only_there():
    result = BootstrapResult(0.123456, 1e-9, math.nan, 0.95, 1000, SCORES)
    shown = "value=0.123, lower=1e-09, upper=nan, confidence_level=0.95"
    assert repr(result) == f"BootstrapResult({shown}, n_resamples=1000)"
    assert result.value == 0.123456
    assert result.to_frame()["value"].tolist() == [0.123456]
    assert repr(MetricBounds(1234567.891, 5.0)).endswith("lower=1,234,568, upper=5)")
    assert cells_of(result)[:3] == ["BootstrapResult", "value", "0.123"]


def test_a_notebook_shows_numbers_and_table():
    result = worst()
    cells = cells_of(result)
    assert {"value", "subgroup", "pvalue", "rate", *result.table.index} <= set(cells)
    assert {f"{rate:.3f}" for rate in result.table["rate"]} <= set(cells)


def test_every_public_result_is_shown_so():
    modules = [importlib.import_module(f"skfair.{name}") for name in skfair._SUBMODULES]
    results = {
        value
        for module in modules
        for name in module.__all__
        if name.endswith("Result") or name in ("ConfidenceInterval", "MetricBounds")
        if dataclasses.is_dataclass(value := getattr(module, name))
    }
    assert len(results) > 10
    # Whether by the same methods, which the tests above hold for some of them.
    assert len({(each.__repr__, each._repr_html_) for each in results}) == 1


def test_labels_are_no_markup_in_a_notebook():
    sexes = ["<b>women</b>", "<script>men</script>"] * 100
    html = worst(PEOPLE.assign(sex=sexes))._repr_html_()
    html += group_metrics(
        "selection_rate", None, SCORES > 0.5, sensitive_features=sexes
    )._repr_html_()
    assert "&lt;b&gt;women" in html
    assert "<b>" not in html
    assert "<script>" not in html


def test_labels_with_control_codes_are_printed_without_them():
    """A terminal takes the escape sequence for the command to clear its screen."""
    people = PEOPLE.assign(sex=["\x1b[2Jwomen", "men"] * 100)
    text = str(worst(people))
    assert "women" in text
    assert "\x1b" not in text


def test_a_monitor_says_what_it_has_seen():
    monitor = FairnessMonitor(mcdp, at_most=0.1, min_group_size=1)
    start = "FairnessMonitor(mcdp, at_most=0.1, confidence_level=0.95, "
    start += "min_group_size=1; "
    assert repr(monitor) == f"{start}no rows)"
    monitor.update(None, [0.25, 0.75], sensitive_features=["F", "M"])
    seen = "2 rows in 1 look, value 1 [0, 1], no alarm)"
    assert repr(monitor) == start + seen

"""Numbers of groups as dots: metrics, rates of many groups, ratios, bounds."""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.inspection import GroupDotsDisplay
from skfair.metrics import (
    cvar_fairness_report,
    demographic_parity_difference,
    group_metrics,
    impact_ratios,
    mcdp,
    proxy_bounds,
)


@pytest.fixture(scope="module")
def people():
    """True labels, predictions and sex of 200 people."""
    rng = np.random.default_rng(0)
    y_true, y_pred = rng.integers(0, 2, (2, 200))
    return (
        y_true,
        y_pred,
        pd.Series(rng.choice(["F", "M"], 200, p=[0.4, 0.6])).rename("sex"),
    )


def ticks_of(display):
    return [text.get_text() for text in display.axes_[0].get_yticklabels()]


def test_metrics_are_panels(people):
    y_true, y_pred, sex = people
    result = group_metrics(
        ["accuracy", "recall"], y_true, y_pred, sensitive_features=sex
    )
    display = result.plot(name="A")
    assert display.axes_[0].get_title() == "A"
    assert display.axes_[0].get_ylabel() == "sex"
    sizes = result.sizes["n"]
    assert ticks_of(display) == [f"F (n = {sizes['F']})", f"M (n = {sizes['M']})"]
    for i, metric in enumerate(["accuracy", "recall"]):
        rows = result.groups.xs(metric, level="metric")
        assert display.axes_[i].get_xlabel() == metric
        np.testing.assert_array_equal(display.points_[i].get_xdata(), rows["value"])
        segments = np.array(display.intervals_[i].get_segments())
        np.testing.assert_array_equal(segments[:, :, 0], rows[["lower", "upper"]])
        lines = np.array(display.references_[i].get_segments())
        assert (lines[:, :, 0] == result.overall[metric]).all()


@pytest.mark.slow
def test_strata_given_axes_and_no_intervals(people):
    y_true, y_pred, sex = people
    options = {"sensitive_features": sex, "confidence_level": None}
    metrics = ["accuracy", "recall", "precision", "error_rate", "selection_rate"]
    result = group_metrics(metrics, y_true, y_pred, **options)
    display = result.plot()
    assert len(display.axes_) == len(display.figure_.axes) == 5
    assert display.intervals_ == []
    figure, axes = plt.subplots(1, 2)
    part = pd.Series(np.arange(200) % 2 > 0, name="odd")
    within = group_metrics(
        metrics[:2], y_true, y_pred, control_features=part, **options
    )
    assert within.plot(axes).figure_ is figure
    assert axes[0].get_yticklabels()[0].get_text().startswith("False, F (n = ")
    with pytest.raises(ValueError, match="ax must be 5 axes, got 1"):
        result.plot(axes[0])


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [2, 5, 40, 41, 500])
def test_groups_in_the_tail_are_filled(n_groups, legend_texts):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, n_groups, 6000)
    y_pred = rng.random(6000) < np.where(groups == 0, 0.9, 0.5)
    report = cvar_fairness_report(
        None, y_pred, sensitive_features=pd.Series(groups, name="race"), alpha=0.75
    )
    display = GroupDotsDisplay.from_table(report, "rate", name="B")
    tail, others = display.points_
    np.testing.assert_array_equal(tail.get_xdata(), report["rate"][report["in_tail"]])
    np.testing.assert_array_equal(
        others.get_xdata(), report["rate"][~report["in_tail"]]
    )
    segments = np.array(display.intervals_[0].get_segments())
    np.testing.assert_array_equal(segments[:, :, 0], report[["lower", "upper"]])
    texts = legend_texts(display.axes_[0])
    average = (report["weight"] * report["rate"]).sum()
    lines = np.array(display.references_[0].get_segments())[:, :, 0]
    np.testing.assert_allclose(lines, average)
    assert texts[0] == f"Average: {average:.3f}"
    assert texts[2] == f"In the tail ({report['in_tail'].sum()})"
    if n_groups <= 40:
        sizes = report["size"]
        assert ticks_of(display) == [f"{g} (n = {n:,})" for g, n in sizes.items()]
        assert display.axes_[0].get_ylabel() == "race"
    else:
        assert display.axes_[0].get_ylabel() == f"{n_groups} groups by race"


def test_impact_ratios_leave_out_what_has_none():
    groups = ["a"] * 40 + ["b"] * 40 + ["c"] * 2
    table = impact_ratios(
        None, np.arange(82) % 3 > 0, sensitive_features=groups, min_share=0.1
    )
    display = GroupDotsDisplay.from_table(table, "impact_ratio", reference=0.8)
    ratios = table["impact_ratio"].dropna()
    assert len(ratios) == 2
    np.testing.assert_array_equal(display.points_[0].get_xdata(), ratios)


def test_tables_that_cannot_be_drawn():
    table = pd.DataFrame({"rate": [np.nan]}, ["a"])
    with pytest.raises(ValueError, match="no group has a rate"):
        GroupDotsDisplay.from_table(table, "rate")
    with pytest.raises(ValueError, match="value must be a column of the table"):
        GroupDotsDisplay.from_table(table, "ratio")


@pytest.mark.slow
def test_long_names_have_two_lines_and_more_height():
    long = [f"{i} is a group with a name of forty letters."[:40] for i in range(30)]
    heights = []
    for names in ([name[:2] for name in long], long):
        table = pd.DataFrame({"rate": np.linspace(0, 1, 30), "n": 20}, names)
        display = GroupDotsDisplay.from_table(table, "rate")
        heights.append(display.figure_.get_figheight())
        assert max(map(len, "\n".join(ticks_of(display)).split("\n"))) <= 28
    assert heights[1] > 1.4 * heights[0]


# --- bounds of groups that are known by a proxy only


def bounded(metric=mcdp):
    rng = np.random.default_rng(0)
    shares = np.repeat([0.1, 0.5, 0.9], 60)
    scores = rng.beta(2 + 2 * shares, 4)
    return proxy_bounds(metric, None, scores, group_probabilities=shares)


@pytest.mark.slow
def test_bounds_by_odds_ratio(legend_texts):
    result = bounded()
    display = result.plot(limit=0.3, name="credit")
    assert ticks_of(display) == ["1", "1.5", "2", "3", "5", "10", "any"]
    segments = np.array(display.intervals_[0].get_segments())[:, :, 0]
    for ratio, ends in zip((1, 1.5, 2, 3, 5, 10, np.inf), segments, strict=True):
        assert tuple(ends) == result.bounds_at(ratio)
    assert set(display.points_[0].get_xdata()) == {result.estimate}
    tipping = result.tipping_odds_ratio(0.3)
    text = f"Limit 0.3, possible with an odds ratio of {tipping:.3g}"
    assert text in legend_texts(display.axes_[0])
    assert display.axes_[0].get_title() == "credit"
    never = legend_texts(result.plot(limit=1.0).axes_[0])
    assert "Limit 1, never possible" in never


def test_decisions_are_drawn_and_undefined_bounds_are_refused():
    display = bounded(partial(demographic_parity_difference, threshold=0.4)).plot()
    assert display.axes_[0].get_xlabel() == "demographic parity difference"
    with pytest.warns(UndefinedMetricWarning):
        result = proxy_bounds(mcdp, None, [0.1, 0.2], group_probabilities=[0.0, 0.0])
    with pytest.raises(ValueError, match="result must have bounds"):
        result.plot()

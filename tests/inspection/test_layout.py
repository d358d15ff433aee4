"""Pictures of many groups with long names: nothing is covered, nothing runs off."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from skfair.inspection import (
    CDFGapDisplay,
    DCPDisplay,
    GroupGapDisplay,
    MADDDisplay,
    MCDPCurveDisplay,
    RepairDisplay,
    TradeOffDisplay,
)
from skfair.model_selection import FairestWithin

NAME = "A model with a name of forty characters."
COLUMN = "a_sensitive_column_with_a_name_of_40_chr"


@pytest.fixture(autouse=True)
def placed():
    """Place everything as a user sees it."""


def rows_of(n_groups, *, long):
    """Labels, scores and groups of 60 rows each."""
    generator = np.random.default_rng(0)
    codes = np.arange(60 * n_groups) % n_groups
    name = "{} is a group whose name has 40 characters" if long else "g{}"
    labels = np.array([name.format(code)[:40] for code in range(n_groups)])
    y_score = generator.beta(2 + 2 * (codes % 5) / 5, 3).round(3)
    y_true = (generator.random(len(y_score)) < y_score).astype(int)
    return y_true, y_score, pd.Series(labels[codes], name=COLUMN if long else "sex")


def cdf_gap(n_groups, ax=None, *, long=True):
    y_true, y_score, group = rows_of(n_groups, long=long)
    return CDFGapDisplay.from_predictions(
        y_true, y_score, sensitive_features=group, epsilon=0.05, name=NAME, ax=ax
    )


def cdf_gap_bands(n_groups, ax=None, *, long=True):
    y_true, y_score, group = rows_of(n_groups, long=long)
    return CDFGapDisplay.from_predictions(
        y_true, y_score, sensitive_features=group, confidence_level=0.9, ax=ax
    )


def mcdp_curve(n_groups, ax=None, *, long=True):
    y_true, y_score, group = rows_of(n_groups, long=long)
    options = {"sensitive_features": group, "name": NAME}
    display = MCDPCurveDisplay.from_predictions(y_true, y_score, ax=ax, **options)
    return MCDPCurveDisplay.from_predictions(
        y_true, y_score**0.5, ax=display.ax_, **options
    )


def madd(n_groups, ax=None, *, long=True):
    y_true, y_score, group = rows_of(n_groups, long=long)
    display = MADDDisplay.from_predictions(
        y_true, y_score, sensitive_features=group, n_permutations=0
    )
    plt.close()
    display.null_distribution = np.linspace(0.1, 0.3, 20)
    return display.plot(ax, name=NAME)


def group_gap(n_groups, ax=None, *, long=True):
    y_true, y_score, group = rows_of(n_groups, long=long)
    return GroupGapDisplay.from_predictions(
        y_true, y_score > 0.5, sensitive_features=group, name=NAME, ax=ax
    )


def dcp(n_groups, ax=None, *, long=True):
    y_true, y_score, group = rows_of(n_groups, long=long)
    return DCPDisplay.from_predictions(
        y_true,
        y_score > 0.5,
        sensitive_features=group,
        time_limit=0.01,
        name=NAME,
        ax=ax,
    )


def repair(n_groups, ax=None, *, long=True):
    levels = np.linspace(0, 1, 21)
    losses = {"accuracy_loss": 0.1 + levels**2 / 5, "fairness_loss": 0.4 - 0.4 * levels}
    total = sum(losses.values()) / 2
    labels = rows_of(2, long=long)[2].unique()
    return RepairDisplay(
        losses=pd.DataFrame({"repair_level": levels, "total_loss": total, **losses}),
        repair_level=0.05,
        standard_error=0.02,
        edges=np.linspace(0, 1, 6),
        before=[[0.1, 0.2, 0.1, 0.1, 0.5], [0.4, 0.2, 0.2, 0.1, 0.1]],
        after=np.full((2, 5), 0.2),
        labels=labels,
        counts=[200_000, 120],
        sensitive_names=[COLUMN],
        name=NAME,
    ).plot(ax)


def trade_off(n_groups, ax=None, *, long=True):
    parameter = "estimator__a_parameter_with_a_name_of_forty" if long else "C"
    value = "a value that takes forty characters, {}.." if long else "{}"
    angles = np.linspace(0.1, 1.4, n_groups)
    cv_results = {
        "params": [{parameter: value.format(i)} for i in range(n_groups)],
        "mean_test_ap": 0.9 * np.sin(angles),
        "std_test_ap": np.full(n_groups, 0.02),
        "mean_test_neg_mcdp": 0.9 * np.cos(angles) - 1,
        "std_test_neg_mcdp": np.full(n_groups, 0.03),
    }
    rule = FairestWithin("ap", tolerance=0.8)
    return TradeOffDisplay.from_cv_results(cv_results, rule=rule, name=NAME, ax=ax)


DISPLAYS = [cdf_gap, cdf_gap_bands, mcdp_curve, madd, group_gap, dcp, repair, trade_off]


def pixels(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[:, :, :3].copy()


def hidden_labels(figure):
    """Labels of ticks beyond the ends of their axis, which are not drawn."""
    for axis in figure.findobj(mpl.axis.Axis):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks():
            if not low <= tick.get_loc() <= high:
                yield from (tick.label1, tick.label2)


def texts_that_run_off(figure):
    """Visible texts that are not wholly inside the figure."""
    figure.draw_without_rendering()
    frame = figure.bbox.padded(1)
    hidden = set(hidden_labels(figure))
    shown = [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text() and text not in hidden
    ]
    boxes = [(text.get_text(), text.get_window_extent()) for text in shown]
    return [
        text
        for text, box in boxes
        if not (frame.contains(*box.min) and frame.contains(*box.max))
    ]


def legends_that_cover(figure):
    """Titles of legends below which anything is drawn: marks, ticks or texts.

    Of a figure that was drawn before.
    """
    legends = figure.findobj(mpl.legend.Legend)
    boxes = [legend.get_frame().get_window_extent() for legend in legends]
    for legend in legends:
        legend.set_visible(False)
    figure.set_layout_engine("none")
    picture = pixels(figure)
    covered = []
    for legend, box in zip(legends, boxes, strict=True):
        low, high = len(picture) - np.ceil([box.y1, box.y0]).astype(int)
        left, right = np.floor([box.x0, box.x1]).astype(int)
        if (picture[low:high, left:right] != 255).any():
            covered.append(legend.get_title().get_text())
        legend.set_visible(True)
    return covered


@pytest.mark.slow
@pytest.mark.parametrize(("n_groups", "long"), [(2, False), (6, True), (30, True)])
@pytest.mark.parametrize("make", DISPLAYS, ids=lambda make: make.__name__)
def test_nothing_is_covered_or_runs_off(make, n_groups, long):
    figure = make(n_groups, long=long).figure_
    assert texts_that_run_off(figure) == []
    widths = [ax.get_window_extent().width for ax in figure.axes]
    # Of two axes side by side each takes a third at least.
    least = 0.33 if make in (madd, repair) else 0.45
    assert min(widths) > least * figure.bbox.width
    assert legends_that_cover(figure) == []


@pytest.mark.slow
@pytest.mark.parametrize("make", DISPLAYS, ids=lambda make: make.__name__)
def test_given_axes_of_a_layout(make):
    size = (15, 7)
    if make in (madd, repair):
        figure, axes = plt.subplots(1, 3, figsize=size, layout="constrained")
        make(6, axes[: 2 if make is madd else 3])
    else:
        figure, axes = plt.subplots(1, 2, figsize=size, layout="constrained")
        make(6, axes[0])
    assert figure.get_size_inches().tolist() == list(size)
    assert texts_that_run_off(figure) == []


@pytest.mark.slow
def test_given_axes_without_a_layout_keep_the_legend_inside():
    figure, ax = plt.subplots()
    display = cdf_gap(6, ax)
    figure.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent()
    assert ax.get_window_extent().x0 <= legend.x0 < ax.get_window_extent().x1


@pytest.mark.slow
def test_axes_of_a_subfigure():
    figure = plt.figure(figsize=(14, 7), layout="constrained")
    ax = figure.subfigures(1, 2)[0].subplots()
    cdf_gap(6, ax)
    assert texts_that_run_off(figure) == []


@pytest.mark.slow
def test_legend_leaves_the_curves_alone():
    draw = CDFGapDisplay.from_predictions
    y_score = np.tile(np.linspace(0, 1, 101), 2)
    pair = draw(None, y_score, sensitive_features=np.repeat(["F", "M"], 101))
    assert pair.ax_.get_legend()._loc_real == 4  # lower right
    late = draw(None, y_score**0.1, sensitive_features=np.repeat(["F", "M"], 101))
    assert late.ax_.get_legend()._loc_real == 2  # upper left
    groups = np.repeat([f"people of the group {i}" for i in range(8)], 101)
    crowd = draw(None, np.tile(y_score, 4), sensitive_features=groups)
    crowd.figure_.canvas.draw()
    legend = crowd.ax_.get_legend().get_window_extent()
    axes = crowd.ax_.get_window_extent()
    assert legend.x0 >= axes.x1 or legend.y1 <= axes.y0
    assert legend.x1 <= crowd.figure_.bbox.x1
    assert legend.y0 >= 0
    assert axes.width > 0.5 * crowd.figure_.bbox.width
    _, ax = plt.subplots()
    width = ax.figure.get_figwidth()
    draw(None, np.tile(y_score, 4), sensitive_features=groups, ax=ax)
    assert ax.figure.get_figwidth() == width

"""Pictures as a user sees them: nothing is covered, nothing runs off, all is drawn.

Each display is compared with a picture of it that was looked at. Texts are left out,
since fonts differ between versions of matplotlib. After a change of a display that is
meant, look at the new pictures, which this draws anew::

    SKFAIR_REDRAW_GOLDEN=1 python -m pytest -m slow tests/inspection/test_pictures.py
"""

import os
from functools import partial
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from skfair.inspection import (
    BeforeAfterDisplay,
    CDFGapDisplay,
    GroupCurveDisplay,
    GroupDotsDisplay,
    MADDDisplay,
    MCDPCurveDisplay,
    MonitorDisplay,
    TradeOffDisplay,
    explained_gap,
)
from skfair.metrics import DCPResult, cvar_fairness_report, mcdp, proxy_bounds
from skfair.metrics import group_metrics as metrics_by_group
from skfair.model_selection import FairestWithin
from skfair.monitoring import FairnessMonitor

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent / "golden"
#: Root mean square of differences. matplotlib 3.9 to 3.11 draw the same pixels; without
#: any one line, marker or area it is 1.4 at least.
TOLERANCE = 0.5

NAME = "A model with a name of forty characters."
COLUMN = "a_sensitive_column_with_a_name_of_40_chr"


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


def group_rates(n_groups, ax=None, *, long=True):
    y_true, y_score, group = rows_of(n_groups, long=long)
    table = cvar_fairness_report(y_true, y_score > 0.5, sensitive_features=group)
    return GroupDotsDisplay.from_table(table, "rate", reference=0.4, name=NAME, ax=ax)


def dcp(n_groups, ax=None, *, long=True):
    y_true, y_score, group = rows_of(n_groups, long=long)
    result = DCPResult.from_predictions(
        y_true,
        y_score > 0.5,
        sensitive_features=group,
        time_limit=None if n_groups < 4 else 0.01,
    )
    return result.plot(ax, name=NAME)


def before_after(n_groups, ax=None, *, long=True):
    y_true, y_score, group = rows_of(n_groups, long=long)
    return BeforeAfterDisplay.from_predictions(
        y_true, y_score, y_score**0.5, sensitive_features=group, name=NAME, ax=ax
    )


def trade_off(n_groups, ax=None, *, long=True):
    parameter = "estimator__a_parameter_with_a_name_of_forty" if long else "C"
    value = "a value that takes forty characters, {}.." if long else "{}"
    angles = np.linspace(0.1, 1.4, n_groups)
    radius = 0.9 - 0.1 * (np.arange(n_groups) % 3)
    cv_results = {
        "params": [{parameter: value.format(i)} for i in range(n_groups)],
        "mean_test_ap": radius * np.sin(angles),
        "std_test_ap": np.full(n_groups, 0.02),
        "mean_test_neg_mcdp": radius * np.cos(angles) - 1,
        "std_test_neg_mcdp": np.full(n_groups, 0.03),
    }
    rule = FairestWithin("ap", tolerance=0.2)
    return TradeOffDisplay.from_cv_results(cv_results, rule=rule, name=NAME, ax=ax)


DISPLAYS = [
    cdf_gap,
    cdf_gap_bands,
    mcdp_curve,
    madd,
    group_rates,
    dcp,
    before_after,
    trade_off,
]


@pytest.fixture(autouse=True)
def placed():
    """Place everything as a user sees it."""


# --- nothing is covered, nothing runs off


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


@pytest.mark.parametrize(("n_groups", "long"), [(2, False), (6, True), (30, True)])
@pytest.mark.parametrize("make", DISPLAYS, ids=lambda make: make.__name__)
def test_nothing_is_covered_or_runs_off(make, n_groups, long):
    figure = make(n_groups, long=long).figure_
    assert texts_that_run_off(figure) == []
    widths = [ax.get_window_extent().width for ax in figure.axes]
    # Of two axes side by side each takes a third at least.
    least = 0.33 if make in (madd, before_after) else 0.45
    assert min(widths) > least * figure.bbox.width
    assert legends_that_cover(figure) == []


@pytest.mark.parametrize("make", DISPLAYS, ids=lambda make: make.__name__)
def test_given_axes_of_a_layout(make):
    size = (15, 7)
    figure, axes = plt.subplots(1, 3, figsize=size, layout="constrained")
    make(6, axes[:2] if make in (madd, before_after) else axes[0])
    assert figure.get_size_inches().tolist() == list(size)
    assert texts_that_run_off(figure) == []


def test_given_axes_without_a_layout_keep_the_legend_inside():
    figure, ax = plt.subplots()
    display = cdf_gap(6, ax)
    figure.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent()
    assert ax.get_window_extent().x0 <= legend.x0 < ax.get_window_extent().x1


def test_axes_of_a_subfigure():
    figure = plt.figure(figsize=(14, 7), layout="constrained")
    ax = figure.subfigures(1, 2)[0].subplots()
    cdf_gap(6, ax)
    assert texts_that_run_off(figure) == []


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


# --- pictures that were looked at


def scores():
    """Scores of two groups, the same everywhere: quantiles, no random numbers."""
    heights = (np.arange(200) + 0.5) / 200
    y_score = np.concatenate([heights**2, np.sqrt(heights[:120])])
    return y_score, np.repeat(["F", "M"], [200, 120])


def group_curve():
    y_score, sex = scores()
    y_true = np.arange(len(sex)) % 5 > 1
    return GroupCurveDisplay.from_predictions(
        y_true, y_score, sensitive_features=sex, n_resamples=9, random_state=0
    )


def proxy_result():
    y_score, sex = scores()
    shares = np.where(sex == "F", 0.1, 0.9)
    return proxy_bounds(mcdp, None, y_score, group_probabilities=shares)


def cdf_gap_proxy():
    return CDFGapDisplay.from_proxy_bounds(proxy_result(), odds_ratio=3.0)


def proxies():
    return proxy_result().plot(limit=0.25)


def group_metrics():
    y_true = np.arange(120) % 3 > 0
    wrong = np.arange(120) % 10 < np.repeat([0, 2, 5], 40)
    result = metrics_by_group(
        ["accuracy", "recall"],
        y_true.astype(int),
        (y_true ^ wrong).astype(int),
        sensitive_features=np.repeat(["a", "b", "c"], 40),
    )
    return result.plot()


def what_remains():
    sex = np.arange(200) % 2
    cell = (np.arange(200) // 2 + sex * (np.arange(200) % 3 > 0)) % 2
    score = (10 * sex + 30 * cell + np.arange(200) % 60) / 100
    result = explained_gap(
        score,
        sensitive_features=sex,
        explained_by={"cell": cell, "nothing": np.ones(200)},
        random_state=0,
    )
    return result.plot()


def calibration_gap():
    y_score = np.repeat(np.arange(1, 10) / 10, 20)
    order = np.tile(np.arange(10), 18)
    group = np.tile(np.repeat(["a", "b"], 10), 9)
    y_true = order < 10 * np.where(group == "a", y_score, y_score**2)
    return GroupCurveDisplay.from_predictions(
        y_true,
        y_score,
        sensitive_features=group,
        kind="calibration_gap",
        confidence_level=None,
    )


def monitor():
    y_score, sex = scores()
    watched = FairnessMonitor(mcdp, at_most=0.1)
    for start in range(0, len(sex), 80):
        rows = np.arange(start, start + 80) * 7 % len(sex)
        watched.update(None, y_score[rows], sensitive_features=sex[rows])
    return MonitorDisplay.from_monitor(watched)


#: How each is drawn, and its size in inches, since figures grow by texts.
PICTURES = {
    "calibration_gap": (calibration_gap, (6.4, 4.8)),
    "cdf_gap": (partial(cdf_gap, 2, long=False), (6.4, 4.8)),
    "cdf_gap_bands": (partial(cdf_gap_bands, 2, long=False), (6.4, 4.8)),
    "cdf_gap_proxy": (cdf_gap_proxy, (6.4, 4.8)),
    "proxies": (proxies, (6.4, 4.8)),
    "mcdp_curve": (partial(mcdp_curve, 2, long=False), (6.4, 4.8)),
    "madd": (partial(madd, 2, long=False), (10.5, 4.6)),
    "before_after": (partial(before_after, 2, long=False), (10.5, 4.6)),
    "trade_off": (partial(trade_off, 12, long=False), (9, 4.8)),
    "group_rates": (partial(group_rates, 6, long=False), (6.4, 3.0)),
    "dcp": (partial(dcp, 3, long=False), (6, 3.1)),
    "group_metrics": (group_metrics, (8, 2.2)),
    "what_remains": (what_remains, (7.5, 2.6)),
    "group_curve": (group_curve, (6.4, 4.8)),
    "monitor": (monitor, (6.4, 4.8)),
}


def save(make, path, size):
    """Draw a display without texts, small."""
    # Room for texts differs with the font, and a layout with the version.
    places = {"figure.subplot.left": 0.02, "figure.subplot.top": 0.7}
    with mpl.style.context(["default", places]):
        figure = make().figure_
        figure.set_layout_engine("none")
        figure.set_size_inches(size)
        for ax in figure.axes:
            ax.set_position(ax.get_subplotspec().get_position(figure))
        for artist in figure.findobj(
            lambda found: isinstance(found, (Text, mpl.legend.Legend))
        ):
            artist.set_visible(False)
        for ax in figure.findobj(mpl.axes.Axes):
            ax.tick_params(labelleft=False, labelbottom=False)
        figure.savefig(path, dpi=40, metadata={"Software": None})


def difference(make, golden, directory, size):
    """Draw and compare: None, or what matplotlib has to say."""
    from matplotlib.testing.compare import compare_images

    drawn, expected = directory / "drawn.png", directory / "golden.png"
    save(make, drawn, size)
    # Pictures of differences are written beside the first, which is not the golden one.
    expected.write_bytes(golden.read_bytes())
    return compare_images(str(expected), str(drawn), TOLERANCE)


@pytest.mark.parametrize("name", PICTURES)
def test_golden(name, tmp_path):
    golden, (make, size) = GOLDEN / f"{name}.png", PICTURES[name]
    if os.environ.get("SKFAIR_REDRAW_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        save(make, golden, size)
    assert golden.stat().st_size < 30_000
    assert difference(make, golden, tmp_path, size) is None

    def without_a_line():
        display = make()
        axes = display.figure_.findobj(type(display.figure_.axes[0]))
        [line for ax in axes for line in ax.lines][-1].set_visible(False)
        return display

    assert "did not match" in difference(without_a_line, golden, tmp_path, size)

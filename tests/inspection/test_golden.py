"""Each display against a picture of it that was looked at.

Texts are left out, since fonts differ between versions of matplotlib. After a change of
a display that is meant, look at the new pictures, which this draws anew::

    SKFAIR_REDRAW_GOLDEN=1 python -m pytest -m slow tests/inspection/test_golden.py
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skfair.inspection import (
    CalibrationGapDisplay,
    CDFGapDisplay,
    DCPDisplay,
    ExplainedGapDisplay,
    GroupCurveDisplay,
    GroupGapDisplay,
    GroupMetricsDisplay,
    MADDDisplay,
    MCDPCurveDisplay,
    ProxyBoundsDisplay,
    RepairDisplay,
    TradeOffDisplay,
    explained_gap,
)
from skfair.metrics import mcdp, proxy_bounds
from skfair.model_selection import FairestWithin

GOLDEN = Path(__file__).parent / "golden"
#: Root mean square of differences. matplotlib 3.9 to 3.11 draw the same pixels; without
#: any one line, marker or area it is 1.4 at least.
TOLERANCE = 0.5


@pytest.fixture(autouse=True)
def placed():
    """Place everything as a user sees it."""


def scores():
    """Scores of two groups, the same everywhere: quantiles, no random numbers."""
    heights = (np.arange(200) + 0.5) / 200
    y_score = np.concatenate([heights**2, np.sqrt(heights[:120])])
    return y_score, np.repeat(["F", "M"], [200, 120])


def cdf_gap():
    y_score, sex = scores()
    return CDFGapDisplay.from_predictions(
        None, y_score, sensitive_features=sex, epsilon=0.05
    )


def cdf_gap_bands():
    y_score, sex = scores()
    return CDFGapDisplay.from_predictions(
        None, y_score, sensitive_features=sex, confidence_level=0.9
    )


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
    return ProxyBoundsDisplay.from_result(proxy_result(), limit=0.25)


def mcdp_curve():
    y_score, sex = scores()
    display = MCDPCurveDisplay.from_predictions(None, y_score, sensitive_features=sex)
    return MCDPCurveDisplay.from_predictions(
        None, y_score**2, sensitive_features=sex, ax=display.ax_
    )


def madd():
    y_score, sex = scores()
    display = MADDDisplay.from_predictions(
        None, y_score, sensitive_features=sex, n_permutations=0
    )
    display.null_distribution = np.linspace(0.1, 0.3, 20)
    return display.plot()


def repair():
    levels = np.linspace(0, 1, 21)
    losses = pd.DataFrame(
        {
            "repair_level": levels,
            "accuracy_loss": 0.1 + levels**2 / 5,
            "fairness_loss": 0.4 * (1 - levels),
        }
    )
    losses["total_loss"] = (losses["accuracy_loss"] + losses["fairness_loss"]) / 2
    return RepairDisplay(
        losses=losses,
        repair_level=0.75,
        standard_error=0.02,
        edges=np.linspace(0, 1, 6),
        before=[[0.5, 0.2, 0.1, 0.1, 0.1], [0.1, 0.1, 0.2, 0.2, 0.4]],
        after=[[0.3, 0.2, 0.1, 0.2, 0.2], [0.2, 0.1, 0.2, 0.2, 0.3]],
        labels=["F", "M"],
        counts=[200, 120],
    ).plot()


def trade_off():
    angles = np.linspace(0.1, 1.4, 12)
    radius = 0.9 - 0.1 * (np.arange(12) % 3)
    cv_results = {
        "params": [{"C": i} for i in range(12)],
        "mean_test_ap": radius * np.sin(angles),
        "std_test_ap": np.full(12, 0.02),
        "mean_test_neg_mcdp": radius * np.cos(angles) - 1,
        "std_test_neg_mcdp": np.full(12, 0.03),
    }
    rule = FairestWithin("ap", tolerance=0.8)
    return TradeOffDisplay.from_cv_results(cv_results, rule=rule)


def group_gap():
    rates = [0.9, 0.55, 0.5, 0.45, 0.4, 0.5]
    y_pred = np.concatenate([np.arange(40) < 40 * rate for rate in rates])
    return GroupGapDisplay.from_predictions(
        None, y_pred, sensitive_features=np.repeat(list("abcdef"), 40), alpha=0.8
    )


def dcp():
    y_true = np.tile(["cat", "dog"], 60)
    flipped = np.where(y_true == "cat", "dog", "cat")
    group = np.repeat(["a", "b", "c"], 40)
    wrong = np.arange(120) % 10 < np.repeat([0, 2, 5], 40)
    return DCPDisplay.from_predictions(
        y_true, np.where(wrong, flipped, y_true), sensitive_features=group
    )


def group_metrics():
    y_true = np.arange(120) % 3 > 0
    wrong = np.arange(120) % 10 < np.repeat([0, 2, 5], 40)
    return GroupMetricsDisplay.from_predictions(
        y_true.astype(int),
        (y_true ^ wrong).astype(int),
        metrics=["accuracy", "recall"],
        sensitive_features=np.repeat(["a", "b", "c"], 40),
    )


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
    return ExplainedGapDisplay.from_result(result)


def calibration_gap():
    y_score = np.repeat(np.arange(1, 10) / 10, 20)
    order = np.tile(np.arange(10), 18)
    group = np.tile(np.repeat(["a", "b"], 10), 9)
    y_true = order < 10 * np.where(group == "a", y_score, y_score**2)
    return CalibrationGapDisplay.from_predictions(
        y_true, y_score, sensitive_features=group
    )


#: Sizes in inches, since figures grow by texts.
DISPLAYS = {
    calibration_gap: (6.4, 4.8),
    cdf_gap: (6.4, 4.8),
    cdf_gap_bands: (6.4, 4.8),
    cdf_gap_proxy: (6.4, 4.8),
    proxies: (6.4, 4.8),
    mcdp_curve: (6.4, 4.8),
    madd: (10.5, 4.6),
    repair: (10.5, 9.2),
    trade_off: (9, 4.8),
    group_gap: (9, 2.92),
    dcp: (6, 3.1),
    group_metrics: (8, 2.2),
    what_remains: (7.5, 2.6),
    group_curve: (6.4, 4.8),
}


def save(make, path, size):
    """Draw a display without texts, small."""
    import matplotlib as mpl
    import matplotlib.style
    from matplotlib.legend import Legend
    from matplotlib.text import Text

    # Room for texts differs with the font, and a layout with the version.
    places = {"figure.subplot.left": 0.02, "figure.subplot.top": 0.7}
    with mpl.style.context(["default", places]):
        figure = make().figure_
        figure.set_layout_engine("none")
        figure.set_size_inches(size)
        for ax in figure.axes:
            ax.set_position(ax.get_subplotspec().get_position(figure))
        for artist in figure.findobj(lambda found: isinstance(found, (Text, Legend))):
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


@pytest.mark.slow
@pytest.mark.parametrize("make", DISPLAYS, ids=lambda make: make.__name__)
def test_golden(make, tmp_path):
    golden, size = GOLDEN / f"{make.__name__}.png", DISPLAYS[make]
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

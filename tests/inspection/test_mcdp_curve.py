from functools import partial

import numpy as np
import pytest

from skfair.inspection import MCDPCurveDisplay
from skfair.metrics import mcdp, mcdp_curve
from skfair.statistics import CountTable

draw = MCDPCurveDisplay.from_predictions


def heading(display):
    return display.ax_.get_legend().get_title().get_text()


def test_line_is_the_curve(legend_texts, scored):
    y_true, y_score, sex = scored
    display = draw(y_true, y_score, sensitive_features=sex)
    epsilons, values = mcdp_curve(y_true, y_score, sensitive_features=sex)
    x, y = display.line_.get_data()
    assert display.line_.get_drawstyle() == "steps-post"
    np.testing.assert_array_equal(x, [*epsilons, 1])
    np.testing.assert_array_equal(y, [*values, values[-1]])
    value = mcdp(y_true, y_score, sensitive_features=sex)
    assert [*display.mark_.get_xdata(), *display.mark_.get_ydata()] == [0, value]
    assert legend_texts(display.ax_) == [f"Largest gap {value:.3f}"]
    n_women = (sex == "F").sum()
    assert heading(display) == f"F (n = {n_women})\nM (n = {300 - n_women})"


@pytest.mark.slow
def test_axis_ends_where_every_curve_has_fallen(scored):
    y_true, y_score, sex = scored
    short = draw(y_true, y_score, sensitive_features=sex)
    assert short.ax_.get_xlim() == pytest.approx((0, 1.05 * short.epsilons[-1]))
    far = np.where(sex == "F", 0, 0.9)
    long = draw(y_true, far, sensitive_features=sex)
    assert long.ax_.get_xlim() == pytest.approx((0, 0.945))
    assert long.epsilons[-1] == 0.9
    again = draw(y_true, y_score, sensitive_features=sex, ax=long.ax_)
    assert again.ax_.get_xlim() == pytest.approx((0, 0.945))


@pytest.mark.slow
def test_two_models_share_axes(legend_texts, scored):
    y_true, y_score, sex = scored
    first = draw(y_true, y_score, sensitive_features=sex, name="weak")
    low = first.ax_.get_ylim()[1]
    far = np.where(sex == "F", 0.1, 0.9)
    second = draw(y_true, far, sensitive_features=sex, name="strong", ax=first.ax_)
    assert second.ax_.get_ylim()[0] == 0
    assert second.ax_.get_ylim()[1] > 1 > low
    assert [text.split(":")[0] for text in legend_texts(first.ax_)] == [
        "weak",
        "strong",
    ]
    assert first.line_.get_color() != second.line_.get_color()
    assert first.line_.get_linestyle() != second.line_.get_linestyle()


@pytest.mark.slow
def test_more_groups(fitted):
    model, X, _ = fitted
    display = MCDPCurveDisplay.from_estimator(
        model, X, sensitive_features=["race", "sex"]
    )
    lines = heading(display).split("\n")
    assert lines[0] == "race, sex:"
    assert lines[-1] == "largest of 6 pairs"
    groups = np.arange(1000) % 50
    y_score = np.random.default_rng(0).random(1000)
    display = draw(None, y_score, sensitive_features=groups)
    assert heading(display) == "50 groups (n = 20)\nlargest of 1,225 pairs"


@pytest.mark.slow
def test_equal_groups():
    display = draw(None, [0.2, 0.4] * 2, sensitive_features=[0, 0, 1, 1])
    assert display.line_.get_ydata().tolist() == [0, 0]
    display.figure_.draw_without_rendering()


@pytest.mark.slow
def test_band_holds_at_every_epsilon(scored):
    y_true, y_score, groups = scored
    rows = {"sensitive_features": groups}
    display = MCDPCurveDisplay.from_predictions(
        y_true, y_score, confidence_level=0.9, **rows
    )
    band = display.band_.get_paths()[0].vertices
    sizes = np.unique(groups, return_counts=True)[1]
    half = np.sqrt(np.log(2 / 0.1) / 2 * (1 / sizes).sum())
    assert band[:, 1].max() == pytest.approx(min(display.values[0] + half, 1))
    # The curves of samples lie within the band around the true one, here none.
    covered = 0
    for seed in range(40):
        scores = np.random.default_rng(seed).random(len(groups))
        curve = mcdp_curve(None, scores, **rows)[1]
        covered += curve.max() <= half
    assert covered >= 32
    assert MCDPCurveDisplay.from_predictions(y_true, y_score, **rows).band_ is None


def test_bands_of_a_table_are_those_of_the_rows(scored):
    _, y_score, groups = scored
    weighted = {"sensitive_features": groups, "sample_weight": np.full(len(groups), 2)}
    table = CountTable.from_rows(None, y_score, **weighted)
    draw = partial(MCDPCurveDisplay.from_predictions, None, confidence_level=0.9)
    of_table, of_rows = draw(table), draw(y_score, **weighted)
    assert of_table.effective_sizes.tolist() == of_rows.effective_sizes.tolist()

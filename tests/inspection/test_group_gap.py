"""The picture of the groups' gaps."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.inspection import GroupGapDisplay
from skfair.metrics import cvar_fairness, cvar_fairness_report
from skfair.statistics import GroupedOutcomes


def rows_of(n_groups, n_rows=2000):
    generator = np.random.default_rng(0)
    groups = generator.integers(0, n_groups, n_rows)
    y_pred = generator.random(n_rows) < np.where(groups == 0, 0.9, 0.5)
    return y_pred.astype(int), groups


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [2, 5, 40, 41, 500])
def test_shows_the_report(n_groups):
    y_pred, groups = rows_of(n_groups, 6000)
    options = {"sensitive_features": groups, "alpha": 0.75}
    display = GroupGapDisplay.from_predictions(None, y_pred, **options)
    report = cvar_fairness_report(None, y_pred, **options)
    pd.testing.assert_frame_equal(display.report, report)
    assert display.cvar == pytest.approx(cvar_fairness(None, y_pred, **options))
    average = (report["weight"] * report["rate"]).sum()
    segments = np.array(display.intervals_.get_segments())
    np.testing.assert_allclose(segments[:, 0, 0], report["lower"] - average)
    np.testing.assert_allclose(segments[:, 1, 0], report["upper"] - average)
    tail, others = display.points_
    assert len(tail.get_xdata()) == report["in_tail"].sum()
    assert len(others.get_xdata()) == (~report["in_tail"]).sum()
    drawn = np.concatenate([tail.get_xdata(), others.get_xdata()])
    np.testing.assert_allclose(drawn, report["difference"])
    assert display.tail_area_.get_height() == report["in_tail"].sum()


@pytest.mark.slow
def test_few_groups_are_named_and_many_are_not(legend_texts):
    y_pred, groups = rows_of(5)
    display = GroupGapDisplay.from_predictions(
        None, y_pred, sensitive_features=pd.Series(groups, name="race")
    )
    ticks = [text.get_text() for text in display.ax_.get_yticklabels()]
    sizes = display.report["size"]
    assert ticks == [f"{group} (n = {size:,})" for group, size in sizes.items()]
    assert display.ax_.get_ylabel() == "race"
    assert any(
        f"CVaR fairness = {display.cvar:.3f}" in t for t in legend_texts(display.ax_)
    )
    y_pred, groups = rows_of(300, 6000)
    display = GroupGapDisplay.from_predictions(None, y_pred, sensitive_features=groups)
    assert display.ax_.get_ylabel() == "300 groups, largest gap first"
    assert any("30 groups (n = " in text for text in legend_texts(display.ax_))


def test_statistic_in_place_of_rows():
    y_pred, groups = rows_of(5)
    statistic = GroupedOutcomes.from_outcomes(y_pred, sensitive_features=groups)
    display = GroupGapDisplay.from_predictions(None, statistic)
    expected = GroupGapDisplay.from_predictions(None, y_pred, sensitive_features=groups)
    pd.testing.assert_frame_equal(display.report, expected.report)
    assert "rate" in display.ax_.get_xlabel()


def test_callable_quality_is_named():
    y_pred, groups = rows_of(5)

    def precision(y_true, y_pred):
        return y_true == 1, y_pred == 1

    display = GroupGapDisplay.from_predictions(
        1 - y_pred, y_pred, sensitive_features=groups, quality=precision
    )
    assert "precision" in display.ax_.get_xlabel()
    assert display.cvar == 0


def test_groups_without_rows_are_not_drawn():
    groups = encode_groups(["a", "b", "a", "b"], labels=["a", "b", "c"])
    with pytest.warns(UndefinedMetricWarning, match="1 of 3 groups"):
        display = GroupGapDisplay.from_predictions(
            None, [1, 0, 1, 1], sensitive_features=groups
        )
    assert display.report.index.tolist() == ["a", "b"]


def test_nothing_to_compare():
    with (
        pytest.warns(UndefinedMetricWarning),
        pytest.raises(ValueError, match=r"nothing to compare.*\['a'\]"),
    ):
        GroupGapDisplay.from_predictions(None, [1, 0], sensitive_features=["a", "a"])


@pytest.mark.slow
def test_the_stratum_with_the_largest_tail_is_drawn():
    y_pred = [1, 1, 0, 0, 1, 0, 1, 0]
    groups, strata = list("aabbaabb"), list("xxxxyyyy")
    display = GroupGapDisplay.from_predictions(
        None, y_pred, sensitive_features=groups, control_features=strata
    )
    expected = GroupGapDisplay.from_predictions(
        None, y_pred[:4], sensitive_features=groups[:4]
    )
    pd.testing.assert_frame_equal(display.report, expected.report)
    assert display.name == "stratum x"


def test_long_names_have_two_lines_and_more_height():
    long = [f"{i} is a group with a name of forty letters."[:40] for i in range(30)]
    heights = []
    for names in ([name[:2] for name in long], long):
        display = GroupGapDisplay.from_predictions(
            None,
            np.arange(600) % 7 == 0,
            sensitive_features=np.array(names)[np.arange(600) % 30],
        )
        heights.append(display.figure_.get_figheight())
        texts = [label.get_text() for label in display.ax_.get_yticklabels()]
        assert max(map(len, "\n".join(texts).split("\n"))) <= 28
    assert heights[1] > 1.4 * heights[0]

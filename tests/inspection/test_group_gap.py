"""The picture of the groups' gaps."""

import importlib
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression

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


@pytest.mark.slow
@pytest.mark.parametrize("selector", ["sex", ["sex", "race"], 0, lambda X: X["sex"]])
def test_from_estimator_equals_from_predictions(fitted, selector):
    model, X, y = fitted
    ours = GroupGapDisplay.from_estimator(
        model, X, y, sensitive_features=selector, quality="true_positive_rate"
    )
    columns = X[["sex", "race"]] if isinstance(selector, list) else X["sex"]
    expected = GroupGapDisplay.from_predictions(
        y,
        model.predict(X),
        sensitive_features=columns,
        quality="true_positive_rate",
        pos_label="yes",
    )
    ours_report = ours.report.reset_index(drop=True)
    pd.testing.assert_frame_equal(ours_report, expected.report.reset_index(drop=True))
    assert ours.ax_.get_title() == "Pipeline"
    assert "true positive rate" in ours.ax_.get_xlabel()


def test_labels_may_be_given_beside_x(fitted):
    model, X, y = fitted
    display = GroupGapDisplay.from_estimator(
        model, X, y, sensitive_features=X["race"].tolist(), quality="error_rate"
    )
    assert set(display.report.index) == {"x", "y"}


def test_unfitted_estimator(fitted):
    _, X, y = fitted
    with pytest.raises(NotFittedError):
        GroupGapDisplay.from_estimator(
            LogisticRegression(), X, y, sensitive_features="sex"
        )


@pytest.mark.slow
def test_given_axes_and_another_plot():
    y_pred, groups = rows_of(5)
    figure, axes = plt.subplots(1, 2)
    display = GroupGapDisplay.from_predictions(
        None, y_pred, sensitive_features=groups, ax=axes[1], name="first"
    )
    assert display.figure_ is figure
    assert display.ax_ is axes[1]
    assert display.plot(axes[0], name="second") is display
    assert axes[0].get_title() == "second"
    assert display.plot().figure_ is not figure


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


def test_clear_error_without_matplotlib(monkeypatch):
    y_pred, groups = rows_of(3)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install -e "\.\[plot\]"'):
        GroupGapDisplay.from_predictions(None, y_pred, sensitive_features=groups)
    importlib.import_module("skfair.inspection")


@pytest.mark.slow
@pytest.mark.parametrize("hostile", ["_x", "$a$", "a\nb", "x" * 90])
def test_labels_are_shown_as_they_are(hostile):
    y_pred, groups = rows_of(2)
    labels = np.where(groups == 0, hostile, "M").astype(object)
    display = GroupGapDisplay.from_predictions(
        None, y_pred, sensitive_features=labels, name=hostile
    )
    texts = [*display.ax_.get_yticklabels(), display.ax_.title]
    display.figure_.draw_without_rendering()
    assert not any(text._preprocess_math(text.get_text())[1] for text in texts)
    assert any(
        " ".join(hostile.split())[:30] in t.get_text().replace("\\", "") for t in texts
    )


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

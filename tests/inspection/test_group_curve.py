"""Curves of each group, their areas and their bands."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from skfair.groups import encode_groups
from skfair.inspection import GroupCurveDisplay
from skfair.metrics import group_metrics

KINDS = ["roc", "precision_recall", "calibration"]


def rows(n_samples=300, n_groups=2):
    rng = np.random.default_rng(0)
    groups = np.append(np.arange(n_groups), rng.integers(0, n_groups, n_samples))
    positive = rng.random(len(groups)) < 0.4
    noise = rng.normal(size=len(groups))
    return (
        positive.astype(int),
        norm.cdf(noise + (1 + groups) * (positive - 0.5)),
        groups,
    )


def draw(y_true, y_score, groups, **options):
    return GroupCurveDisplay.from_predictions(
        y_true,
        y_score,
        sensitive_features=groups,
        **{"n_resamples": 9, "random_state": 0} | options,
    )


@pytest.mark.parametrize(
    "weighted", [pytest.param(False, marks=pytest.mark.slow), True]
)
def test_curves_and_areas_are_those_of_scikit_learn(weighted):
    y_true, y_score, groups = rows()
    weights = np.arange(len(groups)) % 3 if weighted else None
    roc = draw(y_true, y_score, groups, sample_weight=weights)
    precision_recall = draw(
        y_true, y_score, groups, kind="precision_recall", sample_weight=weights
    )
    for group in range(2):
        own = groups == group
        parts = y_true[own], y_score[own]
        weight = {"sample_weight": weights[own]} if weighted else {}
        x, y, _ = roc_curve(*parts, **weight)
        np.testing.assert_allclose(roc.lines_[group].get_xydata(), np.c_[x, y])
        y, x, _ = precision_recall_curve(*parts, **weight)
        line = precision_recall.lines_[group].get_xydata()
        np.testing.assert_allclose(line[::-1], np.c_[x, y])
        area = roc_auc_score(*parts, **weight)
        assert roc.areas["value"].iloc[group] == pytest.approx(area)
        area = average_precision_score(*parts, **weight)
        assert precision_recall.areas["value"].iloc[group] == pytest.approx(area)


def test_a_calibration_curve_has_bins_of_equally_many_rows():
    y_true, y_score, groups = rows()
    display = draw(y_true, y_score, groups, kind="calibration")
    own = groups == 0
    order = np.argsort(y_score[own])
    parts = np.array_split(order, 10)
    x, y = display.lines_[0].get_data()
    assert len(x) == 10
    assert x[0] == pytest.approx(y_score[own][parts[0]].mean(), abs=0.01)
    assert y[0] == pytest.approx(y_true[own][parts[0]].mean(), abs=0.1)
    difference = y_true[own].mean() - y_score[own].mean()
    assert display.areas["value"].iloc[0] == pytest.approx(difference)


@pytest.mark.slow
def test_areas_have_the_intervals_of_group_metrics(legend_texts):
    y_true, y_score, groups = rows()
    display = draw(y_true, y_score, encode_groups(groups), name="credit")
    expected = group_metrics(
        "roc_auc_score",
        y_true,
        None,
        y_score=y_score,
        sensitive_features=groups,
        n_resamples=9,
        random_state=0,
    ).groups
    for column in ("value", "lower", "upper", "n"):
        assert display.areas[column].tolist() == expected[column].tolist()
    first = expected.iloc[0]
    shown = f"{first['value']:.3f} ({first['lower']:.3f} to {first['upper']:.3f})"
    texts = legend_texts(display.ax_)
    assert f"0 (n = {(groups == 0).sum()}): {shown}" in texts
    assert "0.95 band, each group alone" in texts
    assert display.ax_.get_title() == "credit"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_bands_contain_their_curves(kind):
    display = draw(*rows(), kind=kind)
    for curve, band in zip(display.curves, display.bands, strict=True):
        y = np.interp(band["x"], curve["x"], curve["y"])
        inside = (band["lower"] <= y + 1e-9) & (y <= band["upper"] + 1e-9)
        assert inside.all()
    assert len(display.bands_) == 2
    assert draw(*rows(), kind=kind, confidence_level=None).bands_ == []


@pytest.mark.slow
def test_bands_cover_the_true_curves(monkeypatch):
    monkeypatch.setattr(GroupCurveDisplay, "plot", lambda display, ax: display)
    rng, grid = np.random.default_rng(0), np.linspace(0.005, 1, 200)
    missed = dict.fromkeys(KINDS, 0)
    for _ in range(30):
        positive = rng.random(400) < 0.3
        ranks = norm.cdf(rng.normal(size=400) + positive)
        false, true = grid, norm.sf(norm.isf(grid) - 1)
        precision = 0.3 * grid / (0.3 * grid + 0.7 * norm.sf(norm.isf(grid) + 1))
        scores = rng.random(400)
        cases = {
            "roc": (positive, ranks, false, true),
            "precision_recall": (positive, ranks, grid, precision),
            "calibration": (rng.random(400) < scores, scores, [0, 1], [0, 1]),
        }
        for kind, (labels, values, x, y) in cases.items():
            display = draw(
                labels,
                values,
                np.arange(400) % 2,
                kind=kind,
                confidence_level=0.9,
                n_resamples=2,
            )
            band = display.bands[0]
            truth = np.interp(band["x"], x, y)
            within = (band["lower"] <= truth + 0.01) & (truth <= band["upper"] + 0.01)
            missed[kind] += not within[band["x"] >= 0.005].all()
    assert max(missed.values()) <= 0.1 * 30 + 4


@pytest.mark.slow
def test_a_group_of_one_class_has_no_curve(legend_texts):
    y_true, y_score, groups = rows()
    y_true[groups == 1] = 0
    with pytest.warns(UndefinedMetricWarning, match="1"):
        display = draw(y_true, y_score, groups)
    assert len(display.curves[1]) == 0
    assert any(text.endswith("no curve") for text in legend_texts(display.ax_))
    with (
        pytest.warns(UndefinedMetricWarning),
        pytest.raises(ValueError, match="nothing to draw: none of the groups"),
    ):
        draw(np.zeros(4, dtype=int), [0.1, 0.2, 0.3, 0.4], list("aabb"))


@pytest.mark.slow
def test_of_many_groups_the_extreme_areas_are_coloured(legend_texts):
    display = draw(*rows(900, 9), confidence_level=None)
    texts = legend_texts(display.ax_)
    assert len(texts) == 4
    assert any(text.startswith("7 other groups") for text in texts)
    extremes = display.areas["value"].agg(["min", "max"]).round(3)
    assert all(any(f"{end:.3f}" in text for text in texts) for end in extremes)


@pytest.mark.slow
def test_scores_of_any_kind_have_a_roc_curve():
    y_true, y_score, groups = rows()
    X = y_score.reshape(-1, 1)
    options = {"sensitive_features": groups, "n_resamples": 9}
    model = RidgeClassifier().fit(X, y_true)
    display = GroupCurveDisplay.from_estimator(model, X, y_true, **options)
    expected = draw(y_true, model.decision_function(X), groups)
    assert display.areas["value"].tolist() == expected.areas["value"].tolist()
    with pytest.raises(ValueError, match="no predict_proba"):
        GroupCurveDisplay.from_estimator(
            model, X, y_true, kind="calibration", **options
        )
    with pytest.raises(ValueError, match="y_score must lie in"):
        draw(y_true, y_score * 2, groups, kind="calibration")


@pytest.mark.slow
def test_the_positive_label_of_an_estimator_is_its_second_class():
    y_true, y_score, groups = rows()
    labels, X = np.where(y_true, "yes", "no"), y_score.reshape(-1, 1)
    model = LogisticRegression().fit(X, labels)
    options = {"sensitive_features": groups, "n_resamples": 9, "random_state": 0}
    display = GroupCurveDisplay.from_estimator(model, X, labels, **options)
    assert display.areas["value"].min() > 0.5
    first = GroupCurveDisplay.from_estimator(
        model, X, labels, pos_label="no", **options
    )
    assert first.areas["value"].tolist() == pytest.approx(display.areas["value"])
    with pytest.raises(ValueError, match="kind must be"):
        draw(y_true, y_score, groups, kind="lift")

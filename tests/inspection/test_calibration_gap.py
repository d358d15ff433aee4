"""Picture of the curves of the calibration gap."""

from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skfair.inspection import GroupCurveDisplay
from skfair.metrics import calibration_gap

OPTIONS = {"kind": "calibration_gap", "confidence_level": None}


def rows(n_groups=2, n_samples=400):
    rng = np.random.default_rng(0)
    groups = np.append(np.arange(n_groups), rng.integers(0, n_groups, n_samples))
    scores = rng.random(len(groups)).round(2)
    return rng.random(len(groups)) < scores ** (1 + groups), scores, groups


@pytest.mark.parametrize(
    "n_groups",
    [
        pytest.param(2, marks=pytest.mark.slow),
        pytest.param(3, marks=pytest.mark.slow),
        12,
    ],
)
def test_the_mark_is_as_long_as_the_gap(n_groups):
    y_true, y_score, groups = rows(n_groups)
    display = GroupCurveDisplay.from_predictions(
        y_true, y_score, sensitive_features=groups, name="credit", **OPTIONS
    )
    value = calibration_gap(y_true, y_score, sensitive_features=groups)
    assert np.ptp(display.gap_line_.get_ydata()) == pytest.approx(value)
    assert display.gap[0] == value
    last = [line.get_ydata()[-1] for line in display.lines_]
    errors = y_true - y_score
    assert last == pytest.approx([errors[groups == g].mean() for g in range(n_groups)])
    assert display.areas["value"].tolist() == pytest.approx(last)
    shown = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    many = n_groups > 8
    assert len(shown) == 2 + (3 if many else n_groups)
    assert many == ("10 other groups (n = 24 to 43)" in shown)
    assert display.ax_.get_title() == "credit"


@pytest.mark.slow
def test_an_estimator_is_drawn_for_the_positive_label():
    y_true, y_score, groups = rows()
    labels = np.where(y_true, "yes", "no")
    X = np.column_stack([y_score, groups])
    model = LogisticRegression().fit(X, labels)
    draw = partial(
        GroupCurveDisplay.from_estimator,
        model,
        X,
        labels,
        sensitive_features=1,
        **OPTIONS,
    )
    expected = calibration_gap(
        labels == "no", model.predict_proba(X)[:, 0], sensitive_features=groups
    )
    assert draw(pos_label="no").gap[0] == pytest.approx(expected)
    assert draw().gap[0] == pytest.approx(draw(pos_label="yes").gap[0])


def test_no_gap_and_nothing_to_draw():
    calm = GroupCurveDisplay.from_predictions(
        [0, 1, 0, 1], [0.0, 1.0, 0.0, 1.0], sensitive_features=list("aabb"), **OPTIONS
    )
    assert calm.gap_line_ is None
    with pytest.raises(ValueError, match="nothing to draw"):
        GroupCurveDisplay.from_predictions(
            [0, 1], [0.2, 0.4], sensitive_features=["a", "a"], **OPTIONS
        )

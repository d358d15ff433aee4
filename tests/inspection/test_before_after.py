"""Scores before and after a mitigation."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, average_precision_score

from skfair.datasets import make_biased_classification
from skfair.inspection import BeforeAfterDisplay
from skfair.metrics import mcdp
from skfair.postprocessing import MADDPostProcessor, RepairedRegressor

pytestmark = pytest.mark.filterwarnings("ignore::skfair.exceptions.MitigationWarning")


@pytest.fixture(scope="module")
def models():
    """A plain model, a mitigated one, and rows that neither has seen."""
    X, y = make_biased_classification(
        800,
        group_sizes={"sex": {"F": 0.4, "M": 0.6}},
        score_shifts={"sex": {"M": 1.0}},
        random_state=0,
    )
    X = X.assign(sex=(X["sex"] == "M").astype(int))
    plain = LogisticRegression().fit(X[:400], y[:400])
    mitigated = MADDPostProcessor(
        LogisticRegression(), sensitive_features="sex", max_mcdp=0.05
    )
    return plain, mitigated.fit(X[:400], y[:400]), X[400:], y[400:]


def test_marks_and_titles_are_the_numbers(models):
    plain, mitigated, X, y = models
    display = BeforeAfterDisplay.from_estimators(
        plain,
        mitigated,
        X,
        y,
        sensitive_features="sex",
        metric=average_precision_score,
        name="Credit",
    )
    for panel, ax, model, title in zip(
        (display.before, display.after),
        display.axes_,
        (plain, mitigated),
        ("before", "after"),
        strict=True,
    ):
        scores = model.predict_proba(X)[:, 1]
        gap = mcdp(None, scores, sensitive_features=X["sex"])
        assert panel.marks[0.0].value == gap
        value = average_precision_score(y, scores)
        expected = f"Credit, {title}: average precision {value:.3f}"
        assert ax.get_title() == expected
    assert display.after.marks[0.0].value < display.before.marks[0.0].value


def test_decisions_weights_and_given_axes(models):
    _, _, X, y = models
    _, axes = plt.subplots(1, 2)
    weights = np.arange(len(y)) + 1.0
    display = BeforeAfterDisplay.from_predictions(
        y,
        X["sex"],
        np.zeros(len(y)),
        sensitive_features=X["sex"],
        metric=accuracy_score,
        sample_weight=weights,
        ax=axes,
    )
    assert [*display.axes_] == [*axes]
    value = accuracy_score(y, X["sex"], sample_weight=weights)
    assert axes[0].get_title() == f"Before: accuracy {value:.3f}"
    assert display.before.marks[0.0].value == 1
    assert display.after.marks[0.0].value == 0


@pytest.mark.slow
def test_numbers_share_their_axis(models):
    _, _, X, _ = models
    X = pd.DataFrame(X)
    pay = 10 * X["sex"] + X["x0"]
    plain = LinearRegression().fit(X, pay)
    repaired = RepairedRegressor(LinearRegression(), sensitive_features="sex", cv=2)
    display = BeforeAfterDisplay.from_estimators(
        plain, repaired.fit(X, pay), X, sensitive_features="sex", scale="real"
    )
    ends = [ax.get_xlim() for ax in display.axes_]
    assert ends[0] == ends[1]
    assert ends[0][0] == pytest.approx(plain.predict(X).min())


def test_errors(models):
    plain, mitigated, X, _ = models
    with pytest.raises(NotFittedError):
        BeforeAfterDisplay.from_estimators(
            LogisticRegression(), mitigated, X, sensitive_features="sex"
        )
    with pytest.raises(ValueError, match="y_true must be given with a metric"):
        BeforeAfterDisplay.from_estimators(
            plain, mitigated, X, sensitive_features="sex", metric=accuracy_score
        )

"""Displays of ranks, for scores that are no probabilities."""

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from skfair.inspection import (
    CDFGapDisplay,
    MADDDisplay,
    MCDPCurveDisplay,
)
from skfair.metrics import mcdp

DISPLAYS = {
    CDFGapDisplay: {"epsilon": 0.05},
    MCDPCurveDisplay: {},
    MADDDisplay: {"n_permutations": 2, "random_state": 0},
}
ON_THE_AXIS = {
    CDFGapDisplay: "Rank of the score among everyone (0 to 1)",
    MCDPCurveDisplay: "Epsilon (half window, share of everyone)",
    MADDDisplay: "Rank of the score among everyone (0 to 1)",
}


@pytest.fixture(params=DISPLAYS, ids=lambda display: display.__name__)
def display_class(request):
    return request.param


@pytest.fixture(scope="module")
def people(fitted):
    """Features, a target of two classes, and a target of a regression."""
    _, X, y = fitted
    X = X.assign(age=X["age"].round(1))
    numbers = X[["age"]].astype(float)
    rng = np.random.default_rng(0)
    pay = 1000 * numbers["age"] + 5000 * (X["sex"] == "M") + rng.normal(size=len(X))
    return X, numbers, np.asarray(y), pay.to_numpy()


def data_of(display):
    axes = display.figure_.axes
    lines = [line.get_xydata() for ax in axes for line in ax.get_lines()]
    return [*lines, *(patch.get_path().vertices for ax in axes for patch in ax.patches)]


def test_ranks_are_drawn(display_class, people):
    X, _, _, pay = people
    options = DISPLAYS[display_class]
    options = {"sensitive_features": X["sex"], **options}
    found = display_class.from_predictions(pay, pay, scale="rank", **options)
    ranks = (rankdata(pay) - 0.5) / len(pay)
    expected = display_class.from_predictions(None, ranks, **options)
    for left, right in zip(data_of(found), data_of(expected), strict=True):
        np.testing.assert_array_equal(left, right)
    first = found.figure_.axes[0]
    assert first.get_xlabel() == ON_THE_AXIS[display_class]


@pytest.mark.slow
@pytest.mark.parametrize("model", [Ridge(), LinearSVC()])
def test_estimators_without_probabilities(display_class, people, model):
    X, numbers, y, pay = people
    target = pay if isinstance(model, Ridge) else y
    model = model.fit(numbers, target)
    method = model.predict if isinstance(model, Ridge) else model.decision_function
    options = DISPLAYS[display_class]
    options = {"sensitive_features": X["sex"].to_numpy(), **options}
    found = display_class.from_estimator(
        model, numbers, target, scale="rank", **options
    )
    expected = display_class.from_predictions(
        None, method(numbers), scale="rank", **options
    )
    for left, right in zip(data_of(found), data_of(expected), strict=True):
        np.testing.assert_array_equal(left, right)
    name = type(model).__name__
    match = rf"{name} has no predict_proba, .* draw ranks by scale='rank'"
    with pytest.raises(ValueError, match=match):
        display_class.from_estimator(model, numbers, target, **options)


def test_mark_is_the_metric(people):
    X, _, _, pay = people
    options = {"sensitive_features": X["sex"], "epsilon": 0.1, "scale": "rank"}
    display = CDFGapDisplay.from_predictions(None, pay, **options)
    assert display.marks[0.1].value == mcdp(None, pay, **options)
    within = {**options, "control_features": X["age"] > 0}
    display = CDFGapDisplay.from_predictions(None, pay, **within)
    assert display.marks[0.1].value == mcdp(None, pay, **within)


def test_several_classes_are_drawn_one_by_one(display_class, people):
    X, numbers, _, _ = people
    model = DummyClassifier().fit(numbers, np.arange(len(X)) % 3)
    groups = X["sex"].to_numpy()
    for scale in ("probability", "rank"):
        with pytest.raises(ValueError, match=r"3 classes: .*values_by_class says"):
            display_class.from_estimator(
                model, numbers, sensitive_features=groups, scale=scale
            )
    with pytest.raises(ValueError, match=r"must have shape \(n_samples,\)|one column"):
        MCDPCurveDisplay.from_predictions(
            None, model.predict_proba(numbers), sensitive_features=X["sex"]
        )


def test_scores_outside_zero_and_one_name_the_scale(display_class, people):
    X, _, _, pay = people
    groups = X["sex"]
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\].* scale='rank'"):
        display_class.from_predictions(None, pay, sensitive_features=groups)
    with pytest.raises(ValueError, match=r"scale must be 'probability'.* 'rank'"):
        display_class.from_predictions(
            None, pay, sensitive_features=groups, scale="ranks"
        )

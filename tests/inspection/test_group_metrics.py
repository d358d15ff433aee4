"""Pictures of metrics by group."""

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from skfair.datasets import make_biased_classification
from skfair.inspection import GroupMetricsDisplay
from skfair.metrics import group_metrics

RATES = ["accuracy", "selection_rate", "true_positive_rate", "false_positive_rate"]


@pytest.fixture(scope="module")
def table():
    return make_biased_classification(
        n_samples=200, group_sizes={"sex": {"F": 0.4, "M": 0.6}}, random_state=0
    )


@pytest.fixture(scope="module")
def model(table):
    X, y = table
    return LogisticRegression().fit(X[["x0", "x1"]], y)


def test_the_picture_shows_the_numbers(table, model):
    X, y = table
    y_pred = model.predict(X[["x0", "x1"]])
    display = GroupMetricsDisplay.from_predictions(
        y, y_pred, metrics=["accuracy", "recall"], sensitive_features=X["sex"], name="A"
    )
    result = group_metrics(
        ["accuracy", "recall"], y, y_pred, sensitive_features=X["sex"]
    )
    assert display.axes_[0].get_title() == "A"
    alone = {"metrics": ["recall"], "sensitive_features": X["sex"]}
    assert len(GroupMetricsDisplay.from_predictions(y, y_pred, **alone).axes_) == 1
    ticks = [text.get_text() for text in display.axes_[0].get_yticklabels()]
    sizes = result.sizes["n"]
    assert ticks == [f"F (n = {sizes['F']})", f"M (n = {sizes['M']})"]
    assert display.axes_[0].get_ylabel() == "sex"
    for i, metric in enumerate(["accuracy", "recall"]):
        rows = result.groups.xs(metric, level="metric")
        np.testing.assert_array_equal(display.points_[i].get_xdata(), rows["value"])
        segments = np.array(display.intervals_[i].get_segments())
        np.testing.assert_array_equal(segments[:, :, 0], rows[["lower", "upper"]])
        lines = np.array(display.everyone_[i].get_segments())
        assert (lines[:, :, 0] == result.overall[metric]).all()


@pytest.mark.slow
@pytest.mark.parametrize("pos_label", [None, 0])
def test_from_estimator_equals_from_predictions(table, model, pos_label):
    X, y = table
    features = X[["x0", "x1"]]
    options = {
        "metrics": ["roc_auc", "precision"],
        "sensitive_features": X["sex"],
        "pos_label": pos_label,
        "n_resamples": 5,
        "random_state": 0,
    }
    ours = GroupMetricsDisplay.from_estimator(model, features, y, **options)
    expected = GroupMetricsDisplay.from_predictions(
        y,
        model.predict(features),
        y_score=model.predict_proba(features)[:, 1 if pos_label is None else 0],
        **options,
    )
    pd.testing.assert_frame_equal(ours.result.groups, expected.result.groups)
    assert ours.name == "LogisticRegression"


@pytest.mark.parametrize(
    ("y", "y_pred", "expected"),
    [
        (None, [0, 1, 1, 1], ["selection_rate"]),
        (
            [0, 1, 1, 0],
            [0, 1, 1, 1],
            RATES,
        ),
        (["a", "b", "c", "a"], ["a", "b", "c", "b"], ["accuracy"]),
        ([0.5, 1, 2, 7], [1.0, 1, 2, 8], ["mean_absolute_error"]),
        ([1, 2, 5, 7], [1.5, 1, 2, 8], ["mean_absolute_error"]),
    ],
)
def test_metrics_that_are_drawn_if_none_are_named(y, y_pred, expected):
    display = GroupMetricsDisplay.from_predictions(
        y, y_pred, sensitive_features=["F", "M"] * 2, confidence_level=None
    )
    assert [*display.result.by_group] == expected


def test_a_model_needs_no_names_of_metrics(table, model):
    X, y = table
    features, options = X[["x0", "x1"]], {"sensitive_features": X["sex"]}
    display = GroupMetricsDisplay.from_estimator(model, features, y, **options)
    expected = group_metrics(RATES, y, model.predict(features), **options)
    pd.testing.assert_frame_equal(display.result.groups, expected.groups)


def test_a_cross_validation_needs_no_names_of_metrics(table, model):
    X, y = table
    features, rows = X[["x0", "x1"]], np.arange(200)
    folds = {
        "estimator": [model],
        "indices": {"train": [rows[:99]], "test": [rows[99:]]},
    }
    display = GroupMetricsDisplay.from_cv_results(
        folds, features, y, sensitive_features=X["sex"]
    )
    assert [*display.result.by_group] == RATES


@pytest.mark.slow
def test_other_estimators(table):
    X, y = table
    features, options = X[["x0", "x1"]], {"sensitive_features": X["sex"]}
    names = np.array(["<=50K", ">50K"])[y]
    ridge = RidgeClassifier().fit(features, names)
    display = GroupMetricsDisplay.from_estimator(
        ridge,
        features,
        names,
        metrics=["average_precision", "f1"],
        n_resamples=5,
        **options,
    )
    assert display.result.by_group.notna().all(axis=None)
    regressor = DummyRegressor().fit(features, y)
    display = GroupMetricsDisplay.from_estimator(
        regressor,
        features,
        y,
        metrics="neg_mean_absolute_error",
        n_resamples=5,
        **options,
    )
    assert len(display.axes_) == 1


@pytest.mark.slow
def test_strata_many_groups_many_metrics_and_given_axes(table):
    import matplotlib.pyplot as plt

    X, y = table
    options = {"sensitive_features": X["sex"], "confidence_level": None}
    metrics = ["accuracy", "recall", "precision", "error_rate", "selection_rate"]
    display = GroupMetricsDisplay.from_predictions(y, y, metrics=metrics, **options)
    assert len(display.axes_) == len(display.figure_.axes) == 5
    figure, axes = plt.subplots(1, 2)
    two = GroupMetricsDisplay.from_predictions(
        y, y, metrics=metrics[:2], ax=axes, control_features=X["x0"] > 0, **options
    )
    assert two.figure_ is figure
    assert axes[0].get_yticklabels()[0].get_text().startswith("False, F (n = ")
    with pytest.raises(ValueError, match="ax must be 5 axes, got 1"):
        display.plot(axes[0])
    many = GroupMetricsDisplay.from_predictions(
        y,
        y,
        metrics="accuracy",
        sensitive_features=[f"site {i % 50}" for i in range(200)],
    )
    assert many.axes_[0].get_ylabel() == "50 groups"

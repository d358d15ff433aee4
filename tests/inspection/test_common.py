"""What holds for every display."""

import dataclasses
import importlib
import pickle
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import ShuffleSplit, cross_val_predict, cross_validate
from sklearn.svm import LinearSVC

from skfair.groups import encode_groups
from skfair.inspection import (
    CDFGapDisplay,
    MADDDisplay,
    MCDPCurveDisplay,
)
from skfair.metrics import mcdp
from skfair.statistics import CountTable


@pytest.fixture(
    params=[
        CDFGapDisplay,
        pytest.param(MCDPCurveDisplay, marks=pytest.mark.slow),
        pytest.param(MADDDisplay, marks=pytest.mark.slow),
    ]
)
def display_class(request):
    return request.param


def quick(display_class, method="from_predictions"):
    """Bind a class method that makes a display without permutations."""
    fast = {"n_permutations": 0} if display_class is MADDDisplay else {}
    return partial(getattr(display_class, method), **fast)


def first_axes(display):
    return display.axes_[0] if isinstance(display, MADDDisplay) else display.ax_


def pictures(display):
    """All the data of a figure's lines and steps."""
    axes = display.figure_.axes
    lines = [line.get_xydata() for ax in axes for line in ax.get_lines()]
    steps = [patch.get_path().vertices for ax in axes for patch in ax.patches]
    return [*lines, *steps]


@pytest.fixture(scope="module")
def drawn():
    """Pictures of the predictions of the fitted model, by class of display."""
    return {}


@pytest.mark.parametrize(
    "selector",
    [
        lambda X: X["sex"],
        pytest.param("sex", marks=pytest.mark.slow),
        pytest.param(None, marks=pytest.mark.slow),
    ],
)
def test_from_estimator_equals_from_predictions(drawn, display_class, fitted, selector):
    model, X, y = fitted
    chosen = X["sex"] if selector is None else selector
    ours = quick(display_class, "from_estimator")(
        model, X, y, sensitive_features=chosen
    )
    if display_class not in drawn:
        expected = quick(display_class)(
            y, model.predict_proba(X)[:, 1], sensitive_features=X["sex"].tolist()
        )
        drawn[display_class] = pictures(expected)
        assert expected.name is None
    for left, right in zip(pictures(ours), drawn[display_class], strict=True):
        np.testing.assert_array_equal(left, right)
    assert ours.name == "LogisticRegression"


@pytest.mark.slow
def test_y_and_weights_reach_from_predictions(display_class, fitted):
    model, X, y = fitted
    weights = np.random.default_rng(0).random(len(X)) + 0.1
    make = quick(display_class, "from_estimator")
    ours = make(model, X, sensitive_features="sex", sample_weight=weights)
    expected = quick(display_class)(
        None,
        model.predict_proba(X)[:, 1],
        sensitive_features=X["sex"],
        sample_weight=weights,
    )
    for left, right in zip(pictures(ours), pictures(expected), strict=True):
        np.testing.assert_array_equal(left, right)
    with pytest.raises(ValueError, match="y_true must have shape"):
        make(model, X, y[:-1], sensitive_features="sex")


def test_given_axes_are_used_and_plot_returns_self(display_class, scored):
    import matplotlib.pyplot as plt

    y_true, y_score, sex = scored
    figure, axes = plt.subplots(1, 2)
    ax = axes if display_class is MADDDisplay else axes[0]
    display = quick(display_class)(y_true, y_score, sensitive_features=sex, ax=ax)
    assert display.figure_ is figure
    assert first_axes(display) is axes[0]
    assert len(plt.get_fignums()) == 1
    assert display.plot(ax) is display
    assert display.plot().figure_ is not figure


def test_statistic_in_place_of_rows(display_class, scored):
    _, y_score, sex = scored
    statistic = CountTable.from_rows(None, y_score, sensitive_features=sex)
    ours = quick(display_class)(None, statistic)
    expected = quick(display_class)(None, y_score, sensitive_features=sex)
    for left, right in zip(pictures(ours), pictures(expected), strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize(
    "groups",
    [
        np.repeat("F", 300),
        encode_groups(np.repeat("F", 300), labels=["F", "M"]),
        encode_groups(["F"] * 298 + ["M"] * 2, min_group_size=5),
    ],
)
def test_undefined_names_the_groups(display_class, scored, groups):
    with pytest.raises(ValueError, match=r"'(F|M)'"):
        quick(display_class)(None, scored[1], sensitive_features=groups)


def test_unfit_estimators(display_class, fitted):
    _, X, y = fitted
    numbers = X[["age"]]
    make = partial(
        quick(display_class, "from_estimator"), sensitive_features=X["sex"].to_numpy()
    )
    with pytest.raises(NotFittedError):
        make(LogisticRegression(), numbers)
    with pytest.raises(ValueError, match="RidgeClassifier has no predict_proba"):
        make(RidgeClassifier().fit(numbers, y), numbers)
    many = LogisticRegression().fit(numbers, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match=r"3 classes: \[.*0.*, .*1.*, .*2.*\]"):
        make(many, numbers)


def test_columns_of_arrays(display_class):
    X, y = make_classification(random_state=0)
    X[:, 3] = np.arange(100) % 2
    model = LogisticRegression().fit(X, y)
    make = quick(display_class, "from_estimator")
    display = make(model, X, sensitive_features=3)
    assert np.ravel(display.counts).tolist() == [50, 50]
    with pytest.raises(ValueError, match=r"without column names\. .* set_output\("):
        make(model, X, sensitive_features="sex")


@pytest.mark.promise("Parts that need an extra say which")
def test_a_display_is_plotted_by_matplotlib(scored, monkeypatch):
    _, y_score, sex = scored
    display = CDFGapDisplay.from_predictions(None, y_score, sensitive_features=sex)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install -e "\.\[plot\]"'):
        display.plot()


def test_import_without_matplotlib(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("skfair.inspection")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    importlib.import_module("skfair.inspection")


@pytest.mark.filterwarnings("ignore:.*looks like a missing value")
@pytest.mark.parametrize(
    "hostile",
    [
        "$a$",
        *(
            pytest.param(label, marks=pytest.mark.slow)
            for label in ("_x", "$", "a\nb", "", "x" * 90)
        ),
    ],
)
def test_labels_are_shown_as_they_are(display_class, scored, hostile):
    _, y_score, sex = scored
    groups = np.where(sex == "F", hostile, "M").astype(object)
    display = quick(display_class)(
        None, y_score, sensitive_features=groups, name=hostile
    )
    legend = first_axes(display).get_legend()
    texts = [legend.get_title(), *legend.get_texts(), first_axes(display).title]
    display.figure_.draw_without_rendering()
    shown = " ".join(text._preprocess_math(text.get_text())[0] for text in texts)
    assert not any(text._preprocess_math(text.get_text())[1] for text in texts)
    assert f"(n = {np.sum(sex == 'F')})" in shown
    assert " ".join(hostile.split())[:18] in shown


# --- strata


@pytest.mark.slow
@pytest.mark.parametrize("named", [False, True])
def test_the_stratum_with_the_largest_gap_is_drawn(display_class, scored, named):
    y_true, y_score, sex = scored
    strata = pd.Series(np.arange(len(sex)) % 3, name="part" if named else None)
    y_score = np.where((strata == 1) & (np.asarray(sex) == sex[0]), 0.0, y_score)
    own = np.flatnonzero(strata == 1)
    ours = quick(display_class)(
        y_true, y_score, sensitive_features=sex, control_features=strata, name="model"
    )
    expected = quick(display_class)(
        None, y_score[own], sensitive_features=np.asarray(sex)[own]
    )
    for left, right in zip(pictures(ours), pictures(expected), strict=True):
        np.testing.assert_array_equal(left, right)
    assert ours.name == f"model, {'part' if named else 'stratum'} 1"


@pytest.mark.slow
def test_strata_of_an_estimator(display_class, fitted):
    model, X, y = fitted
    strata = np.arange(len(X)) % 2
    options = {"sensitive_features": X["sex"], "control_features": strata}
    expected = quick(display_class)(y, model.predict_proba(X)[:, 1], **options)
    for control in (strata, strata.tolist(), lambda X: np.arange(len(X)) % 2):
        options["control_features"] = control
        ours = quick(display_class, "from_estimator")(model, X, y, **options)
        for left, right in zip(pictures(ours), pictures(expected), strict=True):
            np.testing.assert_array_equal(left, right)
        assert ours.name.startswith("LogisticRegression, stratum ")


def test_no_stratum_can_be_compared(display_class, scored):
    y_true, y_score, sex = scored
    with pytest.raises(ValueError, match="control_features leave nothing to compare"):
        quick(display_class)(
            y_true, y_score, sensitive_features=sex, control_features=sex
        )
    strata = np.where(np.asarray(sex) == sex[0], "one", "other")
    strata[::2] = "other"
    with pytest.warns(UndefinedMetricWarning, match="leaves out .*'one'"):
        quick(display_class)(
            y_true, y_score, sensitive_features=sex, control_features=strata
        )


@pytest.mark.slow
def test_a_notebook_shows_the_picture_once(scored, monkeypatch):
    """Pyplot inline shows all open figures at the end of a cell."""
    import matplotlib.pyplot as plt

    _, y_score, sex = scored
    display = CDFGapDisplay.from_predictions(None, y_score, sensitive_features=sex)
    monkeypatch.setattr(plt, "get_backend", lambda: "inline")
    assert display._repr_png_().startswith(b"\x89PNG")
    assert not plt.fignum_exists(display.figure_.number)
    assert display._repr_png_().startswith(b"\x89PNG")  # in a later cell
    fields = [field.name for field in dataclasses.fields(display)]
    again = CDFGapDisplay(**{name: getattr(display, name) for name in fields})
    assert again._repr_png_() is None  # nothing is drawn yet


def test_displays_pickle(display_class, scored):
    y_true, y_score, sex = scored
    display = quick(display_class)(y_true, y_score, sensitive_features=sex)
    restored = pickle.loads(pickle.dumps(display))
    assert vars(restored).keys() == vars(display).keys()


@pytest.fixture(scope="module")
def cross_validated(fitted):
    model, X, y = fitted
    return cross_validate(model, X, y, cv=3, return_estimator=True, return_indices=True)


@pytest.mark.slow
@pytest.mark.parametrize("beside", [False, True])
def test_held_out_rows_of_a_cross_validation(
    cross_validated, display_class, fitted, beside
):
    """Each row has the score of the model that was not fitted to it."""
    model, X, y = fitted
    weights = np.random.default_rng(0).random(len(X)) + 0.1
    scores = cross_val_predict(model, X, y, cv=3, method="predict_proba")[:, 1]
    order = np.concatenate(cross_validated["indices"]["test"])
    ours = quick(display_class, "from_cv_results")(
        cross_validated,
        X,
        y,
        sensitive_features=X["sex"] if beside else "sex",
        sample_weight=weights,
    )
    expected = quick(display_class)(
        None,
        scores[order],
        sensitive_features=X["sex"].to_numpy()[order],
        sample_weight=weights[order],
    )
    for left, right in zip(pictures(ours), pictures(expected), strict=True):
        np.testing.assert_array_equal(left, right)
    assert ours.name == "LogisticRegression"


def test_what_is_no_cross_validation_is_refused(cross_validated, fitted):
    model, X, y = fitted
    draw = partial(CDFGapDisplay.from_cv_results, sensitive_features="sex")
    with pytest.raises(ValueError, match="return_estimator=True and return_indices"):
        draw({"test_score": [0.5]}, X, y)
    with pytest.raises(ValueError, match="X must have the 300 rows"):
        draw(cross_validated, X[1:], y[1:])
    repeated = cross_validate(
        model,
        X,
        y,
        cv=ShuffleSplit(3, random_state=0),
        return_estimator=True,
        return_indices=True,
    )
    with pytest.raises(ValueError, match="each row at most once"):
        draw(repeated, X, y)


# --- ranks of scores that are not probabilities


ON_THE_AXIS = {
    CDFGapDisplay: "Rank of the score among everyone (0 to 1)",
    MCDPCurveDisplay: "Epsilon, half the window (share of everyone)",
    MADDDisplay: "Rank of the score among everyone (0 to 1)",
}


@pytest.fixture(scope="module")
def people(fitted):
    """Features, a target of two classes, and a target of a regression."""
    _, X, y = fitted
    X = X.assign(age=X["age"].round(1))
    numbers = X[["age"]].astype(float)
    rng = np.random.default_rng(0)
    pay = 1000 * numbers["age"] + 5000 * (X["sex"] == "M") + rng.normal(size=len(X))
    return X, numbers, np.asarray(y), pay.to_numpy()


@pytest.mark.slow
def test_ranks_are_drawn(display_class, people):
    X, _, _, pay = people
    options = {"sensitive_features": X["sex"]}
    found = quick(display_class)(pay, pay, scale="rank", **options)
    ranks = (rankdata(pay) - 0.5) / len(pay)
    expected = quick(display_class)(None, ranks, **options)
    for left, right in zip(pictures(found), pictures(expected), strict=True):
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
    options = {"sensitive_features": X["sex"].to_numpy()}
    draw = quick(display_class, "from_estimator")
    found = draw(model, numbers, target, scale="rank", **options)
    expected = quick(display_class)(None, method(numbers), scale="rank", **options)
    for left, right in zip(pictures(found), pictures(expected), strict=True):
        np.testing.assert_array_equal(left, right)
    name = type(model).__name__
    match = rf"{name} has no predict_proba, .*scale='rank'"
    with pytest.raises(ValueError, match=match):
        draw(model, numbers, target, **options)


@pytest.mark.slow
def test_mark_of_ranks_is_the_metric(people):
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


# --- what is a column, and what is a label


class ByGroup(ClassifierMixin, BaseEstimator):
    """Predicts 0.9 for group M, if it is told the groups."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X, sensitive_features=None):
        if sensitive_features is None:
            return np.full((len(X), 2), 0.5)
        positive = np.where(np.asarray(sensitive_features) == "M", 0.9, 0.2)
        return np.column_stack([1 - positive, positive])


@pytest.mark.slow
def test_labels_are_handed_to_an_estimator_that_takes_them():
    X = pd.DataFrame({"sex": ["F", "M", "M"]})
    model = ByGroup().fit(X, [0, 1, 1])
    for groups, scores in ((X["sex"], [0.2, 0.9, 0.9]), ("sex", [0.5] * 3)):
        found = CDFGapDisplay.from_estimator(model, X, sensitive_features=groups)
        expected = CDFGapDisplay.from_predictions(
            None, scores, sensitive_features=X["sex"]
        )
        assert found.marks[0.0].value == expected.marks[0.0].value

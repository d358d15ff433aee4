import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skfair.datasets import make_biased_classification
from skfair.inspection import RepairDisplay
from skfair.postprocessing import MADDPostProcessor

pytestmark = pytest.mark.filterwarnings("ignore::skfair.exceptions.MitigationWarning")


@pytest.fixture(scope="module")
def biased():
    return make_biased_classification(
        500, group_sizes={"sex": {"F": 0.4, "M": 0.6}}, random_state=0
    )


@pytest.fixture(scope="module")
def model(biased):
    X, y = biased
    model = MADDPostProcessor(
        LogisticRegression(), sensitive_features="sex", drop_sensitive=True
    )
    return model.fit(X, y)


def test_what_is_drawn(biased, model):
    X, _ = biased
    display = RepairDisplay.from_estimator(model, X)
    assert display.figure_ is display.axes_[0].figure
    names = ("total_loss", "accuracy_loss", "fairness_loss")
    for line, name in zip(display.lines_, names, strict=True):
        assert_array_equal(line.get_xdata(), model.losses_["repair_level"])
        assert_array_equal(line.get_ydata(), model.losses_[name])
    assert_array_equal(display.level_line_.get_xdata(), [model.repair_level_] * 2)
    heights = [patch.get_data().values for patch in display.histograms_]
    assert_array_equal(heights, [*display.before, *display.after])
    assert_allclose(np.sum(heights, axis=1), 1)
    plain = X.drop(columns="sex")
    scores = np.mean([m.predict_proba(plain)[:, 1] for m in model.estimators_], axis=0)
    women = (X["sex"] == "F").to_numpy()
    expected, _ = np.histogram(scores[women], display.edges)
    assert_allclose(display.before[0], expected / women.sum())


@pytest.mark.slow
def test_band_of_one_standard_error(biased, model):
    X, y = biased
    band = RepairDisplay.from_estimator(model, X).error_band_
    assert_allclose(band.get_y(), model.losses_["total_loss"].min())
    assert_allclose(band.get_height(), model.standard_error_)
    given = MADDPostProcessor(
        LogisticRegression(),
        sensitive_features="sex",
        repair_level=0.5,
    )
    X = X.assign(sex=(X["sex"] == "F") + 0)
    assert RepairDisplay.from_estimator(given.fit(X, y), X).error_band_ is None


@pytest.mark.slow
def test_largest_gap(biased, legend_texts):
    X, y = biased
    model = MADDPostProcessor(
        LogisticRegression(),
        sensitive_features="sex",
        drop_sensitive=True,
        max_mcdp=0.1,
    )
    display = RepairDisplay.from_estimator(model.fit(X, y), X)
    assert_array_equal(display.lines_[0].get_xdata(), model.losses_["max_mcdp"])
    assert_array_equal(display.level_line_.get_xdata(), [0.1, 0.1])
    assert "Largest gap = 0.1" in legend_texts(display.axes_[0])
    assert display.axes_[0].get_xlabel() == "Largest gap allowed"


@pytest.mark.slow
def test_legends_and_titles(biased, model, legend_texts):
    display = RepairDisplay.from_estimator(model, biased[0])
    assert display.axes_[0].get_title() == "LogisticRegression"
    assert [ax.get_title() for ax in display.axes_[1:]] == [
        "Before repair",
        "After repair",
    ]
    assert legend_texts(display.axes_[0]) == [
        "Mean of both, weighted",
        "Loss of accuracy",
        "Gap that remains",
        f"Level = {model.repair_level_:.3g}",
        f"Least mean + 1 standard error ({model.standard_error_:.2g})",
    ]
    texts = legend_texts(display.axes_[1])
    assert [text.split()[0] for text in texts] == ["F", "M"]
    assert display.axes_[1].get_legend().get_title().get_text() == "sex"


@pytest.mark.slow
def test_pipeline_labels_and_axes(biased, model):
    import matplotlib.pyplot as plt

    X, y = biased
    expected = RepairDisplay.from_estimator(model, X)
    pipeline = make_pipeline(FunctionTransformer(), model).fit(X, y)
    axes = plt.figure().subplots(3)
    display = RepairDisplay.from_estimator(
        pipeline, X, sensitive_features=X["sex"], ax=axes, name="Mine"
    )
    assert display.axes_[0] is axes[0]
    assert axes[0].get_title() == "Mine"
    assert_array_equal(display.after, expected.after)
    assert display.plot(name="Other").axes_[0].get_title() == "Other"
    with pytest.raises(ValueError, match="ax must be 3 axes, got 2"):
        display.plot(axes[:2])


def test_pair_of_many_groups():
    X, y = make_biased_classification(
        600, group_sizes={"race": {"a": 0.3, "b": 0.3, "c": 0.4}}, random_state=0
    )
    model = MADDPostProcessor(LogisticRegression(), cv=2)
    groups = X.pop("race")
    model.fit(X, y, sensitive_features=groups)
    display = RepairDisplay.from_estimator(model, X, sensitive_features=groups)
    assert len(display.labels) == 2
    assert len(display.histograms_) == 4


def test_errors(biased):
    X, y = biased
    with pytest.raises(NotFittedError):
        RepairDisplay.from_estimator(MADDPostProcessor(LogisticRegression()), X)
    numbers = X.drop(columns="sex")
    with pytest.raises(TypeError, match="got LogisticRegression"):
        RepairDisplay.from_estimator(LogisticRegression().fit(numbers, y), numbers)
    with pytest.warns(UserWarning, match="nothing is repaired"):
        plain = MADDPostProcessor(LogisticRegression()).fit(numbers, y)
    with pytest.raises(ValueError, match="fitted without sensitive_features"):
        RepairDisplay.from_estimator(plain, numbers)

import numpy as np
import pandas as pd
import pytest

from skfair.inspection import ContinuousMCDPDisplay
from skfair.metrics import continuous_mcdp_cuts
from skfair.statistics import GroupedScores

draw = ContinuousMCDPDisplay.from_predictions


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    age = pd.Series(rng.integers(18, 80, 400), name="age")
    return rng.beta(2 + (age > 60), 3), age


def test_line_is_the_gap_at_each_cut(legend_texts, people):
    y_score, age = people
    display = draw(None, y_score, sensitive_features=age, name="a model")
    result = continuous_mcdp_cuts(None, y_score, sensitive_features=age)
    x, y = display.line_.get_data()
    assert display.line_.get_drawstyle() == "steps-post"
    np.testing.assert_array_equal(x, result.cuts)
    np.testing.assert_array_equal(y, result.values)
    assert display.mark_.get_xdata()[0] == result.cut
    assert display.mark_.get_ydata()[0] == result.value
    assert display.ax_.get_xlabel() == "Cut point of age"
    assert display.ax_.get_ylabel() == "MCDP(0) at the cut (0 to 1)"
    assert display.ax_.get_title() == "a model"
    assert display.null_line_ is None
    assert len(legend_texts(display.ax_)) == 2


def test_null_quantile(legend_texts, people):
    y_score, age = people
    options = {"n_permutations": 9, "random_state": 0, "min_share": 0.2}
    display = draw(None, y_score, sensitive_features=age, epsilon=0.02, **options)
    null = display.null_distribution
    assert null.shape == (9,)
    assert display.null_line_.get_ydata()[0] == np.quantile(null, 0.95)
    assert "Permuted 9 times" in legend_texts(display.ax_)[-1]
    assert display.ax_.get_ylabel() == "MCDP(0.02) at the cut (0 to 1)"


def test_from_estimator_and_statistic(fitted):
    model, X, y = fitted
    display = ContinuousMCDPDisplay.from_estimator(
        model, X, y, sensitive_features="age"
    )
    assert display.name == "Pipeline"
    assert display.ax_.get_xlabel() == "Cut point of age"
    y_score = model.predict_proba(X)[:, 1]
    expected = draw(y, y_score, sensitive_features=X["age"].to_numpy())
    assert expected.ax_.get_xlabel() == "Cut point of the attribute"
    statistic = GroupedScores.from_scores(y_score, sensitive_features=X["age"])
    for one in (expected, draw(None, statistic)):
        np.testing.assert_array_equal(
            one.line_.get_xydata(), display.line_.get_xydata()
        )
    with pytest.raises(ValueError, match="n_permutations must be 0 where a statistic"):
        draw(None, statistic, n_permutations=9)


def test_nothing_to_draw():
    with pytest.raises(ValueError, match=r"nothing to draw.*at least two values"):
        draw(None, [0.1, 0.4], sensitive_features=[3, 3])


def test_parity(people):
    display = draw(None, [0.2, 0.4] * 2, sensitive_features=[1, 1, 2, 2])
    assert display.line_.get_ydata().tolist() == [0]
    display.figure_.draw_without_rendering()


def test_the_stratum_with_the_largest_gap_is_drawn():
    rng = np.random.default_rng(0)
    age, part = rng.integers(18, 80, 400), rng.choice(["A", "B"], 400)
    y_score = rng.random(400) * 0.6 + 0.3 * ((age > 40) & (part == "B"))
    own = part == "B"
    ours = ContinuousMCDPDisplay.from_predictions(
        None, y_score, sensitive_features=age, control_features=part
    )
    alone = continuous_mcdp_cuts(None, y_score[own], sensitive_features=age[own])
    assert ours.name == "stratum B"
    assert ours.result.value == alone.value
    np.testing.assert_array_equal(ours.result.values, alone.values)

import numpy as np
import pytest

from skfair.inspection import MADDDisplay
from skfair.metrics import madd, madd_optimal_bandwidth, permutation_test
from skfair.statistics import CountTable

draw = MADDDisplay.from_predictions


@pytest.mark.parametrize(
    "weighted", [False, pytest.param(True, marks=pytest.mark.slow)]
)
def test_search_is_that_of_the_metric(scored, weighted):
    y_true, y_score, sex = scored
    weights = np.random.default_rng(0).random(300) + 0.5 if weighted else None
    given = {"sensitive_features": sex, "sample_weight": weights}
    display = draw(y_true, y_score, **given, n_permutations=0)
    expected = madd_optimal_bandwidth(y_true, y_score, **given)
    x, y = display.line_.get_data()
    np.testing.assert_array_equal(x, expected.bandwidths)
    np.testing.assert_array_equal(y, expected.values)
    assert display.line_.get_drawstyle() == "steps-pre"
    interval = display.interval_.get_extents().transformed(
        display.axes_[1].transData.inverted()
    )
    assert (interval.x0, interval.x1) == pytest.approx(expected.interval)
    assert set(display.h_sup_line_.get_xdata()) == {expected.h_sup}
    value = madd(y_true, y_score, **given)
    assert list(display.madd_line_.get_ydata()) == pytest.approx([value, value])
    assert display.null_lines_ == []


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_histograms_are_those_of_one_bandwidth_of_the_interval(
    legend_texts, scored, weighted
):
    y_true, y_score, sex = scored
    weights = np.random.default_rng(0).random(300) + 0.5 if weighted else np.ones(300)
    given = {"sensitive_features": sex, "sample_weight": weights}
    display = draw(y_true, y_score, **given, n_permutations=0)
    edges = display.difference_.get_data().edges
    low, high = display.result.interval
    bandwidth = 1 / (len(edges) - 1)
    assert low - 1e-12 <= bandwidth < high
    for patch, label in zip(display.histograms_, ["F", "M"], strict=True):
        mine = sex == label
        counts, _ = np.histogram(
            y_score[mine], edges, weights=weights[mine] / weights[mine].sum()
        )
        np.testing.assert_allclose(patch.get_data().values, counts, atol=1e-12)
    shown = display.difference_.get_data().values.sum()
    value = madd(y_true, y_score, **given, bandwidth=bandwidth)
    assert shown == pytest.approx(value)
    assert f"adds up to {value:.3f}" in legend_texts(display.axes_[0])[2]


@pytest.mark.slow
def test_null_distribution(legend_texts, scored):
    y_true, y_score, sex = scored
    display = draw(
        y_true, y_score, sensitive_features=sex, n_permutations=19, random_state=3
    )
    null = permutation_test(
        madd,
        y_true,
        y_score,
        sensitive_features=sex,
        n_permutations=19,
        random_state=3,
    ).null_distribution
    np.testing.assert_array_equal(display.null_distribution, null)
    drawn = [line.get_ydata()[0] for line in display.null_lines_]
    assert drawn == pytest.approx([null.mean(), np.quantile(null, 0.95)])
    texts = legend_texts(display.axes_[1])
    assert texts[-2] == f"Groups permuted 19 times: mean {null.mean():.3f}"
    n_women = (sex == "F").sum()
    title = display.axes_[1].get_legend().get_title().get_text()
    assert title == f"F (n = {n_women})\nM (n = {300 - n_women})"
    assert legend_texts(display.axes_[0])[0] == f"F (n = {n_women})"


@pytest.mark.parametrize("n_permutations", [-1, 2.5, "many", None])
def test_bad_n_permutations(scored, n_permutations):
    with pytest.raises(ValueError, match="n_permutations must be an integer"):
        draw(
            None, scored[1], sensitive_features=scored[2], n_permutations=n_permutations
        )


@pytest.mark.slow
def test_tables_are_permuted_without_weights(scored):
    _, y_score, groups = scored
    rows = {"sensitive_features": groups, "sample_weight": np.full(len(groups), 2)}
    weighted = CountTable.from_rows(None, y_score, **rows)
    with pytest.raises(ValueError, match="people without sample weights"):
        draw(None, weighted)
    table = CountTable.from_rows(None, y_score, sensitive_features=groups)
    display = draw(None, table, n_permutations=9, random_state=0)
    assert len(display.null_distribution) == 9
    expected = draw(None, y_score, sensitive_features=groups, n_permutations=0)
    assert display.result.value == expected.result.value


def test_one_axes_are_not_enough(scored):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="ax must be 2 axes"):
        draw(None, scored[1], sensitive_features=scored[2], n_permutations=0, ax=ax)


@pytest.mark.slow
def test_three_groups_show_the_extreme_pair(legend_texts):
    generator = np.random.default_rng(0)
    groups = np.repeat(["a", "b", "c"], 100)
    y_score = np.clip(generator.normal(np.repeat([0.3, 0.4, 0.7], 100), 0.1), 0, 1)
    display = draw(None, y_score, sensitive_features=groups, n_permutations=0)
    assert display.result.groups == ("a", "c")
    assert legend_texts(display.axes_[0])[:2] == ["a (n = 100)", "c (n = 100)"]
    title = display.axes_[0].get_legend().get_title().get_text()
    assert title == "largest of 3 pairs"


@pytest.mark.slow
def test_axis_marks_no_impossible_value():
    y_score = np.repeat([0.1, 0.9], 200)
    display = draw(
        None, y_score, sensitive_features=np.repeat(["F", "M"], 200), n_permutations=0
    )
    assert display.result.value == 2
    assert display.axes_[1].get_yticks().max() <= 2

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from skfair.inspection import CDFGapDisplay
from skfair.metrics import mcdp
from skfair.statistics import CountTable

draw = CDFGapDisplay.from_predictions


def heights(line):
    return np.abs(np.diff(line.get_ydata()))[0]


def gap_at(display, pair, where):
    """Gap between two drawn CDFs, read off their lines."""
    values = []
    for i in pair:
        x, y = display.lines_[i].get_data()
        values.append(y[np.searchsorted(x, where, side="right") - 1])
    return np.abs(values[0] - values[1])


@pytest.mark.parametrize("weighted", [False, True])
def test_lines_are_the_cdfs(scored, weighted):
    y_true, y_score, sex = scored
    weights = np.random.default_rng(0).random(300) if weighted else None
    display = draw(y_true, y_score, sensitive_features=sex, sample_weight=weights)
    every = np.ones(300) if weights is None else weights
    for line, label in zip(display.lines_, ["F", "M"], strict=True):
        x, y = line.get_data()
        mine = sex == label
        assert line.get_drawstyle() == "steps-post"
        assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
        expected = [
            every[mine & (y_score <= t)].sum() / every[mine].sum() for t in x[1:]
        ]
        np.testing.assert_allclose(y[1:], expected, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "epsilon",
    [0.01, 0.05, 0.2, 0.3],
)
@pytest.mark.parametrize("seed", range(4))
def test_marks_are_mcdp(epsilon, seed):
    generator = np.random.default_rng(seed)
    groups = generator.integers(2 + seed % 2, size=60)
    y_score = generator.beta(1 + groups / 2, 2)
    y_score = y_score.round(2) if seed % 4 < 2 else y_score
    y_score[:seed] = 0
    display = draw(None, y_score, sensitive_features=groups, epsilon=epsilon)
    assert [*display.marks] == [0, epsilon]
    for (half, mark), line in zip(
        display.marks.items(), display.mark_lines_, strict=True
    ):
        value = mcdp(None, y_score, sensitive_features=groups, epsilon=half)
        assert mark.value == value
        if value == 0:
            continue
        assert heights(line) == pytest.approx(value, abs=1e-12)
        low, high = mark.window
        assert low <= mark.score <= high
        assert gap_at(display, mark.pair, mark.score) == pytest.approx(value)
        inside = np.linspace(low, high, 501)[:-1]
        assert gap_at(display, mark.pair, inside).min() >= value - 1e-12
        # A window centred near 0 is cut there, down to half its length.
        full = 2 * half if low > 0 else half
        assert high - low >= full - 1e-12


@pytest.mark.slow
def test_window_is_drawn_and_told(legend_texts, scored):
    y_true, y_score, sex = scored
    display = draw(y_true, y_score, sensitive_features=sex, epsilon=0.05)
    window = (
        display.windows_[0].get_extents().transformed(display.ax_.transData.inverted())
    )
    assert (window.x0, window.x1) == pytest.approx(display.marks[0.05].window)
    texts = legend_texts(display.ax_)
    n_women = (sex == "F").sum()
    assert texts[:2] == [f"F (n = {n_women})", f"M (n = {300 - n_women})"]
    values = [mark.value for mark in display.marks.values()]
    assert texts[2].startswith(f"Largest gap {values[0]:.3f} at score ")
    assert texts[3].startswith(f"MCDP {values[1]:.3f} with epsilon 0.05, at scores ")
    assert display.gap_area_ is not None


@pytest.mark.slow
def test_equal_groups_have_no_mark_to_draw(legend_texts):
    display = draw(None, [0.2, 0.4] * 2, sensitive_features=[0, 0, 1, 1], epsilon=0.1)
    assert legend_texts(display.ax_)[2:] == [
        "Largest gap 0.000",
        "MCDP 0.000 with epsilon 0.1",
    ]
    assert display.windows_ == []


def test_window_cut_at_zero():
    # The gap is 0.5 in [0, 0.15) and in [0.5, 0.75): only the first run holds a
    # window of half length 0.14, one that is centred near 0.
    display = draw(
        None,
        [0, 0.5, 0.15, 0.75],
        sensitive_features=["F", "F", "M", "M"],
        epsilon=0.14,
    )
    mark = display.marks[0.14]
    assert (mark.value, mark.window) == (0.5, (0, 0.14))


def test_bands(legend_texts, scored):
    y_true, y_score, sex = scored
    display = draw(y_true, y_score, sensitive_features=sex, confidence_level=0.9)
    half = np.sqrt(np.log(20) / (2 * (sex == "F").sum()))
    vertices = display.bands_[0].get_paths()[0].vertices
    x, y = display.lines_[0].get_data()
    middle = len(x) // 2
    seen = vertices[vertices[:, 0] == x[middle], 1]
    for expected in (y[middle] - half, y[middle] + half):
        assert np.abs(seen - np.clip(expected, 0, 1)).min() < 1e-12
    assert vertices[:, 1].min() >= 0
    assert vertices[:, 1].max() <= 1
    assert "0.9 confidence band, each group alone" in legend_texts(display.ax_)
    assert draw(y_true, y_score, sensitive_features=sex).bands_ is None


@pytest.mark.slow
def test_bands_of_weighted_rows(legend_texts, scored):
    y_true, y_score, sex = scored
    weights = np.where(np.arange(300) % 2, 1.0, 3.0)
    display = draw(
        y_true,
        y_score,
        sensitive_features=sex,
        sample_weight=weights,
        confidence_level=0.95,
    )
    mine = weights[sex == "F"]
    effective = mine.sum() ** 2 / (mine**2).sum()
    assert f"effective {effective:.0f})" in legend_texts(display.ax_)[0]
    statistic = CountTable.from_rows(
        None, y_score, sensitive_features=sex, sample_weight=weights
    )
    assert draw(None, statistic).bands_ is None
    draw(None, statistic, confidence_level=0.95)
    assert f"effective {effective:.0f})" in legend_texts(display.ax_)[0]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("epsilon", [-0.1, 1.1, "wide", None, np.nan]),
        ("confidence_level", [0, 1, 95, "high", np.nan]),
    ],
)
def test_bad_options(scored, name, values):
    for value in values:
        with pytest.raises(ValueError, match=f"{name} must be a number in"):
            draw(None, scored[1], sensitive_features=scored[2], **{name: value})


def test_three_groups_name_the_pair(legend_texts):
    generator = np.random.default_rng(0)
    groups = np.repeat(["a", "b", "c"], 100)
    y_score = np.clip(generator.normal(np.repeat([0.3, 0.4, 0.7], 100), 0.1), 0, 1)
    display = draw(None, y_score, sensitive_features=groups)
    assert display.marks[0].pair == (0, 2)
    assert legend_texts(display.ax_)[-1].endswith("\na and c")
    styles = {(line.get_color(), line.get_linestyle()) for line in display.lines_}
    assert len(styles) == 3


@pytest.mark.slow
def test_fifty_groups_highlight_the_extreme_pair(legend_texts):
    generator = np.random.default_rng(0)
    groups = np.arange(5000) % 50
    y_score = generator.beta(2 + groups / 50, 3)
    display = draw(None, y_score, sensitive_features=groups)
    assert len(display.lines_) == 50
    pair = display.marks[0].pair
    thick = [i for i, line in enumerate(display.lines_) if line.get_linewidth() > 1]
    assert tuple(thick) == pair
    texts = legend_texts(display.ax_)
    assert len(texts) == 4
    assert "48 other groups (n = 100)" in texts


@pytest.mark.slow
def test_long_names_that_begin_alike_stay_apart(legend_texts):
    start = "Native Hawaiian or other Pacific Islander, "
    groups = [start + end for end in ("born here", "born abroad")]
    display = draw(None, [0.1, 0.9], sensitive_features=groups)
    abroad, here = legend_texts(display.ax_)[:2]
    assert abroad == "Native Hawaiian or ...ander, born abroad (n = 1)"
    assert here.endswith("born here (n = 1)")


@pytest.mark.slow
def test_two_columns_are_an_intersection(legend_texts, fitted):
    model, X, _ = fitted
    display = CDFGapDisplay.from_estimator(model, X, sensitive_features=["race", "sex"])
    assert display.labels[0] == ("x", "F")
    assert legend_texts(display.ax_)[0].startswith("x, F (n = ")
    assert display.ax_.get_legend().get_title().get_text() == "race, sex"


def test_numbers_are_drawn_in_their_unit(scored):
    _, y_score, sex = scored
    salary = 30_000 + 40_000 * y_score
    given = {"sensitive_features": sex}
    display = draw(None, salary, scale="real", **given)
    assert display.ax_.get_xlim() == (salary.min(), salary.max())
    assert display.ax_.get_xlabel() == "Predicted number"
    mark, plain = display.marks[0], draw(None, y_score, **given).marks[0]
    assert mark.value == mcdp(None, salary, scale="rank", **given) == plain.value
    assert mark.score == pytest.approx(30_000 + 40_000 * plain.score)
    assert mark.figures == plain.figures
    assert gap_at(display, mark.pair, mark.score) == pytest.approx(mark.value)
    text = display.ax_.get_legend().get_texts()[-1].get_text()
    assert f"number {mark.score:.6g}" in text
    X = salary[:, np.newaxis]
    model = LinearRegression().fit(X, salary)
    of_model = CDFGapDisplay.from_estimator(model, X, scale="real", **given)
    assert of_model.marks[0].value == mark.value
    office = np.arange(len(sex)) % 2
    within = draw(None, salary, control_features=office, scale="real", **given)
    value = mcdp(None, salary, control_features=office, scale="rank", **given)
    assert within.marks[0].value == value


def test_windows_of_numbers_are_refused(scored):
    _, y_score, sex = scored
    with pytest.raises(ValueError, match="epsilon must be 0 with scale='real', got"):
        draw(None, y_score, sensitive_features=sex, scale="real", epsilon=0.1)
    with pytest.raises(ValueError, match="scale must be 'probability', 'rank' or"):
        draw(None, y_score, sensitive_features=sex, scale="logit")

import numpy as np
import pytest

from skfair.metrics import DCPResult


def draw(y_true, y_pred, *, sensitive_features, **options):
    result = DCPResult.from_predictions(
        y_true, y_pred, sensitive_features=sensitive_features
    )
    return result.plot(**options)


def predictions(n_groups=3, n_rows=500, seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_groups, n_rows)
    y_true = rng.integers(0, 3, n_rows)
    wrong = rng.random(n_rows) < 0.2 + 0.3 * (groups == 1)
    return y_true, np.where(wrong, rng.integers(0, 3, n_rows), y_true), groups


def test_cells_are_etas_of_the_largest_parts_first():
    y_true, y_pred, groups = predictions()
    display = draw(y_true, y_pred, sensitive_features=groups)
    result = DCPResult.from_predictions(y_true, y_pred, sensitive_features=groups)
    order = np.argsort(-(result.weights * result.eta).sum(axis=1))
    np.testing.assert_allclose(display.cells_.get_array(), result.eta[order])
    shown = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert shown[0].startswith("1 (")
    assert display.ax_.texts[0].get_text() == f"{result.eta[order][0, 0]:.2f}"


def test_interval_is_drawn_and_written():
    y_true, y_pred, groups = predictions()
    display = draw(y_true, y_pred, sensitive_features=groups, name="model")
    low, high = display.interval_line_.get_xdata()
    assert (low, high) == (display.result.lower, display.result.upper)
    text = display.interval_ax_.texts[0].get_text()
    assert text == f"DCP {low:.4f} to {high:.4f} (proven)"
    assert display.interval_ax_.get_title() == "model"


@pytest.mark.slow
def test_many_groups_show_the_largest():
    y_true, y_pred, groups = predictions(n_groups=30, n_rows=3000)
    display = draw(y_true, y_pred, sensitive_features=groups, max_groups=8)
    assert display.cells_.get_array().shape == (8, 3)
    assert "22 groups with smaller parts are not shown" in display.ax_.get_xlabel()


def test_label_that_a_group_never_has():
    display = draw([0, 1, 0, 0], [0, 1, 0, 0], sensitive_features=list("aabb"))
    assert "none" in [text.get_text() for text in display.ax_.texts]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_undefined():
    from skfair.groups import encode_groups

    groups = encode_groups(list("aabb"), labels=list("abc"))
    with pytest.raises(ValueError, match="result must be defined"):
        draw([0, 1, 0, 1], [0, 1, 0, 1], sensitive_features=groups)

"""Windows of MCDP that end at scores, at 0 or at 1, and windows of no length."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from skfair.metrics import mcdp


def measured(scores, groups, epsilon):
    return mcdp(None, scores, sensitive_features=groups, epsilon=epsilon)


@pytest.mark.parametrize("grid", [10, 20, 100, 1000])
def test_window_that_ends_at_a_decimal_score_sees_it(grid):
    # The only gap of 1 is on [low, high): a window of just that length sees `high`.
    rng = np.random.default_rng(grid)
    for _ in range(200):
        low, high = sorted(rng.choice(grid + 1, size=2, replace=False))
        if low == 0 or high - low < 2:
            continue
        scores, groups = [low / grid, high / grid], [0, 1]
        fits = (high - low - 1) / (2 * grid)
        assert measured(scores, groups, epsilon=(high - low) / (2 * grid)) == 0
        assert measured(scores, groups, epsilon=fits) == 1


@pytest.mark.parametrize("grid", [10, 20, 100, 1000])
def test_window_at_zero_is_cut_to_half_its_length(grid):
    for high in range(2, grid // 2 + 1):
        scores, groups = [0.0, high / grid], [0, 1]
        assert measured(scores, groups, epsilon=high / grid) == 0
        assert measured(scores, groups, epsilon=(high - 1) / grid) == 1


def test_scores_at_zero_count_from_zero_on():
    y_score, groups = [0, 0, 0.015, 0.015], [0, 0, 1, 1]
    assert mcdp(None, y_score, sensitive_features=groups, epsilon=0.01) == 1


def test_negative_zero_is_zero():
    assert mcdp(None, [-0.0, 0.0], sensitive_features=[0, 1]) == 0


def test_window_at_zero_sees_the_zero_below_the_first_score():
    # On [0, .1) nobody is below: a window centred at 0 never beats that.
    scores, groups = [0.1, 0.4], [0, 1]
    assert measured(scores, groups, epsilon=0.14) == 1
    assert measured(scores, groups, epsilon=0.16) == 0


@pytest.mark.parametrize("decimals", [1, 2, 16])
@pytest.mark.parametrize(("n_first", "n_second"), [(1, 1), (1, 400), (300, 217)])
def test_epsilon_zero_is_the_kolmogorov_smirnov_statistic(n_first, n_second, decimals):
    rng = np.random.default_rng(n_first + n_second)
    first = rng.beta(2, 3, n_first).round(decimals)
    second = rng.beta(3, 2, n_second).round(decimals)
    y_score = np.concatenate([first, second])
    groups = np.repeat([0, 1], [n_first, n_second])
    expected = ks_2samp(first, second, method="auto").statistic
    assert mcdp(None, y_score, sensitive_features=groups) == pytest.approx(
        expected, abs=1e-14
    )


@pytest.mark.parametrize(
    ("y_score", "expected"),
    [([0, 1], 1), ([0, 0.5], 0), ([0, 0.6], 1), ([0.1, 1], 0), ([1, 1], 0)],
)
def test_widest_window(y_score, expected):
    assert mcdp(None, y_score, sensitive_features=[0, 1], epsilon=0.5) == expected

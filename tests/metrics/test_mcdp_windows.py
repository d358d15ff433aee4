"""Windows of MCDP that end at scores, at 0 or at 1, and windows of no length."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from skfair.metrics import mcdp


def measured(scores, groups, epsilon):
    return mcdp(None, scores, sensitive_features=groups, epsilon=epsilon)


@pytest.mark.parametrize("grid", [10, 100])
def test_window_that_ends_at_a_decimal_score_sees_it(grid):
    # The only gap of 1 is on [low, high): a window of just that length sees `high`.
    rng = np.random.default_rng(grid)
    for _ in range(40):
        low, high = sorted(rng.choice(grid + 1, size=2, replace=False))
        if low == 0 or high - low < 2:
            continue
        scores, groups = [low / grid, high / grid], [0, 1]
        fits = (high - low - 1) / (2 * grid)
        assert measured(scores, groups, epsilon=(high - low) / (2 * grid)) == 0
        assert measured(scores, groups, epsilon=fits) == 1


@pytest.mark.parametrize("grid", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_window_at_zero_is_cut_to_half_its_length(grid):
    for high in range(2, grid + 1):
        scores, groups = [0.0, high / grid], [0, 1]
        assert measured(scores, groups, epsilon=high / grid) == 0
        assert measured(scores, groups, epsilon=(high - 1) / grid) == 1


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


# --- many rows, against every window, and counts and weights that round


TICKS = 2**20


def slow_mcdp(ticks, groups, half_window):
    """Look through every window of integer ticks that can matter, one by one.

    Window ends and scores are whole numbers of half ticks, so nothing rounds.
    """
    ticks, half_window = 2 * np.asarray(ticks), 2 * half_window
    order = np.argsort(ticks, kind="stable")
    ticks, groups = ticks[order], np.asarray(groups)[order]
    n_second = int(groups.sum())
    n_first = len(groups) - n_second
    heights = np.cumsum(np.where(groups, -n_first, n_second))
    last = np.append(ticks[1:] != ticks[:-1], True)
    steps = np.append(-1, ticks[last])
    heights = np.append(0, np.abs(heights[last]))
    centres = np.unique([0, 2 * TICKS, *(ticks - half_window), *(ticks + half_window)])
    centres = centres[(centres >= 0) & (centres <= 2 * TICKS)]
    # Positions strictly between two even numbers are represented by an odd one.
    centres = np.unique([*centres, *(centres[:-1] + 1)])
    first = np.searchsorted(steps, np.maximum(centres - half_window, 0), "right") - 1
    stop = np.searchsorted(steps, np.minimum(centres + half_window, 2 * TICKS), "right")
    least = [heights[i:j].min() for i, j in zip(first, stop, strict=True)]
    return max(least) / (n_first * n_second)


def random_walk(rng, n):
    return rng.integers(0, TICKS + 1, n), rng.integers(0, 2, n)


def biased_walk(rng, n):
    ticks = np.sort(rng.integers(0, TICKS + 1, n))
    return ticks, rng.random(n) < 0.3 + 0.4 * np.sin(6 * ticks / TICKS) ** 2


def plateaus(rng, n):
    ticks = np.repeat(rng.integers(0, TICKS + 1, n // 50 + 1), 50)[:n]
    return ticks, rng.random(n) < np.repeat(rng.random(n // 50 + 1), 50)[:n]


def comb(rng, n):
    return np.linspace(0, TICKS, n).astype(int), np.arange(n) % 2


def comb_of_blocks(rng, n):
    # Blocks of 64 pieces, where the kernel's own blocks begin and end.
    groups = np.arange(n) // 64 % 2
    groups[-1] = 1
    return np.sort(rng.choice(TICKS, n, replace=False)), groups


def spikes_on_a_plateau(rng, n):
    ticks = np.sort(rng.choice(TICKS, n, replace=False))
    groups = np.arange(n) % 2
    groups[: n // 4], groups[-n // 4 :] = 0, 1
    return ticks, groups


def separated(rng, n):
    return np.sort(rng.integers(0, TICKS + 1, n)), np.arange(n) >= n // 2


def few_levels(rng, n):
    return rng.integers(0, 5, n) * (TICKS // 4), rng.integers(0, 2, n)


def crowded_near_zero(rng, n):
    return (TICKS * rng.random(n) ** 12).astype(int), rng.random(n) < 0.2


def one_against_many(rng, n):
    return rng.integers(0, TICKS + 1, n), np.arange(n) == n // 3


SHAPES = [
    random_walk,
    biased_walk,
    plateaus,
    comb,
    comb_of_blocks,
    spikes_on_a_plateau,
    separated,
    few_levels,
    crowded_near_zero,
    one_against_many,
]


@pytest.mark.parametrize(
    "n", [*(pytest.param(n, marks=pytest.mark.slow) for n in (63, 64, 65, 2_000)), 129]
)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_many_rows_against_every_window(shape, n):
    rng = np.random.default_rng(n)
    ticks, groups = shape(rng, n)
    distances = np.unique(np.abs(rng.choice(ticks, 40) - rng.choice(ticks, 40)))
    meeting = [int(d) // 2 for d in distances if 0 < d <= TICKS][::12]
    lengths = [1, TICKS // 4096, TICKS // 100, TICKS // 5, TICKS // 5 * 3]
    for half_window in [*lengths, *meeting]:
        value = mcdp(
            None,
            ticks / TICKS,
            sensitive_features=groups,
            epsilon=half_window / TICKS,
        )
        assert value == pytest.approx(slow_mcdp(ticks, groups, half_window), abs=1e-15)


def test_larger_counts_than_float_precision_stay_exact():
    # The smallest gap of 2e9 against 2e9 + 1 rows is 1 / (n0 * n1).
    y_score, groups = [0.1, 0.9, 0.1, 0.9], [0, 0, 1, 1]
    weights = [10**9, 10**9, 10**9, 10**9 + 1]
    value = mcdp(None, y_score, sensitive_features=groups, sample_weight=weights)
    expected = Fraction(1, 2) - Fraction(10**9, 2 * 10**9 + 1)
    assert value == pytest.approx(float(expected), rel=1e-12)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0.01, 10)), min_size=2, max_size=30)
)
def test_range_holds_for_weights_that_round(rows):
    # All of group 0 below all of group 1: the true value is 1, not a hair more.
    scores, weights = zip(*rows, strict=True)
    n_first = len(rows) // 2
    y_score = [
        s / 4 if i < n_first else 0.5 + s / 4 for i, s in enumerate(sorted(scores))
    ]
    groups = np.arange(len(rows)) >= n_first
    value = mcdp(None, y_score, sensitive_features=groups, sample_weight=weights)
    assert value == pytest.approx(1, abs=1e-14)
    assert value <= 1


@pytest.mark.parametrize("start", [0, 1, 2, 3])
def test_sevenths_are_no_decimals(start):
    """1/7 and its multiples lie within rounding of numbers of 15 decimals."""
    low, high = start / 7, (start + 2) / 7
    epsilon = 1 / 7 if start else 2 / 7  # a window at 0 is cut to half its length
    scores, groups = [low] * 3 + [high] * 3, [0, 0, 0, 1, 1, 1]
    assert mcdp(None, scores, sensitive_features=groups, epsilon=epsilon) == 0
    shorter = epsilon - 1e-12
    assert mcdp(None, scores, sensitive_features=groups, epsilon=shorter) == 1


@given(
    st.lists(st.integers(0, 20), min_size=4, max_size=30),
    st.sampled_from([0.01, 0.03, 0.08, 0.2]),
    st.integers(0, 99),
)
def test_the_gap_at_the_score_is_the_value_and_the_score_lies_in_the_window(
    levels, epsilon, seed
):
    rng = np.random.default_rng(seed)
    scores = np.array(levels) / 20
    groups = np.append([0, 1], rng.integers(0, 2, len(scores) - 2))
    metric = mcdp.metric(epsilon=epsilon)
    largest = metric.locate(metric.read_statistic(None, scores, groups))
    assert largest.value == measured(scores, groups, epsilon)
    if largest.value == 0:
        return
    low, high = largest.window
    assert low <= largest.score <= high
    # A window is cut at 0.
    assert high - low == pytest.approx(2 * epsilon) or (low == 0 and high >= epsilon)

    def gap(at):
        return abs(np.subtract(*[np.mean(scores[groups == g] <= at) for g in (0, 1)]))

    assert gap(largest.score) == pytest.approx(largest.value)
    inside = [at for at in scores if low <= at <= high]
    assert min(gap(at) for at in [low, *inside]) >= largest.value - 1e-12


def test_windows_of_draws_end_just_below_a_score():
    """A window of 0.2 from 0.3 on does not see a score that is 8e-16 above 0.5."""
    scores = np.array([0.3, 0.5 + 8e-16])
    assert measured(scores, [0, 1], epsilon=0.1) == 1


@pytest.mark.parametrize(
    ("usual", "others"),
    [(np.linspace(0, 0.85, 20), 1.0), (np.full(20, 0.06), 0.0)],
    ids=["last", "first"],
)
def test_a_window_at_an_end_counts_among_many_groups(usual, others):
    """One of many groups differs from the others in that window alone."""
    groups, scores = np.repeat(np.arange(40), 20), np.tile(usual, 40)
    scores[-10:] = others
    rows = {"sensitive_features": groups}
    value = mcdp(None, scores, epsilon=0.05, **rows)
    two = np.isin(groups, [0, 39])
    expected = mcdp(None, scores[two], epsilon=0.05, sensitive_features=groups[two])
    assert value == expected > 0.4

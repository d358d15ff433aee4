"""MCDP against its definition, on exact fractions, and against the theorems."""

from bisect import bisect_right
from fractions import Fraction
from itertools import pairwise
from math import ceil

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from skfair.metrics import mcdp

properties = settings(deadline=None, derandomize=True, max_examples=200)


def exact_gap(scores, groups, weights):
    """Return t -> |F0(t) - F1(t)| for fractions, at any t in [0, 1]."""
    totals = {
        group: sum(w for w, g in zip(weights, groups, strict=True) if g == group)
        for group in (0, 1)
    }

    def gap(t):
        shares = {0: Fraction(0), 1: Fraction(0)}
        for score, group, weight in zip(scores, groups, weights, strict=True):
            if score <= t:
                shares[group] += Fraction(weight, totals[group])
        return abs(shares[0] - shares[1])

    steps = sorted({Fraction(0), *scores})
    heights = [gap(t) for t in steps]
    return lambda t: heights[bisect_right(steps, t) - 1]


def defined_mcdp(scores, groups, weights, epsilon):
    """Max over centres y0 in [0, 1] of the least gap within epsilon of y0.

    What a window sees changes only where one of its ends meets a score, so these
    centres and one between any two of them are all that there are.
    """
    gap = exact_gap(scores, groups, weights)
    ends = {s + move for s in scores for move in (-epsilon, epsilon)}
    centres = sorted({Fraction(0), Fraction(1), *(c for c in ends if 0 <= c <= 1)})
    centres += [(a + b) / 2 for a, b in pairwise(centres)]
    best = Fraction(0)
    for centre in centres:
        low, high = max(centre - epsilon, 0), min(centre + epsilon, 1)
        seen = [low, high, *(s for s in scores if low <= s <= high)]
        best = max(best, min(gap(t) for t in seen))
    return best


def algorithm_2(scores, groups, weights, epsilon, n_subdivisions):
    """Approximate calculation of MCDP, as printed in the paper."""
    gap = exact_gap(scores, groups, weights)
    delta = epsilon / n_subdivisions
    result = min(gap(j * delta) for j in range(n_subdivisions + 1))
    for j in range(1, ceil(1 / delta) - 2 * n_subdivisions + 1):
        least = min(gap(k * delta) for k in range(j, j + 2 * n_subdivisions))
        result = max(result, least)
    return result


@st.composite
def scored_rows(draw, grids=(1, 2, 3, 5, 7, 8, 10, 16, 20, 64, 100), max_rows=12):
    """Scores k / grid with ties, two groups, and weights some of which are zero."""
    grid = draw(st.sampled_from(grids))
    n_rows = draw(st.integers(2, max_rows))
    size = {"min_size": n_rows, "max_size": n_rows}
    scores = draw(st.lists(st.integers(0, grid), **size))
    groups = draw(st.lists(st.integers(0, 1), **size))
    weights = draw(st.lists(st.integers(0, 3), **size))
    for group in (0, 1):
        assume(
            any(w and g == group for w, g in zip(weights, groups, strict=True)),
        )
    return grid, [Fraction(k, grid) for k in scores], groups, weights


def measured(scores, groups, weights=None, epsilon=0, **options):
    return mcdp(
        None,
        [float(score) for score in scores],
        sensitive_features=groups,
        sample_weight=weights,
        epsilon=float(epsilon),
        **options,
    )


@properties
@given(scored_rows(), st.data())
def test_exact_value_is_the_definition_on_any_grid(rows, data):
    grid, scores, groups, weights = rows
    epsilon = Fraction(data.draw(st.integers(0, grid)), 2 * grid)
    expected = defined_mcdp(scores, groups, weights, epsilon)
    assert measured(scores, groups, weights, epsilon) == pytest.approx(
        float(expected), abs=1e-15
    )


@properties
@given(scored_rows(), st.fractions(0, Fraction(1, 2), max_denominator=97))
def test_exact_value_is_the_definition_for_windows_off_the_grid(rows, epsilon):
    _, scores, groups, weights = rows
    expected = defined_mcdp(scores, groups, weights, epsilon)
    assert measured(scores, groups, weights, epsilon) == pytest.approx(
        float(expected), abs=1e-15
    )


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


# --- the approximate method


@properties
@given(
    scored_rows(grids=(2, 8, 16, 64), max_rows=10),
    st.integers(1, 32),
    st.sampled_from([1, 2, 4, 8]),
)
def test_approximate_value_is_algorithm_2_on_a_dyadic_grid(rows, numerator, k):
    # Multiples of epsilon / k are exact floats here, and often meet a score.
    _, scores, groups, weights = rows
    epsilon = Fraction(numerator, 64)
    expected = algorithm_2(scores, groups, weights, epsilon, k)
    value = measured(
        scores, groups, weights, epsilon, method="approximate", n_subdivisions=k
    )
    assert value == pytest.approx(float(expected), abs=1e-15)


@properties
@given(st.data(), st.integers(1, 32), st.integers(1, 12))
def test_approximate_value_is_algorithm_2_for_any_subdivision(data, numerator, k):
    # Odd multiples of 1/4096 never meet a multiple of epsilon / k, which may round.
    n_rows = data.draw(st.integers(2, 10))
    size = {"min_size": n_rows, "max_size": n_rows}
    inside = st.integers(0, 2047).map(lambda i: Fraction(2 * i + 1, 4096))
    scores = data.draw(
        st.lists(st.one_of(inside, st.sampled_from([Fraction(0), Fraction(1)])), **size)
    )
    groups = [0, 1, *data.draw(st.lists(st.integers(0, 1), **size))][:n_rows]
    epsilon = Fraction(numerator, 64)
    expected = algorithm_2(scores, groups, [1] * n_rows, epsilon, k)
    value = measured(
        scores, groups, epsilon=epsilon, method="approximate", n_subdivisions=k
    )
    assert value == pytest.approx(float(expected), abs=1e-15)


@pytest.mark.parametrize(
    ("numerator", "denominator", "k"),
    [(57, 200, 57), (9, 1000, 63), (18, 1000, 63), (1, 10, 3), (1, 20, 10)],
)
def test_approximate_windows_do_not_reach_one_by_rounding(numerator, denominator, k):
    # The step divides 1, where k / epsilon may come out a hair too large. The gap
    # starts behind the first point of the last window, and lasts up to 1.
    step = Fraction(numerator, denominator * k)
    assert step.numerator == 1
    scores = [1 - (2 * k - 1) * step - step / 2, Fraction(1)]
    value = measured(
        scores,
        [0, 1],
        epsilon=numerator / denominator,
        method="approximate",
        n_subdivisions=k,
    )
    assert value == 0
    assert value == algorithm_2(scores, [0, 1], [1, 1], k * step, k)


# --- the theorems


@properties
@given(scored_rows(), st.floats(0, 0.5))
def test_theorem_3_1_1_range(rows, epsilon):
    _, scores, groups, weights = rows
    assert 0 <= measured(scores, groups, weights, epsilon) <= 1


@properties
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


@properties
@given(scored_rows(grids=(1, 2, 3, 4)))
def test_theorem_3_1_2_zero_only_for_equal_distributions(rows):
    _, scores, groups, weights = rows
    distributions = []
    for group in (0, 1):
        own = [
            (s, w)
            for s, g, w in zip(scores, groups, weights, strict=True)
            if g == group
        ]
        total = sum(w for _, w in own)
        distributions.append(
            [
                Fraction(sum(w for s, w in own if s <= t), total)
                for t in sorted(set(scores))
            ]
        )
    equal = distributions[0] == distributions[1]
    assert (measured(scores, groups, weights) == 0) == equal


@properties
@given(st.lists(st.integers(0, 20), min_size=1, max_size=8), st.integers(2, 5))
def test_equal_distributions_of_different_sizes_have_exactly_no_gap(ticks, times):
    y_score = np.array(ticks + ticks * times) / 20
    groups = np.repeat([0, 1], [len(ticks), len(ticks) * times])
    assert mcdp(None, y_score, sensitive_features=groups) == 0


@pytest.mark.parametrize(
    "increasing",
    [np.square, np.sqrt, lambda t: (np.exp(t) - 1) / (np.e - 1), lambda t: t / 3 + 0.5],
    ids=["square", "root", "exponential", "affine"],
)
@properties
@given(rows=scored_rows())
def test_theorem_3_1_3_invariance_to_increasing_maps(rows, increasing):
    _, scores, groups, weights = rows
    mapped = increasing(np.array([float(score) for score in scores])).clip(0, 1)
    expected = measured(scores, groups, weights)
    assert measured(mapped, groups, weights) == expected


@properties
@given(scored_rows(), st.lists(st.floats(0, 0.5), min_size=2, max_size=5))
def test_theorem_3_1_4_never_increases_in_epsilon(rows, epsilons):
    _, scores, groups, weights = rows
    values = [measured(scores, groups, weights, e) for e in sorted(epsilons)]
    assert values == sorted(values, reverse=True)


@properties
@given(scored_rows(), st.data(), st.integers(1, 40))
def test_theorem_3_3_approximation_never_underestimates(rows, data, k):
    grid, scores, groups, weights = rows
    epsilon = data.draw(
        st.one_of(
            st.integers(1, grid).map(lambda j: j / (2 * grid)), st.floats(0.01, 0.5)
        )
    )
    approximate = measured(
        scores, groups, weights, epsilon, method="approximate", n_subdivisions=k
    )
    assert approximate >= measured(scores, groups, weights, epsilon)


@properties
@given(scored_rows(), st.floats(0.01, 0.5))
def test_theorem_3_4_approximation_never_increases_with_finer_subdivision(
    rows, epsilon
):
    _, scores, groups, weights = rows
    values = [
        measured(
            scores, groups, weights, epsilon, method="approximate", n_subdivisions=2**p
        )
        for p in range(6)
    ]
    assert values == sorted(values, reverse=True)


def test_approximation_converges_to_the_exact_value():
    rng = np.random.default_rng(3)
    y_score, groups = rng.random(500), rng.integers(0, 2, 500)
    y_score = np.where(groups, y_score**1.5, y_score)
    options = {"sensitive_features": groups, "epsilon": 0.02}
    approximate = mcdp(
        None, y_score, method="approximate", n_subdivisions=20_000, **options
    )
    assert approximate == pytest.approx(mcdp(None, y_score, **options), abs=5e-3)


# --- many rows


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


@pytest.mark.parametrize("n", [63, 64, 65, 129, 2_000])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_many_rows_against_every_window(shape, n):
    rng = np.random.default_rng(n)
    ticks, groups = shape(rng, n)
    distances = np.unique(np.abs(rng.choice(ticks, 40) - rng.choice(ticks, 40)))
    meeting = [int(d) // 2 for d in distances if 0 < d <= TICKS][::12]
    for half_window in [1, TICKS // 4096, TICKS // 100, TICKS // 5, *meeting]:
        value = mcdp(
            None,
            ticks / TICKS,
            sensitive_features=groups,
            epsilon=half_window / TICKS,
        )
        assert value == pytest.approx(slow_mcdp(ticks, groups, half_window), abs=1e-15)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_ten_thousand_rows_against_every_window(shape):
    ticks, groups = shape(np.random.default_rng(9), 12_345)
    half_window = TICKS // 200
    value = mcdp(None, ticks / TICKS, sensitive_features=groups, epsilon=1 / 200)
    value_on_grid = mcdp(
        None, ticks / TICKS, sensitive_features=groups, epsilon=half_window / TICKS
    )
    assert value <= value_on_grid
    assert value_on_grid == pytest.approx(
        slow_mcdp(ticks, groups, half_window), abs=1e-15
    )


@pytest.mark.parametrize("epsilon", [0, 1e-6, 0.1, 0.5])
@pytest.mark.parametrize("score", [0, 0.3, 1])
def test_constant_scores_have_no_gap(score, epsilon):
    y_score, groups = np.full(20_000, score), np.arange(20_000) % 3 == 0
    assert mcdp(None, y_score, sensitive_features=groups, epsilon=epsilon) == 0


def test_larger_counts_than_float_precision_stay_exact():
    # The smallest gap of 2e9 against 2e9 + 1 rows is 1 / (n0 * n1).
    y_score, groups = [0.1, 0.9, 0.1, 0.9], [0, 0, 1, 1]
    weights = [10**9, 10**9, 10**9, 10**9 + 1]
    value = mcdp(None, y_score, sensitive_features=groups, sample_weight=weights)
    expected = Fraction(1, 2) - Fraction(10**9, 2 * 10**9 + 1)
    assert value == pytest.approx(float(expected), rel=1e-12)

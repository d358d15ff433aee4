"""MCDP against its definition, on exact fractions, and against the theorems."""

import re
from bisect import bisect_right
from fractions import Fraction
from itertools import combinations, pairwise
from math import ceil

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skfair.metrics import mcdp


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


@given(scored_rows(), st.data())
@pytest.mark.promise("MCDP is the largest gap over all windows, exactly")
def test_exact_value_is_the_definition_on_any_grid(rows, data):
    grid, scores, groups, weights = rows
    epsilon = Fraction(data.draw(st.integers(0, 2 * grid)), 2 * grid)
    expected = defined_mcdp(scores, groups, weights, epsilon)
    assert measured(scores, groups, weights, epsilon) == pytest.approx(
        float(expected), abs=1e-15
    )


# --- the approximate method


@pytest.mark.slow
@given(
    scored_rows(grids=(2, 8, 16, 64), max_rows=10),
    st.integers(1, 64),
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


@given(st.data(), st.integers(1, 64), st.integers(1, 12))
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


# --- the theorems


@given(scored_rows(), st.floats(0, 1))
def test_theorem_3_1_1_range(rows, epsilon):
    _, scores, groups, weights = rows
    assert 0 <= measured(scores, groups, weights, epsilon) <= 1


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


@given(st.lists(st.integers(0, 20), min_size=1, max_size=8), st.integers(2, 5))
def test_equal_distributions_of_different_sizes_have_exactly_no_gap(ticks, times):
    y_score = np.array(ticks + ticks * times) / 20
    groups = np.repeat([0, 1], [len(ticks), len(ticks) * times])
    assert mcdp(None, y_score, sensitive_features=groups) == 0


@pytest.mark.parametrize(
    "increasing",
    [
        np.square,
        pytest.param(np.sqrt, marks=pytest.mark.slow),
        pytest.param(lambda t: (np.exp(t) - 1) / (np.e - 1), marks=pytest.mark.slow),
        pytest.param(lambda t: t / 3 + 0.5, marks=pytest.mark.slow),
    ],
    ids=["square", "root", "exponential", "affine"],
)
@given(rows=scored_rows())
def test_theorem_3_1_3_invariance_to_increasing_maps(rows, increasing):
    _, scores, groups, weights = rows
    mapped = increasing(np.array([float(score) for score in scores])).clip(0, 1)
    expected = measured(scores, groups, weights)
    assert measured(mapped, groups, weights) == expected


@given(scored_rows(), st.lists(st.floats(0, 1), min_size=2, max_size=5))
def test_theorem_3_1_4_never_increases_in_epsilon(rows, epsilons):
    _, scores, groups, weights = rows
    values = [measured(scores, groups, weights, e) for e in sorted(epsilons)]
    assert values == sorted(values, reverse=True)


#: Numbers that are no further from a score by rounding alone.
EPSILONS = st.floats(0.01, 1).map(lambda epsilon: round(epsilon, 9))


@given(scored_rows(), st.data(), st.integers(1, 40))
def test_theorem_3_3_approximation_never_underestimates(rows, data, k):
    grid, scores, groups, weights = rows
    epsilon = data.draw(
        st.one_of(st.integers(1, 2 * grid).map(lambda j: j / (2 * grid)), EPSILONS)
    )
    approximate = measured(
        scores, groups, weights, epsilon, method="approximate", n_subdivisions=k
    )
    assert approximate >= measured(scores, groups, weights, epsilon)


@given(scored_rows(), EPSILONS)
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


# --- bad input


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("epsilon", value) for value in (-0.1, 1.1, np.nan, "a", None)],
        ("method", "x"),
        ("method", None),
    ],
)
def test_bad_parameters(name, value):
    match = f"{name} must be .*got {re.escape(repr(value))}"
    with pytest.raises(ValueError, match=match):
        mcdp(None, [0.1, 0.2], sensitive_features=[0, 1], **{name: value})


def test_approximation_needs_an_epsilon():
    with pytest.raises(ValueError, match=r"epsilon must be above 0 .* got 0"):
        mcdp(None, [0.1, 0.2], sensitive_features=[0, 1], method="approximate")


def draw_groups(rng):
    """Scores, with ties or without, of 4 to 13 groups, some of which have one row."""
    n_groups, n_rows = rng.integers(4, 14), rng.integers(14, 80)
    groups = np.append(np.arange(n_groups), rng.integers(0, n_groups, n_rows))
    scores = rng.random(len(groups))
    kind = rng.integers(3)
    if kind == 1:
        scores = np.round(scores, 1)
    elif kind == 2:
        scores = np.clip(0.5 * scores + 0.3 * (groups % 2), 0, 1)
    return np.where(rng.random(len(groups)) < 0.1, 0, scores), groups


@pytest.mark.slow
def test_many_groups_have_the_largest_value_of_pairs():
    rng = np.random.default_rng(0)
    for _ in range(300):
        scores, groups = draw_groups(rng)
        epsilon = float(rng.choice([0, 0.01, 0.05, 0.1, 0.2, 0.6, rng.random() / 2]))
        rows = [np.isin(groups, pair) for pair in combinations(np.unique(groups), 2)]
        values = [
            mcdp(None, scores[own], sensitive_features=groups[own], epsilon=epsilon)
            for own in rows
        ]
        found = mcdp(None, scores, sensitive_features=groups, epsilon=epsilon)
        assert found == pytest.approx(max(values), abs=1e-12)


@given(scored_rows(), st.fractions(0, 1, max_denominator=97))
def test_exact_value_is_the_definition_for_windows_off_the_grid(rows, epsilon):
    _, scores, groups, weights = rows
    expected = defined_mcdp(scores, groups, weights, epsilon)
    assert measured(scores, groups, weights, epsilon) == pytest.approx(
        float(expected), abs=1e-15
    )

"""The penalised loss: its gradient, its scale, its grid."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime

from skfair._penalty import PenalisedLoss, SmoothGap, smooth_gap, smooth_gap_on_grid
from skfair.metrics import abcc, demographic_parity_difference, mcdp

KINDS = [("mcdp", math.inf), ("mcdp", 60.0), ("dp", math.inf), ("abcc", math.inf)]


def cdf(scores, weights, temperature, threshold):
    below = 1 / (1 + np.exp(-temperature * (threshold - scores)))
    return np.average(below, weights=weights)


def by_definition(scores, codes, weights, temperature, objective):
    groups = [(scores[codes == g], weights[codes == g]) for g in np.unique(codes)]
    if objective == "dp":
        means = [np.average(s, weights=w) for s, w in groups]
        return max(means) - min(means)
    found = []
    thresholds = np.linspace(0, 1, 2001 if objective == "mcdp" else 65)
    for (s, v), (t, w) in combinations(groups, 2):
        gaps = [
            abs(cdf(s, v, temperature, x) - cdf(t, w, temperature, x))
            for x in thresholds
        ]
        area = np.trapezoid(gaps, thresholds)
        found.append(max(gaps) if objective == "mcdp" else area)
    return max(found)


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [2, 5])
@pytest.mark.parametrize("objective", ["mcdp", "dp", "abcc"])
def test_value_by_definition(coded_scores, objective, n_groups):
    scores, codes, weights = coded_scores(60, n_groups)
    gap = smooth_gap(scores, codes, weights, temperature=20, objective=objective)
    expected = by_definition(scores, codes, weights, 20, objective)
    assert_allclose(gap.value, expected, atol=1e-6)
    first, second = (codes == group for group in gap.pair)
    if objective == "dp":
        assert math.isnan(gap.threshold)
        lower = np.average(scores[first], weights=weights[first])
        assert lower < np.average(scores[second], weights=weights[second])
    else:
        heights = [
            cdf(scores[rows], weights[rows], 20, gap.threshold)
            for rows in (first, second)
        ]
        assert heights[0] > heights[1]
        if objective == "mcdp":
            assert_allclose(heights[0] - heights[1], gap.value)


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [2, 4])
@pytest.mark.parametrize(("objective", "sharpness"), KINDS)
@pytest.mark.promise("Gradients of training are those of the objective")
def test_gradient_by_finite_differences(coded_scores, objective, sharpness, n_groups):
    scores, codes, weights = coded_scores(40, n_groups)

    def value(moved):
        return smooth_gap(moved, codes, weights, **kind).value

    kind = {"temperature": 15, "objective": objective, "sharpness": sharpness}
    gradient = smooth_gap(scores, codes, weights, **kind).gradient
    assert np.abs(gradient).max() > 1e-3
    assert_allclose(gradient, approx_fprime(scores, value, 1e-7), atol=1e-5)


def test_tends_to_the_exact_metrics_as_temperature_grows(coded_scores):
    scores, codes, _ = coded_scores(80, 2)
    groups = {"sensitive_features": codes}
    errors = [
        abs(
            smooth_gap(scores, codes, None, temperature=temperature).value
            - mcdp(None, scores, **groups)
        )
        for temperature in (10, 100, 10_000)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.005
    area = smooth_gap(scores, codes, None, temperature=10_000, objective="abcc").value
    assert_allclose(area, abcc(None, scores, **groups), atol=0.005)
    means = smooth_gap(scores, codes, None, temperature=1, objective="dp").value
    assert_allclose(means, demographic_parity_difference(None, scores, **groups))


def test_soft_maximum_tends_to_the_maximum(coded_scores):
    scores, codes, _ = coded_scores(80, 3)
    hard = smooth_gap(scores, codes, None, temperature=20)
    soft = [
        smooth_gap(scores, codes, None, temperature=20, sharpness=sharpness)
        for sharpness in (10.0, 100.0, 10_000.0)
    ]
    values = [gap.value for gap in soft]
    assert values == sorted(values)
    assert_allclose(values[-1], hard.value, atol=2e-3)
    assert values[-1] < hard.value
    assert soft[0].pair == hard.pair
    largest = np.abs(hard.gradient).max()
    assert_allclose(soft[-1].gradient, hard.gradient, atol=0.1 * largest)


@pytest.mark.parametrize(("objective", "sharpness"), KINDS)
def test_weights_stand_for_repetition(coded_scores, objective, sharpness):
    scores, codes, _ = coded_scores(30, 3)
    weights = np.arange(30) % 4
    kind = {"temperature": 20, "objective": objective, "sharpness": sharpness}
    weighted = smooth_gap(scores, codes, weights, **kind)
    rows = np.repeat(np.arange(30), weights)
    repeated = smooth_gap(scores[rows], codes[rows], None, **kind)
    assert_allclose(weighted.value, repeated.value)
    expected = np.bincount(rows, repeated.gradient, minlength=30)
    assert_allclose(weighted.gradient, expected, atol=1e-12)


@pytest.mark.parametrize(("objective", "sharpness"), KINDS)
def test_many_rows_are_taken_in_blocks(coded_scores, objective, sharpness):
    scores, codes, weights = coded_scores(300, 2)
    kind = {"temperature": 20, "objective": objective, "sharpness": sharpness}
    few = smooth_gap(scores, codes, weights, **kind)
    times = 40
    tiled = (np.tile(values, times) for values in (scores, codes, weights))
    many = smooth_gap(*tiled, **kind)
    assert_allclose(many.value, few.value)
    assert_allclose(many.gradient * times, np.tile(few.gradient, times), atol=1e-12)


@pytest.mark.parametrize(("objective", "sharpness"), KINDS)
@pytest.mark.parametrize(
    ("codes", "weights"),
    [
        ([0, 0, 0], None),
        ([1, 1, 1], None),
        ([-1, -1, -1], None),
        ([0, 0, -1], None),
        ([0, 0, 1], [1.0, 2.0, 0.0]),
    ],
)
def test_fewer_than_two_groups_have_no_gap(objective, sharpness, codes, weights):
    kind = {"temperature": 20, "objective": objective, "sharpness": sharpness}
    weights = None if weights is None else np.array(weights)
    gap = smooth_gap(np.array([0.1, 0.5, 0.9]), np.array(codes), weights, **kind)
    assert isinstance(gap, SmoothGap)
    assert (gap.value, gap.pair) == (0.0, (-1, -1))
    assert math.isnan(gap.threshold)
    assert_array_equal(gap.gradient, np.zeros(3))


@pytest.mark.parametrize(("objective", "sharpness"), KINDS)
def test_absent_groups_and_rows_left_out_change_nothing(
    coded_scores, objective, sharpness
):
    scores, codes, weights = coded_scores(40, 2)
    kind = {"temperature": 20, "objective": objective, "sharpness": sharpness}
    plain = smooth_gap(scores, codes, weights, **kind)
    more = smooth_gap(
        np.append(scores, 0.99),
        np.append(np.where(codes, 6, 3), -1),
        np.append(weights, 5.0),
        **kind,
    )
    assert_allclose(more.value, plain.value)
    assert_allclose(more.gradient, np.append(plain.gradient, 0), atol=1e-15)
    assert more.pair == tuple(3 + 3 * np.array(plain.pair))


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1), st.integers(0, 2)
        ),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from(KINDS),
    st.sampled_from([0.1, 20.0, 1e4]),
)
@example([(0.0, 1), (0.5, 1), (0.0, 0), (0.5, 0)], ("mcdp", np.inf), 0.1)
def test_any_scores(rows, kind, temperature):
    scores, codes = (np.array(column) for column in zip(*rows, strict=True))
    objective, sharpness = kind
    gap = smooth_gap(scores, codes, None, temperature, objective, sharpness)
    assert 0 <= gap.value <= 1 + 1e-12
    assert np.isfinite(gap.gradient).all()
    if objective != "dp" and gap.pair != (-1, -1):
        assert 0 <= gap.threshold <= 1
    if objective == "dp" and gap.value:
        # Moving all scores together changes nothing.
        assert_allclose(gap.gradient.sum(), 0, atol=1e-12)


@pytest.mark.parametrize("objective", ["mcdp", "dp", "abcc"])
def test_equally_spaced_scores_give_the_same(objective):
    totals = np.random.default_rng(0).integers(0, 3, (4, 101)) + 0.0
    totals[1] = 0  # a group without weight
    scores, codes = np.tile(np.linspace(0, 1, 101), 4), np.repeat(np.arange(4), 101)
    expected = smooth_gap(scores, codes, totals.ravel(), 50.0, objective, 80.0)
    found = smooth_gap_on_grid(totals, 50.0, objective, 80.0)
    assert_allclose(found.value, expected.value)
    assert_allclose(found.gradient.ravel(), expected.gradient, atol=1e-12)
    assert_allclose(found.threshold, expected.threshold)
    assert found.pair == expected.pair
    alone = smooth_gap_on_grid(totals[:2], 50.0, objective, 80.0)
    assert (alone.value, alone.pair) == (0, (-1, -1))
    assert_array_equal(alone.gradient, np.zeros((2, 101)))


def test_strength_is_relative_to_the_variance_of_the_labels():
    y, weights = np.array([0.0, 0.0, 1.0]), np.array([3.0, 3.0, 2.0])
    loss = PenalisedLoss(0.5, 50.0, "mcdp").scale_to_labels(y, weights)
    assert loss.strength == pytest.approx(0.5 * 4 * 0.25 * 0.75)
    assert loss.scale_to_labels(np.array([0.0, 1.0]), np.ones(2)) == loss


def test_rescaled_scores_fill_the_unit_interval():
    odds = np.random.default_rng(0).logistic(-5, 2, 10_000)
    ones = np.ones(len(odds))
    loss = PenalisedLoss(1.0, 50.0, "mcdp").rescaled(odds, ones)
    ((center, width),) = loss.scales
    assert center == pytest.approx(-5, abs=0.1)
    assert width == pytest.approx(2, abs=0.1)
    same = PenalisedLoss(1.0, 50.0, "mcdp").rescaled(np.full(9, 0.3), np.ones(9))
    assert same.scales[0][1] == 1
    for objective in ("dp", "abcc"):
        plain = PenalisedLoss(1.0, 50.0, objective)
        assert plain.rescaled(odds, ones) == plain


@pytest.mark.parametrize("objective", ["mcdp", "dp", "abcc"])
def test_many_rows_on_a_grid(objective):
    generator = np.random.default_rng(0)
    codes = generator.integers(-1, 3, 5_000)
    scores = np.append(generator.beta(1 + 0.2 * codes[2:], 2), [0.0, 1.0])
    weights = generator.integers(0, 3, 5_000) + 0.0
    loss = PenalisedLoss(1.0, 50.0, objective)
    gap, slopes = loss.gap_on_grid(scores, codes, weights)
    exact = smooth_gap(scores, codes, weights, 50.0, objective, 100.0)
    assert gap.value == pytest.approx(exact.value, rel=1e-3)
    assert gap.pair == exact.pair
    assert gap.gradient.shape != exact.gradient.shape
    scale = np.abs(slopes).max()
    assert_allclose(slopes * weights, exact.gradient, atol=2e-3 * scale)
    assert (slopes[(codes < 0) | (weights == 0)] == 0).all()

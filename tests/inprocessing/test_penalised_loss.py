"""The penalised loss: its gradient, its scale, its grid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from skfair._penalty import PenalisedLoss, smooth_gap


@pytest.mark.parametrize("objective", ["mcdp", "dp", "abcc"])
@settings(max_examples=settings.default.max_examples // 5)
@given(st.integers(0, 1000))
def test_penalty_gradients_are_derivatives(objective, seed):
    generator = np.random.default_rng(seed)
    codes = np.where(generator.random(30) < 0.1, -1, np.arange(30) % 3)
    weights = generator.integers(0, 3, 30) + 1.0
    odds = np.clip(generator.normal(-2, 2, 30), -9, 9)  # which are not clipped
    loss = PenalisedLoss(0.7, 15.0, objective).rescaled(odds, weights)
    gradient = loss.penalty_gradient(odds, codes, weights)
    share = weights / weights.sum()
    for row in range(5):
        sides = []
        for step in (1e-5, -1e-5):
            moved = odds.copy()
            moved[row] += step
            sides.append(loss.gap(moved, codes, weights, None).value)
        slope = 0.7 * (sides[0] - sides[1]) / 2e-5
        assert gradient[row] * share[row] == pytest.approx(slope, abs=1e-6)


def test_strength_is_relative_to_the_variance_of_the_labels():
    y, weights = np.array([0.0, 0.0, 1.0]), np.array([3.0, 3.0, 2.0])
    loss = PenalisedLoss(0.5, 50.0, "mcdp").for_labels(y, weights)
    assert loss.strength == pytest.approx(0.5 * 4 * 0.25 * 0.75)
    assert loss.for_labels(np.array([0.0, 1.0]), np.ones(2)) == loss


def test_rescaled_scores_fill_the_unit_interval():
    odds = np.random.default_rng(0).logistic(-5, 2, 10_000)
    ones = np.ones(len(odds))
    loss = PenalisedLoss(1.0, 50.0, "mcdp").rescaled(odds, ones)
    ((center, width),) = loss.scales
    assert center == pytest.approx(-5, abs=0.1)
    assert width == pytest.approx(2, abs=0.1)
    same = PenalisedLoss(1.0, 50.0, "mcdp").rescaled(np.full(9, 0.3), np.ones(9))
    assert same.scales[0].width == 1
    for objective in ("dp", "abcc"):
        plain = PenalisedLoss(1.0, 50.0, objective)
        assert plain.rescaled(odds, ones) == plain


@pytest.mark.parametrize("objective", ["mcdp", "dp", "abcc"])
def test_many_rows_on_a_grid(objective):
    generator = np.random.default_rng(0)
    codes = generator.integers(-1, 3, 20_000)
    scores = np.append(generator.beta(1 + 0.2 * codes[2:], 2), [0.0, 1.0])
    weights = generator.integers(0, 3, 20_000) + 0.0
    loss = PenalisedLoss(1.0, 50.0, objective)
    gap, slopes = loss.gap_on_grid(scores, codes, weights)
    exact = smooth_gap(scores, codes, weights, 50.0, objective, 100.0)
    assert gap.value == pytest.approx(exact.value, rel=1e-3)
    assert gap.pair == exact.pair
    assert gap.gradient.shape != exact.gradient.shape
    scale = np.abs(slopes).max()
    assert_allclose(slopes * weights, exact.gradient, atol=2e-3 * scale)
    assert (slopes[(codes < 0) | (weights == 0)] == 0).all()

"""The weights carry the gradient of the penalised loss."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from skfair._penalty._penalised_loss import PenalisedLoss
from skfair._penalty._smooth_gap import smooth_gap
from skfair._training_rows import TrainingRows
from skfair.groups import Groups, encode_groups
from skfair.inprocessing import MCDPReweighter
from skfair.inprocessing._reweighting import single_label_weights, two_label_weights

rows = st.lists(
    st.tuples(
        st.sampled_from([0.0, 1.0]),
        st.floats(1e-4, 1 - 1e-4),
        st.floats(-100, 100),
    ),
    min_size=1,
    max_size=20,
)


@pytest.mark.slow
@given(rows)
def test_two_label_weights_have_the_penalised_gradient(found):
    y, p, penalty = np.array(found).T
    weights = two_label_weights(y, p, penalty)
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()
    gradient = weights[:, 0] * p - weights[:, 1] * (1 - p)
    assert_allclose(gradient, p - y + penalty, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
@given(rows)
def test_the_penalty_moves_log_odds_by_a_bounded_step(found):
    _, p, penalty = np.array(found).T
    weights = two_label_weights(p, p, penalty)  # no residual but the penalty
    target = np.maximum(weights[:, 1], 1e-300) / weights.sum(axis=1)
    steps = np.abs(logit(target) - logit(p))
    assert steps.max() <= np.log1p(1 / 0.5) + 1e-6


@pytest.mark.slow
@given(rows)
def test_single_label_weights_have_it_until_they_are_clipped(found):
    y, p, penalty = np.array(found).T
    weights = single_label_weights(y, p, penalty)
    assert (weights >= 0).all()
    assert (weights[y == 1, 0] == 0).all()
    assert (weights[y == 0, 1] == 0).all()
    gradient = weights[:, 0] * p - weights[:, 1] * (1 - p)
    exact = p - y + penalty
    inside = (weights.max(axis=1) > 0) & (weights.max(axis=1) < 10)
    assert_allclose(gradient[inside], exact[inside], rtol=1e-6, atol=1e-6)
    assert weights.max() <= 10


@pytest.mark.parametrize("objective", ["mcdp", "dp", "abcc"])
@settings(max_examples=settings.default.max_examples // 5)
@given(st.integers(0, 1000))
def test_penalty_gradients_are_derivatives(objective, seed):
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 2, 30)
    codes = np.where(generator.random(30) < 0.1, -1, np.arange(30) % 3)
    weights = generator.integers(0, 3, 30) + 1.0
    found = TrainingRows(None, y, Groups(codes, tuple("abc")), weights)
    odds = generator.normal(-2, 2, 30)
    loss = PenalisedLoss(0.7, 15.0, objective).rescaled(odds, found.weights)
    evaluation = loss.evaluate(expit(odds), found)
    assert evaluation.penalised_loss == pytest.approx(
        evaluation.loss + 0.7 * evaluation.gap
    )
    share = found.weights / found.weights.sum()
    for row in range(5):
        sides = []
        for step in (1e-5, -1e-5):
            moved = odds.copy()
            moved[row] += step
            sides.append(loss.evaluate(expit(moved), found).gap)
        slope = 0.7 * (sides[0] - sides[1]) / 2e-5
        assert evaluation.penalty_gradient[row] * share[row] == pytest.approx(
            slope, abs=1e-6
        )


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


def proxies(n_samples=2000):
    generator = np.random.default_rng(0)
    sex = generator.integers(0, 2, n_samples)
    X = generator.normal(size=(n_samples, 3))
    X[:, 1] += sex
    odds = X[:, 0] + X[:, 1] + 0.5 * X[:, 2] - 2
    return X, (generator.random(n_samples) < expit(odds)) + 0.0, sex


def penalised(X, y, sex, strength):
    """Objective and gradient in coefficients and intercept."""
    design = np.column_stack([X, np.ones(len(y))])
    found = TrainingRows(None, y, encode_groups(sex))
    plain = LogisticRegression(C=1e6, tol=1e-8).fit(X, y)
    loss = PenalisedLoss(strength, 20.0, "mcdp").for_labels(y, found.weights)
    loss = loss.rescaled(plain.decision_function(X), found.weights)

    def objective(parameters):
        scores = expit(design @ parameters)
        evaluation = loss.evaluate(scores, found)
        return evaluation.penalised_loss, design.T @ (
            scores - y + evaluation.penalty_gradient
        ) / len(y)

    return objective, np.append(plain.coef_, plain.intercept_)


@pytest.mark.slow
@pytest.mark.parametrize("strength", [0.1, 0.3])
def test_the_fixed_point_is_stationary(strength):
    X, y, sex = proxies()
    objective, plain = penalised(X, y, sex, strength)
    model = MCDPReweighter(
        LogisticRegression(C=1e6, tol=1e-8),
        strength=strength,
        temperature=20.0,
        max_iter=150,
        tol=1e-7,
        validation_fraction=None,
    ).fit(X, y, sensitive_features=sex)
    inner = model.estimator_
    reached = np.append(inner.coef_, inner.intercept_)
    value, gradient = objective(reached)
    before, steep = objective(plain)
    assert np.linalg.norm(gradient) < 0.02 * np.linalg.norm(steep)
    assert value < before
    assert value == pytest.approx(model.history_["penalised_loss"].iloc[-1], abs=1e-4)
    descent = minimize(objective, plain, jac=True, method="BFGS")
    assert value == pytest.approx(descent.fun, abs=1e-4)

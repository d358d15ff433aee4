import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from scipy.special import expit

from skfair._penalty import PenalisedLoss
from skfair.groups import encode_groups
from skfair.inprocessing import MCDPObjective


@pytest.fixture
def rows():
    """Labels, log-odds, groups and weights of 300 rows."""
    generator = np.random.default_rng(0)
    groups = generator.integers(0, 3, 300)
    log_odds = generator.normal(size=300) + 0.4 * groups
    y = (generator.random(300) < expit(log_odds)) + 0.0
    return y, log_odds, groups, generator.integers(0, 3, 300) + 0.5


def one_hot(groups):
    return np.eye(groups.max() + 1)[groups]


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["mcdp", "dp", "abcc"])
def test_gradient_by_finite_differences(rows, objective):
    y, log_odds, groups, weights = rows
    made = MCDPObjective(groups, strength=0.7, temperature=20, objective=objective)
    gradient, hessian = made(y, log_odds, weights)
    p = expit(log_odds)
    loss = PenalisedLoss(0.7, 20, objective).scale_to_labels(y, weights)
    loss = loss.rescaled(log_odds, weights)

    def total(moved):
        gap = loss.gap(moved, encode_groups(groups).codes, weights, None).value
        log_losses = np.logaddexp(0, moved) - y * moved
        return weights @ log_losses + loss.strength * gap * weights.sum()

    # Scores lie on a grid, so that the gradient is exact to about a hundredth.
    assert_allclose(gradient, approx_fprime(log_odds, total, 1e-6), atol=0.05)
    penalty = gradient / weights - (p - y)
    assert np.abs(penalty).max() > 0.1
    assert_allclose(hessian, weights * (p * (1 - p) + np.abs(penalty)))


@pytest.mark.parametrize("objective", ["mcdp", "dp", "abcc"])
def test_certain_probabilities_are_groups(rows, objective):
    y, log_odds, groups, weights = rows
    kind = {"strength": 0.5, "objective": objective}
    by_group = MCDPObjective(groups, **kind)(y, log_odds, weights)
    certain = MCDPObjective(groups, group_probabilities=one_hot(groups), **kind)
    assert_allclose(certain(y, log_odds, weights), by_group, atol=0.02)


def test_probabilities_mix_the_gradients_of_groups(rows):
    y, log_odds, _, weights = rows
    shares = np.random.default_rng(1).dirichlet(np.ones(2), len(y))
    codes = encode_groups(np.arange(len(y)) % 2)
    gradient, _ = MCDPObjective(codes, group_probabilities=shares)(y, log_odds, weights)
    # Each row twice, once in each group, with its probability as weight.
    twice, _ = MCDPObjective(np.repeat([0, 1], len(y)))(
        np.tile(y, 2), np.tile(log_odds, 2), (weights * shares.T).ravel()
    )
    assert_allclose(gradient, twice.reshape(2, -1).sum(axis=0), atol=0.02)


def test_strength_0_is_the_log_loss(rows):
    y, log_odds, groups, weights = rows
    gradient, hessian = MCDPObjective(groups, strength=0)(y, log_odds, weights)
    p = expit(log_odds)
    assert_array_equal(gradient, weights * (p - y))
    assert_allclose(hessian, weights * p * (1 - p))


def test_equal_scores_begin_a_fit(rows):
    y, log_odds, groups, _ = rows
    other = log_odds[::-1].copy()
    objective, fresh = MCDPObjective(groups), MCDPObjective(groups)
    first = objective(y, log_odds)
    with_old_gradient, _ = objective(y, other)
    with_mean, _ = objective(y, other)
    with_new, _ = fresh(y, other)
    assert_allclose(with_mean, (with_old_gradient + 2 * with_new) / 3, atol=1e-12)
    assert np.abs(with_mean - with_new).max() > 0.01
    gradient, _ = objective(y, np.zeros(len(y)))
    assert_array_equal(gradient, 0.5 - y)
    assert_array_equal(objective(y, log_odds), first)
    loaded = pickle.loads(pickle.dumps(objective))
    assert_array_equal(loaded(y, np.zeros(len(y)))[0], 0.5 - y)


def test_rows_without_a_group_or_weight(rows):
    y, log_odds, groups, weights = rows
    labels = [None if row % 5 == 0 else group for row, group in enumerate(groups)]
    weights = np.where(np.arange(len(y)) % 7 == 0, 0, weights)
    objective = MCDPObjective(encode_groups(labels, missing="drop"))
    gradient, hessian = objective(y, log_odds, weights)
    assert_array_equal(gradient[::5], (weights * (expit(log_odds) - y))[::5])
    assert (gradient[::7] == 0).all()
    assert (hessian[::7] == 0).all()


def test_extreme_log_odds_and_many_groups():
    y, groups = np.arange(2000) % 2, np.arange(2000) % 1000
    log_odds = np.linspace(-1e4, 1e4, 2000)
    for given in (np.where(y, log_odds, -log_odds), log_odds):
        gradient, hessian = MCDPObjective(groups, strength=5)(y, given)
        assert np.isfinite(gradient).all()
        assert (hessian > 0).all()


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"strength": -1}, ValueError, "strength must be a number"),
        ({"temperature": 0}, ValueError, "temperature must be a number"),
        ({"objective": "madd"}, ValueError, "objective must be 'mcdp'"),
        (
            {"group_probabilities": np.ones((4, 3))},
            ValueError,
            r"group_probabilities has the shape \(4, 3\), expected \(4, 2\)",
        ),
        (
            {"group_probabilities": np.ones((4, 2))},
            ValueError,
            "sum to 1 in each row, got sums from 2.0 to 2.0",
        ),
    ],
)
def test_bad_parameters(options, error, match):
    with pytest.raises(error, match=match):
        MCDPObjective(["a", "b", "a", "b"], **options)


def test_bad_rows():
    with pytest.raises(ValueError, match=r"groups \['a'\], expected at least two"):
        MCDPObjective(["a", "a"])
    objective = MCDPObjective(["a", "b"])
    with pytest.raises(ValueError, match=r"y_true has the shape \(3,\), expected \(2"):
        objective([0, 1, 1], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match=r"y_pred has the shape \(2, 2\), expected"):
        objective([0, 1], np.zeros((2, 2)))


def test_in_train_of_lightgbm(people):
    lightgbm = pytest.importorskip("lightgbm", reason="the extra lightgbm")
    X, y, sex = people
    X, weights = X.to_numpy(), 1 + np.arange(len(y)) % 2
    objective = MCDPObjective(sex, strength=1.0)
    gaps = []
    for given in (objective.for_train, "binary"):
        data = lightgbm.Dataset(X, y == "yes", weight=weights)
        params = {"objective": given, "verbosity": -1, "num_threads": 1}
        scores = lightgbm.train(params, data, 20).predict(X, raw_score=True)
        men = (sex == "M").to_numpy()
        gaps.append(abs(np.median(scores[men]) - np.median(scores[~men])))
    assert gaps[0] < 0.5 * gaps[1]


def test_in_train_of_xgboost(people):
    xgboost = pytest.importorskip("xgboost", reason="the extra xgboost")
    X, y, sex = people
    data = xgboost.DMatrix(X, (y == "yes") + 0.0)
    params = {"nthread": 1, "base_score": 0.0}
    objective = MCDPObjective(sex, strength=1.0)
    booster = xgboost.train(params, data, 20, obj=objective.for_train)
    scores, men = booster.predict(data), (sex == "M").to_numpy()
    gap = abs(np.median(scores[men]) - np.median(scores[~men]))
    plain = xgboost.XGBClassifier(n_estimators=20, n_jobs=1).fit(X, y == "yes")
    odds = plain.predict(X, output_margin=True)
    assert gap < 0.5 * abs(np.median(odds[men]) - np.median(odds[~men]))

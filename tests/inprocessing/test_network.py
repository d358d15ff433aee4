from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from scipy.sparse import csr_array

from skfair._penalty import PenalisedLoss
from skfair._rows import Rows
from skfair.groups import Groups
from skfair.inprocessing import DiffMCDPClassifier
from skfair.inprocessing._diff_mcdp_classifier import (
    batch_gradients,
    forward,
    initial_parameters,
    learning_rate_at,
    log_losses,
    mini_batches,
)


def training_rows(n_strata):
    n_samples = 30 * n_strata
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_samples, 3))
    y = (X.sum(axis=1) + generator.normal(size=n_samples) > 0) + 0.0
    groups = Groups(generator.integers(-1, 3, n_samples), tuple("abc"))
    strata = Groups(generator.integers(-1, 3, n_samples), tuple("uvw"))
    weights = generator.random(n_samples) + 0.5
    rows = Rows(groups, strata if n_strata > 1 else None, y_true=y, weight=weights)
    return X, rows


QUICK = [((), (np.asarray, 3)), ((6, 4), (csr_array, 1))]


@pytest.mark.parametrize("objective", ["mcdp", "dp", "abcc"])
@pytest.mark.parametrize("dropout", [pytest.param(0.0, marks=pytest.mark.slow), 0.3])
@pytest.mark.parametrize(
    ("hidden", "kind"),
    [
        each if each in QUICK else pytest.param(*each, marks=pytest.mark.slow)
        for each in product([(), (5,), (6, 4)], [(np.asarray, 3), (csr_array, 1)])
    ],
)
def test_gradient_by_finite_differences(objective, hidden, dropout, kind):
    container, n_strata = kind
    X, rows = training_rows(n_strata)
    factors = np.linspace(0.5, 1.5, len(rows))
    parameters = initial_parameters((3, *hidden, 1), float, np.random.RandomState(1))
    shapes = [values.shape for values in parameters]
    ends = np.cumsum([values.size for values in parameters])[:-1]

    def measure(flat):
        parts = np.split(flat, ends)
        return batch_gradients(
            [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)],
            container(X),
            rows,
            factors,
            PenalisedLoss(0.7, 8.0, objective),
            DiffMCDPClassifier(dropout=dropout),
            np.random.RandomState(2),
        )

    flat = np.concatenate([values.ravel() for values in parameters])
    seen, gradients = measure(flat)
    expected = approx_fprime(flat, lambda x: measure(x)[0]["penalised_loss"], 1e-7)
    found = np.concatenate([values.ravel() for values in gradients])
    assert np.abs(expected).max() > 0.01
    assert_allclose(found, expected, atol=2e-6)
    assert seen["gap"] > 0
    assert seen["penalised_loss"] > seen["loss"] + 0.7 * seen["gap"]


def test_dropout_keeps_the_mean():
    X = np.ones((20_000, 2))
    parameters = initial_parameters((2, 3, 1), float, np.random.RandomState(0))
    plain = forward(X[:1], parameters)[1]
    dropped = forward(X, parameters, 0.4, np.random.RandomState(0))[1]
    assert_allclose((dropped == 0).mean(axis=0)[plain[0] > 0], 0.4, atol=0.02)
    assert_allclose(dropped.mean(axis=0), plain[0], rtol=0.03)


def test_log_losses_of_large_logits():
    losses = log_losses(np.array([1000.0, 1000.0, -1000.0]), np.array([1.0, 0.0, 0.0]))
    assert_allclose(losses, [0, 1000, 0])


def test_learning_rates():
    paper = DiffMCDPClassifier(learning_rate_init=(1e-3, 1e-4, 1e-5), max_iter=150)
    assert_allclose(
        [learning_rate_at(paper, step) for step in (0, 49, 50, 99, 100, 149)],
        [1e-3, 1e-3, 1e-4, 1e-4, 1e-5, 1e-5],
    )
    assert learning_rate_at(DiffMCDPClassifier(), 149) == 1e-3


def test_a_small_group_is_in_every_batch():
    strata = np.repeat([0, 1, -1], [950, 40, 10])
    batches = mini_batches(strata, 100, np.random.RandomState(0))
    values = np.random.default_rng(0).normal(size=1000)
    means, seen = [], np.zeros(1000)
    for _ in range(19):
        rows, factors = next(batches)
        assert len(rows) == len(set(rows)) == 100
        sizes = np.unique(strata[rows], return_counts=True)[1]
        assert_array_equal(sizes, [10, 50, 40])
        assert_allclose(factors.mean(), 1)
        means.append(np.mean(factors * values[rows]))
        seen[rows] += 1
    # 19 batches of 50 deal each row of the largest group once.
    assert_array_equal(seen, np.repeat([1, 19, 19], [950, 40, 10]))
    assert_allclose(np.mean(means), values.mean())


@pytest.mark.parametrize("strata", [np.arange(100), np.zeros(100, dtype=int)])
def test_rows_are_drawn_alike_from_one_or_very_many_groups(strata):
    batches = mini_batches(strata, 20, np.random.RandomState(0))
    drawn = [next(batches) for _ in range(5)]
    assert_array_equal(np.sort(np.concatenate([rows for rows, _ in drawn])), range(100))
    assert_allclose(np.concatenate([factors for _, factors in drawn]), 1)

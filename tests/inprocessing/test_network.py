import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from scipy.sparse import csr_array
from sklearn.neural_network import MLPClassifier

from skfair._penalty import PenalisedLoss
from skfair._rows import Rows
from skfair.groups import Groups
from skfair.inprocessing import DiffMCDPClassifier
from skfair.inprocessing._diff_mcdp_classifier import (
    Adam,
    batch_gradients,
    even_sizes,
    forward,
    initial_parameters,
    learning_rate_of,
    log_losses,
    mini_batches,
)


def training_rows(n_samples=30):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_samples, 3))
    y = (X.sum(axis=1) + generator.normal(size=n_samples) > 0) + 0.0
    codes = generator.integers(-1, 3, n_samples)
    groups = Groups(codes, tuple("abc"))
    return X, Rows(groups, y_true=y, weight=generator.random(n_samples) + 0.5)


@pytest.mark.parametrize("objective", ["mcdp", "dp", "abcc"])
@pytest.mark.parametrize(
    "hidden", [(), pytest.param((5,), marks=pytest.mark.slow), (6, 4)]
)
@pytest.mark.parametrize("dropout", [pytest.param(0.0, marks=pytest.mark.slow), 0.3])
@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_gradient_by_finite_differences(objective, hidden, dropout, container):
    X, rows = training_rows()
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


def test_forward_as_scikit_learn():
    X, rows = training_rows()
    y = rows.y_true
    model = MLPClassifier((4, 3), max_iter=5, random_state=0)
    with pytest.warns(match="Maximum iterations"):
        model.fit(X, y)
    parameters = [
        values
        for pair in zip(model.coefs_, model.intercepts_, strict=True)
        for values in pair
    ]
    logits = forward(X, parameters)[-1][:, 0]
    assert_allclose(1 / (1 + np.exp(-logits)), model.predict_proba(X)[:, 1])


def test_adam_by_its_definition():
    values, start = np.array([1.0, -2.0]), np.array([1.0, -2.0])
    optimizer = Adam([values])
    mean = square = np.zeros(2)
    for step in range(1, 4):
        gradient = np.array([0.3, -5.0]) * step
        optimizer.step([gradient], 0.1)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        corrected = mean / (1 - 0.9**step), square / (1 - 0.999**step)
        start = start - 0.1 * corrected[0] / np.sqrt(corrected[1])
    assert_allclose(values, start, rtol=1e-6)


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
        [learning_rate_of(paper, step) for step in (0, 49, 50, 99, 100, 149)],
        [1e-3, 1e-3, 1e-4, 1e-4, 1e-5, 1e-5],
    )
    assert learning_rate_of(DiffMCDPClassifier(), 149) == 1e-3


@given(st.lists(st.integers(1, 50), min_size=1, max_size=8), st.integers(1, 200))
def test_sizes_are_as_even_as_groups_have_rows(available, total):
    available = np.array(available)
    total = min(total, available.sum())
    sizes = even_sizes(available, total)
    assert sizes.sum() == total
    assert np.all(sizes <= available)
    short = sizes < available
    if short.any():
        assert np.ptp(sizes[short]) <= 1
        assert sizes[~short].max(initial=0) <= sizes[short].min() + 1


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


def test_all_rows_in_their_order():
    batches = mini_batches(np.array([0, 1, 0]), 5, np.random.RandomState(0))
    for _ in range(2):
        rows, factors = next(batches)
        assert_array_equal(rows, [0, 1, 2])
        assert_array_equal(factors, [1, 1, 1])


@pytest.mark.parametrize("strata", [np.arange(100), np.zeros(100, dtype=int)])
def test_rows_are_drawn_alike_from_one_or_very_many_groups(strata):
    batches = mini_batches(strata, 20, np.random.RandomState(0))
    drawn = [next(batches) for _ in range(5)]
    assert_array_equal(np.sort(np.concatenate([rows for rows, _ in drawn])), range(100))
    assert_allclose(np.concatenate([factors for _, factors in drawn]), 1)

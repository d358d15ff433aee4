"""Bounds of DCP against the paper's equations, by every method and in limited time."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skfair.metrics import _dcp_search as _solve
from skfair.metrics import dcp_bounds
from skfair.metrics._dcp_search import row_losses

PROVEN = ["enumerate", "branch_and_bound"]
METHODS = [*PROVEN, "local"]


def bounds_by(method, *given_, **options):
    """Bound DCP by one of the two proofs, which "auto" chooses by size, or locally."""
    if method not in PROVEN:
        return dcp_bounds(*given_, method=method, **options)
    most = {"enumerate": np.inf, "branch_and_bound": -1}[method]
    with mock.patch.object(_solve, "_MAX_AUTO_VERTICES", most):
        return dcp_bounds(*given_, **options)


# Each example takes long.
few_examples = settings(max_examples=settings.default.max_examples // 2)
seeds = st.integers(0, 10_000)


def eta(a, b):
    """Equation 4 of the paper."""
    if b < a:
        return 1 - b / a
    return 1 - (1 - b) / (1 - a) if b > a else 0.0


def objective(baseline, confusion, weights, frequencies):
    """Equation 5 of the paper at a given baseline."""
    n_groups, n_labels = frequencies.shape
    return sum(
        weights[a]
        * frequencies[a, y]
        * max(eta(baseline[y, z], confusion[a, y, z]) for z in range(n_labels))
        for a in range(n_groups)
        for y in range(n_labels)
    )


def simplex_grid(n_labels, n_steps):
    axes = np.meshgrid(*[np.arange(n_steps + 1)] * (n_labels - 1), indexing="ij")
    free = np.stack([axis.ravel() for axis in axes], axis=1)
    free = free[free.sum(axis=1) <= n_steps]
    return np.column_stack([free, n_steps - free.sum(axis=1)]) / n_steps


# --- the mathematics


@few_examples
@given(seeds, st.integers(2, 5), st.sampled_from(["mixed", "sparse"]))
def test_simpler_form_is_the_paper_s_objective(instance, seed, n_labels, kind):
    confusion, weights, frequencies = instance(n_labels, 4, seed, kind)
    baseline = np.random.default_rng(seed).dirichlet(np.ones(n_labels), n_labels)
    value = sum(
        row_losses(baseline[y], confusion[:, y], weights * frequencies[:, y])
        for y in range(n_labels)
    )
    expected = objective(baseline, confusion, weights, frequencies)
    assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
@few_examples
@given(seeds, st.integers(2, 5), st.sampled_from(["mixed", "near-fair", "sparse"]))
def test_proofs_agree_and_bound_the_local_search(instance, seed, n_labels, kind):
    given_ = instance(n_labels, 6, seed, kind)
    exact, boxed = (bounds_by(method, *given_) for method in PROVEN)
    assert exact.optimal
    assert boxed.optimal
    assert exact.lower <= boxed.upper + 1e-12
    assert boxed.lower <= exact.upper + 1e-12
    local = dcp_bounds(*given_, method="local")
    assert local.upper >= exact.lower
    assert local.lower <= exact.upper + 1e-12


@pytest.mark.parametrize(
    "kind",
    [
        "mixed",
        pytest.param("near-fair", marks=pytest.mark.slow),
        pytest.param("sparse", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(("n_labels", "n_steps"), [(2, 2000), (3, 120), (4, 40)])
def test_no_grid_point_is_better(kind, n_labels, n_steps, instance):
    confusion, weights, frequencies = instance(n_labels, 5, 3, kind)
    result = dcp_bounds(confusion, weights, frequencies)
    grid = simplex_grid(n_labels, n_steps)
    best = sum(
        row_losses(grid, confusion[:, y], weights * frequencies[:, y]).min()
        for y in range(n_labels)
    )
    assert result.lower <= best
    assert result.upper <= best + 1e-12


@few_examples
@given(seeds, st.integers(2, 8), st.sampled_from(["mixed", "near-fair", "sparse"]))
def test_two_labels_are_the_closed_form(instance, seed, n_groups, kind):
    confusion, weights, frequencies = instance(2, n_groups, seed, kind)
    # Equation 3: the best of 0, 1 and the groups' own rates.
    expected = 0.0
    for y in range(2):
        rates = confusion[:, y, 1 - y]
        expected += min(
            sum(
                weights[a] * frequencies[a, y] * eta(x, rates[a])
                for a in range(n_groups)
            )
            for x in [0.0, 1.0, *rates]
        )
    result = dcp_bounds(confusion, weights, frequencies)
    assert result.upper == pytest.approx(expected, abs=1e-9)


@few_examples
@given(seeds, st.integers(3, 5))
def test_merging_labels_never_raises_it(instance, seed, n_labels):
    confusion, weights, frequencies = instance(n_labels, 5, seed, "sparse")
    merged = confusion.copy()
    merged[:, :, 0] += merged[:, :, -1]
    merged[:, :, -1] = 0
    before = dcp_bounds(confusion, weights, frequencies)
    after = dcp_bounds(merged, weights, frequencies)
    assert after.lower <= before.upper + 1e-12


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "n_labels",
    [
        pytest.param(2, marks=pytest.mark.slow),
        3,
        pytest.param(6, marks=pytest.mark.slow),
    ],
)
def test_equal_matrices_are_fair(method, n_labels):
    rng = np.random.default_rng(0)
    matrix = rng.dirichlet(np.ones(n_labels), n_labels)
    matrix[0] = np.eye(n_labels)[0]
    frequencies = rng.dirichlet(np.ones(n_labels), 7)
    result = bounds_by(method, [matrix] * 7, np.ones(7), frequencies)
    assert result.upper == pytest.approx(0, abs=1e-12)
    assert result.lower == pytest.approx(0, abs=1e-12)
    assert result.optimal


def test_zeros_are_exact():
    # Clipped to 1e-5 the optimum seems lower than any baseline attains.
    confusion = [[[1, 0, 0]] * 3, [[0, 1, 0]] * 3, [[0, 0.5, 0.5]] * 3]
    result = dcp_bounds(confusion, [0.4, 0.3, 0.3], [[1 / 3] * 3] * 3)
    assert result.upper == pytest.approx(0.55, abs=1e-9)
    np.testing.assert_allclose(result.baseline, [[0, 1, 0]] * 3, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_label_that_is_alone_has_probability_one(method):
    # A row of 1 - 1e-16 would leave everybody unexplained by equation 4.
    weights = np.random.default_rng(0).random(9)
    result = bounds_by(method, [np.eye(6)] * 9, weights, [[1 / 6] * 6] * 9)
    np.testing.assert_array_equal(result.baseline, np.eye(6))
    assert objective(
        result.baseline,
        result.confusion,
        weights / weights.sum(),
        np.full((9, 6), 1 / 6),
    ) == pytest.approx(0, abs=1e-12)


# --- limits of time


@pytest.fixture(scope="module", params=["mixed", "near-fair", "sparse"])
def solved(request, instance):
    """An instance of five classes, and its bounds without a limit."""
    given_ = instance(5, 9, 1, request.param)
    return given_, dcp_bounds(*given_)


@pytest.mark.slow
@pytest.mark.parametrize("time_limit", [1e-6, 5e-3])
@pytest.mark.parametrize("method", ["auto", *METHODS])
@pytest.mark.promise("Bounds of DCP hold under any time limit")
def test_intervals_are_valid_under_any_time_limit(time_limit, method, solved):
    given_, exact = solved
    result = bounds_by(method, *given_, time_limit=time_limit)
    assert result.lower <= exact.upper + 1e-12
    assert result.upper >= exact.lower
    assert result.lower <= result.upper
    assert result.upper == pytest.approx(objective(result.baseline, *given_), abs=1e-9)


@pytest.mark.slow
def test_looser_tolerance_is_honoured(instance):
    given_ = instance(6, 20, 0, "near-fair")
    result = bounds_by("branch_and_bound", *given_, tol=0.01)
    assert result.optimal
    assert result.upper - result.lower <= 0.01


# --- bad input


def test_row_of_a_class_that_a_group_never_has_does_not_matter(instance):
    confusion, weights, frequencies = instance(3, 4, 0)
    frequencies[1] = [0, 0.5, 0.5]
    expected = dcp_bounds(confusion, weights, frequencies)
    for row in ([0, 0, 0], [np.nan] * 3, [5, -1, 2]):
        confusion[1, 0] = row
        result = dcp_bounds(confusion, weights, frequencies)
        assert result.upper == pytest.approx(expected.upper, abs=1e-12)
        assert np.isnan(result.eta[1, 0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confusion": np.ones((2, 2))}, r"confusion must have shape \(n_groups"),
        ({"confusion": np.full((2, 2, 2), 0.4)}, "confusion must sum to 1.*got 0.8"),
        ({"confusion": [[[1.5, -0.5]] * 2] * 2}, "non-negative numbers, got -0.5"),
        ({"confusion": [[[np.nan, 1]] * 2] * 2}, "got nan for group 0, class 0"),
        ({"confusion": "no"}, "confusion must be an array of numbers"),
        ({"group_weights": [1.0]}, r"group_weights must have shape \(2,\)"),
        ({"group_weights": [-1, 2]}, "non-negative, got -1.0 for group 0"),
        ({"group_weights": [0, 0]}, "group_weights must have a positive sum"),
        ({"label_frequencies": [[1, 1]] * 2}, "label_frequencies must sum to 1"),
        ({"label_frequencies": [[1, 0, 0]] * 2}, r"must have shape \(2, 2\)"),
        ({"tol": 0}, r"tol must be a number in \(0, 1\)"),
        ({"time_limit": -1}, "time_limit must be None or a number"),
        ({"method": "best"}, "method must be 'auto'"),
    ],
)
def test_invalid_input(change, message):
    arguments = {
        "confusion": np.full((2, 2, 2), 0.5),
        "group_weights": [0.5, 0.5],
        "label_frequencies": [[0.5, 0.5]] * 2,
    }
    with pytest.raises(ValueError, match=message):
        dcp_bounds(**{**arguments, **change})

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from skfair._utils._progress import Progress
from skfair.metrics import dcp_bounds, min_dcp_bounds
from skfair.metrics._dcp_search import Clock
from skfair.metrics._min_dcp import ChannelSearch, MergedSearch, knapsack

# Each example takes long.
few_examples = settings(max_examples=settings.default.max_examples // 2)
seeds = st.integers(0, 10_000)


def instance(n_labels, n_groups, seed, noise=0.1):
    """Group weights and frequencies of a classifier that is somewhat unfair."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(n_groups, 3.0))
    true = rng.dirichlet(np.full(n_labels, 2.0), n_groups)
    channel = rng.dirichlet(np.full(n_labels, 1.0), n_labels)
    own = rng.dirichlet(np.ones(n_labels), (n_groups, n_labels))
    matrices = (1 - noise) * channel + noise * own
    return weights, true, np.einsum("ay,ayz->az", true, matrices), matrices


def check(result, weights, true, predicted):
    """Assert everything that a result promises."""
    assert 0 <= result.lower <= result.upper
    confusion = result.confusion
    assert (confusion >= 0).all()
    np.testing.assert_allclose(confusion.sum(axis=2), 1, atol=1e-9)
    np.testing.assert_allclose(
        np.einsum("ay,ayz->az", true, confusion), predicted, atol=1e-8
    )
    np.testing.assert_allclose(result.baseline.sum(axis=1), 1, atol=1e-9)
    ratios = np.full(confusion.shape, np.inf)
    np.divide(confusion, result.baseline, out=ratios, where=result.baseline > 0)
    eta = 1 - np.minimum(ratios.min(axis=2), 1)
    value = (weights[:, None] * true * eta).sum()
    assert value == pytest.approx(result.upper, abs=1e-9)


@pytest.mark.slow
@few_examples
@given(seeds, st.integers(2, 4), st.integers(2, 6))
def test_result_keeps_its_promises(seed, n_labels, n_groups):
    weights, true, predicted, matrices = instance(n_labels, n_groups, seed)
    result = min_dcp_bounds(
        weights, true, predicted, n_starts=1, time_limit=0.2, random_state=0
    )
    check(result, weights, true, predicted)
    # The frequencies come from a classifier, so that its DCP is not below theirs.
    assert result.lower <= dcp_bounds(matrices, weights, true).upper + 1e-12
    assert dcp_bounds(result.confusion, weights, true).upper <= result.upper + 1e-9


@few_examples
@given(seeds, st.integers(2, 4))
def test_knapsack_is_the_linear_program(seed, n_labels):
    rng = np.random.default_rng(seed)
    x = rng.random((1, n_labels)) * (rng.random(n_labels) > 0.2)
    true = rng.dirichlet(np.ones(n_labels), 3)
    share = rng.random(3)
    value = knapsack(x, true, share)[0]
    for a in range(3):
        solved = linprog(
            -np.ones(n_labels),
            A_ub=x,
            b_ub=[share[a]],
            bounds=np.column_stack([np.zeros(n_labels), true[a]]),
        )
        assert value[a] == pytest.approx(1 + solved.fun, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_two_labels_are_exact(seed):
    weights, true, predicted, _ = instance(2, 6, seed, noise=0.3)
    result = min_dcp_bounds(weights, true, predicted, random_state=0)
    assert result.optimal
    grid = np.linspace(0, 1, 301)
    x = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    loss = np.maximum(
        knapsack(x, true, predicted[:, 0]), knapsack(1 - x, true, predicted[:, 1])
    )
    best = (loss @ weights).min()
    assert result.lower <= best + 1e-12
    assert result.upper <= best + 1e-4


@pytest.mark.slow
def test_channel_that_local_searches_miss():
    weights, true = [0.45, 0.55], [[0.28, 0.72], [0.305, 0.695]]
    predicted = [[0.07, 0.93], [0.82, 0.18]]
    result = min_dcp_bounds(weights, true, predicted, random_state=0)
    assert result.optimal
    assert result.upper == pytest.approx(0.35975, abs=1e-6)
    np.testing.assert_allclose(result.baseline, [[0.25, 0.75], [1, 0]], atol=1e-3)


@few_examples
@given(seeds, st.integers(2, 4), st.integers(1, 2))
def test_bound_of_a_box_holds_at_every_point_of_it(seed, n_labels, n_sets):
    """No group loses less at a channel than the bound says, by any of the sets."""
    rng = np.random.default_rng(seed)
    n_labels = max(n_labels, n_sets + 1)
    weights, true, predicted, _ = instance(n_labels, 5, seed, noise=0.5)
    sets = np.eye(n_labels, dtype=bool)[:n_sets]
    channels = rng.dirichlet(np.ones(n_labels), (50, n_labels))
    data = ChannelSearch(weights, true, predicted, Clock(), Progress("", 0))
    search = MergedSearch(data, sets, channels[0])
    points = np.einsum("cyz,sz->csy", channels, sets)
    lows, highs = points.min(axis=0)[None], points.max(axis=0)[None]
    for bound, at in zip(
        search._losses(lows, highs), search._losses(points, points), strict=True
    ):
        assert (bound <= at + 1e-12).all()


@pytest.mark.parametrize("time_limit", [1e-6, 1e-3, 5e-3, 0.05])
@pytest.mark.promise("Bounds of minDCP hold under any time limit")
def test_valid_under_any_time_limit(time_limit):
    weights, true, predicted, matrices = instance(4, 8, 1)
    result = min_dcp_bounds(
        weights, true, predicted, time_limit=time_limit, random_state=0
    )
    check(result, weights, true, predicted)
    assert result.lower <= dcp_bounds(matrices, weights, true).upper


@pytest.mark.slow
def test_labels_and_groups_without_weight():
    weights, true, predicted, _ = instance(3, 4, 0)
    true[1] = [0, 0.5, 0.5]
    predicted[2] = [0, 1, 0]
    weights[3] = 0
    weights /= weights.sum()
    result = min_dcp_bounds(
        weights, true, predicted, n_starts=2, time_limit=1, random_state=0
    )
    check(result, weights, true, predicted)
    assert np.isnan(result.eta[1, 0])


@pytest.mark.slow
def test_table_sums_to_the_upper_bound():
    weights, true, predicted, _ = instance(3, 4, 0)
    result = min_dcp_bounds(weights, true, predicted, n_starts=1, tol=0.9)
    frame = result.to_frame()
    assert frame["disparity"].sum() == pytest.approx(result.upper)
    assert frame["disparity"].is_monotonic_decreasing
    assert frame.columns[:4].tolist() == ["group", "class", "weight", "eta"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prediction_frequencies": [[1.0]]}, "prediction_frequencies must have shape"),
        ({"label_frequencies": [[np.nan, 1]] * 2}, "got nan for group 0, class 0"),
        ({"label_frequencies": [[-1, 2]] * 2}, "non-negative numbers, got -1.0"),
        ({"group_weights": [1.0]}, r"group_weights must have shape \(2,\)"),
        ({"group_weights": pd.Series([1, 2, 3])}, r"must have shape \(2,\), .*\(3,\)"),
        ({"n_starts": 0}, "n_starts must be an integer of at least 1"),
        ({"sum_tolerance": 1}, "sum_tolerance must be a number"),
        ({"tol": 2}, "tol must be a number"),
        ({"verbose": -1}, "verbose must be an integer"),
        ({"verbose": "yes"}, "verbose must be an integer"),
    ],
)
def test_invalid_input(change, message):
    arguments = {
        "group_weights": [0.5, 0.5],
        "label_frequencies": [[0.5, 0.5]] * 2,
        "prediction_frequencies": [[0.5, 0.5]] * 2,
    }
    with pytest.raises(ValueError, match=message):
        min_dcp_bounds(**{**arguments, **change})

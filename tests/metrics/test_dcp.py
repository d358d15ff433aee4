import pickle
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from skfair.groups import encode_groups
from skfair.metrics import DCPResult, dcp, dcp_bounds, get_fairness_scorer
from skfair.metrics._dcp._rows import row_losses
from skfair.statistics import GroupedConfusion

PROVEN = ["enumerate", "branch_and_bound"]
HEURISTIC = ["local", "average", "greedy", "greedy+lm"]

properties = settings(deadline=None, derandomize=True, max_examples=25)
seeds = st.integers(0, 10_000)


def instance(n_labels, n_groups, seed, kind="mixed"):
    """Confusion matrices, group weights and label frequencies."""
    rng = np.random.default_rng(seed)
    base = rng.dirichlet(np.ones(n_labels), n_labels)
    shape = n_groups, n_labels, n_labels
    confusion = np.empty(shape)
    for a, y in np.ndindex(shape[:2]):
        if kind == "near-fair":
            eta = rng.uniform(0, 0.1)
            noise = rng.dirichlet(np.ones(n_labels))
            confusion[a, y] = (1 - eta) * base[y] + eta * noise
        elif kind == "sparse":
            counts = rng.multinomial(rng.integers(2, 12), base[y])
            confusion[a, y] = counts / counts.sum()
        else:
            confusion[a, y] = rng.dirichlet(8 * base[y] + 0.3)
    weights = rng.dirichlet(np.full(n_groups, 2.0))
    return confusion, weights, rng.dirichlet(np.full(n_labels, 3.0), n_groups)


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


@properties
@given(seeds, st.integers(2, 5), st.sampled_from(["mixed", "sparse"]))
def test_simpler_form_is_the_paper_s_objective(seed, n_labels, kind):
    confusion, weights, frequencies = instance(n_labels, 4, seed, kind)
    baseline = np.random.default_rng(seed).dirichlet(np.ones(n_labels), n_labels)
    value = sum(
        row_losses(baseline[y], confusion[:, y], weights * frequencies[:, y])
        for y in range(n_labels)
    )
    expected = objective(baseline, confusion, weights, frequencies)
    assert value == pytest.approx(expected, abs=1e-12)


@properties
@given(seeds, st.integers(2, 5), st.sampled_from(["mixed", "near-fair", "sparse"]))
def test_upper_is_the_objective_at_the_baseline(seed, n_labels, kind):
    given_ = instance(n_labels, 5, seed, kind)
    for method in [*PROVEN, *HEURISTIC]:
        result = dcp_bounds(*given_, method=method)
        np.testing.assert_allclose(result.baseline.sum(axis=1), 1, atol=1e-12)
        assert (result.baseline >= 0).all()
        expected = objective(result.baseline, *given_)
        assert result.upper == pytest.approx(expected, abs=1e-9)
        assert result.lower <= result.upper


@properties
@given(seeds, st.integers(2, 5), st.sampled_from(["mixed", "near-fair", "sparse"]))
def test_proofs_agree_and_bound_every_method(seed, n_labels, kind):
    given_ = instance(n_labels, 6, seed, kind)
    exact, boxed = (dcp_bounds(*given_, method=method) for method in PROVEN)
    assert exact.optimal
    assert boxed.optimal
    assert exact.lower <= boxed.upper + 1e-12
    assert boxed.lower <= exact.upper + 1e-12
    for method in HEURISTIC:
        other = dcp_bounds(*given_, method=method)
        assert other.upper >= exact.lower
        assert other.lower <= exact.upper + 1e-12


@pytest.mark.parametrize("kind", ["mixed", "near-fair", "sparse"])
@pytest.mark.parametrize(("n_labels", "n_steps"), [(2, 2000), (3, 120), (4, 40)])
def test_no_grid_point_is_better(kind, n_labels, n_steps):
    confusion, weights, frequencies = instance(n_labels, 5, 3, kind)
    result = dcp_bounds(confusion, weights, frequencies)
    grid = simplex_grid(n_labels, n_steps)
    best = sum(
        row_losses(grid, confusion[:, y], weights * frequencies[:, y]).min()
        for y in range(n_labels)
    )
    assert result.lower <= best
    assert result.upper <= best + 1e-12


@properties
@given(seeds, st.integers(2, 8), st.sampled_from(["mixed", "near-fair", "sparse"]))
def test_two_labels_are_the_closed_form(seed, n_groups, kind):
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


@properties
@given(seeds, st.integers(3, 5))
def test_merging_labels_never_raises_it(seed, n_labels):
    confusion, weights, frequencies = instance(n_labels, 5, seed, "sparse")
    merged = confusion.copy()
    merged[:, :, 0] += merged[:, :, -1]
    merged[:, :, -1] = 0
    before = dcp_bounds(confusion, weights, frequencies)
    after = dcp_bounds(merged, weights, frequencies)
    assert after.lower <= before.upper + 1e-12


@pytest.mark.parametrize("method", [*PROVEN, *HEURISTIC])
@pytest.mark.parametrize("n_labels", [2, 3, 6])
def test_equal_matrices_are_fair(method, n_labels):
    rng = np.random.default_rng(0)
    matrix = rng.dirichlet(np.ones(n_labels), n_labels)
    matrix[0] = np.eye(n_labels)[0]
    frequencies = rng.dirichlet(np.ones(n_labels), 7)
    result = dcp_bounds([matrix] * 7, np.ones(7), frequencies, method=method)
    assert result.upper == pytest.approx(0, abs=1e-12)
    assert result.lower == pytest.approx(0, abs=1e-12)
    assert result.optimal


@properties
@given(seeds, st.sampled_from(["mixed", "sparse"]))
def test_order_of_groups_and_labels_does_not_matter(seed, kind):
    confusion, weights, frequencies = instance(4, 6, seed, kind)
    rng = np.random.default_rng(seed)
    groups, labels = rng.permutation(6), rng.permutation(4)
    shuffled = (
        confusion[np.ix_(groups, labels, labels)],
        weights[groups],
        frequencies[np.ix_(groups, labels)],
    )
    for method in PROVEN:
        value = dcp_bounds(*shuffled, method=method)
        expected = dcp_bounds(confusion, weights, frequencies, method=method)
        assert value.upper == pytest.approx(expected.upper, abs=1e-4)


def test_zeros_are_exact():
    # Clipped to 1e-5 the optimum seems lower than any baseline attains.
    confusion = [[[1, 0, 0]] * 3, [[0, 1, 0]] * 3, [[0, 0.5, 0.5]] * 3]
    result = dcp_bounds(confusion, [0.4, 0.3, 0.3], [[1 / 3] * 3] * 3)
    assert result.upper == pytest.approx(0.55, abs=1e-9)
    np.testing.assert_allclose(result.baseline, [[0, 1, 0]] * 3, atol=1e-9)


@pytest.mark.parametrize("method", [*PROVEN, *HEURISTIC])
def test_label_that_is_alone_has_probability_one(method):
    # A row of 1 - 1e-16 would leave everybody unexplained by equation 4.
    weights = np.random.default_rng(0).random(9)
    result = dcp_bounds([np.eye(6)] * 9, weights, [[1 / 6] * 6] * 9, method=method)
    np.testing.assert_array_equal(result.baseline, np.eye(6))
    assert objective(
        result.baseline,
        result.confusion,
        weights / weights.sum(),
        np.full((9, 6), 1 / 6),
    ) == pytest.approx(0, abs=1e-12)


# --- limits of time


@pytest.mark.parametrize("time_limit", [1e-6, 1e-3, 5e-3, 0.02])
@pytest.mark.parametrize("method", ["auto", *PROVEN, *HEURISTIC])
@pytest.mark.parametrize("kind", ["mixed", "near-fair", "sparse"])
def test_intervals_are_valid_under_any_time_limit(time_limit, method, kind):
    given_ = instance(5, 9, 1, kind)
    exact = dcp_bounds(*given_)
    result = dcp_bounds(*given_, method=method, time_limit=time_limit)
    assert result.lower <= exact.upper + 1e-12
    assert result.upper >= exact.lower
    assert result.lower <= result.upper
    assert result.upper == pytest.approx(objective(result.baseline, *given_), abs=1e-9)


def test_time_limit_is_kept():
    given_ = instance(9, 51, 0, "mixed")
    start = time.perf_counter()
    result = dcp_bounds(*given_, time_limit=1.0)
    assert time.perf_counter() - start < 6.0
    assert not result.optimal
    assert result.message == "time_limit of 1 s reached"


def test_looser_tolerance_is_honoured():
    given_ = instance(6, 20, 0, "near-fair")
    result = dcp_bounds(*given_, method="branch_and_bound", tol=0.01)
    assert result.optimal
    assert result.upper - result.lower <= 0.01


# --- the result


def test_parts_add_up():
    result = dcp_bounds(*instance(4, 6, 0))
    lowers, uppers = result.per_label
    assert lowers.sum() == pytest.approx(result.lower)
    assert uppers.sum() == pytest.approx(result.upper)
    assert (result.weights * result.eta).sum() == pytest.approx(result.upper)


def test_frame_says_who_and_how():
    confusion = [
        [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]],
        [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]],
        [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.5, 0.4]],
    ]
    result = dcp_bounds(confusion, [0.4, 0.4, 0.2], [[1 / 3] * 3] * 3)
    frame = result.to_frame()
    assert len(frame) == 9
    assert frame["disparity"].sum() == pytest.approx(result.upper)
    assert frame["share"].sum() == pytest.approx(1)
    first = frame.iloc[0]
    assert (first["group"], first["label"]) == (2, 2)
    assert (first["too_rare"], first["too_frequent"]) == (2, 1)
    assert (first["rate"], first["baseline_rate"]) == pytest.approx((0.4, 0.8))
    assert first["eta"] == pytest.approx(0.5)
    assert frame.iloc[1:]["too_rare"].isna().all()


def test_result_is_readable_and_pickles():
    result = dcp_bounds(*instance(3, 4, 0))
    again = pickle.loads(pickle.dumps(result))
    assert repr(again) == repr(result)
    assert "baseline" not in repr(result)
    np.testing.assert_array_equal(again.baseline, result.baseline)


def test_processes_give_the_same(capfd):
    given_ = instance(4, 8, 0)
    alone = dcp_bounds(*given_, verbose=1)
    assert "label 3" in capfd.readouterr().out
    shared = dcp_bounds(*given_, n_jobs=2)
    assert shared.upper == alone.upper
    np.testing.assert_array_equal(shared.baseline, alone.baseline)


def test_inputs_are_not_modified():
    given_ = instance(3, 4, 0, "sparse")
    for array in given_:
        array.setflags(write=False)
    dcp_bounds(*given_)


# --- bad input


def test_row_of_a_label_that_a_group_never_has_does_not_matter():
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
        ({"confusion": [[[np.nan, 1]] * 2] * 2}, "got nan for group 0, label 0"),
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


def test_too_many_vertices_to_enumerate():
    with pytest.raises(ValueError, match="too many for 'enumerate'"):
        dcp_bounds(*instance(9, 51, 0), method="enumerate")


# --- of predictions


def predictions(n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    groups = np.array(["a", "b", "c"])[rng.integers(0, 3, n_rows)]
    y_true = np.array(["x", "y", "z"])[rng.integers(0, 3, n_rows)]
    wrong = rng.random(n_rows) < 0.2 + 0.2 * (groups == "b")
    y_pred = np.where(wrong, rng.permutation(y_true), y_true)
    return y_true, y_pred, groups


def test_metric_is_the_bound_of_the_counted_matrices():
    y_true, y_pred, groups = predictions()
    labels = np.unique(y_true)
    counts = np.array(
        [
            [
                [((groups == a) & (y_true == y) & (y_pred == z)).sum() for z in labels]
                for y in labels
            ]
            for a in "abc"
        ]
    )
    sums = counts.sum(axis=2)
    expected = dcp_bounds(
        counts / sums[..., None],
        sums.sum(axis=1),
        sums / sums.sum(axis=1, keepdims=True),
    )
    value = dcp(y_true, y_pred, sensitive_features=groups)
    assert type(value) is float
    assert value == pytest.approx(expected.upper, abs=1e-9)
    result = DCPResult.from_predictions(y_true, y_pred, sensitive_features=groups)
    assert result.groups == ("a", "b", "c")
    assert result.labels == ("x", "y", "z")


def test_statistic_stands_in_for_rows():
    y_true, y_pred, groups = predictions()
    expected = dcp(y_true, y_pred, sensitive_features=groups)
    parts = [
        GroupedConfusion.from_predictions(
            y_true[rows], y_pred[rows], sensitive_features=groups[rows]
        )
        for rows in (slice(150), slice(150, None))
    ]
    assert dcp(None, parts[0] + parts[1]) == expected
    with pytest.raises(ValueError, match="sensitive_features must be None"):
        dcp(None, parts[0], sensitive_features=groups)


def test_weights_count_rows():
    y_true, y_pred, groups = predictions()
    weights = np.random.default_rng(1).integers(0, 4, len(groups))
    value = dcp(y_true, y_pred, sensitive_features=groups, sample_weight=weights)
    repeated = (np.repeat(column, weights) for column in (y_true, y_pred, groups))
    true, pred, group = repeated
    assert value == dcp(true, pred, sensitive_features=group)


def test_one_group_is_zero_with_a_warning():
    y_true, y_pred, _ = predictions()
    with pytest.warns(UndefinedMetricWarning, match="DCP is 0 .* only \\['all'\\]"):
        value = dcp(y_true, y_pred, sensitive_features=["all"] * len(y_true))
    assert value == 0


def test_absent_group_is_undefined():
    y_true, y_pred, groups = predictions()
    declared = encode_groups(groups, labels=["a", "b", "c", "d"])
    with pytest.warns(UndefinedMetricWarning, match="'d' has 0 rows"):
        value = dcp(y_true, y_pred, sensitive_features=declared)
    assert np.isnan(value)


def test_labels_that_some_groups_never_have():
    y_true = ["x", "y", "y", "x", "x", "z"]
    y_pred = ["x", "y", "x", "x", "x", "z"]
    value = dcp(y_true, y_pred, sensitive_features=list("aaabbb"))
    assert value == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("method", ["auto", "local"])
def test_scorer_in_cross_validation(method):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(size=300), "sex": rng.integers(0, 2, 300)})
    y = np.digitize(X["age"] + 0.5 * X["sex"] + rng.normal(size=300), [-0.5, 0.7])
    scorer = get_fairness_scorer("neg_dcp", sensitive_features="sex")
    scores = cross_val_score(
        LogisticRegression(), X, y, scoring=scorer, error_score="raise"
    )
    assert ((scores <= 0) & (scores > -1)).all()

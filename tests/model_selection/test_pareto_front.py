import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.exceptions import UndefinedMetricWarning

from skfair.model_selection import pareto_front


def results(points):
    points = np.asarray(points, dtype=float)
    made = {"params": [{"i": i} for i in range(len(points))]}
    for j, column in enumerate(points.T):
        made[f"mean_test_m{j}"] = column
        made[f"std_test_m{j}"] = column + 100
    return made


def names(n_metrics):
    return [f"m{j}" for j in range(n_metrics)]


def brute_force(points):
    """Positions of the points that no other dominates."""
    return [
        i
        for i, point in enumerate(points)
        if np.isfinite(point).all()
        and not any(
            (other >= point).all() and (other > point).any()
            for other in points
            if np.isfinite(other).all()
        )
    ]


def volume_on_a_grid(points, n_cells):
    """Count dominated cells of the integer grid above 0."""
    cells = np.indices((n_cells,) * points.shape[1]).reshape(points.shape[1], -1).T
    return sum((points > cell).all(axis=1).any() for cell in cells)


def points_of(n_metrics):
    values = st.one_of(st.integers(0, 4).map(float), st.just(np.nan))
    row = st.tuples(*[values] * n_metrics)
    return st.lists(row, min_size=1, max_size=12).map(np.array)


@pytest.mark.slow
@pytest.mark.parametrize("n_metrics", [1, 2, 3, 4])
def test_against_brute_force(n_metrics):
    @given(points_of(n_metrics))
    def check(points):
        expected = brute_force(points)
        if not expected:
            return
        reference = np.zeros(n_metrics)
        front = pareto_front(
            results(points), names(n_metrics), reference_point=reference
        )
        assert sorted(front.index) == expected
        finite = points[np.isfinite(points).all(axis=1)]
        assert_allclose(front.attrs["hypervolume"], volume_on_a_grid(finite, 4))

    check()


@pytest.mark.parametrize("n_metrics", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_random_points(n_metrics):
    points = np.random.default_rng(0).random((300, n_metrics))
    reference = np.zeros(n_metrics)
    front = pareto_front(results(points), names(n_metrics), reference_point=reference)
    assert sorted(front.index) == brute_force(points)
    uniform = np.random.default_rng(1).random((20_000, n_metrics))
    hits = (points[front.index][:, None] > uniform).all(axis=2).any(axis=0)
    assert front.attrs["hypervolume"] == pytest.approx(hits.mean(), abs=0.01)


def test_columns_order_and_default_reference():
    points = [[0.7, -0.1], [0.8, -0.3], [0.75, -0.4], [0.7, -0.1]]
    front = pareto_front(results(points), ["m0", "m1"])
    assert front.index.name == "candidate"
    assert front.index.tolist() == [1, 0, 3]
    assert front.columns.tolist() == [
        "params",
        "mean_test_m0",
        "std_test_m0",
        "mean_test_m1",
        "std_test_m1",
    ]
    assert front.loc[1, "params"] == {"i": 1}
    assert front["std_test_m1"].tolist() == [99.7, 99.9, 99.9]
    assert front.attrs["reference_point"] == [0.7, -0.4]
    assert front.attrs["hypervolume"] == pytest.approx(0.1 * 0.1)
    # The order of metrics is that of the columns and of the rows.
    assert pareto_front(results(points), ["m1", "m0"]).index.tolist() == [0, 3, 1]


def test_frames_serve_as_well():
    points = np.random.default_rng(0).random((30, 2))
    ours = pareto_front(pd.DataFrame(results(points)), names(2))
    pd.testing.assert_frame_equal(ours, pareto_front(results(points), names(2)))
    assert ours.attrs["hypervolume"] > 0


def test_reference_point():
    points = [[0.7, -0.1], [0.8, -0.3]]
    front = pareto_front(results(points), names(2), reference_point=[0, -1])
    assert front.attrs["hypervolume"] == pytest.approx(0.7 * 0.9 + 0.1 * 0.7)
    front = pareto_front(results(points), names(2), reference_point=[0.75, -1])
    assert front.attrs["hypervolume"] == pytest.approx(0.05 * 0.7)
    assert len(front) == 2
    front = pareto_front(results(points), names(2), reference_point=[1, 1])
    assert front.attrs["hypervolume"] == 0


def test_nothing_to_compare():
    cv_results = results([[0.9, np.nan], [np.nan, 0.1]])
    with pytest.warns(UndefinedMetricWarning, match="the front is empty"):
        front = pareto_front(cv_results, names(2))
    assert len(front) == 0
    assert np.isnan(front.attrs["hypervolume"])


@pytest.mark.parametrize(
    ("metrics", "reference", "message"),
    [
        ("m0", None, "metrics must be a list of one or more names, got 'm0'"),
        ([], None, "metrics must be a list of one or more names"),
        (True, None, "metrics must be a list of one or more names, got True"),
        (None, None, "metrics must be a list of one or more names, got None"),
        (["m0", "m0"], None, "metrics must be distinct"),
        (["m0", 1], None, "every entry of metrics must be the name"),
        (["m0", "m7"], None, re.escape("no metric 'm7', it has ['m0', 'm1']")),
        (["m0", "m1"], [0], "reference_point must be 2 finite numbers"),
        (["m0", "m1"], [0, np.nan], "reference_point must be 2 finite numbers"),
    ],
)
def test_bad_input(metrics, reference, message):
    with pytest.raises(ValueError, match=message):
        pareto_front(results([[1, 2]]), metrics, reference_point=reference)


def test_without_standard_deviations():
    # Trials of Optuna, say, are means alone.
    cv_results = results([[1, 2], [2, 1], [0, 0]])
    del cv_results["std_test_m1"]
    front = pareto_front(cv_results, names(2))
    assert front.index.tolist() == [1, 0]
    expected = ["params", "mean_test_m0", "std_test_m0", "mean_test_m1"]
    assert front.columns.tolist() == expected

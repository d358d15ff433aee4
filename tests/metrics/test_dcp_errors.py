"""Bad input to dcp_bounds."""

import numpy as np
import pytest

from skfair.metrics import dcp_bounds


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


def test_too_many_vertices_to_enumerate(instance):
    with pytest.raises(ValueError, match=r"would examine [\d,]+ vertices"):
        dcp_bounds(*instance(9, 51, 0), method="enumerate")

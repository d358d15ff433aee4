"""The smooth gap of many rows, at the cost of a grid of scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair.inprocessing._smooth_gap import Array, SmoothGap, smooth_gap

#: Intervals of the grid: at least, and for each unit of temperature, so that it is much
#: finer than the sigmoids are wide.
_LEAST_INTERVALS, _INTERVALS_OF_TEMPERATURE = 1000, 40


def gap_by_row(
    scores: Array,
    codes: NDArray[np.integer],
    weights: Array,
    *,
    temperature: float,
    **options: Any,
) -> tuple[SmoothGap, Array]:
    """Smooth gap, and its derivative in each score for one unit of the row's weight.

    Where rows are more than points of a grid, each row is split between the two points
    next to it. The grid is fine enough for an error of a thousandth.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
        In [0, 1].
    codes : ndarray of shape (n_samples,)
        Group of each row, -1 for none.
    weights : ndarray of shape (n_samples,)
        Non-negative.
    temperature : float
    **options : dict
        As in `smooth_gap`.

    Returns
    -------
    gap : SmoothGap
        Its gradient is not by row where there is a grid.
    slopes : ndarray of shape (n_samples,)
    """
    n_groups = max(1, int(codes.max()) + 1)
    options["temperature"] = temperature
    n_steps = int(max(_LEAST_INTERVALS, _INTERVALS_OF_TEMPERATURE * temperature))
    n_points = n_groups * (n_steps + 1)
    if 2 * n_points > len(scores):
        gap = smooth_gap(scores, codes, n_groups, weights, **options)
        return gap, _divide(gap.gradient, weights)
    place = scores * n_steps
    below = np.minimum(place.astype(np.intp), n_steps - 1)
    above_share = place - below
    weights = weights * (codes >= 0)
    first = np.maximum(codes, 0).astype(np.intp) * (n_steps + 1) + below
    totals = np.zeros(n_points)
    totals += np.bincount(first, weights * (1 - above_share), n_points)
    totals += np.bincount(first + 1, weights * above_share, n_points)
    points = np.tile(np.linspace(0, 1, n_steps + 1), n_groups)
    groups = np.repeat(np.arange(n_groups), n_steps + 1)
    gap = smooth_gap(points, groups, n_groups, totals, **options)
    slopes = _divide(gap.gradient, totals)
    by_row = (1 - above_share) * slopes[first] + above_share * slopes[first + 1]
    return gap, np.where(weights > 0, by_row, 0.0)


def _divide(values: Array, weights: Array) -> Array:
    """Quotients, 0 where the weight is 0."""
    quotients = np.zeros_like(values)
    return np.divide(values, weights, out=quotients, where=weights > 0)

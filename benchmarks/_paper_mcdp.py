"""Algorithms 1 and 2 of the MCDP paper, written plainly, as baselines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def _gap_at(points: Array, scores: Array, groups: NDArray[np.intp]) -> Array:
    """Absolute difference of the two groups' empirical CDFs."""
    shares = []
    for group in (0, 1):
        ordered = np.sort(scores[groups == group])
        shares.append(np.searchsorted(ordered, points, side="right") / len(ordered))
    return np.abs(shares[0] - shares[1])


def exact(scores: Array, groups: NDArray[np.intp], epsilon: float) -> float:
    """Algorithm 1: every window that starts at a score, in n x n arrays.

    As in the paper's implementation, one array lists the points of each window by
    position, and another looks their gaps up; outside a window stands a large gap.
    """
    points = np.concatenate([[0.0], np.sort(scores), [1.0]])
    heights = _gap_at(points, scores, groups)
    best = heights[points <= epsilon].min()
    starts = points[points <= 1 - epsilon, None]
    inside = (starts <= points) & (points <= starts + 2 * epsilon)
    members = np.where(inside, np.arange(1, len(points) + 1), 0)
    windows = np.append(np.inf, heights)[members]
    return float(max(best, windows.min(axis=1).max()))


def approximate(
    scores: Array, groups: NDArray[np.intp], epsilon: float, n_subdivisions: int = 32
) -> float:
    """Algorithm 2: windows of 2 K points, epsilon / K apart."""
    step = epsilon / n_subdivisions
    heights = _gap_at(np.arange(0, 1, step), scores, groups)
    window = 2 * n_subdivisions
    first = np.arange(1, int(np.ceil(1 / step)) - window + 1)
    windows = heights[first[:, None] + np.arange(window)]
    return float(max(heights[: n_subdivisions + 1].min(), windows.min(axis=1).max()))

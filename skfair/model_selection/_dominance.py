"""Which points no other point dominates, and the volume that they dominate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def non_dominated(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which points are not beaten in one coordinate without winning in another.

    Points that coincide stay together. Two coordinates take O(n log n), more take
    O(n) comparisons with each point of the front.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_coordinates)
        Larger is better.

    Returns
    -------
    ndarray of bool of shape (n_points,)
    """
    if not len(points):
        return np.zeros(0, dtype=bool)
    distinct, inverse = np.unique(points, axis=0, return_inverse=True)
    # From the lexicographically largest down: no point is dominated by a later one.
    distinct = distinct[::-1]
    kept = np.zeros(len(distinct), dtype=bool)
    if distinct.shape[1] == 2:
        highest = np.maximum.accumulate(distinct[:, 1])
        kept[0] = True
        kept[1:] = distinct[1:, 1] > highest[:-1]
    else:
        for i, point in enumerate(distinct):
            kept[i] = not (distinct[:i][kept[:i]] >= point).all(axis=1).any()
    return np.asarray(kept[::-1][inverse.ravel()])


def hypervolume(points: NDArray[np.float64], reference: NDArray[np.float64]) -> float:
    """Volume between a reference point and the points that are better than it.

    By slices along the last coordinate, down to areas under a staircase.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_coordinates)
        Larger is better.
    reference : ndarray of shape (n_coordinates,)

    Returns
    -------
    float
    """
    points = points[(points > reference).all(axis=1)]
    points = points[non_dominated(points)]
    if not len(points):
        return 0.0
    if points.shape[1] == 1:
        return float(points.max() - reference[0])
    points = points[np.argsort(-points[:, -1])]
    heights = points[:, -1] - np.append(points[1:, -1], reference[-1])
    if points.shape[1] == 2:
        return float(np.sum(heights * (points[:, 0] - reference[0])))
    slices = [
        height * hypervolume(points[: i + 1, :-1], reference[:-1])
        for i, height in enumerate(heights)
        if height > 0
    ]
    return float(np.sum(slices))

"""The sustained gap for every window length at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair.metrics._sustained_gap import ROUNDING
from skfair.statistics._gap import Gap

#: Longest half-window that the metric is defined for.
_MAX_EPSILON = 0.5
#: Differences of decimal scores are decimal again to this many places.
_DECIMALS = 15


def gap_profile(gap: Gap) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sustained gap as a right-continuous step function of epsilon.

    Every piece, extended left and right while the gap stays at least its own, is the
    longest run at its level around it; the profile is the upper envelope of these
    runs over half their lengths.

    Parameters
    ----------
    gap : Gap

    Returns
    -------
    epsilons : ndarray of shape (n_steps,), increasing from 0
    values : ndarray of shape (n_steps,), decreasing
        ``values[i]`` holds from ``epsilons[i]`` until the next.
    """
    scores, heights = gap.scores, np.abs(gap.signed)
    positive = np.flatnonzero(heights)
    if not len(positive):
        return np.zeros(1), np.zeros(1)
    before = _previous_lower(heights)[positive]
    after = len(heights) - 1 - _previous_lower(heights[::-1])[::-1][positive]
    ends = scores[after]
    reach = (ends - scores[before + 1]) / 2
    if scores[0] == 0:
        at_zero = before < 0
        reach[at_zero] = ends[at_zero]
    # (0.8 - 0.6) / 2 exceeds 0.1 by rounding only: no window of 0.1 fits into it.
    decimal = np.round(reach, _DECIMALS)
    rounded = (decimal < reach) & (reach <= decimal + ROUNDING / 2)
    np.copyto(reach, decimal, where=rounded)
    order = np.argsort(reach)
    values = np.maximum.accumulate(heights[positive][order][::-1])[::-1] / gap.scale
    return merge_steps(np.concatenate([[0.0], reach[order]]), np.append(values, 0.0))


def merge_steps(
    epsilons: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Drop steps of no width or no height, and those beyond the largest epsilon.

    Parameters
    ----------
    epsilons : ndarray of shape (n,), non-decreasing
    values : ndarray of shape (n,), non-increasing

    Returns
    -------
    epsilons, values : ndarray of shape (n_steps,)
    """
    inside = epsilons <= _MAX_EPSILON
    inside[:-1] &= epsilons[:-1] < epsilons[1:]
    epsilons, values = epsilons[inside], values[inside]
    falls = np.append(True, values[1:] < values[:-1])
    return epsilons[falls], values[falls]


def _previous_lower(heights: NDArray[Any]) -> NDArray[np.integer]:
    """Nearest earlier position with a strictly smaller value, -1 where there is none.

    All positions walk up a tree of block minima at once, until the block that ends
    where they stand holds a smaller value, and then down to the last such value.
    """
    minima = [heights]
    while len(minima[-1]) > 1:
        level = minima[-1]
        pairs = np.minimum(level[: len(level) // 2 * 2 : 2], level[1::2])
        minima.append(pairs if len(level) % 2 == 0 else np.append(pairs, level[-1]))
    found: list[tuple[NDArray[Any], NDArray[Any]]] = []
    small = np.int32 if len(heights) < 2**31 else np.int64
    rows: NDArray[Any] = np.arange(len(heights), dtype=small)
    ends = rows  # every block from here on left is still to be looked at
    for level in minima:
        odd = (ends & 1).astype(bool)
        blocks = ends - odd
        lower = odd & (level[blocks] < heights[rows])
        found.append((rows[lower], blocks[lower]))
        going = ~lower & (blocks > 0)
        rows, ends = rows[going], ends[going] >> 1
    result: NDArray[Any] = np.full(len(heights), -1, dtype=small)
    rows, blocks = found[-1]
    for level, (more_rows, more_blocks) in zip(
        minima[-2::-1], found[-2::-1], strict=True
    ):
        blocks = 2 * blocks + 1
        blocks -= ~(level[np.minimum(blocks, len(level) - 1)] < heights[rows])
        rows = np.concatenate([rows, more_rows])
        blocks = np.concatenate([blocks, more_blocks])
    result[rows] = blocks
    return result

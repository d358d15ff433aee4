"""The largest gap that is sustained over a window of scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair.statistics._gap import Gap

#: Lengths this close to a window's are taken as equal to it: scores and windows such
#: as 0.8 - 0.6 against 2 * 0.1 carry a few units of rounding each.
ROUNDING = 4 * 2.0**-53
#: Pieces that are bounded together before any is looked at alone.
_BLOCK = 64


def sustained_gap(gap: Gap, epsilon: float) -> float:
    """Largest t such that some window never sees a gap below t.

    A window ``[a, a + 2 epsilon]`` inside [0, 1] is closed and pieces are half-open,
    so a run of pieces holds a window only if it is longer; a window centred at 0 is
    cut to ``[0, epsilon]``. One that reaches 1 sees a gap of 0.

    Parameters
    ----------
    gap : Gap
    epsilon : float in [0, 0.5]

    Returns
    -------
    float in [0, 1]
    """
    heights = np.abs(gap.signed)
    if epsilon == 0:
        return float(heights.max() / gap.scale)
    return float(_sustained(gap.scores, heights, epsilon) / gap.scale)


def _sustained(
    scores: NDArray[np.float64], heights: NDArray[Any], epsilon: float
) -> Any:
    """Bound by blocks of pieces, then search the few levels left one by one."""
    starts = np.arange(0, len(scores), _BLOCK)
    edges = np.append(scores[starts], scores[-1])
    lower = _highest(edges, np.minimum.reduceat(heights, starts), epsilon)
    upper = _highest(edges, np.maximum.reduceat(heights, starts), epsilon)
    if lower == upper:
        return lower
    first, last = _runs(heights > lower)
    fits = _holds_window(scores, first, last, epsilon)
    kept = _ranges(first[fits], last[fits] + 1)
    if not len(kept):
        return lower
    return max(lower, _highest(scores[kept], heights[kept], epsilon, lower, upper))


def _highest(
    scores: NDArray[np.float64],
    heights: NDArray[Any],
    epsilon: float,
    lower: Any = 0,
    upper: Any = np.inf,
) -> Any:
    """Highest level in (lower, upper] with a run that holds a window, else `lower`."""
    inside = (heights > lower) & (heights <= upper)
    levels = np.unique(heights[inside])
    low, high = 0, len(levels)  # levels[:low] hold a window, levels[high:] do not
    while low < high:
        middle = (low + high) // 2
        first, last = _runs(heights >= levels[middle])
        if _holds_window(scores, first, last, epsilon).any():
            low = middle + 1
        else:
            high = middle
    return levels[low - 1] if low else lower


def _runs(above: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First piece of each run of true values, and the piece after its last."""
    changes = np.flatnonzero(above[1:] != above[:-1]) + 1
    if above[0]:
        changes = np.concatenate([[0], changes])
    if len(changes) % 2:
        changes = np.append(changes, len(above))
    return changes[0::2], changes[1::2]


def _holds_window(
    scores: NDArray[np.float64],
    first: NDArray[np.intp],
    last: NDArray[np.intp],
    epsilon: float,
) -> NDArray[np.bool_]:
    """Which runs are long enough to hold a window."""
    holds = scores[last] - scores[first] > 2 * epsilon + ROUNDING
    if len(first) and scores[first[0]] == 0:
        holds[0] |= scores[last[0]] > epsilon + ROUNDING
    return holds


def _ranges(first: NDArray[np.intp], last: NDArray[np.intp]) -> NDArray[np.intp]:
    """All integers of the half-open ranges, one range after the other."""
    lengths = last - first
    offsets = np.cumsum(lengths) - lengths
    positions: NDArray[np.intp] = np.arange(lengths.sum())
    positions += np.repeat(first - offsets, lengths)
    return positions

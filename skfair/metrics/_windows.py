"""Windows of scores over which a gap is sustained, in which MCDP(epsilon) looks.

A gap of two CDFs is a step function: piece i of it has a height from score i to the
next one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import minimum_filter1d

from skfair._utils._arrays import Bools, Floats, Integers
from skfair.metrics._pairs import largest_of_rows
from skfair.statistics._distributions import Gap

#: Lengths this close to a window's may be equal to it: scores and windows such as
#: 0.8 - 0.6 against 2 * 0.1 carry a few units of rounding each.
_LENGTH_ROUNDING = 4 * 2.0**-53
#: Differences of decimal scores are decimal again to this many places.
_DECIMALS = 15
#: Pieces that are bounded together before single pieces are evaluated.
_BLOCK = 64


def sustained_gap(gap: Gap, epsilon: float = 0.0) -> float:
    """Return MCDP of one gap: the largest gap that lasts over a window.

    A window ``[a, a + 2 epsilon]`` inside [0, 1] is closed, and pieces of the gap are
    half-open, so that a run of pieces contains the window only if the run is longer. A
    window centred at 0 is cut to ``[0, epsilon]``: it is the only window that does not
    reach 1 where epsilon is above 0.5. In a window that reaches 1, the smallest gap is
    0.
    """
    if epsilon == 0:
        return float(np.abs(gap.signed).max() / gap.scale)
    return float(_sustained(gap.scores, np.abs(gap.signed), epsilon) / gap.scale)


def _sustained(scores: Floats, heights: NDArray[Any], epsilon: float) -> Any:
    """Bound the sustained gap by blocks of pieces, then search between both bounds."""
    starts = np.arange(0, len(scores), _BLOCK)
    edges = np.append(scores[starts], scores[-1])
    lower = _highest(edges, np.minimum.reduceat(heights, starts), epsilon)
    upper = _highest(edges, np.maximum.reduceat(heights, starts), epsilon)
    if lower == upper:
        return lower
    first, last = _runs_of_true(heights > lower)
    fits = _fits_window(scores, first, last, epsilon)
    pieces = _ranges(first[fits], last[fits] + 1)
    if not len(pieces):
        return lower
    return max(lower, _highest(scores[pieces], heights[pieces], epsilon, lower, upper))


def _highest(
    scores: Floats,
    heights: NDArray[Any],
    epsilon: float,
    lower: Any = 0,
    upper: Any = np.inf,
) -> Any:
    """Return the largest height that the gap keeps over a whole window."""
    inside = (heights > lower) & (heights <= upper)
    candidates = np.unique(heights[inside])
    # A window fits at candidates[:low], and at none of candidates[high:].
    low, high = 0, len(candidates)
    while low < high:
        middle = (low + high) // 2
        first, last = _runs_of_true(heights >= candidates[middle])
        if _fits_window(scores, first, last, epsilon).any():
            low = middle + 1
        else:
            high = middle
    return candidates[low - 1] if low else lower


def sustained_at(scores: Floats, epsilon: float) -> Callable[[Floats], Floats]:
    """Return a function that computes MCDP(epsilon) of gaps, a row for each.

    MCDP(epsilon) is the largest over windows of the smallest gap in a window. The best
    window starts where a piece does. A range of pieces is the union of two overlapping
    ranges whose length is a power of two: its smallest gap is the smaller of the
    smallest gaps of these two.
    """
    if epsilon == 0:
        return largest_of_rows
    starts, stops = _windows(scores, epsilon)
    powers = np.frexp(stops - starts)[1] - 1
    ranges = [
        (starts[powers == j], stops[powers == j] - 2**j)
        for j in range(powers.max(initial=-1) + 1)
    ]
    return partial(_largest_sustained, ranges=ranges)


def _largest_sustained(
    apart: Floats, ranges: Sequence[tuple[Integers, Integers]]
) -> Floats:
    """Return, for each row of gaps, the largest of the smallest gaps in windows."""
    values = np.zeros(len(apart))
    for j, (begin, end) in enumerate(ranges):
        if j:
            apart = np.minimum(apart[:, : -(2 ** (j - 1))], apart[:, 2 ** (j - 1) :])
        if len(begin):
            inside = np.minimum(apart[:, begin], apart[:, end]).max(axis=1)
            np.maximum(values, inside, out=values)
    return values


def _windows(scores: Floats, epsilon: float) -> tuple[Integers, Integers]:
    """Return the first piece of each window, and the end of the pieces that hold it.

    Windows that reach beyond the last score, where every gap is 0, are left out.
    """
    starts = np.arange(len(scores))
    reach = scores + 2 * epsilon
    if scores[0] == 0:
        reach[0] = epsilon  # a window may be cut at 0
    stops = np.searchsorted(scores, reach - 4 * _LENGTH_ROUNDING, side="left")
    while True:
        inside = stops < len(scores)
        starts, stops = starts[inside], stops[inside]
        short = ~_fits_window(scores, starts, stops, epsilon)
        if not short.any():
            return starts, stops
        stops = stops + short


def approximate_sustained_gap(gap: Gap, epsilon: float, n_subdivisions: int) -> float:
    """Compute MCDP by algorithm 2 of the paper, on a grid of windows."""
    # Rounding must not add a point where epsilon / n_subdivisions divides 1. The window
    # at 0 has its last point, though, at 1 too.
    n_points = math.ceil(n_subdivisions / epsilon * (1 - _LENGTH_ROUNDING))
    n_points = max(n_points, n_subdivisions + 1)
    points = np.arange(n_points) * (epsilon / n_subdivisions)
    heights = np.append(0, np.abs(gap.signed))  # both CDFs are 0 below all scores
    seen = heights[np.searchsorted(gap.scores, points, side="right")]
    best = seen[: n_subdivisions + 1].min()
    window = 2 * n_subdivisions
    if n_points > window:
        # Index i is the smallest over points i - window // 2, ..., i + window // 2 - 1.
        minima = minimum_filter1d(seen, window, mode="nearest")
        first = 1 + n_subdivisions
        best = max(best, minima[first : first + n_points - window].max())
    return float(best / gap.scale)


def roomiest_window(
    scores: Floats, above: Bools, epsilon: float
) -> tuple[float, float]:
    """Centre a window in the run of pieces that leaves it the most room."""
    first, last = _runs_of_true(above)
    starts, stops = scores[first], scores[last]
    room = (stops - starts) / 2
    room[starts == 0] = stops[starts == 0]  # a window may be cut at 0
    run = int(room.argmax())
    start, stop = float(starts[run]), float(stops[run])
    if start == 0 and stop <= 2 * epsilon:
        return 0.0, epsilon
    left = (start + stop) / 2 - epsilon
    return left, left + 2 * epsilon


def gap_profile(gap: Gap) -> tuple[Floats, Floats]:
    """Return the sustained gap as a right-continuous step function of epsilon.

    Each piece is extended left and right while the gap stays at least as large: the
    longest run of at least its height. The profile is the upper envelope of these runs
    over half their lengths.
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
    # MCDP(0) sees every piece, however short: none may end at epsilon 0.
    reach = np.maximum(_remove_rounding(reach), np.nextafter(0, 1))
    order = np.argsort(reach)
    values = np.maximum.accumulate(heights[positive][order][::-1])[::-1] / gap.scale
    return merge_steps(np.concatenate([[0.0], reach[order]]), np.append(values, 0.0))


def merge_steps(epsilons: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Drop steps of no width or no height."""
    inside = np.append(epsilons[:-1] < epsilons[1:], True)
    epsilons, values = epsilons[inside], values[inside]
    falls = np.append(True, values[1:] < values[:-1])
    return epsilons[falls], values[falls]


def _previous_lower(heights: NDArray[Any]) -> NDArray[np.integer]:
    """Return the nearest earlier position with a smaller value, else -1.

    All positions ascend a tree of block minima at once, until the block before the
    position contains a smaller value. Then they descend to the last smaller value in
    this block.
    """
    minima = [heights]
    while len(minima[-1]) > 1:
        level = minima[-1]
        pairs = np.minimum(level[: len(level) // 2 * 2 : 2], level[1::2])
        minima.append(pairs if len(level) % 2 == 0 else np.append(pairs, level[-1]))
    reached: list[tuple[NDArray[Any], NDArray[Any]]] = []
    small = np.int32 if len(heights) < 2**31 else np.int64
    rows: NDArray[Any] = np.arange(len(heights), dtype=small)
    ends = rows  # blocks before this one are not searched yet
    for level in minima:
        odd = (ends & 1).astype(bool)
        blocks = ends - odd
        lower = odd & (level[blocks] < heights[rows])
        reached.append((rows[lower], blocks[lower]))
        going = ~lower & (blocks > 0)
        rows, ends = rows[going], ends[going] >> 1
    result: NDArray[Any] = np.full(len(heights), -1, dtype=small)
    rows, blocks = reached[-1]
    for level, (more_rows, more_blocks) in zip(
        minima[-2::-1], reached[-2::-1], strict=True
    ):
        blocks = 2 * blocks + 1
        blocks -= ~(level[blocks] < heights[rows])
        rows = np.concatenate([rows, more_rows])
        blocks = np.concatenate([blocks, more_blocks])
    result[rows] = blocks
    return result


def _fits_window(
    scores: Floats, first: Integers, last: Integers, epsilon: float
) -> Bools:
    """Return which runs are long enough for a window."""
    halves = (scores[last] - scores[first]) / 2
    if len(first) and scores[first[0]] == 0:
        halves[0] = scores[last[0]]
    fits = halves > epsilon + _LENGTH_ROUNDING
    close = (halves >= epsilon - _LENGTH_ROUNDING) > fits
    if close.any():  # seldom
        fits[close] = _remove_rounding(halves[close]) > epsilon
    return np.asarray(fits)


def _remove_rounding(halves: Floats) -> Floats:
    """Return the smallest epsilon whose window does not fit into runs of a half length.

    (0.8 - 0.6) / 2 exceeds 0.1 by rounding only: no window of 0.1 fits into it. Half
    lengths that are not decimals may have been rounded up, and are made smaller; 1/7 is
    just below a number of 15 decimals, but is not that number.
    """
    decimal = np.round(halves, _DECIMALS)
    excess = halves - decimal
    near = (excess >= 0) & (excess <= _LENGTH_ROUNDING / 2) & (decimal > 0)
    return np.where(near, decimal, halves - _LENGTH_ROUNDING / 2)


def _runs_of_true(above: Bools) -> tuple[Integers, Integers]:
    """Return first piece of each run of true values, and the piece after its last."""
    changes = np.flatnonzero(above[1:] != above[:-1]) + 1
    if above[0]:
        changes = np.concatenate([[0], changes])
    if len(changes) % 2:
        changes = np.append(changes, len(above))
    return changes[0::2], changes[1::2]


def _ranges(first: Integers, last: Integers) -> Integers:
    """Return all integers of the half-open ranges, one range after the other."""
    lengths = last - first
    offsets = np.cumsum(lengths) - lengths
    positions: Integers = np.arange(lengths.sum())
    positions += np.repeat(first - offsets, lengths)
    return positions

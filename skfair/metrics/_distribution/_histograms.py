"""MADD of many gaps for many bandwidths, and the bandwidths where it is stable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfair._utils._types import Floats, Integers
from skfair.metrics._distribution._gap import Pair, compared_pairs
from skfair.metrics._inputs import Multigroup
from skfair.statistics import GroupedScores
from skfair.statistics._grouped_scores import MAX_EXACT, Gap, gap_between

#: Variances below this are rounding noise of the running sums, and count as zero.
_NO_VARIANCE = 1e-14

#: Bandwidths 1, 1/2, ..., 1/500 are searched, as in the tables of the paper.
N_BANDWIDTHS = 500
#: Groups whose bins are kept at a time, a megabyte each for 500 bandwidths.
_BLOCK = 128


def bandwidths_to_one(n_bandwidths: int) -> Floats:
    """All bandwidths that matter, increasing: 1 / n_bandwidths, ..., 1 / 2, 1."""
    return 1 / bin_numbers(n_bandwidths)


def bin_numbers(n_bandwidths: int) -> Integers:
    """Numbers of bins of the histograms: n_bandwidths, ..., 2, 1."""
    return np.arange(n_bandwidths, 0, -1)


class GapCurve(NamedTuple):
    """MADD of one pair for n_bandwidths, ..., 2, 1 bins, and both total weights."""

    pair: Pair
    totals: tuple[float, float]
    values: Floats


def gap_curves(
    statistic: GroupedScores, pairs: Sequence[Pair], n_bandwidths: int
) -> Iterator[GapCurve]:
    """MADD of each pair; the pairs are in another order where groups are many."""
    n_bins = bin_numbers(n_bandwidths)
    if len(pairs) == 1:
        gap = gap_between(statistic, *pairs[0])
        yield GapCurve(pairs[0], gap.totals, histogram_distances(gap, n_bins))
        return
    starts = first_edges(n_bins)
    totals, everything = statistic.totals, statistic.totals.sum()
    exact = statistic.weights.dtype.kind == "i" and float(everything) ** 2 < MAX_EXACT

    @lru_cache(maxsize=2 * _BLOCK)
    def in_bins(group: int | None) -> NDArray[Any]:
        scores, weights = statistic.scores, statistic.weights
        if group is not None:
            scores, weights = statistic.of_group(group)
        below, _ = bin_edges(scores, n_bins)
        heights = np.concatenate([[0], np.cumsum(weights)])[below]
        # Divided by the last height, not by its total, it ends at 1 without rounding.
        return bin_changes(heights if exact else heights / heights[-1], starts)

    if statistic.n_groups > 2 * _BLOCK:
        pairs = sorted(pairs, key=_block)
    for first, second in pairs:
        ours, theirs = totals[first], everything if second is None else totals[second]
        up, down = (theirs, ours) if exact else (1, 1)
        changes = in_bins(first) * up
        changes -= in_bins(second) * down
        values = bin_distances(changes, starts, up * down)
        yield GapCurve((first, second), (ours, theirs), values)


def _block(pair: Pair) -> tuple[int, int]:
    first, second = pair
    return first // _BLOCK, 0 if second is None else second // _BLOCK


def histogram_distances(gap: Gap, n_bins: Integers) -> Floats:
    """Sum over bins of the absolute change of one gap, for each number of bins."""
    below, starts = bin_edges(gap.scores, n_bins)
    at_edges = np.append(gap.signed, 0)[below - 1]  # index -1, below all: no gap
    return bin_distances(bin_changes(at_edges, starts), starts, gap.scale)


def bin_changes(
    at_edges: NDArray[Any], starts: Integers, out: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Change in the bin after each edge; 0 after the last edge of each histogram."""
    changes = np.empty_like(at_edges) if out is None else out
    np.subtract(at_edges[1:], at_edges[:-1], out=changes[:-1])
    changes[starts[1:] - 1] = 0
    changes[-1] = 0
    return changes


def bin_distances(
    changes: NDArray[Any], starts: Integers, scale: float = 1.0
) -> Floats:
    """Sum of the absolute changes in each histogram, which are overwritten."""
    sums = np.add.reduceat(np.abs(changes, out=changes), starts)
    return np.minimum(sums / scale, 2.0)  # rounding may exceed 2


def first_edges(n_bins: Integers) -> Integers:
    """Position of the first edge of each histogram among the edges of all."""
    return np.asarray(np.cumsum(n_bins + 1) - (n_bins + 1))


def bin_edges(scores: Floats, n_bins: Integers) -> tuple[Integers, Integers]:
    """How many sorted scores lie below each edge, and where each histogram starts.

    All scores lie below the last edge of each histogram, whose last bin is closed.
    """
    starts = first_edges(n_bins)
    widths = np.repeat(n_bins, n_bins + 1)
    positions = np.arange(len(widths)) - np.repeat(starts, n_bins + 1)
    # Bins are closed on the left: an edge counts what lies strictly below it.
    below = np.searchsorted(scores, positions / widths, side="left")
    below[positions == widths] = len(scores)
    return below, starts


class StableInterval(NamedTuple):
    """Half-open range of positions in a list of bandwidths, and the values in it."""

    start: int
    stop: int
    mean: float
    std: float


def most_stable(
    statistic: GroupedScores,
    multigroup: Multigroup,
    n_bandwidths: int,
    search: Callable[[Floats, tuple[float, float]], StableInterval],
) -> tuple[GapCurve, StableInterval]:
    """Stable interval of the pair of groups with the largest mean of MADD over it."""
    pairs = compared_pairs(statistic.n_groups, multigroup)
    curves = gap_curves(statistic, pairs, n_bandwidths)
    found = ((curve, search(curve.values, curve.totals)) for curve in curves)
    return max(found, key=lambda curve_and_interval: curve_and_interval[1].mean)


def optimal_order(totals: tuple[float, float]) -> float:
    """Order of magnitude of the best bandwidth, h_sup in Theorem 2 of the paper."""
    first, second = np.sqrt(totals[0]), np.sqrt(totals[1])
    return float(((first + second) / (first * second)) ** (2 / 3))


def stable_interval(
    values: Floats,
    totals: tuple[float, float],
    *,
    min_points: int = 50,
    min_length: float = 0.45,
) -> StableInterval:
    """Algorithm 1 of the MADD paper, for all eligible intervals at once.

    `values` belong to the bandwidths 1 / n_values, ..., 1 / 2, 1. Of the intervals with
    the smallest standard deviation it is the first.
    """
    n_values = len(values)
    bandwidths = bandwidths_to_one(n_values)
    length = optimal_order(totals) * min_length
    starts = np.arange(max(n_values - min_points, 0))
    starts = starts[bandwidths[starts] <= bandwidths[-1] - length]
    if not len(starts):
        raise ValueError(
            f"no interval of {min_points} bandwidths and length {length:.3g} lies in "
            f"[{bandwidths[0]:.3g}, {bandwidths[-1]:.3g}]: the groups, of total weight "
            f"{totals[0]:.6g} and {totals[1]:.6g}, are too small for bandwidth='auto'."
        )
    first_stop = np.searchsorted(bandwidths, bandwidths[starts] + length) - 1
    first_stop = np.maximum(first_stop, starts + min_points)
    sums, squares = _running(values - values.mean())
    stops = np.arange(first_stop.min(), n_values)  # no interval ends before
    sizes = stops - starts[:, None]
    eligible = stops >= first_stop[:, None]
    sizes[~eligible] = 1
    variances: Any = (squares[stops] - squares[starts, None]) / sizes
    variances -= ((sums[stops] - sums[starts, None]) / sizes) ** 2
    variances[variances < _NO_VARIANCE] = 0
    variances[~eligible] = np.inf
    row, column = np.unravel_index(np.argmin(variances), variances.shape)
    stop = stops[column]
    inside = values[starts[row] : stop]
    return StableInterval(
        int(starts[row]), int(stop), float(inside.mean()), float(inside.std())
    )


def _running(values: Floats) -> tuple[Any, Any]:
    """Sum the first 0, 1, ..., n values, and their squares."""
    return (
        np.concatenate([[0], np.cumsum(values)]),
        np.concatenate([[0], np.cumsum(values**2)]),
    )

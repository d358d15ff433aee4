"""MADD of many gaps for many bandwidths, with one look-up of bin edges a group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfair.metrics._distribution._gap import Pair
from skfair.statistics import GroupedScores
from skfair.statistics._grouped_scores import MAX_EXACT, Gap, gap_between

#: Bandwidths 1, 1/2, ..., 1/500 are searched, as in the tables of the paper.
N_BANDWIDTHS = 500
#: Groups whose bins are kept at a time, a megabyte each for 500 bandwidths.
_BLOCK = 128


def bandwidths_to_one(n_bandwidths: int) -> NDArray[np.float64]:
    """All bandwidths that matter, increasing: 1 / n_bandwidths, ..., 1 / 2, 1."""
    return 1 / bin_numbers(n_bandwidths)


def bin_numbers(n_bandwidths: int) -> NDArray[np.intp]:
    """Numbers of bins of the histograms: n_bandwidths, ..., 2, 1."""
    return np.arange(n_bandwidths, 0, -1)


class GapCurve(NamedTuple):
    """MADD of one pair for n_bandwidths, ..., 2, 1 bins, and both total weights."""

    pair: Pair
    totals: tuple[float, float]
    values: NDArray[np.float64]


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


def histogram_distances(gap: Gap, n_bins: NDArray[np.intp]) -> NDArray[np.float64]:
    """Sum over bins of the absolute change of one gap, for each number of bins."""
    below, starts = bin_edges(gap.scores, n_bins)
    at_edges = np.append(gap.signed, 0)[below - 1]  # index -1, below all: no gap
    return bin_distances(bin_changes(at_edges, starts), starts, gap.scale)


def bin_changes(
    at_edges: NDArray[Any], starts: NDArray[np.intp], out: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Change in the bin after each edge; 0 after the last edge of each histogram."""
    changes = np.empty_like(at_edges) if out is None else out
    np.subtract(at_edges[1:], at_edges[:-1], out=changes[:-1])
    changes[starts[1:] - 1] = 0
    changes[-1] = 0
    return changes


def bin_distances(
    changes: NDArray[Any], starts: NDArray[np.intp], scale: float = 1.0
) -> NDArray[np.float64]:
    """Sum of the absolute changes in each histogram, which are overwritten."""
    sums = np.add.reduceat(np.abs(changes, out=changes), starts)
    return np.minimum(sums / scale, 2.0)  # rounding may exceed 2


def first_edges(n_bins: NDArray[np.intp]) -> NDArray[np.intp]:
    """Position of the first edge of each histogram among the edges of all."""
    return np.asarray(np.cumsum(n_bins + 1) - (n_bins + 1))


def bin_edges(
    scores: NDArray[np.float64], n_bins: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
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

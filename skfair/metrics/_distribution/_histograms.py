"""MADD of many gaps for many bandwidths, with one look-up of bin edges a group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfair.statistics import GroupedScores
from skfair.statistics._grouped_scores import MAX_EXACT, Gap, gap_between

#: Bandwidths 1, 1/2, ..., 1/500 are searched, as in the tables of the paper.
N_BANDWIDTHS = 500
#: Groups whose bins are kept at a time, a megabyte each for 500 bandwidths.
_BLOCK = 128


def bandwidths_to_one(n_bandwidths: int) -> NDArray[np.float64]:
    """Bandwidths that matter, 1 / n_bandwidths, ..., 1 / 2, 1.

    Parameters
    ----------
    n_bandwidths : int

    Returns
    -------
    ndarray of shape (n_bandwidths,), increasing
    """
    return 1 / np.arange(n_bandwidths, 0, -1)


class GapCurve(NamedTuple):
    """MADD of two groups, or of one and everyone (None), for a range of bandwidths.

    Attributes
    ----------
    first : int
    second : int or None
    totals : tuple of two numbers
        Total weights of both.
    values : ndarray of shape (n_bandwidths,)
        For n_bandwidths, ..., 2, 1 bins.
    """

    first: int
    second: int | None
    totals: tuple[float, float]
    values: NDArray[np.float64]


def gap_curves(
    statistic: GroupedScores,
    compared: Sequence[tuple[int, int | None]],
    n_bandwidths: int,
) -> Iterator[GapCurve]:
    """MADD of each of the gaps that are compared.

    Parameters
    ----------
    statistic : GroupedScores
    compared : sequence of (int, int or None)
        Positions of groups that have weight.
    n_bandwidths : int

    Yields
    ------
    GapCurve
        In another order where there are very many groups.
    """
    n_bins = np.arange(n_bandwidths, 0, -1)
    if len(compared) == 1:
        gap = gap_between(statistic, *compared[0])
        yield GapCurve(*compared[0], gap.totals, histogram_distances(gap, n_bins))
        return
    starts = first_edges(n_bins)
    totals, everything = statistic.totals, statistic.totals.sum()
    exact = statistic.weights.dtype.kind == "i" and float(everything) ** 2 < MAX_EXACT

    @lru_cache(maxsize=2 * _BLOCK)
    def in_bins(group: int | None) -> NDArray[Any]:
        heights = _heights_at_edges(statistic, group, n_bins)
        # Divided by the last height, not by its total, it ends at 1 without rounding.
        return _in_bins(heights if exact else heights / heights[-1], starts)

    if statistic.n_groups > 2 * _BLOCK:
        compared = sorted(compared, key=_block)
    for first, second in compared:
        ours, theirs = totals[first], everything if second is None else totals[second]
        up, down = (theirs, ours) if exact else (1, 1)
        changes = in_bins(first) * up
        changes -= in_bins(second) * down
        values = _distances(changes, starts, up * down)
        yield GapCurve(first, second, (ours, theirs), values)


def _block(groups: tuple[int, int | None]) -> tuple[int, int]:
    first, second = groups
    return first // _BLOCK, 0 if second is None else second // _BLOCK


def _heights_at_edges(
    statistic: GroupedScores, group: int | None, n_bins: NDArray[np.intp]
) -> NDArray[Any]:
    """Weight below each edge of each histogram, at the last edge all weight."""
    scores, weights = statistic.scores, statistic.weights
    if group is not None:
        scores, weights = statistic.of_group(group)
    below, _ = bin_edges(scores, n_bins)
    return np.asarray(np.concatenate([[0], np.cumsum(weights)])[below])


def histogram_distances(gap: Gap, n_bins: NDArray[np.intp]) -> NDArray[np.float64]:
    """Sum over bins of the absolute change of one gap, for each number of bins.

    Parameters
    ----------
    gap : Gap
    n_bins : ndarray of shape (n_histograms,)

    Returns
    -------
    ndarray of shape (n_histograms,)
    """
    below, starts = bin_edges(gap.scores, n_bins)
    at_edges = np.append(gap.signed, 0)[below - 1]  # index -1, below all: no gap
    return _distances(_in_bins(at_edges, starts), starts, gap.scale)


def _in_bins(at_edges: NDArray[Any], starts: NDArray[np.intp]) -> NDArray[Any]:
    """Change in the bin after each edge; 0 after the last one of each histogram."""
    changes = np.diff(at_edges, append=0)
    changes[np.append(starts[1:], len(at_edges)) - 1] = 0
    return changes


def _distances(
    changes: NDArray[Any], starts: NDArray[np.intp], scale: float
) -> NDArray[np.float64]:
    """Sum of the absolute changes in each histogram, which are overwritten."""
    sums = np.add.reduceat(np.abs(changes, out=changes), starts)
    return np.minimum(sums / scale, 2.0)  # rounding may exceed 2


def first_edges(n_bins: NDArray[np.intp]) -> NDArray[np.intp]:
    """Position of the first edge of each histogram among the edges of all.

    Parameters
    ----------
    n_bins : ndarray of shape (n_histograms,)

    Returns
    -------
    ndarray of shape (n_histograms,)
    """
    return np.asarray(np.cumsum(n_bins + 1) - (n_bins + 1))


def bin_edges(
    scores: NDArray[np.float64], n_bins: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where the edges of bins fall among sorted scores, for each number of bins.

    Parameters
    ----------
    scores : ndarray of shape (n_scores,), increasing
    n_bins : ndarray of shape (n_histograms,)

    Returns
    -------
    below : ndarray of shape (n_edges,)
        How many scores lie below each edge; all of them below the last edge of each
        histogram, whose last bin is closed.
    starts : ndarray of shape (n_histograms,)
        First edge of each histogram.
    """
    starts = first_edges(n_bins)
    widths = np.repeat(n_bins, n_bins + 1)
    positions = np.arange(len(widths)) - np.repeat(starts, n_bins + 1)
    # Bins are closed on the left: an edge counts what lies strictly below it.
    below = np.searchsorted(scores, positions / widths, side="left")
    below[positions == widths] = len(scores)
    return below, starts

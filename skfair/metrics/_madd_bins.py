"""Histograms of many bandwidths, and the interval where MADD is most stable."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfair._utils._arrays import Floats, Integers, quotients
from skfair._utils._validation import check_real
from skfair.metrics._inputs import Multigroup
from skfair.metrics._pairs import Pair, compared_pairs, measure_apart
from skfair.statistics._distributions import MAX_EXACT, Distributions, Gap, gap_between

#: Variances below this are rounding noise of the running sums, and count as zero.
_NO_VARIANCE = 1e-14
#: Bandwidths 1, 1/2, ..., 1/500 are searched, as in the tables of the paper.
N_BANDWIDTHS = 500
#: Products below this, and sums of two of them, need half the memory as integers.
_MAX_SHORT = 2**30
#: Groups whose bins are kept at a time, a megabyte each for 500 bandwidths.
_MAX_KEPT = 256
#: Cells of groups and bins that are counted at once.
_MOST_CELLS = 2**22
#: Finer bins than this cannot tell more floats in [0, 1] apart.
_MAX_BINS = 2**53


def is_automatic(bandwidth: Any) -> bool:
    """Return whether the data choose a bandwidth."""
    return isinstance(bandwidth, str) and bandwidth == "auto"


def histogram_gaps(
    statistic: Distributions, n_bins: int, multigroup: Multigroup
) -> Floats:
    """Return the distance of the two histograms in each comparison of groups."""
    n_groups = statistic.n_groups
    if n_groups * n_bins > _MOST_CELLS:
        pairs = compared_pairs(n_groups, multigroup)
        gaps = (gap_between(statistic, *pair) for pair in pairs)
        return np.array([histogram_distance(gap, n_bins) for gap in gaps])
    cells = statistic.codes * np.intp(n_bins)
    cells += bin_scores(statistic.scores, n_bins).astype(np.intp)
    sums: Any = np.bincount(cells, statistic.weights, n_groups * n_bins)
    weights = sums.reshape(n_groups, n_bins)
    if multigroup == "pooled":
        weights = np.vstack([weights, weights.sum(axis=0)])
    shares = quotients(weights, weights.sum(axis=1, keepdims=True))
    return measure_apart(shares, multigroup, lambda apart: apart.sum(axis=1))


def count_bins(bandwidth: Any) -> int:
    """Return the number of bins of a width that fit into [0, 1]."""
    width = check_real(
        "bandwidth", bandwidth, 0, 1, closed="right", alternative="'auto' or "
    )
    # Without the margin floor(1 / (1 / m)) is m - 1 for some m.
    return math.floor(min(1 / width * (1 + 1e-12), _MAX_BINS))


def bin_scores(scores: Floats, n_bins: int) -> Floats:
    """Return the largest k below `n_bins` for which k / n_bins is at most the score."""
    bins = np.floor(scores * n_bins)
    bins += (bins + 1) / n_bins <= scores
    bins -= bins / n_bins > scores
    return np.minimum(bins, n_bins - 1, out=bins)


def histogram_distance(gap: Gap, n_bins: int) -> float:
    """Return the sum of the absolute differences between two histograms."""
    if n_bins <= len(gap.scores):
        return float(histogram_distances(gap, bin_edges(np.array([n_bins])))[0])
    bins = bin_scores(gap.scores, n_bins)
    last = np.append(bins[1:] != bins[:-1], True)
    changes = np.abs(np.diff(gap.signed[last], prepend=0))
    return min(2.0, float(changes.sum() / gap.scale))


@lru_cache
def bandwidths_to_one(n_bandwidths: int) -> Floats:
    """Return the bandwidths 1 / n_bandwidths, ..., 1 / 2, 1, increasing."""
    return 1 / bin_numbers(n_bandwidths)


def bin_numbers(n_bandwidths: int) -> Integers:
    """Return the numbers of bins of the histograms: n_bandwidths, ..., 2, 1."""
    return np.arange(n_bandwidths, 0, -1)


class GapCurve(NamedTuple):
    """MADD of a pair of groups for n_bandwidths, ..., 2, 1 bins."""

    pair: Pair
    effective_sizes: tuple[float, float]
    values: Floats


class Edges(NamedTuple):
    """Edges of the bins of several histograms, which have many edges in common."""

    #: The distinct edges of all histograms, increasing.
    distinct: Floats
    #: The position of each edge of each histogram among the distinct ones.
    places: Integers
    #: The position in `places` of the first edge of each histogram.
    starts: Integers


def gap_curves(
    statistic: Distributions, pairs: Sequence[Pair], n_bandwidths: int
) -> Iterator[GapCurve]:
    """Yield the MADD of each pair for all numbers of bins."""
    edges = all_bin_edges(n_bandwidths)
    sizes = statistic.effective_sizes.tolist()
    overall = statistic._effective_size

    def pair_sizes(pair: Pair) -> tuple[float, float]:
        """Return the effective sizes of two groups, or of a group and everyone."""
        return sizes[pair[0]], overall if pair[1] is None else sizes[pair[1]]

    if len(pairs) == 1:
        gap = gap_between(statistic, *pairs[0])
        values = histogram_distances(gap, edges)
        yield GapCurve(pairs[0], pair_sizes(pairs[0]), values)
        return
    totals, everything = statistic.totals, statistic.totals.sum()
    # Products of whole totals, and sums of two of them, are exact.
    exact = statistic.weights.dtype.kind == "i" and float(everything) ** 2 < MAX_EXACT
    small = np.int32 if float(everything) ** 2 < _MAX_SHORT else np.int64
    dtype: Any = small if exact else float

    @lru_cache(maxsize=_MAX_KEPT)
    def bin_weights(group: int | None) -> NDArray[Any]:
        """Return the weights of a group in all bins, or its shares if inexact."""
        scores, weights = statistic.select_group(group)
        heights = np.append(0, np.cumsum(weights)).astype(dtype)
        # By the last height, not by the total, it ends at 1 without rounding.
        return bin_changes(scores, heights if exact else heights / heights[-1], edges)

    # Memory that is asked for once: a megabyte takes as long as a sum.
    changes, lowered = np.empty((2, len(edges.places)), dtype)
    for pair in pairs:
        first, second = pair
        ours, theirs = totals[first], everything if second is None else totals[second]
        up, down = (dtype(theirs), dtype(ours)) if exact else (1, 1)
        np.multiply(bin_weights(first), up, out=changes)
        np.multiply(bin_weights(second), down, out=lowered)
        np.subtract(changes, lowered, out=changes)
        scale = float(up) * float(down)
        values = bin_distances(changes, edges, scale)
        yield GapCurve(pair, pair_sizes(pair), values)


def bin_edges(n_bins: Integers) -> Edges:
    """Return the edges of histograms with these numbers of bins."""
    starts = np.asarray(np.cumsum(n_bins + 1) - (n_bins + 1))
    widths = np.repeat(n_bins, n_bins + 1)
    edges = (np.arange(len(widths)) - np.repeat(starts, n_bins + 1)) / widths
    order = np.argsort(edges, kind="stable")  # merges runs, which histograms are
    distinct = edges[order]
    new = np.diff(distinct, prepend=-1) > 0
    places = np.empty(len(edges), dtype=np.intp)
    places[order] = np.cumsum(new) - 1
    distinct = distinct[new]
    distinct[-1] = np.inf  # the last bin is closed
    return Edges(distinct, places, starts)


@lru_cache(maxsize=1)  # the edges of the paper take longer than small tables
def all_bin_edges(n_bandwidths: int) -> Edges:
    """Return the edges of histograms of n_bandwidths, ..., 2, 1 bins."""
    return bin_edges(bin_numbers(n_bandwidths))


def histogram_distances(gap: Gap, edges: Edges) -> Floats:
    """Sum over bins of the absolute change of one gap, for each number of bins."""
    heights = np.concatenate([gap.signed[:1] * 0, gap.signed])
    return bin_distances(bin_changes(gap.scores, heights, edges), edges, gap.scale)


def bin_changes(scores: Floats, sums: NDArray[Any], edges: Edges) -> NDArray[Any]:
    """Return the change of a running sum from each edge to the next, 0 at the last.

    `sums` has one entry more than the sorted `scores`: the sum before the first score,
    and the sum after each score.
    """
    distinct, places, starts = edges
    # Bins are closed on the left: an edge counts what lies strictly below it.
    if len(scores) > len(distinct):
        sums_below = sums[np.searchsorted(scores, distinct, side="left")]
    else:
        first = np.searchsorted(distinct, scores, side="right")
        lengths = np.diff(first, prepend=0, append=len(distinct))
        sums_below = np.repeat(sums, lengths)
    at_edges = sums_below.take(places, mode="clip")
    changes = np.empty_like(at_edges)
    np.subtract(at_edges[1:], at_edges[:-1], out=changes[:-1])
    changes[starts[1:] - 1] = 0
    changes[-1] = 0
    return changes


def bin_distances(changes: NDArray[Any], edges: Edges, scale: float) -> Floats:
    """Sum the absolute changes in each histogram; `changes` are overwritten."""
    np.abs(changes, out=changes)
    sums = np.add.reduceat(changes, edges.starts, dtype=changes.dtype)
    return np.minimum(sums / scale, 2.0)  # rounding may exceed 2


class StableInterval(NamedTuple):
    """Positions of the first and the last bandwidth of an interval, and its mean."""

    first: int
    last: int
    mean: float


def most_stable(
    statistic: Distributions,
    multigroup: Multigroup,
    n_bandwidths: int,
    search: Callable[[Floats, tuple[float, float]], StableInterval],
) -> tuple[GapCurve, StableInterval]:
    """Find the pair with the largest mean MADD over its stable interval."""
    pairs = compared_pairs(statistic.n_groups, multigroup)
    curves = gap_curves(statistic, pairs, n_bandwidths)
    best = next(curves)
    stable = search(best.values, best.effective_sizes)
    for curve in curves:
        if curve.values.max() <= stable.mean:
            continue  # no mean over an interval is larger
        interval = search(curve.values, curve.effective_sizes)
        if interval.mean > stable.mean:
            best, stable = curve, interval
    return best, stable


def optimal_order(sizes: tuple[Any, Any]) -> Any:
    """Return the order of magnitude of the best bandwidth, h_sup of Theorem 2."""
    first, second = np.sqrt(sizes[0]), np.sqrt(sizes[1])
    return ((first + second) / (first * second)) ** (2 / 3)


def stable_interval(
    values: Floats,
    n_rows: tuple[float, float],
    *,
    min_points: int = 50,
    min_length: float = 0.45,
) -> StableInterval:
    """Find the stable interval by algorithm 1 of the MADD paper.

    `values` belong to the bandwidths 1 / n_values, ..., 1 / 2, 1. All intervals are
    compared at once, and contain both their ends. If several have the smallest standard
    deviation, the first one is returned.
    """
    first, last, sizes = _eligible_intervals(
        len(values), n_rows, min_points, min_length
    )
    centred = values - values.mean()
    # Sums of the first 0, 1, ..., n values and of their squares.
    sums, squares = np.zeros((2, len(values) + 1))
    np.cumsum(centred, out=sums[1:])
    np.cumsum(centred**2, out=squares[1:])
    variances: Any = (squares[last + 1] - squares[first]) / sizes
    variances -= ((sums[last + 1] - sums[first]) / sizes) ** 2
    variances[variances < _NO_VARIANCE] = 0
    variances[sizes == np.inf] = np.inf
    row, column = divmod(int(variances.argmin()), len(last))
    start, end = int(first[row, 0]), int(last[column])
    return StableInterval(start, end, float(values[start : end + 1].mean()))


@lru_cache(maxsize=1)
def _eligible_intervals(
    n_values: int, n_rows: tuple[float, float], min_points: int, min_length: float
) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    """Return the first and last positions of intervals, and how many values each has.

    First positions form a column, last positions a row. The size of an interval that is
    not eligible is infinite.
    """
    bandwidths = bandwidths_to_one(n_values)
    length = optimal_order(n_rows) * min_length
    n_starts = np.searchsorted(bandwidths, bandwidths[-1] - length, side="right")
    starts = np.arange(min(int(n_starts), n_values - min_points))
    if not len(starts):
        raise ValueError(
            f"no interval of {min_points} bandwidths and length {length:.3g} lies in "
            f"[{bandwidths[0]:.3g}, {bandwidths[-1]:.3g}]: the groups, of "
            f"{n_rows[0]:.6g} and {n_rows[1]:.6g} rows, are too small for "
            "bandwidth='auto'."
        )
    shortest = np.searchsorted(bandwidths, bandwidths[starts] + length) - 1
    shortest = np.maximum(shortest, starts + min_points)
    first, last = starts[:, np.newaxis], np.arange(shortest.min(), n_values)
    sizes = (last - first + 1).astype(np.float64)
    sizes[last < shortest[:, np.newaxis]] = np.inf
    return first, last, sizes

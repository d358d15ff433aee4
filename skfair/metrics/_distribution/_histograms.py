"""MADD of many gaps for many bandwidths, and the bandwidths where it is stable."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
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
#: Products below this, and sums of two of them, need half the memory as integers.
_MAX_SHORT = 2**30
#: Numbers of bandwidths of which all are looked at first, and every fourth of others.
_N_DENSE, _EVERY = 160, 4
_SPARSE = np.arange(0, N_BANDWIDTHS - _N_DENSE, _EVERY)
_LOOKED_AT = np.append(_SPARSE, np.arange(N_BANDWIDTHS - _N_DENSE, N_BANDWIDTHS))
#: Least number of bandwidths of a stable interval, and its least length.
_LEAST = 50, 0.45
#: Variances that differ by less may be in another order by rounding.
_ROUNDING = 1e-11
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
    edges = edges_of_all(n_bandwidths)
    return _curves(statistic, pairs, edges, alone=len(pairs) == 1)


def _curves(
    statistic: GroupedScores, pairs: Sequence[Pair], edges: Edges, alone: bool
) -> Iterator[GapCurve]:
    """MADD of each pair, for the numbers of bins of some edges.

    A pair that is alone is computed in another way, which rounds in another way.
    """
    if alone:
        gap = gap_between(statistic, *pairs[0])
        yield GapCurve(pairs[0], gap.totals, histogram_distances(gap, edges))
        return
    totals, everything = statistic.totals, statistic.totals.sum()
    products = float(everything) ** 2  # of totals, and sums of two of them
    exact = statistic.weights.dtype.kind == "i" and products < MAX_EXACT
    dtype: type[Any] = float
    if exact:
        dtype = np.int32 if products < _MAX_SHORT else np.int64

    # Memory that is asked for once: a megabyte takes as long as a sum.
    many = statistic.n_groups > 2 * _BLOCK
    n_kept = 0 if many else statistic.n_groups + 1
    changes, lowered, at_edges, *kept = np.empty((3 + n_kept, len(edges.places)), dtype)

    @lru_cache(maxsize=2 * _BLOCK)
    def in_bins(group: int | None) -> NDArray[Any]:
        scores, weights = statistic.scores, statistic.weights
        if group is not None:
            scores, weights = statistic.of_group(group)
        heights = np.concatenate([[0], np.cumsum(weights)]).astype(dtype)
        if not exact:
            # By the last height, not by the total, it ends at 1 without rounding.
            heights = heights / heights[-1]
        out = None if many else kept[-1 if group is None else group]
        edges.at_edges(scores, heights, out=at_edges)
        return bin_changes(at_edges, edges.starts, out=out)

    if many:
        pairs = sorted(pairs, key=_block)
    for first, second in pairs:
        ours, theirs = totals[first], everything if second is None else totals[second]
        up, down = (theirs, ours) if exact else (1, 1)
        np.multiply(in_bins(first), dtype(up), out=changes)
        np.multiply(in_bins(second), dtype(down), out=lowered)
        np.subtract(changes, lowered, out=changes)
        values = bin_distances(changes, edges.starts, up * down)
        yield GapCurve((first, second), (ours, theirs), values)


def _block(pair: Pair) -> tuple[int, int]:
    first, second = pair
    return first // _BLOCK, 0 if second is None else second // _BLOCK


class Edges(NamedTuple):
    """Edges of the bins of several histograms, which share many of them.

    They are the distinct ones, increasing, the position among these of each edge of
    each histogram, and the position of the first edge of each histogram.
    """

    distinct: Floats
    places: Integers
    starts: Integers

    @classmethod
    def of(cls, n_bins: Integers) -> Edges:
        """Edges of histograms with these numbers of bins."""
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
        return cls(distinct, places, starts)

    def at_edges(
        self, scores: Floats, sums: NDArray[Any], out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Look up running sums at the edges of all histograms.

        `sums` has one entry more than the sorted `scores`: the sum before the first
        score, and the sum after each score.
        """
        # Bins are closed on the left: an edge counts what lies strictly below it.
        if len(scores) > len(self.distinct):
            below = np.searchsorted(scores, self.distinct, side="left")
            of_distinct = sums[below]
        else:
            first = np.searchsorted(self.distinct, scores, side="right")
            lengths = np.diff(first, prepend=0, append=len(self.distinct))
            of_distinct = np.repeat(sums, lengths)
        return of_distinct.take(self.places, mode="clip", out=out)


@cache
def _few_edges() -> Edges:
    """Edges of the histograms that `_stable_mean` looks at."""
    return Edges.of(bin_numbers(N_BANDWIDTHS)[_LOOKED_AT])


@cache
def _edges_of_the_paper() -> Edges:
    return Edges.of(bin_numbers(N_BANDWIDTHS))


def edges_of_all(n_bandwidths: int) -> Edges:
    """Edges of histograms of n_bandwidths, ..., 2, 1 bins."""
    if n_bandwidths == N_BANDWIDTHS:  # found once: it takes longer than small tables
        return _edges_of_the_paper()
    return Edges.of(bin_numbers(n_bandwidths))


def histogram_distances(gap: Gap, edges: Edges) -> Floats:
    """Sum over bins of the absolute change of one gap, for each number of bins."""
    heights = np.concatenate([gap.signed[:1] * 0, gap.signed])
    changes = bin_changes(edges.at_edges(gap.scores, heights), edges.starts)
    return bin_distances(changes, edges.starts, gap.scale)


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
    np.abs(changes, out=changes)
    sums = np.add.reduceat(changes, starts, dtype=changes.dtype)
    return np.minimum(sums / scale, 2.0)  # rounding may exceed 2


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
    best = next(curves)
    found = search(best.values, best.totals)
    for curve in curves:
        if curve.values.max() <= found.mean:
            continue  # no mean over an interval is larger
        interval = search(curve.values, curve.totals)
        if interval.mean > found.mean:
            best, found = curve, interval
    return best, found


def stable_mean(statistic: GroupedScores, multigroup: Multigroup) -> tuple[float, Pair]:
    """Mean of MADD over the stable interval that `most_stable` finds, and its pair.

    For most pairs a third of the histograms shows where that interval lies.
    """
    pairs = compared_pairs(statistic.n_groups, multigroup)
    if statistic.n_groups > 2 * _BLOCK:
        curve, interval = most_stable(
            statistic, multigroup, N_BANDWIDTHS, stable_interval
        )
        return interval.mean, curve.pair
    alone = len(pairs) == 1
    means = {
        curve.pair: _stable_mean(curve.values, curve.totals)
        for curve in _curves(statistic, pairs, _few_edges(), alone)
    }
    unknown = [pair for pair, mean in means.items() if mean is None]
    others = _curves(statistic, unknown, edges_of_all(N_BANDWIDTHS), alone)
    best, of_pair = -math.inf, pairs[0]
    for pair, mean in means.items():
        if mean is None:
            curve = next(others)
            if curve.values.max() <= best:
                continue  # no mean over an interval is larger
            mean = stable_interval(curve.values, curve.totals).mean
        if mean > best:
            best, of_pair = mean, pair
    return best, of_pair


@lru_cache(maxsize=2 * _BLOCK)
def _few_intervals(totals: tuple[float, float]) -> tuple[Any, ...] | None:
    """Intervals that few values tell apart; None if they are too short for that.

    They are the first and last positions in the few values, the sizes, infinite if not
    eligible, and bounds of the sizes of intervals that start before the dense values.
    """
    try:
        starts, stops, sizes = _eligible_intervals(N_BANDWIDTHS, totals, *_LEAST)
    except ValueError:  # groups are too small for any interval
        return None
    dense, shift = N_BANDWIDTHS - _N_DENSE, _N_DENSE + len(_SPARSE) - N_BANDWIDTHS
    if stops[0] <= dense or len(starts) <= dense:
        return None
    before = np.append(-1, _SPARSE)[:, None]
    own = starts[dense:] + shift
    return own, stops + shift, sizes[dense:], stops - before - 1


def _stable_mean(values: Floats, totals: tuple[float, float]) -> float | None:
    """Mean over the stable interval, if few values show where it is; else None.

    The values are those at `_LOOKED_AT`. The squared deviations of an interval are at
    least those of the values in it that are known, from their own mean: where this
    makes the variance of every interval that starts among the sparse values larger than
    the least one of the others, the interval is that of `stable_interval`.
    """
    few, n_sparse = _few_intervals(totals), len(_SPARSE)
    if few is None:
        return None
    starts, stops, sizes, most = few
    sums, squares = _running(values - values[n_sparse:].mean())
    variances: Any = (squares[stops] - squares[starts]) / sizes
    variances -= ((sums[stops] - sums[starts]) / sizes) ** 2
    variances[sizes == np.inf] = np.inf
    best = int(variances.argmin())
    least = variances.flat[best] + _ROUNDING
    first = np.arange(n_sparse + 1)[:, None]
    deviations = squares[stops] - squares[first]
    deviations -= (sums[stops] - sums[first]) ** 2 / (stops - first)
    alone = np.count_nonzero(variances <= least) == 1
    if least < 2 * _ROUNDING or not alone or (deviations / most).min() <= least:
        return None
    row, column = divmod(best, variances.shape[1])
    return float(values[starts[row, 0] : stops[column]].mean())


def optimal_order(totals: tuple[float, float]) -> float:
    """Order of magnitude of the best bandwidth, h_sup in Theorem 2 of the paper."""
    first, second = np.sqrt(totals[0]), np.sqrt(totals[1])
    return float(((first + second) / (first * second)) ** (2 / 3))


def stable_interval(
    values: Floats,
    totals: tuple[float, float],
    *,
    min_points: int = _LEAST[0],
    min_length: float = _LEAST[1],
) -> StableInterval:
    """Algorithm 1 of the MADD paper, for all eligible intervals at once.

    `values` belong to the bandwidths 1 / n_values, ..., 1 / 2, 1. Of the intervals with
    the smallest standard deviation it is the first.
    """
    starts, stops, sizes = _eligible_intervals(
        len(values), totals, min_points, min_length
    )
    sums, squares = _running(values - values.mean())
    variances: Any = (squares[stops] - squares[starts]) / sizes
    variances -= ((sums[stops] - sums[starts]) / sizes) ** 2
    variances[variances < _NO_VARIANCE] = 0
    variances[sizes == np.inf] = np.inf
    row, column = np.unravel_index(np.argmin(variances), variances.shape)
    start, stop = int(starts[row, 0]), int(stops[column])
    inside = values[start:stop]
    return StableInterval(start, stop, float(inside.mean()), float(inside.std()))


@lru_cache(maxsize=1)
def _eligible_intervals(
    n_values: int, totals: tuple[float, float], min_points: int, min_length: float
) -> tuple[Integers, Integers, Floats]:
    """First and last positions of intervals, and sizes, infinite if not eligible.

    Starts are a column, so that there is a row of sizes for each.
    """
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
    stops = np.arange(first_stop.min(), n_values)  # no interval ends before
    eligible = stops >= first_stop[:, None]
    return starts[:, None], stops, np.where(eligible, stops - starts[:, None], np.inf)


def _running(values: Floats) -> tuple[Any, Any]:
    """Sum the first 0, 1, ..., n values, and their squares."""
    return (
        np.concatenate([[0], np.cumsum(values)]),
        np.concatenate([[0], np.cumsum(values**2)]),
    )

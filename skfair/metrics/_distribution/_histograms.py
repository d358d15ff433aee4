"""MADD of many gaps for many bandwidths, and the bandwidths where it is stable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfair._utils._types import Floats, Integers
from skfair.metrics._distribution._gap import Pair, compared_pairs, largest_bounded
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
#: Histograms of few bins by which means are bounded, numbers that are compared for that
#: at once, and more than the rounding of a bound.
_N_SMALL, _BOUNDED, _MARGIN = 60, 2**18, 1e-9
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
    curve_of = _curves(statistic, edges_of_all(n_bandwidths), alone=len(pairs) == 1)
    yield from map(curve_of, sorted(pairs, key=_block) if _many(statistic) else pairs)


def _curves(
    statistic: GroupedScores,
    edges: Edges,
    *,
    alone: bool,
    in_bins: Callable[[int | None], NDArray[Any]] | None = None,
) -> Callable[[Pair], GapCurve]:
    """Return what computes MADD of a pair, for the numbers of bins of some edges.

    A pair that is alone is computed in another way, which rounds in another way.
    """

    def of_gap(pair: Pair) -> GapCurve:
        gap = gap_between(statistic, *pair)
        return GapCurve(pair, gap.totals, histogram_distances(gap, edges))

    if alone:
        return of_gap
    totals, everything = statistic.totals, statistic.totals.sum()
    dtype, in_bins = _dtype(statistic), in_bins or _in_bins(statistic, edges)
    exact = dtype is not float
    # Memory that is asked for once: a megabyte takes as long as a sum.
    changes, lowered = np.empty((2, len(edges.places)), dtype)

    def curve_of(pair: Pair) -> GapCurve:
        first, second = pair
        ours, theirs = totals[first], everything if second is None else totals[second]
        up, down = (theirs, ours) if exact else (1, 1)
        np.multiply(in_bins(first), dtype(up), out=changes)
        np.multiply(in_bins(second), dtype(down), out=lowered)
        np.subtract(changes, lowered, out=changes)
        values = bin_distances(changes, edges.starts, up * down)
        return GapCurve(pair, (ours, theirs), values)

    return curve_of


def _dtype(statistic: GroupedScores) -> type[Any]:
    """Type of weights in bins: of integers where products of totals are exact."""
    products = float(statistic.totals.sum()) ** 2  # and sums of two of them
    if statistic.weights.dtype.kind != "i" or products >= MAX_EXACT:
        return float
    return np.int32 if products < _MAX_SHORT else np.int64


def _in_bins(
    statistic: GroupedScores, edges: Edges
) -> Callable[[int | None], NDArray[Any]]:
    """Return what adds up the weights of a group, or of everyone, in all bins.

    They are shares of the group where they are no integers.
    """
    dtype = _dtype(statistic)
    n_kept = 0 if _many(statistic) else statistic.n_groups + 1
    at_edges, *kept = np.empty((1 + n_kept, len(edges.places)), dtype)

    @lru_cache(maxsize=2 * _BLOCK)
    def in_bins(group: int | None) -> NDArray[Any]:
        scores, weights = statistic.scores, statistic.weights
        if group is not None:
            scores, weights = statistic.of_group(group)
        heights = np.concatenate([[0], np.cumsum(weights)]).astype(dtype)
        if dtype is float:
            # By the last height, not by the total, it ends at 1 without rounding.
            heights = heights / heights[-1]
        out = kept[-1 if group is None else group] if kept else None
        edges.at_edges(scores, heights, out=at_edges)
        return bin_changes(at_edges, edges.starts, out=out)

    return in_bins


def _many(statistic: GroupedScores) -> bool:
    """Whether the bins of all groups are too many to be kept."""
    return statistic.n_groups > 2 * _BLOCK


def _block(pair: Pair) -> tuple[int, int]:
    """Blocks of groups that the two groups of a pair are in."""
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
    """Edges of the histograms of all bandwidths that the paper looks at."""
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


def bin_distances(changes: NDArray[Any], starts: Integers, scale: float) -> Floats:
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

    For most pairs a third of the histograms shows where that interval lies, and the
    smallest histograms show of many pairs that another one has a larger mean.
    """
    if _many(statistic):
        curve, interval = most_stable(
            statistic, multigroup, N_BANDWIDTHS, stable_interval
        )
        return interval.mean, curve.pair
    pairs = list(compared_pairs(statistic.n_groups, multigroup))
    alone, bounds, in_bins = len(pairs) == 1, np.full(len(pairs), np.inf), None
    if not alone:
        in_bins = _in_bins(statistic, _few_edges())
        bounds = _bound_means(statistic, pairs, in_bins)
    few = _curves(statistic, _few_edges(), alone=alone, in_bins=in_bins)

    @cache
    def every() -> Callable[[Pair], GapCurve]:
        return _curves(statistic, edges_of_all(N_BANDWIDTHS), alone=alone)

    largest = -np.inf

    def mean_of(i: int) -> float:
        nonlocal largest
        curve = few(pairs[i])
        mean, most = _stable_mean(curve.values, curve.totals)
        if mean < most and largest < most:
            curve = every()(pairs[i])
            mean = stable_interval(curve.values, curve.totals).mean
        largest = max(largest, mean)
        return mean

    found = largest_bounded(pairs, bounds, mean_of)
    return found.value, found.pair


def _bound_means(
    statistic: GroupedScores,
    pairs: Sequence[Pair],
    in_bins: Callable[[int | None], NDArray[Any]],
) -> Floats:
    """Bound the mean over the stable interval of each pair by its smallest histograms.

    An interval whose variance is at most that of another one, and that has known values
    among its own, has a mean near theirs.
    """
    starts = _few_edges().starts[-_N_SMALL:]
    groups: list[int | None] = [*range(statistic.n_groups)]
    if pairs[0][1] is None:
        groups.append(None)  # everyone comes last
    shares = np.array([in_bins(group)[starts[0] :] for group in groups], float)
    totals = np.append(statistic.totals, statistic.totals.sum())[: len(groups)]
    if _dtype(statistic) is not float:
        shares /= totals[:, None]
    step = max(1, _BOUNDED // shares.shape[1])
    bounds = []
    for at in range(0, len(pairs), step):
        block = [(i, -1 if j is None else j) for i, j in pairs[at : at + step]]
        first, second = np.transpose(block)
        changes = np.abs(shares[first] - shares[second])
        values = np.add.reduceat(changes, starts - starts[0], axis=1)
        lengths = _LEAST[1] * optimal_order((totals[first], totals[second]))
        bounds.append(_bound_mean(values, lengths))
    return np.concatenate(bounds)


def _bound_mean(values: Floats, lengths: Floats) -> Floats:
    """Bound means over stable intervals from values for few bins.

    The values of a pair are a row, and its intervals have at least a length.
    """
    bandwidths, n_points = bandwidths_to_one(N_BANDWIDTHS), _LEAST[0]
    n_before = N_BANDWIDTHS - _N_SMALL
    starts = np.arange(n_before, N_BANDWIDTHS - n_points)
    stops = np.arange(n_before + 1, N_BANDWIDTHS)
    middle = values.mean(axis=1, keepdims=True)
    sums, squares = (
        np.cumsum((values - middle) ** power, axis=1)[:, :-1] for power in (1, 2)
    )

    def inside(running: Floats) -> Floats:
        before = np.concatenate([np.zeros((len(running), 1)), running], axis=1)
        first = before[:, : len(starts), None]
        return np.asarray(running[:, None, n_points - 1 :] - first)

    # Intervals that are known: they start at `starts`, and stop at the last of `stops`.
    sizes = stops[n_points - 1 :] - starts[:, None]
    ends = np.searchsorted(bandwidths, bandwidths[starts] + lengths[:, None]) - 1
    means = inside(sums) / sizes
    variances = inside(squares) / sizes - means**2
    short = (sizes < n_points) | (stops[n_points - 1 :] < ends[:, :, None])
    variances[short] = np.inf
    least = variances.min(axis=(1, 2)) + _ROUNDING
    best = np.where(variances <= least[:, None, None], means, -np.inf).max(axis=(1, 2))
    # Of longer ones the values from `n_before` on are known.
    n_known, least = stops - n_before, least[:, None]
    deviations = squares - sums**2 / n_known
    more = stops * least - deviations
    shift = np.sqrt(np.maximum(more, 0) * n_before / (stops * n_known))
    first_end = np.searchsorted(bandwidths, bandwidths[0] + lengths) - 1
    possible = (more >= 0) & (stops >= first_end[:, None])
    longer = np.where(possible, sums / n_known + shift, -np.inf).max(axis=1)
    longer[(first_end <= n_before) | ~np.isfinite(best)] = np.inf
    return np.asarray(np.maximum(best, longer) + middle[:, 0] + _MARGIN)


class _Few(NamedTuple):
    """Positions of intervals in few values, and one over their sizes.

    `barred` is infinite where intervals are not eligible, and else 0. Of intervals that
    start before the values without gaps `known` is the number of values that are known,
    and `most` a bound of the size.
    """

    starts: Integers
    stops: Integers
    inverse: Floats
    barred: Floats
    known: Integers
    most: Integers


@lru_cache(maxsize=2 * _BLOCK)
def _few_intervals(totals: tuple[float, float]) -> _Few | None:
    """Intervals that few values tell apart; None if they are too short for that."""
    try:
        starts, stops, sizes = _eligible_intervals(N_BANDWIDTHS, totals, *_LEAST)
    except ValueError:  # groups are too small for any interval
        return None
    dense, shift = N_BANDWIDTHS - _N_DENSE, _N_DENSE + len(_SPARSE) - N_BANDWIDTHS
    if stops[0] <= dense or len(starts) <= dense:
        return None
    before = np.append(-1, _SPARSE)[:, None]
    own, sizes = starts[dense:] + shift, sizes[dense:]
    barred = np.where(np.isinf(sizes), np.inf, 0.0)
    known = stops + shift - np.arange(len(_SPARSE) + 1)[:, None]
    return _Few(own, stops + shift, 1 / sizes, barred, known, stops - before - 1)


def _stable_mean(values: Floats, totals: tuple[float, float]) -> tuple[float, float]:
    """Mean over the stable interval, and a bound of it that is the mean where known.

    The values are those at `_LOOKED_AT`. The squared deviations of an interval are at
    least those of the values in it that are known, from their own mean: where this
    makes the variance of every interval that starts among the sparse values larger than
    the least one of the others, the interval is that of `stable_interval`. Otherwise
    the mean is not known, and minus infinity.
    """
    few, n_sparse = _few_intervals(totals), len(_SPARSE)
    if few is None:
        return -np.inf, np.inf
    starts, stops = few.starts, few.stops
    sums, squares = _running(values - values[-1])
    sums_to, squares_to = sums[stops], squares[stops]
    means: Any = (sums_to - sums[starts]) * few.inverse
    variances = (squares_to - squares[starts]) * few.inverse
    variances -= means**2
    variances += few.barred
    best = int(variances.argmin())
    least = variances.flat[best] + _ROUNDING
    if least < 2 * _ROUNDING:
        return -np.inf, np.inf
    known_sums = sums_to - sums[: n_sparse + 1, None]
    deviations = squares_to - squares[: n_sparse + 1, None]
    deviations -= known_sums**2 / few.known
    stable, more = variances <= least, least - deviations / few.most
    if np.count_nonzero(stable) == 1 and more.max() < 0:
        row, column = divmod(best, variances.shape[1])
        mean = float(values[starts[row, 0] : stops[column]].mean())
        return mean, mean
    # Unknown values move the mean by as much as the variance allows.
    shifts = np.sqrt(np.maximum(more, 0) * (few.most - few.known) / few.known)
    longer = np.where(more >= 0, known_sums / few.known + shifts, -np.inf)
    most = max(means[stable].max(), longer.max()) + values[-1] + _MARGIN
    return -np.inf, float(most)


def optimal_order(totals: tuple[Any, Any]) -> Any:
    """Order of magnitude of the best bandwidth, h_sup in Theorem 2 of the paper."""
    first, second = np.sqrt(totals[0]), np.sqrt(totals[1])
    return ((first + second) / (first * second)) ** (2 / 3)


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

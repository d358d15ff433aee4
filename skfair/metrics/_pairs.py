"""The gap of every pair of groups, of which a metric is the largest."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeAlias, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._utils._arrays import Floats, Integers, quotients
from skfair._utils._validation import (
    TAKES_ANY,
    AnyScale,
    Scale,
    check_choice,
    check_y_true,
)
from skfair.metrics._inputs import (
    Multigroup,
    check_multigroup,
    in_place_of_rows,
    refuse_statistics,
)
from skfair.statistics import GroupedOutcomes, GroupedScores
from skfair.statistics._grouped_scores import (
    Gap,
    check_probabilities,
    gap_between,
    pooled_ranks,
)
from skfair.statistics._statistic import GroupedStatistic

#: A number for the difference of two CDFs, larger where its absolute value is larger.
Measure: TypeAlias = Callable[[Gap], float]
#: Positions of two groups that are compared; None stands for everyone.
Pair: TypeAlias = tuple[int, int | None]


class Located(NamedTuple):
    """Value of a metric, the groups between which it lies, and where.

    `pair` holds the positions of both groups; the second is None for everyone.
    `figures` are what is compared of them: rates, means, or, at a score, CDFs or sums
    of outcomes minus scores. Gaps of distributions have a `score` at which the gap has
    the value, and a `window` in which it is nowhere smaller. Error rates have a `cell`,
    positions of the true and the predicted class, and `sizes`, the weight of that true
    class in both groups.
    """

    value: float
    pair: Pair
    figures: tuple[float, float] = (math.nan, math.nan)
    score: float = math.nan
    window: tuple[float, float] = (math.nan, math.nan)
    cell: tuple[int, int] | None = None
    sizes: tuple[float, float] = (math.nan, math.nan)


def locate_largest(
    by_group: Floats, everyone: float, multigroup: Multigroup
) -> Located:
    """Locate the largest difference between numbers of groups, or from everyone's."""
    if multigroup == "pairwise":
        high, low = np.fmax.reduce(by_group), np.fmin.reduce(by_group)
        pair = int((by_group == high).argmax()), int((by_group == low).argmax())
        return Located(float(high - low), pair, (float(high), float(low)))
    distances = np.abs(by_group - everyone)
    value = np.fmax.reduce(distances)
    furthest = int((distances == value).argmax())
    figures = float(by_group[furthest]), everyone
    return Located(float(value), (furthest, None), figures)


class PairGaps(NamedTuple):
    """Gaps between two groups, or a group and everyone, in each cell of a metric.

    Error rates have a cell for each true and predicted class; most metrics have one.
    """

    #: Positions of both groups of each pair; the second is None for everyone.
    first: Integers
    second: Integers | None
    #: Gaps of shape (n_cells, n_pairs), nan where they are undefined.
    values: Floats
    #: Rows of each group in each cell, of shape (n_cells, n_groups).
    sizes: NDArray[Any]
    #: Names of the parts of each cell.
    cells: tuple[Mapping[str, Hashable], ...] = ({},)
    #: Finds the score at which two groups have their gap.
    place: Callable[[int, int | None], float] | None = None
    #: The metric, where it is not the largest of the values.
    metric: float | None = None
    #: Computes the gaps themselves, where values are approximate.
    exact: Callable[[], Floats] | None = None

    @property
    def scaled(self) -> Floats:
        """Gaps in units of what their noise grows with: the sizes of the groups."""
        inverse = quotients(1.0, self.sizes, np.nan)
        ours = inverse[:, self.first]
        if self.second is None:
            theirs = -quotients(1.0, self.sizes.sum(axis=1, keepdims=True))
        else:
            theirs = inverse[:, self.second]
        return quotients(self.values, np.sqrt(np.maximum(ours + theirs, 0)))


@lru_cache(maxsize=8)
def _every_two(n_groups: int) -> tuple[Integers, Integers]:
    """Positions of the groups of all pairs, in the order of combinations."""
    first, second = np.triu_indices(n_groups, 1)
    first.flags.writeable = second.flags.writeable = False
    return first, second


def compared_groups(
    n_groups: int, multigroup: Multigroup, among: Integers | None = None
) -> tuple[Integers, Integers | None]:
    """Positions of the groups that are compared: all pairs, or each with everyone."""
    if multigroup == "pooled":
        return np.arange(n_groups) if among is None else among, None
    if among is None:
        return _every_two(n_groups)
    first, second = _every_two(len(among))
    return among[first], among[second]


#: Numbers that a metric compares in each of its cells: those of groups, of shape
#: (n_cells, n_groups), nan where they are not compared; that of everyone, of shape
#: (n_cells,); rows of each group, shaped as the first; and names of the cells.
Numbers: TypeAlias = tuple[
    Floats, Floats, NDArray[Any], tuple[Mapping[str, Hashable], ...]
]


def pairs_of_numbers(
    numbers_of: Callable[[Any], Numbers],
    statistic: Any,
    *,
    multigroup: Multigroup = "pairwise",
    among: Integers | None = None,
    gap: Callable[[Floats, Any], Floats] = np.subtract,
) -> PairGaps:
    """Gaps between the numbers of groups."""
    by_group, everyone, sizes, cells = numbers_of(statistic)
    first, second = compared_groups(by_group.shape[1], multigroup, among)
    theirs = everyone[:, np.newaxis] if second is None else by_group[:, second]
    values = np.abs(gap(by_group[:, first], theirs))
    return PairGaps(first, second, values, sizes, cells)


def locate_in_cells(numbers: Numbers, multigroup: Multigroup) -> tuple[int, Located]:
    """Locate the largest difference of numbers of groups, and its cell."""
    by_group, everyone, *_ = numbers
    located = [
        locate_largest(*in_cell, multigroup)
        for in_cell in zip(by_group, everyone.tolist(), strict=True)
    ]
    gaps = np.array([each.value for each in located])
    cell = int(np.where(np.isnan(gaps), -1, gaps).argmax())
    return cell, located[cell]


def mean_outcomes(statistic: GroupedOutcomes) -> Numbers:
    """Mean outcomes of groups with enough rows."""
    enough = statistic.counts >= max(statistic.min_group_size, 1)
    means = np.where(enough, statistic.means, np.nan)
    everyone = quotients(statistic.sums.sum(), statistic.totals.sum(), np.nan)
    return means[np.newaxis], everyone.reshape(1), statistic.counts[np.newaxis], ({},)


def locate_outcomes(
    statistic: GroupedOutcomes, *, multigroup: Multigroup = "pairwise"
) -> Located:
    """Locate the largest difference between mean outcomes of groups."""
    everyone = float(statistic.sums.sum() / statistic.totals.sum())
    return locate_largest(statistic.means, everyone, multigroup)


def furthest_groups(
    statistic: Any, pairs: Callable[..., PairGaps], n_groups: int
) -> Integers:
    """Positions of the groups that are furthest from everyone, for their sizes."""
    if isinstance(statistic, GroupedScores):
        distances = statistic._from_everyone * np.sqrt(statistic.counts)
    else:
        gaps = pairs(statistic, multigroup="pooled").scaled
        distances = np.fmax.reduce(gaps, axis=0)
    distances = np.where(np.isnan(distances), -1, distances)
    return np.sort(np.argsort(-distances, kind="stable")[:n_groups])


#: Makes, of scores, what measures rows of gaps of curves at these scores.
MeasureAt: TypeAlias = Callable[[Floats], Callable[[Floats], Floats]]


def measure_apart(
    curves: Floats, multigroup: Multigroup, measure: Callable[[Floats], Floats]
) -> Floats:
    """Measure the gaps of the curves of all pairs.

    With everyone, whose curve comes last, the others are compared.
    """
    if multigroup == "pooled":
        return measure(np.abs(curves[:-1] - curves[-1]))
    later = range(1, len(curves))
    return np.concatenate([measure(np.abs(curves[i:] - curves[i - 1])) for i in later])


def largest_of_rows(apart: Floats) -> Floats:
    """Largest number of each row, 0 of none."""
    return np.asarray(apart.max(axis=1, initial=0))


#: Upper bounds of a measure for pairs, given by the groups of each. Those below the
#: number given need not be sharp.
BoundPairs: TypeAlias = Callable[[Integers, Integers, float], Floats]

#: Pairs that are bounded at once.
_BLOCK = 2**18
#: Groups up to which each pair is bounded by the CDFs at some scores.
MANY_GROUPS = 64
#: More than the rounding of a sum of two distances.
_ROUNDING = 1e-12
#: Rounding of two values of the same number.
_TIED = 1e-15


def grouped_scores(
    y_true: ArrayLike | None,
    y_score: ArrayLike | GroupedScores,
    sensitive_features: Any,
    sample_weight: ArrayLike | None,
    *,
    scale: AnyScale = "probability",
    ranked: bool = True,
    scales: Any = Scale,
) -> GroupedScores:
    """Scores of each group, or their ranks among everyone, unless not to be `ranked`.

    A statistic given as `y_score` takes the place of the rows. Scores are
    probabilities, unless their ranks are to be taken, or `scales` has further ones.
    """
    if not isinstance(scale, str) or scale != "probability":
        check_choice("scale", scale, get_args(scales))
    rows = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
    if isinstance(y_score, GroupedScores):
        statistic = in_place_of_rows(y_score, y_true=y_true, **rows)
        if scale == "probability":
            check_probabilities(statistic, "y_score", TAKES_ANY)
    else:
        if isinstance(y_score, GroupedStatistic):
            refuse_statistics(y_score, "y_score", GroupedScores)
        check_y_true(y_true, y_score, scale)
        statistic = GroupedScores._from_arrays(
            y_score, sensitive_features, sample_weight, scale
        )
    return pooled_ranks(statistic) if ranked and scale == "rank" else statistic


class EveryPair(Sequence[Pair]):
    """Every two of the groups of one set, and then of each other set.

    The order is that of `itertools.combinations`. 16,000 groups have 128 million pairs,
    which are not held in memory.
    """

    def __init__(self, *sets: Sequence[int]) -> None:
        self.groups = np.array([group for groups in sets for group in groups], np.intp)
        n_later = [n for groups in sets for n in range(len(groups))[::-1]]
        #: Position of the first pair of each group and a later one of its set.
        self._starts = np.cumsum([0, *n_later])

    def __len__(self) -> int:
        return int(self._starts[-1])

    @overload
    def __getitem__(self, position: int) -> Pair: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[Pair]: ...
    def __getitem__(self, position: int | slice) -> Pair | Sequence[Pair]:
        if isinstance(position, slice):
            groups = self.at(np.arange(*position.indices(len(self))))
            return list(zip(*map(np.ndarray.tolist, groups), strict=True))
        if not -len(self) <= position < len(self):
            raise IndexError(position)
        first, second = self.at(np.array([position % len(self)]))
        return int(first[0]), int(second[0])

    def __iter__(self) -> Iterator[Pair]:
        for start in range(0, len(self), _BLOCK):
            yield from self[start : start + _BLOCK]

    def at(self, positions: Integers) -> tuple[Integers, Integers]:
        """Return the groups of the pairs at some positions."""
        first = np.searchsorted(self._starts[:-1], positions, side="right") - 1
        second = first + 1 + positions - self._starts[first]
        return self.groups[first], self.groups[second]


def compared_pairs(n_groups: int, multigroup: Multigroup) -> Sequence[Pair]:
    """Which groups a metric compares: every pair, or each group with everyone."""
    if multigroup == "pairwise":
        return EveryPair(range(n_groups))
    check_multigroup(multigroup)
    return [(group, None) for group in range(n_groups)]


def blocks_of(pairs: Sequence[Pair]) -> Iterator[tuple[int, Integers, Integers]]:
    """Yield where some pairs of two groups start, and both groups of each."""
    for start in range(0, len(pairs), _BLOCK):
        stop = min(start + _BLOCK, len(pairs))
        if isinstance(pairs, EveryPair):
            yield start, *pairs.at(np.arange(start, stop))
        else:
            yield start, *np.array(pairs[start:stop], dtype=np.intp).T


class MeasuredGaps(NamedTuple):
    """A metric of each pair of groups, evaluated where it is asked for, and bounds."""

    pairs: Sequence[Pair]
    # The metric of the i-th pair, which is evaluated once.
    value_of: Callable[[int], float]
    # Numbers that the values do not exceed; infinite where they are not worth finding.
    bounds: Floats

    @property
    def value(self) -> float:
        """Largest value."""
        return largest_bounded(self.pairs, self.bounds, self.value_of).value

    def largest(self, bounds: Floats, of: Callable[[int, float], float]) -> float:
        """Largest ``of(i, value)``, which does not exceed ``bounds[i]``."""
        located = largest_bounded(self.pairs, bounds, lambda i: of(i, self.value_of(i)))
        return located.value


def measured_gaps(
    statistic: GroupedScores,
    multigroup: Multigroup,
    measure: Measure,
    bounds_of: Callable[[GroupedScores], BoundPairs],
) -> MeasuredGaps:
    """Measures of the gaps between two groups, or between a group and everyone.

    `bounds_of` returns a function that bounds pairs, which are bounded where there are
    more pairs than groups.
    """
    pairs = compared_pairs(statistic.n_groups, multigroup)
    bounds = np.full(len(pairs), np.inf)
    if len(pairs) > statistic.n_groups:
        bound_pairs = bounds_of(statistic)
        for start, first, second in blocks_of(pairs):
            part = slice(start, start + len(first))
            bounds[part] = bound_pairs(first, second, -math.inf)
    return MeasuredGaps(
        pairs, cache(lambda i: measure(gap_between(statistic, *pairs[i]))), bounds
    )


def largest_gap(
    statistic: GroupedScores,
    *,
    measure: Measure,
    multigroup: Multigroup = "pairwise",
    bounds_of: Callable[[GroupedScores], BoundPairs] | None = None,
) -> Located:
    """Largest measure of a gap, as `measured_gaps` takes them, and the pair."""
    if len(statistic.labels) == 2 and multigroup == "pairwise":
        return Located(measure(gap_between(statistic, 0, 1)), (0, 1))
    pairs = compared_pairs(statistic.n_groups, multigroup)

    def value_of(i: int) -> float:
        return measure(gap_between(statistic, *pairs[i]))

    if bounds_of is None or len(pairs) <= statistic.n_groups:
        return largest_bounded(pairs, np.full(len(pairs), np.inf), value_of)
    bound_pairs, largest = bounds_of(statistic), _NOTHING
    for start, first, second in blocks_of(pairs):
        bounds = bound_pairs(first, second, largest[0])
        largest = _largest_of_block(start, bounds, value_of, largest)
    return Located(largest[0], pairs[largest[1]])


#: Distinct scores at which the CDFs of several groups are compared in permutations.
_SCORES_COMPARED = 2**11


def pairs_of_gaps(
    statistic: GroupedScores,
    multigroup: Multigroup,
    among: Integers | None,
    measure: Measure,
    measure_at: MeasureAt | None = None,
    bounds_of: Callable[[GroupedScores], BoundPairs] | None = None,
    place: Callable[[int, int | None], float] | None = None,
) -> PairGaps:
    """Measures of the gaps of all pairs, nan of groups with too few rows.

    With `measure_at` CDFs are compared at some scores where these are many.
    """
    n_groups, sizes = statistic.n_groups, statistic.counts
    first, second = compared_groups(n_groups, multigroup, among)
    enough = sizes >= max(statistic.min_group_size, 1)
    defined = enough[first] if second is None else enough[first] & enough[second]

    def exact() -> Floats:
        values = np.full((1, len(first)), np.nan)
        for i in np.flatnonzero(defined).tolist():
            other = None if second is None else int(second[i])
            values[0, i] = measure(gap_between(statistic, int(first[i]), other))
        return values

    if len(first) == 1 or measure_at is None or not defined.any():
        values, selected = exact(), False
    else:
        groups = np.arange(n_groups) if among is None else among
        scores, cdfs, selected = selected_cdfs(statistic, groups, multigroup)
        apart = measure_apart(cdfs, multigroup, measure_at(scores))
        values = np.where(defined, apart, np.nan)[np.newaxis]
    metric = None
    if selected or among is not None:
        metric = math.nan
        if enough.all():
            options: Any = {"multigroup": multigroup, "bounds_of": bounds_of}
            metric = largest_gap(statistic, measure=measure, **options).value
    sizes = sizes[np.newaxis]
    found_exactly = exact if selected else None
    return PairGaps(
        first, second, values, sizes, place=place, metric=metric, exact=found_exactly
    )


def selected_cdfs(
    statistic: GroupedScores, groups: Integers, multigroup: Multigroup
) -> tuple[Floats, Floats, bool]:
    """CDFs of some groups, everyone's last, at some scores, and whether not at all.

    Which scores are selected does not depend on the groups of the rows.
    """
    scores, codes, n_groups = statistic.scores, statistic.codes, statistic.n_groups
    new = np.append(scores[1:] != scores[:-1], True)
    columns = np.cumsum(new) - new
    step = max(1, (int(columns[-1]) + 1) // _SCORES_COMPARED)
    ends = np.flatnonzero(new)[step - 1 :: step]
    if step > 1:
        columns //= step
    if ends[-1] < len(scores) - 1:
        ends = np.append(ends, len(scores) - 1)
    cells = codes * np.intp(len(ends)) + columns
    sums: Any = np.bincount(cells, statistic.weights, n_groups * len(ends))
    heights = sums.reshape(n_groups, len(ends))
    if multigroup == "pooled":
        heights = np.vstack([heights, heights.sum(axis=0)])
    elif len(groups) < n_groups:
        heights = heights[groups]
    cdfs = np.cumsum(heights, axis=1)
    cdfs *= quotients(1.0, cdfs[:, -1:])
    return scores[ends], cdfs, step > 1


def curve_blocks(
    scores: Floats,
    codes: NDArray[Any],
    steps: Floats,
    n_curves: int,
    size: int = 2**18,
) -> Iterator[tuple[Floats, Floats]]:
    """Yield distinct scores, and the sums of the steps of each curve up to these.

    Arrays of sums have shape (n_curves, n_scores) and about `size` numbers.
    """
    new = np.append(scores[1:] != scores[:-1], True)
    reached, width = np.zeros(n_curves), max(1, size // n_curves)
    for start in range(0, len(scores), width):
        part = slice(start, start + width)
        ends = new[part]
        columns = np.cumsum(ends) - ends  # one for each distinct score
        n_columns = int(columns[-1]) + 1
        cells = codes[part] * np.intp(n_columns) + columns
        sums: Any = np.bincount(cells, steps[part], n_curves * n_columns)
        heights = sums.reshape(n_curves, n_columns)
        heights[:, 0] += reached
        np.cumsum(heights, axis=1, out=heights)
        reached = heights[:, -1].copy()
        # A score at the end of the block may go on in the next one.
        if ends.any():
            yield scores[part][ends], heights[:, : int(ends.sum())]


def sums_of_distances(
    distance: Measure, maximum: float
) -> Callable[[GroupedScores], BoundPairs]:
    """Bound each pair by the sum of both groups' distances from everyone.

    The distance obeys the triangle inequality, and no measure of a gap exceeds it, nor
    the `maximum`: of tiny groups many pairs reach it, of which one is evaluated.
    """

    def bounds_of(statistic: GroupedScores) -> BoundPairs:
        from_everyone = np.array(
            [
                distance(gap_between(statistic, *pair))
                for pair in compared_pairs(statistic.n_groups, "pooled")
            ]
        )
        return lambda i, j, _: np.minimum(from_everyone[i] + from_everyone[j], maximum)

    return bounds_of


def bound_gaps(
    before: Floats, after: Floats, first: Integers, second: Integers
) -> Floats:
    """Bound the gap of each pair from each score to the next.

    There the CDFs of the groups lie between `before` and `after`.
    """
    return np.maximum(after[first] - before[second], after[second] - before[first])


def largest_bounded(
    pairs: Sequence[Pair], bounds: ArrayLike, value_of: Callable[[int], Any]
) -> Located:
    """Largest ``value_of(i)`` over the pairs, where ``bounds[i]`` is an upper bound.

    Pairs whose bound is below the largest value so far are not evaluated, nor are pairs
    that could only reach it again and come later.
    """
    largest = _largest_of_block(0, np.asarray(bounds), value_of, _NOTHING)
    return Located(largest[0], pairs[largest[1]])


#: Largest value so far, and the first position where it was found.
_Largest: TypeAlias = tuple[float, int]
#: Before any value is known.
_NOTHING: _Largest = (-math.inf, sys.maxsize)


def _largest_of_block(
    start: int, bounds: Floats, value_of: Callable[[int], Any], so_far: _Largest
) -> _Largest:
    """Largest value of pairs from position `start` on, or else that of earlier ones."""
    largest, position = so_far

    def may_be_larger(order: Integers) -> Integers:
        above = bounds[order] - largest
        earlier = (above >= -_ROUNDING) & (order + start < position)
        return order[(above > _TIED) | earlier]

    order = may_be_larger(np.arange(len(bounds)))
    order = order[np.argsort(-bounds[order], kind="stable")]
    while len(order):
        i, order = int(order[0]) + start, order[1:]
        value = value_of(i)
        if value > largest or (value == largest and i < position):
            largest, position = value, i
            order = may_be_larger(order)
    return largest, position


def cdfs_at(groups: Sequence[Any]) -> Callable[[Floats], Floats]:
    """CDF of groups, given by their scores and weights, as a function of scores."""
    cdfs = [
        (scores, np.concatenate([[0], np.cumsum(weights)]))
        for scores, weights in groups
    ]

    def at(points: Floats) -> Floats:
        below = [
            sums[np.searchsorted(scores, points, side="right")] / sums[-1]
            for scores, sums in cdfs
        ]
        return np.array(below)

    return at

"""The gap of every pair of groups, of which a metric is the largest."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers, quotients
from skfair.metrics._inputs import Multigroup
from skfair.statistics._distributions import Distributions, Gap, gap_between

#: A number for the difference of two CDFs, larger where its absolute value is larger.
Measure: TypeAlias = Callable[[Gap], float]
#: Positions of two groups that are compared; None stands for everyone.
Pair: TypeAlias = tuple[int, int | None]
#: Stands for the pair of a value that is undefined, or that no pair of groups has.
NO_PAIR: Pair = (0, None)
#: Groups of which all pairs are compared, 2,016 at most. Numbers of so many pairs take
#: milliseconds in arrays; of more groups the largest gap is mostly noise of small ones.
MAX_PAIRWISE = 64


class Located(NamedTuple):
    """Value of a metric, the groups between which it lies, and where.

    `pair` holds the positions of both groups; the second is None for everyone.
    `figures` are the numbers of both groups that are compared: rates, means, or, at a
    score, CDFs or sums of outcomes minus scores. Gaps of distributions have a `score`
    at which the gap has the value, and a `window` in which the gap is nowhere smaller.
    Error rates have a `cell`, the positions of the true and the predicted class, and
    `sizes`, the weight of that true class in both groups.
    """

    value: float
    pair: Pair
    figures: tuple[float, float] = (math.nan, math.nan)
    score: float = math.nan
    window: tuple[float, float] = (math.nan, math.nan)
    cell: tuple[int, int] | None = None
    sizes: tuple[float, float] = (math.nan, math.nan)


def locate_largest(by_group: Floats, overall: float, multigroup: Multigroup) -> Located:
    """Locate the largest difference of two groups, or of a group and everyone."""
    if multigroup == "pairwise":
        high, low = np.fmax.reduce(by_group), np.fmin.reduce(by_group)
        first, second = (
            int((by_group == high).argmax()),
            int((by_group == low).argmax()),
        )
        if first == second:  # all are equal
            second = len(by_group) - 1 - int((by_group == low)[::-1].argmax())
        pair = first, second
        return Located(float(high - low), pair, (float(high), float(low)))
    distances = np.abs(by_group - overall)
    value = np.fmax.reduce(distances)
    furthest = int((distances == value).argmax())
    figures = float(by_group[furthest]), overall
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
        """Gaps divided by the noise that the sizes of their groups suggest."""
        inverse = quotients(1.0, self.sizes, np.nan)
        ours = inverse[:, self.first]
        if self.second is None:
            theirs = -quotients(1.0, self.sizes.sum(axis=1, keepdims=True))
        else:
            theirs = inverse[:, self.second]
        return quotients(self.values, np.sqrt(np.maximum(ours + theirs, 0)))


@lru_cache(maxsize=8)
def _every_two(n_groups: int) -> tuple[Integers, Integers]:
    """Return the positions of the groups of all pairs, in the order of combinations."""
    first, second = np.triu_indices(n_groups, 1)
    first.flags.writeable = second.flags.writeable = False
    return first, second


def compared_groups(
    n_groups: int, multigroup: Multigroup
) -> tuple[Integers, Integers | None]:
    """Return the positions of the first groups of all comparisons, and of the second.

    The second are None where each group is compared with everyone.
    """
    if multigroup == "pooled":
        return np.arange(n_groups), None
    if n_groups > MAX_PAIRWISE:
        raise ValueError(
            f"multigroup must be 'pooled' for more than {MAX_PAIRWISE} groups, got "
            f"'pairwise' and {n_groups:,} groups: it compares each with everyone. "
            "skfair.groups.encode_groups(..., rare='merge', min_group_size=...) merges "
            "small groups."
        )
    return _every_two(n_groups)


def compared_pairs(n_groups: int, multigroup: Multigroup) -> list[Pair]:
    """Return pairs of groups, or each group with None for everyone."""
    first, second = compared_groups(n_groups, multigroup)
    others = [None] * len(first) if second is None else second.tolist()
    return [*zip(first.tolist(), others, strict=True)]


class NumbersByCell(NamedTuple):
    """Numbers that a metric compares in each of its cells."""

    #: Numbers of groups, of shape (n_cells, n_groups); nan where they are not compared.
    by_group: Floats
    #: Number of everyone in each cell.
    overall: Floats
    #: Rows of each group in each cell, of shape (n_cells, n_groups).
    sizes: NDArray[Any]
    #: Names of the parts of each cell.
    cells: tuple[Mapping[str, Hashable], ...]


def pairs_of_numbers(
    numbers_of: Callable[[Any], NumbersByCell],
    statistic: Any,
    *,
    multigroup: Multigroup = "pairwise",
    gap: Callable[[Floats, Any], Floats] = np.subtract,
) -> PairGaps:
    """Return the gaps between the numbers of groups."""
    by_group, overall, sizes, cells = numbers_of(statistic)
    first, second = compared_groups(by_group.shape[1], multigroup)
    theirs = overall[:, np.newaxis] if second is None else by_group[:, second]
    values = np.abs(gap(by_group[:, first], theirs))
    return PairGaps(first, second, values, sizes, cells)


def locate_in_cells(
    numbers: NumbersByCell, multigroup: Multigroup
) -> tuple[int, Located]:
    """Locate the largest difference between groups in any cell, and name its cell."""
    located = [
        locate_largest(*in_cell, multigroup)
        for in_cell in zip(numbers.by_group, numbers.overall.tolist(), strict=True)
    ]
    gaps = np.array([each.value for each in located])
    cell = int(np.where(np.isnan(gaps), -1, gaps).argmax())
    return cell, located[cell]


def mean_outcomes(rows: Rows) -> NumbersByCell:
    """Return the mean outcomes of groups with enough rows."""
    enough = rows.counts >= max(rows.min_group_size, 1)
    means = np.where(enough, rows.means, np.nan)
    overall = quotients(rows.sums.sum(), rows.totals.sum(), np.nan)
    return NumbersByCell(
        means[np.newaxis], overall.reshape(1), rows.counts[np.newaxis], cells=({},)
    )


def locate_outcomes(statistic: Rows, *, multigroup: Multigroup = "pairwise") -> Located:
    """Locate the largest difference between mean outcomes of groups."""
    overall = float(statistic.sums.sum() / statistic.totals.sum())
    return locate_largest(statistic.means, overall, multigroup)


#: Makes, of scores, what measures rows of gaps of curves at these scores.
MeasureAt: TypeAlias = Callable[[Floats], Callable[[Floats], Floats]]


def measure_apart(
    curves: Floats, multigroup: Multigroup, measure: Callable[[Floats], Floats]
) -> Floats:
    """Measure the gaps between the curves of all pairs.

    If groups are compared with everyone, the overall curve comes last.
    """
    if multigroup == "pooled":
        return measure(np.abs(curves[:-1] - curves[-1]))
    later = range(1, len(curves))
    return np.concatenate([measure(np.abs(curves[i:] - curves[i - 1])) for i in later])


def largest_of_rows(apart: Floats) -> Floats:
    """Return the largest number of each row, 0 of none."""
    return np.asarray(apart.max(axis=1, initial=0))


#: Distinct scores at which CDFs are compared in permutations, and numbers of all pairs
#: at these scores, at most.
_SCORES_COMPARED, _MOST_NUMBERS = 2**11, 2**21
#: Fewest and most distinct scores at which the ceilings of gaps are found; and numbers
#: of pairs at these scores that fit into the cache of a processor.
_FEWEST_SCORES, _MOST_SCORES, _NUMBERS_AT_ONCE = 2**6, 2**9, 2**16
#: Pairs up to which each is measured without a ceiling.
_FEW_PAIRS = 3
#: More than the rounding of a difference of CDFs.
_CDF_ROUNDING = 1e-12


def find_largest(
    ceilings: Floats, value_of: Callable[[int], float]
) -> tuple[float, int]:
    """Find the largest value and its position; no value exceeds its ceiling."""
    value, position = -math.inf, 0
    for i in np.argsort(-ceilings, kind="stable").tolist():
        if ceilings[i] <= value:
            break
        found = value_of(i)
        if found > value:
            value, position = found, i
    return value, position


class MeasuredGaps(NamedTuple):
    """Measures of the gaps of pairs, computed when asked for, and their ceilings."""

    pairs: list[Pair]
    #: Numbers that the measures do not exceed; infinite where none is known.
    ceilings: Floats
    #: Measures the gap of the i-th pair, once.
    value_of: Callable[[int], float]

    @property
    def largest_with_position(self) -> tuple[float, int]:
        """Largest measure, and the position of its pair."""
        return find_largest(self.ceilings, self.value_of)


def measure_gaps(
    statistic: Distributions,
    multigroup: Multigroup,
    measure: Measure,
    measure_at: MeasureAt | None = None,
) -> MeasuredGaps:
    """Measure the gap of each pair of groups, or of each group to everyone.

    Without `measure_at` the gaps have no ceilings.
    """
    pairs = compared_pairs(statistic.n_groups, multigroup)
    ceilings = np.full(len(pairs), np.inf)
    if measure_at is not None and len(pairs) > _FEW_PAIRS:
        compared = compared_groups(statistic.n_groups, multigroup)
        ceilings = gap_ceilings(statistic, *compared, measure_at)
    return MeasuredGaps(
        pairs, ceilings, cache(lambda i: measure(gap_between(statistic, *pairs[i])))
    )


def largest_gap(
    statistic: Distributions,
    *,
    measure: Measure,
    multigroup: Multigroup = "pairwise",
    measure_at: MeasureAt | None = None,
) -> Located:
    """Return the largest measure of a gap, and the pair of groups that has it."""
    if statistic.n_groups == 2 and multigroup == "pairwise":
        return Located(measure(gap_between(statistic, 0, 1)), (0, 1))
    gaps = measure_gaps(statistic, multigroup, measure, measure_at)
    value, position = gaps.largest_with_position
    return Located(value, gaps.pairs[position])


def gap_ceilings(
    statistic: Distributions,
    first: Integers,
    second: Integers | None,
    measure_at: MeasureAt,
) -> Floats:
    """Return, for each pair, a number that the measure of its gap does not exceed.

    CDFs are computed at selected scores. Between two of these a CDF lies between its
    values at both.
    """
    # More rows have gaps that differ less, which more scores tell apart.
    n_scores = math.isqrt(len(statistic.scores))
    n_scores = max(_FEWEST_SCORES, min(n_scores, _MOST_SCORES))
    n_curves = max(len(first), statistic.n_groups)
    n_scores = max(2, min(n_scores, _MOST_NUMBERS // n_curves))
    multigroup: Multigroup = "pooled" if second is None else "pairwise"
    scores, cdfs, _ = selected_cdfs(statistic, multigroup, n_scores)
    others = np.full(len(first), len(cdfs) - 1) if second is None else second
    starts = np.hstack([np.zeros((len(cdfs), 1)), cdfs])
    ends = np.hstack([cdfs, cdfs[:, -1:]])
    scores = np.append(statistic.scores[0], scores)
    kept = np.append(scores[1:] > scores[:-1], True)  # the first may be selected
    scores, starts, ends = scores[kept], starts[:, kept], ends[:, kept]
    measure, ceilings = measure_at(scores), np.empty(len(first))
    n_pairs = max(1, _NUMBERS_AT_ONCE // len(scores))
    for start in range(0, len(first), n_pairs):
        part = slice(start, start + n_pairs)
        i, j = first[part], others[part]
        gaps = np.maximum(ends[i] - starts[j], ends[j] - starts[i])
        ceilings[part] = measure(np.minimum(gaps + _CDF_ROUNDING, 1))
    return ceilings


def pairs_of_gaps(
    statistic: Distributions,
    multigroup: Multigroup,
    measure: Measure,
    measure_at: MeasureAt | None = None,
) -> PairGaps:
    """Return the measure of the gap of each pair, nan where a group has too few rows.

    With `measure_at`, and many scores, CDFs are compared at some of the scores.
    """
    n_groups, sizes = statistic.n_groups, statistic.counts
    first, second = compared_groups(n_groups, multigroup)
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
        n_scores = max(2, min(_SCORES_COMPARED, _MOST_NUMBERS // len(first)))
        scores, cdfs, selected = selected_cdfs(statistic, multigroup, n_scores)
        apart = measure_apart(cdfs, multigroup, measure_at(scores))
        values = np.where(defined, apart, np.nan)[np.newaxis]
    found_exactly = exact if selected else None
    return PairGaps(first, second, values, sizes[np.newaxis], exact=found_exactly)


def selected_cdfs(
    statistic: Distributions, multigroup: Multigroup, n_scores: int
) -> tuple[Floats, Floats, bool]:
    """Return scores, the CDFs of groups there, and whether scores are left out.

    With pooled comparisons the overall CDF comes last. At least `n_scores` distinct
    scores are selected, fewer than twice as many. The selection does not depend on the
    groups of the rows.
    """
    scores, codes, n_groups = statistic.scores, statistic.codes, statistic.n_groups
    new = np.append(scores[1:] != scores[:-1], True)
    columns = np.cumsum(new) - new
    step = max(1, (int(columns[-1]) + 1) // n_scores)
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
    """Yield blocks of distinct scores, with each curve's sum of steps up to each score.

    Arrays of sums have the shape (n_curves, n_scores) and about `size` numbers.
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

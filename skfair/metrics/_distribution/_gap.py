"""The largest gap between score distributions, and the groups that it lies between."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from skfair._utils._types import Floats
from skfair.metrics._inputs import Multigroup, check_multigroup
from skfair.statistics import GroupedScores
from skfair.statistics._grouped_scores import Gap, gap_between

#: Positions of two groups that are compared; None stands for everyone.
Pair: TypeAlias = tuple[int, int | None]

#: More than the rounding of a sum of two distances.
_ROUNDING = 1e-12
#: Rounding of two values of the same number.
_TIED = 1e-15


class LargestGap(NamedTuple):
    """Largest value of a metric over pairs of groups, and the first such pair.

    `score` is the first from which on the two CDFs are so far apart, where the metric
    is MCDP(0) and somebody has looked for it.
    """

    value: float
    pair: Pair
    score: float = math.nan


def compared_pairs(n_groups: int, multigroup: Multigroup) -> list[Pair]:
    """Which groups a metric compares: every pair, or each group with everyone."""
    check_multigroup(multigroup)
    if multigroup == "pooled":
        return [(group, None) for group in range(n_groups)]
    return [(i, j) for i in range(n_groups) for j in range(i + 1, n_groups)]


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
        found = largest_bounded(self.pairs, bounds, lambda i: of(i, self.value_of(i)))
        return found.value


def measured_gaps(
    statistic: GroupedScores,
    multigroup: Multigroup,
    measure: Callable[[Gap], float],
    bound_pairs: Callable[[GroupedScores], Floats],
) -> MeasuredGaps:
    """Measures of the gaps between two groups, or between a group and everyone.

    `bound_pairs` returns upper bounds of all pairs, which are found where there are
    more pairs than groups.
    """
    pairs = compared_pairs(statistic.n_groups, multigroup)
    bounds = np.full(len(pairs), np.inf)
    if len(pairs) > statistic.n_groups:
        bounds = bound_pairs(statistic)
    return MeasuredGaps(
        pairs, cache(lambda i: measure(gap_between(statistic, *pairs[i]))), bounds
    )


def largest_gap(
    statistic: GroupedScores,
    multigroup: Multigroup,
    measure: Callable[[Gap], float],
    bound_pairs: Callable[[GroupedScores], Floats],
) -> LargestGap:
    """Largest measure of a gap, as `measured_gaps` takes them, and the pair."""
    pairs, value_of, bounds = measured_gaps(statistic, multigroup, measure, bound_pairs)
    return largest_bounded(pairs, bounds, value_of)


def sums_of_distances(
    distance: Callable[[Gap], float],
) -> Callable[[GroupedScores], Floats]:
    """Bound each pair by the sum of both groups' distances from everyone.

    The distance obeys the triangle inequality, and no measure of a gap exceeds it.
    """

    def bound_pairs(statistic: GroupedScores) -> Floats:
        from_everyone = np.array(
            [
                distance(gap_between(statistic, *pair))
                for pair in compared_pairs(statistic.n_groups, "pooled")
            ]
        )
        i, j = np.triu_indices(statistic.n_groups, 1)
        return np.asarray(from_everyone[i] + from_everyone[j])

    return bound_pairs


def largest_gap_of_each(statistic: GroupedScores) -> Floats:
    """Largest MCDP(0) of each group and any other.

    Of all groups the largest CDF at a score is the largest so far at an entry, since
    CDFs increase, and the smallest is the smallest that an entry to come starts from.
    """
    scores, weights, totals = statistic.scores, statistic.weights, statistic.totals
    order = np.argsort(statistic.codes, kind="stable")
    sizes = np.bincount(statistic.codes, minlength=statistic.n_groups)
    starts, total = np.cumsum(sizes) - sizes, totals[statistic.codes]
    sums = np.cumsum(weights[order])
    after, before = np.empty(len(scores)), np.empty(len(scores))
    after[order] = sums - np.repeat(sums[starts] - weights[order][starts], sizes)
    np.divide(after - weights, total, out=before)
    np.divide(after, total, out=after)
    highest = np.maximum.accumulate(after)
    lowest = np.append(np.minimum.accumulate(before[::-1])[::-1], 1)
    new = np.flatnonzero(np.append(True, scores[1:] != scores[:-1]))
    tied = np.diff(new, append=len(scores))
    first, beyond = np.repeat(new, tied), np.repeat(new + tied, tied)
    above = after - lowest[beyond]
    below = np.where(first > 0, highest[first - 1] - before, 0)
    return np.asarray(np.maximum.reduceat(np.maximum(above, below)[order], starts))


def largest_bounded(
    pairs: Sequence[Pair], bounds: ArrayLike, value_of: Callable[[int], Any]
) -> LargestGap:
    """Largest ``value_of(i)`` over the pairs, where ``bounds[i]`` is an upper bound.

    Pairs whose bound is below the largest value so far are not evaluated, nor are pairs
    that could only reach it again and come later.
    """
    limits = np.asarray(bounds)
    largest, best = -math.inf, len(pairs)
    for i in np.argsort(-limits, kind="stable"):
        reached = largest - limits[i]
        if reached > _ROUNDING:
            break
        if reached >= -_TIED and i > best:
            continue
        value = value_of(i)
        if value > largest or (value == largest and i < best):
            largest, best = value, int(i)
    return LargestGap(largest, pairs[best])

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
    distance: Callable[[Gap], float],
) -> MeasuredGaps:
    """Measures of the gaps between two groups, or between a group and everyone.

    `distance` is a measure that is nowhere smaller and obeys the triangle inequality:
    the sum of two groups' distances from everyone bounds the measure of their gap.
    """
    pairs = compared_pairs(statistic.n_groups, multigroup)
    bounds = np.full(len(pairs), np.inf)
    if len(pairs) > statistic.n_groups:
        from_everyone = np.array(
            [
                distance(gap_between(statistic, *pair))
                for pair in compared_pairs(statistic.n_groups, "pooled")
            ]
        )
        bounds = from_everyone[np.array(pairs)].sum(axis=1)
    return MeasuredGaps(
        pairs, cache(lambda i: measure(gap_between(statistic, *pairs[i]))), bounds
    )


def largest_gap(
    statistic: GroupedScores,
    multigroup: Multigroup,
    measure: Callable[[Gap], float],
    distance: Callable[[Gap], float],
) -> LargestGap:
    """Largest measure of a gap, as `measured_gaps` takes them, and the pair."""
    pairs, value_of, bounds = measured_gaps(statistic, multigroup, measure, distance)
    return largest_bounded(pairs, bounds, value_of)


def largest_bounded(
    pairs: Sequence[Pair], bounds: ArrayLike, value_of: Callable[[int], Any]
) -> LargestGap:
    """Largest ``value_of(i)`` over the pairs, where ``bounds[i]`` is an upper bound.

    Pairs whose bound is below the largest value so far are not evaluated.
    """
    limits = np.asarray(bounds)
    largest, best = -math.inf, len(pairs)
    for i in np.argsort(-limits, kind="stable"):
        if limits[i] + _ROUNDING < largest:
            break
        value = value_of(i)
        if value > largest or (value == largest and i < best):
            largest, best = value, int(i)
    return LargestGap(largest, pairs[best])

"""The gap of every pair of groups that a metric is the largest of."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skfair._utils._arrays import Floats, Integers, quotients
from skfair.metrics._inputs import Multigroup, largest_difference
from skfair.statistics import GroupedOutcomes, GroupedScores

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
    value: float, by_group: Floats, everyone: float, multigroup: Multigroup
) -> Located:
    """Locate a largest difference between numbers of groups, or from everyone's."""
    if multigroup == "pairwise":
        first, second = int(by_group.argmax()), int(by_group.argmin())
        figures = float(by_group[first]), float(by_group[second])
        return Located(value, (first, second), figures)
    furthest = int(np.abs(by_group - everyone).argmax())
    return Located(value, (furthest, None), (float(by_group[furthest]), everyone))


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
    groups = np.arange(n_groups) if among is None else among
    if multigroup == "pooled":
        return groups, None
    first, second = _every_two(len(groups))
    return groups[first], groups[second]


def differences(
    by_group: Floats,
    everyone: Any,
    sizes: NDArray[Any],
    multigroup: Multigroup,
    among: Integers | None = None,
    gap: Callable[[Floats, Any], Floats] = np.subtract,
    **more: Any,
) -> PairGaps:
    """Gaps of numbers of shape (n_cells, n_groups), nan of groups without rows."""
    first, second = compared_groups(by_group.shape[-1], multigroup, among)
    theirs = np.reshape(everyone, (-1, 1)) if second is None else by_group[:, second]
    values = np.abs(gap(by_group[:, first], theirs))
    return PairGaps(first, second, values, sizes, **more)


def pairs_of_outcomes(
    statistic: GroupedOutcomes,
    *,
    multigroup: Multigroup = "pairwise",
    among: Integers | None = None,
    gap: Callable[[Floats, Any], Floats] = np.subtract,
) -> PairGaps:
    """Gaps between the mean outcomes of groups."""
    enough = statistic.counts >= max(statistic.min_group_size, 1)
    means = np.where(enough, statistic.means, np.nan)[np.newaxis]
    everyone = quotients(statistic.sums.sum(), statistic.totals.sum(), np.nan)
    sizes = statistic.counts[np.newaxis]
    return differences(means, everyone, sizes, multigroup, among, gap)


def locate_outcomes(
    statistic: GroupedOutcomes, *, multigroup: Multigroup = "pairwise"
) -> Located:
    """Locate the largest difference between mean outcomes of groups."""
    means = statistic.means
    everyone = float(statistic.sums.sum() / statistic.totals.sum())
    value = largest_difference(means, everyone, multigroup)
    return locate_largest(value, means, everyone, multigroup)


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


def n_compared(curves: Floats, multigroup: Multigroup) -> int:
    """Count the pairs of curves; with everyone, whose curve comes last, the others."""
    n = len(curves)
    return n - 1 if multigroup == "pooled" else n * (n - 1) // 2


def each_apart(
    curves: Floats, multigroup: Multigroup
) -> Iterator[tuple[slice, Floats]]:
    """Yield positions of some pairs, and how far apart their curves are everywhere.

    With everyone, whose curve comes last, the others are compared.
    """
    if multigroup == "pooled":
        yield slice(None), np.abs(curves[:-1] - curves[-1])
        return
    start = 0
    for i in range(len(curves) - 1):
        stop = start + len(curves) - 1 - i
        yield slice(start, stop), np.abs(curves[i + 1 :] - curves[i])
        start = stop

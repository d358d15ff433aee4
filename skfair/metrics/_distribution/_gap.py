"""The largest gap over the groups that are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from skfair.metrics._inputs import Multigroup, check_multigroup
from skfair.statistics import GroupedScores
from skfair.statistics._grouped_scores import Gap, gap_between

#: More than the rounding of a sum of two distances.
_ROUNDING = 1e-12


def comparisons(
    statistic: GroupedScores, multigroup: Multigroup
) -> Sequence[tuple[int, int | None]]:
    """Which groups a metric compares: every pair, or each group with everyone.

    Parameters
    ----------
    statistic : GroupedScores
    multigroup : {"pairwise", "pooled"}

    Returns
    -------
    list of (int, int) or (int, None)

    Raises
    ------
    ValueError
        On another `multigroup`.
    """
    check_multigroup(multigroup)
    n_groups = statistic.n_groups
    if multigroup == "pooled":
        return [(group, None) for group in range(n_groups)]
    return [(i, j) for i in range(n_groups) for j in range(i + 1, n_groups)]


def largest_gap(
    statistic: GroupedScores,
    multigroup: Multigroup,
    measure: Callable[[Gap], float],
    distance: Callable[[Gap], float] | None = None,
) -> float:
    """Largest value of a measure over the gaps that are compared.

    Parameters
    ----------
    statistic : GroupedScores
    multigroup : {"pairwise", "pooled"}
    measure : callable
    distance : callable, default=None
        A measure that is nowhere smaller and obeys the triangle inequality. Two
        groups are then no further apart than both are from everyone, so that most
        of many pairs need no look.

    Returns
    -------
    float
    """
    compared = comparisons(statistic, multigroup)
    limits = np.full(len(compared), np.inf)
    if distance is not None and len(compared) > statistic.n_groups:
        from_everyone = np.array(
            [
                distance(gap_between(statistic, *groups))
                for groups in comparisons(statistic, "pooled")
            ]
        )
        limits = from_everyone[np.array(compared)].sum(axis=1)
    largest = 0.0
    for position in np.argsort(-limits, kind="stable"):
        if limits[position] + _ROUNDING < largest:
            break
        value = measure(gap_between(statistic, *compared[position]))
        largest = max(largest, value)
    return largest

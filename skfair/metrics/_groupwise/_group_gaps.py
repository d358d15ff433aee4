"""How far each group is from the weighted average of all groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skfair._utils._arrays import Bools, Floats, Integers
from skfair._utils._text import listed, shown
from skfair.groups import by_plain_label
from skfair.metrics._inputs import check_group_weights, rows_that_count
from skfair.metrics._uncertainty._permutation import (
    PermutationTestResult,
    permutation_test,
    permute_hits,
)
from skfair.metrics._undefined import warn_or_collect, warn_undefined
from skfair.statistics import GroupedOutcomes

GroupWeights: TypeAlias = (
    Literal["uniform", "proportional"] | Mapping[Any, float] | ArrayLike
)


@dataclass(frozen=True, eq=False)
class GroupGaps:
    """Distances of the groups' rates from the weighted average of rates."""

    # Of all groups that have a weight, those without rows included.
    statistic: GroupedOutcomes
    # Sum to one; 0 for groups that are not compared.
    weights: Floats
    # Whether a group has enough rows.
    compared: Bools
    # nan where fewer than two groups are compared.
    average: float
    # nan for groups that are not compared.
    gaps: Floats

    @property
    def defined(self) -> bool:
        """Whether at least two groups are compared."""
        return not math.isnan(self.average)


def group_gaps(
    name: str, statistic: GroupedOutcomes, group_weights: GroupWeights
) -> GroupGaps:
    """Compare each group with the weighted average of the groups (equations 6 and 7).

    A warning names the groups with too few rows, which are not compared.
    """
    statistic, weights = weigh_groups(statistic, group_weights)
    smallest = max(statistic.min_group_size, 1)
    compared = statistic.counts >= smallest
    weights = np.where(compared, weights, 0.0)
    reason = None
    if len(statistic.labels) < 2:
        reason = f"there must be at least two groups, got {list(statistic.labels)}"
    elif compared.sum() < 2:
        reason = f"fewer than two groups have {smallest} rows that count"
    elif weights.sum() == 0:
        reason = "all groups with rows have weight 0"
    left_out = _describe_left_out(statistic, compared, smallest)
    if reason is not None:
        parts = "; ".join(part for part in (reason, left_out) if part)
        warn_undefined(name, parts)
        undefined = np.full(len(weights), np.nan)
        return GroupGaps(statistic, weights, compared, math.nan, undefined)
    if left_out:
        warn_or_collect(
            f"without {left_out}",
            f"{name} leaves groups out: {left_out}. The weights of the others are "
            "scaled to sum to one.",
        )
    weights = weights / weights.sum()
    means = statistic.means
    average = float(weights[compared] @ means[compared])
    gaps = np.where(compared, np.abs(means - average), np.nan)
    return GroupGaps(statistic, weights, compared, average, gaps)


def weigh_groups(
    statistic: GroupedOutcomes, group_weights: GroupWeights
) -> tuple[GroupedOutcomes, Floats]:
    """Return the weights of the groups, which sum to one, with the statistic.

    Groups that only a mapping names are added to the statistic, without rows.
    """
    n_groups = statistic.n_groups
    if isinstance(group_weights, str):
        if group_weights == "uniform":
            return statistic, np.full(n_groups, 1 / max(n_groups, 1))
        if group_weights == "proportional":
            total = statistic.totals.sum()
            return statistic, statistic.totals / (total if total > 0 else 1)
        raise ValueError(
            "group_weights must be 'uniform', 'proportional', a mapping or an array, "
            f"got {shown(group_weights)}."
        )
    if isinstance(group_weights, Mapping | pd.Series):
        given = by_plain_label("group_weights", group_weights)
        lacking = [label for label in statistic.labels if label not in given]
        if lacking:
            raise ValueError(
                f"group_weights lacks {len(lacking)} groups of sensitive_features, "
                f"among them {lacking[:5]}."
            )
        known = set(statistic.labels)
        more = tuple(label for label in given if label not in known)
        if more:
            statistic = statistic.with_labels((*statistic.labels, *more))
        group_weights = [given[label] for label in statistic.labels]
    return statistic, check_group_weights(group_weights, statistic.labels)


def permute_outcomes(
    metric: Callable[..., float],
    of_hits: Callable[[NDArray[np.int64]], Floats],
    sizes: Integers,
    hits: Integers,
    rows: tuple[Any, Any, Any, Any, Any],
    sample_weight: ArrayLike | None,
    **settings: Any,
) -> PermutationTestResult:
    """Permutation test of a metric of 0/1 outcomes: by numbers of hits, or row by row.

    `rows` are true and predicted labels, groups, quality and positive label. Weighted
    rows keep their weight with their outcome.
    """
    if sample_weight is None:
        return permute_hits(of_hits, sizes, hits, **settings)
    outcomes, groups, weights = rows_that_count(*rows, sample_weight)
    return permutation_test(
        metric,
        None,
        outcomes,
        sensitive_features=groups,
        within=None,
        sample_weight=weights,
        **settings,
    )


def _describe_left_out(
    statistic: GroupedOutcomes, compared: Bools, smallest: int
) -> str:
    """Return the number and names of the groups left out; "" if there are none."""
    positions = np.flatnonzero(~compared)
    if not len(positions):
        return ""
    named = listed([repr(statistic.labels[i]) for i in positions])
    rows = "no rows" if smallest == 1 else f"fewer than {smallest} rows"
    return (
        f"{len(positions)} of {statistic.n_groups} groups have {rows} that count "
        f"({named})"
    )

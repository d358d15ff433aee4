"""Max-gap fairness: the largest gap of a group to the average."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skfair._utils._arrays import Bools, Floats, Integers
from skfair._utils._text import listed, shown
from skfair._utils._warnings import warns_if_reordered
from skfair.groups import by_plain_label
from skfair.metrics._evaluate import specify
from skfair.metrics._inputs import (
    Quality,
    check_group_weights,
    compares_rates_of_errors,
    count_hits,
    grouped_quality,
    quietly,
    rows_that_count,
    warn_or_collect,
    warn_undefined,
)
from skfair.metrics._permutation import (
    PermutationTestResult,
    permutation_test,
    permute_hits,
)
from skfair.metrics._strata import Multistratum
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
        by_label = by_plain_label("group_weights", group_weights)
        lacking = [label for label in statistic.labels if label not in by_label]
        if lacking:
            raise ValueError(
                f"group_weights lacks {len(lacking)} groups of sensitive_features, "
                f"among them {lacking[:5]}."
            )
        labels = set(statistic.labels)
        more = tuple(label for label in by_label if label not in labels)
        if more:
            statistic = statistic.with_labels((*statistic.labels, *more))
        group_weights = [by_label[label] for label in statistic.labels]
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


@specify(
    statistic=GroupedOutcomes,
    leaves_groups_out=True,
    compares_errors=compares_rates_of_errors,
)
def max_gap(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    pos_label: Any = None,
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Largest distance of a group's rate from the weighted average of rates.

    With many small groups it is mostly sampling noise: the rate of a group with a
    single row is 0 or 1. `cvar_fairness` averages over the groups that are furthest
    from the average instead.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. Not needed for the selection rate.
    y_pred : array-like of shape (n_samples,), or GroupedOutcomes
        Predicted labels. A `GroupedOutcomes` replaces all rows and `quality`; the
        other arguments with one entry per row must then be None.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, such as its department or its true label, within which
        groups are compared; several columns stand for their intersection. Strata
        without two groups are left out, with a warning that names them.
    quality : {"selection_rate", "true_positive_rate", "false_positive_rate", \
"accuracy", "error_rate"} or callable, default="selection_rate"
        Rate that is compared. A callable ``quality(y_true, y_pred)`` returns 0 or 1 for
        each row, or a tuple of that and of a mask of the rows that count: the
        precision is ``lambda y_true, y_pred: (y_true == 1, y_pred == 1)``.
    group_weights : {"uniform", "proportional"}, mapping, or array-like of shape \
(n_groups,), default="uniform"
        Weights of the groups in the average: equal, each group's share of the rows
        that count, or given by label or in the order of the sorted labels. They are
        scaled to sum to one. A mapping may name groups that have no rows.
    pos_label : int, float, bool or str, default=None
        The positive class. None means 1 if classes are numbers; text requires it,
        except for accuracy and error rate.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    float in [0, 1]
        0 means equal rates in all groups. nan with a warning if fewer than two groups
        can be compared.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        If labels or weights are invalid, lengths differ, groups are missing, or a
        callable returns anything but 0 and 1.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If groups have no rows that count, or fewer than the `min_group_size` of their
        `Groups`. They are left out and named, and the weights of the others scaled.

    See Also
    --------
    cvar_fairness : Mean gap of the groups furthest from the average.
    max_gap_test : Test of equal rates in all groups.

    References
    ----------
    .. [1] Monteiro Paes, Suresh, Beutel, Calmon, Beirami. "Multi-Group Fairness
       Evaluation via Conditional Value-at-Risk Testing". 2023. Definition 2.

    Examples
    --------
    >>> from skfair.metrics import max_gap
    >>> y_pred = [1, 1, 0, 0, 1, 0]
    >>> group = ["a", "a", "b", "b", "c", "c"]
    >>> max_gap(None, y_pred, sensitive_features=group)
    0.5
    """
    statistic = grouped_quality(
        y_true, y_pred, sensitive_features, quality, pos_label, sample_weight
    )
    compared = group_gaps("max_gap", statistic, group_weights)
    return float(np.nanmax(compared.gaps)) if compared.defined else math.nan


@warns_if_reordered
def max_gap_test(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes,
    *,
    sensitive_features: Any = None,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    n_permutations: int = 999,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> PermutationTestResult:
    """Test whether the largest gap exceeds sampling noise.

    Equivalent to `permutation_test` of `max_gap`, and much faster with many groups.
    Its power is low if groups are small, since the largest gap is then that of some
    group of a few rows; `cvar_fairness_test` has more power.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. Not needed for the selection rate.
    y_pred : array-like of shape (n_samples,), or GroupedOutcomes
        Predicted labels, or a statistic that replaces all rows and `quality`.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    quality : str or callable, default="selection_rate"
        Rate that is compared, see `max_gap`.
    group_weights : {"uniform", "proportional"}, mapping, or array-like of shape \
(n_groups,), default="uniform"
        Weights of the groups in the average, see `max_gap`.
    pos_label : int, float, bool or str, default=None
        The positive class, see `max_gap`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights. They stay with the row's outcome where groups are
        permuted, row by row; this takes as
        long as `permutation_test`.
    n_permutations : int, default=999
        Number of permutations; the p-value is at least 1 / (n_permutations + 1).
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.
    n_jobs : int, default=None
        Number of processes; None is 1 unless in a `joblib.parallel_config` context,
        -1 uses all processors. The result does not depend on it.
    verbose : int, default=0
        Verbosity of `joblib.Parallel`; 0 is silent.

    Returns
    -------
    PermutationTestResult
        Statistic, p-value and null distribution are nan where max-gap is undefined.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        As in `max_gap`, and if `n_permutations` is not a positive integer or a
        statistic is one of weighted rows.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        As in `max_gap`.

    See Also
    --------
    max_gap : The metric.
    cvar_fairness_test : The test of CVaR fairness.

    References
    ----------
    .. [1] Monteiro Paes, Suresh, Beutel, Calmon, Beirami. "Multi-Group Fairness
       Evaluation via Conditional Value-at-Risk Testing". 2023. Definitions 1 and 2.

    Examples
    --------
    >>> from skfair.metrics import max_gap_test
    >>> y_pred = [1] * 9 + [0] + [0] * 9 + [1]
    >>> group = ["a"] * 10 + ["b"] * 10
    >>> max_gap_test(None, y_pred, sensitive_features=group, random_state=0).pvalue
    0.00...
    """
    rows = y_true, y_pred, sensitive_features, quality, pos_label
    statistic = grouped_quality(*rows, sample_weight)
    groups = group_gaps("max_gap_test", statistic, group_weights)
    sizes, hits = count_hits(groups.statistic, weighted=sample_weight is not None)
    sizes, hits = sizes[groups.compared], hits[groups.compared]
    weights = groups.weights[groups.compared]

    def largest_gaps(hits: NDArray[np.int64]) -> Floats:
        if not groups.defined:
            return np.full(len(hits), np.nan)
        rates = hits / sizes
        gaps = np.abs(rates - (rates @ weights)[:, np.newaxis])
        return np.asarray(gaps.max(axis=1))

    return permute_outcomes(
        partial(quietly, partial(max_gap, group_weights=group_weights)),
        largest_gaps,
        sizes,
        hits,
        rows,
        sample_weight,
        n_permutations=n_permutations,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    )

"""Metrics of many groups: how far their rates are from the average rate.

CVaR fairness is the mean gap of the groups furthest from the average.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import Bounds, LinearConstraint, milp, minimize_scalar
from scipy.special import ndtr, ndtri

from skfair._rows import Rows
from skfair._utils._arrays import Bools, Floats, quotients
from skfair._utils._text import shown
from skfair._utils._validation import check_flag, check_real
from skfair._utils._warnings import warn_user
from skfair.groups import map_labels, relabel
from skfair.metrics._inputs import (
    Quality,
    check_group_weights,
    check_quality,
    outcomes_of,
)
from skfair.metrics._metric import (
    Exchangeable,
    Metric,
    evaluates,
)
from skfair.metrics._parts import Estimate, undefined_estimate
from skfair.metrics._quantiles import (
    UNDEFINED,
    Comparisons,
    Method,
    Observed,
    Quantiles,
    compare_means,
    compare_values,
    distribution_free_quantiles,
    exact_distance,
    normal_quantiles,
    sum_by_comparison,
    variances_of_means,
)
from skfair.metrics._strata import Multistratum
from skfair.metrics._undefined import describe_left_out, why_none_compared
from skfair.statistics import CountTable

GroupWeights: TypeAlias = (
    Literal["uniform", "proportional"] | Mapping[Any, float] | ArrayLike
)


@dataclass(frozen=True, eq=False)
class GroupGaps:
    """Distances of the groups' rates from the weighted average of rates."""

    # Of all groups that have a weight, those without rows included.
    statistic: Rows
    # Sum to one; 0 for groups that are not compared.
    weights: Floats
    # Whether a group has enough rows.
    compared: Bools
    # nan where fewer than two groups are compared.
    average: float
    # nan for groups that are not compared.
    gaps: Floats
    # Why fewer than two groups are compared; "" if there are two.
    reason: str
    # Which groups have too few rows; "" if none has.
    left_out: str

    @property
    def defined(self) -> bool:
        """Whether at least two groups are compared."""
        return not self.reason

    def estimate(self, name: str, value: float) -> Estimate:
        """Return the estimate of a value; name the groups left out of it."""
        if self.reason:
            reasons = [text for text in (self.reason, self.left_out) if text]
            return undefined_estimate(name, "; ".join(reasons))
        if not self.left_out:
            return Estimate(value)
        return Estimate(
            value,
            f"without {self.left_out}",
            f"{name} leaves groups out: {self.left_out}. The weights of the others "
            "are scaled to sum to one.",
        )


def find_gaps(statistic: Rows, group_weights: GroupWeights) -> GroupGaps:
    """Compare each group with the weighted average of the groups (equations 6 and 7).

    Groups with too few rows are left out.
    """
    statistic, weights = weigh_groups(statistic, group_weights)
    smallest = max(statistic.min_group_size, 1)
    compared = statistic.counts >= smallest
    weights = np.where(compared, weights, 0.0)
    reason = why_none_compared(statistic.labels, compared, weights, smallest)
    small = [statistic.labels[i] for i in np.flatnonzero(~compared)]
    left_out = describe_left_out(small, statistic.n_groups, smallest)
    average, gaps = math.nan, np.full(len(weights), np.nan)
    if not reason:
        weights = weights / weights.sum()
        means = statistic.means
        average = float(weights[compared] @ means[compared])
        gaps = np.where(compared, np.abs(means - average), np.nan)
    return GroupGaps(statistic, weights, compared, average, gaps, reason, left_out)


def weigh_groups(statistic: Rows, group_weights: GroupWeights) -> tuple[Rows, Floats]:
    """Return a statistic and the weights of its groups, which sum to one.

    Groups that are named by a mapping of weights, but have no rows, are added to the
    statistic.
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
        by_label = map_labels("group_weights", group_weights)
        lacking = [label for label in statistic.labels if label not in by_label]
        if lacking:
            raise ValueError(
                f"group_weights lacks {len(lacking)} groups of sensitive_features, "
                f"among them {lacking[:5]}."
            )
        labels = set(statistic.labels)
        more = tuple(label for label in by_label if label not in labels)
        if more:
            groups = relabel(statistic.groups, (*statistic.labels, *more))
            statistic = statistic.replace_groups(groups)
        group_weights = [by_label[label] for label in statistic.labels]
    return statistic, check_group_weights(group_weights, statistic.labels)


@dataclass(frozen=True, kw_only=True)
class DistanceFromAverage(Metric):
    """Base of metrics of the distances of groups' rates from their average."""

    leaves_groups_out = True

    quality: Quality = "selection_rate"
    group_weights: GroupWeights = "uniform"
    pos_label: Hashable = None

    def __post_init__(self) -> None:
        """Check the options that do not depend on the rows."""
        super().__post_init__()
        check_quality(self.quality)

    @property
    def exchangeable(self) -> Exchangeable:  # type: ignore[override]
        """Rows among which a test permutes groups."""
        rates = ("true_positive_rate", "false_positive_rate")
        of_errors = isinstance(self.quality, str) and self.quality in rates
        return "same true label" if of_errors else "all"

    def check(self, rows: Rows) -> Rows:
        """Check labels; return outcomes, and in `y_true` which rows count, or None."""
        labels = rows.y_true, rows.y_pred
        outcomes, mask = outcomes_of(*labels, self.quality, self.pos_label)
        return replace(rows, y_true=mask, y_pred=outcomes)

    def select(self, rows: Rows) -> Rows:
        """Return the checked rows that count."""
        return rows if rows.y_true is None else replace(rows[rows.y_true], y_true=None)

    def summarise(self, groups: GroupGaps) -> float:
        """Summarise the gaps of groups, of which at least two are compared."""
        raise NotImplementedError

    def estimate_statistic(self, statistic: Rows) -> Estimate:
        """Find the value of a statistic, or why it has none; name groups left out."""
        groups = find_gaps(statistic, self.group_weights)
        value = self.summarise(groups) if groups.defined else math.nan
        return groups.estimate(self.name, value)

    def value(self, statistic: Rows) -> float:
        """Find the value of a statistic whose groups can be compared."""
        return self.summarise(find_gaps(statistic, self.group_weights))


class MaxGap(DistanceFromAverage):
    """Largest distance of a group's rate from the average."""

    has_noise_bounds = True

    def summarise(self, groups: GroupGaps) -> float:
        """Find the largest gap."""
        return float(np.nanmax(groups.gaps))

    def bound_noise(self, observed: Observed, method: Method) -> Comparisons:
        """Bound the noise of each group's distance from the average."""
        groups = find_gaps(observed.statistic, self.group_weights)
        estimate = groups.estimate(self.name, 0.0)
        if not groups.defined:
            return UNDEFINED._replace(reason=estimate.reason, message=estimate.message)
        value = self.summarise(groups)
        rates, sizes, weights = compared_rates(groups, observed)
        moments = rates, rates
        comparisons = compare_means(value, moments, sizes, weights, "pooled", method)
        return comparisons._replace(reason=estimate.reason, message=estimate.message)


@evaluates(MaxGap)
def max_gap(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    pos_label: Hashable = None,
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> float:
    """Largest distance of a group's rate from the weighted average of rates.

    With many small groups it is mostly sampling noise: the rate of a group with a
    single row is 0 or 1. `cvar_fairness` averages over the groups that are furthest
    from the average instead.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. Not needed for the selection rate.
    y_pred : array-like of shape (n_samples,), or CountTable
        Predicted labels. A table replaces all rows; the other arguments with one entry
        per row must then be None.
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
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

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
    metric = MaxGap(
        quality=quality,
        group_weights=group_weights,
        pos_label=pos_label,
        multistratum=multistratum,
    )
    return metric(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        counts=counts,
    )


#: Sums of weights may exceed the capacity by this: they round, and sum to one.
_CAPACITY_ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class CVaRFairness(DistanceFromAverage):
    """Mean gap of the groups that are furthest from the average."""

    has_noise_bounds = True

    alpha: float = 0.9
    fractional: bool = True

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        check_real("alpha", self.alpha, 0, 1, closed="left")
        check_flag("fractional", self.fractional)

    def summarise(self, groups: GroupGaps) -> float:
        """Find the mean gap of the tail, and warn where no group fits into it."""
        alpha, compared = float(self.alpha), groups.compared
        gaps, weights = groups.gaps[compared], groups.weights[compared]
        shares = tail_shares(gaps, weights, alpha, fractional=self.fractional)
        if gaps.any() and not shares.any():
            warn_user(
                "cvar_fairness is 0 only because its tail is empty: every group weighs "
                f"more than 1 - alpha = {1 - alpha:.4g}. Use fractional=True or a "
                "smaller alpha.",
                UserWarning,
            )
        return tail_mean(gaps, weights, shares, alpha)

    def check_method(self, method: Method) -> None:
        """Raise where the noise has no bounds by a method, with these options."""
        super().check_method(method)
        if not self.fractional:
            raise ValueError("fractional of CVaR fairness must be True, got False.")

    def bound_noise(self, observed: Observed, method: Method) -> Comparisons:
        """Bound the noise of the mean gap in the tail.

        CVaR fairness is the largest mean gap over all possible tails, and so a seminorm
        of the rates.
        """
        groups, alpha = find_gaps(observed.statistic, self.group_weights), self.alpha
        estimate = groups.estimate(self.name, 0.0)
        if not groups.defined:
            return UNDEFINED._replace(reason=estimate.reason, message=estimate.message)
        rates, sizes, weights = compared_rates(groups, observed)

        def average_tail(values: Floats) -> float:
            shares = tail_shares(values, weights, alpha)
            return tail_mean(values, weights, shares, alpha)

        if method == "band":
            to_upper_end, to_lower_end = _tail_noise_of_rates(
                rates, sizes, weights, alpha, average_tail
            )
        else:
            free = distribution_free_quantiles(sizes, weights, "pooled", method)

            def to_lower_end(tail: float) -> Any:
                return average_tail(free.of_mean(tail / (2 * len(rates))))

            to_upper_end = to_lower_end
        value = average_tail(groups.gaps[groups.compared])
        comparisons = compare_values(
            float(value), np.array([value]), to_upper_end, to_lower_end
        )
        return comparisons._replace(reason=estimate.reason, message=estimate.message)


@evaluates(CVaRFairness)
def cvar_fairness(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    alpha: float = 0.9,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    fractional: bool = True,
    pos_label: Hashable = None,
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> float:
    """Mean gap of the groups that are furthest from the average.

    The gap of a group is the distance of its rate from the weighted average of rates.
    CVaR fairness is the conditional value at risk of the gap at level alpha, where
    groups are drawn with probabilities equal to their weights. For alpha 0 it is the
    mean gap of all groups; it increases with alpha, and never exceeds `max_gap`. Like
    `max_gap` it is biased upwards where groups are small: `cvar_fairness_test` tests
    whether there is more than sampling noise.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. Not needed for the selection rate.
    y_pred : array-like of shape (n_samples,), or CountTable
        Predicted labels. A table replaces all rows; the other arguments with one entry
        per row must then be None.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, such as its department or its true label, within which
        groups are compared; several columns stand for their intersection. Strata
        without two groups are left out, with a warning that names them.
    alpha : float in [0, 1), default=0.9
        Level: groups with a total weight of 1 - alpha form the tail.
    quality : {"selection_rate", "true_positive_rate", "false_positive_rate", \
"accuracy", "error_rate"} or callable, default="selection_rate"
        Rate that is compared. A callable ``quality(y_true, y_pred)`` returns 0 or 1 for
        each row, or a tuple of that and of a mask of the rows that count.
    group_weights : {"uniform", "proportional"}, mapping, or array-like of shape \
(n_groups,), default="uniform"
        Weights of the groups: equal, each group's share of the rows that count, or
        given by label or in the order of the sorted labels. They are scaled to sum
        to one. A mapping may name groups that have no rows.
    fractional : bool, default=True
        Whether a group may belong to the tail in part, so that the total weight of
        the tail is exactly 1 - alpha. If False, groups belong to it entirely or not
        at all, as in equation 28; see Notes.
    pos_label : int, float, bool or str, default=None
        The positive class. None means 1 if classes are numbers; text requires it,
        except for accuracy and error rate.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

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
        If `alpha` is out of range, labels or weights are invalid, lengths differ,
        groups are missing, or a callable returns anything but 0 and 1.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If groups have no rows that count, or fewer than the `min_group_size` of their
        `Groups`. They are left out and named, and the weights of the others scaled.
    UserWarning
        If ``fractional=False`` and the weight of every group exceeds 1 - alpha.

    See Also
    --------
    cvar_fairness_report : Table of the groups, with those of the tail.
    cvar_fairness_test : Test of equal rates in all groups.
    max_gap : The largest gap of a group.

    Notes
    -----
    The fractional form is the default because it is the conditional value at risk
    itself: it is continuous and non-decreasing in alpha. With five groups of equal
    weight and alpha 0.9 it equals max-gap, whereas by equation 28 every group is too
    heavy for the tail, and the value is 0. The fractional form is never smaller than
    the other form, and equal to it where whole groups have a total weight of 1 - alpha.
    It takes one sort. ``fractional=False`` solves a knapsack problem: by the same sort
    if weights are equal, otherwise by `scipy.optimize.milp`, up to 1e-6, which takes
    about .1 s for 500 groups and 1 to 6 s for 5,000.

    References
    ----------
    .. [1] Monteiro Paes, Suresh, Beutel, Calmon, Beirami. "Multi-Group Fairness
       Evaluation via Conditional Value-at-Risk Testing". 2023. Definition 3,
       equations 28 and 29, propositions 2 and 3.

    Examples
    --------
    >>> from skfair.metrics import cvar_fairness
    >>> y_pred = [1, 1, 0, 0, 1, 0, 1, 0]
    >>> group = ["a", "a", "b", "b", "c", "c", "d", "d"]
    >>> cvar_fairness(None, y_pred, sensitive_features=group, alpha=0.25)
    0.333...
    """
    metric = CVaRFairness(
        alpha=alpha,
        quality=quality,
        group_weights=group_weights,
        fractional=fractional,
        pos_label=pos_label,
        multistratum=multistratum,
    )
    return metric(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        counts=counts,
    )


def tail_shares(
    gaps: Floats, weights: Floats, alpha: float, *, fractional: bool = True
) -> Floats:
    """Return how much of each group belongs to the tail Q of equation 28, from 0 to 1.

    Groups whose gap is nan, of weight 0, take no part.
    """
    check_flag("fractional", fractional)
    shares = np.zeros(len(gaps))
    if np.isnan(gaps).all():
        return shares
    capacity = 1 - alpha
    # Rounding does not decide which of two groups that are as far comes first.
    order = np.argsort(-gaps.round(12), kind="stable")
    if fractional:
        before = np.append(0, np.cumsum(weights[order])[:-1])
        room = np.clip(capacity - before, 0, weights[order])
        # A room this small in the tail comes from rounding.
        room[room <= _CAPACITY_ROUNDING * capacity] = 0
        shares[order] = quotients(room, weights[order])
    elif np.ptp(weights[weights > 0]) <= _CAPACITY_ROUNDING * weights.max():
        n_fitting = int(
            (capacity + _CAPACITY_ROUNDING) / weights.max() * (1 + _CAPACITY_ROUNDING)
        )
        shares[order[weights[order] > 0][:n_fitting]] = 1
    else:
        shares[best_subset(gaps, weights, capacity)] = 1
    return shares


def tail_mean(gaps: Floats, weights: Floats, shares: Floats, alpha: float) -> float:
    """Return the mean gap of the tail (equation 29)."""
    # Rounding must not bring the mean above the largest gap of the tail.
    value = (weights * shares) @ gaps / (1 - alpha)
    return float(min(value, gaps[shares > 0].max(initial=0.0)))


def best_subset(ratios: Floats, weights: Floats, capacity: float) -> Bools:
    """Return the subset within `capacity` that maximises ``weights @ ratios``."""
    taken = np.zeros(len(weights), dtype=bool)
    items = np.flatnonzero((weights <= capacity + _CAPACITY_ROUNDING) & (weights > 0))
    items = items[ratios[items] > 0]
    if len(items):
        weights = weights[items] / capacity
        with silenced_output():
            found = milp(
                -weights * ratios[items],
                constraints=LinearConstraint(
                    weights, ub=1.0 + _CAPACITY_ROUNDING / capacity
                ),
                integrality=np.ones(len(items)),
                bounds=Bounds(0, 1),
                options={"mip_rel_gap": 0},
            )
        taken[items] = found.x > 0.5
    return taken


@contextmanager
def silenced_output() -> Iterator[None]:
    """Discard the output of C code of the solver."""
    try:
        sys.stdout.flush()
        own = os.dup(1)
    except (OSError, ValueError, AttributeError):  # there is no standard output
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(own, 1)
        os.close(own)
        os.close(nowhere)


def compared_rates(
    groups: GroupGaps, observed: Observed
) -> tuple[Floats, Floats, Floats]:
    """Return rates of the groups that are compared, their sizes, and their weights."""
    n_groups = observed.statistic.n_groups
    compared = np.flatnonzero(groups.compared[:n_groups])
    rates = observed.statistic.means[compared]
    return rates, observed.sizes[compared], groups.weights[compared]


def _tail_noise_of_rates(
    rates: Floats,
    sizes: Floats,
    weights: Floats,
    alpha: float,
    average_tail: Callable[[Floats], float],
) -> tuple[Quantiles, Quantiles]:
    """Return the distances from the tail's mean gap to its ends, in large samples."""
    variances, n_groups = variances_of_means(rates, rates, sizes), len(rates)

    def furthest(tail: float) -> Floats:
        """Square the distance of each rate from the further of its two exact bounds."""
        ends = [exact_distance(p, sizes, tail) for p in (rates, 1 - rates)]
        return np.maximum(*ends) ** 2

    def to_lower_end(tail: float) -> Any:
        one_by_one = sum_by_comparison(
            furthest(tail / (2 * n_groups)), weights, "pooled"
        )
        each, quantile = average_tail(np.sqrt(one_by_one)), -ndtri(tail)
        # Variances with which normal noise has these bounds.
        widest = furthest(tail) / quantile**2
        noise = _tail_noise(widest, weights, alpha)
        noise += quantile * _tail_deviation(widest, weights, alpha, average_tail)
        return min(each, noise)

    deviation = _tail_deviation(variances, weights, alpha, average_tail)
    return normal_quantiles(deviation), to_lower_end


def _tail_deviation(
    variances: Floats,
    weights: Floats,
    alpha: float,
    average_tail: Callable[[Floats], float],
) -> Any:
    """Bound the standard deviation of the mean signed gap in a tail, of any groups.

    A rate's coefficient is at most t plus its weight, t from 0 to weight / (1 - alpha)
    being its share of the tail; its square is bounded by the chord over that range.
    """
    most = weights / (1 - alpha)
    slopes = ((most + weights) ** 2 - weights**2) * variances
    np.divide(slopes, most, out=slopes, where=most > 0)
    return math.sqrt(float(weights**2 @ variances) + average_tail(slopes))


def _tail_noise(variances: Floats, weights: Floats, alpha: float) -> Any:
    """Bound, on average over the noise, the largest mean absolute noise over all tails.

    For every threshold t, this average is at most t plus the mean excess of the
    absolute noise over t, divided by 1 - alpha.
    """
    deviations = np.sqrt(sum_by_comparison(variances, weights, "pooled"))

    def bound(threshold: float) -> float:
        ratio = threshold / deviations
        density = np.exp(-(ratio**2) / 2) / math.sqrt(2 * math.pi)
        excess = 2 * deviations * (density - ratio * ndtr(-ratio))
        return threshold + float(weights @ excess) / (1 - alpha)

    largest = 10 * float(deviations.max())
    return minimize_scalar(bound, bounds=(0, largest), method="bounded").fun

"""Distances of many groups from their average: the largest, and CVaR fairness.

CVaR fairness is the mean gap of the groups furthest from the average.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.stats import binom, false_discovery_control, hypergeom
from sklearn.exceptions import UndefinedMetricWarning

from skfair._utils._arrays import Bools, Floats, Integers, quotients
from skfair._utils._results import Result
from skfair._utils._text import listed, shown
from skfair._utils._validation import (
    check_flag,
    check_real,
    check_weights,
)
from skfair._utils._warnings import warn_user, warns_if_reordered
from skfair.groups import Groups, by_plain_label, group_index, resolve_groups
from skfair.metrics._evaluate import Multistratum, specify
from skfair.metrics._inputs import (
    Quality,
    check_group_weights,
    collected_reasons,
    compares_rates_of_errors,
    count_hits,
    grouped_quality,
    outcomes_of,
    warn_or_collect,
    warn_undefined,
)
from skfair.metrics._permutation import (
    PermutationTestResult,
    permutation_test,
)
from skfair.metrics._rate_intervals import wilson_interval
from skfair.metrics._spec import Specification
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
    small = [statistic.labels[i] for i in np.flatnonzero(~compared)]
    left_out = describe_left_out(small, statistic.n_groups, smallest)
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


@dataclass(frozen=True)
class OfOutcomes:
    """Evaluates a metric of outcomes again, of which an earlier call has warned.

    As a metric of skfair it gets `Groups`, whose least size it knows.
    """

    metric: Callable[..., float]

    @property
    def specification(self) -> Specification:
        """Describe the metric to tests."""
        return Specification(self)

    def __call__(self, *args: Any, **rows: Any) -> float:
        with collected_reasons():
            return self.metric(*args, **rows)


def permute_outcomes(
    metric: Callable[..., float],
    statistic: GroupedOutcomes,
    rows: tuple[Any, Any, Any, Any],
    quality: dict[str, Any],
    **options: Any,
) -> PermutationTestResult:
    """Permutation test of a metric of 0/1 outcomes: by numbers of hits, or row by row.

    `rows` are true and predicted labels, groups and weights, `quality` names the
    outcomes and the positive label. Weighted rows keep their weight with their outcome.
    """
    y_true, y_pred, sensitive_features, sample_weight = rows
    outcomes: Any = statistic
    columns: dict[str, Any] = {}
    if sample_weight is not None:
        outcomes, mask = outcomes_of(y_true, y_pred, **quality)
        groups = resolve_groups(sensitive_features, n_samples=len(outcomes))
        weights = check_weights(sample_weight, len(outcomes))
        counts = slice(None) if mask is None else mask
        columns["sensitive_features"] = groups[counts]
        columns["sample_weight"] = weights[counts]
        outcomes = outcomes[counts].astype(np.intp)
    again = OfOutcomes(metric)
    return permutation_test(again, None, outcomes, **columns, within=None, **options)


def describe_left_out(
    labels: Sequence[Hashable], n_groups: int, smallest: int, which: str = " that count"
) -> str:
    """Return the number and names of the groups left out; "" if there are none.

    `which` says which of their rows are too few.
    """
    if not labels:
        return ""
    named = listed([repr(label) for label in labels])
    rows = "no rows" if smallest == 1 else f"fewer than {smallest} rows"
    return f"{len(labels)} of {n_groups} groups have {rows}{which} ({named})"


@specify(
    statistic=GroupedOutcomes,
    leaves_groups_out=True,
    compares_errors=compares_rates_of_errors,
    read=grouped_quality,
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
    rows = y_true, y_pred, sensitive_features, sample_weight
    statistic = grouped_quality(*rows, quality=quality, pos_label=pos_label)
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

    This is `permutation_test` of `max_gap`, among the rows that count. Its power is low
    if groups are small, since the largest gap is then that of some group of a few rows;
    `cvar_fairness_test` has more power.

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
        permuted, row by row.
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
    rows = y_true, y_pred, sensitive_features, sample_weight
    options = {"quality": quality, "pos_label": pos_label}
    statistic = grouped_quality(*rows, **options)
    groups = group_gaps("max_gap_test", statistic, group_weights)
    return permute_outcomes(
        partial(max_gap, group_weights=group_weights),
        groups.statistic,
        rows,
        options,
        n_permutations=n_permutations,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    )


Sampling: TypeAlias = (
    Literal["fixed", "weighted", "attribute_specific"] | tuple[str, float]
)

#: The exponent of weighted sampling that needs the fewest rows.
EXPONENT = 2 / 3


@dataclass(frozen=True, repr=False)
class RateVarianceResult(Result):
    """Result of `rate_variance`.

    Attributes
    ----------
    value : float
        Estimate F of the weighted variance of the groups' rates (definition 7). The
        variance is at least (1 - alpha) CVaR^2 for every alpha; the estimate may be
        negative.
    f1 : float
        Estimate of the weighted mean of the squared rates.
    f2 : float
        Estimate of the weighted mean of the rates.
    bias_correction : bool
        Whether `value` is unbiased, see `rate_variance`.
    sampling : str
    n_rows, n_groups : int
        Number of rows that count, and of all groups.
    n_small_groups : int
        Groups with fewer than two rows.
    """

    value: float
    f1: float
    f2: float
    bias_correction: bool
    sampling: str
    n_rows: int
    n_groups: int
    n_small_groups: int


@warns_if_reordered
def rate_variance(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes,
    *,
    sensitive_features: Any = None,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    pos_label: Any = None,
    sampling: Sampling = "fixed",
    bias_correction: bool = False,
) -> RateVarianceResult:
    """Estimate the weighted variance of the groups' rates (definition 7).

    The variance is 0 if all groups have the same rate, and at least (1 - alpha) times
    the square of CVaR fairness for every alpha. Two rows of a group suffice. Unlike
    CVaR fairness, the estimate is not biased upwards by noise in small groups.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. Not needed for the selection rate.
    y_pred : array-like of shape (n_samples,), or GroupedOutcomes
        Predicted labels, or a statistic that replaces all rows and `quality`.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    quality : str or callable, default="selection_rate"
        Rate that is compared, see `cvar_fairness`.
    group_weights : {"uniform", "proportional"}, mapping, or array-like of shape \
(n_groups,), default="uniform"
        Weights of the groups, see `cvar_fairness`. If a sampling plan drew no rows of
        some groups, name these in a mapping or in a `Groups`, since they count too.
    sampling : {"fixed", "weighted", "attribute_specific"} or tuple, default="fixed"
        How the rows were sampled:

        - ``"fixed"``: sizes of groups are not random. Groups with fewer than two rows
          are left out, since they have no information on the variance, and the
          weights of the others are scaled.
        - ``"weighted"``: rows were drawn independently, from a group with probability
          proportional to its weight to the power 2/3. ``("weighted", exponent)`` sets
          another power: 1 for simple random samples if weights are population shares.
        - ``"attribute_specific"``: groups were drawn with probability gamma times
          their weight, and the same number of rows from each of them. gamma is
          estimated by the number of groups drawn; ``("attribute_specific", gamma)``
          sets it.
    bias_correction : bool, default=False
        Whether to subtract an unbiased estimate of the squared mean rate. By default
        the square of `f2` is subtracted, whose expectation is too large by Var(f2).
    pos_label : int, float, bool or str, default=None
        The positive class, see `cvar_fairness`.

    Returns
    -------
    RateVarianceResult
        Its numbers are nan, with a warning, if no group has two rows.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        As in `cvar_fairness`, and if `sampling` is invalid or rows are weighted.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If no group has two rows.

    See Also
    --------
    cvar_fairness_test : The test that uses this estimate.
    skfair.sampling.weighted_sampling : Sampling plan for ``"weighted"``.
    skfair.sampling.attribute_specific_sampling : Plan for ``"attribute_specific"``.

    References
    ----------
    .. [1] Monteiro Paes, Suresh, Beutel, Calmon, Beirami. "Multi-Group Fairness
       Evaluation via Conditional Value-at-Risk Testing". 2023. Definitions 5 to 7,
       lemmas 5, 7 and 9.

    Examples
    --------
    >>> from skfair.metrics import rate_variance
    >>> y_pred = [1, 1, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "b", "b", "b"]
    >>> rate_variance(None, y_pred, sensitive_features=group)
    RateVarianceResult(value=0.25, f1=0.5, f2=0.5, bias_correction=False,
    sampling='fixed', n_rows=6, n_groups=2, n_small_groups=0)
    """
    check_flag("bias_correction", bias_correction)
    rows = y_true, y_pred, sensitive_features, None
    statistic = grouped_quality(*rows, quality=quality, pos_label=pos_label)
    estimator = RateVarianceEstimator(
        "rate_variance", statistic, group_weights, sampling
    )
    f1, f2 = (float(part[0]) for part in estimator.moments(estimator.hits[np.newaxis]))
    squared_mean = estimator.squared_mean(f2) if bias_correction else f2**2
    return RateVarianceResult(
        value=f1 - squared_mean,
        f1=f1,
        f2=f2,
        bias_correction=bias_correction,
        sampling=estimator.sampling,
        n_rows=estimator.n_rows,
        n_groups=len(estimator.sizes),
        n_small_groups=estimator.n_small_groups,
    )


def sampling_design(
    sampling: Sampling, weights: Floats, sizes: Integers
) -> tuple[Floats, Floats, Floats]:
    """Return what definition 7 needs of the sampling of groups of these sizes.

    These are the weights of the groups, which sum to one over those that take part, and
    the probabilities that a group has at least one row, and at least two.
    """
    name, parameter = _check_sampling(sampling)
    n_rows = int(sizes.sum())
    if name == "weighted":
        shares = weighted_shares(weights, EXPONENT if parameter is None else parameter)
        one_row, two_rows = (np.asarray(binom.sf(k, n_rows, shares)) for k in (0, 1))
        return weights, one_row, two_rows
    if name == "attribute_specific":
        # gamma is the expected number of sampled groups: estimate it by their number.
        gamma = n_rows / max(sizes.max(initial=0), 1)
        sampled = np.minimum(1, (parameter or gamma) * weights)
        return weights, sampled, sampled
    weights = np.where(sizes >= 2, weights, 0.0)
    total = weights.sum()
    certain = np.ones(len(weights))
    return weights / (total if total > 0 else 1), certain, certain


def _check_sampling(sampling: Any) -> tuple[str, float | None]:
    """Return the name of a sampling design and its parameter, if one is given."""
    pair = isinstance(sampling, tuple) and len(sampling) == 2
    name, parameter = sampling if pair else (sampling, None)
    designs = ("fixed", "weighted", "attribute_specific")
    if not isinstance(name, str) or name not in designs:
        raise ValueError(
            "sampling must be 'fixed', 'weighted', 'attribute_specific', or a tuple of "
            f"one of the latter two and its parameter, got {shown(sampling)}."
        )
    if parameter is None:
        return name, None
    if name == "fixed":
        raise ValueError(f"sampling 'fixed' has no parameter, got {shown(sampling)}.")
    closed: Literal["left", "neither"] = "left" if name == "weighted" else "neither"
    return name, check_real(
        f"the parameter of sampling {name!r}", parameter, 0, math.inf, closed=closed
    )


def weighted_shares(weights: Floats, exponent: float) -> Floats:
    """Return the probability of each group in a draw of weighted sampling (eq. 35)."""
    exponent = check_real("exponent", exponent, 0, math.inf, closed="left")
    powers = np.zeros(len(weights))
    # With exponent 0 too, a group without weight is never drawn. The largest power is
    # 1, however large the exponent.
    if weights.any():
        np.power(weights / weights.max(), exponent, out=powers, where=weights > 0)
        powers /= powers.sum()
    return powers


class RateVarianceEstimator:
    """The estimator of definition 7 for the groups of a statistic of 0/1 outcomes.

    Of weighted rows it counts rows only, see `weighted_rate_variance`. A warning says
    where it is undefined.
    """

    def __init__(
        self,
        metric: str,
        statistic: GroupedOutcomes,
        group_weights: GroupWeights,
        sampling: Sampling,
        *,
        weighted: bool = False,
    ) -> None:
        statistic, weights = weigh_groups(statistic, group_weights)
        self.statistic = statistic
        self.sampling, parameter = _check_sampling(sampling)
        if weighted and self.sampling != "fixed":
            raise ValueError(
                f"sampling must be 'fixed' with sample_weight, got {shown(sampling)}."
            )
        self.sizes, self.hits = count_hits(statistic, weighted=weighted)
        self.n_rows = int(self.sizes.sum())
        self.n_small_groups = int((self.sizes < 2).sum())
        self.shares = None  # probability of each group in one draw
        if self.sampling == "weighted":
            exponent = EXPONENT if parameter is None else parameter
            self.shares = weighted_shares(weights, exponent)
        self.weights, self.one_row, self.two_rows = sampling_design(
            sampling, weights, self.sizes
        )
        self.is_defined = bool((self.weights[self.sizes >= 2] > 0).any())
        if not self.is_defined:
            warn_user(
                f"{metric} is undefined and set to nan: none of the {len(self.sizes)} "
                "groups has a positive weight and two rows that count, of "
                f"{self.n_rows} rows in all.",
                UndefinedMetricWarning,
            )

    def moments(self, hits: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return F1 and F2 for each row of hits; nan where undefined.

        Terms whose denominator is 0 are 0, as in definition 7.
        """
        if not self.is_defined:
            undefined = np.full(len(hits), np.nan)
            return undefined, undefined
        pairs = self.sizes * (self.sizes - 1.0)
        counts = hits.astype(np.float64)
        f1 = (counts * (counts - 1)) @ quotients(self.weights, self.two_rows * pairs)
        f2 = counts @ quotients(self.weights, self.one_row * self.sizes)
        return f1, f2

    def estimate(
        self, _: None, statistic: GroupedOutcomes, *, sensitive_features: Any = None
    ) -> float:
        """Return F of a statistic of the same groups (equation 36)."""
        f1, f2 = self.moments(statistic.sums[np.newaxis])
        return float(f1[0] - f2[0] ** 2)

    def squared_mean(self, f2: float) -> float:
        """Return an unbiased estimate of the squared mean rate; nan where undefined."""
        if not self.is_defined:
            return math.nan
        hits, sizes = self.hits, self.sizes
        if self.shares is not None:
            # Counts of groups add up to n, so they are dependent: use pairs of rows.
            scale = quotients(self.weights, self.shares)
            total, squares = scale @ hits, scale**2 @ hits
            return float((total**2 - squares) / (self.n_rows * (self.n_rows - 1)))
        rates = quotients(hits, sizes)
        squared_rates = quotients(hits * (hits - 1.0), sizes * (sizes - 1.0))
        # E[rate^2] - P * E[unbiased estimate of rate^2] is the variance of a term.
        variances = quotients(self.weights, self.one_row) ** 2 * (
            rates**2 - self.one_row * squared_rates
        )
        return float(f2**2 - variances.sum())


def weighted_rate_variance(
    y_true: None,
    outcomes: Integers,
    *,
    sensitive_features: Groups,
    group_weights: GroupWeights,
    sample_weight: NDArray[Any],
) -> float:
    """Estimate of definition 7 for weighted rows of groups of fixed sizes."""
    first, second = (
        GroupedOutcomes.from_outcomes(
            outcomes, sensitive_features=sensitive_features, sample_weight=weights
        )
        for weights in (sample_weight, np.square(sample_weight, dtype=float))
    )
    statistic, weights = weigh_groups(first, group_weights)
    sums = second.with_labels(statistic.labels).sums  # of squared weights
    weights, *_ = sampling_design("fixed", weights, statistic.counts)
    pairs = np.where(
        statistic.counts >= 2, statistic.totals**2.0 - statistic.squares, 0
    )
    if not weights.any():
        return math.nan
    squares = quotients(statistic.sums**2.0 - sums, pairs)
    rates = quotients(statistic.sums, statistic.totals)
    return float(weights @ squares - (weights @ rates) ** 2)


#: Sums of weights may exceed the capacity by this: they round, and sum to one.
_ROUNDING = 1e-12


@specify(
    statistic=GroupedOutcomes,
    leaves_groups_out=True,
    compares_errors=compares_rates_of_errors,
    read=grouped_quality,
)
def cvar_fairness(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    alpha: float = 0.9,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    fractional: bool = True,
    pos_label: Any = None,
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
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
    heavy for the tail, and the value is 0. It is never smaller than the other form,
    and equal to it where whole groups have a total weight of 1 - alpha. It takes one
    sort. ``fractional=False`` solves a knapsack problem: by the same sort if weights
    are equal, otherwise by `scipy.optimize.milp`, up to 1e-6. That takes about .1 s
    for 500 groups and 1 to 6 s for 5,000.

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
    alpha = check_real("alpha", alpha, 0, 1, closed="left")
    rows = y_true, y_pred, sensitive_features, sample_weight
    statistic = grouped_quality(*rows, quality=quality, pos_label=pos_label)
    groups = group_gaps("cvar_fairness", statistic, group_weights)
    if not groups.defined:
        return math.nan
    gaps, weights = groups.gaps[groups.compared], groups.weights[groups.compared]
    shares = tail_shares(gaps, weights, alpha, fractional=fractional)
    if gaps.any() and not shares.any():
        warn_user(
            "cvar_fairness is 0 only because its tail is empty: every group weighs "
            f"more than 1 - alpha = {1 - alpha:.4g}. Use fractional=True or a smaller "
            "alpha.",
            UserWarning,
        )
    return tail_mean(gaps, weights, shares, alpha)


@dataclass(frozen=True, eq=False, repr=False)
class CVaRTestResult(Result):
    """Result of `cvar_fairness_test`; ``str(result)`` is a sentence for a report.

    Attributes
    ----------
    value : float
        Estimated weighted variance of the groups' rates, F of definition 7.
    threshold : float
        (1 - alpha) epsilon^2 / 2.
    reject : bool
        Whether the value is at least the threshold (algorithm 1), which decides
        for a CVaR fairness of at least epsilon against 0. False where undefined.
    pvalue : float in (0, 1]
        Share of permutations, the observed order included, with a value at least
        as large: exact at any sample size, and independent of `alpha` and `epsilon`.
        nan where undefined.
    alpha, epsilon : float
    sampling : str
    n_rows, n_groups : int
        Number of rows that count, and of all groups.
    n_small_groups : int
        Groups with fewer than two rows.
    n_permutations : int
    null_distribution : ndarray of shape (n_permutations,)
        The value for each permutation.
    """

    value: float
    threshold: float
    reject: bool
    pvalue: float
    alpha: float
    epsilon: float
    sampling: str
    n_rows: int
    n_groups: int
    n_small_groups: int
    n_permutations: int
    null_distribution: Floats = field(repr=False)

    def __str__(self) -> str:
        if np.isnan(self.value):
            verdict = "No group has two rows, so nothing can be said about"
        elif self.reject:
            verdict = "The threshold rule decides for a CVaR fairness of at least"
        else:
            verdict = "The threshold rule does not decide for a CVaR fairness of"
        return (
            f"{verdict} {self.epsilon:g} at alpha = {self.alpha:g}: the variance of "
            f"rates between groups is estimated at {self.value:.4g}, with a "
            f"threshold of {self.threshold:.4g}. If all groups had the same rate, an "
            f"estimate this large would have probability p = {self.pvalue:.3g} "
            f"({self.n_permutations:,} permutations). Based on {self.n_rows:,} rows of "
            f"{self.n_groups:,} groups ({self.sampling} sampling), of which "
            f"{self.n_small_groups:,} have fewer than two rows."
        )


@warns_if_reordered
def cvar_fairness_test(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes,
    *,
    sensitive_features: Any = None,
    alpha: float,
    epsilon: float,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    pos_label: Any = None,
    sampling: Sampling = "fixed",
    sample_weight: ArrayLike | None = None,
    n_permutations: int = 999,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CVaRTestResult:
    """Test whether all groups have the same rate.

    The result has two decisions. The threshold of algorithm 1 decides between a CVaR
    fairness of 0 and one of at least epsilon; it is valid for large samples, up to
    constants that the theory does not specify. The permutation p-value is exact at any
    sample size: if all groups have the same rate, outcomes are exchangeable between
    rows. It depends on neither alpha nor epsilon. A small p-value is evidence that
    rates differ, not that CVaR fairness exceeds epsilon.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. Not needed for the selection rate.
    y_pred : array-like of shape (n_samples,), or GroupedOutcomes
        Predicted labels, or a statistic that replaces all rows and `quality`.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    alpha : float in [0, 1)
        Level: groups with a total weight of 1 - alpha form the tail.
    epsilon : float in (0, 1]
        CVaR fairness that the threshold must detect.
    quality : str or callable, default="selection_rate"
        Rate that is compared, see `cvar_fairness`.
    group_weights : {"uniform", "proportional"}, mapping, or array-like of shape \
(n_groups,), default="uniform"
        Weights of the groups, see `cvar_fairness`. If a sampling plan drew no rows of
        some groups, name these in a mapping or in a `Groups`, since they count too.
    pos_label : int, float, bool or str, default=None
        The positive class, see `cvar_fairness`.
    sampling : {"fixed", "weighted", "attribute_specific"} or tuple, default="fixed"
        How the rows were sampled, see `rate_variance`. The permutation p-value is
        exact with every value; for rows from weighted sampling, ``"fixed"`` had more
        power in simulation.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights. They stay with the row's outcome where groups are
        permuted, row by row; `sampling`
        must then be ``"fixed"``.
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
    CVaRTestResult

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        As in `cvar_fairness`, and if `alpha`, `epsilon`, `sampling` or
        `n_permutations` is out of range or a statistic is one of weighted rows.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If no group has two rows; value and p-value are then nan.
    UserWarning
        If the value is the same for all permutations, as it is of one group.

    See Also
    --------
    cvar_fairness : The metric.
    max_gap_test : The same test with the largest gap as its statistic.
    top_groups : The groups that differ from the others.
    skfair.sampling.required_sample_size : Number of rows that the test needs.
    rate_variance : The estimate.
    skfair.sampling.weighted_sampling : A plan that needs few rows.

    Notes
    -----
    Each permutation is drawn as the number of outcomes 1 of each group, from a
    multivariate hypergeometric distribution, so that time and memory depend on the
    number of groups and not of rows. Rows must be independent of each other; several
    rows of one person are not exchangeable with those of others.

    With sample weights the mean squared rate of a group is estimated by the products of
    the outcomes of two different rows, weighted by the products of their weights: this
    is unbiased if weights do not depend on the outcomes within a group.

    References
    ----------
    .. [1] Monteiro Paes, Suresh, Beutel, Calmon, Beirami. "Multi-Group Fairness
       Evaluation via Conditional Value-at-Risk Testing". 2023. Definition 7,
       algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.metrics import cvar_fairness_test
    >>> generator = np.random.default_rng(0)
    >>> group = generator.integers(0, 40, size=400)
    >>> y_pred = generator.random(400) < np.where(group < 4, 0.95, 0.4)
    >>> result = cvar_fairness_test(
    ...     None, y_pred, sensitive_features=group, alpha=0.9, epsilon=0.3,
    ...     random_state=0,
    ... )
    >>> result.reject, result.pvalue
    (True, 0.004)
    """
    alpha = check_real("alpha", alpha, 0, 1, closed="left")
    epsilon = check_real("epsilon", epsilon, 0, 1, closed="right")
    rows = y_true, y_pred, sensitive_features, sample_weight
    options = {"quality": quality, "pos_label": pos_label}
    estimator = RateVarianceEstimator(
        "cvar_fairness_test",
        grouped_quality(*rows, **options),
        group_weights,
        sampling,
        weighted=sample_weight is not None,
    )
    metric: Callable[..., float] = estimator.estimate
    if sample_weight is not None:
        metric = partial(weighted_rate_variance, group_weights=group_weights)
    test = permute_outcomes(
        metric,
        estimator.statistic,
        rows,
        options,
        n_permutations=n_permutations,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    threshold = (1 - alpha) * epsilon**2 / 2
    return CVaRTestResult(
        value=test.value,
        threshold=threshold,
        reject=test.value >= threshold,
        pvalue=test.pvalue,
        alpha=alpha,
        epsilon=epsilon,
        sampling=estimator.sampling,
        n_rows=estimator.n_rows,
        n_groups=len(estimator.sizes),
        n_small_groups=estimator.n_small_groups,
        n_permutations=test.n_permutations,
        null_distribution=test.null_distribution,
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
        room[room <= _ROUNDING * capacity] = 0
        shares[order] = quotients(room, weights[order])
    elif np.ptp(weights[weights > 0]) <= _ROUNDING * weights.max():
        n_fitting = int((capacity + _ROUNDING) / weights.max() * (1 + _ROUNDING))
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
    """Subset of total weight at most `capacity` that maximises ``weights @ ratios``."""
    taken = np.zeros(len(weights), dtype=bool)
    items = np.flatnonzero((weights <= capacity + _ROUNDING) & (weights > 0))
    items = items[ratios[items] > 0]
    if len(items):
        weights = weights[items] / capacity
        with silenced_output():
            found = milp(
                -weights * ratios[items],
                constraints=LinearConstraint(weights, ub=1.0 + _ROUNDING / capacity),
                integrality=np.ones(len(items)),
                bounds=Bounds(0, 1),
                options={"mip_rel_gap": 0},
            )
        taken[items] = found.x > 0.5
    return taken


@contextmanager
def silenced_output() -> Iterator[None]:
    """Send what C code prints nowhere: the solver writes notes to standard output."""
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


@warns_if_reordered
def cvar_fairness_report(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes,
    *,
    sensitive_features: Any = None,
    alpha: float = 0.9,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    fractional: bool = True,
    pos_label: Any = None,
    confidence_level: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> pd.DataFrame:
    """Table of the groups: size, rate, interval, gap, and share in the tail.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. Not needed for the selection rate.
    y_pred : array-like of shape (n_samples,), or GroupedOutcomes
        Predicted labels, or a statistic that replaces all rows and `quality`.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    alpha : float in [0, 1), default=0.9
        Level: groups with a total weight of 1 - alpha form the tail.
    quality : str or callable, default="selection_rate"
        Rate that is compared, see `cvar_fairness`.
    group_weights : {"uniform", "proportional"}, mapping, or array-like of shape \
(n_groups,), default="uniform"
        Weights of the groups, see `cvar_fairness`.
    fractional : bool, default=True
        Whether a group may belong to the tail in part, see `cvar_fairness`.
    pos_label : int, float, bool or str, default=None
        The positive class, see `cvar_fairness`.
    confidence_level : float in (0, 1), default=0.95
        Level of the intervals.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    DataFrame of n_groups rows
        Indexed by group, largest gap first, with the columns

        - ``size`` : number of rows that count,
        - ``rate`` : mean outcome, in [0, 1]; nan without rows,
        - ``lower``, ``upper`` : Wilson interval of the rate,
        - ``weight`` : weight of the group,
        - ``difference`` : rate minus the weighted average of rates,
        - ``gap`` : its absolute value,
        - ``tail_share`` : part of the group that belongs to the tail, in [0, 1],
        - ``in_tail`` : whether `tail_share` is above 0.

        The sum of ``weight * gap * tail_share`` over groups is (1 - alpha) times
        `cvar_fairness`.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        As in `cvar_fairness`, and if `confidence_level` is out of range.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        As in `cvar_fairness`.

    See Also
    --------
    top_groups : The groups that differ, at a given false discovery rate.
    skfair.inspection.GroupDotsDisplay : Draws this table.
    cvar_fairness : The metric.
    group_metrics : Any metrics by group, with intervals.
    impact_ratios : Rates over the highest one.

    Notes
    -----
    Each interval covers the rate of one group with the given probability, not the
    rates of all groups simultaneously, and the groups of the tail are selected by
    their large gaps: of many groups, some have intervals without the average by chance
    alone. With sample weights, the interval uses Kish's effective number of rows, and
    its level is approximate.

    References
    ----------
    .. [1] Monteiro Paes et al. "Multi-Group Fairness Evaluation via Conditional
       Value-at-Risk Testing". 2023. Definition 3.
    .. [2] Wilson. "Probable Inference, the Law of Succession, and Statistical
       Inference". JASA 22(158), 1927.

    Examples
    --------
    >>> from skfair.metrics import cvar_fairness_report
    >>> report = cvar_fairness_report(
    ...     None, [1, 1, 0, 0, 1, 0], sensitive_features=list("aabbcc"), alpha=0.5
    ... )
    >>> report[["size", "rate", "lower", "upper", "gap", "tail_share"]].round(2)
       size  rate  lower  upper  gap  tail_share
    a     2   1.0   0.34   1.00  0.5         1.0
    b     2   0.0   0.00   0.66  0.5         0.5
    c     2   0.5   0.09   0.91  0.0         0.0
    """
    alpha = check_real("alpha", alpha, 0, 1, closed="left")
    rows = y_true, y_pred, sensitive_features, sample_weight
    statistic = grouped_quality(*rows, quality=quality, pos_label=pos_label)
    groups = group_gaps("cvar_fairness_report", statistic, group_weights)
    shares = tail_shares(groups.gaps, groups.weights, alpha, fractional=fractional)
    statistic = groups.statistic
    lower, upper = wilson_interval(
        statistic.means, statistic.effective_sizes, confidence_level
    )
    columns = {
        "size": statistic.counts,
        "rate": statistic.means,
        "lower": lower,
        "upper": upper,
        "weight": groups.weights,
        "difference": statistic.means - groups.average,
        "gap": groups.gaps,
        "tail_share": shares,
        "in_tail": shares > 0,
    }
    report = pd.DataFrame(columns, group_index(statistic.labels, statistic.names))
    return report.iloc[np.argsort(-groups.gaps, kind="stable")]


@warns_if_reordered
def top_groups(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes,
    *,
    sensitive_features: Any = None,
    quality: Quality = "selection_rate",
    pos_label: Any = None,
    false_discovery_rate: float = 0.05,
    sample_weight: ArrayLike | None = None,
) -> pd.DataFrame:
    """Find the groups whose rate differs from that of all other rows.

    Each group is compared with all other rows by an exact test. The expected share of
    groups that do not differ among those returned is at most `false_discovery_rate`
    (Benjamini and Hochberg).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. Not needed for the selection rate.
    y_pred : array-like of shape (n_samples,), or GroupedOutcomes
        Predicted labels, or a statistic that replaces all rows and `quality`.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    quality : str or callable, default="selection_rate"
        Rate that is compared, see `cvar_fairness`.
    pos_label : int, float, bool or str, default=None
        The positive class, see `cvar_fairness`.
    false_discovery_rate : float in (0, 1), default=0.05
        Expected share of false discoveries among the groups returned.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights, which must not depend on the outcomes within a
        group. The test is then approximate, see the notes.

    Returns
    -------
    DataFrame of n_discoveries rows
        Indexed by group, smallest p-value first, empty if none differs, with the
        columns ``size``, ``rate``, ``lower`` and ``upper`` (95 % Wilson interval),
        ``rate_of_others``, ``difference`` of the two rates, ``pvalue``, and
        ``adjusted_pvalue``, the smallest false discovery rate at which the group is
        returned.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        As in `cvar_fairness`, and if `false_discovery_rate` is out of range.

    See Also
    --------
    cvar_fairness_report : All groups.
    scipy.stats.false_discovery_control : The adjustment.
    worst_subgroup : Searches conjunctions of columns.
    cvar_fairness_test : Tests whether groups differ at all.

    Notes
    -----
    The p-value is twice the smaller tail probability of the hypergeometric
    distribution of the group's outcomes given all outcomes. The test has little power
    for groups of a few rows: a group that is not returned may still differ. Groups
    without rows that count are not tested.

    Weighted rows count as Kish's effective number of rows of their group, rounded down,
    with the weighted rate. Where all groups had the same rate, from .05 to .5, and rows
    had lognormal weights, groups were returned in 1 to 5.2 % of 600 samples in each of
    six settings with 2 to 100 groups and 200 to 2,000 rows.

    References
    ----------
    .. [1] Benjamini, Hochberg. "Controlling the False Discovery Rate". Journal of the
       Royal Statistical Society B 57(1), 1995.

    Examples
    --------
    >>> from skfair.metrics import top_groups
    >>> y_pred = [1] * 18 + [0] * 2 + [1, 0] * 40
    >>> group = ["a"] * 20 + ["b"] * 40 + ["c"] * 40
    >>> found = top_groups(None, y_pred, sensitive_features=group)
    >>> found[["size", "rate", "rate_of_others", "adjusted_pvalue"]].round(3)
       size  rate  rate_of_others  adjusted_pvalue
    a    20   0.9             0.5            0.005
    """
    level = check_real(
        "false_discovery_rate", false_discovery_rate, 0, 1, closed="neither"
    )
    rows = y_true, y_pred, sensitive_features, sample_weight
    statistic = grouped_quality(*rows, quality=quality, pos_label=pos_label)
    groups = _compared_with_others(statistic)
    different = groups[groups["adjusted_pvalue"] <= level]
    return different.sort_values("pvalue", kind="stable")


def _compared_with_others(statistic: GroupedOutcomes) -> pd.DataFrame:
    """Return the table of all groups, each compared with all other rows."""
    if np.array_equal(statistic.totals, statistic.counts):
        sizes, hits = count_hits(statistic)
    else:
        effective = np.nan_to_num(statistic.effective_sizes)
        sizes = np.floor(effective * (1 + 1e-12)).astype(np.intp)
        hits = np.rint(statistic.means * sizes).astype(np.intp)
    rates, n_others = statistic.means, sizes.sum() - sizes
    sums, totals = (_sums_of_others(v) for v in (statistic.sums, statistic.totals))
    others = np.full(len(sizes), np.nan)
    np.divide(sums, totals, out=others, where=n_others > 0)
    tested = (sizes > 0) & (n_others > 0)
    pvalues, adjusted = np.full((2, len(sizes)), np.nan)
    pvalues[tested] = _pvalues(sizes[tested], hits[tested], sizes.sum(), hits.sum())
    if tested.any():
        adjusted[tested] = false_discovery_control(pvalues[tested])
    lower, upper = wilson_interval(rates, sizes.astype(np.float64), 0.95)
    columns = {
        "size": statistic.counts,
        "rate": rates,
        "lower": lower,
        "upper": upper,
        "rate_of_others": others,
        "difference": rates - others,
        "pvalue": pvalues,
        "adjusted_pvalue": adjusted,
    }
    return pd.DataFrame(columns, group_index(statistic.labels, statistic.names))


def _sums_of_others(values: NDArray[Any]) -> NDArray[Any]:
    """Sum over all groups but each one, which a difference of sums would round off."""
    before, after = np.cumsum(values[:-1]), np.cumsum(values[:0:-1])[::-1]
    return np.asarray(np.append(0, before) + np.append(after, 0))


def _pvalues(sizes: Integers, hits: Integers, n_rows: int, n_hits: int) -> Floats:
    """Two-sided exact p-value of each group against all other rows."""
    below = hypergeom.cdf(hits, n_rows, n_hits, sizes)
    above = hypergeom.sf(hits - 1, n_rows, n_hits, sizes)
    return np.asarray(np.clip(2 * np.minimum(below, above), 0, 1))

"""CVaR fairness: the mean gap over the worst-off share of groups."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._utils._validation import check_real
from skfair.metrics._groupwise._group_gaps import GroupWeights, group_gaps
from skfair.metrics._groupwise._quality import Quality, grouped_quality
from skfair.metrics._groupwise._rate_variance import Sampling, make_estimator
from skfair.metrics._groupwise._tail import tail_mean, tail_shares
from skfair.metrics._uncertainty._permutation import permute_hits
from skfair.statistics import GroupedOutcomes


def cvar_fairness(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes,
    *,
    sensitive_features: Any = None,
    alpha: float = 0.9,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    fractional: bool = True,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean distance from the average over the groups that are furthest from it.

    The conditional value at risk of the gap of a group, drawn by its weight: at alpha
    0 the mean gap of all groups; with alpha it rises to `max_gap`, which it never
    exceeds. Like `max_gap` it is pushed up by noise where groups are small:
    `cvar_fairness_test` says whether there is more than noise.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. The selection rate needs none.
    y_pred : array-like of shape (n_samples,), or GroupedOutcomes
        Predicted labels. A statistic takes the place of all rows and of `quality`;
        then the other arguments by row are None.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    alpha : float in [0, 1), default=0.9
        The tail holds groups of weight 1 - alpha.
    quality : {"selection_rate", "true_positive_rate", "false_positive_rate", \
"accuracy", "error_rate"} or callable, default="selection_rate"
        What is compared. A callable ``quality(y_true, y_pred)`` returns 0 or 1 for
        each row, or a tuple of that and of a mask of the rows that count.
    group_weights : {"uniform", "proportional"}, mapping, or array-like of shape \
(n_groups,), default="uniform"
        Weights of the groups: the same for all, the group's share of the rows that
        count, or given, by label or in the order of the sorted labels. They are
        scaled to sum to one. A mapping may name groups that have no rows.
    fractional : bool, default=True
        Whether the last group of the tail may belong to it in part, so that the tail
        weighs 1 - alpha to the digit. If not, groups belong whole or not at all, as
        equation 28 has it: see Notes.
    pos_label : int, float, bool or str, default=None
        The label that counts as positive. None stands for 1 where labels are
        numbers; text labels need it, except for accuracy and error rate.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    float in [0, 1]
        0 is equal quality for all groups. nan with a warning where fewer than two
        groups can be compared.

    Raises
    ------
    ValueError
        On an `alpha` out of range, labels or weights that cannot be used, lengths
        that differ, missing groups, or a callable that returns anything but 0 and 1.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If groups have no rows that count, or fewer than their `Groups` asks for. They
        are left out and counted; the weights of the others are scaled.
    UserWarning
        If ``fractional=False`` and every group weighs more than 1 - alpha.

    See Also
    --------
    cvar_fairness_report : Which groups form the tail.
    cvar_fairness_test : Whether it is larger than noise alone would give.

    Notes
    -----
    The fractional form is the default because it is the conditional value at risk
    proper: it moves continuously and never falls with alpha, and with five groups and
    alpha 0.9 it is the max-gap, where equation 28 finds no group light enough and
    says 0. It is never smaller than the other form, equals it where whole groups fill
    the tail, and costs a sort. ``fractional=False`` solves a knapsack problem: with
    equal weights by that sort, otherwise by an exact search, up to a relative
    difference of 1e-8.

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
    statistic = grouped_quality(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        quality=quality,
        pos_label=pos_label,
        sample_weight=sample_weight,
    )
    groups = group_gaps("CVaR fairness", statistic, group_weights)
    if not groups.defined:
        return math.nan
    gaps, weights = groups.gaps[groups.compared], groups.weights[groups.compared]
    shares = tail_shares(gaps, weights, alpha, fractional=fractional)
    if gaps.any() and not shares.any():
        warnings.warn(
            f"CVaR fairness is 0 only because its tail is empty: every group weighs "
            f"more than 1 - alpha = {1 - alpha:.4g}. Use fractional=True or a smaller "
            "alpha.",
            UserWarning,
            stacklevel=2,
        )
    return tail_mean(gaps, weights, shares, alpha)


@dataclass(frozen=True, eq=False)
class CVaRTestResult:
    """Result of `cvar_fairness_test`; printed, it is a sentence for a report.

    Attributes
    ----------
    statistic : float
        Estimated weighted variance of the groups' rates, F of definition 7.
    threshold : float
        (1 - alpha) epsilon^2 / 2.
    reject : bool
        Whether the statistic reaches the threshold (algorithm 1), which says "CVaR
        fairness is at least epsilon" rather than 0. False where undefined.
    pvalue : float in (0, 1]
        Share of permutations, the given order among them, with a statistic at least
        as large: exact at any sample size, and independent of `alpha` and `epsilon`.
    alpha, epsilon : float
    sampling : str
    n_rows, n_groups : int
        Rows that count, and all groups.
    n_small_groups : int
        Groups with fewer than two rows, which say nothing about themselves.
    n_permutations : int
    null_distribution : ndarray of shape (n_permutations,)
        The statistic for each permutation.
    """

    statistic: float
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
    null_distribution: NDArray[np.float64] = field(repr=False)

    def __str__(self) -> str:
        if np.isnan(self.statistic):
            verdict = "No group has two rows, so nothing can be said about"
        elif self.reject:
            verdict = "The threshold rule decides for a CVaR fairness of at least"
        else:
            verdict = "The threshold rule does not decide for a CVaR fairness of"
        return (
            f"{verdict} {self.epsilon:g} at alpha = {self.alpha:g}: the variance of "
            f"rates between groups is estimated at {self.statistic:.4g}, with a "
            f"threshold of {self.threshold:.4g}. If all groups were served alike, an "
            f"estimate this large would have probability p = {self.pvalue:.3g} "
            f"({self.n_permutations:,} permutations). Based on {self.n_rows:,} rows of "
            f"{self.n_groups:,} groups ({self.sampling} sampling), of which "
            f"{self.n_small_groups:,} have fewer than two rows."
        )


def cvar_fairness_test(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes,
    *,
    sensitive_features: Any = None,
    alpha: float,
    epsilon: float,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    sampling: Sampling = "fixed",
    n_permutations: int = 999,
    pos_label: Any = None,
    random_state: int | np.random.RandomState | None = None,
) -> CVaRTestResult:
    """Test whether all groups are served alike, against a CVaR fairness of epsilon.

    Two answers. The threshold of algorithm 1 tells CVaR fairness 0 from epsilon or
    more, right for large samples up to constants that the theory leaves open. The
    permutation p-value is exact at any sample size: if all groups have one rate,
    outcomes are exchangeable over rows. It needs neither alpha nor epsilon; a small
    one says that rates differ, not that CVaR fairness exceeds epsilon.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. The selection rate needs none.
    y_pred : array-like of shape (n_samples,), or GroupedOutcomes
        Predicted labels, or a statistic in place of all rows and of `quality`.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    alpha : float in [0, 1)
        The tail holds groups of weight 1 - alpha.
    epsilon : float in (0, 1]
        CVaR fairness that must not go unnoticed.
    quality : str or callable, default="selection_rate"
        What is compared, see `cvar_fairness`.
    group_weights : {"uniform", "proportional"}, mapping, or array-like of shape \
(n_groups,), default="uniform"
        Weights of the groups, see `cvar_fairness`. Where a sampling plan left groups
        without rows, name them in a mapping or in a `Groups`: they count.
    sampling : {"fixed", "weighted", "attribute_specific"} or tuple, default="fixed"
        How many rows a group has, see `rate_variance`. The permutation p-value is
        exact whatever is said here; under weighted sampling ``"fixed"`` had more
        power in simulation.
    n_permutations : int, default=999
        Number of permutations; the p-value is at least 1 / (n_permutations + 1).
    pos_label : int, float, bool or str, default=None
        The label that counts as positive, see `cvar_fairness`.
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.

    Returns
    -------
    CVaRTestResult

    Raises
    ------
    ValueError
        As in `cvar_fairness`, on `alpha`, `epsilon`, `sampling` or `n_permutations`
        out of range, and on weighted rows.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If no group has two rows; statistic and p-value are nan then.

    See Also
    --------
    cvar_fairness : The value itself.
    max_gap_test : The same question asked with the largest gap.
    top_groups : Which groups differ.
    skfair.sampling.required_sample_size : How many rows a test needs.

    Notes
    -----
    Permutations are drawn as hits per group, without touching rows: time and memory
    depend on the number of groups. Rows must be independent of each other; several
    rows of one person are not exchangeable with those of others.

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
    >>> result.reject, result.pvalue < 0.01
    (True, True)
    """
    alpha = check_real("alpha", alpha, 0, 1, closed="left")
    epsilon = check_real("epsilon", epsilon, 0, 1, closed="right")
    statistic = grouped_quality(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        quality=quality,
        pos_label=pos_label,
    )
    estimator = make_estimator("CVaR fairness test", statistic, group_weights, sampling)
    test = permute_hits(
        estimator.values,
        estimator.sizes,
        estimator.hits,
        n_permutations=n_permutations,
        random_state=random_state,
    )
    threshold = (1 - alpha) * epsilon**2 / 2
    return CVaRTestResult(
        statistic=test.statistic,
        threshold=threshold,
        reject=test.statistic >= threshold,
        pvalue=test.pvalue,
        alpha=alpha,
        epsilon=epsilon,
        sampling=estimator.design.name,
        n_rows=estimator.n_rows,
        n_groups=len(estimator.sizes),
        n_small_groups=estimator.n_small_groups,
        n_permutations=test.n_permutations,
        null_distribution=test.null_distribution,
    )

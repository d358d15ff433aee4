"""CVaR fairness: the mean gap over the worst-off share of groups."""

from __future__ import annotations

import math
import warnings
from typing import Any

from numpy.typing import ArrayLike

from skfair.metrics._group_gaps import GroupWeights, group_gaps
from skfair.metrics._quality import Quality, grouped_quality
from skfair.metrics._tail import check_alpha, tail_mean, tail_shares
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
        count, or given, by label or in the order of the sorted labels. They sum to
        one. A mapping may name groups that have no rows.
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
    alpha = check_alpha(alpha)
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

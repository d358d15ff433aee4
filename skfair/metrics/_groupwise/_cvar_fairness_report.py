"""Table of the groups behind CVaR fairness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skfair._utils._validation import check_real
from skfair._utils._warnings import warns_if_reordered
from skfair.groups import group_index
from skfair.metrics._groupwise._cvar_fairness import tail_shares
from skfair.metrics._groupwise._group_gaps import (
    GroupWeights,
    group_gaps,
)
from skfair.metrics._inputs import Quality, grouped_quality
from skfair.metrics._rate_intervals import wilson_interval
from skfair.statistics import GroupedOutcomes


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
    skfair.inspection.GroupGapDisplay : Plot of this table.
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
    statistic = grouped_quality(
        y_true, y_pred, sensitive_features, quality, pos_label, sample_weight
    )
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

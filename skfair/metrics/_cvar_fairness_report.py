"""The table of many groups: how far each is from the average, and whether by chance."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control, hypergeom

from skfair._rows import Rows
from skfair._utils._arrays import Bools, Floats, quotients
from skfair._utils._validation import check_real
from skfair.groups import group_index
from skfair.metrics._inputs import Quality
from skfair.metrics._many_groups import (
    GroupGaps,
    GroupWeights,
    MaxGap,
    find_gaps,
    tail_shares,
)
from skfair.metrics._rate_intervals import wilson_interval
from skfair.statistics import CountTable


def cvar_fairness_report(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    alpha: float = 0.9,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    fractional: bool = True,
    pos_label: Hashable = None,
    confidence_level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> pd.DataFrame:
    """Table of the groups: size, rate, interval, gap, share in the tail, p-values.

    The table answers two questions: which groups form the tail of CVaR fairness, and
    which groups differ from all other rows by more than chance. The groups with an
    adjusted p-value of at most .05 differ with a false discovery rate of 5 %: among
    them, the expected share of groups that do not differ is at most that.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. Not needed for the selection rate.
    y_pred : array-like of shape (n_samples,), or CountTable
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
        Non-negative sample weights, which must not depend on the outcomes within a
        group. Intervals and p-values are then approximate, see the notes.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

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
        - ``in_tail`` : whether `tail_share` is above 0,
        - ``rate_of_others`` : rate of all rows outside of the group,
        - ``pvalue`` : p-value of an exact test of the group against all other rows,
        - ``adjusted_pvalue`` : smallest false discovery rate (Benjamini and Hochberg)
          at which the group is found to differ.

        The sum of ``weight * gap * tail_share`` over groups is (1 - alpha) times
        `cvar_fairness`. Groups that are left out have weight 0, no gap and no p-value.

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
    worst_subgroup : Searches conjunctions of columns.
    cvar_fairness_test : Tests whether groups differ at all.
    skfair.inspection.GroupDotsDisplay : Draws this table.
    cvar_fairness : The metric.
    group_metrics : Any metrics by group, with intervals.
    impact_ratios : Rates over the highest one.

    Notes
    -----
    Each interval covers the rate of one group with the given probability, not the
    rates of all groups simultaneously, and the groups of the tail are selected by
    their large gaps: of many groups, some have intervals without the average by chance
    alone.

    The p-value is twice the smaller tail probability of the hypergeometric
    distribution of the group's outcomes given all outcomes. The test has little power
    for groups of a few rows: a group with a large p-value may still differ.

    With sample weights, intervals use Kish's effective number of rows, and p-values
    that number rounded down, with the weighted rate. Where all groups had the same
    rate, from .05 to .5, and rows had lognormal weights, groups were found at a false
    discovery rate of 5 % in 1 to 5.2 % of 600 samples in each of six settings with 2 to
    100 groups and 200 to 2,000 rows. Of a statistic of scores rather than decisions,
    intervals and p-values are too cautious.

    References
    ----------
    .. [1] Monteiro Paes et al. "Multi-Group Fairness Evaluation via Conditional
       Value-at-Risk Testing". 2023. Definition 3.
    .. [2] Wilson. "Probable Inference, the Law of Succession, and Statistical
       Inference". JASA 22(158), 1927.
    .. [3] Benjamini, Hochberg. "Controlling the False Discovery Rate". Journal of the
       Royal Statistical Society B 57(1), 1995.

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

    The groups that differ, with a false discovery rate of 5 %:

    >>> y_pred = [1] * 18 + [0] * 2 + [1, 0] * 40
    >>> group = ["a"] * 20 + ["b"] * 40 + ["c"] * 40
    >>> report = cvar_fairness_report(None, y_pred, sensitive_features=group)
    >>> differs = report[report["adjusted_pvalue"] <= 0.05]
    >>> differs[["size", "rate", "rate_of_others", "adjusted_pvalue"]].round(3)
       size  rate  rate_of_others  adjusted_pvalue
    a    20   0.9             0.5            0.005
    """
    alpha = check_real("alpha", alpha, 0, 1, closed="left")
    metric = MaxGap(quality=quality, pos_label=pos_label)
    rows = y_true, y_pred, sensitive_features, sample_weight, counts
    groups = find_gaps(metric.tabulate(*rows), group_weights)
    metric.told(groups.estimate("cvar_fairness_report", 0.0))
    return tabulate_groups(groups, alpha, fractional, confidence_level)


def tabulate_groups(
    groups: GroupGaps, alpha: float, fractional: bool, confidence_level: float
) -> pd.DataFrame:
    """Tabulate the groups by decreasing distance from the average."""
    shares = tail_shares(groups.gaps, groups.weights, alpha, fractional=fractional)
    statistic = groups.statistic
    lower, upper = wilson_interval(
        statistic.means, statistic.effective_sizes, confidence_level
    )
    pvalues, adjusted = compare_with_others(statistic, ~np.isnan(groups.gaps))
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
        "rate_of_others": rates_of_others(statistic),
        "pvalue": pvalues,
        "adjusted_pvalue": adjusted,
    }
    table = pd.DataFrame(columns, group_index(statistic.labels, statistic.names))
    return table.iloc[np.argsort(-groups.gaps, kind="stable")]


def compare_with_others(statistic: Rows, compared: Bools) -> tuple[Floats, Floats]:
    """Compare groups with all other rows, and return p-values.

    Both are nan for groups that are not to be compared.
    """
    effective = np.nan_to_num(statistic.effective_sizes)
    sizes = np.floor(effective * (1 + 1e-12)).astype(np.intp)
    hits = np.rint(np.nan_to_num(statistic.means) * sizes).astype(np.intp)
    n_rows, n_hits = sizes.sum(), hits.sum()
    pvalues, adjusted = np.full((2, len(sizes)), np.nan)
    tested = compared & (sizes > 0) & (sizes < n_rows)
    own = sizes[tested], hits[tested]
    below = hypergeom.cdf(own[1], n_rows, n_hits, own[0])
    above = hypergeom.sf(own[1] - 1, n_rows, n_hits, own[0])
    pvalues[tested] = np.clip(2 * np.minimum(below, above), 0, 1)
    if tested.any():
        adjusted[tested] = false_discovery_control(pvalues[tested])
    return pvalues, adjusted


def rates_of_others(statistic: Rows) -> Floats:
    """Compute the rate of all rows outside of each group, nan if there are none."""
    sums, totals = map(_sums_of_others, (statistic.sums, statistic.totals))
    return quotients(sums, totals, np.nan)


def _sums_of_others(values: NDArray[Any]) -> NDArray[Any]:
    """Sum over all other groups, without the rounding of differences."""
    before, after = np.cumsum(values[:-1]), np.cumsum(values[:0:-1])[::-1]
    return np.asarray(np.append(0, before) + np.append(after, 0))

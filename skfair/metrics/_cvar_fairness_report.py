"""The table of many groups: how far each is from the average, and whether by chance."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import false_discovery_control

from skfair._rows import Rows
from skfair._utils._validation import check_choice, check_flag, check_real, check_scores
from skfair._utils._warnings import warn_if_reordered
from skfair.groups import group_index
from skfair.metrics._inputs import Quality, numbers_of
from skfair.metrics._many_groups import (
    GroupGaps,
    GroupWeights,
    MaxGap,
    find_gaps,
    tail_shares,
)
from skfair.metrics._means_of_groups import (
    Alternative,
    are_outcomes,
    compute_means,
    distances,
    distances_of_difference,
    exact_pvalues,
    known_means,
    pvalues_of_difference,
    simultaneous_tail,
)
from skfair.metrics._rate_intervals import wilson_interval
from skfair.statistics import CountTable


def cvar_fairness_report(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | CountTable | None,
    *,
    sensitive_features: ArrayLike | None = None,
    alpha: float = 0.9,
    quality: Quality | ArrayLike = "selection_rate",
    group_weights: GroupWeights = "uniform",
    fractional: bool = True,
    pos_label: Hashable = None,
    confidence_level: float = 0.95,
    simultaneous: bool = False,
    baseline: float | None = None,
    epsilon: float = 0.0,
    alternative: Alternative = "two-sided",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> pd.DataFrame:
    """Table of the groups: size, rate, interval, gap, share in the tail, p-values.

    The table says which groups form the tail of CVaR fairness, what the rate of each
    group may be, and which groups differ from all other rows, or from a `baseline`, by
    more than chance and `epsilon`. Those with an adjusted p-value of at most .05 differ
    with a false discovery rate of 5 %: the expected share of groups among them that do
    not differ is at most that.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. Not needed for the selection rate.
    y_pred : array-like of shape (n_samples,), or CountTable, or None
        Predicted labels, whatever a callable `quality` takes, or a statistic that
        replaces all rows and `quality`. None where `quality` is an array.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    alpha : float in [0, 1), default=0.9
        Level: groups with a total weight of 1 - alpha form the tail.
    quality : str, callable, or array-like of shape (n_samples,), \
default="selection_rate"
        Rate that is compared, see `cvar_fairness`. An array has a number in [0, 1] for
        each row, such as its squared error, and a callable ``quality(y_true, y_pred)``
        returns one, or a tuple of that and of a mask of the rows that count. Rates are
        then means of these numbers.
    group_weights : {"uniform", "proportional"}, mapping, or array-like of shape \
(n_groups,), default="uniform"
        Weights of the groups, see `cvar_fairness`.
    fractional : bool, default=True
        Whether a group may belong to the tail in part, see `cvar_fairness`.
    pos_label : int, float, bool or str, default=None
        The positive class, see `cvar_fairness`.
    confidence_level : float in (0, 1), default=0.95
        Level of the intervals.
    simultaneous : bool, default=False
        Whether the intervals of all groups hold together with this level, so that
        groups may be chosen by them. By default each holds alone.
    baseline : float in [0, 1], default=None
        Number that rates are compared with, such as a promised error rate. None
        compares with all other rows.
    epsilon : float in [0, 1), default=0.0
        Difference that is tolerated: p-values are those of larger ones.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        Whether rates more than `epsilon` away, above or below are looked for.
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
        - ``lower``, ``upper`` : interval of the rate, exact if `simultaneous`, else
          Wilson's,
        - ``weight``, ``average`` : weight of the group, weighted average of the rates,
        - ``gap`` : distance of the rate from the average,
        - ``tail_share``, ``in_tail`` : part of the group that belongs to the tail, in
          [0, 1], and whether that is above 0,
        - ``rate_of_others`` : rate of all rows outside of the group,
        - ``difference``, ``difference_lower``, ``difference_upper`` : rate minus that
          of all other rows, or minus the `baseline`, and its interval,
        - ``pvalue``, ``adjusted_pvalue`` : that of a test of this difference, and the
          smallest false discovery rate (Benjamini and Hochberg) at which it is found.

        The sum of ``weight * gap * tail_share`` over groups is (1 - alpha) times
        `cvar_fairness`. Groups that are left out have weight 0, no gap and no p-value.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        As in `cvar_fairness`, and if `confidence_level`, `baseline`, `epsilon` or
        numbers are out of range.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        As in `cvar_fairness`.

    See Also
    --------
    cvar_fairness_test : Tests whether groups differ at all.
    skfair.inspection.GroupDotsDisplay : Draws this table.
    group_metrics : Any metrics by group, with intervals.

    Notes
    -----
    Groups are in the tail because their gaps are large. Unless `simultaneous`, the
    intervals of some of many groups exclude the average by chance alone.

    Simultaneous intervals of rates are exact intervals of Clopper and Pearson: groups
    are independent, each with the level ``confidence_level ** (1 / n_groups)``. An
    interval of a difference adds the distances of both rates from their ends as
    standard deviations are added [4]_. A p-value is the smallest tail with which such
    an interval lies beyond `epsilon`, against a `baseline` that of the binomial test.
    Without both it is Fisher's exact p-value, given all outcomes; for two sides the
    smaller tail is doubled. All tests have little power in groups of a few rows.

    Cherian and Candès [5]_ answer the same questions by a bootstrap. Its intervals are
    equally wide in groups of 100 rows with rates of .3, and hardly ever hold near 0 and
    1 or in small groups (``benchmarks/group_bounds.py``).

    Numbers other than 0 and 1 count as more rows of a rate that varies as little. With
    sample weights, the number of rows is Kish's, rounded down for Fisher's test. Both
    are approximate: where all groups had the same rate, from .05 to .5, and rows had
    lognormal weights, groups were found at a false discovery rate of 5 % in 1 to 5.2 %
    of 600 samples in each of six settings with 2 to 100 groups.

    References
    ----------
    .. [1] Monteiro Paes et al. "Multi-Group Fairness Evaluation via Conditional
       Value-at-Risk Testing". 2023. Definition 3.
    .. [2] Wilson. "Probable Inference, the Law of Succession, and Statistical
       Inference". JASA 22(158), 1927.
    .. [3] Benjamini, Hochberg. "Controlling the False Discovery Rate". Journal of the
       Royal Statistical Society B 57(1), 1995.
    .. [4] Newcombe. "Interval Estimation for the Difference between Independent
       Proportions". Statistics in Medicine 17(8), 1998. Method 10, of exact ends.
    .. [5] Cherian, Candès. "Statistical Inference for Fairness Auditing". Journal of
       Machine Learning Research 25(149), 2024 (arXiv 2305.03712).

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

    Bounds that hold for all groups at once, and groups whose rate is more than .1 above
    that of all others, with a false discovery rate of 5 %:

    >>> y_pred = [1] * 18 + [0] * 2 + [1, 0] * 40
    >>> group = ["a"] * 20 + ["b"] * 40 + ["c"] * 40
    >>> report = cvar_fairness_report(
    ...     None, y_pred, sensitive_features=group, simultaneous=True,
    ...     alternative="greater", epsilon=0.1,
    ... )
    >>> flagged = report[report["adjusted_pvalue"] <= 0.05]
    >>> flagged[["lower", "difference", "difference_lower", "adjusted_pvalue"]].round(3)
       lower  difference  difference_lower  adjusted_pvalue
    a  0.635         0.4             0.101            0.025
    """
    alpha = check_real("alpha", alpha, 0, 1, closed="left")
    confidence_level = check_real(
        "confidence_level", confidence_level, 0, 1, closed="neither"
    )
    check_flag("simultaneous", simultaneous)
    if baseline is not None:
        baseline = check_real("baseline", baseline, 0, 1, alternative="None or ")
    epsilon = check_real("epsilon", epsilon, 0, 1, closed="left")
    check_choice("alternative", alternative, get_args(Alternative))
    rows = y_true, y_pred, sensitive_features, sample_weight, counts
    if isinstance(quality, str) or isinstance(y_pred, CountTable):
        metric = MaxGap(quality=quality, pos_label=pos_label)  # type: ignore[arg-type]
        statistic: Rows = metric.read_statistic(*rows)
    else:
        metric = MaxGap()
        statistic = _sum_numbers(metric, quality, *rows)
    groups = find_gaps(statistic, group_weights)
    groups.estimate("cvar_fairness_report", 0.0).warn()
    return tabulate_groups(
        groups,
        alpha,
        fractional,
        confidence_level,
        simultaneous=bool(simultaneous),
        baseline=baseline,
        epsilon=epsilon,
        alternative=alternative,
    )


def _sum_numbers(
    metric: MaxGap, quality: Any, y_true: Any, y_pred: Any, groups: Any, *people: Any
) -> Rows:
    """Read a number in [0, 1] of each row, from a quality that is not a rate."""
    warn_if_reordered(y_true=y_true, y_pred=y_pred, sensitive_features=groups)
    arguments = {"y_true": y_true, "y_pred": y_pred}
    numbers, counted = numbers_of(quality, arguments, check_scores)
    rows = metric.read(None, numbers, groups, None, *people)
    return (rows if counted.all() else rows[counted]).grouped()


def tabulate_groups(
    groups: GroupGaps,
    alpha: float,
    fractional: bool,
    confidence_level: float,
    *,
    simultaneous: bool = False,
    baseline: float | None = None,
    epsilon: float = 0.0,
    alternative: Alternative = "two-sided",
) -> pd.DataFrame:
    """Tabulate the groups by decreasing distance from the average."""
    shares = tail_shares(groups.gaps, groups.weights, alpha, fractional=fractional)
    statistic = groups.statistic
    means, other_means = compute_means(statistic)
    reference, compared = other_means, ~np.isnan(groups.gaps)
    if baseline is not None:
        reference, compared = known_means(baseline, len(compared)), groups.compared
    ends = wilson_interval(means.share, means.rows, confidence_level)
    lower, upper = map(means.at, ends)
    tail = (1 - confidence_level) / 2
    if simultaneous:
        tail = simultaneous_tail(confidence_level, int((means.rows > 0).sum()))
        down, up = distances(means, tail)
        lower, upper = means.value - down, means.value + up
    difference = means.value - reference.value
    down, up = distances_of_difference(means, reference, tail)
    compared = compared & ~np.isnan(difference)
    pvalues, adjusted = np.full((2, len(compared)), np.nan)
    if baseline is None and epsilon == 0 and are_outcomes(statistic):
        pvalues[compared] = exact_pvalues(statistic, compared, alternative)
    else:
        samples = means.take(compared), reference.take(compared)
        pvalues[compared] = pvalues_of_difference(*samples, epsilon, alternative)
    if compared.any():
        adjusted[compared] = false_discovery_control(pvalues[compared])
    columns = {
        "size": statistic.counts,
        "rate": means.value,
        "lower": lower,
        "upper": upper,
        "weight": groups.weights,
        "average": groups.average,
        "gap": groups.gaps,
        "tail_share": shares,
        "in_tail": shares > 0,
        "rate_of_others": other_means.value,
        "difference": difference,
        "difference_lower": np.maximum(difference - down, -1),
        "difference_upper": np.minimum(difference + up, 1),
        "pvalue": pvalues,
        "adjusted_pvalue": adjusted,
    }
    table = pd.DataFrame(columns, group_index(statistic.labels, statistic.names))
    return table.iloc[np.argsort(-groups.gaps, kind="stable")]

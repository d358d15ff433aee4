"""Groups that differ from the others, at a given false discovery rate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control, hypergeom

from skfair._utils._arrays import Floats, Integers
from skfair._utils._validation import check_real
from skfair._utils._warnings import warns_if_reordered
from skfair.groups import group_index
from skfair.metrics._inputs import Quality, count_hits, grouped_quality
from skfair.metrics._rate_intervals import wilson_interval
from skfair.statistics import GroupedOutcomes


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
    statistic = grouped_quality(
        y_true, y_pred, sensitive_features, quality, pos_label, sample_weight
    )
    groups = _compared_with_others(statistic)
    found = groups[groups["adjusted_pvalue"] <= level]
    return found.sort_values("pvalue", kind="stable")


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

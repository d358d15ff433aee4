"""Permutation test of max-gap fairness, for comparison with the CVaR test."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._parameters import check_integer
from skfair.metrics._cvar_estimator import count_hits
from skfair.metrics._group_gaps import GroupWeights, group_gaps
from skfair.metrics._permutation import PermutationTestResult
from skfair.metrics._quality import Quality, grouped_quality
from skfair.metrics._resampling import check_seed
from skfair.metrics._shuffled_hits import exact_pvalue, shuffled_hits
from skfair.statistics import GroupedOutcomes


def max_gap_test(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedOutcomes,
    *,
    sensitive_features: Any = None,
    quality: Quality = "selection_rate",
    group_weights: GroupWeights = "uniform",
    n_permutations: int = 999,
    pos_label: Any = None,
    random_state: int | np.random.RandomState | None = None,
) -> PermutationTestResult:
    """Test whether the largest gap is larger than noise alone would give.

    The same as `permutation_test` of `max_gap`, much faster with many groups. Its
    power is low where groups are small, since the largest gap is then that of some
    group of a few rows: compare `cvar_fairness_test`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels. The selection rate needs none.
    y_pred : array-like of shape (n_samples,), or GroupedOutcomes
        Predicted labels, or a statistic in place of all rows and of `quality`.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    quality : str or callable, default="selection_rate"
        What is compared, see `max_gap`.
    group_weights : {"uniform", "proportional"}, mapping, or array-like of shape \
(n_groups,), default="uniform"
        Weights of the groups in the average, see `max_gap`.
    n_permutations : int, default=999
        Number of permutations; the p-value is at least 1 / (n_permutations + 1).
    pos_label : int, float, bool or str, default=None
        The label that counts as positive, see `max_gap`.
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.

    Returns
    -------
    PermutationTestResult
        With nan in place of numbers where max-gap is undefined.

    Raises
    ------
    ValueError
        As in `max_gap`, on an `n_permutations` that is not a positive integer, and on
        weighted rows.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        As in `max_gap`.

    See Also
    --------
    max_gap : The value itself.

    Examples
    --------
    >>> from skfair.metrics import max_gap_test
    >>> y_pred = [1] * 9 + [0] + [0] * 9 + [1]
    >>> group = ["a"] * 10 + ["b"] * 10
    >>> max_gap_test(None, y_pred, sensitive_features=group, random_state=0).pvalue
    0.00...
    """
    n_permutations = check_integer("n_permutations", n_permutations, 1)
    generator = check_seed(random_state)
    statistic = grouped_quality(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        quality=quality,
        pos_label=pos_label,
    )
    groups = group_gaps("Max-gap fairness", statistic, group_weights)
    sizes, hits = (part[groups.compared] for part in count_hits(groups.statistic))
    weights = groups.weights[groups.compared]
    observed, null = np.nan, np.full(n_permutations, np.nan)
    if groups.defined:
        observed = float(_largest(hits[np.newaxis], sizes, weights)[0])
        blocks = shuffled_hits(sizes, int(hits.sum()), n_permutations, generator)
        null = np.concatenate([_largest(block, sizes, weights) for block in blocks])
    return PermutationTestResult(
        statistic=observed,
        pvalue=exact_pvalue(observed, null),
        null_mean=float(null.mean()),
        n_permutations=n_permutations,
        null_distribution=null,
    )


def _largest(
    hits: NDArray[Any], sizes: NDArray[np.intp], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Largest gap of each of many audits."""
    rates = hits / sizes
    gaps = np.abs(rates - (rates @ weights)[:, np.newaxis])
    largest: NDArray[np.float64] = gaps.max(axis=1)
    return largest

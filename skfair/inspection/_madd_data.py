"""Numbers that a MADD display shows beside those of the search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair._utils._validation import check_integer
from skfair.metrics import MADDBandwidthResult, madd, permutation_test
from skfair.statistics import GroupedScores


def bins_to_show(result: MADDBandwidthResult) -> int:
    """Choose bins by the bandwidth of the interval that is nearest to h_sup.

    Parameters
    ----------
    result : MADDBandwidthResult

    Returns
    -------
    int
    """
    low, high = result.interval
    inside = (result.bandwidths >= low) & (result.bandwidths < high)
    bandwidths = result.bandwidths[inside]
    return int(np.rint(1 / bandwidths[np.abs(bandwidths - result.h_sup).argmin()]))


def shares_in_bins(
    statistic: GroupedScores, groups: Sequence[Any], n_bins: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
    """Histogram of each group, with MADD's bins: left-closed, the last one closed.

    Parameters
    ----------
    statistic : GroupedScores
    groups : sequence of length n_shown
        Labels of the groups to show.
    n_bins : int

    Returns
    -------
    edges : ndarray of shape (n_bins + 1,)
    shares : ndarray of shape (n_shown, n_bins)
    counts : ndarray of shape (n_shown,)
        Number of rows of each.
    """
    edges = np.arange(n_bins + 1) / n_bins
    positions = [statistic.labels.index(label) for label in groups]
    shares = np.empty((len(positions), n_bins))
    for row, group in enumerate(positions):
        scores, weights = statistic.of_group(group)
        below = np.append(np.searchsorted(scores, edges[:-1]), len(scores))
        sums = np.append(0, np.cumsum(weights))
        shares[row] = np.diff(sums[below]) / statistic.totals[group]
    return edges, shares, statistic.counts[positions]


def check_n_permutations(n_permutations: Any, y_score: Any) -> None:
    """Raise unless the null distribution can be had.

    Parameters
    ----------
    n_permutations : int
    y_score : array-like of shape (n_samples,), or GroupedScores

    Raises
    ------
    ValueError
        Unless it is a whole number of at least 0, and 0 for a statistic.
    """
    check_integer("n_permutations", n_permutations, 0)
    if n_permutations and isinstance(y_score, GroupedScores):
        raise ValueError(
            "n_permutations must be 0 where a statistic takes the place of the rows: "
            "it has none to permute."
        )


def permuted_madd(
    y_score: Any,
    sensitive_features: Any,
    sample_weight: Any,
    n_permutations: int,
    random_state: Any,
) -> NDArray[np.float64] | None:
    """MADD under permuted groups, None without permutations.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
    sample_weight : array-like of shape (n_samples,) or None
    n_permutations : int
    random_state : int, RandomState instance or None

    Returns
    -------
    ndarray of shape (n_permutations,) or None
    """
    if not n_permutations:
        return None
    return permutation_test(
        madd,
        None,
        y_score,
        sensitive_features=sensitive_features,
        n_permutations=n_permutations,
        sample_weight=sample_weight,
        random_state=random_state,
    ).null_distribution

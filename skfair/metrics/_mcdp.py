"""Maximal cumulative ratio disparity along varying predictions: MCDP(epsilon)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import minimum_filter1d

from skfair._parameters import check_choice, check_integer, check_real
from skfair.metrics._comparison import (
    Multigroup,
    check_multigroup,
    comparisons,
    grouped_scores,
    is_defined,
    largest_gap,
)
from skfair.metrics._gap_profile import gap_profile, merge_steps
from skfair.metrics._sustained_gap import ROUNDING, sustained_gap
from skfair.statistics import GroupedScores
from skfair.statistics._gap import Gap, gap_between


def mcdp(
    y_true: ArrayLike | None,
    y_score: ArrayLike | GroupedScores,
    *,
    sensitive_features: Any = None,
    epsilon: float = 0.0,
    method: Literal["exact", "approximate"] = "exact",
    n_subdivisions: int = 32,
    multigroup: Multigroup = "pairwise",
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Maximal local disparity of two groups' score distributions, MCDP(epsilon).

    The largest gap between the groups' cumulative distribution functions that is
    sustained over a whole window of scores,

    .. math::
        \max_{y_0 \in [0, 1]} \; \min_{|t - y_0| \le \epsilon} |F_0(t) - F_1(t)|,

    so that no decision threshold treats the groups more unequally than MCDP(0) says.
    It needs no true labels: it measures demographic parity at every threshold, and
    says nothing about errors or about what caused the gap.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        Ignored, so that the metric fits `sklearn.metrics.make_scorer`. If given it
        must be binary and of the right length.
    y_score : array-like of shape (n_samples,), or GroupedScores
        Probabilities of the positive class, in [0, 1]. A statistic takes the place
        of all rows; then `y_true`, `sensitive_features` and `sample_weight` are None.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    epsilon : float in [0, 0.5], default=0.0
        Half the length of the window, in units of the score. At 0 the metric is the
        two-sample Kolmogorov-Smirnov statistic.
    method : {"exact", "approximate"}, default="exact"
        ``"approximate"`` is Algorithm 2 of [1]_, which looks at multiples of
        ``epsilon / n_subdivisions`` only and never underestimates.
    n_subdivisions : int, default=32
        The paper's K, for the approximate method.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        With more than two groups: the largest value over pairs of groups, or over
        groups compared with everyone, which stays linear in their number.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights. Whole numbers count rows, without rounding.

    Returns
    -------
    float in [0, 1]
        0 is parity. nan with a warning where a group is absent or too small.

    Raises
    ------
    ValueError
        On scores outside [0, 1], lengths that differ, missing groups, an epsilon
        outside [0, 0.5], or an approximation without `epsilon` or subdivisions.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    mcdp_curve : MCDP for every epsilon at once.
    abcc : The average gap in place of the largest.
    permutation_test : What MCDP reads if scores do not depend on the group.

    Notes
    -----
    Exact values take one sort, O(n log n), against O(n^2) time and memory for
    Algorithm 1 of [1]_. A window that ends where another step begins sees that step,
    and lengths that agree with the window's to within rounding count as equal.

    References
    ----------
    .. [1] Jin, Li, Feng. "On the Maximal Local Disparity of Fairness-Aware
       Classifiers". ICML 2024. Equation 4, Algorithms 1 and 2.

    Examples
    --------
    >>> from skfair.metrics import mcdp
    >>> y_score = [0.1, 0.4, 0.5, 0.6, 0.7, 0.9]
    >>> sex = ["F", "F", "F", "M", "M", "M"]
    >>> mcdp(None, y_score, sensitive_features=sex)
    1.0
    >>> round(mcdp(None, y_score, sensitive_features=sex, epsilon=0.1), 3)
    0.667
    """
    measure = _measure(epsilon, method, n_subdivisions)
    check_multigroup(multigroup)
    statistic = grouped_scores(y_true, y_score, sensitive_features, sample_weight)
    if not is_defined("MCDP", statistic):
        return math.nan
    kolmogorov = partial(sustained_gap, epsilon=0.0)  # no window sees more
    return largest_gap(statistic, multigroup, measure, distance=kolmogorov)


def mcdp_curve(
    y_true: ArrayLike | None,
    y_score: ArrayLike | GroupedScores,
    *,
    sensitive_features: Any = None,
    multigroup: Multigroup = "pairwise",
    sample_weight: ArrayLike | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """MCDP for every epsilon at once, exactly.

    MCDP(epsilon) is a step function: it never increases, and it takes ``values[i]``
    from ``epsilons[i]`` on, until the next step.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        Ignored. If given it must be binary and of the right length.
    y_score : array-like of shape (n_samples,), or GroupedScores
        Probabilities of the positive class, in [0, 1], or a statistic of all rows.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        With more than two groups: the largest value over pairs of groups, or over
        groups compared with everyone, for each epsilon.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    epsilons : ndarray of shape (n_steps,)
        Increasing from 0, at most 0.5: where the steps begin.
    values : ndarray of shape (n_steps,)
        Decreasing, in [0, 1]. One nan, with a warning, where MCDP is undefined.

    Raises
    ------
    ValueError
        As in `mcdp`.

    See Also
    --------
    mcdp : The value at one epsilon.

    Notes
    -----
    O(n log n) time for two groups.

    Examples
    --------
    >>> from skfair.metrics import mcdp_curve
    >>> epsilons, values = mcdp_curve(
    ...     None, [0.0, 0.25, 0.5, 1.0], sensitive_features=["F", "F", "M", "M"]
    ... )
    >>> epsilons.tolist(), values.tolist()
    ([0.0, 0.125], [1.0, 0.5])
    """
    statistic = grouped_scores(y_true, y_score, sensitive_features, sample_weight)
    compared = comparisons(statistic, multigroup)
    if not is_defined("MCDP", statistic):
        return np.zeros(1), np.full(1, np.nan)
    return _upper_envelope(
        [gap_profile(gap_between(statistic, *groups)) for groups in compared]
    )


def _upper_envelope(
    curves: list[tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Largest of several step functions, as a step function."""
    if len(curves) == 1:
        return curves[0]
    epsilons = np.unique(np.concatenate([steps for steps, _ in curves]))
    values = np.zeros(len(epsilons))
    for steps, heights in curves:
        current = np.searchsorted(steps, epsilons, side="right") - 1
        np.maximum(values, heights[current], out=values)
    return merge_steps(epsilons, values)


def _measure(epsilon: Any, method: str, n_subdivisions: Any) -> Callable[[Gap], float]:
    check_choice("method", method, ("exact", "approximate"))
    epsilon = check_real("epsilon", epsilon, 0, 0.5)
    n_subdivisions = check_integer("n_subdivisions", n_subdivisions, 1)
    if method == "exact":
        return partial(sustained_gap, epsilon=epsilon)
    if epsilon == 0:
        raise ValueError("epsilon must be above 0 for method='approximate', got 0.")
    return partial(_approximate, epsilon=epsilon, n_subdivisions=n_subdivisions)


def _approximate(gap: Gap, epsilon: float, n_subdivisions: int) -> float:
    """Algorithm 2 of the paper: windows of multiples of epsilon / n_subdivisions."""
    # Rounding must not add a point where epsilon / n_subdivisions divides 1.
    n_points = math.ceil(n_subdivisions / epsilon * (1 - ROUNDING))
    points = np.arange(n_points) * (epsilon / n_subdivisions)
    heights = np.append(0, np.abs(gap.signed))  # both CDFs are 0 below all scores
    seen = heights[np.searchsorted(gap.scores, points, side="right")]
    best = seen[: n_subdivisions + 1].min()
    window = 2 * n_subdivisions
    if n_points > window:
        # Index i is the least over points i - window // 2, ..., i + window // 2 - 1.
        least = minimum_filter1d(seen, window, mode="nearest")
        first = 1 + n_subdivisions
        best = max(best, least[first : first + n_points - window].max())
    return float(best / gap.scale)

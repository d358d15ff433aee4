"""The interval of bandwidths in which MADD is most stable."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skfair._utils._types import Floats
from skfair._utils._validation import Scale, check_integer, check_real
from skfair._utils._warnings import warns_if_reordered
from skfair.metrics._distribution._gap import grouped_scores
from skfair.metrics._distribution._histograms import (
    N_BANDWIDTHS,
    StableInterval,
    bandwidths_to_one,
    most_stable,
    optimal_order,
    stable_interval,
)
from skfair.metrics._distribution._madd import madd
from skfair.metrics._inputs import Multigroup, check_multigroup
from skfair.metrics._strata import defined_results
from skfair.metrics._undefined import warn_if_undefined
from skfair.statistics import GroupedScores


@dataclass(frozen=True, eq=False)
class MADDBandwidthResult:
    """Result of `madd_optimal_bandwidth`.

    Attributes
    ----------
    interval : tuple of two floats
        Bandwidths from the first, included, up to the second, excluded.
    value : float in [0, 2]
        Mean of MADD over the interval.
    std : float
        Standard deviation of MADD over the interval.
    h_sup : float
        Order of magnitude of the best bandwidth for these group sizes.
    groups : tuple of length 2
        Labels of the two groups compared; the second is None for everyone.
    bandwidths : ndarray of shape (n_bandwidths,), increasing
    values : ndarray of shape (n_bandwidths,)
        MADD for each bandwidth.
    stratum : object
        Label of the stratum with the largest MADD; None without strata.
    """

    interval: tuple[float, float]
    value: float
    std: float
    h_sup: float
    groups: tuple[Hashable, Hashable]
    bandwidths: Floats = field(repr=False)
    values: Floats = field(repr=False)
    stratum: Hashable = None

    def to_frame(self) -> pd.DataFrame:
        """Table of MADD by bandwidth.

        Returns
        -------
        DataFrame
            One row for each bandwidth: ``bandwidth``, ``value``, and ``in_interval``,
            whether it lies in `interval`.

        Examples
        --------
        >>> from skfair.datasets import make_biased_scores
        >>> from skfair.metrics import madd_optimal_bandwidth
        >>> _, y_score, group = make_biased_scores(20_000, random_state=0)
        >>> frame = madd_optimal_bandwidth(
        ...     None, y_score, sensitive_features=group
        ... ).to_frame()
        >>> frame.columns.tolist(), len(frame)
        (['bandwidth', 'value', 'in_interval'], 500)
        """
        low, high = self.interval
        inside = (self.bandwidths >= low) & (self.bandwidths < high)
        return pd.DataFrame(
            {"bandwidth": self.bandwidths, "value": self.values, "in_interval": inside}
        )


@warns_if_reordered
def madd_optimal_bandwidth(
    y_true: ArrayLike | None,
    y_score: ArrayLike | GroupedScores,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    n_bandwidths: int = N_BANDWIDTHS,
    min_points: int = 50,
    min_length: float = 0.45,
    scale: Scale = "probability",
    multigroup: Multigroup = "pairwise",
    sample_weight: ArrayLike | None = None,
) -> MADDBandwidthResult:
    """Find the interval of bandwidths in which MADD is most stable.

    Among the intervals of at least `min_points` bandwidths and of length at least
    `min_length` times

    .. math::
        h_{sup} = \\left(
            \\frac{\\sqrt{n_0} + \\sqrt{n_1}}{\\sqrt{n_0 n_1}}
        \\right)^{2/3}

    this is the one over which MADD has the smallest standard deviation.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        Ignored. If given it must be binary and of the right length.
    y_score : array-like of shape (n_samples,), or GroupedScores
        Probabilities of the positive class, in [0, 1], or any finite numbers with
        ``scale="rank"``; or a statistic of all rows.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, within which groups are compared; the result is that of the
        stratum with the largest MADD. Strata without two groups are left out, with a
        warning that names them.
    n_bandwidths : int, default=500
        The bandwidths 1, 1/2, ..., 1/n_bandwidths are searched.
    min_points : int, default=50
        Least number of bandwidths in the interval.
    min_length : float, default=0.45
        Least length of the interval, as a multiple of h_sup.
    scale : {"probability", "rank"}, default="probability"
        ``"rank"`` replaces scores by their ranks among everyone, as in `madd`.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The result for the pair of groups, or for the group compared with everyone,
        the group included, with the largest MADD. The second is another value, even
        with two groups; the paper uses the first.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights. Their totals stand for n_0 and n_1.

    Returns
    -------
    MADDBandwidthResult

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        As in `madd`, on parameters out of range, and if no interval is eligible.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared; all numbers are nan then.

    See Also
    --------
    madd : The value alone.
    skfair.inspection.MADDDisplay : Plot of MADD over bandwidths, with the interval.

    References
    ----------
    .. [1] Verger, Fan, Lalle, Bouchet, Luengo. "A Comprehensive Study on Evaluating
       and Mitigating Algorithmic Unfairness with the MADD Metric". Journal of
       Educational Data Mining 16(1), 2024. Theorem 2 and Algorithm 1.

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.metrics import madd_optimal_bandwidth
    >>> _, y_score, group = make_biased_scores(20_000, random_state=0)
    >>> result = madd_optimal_bandwidth(None, y_score, sensitive_features=group)
    >>> abs(result.value - 1.195) < 0.03, round(result.h_sup, 3)
    (True, 0.074)
    """
    n_bandwidths = check_integer("n_bandwidths", n_bandwidths, 3)
    min_points = check_integer("min_points", min_points, 2, n_bandwidths - 1)
    min_length = check_real("min_length", min_length, 0, math.inf, closed="neither")
    check_multigroup(multigroup)
    search = partial(stable_interval, min_points=min_points, min_length=min_length)

    def find(
        y_true: Any, y_score: Any, sensitive_features: Any, sample_weight: Any = None
    ) -> MADDBandwidthResult:
        rows = y_true, y_score, sensitive_features, sample_weight
        statistic = grouped_scores(*rows, scale)
        return _find_interval(statistic, multigroup, n_bandwidths, search)

    if control_features is None:
        return find(y_true, y_score, sensitive_features, sample_weight)
    rows = y_true, y_score, sensitive_features, control_features, sample_weight
    results = defined_results(partial(madd, scale=scale), *rows, evaluate=find)
    if not results:
        return _undefined(n_bandwidths)
    largest = max(results, key=lambda one: one.result.value)
    found: MADDBandwidthResult = largest.result
    return replace(found, stratum=largest.label)


def _undefined(n_bandwidths: int) -> MADDBandwidthResult:
    """Return the result for groups that cannot be compared."""
    return MADDBandwidthResult(
        interval=(math.nan, math.nan),
        value=math.nan,
        std=math.nan,
        h_sup=math.nan,
        groups=(None, None),
        bandwidths=bandwidths_to_one(n_bandwidths),
        values=np.full(n_bandwidths, np.nan),
    )


def _find_interval(
    statistic: GroupedScores,
    multigroup: Multigroup,
    n_bandwidths: int,
    search: Callable[[Floats, tuple[float, float]], StableInterval],
) -> MADDBandwidthResult:
    """Stable interval of one statistic."""
    if warn_if_undefined("madd_optimal_bandwidth", statistic):
        return _undefined(n_bandwidths)
    bandwidths = bandwidths_to_one(n_bandwidths)
    curve, found = most_stable(statistic, multigroup, n_bandwidths, search)
    first, second = curve.pair
    other = None if second is None else statistic.labels[second]
    return MADDBandwidthResult(
        interval=(float(bandwidths[found.start]), float(bandwidths[found.stop])),
        value=found.mean,
        std=found.std,
        h_sup=float(optimal_order(curve.totals)),
        groups=(statistic.labels[first], other),
        bandwidths=bandwidths,
        values=curve.values,
    )

"""Certificate that a disparity is at most a given value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike
from scipy.optimize import brentq

from skfair._utils._results import Result
from skfair._utils._validation import check_real
from skfair.metrics._confidence._confidence_interval import compare_rows, upper_bound
from skfair.metrics._confidence._noise import Method

#: P-values below this are reported as this: Student's quantiles are rounded there.
_LEAST_PVALUE = 1e-100


@dataclass(frozen=True, repr=False)
class CertifyResult(Result):
    """Result of `certify`.

    Attributes
    ----------
    value : float
        The metric on the data as given.
    at_most : float
        The value that the disparity is compared with.
    pvalue : float
        Probability, at most, of data that speak as clearly against a disparity of more
        than `at_most`, if there is one.
    certified : bool
        Whether `least` is at most `at_most`, and so the p-value at most
        1 - `confidence_level`.
    least : float
        Smallest value of `at_most` that these data would certify.
    confidence_level : float
    """

    value: float
    at_most: float
    pvalue: float
    certified: bool
    least: float
    confidence_level: float


def certify(
    metric: Callable[..., float],
    y_true: ArrayLike | None,
    y_score: Any,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    at_most: float,
    confidence_level: float = 0.95,
    method: Method = "band",
    sample_weight: ArrayLike | None = None,
) -> CertifyResult:
    """Test whether a disparity is at most a given value.

    A small disparity in a small sample proves nothing. The null hypothesis is that the
    true disparity is above `at_most`; only many rows with a small disparity reject it.

    Parameters
    ----------
    metric : callable
        `mcdp`, `abcc`, `madd`, `demographic_parity_difference`,
        `equalized_odds_difference`, `max_gap`, `cvar_fairness` or another metric of
        `confidence_interval`; `functools.partial` of one of them sets its options.
    y_true : array-like of shape (n_samples,) or None
        True labels, as the metric takes them.
    y_score : array-like of shape (n_samples,), or a statistic
        Scores or predicted labels, or the statistic that the metric takes instead of
        rows. It must be one of rows without sample weights.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection. None with a
        statistic.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, see `confidence_interval`.
    at_most : float
        Largest disparity to be tolerated, above 0 and below the metric's largest value;
        of numbers in their unit.
    confidence_level : float in (0, 1), default=0.95
        One minus the largest p-value of a certificate.
    method : {"band", "finite_sample", "anytime"}, default="band"
        Which bounds of the noise are used, see `confidence_interval`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights, see `confidence_interval`.

    Returns
    -------
    CertifyResult
        With nan in place of numbers, and not certified, where the metric is undefined.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        If `at_most` is out of range, and as in `confidence_interval`.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        As the metric does.

    See Also
    --------
    confidence_interval : Interval by the same bounds.
    permutation_test : Test whether there is any disparity at all.
    skfair.sampling.rows_to_certify : Number of rows that it needs.

    Notes
    -----
    The p-value is the smallest level whose one-sided upper bound is at most `at_most`.
    Choose `at_most` before the data are seen: the level holds for one value.

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.metrics import certify, mcdp
    >>> y_true, y_score, group = make_biased_scores(2000, random_state=0)
    >>> result = certify(
    ...     mcdp, y_true, y_score, sensitive_features=group, at_most=0.7
    ... )
    >>> result.certified, result.value, round(result.least, 3)
    (True, 0.581, 0.611)
    """
    level = check_real("confidence_level", confidence_level, 0, 1, closed="neither")
    groups, strata = sensitive_features, control_features
    rows = y_true, y_score, groups, strata, sample_weight
    comparisons = compare_rows(metric, method, *rows)
    limit = check_real("at_most", at_most, 0, comparisons.maximum, closed="neither")
    tail = 1 - level
    least = upper_bound(comparisons, tail)
    certified, pvalue = least <= limit, math.nan
    if not math.isnan(least):
        pvalue = least_level(lambda one: upper_bound(comparisons, one) - limit)
        # The root is rounded, the decision is not.
        pvalue = (
            min(pvalue, tail) if certified else max(pvalue, math.nextafter(tail, 1))
        )
    return CertifyResult(comparisons.value, limit, pvalue, certified, least, level)


def least_level(excess: Callable[[float], float]) -> float:
    """Smallest probability at which a decreasing function is at most 0, or 1."""

    def by_logarithm(logarithm: float) -> float:
        return excess(math.exp(logarithm))

    lowest, highest = math.log(_LEAST_PVALUE), math.log1p(-1e-12)
    if by_logarithm(highest) > 0:
        return 1.0
    if by_logarithm(lowest) <= 0:
        return _LEAST_PVALUE
    return math.exp(brentq(by_logarithm, lowest, highest, xtol=1e-12))

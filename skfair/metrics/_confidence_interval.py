"""Confidence intervals and certificates of disparities, by bounds of the noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from sklearn.exceptions import UndefinedMetricWarning

from skfair._rows import Rows
from skfair._utils._results import Result
from skfair._utils._text import shown
from skfair._utils._validation import check_real
from skfair._utils._warnings import warn_user
from skfair.metrics._as_metric import METRICS, as_metric
from skfair.metrics._metric import Metric
from skfair.metrics._metric_bounds import bounds_of_bins
from skfair.metrics._quantiles import UNDEFINED, Comparisons, Method
from skfair.metrics._strata import Stratum, combine_numbers
from skfair.statistics._cells import round_to_edges


def metric_with_noise_bounds(metric: Any, **options: Any) -> Metric:
    """Turn a metric as users pass it into one with bounded noise, or raise."""
    found = as_metric(metric, **options)
    if not found.has_noise_bounds:
        names = ", ".join(
            kind.name for kind in METRICS.values() if kind.has_noise_bounds
        )
        raise ValueError(
            f"metric must be one of {names}, or a functools.partial of it, got "
            f"{shown(metric)}. bootstrap_interval takes any metric, and is approximate."
        )
    return found


@dataclass(frozen=True, repr=False)
class ConfidenceInterval(Result):
    """Result of `confidence_interval`.

    Attributes
    ----------
    value : float
        The metric on the data as given, which lies in the interval.
    lower, upper : float
        Ends of the interval.
    confidence_level : float
    method : str
    pair : tuple or None
        Labels of the two groups with the value; the second is None for everyone. None
        for metrics that are not a largest comparison of groups.
    place : float, tuple or None
        Where they have it: a score, for MCDP with a window its ends, for equalized odds
        the true and the predicted class. None for other metrics.

    See Also
    --------
    confidence_interval : Makes it.
    """

    value: float
    lower: float
    upper: float
    confidence_level: float
    method: str
    pair: tuple[Any, Any] | None = field(default=None, repr=False)
    place: Any = field(default=None, repr=False)


def confidence_interval(
    metric: Any,
    y_true: ArrayLike | None,
    y_score: Any,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    confidence_level: float = 0.95,
    method: Method = "band",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    **options: Any,
) -> ConfidenceInterval:
    """Confidence interval of a disparity that keeps its level, at parity as elsewhere.

    The ends come from bounds on how far noise can move all CDFs, histograms or rates
    at once, without resampling.

    Parameters
    ----------
    metric : callable or str
        `mcdp`, `abcc`, `madd`, `demographic_parity_difference`,
        `equalized_odds_difference`, `true_positive_rate_difference`,
        `false_positive_rate_difference`, `predictive_value_difference`,
        `mean_error_difference`, `mean_absolute_error_difference`, `max_gap` or
        `cvar_fairness`, by its function or its name, or a metric of your own class.
    y_true : array-like of shape (n_samples,) or None
        True labels, as the metric takes them.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes), or \
CountTable
        Scores or predicted labels, or a table in place of rows. Of scores of several
        classes the interval is for the largest value over classes. For MCDP, ABCC and
        MADD of 2**k bins also a table of scores in bins, whose bounds widen the
        interval; the value then lies within them.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection. None with a
        table.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, within which groups are compared; the interval is for the
        largest value over strata, or for their mean with a metric of
        ``multistratum="weighted"``.
    confidence_level : float in (0, 1), default=0.95
        The interval covers the true value with at least this probability.
    method : {"band", "finite_sample", "anytime"}, default="band"
        With ``"band"``, quantiles of normal noise and of Brownian bridges: the level is
        kept in large samples, and measured to be kept from 20 rows a group on
        (``benchmarks/interval_coverage.py``). With ``"finite_sample"``, inequalities
        that hold for any number of rows and any distribution; the interval is wider.
        With ``"anytime"``, inequalities that hold at all looks at growing data at once;
        the interval is about twice as wide.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights, which must not depend on the scores within a group.
        They count by Kish's effective numbers of rows. None unless the method is
        ``"band"``.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.
    clusters : array-like of shape (n_samples,), default=None
        Person of each row, where people have several rows: visits, loans, months. Rows
        count by the effective number of people, as if all rows of a person were alike;
        where they are not alike, the interval is wider than necessary, see the notes.
        All rows of a person must have the same group and stratum. None unless the
        method is ``"band"``.
    **options : dict
        Options of the metric, such as ``pos_label="yes"`` or ``epsilon=0.05``. One that
        has the name of a parameter here is set by `functools.partial`.

    Returns
    -------
    ConfidenceInterval
        The value always lies in it. With nan in place of numbers where the metric
        is undefined.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On another metric, a level outside (0, 1), another method, sample weights or
        MADD with ``bandwidth="auto"`` with a method other than ``"band"``, pairs of
        more than 64 groups, and as the metric does.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        As the metric does.

    See Also
    --------
    certify : Test whether a disparity is at most a given value.
    bootstrap_interval : Approximate interval of any metric.
    permutation_test : Test of the hypothesis that there is no disparity.
    metric_bounds : What bins hide, without noise.
    proxy_bounds : Where the groups are known by a proxy only.

    Notes
    -----
    Rows are independent, and the numbers of rows of the groups are fixed, or random and
    conditioned on. With `alpha` = (1 - `confidence_level`) / 2:

    - One pair of groups has the true disparity, which exceeds the sample's value
      for this pair by more than its quantile with probability at most `alpha`. No
      correction for the number of pairs is needed.
    - The value of a pair exceeds its true disparity by at most the norm of the noise,
      which is below its quantile for all pairs at once with probability at least
      1 - `alpha`, by Bonferroni's inequality.

    With ``method="anytime"`` a supermartingale bounds the difference of the means of
    two groups. It takes rows in the order in which they would leave again, so that a
    large group adds no width. For rates this bound has half of the level, and the
    product of beta-binomial mixtures of both groups has the other half. The lower end
    of MCDP(0) mixes the differences at the scores of all rows. Other differences of
    CDFs are bounded by the product of normal mixtures [4]_. In comparisons with
    everyone, in max-gap and in CVaR fairness, the bounds of each group are added up
    [3]_ [4]_.

    With strata, the pairs of all strata are compared together, by the numbers of rows
    of groups within strata. For a mean over strata, the weights of strata are taken as
    known, and each stratum has its share of `alpha`.

    Noise alone makes MADD positive, and the upper end for MADD takes this into account.
    An upper end below the value is moved to the value; `certify` gives the end as it
    is.

    The interval of MADD with ``bandwidth="auto"`` is for the mean over the bandwidths
    that the data chose. The choice itself is not accounted for.

    With ``scale="rank"`` the interval is for the disparity on the scale of the ranks of
    these rows. The interval of MCDP holds for all scales at once, and keeps its level.
    ABCC and MADD have intervals for ``method="band"`` only, which were measured to keep
    their level.

    For numbers (differences of errors, and metrics with ``scale="real"``) the interval
    is computed after division by the range seen in all groups together. It needs
    ``method="band"``: for numbers without a known range no interval of a mean keeps its
    level at a given number of rows for every distribution [5]_.

    References
    ----------
    .. [1] Massart. "The Tight Constant in the Dvoretzky-Kiefer-Wolfowitz Inequality".
       Annals of Probability 18(3), 1990.
    .. [2] McDiarmid. "On the Method of Bounded Differences". Surveys in Combinatorics,
       1989.
    .. [3] Howard, Ramdas. "Sequential Estimation of Quantiles with Applications to A/B
       Testing and Best-Arm Identification". Bernoulli 28(3), 2022. Corollary 1.
    .. [4] Howard, Ramdas, McAuliffe, Sekhon. "Time-uniform, Nonparametric,
       Nonasymptotic Confidence Sequences". Annals of Statistics 49(2), 2021.
    .. [5] Bahadur, Savage. "The Nonexistence of Certain Statistical Procedures in
       Nonparametric Problems". Annals of Mathematical Statistics 27(4), 1956.

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.metrics import confidence_interval, mcdp
    >>> y_true, y_score, group = make_biased_scores(2000, random_state=0)
    >>> result = confidence_interval(mcdp, y_true, y_score, sensitive_features=group)
    >>> result.value, round(result.lower, 3), round(result.upper, 3)
    (0.581, 0.529, 0.616)
    """
    metric = metric_with_noise_bounds(metric, **options)
    confidence_level = check_real(
        "confidence_level", confidence_level, 0, 1, closed="neither"
    )
    columns = sensitive_features, control_features, sample_weight, counts, clusters
    takes_bins = metric.compares_distributions
    rows = metric.read(y_true, y_score, *columns, takes_bins=takes_bins)
    bounds = None
    if rows.n_bins:
        bounds, rows = bounds_of_bins(metric, rows), round_to_edges(rows)
    comparisons = compare_rows(metric, method, rows)
    tail, value = (1 - confidence_level) / 2, comparisons.value
    low = lower_bound(comparisons, tail)
    high = upper_bound(comparisons, tail)
    if bounds is not None and not math.isnan(value):
        # Scores at the edges of bins move the value of the rows by this at most.
        low = max(0.0, low - max(0.0, value - bounds.lower))
        high = min(comparisons.maximum, high + max(0.0, bounds.upper - value))
        value = min(max(value, bounds.lower), bounds.upper)
    pair, place = comparisons.locate()
    return ConfidenceInterval(value, low, high, confidence_level, method, pair, place)


def compare_rows(
    metric: Metric,
    method: Method,
    rows: Rows,
) -> Comparisons:
    """Compare groups of rows by a metric, with quantiles of the noise."""
    if method != "band" and rows.weight is not None:
        raise ValueError(
            f"sample_weight must be None with method={method!r}, whose bounds are for "
            "unweighted rows."
        )
    if method != "band" and rows.cluster is not None:
        raise ValueError(
            f"clusters must be None with method={method!r}, whose bounds are for "
            "independent rows."
        )

    def compare_part(part: Rows) -> Comparisons:
        """Compare the groups of checked rows of one stratum and class."""
        return metric.compare(metric.observe(part), method)

    def join_parts(
        compared: Sequence[Comparisons], strata: Sequence[Stratum]
    ) -> Comparisons:
        """Join the comparisons of classes or strata: the largest, or the mean."""
        if not compared:
            return UNDEFINED._replace(maximum=metric.upper_limit)
        weights = None
        if strata and metric.averages_strata:
            weights = [stratum.weight for stratum in strata]
        return join_comparisons(compared, weights)

    comparisons = metric.split(rows).evaluate(compare_part, join_parts)
    if comparisons.message:
        warn_user(comparisons.message, UndefinedMetricWarning)
    return comparisons


def join_comparisons(
    parts: Sequence[Comparisons], weights: Sequence[float] | None
) -> Comparisons:
    """Join comparisons of classes or strata: the largest, or their weighted mean."""
    if weights is None:
        return Comparisons(
            max(part.value for part in parts),
            sum(part.n_comparisons for part in parts),
            lambda tail: max(part.low(tail) for part in parts),
            lambda tail: max(part.high(tail) for part in parts),
            parts[0].maximum,
            max(parts, key=lambda part: part.value).locate,
        )

    def mean_of(bound: Callable[[Comparisons, float], float]) -> Callable[..., float]:
        """Return the mean of the strata's bounds, each for its share of the tail."""
        return lambda tail: float(
            np.average([bound(p, tail / len(parts)) for p in parts], weights=weights)
        )

    value = combine_numbers([part.value for part in parts], weights)
    low, high = mean_of(lower_bound), mean_of(upper_bound)
    return Comparisons(value, 1, low, high, parts[0].maximum)


def lower_bound(comparisons: Comparisons, tail: float) -> float:
    """Return the lower confidence bound of the true disparity."""
    if math.isnan(comparisons.value):
        return math.nan
    bound = comparisons.low(tail / comparisons.n_comparisons)
    return float(min(max(0.0, bound), comparisons.value))


def upper_bound(comparisons: Comparisons, tail: float) -> float:
    """Return the upper confidence bound of the true disparity.

    The bound is at least the observed value, although noise makes the observed value
    larger than the true disparity on average.
    """
    value = comparisons.value
    if math.isnan(value):
        return math.nan
    return float(min(max(comparisons.high(tail), value), comparisons.maximum))


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
        Upper bound on the probability of data that favour a smaller disparity at least
        this strongly, if the true disparity exceeds `at_most`.
    certified : bool
        Whether `smallest_certified` is at most `at_most`, and so the p-value at most
        1 - `confidence_level`.
    smallest_certified : float
        Smallest value of `at_most` that these data would certify.
    confidence_level : float
    """

    value: float
    at_most: float
    pvalue: float
    certified: bool
    smallest_certified: float
    confidence_level: float


def certify(
    metric: Any,
    y_true: ArrayLike | None,
    y_score: Any,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    at_most: float,
    confidence_level: float = 0.95,
    method: Method = "band",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    **options: Any,
) -> CertifyResult:
    """Test whether a disparity is at most a given value.

    A small disparity in a small sample proves nothing. The null hypothesis is that the
    true disparity is above `at_most`; only many rows with a small disparity reject it.

    Parameters
    ----------
    metric : callable or str
        `mcdp`, `abcc`, `madd`, `demographic_parity_difference`,
        `equalized_odds_difference`, `max_gap`, `cvar_fairness` or another metric of
        `confidence_interval`, by its function or its name.
    y_true : array-like of shape (n_samples,) or None
        True labels, as the metric takes them.
    y_score : array-like of shape (n_samples,), or CountTable
        Scores or predicted labels, or a table in place of rows.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection. None with a
        table.
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
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.
    clusters : array-like of shape (n_samples,), default=None
        Person of each row, see `confidence_interval`.
    **options : dict
        Options of the metric, such as ``pos_label="yes"`` or ``epsilon=0.05``. One that
        has the name of a parameter here is set by `functools.partial`.

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
    The p-value is the smallest tail probability whose one-sided upper bound is at most
    `at_most`. Choose `at_most` before the data are seen: the level holds for one value.

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.metrics import certify, mcdp
    >>> y_true, y_score, group = make_biased_scores(2000, random_state=0)
    >>> result = certify(
    ...     mcdp, y_true, y_score, sensitive_features=group, at_most=0.7
    ... )
    >>> result.certified, result.value, round(result.smallest_certified, 3)
    (True, 0.581, 0.611)
    """
    metric = metric_with_noise_bounds(metric, **options)
    confidence_level = check_real(
        "confidence_level", confidence_level, 0, 1, closed="neither"
    )
    columns = sensitive_features, control_features, sample_weight, counts, clusters
    rows = metric.read(y_true, y_score, *columns)
    comparisons = compare_rows(metric, method, rows)
    limit = check_real("at_most", at_most, 0, comparisons.maximum, closed="neither")
    tail = 1 - confidence_level
    bound = upper_bound(comparisons, tail)
    certified, pvalue = bound <= limit, math.nan
    if not math.isnan(bound):
        pvalue = smallest_tail(
            lambda probability: upper_bound(comparisons, probability) - limit
        )
        # The root is rounded, the decision is not.
        pvalue = (
            min(pvalue, tail) if certified else max(pvalue, math.nextafter(tail, 1))
        )
    return CertifyResult(
        comparisons.value, limit, pvalue, certified, bound, confidence_level
    )


def smallest_tail(excess: Callable[[float], float]) -> float:
    """Return the smallest probability at which a function is at most 0, else 1."""

    def end_at_logarithm(logarithm: float) -> float:
        return excess(math.exp(logarithm))

    lowest, highest = math.log(_LEAST_PVALUE), math.log1p(-1e-12)
    if end_at_logarithm(highest) > 0:
        return 1.0
    if end_at_logarithm(lowest) <= 0:
        return _LEAST_PVALUE
    return math.exp(brentq(end_at_logarithm, lowest, highest, xtol=1e-12))

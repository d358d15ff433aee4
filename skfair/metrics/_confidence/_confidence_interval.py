"""Confidence interval of a disparity that keeps its level."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

from numpy.typing import ArrayLike

from skfair._utils._results import Result
from skfair._utils._validation import check_choice, check_real
from skfair._utils._warnings import warns_if_reordered
from skfair.metrics._classes import split_classes
from skfair.metrics._confidence._known_metrics import (
    bounded_metric,
    compare,
    observe,
)
from skfair.metrics._confidence._noise import UNDEFINED, Comparisons, Method
from skfair.metrics._distribution._metric_bounds import MetricBounds, metric_bounds
from skfair.metrics._spec import specification_of, unwrapped
from skfair.metrics._strata import (
    Multistratum,
    combine_numbers,
    defined_results,
)
from skfair.metrics._undefined import ignore_undefined
from skfair.statistics import GroupedHistogram, GroupedScores


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

    See Also
    --------
    confidence_interval : Makes it.
    """

    value: float
    lower: float
    upper: float
    confidence_level: float
    method: str


def confidence_interval(
    metric: Callable[..., float],
    y_true: ArrayLike | None,
    y_score: Any,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    confidence_level: float = 0.95,
    method: Method = "band",
    sample_weight: ArrayLike | None = None,
) -> ConfidenceInterval:
    """Confidence interval of a disparity that keeps its level, at parity as elsewhere.

    The ends come from bounds on how far noise can move all CDFs, histograms or rates
    at once, without resampling.

    Parameters
    ----------
    metric : callable
        `mcdp`, `abcc`, `madd`, `demographic_parity_difference`,
        `equalized_odds_difference`, `true_positive_rate_difference`,
        `false_positive_rate_difference`, `predictive_value_difference`,
        `mean_error_difference`, `mean_absolute_error_difference`, `max_gap` or
        `cvar_fairness`; `functools.partial` of one of them sets its options.
    y_true : array-like of shape (n_samples,) or None
        True labels, as the metric takes them.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes), or a statistic
        Scores or predicted labels, or the statistic that the metric takes instead of
        rows. It must be one of rows without sample weights. Of scores of several
        classes the interval is for the largest value over classes. For MCDP, ABCC and
        MADD of 2**k bins also a `GroupedHistogram`, whose bounds widen the interval;
        the value then lies within them.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection. None with a
        statistic.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, within which groups are compared; the interval is for the
        largest value over strata, or for their mean with a metric of
        ``multistratum="weighted"``.
    confidence_level : float in (0, 1), default=0.95
        Probability that the interval covers the true value, or less than it.
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
        On another metric, a level outside (0, 1), another method, a statistic of
        weighted rows, sample weights or MADD with ``bandwidth="auto"`` with a method
        other than ``"band"``, and as the metric does.

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

    - The true disparity is that of one pair of groups, and exceeds the sample's value
      for this pair by more than its quantile with probability `alpha`. No correction
      for the number of pairs is needed.
    - The value of a pair exceeds its true disparity by at most the norm of the noise,
      which is below its quantile for all pairs at once with probability 1 - `alpha`,
      by Bonferroni's inequality.

    With ``method="anytime"`` a pair of groups is bounded by a supermartingale of the
    difference of its means, in the order in which rows would leave again: a large group
    adds no width. Rates have half of the level for it, and half for the product of
    beta-binomial mixtures of both groups. The lower end of MCDP(0) mixes the
    differences at the scores of all rows. Other differences of CDFs are bounded by the
    product of normal mixtures [4]_. Where a group is compared with everyone, in max-gap
    and in CVaR fairness the bounds of each group are added up [3]_ [4]_.

    With strata, the pairs are those of all strata together, and the numbers of rows
    are those of groups within strata. For a mean over strata, whose weights are taken
    as they are, each stratum has its share of `alpha`.

    Noise alone makes MADD positive, and its upper end takes this into account. An end
    that falls below the value is moved to it; `certify` gives the end as it is.

    The interval of MADD with ``bandwidth="auto"`` is for the mean over the bandwidths
    that the data chose. The choice itself is not accounted for.

    With ``scale="rank"`` the interval is for the disparity on the scale of the ranks of
    these rows: that of MCDP holds for all scales at once, so its level is kept, and
    those of ABCC and MADD, for ``method="band"`` only, were measured to keep theirs.

    Intervals of numbers (differences of errors, and metrics with ``scale="real"``) are
    those of the numbers divided by the range that is seen in all groups together. They
    need ``method="band"``: for numbers without a known range no interval of a mean
    keeps its level at a given number of rows for every distribution [5]_.

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
    level = check_real("confidence_level", confidence_level, 0, 1, closed="neither")
    bounds = None
    if isinstance(y_score, GroupedHistogram):
        bounds, y_score = _bounds_of_histogram(metric, y_score), y_score.at_edges()
    groups, strata = sensitive_features, control_features
    rows = y_true, y_score, groups, strata, sample_weight
    comparisons = compare_rows(metric, method, *rows)
    tail, value = (1 - level) / 2, comparisons.value
    low = lower_bound(comparisons, tail)
    high = max(value, upper_bound(comparisons, tail))
    if bounds is not None and not math.isnan(value):
        # Scores at the edges of bins move the value of the rows by this at most.
        low = max(0.0, low - max(0.0, value - bounds.lower))
        high = min(comparisons.maximum, high + max(0.0, bounds.upper - value))
        value = min(max(value, bounds.lower), bounds.upper)
    return ConfidenceInterval(value, low, high, level, method)


def _bounds_of_histogram(
    metric: Callable[..., float], histogram: GroupedHistogram
) -> MetricBounds:
    """Bounds of a metric of the rows behind a histogram."""
    specification, _ = bounded_metric(metric)
    if specification.statistic is not GroupedScores:
        raise ValueError(
            "metric must be one of a GroupedScores, such as mcdp, with a "
            f"GroupedHistogram; got {metric!r}."
        )
    with ignore_undefined():
        # The metric warns itself where it is undefined.
        return metric_bounds(metric, histogram)


@warns_if_reordered
def compare_rows(
    metric: Callable[..., float],
    method: Method,
    y_true: ArrayLike | None,
    y_score: Any,
    sensitive_features: Any,
    control_features: Any,
    sample_weight: ArrayLike | None,
) -> Comparisons:
    """Find what a metric compares, and quantiles of the noise, from its arguments."""
    if method != "band" and sample_weight is not None:
        raise ValueError(
            f"sample_weight must be None with method={method!r}, whose bounds are for "
            "unweighted rows."
        )
    compare_one = partial(_compare_classes, metric, method)
    if control_features is None:
        return compare_one(y_true, y_score, sensitive_features, sample_weight)
    bounded_metric(metric)
    multistratum = unwrapped(metric)[1].get("multistratum", "max")
    check_choice("multistratum", multistratum, get_args(Multistratum))
    rows = y_true, y_score, sensitive_features, control_features, sample_weight
    results = defined_results(metric, *rows, evaluate=compare_one)
    if not results:
        specification, options = specification_of(metric)
        return UNDEFINED._replace(maximum=specification.largest(options))
    weighted = multistratum == "weighted"
    weights = [one.weight for one in results] if weighted else None
    return join([one.result for one in results], weights)


def _compare_classes(
    metric: Callable[..., float],
    method: Method,
    y_true: ArrayLike | None,
    y_score: Any,
    sensitive_features: Any,
    sample_weight: ArrayLike | None = None,
) -> Comparisons:
    """Compare the scores of each class, or of the only one."""
    columns = split_classes(*specification_of(metric), y_true, y_score)
    y_true = y_true if len(columns) == 1 else None
    parts = []
    for column in columns:
        rows = y_true, column, sensitive_features, sample_weight
        parts.append(compare(metric, observe(metric, *rows, once=True), method))
        if math.isnan(parts[0].value):
            return parts[0]
    return parts[0] if len(parts) == 1 else join(parts, None)


def join(parts: list[Comparisons], weights: list[float] | None) -> Comparisons:
    """Join comparisons of strata or classes: the largest, or the weighted mean."""
    value = combine_numbers([part.value for part in parts], weights)
    if weights is None:
        return Comparisons(
            value,
            sum(part.n_comparisons for part in parts),
            lambda level: max(part.low(level) for part in parts),
            lambda level: max(part.high(level) for part in parts),
            parts[0].maximum,
        )

    def mean_of(bound: Callable[[Comparisons, float], float]) -> Callable[..., float]:
        """Mean of the bounds of strata, each at its share of the level."""
        return lambda level: combine_numbers(
            [bound(part, level / len(parts)) for part in parts], weights
        )

    low, high = mean_of(lower_bound), mean_of(upper_bound)
    return Comparisons(value, 1, low, high, parts[0].maximum)


def lower_bound(comparisons: Comparisons, tail: float) -> float:
    """Bound that the true disparity is below with at most a given probability."""
    if math.isnan(comparisons.value):
        return math.nan
    bound = comparisons.low(tail / comparisons.n_comparisons)
    return float(min(max(0.0, bound), comparisons.value))


def upper_bound(comparisons: Comparisons, tail: float) -> float:
    """Bound that the true disparity exceeds with at most a given probability."""
    if math.isnan(comparisons.value):
        return math.nan
    return float(min(max(comparisons.high(tail), 0.0), comparisons.maximum))

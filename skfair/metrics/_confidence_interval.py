"""Confidence intervals and certificates of disparities, by bounds of the noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from reprlib import repr as brief
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from skfair._rows import Rows
from skfair._utils._arrays import Floats, quotients
from skfair._utils._results import Result
from skfair._utils._text import shown
from skfair._utils._validation import check_choice, check_real, check_weights
from skfair._utils._warnings import warns_if_reordered
from skfair.groups import positions_in, resolve_groups
from skfair.metrics._abcc import abcc
from skfair.metrics._cvar_fairness import cvar_fairness, max_gap
from skfair.metrics._evaluate import (
    Multistratum,
    check_no_strata,
    check_shared,
    combine_numbers,
    defined_results,
    split_classes,
)
from skfair.metrics._inputs import (
    effective_sizes,
    ignore_undefined,
    warn_if_undefined,
)
from skfair.metrics._madd import madd
from skfair.metrics._mcdp import mcdp
from skfair.metrics._metric_bounds import MetricBounds, metric_bounds
from skfair.metrics._noise import (
    compare_abcc,
    compare_cvar,
    compare_madd,
    compare_max_gap,
    compare_mcdp,
    compare_seminorm,
)
from skfair.metrics._pairs import grouped_scores
from skfair.metrics._quantiles import (
    UNDEFINED,
    Comparisons,
    Method,
    Observed,
    move_to_unit,
)
from skfair.metrics._spec import (
    Specification,
    check_known,
    check_metric,
    complete,
    keywords_of,
    known_metrics,
    pick,
    signature_of,
    specification_of,
    unwrapped,
)
from skfair.statistics import (
    GroupedConfusion,
    GroupedHistogram,
    GroupedOutcomes,
    GroupedScores,
)
from skfair.statistics._grouped_confusion import encode_classes
from skfair.statistics._grouped_scores import pooled_ranks


def observe(
    metric: Callable[..., float],
    y_true: ArrayLike | None,
    y_score: Any,
    sensitive_features: Any = None,
    sample_weight: ArrayLike | None = None,
    *,
    once: bool = False,
) -> Observed:
    """Compute the statistic of a metric, and what its noise depends on.

    With `once` the statistic holds no more than this metric needs.
    """
    specification, options = bounded_metric(metric)
    read: Any = (once and specification.read_once) or specification.read
    # All of them take rows in this order.
    rows = y_true, y_score, sensitive_features, sample_weight
    statistic = read(*rows, **pick(read, options))
    if isinstance(statistic, GroupedOutcomes):
        squares = None
        if specification.takes_classes and statistic is not y_score:  # of scores
            groups = resolve_groups(sensitive_features, n_samples=len(y_score))
            countable: Any = specification.countable
            table = Rows(
                groups, None, y_true, y_score, check_weights(sample_weight, len(groups))
            )
            part, _ = countable(table, **pick(countable, options))
            of_squares = replace(part, y_pred=part.y_pred**2)
            squares = of_squares.statistic(GroupedOutcomes).means
        return statistic, statistic.effective_sizes, squares
    if isinstance(statistic, GroupedConfusion) and sample_weight is not None:
        return statistic, _sizes_of_classes(statistic, rows), None
    sizes = effective_sizes(statistic, sensitive_features, sample_weight)
    _check_known(sizes)
    if isinstance(statistic, GroupedConfusion):
        sizes = statistic.matrices.sum(axis=2).astype(float)
    return statistic, sizes, None


def _sizes_of_classes(statistic: GroupedConfusion, rows: tuple[Any, ...]) -> Floats:
    """Effective number of weighted rows of each group and true class."""
    y_true, _, sensitive_features, sample_weight = rows
    codes, classes = encode_classes("y_true", y_true)
    groups = resolve_groups(sensitive_features, n_samples=len(codes))
    weights = check_weights(sample_weight, len(codes)).astype(float)
    grouped, n_classes = groups.codes >= 0, len(statistic.classes)
    true = positions_in(statistic.classes, classes)[codes]
    cells = (groups.codes * np.intp(n_classes) + true)[grouped]
    totals, squares = (
        np.bincount(cells, values[grouped], statistic.n_groups * n_classes)
        for values in (weights, weights**2)
    )
    return quotients(totals**2, squares).reshape(-1, n_classes)


def compare(
    metric: Callable[..., float], observed: Observed, method: Method
) -> Comparisons:
    """Find what a metric compares, and quantiles of the noise of each comparison."""
    check_choice("method", method, get_args(Method))
    specification, options = bounded_metric(metric)
    name, compare_noise = specification.name, specification.compare
    assert compare_noise is not None
    ranked, unit = options.get("scale", "probability") == "rank", None
    maximum = specification.largest(options)
    if ranked:
        if "ranked" in keywords_of(compare_noise):
            options["ranked"] = True
        elif method != "band":
            raise ValueError(
                f"scale must be 'probability' with method={method!r} for {name}, got "
                "'rank': the ranks are data, too."
            )
        observed = pooled_ranks(observed[0]), *observed[1:]
    elif maximum == math.inf:
        if method != "band":
            raise ValueError(
                f"method must be 'band' for {name} of numbers, got {method!r}: its "
                "bounds are for values in a known range, and numbers have none."
            )
        statistic, unit = move_to_unit(observed[0])
        observed = statistic, *observed[1:]
    check_shared(options)
    if "measure" in keywords_of(compare_noise) and specification.measure is not None:
        options["measure"] = specification.measure(
            **pick(specification.measure, options)
        )
        options["maximum"] = maximum
    leaves_out = specification.leaves_groups_out
    if not leaves_out and warn_if_undefined(name, observed[0]):
        return UNDEFINED._replace(maximum=maximum)
    comparisons: Comparisons = compare_noise(
        observed, method, **pick(compare_noise, options)
    )
    locate = partial(_pair_and_place, specification, observed[0], options)
    comparisons = comparisons._replace(maximum=maximum, locate=locate)
    return comparisons if unit is None else comparisons.in_unit(unit)


def _pair_and_place(
    specification: Specification, statistic: Any, options: dict[str, Any]
) -> tuple[Any, Any]:
    """Labels of the groups that have the value of a metric, and where they have it."""
    locate = specification.locate
    if locate is None:
        return None, None
    located = locate(statistic, **pick(locate, options))
    pair = tuple(None if i is None else statistic.labels[i] for i in located.pair)
    if located.cell is not None:
        return pair, tuple(statistic.classes[i] for i in located.cell)
    if located.window[0] < located.window[1]:
        return pair, located.window
    return pair, None if math.isnan(located.score) else located.score


def metric_to_dict(metric: Callable[..., float]) -> dict[str, Any]:
    """Return the name and all options of a metric, for `json.dumps`."""
    bounded_metric(metric)
    function, set_options = unwrapped(metric)
    options = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in set_options.items()
    }
    for name, value in options.items():
        plain = value is None or isinstance(value, (str, bool, int, float))
        if not plain or (isinstance(value, float) and math.isnan(value)):
            raise ValueError(
                f"metric has the option {name}={brief(value)}, expected text, a number "
                "or None."
            )
    return {"name": function.__name__, "options": options}


def metric_from_dict(data: Any) -> tuple[Callable[..., float], Any]:
    """Return a metric, and the class of its statistic, from name and options."""
    if not isinstance(data, Mapping) or set(data) != {"name", "options"}:
        raise ValueError(
            f"metric must be a dictionary of name and options, got {brief(data)}."
        )
    by_name = {
        specification.name: bounded for bounded, specification in _bounded().items()
    }
    name, options = data["name"], data["options"]
    if not isinstance(name, str) or name not in by_name:
        raise ValueError(
            f"metric must be one of {', '.join(by_name)}, got {brief(name)}."
        )
    if not isinstance(options, Mapping):
        raise ValueError(f"options must be a dictionary, got {brief(options)}.")
    metric = partial(by_name[name], **options)
    try:
        metric_to_dict(metric)
    except TypeError as error:
        raise ValueError(f"options of {name} are not those of it: {error}.") from error
    return metric, specification_of(metric)[0].statistic


def check_options(metric: Callable[..., float]) -> None:
    """Raise where options cannot be those of the metric, whatever the rows are.

    The metric is evaluated and compared on four rows. Options that may depend on the
    rows, such as the positive label, are left out.
    """
    function, set_options = unwrapped(metric)
    if hasattr(function, "specification"):  # its options are checked when it is made
        return
    options = {
        name: value
        for name, value in set_options.items()
        if name != "pos_label"
        and (value is None or isinstance(value, (str, bool, int, float, np.generic)))
    }
    metric = partial(function, **options)
    y_true, y_score, groups = [0, 1, 0, 1], [0, 1, 1, 0], [0, 0, 1, 1]
    metric(y_true, y_score, sensitive_features=groups)
    compare(metric, observe(metric, y_true, y_score, groups), "anytime")


def _with_bounds(specification: Specification) -> Specification | None:
    """Return the specification of a metric whose noise can be bounded, else None.

    Without bounds of its own, that of a seminorm of a gap is at most its largest value
    times the largest gap.
    """
    if specification.compare is not None:
        return specification
    if specification.measure is None or specification.distance is not None:
        return None
    read = specification.read or partial(grouped_scores, ranked=False)
    return replace(specification, read=read, compare=compare_seminorm)


def _bounded() -> dict[Callable[..., float], Specification]:
    """Metrics whose noise can be bounded, by name."""
    metrics = sorted(known_metrics().items(), key=lambda item: item[1].name)
    bounded = {metric: _with_bounds(specification) for metric, specification in metrics}
    return {metric: bounds for metric, bounds in bounded.items() if bounds is not None}


def bounded_metric(metric: Any) -> tuple[Specification, dict[str, Any]]:
    """Find the specification of a metric whose noise can be bounded, and its options.

    It may be a `partial` of another.
    """
    function, options = unwrapped(metric)
    if isinstance(metric, partial) and metric.args:
        raise ValueError(
            f"metric must have its options set by keyword, got {shown(metric)}."
        )
    check_metric(metric)
    specification = getattr(function, "specification", known_metrics().get(function))
    specification = None if specification is None else _with_bounds(specification)
    if specification is None:
        names = ", ".join(other.name for other in _bounded().values())
        raise ValueError(
            f"metric must be one of {names}, or a functools.partial of it, got "
            f"{shown(metric)}. bootstrap_interval takes any metric, and is approximate."
        )
    signature_of(specification.function).bind_partial(**options)
    check_no_strata(options)
    by_row = (*specification.inputs, "sensitive_features", "sample_weight")
    for name in by_row:
        if options.pop(name, None) is not None:
            raise ValueError(
                f"{name} must be given beside the metric, not as an option of it: it "
                "has a value for each row."
            )
    for name in ("control_features", "multistratum"):  # strata are compared one by one
        options.pop(name, None)
    users = [specification.read, specification.compare, specification.measure]
    users = [user for user in users if user is not None]
    check_known(specification, options, *users, what="intervals")
    return specification, options


def _check_known(sizes: Floats) -> None:
    """Raise where a statistic does not tell the effective numbers of rows."""
    if np.isnan(sizes).any():
        raise ValueError(
            "y_score must be a statistic of rows without sample weights, whose squares "
            "it does not keep; pass the rows with their weights."
        )


_COMPARISONS: dict[Callable[..., float], Callable[..., Comparisons]] = {
    mcdp: compare_mcdp,
    abcc: compare_abcc,
    madd: compare_madd,
    max_gap: compare_max_gap,
    cvar_fairness: compare_cvar,
}
for _metric, _compare in _COMPARISONS.items():
    complete(_metric, compare=_compare)


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
        for metrics that are no largest comparison of groups.
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
        other than ``"band"``, pairs of more than 64 groups, and as the metric does.

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
    high = upper_bound(comparisons, tail)
    if bounds is not None and not math.isnan(value):
        # Scores at the edges of bins move the value of the rows by this at most.
        low = max(0.0, low - max(0.0, value - bounds.lower))
        high = min(comparisons.maximum, high + max(0.0, bounds.upper - value))
        value = min(max(value, bounds.lower), bounds.upper)
    pair, place = comparisons.locate()
    return ConfidenceInterval(value, low, high, level, method, pair, place)


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
    weights = [stratum.weight for stratum in results] if weighted else None
    return join([stratum.result for stratum in results], weights)


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
            max(parts, key=lambda part: part.value).locate,
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
    """Bound that the true disparity exceeds with at most a given probability.

    It is at least the value, which noise makes larger than the true disparity.
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
        pvalue = least_level(
            lambda tail_level: upper_bound(comparisons, tail_level) - limit
        )
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

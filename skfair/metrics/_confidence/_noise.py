"""How far noise moves the values that a metric is the largest of.

A metric compares groups by a seminorm of a contrast of their distributions, such as
F_g - F_h, and returns the largest. If E is the same contrast of the errors of the
estimated distributions,

- an estimate falls below its true value by at most a linear function of E, the same one
  for all samples, since a convex function lies above its tangents;
- an estimate exceeds its true value by at most the seminorm of E.

``docs/intervals.md`` has the proofs of the quantiles of both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from inspect import signature
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import ndtr, ndtri, stdtrit

from skfair._utils._validation import check_choice, check_weights
from skfair.groups import resolve_groups
from skfair.metrics._demographic_parity import (
    demographic_parity_difference,
    parity_outcomes,
)
from skfair.metrics._distribution._abcc import abcc, area
from skfair.metrics._distribution._gap import compared_pairs, largest_gap
from skfair.metrics._distribution._histograms import (
    N_BANDWIDTHS,
    bin_numbers,
    gap_curves,
    stable_interval,
)
from skfair.metrics._distribution._madd import madd, number_of_bins
from skfair.metrics._distribution._mcdp import kolmogorov, mcdp, mcdp_measure
from skfair.metrics._equalized_odds import equalized_odds_difference
from skfair.metrics._groupwise._cvar_fairness import (
    cvar_fairness,
    tail_mean,
    tail_shares,
)
from skfair.metrics._groupwise._group_gaps import group_gaps
from skfair.metrics._groupwise._max_gap import max_gap
from skfair.metrics._inputs import (
    Multigroup,
    effective_sizes,
    grouped_quality,
    grouped_scores,
    unwrapped,
)
from skfair.statistics import GroupedConfusion, GroupedOutcomes, GroupedScores

Floats = NDArray[np.float64]
Method = Literal["band", "finite_sample", "anytime"]
#: A quantile for each comparison: exceeded with at most the probability given.
Quantiles = Callable[[float], Any]

#: Mean of the absolute value of a standard normal variable.
_MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
#: Variance at which bounds for all sizes are sharpest: about a thousand rows a group.
_MIXING = 25.0
#: Ratios of a true value to its noise at which its observed mean is tabulated.
_RATIOS = np.linspace(0, 8, 8001)
#: Scores at which the noise of the area between CDFs is evaluated.
_GRID = 1024
#: Numbers of bins, of those that MADD averages over, at which its noise is evaluated.
_MAX_HISTOGRAMS = 16


class Arguments(NamedTuple):
    """Arguments of a metric, with rows or a statistic."""

    y_true: ArrayLike | None
    y_score: Any
    sensitive_features: Any
    sample_weight: ArrayLike | None

    def weighted(self) -> dict[str, Any]:
        """Keyword arguments that say to whom rows belong and what they weigh."""
        return {
            "sensitive_features": self.sensitive_features,
            "sample_weight": self.sample_weight,
        }


class Observed(NamedTuple):
    """Statistic of a metric, with what its noise depends on."""

    statistic: Any
    # Numbers of rows that each distribution, mean or rate comes from; with weights,
    # effective numbers.
    sizes: Floats
    # Means of squared outcomes.
    squares: Floats | None = None


class Comparisons(NamedTuple):
    """What a metric is the largest of, and how far noise may move each value."""

    value: float
    n_comparisons: int
    # The largest value, after something is added to each.
    largest: Callable[[Any], float]
    # How far the true value may lie above the estimate of one comparison.
    above: Quantiles
    # How far the estimate of one comparison may lie above the true value.
    below: Quantiles
    maximum: float = 1.0


#: Groups that cannot be compared; the metric has said why.
_UNDEFINED = Comparisons(
    math.nan, 1, lambda _: math.nan, lambda _: math.nan, lambda _: math.nan
)


def observe(metric: Callable[..., float], arguments: Arguments) -> Observed:
    """Collect the statistic of a metric."""
    kind, options = resolve_metric(metric)
    return kind.observe(arguments, **options)


def compare(
    metric: Callable[..., float], observed: Observed, method: Method
) -> Comparisons:
    """Find what a metric compares, and quantiles of the noise of each comparison."""
    check_choice("method", method, get_args(Method))
    kind, options = resolve_metric(metric)
    return kind.compare(observed, method, **options)


def metric_to_dict(metric: Callable[..., float]) -> dict[str, Any]:
    """Return the name and the options of a metric, for `json.dumps`."""
    _, options = resolve_metric(metric)
    for name, value in options.items():
        if not (value is None or isinstance(value, (str, bool, int, float))):
            raise ValueError(f"metric has the option {name}={value!r}, expected text.")
    return {"name": unwrapped(metric)[0].__name__, "options": options}


def metric_from_dict(data: Any) -> tuple[Callable[..., float], Any]:
    """Return a metric, and the class of its statistic, from name and options."""
    known = {function.__name__: function for function in _KINDS}
    if not isinstance(data, dict) or data.get("name") not in known:
        raise ValueError(
            f"metric must be a dictionary with a known name, got {data!r}."
        )
    function = known[data["name"]]
    return partial(function, **data["options"]), _KINDS[function].statistic


class _Kind(NamedTuple):
    """How the statistic of a metric is collected and compared; both take options."""

    statistic: type
    observe: Callable[..., Observed]
    compare: Callable[..., Comparisons]


def resolve_metric(metric: Any) -> tuple[_Kind, dict[str, Any]]:
    """Find the kind and the options of a metric, which may be a partial of another."""
    function, options = unwrapped(metric)
    if isinstance(metric, partial) and metric.args:
        raise ValueError(
            f"metric must have its options set by keyword, got {metric!r}."
        )
    if function not in _KINDS:
        names = ", ".join(known.__name__ for known in _KINDS)
        raise ValueError(
            f"metric must be one of {names}, or a functools.partial of it, got "
            f"{metric!r}. bootstrap_interval takes any metric, and is approximate."
        )
    signature(function).bind_partial(**options)
    return _KINDS[function], options


def _observe_scores(arguments: Arguments, **_: Any) -> Observed:
    """Scores of each group."""
    statistic = grouped_scores(*arguments)
    sizes = effective_sizes(statistic, **arguments.weighted())
    _check_known(sizes)
    return Observed(statistic, sizes)


def _observe_outcomes(
    arguments: Arguments,
    *,
    threshold: float | None = None,
    pos_label: Any = None,
    **_: Any,
) -> Observed:
    """Scores or decisions whose means are compared."""
    statistic = arguments.y_score
    if isinstance(statistic, GroupedOutcomes):
        # The mean square of values in [0, 1] is at most their mean.
        return Observed(statistic, statistic.effective_sizes, statistic.means)
    outcomes = parity_outcomes(statistic, threshold, pos_label)
    rows = arguments.weighted()
    rows["sensitive_features"] = resolve_groups(
        arguments.sensitive_features, n_samples=len(outcomes)
    )
    statistic = GroupedOutcomes.from_outcomes(outcomes, **rows)
    codes = rows["sensitive_features"].codes
    if arguments.sample_weight is None and statistic.counts.sum() == len(codes):
        sums: Any = np.bincount(codes, outcomes**2, len(statistic.counts))
        squares = sums / np.maximum(statistic.counts, 1)
    else:
        squares = GroupedOutcomes.from_outcomes(outcomes**2, **rows).means
    return Observed(statistic, statistic.effective_sizes, squares)


def _observe_confusion(arguments: Arguments, **_: Any) -> Observed:
    """Confusion matrices; sizes are those of the true classes of each group."""
    y_true, y_pred = arguments.y_true, arguments.y_score
    rows = arguments.weighted()
    if isinstance(y_pred, GroupedConfusion):
        _check_known(effective_sizes(y_pred, **rows))
        return Observed(y_pred, y_pred.matrices.sum(axis=2).astype(float))
    statistic = GroupedConfusion.from_predictions(y_true, y_pred, **rows)
    sizes = statistic.matrices.sum(axis=2).astype(float)
    weights = check_weights(arguments.sample_weight, len(y_pred))
    if weights is not None:
        rows["sample_weight"] = np.square(weights, dtype=float)
        squares = GroupedConfusion.from_predictions(y_true, y_pred, **rows).matrices
        squares = squares.sum(axis=2)
        np.divide(sizes**2, squares, out=sizes, where=squares > 0)
    return Observed(statistic, sizes)


def _observe_quality(
    arguments: Arguments,
    *,
    quality: Any = "selection_rate",
    pos_label: Any = None,
    **_: Any,
) -> Observed:
    """Outcomes whose rates are compared."""
    y_true, y_pred, groups, weights = arguments
    statistic = grouped_quality(y_true, y_pred, groups, quality, pos_label, weights)
    return Observed(statistic, statistic.effective_sizes)


def _check_known(sizes: Floats) -> None:
    """Raise where a statistic does not tell the effective numbers of rows."""
    if np.isnan(sizes).any():
        raise ValueError(
            "y_score must be a statistic of rows without sample weights, whose squares "
            "it does not keep; pass the rows with their weights."
        )


def _compare_mcdp(
    observed: Observed,
    method: Method,
    /,
    *,
    epsilon: float = 0.0,
    multigroup: Multigroup = "pairwise",
    **options: Any,
) -> Comparisons:
    """Compare CDFs, whose noise is at most that of a Brownian bridge.

    The tangent of MCDP(0) is the noise at one score, a difference of binomials.
    MCDP(epsilon) is not convex: it falls by at most the noise on the true window.
    """
    if options.get("method", "exact") != "exact":
        raise ValueError(f"method of MCDP must be 'exact', got {options['method']!r}.")
    statistic, sizes, _ = observed
    value = mcdp(None, statistic, epsilon=epsilon, multigroup=multigroup)
    if math.isnan(value):
        return _UNDEFINED
    n, shares = statistic.n_groups, _shares(statistic)
    above, below = _distribution_free(sizes, shares, multigroup, method)
    if method == "band":
        scale = np.sqrt(_contrast(1 / sizes, shares, multigroup))
        above = _supremum(scale, sides=1) if epsilon > 0 else _normal(scale / 2)
        below = _supremum(scale, sides=2)
    elif epsilon > 0:
        above = below
    measure = mcdp_measure(epsilon, "exact", 1)
    largest = _largest(statistic, multigroup, measure, kolmogorov, value)
    return Comparisons(value, len(compared_pairs(n, multigroup)), largest, above, below)


def _compare_abcc(
    observed: Observed,
    method: Method,
    /,
    *,
    multigroup: Multigroup = "pairwise",
) -> Comparisons:
    """Compare areas, whose tangents are means of functions of slope at most 1.

    Their variance is at most that of the scores. By the Gaussian isoperimetric
    inequality the area of the noise exceeds its mean by no more than a tangent does.
    """
    statistic, sizes, _ = observed
    value = abcc(None, statistic, multigroup=multigroup)
    if math.isnan(value):
        return _UNDEFINED
    n, shares = statistic.n_groups, _shares(statistic)
    above, below = _distribution_free(sizes, shares, multigroup, method)
    if method == "band":
        groups = [statistic.of_group(group) for group in range(n)]
        first, second = (
            np.array([weights @ scores**power for scores, weights in groups])
            / statistic.totals
            for power in (1, 2)
        )
        above = _student(first, second, sizes, shares, multigroup)
        below = _plus(_area_noise(observed, groups, multigroup), above)
    largest = _largest(statistic, multigroup, area, area, value)
    return Comparisons(value, len(compared_pairs(n, multigroup)), largest, above, below)


def _area_noise(
    observed: Observed, groups: Sequence[Any], multigroup: Multigroup
) -> Floats:
    """Mean of the area of the noise of each comparison."""
    statistic, sizes, _ = observed
    grid = np.linspace(0, len(statistic.scores) - 1, _GRID).astype(np.intp)
    scores = np.unique(statistic.scores[grid])
    cdfs = _cdfs(groups)(scores)[:, :-1]
    variances = cdfs * (1 - cdfs) / sizes[:, None]
    noise = np.sqrt(_contrast(variances, _shares(statistic), multigroup))
    return np.asarray(_MEAN_ABSOLUTE * noise @ np.diff(scores))


def _compare_madd(
    observed: Observed,
    method: Method,
    /,
    *,
    bandwidth: Any = "auto",
    multigroup: Multigroup = "pairwise",
) -> Comparisons:
    """Compare histograms; tangents are means of functions of values -1 and 1."""
    statistic, sizes, _ = observed
    value = madd(None, statistic, bandwidth=bandwidth, multigroup=multigroup)
    if math.isnan(value):
        return _UNDEFINED
    shares = _shares(statistic)
    if method == "band":
        scale = np.sqrt(_contrast(1 / sizes, shares, multigroup))
        if isinstance(bandwidth, str):
            found = _stable_histograms(observed, multigroup)
        else:
            found = _histograms(observed, multigroup)(number_of_bins(bandwidth))
        above, below = _histogram_bounds(found, scale)
        return _with_values(value, found.values, above, below, maximum=2.0)
    if isinstance(bandwidth, str):
        raise ValueError(
            f"bandwidth must be a number with method={method!r}, got 'auto', which is "
            "chosen by the data."
        )
    n_bins = number_of_bins(bandwidth)
    one, _ = _distribution_free(sizes, shares, multigroup, method)

    def free_above(level: float) -> Any:
        return 2 * one(level)

    def free_below(level: float) -> Any:
        if method == "anytime":  # at once for all 2**n_bins functions
            return 2 * one(level * 0.5**n_bins)
        roots = np.sqrt((n_bins - 1) / sizes)
        return _contrast(roots, shares, multigroup, power=1) + 2 * one(level)

    values = _histograms(observed, multigroup)(n_bins).values
    return _with_values(value, values, free_above, free_below, maximum=2.0)


class _Histograms(NamedTuple):
    """Histograms of all comparisons; means over bandwidths where there are several."""

    # MADD.
    values: Floats
    # Sum over bins of the standard deviations of the noise.
    deviations: Floats
    # The same, of at least the true ones: shares are smoothed by Laplace's rule, since
    # bins seen empty would have no noise.
    most: Floats
    # Largest gap of the CDFs at an edge.
    gaps: Floats


def _histograms(
    observed: Observed, multigroup: Multigroup
) -> Callable[[int], _Histograms]:
    """Compare the histograms of all groups, by number of bins."""
    statistic, sizes, _ = observed
    groups = [statistic.of_group(group) for group in range(statistic.n_groups)]
    cdfs, of_everyone = _cdfs(groups), _shares(statistic)

    def compare_bins(n_bins: int) -> _Histograms:
        edges = np.nextafter(np.arange(1, n_bins) / n_bins, 0)
        at_edges = cdfs(edges)
        shares = np.diff(at_edges, axis=1, prepend=0, append=1)
        smooth = (sizes[:, None] * shares + 1) / (sizes[:, None] + n_bins)
        deviations, most = (
            np.sqrt(_contrast(p * (1 - p) / sizes[:, None], of_everyone, multigroup))
            for p in (shares, smooth)
        )
        return _Histograms(
            np.abs(_differences(shares, of_everyone, multigroup)).sum(axis=1),
            deviations.sum(axis=1),
            most.sum(axis=1),
            np.abs(_differences(at_edges, of_everyone, multigroup)).max(
                axis=1, initial=0
            ),
        )

    return compare_bins


def _stable_histograms(observed: Observed, multigroup: Multigroup) -> _Histograms:
    """Means over the stable interval of bandwidths of each comparison."""
    statistic = observed.statistic
    pairs = compared_pairs(statistic.n_groups, multigroup)
    rows = np.empty((4, len(pairs)))
    n_bins, histograms = (
        bin_numbers(N_BANDWIDTHS),
        cache(_histograms(observed, multigroup)),
    )
    for curve in gap_curves(statistic, pairs, N_BANDWIDTHS):
        found, at = stable_interval(curve.values, curve.totals), pairs.index(curve.pair)
        some = np.linspace(found.start, found.stop - 1, _MAX_HISTOGRAMS).astype(np.intp)
        parts = [[part[at] for part in histograms(n)] for n in n_bins[some].tolist()]
        rows[:, at] = np.mean(parts, axis=0)
        rows[0, at] = found.mean
    return _Histograms(*rows)


def _histogram_bounds(found: _Histograms, scale: Floats) -> tuple[Quantiles, Quantiles]:
    """Quantiles of the noise of MADD: each end is the sharper of two bounds.

    Upper ends: by a tangent, or by the mean of MADD, which noise increases; it is at
    least S E|D / S + N| with the sum S of the standard deviations and the true D. Lower
    ends: by the norm of the noise, or by twice a gap of the CDFs, which is at most D.
    """
    values, deviations, most, gaps = found

    def above(level: float) -> Any:
        by_tangent = values - ndtri(level / 2) * scale
        mean = values + math.sqrt(2 * math.log(2 / level)) * scale
        return np.minimum(by_tangent, _without_noise(mean, deviations)) - values

    def below(level: float) -> Any:
        noise = _MEAN_ABSOLUTE * most - ndtri(level / 2) * scale
        by_gap = 2 * (gaps - _supremum(scale, sides=2)(level / 2))
        return np.minimum(noise, values - by_gap)

    return above, below


def _without_noise(means: Floats, deviations: Floats) -> Floats:
    """Solve ``S E|x / S + N| = mean`` for x; 0 where noise alone has a larger mean."""
    density = np.exp(-(_RATIOS**2) / 2) * math.sqrt(2 / math.pi)
    noisy = density + _RATIOS * (1 - 2 * ndtr(-_RATIOS))
    safe = np.maximum(deviations, 1e-300)
    solved = np.interp(means / safe, noisy, _RATIOS, left=0.0) * safe
    return np.where(means / safe > noisy[-1], means, solved)


def _compare_parity(
    observed: Observed,
    method: Method,
    /,
    *,
    multigroup: Multigroup = "pairwise",
    **_: Any,
) -> Comparisons:
    """Compare means."""
    statistic, sizes, squares = observed
    value = demographic_parity_difference(None, statistic, multigroup=multigroup)
    means, shares = statistic.means, statistic.totals / statistic.totals.sum()
    moments = (means, means if squares is None else squares)
    return _compare_means(value, moments, sizes, shares, multigroup, method)


def _compare_equalized_odds(
    observed: Observed, method: Method, /, *, multigroup: Multigroup = "pairwise"
) -> Comparisons:
    """Compare the rates of each true and predicted class."""
    statistic = observed.statistic
    value = equalized_odds_difference(None, statistic, multigroup=multigroup)
    if math.isnan(value):
        return _UNDEFINED
    true = statistic.matrices.sum(axis=(0, 2)) > 0
    totals = statistic.matrices[:, true].sum(axis=2, keepdims=True)
    rates = statistic.matrices[:, true] / totals
    sizes, shares = observed.sizes[:, true, None], totals / totals.sum(axis=0)
    return _compare_means(value, (rates, rates), sizes, shares, multigroup, method)


def _compare_max_gap(
    observed: Observed, method: Method, /, *, group_weights: Any = "uniform", **_: Any
) -> Comparisons:
    """Compare each group's rate with the weighted average."""
    statistic, sizes = observed.statistic, observed.sizes
    gaps = group_gaps("Max-gap fairness", statistic, group_weights)
    value = float(np.nanmax(gaps.gaps)) if gaps.defined else math.nan
    kept = np.flatnonzero(gaps.compared[: statistic.n_groups])
    rates = statistic.means[kept]
    return _compare_means(
        value, (rates, rates), sizes[kept], gaps.weights[kept], "pooled", method
    )


def _compare_cvar(
    observed: Observed,
    method: Method,
    /,
    *,
    group_weights: Any = "uniform",
    alpha: float = 0.9,
    fractional: bool = True,
    **_: Any,
) -> Comparisons:
    """Compare the groups of the tail with the weighted average.

    CVaR fairness is the largest mean of gaps over all tails, a seminorm of the rates.
    """
    if not fractional:
        raise ValueError("fractional of CVaR fairness must be True, got False.")
    statistic, sizes = observed.statistic, observed.sizes
    gaps = group_gaps("CVaR fairness", statistic, group_weights)
    if not gaps.defined:
        return _UNDEFINED
    kept = np.flatnonzero(gaps.compared[: statistic.n_groups])
    rates, sizes, weights = statistic.means[kept], sizes[kept], gaps.weights[kept]

    def tail(values: Floats) -> float:
        return tail_mean(values, weights, tail_shares(values, weights, alpha), alpha)

    n_groups = len(kept)
    if method == "band":
        variances = _variances(rates, rates, sizes)
        above = _normal(_tail_deviation(variances, weights, alpha, tail))
        deviations = np.sqrt(_contrast(variances, weights, "pooled"))
        together = _plus(_tail_noise(deviations, weights, alpha), above)
        one_by_one = _normal(deviations)

        def below(level: float) -> Any:
            each = tail(one_by_one(level / (2 * n_groups)))
            return min(each, together(level))

    else:
        one, _cdf = _distribution_free(sizes, weights, "pooled", method)

        def below(level: float) -> Any:
            return tail(one(level / (2 * n_groups)))

        above = below
    value = np.array([tail(gaps.gaps[kept])])
    return _with_values(float(value[0]), value, above, below)


def _tail_deviation(
    variances: Floats, weights: Floats, alpha: float, tail: Callable[[Floats], float]
) -> Any:
    """Bound the standard deviation of the mean of signed gaps over any one tail.

    A rate has the coefficient of its group in the tail, at most its weight over
    1 - alpha, and its weight in the average. A square is below its chord.
    """
    most = weights / (1 - alpha)
    slopes = ((most + weights) ** 2 - weights**2) * variances
    np.divide(slopes, most, out=slopes, where=most > 0)
    return math.sqrt(float(weights**2 @ variances) + tail(slopes))


def _tail_noise(deviations: Floats, weights: Floats, alpha: float) -> Any:
    """Bound the mean over noise of the largest mean of absolute gaps over all tails.

    It is at most t plus the mean excess of the absolute gaps over t, over 1 - alpha,
    for every t.
    """

    def bound(threshold: float) -> float:
        ratio = threshold / deviations
        density = np.exp(-(ratio**2) / 2) / math.sqrt(2 * math.pi)
        excess = 2 * deviations * (density - ratio * ndtr(-ratio))
        return threshold + float(weights @ excess) / (1 - alpha)

    largest = 10 * float(deviations.max())
    return minimize_scalar(bound, bounds=(0, largest), method="bounded").fun


def _compare_means(
    value: float,
    moments: tuple[Floats, Floats],
    sizes: Floats,
    shares: Floats,
    multigroup: Multigroup,
    method: Method,
) -> Comparisons:
    """Compare means of shape (n_groups, ...), given with the mean squares."""
    if math.isnan(value):
        return _UNDEFINED
    means, squares = moments
    values = np.abs(_differences(means, shares, multigroup))
    sizes = np.broadcast_to(sizes, means.shape)
    if method == "band":
        above = _student(means, squares, sizes, shares, multigroup)
    else:
        above, _ = _distribution_free(sizes, shares, multigroup, method)
    # The noise has either sign.
    return _with_values(value, values, above, lambda level: above(level / 2))


def _with_values(
    value: float,
    values: Floats,
    above: Quantiles,
    below: Quantiles,
    maximum: float = 1.0,
) -> Comparisons:
    """Comparisons whose values are all known."""
    return Comparisons(
        value,
        values.size,
        lambda offsets: float((values + offsets).max()),
        above,
        below,
        maximum,
    )


def _differences(by_group: Floats, shares: Any, multigroup: Multigroup) -> Floats:
    """Difference of two groups, or of a group and everyone, in each comparison."""
    if multigroup == "pairwise":
        i, j = np.triu_indices(len(by_group), 1)
        return np.asarray(by_group[i] - by_group[j])
    shares = _aligned(shares, by_group)
    return np.asarray(by_group - (shares * by_group).sum(axis=0))


def _aligned(shares: Any, by_group: Floats) -> Any:
    """Give the shares of groups the dimensions of what they are multiplied with."""
    n_more = by_group.ndim - np.ndim(shares)
    return np.reshape(shares, (*np.shape(shares), *[1] * n_more))


def _contrast(
    by_group: Floats, shares: Any, multigroup: Multigroup, power: int = 2
) -> Floats:
    """Sum over groups of the powers of their coefficients in each comparison.

    Those are 1 and -1 for two groups; with everyone, one minus the share of the group,
    and the shares of the others.
    """
    if multigroup == "pairwise":
        i, j = np.triu_indices(len(by_group), 1)
        return np.asarray(by_group[i] + by_group[j])
    shares = _aligned(shares, by_group)
    everyone = shares**power * by_group
    return np.asarray(
        (1 - shares) ** power * by_group + everyone.sum(axis=0) - everyone
    )


def _normal(deviations: Floats) -> Quantiles:
    """Quantiles of normal noise."""
    return lambda level: -ndtri(level) * deviations


def _supremum(scale: Floats, sides: int) -> Quantiles:
    """Quantiles of the supremum of a Brownian bridge, or of its absolute value."""
    return lambda level: math.sqrt(math.log(sides / level) / 2) * scale


def _plus(means: Floats, quantiles: Quantiles) -> Quantiles:
    """Quantiles of noise of another mean."""
    return lambda level: means + quantiles(level)


def _student(
    first: Floats, second: Floats, sizes: Floats, shares: Any, multigroup: Multigroup
) -> Quantiles:
    """Quantiles of Welch's t for means with known mean squares."""
    variances = _variances(first, second, sizes)
    noise = _contrast(variances, shares, multigroup)
    doubt = _contrast(variances**2 / (sizes + 1), shares, multigroup, power=4)
    freedom = noise**2 / doubt
    return lambda level: -stdtrit(freedom, level) * np.sqrt(noise)


def _variances(first: Floats, second: Floats, sizes: Floats) -> Floats:
    """Variances of means, from the mean values and the mean squares.

    Two rows, 0 and 1, are added to each group, as Agresti and Caffo do for rates:
    groups whose rows all agree would have no noise.
    """
    mean, square = ((sizes * moment + 1) / (sizes + 2) for moment in (first, second))
    return np.asarray((square - mean**2) / sizes)


def _distribution_free(
    sizes: Floats, shares: Any, multigroup: Multigroup, method: Method
) -> tuple[Quantiles, Quantiles]:
    """Bounds for any distribution: of the noise of one mean, and of a whole CDF.

    Hoeffding's and Massart's for one look; for all looks at growing data those of
    Howard, Ramdas, McAuliffe and Sekhon, and of Howard and Ramdas, by group.
    """
    involved = 2 if multigroup == "pairwise" else len(sizes)

    def add_up(radius: Callable[[Floats, float], Floats]) -> Quantiles:
        return lambda level: _contrast(
            radius(sizes, level / involved), shares, multigroup, power=1
        )

    if method == "anytime":
        return add_up(_mean_at_any_time), add_up(_cdf_at_any_time)
    scale = np.sqrt(_contrast(1 / sizes, shares, multigroup))
    roots = _contrast(1 / np.sqrt(sizes), shares, multigroup, power=1)
    return _supremum(scale, sides=1), _supremum(roots, sides=2 * involved)


def _mean_at_any_time(sizes: Floats, level: float) -> Floats:
    """One-sided bound on the noise of a mean of values in [0, 1], at all sizes at once.

    It is the normal mixture bound, with the variance 1/4.
    """
    variance = sizes / 4
    ratio = np.sqrt((variance + _MIXING) / _MIXING)
    logarithm = np.log(ratio / (2 * level) + 1)
    return np.asarray(np.sqrt(2 * (variance + _MIXING) * logarithm) / sizes)


def _cdf_at_any_time(sizes: Floats, level: float) -> Floats:
    """Bound on the noise of a CDF, at all sizes at once."""
    iterated = np.log(np.log(math.e * sizes)) + 0.8 * math.log(1612 / level)
    return np.asarray(0.85 * np.sqrt(iterated / sizes))


def _largest(
    statistic: GroupedScores,
    multigroup: Multigroup,
    measure: Callable[[Any], float],
    distance: Callable[[Any], float],
    value: float,
) -> Callable[[Any], float]:
    """Largest value of a metric of two distributions, after something is added."""
    if statistic.n_groups == 2 and multigroup == "pairwise":
        return lambda offsets: float(np.max(value + offsets))
    return lambda offsets: (
        largest_gap(statistic, multigroup, measure, distance, offsets).value
    )


def _shares(statistic: GroupedScores) -> Floats:
    return np.asarray(statistic.totals / statistic.totals.sum())


def _cdfs(groups: Sequence[Any]) -> Callable[[Floats], Floats]:
    """CDF of groups, given by their scores and weights, as a function of scores."""
    cdfs = [
        (scores, np.concatenate([[0], np.cumsum(weights)]))
        for scores, weights in groups
    ]

    def at(points: Floats) -> Floats:
        below = [
            sums[np.searchsorted(scores, points, side="right")] / sums[-1]
            for scores, sums in cdfs
        ]
        return np.array(below)

    return at


_KINDS: dict[Callable[..., float], _Kind] = {
    mcdp: _Kind(GroupedScores, _observe_scores, _compare_mcdp),
    abcc: _Kind(GroupedScores, _observe_scores, _compare_abcc),
    madd: _Kind(GroupedScores, _observe_scores, _compare_madd),
    demographic_parity_difference: _Kind(
        GroupedOutcomes, _observe_outcomes, _compare_parity
    ),
    equalized_odds_difference: _Kind(
        GroupedConfusion, _observe_confusion, _compare_equalized_odds
    ),
    max_gap: _Kind(GroupedOutcomes, _observe_quality, _compare_max_gap),
    cvar_fairness: _Kind(GroupedOutcomes, _observe_quality, _compare_cvar),
}

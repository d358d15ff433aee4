"""What MCDP, ABCC, MADD and the metrics of many groups compare, and its noise."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtr, ndtri

from skfair._utils._arrays import Floats, quotients
from skfair._utils._validation import check_real
from skfair.metrics._abcc import area, areas_at
from skfair.metrics._anytime import (
    gap_variance,
    largest_gap_end,
    two_means,
)
from skfair.metrics._cvar_fairness import group_gaps, tail_mean, tail_shares
from skfair.metrics._inputs import Multigroup
from skfair.metrics._madd import (
    N_BANDWIDTHS,
    bin_numbers,
    gap_curves,
    is_automatic,
    madd,
    number_of_bins,
    stable_interval,
)
from skfair.metrics._mcdp import MCDP
from skfair.metrics._pairs import (
    Measure,
    MeasuredGaps,
    compared_pairs,
    find_largest,
    measured_gaps,
)
from skfair.metrics._quantiles import (
    MEAN_ABSOLUTE,
    UNDEFINED,
    Comparisons,
    Method,
    Observed,
    Quantiles,
    compare_means,
    contrast,
    differences,
    distribution_free,
    exact_distance,
    high_end,
    high_end_at_one_score,
    low_end,
    mean_moments,
    noise_of_means,
    normal,
    normal_at_one_score,
    once_per_size,
    pairs_of_variances,
    plus,
    shares_of_groups,
    supremum,
    supremum_quantile,
    variances_of_means,
    with_values,
)
from skfair.statistics import GroupedScores

#: Scores at which the noise of the area between CDFs is evaluated.
_GRID = 1024
#: Lower end of a pair whose gap may be 0, of which no more needs to be found.
_BELOW_0 = -1e-9


def compare_mcdp(
    observed: Observed,
    bounds: Method,
    /,
    *,
    epsilon: float = 0.0,
    method: str = "exact",
    n_subdivisions: int = 32,
    multigroup: Multigroup = "pairwise",
    ranked: bool = False,
) -> Comparisons:
    """Compare CDFs, whose noise is at most that of a Brownian bridge.

    The tangent of MCDP(0) is the noise at one score, a difference of binomials.
    MCDP(epsilon) is not convex: it falls by at most the noise on the true window.
    Windows of ranks are chosen by the data, so that all windows must be bounded.
    """
    if method != "exact":
        raise ValueError(f"method of MCDP must be 'exact', got {method!r}.")
    statistic, sizes, _ = observed
    metric = MCDP(epsilon=epsilon, n_subdivisions=n_subdivisions)
    gaps = measured_gaps(statistic, multigroup, metric.measure, metric.measure_at)
    shares = shares_of_groups(statistic)
    windows_of_data = ranked and epsilon > 0
    if bounds == "band" and multigroup == "pairwise" and not windows_of_data:
        return _gap_comparisons(gaps, sizes, at_one_score=epsilon == 0)
    above, below = distribution_free(sizes, shares, multigroup, bounds)
    if bounds == "band":
        scale = np.sqrt(contrast(1 / sizes, shares, multigroup))
        above = supremum(scale, sides=1)
        if epsilon == 0:
            above = normal_at_one_score(sizes, shares, multigroup)
        below = supremum(scale, sides=2)
    elif epsilon > 0:
        above = below
    moved = _with_fixed_ends(gaps, above, below)
    if bounds == "anytime" and epsilon == 0 and multigroup == "pairwise":
        return moved._replace(low=_mixed_low(gaps, statistic, sizes))
    return moved


def _gap_comparisons(
    gaps: MeasuredGaps, sizes: Floats, *, at_one_score: bool
) -> Comparisons:
    """Compare pairs of groups by ends that are closer the larger the gap is."""
    highest = high_end_at_one_score if at_one_score else high_end
    variances = pairs_of_variances(sizes)
    scale = np.sqrt(np.sum(variances, axis=1))

    def low(level: float) -> float:
        end = once_per_size(low_end, level, variances)
        return find_largest(gaps.bounds, lambda i: end(i, gaps.value_of(i)))[0]

    def high(level: float) -> float:
        end = once_per_size(highest, level, variances)
        bounds = gaps.bounds + supremum_quantile(level, sides=1) * scale
        return find_largest(bounds, lambda i: end(i, gaps.value_of(i)))[0]

    return Comparisons(gaps.largest[0], len(gaps.pairs), low, high)


def _mixed_low(
    gaps: MeasuredGaps, statistic: GroupedScores, sizes: Floats
) -> Callable[[float], float]:
    """Lower end of the largest MCDP(0), at all looks at once, by level."""
    pairs = np.array(np.triu_indices(statistic.n_groups, 1))
    variances = gap_variance(sizes[pairs])
    # With one row less a gap may be larger by this.
    bounds = gaps.bounds + 1 / np.maximum(sizes[pairs].min(axis=0) - 1, 1e-3)

    @cache
    def end_of(i: int) -> Callable[[float], float]:
        return largest_gap_end(*(statistic.of_group(group) for group in pairs[:, i]))

    def low(level: float) -> float:
        # As if the gap were the same at the scores of all rows.
        noise = two_means(variances, level, sides=2)
        return find_largest(bounds - noise, lambda i: max(end_of(i)(level), _BELOW_0))[
            0
        ]

    return low


def compare_abcc(
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
    gaps = measured_gaps(statistic, multigroup, area, areas_at)
    shares = shares_of_groups(statistic)
    above, below = distribution_free(sizes, shares, multigroup, method)
    if method == "band":
        moments = mean_moments(statistic)
        above, further = noise_of_means(moments, sizes, shares, multigroup)
        below = plus(_area_noise(observed, multigroup), further)
    return _with_fixed_ends(gaps, above, below)


def compare_seminorm(
    observed: Observed,
    method: Method,
    /,
    *,
    measure: Measure,
    maximum: float,
    multigroup: Multigroup = "pairwise",
    ranked: bool = False,
) -> Comparisons:
    """Compare CDFs by any measure of their gap that is a seminorm.

    Noise moves it by at most its value for the noise, and that is at most its largest
    value times the largest noise of the difference of CDFs; this holds of `ranked`
    scores, too.
    """
    statistic, sizes, _ = observed
    shares = shares_of_groups(statistic)
    gaps = measured_gaps(statistic, multigroup, measure)
    _, noise = distribution_free(sizes, shares, multigroup, method)
    if method == "band":
        noise = supremum(np.sqrt(contrast(1 / sizes, shares, multigroup)), sides=2)

    def moved(level: float) -> Any:
        return maximum * noise(level)

    return _with_fixed_ends(gaps, moved, moved)


def _area_noise(observed: Observed, multigroup: Multigroup) -> Floats:
    """Mean of the area of the noise of each comparison."""
    statistic, sizes, _ = observed
    n_groups = statistic.n_groups
    grid = np.linspace(0, len(statistic.scores) - 1, _GRID).astype(np.intp)
    scores = np.unique(statistic.scores[grid])
    ends = np.searchsorted(statistic.scores, scores, side="right")
    cells = np.repeat(n_groups * np.arange(len(ends)), np.diff(ends, prepend=0))
    cells += statistic.codes
    weights = np.bincount(cells, statistic.weights, len(ends) * n_groups)
    sums = np.cumsum(weights.reshape(-1, n_groups), axis=0)
    cdfs = (sums[:-1] / statistic.totals).T
    variances = np.maximum(cdfs * (1 - cdfs), 0) / sizes[:, None]  # rounded
    noise = np.sqrt(contrast(variances, shares_of_groups(statistic), multigroup))
    return np.asarray(MEAN_ABSOLUTE * noise @ np.diff(scores))


def _with_fixed_ends(
    gaps: MeasuredGaps, above: Quantiles, below: Quantiles
) -> Comparisons:
    """Comparisons whose bounds are the values plus and minus fixed distances."""

    def largest(offsets: Any) -> float:
        added = np.broadcast_to(offsets, len(gaps.pairs))
        bounds = gaps.bounds + added
        return find_largest(bounds, lambda i: gaps.value_of(i) + float(added[i]))[0]

    return Comparisons(
        gaps.largest[0],
        len(gaps.pairs),
        lambda level: largest(-below(level)),
        lambda level: largest(above(level)),
    )


#: Ratios of a true value to its noise at which the observed mean is tabulated.
_RATIOS = np.linspace(0, 8, 1001)
#: Numbers of bins, of those that MADD averages over, at which its noise is evaluated.
_MAX_HISTOGRAMS = 16
#: Groups up to which weights of zero are faster than taking the rows of each.
_FEW_GROUPS = 3
#: Bins of equal noise from which on their sum counts as normal.
_MANY_BINS = 4
#: Rows added to each bin where the noise must not be too small: an empty bin has some.
_ADDED_ROWS = 0.5


def compare_madd(
    observed: Observed,
    method: Method,
    /,
    *,
    bandwidth: Any = "auto",
    multigroup: Multigroup = "pairwise",
) -> Comparisons:
    """Compare histograms; tangents are means of functions of values -1 and 1."""
    automatic = is_automatic(bandwidth)
    if automatic and method == "band":
        return _compare_stable(observed, multigroup)
    if automatic:
        raise ValueError(
            f"bandwidth must be a number with method={method!r}, got 'auto', which is "
            "chosen by the data."
        )
    statistic, sizes, _ = observed
    value = madd(None, statistic, bandwidth=bandwidth, multigroup=multigroup)
    n_bins = number_of_bins(bandwidth)
    histograms = _histograms(observed, multigroup)(n_bins)
    if method == "band":
        return _compare_histograms(value, histograms, observed, multigroup)
    shares = shares_of_groups(statistic)
    noise_of_mean, _ = distribution_free(sizes, shares, multigroup, method)

    def free_above(level: float) -> Any:
        return 2 * noise_of_mean(level)

    def free_below(level: float) -> Any:
        if method == "anytime":  # at once for all 2**n_bins functions
            return 2 * noise_of_mean(level * 0.5**n_bins)
        roots = np.sqrt((n_bins - 1) / sizes)
        return contrast(roots, shares, multigroup, power=1) + 2 * noise_of_mean(level)

    return with_values(value, histograms["values"], free_above, free_below)


#: Numbers of the histograms of all comparisons, by name; means over bandwidths where
#: there are several:
#: - "values": MADD,
#: - "deviations": sum over bins of the standard deviations of the noise,
#: - "errors": root of the sum over bins of the variances of the noise,
#: - "least": sum over bins of estimates that are on average at most the true
#:   differences,
#: - "spreads": standard deviation of that sum,
#: - "gaps": largest gap of the CDFs at an edge,
#: - "scale": noise of the mean of a function with values -1 and 1.
Histograms: TypeAlias = dict[str, Floats]


def _histograms(
    observed: Observed, multigroup: Multigroup
) -> Callable[..., Histograms]:
    """Compare the histograms of all groups, or of some comparisons, by bins."""
    statistic, sizes, _ = observed
    if statistic.n_groups > _FEW_GROUPS:
        groups = [statistic.of_group(group) for group in range(statistic.n_groups)]
    else:
        scores, weights, codes = statistic.scores, statistic.weights, statistic.codes
        groups = [(scores, weights * (codes == g)) for g in range(statistic.n_groups)]
    cdfs, of_everyone = cdfs_at(groups), shares_of_groups(statistic)
    rows, scale = sizes[:, None], np.sqrt(contrast(1 / sizes, of_everyone, multigroup))

    def compare_bins(n_bins: int, compared: Any = slice(None)) -> Histograms:
        edges = np.nextafter(np.arange(1, n_bins) / n_bins, 0)
        at_edges = cdfs(edges)
        shares = np.diff(at_edges, axis=1, prepend=0, append=1)
        smooth = (rows * shares + _ADDED_ROWS) / (rows + _ADDED_ROWS * n_bins)
        deviations, most = (
            np.sqrt(contrast(p * (1 - p) / rows, of_everyone, multigroup)[compared])
            for p in (shares, smooth)
        )
        gaps, at_edges = (
            np.abs(differences(by_group, of_everyone, multigroup)[compared])
            for by_group in (shares, at_edges)
        )
        least, slopes = least_differences(gaps, most)
        return {
            "values": gaps.sum(axis=1),
            "deviations": deviations.sum(axis=1),
            "errors": np.sqrt((most**2).sum(axis=1)),
            "least": least.sum(axis=1),
            "spreads": np.sqrt(((slopes * most) ** 2).sum(axis=1)),
            "gaps": at_edges.max(axis=1, initial=0),
            "scale": scale[compared],
        }

    return compare_bins


def cdfs_at(groups: Sequence[Any]) -> Callable[[Floats], Floats]:
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


def least_differences(gaps: Floats, deviations: Floats) -> tuple[Floats, Floats]:
    """Estimate absolute differences such that none is too large on average, and slopes.

    Half of the rows tell the sign of a difference, the other half the difference with
    that sign; this is the mean over all halves, of normal noise.
    """
    # A single bin, which holds all rows, has no noise.
    ratios = quotients(gaps, deviations)
    density = np.exp(-(ratios**2) / 2) * math.sqrt(2 / math.pi)
    certain = 1 - 2 * ndtr(-ratios)
    return gaps * certain - deviations * density, certain + 2 * ratios * density


def _compare_stable(observed: Observed, multigroup: Multigroup) -> Comparisons:
    """Compare means over the stable interval of bandwidths of each comparison."""
    statistic, *_ = observed
    pairs = compared_pairs(statistic.n_groups, multigroup)
    means = np.empty(len(pairs))
    chosen = np.empty((len(pairs), _MAX_HISTOGRAMS), dtype=np.int16)
    for i, (_, rows, curve) in enumerate(gap_curves(statistic, pairs, N_BANDWIDTHS)):
        first, last, means[i] = stable_interval(curve, rows)
        chosen[i] = np.linspace(first, last, _MAX_HISTOGRAMS)
    compare_bins, n_bins = _histograms(observed, multigroup), bin_numbers(N_BANDWIDTHS)
    histograms: Histograms = {}
    for bandwidth in np.unique(chosen):
        times = np.count_nonzero(chosen == bandwidth, axis=1)
        compared = np.flatnonzero(times)
        share = times[compared] / _MAX_HISTOGRAMS
        of_bandwidth = compare_bins(int(n_bins[bandwidth]), compared)
        for name, numbers in of_bandwidth.items():
            mean = histograms.setdefault(name, np.zeros(len(pairs)))
            mean[compared] += numbers * share
    histograms["values"] = means
    value = float(means.max())
    return _compare_histograms(value, histograms, observed, multigroup, mean=True)


def _compare_histograms(
    value: float,
    histograms: Histograms,
    observed: Observed,
    multigroup: Multigroup,
    *,
    mean: bool = False,
) -> Comparisons:
    """Compare by ends each of which is the sharper of two, or their `mean`.

    Upper ends: by a tangent, or by the mean of MADD, which noise increases; it is at
    least S E|D / S + N| with the sum S of the standard deviations and the true D. Lower
    ends: by estimates that are not too large on average, or by twice a gap of the CDFs,
    which is at most D.
    """
    pairwise = multigroup == "pairwise"
    values, gaps = histograms["values"], histograms["gaps"]
    errors = histograms["errors"]
    # The mean over bins is normal where many of them have noise.
    many = histograms["deviations"] >= math.sqrt(_MANY_BINS) * errors
    statistic, sizes, _ = observed
    of_everyone = shares_of_groups(statistic)
    variances = pairs_of_variances(sizes) if pairwise else []
    at_one_score = normal_at_one_score(sizes, of_everyone, multigroup)

    def high(level: float) -> float:
        by_tangent = values + 2 * at_one_score(level / 2)
        if pairwise:
            by_tangent = 2 * high_end_at_one_score(
                values / 2, level / 2, np.array(variances).T
            )
        by_mean = np.where(many, _without_noise(histograms, -ndtri(level / 2)), np.inf)
        return float(np.minimum(by_tangent, by_mean).max())

    def low(level: float) -> float:
        by_signs = histograms["least"] + ndtri(level / 2) * histograms["spreads"]
        by_signs = np.where(many, by_signs, -np.inf)
        if not pairwise or mean:
            by_gap = gaps - supremum(histograms["scale"], sides=2)(level / 2)
            return max(float(by_signs.max()), 2 * float(by_gap.max()))
        end = once_per_size(low_end, level / 2, variances)
        by_gap = max(end(i, gap) for i, gap in enumerate(gaps.tolist()))
        return max(float(by_signs.max()), 2 * by_gap)

    return Comparisons(value, len(values), low, high)


@cache
def _noisy_values() -> tuple[Floats, Floats]:
    """Mean and standard deviation of |x + N|, N standard normal, by tabulated x."""
    density = np.exp(-(_RATIOS**2) / 2) * math.sqrt(2 / math.pi)
    means = density + _RATIOS * (1 - 2 * ndtr(-_RATIOS))
    return means, np.sqrt(1 + _RATIOS**2 - means**2)


def _without_noise(histograms: Histograms, quantile: float) -> Floats:
    """Largest x for which a value is not below S E|x / S + N| by more than noise.

    That is the quantile of normal noise, with the standard deviation of |x / S + N|.
    """
    means, spreads = _noisy_values()
    ends = []
    numbers = (histograms[name] for name in ("values", "deviations", "errors"))
    for value, deviation, error in zip(*numbers, strict=True):
        lowest = deviation * means - quantile * error * spreads
        below = np.flatnonzero(lowest <= value)
        last = below[-1] if len(below) else 0
        around = slice(last, last + 2)
        if last + 1 == len(lowest):
            ends.append(value + quantile * error)
        else:
            end = np.interp(value, lowest[around], _RATIOS[around])
            ends.append(end * deviation)
    return np.array(ends)


def compare_max_gap(
    observed: Observed, method: Method, /, *, group_weights: Any = "uniform"
) -> Comparisons:
    """Compare each group's rate with the weighted average."""
    statistic, sizes, _ = observed
    gaps = group_gaps("max_gap", statistic, group_weights)
    value = float(np.nanmax(gaps.gaps)) if gaps.defined else math.nan
    compared = np.flatnonzero(gaps.compared[: statistic.n_groups])
    rates = statistic.means[compared]
    return compare_means(
        value, (rates, rates), sizes[compared], gaps.weights[compared], "pooled", method
    )


def compare_cvar(
    observed: Observed,
    method: Method,
    /,
    *,
    group_weights: Any = "uniform",
    alpha: float = 0.9,
    fractional: bool = True,
) -> Comparisons:
    """Compare the groups of the tail with the weighted average.

    CVaR fairness is the largest mean of gaps over all tails, a seminorm of the rates.
    """
    alpha = check_real("alpha", alpha, 0, 1, closed="left")
    if not fractional:
        raise ValueError("fractional of CVaR fairness must be True, got False.")
    statistic, sizes, _ = observed
    gaps = group_gaps("cvar_fairness", statistic, group_weights)
    if not gaps.defined:
        return UNDEFINED
    compared = np.flatnonzero(gaps.compared[: statistic.n_groups])
    rates, sizes, weights = (
        statistic.means[compared],
        sizes[compared],
        gaps.weights[compared],
    )

    def tail(values: Floats) -> float:
        return tail_mean(values, weights, tail_shares(values, weights, alpha), alpha)

    n_groups = len(compared)
    if method == "band":
        variances = variances_of_means(rates, rates, sizes)
        above = normal(_tail_deviation(variances, weights, alpha, tail))

        def furthest(level: float) -> Floats:
            """Square the distance from each rate to the further of its exact bounds."""
            ends = [exact_distance(p, sizes, level) for p in (rates, 1 - rates)]
            return np.maximum(*ends) ** 2

        def below(level: float) -> Any:
            one_by_one = contrast(furthest(level / (2 * n_groups)), weights, "pooled")
            each, quantile = tail(np.sqrt(one_by_one)), -ndtri(level)
            # Variances for which the bounds are those of normal noise.
            widest = furthest(level) / quantile**2
            noise = _tail_noise(widest, weights, alpha)
            noise += quantile * _tail_deviation(widest, weights, alpha, tail)
            return min(each, noise)

    else:
        noise_of_mean, _cdf = distribution_free(sizes, weights, "pooled", method)

        def below(level: float) -> Any:
            return tail(noise_of_mean(level / (2 * n_groups)))

        above = below
    value = np.array([tail(gaps.gaps[compared])])
    return with_values(float(value[0]), value, above, below)


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


def _tail_noise(variances: Floats, weights: Floats, alpha: float) -> Any:
    """Bound the mean over noise of the largest mean of absolute gaps over all tails.

    It is at most t plus the mean excess of the absolute gaps over t, over 1 - alpha,
    for every t.
    """
    deviations = np.sqrt(contrast(variances, weights, "pooled"))

    def bound(threshold: float) -> float:
        ratio = threshold / deviations
        density = np.exp(-(ratio**2) / 2) / math.sqrt(2 * math.pi)
        excess = 2 * deviations * (density - ratio * ndtr(-ratio))
        return threshold + float(weights @ excess) / (1 - alpha)

    largest = 10 * float(deviations.max())
    return minimize_scalar(bound, bounds=(0, largest), method="bounded").fun

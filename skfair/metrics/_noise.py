"""How far noise moves the values that a metric is the largest of.

A metric compares groups by a seminorm of a contrast of their distributions, such as
F_g - F_h, and returns the largest. If E is the same contrast of the errors of the
estimated distributions,

- an estimate falls below its true value by at most a linear function of E, the same one
  for all samples, since a convex function lies above its tangents;
- an estimate exceeds its true value by at most the seminorm of E.

``docs/proofs/intervals.md`` has the proofs of the quantiles of both.

Where one CDF is above the other by D, neither is near one half if D is near 1. Of all
pairs of CDFs whose gap is at most D, or at least D in a window, noise moves the gap
most where it is D throughout: while one CDF rises from D to 1, the other rises from 0
to 1 - D. ``docs/proofs/intervals.md`` has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.optimize import brentq, minimize_scalar
from scipy.special import erfcx, log_ndtr, ndtr, ndtri, stdtrit

from skfair._utils._arrays import Floats, quotients
from skfair._utils._validation import check_real
from skfair.metrics._abcc import area
from skfair.metrics._anytime import (
    cdf_at_any_time,
    gap_variance,
    largest_gap_end,
    mean_at_any_time,
    rate_ends,
    two_cdfs,
    two_means,
    variances_at_any_time,
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
from skfair.metrics._mcdp import bound_pairs, mcdp_measure
from skfair.metrics._pairs import (
    Measure,
    MeasuredGaps,
    cdfs_at,
    compared_groups,
    compared_pairs,
    measured_gaps,
    sums_of_distances,
)
from skfair.metrics._rate_intervals import clopper_pearson
from skfair.metrics._rates import (
    demographic_parity_difference,
    difference_of_means,
    equalized_odds_difference,
)
from skfair.statistics import GroupedScores

Method = Literal["band", "finite_sample", "anytime"]
#: A quantile for each comparison: exceeded with at most the probability given.
Quantiles = Callable[[float], Any]
#: Mean of the absolute value of a standard normal variable.
MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
#: Parts of a level for noise of the other sign than that of the value.
_OTHER_SIGN = 1 / 8, 1 / 64
#: Degrees of freedom from which on Student's quantiles are those of normal noise.
_MANY = 1e12


def supremum_quantile(level: float, *, sides: int = 2) -> float:
    """Supremum of the noise of a CDF of one row that is exceeded with this probability.

    It is divided by the square root of the number of rows, by the inequality of
    Dvoretzky, Kiefer, Wolfowitz and Massart. The same number bounds a Brownian bridge
    and, with two sides, its absolute value.
    """
    return math.sqrt(math.log(sides / level) / 2)


#: Statistic of a metric, and what its noise depends on: numbers of rows that each
#: distribution, mean or rate comes from, with weights effective numbers; and means of
#: squared outcomes, where these are not 0 and 1.
Observed: TypeAlias = tuple[Any, Floats, Floats | None]


def shares_of_groups(statistic: Any) -> Floats:
    """Share of each group in the total weight of a statistic."""
    return np.asarray(statistic.totals / statistic.totals.sum())


def mean_moments(statistic: GroupedScores) -> tuple[Floats, Floats]:
    """Mean and mean square of the scores of each group."""
    products = statistic.weights * statistic.scores
    first, second = (
        np.bincount(statistic.codes, values, statistic.n_groups) / statistic.totals
        for values in (products, products * statistic.scores)
    )
    return first, second


class Comparisons(NamedTuple):
    """What a metric is the largest of, and how far noise may move each value."""

    value: float
    n_comparisons: int
    # The largest of ends, one for each comparison; the true value of a comparison is
    # below its lower end, and above its upper end, with at most the probability given.
    low: Callable[[float], float]
    high: Callable[[float], float]
    maximum: float = 1.0  # of the metric
    # Finds the labels of the groups with the value, and where they have it.
    locate: Callable[[], tuple[Any, Any]] = lambda: (None, None)

    def in_unit(self, unit: float) -> Comparisons:
        """Comparisons of numbers that were divided by a unit."""
        return self._replace(
            value=self.value * unit,
            low=lambda level: self.low(level) * unit,
            high=lambda level: self.high(level) * unit,
        )


#: Groups that cannot be compared; the metric has said why.
UNDEFINED = Comparisons(math.nan, 1, lambda _: math.nan, lambda _: math.nan)


def with_values(
    value: float,
    values: Floats,
    above: Quantiles,
    below: Quantiles,
) -> Comparisons:
    """Comparisons whose values are all known."""
    return Comparisons(
        value,
        values.size,
        lambda level: float((values - below(level)).max()),
        lambda level: float((values + above(level)).max()),
    )


def differences(by_group: Floats, shares: Any, multigroup: Multigroup) -> Floats:
    """Difference of two groups, or of a group and everyone, in each comparison."""
    first, second = compared_groups(len(by_group), multigroup)
    if second is not None:
        return np.asarray(by_group[first] - by_group[second])
    shares = _aligned(shares, by_group)
    return np.asarray(by_group - (shares * by_group).sum(axis=0))


def _aligned(shares: Any, by_group: Floats) -> Any:
    """Give the shares of groups the dimensions of what they are multiplied with."""
    n_more = by_group.ndim - np.ndim(shares)
    return np.reshape(shares, (*np.shape(shares), *[1] * n_more))


def contrast(
    by_group: Floats,
    shares: Any,
    multigroup: Multigroup,
    power: int = 2,
    others: Floats | None = None,
) -> Floats:
    """Sum numbers of groups, times the powers of their coefficients, by comparison.

    Those are 1 and -1 for two groups; with everyone, one minus the share of the group,
    and the shares of the others. Groups with a negative coefficient may have `others`.
    """
    others = by_group if others is None else others
    first, second = compared_groups(len(by_group), multigroup)
    if second is not None:
        return np.asarray(by_group[first] + others[second])
    shares = _aligned(shares, by_group)
    everyone = shares**power * others
    return np.asarray(
        (1 - shares) ** power * by_group + everyone.sum(axis=0) - everyone
    )


def normal(deviations: Floats) -> Quantiles:
    """Quantiles of normal noise."""
    return lambda level: -ndtri(level) * deviations


def normal_at_one_score(
    sizes: Floats, shares: Any, multigroup: Multigroup
) -> Quantiles:
    """Quantiles of the noise of CDFs at one score, where each may be one half.

    Counts are whole numbers: half a row of each group is added.
    """
    scale = np.sqrt(contrast(1 / sizes, shares, multigroup))
    half_rows = np.sqrt(contrast(1 / sizes**2, shares, multigroup)) / 2
    return plus(half_rows, normal(scale / 2))


def supremum(scale: Floats, sides: int) -> Quantiles:
    """Quantiles of the supremum of a Brownian bridge, or of its absolute value."""
    return lambda level: supremum_quantile(level, sides=sides) * scale


def plus(means: Floats, quantiles: Quantiles) -> Quantiles:
    """Shift quantiles of noise by a mean."""
    return lambda level: means + quantiles(level)


def student(
    first: Floats, second: Floats, sizes: Floats, shares: Any, multigroup: Multigroup
) -> Quantiles:
    """Quantiles of Welch's t for means with known mean squares."""
    spread = variances_of_means(first, second, sizes)
    noise = contrast(spread, shares, multigroup)
    doubt = contrast(spread**2 / (sizes + 1), shares, multigroup, power=4)
    # Where the doubt about a variance is too small for floats, noise is normal.
    freedom = np.full_like(noise, _MANY)
    np.divide(noise**2, doubt, out=freedom, where=doubt * _MANY > noise**2)

    def quantiles(level: float) -> Any:
        tails = -stdtrit(freedom, level)
        # Far in the tail SciPy returns infinity with the wrong sign.
        return np.where(np.isfinite(tails), tails, math.inf) * np.sqrt(noise)

    return quantiles


def variances_of_means(first: Floats, second: Floats, sizes: Floats) -> Floats:
    """Variances of means, from the mean values and the mean squares.

    Two rows, 0 and 1, are added to each group, as Agresti and Caffo do for rates:
    groups whose rows all agree would have no noise.
    """
    mean, square = ((sizes * moment + 1) / (sizes + 2) for moment in (first, second))
    return np.asarray((square - mean**2) / sizes)


def exact_distance(rates: Floats, sizes: Floats, level: float) -> Floats:
    """Distance from rates to their upper bounds of Clopper and Pearson."""
    _, bounds = clopper_pearson(sizes * rates, sizes, level)
    return np.maximum(bounds - rates, 0)


def noise_of_means(
    moments: tuple[Floats, Floats], sizes: Floats, shares: Any, multigroup: Multigroup
) -> tuple[Quantiles, Quantiles]:
    """Quantiles of noise that takes a difference of means nearer to 0, and further.

    Rates near 0 or 1 vary more the further they are from there, and those of few rows
    jump: the distances to exact bounds of each mean are added as standard deviations
    are. A mean whose values vary less than those of a rate is taken for a rate of more
    rows. Noise is at least that of Welch's t, but for rates that it takes further.
    """
    means = moments[0]
    smooth = (sizes * means + 1) / (sizes + 2)
    rows = smooth * (1 - smooth) / variances_of_means(*moments, sizes)
    signed = differences(means, shares, multigroup)
    welch = student(*moments, sizes, shares, multigroup)
    are_rates = np.array_equal(*moments)

    def by_exact_bounds(level: float) -> Any:
        up, down = (exact_distance(p, rows, level) ** 2 for p in (means, 1 - means))
        rising = np.sqrt(contrast(up, shares, multigroup, others=down))
        falling = np.sqrt(contrast(down, shares, multigroup, others=up))
        return np.where(signed >= 0, (rising, falling), (falling, rising))

    def nearer(level: float) -> Any:
        same_sign, other_sign = by_exact_bounds(level)
        exact = np.maximum(same_sign, other_sign - 2 * np.abs(signed))
        return np.maximum(welch(level), exact)

    def further(level: float) -> Any:
        _, exact = by_exact_bounds(level)
        return exact if are_rates else np.maximum(welch(level), exact)

    return nearer, further


def of_either_sign(further: Quantiles, values: Floats) -> Quantiles:
    """Quantiles of noise that takes values further from 0, the other sign included.

    Where a value is large, noise of the other sign hardly ever reaches it, and needs a
    small part of the level only.
    """

    def quantiles(level: float) -> Any:
        noise = further(level / 2)
        for part in _OTHER_SIGN if (values > noise).any() else ():
            seen, other = further(level * (1 - part)), further(level * part)
            noise = np.where(seen + other <= 2 * values, seen, noise)
        return noise

    return quantiles


def distribution_free(
    sizes: Floats, shares: Any, multigroup: Multigroup, method: Method
) -> tuple[Quantiles, Quantiles]:
    """Bounds for any distribution: of the noise of one mean, and of a whole CDF.

    Hoeffding's and Massart's for one look; for all looks at growing data the noise of
    two means by the reversed e-process of their difference, that of two CDFs by the
    product of normal mixtures, and by group those of Howard, Ramdas, McAuliffe and
    Sekhon, and of Howard and Ramdas.
    """
    involved = 2 if multigroup == "pairwise" else len(sizes)

    def add_up(radius: Callable[[Floats, float], Floats]) -> Quantiles:
        return lambda level: contrast(
            radius(sizes, level / involved), shares, multigroup, power=1
        )

    if method == "anytime":
        if multigroup == "pairwise":
            variances = contrast(variances_at_any_time(sizes), shares, multigroup)
            return partial(two_means, variances), two_cdfs(sizes)
        return add_up(mean_at_any_time), add_up(cdf_at_any_time)
    scale = np.sqrt(contrast(1 / sizes, shares, multigroup))
    roots = contrast(1 / np.sqrt(sizes), shares, multigroup, power=1)
    return supremum(scale, sides=1), supremum(roots, sides=2 * involved)


#: Nodes and weights of the integral over the noise at one end of the gap.
_NODES, _WEIGHTS = leggauss(32)
#: Standard deviations beyond which noise is left out.
_FAR = 8.0
#: Variance and length of a noise that is none.
_LEAST = 1e-12
#: Smallest difference of the ends of intervals that matters.
_PRECISION = 1e-6

#: Inverse numbers of rows of two groups.
Variances = tuple[float, float]


def pairs_of_variances(sizes: Floats) -> list[Variances]:
    """Inverse effective numbers of rows of each pair of groups."""
    return list(combinations((1 / sizes).tolist(), 2))


def once_per_size(
    end: Callable[[float, float, Variances], Any],
    level: float,
    variances: Sequence[Variances],
) -> Callable[[int, float], float]:
    """End of the value of the i-th pair, where it may be the largest.

    Ends grow with the value, so that of pairs of groups of the same sizes only that of
    the largest value is needed.
    """
    seen: dict[Variances, float] = {}

    def end_of(i: int, value: float) -> float:
        if value <= seen.get(variances[i], -math.inf):
            return -math.inf
        seen[variances[i]] = value
        return float(end(value, level, variances[i]))

    return end_of


def low_end(value: float, level: float, variances: Variances) -> float:
    """Gap below which the true largest gap lies with at most this probability.

    The noise of either sign may exceed it. Gaps of both signs add up to at most 1.
    """

    def excess(gap: float) -> float:
        tail = flat_tail(value - gap, gap, variances)
        if gap <= 0.5:
            return 2 * tail - level
        other = value - (1 - gap)
        return tail + math.exp(-2 * other**2 / sum(variances)) - level

    if value <= 0 or excess(0.0) >= 0:
        return 0.0
    return _root(excess, 0.0, value)


def high_end(value: float, level: float, variances: Variances) -> float:
    """Gap above which a true gap in a window lies with at most this probability."""

    def excess(gap: float) -> float:
        return level - flat_tail(gap - value, gap, variances, n_added=1)

    return 1.0 if excess(1.0) <= 0 else _root(excess, value, 1.0)


def high_end_at_one_score(value: Any, level: float, variances: Any) -> Any:
    """Gaps above which true gaps at one score lie with at most this probability.

    The variance of a difference D of proportions is largest where both are as far from
    one half as their numbers of rows tell. Counts are whole numbers: half a row of each
    group is added to the value.
    """
    first, second = variances
    value = np.minimum(value + np.hypot(first, second) / 2, 1)
    quantile = max(-float(ndtri(level)), 0.0)
    most = (first + second) / 4
    slope = first * second / (first + second) * quantile**2
    constant = (most + first**2 + second**2) * quantile**2
    root = value**2 - (1 + slope) * (value**2 - constant)
    ends = (value + np.sqrt(root)) / (1 + slope)
    return np.minimum(ends, value + quantile * np.sqrt(most))


def _root(excess: Callable[[float], float], low: float, high: float) -> float:
    """Find the zero of an increasing function."""
    return float(brentq(excess, low, high, xtol=_PRECISION))


def flat_tail(
    excess: float, gap: float, variances: Variances, n_added: int = 0
) -> float:
    """Probability that noise exceeds a number where the gap is the same throughout.

    The noise at both ends, where only one of the CDFs has any, is independent; between
    them it is a Brownian bridge, which exceeds a number above its ends with the
    probability exp(-2 product of the distances / length). The noise of `n_added` rows
    is added: counts fall further below their mean than normal noise does.
    """
    if excess <= 0:
        return 1.0
    total = sum(variances)
    first, second = (
        math.sqrt(
            variance * min(max(gap * (1 - gap), _LEAST) + n_added * variance, 0.25)
        )
        for variance in variances
    )
    length = total * (max(1 - gap, _LEAST) + n_added * total)
    low, high = -_FAR * first, min(excess, _FAR * first)
    nodes = ((high - low) * _NODES + high + low) / 2
    above = excess / second - 2 * (excess - nodes) * second / length
    # Half the square of this number plus the logarithm of its normal probability.
    logarithms = np.where(
        above < 0,
        np.log(erfcx(np.maximum(-above, 0) / math.sqrt(2)) / 2),
        above**2 / 2 + log_ndtr(above),
    )
    logarithms -= ((excess / second) ** 2 + (nodes / first) ** 2) / 2
    crossing = np.exp(logarithms) @ _WEIGHTS * (high - low) / 2
    crossing /= first * math.sqrt(2 * math.pi)
    ends = ndtr(excess / first) * ndtr(excess / second)
    tail = 1 - float(ends) + float(crossing)
    return min(tail, math.exp(-2 * excess**2 / total))


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
    measure = mcdp_measure(epsilon=epsilon, n_subdivisions=n_subdivisions)
    bounds_of = partial(bound_pairs, epsilon=epsilon)
    gaps = measured_gaps(statistic, multigroup, measure, bounds_of)
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
        return gaps.largest(gaps.bounds, once_per_size(low_end, level, variances))

    def high(level: float) -> float:
        bounds = gaps.bounds + supremum_quantile(level, sides=1) * scale
        return gaps.largest(bounds, once_per_size(highest, level, variances))

    return Comparisons(gaps.value, len(gaps.pairs), low, high)


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
        return gaps.largest(
            bounds - noise, lambda i, _: max(end_of(i)(level), _BELOW_0)
        )

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
    gaps = measured_gaps(statistic, multigroup, area, sums_of_distances(area, 1.0))
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
    bounds_of = sums_of_distances(measure, maximum)
    gaps = measured_gaps(statistic, multigroup, measure, bounds_of)
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
        return gaps.largest(gaps.bounds + added, lambda i, value: value + added[i])

    return Comparisons(
        gaps.value,
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


def compare_parity(
    observed: Observed,
    method: Method,
    /,
    *,
    multigroup: Multigroup = "pairwise",
) -> Comparisons:
    """Compare means."""
    statistic, sizes, squares = observed
    shares = shares_of_groups(statistic)
    if isinstance(statistic, GroupedScores):
        value = difference_of_means(None, statistic, multigroup=multigroup)
        moments = mean_moments(statistic)
    else:
        value = demographic_parity_difference(None, statistic, multigroup=multigroup)
        moments = statistic.means, statistic.means if squares is None else squares
    return _compare_means(value, moments, sizes, shares, multigroup, method)


def compare_equalized_odds(
    observed: Observed, method: Method, /, *, multigroup: Multigroup = "pairwise"
) -> Comparisons:
    """Compare the rates of each true and predicted class."""
    statistic, by_class, _ = observed
    value = equalized_odds_difference(None, statistic, multigroup=multigroup)
    if math.isnan(value):
        return UNDEFINED
    true = statistic.matrices.sum(axis=(0, 2)) > 0
    matrices = statistic.matrices[:, true]
    totals = matrices.sum(axis=2, keepdims=True)
    # Of two predicted classes one says all.
    rates = matrices[..., int(matrices.shape[2] == 2) :] / totals
    sizes, shares = by_class[:, true, None], totals / totals.sum(axis=0)
    return _compare_means(value, (rates, rates), sizes, shares, multigroup, method)


def compare_max_gap(
    observed: Observed, method: Method, /, *, group_weights: Any = "uniform"
) -> Comparisons:
    """Compare each group's rate with the weighted average."""
    statistic, sizes, _ = observed
    gaps = group_gaps("max_gap", statistic, group_weights)
    value = float(np.nanmax(gaps.gaps)) if gaps.defined else math.nan
    compared = np.flatnonzero(gaps.compared[: statistic.n_groups])
    rates = statistic.means[compared]
    return _compare_means(
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
        return UNDEFINED
    means = moments[0]
    values = np.abs(differences(means, shares, multigroup))
    sizes = np.broadcast_to(sizes, means.shape)
    if method == "anytime" and multigroup == "pairwise":
        by_group = len(means), -1
        ends = rate_ends(means.reshape(by_group), sizes.reshape(by_group))
        return Comparisons(value, values.size, *ends)
    if method == "band":
        above, further = noise_of_means(moments, sizes, shares, multigroup)
        return with_values(value, values, above, of_either_sign(further, values))
    above, _ = distribution_free(sizes, shares, multigroup, method)
    # The noise has either sign.
    return with_values(value, values, above, lambda level: above(level / 2))

"""Noise of metrics of score distributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from skfair._utils._types import Floats
from skfair.metrics._confidence._noise import (
    MEAN_ABSOLUTE,
    UNDEFINED,
    Comparisons,
    Method,
    Quantiles,
    contrast,
    differences,
    distribution_free,
    normal,
    plus,
    student,
    supremum,
    with_values,
)
from skfair.metrics._confidence._observed import Observed
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
from skfair.metrics._inputs import Multigroup
from skfair.statistics import GroupedScores
from skfair.statistics._grouped_scores import Gap

#: Ratios of a true value to its noise at which its observed mean is tabulated.
_RATIOS = np.linspace(0, 8, 8001)
#: Scores at which the noise of the area between CDFs is evaluated.
_GRID = 1024
#: Numbers of bins, of those that MADD averages over, at which its noise is evaluated.
_MAX_HISTOGRAMS = 16


def compare_mcdp(
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
        return UNDEFINED
    shares = _shares(statistic)
    above, below = distribution_free(sizes, shares, multigroup, method)
    if method == "band":
        scale = np.sqrt(contrast(1 / sizes, shares, multigroup))
        above = supremum(scale, sides=1) if epsilon > 0 else normal(scale / 2)
        below = supremum(scale, sides=2)
    elif epsilon > 0:
        above = below
    measures = mcdp_measure(epsilon, "exact", 1), kolmogorov
    return _lazily(value, statistic, multigroup, measures, above, below)


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
    value = abcc(None, statistic, multigroup=multigroup)
    if math.isnan(value):
        return UNDEFINED
    shares = _shares(statistic)
    above, below = distribution_free(sizes, shares, multigroup, method)
    if method == "band":
        groups = [statistic.of_group(group) for group in range(statistic.n_groups)]
        first, second = (
            np.array([weights @ scores**power for scores, weights in groups])
            / statistic.totals
            for power in (1, 2)
        )
        above = student(first, second, sizes, shares, multigroup)
        below = plus(_area_noise(observed, groups, multigroup), above)
    return _lazily(value, statistic, multigroup, (area, area), above, below)


def _area_noise(
    observed: Observed, groups: Sequence[Any], multigroup: Multigroup
) -> Floats:
    """Mean of the area of the noise of each comparison."""
    statistic, sizes, _ = observed
    grid = np.linspace(0, len(statistic.scores) - 1, _GRID).astype(np.intp)
    scores = np.unique(statistic.scores[grid])
    cdfs = _cdfs(groups)(scores)[:, :-1]
    variances = cdfs * (1 - cdfs) / sizes[:, None]
    noise = np.sqrt(contrast(variances, _shares(statistic), multigroup))
    return np.asarray(MEAN_ABSOLUTE * noise @ np.diff(scores))


def compare_madd(
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
        return UNDEFINED
    shares = _shares(statistic)
    if method == "band":
        scale = np.sqrt(contrast(1 / sizes, shares, multigroup))
        if isinstance(bandwidth, str):
            found = _stable_histograms(observed, multigroup)
        else:
            found = _histograms(observed, multigroup)(number_of_bins(bandwidth))
        above, below = _histogram_bounds(found, scale)
        return with_values(value, found.values, above, below, maximum=2.0)
    if isinstance(bandwidth, str):
        raise ValueError(
            f"bandwidth must be a number with method={method!r}, got 'auto', which is "
            "chosen by the data."
        )
    n_bins = number_of_bins(bandwidth)
    one, _ = distribution_free(sizes, shares, multigroup, method)

    def free_above(level: float) -> Any:
        return 2 * one(level)

    def free_below(level: float) -> Any:
        if method == "anytime":  # at once for all 2**n_bins functions
            return 2 * one(level * 0.5**n_bins)
        roots = np.sqrt((n_bins - 1) / sizes)
        return contrast(roots, shares, multigroup, power=1) + 2 * one(level)

    values = _histograms(observed, multigroup)(n_bins).values
    return with_values(value, values, free_above, free_below, maximum=2.0)


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
            np.sqrt(contrast(p * (1 - p) / sizes[:, None], of_everyone, multigroup))
            for p in (shares, smooth)
        )
        return _Histograms(
            np.abs(differences(shares, of_everyone, multigroup)).sum(axis=1),
            deviations.sum(axis=1),
            most.sum(axis=1),
            np.abs(differences(at_edges, of_everyone, multigroup)).max(
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
        noise = MEAN_ABSOLUTE * most - ndtri(level / 2) * scale
        by_gap = 2 * (gaps - supremum(scale, sides=2)(level / 2))
        return np.minimum(noise, values - by_gap)

    return above, below


@cache
def _noisy_values() -> Floats:
    """Mean of |x + N| with a standard normal N, for each of the tabulated x."""
    density = np.exp(-(_RATIOS**2) / 2) * math.sqrt(2 / math.pi)
    return np.asarray(density + _RATIOS * (1 - 2 * ndtr(-_RATIOS)))


def _without_noise(means: Floats, deviations: Floats) -> Floats:
    """Solve ``S E|x / S + N| = mean`` for x; 0 where noise alone has a larger mean."""
    noisy = _noisy_values()
    safe = np.maximum(deviations, 1e-300)
    solved = np.interp(means / safe, noisy, _RATIOS, left=0.0) * safe
    return np.where(means / safe > noisy[-1], means, solved)


def _lazily(
    value: float,
    statistic: GroupedScores,
    multigroup: Multigroup,
    measures: tuple[Callable[[Gap], float], Callable[[Gap], float]],
    above: Quantiles,
    below: Quantiles,
) -> Comparisons:
    """Comparisons of which only those are evaluated that may be the largest.

    `measures` are the metric of two distributions, and a distance that bounds it.
    """
    n_comparisons = len(compared_pairs(statistic.n_groups, multigroup))

    def largest(offsets: Any) -> float:
        if n_comparisons == 1:
            return float(np.max(value + offsets))
        return largest_gap(statistic, multigroup, *measures, offsets).value

    return Comparisons(
        value,
        n_comparisons,
        lambda level: largest(-below(level)),
        lambda level: largest(above(level)),
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

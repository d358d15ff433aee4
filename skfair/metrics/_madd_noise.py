"""Noise of MADD: how far it moves histograms of one bandwidth, or of many."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from skfair._utils._arrays import Floats, quotients
from skfair.metrics._gap_ends import (
    ends_by_size,
    low_end,
    one_score_high_end,
    pairs_of_variances,
)
from skfair.metrics._inputs import Multigroup
from skfair.metrics._madd_bins import (
    N_BANDWIDTHS,
    bin_numbers,
    gap_curves,
    stable_interval,
)
from skfair.metrics._pairs import compared_pairs
from skfair.metrics._quantiles import (
    Comparisons,
    Method,
    Observed,
    bridge_quantiles,
    compare_values,
    differences,
    distribution_free_quantiles,
    one_score_quantiles,
    shares_of_groups,
    sum_by_comparison,
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


def compare_bins(
    value: float,
    observed: Observed,
    n_bins: int,
    multigroup: Multigroup,
    method: Method,
) -> Comparisons:
    """Compare histograms of one bandwidth, and bound the noise of their distances.

    Tangents of the distance of two histograms are differences of means of functions
    with the values -1 and 1.
    """
    statistic, sizes, _ = observed
    histograms = _make_histograms(observed, multigroup)(n_bins)
    if method == "band":
        return _compare_histograms(value, histograms, observed, multigroup)
    shares = shares_of_groups(statistic)
    free = distribution_free_quantiles(sizes, shares, multigroup, method)

    def to_upper_end(tail: float) -> Any:
        return 2 * free.of_mean(tail)

    def to_lower_end(tail: float) -> Any:
        if method == "anytime":  # at once for all 2**n_bins functions
            return 2 * free.of_mean(tail * 0.5**n_bins)
        roots = np.sqrt((n_bins - 1) / sizes)
        mean_distance = sum_by_comparison(roots, shares, multigroup, power=1)
        return mean_distance + 2 * free.of_mean(tail)

    return compare_values(value, histograms["values"], to_upper_end, to_lower_end)


#: Numbers of the histograms of all comparisons, by name; means over bandwidths where
#: there are several:
#: - "values": MADD,
#: - "deviations": sum over bins of the standard deviations of the noise,
#: - "errors": root of the sum over bins of the variances of the noise,
#: - "lower": sum over bins of estimates that are on average at most the true
#:   differences,
#: - "spreads": standard deviation of that sum,
#: - "gaps": largest gap of the CDFs at an edge,
#: - "scale": noise of the mean of a function with values -1 and 1.
Histograms: TypeAlias = dict[str, Floats]


def _make_histograms(
    observed: Observed, multigroup: Multigroup
) -> Callable[..., Histograms]:
    """Return a function that compares the histograms of groups, with `n_bins` bins.

    It makes all comparisons of groups, or those at the positions `compared`.
    """
    statistic, sizes, _ = observed
    if statistic.n_groups > _FEW_GROUPS:
        groups = [statistic.select_group(group) for group in range(statistic.n_groups)]
    else:
        scores, weights, codes = statistic.scores, statistic.weights, statistic.codes
        groups = [(scores, weights * (codes == g)) for g in range(statistic.n_groups)]
    cdfs, group_shares = cdfs_at(groups), shares_of_groups(statistic)
    rows, scale = (
        sizes[:, None],
        np.sqrt(sum_by_comparison(1 / sizes, group_shares, multigroup)),
    )

    def histograms_of(n_bins: int, compared: Any = slice(None)) -> Histograms:
        edges = np.nextafter(np.arange(1, n_bins) / n_bins, 0)
        at_edges = cdfs(edges)
        shares = np.diff(at_edges, axis=1, prepend=0, append=1)
        smooth = (rows * shares + _ADDED_ROWS) / (rows + _ADDED_ROWS * n_bins)
        deviations, most = (
            np.sqrt(
                sum_by_comparison(p * (1 - p) / rows, group_shares, multigroup)[
                    compared
                ]
            )
            for p in (shares, smooth)
        )
        gaps, at_edges = (
            np.abs(differences(by_group, group_shares, multigroup)[compared])
            for by_group in (shares, at_edges)
        )
        lower, slopes = lower_differences(gaps, most)
        return {
            "values": gaps.sum(axis=1),
            "deviations": deviations.sum(axis=1),
            "errors": np.sqrt((most**2).sum(axis=1)),
            "lower": lower.sum(axis=1),
            "spreads": np.sqrt(((slopes * most) ** 2).sum(axis=1)),
            "gaps": at_edges.max(axis=1, initial=0),
            "scale": scale[compared],
        }

    return histograms_of


def cdfs_at(groups: Sequence[Any]) -> Callable[[Floats], Floats]:
    """Return the CDFs of groups as a function of scores."""
    cdfs = [
        (scores, np.concatenate([[0], np.cumsum(weights)]))
        for scores, weights in groups
    ]

    def evaluate_cdfs(points: Floats) -> Floats:
        below = [
            sums[np.searchsorted(scores, points, side="right")] / sums[-1]
            for scores, sums in cdfs
        ]
        return np.array(below)

    return evaluate_cdfs


def lower_differences(gaps: Floats, deviations: Floats) -> tuple[Floats, Floats]:
    """Estimate absolute differences, none too large on average; return slopes, too.

    Imagine that half of the rows tell the sign of a difference, and the other half the
    difference with that sign. For normal noise the estimate is the mean over all such
    halves. Its slopes are the derivatives by the observed differences.
    """
    # A single bin, which holds all rows, has no noise.
    ratios = quotients(gaps, deviations)
    density = np.exp(-(ratios**2) / 2) * math.sqrt(2 / math.pi)
    certain = 1 - 2 * ndtr(-ratios)
    return gaps * certain - deviations * density, certain + 2 * ratios * density


def compare_stable(observed: Observed, multigroup: Multigroup) -> Comparisons:
    """Compare MADD averaged over a stable interval of bandwidths of each pair."""
    statistic, *_ = observed
    pairs = compared_pairs(statistic.n_groups, multigroup)
    means = np.empty(len(pairs))
    chosen = np.empty((len(pairs), _MAX_HISTOGRAMS), dtype=np.int16)
    for i, (_, rows, curve) in enumerate(gap_curves(statistic, pairs, N_BANDWIDTHS)):
        first, last, means[i] = stable_interval(curve, rows)
        chosen[i] = np.linspace(first, last, _MAX_HISTOGRAMS)
    histograms_of = _make_histograms(observed, multigroup)
    n_bins = bin_numbers(N_BANDWIDTHS)
    histograms: Histograms = {}
    for bandwidth in np.unique(chosen):
        times = np.count_nonzero(chosen == bandwidth, axis=1)
        compared = np.flatnonzero(times)
        share = times[compared] / _MAX_HISTOGRAMS
        of_bandwidth = histograms_of(int(n_bins[bandwidth]), compared)
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
    """Compare histograms by ends each of which is the closer of two.

    An upper end comes from a tangent, or from the mean of MADD, which noise enlarges:
    MADD is on average at least S E|D / S + N|, with S the sum of the standard
    deviations, D the true value and N standard normal. A lower end comes from estimates
    that are not too large on average, or from a gap of the CDFs, which is at most D /
    2. `mean` says that histograms are means over bandwidths.
    """
    pairwise = multigroup == "pairwise"
    values, gaps = histograms["values"], histograms["gaps"]
    errors = histograms["errors"]
    # The mean over bins is normal where many of them have noise.
    many = histograms["deviations"] >= math.sqrt(_MANY_BINS) * errors
    statistic, sizes, _ = observed
    # Rows of people who have several may have less noise than is known: none is
    # subtracted.
    many &= bool((sizes > (1 - 1e-9) * statistic.effective_sizes).all())
    group_shares = shares_of_groups(statistic)
    variances = pairs_of_variances(sizes) if pairwise else []
    at_one_score = one_score_quantiles(sizes, group_shares, multigroup)

    def high(tail: float) -> float:
        by_tangent = values + 2 * at_one_score(tail / 2)
        if pairwise:
            by_tangent = 2 * one_score_high_end(
                values / 2, tail / 2, np.array(variances).T
            )
        by_mean = np.where(many, _remove_noise(histograms, -ndtri(tail / 2)), np.inf)
        return float(np.minimum(by_tangent, by_mean).max())

    def low(tail: float) -> float:
        by_signs = histograms["lower"] + ndtri(tail / 2) * histograms["spreads"]
        by_signs = np.where(many, by_signs, -np.inf)
        if not pairwise or mean:
            by_gap = gaps - bridge_quantiles(histograms["scale"], sides=2)(tail / 2)
            return max(float(by_signs.max()), 2 * float(by_gap.max()))
        end = ends_by_size(low_end, tail / 2, variances)
        by_gap = max(end(i, gap) for i, gap in enumerate(gaps.tolist()))
        return max(float(by_signs.max()), 2 * by_gap)

    return Comparisons(value, len(values), low, high)


@cache
def _noisy_values() -> tuple[Floats, Floats]:
    """Tabulate the mean and standard deviation of |x + N| by x, N standard normal."""
    density = np.exp(-(_RATIOS**2) / 2) * math.sqrt(2 / math.pi)
    means = density + _RATIOS * (1 - 2 * ndtr(-_RATIOS))
    return means, np.sqrt(1 + _RATIOS**2 - means**2)


def _remove_noise(histograms: Histograms, quantile: float) -> Floats:
    """Return the largest true value that the observed one does not rule out.

    A true value x under noise of total deviation S is seen as S E|x / S + N| on
    average, N standard normal. The observed value may be below that average by
    `quantile` standard deviations.
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

"""Noise of differences of means and rates."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtr, ndtri

from skfair._utils._arrays import Floats
from skfair._utils._validation import check_real
from skfair.metrics._confidence._anytime import rate_ends
from skfair.metrics._confidence._noise import (
    UNDEFINED,
    Comparisons,
    Method,
    Observed,
    contrast,
    differences,
    distribution_free,
    exact_distance,
    mean_moments,
    noise_of_means,
    normal,
    of_either_sign,
    shares_of_groups,
    variances_of_means,
    with_values,
)
from skfair.metrics._demographic_parity import (
    demographic_parity_difference,
    difference_of_means,
)
from skfair.metrics._equalized_odds import equalized_odds_difference
from skfair.metrics._groupwise._cvar_fairness import tail_mean, tail_shares
from skfair.metrics._groupwise._group_gaps import group_gaps
from skfair.metrics._inputs import Multigroup
from skfair.statistics import GroupedScores


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
    statistic = observed.statistic
    value = equalized_odds_difference(None, statistic, multigroup=multigroup)
    if math.isnan(value):
        return UNDEFINED
    true = statistic.matrices.sum(axis=(0, 2)) > 0
    matrices = statistic.matrices[:, true]
    totals = matrices.sum(axis=2, keepdims=True)
    # Of two predicted classes one says all.
    rates = matrices[..., int(matrices.shape[2] == 2) :] / totals
    sizes, shares = observed.sizes[:, true, None], totals / totals.sum(axis=0)
    return _compare_means(value, (rates, rates), sizes, shares, multigroup, method)


def compare_max_gap(
    observed: Observed, method: Method, /, *, group_weights: Any = "uniform"
) -> Comparisons:
    """Compare each group's rate with the weighted average."""
    statistic, sizes = observed.statistic, observed.sizes
    gaps = group_gaps("max_gap", statistic, group_weights)
    value = float(np.nanmax(gaps.gaps)) if gaps.defined else math.nan
    kept = np.flatnonzero(gaps.compared[: statistic.n_groups])
    rates = statistic.means[kept]
    return _compare_means(
        value, (rates, rates), sizes[kept], gaps.weights[kept], "pooled", method
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
    statistic, sizes = observed.statistic, observed.sizes
    gaps = group_gaps("cvar_fairness", statistic, group_weights)
    if not gaps.defined:
        return UNDEFINED
    kept = np.flatnonzero(gaps.compared[: statistic.n_groups])
    rates, sizes, weights = statistic.means[kept], sizes[kept], gaps.weights[kept]

    def tail(values: Floats) -> float:
        return tail_mean(values, weights, tail_shares(values, weights, alpha), alpha)

    n_groups = len(kept)
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
        one, _cdf = distribution_free(sizes, weights, "pooled", method)

        def below(level: float) -> Any:
            return tail(one(level / (2 * n_groups)))

        above = below
    value = np.array([tail(gaps.gaps[kept])])
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

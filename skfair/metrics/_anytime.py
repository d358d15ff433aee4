"""Bounds of noise that hold at all looks at growing data at once.

An e-process is at least 0 and 1 on average at most, whenever one stops; it is ever
above 1 / tail with at most the probability `tail`. A product of the e-processes of
two groups is an e-process, too: it bounds both at once, in any order of their rows.

A reversed e-process is one if rows leave one by one instead of coming: it is ever above
1 / tail with the same probability. The difference of two means has an e-process of its
own, which does not pay for either mean. ``docs/proofs/intervals.md`` has the
proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import (
    betaln,
    dawsn,
    polygamma,
    psi,
    voigt_profile,
    xlog1py,
    xlogy,
)

from skfair._utils._arrays import Floats

#: Variance at which bounds for all sizes are sharpest: about a thousand rows a group.
_MIXING = 25.0
#: Rows that a mixture of rates is worth, which varies as one of means does.
_PRIOR_ROWS = 4 * _MIXING
#: Scale of the exponents of a difference, at which its bound is sharpest for about a
#: thousand rows.
_EXPONENTS = 100.0
#: Standard deviations by which noise of a difference may exceed normal noise.
_BEYOND = 40.0
#: Prices of a difference at which its bound is evaluated, of which the best one counts.
_N_PRICES = 80
#: Halvings after which a rate or a noise is found.
_N_HALVINGS = 32
#: Distances of CDFs between which their e-process is bounded.
_N_DISTANCES = 2000
#: Blocks of rows of nearly the same gap.
_N_BLOCKS = 400


def mean_noise_at_any_time(sizes: Floats, tail: float) -> Floats:
    """Bound the noise of a mean of values in [0, 1], at all sizes at once.

    The bound is that of the normal mixture for values with the variance 1/4.
    """
    spreads, logarithms = normal_mixture(sizes)
    prices = np.log(np.exp(logarithms / 2) / (2 * tail) + 1)
    return np.asarray(np.sqrt(2 * spreads * prices))


def cdf_noise_at_any_time(sizes: Floats, tail: float) -> Floats:
    """Bound the noise of a CDF, at all sizes at once."""
    iterated = np.log(np.log(math.e * sizes)) + 0.8 * math.log(1612 / tail)
    return np.asarray(0.85 * np.sqrt(iterated / sizes))


def normal_mixture(sizes: Floats) -> tuple[Floats, Floats]:
    """Return spread s^2 and price c of the e-process exp((x^2 / s^2 - c) / 2).

    x is the error of a mean of values in [0, 1], whose variance is at most 1/4.
    """
    variances = sizes / 4
    return (variances + _MIXING) / sizes**2, np.log1p(variances / _MIXING)


def variances_at_any_time(sizes: Floats) -> Floats:
    """Return the variance that a reversed e-process assumes of each mean.

    If one of n rows leaves, the mean moves by at most 1 / (n - 1). The variance is the
    sum of 1 / (4 j^2) over all j from n on, which bounds the variances of all these
    steps.
    """
    return np.asarray(polygamma(1, np.maximum(sizes, 1e-3)) / 4)


def log_e_value_of_noise(noise: Floats, variances: Any) -> Floats:
    """Return the log e-value of a difference of means whose error is `noise`.

    With x the error, the e-value mixes exp(t x - t^2 variance / 2) over t from a Cauchy
    distribution.
    """
    deviations = np.sqrt(variances)
    distances = noise / deviations
    density = voigt_profile(distances, 1, _EXPONENTS * deviations)
    return np.asarray(distances**2 / 2 + np.log(math.sqrt(2 * math.pi) * density))


def mean_difference_noise(variances: Floats, tail: float, *, sides: int = 1) -> Floats:
    """Bound the noise of a difference of two means, given the sum of their variances.

    A one-sided bound mixes over positive t. This mixture is at least twice the mixture
    over all t, less 1.
    """
    price = -math.log(tail)
    if sides == 1:
        price = math.log1p(1 / tail) - math.log(2)
    high = _largest_noise_of_means(variances, price)
    low = np.zeros_like(high)
    for _ in range(_N_HALVINGS + 16):
        noise = (low + high) / 2
        inside = log_e_value_of_noise(noise, variances) < price
        low, high = np.where(inside, noise, low), np.where(inside, high, noise)
    return np.asarray(high)


def _largest_noise_of_means(variances: Any, price: float) -> Any:
    """Return a noise whose log e-value is at least `price`."""
    return (math.sqrt(2 * price) + _BEYOND) * np.sqrt(variances)


def cdf_difference_noise(sizes: Floats) -> Callable[[float], Floats]:
    """Return a function that bounds the noise of each difference of two CDFs, by tail.

    With probability 1 - tail the product of the e-processes of both groups never
    exceeds 1 / tail.
    """
    prices = _prices(sizes)

    @cache
    def largest_noise() -> list[Floats]:
        by_size = {size: _largest_noise(size, prices) for size in set(sizes.tolist())}
        return [by_size[size] for size in sizes.tolist()]

    def noise(tail: float) -> Floats:
        by_group = np.array(largest_noise())
        return np.concatenate(
            [
                (noise_of_group + by_group[i:] - math.log(tail) / prices).min(axis=1)
                for i, noise_of_group in enumerate(by_group[:-1], start=1)
            ]
        )

    return noise


def _largest_noise(size: float, prices: Floats) -> Floats:
    """Maximise y - log E(y) / price over the noise y of a CDF, for each price.

    E(y) bounds the average of the normal mixtures over all scores from below: if the
    estimated CDF is too high by y at a score, it is too high by at least y - v at
    scores where the true CDF is higher by v.
    """
    spread, price = map(float, normal_mixture(np.array(size)))
    deviation = math.sqrt(2 * spread)
    noise = np.geomspace(min(deviation / 4, 0.5), 1, _N_DISTANCES)
    # At 1 no score is left where the CDF is right.
    elsewhere = np.log1p(-noise[:-1])
    near = (noise[:-1] / deviation) ** 2
    near += np.log(deviation * dawsn(noise[:-1] / deviation))
    logarithms = np.append(0, np.logaddexp(elsewhere, near)) - price / 2
    # Between two distances: the larger one, with the e-process at the smaller one.
    return np.asarray((noise - logarithms / prices[:, None]).max(axis=1))


def _prices(sizes: Floats) -> Floats:
    """Return a grid of the Lagrange multipliers of a difference of rates."""
    smallest, largest = sizes.min(), sizes.max()
    cheapest = smallest / (2 * math.sqrt(smallest + _PRIOR_ROWS))
    return np.geomspace(cheapest, 8 * largest + _PRIOR_ROWS, _N_PRICES)


def rate_ends(
    rates: Floats, sizes: Floats
) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """Return functions for the lower and upper end of the largest difference, by tail.

    Rates have the shape (n_groups, n_rates). One half of `tail` is spent on the product
    of the e-processes of both groups, which uses that rates near 0 and 1 vary less. The
    other half is spent on the reversed e-process of the difference. The closer of the
    two ends counts.

    By Lagrange's duality the largest difference of two rates whose product of
    e-processes is below 1 / tail is found group by group, for each price of a
    difference. Every price gives a valid bound, and the best price a sharp one.
    """
    prices, variances = _prices(sizes), variances_at_any_time(sizes)
    hits = rates * sizes
    floors = _minimise_rates(hits, sizes - hits, prices)
    ceilings = 1 - _minimise_rates(sizes - hits, hits, prices)
    first, other = np.triu_indices(len(rates), 1)

    def low(tail: float) -> float:
        # A group and itself have no lower end above 0.
        ends = floors.max(axis=0) - ceilings.min(axis=0) + math.log(tail / 2) / prices
        noise = mean_difference_noise(
            variances[first] + variances[other], tail / 2, sides=2
        )
        return float(max(ends.max(), (abs(rates[first] - rates[other]) - noise).max()))

    def high(tail: float) -> float:
        highest = -math.inf
        for group, ceiling in enumerate(ceilings):
            others = np.delete(np.arange(len(rates)), group)
            ends = ceiling - floors[others] - math.log(tail / 2) / prices
            noise = mean_difference_noise(
                variances[group] + variances[others], tail / 2
            )
            moved = rates[group] - rates[others] + noise
            highest = max(highest, float(np.minimum(ends.min(axis=-1), moved).max()))
        return highest

    return low, high


def _minimise_rates(hits: Floats, misses: Floats, prices: Floats) -> Floats:
    """Minimise p + log E(p) / price over rates p, for each price."""
    hits, misses = hits[..., None], misses[..., None]
    low = np.zeros(np.broadcast_shapes(hits.shape, prices.shape))
    high = np.ones_like(low)
    for _ in range(_N_HALVINGS):
        rates = (low + high) / 2
        falls = _slope(rates, hits, misses) < -prices
        low, high = np.where(falls, rates, low), np.where(falls, high, rates)
    rates = (low + high) / 2
    return np.asarray(rates + log_e_value(rates, hits, misses) / prices)


def log_e_value(rates: Floats, hits: Floats, misses: Floats) -> Floats:
    """Return the log e-value of a rate, from a mixture of rates around it."""
    first, second = _PRIOR_ROWS * rates + 0.5, _PRIOR_ROWS * (1 - rates) + 0.5
    mixture = betaln(first + hits, second + misses) - betaln(first, second)
    return np.asarray(mixture - xlogy(hits, rates) - xlog1py(misses, -rates))


def _slope(rates: Floats, hits: Floats, misses: Floats) -> Floats:
    """Differentiate `log_e_value` by the rate."""
    first, second = _PRIOR_ROWS * rates + 0.5, _PRIOR_ROWS * (1 - rates) + 0.5
    rising, falling = psi(first + hits) - psi(first), psi(second + misses) - psi(second)
    mixture = _PRIOR_ROWS * (rising - falling)
    return np.asarray(mixture - hits / rates + misses / (1 - rates))


def largest_gap_end(
    first: tuple[Floats, Floats], second: tuple[Floats, Floats]
) -> Callable[[float], float]:
    """Return a function for the lower end of the gap of two groups' CDFs, by tail.

    Groups are given by distinct scores and numbers of rows. The score of each row is a
    threshold at which the other rows are compared. The reversed e-processes of all
    thresholds are mixed, the thresholds of each group with the weight one half.
    """
    sizes = np.array([rows.sum() for _, rows in (first, second)], dtype=float)
    gaps, shares = _gaps_without_each_row(first, second, sizes)
    order = np.argsort(-gaps)
    # The smallest gap of each block counts for all of its rows.
    last = np.unique(np.geomspace(1, len(gaps), _N_BLOCKS).astype(np.intp)) - 1
    gaps = gaps[order][last]
    shares = np.diff(np.cumsum(shares[order])[last], prepend=0)
    logarithms, variance = np.log(shares), gap_variance(sizes)

    def end(tail: float) -> float:
        def excess(gap: float) -> float:
            noise = np.maximum(gaps - gap, 0)
            evidence = logarithms + log_e_value_of_noise(noise, variance)
            largest = evidence.max()  # so that no power overflows
            return float(largest + np.log(np.exp(evidence - largest).sum() * tail))

        highest = float(gaps[0])
        reach = _largest_noise_of_means(variance, -math.log(tail * shares[0]))
        return float(brentq(excess, highest - reach, highest, xtol=1e-12))

    return end


def gap_variance(sizes: Floats) -> Any:
    """Return the variance of the gap at the score of one row of two groups.

    `sizes` have the shape (2, ...). The row whose score it is, of either group, is left
    out.
    """
    return variances_at_any_time(_less_one(sizes)).sum(axis=0)


def _less_one(sizes: Floats) -> Floats:
    """Return numbers of rows minus one, nearly 0 for a single row."""
    return np.maximum(sizes - 1, 1e-3)


def _gaps_without_each_row(
    first: tuple[Floats, Floats], second: tuple[Floats, Floats], sizes: Floats
) -> tuple[Floats, Floats]:
    """Return the gap of two CDFs at the score of each row, with this row left out."""
    gaps, shares = [], []
    for own, other, n_own, n_other in (
        (first, second, *sizes),
        (second, first, *sizes[::-1]),
    ):
        scores, rows = own
        below = np.concatenate([[0], np.cumsum(other[1])])
        others = below[np.searchsorted(other[0], scores, side="right")] / n_other
        gaps.append(np.abs((np.cumsum(rows) - 1) / _less_one(n_own) - others))
        shares.append(rows / (2 * n_own))
    return np.concatenate(gaps), np.concatenate(shares)

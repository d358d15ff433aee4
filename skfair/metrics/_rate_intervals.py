"""Intervals of the rates of groups, and of their ratios."""

from __future__ import annotations

import numpy as np
from scipy.special import betainccinv, betaincinv, ndtri

from skfair._utils._arrays import Floats, quotients
from skfair._utils._validation import check_real


def wilson_interval(
    rates: Floats, sizes: Floats, confidence_level: float
) -> tuple[Floats, Floats]:
    """Return Wilson's score interval of each rate, nan where a size is 0."""
    confidence_level = check_real(
        "confidence_level", confidence_level, 0, 1, closed="neither"
    )
    z = ndtri((1 + confidence_level) / 2)
    counted = np.where(sizes > 0, sizes, np.nan)
    centre = (rates + z**2 / (2 * counted)) / (1 + z**2 / counted)
    deviation = np.sqrt(rates * (1 - rates) / counted + (z / (2 * counted)) ** 2)
    half = z * deviation / (1 + z**2 / counted)
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)


def clopper_pearson(hits: Floats, sizes: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return the exact interval of each rate, [0, 1] where a size is 0.

    The true rate lies beyond an end with a probability of at most `tail`.
    """
    misses = sizes - hits
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1e-9), misses + 1, tail), 0)
    high = betainccinv(hits + 1, np.maximum(misses, 1e-9), tail)
    # Far in the tail SciPy sometimes finds no end.
    return low, np.where((misses > 0) & ~np.isnan(high), high, 1)


def ratio_ends(
    rates: Floats, sizes: Floats, low_tail: float, high_tail: float
) -> tuple[Floats, Floats]:
    """Return the intervals of the ratio of each rate to each other rate.

    `low_tail` and `high_tail` are the errors of the lower and the upper ends.
    """
    hits = rates * sizes
    lower, _ = ratio_bounds(rates, *clopper_pearson(hits, sizes, low_tail))
    _, upper = ratio_bounds(rates, *clopper_pearson(hits, sizes, high_tail))
    for ends in (lower, upper):
        np.fill_diagonal(ends, 1)
    return lower, upper


def ratio_bounds(rates: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the interval of the ratio of each two rates, from the rates' intervals.

    These are Newcombe's equations, with the lower end multiplied out so that nothing
    cancels.
    """
    products = np.outer(rates, rates)
    down, up = low * (2 * rates - low), high * (2 * rates - high)
    below = np.sqrt(np.maximum(products**2 - np.outer(down, up), 0))
    above = np.sqrt(np.maximum(products**2 - np.outer(up, down), 0))
    lower = np.zeros(below.shape)
    np.divide(down[:, None], products + below, out=lower, where=down[:, None] > 0)
    return lower, quotients(products + above, down, np.inf)


def smallest_ratio_to_mean(
    low: Floats, high: Floats, shares: Floats
) -> tuple[float, float]:
    """Bound the smallest ratio, at most 1, between a rate and the mean of all rates.

    `low` and `high` are ends of the rates, `shares` their weights in the mean.
    """
    least = low / np.maximum(low * shares + (high @ shares - high * shares), 1e-300)
    most = high / np.maximum(high * shares + (low @ shares - low * shares), 1e-300)
    ends = np.sort([_invert_above_one(least), _invert_above_one(most)], axis=0)
    ends[1, (least <= 1) & (most >= 1)] = 1
    return float(ends[0].min()), float(ends[1].min())


def _invert_above_one(ratios: Floats) -> Floats:
    """Return the ratios or their inverses, whichever are smaller."""
    return np.minimum(ratios, 1 / np.maximum(ratios, 1e-300))

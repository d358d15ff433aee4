"""Ends of intervals for the gap of two CDFs, by the noise of a gap that is constant.

Where one CDF is above the other by D, neither is near one half if D is near 1. Of all
pairs of CDFs whose gap is at most D, or at least D in a window, noise moves the gap
most where it is D throughout: while one CDF rises from D to 1, the other rises from 0
to 1 - D. ``docs/proofs/intervals.md`` proves the quantiles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr, ndtr, ndtri

from skfair._utils._arrays import Floats

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
    """Return the inverse effective numbers of rows of each pair of groups."""
    return list(combinations((1 / sizes).tolist(), 2))


def ends_by_size(
    end: Callable[[float, float, Variances], Any],
    tail: float,
    variances: Sequence[Variances],
) -> Callable[[int, float], float]:
    """Return a function for the end that belongs to the value of the i-th pair.

    The end grows with the value. So among pairs of the same two group sizes, pairs with
    a smaller value than an earlier pair get minus infinity, which saves time.
    """
    seen: dict[Variances, float] = {}

    def end_of(i: int, value: float) -> float:
        if value <= seen.get(variances[i], -math.inf):
            return -math.inf
        seen[variances[i]] = value
        return float(end(value, tail, variances[i]))

    return end_of


def low_end(value: float, tail: float, variances: Variances) -> float:
    """Return the lower end of the interval for the true largest gap.

    Noise of either sign may make the observed gap exceed the true gap. The largest gaps
    of both signs add up to at most 1.
    """

    def excess(gap: float) -> float:
        probability = flat_gap_tail(value - gap, gap, variances)
        if gap <= 0.5:
            return 2 * probability - tail
        other = value - (1 - gap)
        return probability + math.exp(-2 * other**2 / sum(variances)) - tail

    if value <= 0 or excess(0.0) >= 0:
        return 0.0
    return _root(excess, 0.0, value)


def high_end(value: float, tail: float, variances: Variances) -> float:
    """Return the upper end of the interval for the true gap in a window."""

    def excess(gap: float) -> float:
        return tail - flat_gap_tail(gap - value, gap, variances, n_added=1)

    return 1.0 if excess(1.0) <= 0 else _root(excess, value, 1.0)


def one_score_high_end(value: Any, tail: float, variances: Any) -> Any:
    """Return the upper ends of intervals for true gaps at one score.

    A difference D of two proportions has the largest variance if their distances from
    one half are in the ratio of the numbers of rows. Counts are whole numbers: half a
    row of each group is added to the value.
    """
    first, second = variances
    value = np.minimum(value + np.hypot(first, second) / 2, 1)
    quantile = max(-float(ndtri(tail)), 0.0)
    most = (first + second) / 4
    slope = first * second / (first + second) * quantile**2
    constant = (most + first**2 + second**2) * quantile**2
    root = value**2 - (1 + slope) * (value**2 - constant)
    ends = (value + np.sqrt(root)) / (1 + slope)
    return np.minimum(ends, value + quantile * np.sqrt(most))


def _root(excess: Callable[[float], float], low: float, high: float) -> float:
    """Find the zero of an increasing function."""
    return float(brentq(excess, low, high, xtol=_PRECISION))


def flat_gap_tail(
    excess: float, gap: float, variances: Variances, n_added: int = 0
) -> float:
    """Return the probability that noise of a constant gap exceeds the number `excess`.

    At each end of the scores only one of the CDFs has noise, so that the noise at both
    ends is independent. Between the ends the noise is a Brownian bridge. It exceeds a
    number that is above its values at both ends with the probability exp(-2 product of
    the distances from these values / length). The noise of `n_added` rows is added,
    since counts fall further below their mean than normal noise does.
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
    probability = 1 - float(ends) + float(crossing)
    return min(probability, math.exp(-2 * excess**2 / total))

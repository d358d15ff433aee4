"""Calibration errors of groups, of true labels as given or drawn from the scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair._utils._types import Floats, Integers

#: More than the rounding of a sum.
_ROUNDING = 1e-12
#: Outcomes of a smaller variance are certain: ratios to it would overflow.
_LEAST_VARIANCE = 1e-300
#: Labels that are drawn at once, which bounds memory.
_BLOCK = 2**20


def blocks_of_draws(n_draws: int, n_rows: int) -> list[int]:
    """Cut draws into blocks, whose sizes do not change what is drawn."""
    size = max(1, _BLOCK // max(n_rows, 1))
    return [min(size, n_draws - start) for start in range(0, n_draws, size)]


def curve_ranges(
    scores: Floats, codes: Integers, weights: Floats
) -> Callable[[NDArray[Any]], Floats]:
    """Make the function of outcomes that gives the range of the curve of each group.

    Rows are sorted by group, then score; the last axis of outcomes is that of rows.
    """
    new = np.append(True, codes[1:] != codes[:-1])
    starts = np.flatnonzero(new)
    # A group's curve is 0 before its first row, and changes after the last of a score.
    last = np.append(new[1:] | (scores[1:] != scores[:-1]), True)
    ends = np.flatnonzero(last)
    first = np.searchsorted(ends, starts)

    def ranges(outcomes: NDArray[Any]) -> Floats:
        steps = weights * (outcomes - scores)
        sums = np.cumsum(steps, axis=-1)
        before = sums[..., starts] - steps[..., starts]
        if len(ends) < len(scores):
            sums = sums[..., ends]
        high = np.maximum(np.maximum.reduceat(sums, first, axis=-1), before)
        return high - np.minimum(np.minimum.reduceat(sums, first, axis=-1), before)

    return ranges


def in_deviations(
    errors: Floats, variances: NDArray[Any], largest: NDArray[Any]
) -> Floats:
    """Errors in standard deviations of noise; any is infinite where there is no noise.

    A sum of independent terms of mean 0, each at most b, whose variances add up to V,
    reaches D with a probability of at most exp(-z**2 / 2), where z**2 is
    2 V / b**2 ((1 + x) log(1 + x) - x) and x = b D / V. This is Bennett's inequality. z
    is D / sqrt(V) for small x, and less where few positive rows are expected.
    """
    noisy = variances > _LEAST_VARIANCE
    x = np.divide(largest * errors, variances, out=np.zeros_like(errors), where=noisy)
    exponents = np.maximum((1 + x) * np.log1p(x) - x, 0)
    found = np.sqrt(2 * variances * exponents) / largest
    return np.where(noisy, found, np.where(errors > _ROUNDING, math.inf, 0.0))

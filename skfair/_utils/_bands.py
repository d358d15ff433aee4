"""Widths of confidence bands of CDFs."""

from __future__ import annotations

import math


def supremum_quantile(level: float, *, sides: int = 2) -> float:
    """Supremum of the noise of a CDF of one row that is exceeded with this probability.

    It is divided by the square root of the number of rows, by the inequality of
    Dvoretzky, Kiefer, Wolfowitz and Massart. The same number bounds a Brownian bridge
    and, with two sides, its absolute value.
    """
    return math.sqrt(math.log(sides / level) / 2)

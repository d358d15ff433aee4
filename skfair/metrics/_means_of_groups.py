"""Means of groups beside the means of all other rows: bounds and tests."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import hypergeom

from skfair._rows import Rows
from skfair._utils._arrays import Bools, Floats, quotients
from skfair.metrics._quantiles import rows_of_means
from skfair.metrics._rate_intervals import clopper_pearson

Alternative: TypeAlias = Literal["two-sided", "greater", "less"]

#: Standard deviations of normal noise beyond which p-values are not told apart, and how
#: often this range is halved.
_FURTHEST, _HALVINGS = 30.0, 40


class Means(NamedTuple):
    """Means of numbers between `low` and `low + unit`, nan without rows."""

    #: Part of the way from `low`.
    share: Floats
    #: Rows of a rate that has the share as its mean, and as much noise.
    rows: Floats
    low: float = 0.0
    unit: float = 1.0

    @property
    def value(self) -> Floats:
        """Return the means in the units of the numbers."""
        return self.at(self.share)

    def at(self, share: Floats) -> Floats:
        """Turn shares of the way from `low` to `low + unit` into numbers."""
        return np.asarray(self.low + self.unit * share)

    def take(self, groups: Bools) -> Means:
        """Take the means of some groups."""
        return self._replace(share=self.share[groups], rows=self.rows[groups])


def are_outcomes(statistic: Rows) -> bool:
    """Return whether all numbers are 0 or 1."""
    return bool((statistic.y_pred * statistic.y_pred == statistic.y_pred).all())


def compute_means(statistic: Rows) -> tuple[Means, Means]:
    """Compute the mean of each group, and the mean of all rows outside the group.

    Numbers that are not outcomes are taken to lie between the smallest and the largest
    number. Otherwise losses that are never small would seem to have too little noise.
    """
    numbers, low, unit = statistic.y_pred.astype(np.float64), 0.0, 1.0
    if not are_outcomes(statistic) and np.ptp(numbers) > 0:
        low, unit = float(numbers.min()), float(np.ptp(numbers))
    shares = (numbers - low) / unit
    first, second = (
        statistic.sum_by_group(power * statistic.weights)
        for power in (shares, shares**2)
    )
    sums = first, second, statistic.totals, statistic.group_squares_by_person
    inside = _mean_and_rows(*sums)
    outside = _mean_and_rows(*map(_sums_of_others, sums))
    return Means(*inside, low, unit), Means(*outside, low, unit)


def _mean_and_rows(
    sums: Floats, squares: Floats, totals: NDArray[Any], squared_weights: NDArray[Any]
) -> tuple[Floats, Floats]:
    """Compute means of numbers in [0, 1], and the effective rows behind them."""
    moments = quotients(sums, totals, np.nan), quotients(squares, totals, np.nan)
    sizes = quotients(np.square(totals, dtype=float), squared_weights, np.nan)
    return moments[0], np.nan_to_num(rows_of_means(moments, sizes))


def _sums_of_others(values: NDArray[Any]) -> NDArray[Any]:
    """Sum over all other groups, without subtraction and its rounding errors."""
    before, after = np.cumsum(values[:-1]), np.cumsum(values[:0:-1])[::-1]
    return np.asarray(np.append(0, before) + np.append(after, 0))


def known_means(value: float, n_groups: int) -> Means:
    """Return means that equal a known number, without noise."""
    return Means(np.full(n_groups, value), np.full(n_groups, np.inf))


def simultaneous_tail(confidence_level: float, n_groups: int) -> float:
    """Find the tail of independent intervals that cover all means at once (Sidak)."""
    return float(1 - confidence_level ** (1 / max(n_groups, 1))) / 2


def distances(means: Means, tail: Any) -> tuple[Floats, Floats]:
    """Find the distances from means to the ends of Clopper-Pearson intervals."""
    known = np.isinf(means.rows)
    rows = np.where(known, 0, means.rows)
    low, high = clopper_pearson(means.share * rows, rows, tail)
    down, up = (means.share - low) * means.unit, (high - means.share) * means.unit
    return np.where(known, 0, down), np.where(known, 0, up)


def distances_of_difference(
    first: Means, second: Means, tail: Any
) -> tuple[Floats, Floats]:
    """Find the distances from differences of means to the ends of their intervals.

    The distance of a difference is the root of the sum of the squared distances of both
    means, as for standard deviations.
    """
    (down, up), (fall, rise) = (distances(each, tail) for each in (first, second))
    return np.hypot(down, rise), np.hypot(up, fall)


def pvalues_of_difference(
    first: Means, second: Means, epsilon: float, alternative: Alternative
) -> Floats:
    """Test whether means differ by more than epsilon, by inverting the bounds.

    The p-value is the smallest tail at which the end of the interval is beyond epsilon,
    and 1 if the difference itself is not beyond epsilon.
    """
    difference = first.value - second.value
    greater = _smallest_tails(first, second, difference - epsilon, side=0)
    less = _smallest_tails(first, second, -difference - epsilon, side=1)
    return _choose_alternative(greater, less, alternative)


def _smallest_tails(
    first: Means, second: Means, excess: Floats, *, side: Literal[0, 1]
) -> Floats:
    """Find the tail for which an end of the interval is at the distance `excess`."""
    tails, beyond = np.ones(len(excess)), excess > 0
    means, excess = (first.take(beyond), second.take(beyond)), excess[beyond]
    low, high = np.zeros(len(excess)), np.full(len(excess), _FURTHEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below = distances_of_difference(*means, ndtr(-middle))[side] < excess
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    tails[beyond] = ndtr(-low)
    return tails


def exact_pvalues(statistic: Rows, tested: Bools, alternative: Alternative) -> Floats:
    """Test whether some groups have the rate of all other rows, given all outcomes."""
    effective = np.nan_to_num(statistic.effective_sizes)
    sizes = np.floor(effective * (1 + 1e-12)).astype(np.intp)
    hits = np.rint(np.nan_to_num(statistic.means) * sizes).astype(np.intp)
    n_rows, n_hits = sizes.sum(), hits.sum()
    hits, sizes = hits[tested], sizes[tested]
    less = hypergeom.cdf(hits, n_rows, n_hits, sizes)
    greater = hypergeom.sf(hits - 1, n_rows, n_hits, sizes)
    return np.asarray(np.clip(_choose_alternative(greater, less, alternative), 0, 1))


def _choose_alternative(
    greater: Floats, less: Floats, alternative: Alternative
) -> Floats:
    """Choose between p-values of one side, or double the smaller one."""
    if alternative == "two-sided":
        return np.asarray(np.minimum(2 * np.minimum(greater, less), 1))
    return greater if alternative == "greater" else less

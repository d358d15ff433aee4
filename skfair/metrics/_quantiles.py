"""How far noise moves the values that a metric is the largest of, by arrays of numbers.

A metric compares groups by a seminorm of a contrast of their distributions, such as
F_g - F_h, and returns the largest. If E is the same contrast of the errors of the
estimated distributions,

- an estimate falls below its true value by at most a linear function of E, the same one
  for all samples, since a convex function lies above its tangents;
- an estimate exceeds its true value by at most the seminorm of E.

``docs/proofs/intervals.md`` proves the quantiles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from skfair._rows import Rows
from skfair._utils._arrays import Floats
from skfair.metrics._anytime import (
    cdf_difference_noise,
    cdf_noise_at_any_time,
    mean_difference_noise,
    mean_noise_at_any_time,
    rate_ends,
    variances_at_any_time,
)
from skfair.metrics._inputs import Multigroup
from skfair.metrics._pairs import compared_groups
from skfair.metrics._rate_intervals import clopper_pearson
from skfair.statistics._distributions import Distributions

Method = Literal["band", "finite_sample", "anytime"]
#: A quantile for each comparison: exceeded with at most the probability given.
Quantiles = Callable[[float], Any]
#: Mean of the absolute value of a standard normal variable.
MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
#: Parts of a probability for noise whose sign differs from the value's.
_OTHER_SIGN = 1 / 8, 1 / 64
#: Degrees of freedom from which on Student's quantiles are taken for normal ones.
_MANY = 1e12


def supremum_quantile(tail: float, *, sides: int = 2) -> float:
    """Return the quantile of the supremum of the noise of a CDF of one row.

    By the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart, noise of n rows is at
    most this quantile over the square root of n. The quantile also bounds a Brownian
    bridge and, with two sides, its absolute value.
    """
    return math.sqrt(math.log(sides / tail) / 2)


class Observed(NamedTuple):
    """Statistic of a metric, with the numbers that its noise depends on."""

    statistic: Any
    #: Numbers of rows that each distribution, mean or rate comes from; with weights,
    #: effective numbers.
    sizes: Floats
    #: Means of squared outcomes, where these are not 0 and 1.
    squares: Floats | None = None


def shares_of_groups(statistic: Any) -> Floats:
    """Return the share of each group in the total weight of a statistic."""
    return np.asarray(statistic.totals / statistic.totals.sum())


def mean_moments(statistic: Distributions) -> tuple[Floats, Floats]:
    """Return the mean and mean square of the scores of each group."""
    products = statistic.weights * statistic.scores
    first, second = (
        np.bincount(statistic.codes, values, statistic.n_groups) / statistic.totals
        for values in (products, products * statistic.scores)
    )
    return first, second


def move_to_unit(statistic: Rows | Distributions) -> tuple[Any, float]:
    """Move numbers to [0, 1], from the smallest to the largest, and return their range.

    Bounds for probabilities then hold in large samples. In small groups the bounds
    depend on the range, and a small group shows only a part of the range of skewed
    numbers.
    """
    name = "y_pred" if isinstance(statistic, Rows) else "scores"
    scores = getattr(statistic, name)
    low, unit = (scores.min(), np.ptp(scores)) if len(scores) else (0.0, 0.0)
    moved = (scores - low) / (unit or 1.0)
    return replace(statistic, **{name: moved}), float(unit)


class Comparisons(NamedTuple):
    """Comparisons of groups, of which a metric is the largest, with their intervals."""

    value: float
    n_comparisons: int
    # The largest of ends, one for each comparison; the true value of a comparison is
    # below its lower end, and above its upper end, with at most the probability given.
    low: Callable[[float], float]
    high: Callable[[float], float]
    maximum: float = 1.0  # of the metric
    # Finds the labels of the groups with the value, and where they have it.
    locate: Callable[[], tuple[Any, Any]] = lambda: (None, None)
    # Why groups cannot be compared, or which are left out; "" if none is.
    reason: str = ""
    # Warning to the user who asks for the value; "" if there is none.
    message: str = ""

    @property
    def defined(self) -> bool:
        """Whether the groups can be compared."""
        return not math.isnan(self.value)

    def scale_to_unit(self, unit: float) -> Comparisons:
        """Return the comparisons of numbers that were divided by a unit."""
        return self._replace(
            value=self.value * unit,
            low=lambda tail: self.low(tail) * unit,
            high=lambda tail: self.high(tail) * unit,
        )


#: Groups that cannot be compared; the metric has said why.
UNDEFINED = Comparisons(math.nan, 1, lambda _: math.nan, lambda _: math.nan)


def compare_values(
    value: float,
    values: Floats,
    to_upper_end: Quantiles,
    to_lower_end: Quantiles,
) -> Comparisons:
    """Return the comparisons of known values, with the distances to their ends."""
    return Comparisons(
        value,
        values.size,
        lambda tail: float((values - to_lower_end(tail)).max()),
        lambda tail: float((values + to_upper_end(tail)).max()),
    )


def differences(by_group: Floats, shares: Any, multigroup: Multigroup) -> Floats:
    """Return the difference of the two values in each comparison."""
    first, second = compared_groups(len(by_group), multigroup)
    if second is not None:
        return np.asarray(by_group[first] - by_group[second])
    shares = _aligned(shares, by_group)
    return np.asarray(by_group - (shares * by_group).sum(axis=0))


def _aligned(shares: Any, by_group: Floats) -> Any:
    """Add axes to shares of groups, to multiply them with an array."""
    n_more = by_group.ndim - np.ndim(shares)
    return np.reshape(shares, (*np.shape(shares), *[1] * n_more))


def sum_by_comparison(
    by_group: Floats,
    shares: Any,
    multigroup: Multigroup,
    power: int = 2,
    others: Floats | None = None,
) -> Floats:
    """Sum a number of each group over the groups of a comparison, with coefficients.

    A comparison of two groups has the coefficients 1 and -1. A comparison with everyone
    has one minus the share of the group, and minus the shares of all other groups. The
    number of a group is multiplied by the absolute value of its coefficient to the
    given power. `others` are the numbers of groups with a negative coefficient, by
    default `by_group`.
    """
    others = by_group if others is None else others
    first, second = compared_groups(len(by_group), multigroup)
    if second is not None:
        return np.asarray(by_group[first] + others[second])
    shares = _aligned(shares, by_group)
    overall = shares**power * others
    return np.asarray((1 - shares) ** power * by_group + overall.sum(axis=0) - overall)


def normal_quantiles(deviations: Floats) -> Quantiles:
    """Return the quantiles of normal noise."""
    return lambda tail: -ndtri(tail) * deviations


def one_score_quantiles(
    sizes: Floats, shares: Any, multigroup: Multigroup
) -> Quantiles:
    """Return quantiles of the noise of differences of CDFs at one score.

    Each CDF may be one half there. Counts are whole numbers: half a row of each group
    is added.
    """
    scale = np.sqrt(sum_by_comparison(1 / sizes, shares, multigroup))
    half_rows = np.sqrt(sum_by_comparison(1 / sizes**2, shares, multigroup)) / 2
    return shift_quantiles(half_rows, normal_quantiles(scale / 2))


def bridge_quantiles(scale: Floats, sides: int) -> Quantiles:
    """Return quantiles of the supremum of a Brownian bridge."""
    return lambda tail: supremum_quantile(tail, sides=sides) * scale


def shift_quantiles(means: Floats, quantiles: Quantiles) -> Quantiles:
    """Shift quantiles of noise by a mean."""
    return lambda tail: means + quantiles(tail)


def student_quantiles(
    first: Floats, second: Floats, sizes: Floats, shares: Any, multigroup: Multigroup
) -> Quantiles:
    """Return the quantiles of Welch's t for means with known mean squares."""
    spread = variances_of_means(first, second, sizes)
    noise = sum_by_comparison(spread, shares, multigroup)
    doubt = sum_by_comparison(spread**2 / (sizes + 1), shares, multigroup, power=4)
    # Where the doubt about a variance is too small for floats, noise is normal.
    freedom = np.full_like(noise, _MANY)
    np.divide(noise**2, doubt, out=freedom, where=doubt * _MANY > noise**2)

    def quantiles(tail: float) -> Any:
        tails = -stdtrit(freedom, tail)
        # Far in the tail SciPy returns infinity with the wrong sign.
        return np.where(np.isfinite(tails), tails, math.inf) * np.sqrt(noise)

    return quantiles


def variances_of_means(first: Floats, second: Floats, sizes: Floats) -> Floats:
    """Return the variances of means, from the mean values and the mean squares.

    Two rows, 0 and 1, are added to each group, as Agresti and Caffo do for rates.
    Otherwise groups whose rows all agree would have no noise.
    """
    mean, square = ((sizes * moment + 1) / (sizes + 2) for moment in (first, second))
    return np.asarray((square - mean**2) / sizes)


def rows_of_means(moments: tuple[Floats, Floats], sizes: Floats) -> Floats:
    """Return the rows of a rate that has the value of a mean, and as much noise."""
    smooth = (sizes * moments[0] + 1) / (sizes + 2)
    return np.asarray(smooth * (1 - smooth) / variances_of_means(*moments, sizes))


def exact_distance(rates: Floats, sizes: Floats, tail: float) -> Floats:
    """Return the distance from each rate to its upper bound of Clopper and Pearson."""
    _, bounds = clopper_pearson(sizes * rates, sizes, tail)
    return np.maximum(bounds - rates, 0)


def noise_of_means(
    moments: tuple[Floats, Floats], sizes: Floats, shares: Any, multigroup: Multigroup
) -> tuple[Quantiles, Quantiles]:
    """Return quantiles of noise that moves a difference of means to 0, and away from 0.

    Rates far from 0 and 1 vary more, and rates of few rows jump. So the distances from
    both means to their exact bounds are combined, by the root of the sum of squares. A
    mean whose values vary less than 0 and 1 is treated as a rate of more rows. The
    noise is at least that of Welch's t, except for noise that moves rates away from 0.
    """
    means, rows = moments[0], rows_of_means(moments, sizes)
    signed = differences(means, shares, multigroup)
    welch = student_quantiles(*moments, sizes, shares, multigroup)
    are_rates = np.array_equal(*moments)

    def exact_bounds(tail: float) -> Any:
        up, down = (exact_distance(p, rows, tail) ** 2 for p in (means, 1 - means))
        rising = np.sqrt(sum_by_comparison(up, shares, multigroup, others=down))
        falling = np.sqrt(sum_by_comparison(down, shares, multigroup, others=up))
        return np.where(signed >= 0, (rising, falling), (falling, rising))

    def nearer(tail: float) -> Any:
        same_sign, other_sign = exact_bounds(tail)
        exact = np.maximum(same_sign, other_sign - 2 * np.abs(signed))
        return np.maximum(welch(tail), exact)

    def further(tail: float) -> Any:
        _, exact = exact_bounds(tail)
        return exact if are_rates else np.maximum(welch(tail), exact)

    return nearer, further


def combine_signs(further: Quantiles, values: Floats) -> Quantiles:
    """Return quantiles of noise away from 0, whichever sign the value has.

    If a value is large, noise of the other sign hardly ever reaches it, and gets only a
    small part of the probability.
    """

    def quantiles(tail: float) -> Any:
        noise = further(tail / 2)
        for part in _OTHER_SIGN if (values > noise).any() else ():
            seen, other = further(tail * (1 - part)), further(tail * part)
            noise = np.where(seen + other <= 2 * values, seen, noise)
        return noise

    return quantiles


class FreeNoise(NamedTuple):
    """Quantiles of noise, for each comparison, that hold for any distribution."""

    #: Noise of a mean of values in [0, 1].
    of_mean: Quantiles
    #: Largest noise of a CDF over all scores.
    of_cdf: Quantiles


def distribution_free_quantiles(
    sizes: Floats, shares: Any, multigroup: Multigroup, method: Method
) -> FreeNoise:
    """Bound the noise of a mean, and of a whole CDF, for any distribution.

    For one look the bounds are those of Hoeffding and of Massart. For all looks at
    growing data, the reversed e-process of the difference bounds the noise of two
    means, and the product of two normal mixtures that of two CDFs. In comparisons with
    everyone, the mean of a group has the bound of Howard, Ramdas, McAuliffe and Sekhon,
    and its CDF the bound of Howard and Ramdas.
    """
    involved = 2 if multigroup == "pairwise" else len(sizes)

    def add_up(radius: Callable[[Floats, float], Floats]) -> Quantiles:
        return lambda tail: sum_by_comparison(
            radius(sizes, tail / involved), shares, multigroup, power=1
        )

    if method == "anytime":
        if multigroup == "pairwise":
            variances = sum_by_comparison(
                variances_at_any_time(sizes), shares, multigroup
            )
            return FreeNoise(
                partial(mean_difference_noise, variances), cdf_difference_noise(sizes)
            )
        return FreeNoise(add_up(mean_noise_at_any_time), add_up(cdf_noise_at_any_time))
    scale = np.sqrt(sum_by_comparison(1 / sizes, shares, multigroup))
    roots = sum_by_comparison(1 / np.sqrt(sizes), shares, multigroup, power=1)
    return FreeNoise(
        bridge_quantiles(scale, sides=1), bridge_quantiles(roots, sides=2 * involved)
    )


def compare_means(
    value: float,
    moments: tuple[Floats, Floats],
    sizes: Floats,
    shares: Floats,
    multigroup: Multigroup,
    method: Method,
) -> Comparisons:
    """Compare means, and bound the noise of their differences.

    `moments` are the means, of shape (n_groups, ...), and the means of squared values.
    """
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
        nearer, further = noise_of_means(moments, sizes, shares, multigroup)
        return compare_values(value, values, nearer, combine_signs(further, values))
    noise = distribution_free_quantiles(sizes, shares, multigroup, method).of_mean
    # The noise has either sign.
    return compare_values(value, values, noise, lambda tail: noise(tail / 2))

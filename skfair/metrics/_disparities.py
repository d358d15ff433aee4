"""Differences and ratios of the values of groups, with their intervals."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from skfair._rows import Rows
from skfair._utils._arrays import Floats, quotients
from skfair._utils._warnings import warn_user
from skfair.metrics._confidence_interval import lower_bound, upper_bound
from skfair.metrics._inputs import Multigroup
from skfair.metrics._pairs import MAX_PAIRWISE, compared_groups
from skfair.metrics._quantiles import compare_means, shares_of_groups
from skfair.metrics._rate_intervals import (
    clopper_pearson,
    ratio_ends,
    smallest_ratio_to_mean,
)
from skfair.metrics._resampling import ENOUGH

_Kind: TypeAlias = Literal["difference", "ratio"]


class Disparity(NamedTuple):
    """A difference or a ratio, and whom it compares."""

    kind: _Kind
    multigroup: Multigroup


#: All disparities of the values of groups.
DISPARITIES = [
    Disparity(kind, multigroup)
    for kind in get_args(_Kind)
    for multigroup in get_args(Multigroup)
]


def compare(disparity: Disparity, values: Floats) -> float:
    """Return the difference or ratio of values, of which the last is the overall."""
    groups, overall = values[:-1], values[-1]
    if len(groups) < 2:
        return math.nan
    low, high = groups.min(), groups.max()
    if disparity.multigroup == "pooled":
        low, high = np.minimum(groups, overall), np.maximum(groups, overall)
    if disparity.kind == "difference":
        return float(np.max(high - low))
    comparable = (low >= 0) & (high > 0)
    return float(np.min(quotients(np.where(comparable, low, np.nan), high, np.nan)))


def bound_by_rates(
    values: Floats, outcomes: Rows, confidence_level: float, disparity: Disparity
) -> tuple[float, float]:
    """Bound a difference or ratio of rates by the number of outcomes in each group."""
    rates, sizes = values[:-1], outcomes.effective_sizes
    n_groups, tail = len(rates), (1 - confidence_level) / 2
    shares = shares_of_groups(outcomes)
    if disparity.kind == "difference":
        if disparity.multigroup == "pairwise" and n_groups > MAX_PAIRWISE:
            return _warn_of_no_interval(n_groups)
        # The squares of outcomes of 0 and 1 have the means of the outcomes.
        moments, value = (rates, rates), compare(disparity, values)
        comparisons = compare_means(
            value, moments, sizes, shares, disparity.multigroup, "band"
        )
        return lower_bound(comparisons, tail), upper_bound(comparisons, tail)
    if disparity.multigroup == "pooled":
        ends = clopper_pearson(rates * sizes, sizes, tail / n_groups)
        return smallest_ratio_to_mean(*ends, shares)
    # One pair has the true ratio, and its lower end holds alone. The true ratio is at
    # most the ratio of every pair, and all upper ends hold together.
    lower, upper = ratio_ends(rates, sizes, tail, tail / (n_groups * (n_groups - 1)))
    return float(lower.min()), float(upper.min())


def bound_by_resamples(
    values: Floats, resamples: Floats, confidence_level: float, disparity: Disparity
) -> tuple[float, float]:
    """Bound a disparity by simultaneous intervals of the gaps of all pairs.

    Resamples of the largest gap itself say little where groups are alike: the largest
    gap cannot fall below 0, and noise enlarges it. Signed gaps can fall below 0.
    """
    n_groups = len(values) - 1
    if disparity.multigroup == "pairwise" and n_groups > MAX_PAIRWISE:
        return _warn_of_no_interval(n_groups)
    gaps, drawn = _signed_gaps(disparity, values), _signed_gaps(disparity, resamples)
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    if len(drawn) < ENOUGH * len(resamples):
        return math.nan, math.nan
    spread = drawn.std(axis=0)
    furthest = quotients(np.abs(drawn - gaps), spread).max(axis=1)
    reach = spread * np.quantile(furthest, confidence_level)
    low = max(0.0, float((np.abs(gaps) - reach).max()))
    high = min(float((np.abs(gaps) + reach).max()), float(np.abs(drawn).max()))
    high = max(high, float(np.abs(gaps).max()))
    return (low, high) if disparity.kind == "difference" else (1 - high, 1 - low)


def _signed_gaps(disparity: Disparity, values: Floats) -> Floats:
    """Subtract the values of two groups, or the overall value from a group's.

    The overall value comes last. For ratios the gaps are divided by the larger value.
    """
    first, second = compared_groups(values.shape[-1] - 1, disparity.multigroup)
    ours = values[..., first]
    theirs = values[..., -1:] if second is None else values[..., second]
    if disparity.kind == "difference":
        return ours - theirs
    negative = np.minimum(ours, theirs) < 0
    shares = quotients(ours - theirs, np.maximum(ours, theirs))
    return np.where(negative, np.nan, shares)


def _warn_of_no_interval(n_groups: int) -> tuple[float, float]:
    """Warn that pairs of so many groups have no interval; return nan for both ends."""
    warn_user(
        f"The largest difference of two of {n_groups} groups has no interval: "
        f"of more than {MAX_PAIRWISE} groups each is compared with everyone, "
        "see difference(multigroup='pooled').",
        UndefinedMetricWarning,
    )
    return math.nan, math.nan

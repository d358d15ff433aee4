"""Bounds of a metric of score distributions whose CDFs are known at edges of bins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from skfair.metrics._inputs import Multigroup
from skfair.metrics._pairs import Measure, Pair, compared_pairs
from skfair.statistics import GroupedHistogram
from skfair.statistics._grouped_histogram import sums_up_to
from skfair.statistics._grouped_scores import MAX_EXACT, Gap

#: Bins of which the bounds of all pairs are computed, before those of few pairs.
_FEW_BINS = 2**12


#: Bounds of a metric of a difference of CDFs, from its least and its largest values.
BandBounds: TypeAlias = Callable[[Gap, Gap], tuple[float, float]]


def bound_largest(
    histogram: GroupedHistogram, multigroup: Multigroup, bounds: BandBounds
) -> tuple[float, float]:
    """Bound the largest value of all pairs of groups."""
    pairs: Sequence[Pair] = compared_pairs(histogram.n_groups, multigroup)
    lower = 0.0
    if histogram.n_bins > _FEW_BINS:  # few bins show which pairs may have the largest
        few = histogram.coarsen(_FEW_BINS)
        lower, _, pairs = _largest_bounds(few, pairs, bounds, lower)
    lower, upper, _ = _largest_bounds(histogram, pairs, bounds, lower)
    return lower, upper


def bound_measure(measure: Measure, low: Gap, high: Gap) -> tuple[float, float]:
    """Measures of the least and of the largest absolute difference."""
    least = np.maximum(np.maximum(low.signed, -high.signed), 0)
    most = np.maximum(high.signed, -low.signed)
    return measure(low._replace(signed=least)), measure(low._replace(signed=most))


def band(
    histogram: GroupedHistogram, first: int, second: int | None
) -> tuple[Gap, Gap]:
    """Least and largest CDF of one group minus that of another, or of everyone (None).

    The CDF of a group is largest if all rows of a cell have the least score, and
    smallest if all have the largest.
    """
    lows, highs, weights = histogram._cells_of(first)
    totals = histogram.totals
    ours = totals[first]
    theirs = totals.sum() if second is None else totals[second]
    exact = weights.dtype.kind == "i" and float(ours) * float(theirs) < MAX_EXACT
    up, down = (theirs, ours) if exact else (1 / ours, 1 / theirs)
    if second is None:
        scores, early, late = histogram._of_everyone
    else:
        *ends, others = histogram._cells_of(second)
        scores = np.unique(np.concatenate([lows, highs, *ends]))
        early, late = (sums_up_to(at, others, scores) for at in ends)
    our_early, our_late = (sums_up_to(at, weights, scores) for at in (lows, highs))
    if second is None:  # the group stands on both sides
        early, late, up = early - our_early, late - our_late, up - down
    low = up * our_late - down * early
    high = up * our_early - down * late
    for signed in (low, high):
        if not exact:
            np.clip(signed, -1, 1, out=signed)
        signed[-1] = 0  # both CDFs end at 1, without rounding
    scale = float(ours * theirs if exact else 1.0)
    gap = Gap(scores, low, scale, (float(ours), float(theirs)))
    return gap, gap._replace(signed=high)


def _largest_bounds(
    histogram: GroupedHistogram,
    pairs: Sequence[Pair],
    band_bounds: BandBounds,
    lower: float,
) -> tuple[float, float, list[Pair]]:
    """Bound the largest value of a metric, and return the pairs that may attain it.

    It is at least `lower`, the value of other pairs perhaps.
    """
    ends = [band_bounds(*band(histogram, *pair)) for pair in pairs]
    lower = max([lower, *(low for low, _ in ends)])
    # By rounding an upper bound may be below.
    upper = max([lower, *(high for _, high in ends)])
    above = [pair for pair, (_, high) in zip(pairs, ends, strict=True) if high > lower]
    return lower, upper, above

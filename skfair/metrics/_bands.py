"""Bounds of a metric of score distributions whose CDFs are known at edges of bins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skfair._rows import Rows
from skfair._utils._arrays import Floats
from skfair.groups import rows_by_code
from skfair.metrics._inputs import Multigroup
from skfair.metrics._pairs import Measure, Pair, compared_pairs
from skfair.statistics._cells import merge_cells, put_in_bins
from skfair.statistics._distributions import MAX_EXACT, Gap

#: Bins of which the bounds of all pairs are computed, before those of few pairs.
_FEW_BINS = 2**12


#: Bounds of a metric of a difference of CDFs, from its smallest and its largest values.
BandBounds: TypeAlias = Callable[[Gap, Gap], tuple[float, float]]


def bound_largest(
    histogram: Rows, multigroup: Multigroup, bounds: BandBounds
) -> tuple[float, float]:
    """Bound the largest value over pairs of groups whose scores are known by bins."""
    pairs: Sequence[Pair] = compared_pairs(histogram.n_groups, multigroup)
    lower = 0.0
    if histogram.n_bins > _FEW_BINS:  # few bins show which pairs may have the largest
        few = merge_cells(put_in_bins(histogram, _FEW_BINS))
        lower, _, pairs = _largest_bounds(Bands(few), pairs, bounds, lower)
    lower, upper, _ = _largest_bounds(Bands(histogram), pairs, bounds, lower)
    return lower, upper


def bound_measure(measure: Measure, low: Gap, high: Gap) -> tuple[float, float]:
    """Bound the measure of a gap that lies between `smallest` and `largest`."""
    smallest = np.maximum(np.maximum(low.signed, -high.signed), 0)
    most = np.maximum(high.signed, -low.signed)
    return measure(low._replace(signed=smallest)), measure(low._replace(signed=most))


class Bands:
    """Cells of scores in bins, with sums that the bounds of several pairs need."""

    def __init__(self, cells: Rows) -> None:
        self.cells = cells
        mass = cells.mass
        self.weights = np.ones(len(cells), np.int64) if mass is None else mass
        self.of_groups = rows_by_code(cells.groups.codes, cells.n_groups)

    @cached_property
    def overall(self) -> tuple[Floats, NDArray[Any], NDArray[Any]]:
        """Scores at which a CDF may rise, and bounds of the overall sums of weights."""
        lows, highs = self.cells.low, self.cells.high
        assert lows is not None
        assert highs is not None
        scores = np.unique(np.concatenate([lows, highs]))
        early, late = (_sums_up_to(at, self.weights, scores) for at in (lows, highs))
        return scores, early, late

    def cells_of(self, group: int) -> tuple[Floats, Floats, NDArray[Any]]:
        """Return smallest and largest scores and weights of the cells of a group."""
        own = self.of_groups[group]
        assert self.cells.low is not None
        assert self.cells.high is not None
        return self.cells.low[own], self.cells.high[own], self.weights[own]

    def difference(self, first: int, second: int | None) -> tuple[Gap, Gap]:
        """Return the smallest and largest difference of the CDFs of two groups.

        The CDF of a group is largest if all rows of a cell have the smallest score of
        the cell, and smallest if all have the largest. None stands for everyone.
        """
        lows, highs, weights = self.cells_of(first)
        totals = self.cells.totals
        ours = totals[first]
        theirs = totals.sum() if second is None else totals[second]
        exact = weights.dtype.kind == "i" and float(ours) * float(theirs) < MAX_EXACT
        up, down = (theirs, ours) if exact else (1 / ours, 1 / theirs)
        if second is None:
            scores, early, late = self.overall
        else:
            *ends, others = self.cells_of(second)
            scores = np.unique(np.concatenate([lows, highs, *ends]))
            early, late = (_sums_up_to(at, others, scores) for at in ends)
        our_early, our_late = (_sums_up_to(at, weights, scores) for at in (lows, highs))
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


def _sums_up_to(at: Floats, weights: NDArray[Any], scores: Floats) -> NDArray[Any]:
    """Sum the weight at or below each sorted score."""
    order = np.argsort(at, kind="stable")
    sums = np.concatenate([[0], np.cumsum(weights[order])])
    steps = np.searchsorted(scores, at[order])
    lengths = np.diff(np.concatenate([[0], steps, [len(scores)]]))
    return np.repeat(sums, lengths)


def _largest_bounds(
    bands: Bands,
    pairs: Sequence[Pair],
    band_bounds: BandBounds,
    lower: float,
) -> tuple[float, float, list[Pair]]:
    """Bound the largest value of a metric, and return the pairs that may attain it.

    `lower` is a lower bound from other pairs.
    """
    ends = [band_bounds(*bands.difference(*pair)) for pair in pairs]
    lower = max([lower, *(low for low, _ in ends)])
    # By rounding an upper bound may be below.
    upper = max([lower, *(high for _, high in ends)])
    above = [pair for pair, (_, high) in zip(pairs, ends, strict=True) if high > lower]
    return lower, upper, above

"""Target distributions of a repair: towards everyone, or within a band around them."""

from __future__ import annotations

from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from skfair.postprocessing._linear_cdf import Floats, GroupCDFs

#: Heights that are held in memory at once, of all groups together.
_MAX_HEIGHTS = 4_000_000
#: Halvings of the interval that holds the lower edge of the band.
_N_HALVINGS = 30


class Mixture(NamedTuple):
    """Target ``(1 - level) * F_g + level * F``: the paper's path of repair."""

    level: Any
    pooled: Any

    def target(self, heights: Any, group: int) -> Any:
        """Heights of the target where the CDF of the group has `heights`."""
        return (1 - self.level) * heights + self.level * self.pooled

    @property
    def moves(self) -> bool:
        """Whether any score is changed."""
        return bool(self.level != 0)


class Band(NamedTuple):
    """Target ``clip(F_g, lowest, lowest + max_gap)``, in a band that all groups share.

    The band lies so that the mean of all targets, by weight, is the mean of the CDFs.
    `margins` narrow it for groups whose own CDF is not the one that is clipped.
    """

    lowest: Any
    max_gap: Any
    margins: Floats
    moves: bool = True

    @classmethod
    def within(cls, groups: GroupCDFs, max_gap: float) -> Self:
        """Band at all scores, which no target leaves."""
        margins = groups.margins()
        narrowed = np.minimum(margins, max_gap / 2)
        lowest = np.full(2 * len(groups.pooled.scores), np.inf)
        highest = -lowest
        for heights, margin in zip(groups.heights(), narrowed, strict=True):
            np.minimum(lowest, heights - margin, out=lowest)
            np.maximum(highest, heights + margin, out=highest)
        outside = np.flatnonzero(highest - lowest > max_gap)
        n_parts = 1 + len(groups.cdfs) * len(outside) // _MAX_HEIGHTS
        for knots in np.array_split(outside, n_parts):
            every = np.stack([heights[knots] for heights in groups.heights()])
            lowest[knots] = lowest_of_band(
                every, groups.shares, narrowed[:, None], max_gap
            )
        return cls(lowest, max_gap, margins, len(outside) > 0)

    def target(self, heights: Any, group: int) -> Any:
        """Heights of the target where the CDF of the group has `heights`."""
        margin = np.minimum(self.margins[group], np.asarray(self.max_gap) / 2)
        top = self.lowest + self.max_gap - margin
        return np.clip(heights, self.lowest + margin, top)


Path: TypeAlias = Mixture | Band


def lowest_of_band(
    heights: Floats, shares: Floats, margins: Floats, max_gap: Any
) -> Floats:
    """Lower edge, at each knot, of the band to which the groups' CDFs are clipped.

    `heights` has shape (n_groups, n_knots); `margins` and `max_gap` may differ from
    knot to knot. The mean of the clipped heights, by share, is that of the heights: so
    the distribution of everyone stays as it is.
    """
    low = fitting = (heights - margins).min(axis=0)
    high = (heights + margins).max(axis=0) - max_gap
    outside, mean = high > low, shares @ heights
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        clipped = np.clip(heights, middle + margins, middle + max_gap - margins)
        below = shares @ clipped < mean
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(np.where(outside, (low + high) / 2, fitting))


def repaired_at(groups: GroupCDFs, path: Path, group: int, heights: Floats) -> Floats:
    """Scores at which the target of a group has some heights; sorted is fastest."""
    pooled = groups.pooled
    knots = path.target(groups.cdfs[group].at_knots_of(pooled), group)
    # Rounding must not make the target fall.
    np.maximum.accumulate(knots, out=knots)
    return np.interp(heights, knots, np.repeat(pooled.scores, 2))

"""CDFs of groups that are linear between scores, and what a repair makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from skfair._utils._types import Floats
from skfair.metrics._confidence._noise import supremum_quantile
from skfair.statistics import GroupedHistogram, GroupedScores
from skfair.statistics._grouped_scores import sort_scores

#: Rows of everyone that are added to those of a small group.
_ADDED_ROWS = 10
#: Numbers of rows up to which a group is small, and from which on it is large.
_SMALL, _LARGE = 100, 200
#: Heights that are held in memory at once, of all groups together.
_MAX_HEIGHTS = 4_000_000
#: Halvings of the interval that holds the lower edge of the band.
_N_HALVINGS = 50


class LinearCDF(NamedTuple):
    """CDF that is piecewise linear between two ends, with a knot at each score.

    It rises from 0 at the lower end to 1 at the upper end, which are 0 and 1 for
    probabilities, else the least and the largest score of everyone. The i-th of n rows,
    in order, has the height (i - 1/2) / n; rows that share a score make a vertical step
    there, from `low` to `high`, which are equal for one row.
    """

    scores: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(
        cls,
        statistic: GroupedScores,
        group: int | None,
        ends: tuple[float, float] = (0.0, 1.0),
    ) -> Self:
        """CDF of a group that has rows, or of everyone."""
        scores, weights = statistic.of_group(group)
        part = slice(None) if group is None else group
        total = statistic.totals[part].sum()
        count = row_counts(statistic)[part].sum()
        shares = weights / total
        upper = np.cumsum(weights) / total
        half_row = np.minimum(shares, 1 / count) / 2
        high = np.clip(upper - half_row, 0, 1)
        # Rounding must not make a step, up or down, of a single row.
        low = np.where(shares > 2 * half_row, upper - shares + half_row, high)
        low = np.clip(low, 0, high)
        # The half rows at both ends are interpolated up to heights of 0 and 1 there.
        if scores[0] > ends[0]:
            low, high = np.append(0.0, low), np.append(0.0, high)
            scores = np.append(ends[0], scores)
        if scores[-1] < ends[1]:
            low, high = np.append(low, 1.0), np.append(high, 1.0)
            scores = np.append(scores, ends[1])
        return cls(scores, low, high)

    @property
    def middle(self) -> Floats:
        """Mid-distribution: one height for all rows that share a score."""
        return (self.low + self.high) / 2

    @property
    def ends(self) -> Floats:
        """Heights of the lower and the upper end of each step, one after the other."""
        return np.stack([self.low, self.high], axis=1).ravel()

    def at(self, scores: Floats) -> Floats:
        """Heights of the CDF at scores; at a knot, the upper end of the step."""
        return interpolate(scores, np.repeat(self.scores, 2), self.ends)

    def ends_at(self, scores: Floats, upper: NDArray[np.bool_]) -> Floats:
        """Heights at a few scores: of the upper or of the lower end of a step there."""
        right = np.searchsorted(self.scores, scores)
        left = np.maximum(right - 1, 0)
        there = self.scores[right] == scores
        # As `interpolate` does it, which looks at all knots.
        width = np.where(there, 1, self.scores[right] - self.scores[left]) * 2.0**100
        slope = (self.low[right] - self.high[left]) / width
        between = slope * ((scores - self.scores[left]) * 2.0**100) + self.high[left]
        ends = np.where(upper, self.high[right], self.low[right])
        return np.where(there, ends, between)

    def scores_at(self, heights: Floats) -> Floats:
        """Scores at which the CDF has some heights."""
        return np.interp(heights, self.ends, np.repeat(self.scores, 2))

    def heights_of(self, scores: Floats, random: RandomState | None) -> Floats:
        """Heights of scores: within a step they are random, or else its middle."""
        knots = np.searchsorted(self.scores, scores)
        if random is None:
            heights = self.middle[knots]
        else:
            heights = random.uniform(self.low[knots], self.high[knots])
        between = np.flatnonzero(self.scores[knots] != scores)
        heights[between] = self.at(scores[between])
        return heights

    def at_knots_of(self, pooled: LinearCDF) -> Floats:
        """Heights at the ends of all steps of the CDF of everyone, in order.

        `pooled` must have knots at all scores of `self`.
        """
        high = self.at(pooled.scores)
        low = high.copy()
        low[np.searchsorted(pooled.scores, self.scores)] = self.low
        return np.stack([low, high], axis=1).ravel()

    def shrunk_to(self, pooled: LinearCDF, share: float) -> LinearCDF:
        """Mixture with the CDF of everyone, which gets the given share."""
        knots = np.searchsorted(pooled.scores, self.scores)
        low = (1 - share) * self.low + share * pooled.low[knots]
        high = (1 - share) * self.high + share * pooled.high[knots]
        return LinearCDF(self.scores, low, high)


class GroupCDFs(NamedTuple):
    """CDFs of the groups that have rows, and of everyone.

    Those of small groups are shrunk to the latter: `shrinkage` is the share of everyone
    in the CDF of each group, `own` are the CDFs before that. `shares` are the groups'
    shares of the weight.
    """

    cdfs: tuple[LinearCDF, ...]
    own: tuple[LinearCDF, ...]
    pooled: LinearCDF
    shares: Floats
    shrinkage: Floats

    @classmethod
    def of(
        cls,
        statistic: GroupedScores,
        shrinkage: Floats | None = None,
        ends: tuple[float, float] = (0.0, 1.0),
    ) -> Self:
        """CDFs of the groups, shrunk as given, or as the rows tell."""
        pooled = LinearCDF.of(statistic, None, ends)
        present = np.flatnonzero(statistic.counts)
        own = tuple(LinearCDF.of(statistic, group, ends) for group in present.tolist())
        shares = statistic.totals[present] / statistic.totals.sum()
        n_rows = row_counts(statistic)[present]
        found = cls(own, own, pooled, shares, np.zeros(len(own)))
        if shrinkage is None and len(own) > 1 and n_rows.min() < _LARGE:
            shrinkage = _shrinkage(n_rows, shares, found.distances())
        if shrinkage is None or not shrinkage.any():
            return found
        shrunk = tuple(
            cdf.shrunk_to(pooled, share)
            for cdf, share in zip(own, shrinkage.tolist(), strict=True)
        )
        return found._replace(cdfs=shrunk, shrinkage=shrinkage)

    def distances(self) -> Floats:
        """Largest distance of each group's own CDF from that of everyone."""
        ends = self.pooled.ends
        heights = (cdf.at_knots_of(self.pooled) for cdf in self.own)
        return np.array([np.abs(part - ends).max() for part in heights])

    def margins(self) -> Floats:
        """Largest distance of each CDF from the one before it was shrunk."""
        if not self.shrinkage.any():
            return np.zeros(len(self.cdfs))
        return self.distances() * self.shrinkage

    def heights(self) -> Iterator[Floats]:
        """Heights of one CDF after the other at the knots of the pooled one."""
        return (cdf.at_knots_of(self.pooled) for cdf in self.cdfs)

    def mean_scores(self, heights: Floats) -> Floats:
        """Mean, by share, of the scores at which the CDFs have the heights in a row."""
        first = self.cdfs[0].scores_at(heights[0])
        mean = first.copy()
        for cdf, share, row in zip(self.cdfs, self.shares, heights, strict=True):
            # The mean of equal scores must not be rounded.
            mean += share * (cdf.scores_at(row) - first)
        return mean

    def largest_gap(self) -> float:
        """Largest distance between the CDFs of two groups."""
        lowest = np.full(2 * len(self.pooled.scores), np.inf)
        highest = -lowest
        for heights in self.heights():
            np.minimum(lowest, heights, out=lowest)
            np.maximum(highest, heights, out=highest)
        return float((highest - lowest).max())


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
    """Target ``clip(F_g, lowest, lowest + max_mcdp)``, in a band that all groups share.

    The band lies so that the mean of all targets, by weight, is the mean of the CDFs.
    `margins` narrow it for groups whose own CDF is not the one that is clipped.
    Where all targets pass the score x, the repaired score is that in `scores`: the mean
    of the groups' own scores there, which is x where no CDF is clipped.
    """

    lowest: Any
    max_mcdp: Any
    margins: Floats
    scores: Any = None
    moves: bool = True

    @classmethod
    def within(cls, groups: GroupCDFs, max_mcdp: float) -> Self:
        """Band at all scores, which no target leaves."""
        margins = groups.margins()
        narrowed = np.minimum(margins, max_mcdp / 2)
        lowest = np.full(2 * len(groups.pooled.scores), np.inf)
        highest = -lowest
        for heights, margin in zip(groups.heights(), narrowed, strict=True):
            np.minimum(lowest, heights - margin, out=lowest)
            np.maximum(highest, heights + margin, out=highest)
        outside = np.flatnonzero(highest - lowest > max_mcdp)
        scores = np.repeat(groups.pooled.scores, 2)
        n_parts = 1 + len(groups.cdfs) * len(outside) // _MAX_HEIGHTS
        for knots in np.array_split(outside, n_parts):
            every = np.stack([heights[knots] for heights in groups.heights()])
            part = cls.at(groups, scores[knots], every, max_mcdp, margins)
            lowest[knots], scores[knots] = part.lowest, part.scores
        # Rounding must not make the scores fall.
        np.maximum.accumulate(scores, out=scores)
        return cls(lowest, max_mcdp, margins, scores, len(outside) > 0)

    @classmethod
    def at(
        cls,
        groups: GroupCDFs,
        scores: Floats,
        heights: Floats,
        max_mcdp: Any,
        margins: Floats,
    ) -> Self:
        """Band at some scores, where the CDF of each group has a row of heights."""
        narrowed = np.minimum(margins[:, None], np.asarray(max_mcdp) / 2)
        lowest = lowest_of_band(heights, groups.shares, narrowed, max_mcdp)
        targets = np.clip(heights, lowest + narrowed, lowest + max_mcdp - narrowed)
        mean = groups.mean_scores(targets)
        # Scores that stay, such as those that rows share, stay to the last digit: they
        # may be thresholds.
        low, high = groups.pooled.scores[[0, -1]]
        rounding = 1e-9 * np.minimum(scores - low, high - scores)
        stays = np.abs(mean - scores) <= rounding
        return cls(lowest, max_mcdp, margins, np.where(stays, scores, mean))

    def target(self, heights: Any, group: int) -> Any:
        """Heights of the target where the CDF of the group has `heights`."""
        margin = np.minimum(self.margins[group], np.asarray(self.max_mcdp) / 2)
        top = self.lowest + self.max_mcdp - margin
        return np.clip(heights, self.lowest + margin, top)


Path: TypeAlias = Mixture | Band


def lowest_of_band(
    heights: Floats, shares: Floats, margins: Floats, max_mcdp: Any
) -> Floats:
    """Lower edge, at each knot, of the band to which the groups' CDFs are clipped.

    `heights` has shape (n_groups, n_knots); `margins` and `max_mcdp` may differ from
    knot to knot. The mean of the clipped heights, by share, is that of the heights.
    """
    low = fitting = (heights - margins).min(axis=0)
    high = (heights + margins).max(axis=0) - max_mcdp
    outside, mean = high > low, shares @ heights
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        clipped = np.clip(heights, middle + margins, middle + max_mcdp - margins)
        below = shares @ clipped < mean
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(np.where(outside, (low + high) / 2, fitting))


def repaired_at(groups: GroupCDFs, path: Path, group: int, heights: Floats) -> Floats:
    """Scores at which the target of a group has some heights; sorted is fastest."""
    if isinstance(path, Mixture) and path.level == 1:
        knots = path.pooled  # full repair, for which the group's own CDF is not needed
    else:
        knots = path.target(groups.cdfs[group].at_knots_of(groups.pooled), group)
        # Rounding must not make the target fall.
        np.maximum.accumulate(knots, out=knots)
    scores: Floats = np.repeat(groups.pooled.scores, 2)
    if isinstance(path, Band):
        scores = path.scores
    return np.interp(heights, knots, scores)


def sampling_noise(own_rows: Floats, other_rows: Floats, n_tests: int) -> Floats:
    """Distance of the CDFs of two samples of one distribution that 5 % exceed.

    At most 5 % for all tests together: the bound of Dvoretzky, Kiefer, Wolfowitz and
    Massart.
    """
    inverse_sizes = 1 / own_rows + 1 / other_rows
    return np.asarray(supremum_quantile(0.05 / n_tests) * np.sqrt(inverse_sizes))


def _shrinkage(n_rows: NDArray[Any], shares: Floats, distances: Floats) -> Floats:
    """Share of everyone in the CDF of each group, 0 for large groups.

    A small group weighs as its rows beside ten rows of everyone, times the evidence
    that it differs from the others: 0 within sampling noise, 1 from 1.5 times that on.
    """
    noise = sampling_noise(n_rows, n_rows.sum() - n_rows, 1) * (1 - shares)
    # A group whose share rounds to 1 is everyone, and differs by nothing.
    ratios = np.divide(distances, noise, out=np.zeros(len(noise)), where=noise > 0)
    evidence = 2 * ratios - 2
    own = np.clip(evidence, 0, 1) * n_rows / (n_rows + _ADDED_ROWS)
    small = np.clip((_LARGE - n_rows) / (_LARGE - _SMALL), 0, 1)
    return np.asarray(small * (1 - own))


def interpolate(scores: Floats, knots: Floats, values: Floats) -> Floats:
    """Interpolate linearly between scores that may be subnormal numbers."""
    # Slopes between them would overflow; scaling by 2**100 is exact.
    return np.interp(scores * 2.0**100, knots * 2.0**100, values)


def ends_of(scale: str, scores: Floats) -> tuple[float, float]:
    """Return the ends of the CDFs of scores; beyond them maps have slope 1."""
    if scale == "probability":
        return 0.0, 1.0
    return float(scores.min()), float(scores.max())


def spread_in_bins(histogram: GroupedHistogram) -> GroupedScores:
    """Scores with the least and the largest score of each bin, as far as it has rows.

    All other rows of a bin lie in the middle of these two.
    """
    rows, weights = histogram.rows, histogram.weights
    lows, highs = histogram.lows, histogram.highs
    # Of one row; whole weights stay whole.
    share = weights // rows if weights.dtype.kind == "i" else weights / rows
    several = lows < highs
    low = np.where(several, share, weights)
    middle = np.where(several & (rows > 2), weights - 2 * share, 0)
    weights = np.concatenate([low, middle, weights - low - middle])
    scores = np.concatenate([lows, (lows + highs) / 2, highs])
    codes = np.tile(histogram.codes, 3)
    kept = weights > 0
    sorted_entries = sort_scores(
        scores[kept], codes[kept], weights[kept], n_groups=histogram.n_groups
    )
    return GroupedScores(
        *sorted_entries,
        histogram.counts,
        histogram.totals,
        histogram.labels,
        histogram.names,
        histogram.min_group_size,
    )


def tied_shares(statistic: GroupedScores) -> Floats:
    """Share of its group that the rows of each entry have; 0 for a single row."""
    shares = statistic.weights / statistic.totals[statistic.codes]
    one_row = 1 / row_counts(statistic)[statistic.codes]
    return np.where(shares > one_row, shares, 0)


def row_counts(statistic: GroupedScores) -> NDArray[Any]:
    """Rows of each group; whole weights count rows."""
    whole = statistic.weights.dtype.kind == "i"
    return statistic.totals if whole else statistic.counts


def has_ties(statistic: GroupedScores) -> bool:
    """Whether more rows of a group share a score than sampling noise can hide.

    Such ties displace the group's CDF by their share of its n rows, sampling by about
    ``1 / sqrt(n)``.
    """
    limits = 1 / np.sqrt(np.maximum(row_counts(statistic), 1))
    return bool((tied_shares(statistic) > limits[statistic.codes]).any())

"""CDFs of the scores of groups, and the targets to which a repair moves them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.special import logit

from skfair._rows import Rows
from skfair._utils._arrays import Bools, Floats
from skfair.metrics._quantiles import supremum_quantile
from skfair.statistics._distributions import Distributions

#: Scores at which CDFs are compared after a repair.
_N_POINTS = 4000
#: Heights that are held in memory at once, of all groups together.
_MAX_HEIGHTS = 4_000_000
#: Halvings of the interval that holds the lower edge of the band.
_N_HALVINGS = 50
#: A smoothed CDF is used where it is at most so many 1 / sqrt(n) from the exact one.
_LARGEST_CHANGE = 0.7
#: Points of the grid on which a CDF is smoothed, for each standard deviation of the
#: kernel, and standard deviations at which the kernel ends.
_FINENESS, _REACH = 8, 5
#: In the CDF of a group of so many rows, the pooled CDF weighs as much as the rows
#: themselves. From `MANY_ROWS_OF_GROUP` on, where it would weigh 1 %, it has no weight.
_POOLED_ROWS, MANY_ROWS_OF_GROUP = 20, 200
#: Quantiles of everyone at which the CDF of a small group is mixed with the pooled one.
_N_QUANTILES = 1000
#: Changes of heights and scores below this are rounding.
_HEIGHT_ROUNDING = 1e-9


class LinearCDF(NamedTuple):
    """CDF that is piecewise linear between two ends, with a knot at each score.

    The CDF rises from 0 at the lower end to 1 at the upper end. The ends are 0 and 1
    for probabilities, otherwise the smallest and the largest score of everyone. The
    i-th of n rows, in order, has the height (i - 1/2) / n. Rows that share a score make
    a vertical step at this score, from `low` to `high`, which are equal if a single row
    has the score.
    """

    scores: Floats
    low: Floats
    high: Floats

    @classmethod
    def from_statistic(
        cls,
        statistic: Distributions,
        group: int | None,
        ends: tuple[float, float] = (0.0, 1.0),
    ) -> Self:
        """Return the CDF of a group that has rows, or of everyone."""
        scores, weights = statistic.select_group(group)
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
    def step_ends(self) -> Floats:
        """Heights of the lower and the upper end of each step, one after the other."""
        return np.stack([self.low, self.high], axis=1).ravel()

    def evaluate(self, scores: Floats) -> Floats:
        """Return heights of the CDF at scores; at a knot, the upper end of the step."""
        return interpolate(scores, np.repeat(self.scores, 2), self.step_ends)

    def evaluate_ends(self, scores: Floats, upper: Bools) -> Floats:
        """Return heights at scores; at a knot, the upper or lower end of the step."""
        heights = self.evaluate(scores)
        knots = np.searchsorted(self.scores, scores)
        lower = (self.scores[knots] == scores) & ~upper
        heights[lower] = self.low[knots[lower]]
        return heights

    def evaluate_within(self, scores: Floats, draws: Floats | float | None) -> Floats:
        """Return heights at scores; at a knot, a height drawn within the step.

        A draw of 0 is the lower end of the step, a draw of 1 the upper end; without
        draws, the middle of the step is returned.
        """
        knots = np.searchsorted(self.scores, scores)
        low, high = self.low[knots], self.high[knots]
        heights = (low + high) / 2 if draws is None else low + draws * (high - low)
        between = np.flatnonzero(self.scores[knots] != scores)
        heights[between] = self.evaluate(scores[between])
        return heights

    def evaluate_where(self, learnt: LinearCDF, heights: Floats) -> Floats:
        """Return heights of this CDF at the scores where a learnt CDF has `heights`.

        Rows that share a score are spread over the step of the learnt CDF.
        """
        if learnt is self:
            return heights
        upper = np.ones(len(self.scores), dtype=bool)
        ends = [learnt.evaluate_ends(self.scores, end) for end in (~upper, upper)]
        return np.interp(heights, np.stack(ends, axis=1).ravel(), self.step_ends)

    def evaluate_steps(self, pooled: LinearCDF) -> Floats:
        """Return heights at both ends of each step of the pooled CDF, in order.

        `pooled` must have knots at all scores of this CDF.
        """
        high = self.evaluate(pooled.scores)
        low = high.copy()
        low[np.searchsorted(pooled.scores, self.scores)] = self.low
        return np.stack([low, high], axis=1).ravel()

    def quantiles(self, heights: Floats) -> Floats:
        """Return the scores at which the CDF has some heights."""
        return np.interp(heights, self.step_ends, np.repeat(self.scores, 2))

    def mix(self, pooled: LinearCDF, share: float) -> LinearCDF:
        """Mix a share of this CDF with the pooled CDF, at quantiles of the latter."""
        if share == 1:
            return self
        levels = np.linspace(0, 1, _N_QUANTILES + 1)
        knots = np.searchsorted(pooled.high, levels).clip(max=len(pooled.scores) - 1)
        scores = np.union1d(self.scores, pooled.scores[knots])
        low, high = (
            share * self.evaluate_ends(scores, upper)
            + (1 - share) * pooled.evaluate_ends(scores, upper)
            for upper in np.array([[False], [True]])
        )
        return LinearCDF(scores, low, high)

    def smooth(self, statistic: Distributions, group: int) -> LinearCDF:
        """Return the CDF of the same rows, smoothed by a normal kernel in log-odds.

        The kernel's standard deviation is the standard deviation of the n log-odds,
        times n^(-1/3). The CDF is not smoothed if that would move it by more than
        sampling noise: then many rows share a score, or the density is too uneven for
        this kernel.
        """
        scores, weights = statistic.select_group(group)
        log_odds = logit(np.clip(scores, 1e-9, 1 - 1e-9))
        n_rows, shares = row_counts(statistic)[group], weights / weights.sum()
        variance = shares @ (log_odds - shares @ log_odds) ** 2
        spacing = np.sqrt(variance) * n_rows ** (-1 / 3) / _FINENESS
        if not spacing > 0:
            return self
        # Each row is split between the two points of the grid that are next to it.
        places = (log_odds - log_odds[0]) / spacing + _FINENESS * _REACH
        left = np.floor(places).astype(np.intp)
        size = left[-1] + _FINENESS * _REACH + 2
        right_share = shares * (places - left)
        at_points = np.bincount(left, shares - right_share, size)
        at_points += np.bincount(left + 1, right_share, size)
        heights = gaussian_filter1d(
            np.cumsum(at_points) - at_points / 2, _FINENESS, mode="nearest"
        )
        knots = np.searchsorted(self.scores, scores)
        smooth = np.clip(np.interp(places, np.arange(size), heights), 0, 1)
        change = np.maximum(smooth - self.low[knots], self.high[knots] - smooth).max()
        if change > _LARGEST_CHANGE / np.sqrt(n_rows):
            return self
        middle = self.middle
        middle[knots] = smooth
        return LinearCDF(self.scores, middle, middle)


class GroupCDFs(NamedTuple):
    """CDFs of the groups that have rows, and of everyone.

    `unsmoothed` are the CDFs of the groups' rows; `cdfs` may be smoothed, and are mixed
    with the pooled CDF in small groups. `shares` are the groups' shares of the weight,
    `n_rows` their numbers of rows.
    """

    labels: tuple[Hashable, ...]
    cdfs: tuple[LinearCDF, ...]
    unsmoothed: tuple[LinearCDF, ...]
    pooled: LinearCDF
    shares: Floats
    n_rows: NDArray[Any]

    @classmethod
    def from_statistic(
        cls,
        statistic: Distributions,
        ends: tuple[float, float] = (0.0, 1.0),
        *,
        smooth: bool = False,
        sizes: NDArray[Any] | None = None,
    ) -> Self:
        """Return the CDFs of the groups, smoothed if `smooth`.

        The CDF of a small group is mixed with the pooled one by its number of rows, or
        by `sizes`.
        """
        pooled = LinearCDF.from_statistic(statistic, None, ends)
        present = np.flatnonzero(statistic.counts)
        labels, unsmoothed, cdfs = [], [], []
        n_rows = row_counts(statistic)[present]
        sizes = n_rows if sizes is None else sizes
        for group, size in zip(present.tolist(), sizes.tolist(), strict=True):
            cdf = LinearCDF.from_statistic(statistic, group, ends)
            labels.append(statistic.labels[group])
            unsmoothed.append(cdf)
            cdf = cdf.smooth(statistic, group) if smooth else cdf
            cdfs.append(cdf.mix(pooled, unpooled_share(size)))
        shares = statistic.totals[present] / statistic.totals.sum()
        return cls(
            labels=tuple(labels),
            cdfs=tuple(cdfs),
            unsmoothed=tuple(unsmoothed),
            pooled=pooled,
            shares=shares,
            n_rows=n_rows,
        )

    def distances_from_pooled(self) -> Floats:
        """Return the largest distance of each group's rows from everyone's CDF."""
        heights = self.pooled.step_ends
        gaps = [
            np.abs(cdf.evaluate_steps(self.pooled) - heights).max()
            for cdf in self.unsmoothed
        ]
        return np.array(gaps)

    def heights(self) -> Iterator[Floats]:
        """Yield each group's heights at the ends of the steps of the pooled CDF."""
        return (cdf.evaluate_steps(self.pooled) for cdf in self.cdfs)

    def height_range(self) -> tuple[Floats, Floats]:
        """Return the smallest and largest height at each step of the pooled CDF."""
        lowest = np.full(2 * len(self.pooled.scores), np.inf)
        highest = -lowest
        for heights in self.heights():
            np.minimum(lowest, heights, out=lowest)
            np.maximum(highest, heights, out=highest)
        return lowest, highest

    def largest_gap(self) -> float:
        """Return the largest distance between the CDFs of two groups."""
        lowest, highest = self.height_range()
        return float((highest - lowest).max())

    def gap_noise_quantile(self, tail: float) -> float:
        """Return a bound that the noise of some gap exceeds with probability `tail`.

        The probability is at most `tail` for all pairs of groups together, so that each
        pair has an equal part of it. The two smallest groups have the largest noise.
        """
        n_pairs = max(1, len(self.cdfs) * (len(self.cdfs) - 1) // 2)
        quantile = supremum_quantile(tail / n_pairs)
        return float(quantile * np.sqrt(self.largest_row_share()))

    def largest_row_share(self) -> float:
        """Return 1 over the number of rows, summed over the two smallest groups."""
        return float(np.sort(1 / self.n_rows)[-2:].sum())

    def mean_scores(self, heights: Floats) -> Floats:
        """Return the mean, by share, of the groups' scores at given heights."""
        first = self.cdfs[0].quantiles(heights[0])
        mean = first.copy()
        for cdf, share, row in zip(self.cdfs, self.shares, heights, strict=True):
            # The mean of equal scores must not be rounded.
            mean += share * (cdf.quantiles(row) - first)
        return mean

    def move_towards_pooled(self, level: float) -> Targets:
        """Return the targets of the paper, ``(1 - level) * F_g + level * F``."""
        move = partial(mix_heights, level, self.pooled.step_ends)
        return Targets(move, np.repeat(self.pooled.scores, 2), level != 0)

    def limit_gap(self, max_mcdp: float) -> Targets:
        """Return the targets ``clip(F_g, lowest, lowest + max_mcdp)``.

        No score changes where the CDFs of all groups lie within the band: there the
        band counts as infinitely wide.
        """
        lowest, highest = self.height_range()
        gaps = highest - lowest
        outside = np.flatnonzero(gaps - max_mcdp > _HEIGHT_ROUNDING * gaps)
        widths = np.full(len(gaps), np.inf)
        scores = np.repeat(self.pooled.scores, 2)
        n_parts = 1 + len(self.cdfs) * len(outside) // _MAX_HEIGHTS
        for steps in np.array_split(outside, n_parts):
            by_group = np.stack([heights[steps] for heights in self.heights()])
            band = self.find_band(scores[steps], by_group, max_mcdp)
            lowest[steps], scores[steps] = band
            widths[steps] = max_mcdp
        # Rounding must not make the scores fall.
        np.maximum.accumulate(scores, out=scores)
        return Targets(partial(clip_to_band, lowest, widths), scores, len(outside) > 0)

    def find_band(
        self, scores: Floats, heights: Floats, max_mcdp: Any
    ) -> tuple[Floats, Floats]:
        """Return the lower edge of the band at some scores, and their repaired values.

        The CDF of each group has a row of `heights`. The mean of the targets, by
        weight, equals the mean of the CDFs. The repaired score is the mean of the
        scores at which the groups' CDFs reach their targets; it equals the score where
        no CDF is clipped.
        """
        lowest = lowest_of_band(heights, self.shares, max_mcdp)
        mean = self.mean_scores(clip_to_band(lowest, max_mcdp, heights))
        # Scores that stay, such as those that rows share, stay to the last digit: they
        # may be thresholds.
        low, high = self.pooled.scores[[0, -1]]
        rounding = _HEIGHT_ROUNDING * np.minimum(scores - low, high - scores)
        stays = np.abs(mean - scores) <= rounding
        return lowest, np.where(stays, scores, mean)

    def repair_at(self, targets: Targets, group: int, heights: Floats) -> Floats:
        """Return the scores at which a group's target has given heights."""
        steps = targets.move(self.cdfs[group].evaluate_steps(self.pooled))
        # Rounding must not make the target fall.
        np.maximum.accumulate(steps, out=steps)
        return np.interp(heights, steps, targets.scores)

    def spread_and_repair(
        self, targets: Targets, population: tuple[LinearCDF, ...]
    ) -> Floats:
        """Return heights of a population's CDFs after the repair, a row for each group.

        Rows of the population that share a score are spread at random over the step of
        the learnt CDF.
        """
        by_group = zip(population, self.cdfs, self.heights(), strict=True)
        return np.stack(
            [
                thin(cdf.evaluate_where(learnt, targets.move(heights)))
                for cdf, learnt, heights in by_group
            ]
        )


class Targets(NamedTuple):
    """Targets of the groups' CDFs, for one amount of repair.

    `move` takes the heights of a group's CDF at the ends of the steps of the pooled
    CDF, and returns the heights of the group's target, which are reached at `scores`.
    `changes` says whether any score is changed.
    """

    move: Callable[[Any], Any]
    scores: Floats
    changes: bool


def mix_heights(level: Any, pooled: Any, heights: Any) -> Any:
    """Return the heights of a target: a group's heights mixed with pooled ones."""
    return (1 - level) * heights + level * pooled


def clip_to_band(lowest: Any, width: Any, heights: Any) -> Any:
    """Return the heights of a target that stays within a band."""
    return np.clip(heights, lowest, lowest + width)


def lowest_of_band(heights: Floats, shares: Floats, width: Any) -> Floats:
    """Return the lower edge of the band to which CDFs are clipped.

    `heights` has shape (n_groups, n_knots); `width` may differ from knot to knot. The
    mean of the heights, by share, is the same before and after clipping.
    """
    low = lowest = heights.min(axis=0)
    high = heights.max(axis=0) - width
    outside, mean = high > low, shares @ heights
    if len(heights) == 2:
        higher_share = np.where(heights[0] > heights[1], *shares)
        return np.asarray(np.where(outside, mean - higher_share * width, lowest))
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        below = shares @ np.clip(heights, middle, middle + width) < mean
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(np.where(outside, (low + high) / 2, lowest))


def interpolate(scores: Floats, knots: Floats, values: Floats) -> Floats:
    """Interpolate linearly between scores that may be subnormal numbers."""
    # Slopes between them would overflow; scaling by 2**100 is exact.
    return np.interp(scores * 2.0**100, knots * 2.0**100, values)


def thin(values: Floats) -> Floats:
    """Return 4,000 evenly spaced entries of an array, or all if it has fewer."""
    places = np.linspace(0, len(values) - 1, min(len(values), _N_POINTS))
    return values[places.astype(np.intp)]


def unpooled_share(n_rows: float) -> float:
    """Return the weight of a group's own rows where everyone's CDF is mixed in."""
    if n_rows >= MANY_ROWS_OF_GROUP:
        return 1.0
    return float(n_rows**2 / (n_rows**2 + _POOLED_ROWS**2))


def end_scores(scale: str, scores: Floats) -> tuple[float, float]:
    """Return the ends of the CDFs of scores; beyond them maps have slope 1."""
    if scale == "probability":
        return 0.0, 1.0
    return float(scores.min()), float(scores.max())


def weighted_distributions(rows: Rows) -> Distributions:
    """Return the score distributions of groups, of the rows that have a weight.

    Whole weights count rows in a fit.
    """
    if rows.weight is not None and not rows.weight.all():
        rows = rows[rows.weight > 0]
    statistic = Distributions.from_rows(rows)
    if statistic.weights.dtype.kind == "i":
        statistic = replace(statistic, squares=statistic.totals)
    return statistic


def row_counts(statistic: Distributions) -> NDArray[Any]:
    """Return the rows of each group; whole weights count rows."""
    whole = statistic.weights.dtype.kind == "i"
    return statistic.totals if whole else statistic.counts


def _tied_shares(statistic: Distributions) -> Floats:
    """Return the share of its group that has the score of each entry.

    The share is 0 where a single row has the score.
    """
    shares = statistic.weights / statistic.totals[statistic.codes]
    one_row = 1 / row_counts(statistic)[statistic.codes]
    return np.where(shares > one_row, shares, 0)


def has_ties(statistic: Distributions, n_rows: NDArray[Any]) -> bool:
    """Return whether more rows of a group share a score than sampling noise can hide.

    Ties move the group's CDF by the share of its rows that are tied, sampling moves it
    by about ``1 / sqrt(n_rows)``, where `n_rows` counts the rows of the fit.
    """
    limits = 1 / np.sqrt(np.maximum(n_rows, 1))
    return bool((_tied_shares(statistic) > limits[statistic.codes]).any())

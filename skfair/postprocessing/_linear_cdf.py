"""CDFs of groups that are linear between scores, and what a repair makes of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.special import logit

from skfair._training_rows import TrainingRows
from skfair._utils._arithmetic import quotients
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
#: A smoothed CDF is used where it is at most so many 1 / sqrt(n) from the exact one.
_LARGEST_CHANGE = 0.7
#: Points of the grid on which a CDF is smoothed, for each standard deviation of the
#: kernel, and standard deviations at which the kernel ends.
_FINENESS, _REACH = 8, 5
#: Changes of heights and scores below this are rounding.
_ROUNDING = 1e-9
#: Mean of Kolmogorov's distribution, which is that of the largest gap between two
#: samples of one distribution, in units of ``sqrt(1 / n_1 + 1 / n_2)``.
MEAN_NOISE = np.sqrt(np.pi / 2) * np.log(2)


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

    def smoothed(self, statistic: GroupedScores, group: int) -> LinearCDF:
        """CDF of the same rows, smoothed by a normal kernel in their log-odds.

        The kernel's standard deviation is that of the n log-odds, times n^(-1/3). The
        CDF is returned as it is where smoothing moves it by more than sampling noise:
        then many rows share a score, or the density is too uneven for this kernel.
        """
        scores, weights = statistic.of_group(group)
        log_odds = logit(np.clip(scores, 1e-9, 1 - 1e-9))
        n_rows, shares = row_counts(statistic)[group], weights / weights.sum()
        variance = shares @ (log_odds - shares @ log_odds) ** 2
        step = np.sqrt(variance) * n_rows ** (-1 / 3) / _FINENESS
        if not step > 0:
            return self
        # Each row is split between the two points of the grid that are next to it.
        places = (log_odds - log_odds[0]) / step + _FINENESS * _REACH
        left = np.floor(places).astype(np.intp)
        size = left[-1] + _FINENESS * _REACH + 2
        right_share = shares * (places - left)
        at_points = np.bincount(left, shares - right_share, size)
        at_points += np.bincount(left + 1, right_share, size)
        heights = gaussian_filter1d(
            np.cumsum(at_points) - at_points / 2, _FINENESS, mode="nearest"
        )
        own = np.searchsorted(self.scores, scores)
        smooth = np.clip(np.interp(places, np.arange(size), heights), 0, 1)
        change = np.maximum(smooth - self.low[own], self.high[own] - smooth).max()
        if change > _LARGEST_CHANGE / np.sqrt(n_rows):
            return self
        middle = self.middle
        middle[own] = smooth
        return LinearCDF(self.scores, middle, middle)


class GroupCDFs(NamedTuple):
    """CDFs of the groups that have rows, and of everyone.

    Those of small groups are shrunk to the latter: `shrinkage` is the share of everyone
    in the CDF of each group, `own` are the CDFs before that. `shares` are the groups'
    shares of the weight, `n_rows` their numbers of rows.
    """

    labels: tuple[Hashable, ...]
    cdfs: tuple[LinearCDF, ...]
    own: tuple[LinearCDF, ...]
    pooled: LinearCDF
    shares: Floats
    shrinkage: Floats
    n_rows: NDArray[Any]

    @classmethod
    def of(
        cls,
        statistic: GroupedScores,
        ends: tuple[float, float] = (0.0, 1.0),
        *,
        smooth: bool = False,
    ) -> Self:
        """CDFs of the groups, of which small ones are shrunk as their rows tell."""
        pooled = LinearCDF.of(statistic, None, ends)
        present = np.flatnonzero(statistic.counts)
        own = tuple(LinearCDF.of(statistic, group, ends) for group in present.tolist())
        shares = statistic.totals[present] / statistic.totals.sum()
        n_rows = row_counts(statistic)[present]
        labels = tuple(statistic.labels[group] for group in present)
        found = cls(labels, own, own, pooled, shares, np.zeros(len(own)), n_rows)
        if smooth:
            cdfs = zip(own, present.tolist(), strict=True)
            found = found._replace(
                cdfs=tuple(cdf.smoothed(statistic, group) for cdf, group in cdfs)
            )
        if len(own) < 2 or n_rows.min() >= _LARGE:
            return found
        shrinkage = _shrinkage(n_rows, shares, found.distances())
        return found.shrunk(shrinkage) if shrinkage.any() else found

    def shrunk(self, shrinkage: Floats) -> Self:
        """Mix each CDF with that of everyone, which gets the given share."""
        cdfs = []
        for cdf, share in zip(self.cdfs, shrinkage.tolist(), strict=True):
            knots = np.searchsorted(self.pooled.scores, cdf.scores)
            low = (1 - share) * cdf.low + share * self.pooled.low[knots]
            high = (1 - share) * cdf.high + share * self.pooled.high[knots]
            cdfs.append(LinearCDF(cdf.scores, low, high))
        return self._replace(cdfs=tuple(cdfs), shrinkage=shrinkage)

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

    def noise(self, level: float) -> tuple[float, float]:
        """Noise of a gap of two groups that is exceeded with the probability `level`.

        It is that of the two smallest groups, at a level for all pairs together. The
        second number is the sum of the shares of one row in these two groups.
        """
        inverse_sizes = np.sort(1 / self.n_rows)[-2:]
        n_pairs = max(1, len(self.cdfs) * (len(self.cdfs) - 1) // 2)
        quantile = supremum_quantile(level / n_pairs)
        return float(quantile * np.sqrt(inverse_sizes.sum())), float(
            inverse_sizes.sum()
        )

    def largest_gap(self) -> float:
        """Largest distance between the CDFs of two groups."""
        lowest, highest = self.range(np.zeros(len(self.cdfs)))
        return float((highest - lowest).max())

    def range(self, margins: Floats) -> tuple[Floats, Floats]:
        """Least and largest height at each knot of the pooled CDF, and a margin."""
        lowest = np.full(2 * len(self.pooled.scores), np.inf)
        highest = -lowest
        for heights, margin in zip(self.heights(), margins, strict=True):
            np.minimum(lowest, heights - margin, out=lowest)
            np.maximum(highest, heights + margin, out=highest)
        return lowest, highest


class Limit(NamedTuple):
    """How far apart the CDFs of groups may be where their gap is smaller or larger.

    A gap S becomes ``S / (1 + (S / scale)^sharpness)^(1 / sharpness)``, with the scale
    for which the `largest` gap becomes the one allowed. The larger the gap is beside
    sampling noise, the nearer is this to the least of S and the gap allowed.
    """

    margins: Floats
    largest: float
    sharpness: float

    @classmethod
    def of(cls, groups: GroupCDFs) -> Self:
        """Limit by the largest gap of groups, and by the noise of it."""
        margins = groups.margins()
        lowest, highest = groups.range(margins)
        where = int((highest - lowest).argmax())
        end = groups.pooled.scores[[where // 2]], np.array([where % 2 == 1])
        there = np.array([cdf.ends_at(*end)[0] for cdf in groups.cdfs])
        pair = [there.argmin(), there.argmax()]
        noise = 2 * MEAN_NOISE * np.sqrt((1 / groups.n_rows[pair]).sum())
        largest = float((highest - lowest)[where])
        return cls(margins, largest, max(1.0, largest / noise))

    def widths(self, gaps: Floats, max_mcdp: Any) -> Floats:
        """Gap that is left of each, where `max_mcdp` is to be left of the largest."""
        largest = self.largest or 1.0
        allowed = np.clip(max_mcdp, 1e-300, largest)
        with np.errstate(divide="ignore"):
            excess = self.sharpness * np.log(largest / allowed)
            excess += np.log(-np.expm1(-excess))
            excess += self.sharpness * np.log(gaps / largest)
        return np.asarray(gaps * np.exp(-np.logaddexp(0, excess) / self.sharpness))


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


class TargetBand(NamedTuple):
    """Target ``clip(F_g, lowest, lowest + width)``, in a band that all groups share.

    The band lies so that the mean of all targets, by weight, is the mean of the CDFs.
    `margins` narrow it for groups whose own CDF is not the one that is clipped.
    Where all targets pass the score x, the repaired score is that in `scores`: the mean
    of the groups' own scores there, which is x where no CDF is clipped.
    """

    lowest: Any
    width: Any
    margins: Floats
    scores: Any = None
    moves: bool = True

    @classmethod
    def within(cls, groups: GroupCDFs, max_mcdp: float) -> Self:
        """Band at all scores, which no target leaves."""
        limit = Limit.of(groups)
        lowest, highest = groups.range(limit.margins)
        gaps = highest - lowest
        moved = gaps - limit.widths(gaps, max_mcdp)
        outside = np.flatnonzero(moved > _ROUNDING * gaps)
        widths = np.full(len(gaps), np.inf)
        scores = np.repeat(groups.pooled.scores, 2)
        n_parts = 1 + len(groups.cdfs) * len(outside) // _MAX_HEIGHTS
        for knots in np.array_split(outside, n_parts):
            every = np.stack([heights[knots] for heights in groups.heights()])
            part = cls.at(groups, scores[knots], every, max_mcdp, limit)
            lowest[knots], widths[knots] = part.lowest, part.width
            scores[knots] = part.scores
        # Rounding must not make the scores fall.
        np.maximum.accumulate(scores, out=scores)
        return cls(lowest, widths, limit.margins, scores, len(outside) > 0)

    @classmethod
    def at(
        cls,
        groups: GroupCDFs,
        scores: Floats,
        heights: Floats,
        max_mcdp: Any,
        limit: Limit,
    ) -> Self:
        """Band at some scores, where the CDF of each group has a row of heights."""
        margins = limit.margins[:, None]
        gaps = (heights + margins).max(axis=0) - (heights - margins).min(axis=0)
        widths = limit.widths(gaps, max_mcdp)
        narrowed = np.minimum(margins, widths / 2)
        lowest = lowest_of_band(heights, groups.shares, narrowed, widths)
        targets = np.clip(heights, lowest + narrowed, lowest + widths - narrowed)
        mean = groups.mean_scores(targets)
        # Scores that stay, such as those that rows share, stay to the last digit: they
        # may be thresholds.
        low, high = groups.pooled.scores[[0, -1]]
        rounding = _ROUNDING * np.minimum(scores - low, high - scores)
        stays = np.abs(mean - scores) <= rounding
        return cls(lowest, widths, limit.margins, np.where(stays, scores, mean))

    def target(self, heights: Any, group: int) -> Any:
        """Heights of the target where the CDF of the group has `heights`."""
        margin = np.minimum(self.margins[group], self.width / 2)
        return np.clip(heights, self.lowest + margin, self.lowest + self.width - margin)


Path: TypeAlias = Mixture | TargetBand


def lowest_of_band(
    heights: Floats, shares: Floats, margins: Floats, width: Any
) -> Floats:
    """Lower edge, at each knot, of the band to which the groups' CDFs are clipped.

    `heights` has shape (n_groups, n_knots); `margins` and `width` may differ from
    knot to knot. The mean of the clipped heights, by share, is that of the heights.
    """
    low = fitting = (heights - margins).min(axis=0)
    high = (heights + margins).max(axis=0) - width
    outside, mean = high > low, shares @ heights
    if len(heights) == 2 and not margins.any():
        higher = np.where(heights[0] > heights[1], *shares)
        return np.asarray(np.where(outside, mean - higher * width, fitting))
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        clipped = np.clip(heights, middle + margins, middle + width - margins)
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
    if isinstance(path, TargetBand):
        scores = path.scores
    return np.interp(heights, knots, scores)


def _shrinkage(n_rows: NDArray[Any], shares: Floats, distances: Floats) -> Floats:
    """Share of everyone in the CDF of each group, 0 for large groups.

    A small group weighs as its rows beside ten rows of everyone, times the evidence
    that it differs from the others: 0 up to the mean distance of samples of one
    distribution, 1 from the distance on that 5 % of them exceed.
    """
    noise = np.sqrt(1 / n_rows + 1 / (n_rows.sum() - n_rows))
    largest = supremum_quantile(0.05) * noise * (1 - shares)
    mean = MEAN_NOISE * noise * (1 - shares)
    # A group whose share rounds to 1 is everyone, and differs by nothing.
    above, width = distances - mean, largest - mean
    evidence = quotients(above, width)
    own = np.clip(evidence, 0, 1) * n_rows / (n_rows + _ADDED_ROWS)
    small = np.clip((_LARGE - n_rows) / (_LARGE - _SMALL), 0, 1)
    return np.asarray(small * (1 - own))


def takes_smooth(max_mcdp: float | None, confidence: float | None) -> bool:
    """Whether a repair of probabilities smooths CDFs: to a gap without a certificate.

    Certificates hold for exact CDFs.
    """
    return max_mcdp is not None and confidence is None


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


def distributions(rows: TrainingRows) -> GroupedScores:
    """Score distributions of the groups."""
    return GroupedScores.from_scores(
        rows.scores,
        sensitive_features=rows.groups,
        scale="real",
        sample_weight=rows.sample_weight,
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

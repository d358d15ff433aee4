"""CDFs of groups that are linear between scores, and how many rows share a score."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from skfair.statistics import GroupedScores

Floats: TypeAlias = NDArray[np.float64]

#: Rows of everyone that are added to those of a small group.
_ADDED_ROWS = 10
#: Numbers of rows up to which a group is small, and from which on it is large.
_SMALL, _LARGE = 100, 200


class LinearCDF(NamedTuple):
    """CDF that is piecewise linear from (0, 0) to (1, 1), with a knot at each score.

    The i-th of n rows, in order, has the height (i - 1/2) / n; rows that share a score
    make a vertical step there, from `low` to `high`, which are equal for one row.
    """

    scores: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, statistic: GroupedScores, group: int | None) -> Self:
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
        # The half rows at both ends are interpolated up to (0, 0) and (1, 1).
        if scores[0] > 0:
            scores, low, high = (np.append(0.0, part) for part in (scores, low, high))
        if scores[-1] < 1:
            scores, low, high = (np.append(part, 1.0) for part in (scores, low, high))
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

    def below(self, score: float) -> float:
        """Height of the CDF at a score; at a knot, the lower end of the step."""
        knot = int(np.searchsorted(self.scores, score))
        if self.scores[knot] == score:
            return float(self.low[knot])
        return float(self.at(np.array([score]))[0])

    def heights_of(self, scores: Floats, random: RandomState | None) -> Floats:
        """Heights of scores: within a step they are random, or else its middle."""
        heights = self.at(scores)
        knots = np.searchsorted(self.scores, scores)
        at_knot = self.scores[knots] == scores
        knots = knots[at_knot]
        if random is None:
            heights[at_knot] = self.middle[knots]
        else:
            heights[at_knot] = random.uniform(self.low[knots], self.high[knots])
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
    def of(cls, statistic: GroupedScores, shrinkage: Floats | None = None) -> Self:
        """CDFs of the groups, shrunk as given, or as the rows tell."""
        pooled = LinearCDF.of(statistic, None)
        present = np.flatnonzero(statistic.counts)
        own = tuple(LinearCDF.of(statistic, group) for group in present.tolist())
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
        heights = (cdf.at_knots_of(self.pooled) for cdf in self.own)
        return np.array([np.abs(part - self.pooled.ends).max() for part in heights])

    def margins(self) -> Floats:
        """Largest distance of each CDF from the one before it was shrunk."""
        if not self.shrinkage.any():
            return np.zeros(len(self.cdfs))
        return self.distances() * self.shrinkage

    def heights(self) -> Iterator[Floats]:
        """Heights of one CDF after the other at the knots of the pooled one."""
        return (cdf.at_knots_of(self.pooled) for cdf in self.cdfs)

    def largest_gap(self) -> float:
        """Largest distance between the CDFs of two groups."""
        lowest = np.full(2 * len(self.pooled.scores), np.inf)
        highest = -lowest
        for heights in self.heights():
            np.minimum(lowest, heights, out=lowest)
            np.maximum(highest, heights, out=highest)
        return float((highest - lowest).max())


def sampling_noise(own_rows: Floats, other_rows: Floats, n_tests: int) -> Floats:
    """Distance of the CDFs of two samples of one distribution that 5 % exceed.

    At most 5 % for all tests together: the bound of Dvoretzky, Kiefer, Wolfowitz and
    Massart.
    """
    inverse_sizes = 1 / own_rows + 1 / other_rows
    return np.asarray(np.sqrt(np.log(2 * n_tests / 0.05) / 2 * inverse_sizes))


def _shrinkage(n_rows: NDArray[Any], shares: Floats, distances: Floats) -> Floats:
    """Share of everyone in the CDF of each group, 0 for large groups.

    A small group weighs as its rows beside ten rows of everyone, times the evidence
    that it differs from the others: 0 within sampling noise, 1 from 1.5 times that on.
    """
    noise = sampling_noise(n_rows, n_rows.sum() - n_rows, 1) * (1 - shares)
    evidence = 2 * distances / noise - 2
    own = np.clip(evidence, 0, 1) * n_rows / (n_rows + _ADDED_ROWS)
    small = np.clip((_LARGE - n_rows) / (_LARGE - _SMALL), 0, 1)
    return np.asarray(small * (1 - own))


def interpolate(scores: Floats, knots: Floats, values: Floats) -> Floats:
    """Interpolate linearly between scores in [0, 1] that may be subnormal numbers."""
    # Slopes between them would overflow; scaling by 2**100 is exact.
    return np.interp(scores * 2.0**100, knots * 2.0**100, values)


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

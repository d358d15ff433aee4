"""The map that moves each group's score distribution towards everyone's."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfair.statistics import GroupedScores

Floats = NDArray[np.float64]


class Curve(NamedTuple):
    """A CDF as a polygon from (0, 0) to (1, 1) with a knot at each distinct score.

    The i-th of n rows, in order, stands at the height (i - 1/2) / n; rows that share
    a score make a vertical piece there, from `low` to `high`.

    Attributes
    ----------
    scores : ndarray of shape (n_knots,)
        Increasing from 0 to 1.
    low, high : ndarray of shape (n_knots,)
        Ends of the vertical piece at each score; equal where one row has it.
    """

    scores: Floats
    low: Floats
    high: Floats

    @property
    def middle(self) -> Floats:
        """Mid-distribution: one height for all rows that share a score."""
        return (self.low + self.high) / 2


def curve_of(statistic: GroupedScores, group: int | None) -> Curve:
    """CDF of one group, or of everyone.

    Parameters
    ----------
    statistic : GroupedScores
    group : int or None
        Position of a group that has rows; None is everyone.

    Returns
    -------
    Curve
    """
    if group is None:
        scores, weights = _join(statistic.scores, statistic.weights)
        total, count = statistic.totals.sum(), _row_counts(statistic).sum()
    else:
        scores, weights = statistic.of_group(group)
        total, count = statistic.totals[group], _row_counts(statistic)[group]
    shares = weights / total
    upper = np.cumsum(weights) / total
    half_row = np.minimum(shares, 1 / count) / 2
    high = np.clip(upper - half_row, 0, 1)
    # A knot of one row must not be torn apart, or turned around, by rounding.
    low = np.where(shares > 2 * half_row, upper - shares + half_row, high)
    low = np.clip(low, 0, high)
    # The half rows left at both ends are spread out, which extrapolates.
    if scores[0] > 0:
        scores, low, high = (np.append(0.0, part) for part in (scores, low, high))
    if scores[-1] < 1:
        scores, low, high = (np.append(part, 1.0) for part in (scores, low, high))
    return Curve(scores, low, high)


def invert(curve: Curve, target: Curve, level: float, heights: Floats) -> Floats:
    """Generalised inverse of ``(1 - level) * curve + level * target``.

    Parameters
    ----------
    curve : Curve
        CDF of a group.
    target : Curve
        CDF of everyone, which has knots at all scores of the group.
    level : float in [0, 1]
    heights : ndarray of shape (n,)
        In [0, 1]; fastest if sorted.

    Returns
    -------
    ndarray of shape (n,)
    """
    high = _upper(curve, target.scores)
    low = high.copy()
    low[np.searchsorted(target.scores, curve.scores)] = curve.low
    knots = np.empty(2 * len(high))
    knots[0::2] = (1 - level) * low + level * target.low
    knots[1::2] = (1 - level) * high + level * target.high
    return np.interp(heights, knots, np.repeat(target.scores, 2))


def height_reaching(
    curve: Curve, target: Curve, levels: Floats, threshold: float
) -> Floats:
    """Least height in the group whose repaired score reaches a threshold.

    Parameters
    ----------
    curve, target : Curve
    levels : ndarray of shape (n_levels,)
    threshold : float in [0, 1]

    Returns
    -------
    ndarray of shape (n_levels,)
    """
    here, there = _lower(curve, threshold), _lower(target, threshold)
    return (1 - levels) * here + levels * there


def heights_of(
    curve: Curve, scores: Floats, random: np.random.RandomState | None
) -> Floats:
    """Heights of scores in the curve.

    Parameters
    ----------
    curve : Curve
    scores : ndarray of shape (n,)
    random : RandomState or None
        Draws the heights of rows that share a score; None gives them the middle.

    Returns
    -------
    ndarray of shape (n,)
    """
    heights = _upper(curve, scores)
    knots = np.searchsorted(curve.scores, scores)
    at_knot = curve.scores[knots] == scores
    knots = knots[at_knot]
    heights[at_knot] = (
        curve.middle[knots]
        if random is None
        else random.uniform(curve.low[knots], curve.high[knots])
    )
    return heights


def has_ties(statistic: GroupedScores) -> bool:
    """Whether more rows of a group share a score than sampling noise can hide.

    Such ties displace the group's CDF by their share of its n rows, sampling by about
    ``1 / sqrt(n)``.

    Parameters
    ----------
    statistic : GroupedScores

    Returns
    -------
    bool
    """
    limits = 1 / np.sqrt(np.maximum(_row_counts(statistic), 1))
    return bool((_tied_shares(statistic) > limits[statistic.codes]).any())


def has_heavy_ties(statistic: GroupedScores) -> bool:
    """Whether a fifth of the rows of a group share a score.

    Parameters
    ----------
    statistic : GroupedScores

    Returns
    -------
    bool
    """
    # Measured on Adult and Bank: below 0.14 (boosting, shallow trees) the ensemble is
    # the fairer one, above 0.24 (forests, neighbours) a refit with spread ties is.
    return bool((_tied_shares(statistic) > 0.2).any())


def _tied_shares(statistic: GroupedScores) -> Floats:
    """Share of its group that the rows of each entry have; 0 for a single row."""
    shares = statistic.weights / statistic.totals[statistic.codes]
    one_row = 1 / _row_counts(statistic)[statistic.codes]
    return np.where(shares > one_row, shares, 0)


def _row_counts(statistic: GroupedScores) -> NDArray[Any]:
    """Rows of each group; whole weights count rows."""
    whole = statistic.weights.dtype.kind == "i"
    return statistic.totals if whole else statistic.counts


def _upper(curve: Curve, scores: Floats) -> Floats:
    """Heights of the curve, at knots those of the upper end."""
    heights = np.stack([curve.low, curve.high], axis=1).ravel()
    # Between the least of numbers a slope would overflow; powers of two are exact.
    return np.interp(scores * 2.0**100, np.repeat(curve.scores, 2) * 2.0**100, heights)


def _lower(curve: Curve, score: float) -> float:
    knot = int(np.searchsorted(curve.scores, score))
    if curve.scores[knot] == score:
        return float(curve.low[knot])
    return float(_upper(curve, np.array([score]))[0])


def _join(scores: Floats, weights: NDArray[Any]) -> tuple[Floats, NDArray[Any]]:
    """Add up the weights of equal scores, which are neighbours."""
    starts = np.flatnonzero(np.diff(scores, prepend=-1.0))
    if len(starts) == len(scores):
        return scores, weights
    return scores[starts], np.add.reduceat(weights, starts)

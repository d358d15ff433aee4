"""Where the groups' score distributions lie furthest apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skfair.metrics._distribution._mcdp import largest_sustained_gap
from skfair.statistics import GroupedScores


@dataclass(frozen=True)
class GapMark:
    """Where MCDP(epsilon) is attained.

    Attributes
    ----------
    epsilon : float
        Half the length of the window.
    value : float
        MCDP(epsilon).
    pair : tuple of two ints
        Positions of the two groups.
    score : float
        Score from which on the gap equals `value`; nan where that is 0.
    shares : tuple of two floats
        The two CDFs at `score`, in the order of `pair`.
    window : tuple of two floats
        Scores between which the gap is nowhere smaller; `score` twice if `epsilon`
        is 0, and nan if `value` is.
    """

    epsilon: float
    value: float
    pair: tuple[int, int]
    score: float
    shares: tuple[float, float]
    window: tuple[float, float]


def gap_mark(statistic: GroupedScores, epsilon: float) -> GapMark:
    """Mark MCDP(epsilon) at the pair of groups with the largest value."""
    value, (first, second), score, window = largest_sustained_gap(statistic, epsilon)
    assert second is not None  # groups are compared in pairs
    shares = math.nan, math.nan
    if value > 0:
        shares = (
            share_at(*step_cdf(statistic, first), score),
            share_at(*step_cdf(statistic, second), score),
        )
    return GapMark(epsilon, value, (first, second), score, shares, window)


def step_cdf(
    statistic: GroupedScores, group: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """CDF of one group as post steps from (0, 0) to (1, 1)."""
    scores, shares = statistic.cdf(group)
    return np.concatenate([[0.0], scores, [1.0]]), np.concatenate(
        [[0.0], shares, [1.0]]
    )


def at_scores(
    scores: NDArray[np.float64], shares: NDArray[np.float64], where: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Evaluate a CDF, given as `step_cdf` returns it, at scores in [0, 1]."""
    return shares[np.searchsorted(scores, where, side="right") - 1]


def share_at(
    scores: NDArray[np.float64], shares: NDArray[np.float64], score: float
) -> float:
    """Evaluate a CDF, given as `step_cdf` returns it, at one score."""
    return float(at_scores(scores, shares, np.array([score]))[0])

"""Where the groups' score distributions lie furthest apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from skfair.metrics._distribution._mcdp import sustained_gap
from skfair.statistics import GroupedScores
from skfair.statistics._grouped_scores import Gap, gap_between


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


def step_cdf(
    statistic: GroupedScores, group: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """CDF of one group as post steps from (0, 0) to (1, 1).

    Parameters
    ----------
    statistic : GroupedScores
    group : int

    Returns
    -------
    scores, shares : ndarray of shape (n_distinct + 2,)
    """
    scores, weights = statistic.of_group(group)
    shares = np.cumsum(weights) / statistic.totals[group]
    shares[-1] = 1  # without rounding
    return np.concatenate([[0.0], scores, [1.0]]), np.concatenate(
        [[0.0], shares, [1.0]]
    )


def at_scores(
    scores: NDArray[np.float64], shares: NDArray[np.float64], where: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Values of a step CDF.

    Parameters
    ----------
    scores, shares : ndarray of shape (n_steps,)
        As `step_cdf` returns them.
    where : ndarray of shape (n,)
        Scores in [0, 1].

    Returns
    -------
    ndarray of shape (n,)
    """
    return shares[np.searchsorted(scores, where, side="right") - 1]


def gap_marks(statistic: GroupedScores, epsilons: list[float]) -> list[GapMark]:
    """Mark MCDP for each epsilon, at the pair of groups with the largest value.

    Parameters
    ----------
    statistic : GroupedScores
    epsilons : list of float

    Returns
    -------
    list of GapMark
    """
    best: list[tuple[float, tuple[int, int], Gap] | None] = [None] * len(epsilons)
    for pair in combinations(range(statistic.n_groups), 2):
        gap = gap_between(statistic, *pair)
        for i, epsilon in enumerate(epsilons):
            value, leader = sustained_gap(gap, epsilon), best[i]
            if leader is None or value > leader[0]:
                best[i] = value, pair, gap
    return [
        _mark(statistic, epsilon, *found)
        for epsilon, found in zip(epsilons, best, strict=True)
        if found is not None
    ]


def _mark(
    statistic: GroupedScores,
    epsilon: float,
    value: float,
    pair: tuple[int, int],
    gap: Gap,
) -> GapMark:
    if value == 0:
        nan = math.nan
        return GapMark(epsilon, value, pair, nan, (nan, nan), (nan, nan))
    heights = np.abs(gap.signed) / gap.scale
    if epsilon == 0:
        score = float(gap.scores[heights.argmax()])
        window = score, score
    else:
        window = _window(gap.scores, heights >= value, epsilon)
        # Every window of the run sees the value, or a higher one would be sustained.
        seen = np.searchsorted(gap.scores, window, side="right") - 1
        pieces = np.arange(max(seen[0], 0), seen[1] + 1)
        nearest = pieces[np.abs(heights[pieces] - value).argmin()]
        score = max(float(gap.scores[nearest]), window[0])
    shares = [
        float(at_scores(*step_cdf(statistic, group), np.array([score]))[0])
        for group in pair
    ]
    return GapMark(epsilon, value, pair, score, (shares[0], shares[1]), window)


def _window(
    scores: NDArray[np.float64], above: NDArray[np.bool_], epsilon: float
) -> tuple[float, float]:
    """Centre a window in the run of pieces that has most room for it."""
    changes = np.diff(above.astype(np.int8), prepend=0, append=0)
    starts = scores[np.flatnonzero(changes > 0)]
    stops = scores[np.flatnonzero(changes < 0)]
    room = (stops - starts) / 2
    room[starts == 0] = stops[starts == 0]  # a window may be cut at 0
    run = int(room.argmax())
    start, stop = float(starts[run]), float(stops[run])
    if start == 0 and stop <= 2 * epsilon:
        return 0.0, epsilon
    left = (start + stop) / 2 - epsilon
    return left, left + 2 * epsilon

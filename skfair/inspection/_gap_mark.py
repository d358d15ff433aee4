"""Where the groups' score distributions lie furthest apart."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from skfair.metrics._sustained_gap import sustained_gap
from skfair.statistics import GroupedScores
from skfair.statistics._gap import Gap, gap_between


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


def check_epsilon(epsilon: float) -> float:
    """Half window as a float.

    Parameters
    ----------
    epsilon : float

    Returns
    -------
    float

    Raises
    ------
    ValueError
        Unless it is a number in [0, 0.5].
    """
    if not isinstance(epsilon, numbers.Real) or not 0 <= epsilon <= 0.5:
        raise ValueError(f"epsilon must be a number in [0, 0.5], got {epsilon!r}.")
    return float(epsilon)


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
        start, stop, window = _longest_run(gap.scores, heights >= value, epsilon)
        # The level may have been lowered by a piece outside the window.
        score = float(gap.scores[start + int(heights[start:stop].argmin())])
        score = min(max(score, window[0]), window[1])
    shares = [
        float(at_scores(*step_cdf(statistic, group), np.array([score]))[0])
        for group in pair
    ]
    return GapMark(epsilon, value, pair, score, (shares[0], shares[1]), window)


def _longest_run(
    scores: NDArray[np.float64], above: NDArray[np.bool_], epsilon: float
) -> tuple[int, int, tuple[float, float]]:
    """Find the run of pieces with most room for a window, and centre one in it."""
    changes = np.diff(above.astype(np.int8), prepend=0, append=0)
    first, last = np.flatnonzero(changes > 0), np.flatnonzero(changes < 0)
    lengths = scores[last] - scores[first]
    room = lengths / 2
    room[scores[first] == 0] = lengths[scores[first] == 0]  # a window cut at 0
    run = int(room.argmax())
    start, stop = float(scores[first[run]]), float(scores[last[run]])
    if start == 0 and stop <= 2 * epsilon:
        window = 0.0, epsilon
    else:
        left = (start + stop) / 2 - epsilon
        window = left, left + 2 * epsilon
    return int(first[run]), int(last[run]), window

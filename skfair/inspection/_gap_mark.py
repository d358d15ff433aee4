"""Scores at which the groups' CDFs differ most, for the marks of pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from skfair._utils._arrays import Floats
from skfair._utils._validation import lie_in_unit_interval
from skfair.metrics._mcdp import locate_mcdp
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
        Positions of the two groups among the group labels.
    score : float
        Score at which the gap between the two CDFs is `value`; nan if `value` is 0.
    shares : tuple of two floats
        The two CDFs at `score`, in the order of `pair`.
    window : tuple of two floats
        Scores between which the gap is nowhere smaller than `value`. Both are `score`
        if `epsilon` is 0, and nan if `value` is 0.
    """

    epsilon: float
    value: float
    pair: tuple[int, int]
    score: float
    shares: tuple[float, float]
    window: tuple[float, float]


def gap_mark(statistic: GroupedScores, epsilon: float) -> GapMark:
    """Mark MCDP(epsilon) at the pair of groups with the largest value."""
    found = locate_mcdp(statistic, epsilon=epsilon)
    first, second = found.pair
    assert second is not None  # groups are compared in pairs
    pair, nowhere = (first, second), (math.nan, math.nan)
    if found.value == 0:
        return GapMark(epsilon, 0.0, pair, math.nan, nowhere, nowhere)
    where = found.score, found.figures, found.window
    return GapMark(epsilon, found.value, pair, *where)


def step_cdf(statistic: GroupedScores, group: int) -> tuple[Floats, Floats]:
    """Scores and heights of the CDF of one group, a step function from 0 to 1.

    Each height holds from its score to the next one. Numbers outside of [0, 1] begin
    and end with those of everyone.
    """
    low, high = 0.0, 1.0
    if not lie_in_unit_interval(statistic.scores):
        low, high = statistic.scores[[0, -1]].tolist()
    scores, shares = statistic.cdf(group)
    return np.concatenate([[low], scores, [high]]), np.concatenate(
        [[0.0], shares, [1.0]]
    )


def shares_at(scores: Floats, shares: Floats, where: Any) -> Any:
    """Heights of a CDF, in the form that `step_cdf` returns, at one or many scores."""
    return shares[np.searchsorted(scores, where, side="right") - 1]

"""The gap between two cumulative distribution functions, as a step function."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfair.statistics._grouped_scores import GroupedScores

#: Products of two whole totals stay below this, so that they are exact in int64.
MAX_EXACT = 2**62


class Gap(NamedTuple):
    """Difference of two CDFs: piece i is ``signed[i] / scale`` from ``scores[i]`` on.

    Below the first score both CDFs are 0; from the last on both are 1, and the gap
    is 0. Where all weights are whole numbers `signed` holds integers, free of
    rounding.

    Attributes
    ----------
    scores : ndarray of shape (n_pieces,), increasing
    signed : ndarray of shape (n_pieces,)
    scale : int or float
    totals : tuple of two numbers
        Total weights behind the two CDFs.
    """

    scores: NDArray[np.float64]
    signed: NDArray[Any]
    scale: float
    totals: tuple[float, float]


def gap_between(statistic: GroupedScores, first: int, second: int | None) -> Gap:
    """CDF of one group minus the CDF of another, or of everyone.

    Parameters
    ----------
    statistic : GroupedScores
    first : int
        Position of a group.
    second : int or None
        Position of another group; None stands for all groups together.

    Returns
    -------
    Gap
    """
    scores, codes, weights = statistic.scores, statistic.codes, statistic.weights
    totals = statistic.totals
    ours = totals[first]
    theirs = totals.sum() if second is None else totals[second]
    if second is not None and statistic.n_groups > 2:
        rows = np.concatenate([statistic.rows_of(first), statistic.rows_of(second)])
        rows.sort(kind="stable")
        scores, codes, weights = scores[rows], codes[rows], weights[rows]
    # An entry moves the gap by its weight times the step of its group.
    exact = weights.dtype.kind == "i" and float(ours) * float(theirs) < MAX_EXACT
    up, down = (theirs, ours) if exact else (1 / ours, 1 / theirs)
    scale = ours * theirs if exact else 1.0
    step = np.zeros(statistic.n_groups, dtype=np.int64 if exact else np.float64)
    step[slice(None) if second is None else second] = -down
    step[first] += up
    signed = step[codes]
    signed *= weights
    np.cumsum(signed, out=signed)
    if not exact:
        np.clip(signed, -1, 1, out=signed)
    signed[-1] = 0  # both CDFs end at 1, without rounding
    last = np.empty(len(scores), dtype=bool)
    np.not_equal(scores[1:], scores[:-1], out=last[:-1])
    last[-1] = True
    if not last.all():
        scores, signed = scores[last], signed[last]
    return Gap(scores, signed, float(scale), (float(ours), float(theirs)))

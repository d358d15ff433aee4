"""Linear program that bounds what baseline rows within a box can explain.

The shares that groups keep obey ``share_a * alpha_z <= h[a, z]``, also where alpha_z
is zero. On a box ``low <= alpha <= high`` a share is at most
``cap_a = min(1, min_z h[a, z] / low_z)``, and McCormick's inequality for the product,

    share_a + cap_a * alpha_z / high_z <= cap_a + h[a, z] / high_z,

is the tightest that is linear. The program has one unknown for each label and group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array

from skfair.metrics._dcp._clock import Clock
from skfair.metrics._dcp._linear_program import maximise
from skfair.metrics._dcp._rows import Floats, kept_shares

#: Bounds from the multipliers of a linear program are lifted by this much, more than
#: their rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Box:
    """Baseline rows between two corners, and how much they can explain at most.

    Attributes
    ----------
    low, high : ndarray of shape (n_labels,)
    limit : float
        Upper bound of the weight explained.
    multipliers : ndarray of shape (n_groups, n_labels)
        Of McCormick's inequalities, at most the weight of the group in sum.
    """

    low: Floats
    high: Floats
    limit: float
    multipliers: Floats


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Solution of the linear program of a box.

    Attributes
    ----------
    limit : float
        Upper bound of the weight explained within the box.
    baseline : ndarray of shape (n_labels,)
    shares : ndarray of shape (n_groups,)
    multipliers : ndarray of shape (n_groups, n_labels)
    """

    limit: float
    baseline: Floats
    shares: Floats
    multipliers: Floats


def relax(box: Box, rates: Floats, weights: Floats, clock: Clock) -> Relaxed | None:
    """Solve the linear program of a box.

    The limit is computed from the multipliers, so that it holds whatever the
    solver's tolerances.

    Parameters
    ----------
    box : Box
    rates : ndarray of shape (n_groups, n_labels)
    weights : ndarray of shape (n_groups,)
    clock : Clock

    Returns
    -------
    Relaxed, or None if the solver stopped without a solution
    """
    n_groups, n_labels = rates.shape
    cap = kept_shares(box.low, rates)
    used = box.high > 0
    # Elsewhere the inequality holds by the cap alone.
    binds = used & (rates < cap[:, None] * box.high)
    group, label = np.nonzero(binds)
    rows = np.arange(len(group))
    slopes = cap[group] / box.high[label]
    matrix = csc_array(
        (
            np.concatenate([slopes, np.ones(len(group))]),
            (np.concatenate([rows, rows]), np.concatenate([label, n_labels + group])),
        ),
        shape=(len(group), n_labels + n_groups),
    )
    simplex = csc_array(np.append(np.ones(n_labels), np.zeros(n_groups))[None, :])
    solved = maximise(
        np.append(np.zeros(n_labels), weights),
        matrix,
        cap[group] + rates[group, label] / box.high[label],
        np.append(box.low, np.zeros(n_groups)),
        np.append(box.high, cap),
        clock,
        equal=(simplex, np.ones(1)),
    )
    if solved is None:
        return None
    multipliers = np.zeros_like(rates)
    multipliers[group, label] = np.maximum(-solved.ineqlin.marginals, 0)
    excess = multipliers.sum(axis=1) / weights
    multipliers /= np.maximum(excess, 1.0)[:, None]
    limit = float(limits(box.low[None], box.high[None], rates, weights, multipliers)[0])
    alpha = np.clip(solved.x[:n_labels], 0, None)
    return Relaxed(
        min(limit, box.limit),
        alpha / alpha.sum(),
        solved.x[n_labels:],
        multipliers,
    )


def limits(
    lows: Floats, highs: Floats, rates: Floats, weights: Floats, multipliers: Floats
) -> Floats:
    """Bound what boxes can explain, by weighing McCormick's inequalities.

    Any multipliers give a bound; those of a box's parent often spare the linear
    program.

    Parameters
    ----------
    lows, highs : ndarray of shape (n_boxes, n_labels)
    rates, multipliers : ndarray of shape (n_groups, n_labels)
    weights : ndarray of shape (n_groups,)

    Returns
    -------
    ndarray of shape (n_boxes,)
    """
    cap = kept_shares(lows, rates)
    inverse = np.divide(1.0, highs, out=np.zeros_like(highs), where=highs > 0)
    constant = cap @ weights + inverse @ (multipliers * rates).sum(axis=0)
    prices = (cap @ multipliers) * inverse
    return np.asarray(constant - _least_cost(prices, lows, highs) + _ROUNDING)


def _least_cost(prices: Floats, lows: Floats, highs: Floats) -> Floats:
    """Least cost of a baseline row within each box; inf where there is none."""
    order = np.argsort(prices, axis=1)
    spare = np.take_along_axis(highs - lows, order, axis=1)
    sorted_prices = np.take_along_axis(prices, order, axis=1)
    rest = 1.0 - lows.sum(axis=1, keepdims=True)
    before = np.cumsum(spare, axis=1) - spare
    bought = np.clip(rest - before, 0, spare)
    cost = (lows * prices).sum(axis=1) + (bought * sorted_prices).sum(axis=1)
    short = (rest[:, 0] < -_ROUNDING) | (highs.sum(axis=1) < 1 - _ROUNDING)
    return np.where(short, np.inf, cost)

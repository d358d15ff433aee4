"""The worst-off share of groups: which groups form it, and their mean gap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skfair._parameters import check_real
from skfair.metrics._knapsack import ROUNDING, best_subset


def check_alpha(alpha: float) -> float:
    """Return the level of a tail, a number in [0, 1)."""
    return check_real("alpha", alpha, 0, 1, closed="left")


def tail_shares(
    gaps: NDArray[np.float64],
    weights: NDArray[np.float64],
    alpha: float,
    *,
    fractional: bool,
) -> NDArray[np.float64]:
    """How much of each group belongs to the tail Q of equation 28.

    Parameters
    ----------
    gaps : ndarray of shape (n_groups,)
    weights : ndarray of shape (n_groups,)
        Sum to one.
    alpha : float in [0, 1)
    fractional : bool
        Whether the last group may belong in part, so that Q weighs 1 - alpha.

    Returns
    -------
    ndarray of shape (n_groups,)
        From 0 to 1; only 0 and 1 unless fractional.
    """
    capacity = 1 - alpha
    order = np.argsort(-gaps, kind="stable")
    shares = np.zeros(len(gaps))
    if fractional:
        before = np.cumsum(weights[order]) - weights[order]
        room = np.clip(capacity - before, 0, weights[order])
        filled = np.ones(len(order))
        np.divide(room, weights[order], out=filled, where=weights[order] > 0)
        # A sliver left by rounding is no part of a group.
        shares[order] = np.where(filled > ROUNDING * 1e3, filled, 0)
        shares[weights == 0] = 0
    elif np.ptp(weights[weights > 0]) <= ROUNDING * weights.max():
        n_fitting = int((capacity + ROUNDING) / weights.max() * (1 + ROUNDING))
        shares[order[weights[order] > 0][:n_fitting]] = 1
    else:
        shares[best_subset(gaps, weights, capacity)] = 1
    return shares


def tail_mean(
    gaps: NDArray[np.float64],
    weights: NDArray[np.float64],
    shares: NDArray[np.float64],
    alpha: float,
) -> float:
    """Mean gap of the tail (equation 29).

    Parameters
    ----------
    gaps, weights, shares : ndarray of shape (n_groups,)
    alpha : float in [0, 1)

    Returns
    -------
    float in [0, 1]
    """
    # A mean never exceeds its largest part, whatever the rounding.
    value = (weights * shares) @ gaps / (1 - alpha)
    return float(min(value, gaps[shares > 0].max(initial=0.0)))

"""Lower bound of minDCP: predicted labels merged into two sets.

Merging predicted labels can only lower minDCP. With two sets the channel is one number
x_y for each true label, and what a group must lose is a continuous knapsack: with more
predictions of the first set than published, mass is best taken from the largest x
first; with fewer, from the largest 1 - x. The first loss grows with x and the second
falls, so that on a box ``low <= x <= high`` a group loses at least the first at `low`
and the second at `high`. Branch and bound on these boxes needs no linear program, and
is exact for two labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skfair.metrics._dcp._clock import Clock
from skfair.metrics._dcp._rows import Floats, halves
from skfair.metrics._min_dcp._channel import Frequencies

#: Boxes that are split at a time.
_BATCH = 4096
#: Batches of all searches together, so that the same input ends at the same bound.
_MAX_STEPS = 300


@dataclass(frozen=True, eq=False)
class Merged:
    """Predictions merged into two sets, seen from both.

    Attributes
    ----------
    weights : ndarray of shape (n_groups,)
    true : ndarray of shape (n_groups, n_labels)
    shares : ndarray of shape (2, n_groups)
        Published share of the first set, and of the second.
    """

    weights: Floats
    true: Floats
    shares: Floats


def knapsack(x: Floats, true: Floats, share: Floats) -> Floats:
    """Least mass that groups lose where a channel predicts a set too often.

    Parameters
    ----------
    x : ndarray of shape (n_points, n_labels)
        Probability of the set given each true label.
    true : ndarray of shape (n_groups, n_labels)
    share : ndarray of shape (n_groups,)
        Published share of the set.

    Returns
    -------
    ndarray of shape (n_points, n_groups)
    """
    order = np.argsort(-x, axis=1)
    rates = np.take_along_axis(x, order, axis=1)
    excess = x @ true.T - share
    np.maximum(excess, 0.0, out=excess)
    loss = np.zeros_like(excess)
    for position in range(x.shape[1]):
        mass, rate = true.T[order[:, position]], rates[:, position, None]
        taken = np.minimum(excess, mass * rate)
        # No mass is left to take where the rate is zero.
        loss += np.divide(taken, rate, out=np.zeros_like(taken), where=rate > 0)
        excess -= taken
    return loss


class MergedSearch:
    """Branch and bound for one way of merging, many boxes at a time.

    Parameters
    ----------
    data : Frequencies
    inside : ndarray of shape (n_labels,)
        Predicted labels of the first set.
    channel : ndarray of shape (n_labels, n_labels)
        A good channel, to start from.

    Attributes
    ----------
    lower, upper : float
        Bounds of the least loss with these two sets.
    """

    def __init__(self, data: Frequencies, inside: Floats, channel: Floats) -> None:
        self.weights, self.true = data.weights, data.true
        self.share = data.predicted @ inside
        n_labels = self.true.shape[1]
        # What a box's side means for the population decides which side is split.
        self.scale = self.weights @ self.true
        self.lows, self.highs = np.zeros((1, n_labels)), np.ones((1, n_labels))
        self.bounds = np.zeros(1)
        self.lower, self.closed = 0.0, np.inf
        self.upper = float(self._losses((channel @ inside)[None])[0])

    def _losses(self, x: Floats) -> Floats:
        return self._bounds(x, x)

    def _bounds(self, lows: Floats, highs: Floats) -> Floats:
        excess = knapsack(lows, self.true, self.share)
        shortage = knapsack(1 - highs, self.true, 1 - self.share)
        return np.asarray(np.maximum(excess, shortage) @ self.weights)

    def step(self, tol: float) -> None:
        """Split the boxes of the least bounds.

        Parameters
        ----------
        tol : float
            Boxes whose bound is this close to the best loss are closed.
        """
        n_split = min(_BATCH, len(self.bounds))
        chosen = np.argpartition(self.bounds, n_split - 1)[:n_split]
        rest = np.ones(len(self.bounds), bool)
        rest[chosen] = False
        lows, highs = self._split(self.lows[chosen], self.highs[chosen])
        bounds = self._bounds(lows, highs)
        bounds = np.maximum(bounds, np.tile(self.bounds[chosen], 2))
        self.upper = min(self.upper, float(self._losses((lows + highs) / 2).min()))
        self.lows = np.concatenate([self.lows[rest], lows])
        self.highs = np.concatenate([self.highs[rest], highs])
        self.bounds = np.concatenate([self.bounds[rest], bounds])
        open_ = self.bounds < self.upper - tol
        if not open_.all():
            self.closed = min(self.closed, float(self.bounds[~open_].min()))
            self.lows, self.highs = self.lows[open_], self.highs[open_]
            self.bounds = self.bounds[open_]
        least = float(self.bounds.min()) if len(self.bounds) else np.inf
        self.lower = min(least, self.closed)

    def _split(self, lows: Floats, highs: Floats) -> tuple[Floats, Floats]:
        each = np.arange(len(lows))
        side = ((highs - lows) * self.scale).argmax(axis=1)
        middle = (lows[each, side] + highs[each, side]) / 2
        new_lows, new_highs = np.tile(lows, (2, 1)), np.tile(highs, (2, 1))
        new_highs[each, side] = middle
        new_lows[len(each) + each, side] = middle
        return new_lows, new_highs

    @property
    def is_done(self) -> bool:
        """Whether no box is open."""
        return not len(self.bounds)


def merged_lower_bound(
    data: Frequencies, channel: Floats, goal: float, tol: float, clock: Clock
) -> float:
    """Largest lower bound over the ways of merging predictions into two sets.

    Parameters
    ----------
    data : Frequencies
    channel : ndarray of shape (n_labels, n_labels)
        The best channel known.
    goal : float
        Its loss; the search ends when the bound is within `tol` of it.
    tol : float
    clock : Clock

    Returns
    -------
    float
    """
    n_labels = data.true.shape[1]
    searches = [
        MergedSearch(data, inside.astype(float), channel) for inside in halves(n_labels)
    ]
    lower = 0.0
    for _ in range(_MAX_STEPS):
        if lower >= goal - tol or clock.is_over():
            break
        # Where the loss can still turn out largest.
        waiting = [s for s in searches if not s.is_done and s.upper > lower + tol]
        if not waiting:
            break
        search = max(waiting, key=lambda s: s.upper)
        search.step(tol / 4)
        lower = max(lower, search.lower)
    return min(lower, goal)

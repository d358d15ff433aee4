"""Lower bound of minDCP: predicted labels merged into two or three sets.

Merging predicted labels can only lower minDCP. For one set against all others the
channel is one number x_y for each true label, and what a group must lose is a
continuous knapsack: with more predictions of the set than published, mass is best
taken from the largest x first; with fewer, from the largest 1 - x. The first loss
grows with x and the second falls, so that on a box ``low <= x <= high`` a group loses
at least the first at `low` and the second at `high`. Branch and bound on these boxes
needs no linear program. With two sets it is exact; with three, a group loses at least
the most that any one of the sets makes it lose.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skfair.metrics._dcp._channel._channel import Frequencies
from skfair.metrics._dcp._search._linear_program import Clock
from skfair.metrics._dcp._search._rows import Floats, halves

#: Boxes that are split at a time.
_BATCH = 4096
#: Batches of each search in a round; after a round the better half goes on.
_ROUNDS = (5, 9, 18, 36, 66)
#: Ways of merging into two sets that are refined to three.
_N_REFINED = 4
#: Ways of merging that are tried at most, the most promising first.
_MAX_SEARCHES = 16


def knapsack(x: Floats, true: Floats, share: Floats) -> Floats:
    """Least mass that groups lose where a channel predicts a set too often.

    Parameters
    ----------
    x : ndarray of shape (n_points, n_classes)
        Probability of the set given each true label.
    true : ndarray of shape (n_groups, n_classes)
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
    sets : ndarray of shape (n_sets, n_classes)
        One set of predicted labels, the others being the second; or two disjoint
        sets, the others being the third.
    channel : ndarray of shape (n_classes, n_classes)
        A good channel: its loss bounds that of the merged problem.

    Attributes
    ----------
    lower, upper : float
        Bounds of the least loss with these sets.
    """

    def __init__(
        self, data: Frequencies, sets: NDArray[np.bool_], channel: Floats
    ) -> None:
        self.weights, self.true = data.weights, data.true
        self.sets = sets
        self.shares = sets @ data.predicted.T
        # What a box's side means for the population decides which side is split.
        self.scale = self.weights @ self.true
        shape = 1, len(sets), self.true.shape[1]
        self.lows, self.highs = np.zeros(shape), np.ones(shape)
        self.bounds = np.zeros(1)
        self.lower, self.closed = 0.0, np.inf
        at = (channel @ sets.T).T[None]
        self.upper = float(self._join(self._losses(at, at))[0])

    def _losses(self, lows: Floats, highs: Floats) -> list[Floats]:
        """Bound what each group loses, by each set and by the one that is left."""
        low = [lows[:, i] for i in range(len(self.sets))]
        high = [highs[:, i] for i in range(len(self.sets))]
        share = list(self.shares)
        if len(self.sets) == 2:
            # The third set is what the other two leave over.
            low.append(np.minimum(low[0] + low[1], 1.0))
            high.append(np.minimum(high[0] + high[1], 1.0))
            share.append(share[0] + share[1])
        return [
            np.maximum(knapsack(a, self.true, p), knapsack(1 - b, self.true, 1 - p))
            for a, b, p in zip(low, high, share, strict=True)
        ]

    def _join(self, losses: list[Floats]) -> Floats:
        return np.asarray(np.maximum.reduce(losses) @ self.weights)

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
        lows, highs, bounds = self._split(chosen)
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

    def _split(self, chosen: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
        """Halve one side of each box, of the set that promises the largest loss."""
        lows, highs = self.lows[chosen], self.highs[chosen]
        middles = (lows + highs) / 2
        now, then = self._losses(lows, highs), self._losses(middles, middles)
        if len(self.sets) == 1:
            self.upper = min(self.upper, float(self._join(then).min()))
        promises = [
            self._join([*now[:i], then[i], *now[i + 1 :]])
            for i in range(len(self.sets))
        ]
        each, best = np.arange(len(chosen)), np.argmax(promises, axis=0)
        side = ((highs - lows)[each, best] * self.scale).argmax(axis=1)
        middle = middles[each, best, side]
        lows, highs = np.tile(lows, (2, 1, 1)), np.tile(highs, (2, 1, 1))
        highs[each, best, side] = middle
        lows[len(each) + each, best, side] = middle
        bounds = np.tile(self.bounds[chosen], 2)
        if len(self.sets) == 2:
            # Two disjoint sets share a probability of one.
            fits = (lows.sum(axis=1) <= 1 + 1e-12).all(axis=1)
            lows, highs, bounds = lows[fits], highs[fits], bounds[fits]
            highs = np.minimum(highs, 1 - lows[:, ::-1])
            highs = np.maximum(highs, lows)
        return lows, highs, np.maximum(bounds, self._join(self._losses(lows, highs)))

    @property
    def is_done(self) -> bool:
        """Whether no box is open."""
        return not len(self.bounds)


def merged_lower_bound(
    data: Frequencies, channel: Floats, goal: float, tol: float, clock: Clock
) -> float:
    """Largest lower bound over ways of merging predictions into two or three sets.

    Parameters
    ----------
    data : Frequencies
    channel : ndarray of shape (n_classes, n_classes)
        The best channel known.
    goal : float
        Its loss; the search ends when the bound is within `tol` of it.
    tol : float
    clock : Clock

    Returns
    -------
    float
    """
    if clock.is_over():
        return 0.0
    pairs = [
        MergedSearch(data, inside[None], channel)
        for inside in halves(data.true.shape[1])
    ]
    # The loss of a good channel says how large the bound can become.
    pairs = sorted(pairs, key=lambda search: -search.upper)[:_MAX_SEARCHES]
    best = _advance(pairs, goal - tol, tol / 4, clock)
    refined = [
        MergedSearch(data, sets, channel)
        for search in sorted(pairs, key=lambda search: -search.lower)[:_N_REFINED]
        for sets in _refinements(search.sets[0])
    ]
    refined = sorted(refined, key=lambda search: -search.upper)[:_MAX_SEARCHES]
    if best < goal - tol:
        best = max(best, _advance(refined, goal - tol, tol / 4, clock))
    return min(best, goal)


def _advance(
    searches: list[MergedSearch], goal: float, tol: float, clock: Clock
) -> float:
    """Advance all searches, then the better half of them, and so on."""
    best = 0.0
    for n_steps in _ROUNDS:
        for search in searches:
            for _ in range(n_steps):
                if search.is_done or best >= goal or clock.is_over():
                    break
                search.step(tol)
                best = max(best, search.lower)
        waiting = [s for s in searches if not s.is_done and s.upper > best + tol]
        waiting.sort(key=lambda search: -search.lower)
        searches = waiting[: -(-len(waiting) // 2)]
    return best


def _refinements(inside: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
    """Both ways of splitting one of two sets, as the two sets that result."""
    ways = []
    for whole in (inside, ~inside):
        members = np.flatnonzero(whole)
        for part in halves(len(members)) if len(members) > 1 else ():
            first = np.zeros_like(inside)
            first[members[part]] = True
            ways.append(np.stack([first, whole & ~first]))
    return ways

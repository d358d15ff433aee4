"""Lower bound of minDCP: predicted classes merged into two or three sets.

Merging predicted classes can only lower minDCP. For one set against all others the
channel is one number x_y for each true class, and the least mass that a group loses is
a continuous knapsack problem: if the channel predicts the set more often than
published, mass is best removed from the largest x first; if less often, from the
largest 1 - x. The first loss increases with x and the second decreases, so that on a
box ``low <= x <= high`` a group loses at least the first at `low` and the second at
`high`. Branch and bound on these boxes needs no linear program. With two sets it is
exact; with three, a group loses at least the largest of the losses of the sets.
"""

from __future__ import annotations

import numpy as np

from skfair._utils._arrays import Bools, Floats, Integers
from skfair._utils._progress import Progress
from skfair.metrics._dcp._channel._upper_bound import Carried, Frequencies
from skfair.metrics._dcp._clock import Clock
from skfair.metrics._dcp._search._rows import halves

#: Boxes that are split at a time.
_SPLIT_AT_ONCE = 4096
#: Batches of each search in a round; after a round the better half continues.
_ROUNDS = (5, 9, 18, 36, 66)
#: Ways of merging into two sets that are refined to three.
_N_REFINED = 4
#: Ways of merging that are searched at most, those with the largest upper bounds.
_MAX_SEARCHES = 16


def knapsack(x: Floats, true: Floats, share: Floats) -> Floats:
    """Least mass that groups lose if a channel predicts a set too often.

    `x`, of shape (n_points, n_classes), is the probability of the set given each true
    class, and `share` its published frequency in each group. The result has shape
    (n_points, n_groups).
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

    `sets` is one set of predicted classes, the others being the second, or two disjoint
    sets, the others being the third.
    """

    def __init__(self, data: Frequencies, sets: Bools, channel: Floats) -> None:
        self.weights, self.true = data.weights, data.true
        self.sets = sets
        self.shares = sets @ data.predicted.T
        # A side of a box counts by the frequency of its true class when one is split.
        self.scale = self.weights @ self.true
        shape = 1, len(sets), self.true.shape[1]
        self.lows, self.highs = np.zeros(shape), np.ones(shape)
        self.bounds = np.zeros(1)
        self.lower, self.closed = 0.0, np.inf
        # The loss of a good channel bounds that of the merged problem.
        self.best = (channel @ sets.T).T
        at = self.best[None]
        self.upper = float(self._join(self._losses(at, at))[0])

    def _losses(self, lows: Floats, highs: Floats) -> list[Floats]:
        """Lower bounds of what each group loses, one for each set."""
        low = [lows[:, i] for i in range(len(self.sets))]
        high = [highs[:, i] for i in range(len(self.sets))]
        share = list(self.shares)
        if len(self.sets) == 2:
            # The third set has the probability that remains.
            low.append(np.minimum(low[0] + low[1], 1.0))
            high.append(np.minimum(high[0] + high[1], 1.0))
            share.append(share[0] + share[1])
        return [
            np.maximum(knapsack(a, self.true, p), knapsack(1 - b, self.true, 1 - p))
            for a, b, p in zip(low, high, share, strict=True)
        ]

    def _join(self, losses: list[Floats]) -> Floats:
        """Loss of the population, given what groups lose by each set."""
        return np.asarray(np.maximum.reduce(losses) @ self.weights)

    def step(self, tol: float) -> None:
        """Split the boxes with the least bounds; close those within `tol`."""
        n_split = min(_SPLIT_AT_ONCE, len(self.bounds))
        chosen = np.argpartition(self.bounds, n_split - 1)[:n_split]
        rest = np.ones(len(self.bounds), bool)
        rest[chosen] = False
        lows, highs, bounds = self._split(chosen)
        self.lows = np.concatenate([self.lows[rest], lows])
        self.highs = np.concatenate([self.highs[rest], highs])
        self.bounds = np.concatenate([self.bounds[rest], bounds])
        open_ = self.bounds < self.upper - tol
        self.closed = float(self.bounds[~open_].min(initial=self.closed))
        self.lows, self.highs = self.lows[open_], self.highs[open_]
        self.bounds = self.bounds[open_]
        self.lower = float(self.bounds.min(initial=self.closed))

    def _split(self, chosen: Integers) -> tuple[Floats, Floats, Floats]:
        """Halve one side of each box; return corners and bounds of the halves."""
        lows, highs = self.lows[chosen], self.highs[chosen]
        middles = (lows + highs) / 2
        now, then = self._losses(lows, highs), self._losses(middles, middles)
        if len(self.sets) == 1:
            self._keep_best(middles, self._join(then))
            # At probabilities of 0 and 1 the loss can jump: try them themselves.
            points = np.where(lows == 0, 0.0, np.where(highs == 1, 1.0, middles))
            points = points[(points != middles).any(axis=(1, 2))]
            self._keep_best(points, self._join(self._losses(points, points)))
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

    def _keep_best(self, points: Floats, losses: Floats) -> None:
        """Remember the point of the least loss, if it is the least known."""
        if losses.min(initial=np.inf) < self.upper:
            self.upper = float(losses.min())
            self.best = points[losses.argmin()]

    @property
    def is_done(self) -> bool:
        """Whether no box is open."""
        return not len(self.bounds)


def merged_lower_bound(
    data: Frequencies, found: Carried, tol: float, clock: Clock, progress: Progress
) -> tuple[float, Floats]:
    """Largest lower bound over ways of merging predicted classes into 2 or 3 sets.

    The search ends when the bound is within `tol` of the loss of `found`. The channel
    returned beside the bound is the best one found for the two sets with the largest
    bound; for two classes it is the best of all when the search is complete.
    """
    channel, goal = found.channel, found.loss
    if clock.is_over():
        return 0.0, channel
    pairs = [
        MergedSearch(data, inside[None], channel)
        for inside in halves(data.true.shape[1])
    ]
    # The upper bound of a search says how large its lower bound can become.
    pairs = sorted(pairs, key=lambda search: -search.upper)[:_MAX_SEARCHES]
    best = _advance(pairs, goal - tol, tol / 4, clock, progress)
    pairs = sorted(pairs, key=lambda search: -search.lower)
    refined = [
        MergedSearch(data, sets, channel)
        for search in pairs[:_N_REFINED]
        for sets in _refinements(search.sets[0])
    ]
    refined = sorted(refined, key=lambda search: -search.upper)[:_MAX_SEARCHES]
    if best < goal - tol:
        best = max(best, _advance(refined, goal - tol, tol / 4, clock, progress))
    return min(best, goal), _expanded(pairs[0], found.channel, data)


def _expanded(search: MergedSearch, channel: Floats, data: Frequencies) -> Floats:
    """Channel between all classes with the probabilities that a search found for sets.

    Within each set they are divided among the classes as in another `channel`.
    """
    (inside,), (share,) = search.sets, search.best
    expanded = np.zeros_like(channel)
    for members, mass in ((inside, share), (~inside, 1 - share)):
        # Where that channel never predicts the set, they are divided as the predictions
        # of all groups together.
        parts = np.where(members, channel, 0.0)
        parts[parts.sum(axis=1) == 0] = members * (data.weights @ data.predicted)
        parts[parts.sum(axis=1) == 0] = members
        expanded += mass[:, None] * parts / parts.sum(axis=1, keepdims=True)
    return expanded


def _advance(
    searches: list[MergedSearch],
    goal: float,
    tol: float,
    clock: Clock,
    progress: Progress,
) -> float:
    """Continue all searches, then the better half of them, and so on."""
    best = 0.0
    for n_steps in _ROUNDS:
        for search in searches:
            for _ in range(n_steps):
                if search.is_done or best >= goal or clock.is_over():
                    break
                search.step(tol)
                best = max(best, search.lower)
                progress.update(
                    f"{len(searches)} ways of merging classes, lower {best:.6f}"
                )
        waiting = [s for s in searches if not s.is_done and s.upper > best + tol]
        waiting.sort(key=lambda search: -search.lower)
        searches = waiting[: -(-len(waiting) // 2)]
    return best


def _refinements(inside: Bools) -> list[Bools]:
    """All ways of splitting one of two sets, each as two disjoint sets."""
    ways = []
    for whole in (inside, ~inside):
        members = np.flatnonzero(whole)
        for part in halves(len(members)) if len(members) > 1 else ():
            first = np.zeros_like(inside)
            first[members[part]] = True
            ways.append(np.stack([first, whole & ~first]))
    return ways

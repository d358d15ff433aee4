"""The worst-off share of groups: which groups form it, and their mean gap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skfair._utils._validation import check_real


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


#: Sums of weights may exceed the capacity by this: they round, and sum to one.
ROUNDING = 1e-12
#: Subsets are not told apart whose values differ by less than this, relatively.
_TOLERANCE = 1e-8


def best_subset(
    ratios: NDArray[np.float64], weights: NDArray[np.float64], capacity: float
) -> NDArray[np.bool_]:
    """Subset of total weight at most `capacity` that maximises ``weights @ ratios``.

    Items far from the break item of the relaxation are settled by its bound. The rest
    form lists of undominated subsets (Nemhauser and Ullmann), pruned by the same bound.

    Parameters
    ----------
    ratios : ndarray of shape (n_items,)
        Value of a unit of weight, non-negative.
    weights : ndarray of shape (n_items,)
        Non-negative, at most one in all.
    capacity : float

    Returns
    -------
    ndarray of shape (n_items,)
        Whether an item is taken; optimal up to a relative difference of 1e-8.
    """
    taken = np.zeros(len(weights), dtype=bool)
    capacity += ROUNDING
    fitting = np.flatnonzero((weights <= capacity) & (weights > 0) & (ratios > 0))
    order = fitting[np.argsort(-ratios[fitting], kind="stable")]
    core = _Core(ratios[order], weights[order], capacity)
    taken[order] = core.solve()
    return taken


class _Core:
    """Items in decreasing order of ratio, and the best subset found so far."""

    def __init__(
        self,
        ratios: NDArray[np.float64],
        weights: NDArray[np.float64],
        capacity: float,
    ) -> None:
        self.ratios, self.weights, self.capacity = ratios, weights, capacity
        self.filled = np.append(0, np.cumsum(weights))
        self.worth = np.append(0, np.cumsum(weights * ratios))

    def solve(self) -> NDArray[np.bool_]:
        """Whether each item is taken."""
        if len(self.ratios) == 0 or self.filled[-1] <= self.capacity:
            return np.ones(len(self.ratios), dtype=bool)
        start = self._greedy()
        value = float(self.weights[start] @ self.ratios[start])
        bound = float(self.relaxed(0, np.array([self.capacity]))[0])
        room = bound - value
        whole = self._completed(0, np.array([self.capacity]))[0]
        loss = np.abs(self.ratios - self.ratios[whole]) * self.weights
        open_ = loss < room - _TOLERANCE * bound
        if not open_.any():
            return start
        settled: NDArray[np.bool_] = ~open_ & (np.arange(len(loss)) < whole)
        rest = _Core(
            self.ratios[open_],
            self.weights[open_],
            self.capacity - float(self.weights[settled].sum()),
        )
        base = float(self.weights[settled] @ self.ratios[settled])
        found = rest.search(value - base, _TOLERANCE * bound)
        if found is None:
            return start
        settled[np.flatnonzero(open_)[found]] = True
        return settled

    def search(self, best: float, tolerance: float) -> NDArray[np.intp] | None:
        """Positions of a subset worth more than `best`, None if there is none."""
        left, worth = np.array([self.capacity]), np.zeros(1)
        found, trail = None, []
        for item in range(len(self.ratios) + 1):
            last = self._completed(item, left)
            totals = worth + self.worth[last] - self.worth[item]
            leader = int(totals.argmax())
            if totals[leader] > best:
                best = float(totals[leader])
                found = (item, leader, int(last[leader]))
            hopeful = worth + self.relaxed(item, left) > best + tolerance
            if item == len(self.ratios) or not hopeful.any():
                break
            kept = np.flatnonzero(hopeful)
            with_item = kept[left[kept] >= self.weights[item]]
            parents = np.concatenate([kept, with_item])
            is_in = np.arange(len(parents)) >= len(kept)
            left = left[parents] - is_in * self.weights[item]
            worth = worth[parents] + is_in * self.weights[item] * self.ratios[item]
            order = np.lexsort((-worth, -left))
            higher = np.append(-np.inf, np.maximum.accumulate(worth[order])[:-1])
            order = order[worth[order] > higher + ROUNDING * self.worth[-1]]
            left, worth = left[order], worth[order]
            trail.append((parents[order], is_in[order]))
        return None if found is None else _follow(trail, *found)

    def relaxed(self, item: int, left: NDArray[np.float64]) -> NDArray[np.float64]:
        """Most that items from `item` on can add when the last one may be cut."""
        last = self._completed(item, left)
        spare = left - (self.filled[last] - self.filled[item])
        added: NDArray[np.float64] = self.worth[last] - self.worth[item]
        added += spare * np.append(self.ratios, 0)[last]
        return added

    def _completed(self, item: int, left: NDArray[np.float64]) -> NDArray[np.intp]:
        """End of the run of items from `item` on that fit as they come."""
        last = np.searchsorted(self.filled, self.filled[item] + left, "right") - 1
        return np.asarray(last, dtype=np.intp)

    def _greedy(self) -> NDArray[np.bool_]:
        """Take every item that still fits."""
        taken = np.zeros(len(self.ratios), dtype=bool)
        left = self.capacity
        for item, weight in enumerate(self.weights.tolist()):
            if weight <= left:
                taken[item] = True
                left -= weight
        return taken


def _follow(
    trail: list[tuple[NDArray[np.intp], NDArray[np.bool_]]],
    item: int,
    state: int,
    last: int,
) -> NDArray[np.intp]:
    """Items of a subset, from the choices that led to it."""
    items = list(range(item, last))
    for position in range(item - 1, -1, -1):
        parents, is_in = trail[position]
        if is_in[state]:
            items.append(position)
        state = parents[state]
    return np.array(items, dtype=np.intp)

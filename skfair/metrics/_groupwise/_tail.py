"""The tail of CVaR fairness: the groups furthest from the average."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Sums of weights may exceed the capacity by this: they round, and sum to one.
_ROUNDING = 1e-12
#: Subsets are not told apart whose values differ by less than this, relatively.
_TOLERANCE = 1e-8


def tail_shares(
    gaps: NDArray[np.float64],
    weights: NDArray[np.float64],
    alpha: float,
    *,
    fractional: bool = True,
) -> NDArray[np.float64]:
    """Return how much of each group belongs to the tail Q of equation 28, from 0 to 1.

    Groups whose gap is nan, of weight 0, take no part.
    """
    shares = np.zeros(len(gaps))
    if np.isnan(gaps).all():
        return shares
    capacity = 1 - alpha
    order = np.argsort(-gaps, kind="stable")
    if fractional:
        before = np.cumsum(weights[order]) - weights[order]
        room = np.clip(capacity - before, 0, weights[order])
        filled = np.ones(len(order))
        np.divide(room, weights[order], out=filled, where=weights[order] > 0)
        # A share this small comes from rounding.
        shares[order] = np.where(filled > _ROUNDING * 1e3, filled, 0)
        shares[weights == 0] = 0
    elif np.ptp(weights[weights > 0]) <= _ROUNDING * weights.max():
        n_fitting = int((capacity + _ROUNDING) / weights.max() * (1 + _ROUNDING))
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
    """Return the mean gap of the tail (equation 29)."""
    # Rounding must not bring the mean above the largest gap of the tail.
    value = (weights * shares) @ gaps / (1 - alpha)
    return float(min(value, gaps[shares > 0].max(initial=0.0)))


def best_subset(
    ratios: NDArray[np.float64], weights: NDArray[np.float64], capacity: float
) -> NDArray[np.bool_]:
    """Subset of total weight at most `capacity` that maximises ``weights @ ratios``.

    It is optimal up to a relative difference of 1e-8.
    """
    taken = np.zeros(len(weights), dtype=bool)
    capacity += _ROUNDING
    fitting = np.flatnonzero((weights <= capacity) & (weights > 0) & (ratios > 0))
    order = fitting[np.argsort(-ratios[fitting], kind="stable")]
    taken[order] = _Knapsack(ratios[order], weights[order], capacity).solve()
    return taken


class _Knapsack:
    """Items in decreasing order of ratio (value by weight), and a capacity."""

    # The linear relaxation takes items in this order and a part of the first one that
    # does not fit, the break item. Its bound decides all items whose ratio is far from
    # that of the break item. For the others, lists of undominated subsets are built
    # item by item (Nemhauser and Ullmann), and pruned by the same bound.

    def __init__(
        self,
        ratios: NDArray[np.float64],
        weights: NDArray[np.float64],
        capacity: float,
    ) -> None:
        self.ratios, self.weights, self.capacity = ratios, weights, capacity
        # Total weight and value of the first 0, 1, 2, ... items.
        self.total_weights = np.append(0, np.cumsum(weights))
        self.total_values = np.append(0, np.cumsum(weights * ratios))

    def solve(self) -> NDArray[np.bool_]:
        """Return whether each item is taken."""
        if len(self.ratios) == 0 or self.total_weights[-1] <= self.capacity:
            return np.ones(len(self.ratios), dtype=bool)
        greedy = self._greedy()
        value = float(self.weights[greedy] @ self.ratios[greedy])
        bound = float(self._bounds(0, np.array([self.capacity]))[0])
        break_item = self._first_too_many(0, np.array([self.capacity]))[0]
        # What the bound loses when the relaxation's decision on one item is reversed.
        losses = np.abs(self.ratios - self.ratios[break_item]) * self.weights
        undecided = losses < bound - value - _TOLERANCE * bound
        if not undecided.any():
            return greedy
        taken: NDArray[np.bool_] = ~undecided & (np.arange(len(losses)) < break_item)
        rest = _Knapsack(
            self.ratios[undecided],
            self.weights[undecided],
            self.capacity - float(self.weights[taken].sum()),
        )
        decided_value = float(self.weights[taken] @ self.ratios[taken])
        found = rest._search(value - decided_value, _TOLERANCE * bound)
        if found is None:
            return greedy
        taken[np.flatnonzero(undecided)[found]] = True
        return taken

    def _search(self, best: float, tolerance: float) -> NDArray[np.intp] | None:
        """Return the items of a subset worth more than `best`, if there is one."""
        # Each state is a subset of the items so far: capacity left, and value.
        left, values = np.array([self.capacity]), np.zeros(1)
        found, steps = None, []
        for item in range(len(self.ratios) + 1):
            end = self._first_too_many(item, left)
            totals = values + self.total_values[end] - self.total_values[item]
            state = int(totals.argmax())
            if totals[state] > best:
                best = float(totals[state])
                found = (item, state, int(end[state]))
            kept = np.flatnonzero(values + self._bounds(item, left) > best + tolerance)
            if item == len(self.ratios) or not len(kept):
                break
            with_item = kept[left[kept] >= self.weights[item]]
            parents = np.concatenate([kept, with_item])
            is_in = np.arange(len(parents)) >= len(kept)
            left = left[parents] - is_in * self.weights[item]
            values = values[parents] + is_in * self.weights[item] * self.ratios[item]
            order = np.lexsort((-values, -left))
            highest = np.append(-np.inf, np.maximum.accumulate(values[order])[:-1])
            undominated = values[order] > highest + _ROUNDING * self.total_values[-1]
            order = order[undominated]
            left, values = left[order], values[order]
            steps.append((parents[order], is_in[order]))
        return None if found is None else _items_of(steps, *found)

    def _bounds(self, item: int, left: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the most that items from `item` on add when one may be cut."""
        end = self._first_too_many(item, left)
        spare = left - (self.total_weights[end] - self.total_weights[item])
        added: NDArray[np.float64] = self.total_values[end] - self.total_values[item]
        added += spare * np.append(self.ratios, 0)[end]
        return added

    def _first_too_many(self, item: int, left: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the first item that does not fit when taken in order from `item`."""
        filled = self.total_weights[item] + left
        end = np.searchsorted(self.total_weights, filled, "right") - 1
        return np.asarray(end, dtype=np.intp)

    def _greedy(self) -> NDArray[np.bool_]:
        """Take every item that still fits."""
        taken = np.zeros(len(self.ratios), dtype=bool)
        left = self.capacity
        for item, weight in enumerate(self.weights.tolist()):
            if weight <= left:
                taken[item] = True
                left -= weight
        return taken


def _items_of(
    steps: list[tuple[NDArray[np.intp], NDArray[np.bool_]]],
    item: int,
    state: int,
    end: int,
) -> NDArray[np.intp]:
    """Return the items of a state of the search, and those from `item` to `end`."""
    items = list(range(item, end))
    for position in range(item - 1, -1, -1):
        parents, is_in = steps[position]
        if is_in[state]:
            items.append(position)
        state = parents[state]
    return np.array(items, dtype=np.intp)

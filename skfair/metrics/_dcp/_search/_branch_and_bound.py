"""The best baseline row with a certificate, by branch and bound on boxes of rows."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from skfair._utils._arrays import Floats
from skfair._utils._progress import Progress
from skfair.metrics._dcp._clock import Clock
from skfair.metrics._dcp._search._enumeration import (
    LOSS_ROUNDING,
    best_vertex,
    estimated_vertices,
)
from skfair.metrics._dcp._search._linear_program import maximise_explained
from skfair.metrics._dcp._search._local_search import (
    average_row,
    improve_row,
    starting_rows,
)
from skfair.metrics._dcp._search._rows import (
    RowResult,
    explained_shares,
    merged_bound,
    row_losses,
)

_N_STARTS = 8
#: Boxes with fewer vertices, by estimate, are enumerated.
_MAX_BOX_VERTICES = 300.0
#: Enumeration of a box stops after this many trees: the estimate was too low.
_MAX_TREES = 20_000
#: Point at which a side of a box is split: this share of the way from its middle to
#: the solution of the linear program.
_TOWARDS_SOLUTION = 0.75
#: Both parts of a split side have at least this share of its length.
_LEAST_SHARE = 0.1
#: Added to bounds from the multipliers of a linear program, which rounding may lower.
_PRICE_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class _Box:
    """Baseline rows between two corners."""

    low: Floats
    high: Floats
    limit: float  # upper bound of the weight that these rows explain
    # Multipliers of McCormick's inequalities, shape (n_groups, n_classes). Those of a
    # group sum to at most its weight.
    multipliers: Floats


class RowSearch:
    """Branch and bound for one row, which can be interrupted and continued."""

    def __init__(self, rates: Floats, weights: Floats, tol: float) -> None:
        self.rates, self.weights, self.tol = rates, weights, tol
        self.total = float(weights.sum())
        self.loss, self.floor = np.inf, 0.0
        self.baseline = average_row(rates, weights)
        self.n_nodes = 0
        self.clock = Clock()
        self.order = count()
        self.heap: list[tuple[float, int, _Box]] = []

    def run(self, clock: Clock, progress: Progress) -> RowResult:
        """Search until the bounds differ by at most `tol` or the time is over."""
        self.clock = clock
        if not self.heap:
            self._start()
        while not self.is_done and not clock.is_over():
            box = heapq.heappop(self.heap)[2]
            for part in self._branch(box):
                self._add(part)
            progress.update(str(self._result()))
        return self._result()

    def _result(self) -> RowResult:
        """Bounds and best row so far."""
        return RowResult(self._lower(), self.loss, self.baseline, self.n_nodes)

    @property
    def is_done(self) -> bool:
        """Whether the bounds differ by at most `tol`."""
        return bool(self.heap or self.n_nodes) and self.loss - self._lower() <= self.tol

    def _lower(self) -> float:
        """Lower bound of the loss."""
        if self.heap:
            return min(self.loss, max(self.floor, self.total + self.heap[0][0]))
        # Every box has been closed, or none was opened yet.
        return max(self.loss - LOSS_ROUNDING, 0.0) if self.n_nodes else self.floor

    def _add(self, box: _Box) -> None:
        """Open a box; those with the largest limits are searched first."""
        heapq.heappush(self.heap, (-box.limit, next(self.order), box))

    def _start(self) -> None:
        """Find a good row, bound the loss by merged classes, and open the first box."""
        self._improve(self.baseline)
        self.floor = merged_bound(self.rates, self.weights)
        for start in starting_rows(self.rates, self.weights, _N_STARTS):
            if self.clock.is_over() or self.loss - self.floor <= self.tol:
                break
            self._improve(start)
        # The first box has all rows but those that are worse than the best known one
        # already where all classes but one are merged.
        low, high = np.transpose([self._range(column) for column in self.rates.T])
        no_multipliers = np.zeros_like(self.rates)
        self._add(_Box(low, high, self.total - self.floor, no_multipliers))

    def _improve(self, start: Floats) -> None:
        """Keep the row that a local search finds from a start, if it is the best."""
        loss, row = improve_row(start, self.rates, self.weights, self.clock)
        if loss < self.loss:
            self.loss, self.baseline = loss, row

    def _range(self, rates: Floats) -> tuple[float, float]:
        """Least and largest probability of a class in rows that may be the best."""
        points = np.unique(np.concatenate([[0.0, 1.0], rates]))
        good = np.flatnonzero(self._is_good(points, rates))
        if not len(good):  # only by rounding
            return 0.0, 1.0
        first, last = int(good[0]), int(good[-1])
        low, high = points[first], points[last]
        # Between two points the loss is concave: it crosses the level once.
        if first > 0:
            low = self._crossing(points[first - 1], low, rates)
        if last < len(points) - 1:
            high = self._crossing(points[last + 1], high, rates)
        return low, high

    def _crossing(self, bad: float, good: float, rates: Floats) -> float:
        """Probability where a class stops being good, by bisection.

        Of the last interval it is the bad end, so that no good row is left out.
        """
        for _ in range(30):
            middle = (bad + good) / 2
            if self._is_good(np.array([middle]), rates)[0]:
                good = middle
            else:
                bad = middle
        return bad

    def _is_good(self, values: Floats, rates: Floats) -> np.ndarray:
        """Whether the loss with the other classes merged is at most the best known."""
        two = np.column_stack([values, 1 - values])
        losses = row_losses(two, np.column_stack([rates, 1 - rates]), self.weights)
        return np.asarray(losses <= self.loss + 1e-12)

    def _branch(self, box: _Box) -> list[_Box]:
        """Bound a box, and return the parts of it that may hold a better row."""
        if self._enumerate(box):
            return []
        self.n_nodes += 1
        solved = _relax(box, self.rates, self.weights, self.clock)
        if solved is None:
            return self._split(box, (box.low + box.high) / 2, np.ones(len(self.rates)))
        box, row, shares = solved
        if row_losses(row, self.rates, self.weights) < self.loss:
            self._improve(row)
        if box.limit <= self.total - self.loss + self.tol:
            # Kept as a leaf, because it says how good the best row can be.
            return [box]
        return self._split(box, row, shares)

    def _enumerate(self, box: _Box) -> bool:
        """Enumerate a box that seems to have few vertices; return whether it was."""
        if estimated_vertices(box.low, box.high, self.rates) > _MAX_BOX_VERTICES:
            return False
        found = best_vertex(
            box.low, box.high, self.rates, self.weights, self.clock, _MAX_TREES
        )
        if found is None:
            return False
        self.n_nodes += 1
        if found.upper < self.loss:
            self.loss, self.baseline = found.upper, found.baseline
        return True

    def _split(self, box: _Box, row: Floats, shares: Floats) -> list[_Box]:
        """Split the side of the class at which the relaxed solution errs most."""
        ratios = np.full_like(self.rates, np.inf)
        np.divide(self.rates, row, out=ratios, where=row > 0)
        errors = self.weights @ np.maximum(shares[:, None] - ratios, 0.0)
        side = box.high - box.low
        z = int(np.where(side > 1e-12, errors + 1e-12 * side, -1.0).argmax())
        middle = (box.low[z] + box.high[z]) / 2
        at = middle + _TOWARDS_SOLUTION * (row[z] - middle)
        margin = _LEAST_SHARE * side[z]
        at = np.clip(at, box.low[z] + margin, box.high[z] - margin)
        lows, highs = np.tile(box.low, (2, 1)), np.tile(box.high, (2, 1))
        highs[0, z] = lows[1, z] = at
        limits = _limits(lows, highs, self.rates, self.weights, box.multipliers)
        limits = np.minimum(limits, box.limit)
        return [
            _Box(lows[i], highs[i], float(limits[i]), box.multipliers)
            for i in range(2)
            if np.isfinite(limits[i])
        ]


def _relax(
    box: _Box, rates: Floats, weights: Floats, clock: Clock
) -> tuple[_Box, Floats, Floats] | None:
    """Solve the linear relaxation of a box; None if there is no time.

    Returns the box with a new limit and multipliers, the row of the solution, and the
    share of each group that the relaxed problem explains with it.
    """
    cap = explained_shares(box.low, rates)
    # Elsewhere McCormick's inequality follows from the cap alone.
    binds = (box.high > 0) & (rates < cap[:, None] * box.high)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes, shifts = cap[:, None] / box.high, rates / box.high
    solved = maximise_explained(
        slopes,
        cap[:, None] + shifts,
        binds,
        np.append(box.low, np.zeros(len(rates))),
        np.append(box.high, cap),
        weights,
        clock,
    )
    if solved is None:
        return None
    # The limit is computed from the multipliers, so that it is valid for any tolerance
    # of the solver.
    multipliers = np.zeros_like(rates)
    multipliers[binds] = np.maximum(-solved.ineqlin.marginals, 0)
    excess = multipliers.sum(axis=1) / weights
    multipliers /= np.maximum(excess, 1.0)[:, None]
    limits = _limits(box.low[None], box.high[None], rates, weights, multipliers)
    limit = min(float(limits[0]), box.limit)
    n_classes = rates.shape[1]
    row = np.clip(solved.x[:n_classes], 0, None)
    box = replace(box, limit=limit, multipliers=multipliers)
    return box, row / row.sum(), solved.x[n_classes:]


def _limits(
    lows: Floats, highs: Floats, rates: Floats, weights: Floats, multipliers: Floats
) -> Floats:
    """Upper bounds of the weight that boxes explain, by Lagrangian relaxation."""
    # All non-negative multipliers of McCormick's inequalities give a bound. Those of
    # the box before it was split often make a linear program unnecessary.
    cap = explained_shares(lows, rates)
    inverse = np.divide(1.0, highs, out=np.zeros_like(highs), where=highs > 0)
    constant = cap @ weights + inverse @ (multipliers * rates).sum(axis=0)
    prices = (cap @ multipliers) * inverse
    return np.asarray(constant - _least_cost(prices, lows, highs) + _PRICE_ROUNDING)


def _least_cost(prices: Floats, lows: Floats, highs: Floats) -> Floats:
    """Least cost of a baseline row within each box; inf where there is none."""
    order = np.argsort(prices, axis=1)
    spare = np.take_along_axis(highs - lows, order, axis=1)
    sorted_prices = np.take_along_axis(prices, order, axis=1)
    rest = 1.0 - lows.sum(axis=1, keepdims=True)
    before = np.cumsum(spare, axis=1) - spare
    bought = np.clip(rest - before, 0, spare)
    cost = (lows * prices).sum(axis=1) + (bought * sorted_prices).sum(axis=1)
    short = (rest[:, 0] < -_PRICE_ROUNDING) | (highs.sum(axis=1) < 1 - _PRICE_ROUNDING)
    return np.where(short, np.inf, cost)

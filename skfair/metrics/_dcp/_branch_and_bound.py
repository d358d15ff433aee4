"""The best baseline row with a certificate, by branch and bound on boxes."""

from __future__ import annotations

import heapq
from itertools import count

import numpy as np

from skfair.metrics._dcp._clock import Clock
from skfair.metrics._dcp._enumeration import best_vertex, estimated_vertices
from skfair.metrics._dcp._local import improve_row, search_sets, starting_rows
from skfair.metrics._dcp._relaxation import Box, Relaxed, limits, relax
from skfair.metrics._dcp._rows import Floats, RowResult, merged_bound, row_losses

_N_STARTS = 8
#: How far breaking ties and rounding can move the loss of a label.
_ROUNDING = 1e-10
#: Boxes with fewer vertices, as far as can be guessed, are enumerated.
_MAX_VERTICES = 300.0
#: A wrong guess is noticed when more trees than this have been grown.
_MAX_TREES = 20_000
#: Where a side is split: between the program's solution and the middle.
_TOWARDS_SOLUTION = 0.75
#: A split leaves at least this share of the side on either side.
_LEAST_SHARE = 0.1


class RowSearch:
    """Branch and bound for one row, which can be interrupted and taken up again.

    Parameters
    ----------
    rates : ndarray of shape (n_groups, n_labels)
    weights : ndarray of shape (n_groups,), positive
    tol : float
        Gap between the bounds at which the search ends.
    """

    def __init__(self, rates: Floats, weights: Floats, tol: float) -> None:
        self.rates, self.weights, self.tol = rates, weights, tol
        self.sets = search_sets(rates.shape[1])
        self.total = float(weights.sum())
        self.loss, self.floor = np.inf, 0.0
        self.baseline = weights @ rates / self.total
        self.n_nodes = 0
        self.clock = Clock(None)
        self.order = count()
        self.heap: list[tuple[float, int, Box]] = []

    def run(self, clock: Clock) -> RowResult:
        """Search until the bounds meet or the time is over.

        Parameters
        ----------
        clock : Clock

        Returns
        -------
        RowResult
        """
        self.clock = clock
        if not self.heap:
            self._start()
        while not self.is_done and not clock.is_over():
            box = heapq.heappop(self.heap)[2]
            for child in self._children(box):
                self._push(child)
        return RowResult(self._lower(), self.loss, self.baseline, self.n_nodes)

    @property
    def is_done(self) -> bool:
        """Whether the bounds have met."""
        return bool(self.heap or self.n_nodes) and self.loss - self._lower() <= self.tol

    def _lower(self) -> float:
        if self.heap:
            return min(self.loss, max(self.floor, self.total + self.heap[0][0]))
        # Every box has been closed, or none was opened yet.
        return max(self.loss - _ROUNDING, 0.0) if self.n_nodes else self.floor

    def _push(self, box: Box) -> None:
        heapq.heappush(self.heap, (-box.limit, next(self.order), box))

    def _start(self) -> None:
        """Find a good row, bound the loss by merged labels, and open the first box."""
        n_labels = self.rates.shape[1]
        self._offer(self.baseline)
        self.floor = merged_bound(
            self.rates, self.weights, np.eye(n_labels, dtype=bool)
        )
        for start in starting_rows(self.rates, self.weights, _N_STARTS):
            if self.clock.is_over() or self.loss - self.floor <= self.tol:
                break
            self._offer(start)
        self._push(self._root(self.total - self.floor))

    def _offer(self, start: Floats) -> None:
        """Keep the row that a local search finds from a start, if it is the best."""
        loss, row = improve_row(start, self.rates, self.weights, self.sets, self.clock)
        if loss < self.loss:
            self.loss, self.baseline = loss, row

    def _root(self, limit: float) -> Box:
        """All rows, less those that two labels alone show to be worse."""
        n_labels = self.rates.shape[1]
        low, high = np.zeros(n_labels), np.ones(n_labels)
        for z in range(n_labels):
            low[z], high[z] = self._span(self.rates[:, z])
        return Box(low, high, limit, np.zeros_like(self.rates))

    def _span(self, rates: Floats) -> tuple[float, float]:
        """Values of one label between which a row can be as good as the best known."""
        points = np.unique(np.concatenate([[0.0, 1.0], rates]))
        good = np.flatnonzero(self._binary_loss(points, rates) <= self.loss + 1e-12)
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
        for _ in range(30):
            middle = (bad + good) / 2
            if self._binary_loss(np.array([middle]), rates)[0] <= self.loss + 1e-12:
                good = middle
            else:
                bad = middle
        return bad

    def _binary_loss(self, values: Floats, rates: Floats) -> Floats:
        two = np.column_stack([values, 1 - values])
        return row_losses(two, np.column_stack([rates, 1 - rates]), self.weights)

    def _children(self, box: Box) -> list[Box]:
        """Boxes into which a box splits, those that can be no better left out."""
        if self._is_enumerated(box):
            return []
        solved = relax(box, self.rates, self.weights, self.clock)
        self.n_nodes += 1
        if solved is None:
            solved = Relaxed(
                box.limit,
                (box.low + box.high) / 2,
                np.ones(len(self.rates)),
                box.multipliers,
            )
        else:
            reached = float(row_losses(solved.baseline, self.rates, self.weights))
            if reached < self.loss:
                self._offer(solved.baseline)
        needed = self.total - self.loss + self.tol
        if solved.limit <= needed:
            # Kept as a leaf, because it says how good the best row can be.
            return [Box(box.low, box.high, solved.limit, solved.multipliers)]
        return self._split(box, solved)

    def _is_enumerated(self, box: Box) -> bool:
        """Look at all vertices of a box, if they are few."""
        guess = estimated_vertices(box.low, box.high, self.rates)
        if guess > _MAX_VERTICES:
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

    def _split(self, box: Box, solved: Relaxed) -> list[Box]:
        """Split the side of the label at which the program errs most."""
        ratios = np.full_like(self.rates, np.inf)
        used = solved.baseline > 0
        np.divide(self.rates, solved.baseline, out=ratios, where=used)
        excess = np.maximum(solved.shares[:, None] - ratios, 0.0)
        errors = self.weights @ excess
        side = box.high - box.low
        z = int(np.where(side > 1e-12, errors + 1e-12 * side, -1.0).argmax())
        middle = (box.low[z] + box.high[z]) / 2
        at = middle + _TOWARDS_SOLUTION * (solved.baseline[z] - middle)
        margin = _LEAST_SHARE * side[z]
        at = np.clip(at, box.low[z] + margin, box.high[z] - margin)
        lows, highs = np.tile(box.low, (2, 1)), np.tile(box.high, (2, 1))
        highs[0, z] = lows[1, z] = at
        bounds = limits(lows, highs, self.rates, self.weights, solved.multipliers)
        bounds = np.minimum(bounds, solved.limit)
        return [
            Box(lows[i], highs[i], float(bounds[i]), solved.multipliers)
            for i in range(2)
            if np.isfinite(bounds[i])
        ]

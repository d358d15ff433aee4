"""The best baseline row with a certificate, by branch and bound on boxes."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count

import numpy as np
from scipy.sparse import csc_array

from skfair.metrics._dcp._search._enumeration import best_vertex, estimated_vertices
from skfair.metrics._dcp._search._linear_program import Clock, maximise
from skfair.metrics._dcp._search._local import improve_row, search_sets, starting_rows
from skfair.metrics._dcp._search._rows import (
    Floats,
    RowResult,
    kept_shares,
    merged_bound,
    row_losses,
)

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
    rates : ndarray of shape (n_groups, n_classes)
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
        n_classes = self.rates.shape[1]
        self._offer(self.baseline)
        self.floor = merged_bound(
            self.rates, self.weights, np.eye(n_classes, dtype=bool)
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
        n_classes = self.rates.shape[1]
        low, high = np.zeros(n_classes), np.ones(n_classes)
        for z in range(n_classes):
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


#: Bounds from the multipliers of a linear program are lifted by this much, more than
#: their rounding.
_PRICE_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Box:
    """Baseline rows between two corners, and how much they can explain at most.

    Attributes
    ----------
    low, high : ndarray of shape (n_classes,)
    limit : float
        Upper bound of the weight explained.
    multipliers : ndarray of shape (n_groups, n_classes)
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
    baseline : ndarray of shape (n_classes,)
    shares : ndarray of shape (n_groups,)
    multipliers : ndarray of shape (n_groups, n_classes)
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
    rates : ndarray of shape (n_groups, n_classes)
    weights : ndarray of shape (n_groups,)
    clock : Clock

    Returns
    -------
    Relaxed, or None if the solver stopped without a solution
    """
    n_groups, n_classes = rates.shape
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
            (np.concatenate([rows, rows]), np.concatenate([label, n_classes + group])),
        ),
        shape=(len(group), n_classes + n_groups),
    )
    simplex = csc_array(np.append(np.ones(n_classes), np.zeros(n_groups))[None, :])
    solved = maximise(
        np.append(np.zeros(n_classes), weights),
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
    alpha = np.clip(solved.x[:n_classes], 0, None)
    return Relaxed(
        min(limit, box.limit),
        alpha / alpha.sum(),
        solved.x[n_classes:],
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
    lows, highs : ndarray of shape (n_boxes, n_classes)
    rates, multipliers : ndarray of shape (n_groups, n_classes)
    weights : ndarray of shape (n_groups,)

    Returns
    -------
    ndarray of shape (n_boxes,)
    """
    cap = kept_shares(lows, rates)
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

"""Search for the row of a baseline that explains the most people of one true class.

The rows of the baseline are independent problems (Sabato, Treister, Yom-Tov, ICML
2025, equation 5). For a true class y, group a has the weight w_a * pi_a^y and predicts
with the rates h[a]. Since rates and baseline both sum to one, the second branch of eta
(equation 4) follows from the first over the other classes, so that

    max_z eta(alpha_z, h[a, z]) = 1 - min_z h[a, z] / alpha_z,   0/0 and h/0 being inf.

A baseline row explains the share min_z h[a, z] / alpha_z of a group, 1 - eta. Its loss
is the weight that it does not explain.

Everywhere in this file, `rates` has shape (n_groups, n_classes) and `weights` shape
(n_groups,); they belong to one true class.

The weight explained is convex in the baseline wherever the minimising class of each
group stays the same, so it is largest at a vertex of these cells. There, the classes in
use form a tree whose edges each join two classes that are minimal for one group at
once. Trees grow by one leaf at a time, and are dropped as soon as a group of the tree
is no longer minimal at its two classes, or the ratio of two classes leaves the box that
is searched. Classes not in use have probability zero exactly.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import count
from math import comb
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csc_array

from skfair._utils._arrays import Bools, Floats, Integers
from skfair._utils._progress import Progress
from skfair._utils._validation import check_real


def check_time_limit(time_limit: float | None) -> float:
    """Return a time limit in seconds, inf if there is no limit."""
    if time_limit is None:
        return np.inf
    return check_real(
        "time_limit", time_limit, 0, np.inf, closed="right", alternative="None or "
    )


class Clock:
    """Clock of a search that must end after a number of seconds, which may be inf."""

    def __init__(self, seconds: float = np.inf) -> None:
        self.end = time.perf_counter() + seconds

    def left(self) -> float:
        """Return the seconds left, at least zero."""
        return max(self.end - time.perf_counter(), 0.0)

    def is_over(self) -> bool:
        """Return whether the time is over."""
        return time.perf_counter() >= self.end

    def part(self, share: float) -> Clock:
        """Return the clock of a share of the time that is left."""
        return Clock(self.left() * share)


@dataclass(frozen=True, eq=False)
class RowResult:
    """Bounds of the smallest loss of a row, and a row with the loss `upper`."""

    lower: float
    upper: float
    baseline: Floats
    n_nodes: int  # linear programs, trees and boxes that were examined

    def __str__(self) -> str:
        return f"{self.lower:.6f} to {self.upper:.6f}, {self.n_nodes} nodes"


def smallest_ratios(baselines: Floats, rates: Floats) -> Floats:
    """Return the smallest ratio of a rate to its baseline, by baseline and group."""
    divisor = baselines[..., None, :]
    ratios = np.full(np.broadcast_shapes(divisor.shape, rates.shape), np.inf)
    # Not `divisor > 0`: the ratios to an undefined baseline are nan.
    np.divide(rates, divisor, out=ratios, where=divisor != 0)
    return np.asarray(ratios.min(axis=-1))


def explained_shares(baselines: Floats, rates: Floats) -> Floats:
    """Return the share of each group that each baseline row explains, 1 - eta."""
    # For the low corner of a box this is an upper bound on all rows of the box.
    return np.minimum(smallest_ratios(baselines, rates), 1.0)


def row_losses(baselines: Floats, rates: Floats, weights: Floats) -> Floats:
    """Return the loss of each baseline row: the weight that it does not explain."""
    left = 1.0 - explained_shares(baselines, rates)
    return np.asarray((left @ weights[..., None])[..., 0])


def unexplained_shares(baseline: Floats, confusion: Floats) -> Floats:
    """Return the share eta of each group and true class that a baseline leaves out."""
    explained = [
        explained_shares(row, confusion[:, y]) for y, row in enumerate(baseline)
    ]
    return 1.0 - np.column_stack(explained)


def best_split(first: Floats, second: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Divide the baseline's mass between two parts so that it explains most weight.

    `first` and `second`, of shape (n_problems, n_groups), are the shares of groups that
    are explained if all mass is in the first or in the second part. Return the weight
    explained, and the mass of the first part.
    """
    # With mass t in the first part a group's share is min(first / t, second / (1 - t)).
    # The total is convex in t between the values where the two are equal for some
    # group, so that one of these, 0 or 1 is best (the binary case of equation 3).
    total = first + second
    equal = np.divide(first, total, out=np.zeros_like(total), where=total > 0)
    ends = np.broadcast_to([0.0, 1.0], (len(first), 2))
    masses = np.concatenate([equal, ends], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = first[:, None, :] / masses[:, :, None]
        right = second[:, None, :] / (1 - masses[:, :, None])
        # 0/0 is not a bound: fmin ignores nan.
        explained = np.fmin(np.fmin(left, right), 1.0) @ weights
    best = explained.argmax(axis=1)
    problems = np.arange(len(first))
    return explained[problems, best], masses[problems, best]


def merged_bound(rates: Floats, weights: Floats, subsets: Bools | None = None) -> float:
    """Return a lower bound of the loss: the largest loss with two merged classes.

    Each row of `subsets` is a set of classes. The set is merged into one class, and the
    remaining classes into the other.
    """
    # Merging can only lower the loss (appendix C), and two classes are solved exactly.
    # Single classes as subsets, the default, give the paper's bound, equation 7.
    if subsets is None:
        subsets = np.eye(rates.shape[1], dtype=bool)
    explained, _ = best_split(subsets @ rates.T, ~subsets @ rates.T, weights)
    return max(0.0, float(weights.sum() - explained.min()))


def halves(n_classes: int) -> Bools:
    """Return all ways of splitting classes into two sets, shape (n_ways, n_classes)."""
    # True marks the set without class 0, so that each way occurs once.
    codes = np.arange(1, 2 ** (n_classes - 1))
    others = (codes[:, None] >> np.arange(n_classes - 1)) & 1
    return np.column_stack([np.zeros(len(codes), bool), others.astype(bool)])


#: SciPy's stubs know no sparse matrices here.
_linprog: Any = linprog
_LEAST_SECONDS = 1e-3


def maximise(
    value: Floats,
    matrix: Any,
    right: Floats,
    low: Floats,
    high: Floats,
    clock: Clock,
    n_rows: int = 0,
    row_sum: float = 1.0,
) -> Any:
    """Maximise ``value @ x`` subject to ``matrix @ (r, x) <= right`` and bounds.

    The unknowns before x are `n_rows` rows of a matrix r, each with the sum `row_sum`.
    Return None if there is no solution, or no solution in time.
    """
    n_entries = len(low) - len(value)
    equations: dict[str, Any] = {}
    if n_rows:
        sums = np.kron(np.eye(n_rows), np.ones(n_entries // n_rows))
        sums = np.hstack([sums, np.zeros((n_rows, len(value)))])
        equations = {"A_eq": csc_array(sums), "b_eq": np.full(n_rows, row_sum)}
    solved = _linprog(
        -np.append(np.zeros(n_entries), value),
        A_ub=matrix,
        b_ub=right,
        **equations,
        bounds=np.column_stack([low, high]),
        method="highs",
        options={"time_limit": max(clock.left(), _LEAST_SECONDS)},
    )
    return solved if solved.status == 0 else None


def maximise_explained(
    slopes: Floats,
    right: Floats,
    binds: Bools,
    low: Floats,
    high: Floats,
    weights: Floats,
    clock: Clock,
) -> Any:
    """Maximise ``weights @ shares`` over a baseline row and the shares it explains.

    The unknowns are the row and then the shares. Where `binds`,
    ``slopes[a, z] * row[z] + shares[a] <= right[a, z]``.
    """
    n_classes = slopes.shape[1]
    group, column = np.nonzero(binds)
    line = np.arange(len(group))
    values = np.concatenate([slopes[binds], np.ones(len(line))])
    places = np.append(line, line), np.append(column, n_classes + group)
    matrix = csc_array((values, places), shape=(len(line), len(low)))
    return maximise(weights, matrix, right[binds], low, high, clock, n_rows=1)


#: With more classes the sets are single classes and pairs, to keep their number small.
_MAX_SUBSET_CLASSES = 10
_N_LOCAL_STARTS = 5
_MAX_MOVES = 200
#: A decrease of the loss below this is rounding.
_LEAST_DECREASE = 1e-13


def average_row(rates: Floats, weights: Floats) -> Floats:
    """Return the weighted mean of the groups' rows."""
    return np.asarray(weights @ rates / weights.sum())


def starting_rows(rates: Floats, weights: Floats, n_starts: int) -> list[Floats]:
    """Return rows to start from: the groups' rows of smallest loss, and the mean."""
    losses = row_losses(rates, rates, weights)
    group_rows = [rates[a] for a in np.argsort(losses, kind="stable")[: n_starts - 1]]
    return [*group_rows, average_row(rates, weights)]


def search_locally(
    rates: Floats, weights: Floats, clock: Clock, subsets: Bools | None = None
) -> RowResult:
    """Search locally from several rows; return the best row, and a lower bound."""
    lower = merged_bound(rates, weights, subsets)
    improved = []
    for start in starting_rows(rates, weights, _N_LOCAL_STARTS):
        improved.append(improve_row(start, rates, weights, clock))
        if clock.is_over():
            break
    loss, row = min(improved, key=lambda pair: pair[0])
    return RowResult(min(lower, loss), loss, row, 0)


def improve_row(
    row: Floats, rates: Floats, weights: Floats, clock: Clock
) -> tuple[float, Floats]:
    """Move mass between a set of classes and all other classes to lower the loss.

    Return the loss of the last row, and this row.
    """
    # In the logarithms of the baseline, the cells on which the loss is concave are
    # bounded by differences of two classes, so that their edges run along sets of
    # classes. A row that no move improves is no worse than any vertex next to it.
    sets = _search_sets(len(row))
    loss = float(row_losses(row, rates, weights))
    for _ in range(_MAX_MOVES):
        candidate = None if clock.is_over() else _best_move(row, sets, rates, weights)
        if candidate is None:
            break
        reached = float(row_losses(candidate, rates, weights))
        if reached > loss - _LEAST_DECREASE:
            break
        loss, row = reached, candidate
    return loss, row


def _search_sets(n_classes: int) -> Bools:
    """List the sets of classes that a local search lets exchange mass with the rest."""
    single = np.eye(n_classes, dtype=bool)
    if n_classes <= _MAX_SUBSET_CLASSES:
        # A single class is listed beside its complement: only a set of one class may
        # have no mass yet.
        return np.concatenate([single, halves(n_classes)])
    first, second = np.triu_indices(n_classes, 1)
    return np.concatenate([single, single[first] | single[second]])


def _best_move(
    row: Floats, sets: Bools, rates: Floats, weights: Floats
) -> Floats | None:
    """Return the best row after one move of mass between a set and its complement.

    Return None if no mass can be moved.
    """
    inside, outside = _scale_within(sets, row), _scale_within(~sets, row)
    usable = (inside.sum(axis=1) > 0) & (outside.sum(axis=1) > 0)
    inside, outside = inside[usable], outside[usable]
    if not len(inside):
        return None
    explained, mass = best_split(
        smallest_ratios(inside, rates), smallest_ratios(outside, rates), weights
    )
    best = int(explained.argmax())
    return np.asarray(mass[best] * inside[best] + (1 - mass[best]) * outside[best])


def _scale_within(sets: Bools, row: Floats) -> Floats:
    """Return the part of a row in each set, scaled to a sum of one."""
    masses = sets * row
    empty = (masses.sum(axis=1) == 0) & (sets.sum(axis=1) == 1)
    masses[empty] = sets[empty]  # a single class gets all mass
    totals = masses.sum(axis=1, keepdims=True)
    return np.asarray(
        np.divide(masses, totals, out=np.zeros_like(masses), where=totals > 0)
    )


#: Relative noise that breaks ties between groups, which would hide vertices.
_TIE_BREAK = 1e-12
#: How far breaking ties and rounding can move the loss of a class.
LOSS_ROUNDING = 1e-10
#: Numbers in a block of trees that grow in one step.
_GROWN_AT_ONCE = 500_000


#: Trees of classes joined by groups, each with the one row that it allows:
#: - rows of shape (n_trees, n_classes), up to a factor; 0 for classes not in use,
#: - the shares of shape (n_trees, n_groups) that they explain, up to that factor,
#: - the group of each edge, of shape (n_trees, n_edges),
#: - the number of edges at each class, of shape (n_trees, n_classes); one more at a
#:   root given in advance, which is never a leaf.
Trees: TypeAlias = tuple[Floats, Floats, Integers, NDArray[np.int8]]


def n_vertices(n_groups: int, n_classes: int) -> int:
    """Count the vertices with all classes in use, where no two vertices coincide."""
    return comb(n_groups + n_classes - 2, n_classes - 1) if n_groups else 0


def estimated_vertices(low: Floats, high: Floats, rates: Floats) -> float:
    """Estimate how many vertices lie within a box of rows."""
    # The matrix-tree theorem counts the trees of classes whose edges carry groups that
    # can have both classes minimal somewhere in the box. Of all trees on the whole
    # simplex, one in n_classes ** (n_classes - 2) * (n_classes - 1)! is a vertex.
    used = high > 0
    low, high, rates = low[used], high[used], rates[:, used]
    n_classes = len(low)
    if n_classes < 2:
        return 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        low_ratio, most = rates / high, rates / low
        most[:, low == 0] = np.inf
    # Groups outside these ranges have the same minimal class all over the box.
    minimal = (low_ratio <= most.min(axis=1, keepdims=True)) & (rates > 0)
    meet = (low_ratio[:, :, None] <= most[:, None, :]) & minimal[:, :, None]
    edges = (meet & meet.transpose(0, 2, 1)).sum(axis=0).astype(float)
    # A class that need not be used counts as one more tree, not as none.
    edges += low == 0
    edges += (low == 0)[:, None]
    np.fill_diagonal(edges, 0.0)
    laplacian = np.diag(edges.sum(axis=1)) - edges
    trees = float(np.linalg.det(laplacian[1:, 1:]))
    return float(max(trees, 0.0) / n_classes ** (n_classes - 2))


def enumerate_row(rates: Floats, weights: Floats, clock: Clock) -> RowResult | None:
    """Find the row of smallest loss and its bounds; None if time ran out."""
    n_classes = rates.shape[1]
    if n_classes == 2:
        vertex = None if clock.is_over() else solve_two_classes(rates, weights)
    else:
        everywhere = np.zeros(n_classes), np.ones(n_classes)
        vertex = best_vertex(*everywhere, rates, weights, clock)
    if vertex is None:
        return None
    # The noise moves the vertex. Where groups are equal, the row of one of them is the
    # optimum, and is exact.
    candidates = np.vstack([vertex.baseline, rates])
    step = max(1, _GROWN_AT_ONCE // rates.size)
    losses = np.concatenate(
        [
            row_losses(candidates[start : start + step], rates, weights)
            for start in range(0, len(candidates), step)
        ]
    )
    best = int(losses.argmin())
    loss = float(losses[best])
    lower = max(min(vertex.lower, loss) - LOSS_ROUNDING, 0.0)
    return RowResult(lower, loss, candidates[best], vertex.n_nodes)


def solve_two_classes(rates: Floats, weights: Floats) -> RowResult:
    """Find the best vertex of two classes.

    The vertices are each class alone, and the rates of each group with both classes.
    """
    first, second = rates.T
    is_shared = (first > 0) & (second > 0)
    ratios = np.divide(second, first, out=np.ones_like(first), where=is_shared)
    shares = np.minimum(first, second / ratios[:, np.newaxis])
    explained = np.where(is_shared, (shares @ weights) * (1 + ratios), -np.inf)
    best = int(np.concatenate([weights @ rates, explained]).argmax())
    if best < 2:
        baseline = np.eye(2)[best]
    else:
        baseline = np.array([1, ratios[best - 2]]) / (1 + ratios[best - 2])
    loss = float(row_losses(baseline, rates, weights))
    return RowResult(loss, loss, baseline, 2 + int((rates > 0).all(axis=1).sum()))


@lru_cache(maxsize=64)
def _tie_breaks(shape: tuple[int, int]) -> Floats:
    """Return numbers that break ties between groups, always the same numbers."""
    return np.random.RandomState(0).random_sample(shape)


def best_vertex(
    low: Floats,
    high: Floats,
    rates: Floats,
    weights: Floats,
    clock: Clock,
    max_trees: float = np.inf,
) -> RowResult | None:
    """Find the best vertex within a box of rows.

    Return None if time ran out, or if more than `max_trees` were examined.
    """
    used = np.flatnonzero(high > 0)
    noise = _tie_breaks((len(rates), len(used)))
    generic = rates[:, used] * (1 + _TIE_BREAK * noise)
    low, high = low[used], high[used]
    trees = _roots(low, generic)
    best, explained, n_seen = None, -1.0, 0
    for size in range(1, len(used) + 1):
        grown = iter((trees,)) if size == 1 else _grow(trees, low, high, generic)
        level = []
        for part in grown:
            rows, shares, *_ = part
            n_seen += len(rows)
            if clock.is_over() or n_seen > max_trees:
                return None
            complete = (rows[:, low > 0] > 0).all(axis=1)
            sums = rows.sum(axis=1)
            value = np.where(complete, (shares @ weights) * sums, -1.0)
            if len(value) and value.max() > explained:
                position = int(value.argmax())
                explained = float(value[position])
                best = rows[position] / sums[position]
            if size < len(used):
                level.append(part)
        if level:
            trees = _join_trees(level)
    baseline = np.zeros(rates.shape[1])
    if best is None:
        return RowResult(np.inf, np.inf, baseline, n_seen)
    baseline[used] = best
    loss = float(row_losses(baseline, rates, weights))
    return RowResult(loss, loss, baseline, n_seen)


def _join_trees(parts: list[Trees]) -> Trees:
    """Join trees of the same size."""
    rows, shares, joints, degrees = map(np.concatenate, zip(*parts, strict=True))
    return rows, shares, joints, degrees


def _roots(low: Floats, rates: Floats) -> Trees:
    """Return a tree for each class; or only for a class that all rows of a box use."""
    n_classes = len(low)
    roots = [int(low.argmax())] if low.any() else list(range(n_classes))
    rows = np.eye(n_classes)[roots]
    degrees = (rows * (len(roots) == 1)).astype(np.int8)
    joints = np.empty((len(roots), 0), np.intp)
    return rows, rates.T[roots], joints, degrees


def _grow(trees: Trees, low: Floats, high: Floats, rates: Floats) -> Iterator[Trees]:
    """Attach each possible leaf to each tree, a block of trees at a time."""
    step = max(1, _GROWN_AT_ONCE // rates.size)
    rows, shares, joints, degrees = trees
    for start in range(0, len(rows), step):
        at = slice(start, start + step)
        block = rows[at], shares[at], joints[at], degrees[at]
        yield from _attach(block, low, high, rates)


def _attach(trees: Trees, low: Floats, high: Floats, rates: Floats) -> Iterator[Trees]:
    """Attach each possible leaf to each tree of a block.

    A tree may grow as many leaves as there are groups, so trees are yielded in parts.
    """
    all_rows, all_shares, all_joints, all_degrees = trees
    # At this value a class that is not in the tree becomes minimal for the group too.
    with np.errstate(divide="ignore", invalid="ignore"):
        values = rates.T[None] / all_shares[:, None, :]
        low_ratio, most = _ratio_limits(all_rows, low, high)
    if all_joints.shape[1]:
        tight = np.take_along_axis(values, all_joints[:, None, :], axis=2)
        most = np.minimum(most, tight.min(axis=2))
    most[all_rows > 0] = -1.0
    fits = (values >= low_ratio[:, :, None]) & (values <= most[:, :, None])
    fits &= (values > 0) & (values < np.inf)
    tree, leaf, group = np.nonzero(fits)
    in_tree = all_rows[tree]
    ratios = np.full(in_tree.shape, np.inf)
    np.divide(rates[group], in_tree, out=ratios, where=in_tree > 0)
    parent = ratios.argmin(axis=1)
    degrees = all_degrees[tree]
    entries = np.arange(len(tree))
    degrees[entries, parent] += 1
    degrees[entries, leaf] = 1
    # Each tree is kept once: where the leaf attached last is its last leaf.
    last = degrees.shape[1] - 1 - (degrees == 1)[:, ::-1].argmax(axis=1)
    once = last == leaf
    tree, leaf, group, degrees = tree[once], leaf[once], group[once], degrees[once]
    value = values[tree, leaf, group]
    step = max(1, _GROWN_AT_ONCE // rates.size)
    for start in range(0, max(len(tree), 1), step):  # at least an empty part
        part = slice(start, start + step)
        before, leaves, new = tree[part], leaf[part], value[part]
        rows = all_rows[before]
        rows[np.arange(len(rows)), leaves] = new
        shares = np.minimum(all_shares[before], rates.T[leaves] / new[:, None])
        joints = np.column_stack([all_joints[before], group[part]])
        yield rows, shares, joints, degrees[part]


def _ratio_limits(rows: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the smallest and largest probability of each class in a box, by tree.

    The probabilities are on the scale of the tree's row, which is not normalised.
    """
    scale_high = (rows / high).max(axis=1, keepdims=True)
    in_tree = np.where(rows > 0, rows, np.inf)
    scale_low = np.where(low > 0, in_tree / low, np.inf).min(axis=1, keepdims=True)
    slack = 1e-9
    return low * scale_high * (1 - slack), high * scale_low * (1 + slack)


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


class Box(NamedTuple):
    """Baseline rows between a lower and an upper corner."""

    low: Floats
    high: Floats
    #: Upper bound of the weight that these rows explain.
    limit: float
    #: Multipliers of McCormick's inequalities, of shape (n_groups, n_classes). The
    #: multipliers of a group sum to at most its weight.
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
        self.heap: list[tuple[float, int, Box]] = []

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
        """Return the bounds and best row so far."""
        return RowResult(self._lower(), self.loss, self.baseline, self.n_nodes)

    @property
    def is_done(self) -> bool:
        """Return whether the bounds differ by at most `tol`."""
        return bool(self.heap or self.n_nodes) and self.loss - self._lower() <= self.tol

    def _lower(self) -> float:
        """Return the lower bound of the loss."""
        if self.heap:
            return min(self.loss, max(self.floor, self.total + self.heap[0][0]))
        # Every box has been closed, or none was opened yet.
        return max(self.loss - LOSS_ROUNDING, 0.0) if self.n_nodes else self.floor

    def _add(self, box: Box) -> None:
        """Open a box; boxes with the largest limits are searched first."""
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
        self._add(Box(low, high, self.total - self.floor, no_multipliers))

    def _improve(self, start: Floats) -> None:
        """Improve a row by local search, and keep the result if it is the best row."""
        loss, row = improve_row(start, self.rates, self.weights, self.clock)
        if loss < self.loss:
            self.loss, self.baseline = loss, row

    def _range(self, rates: Floats) -> tuple[float, float]:
        """Bound the probability of a class in the best rows."""
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
        """Find, by bisection, the probability of a class beyond which no row is good.

        Return the bad end of the last interval, so that no good row is left out.
        """
        for _ in range(30):
            middle = (bad + good) / 2
            if self._is_good(np.array([middle]), rates)[0]:
                good = middle
            else:
                bad = middle
        return bad

    def _is_good(self, values: Floats, rates: Floats) -> np.ndarray:
        """Return whether the loss of merged classes is at most the best known loss."""
        two = np.column_stack([values, 1 - values])
        losses = row_losses(two, np.column_stack([rates, 1 - rates]), self.weights)
        return np.asarray(losses <= self.loss + 1e-12)

    def _branch(self, box: Box) -> list[Box]:
        """Bound a box, and return the parts of it that may hold a better row."""
        if self._enumerate(box.low, box.high):
            return []
        self.n_nodes += 1
        solved = _relax(box, self.rates, self.weights, self.clock)
        if solved is None:
            middle = (box.low + box.high) / 2
            return self._split(box, middle, np.ones(len(self.rates)))
        box, row, shares = solved
        if row_losses(row, self.rates, self.weights) < self.loss:
            self._improve(row)
        if box.limit <= self.total - self.loss + self.tol:
            # Kept as a leaf, because it says how good the best row can be.
            return [box]
        return self._split(box, row, shares)

    def _enumerate(self, low: Floats, high: Floats) -> bool:
        """Enumerate a box if it seems to have few vertices; return whether it was."""
        if estimated_vertices(low, high, self.rates) > _MAX_BOX_VERTICES:
            return False
        best = best_vertex(low, high, self.rates, self.weights, self.clock, _MAX_TREES)
        if best is None:
            return False
        self.n_nodes += 1
        if best.upper < self.loss:
            self.loss, self.baseline = best.upper, best.baseline
        return True

    def _split(self, box: Box, row: Floats, shares: Floats) -> list[Box]:
        """Split a box at the class for which the relaxed solution errs most."""
        low, high, limit, multipliers = box
        ratios = np.full_like(self.rates, np.inf)
        np.divide(self.rates, row, out=ratios, where=row > 0)
        errors = self.weights @ np.maximum(shares[:, None] - ratios, 0.0)
        side = high - low
        z = int(np.where(side > 1e-12, errors + 1e-12 * side, -1.0).argmax())
        middle = (low[z] + high[z]) / 2
        at = middle + _TOWARDS_SOLUTION * (row[z] - middle)
        margin = _LEAST_SHARE * side[z]
        at = np.clip(at, low[z] + margin, high[z] - margin)
        lows, highs = np.tile(low, (2, 1)), np.tile(high, (2, 1))
        highs[0, z] = lows[1, z] = at
        limits = _limits(lows, highs, self.rates, self.weights, multipliers)
        limits = np.minimum(limits, limit)
        return [
            Box(lows[i], highs[i], float(limits[i]), multipliers)
            for i in range(2)
            if np.isfinite(limits[i])
        ]


def _relax(
    box: Box, rates: Floats, weights: Floats, clock: Clock
) -> tuple[Box, Floats, Floats] | None:
    """Solve the linear relaxation of a box; return None if time ran out.

    Return the box with a new limit and multipliers, the row of the solution, and the
    share of each group that this row explains in the relaxed problem.
    """
    low, high, limit, _ = box
    cap = explained_shares(low, rates)
    # Elsewhere McCormick's inequality follows from the cap alone.
    binds = (high > 0) & (rates < cap[:, None] * high)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes, shifts = cap[:, None] / high, rates / high
    solved = maximise_explained(
        slopes,
        cap[:, None] + shifts,
        binds,
        np.append(low, np.zeros(len(rates))),
        np.append(high, cap),
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
    limits = _limits(low[None], high[None], rates, weights, multipliers)
    limit = min(float(limits[0]), limit)
    n_classes = rates.shape[1]
    row = np.clip(solved.x[:n_classes], 0, None)
    box = Box(low, high, limit, multipliers)
    return box, row / row.sum(), solved.x[n_classes:]


def _limits(
    lows: Floats, highs: Floats, rates: Floats, weights: Floats, multipliers: Floats
) -> Floats:
    """Bound the weight that rows of boxes explain, by Lagrangian relaxation."""
    # All non-negative multipliers of McCormick's inequalities give a bound. Those of
    # the box before it was split often make a linear program unnecessary.
    cap = explained_shares(lows, rates)
    inverse = np.divide(1.0, highs, out=np.zeros_like(highs), where=highs > 0)
    constant = cap @ weights + inverse @ (multipliers * rates).sum(axis=0)
    prices = (cap @ multipliers) * inverse
    return np.asarray(constant - _smallest_cost(prices, lows, highs) + _PRICE_ROUNDING)


def _smallest_cost(prices: Floats, lows: Floats, highs: Floats) -> Floats:
    """Return the smallest cost of a row in each box, inf if the box has no row."""
    order = np.argsort(prices, axis=1)
    spare = np.take_along_axis(highs - lows, order, axis=1)
    sorted_prices = np.take_along_axis(prices, order, axis=1)
    rest = 1.0 - lows.sum(axis=1, keepdims=True)
    before = np.cumsum(spare, axis=1) - spare
    bought = np.clip(rest - before, 0, spare)
    cost = (lows * prices).sum(axis=1) + (bought * sorted_prices).sum(axis=1)
    short = (rest[:, 0] < -_PRICE_ROUNDING) | (highs.sum(axis=1) < 1 - _PRICE_ROUNDING)
    return np.where(short, np.inf, cost)


SearchMethod = Literal["auto", "local"]

#: A proof enumerates up to this many vertices of a class, in about a second.
_MAX_AUTO_VERTICES = 400_000


def solve_rows(
    confusion: Floats,
    weights: Floats,
    *,
    tol: float,
    time_limit: float,
    method: SearchMethod,
    n_jobs: int | None,
    verbose: int,
) -> list[RowResult]:
    """Bound the loss of every true class; `dcp_bounds` describes the parameters.

    `confusion` has the shape (n_groups, n_classes, n_classes), and `weights` the shape
    (n_groups, n_classes).
    """
    clock = Clock(time_limit)
    problems = [
        (y, confusion[present, y], weights[present, y])
        for y, present in enumerate(weights.T > 0)
    ]
    solve = partial(
        _solve_some, tol=tol / len(problems), method=method, verbose=verbose
    )
    n_parts = min(effective_n_jobs(n_jobs), len(problems))
    if n_parts == 1:
        return solve(problems, clock.left())
    # Clocks of two processes need not agree, seconds do.
    parts = Parallel(n_jobs=n_jobs)(
        delayed(solve)(problems[job::n_parts], clock.left()) for job in range(n_parts)
    )
    return [parts[y % n_parts][y // n_parts] for y in range(len(problems))]


def _solve_some(
    problems: Sequence[tuple[int, Floats, Floats]],
    time_limit: float,
    *,
    tol: float,
    method: SearchMethod,
    verbose: int,
) -> list[RowResult]:
    """Solve problems in turn, each in an equal share of the remaining time.

    A problem is a true class, and the rates and weights of the groups that have it.
    """
    clock = Clock(time_limit)
    searches: dict[int, RowSearch] = {}
    results: list[RowResult] = []
    progress = [Progress(f"dcp_bounds: class {y}", verbose) for y, *_ in problems]
    for i, (_, rates, weights) in enumerate(problems):
        class_clock = clock.part(1 / (len(problems) - i))
        if method == "auto" and n_vertices(*rates.shape) > _MAX_AUTO_VERTICES:
            searches[i] = RowSearch(rates, weights, tol)
            results.append(searches[i].run(class_clock, progress[i]))
        else:
            results.append(_solve_row(rates, weights, method, class_clock))
        progress[i].line(str(results[i]))
    # The time that easy classes did not need goes to searches that have not ended.
    while not clock.is_over():
        waiting = [i for i, search in searches.items() if not search.is_done]
        if not waiting:
            break
        for left, i in zip(range(len(waiting), 0, -1), waiting, strict=True):
            results[i] = searches[i].run(clock.part(1 / left), progress[i])
            progress[i].line(str(results[i]))
    return results


def _solve_row(
    rates: Floats, weights: Floats, method: SearchMethod, clock: Clock
) -> RowResult:
    """Solve the problem of one class by enumeration, or by local search."""
    n_groups, n_classes = rates.shape
    if not n_groups:  # no group has this class: any row will do
        return RowResult(0.0, 0.0, np.full(n_classes, 1 / n_classes), 0)
    if method == "local":
        return search_locally(rates, weights, clock)
    result = enumerate_row(rates, weights, clock)
    return result or search_locally(rates, weights, clock, halves(n_classes))

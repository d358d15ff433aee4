"""The best baseline row exactly, by enumerating the vertices where it can lie.

The weight explained is convex in the baseline wherever the minimising class of each
group stays the same, so it is largest at a vertex of these cells. There, the classes in
use form a tree whose edges each join two classes that are minimal for one group at
once. Trees grow by one leaf at a time, and are dropped as soon as a group of the tree
is no longer minimal at its two classes, or the ratio of two classes leaves the box that
is searched. Classes not in use have probability zero exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfair._utils._arrays import Floats, Integers
from skfair.metrics._dcp._clock import Clock
from skfair.metrics._dcp._search._rows import RowResult, row_losses

#: Relative noise that breaks ties between groups, which would hide vertices.
_TIE_BREAK = 1e-12
#: How far breaking ties and rounding can move the loss of a class.
LOSS_ROUNDING = 1e-10
#: Numbers in a block of trees that grow in one step.
_GROWN_AT_ONCE = 500_000


class _Trees(NamedTuple):
    """Trees of classes joined by groups, each with the one row that it allows."""

    rows: Floats  # (n_trees, n_classes), up to a factor; 0 for classes not in use
    shares: Floats  # (n_trees, n_groups), explained by the row, up to that factor
    joints: Integers  # (n_trees, n_edges), the group of each edge
    # (n_trees, n_classes), edges at each class; one more at a root given in advance,
    # which is never a leaf.
    degrees: NDArray[np.int8]


def n_vertices(n_groups: int, n_classes: int) -> int:
    """Count the vertices with all classes in use, if no two coincide."""
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
        least, most = rates / high, rates / low
        most[:, low == 0] = np.inf
    # Groups outside these ranges have the same minimal class all over the box.
    minimal = (least <= most.min(axis=1, keepdims=True)) & (rates > 0)
    meet = (least[:, :, None] <= most[:, None, :]) & minimal[:, :, None]
    edges = (meet & meet.transpose(0, 2, 1)).sum(axis=0).astype(float)
    # A class that need not be used counts as one more tree, not as none.
    edges += low == 0
    edges += (low == 0)[:, None]
    np.fill_diagonal(edges, 0.0)
    laplacian = np.diag(edges.sum(axis=1)) - edges
    trees = float(np.linalg.det(laplacian[1:, 1:]))
    return float(max(trees, 0.0) / n_classes ** (n_classes - 2))


def enumerate_row(rates: Floats, weights: Floats, clock: Clock) -> RowResult | None:
    """Find the row of least loss with its bounds; None if the time was over first."""
    n_classes = rates.shape[1]
    if n_classes == 2:
        found = None if clock.is_over() else best_of_two(rates, weights)
    else:
        everywhere = np.zeros(n_classes), np.ones(n_classes)
        found = best_vertex(*everywhere, rates, weights, clock)
    if found is None:
        return None
    candidates, losses = candidate_losses(found.baseline, rates, weights)
    best = int(losses.argmin())
    loss = float(losses[best])
    lower = max(min(found.lower, loss) - LOSS_ROUNDING, 0.0)
    return RowResult(lower, loss, candidates[best], found.n_nodes)


def candidate_losses(
    baseline: Floats, rates: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    """Rows that may be the best one, a vertex and the rates of groups, and losses.

    The noise moves the vertex found. Where groups are equal, the row of one of them is
    the optimum, and is exact. Further axes, of problems, come first.
    """
    candidates = np.concatenate([baseline[..., None, :], rates], axis=-2)
    step = max(1, _GROWN_AT_ONCE // rates.size)
    losses = [
        row_losses(
            candidates[..., start : start + step, :], rates[..., None, :, :], weights
        )
        for start in range(0, candidates.shape[-2], step)
    ]
    return candidates, np.concatenate(losses, axis=-1)


def best_of_two(rates: Floats, weights: Floats) -> RowResult:
    """Find the best vertex of two classes, the one that `best_vertex` finds."""
    baseline, n_nodes = vertices_of_two(rates, weights)
    loss = float(row_losses(baseline, rates, weights))
    return RowResult(loss, loss, baseline, int(n_nodes))


def vertices_of_two(rates: Floats, weights: Floats) -> tuple[Floats, Integers]:
    """Best vertex of two classes, and the number of vertices; problems come first.

    The vertices are the classes alone, and the rates of each group that uses both.
    """
    generic = rates * (1 + _TIE_BREAK * _noise(rates.shape[-2:]))
    first, second = generic[..., 0], generic[..., 1]
    both = (first > 0) & (second > 0)
    ratios = np.divide(second, first, out=np.ones_like(first), where=both)
    shares = np.minimum(first[..., None, :], second[..., None, :] / ratios[..., None])
    explained = (shares @ weights[..., None])[..., 0] * (1 + ratios)
    explained[~both] = -np.inf
    alone = (np.swapaxes(generic, -1, -2) @ weights[..., None])[..., 0]
    best = np.concatenate([alone, explained], axis=-1).argmax(axis=-1)
    vertices = np.stack([1 / (1 + ratios), ratios / (1 + ratios)], axis=-1)
    ends = np.broadcast_to(np.eye(2), (*rates.shape[:-2], 2, 2))
    vertices = np.concatenate([ends, vertices], axis=-2)
    found = np.take_along_axis(vertices, best[..., None, None], axis=-2)
    return found[..., 0, :], 2 + both.sum(axis=-1)


@lru_cache(maxsize=64)
def _noise(shape: tuple[int, int]) -> Floats:
    """Numbers by which ties between groups are broken, the same in every call."""
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

    None is returned if the time was over, or more than `max_trees` were examined.
    """
    used = np.flatnonzero(high > 0)
    noise = _noise((len(rates), len(used)))
    generic = rates[:, used] * (1 + _TIE_BREAK * noise)
    low, high = low[used], high[used]
    trees = _roots(low, generic)
    best, explained, n_seen = None, -1.0, 0
    for size in range(1, len(used) + 1):
        grown = iter((trees,)) if size == 1 else _grow(trees, low, high, generic)
        level = []
        for part in grown:
            n_seen += len(part.rows)
            if clock.is_over() or n_seen > max_trees:
                return None
            complete = (part.rows[:, low > 0] > 0).all(axis=1)
            sums = part.rows.sum(axis=1)
            value = np.where(complete, (part.shares @ weights) * sums, -1.0)
            if len(value) and value.max() > explained:
                position = int(value.argmax())
                explained = float(value[position])
                best = part.rows[position] / sums[position]
            if size < len(used):
                level.append(part)
        if level:
            trees = _Trees._make(map(np.concatenate, zip(*level, strict=True)))
    baseline = np.zeros(rates.shape[1])
    if best is None:
        return RowResult(np.inf, np.inf, baseline, n_seen)
    baseline[used] = best
    loss = float(row_losses(baseline, rates, weights))
    return RowResult(loss, loss, baseline, n_seen)


def _roots(low: Floats, rates: Floats) -> _Trees:
    """Trees of one class: each class, or one that every row of the box uses."""
    n_classes = len(low)
    roots = [int(low.argmax())] if low.any() else list(range(n_classes))
    rows = np.eye(n_classes)[roots]
    degrees = (rows * (len(roots) == 1)).astype(np.int8)
    joints = np.empty((len(roots), 0), np.intp)
    return _Trees(rows, rates.T[roots], joints, degrees)


def _grow(trees: _Trees, low: Floats, high: Floats, rates: Floats) -> Iterator[_Trees]:
    """Attach each possible leaf to each tree, a block of trees at a time."""
    step = max(1, _GROWN_AT_ONCE // rates.size)
    for start in range(0, len(trees.rows), step):
        block = _Trees._make(part[start : start + step] for part in trees)
        yield from _attach(block, low, high, rates)


def _attach(
    trees: _Trees, low: Floats, high: Floats, rates: Floats
) -> Iterator[_Trees]:
    """Attach each possible leaf to each tree of a block.

    A tree may grow as many leaves as there are groups: some trees are yielded at once.
    """
    # At this value a class that is not in the tree becomes minimal for the group too.
    with np.errstate(divide="ignore", invalid="ignore"):
        values = rates.T[None] / trees.shares[:, None, :]
        least, most = _ratio_limits(trees.rows, low, high)
    if trees.joints.shape[1]:
        tight = np.take_along_axis(values, trees.joints[:, None, :], axis=2)
        most = np.minimum(most, tight.min(axis=2))
    most[trees.rows > 0] = -1.0
    fits = (values >= least[:, :, None]) & (values <= most[:, :, None])
    fits &= (values > 0) & (values < np.inf)
    tree, leaf, group = np.nonzero(fits)
    in_tree = trees.rows[tree]
    ratios = np.full(in_tree.shape, np.inf)
    np.divide(rates[group], in_tree, out=ratios, where=in_tree > 0)
    parent = ratios.argmin(axis=1)
    degrees = trees.degrees[tree]
    each = np.arange(len(tree))
    degrees[each, parent] += 1
    degrees[each, leaf] = 1
    # Each tree is kept once: where the leaf attached last is its last leaf.
    last = degrees.shape[1] - 1 - (degrees == 1)[:, ::-1].argmax(axis=1)
    once = last == leaf
    tree, leaf, group, degrees = tree[once], leaf[once], group[once], degrees[once]
    value = values[tree, leaf, group]
    step = max(1, _GROWN_AT_ONCE // rates.size)
    for start in range(0, max(len(tree), 1), step):  # at least an empty part
        part = slice(start, start + step)
        before, leaves, new = tree[part], leaf[part], value[part]
        rows = trees.rows[before]
        rows[np.arange(len(rows)), leaves] = new
        shares = np.minimum(trees.shares[before], rates.T[leaves] / new[:, None])
        joints = np.column_stack([trees.joints[before], group[part]])
        yield _Trees(rows, shares, joints, degrees[part])


def _ratio_limits(rows: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Least and largest probability that a row of the box can have for each class.

    They are on the scale of the trees' rows, which fix the other classes.
    """
    scale_high = (rows / high).max(axis=1, keepdims=True)
    in_tree = np.where(rows > 0, rows, np.inf)
    scale_low = np.where(low > 0, in_tree / low, np.inf).min(axis=1, keepdims=True)
    slack = 1e-9
    return low * scale_high * (1 - slack), high * scale_low * (1 + slack)

"""The best baseline row exactly, by enumerating the vertices where it can lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from skfair.metrics._dcp._search._linear_program import Clock
from skfair.metrics._dcp._search._rows import Floats, RowResult, row_losses

#: Breaks ties between groups, whose vertices would else be found in no order.
_TIE_BREAK = 1e-12
#: Numbers of a block that is looked at in one step.
_BLOCK = 500_000


@dataclass(frozen=True, eq=False)
class _Trees:
    """Trees of labels, joined by groups, each with the one row that it allows.

    Attributes
    ----------
    rows : ndarray of shape (n_trees, n_classes)
        Baseline rows up to a factor; 0 for labels that are not in the tree.
    kept : ndarray of shape (n_trees, n_groups)
        Share that each group keeps, up to the same factor.
    joints : ndarray of shape (n_trees, n_edges)
        The group that each edge carries.
    degrees : ndarray of shape (n_trees, n_classes)
        Edges at each label; one more at the root, which is never a leaf.
    """

    rows: Floats
    kept: Floats
    joints: NDArray[np.intp]
    degrees: NDArray[np.int8]

    def __getitem__(self, which: slice) -> _Trees:
        return _Trees(
            self.rows[which], self.kept[which], self.joints[which], self.degrees[which]
        )

    def __len__(self) -> int:
        return len(self.rows)


def n_vertices(n_groups: int, n_classes: int) -> int:
    """Count the vertices with all labels in use, if no two coincide."""
    return comb(n_groups + n_classes - 2, n_classes - 1) if n_groups else 0


def estimated_vertices(low: Floats, high: Floats, rates: Floats) -> float:
    """Guess how many vertices lie within a box.

    The matrix-tree theorem counts the trees of labels whose edges carry groups that
    can have both labels minimal somewhere in the box. Of all trees on the whole
    simplex, one in ``n_classes ** (n_classes - 2) * (n_classes - 1)!`` is a vertex.

    Parameters
    ----------
    low, high : ndarray of shape (n_classes,)
    rates : ndarray of shape (n_groups, n_classes)

    Returns
    -------
    float
    """
    used = high > 0
    low, high, rates = low[used], high[used], rates[:, used]
    n_classes = len(low)
    if n_classes < 2:
        return 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        least, most = rates / high, rates / low
        most[:, low == 0] = np.inf
    # Groups beyond these ranges have the same minimal label all over the box.
    minimal = (least <= most.min(axis=1, keepdims=True)) & (rates > 0)
    meet = (least[:, :, None] <= most[:, None, :]) & minimal[:, :, None]
    edges = (meet & meet.transpose(0, 2, 1)).sum(axis=0).astype(float)
    # A label that need not be used counts as one more tree, not as none.
    edges += low == 0
    edges += (low == 0)[:, None]
    np.fill_diagonal(edges, 0.0)
    laplacian = np.diag(edges.sum(axis=1)) - edges
    trees = float(np.linalg.det(laplacian[1:, 1:]))
    return float(max(trees, 0.0) / n_classes ** (n_classes - 2))


def enumerate_row(
    rates: Floats, weights: Floats, clock: Clock | None = None
) -> RowResult | None:
    """Find the baseline row of least loss.

    Parameters
    ----------
    rates : ndarray of shape (n_groups, n_classes)
    weights : ndarray of shape (n_groups,)
    clock : Clock, default=None

    Returns
    -------
    RowResult, or None if the time was over first
    """
    n_classes = rates.shape[1]
    return best_vertex(
        np.zeros(n_classes), np.ones(n_classes), rates, weights, clock or Clock(None)
    )


def best_vertex(
    low: Floats,
    high: Floats,
    rates: Floats,
    weights: Floats,
    clock: Clock,
    max_trees: float = np.inf,
) -> RowResult | None:
    """Find the best of the vertices within a box.

    The weight explained is convex in the baseline wherever the minimising label of
    each group stays the same, so it is largest at a vertex of these cells. There, the
    labels in use form a tree whose edges each join two labels that are minimal for
    one group at once. Trees grow by one leaf at a time, and are dropped as soon as a
    group of the tree is no longer minimal at its two labels, or the ratio of two
    labels leaves the box. Labels not in use have probability zero exactly.

    Parameters
    ----------
    low, high : ndarray of shape (n_classes,)
    rates : ndarray of shape (n_groups, n_classes)
    weights : ndarray of shape (n_groups,)
    clock : Clock
    max_trees : float, default=inf
        The search is given up when it has seen more trees.

    Returns
    -------
    RowResult, or None if the search was given up or the time was over
    """
    used = np.flatnonzero(high > 0)
    noise = np.random.RandomState(0).random_sample((len(rates), len(used)))
    generic = rates[:, used] * (1 + _TIE_BREAK * noise)
    low, high = low[used], high[used]
    trees = _roots(low, generic)
    best, explained, n_seen = None, -1.0, 0
    for size in range(1, len(used) + 1):
        grown = iter((trees,)) if size == 1 else _grow(trees, low, high, generic)
        level = []
        for part in grown:
            n_seen += len(part)
            if clock.is_over() or n_seen > max_trees:
                return None
            complete = (part.rows[:, low > 0] > 0).all(axis=1)
            sums = part.rows.sum(axis=1)
            value = np.where(complete, (part.kept @ weights) * sums, -1.0)
            if len(value) and value.max() > explained:
                position = int(value.argmax())
                explained = float(value[position])
                best = part.rows[position] / sums[position]
            if size < len(used):
                level.append(part)
        trees = _join(level) if level else trees
    baseline = np.zeros(rates.shape[1])
    if best is None:
        return RowResult(np.inf, np.inf, baseline, n_seen)
    baseline[used] = best
    loss = float(row_losses(baseline, rates, weights))
    return RowResult(loss, loss, baseline, n_seen)


def _roots(low: Floats, rates: Floats) -> _Trees:
    """Trees of one label: each label, or one that every row of the box uses."""
    n_classes = len(low)
    roots = [int(low.argmax())] if low.any() else list(range(n_classes))
    rows = np.eye(n_classes)[roots]
    degrees = (rows * (len(roots) == 1)).astype(np.int8)
    joints = np.empty((len(roots), 0), np.intp)
    return _Trees(rows, rates.T[roots], joints, degrees)


def _join(parts: list[_Trees]) -> _Trees:
    return _Trees(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.kept for part in parts]),
        np.concatenate([part.joints for part in parts]),
        np.concatenate([part.degrees for part in parts]),
    )


def _grow(trees: _Trees, low: Floats, high: Floats, rates: Floats) -> Iterator[_Trees]:
    """Attach each possible leaf to each tree, a block of trees at a time."""
    step = max(1, _BLOCK // rates.size)
    for start in range(0, len(trees), step):
        yield _attach(trees[start : start + step], low, high, rates)


def _attach(trees: _Trees, low: Floats, high: Floats, rates: Floats) -> _Trees:
    # At this value a label that is not in the tree becomes minimal for the group too.
    with np.errstate(divide="ignore", invalid="ignore"):
        values = rates.T[None] / trees.kept[:, None, :]
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
    rows = trees.rows[tree]
    rows[np.arange(len(tree)), leaf] = value
    kept = np.minimum(trees.kept[tree], rates.T[leaf] / value[:, None])
    return _Trees(rows, kept, np.column_stack([trees.joints[tree], group]), degrees)


def _ratio_limits(rows: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Range of each further label, given the labels that trees have."""
    scale_high = (rows / high).max(axis=1, keepdims=True)
    in_tree = np.where(rows > 0, rows, np.inf)
    scale_low = np.where(low > 0, in_tree / low, np.inf).min(axis=1, keepdims=True)
    slack = 1e-9
    return low * scale_high * (1 - slack), high * scale_low * (1 + slack)

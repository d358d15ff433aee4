"""The paper's own upper bounds: average, greedy, and local minimisation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from skfair.metrics._dcp._search._linear_program import Clock, maximise
from skfair.metrics._dcp._search._rows import Floats, row_losses

#: Random orders of the labels that the greedy start tries, as the paper's.
_N_ORDERS = 10
_MAX_STEPS = 100
_LEAST_GAIN = 1e-9


def average_row(rates: Floats, weights: Floats) -> Floats:
    """Weighted mean of the groups' rows.

    Parameters
    ----------
    rates : ndarray of shape (n_groups, n_classes)
    weights : ndarray of shape (n_groups,)

    Returns
    -------
    ndarray of shape (n_classes,)
    """
    return np.asarray(weights @ rates / weights.sum())


def greedy_row(rates: Floats, weights: Floats, first: int, clock: Clock) -> Floats:
    """Optimise label by label, the labels to come merged into one (appendix C).

    Parameters
    ----------
    rates : ndarray of shape (n_groups, n_classes)
    weights : ndarray of shape (n_groups,)
    first : int
        The label to begin with, the true one.
    clock : Clock

    Returns
    -------
    ndarray of shape (n_classes,)
        The best over ten orders of the other labels.
    """
    others = np.delete(np.arange(rates.shape[1]), first)
    generator = np.random.RandomState(0)
    best = average_row(rates, weights)
    for _ in range(_N_ORDERS):
        if clock.is_over():
            break
        order = np.append(first, generator.permutation(others))
        row = _greedy_in_order(rates, weights, order)
        if row_losses(row, rates, weights) < row_losses(best, rates, weights):
            best = row
    return best


def _greedy_in_order(rates: Floats, weights: Floats, order: NDArray[np.intp]) -> Floats:
    row = np.zeros(len(order))
    kept, rest = np.ones(len(rates)), 1.0
    for position, label in enumerate(order[:-1]):
        own, others = rates[:, label], rates[:, order[position + 1 :]].sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Where any two terms of a group's minimum are equal.
            points = np.concatenate(
                [own / kept, rest - others / kept, rest * own / (own + others)]
            )
            points = np.append(points[np.isfinite(points)], [0.0, rest])
            points = np.unique(np.clip(points, 0.0, rest))
            terms = np.fmin(own / points[:, None], others / (rest - points)[:, None])
        explained = np.fmin(terms, kept) @ weights
        row[label] = points[explained.argmax()]
        if row[label] > 0:
            kept = np.minimum(kept, own / row[label])
        rest -= row[label]
    row[order[-1]] = max(rest, 0.0)
    return np.asarray(row / row.sum())


def locally_minimal_row(
    row: Floats, rates: Floats, weights: Floats, clock: Clock
) -> Floats:
    """Algorithm 1 on the simpler form of the problem.

    There the linearised constraints, ``share <= h (2 / x - alpha / x ** 2)``, lie
    within the true ones, ``share <= h / alpha``: every step is feasible and none is
    worse, so that the line search is not needed.

    Parameters
    ----------
    row : ndarray of shape (n_classes,)
        Where to start; labels of probability zero keep it.
    rates : ndarray of shape (n_groups, n_classes)
    weights : ndarray of shape (n_groups,)
    clock : Clock

    Returns
    -------
    ndarray of shape (n_classes,)
    """
    loss = float(row_losses(row, rates, weights))
    for _ in range(_MAX_STEPS):
        if clock.is_over():
            break
        moved = _tangent_step(row, rates, weights, clock)
        if moved is None:
            break
        new_loss = float(row_losses(moved, rates, weights))
        if new_loss > loss - _LEAST_GAIN:
            break
        loss, row = new_loss, moved
    return row


def _tangent_step(
    row: Floats, rates: Floats, weights: Floats, clock: Clock
) -> Floats | None:
    used = np.flatnonzero(row > 0)
    point, n_groups = row[used], len(rates)
    slopes = rates[:, used] / point**2
    n_used = len(used)
    lines = np.arange(n_groups * n_used)
    group, label = np.divmod(lines, n_used)
    matrix = csc_array(
        (
            np.concatenate([slopes.ravel(), np.ones(len(lines))]),
            (np.concatenate([lines, lines]), np.concatenate([label, n_used + group])),
        ),
        shape=(len(lines), n_used + n_groups),
    )
    solved = maximise(
        np.append(np.zeros(n_used), weights),
        matrix,
        2 * (rates[:, used] / point).ravel(),
        np.zeros(n_used + n_groups),
        np.ones(n_used + n_groups),
        clock,
        equal=(np.append(np.ones(n_used), np.zeros(n_groups))[None, :], np.ones(1)),
    )
    if solved is None:
        return None
    moved = np.zeros_like(row)
    moved[used] = np.clip(solved.x[:n_used], 0.0, None)
    return np.asarray(moved / moved.sum())

"""Baseline rows without a certificate: local search, and the paper's methods."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skfair._utils._types import Bools, Floats, Integers
from skfair.metrics._dcp._clock import Clock
from skfair.metrics._dcp._search._linear_program import maximise_explained
from skfair.metrics._dcp._search._rows import (
    RowResult,
    best_split,
    halves,
    least_ratios,
    merged_bound,
    row_losses,
)

#: With more classes the sets are single classes and pairs, to keep their number small.
_MAX_SUBSET_CLASSES = 10
_N_LOCAL_STARTS = 5
_MAX_LOCAL_STEPS = 200
#: A decrease of the loss below this is rounding.
_LEAST_LOCAL_DECREASE = 1e-13
#: Random orders of the classes that the greedy method tries, as in the paper.
_N_ORDERS = 10
_MAX_TANGENT_STEPS = 100
_LEAST_TANGENT_DECREASE = 1e-9


def average_row(rates: Floats, weights: Floats) -> Floats:
    """Weighted mean of the groups' rows."""
    return np.asarray(weights @ rates / weights.sum())


def starting_rows(rates: Floats, weights: Floats, n_starts: int) -> list[Floats]:
    """Rows to start from: those of groups with the least loss, and the mean."""
    losses = row_losses(rates, rates, weights)
    own = [rates[a] for a in np.argsort(losses, kind="stable")[: n_starts - 1]]
    return [*own, average_row(rates, weights)]


def _search_sets(n_classes: int) -> Bools:
    """List the sets of classes; mass moves between each set and the other classes."""
    single = np.eye(n_classes, dtype=bool)
    if n_classes <= _MAX_SUBSET_CLASSES:
        # A single class is listed beside its complement: only a set of one class may
        # have no mass yet.
        return np.concatenate([single, halves(n_classes)])
    first, second = np.triu_indices(n_classes, 1)
    return np.concatenate([single, single[first] | single[second]])


def search_locally(
    rates: Floats, weights: Floats, clock: Clock, subsets: Bools | None = None
) -> RowResult:
    """Best of a few local searches, with the lower bound from merged classes."""
    lower = merged_bound(rates, weights, subsets)
    found = []
    for start in starting_rows(rates, weights, _N_LOCAL_STARTS):
        found.append(improve_row(start, rates, weights, clock))
        if clock.is_over():
            break
    loss, row = min(found, key=lambda pair: pair[0])
    return RowResult(min(lower, loss), loss, row, 0)


def improve_row(
    row: Floats, rates: Floats, weights: Floats, clock: Clock
) -> tuple[float, Floats]:
    """Move mass between a set of classes and the others while that lowers the loss."""
    sets = _search_sets(len(row))

    # In the logarithms of the baseline, the cells on which the loss is concave are
    # bounded by differences of two classes, so that their edges run along sets of
    # classes. A row that no move improves is no worse than any vertex next to it.
    def best_move(row: Floats) -> Floats | None:
        if clock.is_over():
            return None
        inside, outside = _scaled_within(sets, row), _scaled_within(~sets, row)
        usable = (inside.sum(axis=1) > 0) & (outside.sum(axis=1) > 0)
        inside, outside = inside[usable], outside[usable]
        if not len(inside):
            return None
        explained, mass = best_split(
            least_ratios(inside, rates), least_ratios(outside, rates), weights
        )
        best = int(explained.argmax())
        return np.asarray(mass[best] * inside[best] + (1 - mass[best]) * outside[best])

    return _descend(
        row, rates, weights, best_move, _MAX_LOCAL_STEPS, _LEAST_LOCAL_DECREASE
    )


def _descend(
    row: Floats,
    rates: Floats,
    weights: Floats,
    step: Callable[[Floats], Floats | None],
    max_steps: int,
    least_decrease: float,
) -> tuple[float, Floats]:
    """Take steps while there is one, and it lowers the loss by `least_decrease`."""
    loss = float(row_losses(row, rates, weights))
    for _ in range(max_steps):
        moved = step(row)
        if moved is None:
            break
        reached = float(row_losses(moved, rates, weights))
        if reached > loss - least_decrease:
            break
        loss, row = reached, moved
    return loss, row


def _scaled_within(sets: Bools, row: Floats) -> Floats:
    """Part of a row in each set, scaled to sum to one; a single class is one."""
    masses = sets * row
    empty = (masses.sum(axis=1) == 0) & (sets.sum(axis=1) == 1)
    masses[empty] = sets[empty]
    totals = masses.sum(axis=1, keepdims=True)
    return np.asarray(
        np.divide(masses, totals, out=np.zeros_like(masses), where=totals > 0)
    )


def solve_as_paper(
    method: str, true_class: int, rates: Floats, weights: Floats, clock: Clock
) -> RowResult:
    """Row of one of the paper's methods, with the paper's lower bound."""
    row = average_row(rates, weights)
    if method != "average":
        row = _greedy_row(rates, weights, true_class, clock)
    if method == "greedy+lm":
        row = _locally_minimal_row(row, rates, weights, clock)
    loss = float(row_losses(row, rates, weights))
    return RowResult(min(loss, merged_bound(rates, weights)), loss, row, 0)


def _greedy_row(rates: Floats, weights: Floats, first: int, clock: Clock) -> Floats:
    """Appendix C: optimise class by class, the classes to come merged into one."""
    # The true class comes first, the others in several random orders.
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


def _greedy_in_order(rates: Floats, weights: Floats, order: Integers) -> Floats:
    """Optimise the probabilities of the classes one after the other."""
    row = np.zeros(len(order))
    explained, rest = np.ones(len(rates)), 1.0
    for position, column in enumerate(order[:-1]):
        own, others = rates[:, column], rates[:, order[position + 1 :]].sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Where any two terms of a group's minimum are equal.
            points = np.concatenate(
                [
                    own / explained,
                    rest - others / explained,
                    rest * own / (own + others),
                ]
            )
            points = np.append(points[np.isfinite(points)], [0.0, rest])
            points = np.unique(np.clip(points, 0.0, rest))
            terms = np.fmin(own / points[:, None], others / (rest - points)[:, None])
        row[column] = points[(np.fmin(terms, explained) @ weights).argmax()]
        if row[column] > 0:
            explained = np.minimum(explained, own / row[column])
        rest -= row[column]
    row[order[-1]] = max(rest, 0.0)
    return np.asarray(row / row.sum())


def _locally_minimal_row(
    row: Floats, rates: Floats, weights: Floats, clock: Clock
) -> Floats:
    """Algorithm 1 of the paper on the simpler form of the problem."""

    # The linearised constraints, ``share <= h (2 / x - alpha / x ** 2)``, imply the
    # true ones, ``share <= h / alpha``: every step is feasible and none is worse, so
    # that no line search is needed. Classes of probability zero keep it.
    def tangent_step(row: Floats) -> Floats | None:
        if clock.is_over():
            return None
        used = np.flatnonzero(row > 0)
        point, n_unknowns = row[used], len(used) + len(rates)
        solved = maximise_explained(
            rates[:, used] / point**2,
            2 * (rates[:, used] / point),
            np.ones((len(rates), len(used)), bool),
            np.zeros(n_unknowns),
            np.ones(n_unknowns),
            weights,
            clock,
        )
        if solved is None:
            return None
        moved = np.zeros_like(row)
        moved[used] = np.clip(solved.x[: len(used)], 0.0, None)
        return np.asarray(moved / moved.sum())

    return _descend(
        row, rates, weights, tangent_step, _MAX_TANGENT_STEPS, _LEAST_TANGENT_DECREASE
    )[1]

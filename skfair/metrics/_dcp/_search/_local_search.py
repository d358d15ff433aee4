"""Good baseline rows without a certificate, by local search."""

from __future__ import annotations

import numpy as np

from skfair._utils._arrays import Bools, Floats
from skfair.metrics._dcp._clock import Clock
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
_MAX_MOVES = 200
#: A decrease of the loss below this is rounding.
_LEAST_DECREASE = 1e-13


def average_row(rates: Floats, weights: Floats) -> Floats:
    """Weighted mean of the groups' rows."""
    return np.asarray(weights @ rates / weights.sum())


def starting_rows(rates: Floats, weights: Floats, n_starts: int) -> list[Floats]:
    """Rows to start from: those of groups with the least loss, and the mean."""
    losses = row_losses(rates, rates, weights)
    own = [rates[a] for a in np.argsort(losses, kind="stable")[: n_starts - 1]]
    return [*own, average_row(rates, weights)]


def search_locally(
    rates: Floats, weights: Floats, clock: Clock, subsets: Bools | None = None
) -> RowResult:
    """Best row of a few local searches, with the lower bound of `merged_bound`."""
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
    """Move mass between a set of classes and the others while that lowers the loss.

    Returns the loss of the last row, and this row.
    """
    # In the logarithms of the baseline, the cells on which the loss is concave are
    # bounded by differences of two classes, so that their edges run along sets of
    # classes. A row that no move improves is no worse than any vertex next to it.
    sets = _search_sets(len(row))
    loss = float(row_losses(row, rates, weights))
    for _ in range(_MAX_MOVES):
        moved = None if clock.is_over() else _best_move(row, sets, rates, weights)
        if moved is None:
            break
        reached = float(row_losses(moved, rates, weights))
        if reached > loss - _LEAST_DECREASE:
            break
        loss, row = reached, moved
    return loss, row


def _search_sets(n_classes: int) -> Bools:
    """List the sets of classes; mass moves between each set and the other classes."""
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
    """Row of least loss after one move of mass between a set and its complement.

    None if mass can be moved between no set and its complement.
    """
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


def _scaled_within(sets: Bools, row: Floats) -> Floats:
    """Part of a row in each set, scaled to sum to one; a single class is one."""
    masses = sets * row
    empty = (masses.sum(axis=1) == 0) & (sets.sum(axis=1) == 1)
    masses[empty] = sets[empty]
    totals = masses.sum(axis=1, keepdims=True)
    return np.asarray(
        np.divide(masses, totals, out=np.zeros_like(masses), where=totals > 0)
    )

"""Local search for a baseline row: exact line searches between sets of labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skfair.metrics._dcp._search._linear_program import Clock
from skfair.metrics._dcp._search._rows import (
    Floats,
    halves,
    least_ratios,
    row_losses,
    two_part_search,
)

#: With more labels the sets are single labels and pairs: their number stays small.
_MAX_SUBSET_LABELS = 10
_MAX_SWEEPS = 200
#: A gain below this is rounding.
_LEAST_GAIN = 1e-13


def search_sets(n_classes: int) -> NDArray[np.bool_]:
    """List the sets of labels whose mass is moved against that of the others.

    Parameters
    ----------
    n_classes : int

    Returns
    -------
    ndarray of shape (n_sets, n_classes)
    """
    single = np.eye(n_classes, dtype=bool)
    if n_classes <= _MAX_SUBSET_LABELS:
        # A set of one label is kept beside its complement: a label that has no mass
        # yet is moved alone.
        return np.concatenate([single, halves(n_classes)])
    first, second = np.triu_indices(n_classes, 1)
    return np.concatenate([single, single[first] | single[second]])


def improve_row(
    baseline: Floats,
    rates: Floats,
    weights: Floats,
    sets: NDArray[np.bool_],
    clock: Clock,
) -> tuple[float, Floats]:
    """Move mass between a set of labels and the others while that lowers the loss.

    In the logarithms of the baseline, the cells on which the loss is concave are cut
    out by bounds of differences, so their edges run along sets of labels. A row that
    no search along a set improves is therefore no worse than any vertex beside it.

    Parameters
    ----------
    baseline : ndarray of shape (n_classes,)
    rates : ndarray of shape (n_groups, n_classes)
    weights : ndarray of shape (n_groups,)
    sets : ndarray of shape (n_sets, n_classes)
    clock : Clock

    Returns
    -------
    loss : float
    baseline : ndarray of shape (n_classes,)
    """
    loss = float(row_losses(baseline, rates, weights))
    for _ in range(_MAX_SWEEPS):
        if clock.is_over():
            break
        inside, outside = _profile(sets, baseline), _profile(~sets, baseline)
        usable = (inside.sum(axis=1) > 0) & (outside.sum(axis=1) > 0)
        inside, outside = inside[usable], outside[usable]
        if not len(inside):
            break
        kept, share = two_part_search(
            least_ratios(inside, rates), least_ratios(outside, rates), weights
        )
        best = int(kept.argmax())
        moved = share[best] * inside[best] + (1 - share[best]) * outside[best]
        new_loss = float(row_losses(moved, rates, weights))
        if new_loss > loss - _LEAST_GAIN:
            break
        loss, baseline = new_loss, moved
    return loss, baseline


def _profile(sets: NDArray[np.bool_], baseline: Floats) -> Floats:
    """Scale the baseline within each set to sum to one; a single label is one."""
    masses = sets * baseline
    empty = (masses.sum(axis=1) == 0) & (sets.sum(axis=1) == 1)
    masses[empty] = sets[empty]
    totals = masses.sum(axis=1, keepdims=True)
    return np.asarray(
        np.divide(masses, totals, out=np.zeros_like(masses), where=totals > 0)
    )


def starting_rows(rates: Floats, weights: Floats, n_starts: int) -> list[Floats]:
    """Rows to start from: the mean row, and the groups' own that explain most.

    Parameters
    ----------
    rates : ndarray of shape (n_groups, n_classes)
    weights : ndarray of shape (n_groups,)
    n_starts : int

    Returns
    -------
    list of ndarray of shape (n_classes,), at most n_starts
    """
    mean = weights @ rates / weights.sum()
    losses = row_losses(rates, rates, weights)
    own = [rates[a] for a in np.argsort(losses, kind="stable")[: n_starts - 1]]
    return [*own, mean]

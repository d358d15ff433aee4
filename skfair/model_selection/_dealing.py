"""Deals rows to folds so that each has its part of every group and class."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray


def deal_rows(
    classes: NDArray[np.integer],
    groups: NDArray[np.integer],
    n_folds: int,
    random_state: RandomState | None,
) -> NDArray[np.intp]:
    """Fold of each row.

    Between any two folds, the numbers of rows of a group, of a cell (a class in a
    group), and of the rarest class differ by one at most. Those of other classes, and
    the sizes of the folds, are as close as that allows.

    Parameters
    ----------
    classes : ndarray of int of shape (n_samples,)
        From 0 on.
    groups : ndarray of int of shape (n_samples,)
    n_folds : int
    random_state : RandomState or None
        Shuffles the rows first. None deals out the rows of a cell in their order.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    n_samples = len(classes)
    order = np.arange(n_samples)
    if random_state is not None:
        order = random_state.permutation(n_samples)
    # The rarest class comes first in each group, where it is dealt most freely.
    ranks = np.argsort(np.argsort(np.bincount(classes), kind="stable"))[classes]
    order = order[np.lexsort((ranks[order], groups[order]))]
    changes = np.diff(groups[order]) | np.diff(ranks[order])
    cells = np.split(order, np.flatnonzero(changes) + 1)

    folds = np.empty(n_samples, dtype=np.intp)
    in_all, in_group = np.zeros((2, n_folds), dtype=np.intp)
    in_class = np.zeros((int(classes.max(initial=0)) + 1, n_folds), dtype=np.intp)
    group = None
    for cell in cells:
        if groups[cell[0]] != group:
            group, in_group[:] = groups[cell[0]], 0
        of_class = in_class[classes[cell[0]]]
        # Who has least so far is served first, and so gets what cannot be divided.
        turns = np.lexsort((in_all, of_class, in_group))
        folds[cell] = np.resize(turns, len(cell))
        dealt = np.bincount(folds[cell], minlength=n_folds)
        for counts in (in_all, in_group, of_class):
            counts += dealt
    return folds


def splits_of(
    folds: NDArray[np.intp], n_folds: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Hold out one fold after the other.

    Parameters
    ----------
    folds : ndarray of shape (n_samples,)
    n_folds : int

    Yields
    ------
    train, test : ndarray of int
        Positions of rows, increasing.
    """
    for fold in range(n_folds):
        yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)

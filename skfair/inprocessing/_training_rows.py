"""Rows to train a network on, and rows held out from it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from skfair._mitigation import groups_to_compare
from skfair.groups import Groups
from skfair.inprocessing._network import Array


class TrainingRows(NamedTuple):
    """Features, labels 0 or 1, groups (-1 for none), and weights of mean 1."""

    X: Any
    y: Array
    codes: NDArray[np.integer]
    weights: Array

    def take(self, rows: NDArray[np.intp]) -> TrainingRows:
        """Return some of the rows.

        Parameters
        ----------
        rows : ndarray of int

        Returns
        -------
        TrainingRows
        """
        X, y, codes, weights = self
        return TrainingRows(X[rows], y[rows], codes[rows], weights[rows])


def training_rows(
    X: Any,
    positive: NDArray[np.bool_],
    groups: Groups | None,
    weights: NDArray[Any] | None,
) -> tuple[TrainingRows, tuple[Hashable, ...]]:
    """Keep the rows that have weight.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    positive : ndarray of shape (n_samples,)
    groups : Groups or None
    weights : ndarray of shape (n_samples,) or None

    Returns
    -------
    rows : TrainingRows
    labels : tuple
        Of the groups that have rows; empty without groups.

    Raises
    ------
    ValueError
        On fewer than two groups.
    """
    kept = np.arange(len(positive)) if weights is None else np.flatnonzero(weights)
    of_kept = None if groups is None else groups[kept]
    codes, labels = codes_to_compare(of_kept, len(kept), None)
    if weights is None:
        return TrainingRows(X, positive + 0.0, codes, np.ones(len(kept))), labels
    weighing = weights[kept] / weights[kept].mean()
    return TrainingRows(X[kept], positive[kept] + 0.0, codes, weighing), labels


def codes_to_compare(
    groups: Groups | None, n_samples: int, weights: NDArray[Any] | None
) -> tuple[NDArray[np.integer], tuple[Hashable, ...]]:
    """Find the groups between which there can be a gap.

    Parameters
    ----------
    groups : Groups of n_samples rows, or None
    n_samples : int
    weights : ndarray of shape (n_samples,) or None

    Returns
    -------
    codes : ndarray of shape (n_samples,)
        Position of each row's group in `labels`, -1 for none.
    labels : tuple of length n_groups
        Of the groups that have rows; empty without groups.

    Raises
    ------
    ValueError
        On fewer than two groups with weight.
    """
    if groups is None:
        return np.full(n_samples, -1), ()
    groups = groups_to_compare(groups)
    if weights is not None:
        groups_to_compare(groups[weights > 0])
    return groups.codes, groups.labels


def hold_out(
    rows: TrainingRows, validation_fraction: float, rng: np.random.RandomState
) -> tuple[TrainingRows, TrainingRows]:
    """Hold rows out, stratified by label, and by group where that is possible.

    Parameters
    ----------
    rows : TrainingRows
    validation_fraction : float
    rng : RandomState

    Returns
    -------
    rows, held_out : TrainingRows

    Raises
    ------
    ValueError
        If there are too few rows.
    """
    n_samples = len(rows.y)
    n_held_out = int(np.ceil(validation_fraction * n_samples))
    fewest = min(n_held_out, n_samples - n_held_out)
    for strata in (2 * rows.codes.astype(np.int64) + rows.y, rows.y):
        _, sizes = np.unique(strata, return_counts=True)
        if sizes.min() >= 2 and len(sizes) <= fewest:
            kept, held_out = train_test_split(
                np.arange(n_samples),
                test_size=n_held_out,
                stratify=strata,
                random_state=rng,
            )
            return rows.take(kept), rows.take(held_out)
    raise ValueError(
        f"validation_fraction={validation_fraction!r} of {n_samples} rows leaves too "
        "few rows to train on or to hold out, expected two or more of each class in "
        "all, and one in each part."
    )

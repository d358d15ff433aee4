"""Sorts scores and groups together, and joins the rows that share both."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Entries = tuple[NDArray[np.float64], NDArray[np.integer], NDArray[Any]]

#: The bit patterns of floats in [0, 1] leave this many high bits unused.
_SPARE_BITS = 2


def sort_scores(
    scores: NDArray[np.float64],
    codes: NDArray[np.integer],
    weights: NDArray[Any] | None,
    *,
    n_groups: int,
) -> Entries:
    """Sort by score, then group, and add up the weights of equal pairs.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
        In [0, 1], without negative zeros.
    codes : ndarray of shape (n_samples,)
        In [0, n_groups).
    weights : ndarray of shape (n_samples,) or None
        None counts every row once.
    n_groups : int

    Returns
    -------
    scores, codes, weights : ndarray of shape (n_entries,)
    """
    if n_groups <= 2**_SPARE_BITS:
        return _sort_packed(scores, codes, weights)
    order = np.lexsort((codes, scores))
    scores, codes = scores[order], codes[order]
    new = (scores[1:] != scores[:-1]) | (codes[1:] != codes[:-1])
    weights = None if weights is None else weights[order]
    starts, weights = _join(new, weights, len(scores))
    return (
        (scores, codes, weights)
        if starts is None
        else (
            scores[starts],
            codes[starts],
            weights,
        )
    )


def _sort_packed(
    scores: NDArray[np.float64],
    codes: NDArray[np.integer],
    weights: NDArray[Any] | None,
) -> Entries:
    """Sort one integer per row that holds score and group without loss.

    Non-negative floats are ordered like their bit patterns, so the group fits below
    the score and one sort of integers replaces a sort of pairs.
    """
    keys = np.left_shift(scores.view(np.uint64), np.uint64(_SPARE_BITS))
    np.bitwise_or(keys, codes.astype(np.uint8), out=keys)
    if weights is None:
        keys.sort()
    else:
        order = np.argsort(keys)
        keys, weights = keys[order], weights[order]
    starts, weights = _join(keys[1:] != keys[:-1], weights, len(keys))
    if starts is not None:
        keys = keys[starts]
    # The lowest byte of a little-endian key is its first.
    sorted_codes = keys.astype(np.uint8)
    sorted_codes &= 2**_SPARE_BITS - 1
    keys >>= np.uint64(_SPARE_BITS)
    return keys.view(np.float64), sorted_codes, weights


def _join(
    new: NDArray[np.bool_], weights: NDArray[Any] | None, n_samples: int
) -> tuple[NDArray[np.intp] | None, NDArray[Any]]:
    """Where entries start (None: at every row) and how much each weighs.

    Parameters
    ----------
    new : ndarray of shape (n_samples - 1,)
        Whether each row but the first differs from the one before.
    weights : ndarray of shape (n_samples,) or None
    n_samples : int
    """
    if new.all():
        return None, np.ones(n_samples, np.int64) if weights is None else weights
    starts = np.concatenate([[0], np.flatnonzero(new) + 1])
    if weights is None:
        return starts, np.diff(starts, append=n_samples)
    return starts, np.add.reduceat(weights, starts)

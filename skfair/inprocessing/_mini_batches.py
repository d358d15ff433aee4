"""Mini-batches in which every group has many rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = NDArray[np.intp]
Array: TypeAlias = NDArray[np.floating]


def even_sizes(available: NDArray[np.intp], total: int) -> NDArray[np.intp]:
    """Deal a number of rows to groups, as evenly as they have rows.

    Parameters
    ----------
    available : ndarray of shape (n_groups,)
        Rows of each group.
    total : int
        Rows to deal, at most all of them.

    Returns
    -------
    ndarray of shape (n_groups,)
        Its sum is `total`. Small groups come with all their rows, the others with
        equally many, up to one.
    """
    sizes = np.zeros_like(available)
    left = total
    for n_dealt, group in enumerate(np.argsort(available, kind="stable")):
        share = left // (len(available) - n_dealt)
        sizes[group] = min(available[group], share)
        left -= sizes[group]
    return sizes


def mini_batches(
    strata: NDArray[np.integer], batch_size: int, rng: np.random.RandomState
) -> Iterator[tuple[Rows, Array]]:
    """Yield mini-batches without end, with as many rows of each group as can be.

    The gap of a group seen through a handful of rows is noise, which pushes it up: a
    batch of 1,024 rows holds 26 of a group with 2.5 % of the rows, and two samples of
    the same scores then differ by 0.17 somewhere, on average. So batches hold the
    groups in equal numbers, as far as they have rows, and each row has a factor that
    makes averages over the batch those over all rows.

    Parameters
    ----------
    strata : ndarray of shape (n_samples,)
        Group of each row, all the same to draw from all rows alike.
    batch_size : int
        All rows are in every batch, in their order, if it is not less than n_samples.
    rng : RandomState

    Yields
    ------
    rows : ndarray of shape (n_batch,)
    factors : ndarray of shape (n_batch,)
        With a mean of 1.
    """
    n_samples = len(strata)
    if batch_size >= n_samples:
        everyone = np.arange(n_samples), np.ones(n_samples)
        while True:
            yield everyone
    found = np.unique(strata)
    if len(found) > batch_size:  # then some would never be in a batch
        strata, found = np.zeros(n_samples, dtype=np.intp), found[:1] * 0
    members = [np.flatnonzero(strata == group) for group in found]
    available = np.array([len(rows) for rows in members])
    sizes = even_sizes(available, batch_size)
    draws = [_draws(rows, size, rng) for rows, size in zip(members, sizes, strict=True)]
    factors = np.repeat(available / n_samples * (batch_size / sizes), sizes)
    while True:
        yield np.concatenate([next(draw) for draw in draws]), factors


def _draws(rows: Rows, size: int, rng: np.random.RandomState) -> Iterator[Rows]:
    """Yield `size` rows at a time; none twice before (nearly) all have had a turn."""
    while True:
        shuffled = rng.permutation(rows)
        for start in range(0, len(rows) - size + 1, size):
            yield shuffled[start : start + size]

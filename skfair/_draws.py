"""Permutations of the groups of people, and resamples of numbers of people."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from skfair._utils._arrays import Integers
from skfair.groups import Codes

#: Rows from which on NumPy draws no multivariate hypergeometric numbers.
_MAX_DEALT = 10**9


def shuffle_codes(
    codes: Codes, blocks: Sequence[Integers], generator: np.random.Generator
) -> Codes:
    """Permute codes within each block of positions; other codes stay as they are."""
    positions = np.concatenate([np.empty(0, np.intp), *blocks])
    # NumPy shuffles small integers more slowly.
    permuted = codes[positions].astype(np.intp)
    stop = 0
    for block in blocks:
        start, stop = stop, stop + len(block)
        generator.shuffle(permuted[start:stop])
    shuffled = codes.copy()
    shuffled[positions] = permuted
    return shuffled


def deal_counts(
    numbers: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.int64]:
    """Deal all people anew to groups of the same sizes.

    `numbers` has a row for each group and a column for each cell. Dealing the people of
    cells to groups, or of groups to cells, gives the same distribution.
    """
    if len(numbers) > numbers.shape[1]:
        return deal_counts(numbers.T, generator).T
    left, sizes = numbers.sum(axis=0), numbers.sum(axis=1).tolist()
    if sum(sizes) >= _MAX_DEALT:
        raise ValueError(
            "y_score or counts must stand for fewer than 10**9 rows, as NumPy permutes "
            f"no more, got {sum(sizes)}."
        )
    dealt = np.empty_like(numbers)
    for group, size in enumerate(sizes[:-1]):
        if len(left) == 2:  # one number takes an eighth of the time of two
            first = generator.hypergeometric(int(left[0]), int(left[1]), size)
            dealt[group] = first, size - first
        else:
            dealt[group] = generator.multivariate_hypergeometric(
                left, size, method="marginals"
            )
        left = left - dealt[group]
    dealt[-1] = left
    return dealt


def redraw_counts(
    numbers: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.int64]:
    """Draw as many people as cells have, with replacement.

    Poisson numbers of independent cells are multinomial, given their sum. Their rates
    add up to two standard deviations less than the number of people, and the missing
    people are drawn afterwards; 2 % of all sums are too large, and drawn again. With
    many cells this takes half the time of `Generator.multinomial`.
    """
    size, missing = int(numbers.sum()), -1
    filled = np.flatnonzero(numbers)
    rates = numbers[filled] * max(0.0, 1 - 2 / math.sqrt(max(size, 1)))
    while missing < 0:
        counts = generator.poisson(rates)
        missing = size - int(counts.sum())
    if missing > len(filled):
        counts += generator.multinomial(missing, numbers[filled] / size)
    elif missing:
        people = np.sort(generator.integers(size, size=missing))  # to be found faster
        ends = np.cumsum(numbers[filled])
        cells = np.searchsorted(ends, people, side="right")
        counts += np.bincount(cells, minlength=len(filled))
    drawn = np.zeros_like(numbers)
    drawn[filled] = counts
    return drawn

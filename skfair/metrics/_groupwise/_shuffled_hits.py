"""What groups would get if outcomes were dealt to rows at random."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Numbers in one block of shuffles, which bounds memory.
_BLOCK = 2**20
#: Shuffling single rows is faster up to this many rows for each group.
_FEW_ROWS = 20
_ROUNDING = 1e-12


def shuffled_hits(
    sizes: NDArray[np.intp],
    n_hits: int,
    n_permutations: int,
    generator: np.random.Generator,
) -> Iterator[NDArray[Any]]:
    """Draw the hits of each group when outcomes are permuted over all rows.

    A permutation of rows matters only through the hits that each group receives, and
    these follow a multivariate hypergeometric distribution: no row is touched.

    Parameters
    ----------
    sizes : ndarray of shape (n_groups,)
    n_hits : int
        Rows with outcome 1, in all groups together.
    n_permutations : int
    generator : Generator

    Yields
    ------
    ndarray of shape (n_in_block, n_groups)
    """
    few = sizes.sum() <= _FEW_ROWS * len(sizes)
    n_in_block = max(1, _BLOCK // len(sizes))
    for start in range(0, n_permutations, n_in_block):
        yield generator.multivariate_hypergeometric(
            sizes,
            n_hits,
            size=min(n_in_block, n_permutations - start),
            method="count" if few else "marginals",
        )


def exact_pvalue(observed: float, null: NDArray[np.float64]) -> float:
    """Share of permutations, the given order among them, that reach the statistic.

    Parameters
    ----------
    observed : float
    null : ndarray of shape (n_permutations,)

    Returns
    -------
    float in (0, 1], nan where the statistic is undefined
    """
    if np.isnan(observed):
        return float("nan")
    # Statistics are sums, so equal ones may differ by rounding.
    reached = observed - _ROUNDING * max(abs(observed), 1)
    as_large = int(np.count_nonzero(null >= reached))
    return (1 + as_large) / (1 + len(null))

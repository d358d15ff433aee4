"""Resamples of a statistic, whose cost does not grow with the rows behind it.

A permutation of the groups makes the numbers of rows of each group and cell
multivariate hypergeometric, and a draw of rows with replacement makes them multinomial:
both are drawn at once, not row by row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair._utils._types import Floats
from skfair.metrics._inputs import count_hits, in_place_of_rows
from skfair.statistics import (
    GroupedConfusion,
    GroupedHistogram,
    GroupedOutcomes,
    GroupedScores,
)

#: Statistics that take the place of rows.
COUNTED = (GroupedScores, GroupedHistogram, GroupedConfusion, GroupedOutcomes)
#: Rows from which on NumPy draws no multivariate hypergeometric numbers.
_MAX_DEALT = 10**9


@dataclass(frozen=True, eq=False)
class Counts:
    """A statistic of single rows, and how many rows each group has in each cell.

    Cells are scores, pairs of a true and a predicted class, or outcomes of 0 and 1;
    `counts` has shape (n_groups, n_cells).
    """

    statistic: Any
    counts: NDArray[np.int64]
    rebuild: Callable[[NDArray[np.int64]], Any]

    @classmethod
    def of(cls, statistic: Any, **rows: Any) -> Counts:
        """Count the rows of a statistic that is given in place of all `rows`."""
        if isinstance(statistic, GroupedHistogram):
            statistic = statistic.at_edges()
        statistic = in_place_of_rows(statistic, **rows)
        counts: NDArray[Any]
        rebuild: Callable[[Any, NDArray[np.int64]], Any]
        if isinstance(statistic, GroupedOutcomes):
            sizes, hits = count_hits(statistic)
            counts, rebuild = np.stack([sizes - hits, hits], axis=1), _outcomes
        elif not np.array_equal(statistic.totals, statistic.counts):
            raise ValueError(
                "y_score must be a statistic of rows without sample weights, since "
                "single rows are drawn; pass the rows with their weights."
            )
        elif isinstance(statistic, GroupedConfusion):
            counts, rebuild = statistic.matrices, _confusion
            counts = counts.reshape(len(counts), -1)
        else:
            grid, cells = np.unique(statistic.scores, return_inverse=True)
            counts = np.zeros((statistic.n_groups, len(grid)))
            counts[statistic.codes, cells] = statistic.weights
            rebuild = partial(_scores, grid)
        return cls(statistic, counts.astype(np.int64), partial(rebuild, statistic))

    def evaluate(self, metric: Callable[..., float]) -> float:
        """Value of the metric on this statistic."""
        return float(metric(None, self.statistic))

    evaluate_again = evaluate

    def shuffled(self, within_labels: bool, generator: np.random.Generator) -> Counts:
        """Permute the groups, among the rows of each true label if asked to."""
        parts = [self.counts]
        if within_labels and isinstance(self.statistic, GroupedConfusion):
            parts = np.split(self.counts, len(self.statistic.classes), axis=1)
        dealt = np.concatenate([deal(part, generator) for part in parts], axis=1)
        return replace(self, statistic=self.rebuild(dealt), counts=dealt)

    def resampled(self, generator: np.random.Generator) -> Counts:
        """Draw as many rows of each group as it has, with replacement."""
        drawn = np.array([redraw(of_group, generator) for of_group in self.counts])
        return replace(self, statistic=self.rebuild(drawn), counts=drawn)


def deal(
    counts: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.int64]:
    """Deal all rows to groups of the same sizes anew; groups come first."""
    flat = counts.reshape(len(counts), -1)
    if flat.sum() >= _MAX_DEALT:
        raise ValueError(
            "y_score must be a statistic of fewer than 10**9 rows, as NumPy permutes "
            f"no more, got one of {flat.sum()}."
        )
    left, sizes = flat.sum(axis=0), flat.sum(axis=1)
    dealt = np.empty_like(flat)
    for group, size in enumerate(sizes[:-1]):
        dealt[group] = generator.multivariate_hypergeometric(
            left, size, method="marginals"
        )
        left = left - dealt[group]
    dealt[-1] = left
    return dealt.reshape(counts.shape)


def redraw(
    counts: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.int64]:
    """Draw as many rows as are counted, with replacement.

    Poisson numbers of independent cells are multinomial, given their sum. Their rates
    add up to two standard deviations less than the number of rows, and the rows that
    are missing are drawn afterwards; 2 % of all sums are too large, and drawn again.
    This takes half the time of `Generator.multinomial` where cells are many.
    """
    flat = counts.ravel()
    size, missing = int(flat.sum()), -1
    filled = np.flatnonzero(flat)
    rates = flat[filled] * max(0.0, 1 - 2 / math.sqrt(max(size, 1)))
    while missing < 0:
        numbers = generator.poisson(rates)
        missing = size - int(numbers.sum())
    if missing > len(filled):
        numbers += generator.multinomial(missing, flat[filled] / size)
    elif missing:
        rows = np.sort(generator.integers(size, size=missing))  # to be found faster
        cells = np.searchsorted(np.cumsum(flat[filled]), rows, side="right")
        numbers += np.bincount(cells, minlength=len(filled))
    drawn = np.zeros_like(flat)
    drawn[filled] = numbers
    return drawn.reshape(counts.shape)


def _scores(
    grid: Floats, statistic: GroupedScores, counts: NDArray[np.int64]
) -> GroupedScores:
    """Build the statistic of other numbers of rows with the scores of a grid."""
    cells, groups = np.nonzero(counts.T)
    return replace(
        statistic,
        scores=grid[cells],
        codes=groups.astype(statistic.codes.dtype),
        weights=counts[groups, cells],
    )


def _confusion(
    statistic: GroupedConfusion, counts: NDArray[np.int64]
) -> GroupedConfusion:
    """Build the statistic of other numbers of rows of the same classes."""
    matrices = counts.reshape(statistic.matrices.shape)
    return replace(statistic, matrices=matrices, label_counts=matrices.sum(axis=2))


def _outcomes(statistic: GroupedOutcomes, counts: NDArray[np.int64]) -> GroupedOutcomes:
    """Build the statistic of other numbers of outcomes of 1."""
    return replace(statistic, sums=counts[:, 1].astype(statistic.sums.dtype))

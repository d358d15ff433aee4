"""Draws of counts instead of rows, for samples of many rows.

A draw of rows with replacement makes the counts of each group multinomial, and a
permutation of groups makes them multivariate hypergeometric: counts are drawn from
these at once, at a cost that does not depend on the number of rows. Predictions are
counted by class, without any loss. Close scores are counted together, as one score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair.metrics._distribution import ScoreGrid
from skfair.report._numbers._sample import Measuring, Sample, Values, sort_by_group
from skfair.report._options import OF_ERRORS, OF_SCORES
from skfair.statistics import GroupedConfusion

#: From this number of rows on, counts are drawn; their weights must be equal.
MANY_ROWS = 50_000
#: More distinct scores than this are joined to as many cells.
_MAX_SCORES = 2**14

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows of a sample by group and predicted class, and by group and score.

    `scores` has shape (n_groups, n_cells), with the scores of the cells in `grid`;
    without scores all rows are in one cell.
    """

    measuring: Measuring
    confusion: GroupedConfusion
    grid: ScoreGrid | None
    scores: Counts

    @classmethod
    def from_sample(cls, sample: Sample) -> Cells:
        """Count the rows of a sample."""
        confusion = sample.confusion(sort_by_group(sample.attribute.groups.codes))
        grid, scores = None, confusion.counts.reshape(-1, 1).astype(np.int64)
        if sample.grid is not None and not set(OF_SCORES).isdisjoint(sample.keys):
            grid, scores = _count_scores(sample, sample.grid)
        return cls(sample.measuring, confusion, grid, scores)

    @property
    def n_classes(self) -> int:
        """Number of classes of true and predicted labels."""
        return len(self.confusion.classes)

    def values(self) -> Values:
        """Metrics of these counts."""
        return self._values(self.confusion.matrices, self.scores, self.measuring.keys)

    def bootstrap(
        self, generator: np.random.Generator, keys: tuple[str, ...]
    ) -> Values:
        """Metrics of rows that are drawn within each group, with replacement."""
        matrices = [_resample(matrix, generator) for matrix in self._matrices]
        scores = [_resample(counts, generator) for counts in self.scores]
        return self._values(np.array(matrices), np.array(scores), keys)

    def permutation(
        self, generator: np.random.Generator, keys: tuple[str, ...]
    ) -> Values:
        """Metrics of permuted groups; metrics of errors within each true class."""
        errors = tuple(key for key in keys if key in OF_ERRORS)
        others = tuple(key for key in keys if key not in OF_ERRORS)
        matrices, shuffled = self._matrices, np.zeros_like(self._matrices)
        # All rows of one class are as good as their true classes, which others ignore.
        shuffled[:, 0] = _deal(matrices.sum(axis=1), generator)
        values = self._values(shuffled, _deal(self.scores, generator), others)
        if errors:
            for true in range(matrices.shape[1]):
                shuffled[:, true] = _deal(matrices[:, true], generator)
            values |= self._values(shuffled, self.scores, errors)
        return values

    @property
    def _matrices(self) -> Counts:
        return self.confusion.matrices.astype(np.int64)

    def _values(
        self, matrices: NDArray[Any], scores: Counts, keys: tuple[str, ...]
    ) -> Values:
        def count(group: int | None) -> Counts:
            counts: Counts = scores.sum(axis=0) if group is None else scores[group]
            return counts

        confusion = replace(self.confusion, matrices=matrices)
        return self.measuring.values(confusion, self.grid, count, keys)


def _resample(counts: Counts, generator: np.random.Generator) -> Counts:
    """Draw as many rows as are counted, with replacement."""
    size, flat = counts.sum(), counts.ravel()
    drawn = np.zeros_like(flat)
    filled = np.flatnonzero(flat)
    drawn[filled] = generator.multinomial(size, flat[filled] / size)
    return drawn.reshape(counts.shape)


def _deal(counts: Counts, generator: np.random.Generator) -> Counts:
    """Deal all rows to groups of the same sizes anew."""
    left, sizes = counts.sum(axis=0), counts.sum(axis=1)
    dealt = np.empty_like(counts)
    for group, size in enumerate(sizes[:-1]):
        dealt[group] = generator.multivariate_hypergeometric(
            left, size, method="marginals"
        )
        left = left - dealt[group]
    dealt[-1] = left
    return dealt


def _count_scores(sample: Sample, grid: ScoreGrid) -> tuple[ScoreGrid, Counts]:
    """Count scores by group; where too many are distinct, by cells of close scores.

    Cells hold about as many rows each, and have the mean of their scores.
    """
    codes = sample.attribute.groups.codes
    rows = np.flatnonzero(codes >= 0)
    codes, positions = codes[rows].astype(np.int64), grid.positions[rows]
    totals = np.bincount(positions, minlength=len(grid.scores))
    starts = np.flatnonzero(totals)
    if len(starts) > _MAX_SCORES:
        even = np.linspace(0, len(rows), _MAX_SCORES, endpoint=False)
        edges = np.searchsorted(np.cumsum(totals), even, side="right")
        starts = np.unique(np.append(edges, 0))
    numbers = np.add.reduceat(totals, starts)
    means = np.add.reduceat(totals * grid.scores, starts) / np.maximum(numbers, 1)
    last = np.append(starts[1:], len(totals)) - 1
    means = np.clip(means, grid.scores[starts], grid.scores[last])
    filled = numbers > 0
    cell_of = np.repeat(np.cumsum(filled) - 1, np.diff(np.append(starts, len(totals))))
    n_groups, n_cells = len(sample.attribute.groups.labels), int(filled.sum())
    # Before the first start there are no rows.
    cells = codes * n_cells + cell_of[positions - starts[0]]
    counts = np.bincount(cells, minlength=n_groups * n_cells)
    return ScoreGrid(means[filled], None), counts.reshape(n_groups, n_cells)

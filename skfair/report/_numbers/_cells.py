"""Draws of counts instead of rows, for samples of many rows.

A draw of rows with replacement makes the counts of each group multinomial, and a
permutation of groups makes them multivariate hypergeometric: counts are drawn from
these at once, at a cost that does not depend on the number of rows. Predictions are
counted by class, without any loss. Close scores are counted together, as one score.
Weighted rows are counted by weight, too; close weights count as one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair.metrics._distribution import ScoreGrid
from skfair.metrics._uncertainty import deal, redraw
from skfair.report._inputs import Audit
from skfair.report._numbers._sample import Measuring, Sample, Values, sort_by_group
from skfair.report._options import OF_ERRORS, OF_SCORES, TIES
from skfair.statistics import GroupedConfusion

#: More distinct scores than this are joined to as many cells; with weights, there are
#: as many cells of score and weight.
_MAX_SCORES = 2**14
#: More distinct weights than this are joined to as many. The sum of the squares of
#: lognormal weights with sigma = 1, on which intervals depend, falls by .9 %.
_MAX_WEIGHTS = 32

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows of a sample by group and class, and by group and score; each by weight.

    `predictions` has shape (n_groups, n_classes, n_classes, n_weights), true classes
    before predicted ones, `scores` (n_groups, n_cells, n_weights), with the scores of
    the cells in `grid`; without scores all rows are in one cell.
    """

    measuring: Measuring
    confusion: GroupedConfusion
    grid: ScoreGrid | None
    predictions: Counts
    scores: Counts
    weights: NDArray[Any]

    @classmethod
    def from_sample(cls, sample: Sample) -> Cells:
        """Count the rows of a sample."""
        rows = sort_by_group(sample.attribute.groups.codes)
        confusion = sample.confusion(rows)
        levels, weights = _join_weights(sample.audit)
        shape = (*confusion.matrices.shape, len(weights))
        cells = sample.classes_of(rows) * len(weights) + levels[rows]
        predictions = _count(cells, shape, sample.audit, rows)
        grid, scores = None, predictions.sum(axis=(1, 2))[:, np.newaxis]
        if sample.grid is not None and not set(OF_SCORES).isdisjoint(sample.keys):
            grid, scores = _count_scores(sample, sample.grid, levels, len(weights))
        return cls(sample.measuring, confusion, grid, predictions, scores, weights)

    @property
    def n_classes(self) -> int:
        """Number of classes of true and predicted labels."""
        return len(self.confusion.classes)

    def values(self) -> Values:
        """Metrics of these counts."""
        keys = (*self.measuring.keys, TIES)
        return self._values(self.predictions, self.scores, keys)

    def bootstrap(
        self, generator: np.random.Generator, keys: tuple[str, ...]
    ) -> Values:
        """Metrics of rows that are drawn within each group, with replacement."""
        predictions = [redraw(counts, generator) for counts in self.predictions]
        scores = [redraw(counts, generator) for counts in self.scores]
        return self._values(np.array(predictions), np.array(scores), keys)

    def permutation(
        self, generator: np.random.Generator, keys: tuple[str, ...]
    ) -> Values:
        """Metrics of permuted groups; metrics of errors within each true class."""
        errors = tuple(key for key in keys if key in OF_ERRORS)
        others = tuple(key for key in keys if key not in OF_ERRORS)
        given, shuffled = self.predictions, np.zeros_like(self.predictions)
        # All rows of one class are as good as their true classes, which others ignore.
        shuffled[:, 0] = deal(given.sum(axis=1), generator)
        values = self._values(shuffled, deal(self.scores, generator), others)
        if errors:
            for true in range(given.shape[1]):
                shuffled[:, true] = deal(given[:, true], generator)
            values |= self._values(shuffled, self.scores, errors)
        return values

    def _values(
        self, predictions: Counts, scores: Counts, keys: tuple[str, ...]
    ) -> Values:
        def count(group: int | None) -> NDArray[Any]:
            counts = scores.sum(axis=0) if group is None else scores[group]
            return np.asarray(counts @ self.weights)

        confusion = replace(self.confusion, matrices=predictions @ self.weights)
        return self.measuring.values(confusion, self.grid, count, keys)


def _count(
    cells: NDArray[Any], shape: tuple[int, ...], audit: Audit, entries: NDArray[Any]
) -> Counts:
    """Count the rows of some entries in numbered cells."""
    alike = None if audit.n_alike is None else audit.n_alike[entries]
    counts = np.bincount(cells, alike, math.prod(shape))
    return counts.astype(np.int64).reshape(shape)


def _join_weights(audit: Audit) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the level of each row's weight, and the weights of the levels.

    Where too many are distinct, close ones are replaced by their mean; large weights
    are joined less, so that all levels have about the same sum of squares.
    """
    if audit.sample_weight is None:
        return np.zeros(audit.n_rows, dtype=np.intp), np.ones(1, dtype=np.int64)
    distinct, levels = np.unique(audit.sample_weight, return_inverse=True)
    if len(distinct) <= _MAX_WEIGHTS:
        return levels, distinct
    numbers = np.bincount(levels, audit.n_alike)
    squares = np.cumsum(numbers * (distinct / distinct[-1]) ** 2)
    joined = np.minimum(_MAX_WEIGHTS * squares / squares[-1], _MAX_WEIGHTS - 1)
    _, joined = np.unique(joined.astype(np.intp), return_inverse=True)
    means = np.bincount(joined, numbers * distinct) / np.bincount(joined, numbers)
    return joined[levels], means


def _count_scores(
    sample: Sample, grid: ScoreGrid, levels: NDArray[np.intp], n_weights: int
) -> tuple[ScoreGrid, Counts]:
    """Count scores by group; where too many are distinct, by cells of close scores.

    Cells hold about as many rows each, and have the mean of their scores.
    """
    codes = sample.attribute.groups.codes
    rows = np.flatnonzero(codes >= 0)
    codes, positions = codes[rows].astype(np.int64), grid.positions[rows]
    totals = _count(positions, (len(grid.scores),), sample.audit, rows)
    starts = np.flatnonzero(totals)
    if len(starts) > _MAX_SCORES // n_weights:
        even = np.linspace(0, totals.sum(), _MAX_SCORES // n_weights, endpoint=False)
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
    shape = n_groups, n_cells, n_weights
    counts = _count(cells * n_weights + levels[rows], shape, sample.audit, rows)
    return ScoreGrid(means[filled], None), counts

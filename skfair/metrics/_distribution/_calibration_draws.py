"""Rows or counts of rows whose calibration gap is computed in many draws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfair._utils._types import Bools, Floats, Integers
from skfair.groups import Groups
from skfair.metrics._distribution._calibration_gap import Curves, Steps, score_cells
from skfair.metrics._uncertainty._counts import Counts, deal


class RowsByScore(NamedTuple):
    """Rows that are sorted by score once, and given other groups since."""

    order: Integers
    #: Scores, and outcomes minus scores, in the order of the scores.
    scores: Floats
    excess: Floats
    weights: NDArray[Any]

    @classmethod
    def of(
        cls, scores: Floats, positive: Bools, weights: NDArray[Any] | None
    ) -> RowsByScore:
        """Sort rows by their scores; without weights each weighs one."""
        order = np.argsort(scores, kind="stable")
        weights = np.ones(len(order), np.int64) if weights is None else weights
        excess = positive - scores
        return cls(order, scores[order], excess[order], weights[order])

    def statistic(self, groups: Groups) -> Steps:
        """Return the steps of the rows with these groups, without sorting scores."""
        codes, weights, n_groups = groups.codes, self.weights, len(groups.labels)
        codes = codes[self.order]
        scores, excess, kept = self.scores, self.excess, codes >= 0
        if not kept.all():
            scores, excess = scores[kept], excess[kept]
            codes, weights = codes[kept], weights[kept]
        totals = np.bincount(codes, weights, n_groups)
        steps = weights / totals[codes] * excess
        return Steps(scores, codes, steps, totals / totals.sum())

    def to_draw(self, groups: Groups, rows: Integers) -> RowsOfGroups:
        """Return some rows, which keep their groups when they are drawn."""
        n_groups, places = len(groups.labels), np.full(len(self.order), -1)
        places[rows] = np.arange(len(rows))
        places, codes = places[self.order], groups.codes[self.order].astype(np.intp)
        kept = np.flatnonzero(places >= 0)
        kept = kept[np.argsort(codes[kept], kind="stable")]
        scores, columns = np.unique(self.scores[kept], return_inverse=True)
        cells = codes[kept] * len(scores) + columns
        last = np.append(cells[1:] != cells[:-1], True)
        # Where a curve starts, and where it has a step.
        starts = np.arange(n_groups) * len(scores)
        changes = np.sort(np.concatenate([starts, cells[last]]))
        return RowsOfGroups(
            places=places[kept],
            codes=codes[kept],
            excess=self.excess[kept],
            weights=self.weights[kept],
            steps=np.cumsum(last) - last,
            starts=np.append(np.searchsorted(cells[last], starts), last.sum()),
            lengths=np.diff(changes, append=n_groups * len(scores)),
            scores=scores,
            drawn=np.arange(len(rows)),
        )


class RowsOfGroups(NamedTuple):
    """Rows in the order of their groups and scores, which are drawn many times.

    Rows with the same group and score are one step of the curve of the group.
    """

    #: Positions among all rows from which rows are drawn.
    places: Integers
    codes: Integers
    #: Outcomes minus scores.
    excess: Floats
    weights: NDArray[Any]
    #: Step of each row.
    steps: Integers
    #: First step of each group, and the end of the last one.
    starts: Integers
    #: How many scores each step, and the start of each curve, hold for.
    lengths: Integers
    #: Distinct scores.
    scores: Floats
    #: Rows that are drawn, at first all of them.
    drawn: Integers

    def take(self, rows: Integers) -> RowsOfGroups:
        """Rows at the given positions."""
        return self._replace(drawn=rows)

    def statistic(self, groups: Groups) -> Curves:
        """Return the curves of the rows that are drawn, whose groups are known."""
        times = np.bincount(self.drawn, minlength=len(self.places))
        weights = self.weights * times[self.places]
        totals = np.bincount(self.codes, weights, len(groups.labels))
        steps = weights / totals[self.codes] * self.excess
        sums = np.bincount(self.steps, steps)
        heights = np.zeros(len(self.lengths))
        for group, (first, end) in enumerate(pairwise(self.starts)):
            after = slice(first + group + 1, end + group + 1)
            np.cumsum(sums[first:end], out=heights[after])
        curves = np.repeat(heights, self.lengths).reshape(len(totals), -1)
        return Curves(self.scores, curves, totals / totals.sum())


@dataclass(frozen=True, eq=False, kw_only=True)
class CalibrationCounts(Counts):
    """Numbers of rows of each group, by score, true label and weight.

    Cells of `counts` are pairs of a score, in their order, and a label, 0 and 1.
    """

    #: First score of each cell of similar scores, within which groups are permuted.
    starts: Integers

    @classmethod
    def of_scores(
        cls, counts: NDArray[np.int64], scores: Floats, weights: NDArray[Any]
    ) -> CalibrationCounts:
        """Find the cells of similar scores, and the statistic."""
        n_groups, n_scores = len(counts), len(scores)
        groups = Groups(
            np.repeat(np.arange(n_groups), n_scores), tuple(range(n_groups))
        )
        numbers = counts.reshape(n_groups * n_scores, -1).sum(axis=1)
        cells = score_cells(np.tile(scores, n_groups), groups, numbers)
        starts = np.flatnonzero(np.diff(cells[:n_scores], prepend=-1))
        empty = cls(None, counts, scores, weights, starts=starts)
        return empty.with_counts(counts)

    def with_counts(self, counts: NDArray[np.int64]) -> CalibrationCounts:
        """Return other numbers of rows, and the statistic of these."""
        assert self.scores is not None
        totals = (counts @ self.weights).reshape(len(counts), len(self.scores), 2)
        negative, positive = np.moveaxis(totals, 2, 0)
        steps = positive * (1 - self.scores) - negative * self.scores
        sizes = totals.sum(axis=(1, 2))
        at, codes = np.nonzero(totals.sum(axis=2).T)
        steps = steps[codes, at] / sizes[codes]
        statistic = Steps(self.scores[at], codes, steps, sizes / sizes.sum())
        return replace(self, statistic=statistic, counts=counts)

    def shuffled(
        self, within_labels: bool, generator: np.random.Generator
    ) -> CalibrationCounts:
        """Permute the groups among rows with similar scores."""
        parts = np.split(self.counts, 2 * self.starts[1:], axis=1)
        dealt = [deal(part, generator) for part in parts]
        return self.with_counts(np.concatenate(dealt, axis=1))

"""Resamples of a statistic, whose cost does not grow with the rows behind it.

A permutation of the groups makes the numbers of rows of each group and cell
multivariate hypergeometric, and a draw of rows with replacement makes them multinomial:
both are drawn at once, not row by row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfair._utils._arrays import Floats, Integers
from skfair.groups import Groups
from skfair.metrics._inputs import count_hits, in_place_of_rows
from skfair.metrics._spec import number_of
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
    """A statistic of rows, and how many rows each group has in each cell.

    Cells are scores, those of `scores`, or pairs of a true and a predicted class, or
    outcomes of 0 and 1. `counts` has shape (n_groups, n_cells, n_weights), and the rows
    of its last axis have the weights `weights`.
    """

    statistic: Any
    counts: NDArray[np.int64]
    scores: Floats | None = None
    weights: NDArray[Any] = field(default_factory=lambda: np.ones(1, np.int64))

    @classmethod
    def of(cls, statistic: Any, **rows: Any) -> Counts:
        """Count the rows of a statistic that is given in place of all `rows`."""
        if isinstance(statistic, GroupedHistogram):
            statistic = statistic.at_edges()
        statistic, scores = in_place_of_rows(statistic, **rows), None
        counts: NDArray[Any]
        if isinstance(statistic, GroupedOutcomes):
            sizes, hits = count_hits(statistic)
            counts = np.stack([sizes - hits, hits], axis=1)
        elif not np.array_equal(statistic.totals, statistic.counts):
            raise ValueError(
                "y_score must be a statistic of rows without sample weights, since "
                "single rows are drawn; pass the rows with their weights."
            )
        elif isinstance(statistic, GroupedConfusion):
            counts = statistic.matrices.reshape(statistic.n_groups, -1)
        else:
            scores, cells = np.unique(statistic.scores, return_inverse=True)
            counts = np.zeros((statistic.n_groups, len(scores)))
            counts[statistic.codes, cells] = statistic.weights
        return cls(statistic, counts.astype(np.int64)[..., np.newaxis], scores)

    def with_counts(self, counts: NDArray[np.int64]) -> Counts:
        """Return other numbers of rows, and the statistic of these."""
        table = counts @ self.weights, counts.sum(axis=2)
        statistic = count_again(self.statistic, *table, self.scores)
        return replace(self, statistic=statistic, counts=counts)

    def evaluate(self, metric: Callable[..., float]) -> float:
        """Value of the metric on this statistic."""
        return number_of(metric, metric(None, self.statistic))

    evaluate_again = evaluate

    @property
    def statistics(self) -> list[Any]:
        """The statistic, as of rows of one stratum."""
        return [self.statistic]

    def shuffled(self, within_labels: bool, generator: np.random.Generator) -> Counts:
        """Permute the groups, among the rows of each true label if asked to."""
        parts = [self.counts]
        if within_labels and isinstance(self.statistic, GroupedConfusion):
            parts = np.split(self.counts, len(self.statistic.classes), axis=1)
        dealt = [deal(part, generator) for part in parts]
        return self.with_counts(np.concatenate(dealt, axis=1))

    def resampled(self, generator: np.random.Generator) -> Counts:
        """Draw as many rows of each group as it has, with replacement."""
        drawn = [redraw(of_group, generator) for of_group in self.counts]
        return self.with_counts(np.array(drawn))


class RowsInCells(NamedTuple):
    """The cell of each row, from which a statistic of any groups is counted."""

    #: Statistic of the same kind, of which counts and weights are replaced.
    template: GroupedConfusion | GroupedOutcomes
    cells: Integers
    n_cells: int
    weights: NDArray[Any] | None
    #: How many rows each entry stands for; None is one.
    n_alike: Integers | None = None

    def statistic(self, groups: Groups) -> Any:
        """Return the statistic of the rows with these groups."""
        known: Any = groups.codes >= 0
        if known.all():
            known = slice(None)  # copies are saved
        shape = len(groups.labels), self.n_cells
        places = groups.codes[known].astype(np.intp) * self.n_cells + self.cells[known]

        def add_up(values: NDArray[Any] | None) -> NDArray[Any]:
            of_known = None if values is None else values[known]
            return np.bincount(places, of_known, math.prod(shape)).reshape(shape)

        numbers = weights = add_up(self.n_alike)
        if self.weights is not None:
            weights = add_up(self.weights)
        template = replace(
            self.template, labels=groups.labels, min_group_size=groups.min_group_size
        )
        return count_again(template, weights, numbers.astype(np.intp))

    def to_draw(self, groups: Groups, rows: Integers) -> RowsOfGroupsInCells:
        """Return some rows, which keep their groups when they are drawn."""
        places = groups.codes.astype(np.intp) * self.n_cells + self.cells
        weights = None if self.weights is None else self.weights[rows]
        template = replace(self.template, labels=groups.labels)
        shape = len(groups.labels), self.n_cells
        return RowsOfGroupsInCells(
            template, places[rows], shape, weights, np.arange(len(rows))
        )


class RowsOfOutcomes(NamedTuple):
    """The outcome of each row that counts, added up by any groups."""

    #: Outcomes times weights.
    outcomes: Floats
    weights: NDArray[Any] | None
    #: Positions of the rows; None for all.
    rows: Integers | None = None

    @classmethod
    def of(cls, outcomes: NDArray[Any], mask: Any, weights: Any) -> RowsOfOutcomes:
        """Leave out the rows that do not count; a mask of None leaves out none."""
        outcomes = outcomes if weights is None else outcomes * weights
        if mask is None:
            return cls(outcomes.astype(np.float64), weights)
        rows = np.flatnonzero(mask)
        weights = None if weights is None else weights[rows]
        return cls(outcomes[rows].astype(np.float64), weights, rows)

    def statistic(self, groups: Groups) -> GroupedOutcomes:
        """Add up the outcomes by these groups; squared weights are not needed."""
        codes = groups.codes if self.rows is None else groups.codes[self.rows]
        outcomes, weights = self.outcomes, self.weights
        if len(codes) and codes.min() < 0:
            known = codes >= 0
            codes, outcomes = codes[known], outcomes[known]
            weights = None if weights is None else weights[known]
        codes, n_groups = codes.astype(np.intp), len(groups.labels)
        totals = counts = np.bincount(codes, minlength=n_groups)
        if weights is not None:
            totals = np.bincount(codes, weights, n_groups)
        sums = np.bincount(codes, outcomes, n_groups)
        rest = groups.labels, groups.names, groups.min_group_size
        return GroupedOutcomes(sums, totals, totals, counts, *rest)


class RowsOfGroupsInCells(NamedTuple):
    """The group and cell of each row, counted in many draws of the rows."""

    template: GroupedConfusion | GroupedOutcomes
    places: Integers
    shape: tuple[int, int]
    weights: NDArray[Any] | None
    drawn: Integers

    def take(self, rows: Integers) -> RowsOfGroupsInCells:
        """Rows at the given positions."""
        return self._replace(drawn=rows)

    def statistic(self, groups: Groups) -> Any:
        """Return the statistic of the rows that are drawn, whose groups are known."""
        places, size = self.places[self.drawn], math.prod(self.shape)
        numbers = weights = np.bincount(places, minlength=size).reshape(self.shape)
        if self.weights is not None:
            of_drawn = np.bincount(places, self.weights[self.drawn], size)
            weights = of_drawn.reshape(self.shape)
        return count_again(self.template, weights, numbers)


def count_again(
    statistic: Any,
    weights: NDArray[Any],
    numbers: NDArray[Any],
    scores: Floats | None = None,
) -> Any:
    """Return a statistic of other total weights and numbers of rows, by group and cell.

    The squared weights of outcomes, on which no metric depends, stay.
    """
    if isinstance(statistic, GroupedConfusion):
        shape = len(weights), len(statistic.classes), len(statistic.classes)
        label_counts = numbers.reshape(shape).sum(axis=2)
        matrices = weights.reshape(shape)
        return replace(statistic, matrices=matrices, label_counts=label_counts)
    totals, counts = weights.sum(axis=1), numbers.sum(axis=1)
    if isinstance(statistic, GroupedOutcomes):
        sums = weights[:, 1].astype(statistic.sums.dtype)
        return replace(statistic, sums=sums, totals=totals, counts=counts)
    assert scores is not None
    cells, groups = np.nonzero(weights.T)
    return replace(
        statistic,
        scores=scores[cells],
        codes=groups.astype(statistic.codes.dtype),
        weights=weights[groups, cells],
        counts=counts,
        totals=totals,
    )


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

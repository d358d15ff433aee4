"""The rows of one model and one attribute, and the statistics that metrics read."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair._rows import Countable, Rows
from skfair._utils._arrays import Floats, Integers, quotients
from skfair.groups import Groups, positions_in, sort_labels
from skfair.metrics import DCPResult
from skfair.metrics._calibration_gap import Steps
from skfair.metrics._noise import Comparisons
from skfair.metrics._resampling import Drawn
from skfair.report._inputs import Attribute, Audit, Model, mid_ranks, set_aside
from skfair.statistics import GroupedConfusion, GroupedOutcomes, GroupedScores
from skfair.statistics._grouped_scores import ranked_scores

#: Questions whose metrics read a `GroupedScores`.
_OF_NUMBERS = ("scores", "mean errors", "absolute errors")
#: Seconds after which the search for a certificate of DCP ends.
DCP_SECONDS = 20.0
#: More distinct scores than this are joined to as many cells; with weights, there are
#: as many cells of score and weight.
_MAX_SCORES = 2**14
#: More distinct weights than this are joined to as many. The sum of the squares of
#: lognormal weights with sigma = 1, on which intervals depend, falls by .9 %.
_MAX_WEIGHTS = 32


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of one model and one attribute, and the metrics to compute.

    Metrics of decisions read a `GroupedOutcomes`, of scores and of errors of numbers a
    `GroupedScores`, of errors a `GroupedConfusion`, and of calibration `Steps`.
    """

    audit: Audit
    model: Model
    attribute: Attribute
    keys: tuple[str, ...]
    #: What metrics compare, by key, of those for which it was asked.
    comparisons: dict[str, Comparisons] = field(default_factory=dict, init=False)
    #: Statistics by question, of those for which it was asked.
    _statistics: dict[str, Any] = field(default_factory=dict, init=False)

    @property
    def groups(self) -> Groups:
        """Groups that are compared."""
        return self.attribute.groups

    @property
    def comparable(self) -> bool:
        """Whether there are two groups to compare."""
        return len(self.groups.labels) > 1

    def at(self, entries: Integers) -> Sample:
        """Sample of some entries, without the groups that are too small among them."""
        model = self.model.at(entries)
        audit = self.audit.at(entries, model)
        groups = self.groups[entries]
        attribute = set_aside(self.attribute.name, groups, audit.rows.n)
        return replace(self, model=model, audit=audit, attribute=attribute)

    @cached_property
    def rows(self) -> Rows:
        """Entries with their groups, true classes and decisions."""
        true = None if self.audit.of_numbers else self.audit.y_true
        return replace(
            self.audit.rows, groups=self.groups, y_true=true, y_pred=self.model.y_pred
        )

    def countable(self, question: str) -> Countable:
        """Return the rows as metrics of a question read them."""
        rows = self.rows
        if question in _OF_NUMBERS:
            ranked = self.audit.options.scale == "rank"
            count = ranked_scores if ranked else GroupedScores._from_rows
            rows = replace(rows, y_true=None, y_pred=self._numbers(question))
            return rows.ordered(), count
        if question == "calibration":
            scores = self.model.y_score
            positive = np.asarray(self.audit.y_true == 1, dtype=np.float64)
            rows = replace(rows, y_true=positive, y_pred=scores)
            return rows.ordered(), Steps._from_rows
        of_errors = question == "errors"
        kind = GroupedConfusion if of_errors else GroupedOutcomes
        return rows, kind._from_rows

    def _numbers(self, question: str) -> NDArray[Any]:
        """Scores or errors that a question is about."""
        if question == "scores":
            assert self.model.y_score is not None
            return self.model.y_score
        errors = self.audit.errors_of(self.model)
        return errors if question == "mean errors" else np.abs(errors)

    def statistic(self, question: str) -> Any:
        """Return the statistic that metrics of a question read."""
        if question not in self._statistics:
            rows, count = self.countable(question)
            self._statistics[question] = count(rows)
        return self._statistics[question]

    @cached_property
    def baseline(self) -> tuple[float, list[float] | None]:
        """DCP, and the bounds of it where the search for a certificate ended early."""
        searched = DCPResult.from_predictions(
            None, self.statistic("errors"), time_limit=DCP_SECONDS
        )
        bounds = None if searched.optimal else [searched.lower, searched.upper]
        return searched.upper, bounds

    def effective_sizes(self, codes: Any = 0, n_codes: int = 1) -> Floats:
        """Kish's effective number of rows of each group, and of each code in it."""
        grouped, audit = self.groups.codes >= 0, self.audit
        cells = (self.groups.codes.astype(np.intp) * n_codes + codes)[grouped]
        totals, squares = (
            np.bincount(cells, values[grouped], len(self.groups.labels) * n_codes)
            for values in (audit.entry_weights, audit.entry_squares)
        )
        return quotients(totals**2, squares)

    def drawn_from(self, question: str) -> Drawn:
        """Return the rows whose groups are permuted, or cells where rows are many."""
        if self.audit.counts_are_drawn:
            return self._cells(question)
        audit, rows = self.audit, self.rows
        true = rows.y_true
        if true is not None:
            # In the order of permutation_test, whichever class is positive.
            order = positions_in(tuple(sort_labels(audit.classes)), audit.classes)
            true = order[true]
        scores = self.model.y_score if question == "calibration" else rows.y_pred
        rows = replace(rows, y_true=true, y_pred=scores)
        return Drawn(rows, (self.countable(question),))

    def _cells(self, question: str) -> Drawn:
        """Count rows by group and by class or score, each by weight.

        Close scores are counted as one, and so are close weights.
        """
        levels, weights = _join_weights(self.audit)
        of_numbers = question in _OF_NUMBERS
        asked = question if of_numbers else "scores"
        true: Any = None
        predicted: Any
        if question == "decisions":
            cells, n_cells, predicted = self.model.y_pred, 2, np.arange(2)
        elif question == "errors":
            n = len(self.audit.classes)
            cells, n_cells = self.rows.label_pairs, n**2
            true, predicted = np.divmod(np.arange(n_cells), n)
        else:
            scores, cells = self._join_scores(asked, len(weights))
            n_cells, predicted = len(scores), scores
        if question == "calibration":
            assert self.audit.y_true is not None
            cells, n_cells = 2 * cells + self.audit.y_true, 2 * len(scores)
            true, predicted = np.tile([0, 1], len(scores)), np.repeat(scores, 2)
        grouped = np.flatnonzero(self.groups.codes >= 0)
        shape = len(self.groups.labels), n_cells * len(weights)
        places = self.groups.codes[grouped].astype(np.intp) * n_cells + cells[grouped]
        places = places * len(weights) + levels[grouped]
        numbers = _count_rows_in_cells(places, math.prod(shape), self.audit, grouped)
        of_cells = Rows(
            self.groups[np.zeros(shape[1], np.intp)],
            y_true=None if true is None else np.repeat(true, len(weights)),
            y_pred=np.repeat(predicted, len(weights)),
            each=np.tile(weights, n_cells) if self.audit.weighted else None,
            classes=self.audit.classes,
        )
        rows = of_cells.with_numbers(numbers.reshape(shape))
        _, count = self.countable(question)
        if of_numbers:  # of ranks those of the cells
            count = GroupedScores._from_rows
        return Drawn(rows, ((rows, count),))

    def _join_scores(self, question: str, n_weights: int) -> tuple[Floats, Integers]:
        """Join close scores to cells, and return their means and the cell of each row.

        Cells hold about as many rows each. Rows without a group are in any cell.
        """
        grouped = np.flatnonzero(self.groups.codes >= 0)
        values = self._numbers(question)[grouped]
        if self.audit.options.scale == "rank":
            weights = self.audit.rows.totals
            values = mid_ranks(values, None if weights is None else weights[grouped])
        distinct, positions = np.unique(values, return_inverse=True)
        totals = _count_rows_in_cells(positions, len(distinct), self.audit, grouped)
        starts = np.arange(len(distinct))
        if len(starts) > _MAX_SCORES // n_weights:
            n_cells = _MAX_SCORES // n_weights
            even = np.linspace(0, totals.sum(), n_cells, endpoint=False)
            edges = np.searchsorted(np.cumsum(totals), even, side="right")
            starts = np.unique(np.append(edges, 0))
        means = np.add.reduceat(totals * distinct, starts)
        means /= np.add.reduceat(totals, starts)
        last = np.append(starts[1:], len(totals)) - 1
        means = np.clip(means, distinct[starts], distinct[last])
        cells = np.zeros(len(self.groups), dtype=np.intp)
        cells[grouped] = np.searchsorted(starts, positions, side="right") - 1
        return means, cells


def count_outcomes(
    audit: Audit, outcomes: NDArray[Any], groups: Groups
) -> GroupedOutcomes:
    """Sum outcomes in [0, 1] by group, with numbers and squared weights of rows."""
    rows = replace(audit.rows, groups=groups, y_pred=outcomes.astype(float))
    return rows.statistic(GroupedOutcomes)


def _count_rows_in_cells(
    cells: Integers, n_cells: int, audit: Audit, entries: Integers
) -> NDArray[np.int64]:
    """Count the rows of some entries in numbered cells."""
    return np.bincount(cells, audit.entry_rows[entries], n_cells).astype(np.int64)


def _join_weights(audit: Audit) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the level of each row's weight, and the weights of the levels.

    Where too many are distinct, close ones are replaced by their mean; large weights
    are joined less, so that all levels have about the same sum of squares.
    """
    rows = audit.rows
    if rows.weight is None:
        return np.zeros(len(rows), dtype=np.intp), np.ones(1, dtype=np.int64)
    each: Any = rows.weight if rows.n is None else rows.each
    distinct, levels = np.unique(each, return_inverse=True)
    if len(distinct) <= _MAX_WEIGHTS:
        return levels, distinct
    numbers = np.bincount(levels, rows.n)
    squares = np.cumsum(numbers * (distinct / distinct[-1]) ** 2)
    joined = np.minimum(_MAX_WEIGHTS * squares / squares[-1], _MAX_WEIGHTS - 1)
    _, joined = np.unique(joined.astype(np.intp), return_inverse=True)
    means = np.bincount(joined, numbers * distinct) / np.bincount(joined, numbers)
    return joined[levels], means

"""The table of people, or of cells of people who are alike, that everything shares.

Metrics, tests, reports and mitigators pass `Rows` on, and make no copies of single
columns. Sums of groups (`counts`, `totals`, `sums`, `matrices`) are computed when they
are asked for. A permutation or a resample has codes of groups or numbers of people of
its own, and shares all else, such as the order of the scores, with the rows that it was
drawn from::

    rows = Rows(groups, y_true=y, y_pred=scores, weight=weights).ordered()
    for _ in range(999):
        rows.permuted(generator).means  # or Distributions.from_rows: no sort
    for stratum, positions in rows.split_by_stratum():
        rows[positions].means
    people = rows.counted()  # cells of people who are alike, with their number `n`
    people.permuted(generator)  # draws the numbers of all cells at once

An entry stands for one person, or for `n` people: whoever counts people asks `counts`,
`n_people`, `mass` and `entry_squares`, and never counts entries.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skfair._draws import deal_counts, redraw_counts, shuffle_codes
from skfair._utils._arrays import Floats, Integers, quotients
from skfair._utils._text import shown
from skfair._utils._validation import (
    MAX_EXACT_SUM,
    as_array,
    check_counts,
    check_no_missing,
    check_shape,
    check_weights,
)
from skfair._utils._warnings import warn_if_reordered
from skfair.groups import (
    CROSS,
    Codes,
    Groups,
    count_codes,
    refuse_weightless,
    relabel,
    resolve_groups,
    resolve_strata,
    rows_by_code,
)

#: Rows for each entry of a table of cells from which on its numbers are drawn faster.
_ALIKE = 8
#: What draws of groups and of numbers of people share with the rows they are drawn
#: from, and what they share only where the groups are the same.
_SHARED = "is_ordered", "label_pairs", "score_positions", "_clusters"
_SHARED_BY_GROUPS = "_cell_order", "_entries_of_cells", "people"


@dataclass(frozen=True, eq=False)
class Rows:
    """A table of people, or of cells of people who are alike.

    Columns that are not known, or not needed, are None. Nothing is checked here.

    Attributes
    ----------
    groups : Groups
        Group of each entry; -1 is none.
    strata : Groups
        Stratum of each entry, within which groups are compared; -1 is none.
    y_true, y_pred : ndarray
        True labels, and scores or predicted labels. Confusion matrices read both as
        positions in `classes`. Scores in bins are the lower edges of the bins.
    y_score : ndarray
        Scores, where `y_pred` holds labels beside them.
    low, high : ndarray
        Least and largest score of the people of each entry, where scores are in bins.
    n_bins : int
        Number of equal bins of [0, 1] where scores are in bins, else 0.
    weight : ndarray
        Total sample weight of the people of each entry; by default their number.
    n : ndarray of int
        How many people each entry stands for; by default one.
    squares : ndarray
        Sum of the squared weights of the people of each entry; by default they weigh
        the same.
    person_weight : ndarray
        Weight of each person of an entry, where entries stand for several people.
    fold : ndarray of int
        Fold that held out each entry.
    cluster : ndarray of int
        Person that each entry belongs to: groups are permuted among people, and people
        are drawn, with all their entries. By default each entry is another person.
    classes : tuple
        Labels that `y_true` and `y_pred` are positions of.
    position : ndarray of int
        Where each entry stood in the table that was indexed first.
    """

    groups: Groups
    strata: Groups | None = None
    y_true: Any = None
    y_pred: Any = None
    weight: NDArray[Any] | None = None
    n: NDArray[Any] | None = None
    squares: NDArray[Any] | None = None
    person_weight: NDArray[Any] | None = None
    fold: Any = None
    cluster: NDArray[Any] | None = None
    classes: tuple[Hashable, ...] = ()
    position: Any = None
    low: NDArray[Any] | None = None
    high: NDArray[Any] | None = None
    n_bins: int = 0
    y_score: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.groups.codes)

    def __getitem__(self, index: Any) -> Self:
        """Return the entries at some positions, or where a mask is True."""
        if isinstance(index, np.ndarray) and index.dtype == bool:
            index = np.flatnonzero(index)  # a mask is read again for each column
        columns = {
            column.name: getattr(self, column.name)[index]
            for column in fields(self)
            if column.name not in ("classes", "n_bins")
            and getattr(self, column.name) is not None
        }
        if self.position is None:
            columns["position"] = np.arange(len(self))[index]
        return replace(self, **columns)

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """Labels of the groups."""
        return self.groups.labels

    @property
    def n_groups(self) -> int:
        """Number of groups, absent ones included."""
        return len(self.groups.labels)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sensitive columns, where known."""
        return self.groups.names

    @property
    def min_group_size(self) -> int:
        """Smallest number of people with which a group may be compared."""
        return self.groups.min_group_size

    @property
    def mass(self) -> NDArray[Any] | None:
        """Weight of each entry, or its number of people; None is one."""
        return self.n if self.weight is None else self.weight

    @property
    def weights(self) -> Floats:
        """Weight of each entry as a float, 1 by default."""
        if self.mass is None:
            return np.ones(len(self))
        return self.mass.astype(np.float64)

    @property
    def n_people(self) -> int:
        """Number of people."""
        return len(self) if self.n is None else int(self.n.sum())

    @property
    def entry_squares(self) -> Floats:
        """Sum of the squared weights of the people of each entry."""
        if self.squares is not None:
            return self.squares
        squares = self.weights**2
        return squares if self.n is None else quotients(squares, self.n)

    @property
    def stratum_group_codes(self) -> Integers:
        """Code of the stratum and group of each entry together, -1 for none."""
        codes = self.groups.codes.astype(np.intp)
        if self.strata is None:
            return codes
        cells = self.strata.codes.astype(np.intp) * len(self.groups.labels) + codes
        return np.where((codes < 0) | (self.strata.codes < 0), -1, cells)

    def counted_positions(self) -> Integers:
        """Return positions of entries with a group, a stratum and a weight above 0."""
        counts, weight = self.stratum_group_codes >= 0, self.weight
        if self.person_weight is not None:
            weight = self.person_weight
        if weight is not None:
            counts &= weight > 0
        return np.flatnonzero(counts)

    def grouped(self) -> Self:
        """Return the entries that have a group and a positive weight."""
        counts = self.groups.codes >= 0
        if self.mass is not None:
            counts &= self.mass > 0
        return self if counts.all() else self[counts]

    def split_by_stratum(self) -> Iterator[tuple[Hashable, Integers]]:
        """Yield each stratum, and the positions of its entries that have a group."""
        if self.strata is None:
            yield None, np.flatnonzero(self.groups.codes >= 0)
            return
        codes = np.where(self.groups.codes < 0, -1, self.strata.codes)
        labels = self.strata.labels
        yield from zip(labels, rows_by_code(codes, len(labels)), strict=True)

    # Sums of groups; entries without people are expected to be left out -------------

    def sum_by_group(self, values: Any) -> NDArray[Any]:
        """Sum a number of each entry in each group; None counts entries."""
        codes = self.groups.codes
        if codes.min(initial=0) < 0:
            grouped = codes >= 0
            codes = codes[grouped]
            values = None if values is None else values[grouped]
        return np.asarray(np.bincount(codes, values, len(self.groups.labels)))

    @cached_property
    def counts(self) -> Integers:
        """Number of people of each group."""
        return self.sum_by_group(self.n).astype(np.intp)

    @cached_property
    def totals(self) -> NDArray[Any]:
        """Total weight of each group."""
        if self.weight is None:
            return self.counts
        return self.sum_by_group(self.weight).astype(self.weight.dtype)

    @cached_property
    def group_squares(self) -> NDArray[Any]:
        """Sum of the squared weights of the people of each group."""
        if self.weight is None and self.squares is None:
            return self.counts
        return self.sum_by_group(self.entry_squares)

    @cached_property
    def effective_sizes(self) -> Floats:
        """Kish's effective number of people of each group."""
        totals = np.square(self.totals, dtype=float)
        return quotients(totals, self.group_squares_by_person)

    @cached_property
    def sums(self) -> Floats:
        """Weighted sum of `y_pred` of each group."""
        outcomes = self.y_pred if self.mass is None else self.y_pred * self.mass
        return self.sum_by_group(outcomes)

    @cached_property
    def means(self) -> Floats:
        """Weighted mean of `y_pred` of each group; nan without people."""
        return quotients(self.sums, self.totals, np.nan)

    @cached_property
    def matrices(self) -> NDArray[Any]:
        """Confusion matrix of each group, by weight: true classes, then predicted."""
        n_classes = len(self.classes)
        shape = self.n_groups, n_classes, n_classes
        cells = self.groups.codes * np.intp(n_classes**2) + self.label_pairs
        sums = np.bincount(cells, self.mass, math.prod(shape)).reshape(shape)
        return sums.astype(np.intp if self.weight is None else self.weight.dtype)

    @cached_property
    def label_counts(self) -> Integers:
        """Number of people of each group and true class."""
        if self.weight is None:
            return np.asarray(self.matrices.sum(axis=2))
        n_classes = len(self.classes)
        cells = self.groups.codes * np.intp(n_classes) + self.y_true
        counts = np.bincount(cells, self.n, self.n_groups * n_classes)
        return np.asarray(counts.reshape(-1, n_classes).astype(np.intp))

    def ordered(self) -> Self:
        """Return entries in the order of `y_pred`, which statistics of scores need."""
        if self.is_ordered:
            return self
        return self[np.argsort(self.y_pred, kind="stable")]

    @cached_property
    def is_ordered(self) -> bool:
        """Whether entries are in the order of `y_pred`."""
        return bool((self.y_pred[1:] >= self.y_pred[:-1]).all())

    @cached_property
    def label_pairs(self) -> Integers:
        """Position of each entry in a flattened confusion matrix."""
        return np.asarray(self.y_true * np.intp(len(self.classes)) + self.y_pred)

    @cached_property
    def score_positions(self) -> Integers | None:
        """Position of the score of each entry among the distinct ones, if ordered.

        None where all scores differ, so that entries have the positions of scores.
        """
        new = self.y_pred[1:] != self.y_pred[:-1]
        return None if new.all() else np.append(0, np.cumsum(new, dtype=np.intp))

    def drawn_as(self, rows: Rows) -> Self:
        """Return these entries with the groups and numbers that they have in `rows`.

        `rows` are a draw of the table that was indexed first. Groups are expressed by
        the labels of these entries; entries of another label have no group.
        """
        at = slice(None) if self.position is None else self.position
        groups = rows.groups if self.position is None else rows.groups[at]
        if groups.labels != self.groups.labels:
            groups = relabel(groups, self.groups.labels)
        columns: dict[str, Any] = {"groups": replace(self.groups, codes=groups.codes)}
        if rows.n is not None:
            for name in ("n", "weight", "squares"):
                values = getattr(rows, name)
                columns[name] = None if values is None else values[at]
        return self._changed(**columns)

    def replace_groups(self, groups: Groups) -> Self:
        """Return the same entries in other groups."""
        return self._changed(groups=groups)

    @cached_property
    def group_squares_by_person(self) -> NDArray[Any]:
        """Sum of the squared weights of the people of each group.

        All entries of a person count together, as if they were alike: no dependence
        within people gives rates and CDFs more noise.
        """
        if self.cluster is None:
            return self.group_squares
        codes = self.groups.codes
        grouped = np.flatnonzero(codes >= 0)
        first, people = find_distinct([codes[grouped], self.cluster[grouped]])
        totals = np.bincount(people, self.weights[grouped])
        codes = codes[grouped[first]]
        return np.asarray(np.bincount(codes, totals**2, self.n_groups))

    def split_into_people(self) -> Self:
        """Return an entry for each person."""
        if self.n is None:
            return self
        weight = self.person_weight
        if weight is None and self.weight is not None:
            weight = quotients(self.weight, self.n)
        rows = replace(self, n=None, weight=weight, squares=None, person_weight=None)
        return rows[np.repeat(np.arange(len(self)), self.n)]

    def repeat(self, n: NDArray[Any]) -> Self:
        """Repeat each entry of one person, `n` times."""
        weight = None if self.weight is None else self.weight * n
        squares = None if self.squares is None else self.squares * n
        return self._changed(n=n, weight=weight, squares=squares)

    def _changed(self, **columns: Any) -> Self:
        """Replace columns, and share what was computed from the other columns."""
        changed = object.__new__(type(self))
        shared = _SHARED if "groups" in columns else _SHARED + _SHARED_BY_GROUPS
        for name in (*self.__dataclass_fields__, *shared):
            if name in self.__dict__:
                changed.__dict__[name] = self.__dict__[name]
        changed.__dict__.update(columns)
        return changed

    def permuted(
        self, generator: np.random.Generator, blocks: Sequence[Integers] | None = None
    ) -> Self:
        """Permute the groups of the people within each block of positions.

        By default all people who count are one block. Entries that stand
        for several people must come from `counted` or `cross_with_groups`: their
        numbers are dealt, not single people.
        """
        blocks = [self.people.counted_positions()] if blocks is None else blocks
        if self.cluster is not None:
            codes = shuffle_codes(self.people.groups.codes, blocks, generator)
            codes = codes[self.person]
            return self.replace_groups(replace(self.groups, codes=codes))
        if self.n is None:
            codes = shuffle_codes(self.groups.codes, blocks, generator)
            return self.replace_groups(replace(self.groups, codes=codes))
        numbers = self._group_counts.copy()
        for block in blocks:
            cells = block[:: self.n_groups] // self.n_groups
            numbers[:, cells] = deal_counts(numbers[:, cells], generator)
        return self.replace_counts(numbers)

    def resampled(self, generator: np.random.Generator) -> Self:
        """Draw as many people of each group, within each stratum, with replacement.

        People are drawn with all their entries. People of weight zero are never drawn,
        since a resample of such people has no value.
        """
        if self.n is None:
            positions, counting = self._counting_people
            drawn = positions[counting.draw(generator)]
            n_times = np.bincount(drawn, minlength=len(self.people))
            return self.repeat(n_times[self.person])
        n = self.n.copy()
        for entries in self._entries_of_cells:
            n[entries] = redraw_counts(n[entries], generator)
        return self._replace_n(n)

    @cached_property
    def _counting_people(self) -> tuple[Integers, Self]:
        """Positions of the people that have a group, a stratum and a weight."""
        positions = self.people.counted_positions()
        return positions, self.people[positions]

    @cached_property
    def _entries_of_cells(self) -> list[Integers]:
        """Positions of the entries that count, of each stratum and group."""
        counting = self.counted_positions()
        cells = rows_by_code(self.stratum_group_codes[counting])
        return [counting[cell] for cell in cells if len(cell)]

    @cached_property
    def people(self) -> Self:
        """Rows of one entry for each person, the first that counts."""
        if self.cluster is None:
            return self
        return replace(self[self._clusters[0]], cluster=None, position=None)

    @property
    def person(self) -> Any:
        """Position in `people` of the person of each entry."""
        return slice(None) if self.cluster is None else self._clusters[1]

    @cached_property
    def _clusters(self) -> tuple[Integers, Integers]:
        """Position of the first entry of each person, and the person of each entry.

        Entries that count come before others.
        """
        clusters: Any = self.cluster
        absent = np.ones(len(self), dtype=bool)
        absent[self.counted_positions()] = False
        order = np.lexsort((absent, clusters))
        _, first, person = np.unique(
            clusters[order], return_index=True, return_inverse=True
        )
        person_of_entry = np.empty_like(person)
        person_of_entry[order] = person
        return order[first], person_of_entry

    def average_by_person(self) -> Self:
        """Give each entry the mean score of its person."""
        if self.cluster is None:
            return self
        sums, totals = (
            np.bincount(self.person, values)
            for values in (self.weights * self.y_pred, self.weights)
        )
        return replace(self, y_pred=quotients(sums, totals)[self.person])

    def encode_people(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Encode people by the shares of the codes among their entries."""
        if self.cluster is None:
            return codes
        first, pairs = find_distinct([self.person, codes])
        counts = np.bincount(pairs)
        starts = np.flatnonzero(np.diff(self.person[first], prepend=-1))
        divisors = np.gcd.reduceat(counts, starts)
        shares = counts // divisors[self.person[first]]
        records = np.split(np.column_stack([codes[first], shares]), starts[1:])
        keys = np.array([record.tobytes() for record in records], dtype=object)
        return _factorize(keys)[0]

    def draw(self, generator: np.random.Generator) -> Integers:
        """Draw people with replacement within each group and stratum."""
        order, starts, sizes = self._cell_order
        drawn: Integers = order[starts + generator.integers(sizes)]
        return drawn

    @cached_property
    def _cell_order(self) -> tuple[Integers, Integers, Integers]:
        """Entries in the order of cells, and the start and size of each one's cell.

        Entries in no cell come first, and are never drawn.
        """
        cells = self.stratum_group_codes
        sizes = np.bincount(cells[cells >= 0])
        starts = np.cumsum(sizes) - sizes + np.count_nonzero(cells < 0)
        order = np.argsort(cells, kind="stable")
        return order, np.repeat(starts, sizes), np.repeat(sizes, sizes)

    def counted(self) -> Self:
        """Count the people who are alike, in cells that have an entry for each group.

        People of a cell share stratum, fold, label, score and weight. Cells are in the
        order of their scores, or of labels, and entries in the order of cells, then
        groups; some entries have no people. Rows that do not count are left out.
        """
        rows = self[self.counted_positions()]
        n = np.ones(len(rows), np.intp) if rows.n is None else rows.n
        if rows.person_weight is None and rows.weight is not None:
            rows = replace(rows, person_weight=quotients(rows.weight, n))
        first, cells = rows._find_cells()
        numbers = np.zeros((rows.n_groups, len(first)), np.int64)
        np.add.at(numbers, (rows.groups.codes, cells), n)
        return rows[first].replace_counts(numbers)

    def cross_with_groups(self) -> Self:
        """Return each entry once for every group, so that people can move."""
        assert self.n is not None
        grouped = np.flatnonzero(self.groups.codes >= 0)
        numbers = np.zeros((self.n_groups, len(self)), np.int64)
        numbers[self.groups.codes[grouped], grouped] = self.n[grouped]
        return self.replace_counts(numbers)

    def counted_if_few(self) -> Self | None:
        """Count single people who are alike, or return None where few are."""
        first, _ = replace(self, person_weight=self.weight)._find_cells()
        few_cells = len(first) * self.n_groups * _ALIKE <= len(self)
        return self.counted() if few_cells else None

    def _find_cells(self) -> tuple[Integers, Integers]:
        """Find the first entry of each cell, and the cell of each entry."""
        has_scores = self.y_pred is not None and self.y_pred.dtype.kind == "f"
        columns = [self.y_true, self.y_pred][:: -1 if has_scores else 1]
        strata = None if self.strata is None else self.strata.codes
        return find_distinct([strata, self.fold, *columns, self.person_weight])

    def replace_counts(self, numbers: NDArray[np.int64]) -> Self:
        """Return these cells with a number of people for each group, then cell.

        Each cell has one entry, or, as `counted` returns them, one for each group.
        """
        n, n_cells = numbers.T.ravel(), numbers.shape[1]
        rows = self
        if len(self) == n_cells:
            rows = self[np.repeat(np.arange(n_cells), self.n_groups)]
            codes = np.tile(np.arange(self.n_groups), n_cells)
            groups = replace(self.groups, codes=codes)
            rows = replace(rows, groups=groups, squares=None, position=None)
        return rows._replace_n(n)

    def _replace_n(self, n: NDArray[np.int64]) -> Self:
        """Return the same entries with other numbers of people."""
        weight = None if self.person_weight is None else n * self.person_weight
        return self._changed(n=n, weight=weight)

    @property
    def _group_counts(self) -> NDArray[np.int64]:
        """Number of people of each group and cell, of counted rows."""
        assert self.n is not None
        return self.n.reshape(-1, self.n_groups).T


def read_arrays(
    y_true: Any,
    y_pred: Any,
    sensitive_features: ArrayLike | None,
    control_features: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    *,
    name: str = "y_pred",
) -> Rows:
    """Read arrays of rows, once: nothing behind this converts them again.

    Checks containers, lengths, missing groups, weights, counts, clusters, and that each
    group has a positive weight. What labels and scores must be is said by each metric.
    `y_pred` goes by `name` in messages.
    """
    people = {
        "sensitive_features": sensitive_features,
        "control_features": control_features,
        "sample_weight": sample_weight,
        "counts": counts,
        "clusters": clusters,
    }
    warn_if_reordered(**{"y_true": y_true, name: y_pred}, **people)
    predicted = as_array(y_pred, name)
    n = len(predicted)
    if n == 0:
        raise ValueError(f"{name} has 0 rows, expected at least one.")
    rows = read_people(n, **people)
    true = None if y_true is None else as_array(y_true, "y_true", n)
    return replace(rows, y_true=true, y_pred=predicted)


def read_people(
    n_samples: int,
    *,
    sensitive_features: ArrayLike | None,
    control_features: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> Rows:
    """Read whom rows stand for: groups, strata, weights, counts and clusters."""
    groups = resolve_groups(sensitive_features, n_samples=n_samples)
    strata = None
    if control_features is not None:
        strata = resolve_strata(control_features, n_samples=n_samples)
    rows = Rows(groups, strata)
    if sample_weight is None and counts is None and clusters is None:
        return rows
    return add_people(rows, sample_weight, counts, clusters)


def add_people(
    rows: Rows,
    sample_weight: ArrayLike | None,
    counts: ArrayLike | None,
    clusters: ArrayLike | None = None,
) -> Rows:
    """Add checked weights, counts and clusters to rows.

    Rows with a count of 0 have no group, and so count for nothing.
    """
    rows = _add_weights(rows, sample_weight, counts)
    if clusters is None:
        return rows
    people = check_clusters(clusters, rows.groups, rows.strata, counts)
    return replace(rows, cluster=people)


def check_clusters(
    clusters: ArrayLike | None,
    groups: Groups,
    strata: Groups | None,
    counts: ArrayLike | None = None,
) -> Integers:
    """Encode the people of rows, each of whom has one group and one stratum."""
    if counts is not None:
        raise ValueError(
            "counts must be None with clusters: a row that stands for several people "
            "is not one of several rows of a person."
        )
    values = as_array(clusters, "clusters", len(groups))
    check_shape(values, "clusters")
    check_no_missing(values, "clusters")
    people, labels = _factorize(values)
    _, first = np.unique(people, return_index=True)
    columns = {"sensitive_features": groups, "control_features": strata}
    for name, column in columns.items():
        if column is None:
            continue
        codes = column.codes
        differ = codes != codes[first][people]
        if differ.any():
            row, named = int(differ.argmax()), [*filter(None, column.names)]
            name = f"{name} {CROSS.join(named)!r}" if named else name
            labels_in_cluster = [
                repr(column.labels[code]) if code >= 0 else "missing"
                for code in (codes[first[people[row]]], codes[row])
            ]
            raise ValueError(
                f"{name} must be the same in all rows of a cluster, since people are "
                "permuted and drawn with all their rows, got "
                f"{' and '.join(labels_in_cluster)} in cluster "
                f"{shown(labels[people[row]])}; write one in all of them."
            )
    return people


def _factorize(values: Any) -> tuple[Integers, list[Any]]:
    """Encode values, and list the different ones."""
    codes, values = pd.factorize(np.asarray(values))
    return np.asarray(codes), values.tolist()


def _add_weights(
    rows: Rows, sample_weight: ArrayLike | None, counts: ArrayLike | None
) -> Rows:
    """Add checked weights and numbers of people to rows."""
    n, weight = check_counts(counts, len(rows)), check_weights(sample_weight, len(rows))
    groups = rows.groups
    if n is not None and not n.all():
        no_group = groups.codes.dtype.type(-1)
        groups = replace(groups, codes=np.where(n > 0, groups.codes, no_group))
    if weight is not None:
        _check_weight_of_groups(groups, rows.strata, weight)
    rows = replace(rows, groups=groups)
    if n is None or weight is None:
        return replace(rows, weight=weight, n=n)
    if weight.dtype.kind == "i" and weight.astype(float) @ n >= MAX_EXACT_SUM:
        weight = weight.astype(np.float64)
    return replace(rows, weight=weight * n, n=n, person_weight=weight)


def _check_weight_of_groups(
    groups: Groups, strata: Groups | None, weight: NDArray[Any]
) -> None:
    """Raise where all rows of a group weigh zero."""
    if weight.all():
        return
    codes = groups.codes
    if strata is not None:
        codes = np.where(strata.codes < 0, -1, codes)
    counts, positive = (
        count_codes(part, len(groups.labels)) for part in (codes, codes[weight > 0])
    )
    refuse_weightless(groups.labels, counts, positive)


def unit_weights(weights: Floats) -> Floats:
    """Return 1 for each row where all weights are whole, else the weights themselves.

    Weighted rows have the information of ``sum(weights)**2 / sum(weights * units)``
    rows of equal weight: a whole weight of two is two rows.
    """
    return weights if (weights % 1).any() else np.ones(len(weights))


def group_squares_in_rows(codes: Codes, weights: Floats, n_groups: int) -> Floats:
    """Sum the squared weights of each group, where a whole weight is so many rows.

    A group has the information of ``total**2 / squares`` rows of equal weight.
    """
    return np.asarray(np.bincount(codes, weights * unit_weights(weights), n_groups))


def weights_in_rows(weights: Floats | None) -> Floats | None:
    """Scale weights so that they add up to the effective number of rows.

    Whole weights stay as they are. A fit with a penalty then does not depend on the
    unit of the weights.
    """
    if weights is None:
        return None
    floats = weights.astype(np.float64)
    return np.asarray(floats * (floats.sum() / (floats @ unit_weights(floats))))


def take_rows(values: Any, positions: NDArray[np.intp]) -> Any:
    """Take rows by position from a list, array, sparse matrix, series or dataframe."""
    if isinstance(values, np.ndarray | Groups):
        return values[positions]
    if hasattr(values, "iloc"):  # narwhals rejects columns of the same name
        return values.iloc[positions]
    native = nw.from_native(
        values, eager_only=True, allow_series=True, pass_through=True
    )
    if isinstance(native, nw.DataFrame | nw.Series):
        return native[positions].to_native()
    if hasattr(values, "shape"):
        return values[positions]
    return [values[position] for position in positions]


def find_distinct(columns: Sequence[Any]) -> tuple[Integers, Integers]:
    """Find the first entry of each combination of values, and each entry's combination.

    Combinations are in the order of their values; columns that are None are left out.
    """
    present = [column for column in columns if column is not None]
    order = np.lexsort(present[::-1])
    new = np.zeros(len(order), dtype=bool)
    new[:1] = True
    for column in present:
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    cells = np.empty(len(order), dtype=np.intp)
    cells[order] = np.cumsum(new) - 1
    return order[new], cells

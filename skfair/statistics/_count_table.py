"""A table of people counted by group, stratum, true label, and score or decision."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skfair._rows import Rows, read_arrays
from skfair._utils._arrays import Integers
from skfair._utils._validation import check_scores, check_shape
from skfair.groups import group_index
from skfair.statistics._cells import (
    bins_of_scores,
    check_n_bins,
    join_cells,
    merge_cells,
    put_in_bins,
    read_cells,
    read_key,
    round_to_edges,
)
from skfair.statistics._json import (
    add_format,
    check_format,
    groups_from_json,
    groups_to_json,
    keys_from_json,
    label_to_json,
    numbers_from_json,
)

#: Columns of numbers of the cells.
_NUMBERS = ("low", "high", "n", "weight", "squares")
_ENTRIES = ("n_cells", "groups", "strata", "y_true", "y_pred", "n_bins", *_NUMBERS)


class CountTable:
    """How many people are alike: in group, stratum, true label, score or decision.

    A table takes the place of rows in metrics, tests, intervals and monitors. It is
    additive: ``a + b`` is the table of the joined rows, so that batches, and parts of
    a table that is larger than memory, are counted one by one. Make it by `from_rows`,
    by `from_cells`, or where the rows are by `skfair.frames.count_table`.

    Attributes
    ----------
    labels : tuple of length n_groups
        Group labels.
    names : tuple of str
        Names of the sensitive columns, where known.
    min_group_size : int
        Smallest number of people with which a group may be compared.
    n_bins : int
        Number of bins of scores; 0 where each distinct score is kept.
    counts : ndarray of shape (n_groups,)
        Number of people of each group, without people of weight zero.
    totals : ndarray of shape (n_groups,)
        Total weight of each group.

    See Also
    --------
    sum_tables : Sum of many tables.
    skfair.frames.count_table : Counts a table of any library where its rows are.
    skfair.metrics.metric_bounds : Bounds of metrics of scores in bins.

    Notes
    -----
    Without weights a cell takes 17 bytes (18 with more than 127 groups), and
    9 where no two share a score: 1.7 MB for 10^8 rows that share 10^5 scores. In bins a
    cell takes 33 bytes: at most 4.3 MB for two groups and 65,536 bins. Making a table
    needs about three times as much for a moment.

    Examples
    --------
    >>> from skfair.metrics import mcdp
    >>> from skfair.statistics import CountTable
    >>> monday = CountTable.from_rows(None, [0.2, 0.9], sensitive_features=["F", "M"])
    >>> tuesday = CountTable.from_rows(None, [0.4, 0.6], sensitive_features=["F", "M"])
    >>> mcdp(None, monday + tuesday)
    1.0
    """

    #: Cells that are merged, sorted by score or decision first.
    _rows: Rows

    def __init__(self) -> None:
        raise TypeError(
            "CountTable is made by its from_rows or from_cells, or by "
            "skfair.frames.count_table."
        )

    @classmethod
    def _wrap(cls, cells: Rows) -> CountTable:
        """Return the table of merged cells."""
        table = object.__new__(cls)
        table._rows = cells
        return table

    @classmethod
    def from_rows(
        cls,
        y_true: ArrayLike | None,
        y_pred: ArrayLike,
        *,
        sensitive_features: ArrayLike | None,
        control_features: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        counts: ArrayLike | None = None,
        n_bins: int | None = None,
    ) -> CountTable:
        """Count rows, or cells that were counted already, in SQL for instance.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            True labels, if metrics of errors or of calibration are to be computed.
        y_pred : array-like of shape (n_samples,)
            Scores, predicted labels, or any finite numbers.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups
            Group of each row; several columns stand for their intersection.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), default=None
            Stratum of each row, within which groups are compared.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights, each the weight of one person.
        counts : array-like of int of shape (n_samples,), default=None
            How many people each row stands for; by default one.
        n_bins : int, default=None
            Number of equal bins of scores in [0, 1]: a power of two, at most 2**52.
            With each bin are kept the smallest and the largest score in it. None keeps
            each distinct score.

        Returns
        -------
        CountTable

        Raises
        ------
        TypeError
            If an argument is missing, or of a kind that is not taken.
        ValueError
            On missing labels, numbers that are not finite, with `n_bins` scores outside
            [0, 1], wrong lengths, missing groups, negative weights or counts, a group
            whose rows all weigh zero, or another number of bins.

        Examples
        --------
        >>> from skfair.metrics import equalized_odds_difference
        >>> from skfair.statistics import CountTable
        >>> table = CountTable.from_rows(
        ...     [1, 1, 0, 1, 0],
        ...     [1, 0, 0, 1, 0],
        ...     sensitive_features=["F", "F", "F", "M", "M"],
        ...     counts=[20, 10, 30, 40, 50],
        ... )
        >>> table
        CountTable(5 cells; people 'F': 60, 'M': 90)
        >>> round(equalized_odds_difference(None, table), 3)
        0.333
        """
        rows = read_arrays(
            y_true,
            y_pred,
            sensitive_features,
            control_features=control_features,
            sample_weight=sample_weight,
            counts=counts,
        )
        for name in ("y_true", "y_pred"):
            if getattr(rows, name) is not None:
                check_shape(getattr(rows, name), name)
        if n_bins is not None:
            n_bins = check_n_bins(n_bins)
            scores = check_scores(rows.y_pred, "y_pred")
            rows = put_in_bins(replace(rows, y_pred=scores), n_bins)
        else:
            rows = replace(rows, y_pred=read_key(rows.y_pred, "y_pred"))
        if rows.y_true is not None:
            rows = replace(rows, y_true=read_key(rows.y_true, "y_true"))
        return cls._wrap(merge_cells(rows))

    @classmethod
    def from_cells(cls, cells: Any, *, n_bins: int = 2**16) -> CountTable:
        """Read what an aggregation by group and bin returned, in SQL for instance.

        Parameters
        ----------
        cells : dataframe
            Of pandas, Polars, PyArrow or any other library that narwhals reads. The
            columns ``bin``, ``n_rows``, ``low`` and ``high`` hold the bin, the number
            of rows, and the smallest and largest score; ``weight`` and
            ``weight_squared``, sums of weights and of their squares, are `n_rows`
            where there are no such columns. All other columns are sensitive ones.
            Cells of the same group and bin are joined, so that results of several
            tables may be concatenated.
        n_bins : int, default=65536
            Number of bins of the aggregation, a power of two.

        Returns
        -------
        CountTable

        Raises
        ------
        ValueError
            If a column is missing, if numbers contradict each other (a score outside
            its bin), or if a group is missing.

        Notes
        -----
        In a database that Python does not reach, such a table is the result of::

            SELECT sex, CASE WHEN score < 0 OR score > 1 THEN NULL
                             WHEN score = 1 THEN 65535
                             ELSE FLOOR(score * 65536) END AS bin,
                   COUNT(*) AS n_rows, MIN(score) AS low, MAX(score) AS high
            FROM people GROUP BY 1, 2

        Counts by decision or by distinct score go into `from_rows`, as `counts`.

        Examples
        --------
        >>> import pandas as pd
        >>> from skfair.statistics import CountTable
        >>> cells = pd.DataFrame(
        ...     {"sex": ["F", "M"], "bin": [0, 3], "n_rows": [7, 5],
        ...      "low": [0.1, 0.8], "high": [0.2, 0.9]}
        ... )
        >>> CountTable.from_cells(cells, n_bins=4)
        CountTable(2 cells of 4 bins; people 'F': 7, 'M': 5)
        """
        n_bins = check_n_bins(n_bins)
        return cls._wrap(read_cells(cells, n_bins))

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """Group labels."""
        return self._rows.labels

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sensitive columns, where known."""
        return self._rows.names

    @property
    def min_group_size(self) -> int:
        """Smallest number of people with which a group may be compared."""
        return self._rows.min_group_size

    @property
    def n_bins(self) -> int:
        """Number of bins of scores; 0 where each distinct score is kept."""
        return self._rows.n_bins

    @property
    def counts(self) -> Integers:
        """Number of people of each group, of shape (n_groups,)."""
        return self._rows.counts

    @property
    def totals(self) -> NDArray[Any]:
        """Total weight of each group, of shape (n_groups,)."""
        return self._rows.totals

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self._rows)

    def __repr__(self) -> str:
        bins = f" of {self.n_bins} bins" if self.n_bins else ""
        sizes = zip(self.labels, self.counts, strict=True)
        people = ", ".join(f"{label!r}: {count}" for label, count in sizes)
        return f"CountTable({len(self)} cells{bins}; people {people})"

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, CountTable):
            return NotImplemented
        return CountTable._wrap(join_cells(self._rows, other._rows))

    def __radd__(self, other: Any) -> Any:
        # The built-in sum begins with 0.
        if type(other) is int and other == 0:
            return self
        return NotImplemented

    def coarsen(self, n_bins: int) -> CountTable:
        """Return the table of the same people in fewer bins.

        Parameters
        ----------
        n_bins : int
            A power of two, at most the number of bins of the table.

        Returns
        -------
        CountTable

        Raises
        ------
        ValueError
            If scores are not in bins, if there are to be more bins, or a number that
            is not a power of two.
        """
        if not self.n_bins:
            raise ValueError("coarsen needs a table of scores in bins: pass n_bins.")
        n_bins = check_n_bins(n_bins, self.n_bins)
        return CountTable._wrap(merge_cells(put_in_bins(self._rows, n_bins)))

    def round_to_edges(self) -> CountTable:
        """Return the table of scores that were rounded down to edges of bins.

        Returns
        -------
        CountTable
            Metrics of histograms whose bins are unions of bins of this table, such as
            MADD of ``n_bins / 4`` bins, have the values of the rows.
        """
        return CountTable._wrap(round_to_edges(self._rows))

    def to_frame(self) -> pd.DataFrame:
        """Return the cells as a table.

        Returns
        -------
        DataFrame
            A row for each cell, indexed by its group: its stratum and true label, if
            there are any, the score or decision ``y_pred`` (of bins the lower edge,
            with the smallest and the largest score), the number of people ``n``, and of
            weighted people the sums of their weights and squared weights.

        Examples
        --------
        >>> from skfair.statistics import CountTable
        >>> table = CountTable.from_rows(
        ...     None, [1, 0, 1], sensitive_features=["F", "F", "M"]
        ... )
        >>> table.to_frame()
               y_pred  n
        group
        F           0  1
        F           1  1
        M           1  1
        """
        rows = self._rows
        labels = [rows.labels[code] for code in rows.groups.codes.tolist()]
        columns: dict[str, Any] = {}
        if rows.strata is not None:
            strata = [rows.strata.labels[i] for i in rows.strata.codes.tolist()]
            columns["stratum"] = pd.Series(strata, dtype=object)
        n = np.ones(len(rows), np.int64) if rows.n is None else rows.n
        columns |= {"y_true": rows.y_true, "y_pred": rows.y_pred}
        columns |= {"low": rows.low, "high": rows.high, "n": n}
        if rows.weight is not None:
            columns |= {"weight": rows.weight, "weight_squared": rows.entry_squares}
        present = {name: x for name, x in columns.items() if x is not None}
        frame = pd.DataFrame(present)
        frame.index = group_index(tuple(labels), rows.names)
        if frame.index.nlevels == 1 and frame.index.name is None:
            frame.index.name = "group"
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return the table as lists, numbers and text, for `json.dumps`.

        Parties can exchange tables in place of rows. Numbers keep all their bits.

        Returns
        -------
        dict

        Raises
        ------
        ValueError
            If a label is neither text nor a number nor a date nor a tuple of these.

        Examples
        --------
        >>> import json
        >>> from skfair.statistics import CountTable
        >>> hired = CountTable.from_rows(
        ...     None, [1, 0, 1], sensitive_features=["a", "a", "b"]
        ... )
        >>> text = json.dumps(hired.to_dict())
        >>> CountTable.from_dict(json.loads(text))
        CountTable(3 cells; people 'a': 2, 'b': 1)
        """
        rows = self._rows
        columns: dict[str, Any] = {
            "n_cells": len(rows),
            "groups": groups_to_json(rows.groups),
            "strata": None if rows.strata is None else groups_to_json(rows.strata),
        }
        for name in ("y_true", "y_pred"):
            values = getattr(rows, name)
            if values is not None:
                numbers = values.dtype.kind in "biuf"
                values = values.tolist()
                values = values if numbers else [*map(label_to_json, values)]
            columns[name] = values
        columns["n_bins"] = rows.n_bins
        for name in _NUMBERS:
            values = getattr(rows, name)
            columns[name] = None if values is None else values.tolist()
        return add_format("CountTable", columns)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CountTable:
        """Return the table of which `to_dict` made a dictionary.

        Parameters
        ----------
        data : mapping
            As `to_dict` returns it.

        Returns
        -------
        CountTable

        Raises
        ------
        ValueError
            If the dictionary is of another type or format, or if an entry is missing
            or of another type or size.
        """
        check_format(data, "CountTable", _ENTRIES)
        size, strata = data["n_cells"], None
        if type(size) is not int or size < 0:
            raise ValueError(f"n_cells must be a whole number, got {size!r}.")
        groups = groups_from_json("groups", data["groups"], size)
        if data["strata"] is not None:
            strata = groups_from_json("strata", data["strata"], size)
        true, n_bins = data["y_true"], data["n_bins"]
        if type(n_bins) is not int or n_bins:
            n_bins = check_n_bins(n_bins)
        columns: dict[str, Any] = {
            name: None
            if data[name] is None
            else numbers_from_json(name, data[name], size, whole=name == "n")
            for name in _NUMBERS
        }
        rows = Rows(
            groups,
            strata,
            None if true is None else keys_from_json("y_true", true, size),
            keys_from_json("y_pred", data["y_pred"], size),
            n_bins=n_bins,
            **columns,
        )
        _check_cells(rows)
        return cls._wrap(merge_cells(rows))


def _check_cells(rows: Rows) -> None:
    """Raise where columns that were read contradict each other."""
    for name in ("n", "weight", "squares"):
        values = getattr(rows, name)
        if values is not None and not (values > 0).all():
            raise ValueError(f"{name} must be positive numbers.")
    if (rows.weight is None) != (rows.squares is None):
        raise ValueError("weight and squares must both be given, or neither.")
    binned = [rows.low is not None, rows.high is not None, bool(rows.n_bins)]
    if any(binned) != all(binned):
        raise ValueError("low, high and n_bins must all be given, or none of them.")
    if rows.low is None or rows.high is None:
        return
    if rows.y_pred.dtype.kind not in "if":
        raise ValueError("y_pred must be edges of bins.")
    for ends in (rows.low, rows.high):
        inside = (ends >= 0) & (ends <= 1)
        inside &= bins_of_scores(ends, rows.n_bins) == rows.y_pred * rows.n_bins
        if not inside.all():
            raise ValueError("low and high must be scores in the bins of the cells.")


def table_of(rows: Rows) -> CountTable:
    """Count checked rows."""
    return CountTable._wrap(merge_cells(rows))


def sum_tables(tables: Iterable[CountTable]) -> CountTable:
    """Add up many tables.

    Adding batches of scores one by one sorts the growing sum again for each batch,
    which takes time quadratic in their number. Here sums of equally many batches are
    added to each other: every batch takes part in log2(n_tables) additions.

    Parameters
    ----------
    tables : iterable of CountTable
        A generator is read one by one, so that batches need not be in memory together.

    Returns
    -------
    CountTable
        The table of the joined rows. Weights that are not whole numbers are added in
        another order than by `sum`, and their sums may differ by rounding.

    Raises
    ------
    ValueError
        If there are no tables, or if they have other columns or other kinds of labels.
    TypeError
        If they are not tables.

    See Also
    --------
    CountTable : The table.

    Examples
    --------
    >>> from skfair.metrics import mcdp
    >>> from skfair.statistics import CountTable, sum_tables
    >>> days = [([0.2, 0.9], ["F", "M"]), ([0.4, 0.6], ["F", "M"])]
    >>> week = sum_tables(
    ...     CountTable.from_rows(None, scores, sensitive_features=sex)
    ...     for scores, sex in days
    ... )
    >>> mcdp(None, week)
    1.0
    """
    waiting: list[tuple[int, CountTable]] = []  # sums of 2**k tables, k decreasing
    for table in tables:
        if not isinstance(table, CountTable):
            raise TypeError(
                "tables must be of skfair.statistics.CountTable, got a "
                f"{type(table).__name__}."
            )
        size, joined = 1, table
        while waiting and waiting[-1][0] == size:
            joined = waiting.pop()[1] + joined
            size *= 2
        waiting.append((size, joined))
    if not waiting:
        raise ValueError("tables is empty, expected at least one.")
    _, total = waiting.pop()
    while waiting:
        total = waiting.pop()[1] + total
    return total

"""Cells of people who are alike: joined, added, put into bins, read from a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers
from skfair._utils._columns import open_frame, read_floats
from skfair._utils._text import counted
from skfair._utils._validation import check_integer, check_numbers, check_scores
from skfair.groups import (
    Groups,
    check_kinds_of_labels,
    check_no_probabilities,
    encode_column,
    intersect,
    join_groups,
    relabel,
    warn_of_missing_words,
)
from skfair.statistics._distributions import sort_scores, whole_if_exact

#: Edges k / n_bins, and products of a score and n_bins, have no rounding up to this.
MAX_BINS = 2**52


def merge_cells(rows: Rows) -> Rows:
    """Join entries of the same group, stratum, true label, and score, bin or decision.

    Entries are sorted by score or decision first. Entries without people are left out;
    `n` is None where each entry is one person.
    """
    rows = replace(rows.grouped(), position=None, fold=None, cluster=None)
    if rows.weight is not None and is_unweighted(rows):
        rows = replace(rows, weight=None, squares=None, person_weight=None)
    others = rows.y_true, rows.strata, rows.weight, rows.low
    has_scores = rows.y_pred.dtype == np.float64 and len(rows)
    if has_scores and all(column is None for column in others):
        return _merge_scores(rows)
    columns = [_sortable(rows.y_pred), _sortable(rows.y_true)]
    strata = None if rows.strata is None else rows.strata.codes
    keys = [key for key in (*columns, strata, rows.groups.codes) if key is not None]
    order = np.lexsort(keys[::-1])
    new = np.ones(len(order), dtype=bool)
    new[1:] = False
    for key in keys:
        ordered = key[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(new)
    merged = replace(rows[order[starts]], position=None, person_weight=None)
    if not len(starts):
        return merged

    def add(values: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.add.reduceat(values[order], starts))

    sums: dict[str, Any] = {}
    n = np.diff(starts, append=len(order)) if rows.n is None else add(rows.n)
    sums["n"] = None if (n == 1).all() else n.astype(np.int64)
    if rows.weight is not None:
        sums["weight"] = whole_if_exact(add(rows.weight))
        sums["squares"] = whole_if_exact(add(rows.entry_squares))
    if rows.low is not None and rows.high is not None:
        sums["low"] = np.minimum.reduceat(rows.low[order], starts)
        sums["high"] = np.maximum.reduceat(rows.high[order], starts)
    return replace(merged, **sums)


def _merge_scores(rows: Rows) -> Rows:
    """Join unweighted entries of the same group and score by one sort of integers."""
    codes = rows.groups.codes
    scores, sorted_codes, n = sort_scores(
        rows.y_pred, codes, rows.n, n_groups=rows.n_groups
    )
    groups = replace(rows.groups, codes=sorted_codes.astype(codes.dtype, copy=False))
    return Rows(groups, y_pred=scores, n=None if (n == 1).all() else n)


def is_unweighted(rows: Rows) -> bool:
    """Return whether all people of each entry weigh one."""
    if rows.weight is None:
        return True
    n = 1 if rows.n is None else rows.n
    return bool((rows.weight == n).all() and (rows.entry_squares == n).all())


def _sortable(values: Any) -> Any:
    """Return numbers as they are, and labels as their positions in sorted order."""
    if values is None or values.dtype.kind in "biuf":
        return values
    return encode_column(values, "raise", None, "labels")[0]


def join_cells(first: Rows, second: Rows) -> Rows:
    """Join two tables: groups, strata and labels of either, and bins of the coarser."""
    for name in ("y_true", "strata"):
        if (getattr(first, name) is None) != (getattr(second, name) is None):
            what = "true labels" if name == "y_true" else "strata"
            raise ValueError(f"tables must both have {what}, or neither, to be added.")
    if bool(first.n_bins) != bool(second.n_bins):
        raise ValueError(
            "tables must both have scores in bins, or neither, to be added: put the "
            "scores of both in bins by n_bins."
        )
    if first.n_bins != second.n_bins:
        n_bins = min(first.n_bins, second.n_bins)
        first, second = (put_in_bins(rows, n_bins) for rows in (first, second))
    columns: dict[str, Any] = {
        "groups": _join_groups(first.groups, second.groups),
        "strata": None
        if first.strata is None
        else _join_groups(first.strata, second.strata),
        "y_true": _join_labels("true labels", first.y_true, second.y_true),
        "y_pred": _join_labels("predicted labels", first.y_pred, second.y_pred),
    }
    if first.n is not None or second.n is not None:
        columns["n"] = np.concatenate([_people_of(first), _people_of(second)])
    if first.weight is not None or second.weight is not None:
        parts = [
            (_people_of(rows),) * 2
            if rows.weight is None
            else (rows.weight, rows.entry_squares)
            for rows in (first, second)
        ]
        columns["weight"], columns["squares"] = map(
            np.concatenate, zip(*parts, strict=True)
        )
    if first.low is not None:
        columns["low"] = np.concatenate([first.low, second.low])
        columns["high"] = np.concatenate([first.high, second.high])
    return merge_cells(Rows(**columns, n_bins=first.n_bins))


def _people_of(rows: Rows) -> Integers:
    """Count the people of each entry."""
    return np.ones(len(rows), np.int64) if rows.n is None else rows.n


def _join_groups(first: Groups, second: Any) -> Groups:
    """Put the groups of the entries of two tables one after the other."""
    labels, names, smallest = join_groups(first, second)
    codes = [relabel(groups, labels).codes for groups in (first, second)]
    return Groups(np.concatenate(codes), labels, names, smallest)


def _join_labels(name: str, first: Any, second: Any) -> Any:
    """Put labels or scores of the entries of two tables one after the other."""
    if first is None:
        return None
    kinds = [values.dtype.kind in "biuf" for values in (first, second)]
    if not all(kinds):
        classes = [[*dict.fromkeys(values.tolist())] for values in (first, second)]
        check_kinds_of_labels(f"{name} of tables", *classes)
        if kinds[0] != kinds[1] or first.dtype.kind != second.dtype.kind:
            first, second = first.astype(object), second.astype(object)
    return np.concatenate([first, second])


def put_in_bins(rows: Rows, n_bins: int) -> Rows:
    """Put scores in [0, 1] into equal bins; scores in bins go into coarser ones."""
    low = rows.y_pred if rows.low is None else rows.low
    high = rows.y_pred if rows.high is None else rows.high
    edges = bins_of_scores(rows.y_pred, n_bins) / n_bins
    return replace(rows, y_pred=edges, low=low, high=high, n_bins=n_bins)


def round_to_edges(rows: Rows) -> Rows:
    """Round scores in bins down to the edges of the bins."""
    return replace(rows, low=None, high=None, n_bins=0)


def read_key(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Check finite numbers or labels, of which none is missing."""
    if values.dtype.kind == "f":
        return check_numbers(values, name) + 0.0  # without negative zeros
    if values.dtype.kind in "biu":
        return values
    codes, labels = encode_column(values, "drop", None, name)
    n_missing = int(np.count_nonzero(codes < 0))
    if n_missing:
        n_labels = counted(n_missing, "missing label")
        raise ValueError(f"{name} has {n_labels}, expected none.")
    return label_array_of(labels)[codes]


def label_array_of(labels: Sequence[Any]) -> NDArray[Any]:
    """Return labels as an array, of objects where they are of several types."""
    several = len({*map(type, labels)}) > 1
    return np.array(labels, dtype=object if several else None)


def check_n_bins(n_bins: Any, largest: int = MAX_BINS) -> int:
    """Return a number of bins, a power of two."""
    checked = check_integer("n_bins", n_bins, 1, largest)
    if checked & (checked - 1):
        raise ValueError(f"n_bins must be a power of two, got {n_bins!r}.")
    return checked


def bins_of_scores(scores: Floats, n_bins: int) -> Integers:
    """Return bin of each score; the last bin is closed. The product has no rounding."""
    return np.minimum(np.floor(scores * n_bins), n_bins - 1).astype(np.int64)


#: Columns of a table of cells; the other columns are sensitive ones.
_NUMBERS = ("bin", "n_rows", "weight", "weight_squared", "low", "high")


def read_cells(cells: Any, n_bins: int) -> Rows:
    """Read a table of counts by group and bin."""
    try:
        frame = open_frame(cells, "cells", eager_only=True)
    except TypeError as error:
        raise TypeError(f"cells must be a dataframe: {error}") from error
    groups, columns = _read_columns(frame)
    problem = _find_problem_of_cells(n_bins, columns)
    if problem is not None:
        raise ValueError(f"cells must be those of a histogram, but {problem}.")
    bins, n, weight, squares, low, high = columns
    people: dict[str, Any] = {
        "n": n,
        "weight": weight,
        "squares": squares,
        "low": low,
        "high": high,
    }
    return merge_cells(Rows(groups, y_pred=bins / n_bins, n_bins=n_bins, **people))


def _read_columns(frame: nw.DataFrame[Any]) -> tuple[Groups, list[NDArray[Any]]]:
    """Read the groups of the cells of a table, and its columns of numbers."""
    lacking = {"bin", "n_rows", "low", "high"} - set(frame.columns)
    names = [name for name in frame.columns if name not in _NUMBERS]
    if lacking or not names:
        raise ValueError(
            "cells must have the columns bin, n_rows, low, high and at least one "
            f"sensitive column, got {frame.columns}."
        )
    if not len(frame):
        raise ValueError("cells has 0 rows, expected at least one.")
    n_rows = _read_numbers(frame["n_rows"], "n_rows")
    lost = frame["bin"].is_null().to_numpy()
    if lost.any():
        raise ValueError(
            f"cells has no bin for {int(n_rows[lost].sum()):,} rows: their scores are "
            "missing or outside [0, 1], or their weights missing or negative."
        )
    sensitive = [frame[name].to_native() for name in names]
    groups = join_attributes(encode_attributes(sensitive, names, n_rows))
    otherwise = {"weight": "n_rows", "weight_squared": "n_rows"}
    columns = []
    for name in _NUMBERS:
        column = frame[name if name in frame.columns else otherwise[name]]
        numbers = _read_numbers(column, name)
        whole = name in ("bin", "n_rows")
        columns.append(numbers.astype(np.int64) if whole else numbers)
    return groups, columns


def _read_numbers(column: nw.Series[Any], name: str) -> Floats:
    """Read a column of a table, and check its numbers."""
    if not column.dtype.is_numeric():
        raise ValueError(f"cells[{name!r}] must be numbers, got {column.dtype}.")
    frame = column.to_frame()
    column = frame.select(read_floats(frame, column.name))[column.name]
    numbers: Floats = column.to_numpy().astype(np.float64)
    if name in ("low", "high"):
        return check_scores(numbers, f"cells[{name!r}]")
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise ValueError(f"cells[{name!r}] must be finite numbers of at least 0.")
    if name in ("bin", "n_rows") and (numbers != np.floor(numbers)).any():
        raise ValueError(f"cells[{name!r}] must be whole numbers.")
    return numbers


def join_attributes(attributes: list[Groups]) -> Groups:
    """Intersect attributes, of one column each."""
    encoded = [(groups.codes, groups.labels) for groups in attributes]
    return Groups(*intersect(encoded), tuple(groups.names[0] for groups in attributes))


def encode_attributes(
    columns: Sequence[Any],
    names: Sequence[str],
    n_rows: NDArray[Any],
    argument: str = "sensitive_features",
) -> list[Groups]:
    """Encode sensitive columns of a table of cells, of any library, by their names.

    Missing groups are an error that names the column and the number of rows, the sum of
    the `n_rows` of cells.
    """
    encoded = []
    check_no_probabilities(columns, argument)
    for name, column in zip(names, columns, strict=True):
        codes, labels = encode_column(column, "drop", name, argument)
        if (codes < 0).any():
            n_missing = int(n_rows[codes < 0].sum())
            raise ValueError(
                f"{argument} has {counted(n_missing, 'missing value')} "
                f"in column {name!r}, expected none. Filter these rows out, or give "
                "them a value of their own."
            )
        encoded.append(Groups(codes, labels, (name,)))
    warn_of_missing_words([(part.codes, part.labels) for part in encoded], argument)
    return encoded


def _find_problem_of_cells(n_bins: int, columns: list[NDArray[Any]]) -> str | None:
    """Describe a contradiction in the columns of cells."""
    bins, n_rows, weights, squares, lows, highs = columns
    if (n_rows < 1).any() or (weights <= 0).any() or (squares <= 0).any():
        return "a cell has no rows or no weight"
    if (lows > highs).any() or (highs > 1).any():
        return "a smallest score is above the largest, or a score is above 1"
    inside = (bins_of_scores(lows, n_bins) == bins) & (
        bins_of_scores(highs, n_bins) == bins
    )
    if not inside.all():
        cell = int((~inside).argmax())
        return (
            f"scores {lows[cell]} to {highs[cell]} do not lie in bin {bins[cell]} of "
            f"{n_bins}"
        )
    # Sums of squares of positive weights lie between these, by Cauchy and Schwarz.
    roots = np.sqrt(squares) * (1 + 1e-9)
    if (np.sqrt(n_rows) * roots < weights).any():
        return "squared weights are too small for the weights"
    if (weights * (1 + 1e-9) ** 2 < roots).any():
        return "squared weights are too large for the weights"
    return None

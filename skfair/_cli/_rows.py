"""Rows that pandas has read: missing values, groups, and the positive label."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from skfair._cli._bins import bins_hint
from skfair._cli._output import warn
from skfair._cli._tables import line_of
from skfair._cli._text import Format, as_values
from skfair._utils._validation import RowError
from skfair.groups import Groups, encode_groups, intersect


def without_missing(given: argparse.Namespace, table: Any, names: Sequence[str]) -> Any:
    """Leave out rows without a value in some columns if ``--missing`` is drop."""
    missing = table[list(dict.fromkeys(names))].isna()
    if given.missing != "drop":
        for name in missing.columns[missing.any()]:
            refuse_missing(given, table[name])
    kept = ~missing.any(axis=1)
    n_without = int((~kept).sum())
    if n_without == len(table):
        raise ValueError(f"{given.table} has no row without missing values.")
    note_left_out(given, n_without, names)
    return table[kept].infer_objects()


def refuse_missing(given: argparse.Namespace, column: Any, also: str = "") -> None:
    """Raise ValueError for the missing values of a column, and say what takes them."""
    missing = column.isna()
    first = column.index[missing.to_numpy().argmax()]
    raise ValueError(
        f"column {column.name!r} has {int(missing.sum())} missing values, the first in "
        f"line {line_of(given.table, first, given.form)} of {given.table}; --missing "
        f"drop leaves these rows out{also}."
    )


def note_left_out(
    given: argparse.Namespace, n_without: int, names: Sequence[str]
) -> None:
    """Say how many rows are left out, if there are any."""
    if n_without:
        left_out = f"{n_without:,} rows without {', '.join(names)} are left out."
        warn(given, f"note: {left_out}")


def groups_of(given: argparse.Namespace, column: Any, rare: Any = "keep") -> Groups:
    """Encode the groups of a column; ``--missing`` is about missing ones."""
    if given.missing == "raise" and column.isna().any():
        refuse_missing(given, column, ", --missing group makes them a group")
    missing: Literal["drop", "group"] = "drop" if given.missing == "drop" else "group"
    groups = encode_groups(
        column, missing=missing, rare=rare, min_group_size=given.min_group_size
    )
    note_bins(given, column)
    return groups


def note_bins(given: argparse.Namespace, column: Any) -> None:
    """Suggest ranges where the groups of a column are many numbers, or dates."""
    hint = bins_hint(column)
    if hint is not None:
        warn(given, f"note: {hint}")


def intersection_of(
    given: argparse.Namespace, columns: dict[str, Any], names: Sequence[str]
) -> Groups:
    """Encode the intersection of some columns."""
    each = [groups_of(given, columns[name]) for name in names]
    codes, labels = intersect([(one.codes, one.labels) for one in each])
    return Groups(codes, labels, tuple(names))


def label_like(text: str | None, columns: Sequence[Any]) -> Any:
    """Return the label in some columns that is written like this, or the text."""
    if text is None:
        return None
    meant = as_values(pd.Series([text]), Format())[0]  # as cells are
    for column in columns:
        for label in column.dropna().unique().tolist():
            if text == str(label) or meant == label:
                return label
    return text


@contextmanager
def naming_lines(path: Path, table: Any, form: Format, tip: str = "") -> Iterator[None]:
    """Name the line of the file where a row of a table is wrong.

    A tip of the error, which names parameters, is replaced by one of options.
    """
    try:
        yield
    except RowError as error:
        place = f"line {line_of(path, table.index[error.row], form)} of {path}"
        raise ValueError(error.at(place) + (tip if error.tip else "")) from error

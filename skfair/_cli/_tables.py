"""Reads tables of predictions; one clear message says what is wrong with a file."""

from __future__ import annotations

import glob
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pandas as pd

from skfair._cli._text import (
    Format,
    as_numbers,
    as_values,
    check_columns,
    line_of_text,
    read_header,
    read_rows,
    refuse_text,
)
from skfair._utils._hints import require

#: What an error about scores that are no probabilities adds in an audit.
TAKES_ANY = " With --scale rank scores may be any finite numbers."
#: Suffixes of the files that can be read.
SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".parquet", ".xlsx")


@dataclass(frozen=True)
class Columns:
    """Names of columns, each once: numbers, true or predicted labels, and groups.

    The cells of groups stay as they are written, so that ``01`` is a label.
    """

    numbers: list[str]
    labels: list[str]
    groups: list[str]

    @classmethod
    def of(
        cls, numbers: Iterable[str], labels: Iterable[str], groups: Iterable[str]
    ) -> Self:
        """Columns by their uses: one of several uses is a number, or else a label."""
        numbers = dict.fromkeys(numbers)
        labels = dict.fromkeys(name for name in labels if name not in numbers)
        values = {**numbers, **labels}
        groups = dict.fromkeys(name for name in groups if name not in values)
        return cls([*numbers], [*labels], [*groups])

    def all(self) -> list[str]:
        """Names of all columns."""
        return [*self.values(), *self.groups]

    def values(self) -> list[str]:
        """Names of the columns of which each row needs a value."""
        return [*self.numbers, *self.labels]


def read_columns(path: Path, columns: Columns, form: Format) -> Any:
    """Read some columns of a table. Only empty cells are missing."""
    _check_table(path)
    if path.suffix.lower() == ".parquet":
        table = _read_parquet(path, columns.all())
    elif path.suffix.lower() == ".xlsx":
        table = _read_excel(path, columns.all(), columns.groups)
    else:
        table = pd.concat(read_rows(path, columns.all(), form))
        for name in columns.labels:
            table[name] = as_values(table[name], form)
        for name in columns.groups:
            if as_numbers(table[name], form) is not None:
                table[name] = form.with_points(table[name])
        for name in columns.numbers:
            numbers = as_numbers(table[name], form)
            if numbers is None:
                refuse_text([path], name, form)
            table[name] = numbers
    if not len(table):
        raise ValueError(f"{path} has 0 rows, expected at least one.")
    return table


def check_file(path: Path) -> None:
    """Raise unless a path is that of a file."""
    if path.is_dir():
        raise IsADirectoryError(
            f"{path} is a directory, expected a file, or a pattern of files such as "
            f"'{path}/*.csv'."
        )
    if not path.is_file():
        hint = ""
        if glob.has_magic(str(path)):
            hint = " Only `skfair audit --engine duckdb` reads a pattern of files."
        raise FileNotFoundError(f"{path} does not exist or is no file.{hint}")


def _check_table(path: Path) -> None:
    """Raise unless a path is that of a file of a known kind."""
    if not path.is_dir() and not path.name.lower().endswith(SUFFIXES):
        raise ValueError(
            f"{path} must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}."
        )
    check_file(path)


def read_names(path: Path, form: Format) -> list[str]:
    """Read the names of all columns of a table."""
    _check_table(path)
    if path.suffix.lower() == ".parquet":
        parquet = require("pyarrow.parquet", f"Reading {path}", "save the table as CSV")
        try:
            return list(parquet.read_schema(path).names)
        except (ValueError, OSError) as error:
            raise ValueError(f"{path} cannot be read: {_one_line(error)}") from error
    if path.suffix.lower() == ".xlsx":
        return [*map(str, _read_excel(path, [], []).columns)]
    return read_header(path, form)[0]


def line_of(path: Path, position: int, form: Format) -> int:
    """Find the line of a file where a row begins; rows of a worksheet are lines.

    Rows of a file without lines are counted from 1.
    """
    if path.suffix.lower() in (".parquet", ".xlsx"):
        return position + (2 if path.suffix.lower() == ".xlsx" else 1)
    return line_of_text(path, position, form)


def _read_excel(path: Path, wanted: Sequence[str], text: Sequence[str]) -> pd.DataFrame:
    """Read the first worksheet."""
    require("openpyxl", f"Reading {path}", "save the table as CSV")
    try:
        header = pd.read_excel(path, header=None, nrows=1, dtype=str, engine="openpyxl")
        names = [str(name) for name in header.iloc[0]] if len(header) else []
        check_columns(path, names, wanted)
        table: pd.DataFrame = pd.read_excel(
            path,
            dtype=dict.fromkeys(text, str),
            keep_default_na=False,
            na_values=[""],
            engine="openpyxl",
        )
    except (zipfile.BadZipFile, KeyError) as error:
        raise ValueError(
            f"{path} cannot be read as .xlsx: {_one_line(error)}"
        ) from error
    return table


def _read_parquet(path: Path, wanted: Sequence[str]) -> pd.DataFrame:
    arrow = require("pyarrow", f"Reading {path}", "save the table as CSV")
    parquet = require("pyarrow.parquet", f"Reading {path}", "save the table as CSV")
    try:
        # Opened first, since a name may be that of a directory or of another store.
        with path.open("rb") as file:
            stored = parquet.ParquetFile(file)
            schema = stored.schema_arrow
            check_columns(path, schema.names, wanted)
            for name in wanted:
                check_flat(path, name, arrow.types.is_nested(schema.field(name).type))
            columns = list(dict.fromkeys(wanted))
            table: pd.DataFrame = stored.read(columns).select(columns).to_pandas()
    except arrow.ArrowException as error:
        raise ValueError(f"{path} cannot be read: {_one_line(error)}") from error
    except OSError as error:
        if error.filename is not None:
            raise
        raise ValueError(f"{path} cannot be read: {_one_line(error)}") from error
    return table


def check_flat(path: Path, name: str, is_nested: bool) -> None:
    """Raise if a column has lists or several values in a row."""
    if is_nested:
        raise ValueError(
            f"column {name!r} of {path} is nested, expected one value in each row."
        )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())

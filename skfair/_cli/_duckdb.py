"""Reads tables of predictions by DuckDB, which keeps the rows out of Python."""

from __future__ import annotations

import glob
import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from skfair._cli._bins import range_labels
from skfair._cli._tables import Format, check_columns
from skfair._utils._optional import extra, require
from skfair._utils._sql import quote_name, quote_text
from skfair.groups import MISSING_LABEL

ENGINES = ("auto", "duckdb", "pandas")
#: A file of more bytes is read by DuckDB where it can.
_LARGE = 2**25
#: What DuckDB keeps in memory; it writes what is more to temporary files.
_MEMORY = "512MB"
#: What pandas reads as truth values, and as missing.
_BOOLEANS = {"True", "TRUE", "true", "False", "FALSE", "false", None}
#: Labels of groups that are looked at to suggest ranges.
_MAX_LABELS = 1000


class UnsuitedError(ValueError):
    """The file or the arguments need the other engine."""


def files_of(path: Path) -> list[Path]:
    """Files that a name or a pattern stands for, sorted."""
    if path.exists() or not glob.has_magic(str(path)):
        return [path]
    found = sorted(Path(name) for name in glob.glob(str(path), recursive=True))
    if not found:
        raise FileNotFoundError(f"{path} matches no file.")
    return found


def takes_duckdb(path: Path, engine: str) -> bool:
    """Whether DuckDB reads a table: if asked to, or if it is large or many files."""
    files = files_of(path)
    if engine != "auto":
        return engine == "duckdb"
    if files != [path]:
        return True
    if not path.is_file() or not _reads(path):
        return False
    large = path.stat().st_size > _LARGE
    return large and importlib.util.find_spec("duckdb") is not None


def _reads(path: Path) -> bool:
    return path.name.lower().endswith(
        (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".parquet")
    )


class Rows:
    """Columns of some files, by their names, as a query of DuckDB."""

    def __init__(
        self, path: Path, wanted: Sequence[str], text: Sequence[str], form: Format
    ) -> None:
        duckdb = require(
            "duckdb", f"Reading {path} by DuckDB", f"install it {extra('duckdb')}"
        )
        require("pyarrow", f"Reading {path} by DuckDB", "choose --engine pandas")
        self.path, self._error = path, duckdb.Error
        self._connection = duckdb.connect()
        self._connection.execute(f"SET memory_limit = '{_MEMORY}'")
        self._columns = {name: quote_name(name) for name in wanted}
        self._where = ""
        with self.problems():
            self._load(files_of(path), form, text)
        if not self._numbers("COUNT(*)")[0]:
            raise ValueError(f"{path} has 0 rows, expected at least one.")

    def _load(self, files: list[Path], form: Format, text: Sequence[str]) -> None:
        """Make a view of Parquet, or a table of text, which is parsed only once."""
        for file in files:
            if not _reads(file):
                raise UnsuitedError(f"DuckDB reads CSV and Parquet, got {file}.")
            if not file.is_file():
                raise FileNotFoundError(f"{file} does not exist or is no file.")
        names = [str(file) for file in files]
        parquet = all(name.lower().endswith(".parquet") for name in names)
        source = self._connection.read_parquet(names) if parquet else None
        if source is None:
            source = self._read_text(names, form, text)
        given = {name.lstrip(): name for name in source.columns}
        check_columns(self.path, [*given], [*self._columns])
        types = dict(zip(source.columns, map(str, source.types), strict=True))
        columns = []
        for name in self._columns:
            column = quote_name(given[name])
            if types[given[name]] == "VARCHAR" and not parquet:
                column = f"NULLIF(LTRIM({column}), '')"
            columns.append(f"{column} AS {quote_name(name)}")
        source = source.project(", ".join(columns))
        if parquet:
            source.create_view("loaded")
        else:
            source.create("loaded")

    def _read_text(self, names: list[str], form: Format, text: Sequence[str]) -> Any:
        """Read files of text; columns named by `text` are not turned into numbers."""
        options = form.of(Path(names[0]))
        if options["encoding"] != "utf-8-sig":
            raise UnsuitedError(f"DuckDB reads UTF-8, got --encoding {form.encoding}.")
        how = {"header": True, "sep": options["sep"]}
        written = self._connection.read_csv(names, all_varchar=True, **how)
        found = self._connection.read_csv(names, **how)
        kept = [name for name in written.columns if name.lstrip() in text]
        for name, kind in zip(found.columns, found.types, strict=True):
            if str(kind) == "BOOLEAN" and name.lstrip() in self._columns:
                values = written.project(quote_name(name)).distinct().fetchall()
                if not {value for (value,) in values} <= _BOOLEANS:
                    kept.append(name)  # yes and no, for instance
        types = dict.fromkeys(kept, "VARCHAR")
        return self._connection.read_csv(names, dtype=types, **how) if kept else found

    @property
    def relation(self) -> Any:
        """The rows, for `skfair.frames`."""
        return self._connection.sql(self._query)

    @property
    def _query(self) -> str:
        columns = ", ".join(f"{v} AS {quote_name(k)}" for k, v in self._columns.items())
        return f"SELECT {columns} FROM loaded{self._where}"

    @contextmanager
    def problems(self) -> Iterator[None]:
        """Raise what DuckDB says of the files as ValueError, in one line."""
        try:
            yield
        except TypeError as error:  # columns of text in place of numbers
            raise ValueError(f"{self.path}: {error}") from error
        except self._error as error:
            lines = [line.strip() for line in str(error).splitlines()]
            said = " ".join(line for line in lines[:6] if line)
            raise ValueError(f"{self.path} cannot be read: {said}") from error

    def _numbers(self, *aggregates: str) -> tuple[Any, ...]:
        """Values of aggregates of all rows."""
        query = f"SELECT {', '.join(aggregates)} FROM ({self._query})"
        with self.problems():
            found = self._connection.execute(query).fetchone()
        assert found is not None
        return tuple(found)

    def labels(self, name: str) -> Any:
        """Distinct values of a column, the first of many, as a Series."""
        query = f"SELECT DISTINCT {quote_name(name)} FROM ({self._query})"
        with self.problems():
            found = self._connection.execute(f"{query} LIMIT {_MAX_LABELS}").fetchall()
        return pd.Series([row[0] for row in found], name=name, dtype=object)

    def n_missing(self, names: Sequence[str]) -> dict[str, int]:
        """Count the missing values of each column that has some."""
        counts = self._numbers(*(f"COUNT(*) - COUNT({quote_name(n)})" for n in names))
        return {n: count for n, count in zip(names, counts, strict=True) if count}

    def leave_out_missing(self, names: Sequence[str]) -> int:
        """Leave out the rows without a value in one of some columns; count them."""
        known = " AND ".join(f"{quote_name(name)} IS NOT NULL" for name in names)
        n_without, n_rows = self._numbers(f"COUNT(*) - COUNT_IF({known})", "COUNT(*)")
        if n_without == n_rows:
            raise ValueError(f"{self.path} has no row without missing values.")
        self._where = f" WHERE {known}"
        return int(n_without)

    def name_missing(self, name: str) -> None:
        """Make rows without a group a group of their own."""
        column = f"CAST({self._columns[name]} AS VARCHAR)"
        self._columns[name] = f"COALESCE({column}, '{MISSING_LABEL}')"
        labels = self.labels(name).tolist()
        if len(labels) < _MAX_LABELS:  # the missing ones come last
            labels.sort(key=lambda label: (label == MISSING_LABEL, label))
            self._columns[name] = _as_enum(self._columns[name], labels)

    def into_bins(self, name: str, edges: list[float]) -> None:
        """Replace numbers by the ranges that they are in; an edge begins a range."""
        column = quote_name(name)
        number = f"TRY_CAST({column} AS DOUBLE)"
        no_number = f"{number} IS NULL AND {column} IS NOT NULL"
        (bad,) = self._numbers(f"ANY_VALUE({column}) FILTER ({no_number})")
        if bad is not None:
            raise ValueError(f"--bins needs numbers in column {name!r}, got {bad!r}.")
        ranges = range_labels(edges)
        steps = " ".join(
            f"WHEN {number} < {edge!r} THEN '{label}'"
            for edge, label in zip(edges, ranges, strict=False)
        )
        case = f"CASE WHEN {number} IS NULL THEN NULL {steps} ELSE '{ranges[-1]}' END"
        self._columns[name] = case
        found = set(self.labels(name))
        self._columns[name] = _as_enum(case, [name for name in ranges if name in found])


def _as_enum(column: str, labels: list[str]) -> str:
    """Give the labels of a column an order."""
    texts = ", ".join(map(quote_text, labels))
    return f"CAST({column} AS ENUM({texts}))"

"""Reads large files by DuckDB, which keeps the rows out of Python."""

from __future__ import annotations

import glob
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from skfair._cli._columns import BLANKS, NUMBER, TAKES_ANY, WHOLE, column_kinds
from skfair._utils._hints import extra, require
from skfair._utils._validation import RowError
from skfair.groups import sort_labels

#: What DuckDB keeps in memory; it writes what is more to temporary files.
_MEMORY = "512MB"
#: Types of DuckDB of which a row has several values.
_NESTED = ("list", "array", "struct", "map", "union")
#: More groups than this cannot be compared.
_MAX_GROUPS = 100_000


class DuckDBRows:
    """Columns of files as a view of DuckDB.

    Cells are the same as in `PandasRows`: labels and groups are text, and scores and
    weights are numbers.
    """

    in_memory, identifier, others = False, None, ()

    def __init__(
        self,
        args: Namespace,
        files: Sequence[Path],
        separator: str,
        above: Sequence[int | None],
    ) -> None:
        if len({*above}) > 1 or None in above:
            raise ValueError("headers differ, or have names that are alike.")
        self.path, self._name = args.table, "loaded"
        duckdb = require("duckdb", f"Reading {self.path}", extra("duckdb"))
        self._error, self._connection = duckdb.Error, duckdb.connect()
        self._connection.execute(f"SET memory_limit = '{_MEMORY}'")
        # It takes the smallest and largest value that Parquet files state for all
        # values, and overlooks nan, which they leave out.
        self._connection.execute("SET disabled_optimizers = 'statistics_propagation'")
        with self.problems():
            self._load(args, files, separator, above[0])
        if not self._select("COUNT(*)")[0][0]:
            raise ValueError(f"{self.path} has 0 rows, expected at least one.")

    def _load(
        self, args: Namespace, files: Sequence[Path], separator: str, above: int | None
    ) -> None:
        """Make a view of Parquet files, or a table of text files."""
        names = [glob.escape(str(file)) for file in files]
        is_parquet = {file.suffix.lower() for file in files} == {".parquet"}
        if is_parquet:
            source = self._connection.read_parquet(
                names, hive_partitioning=False, union_by_name=True
            )
        else:
            source = self._connection.read_csv(
                names,
                header=True,
                all_varchar=True,
                delimiter=separator,
                skiprows=above,
                quotechar='"',
                escapechar='"',
                encoding=args.encoding,
                strict_mode=True,
                union_by_name=True,
            )
        named = zip(source.columns, source.types, strict=True)
        types = {name.strip(BLANKS): (name, kind.id) for name, kind in named}
        cells = []
        for name, kind in column_kinds(args).items():
            stored, type_name = types[name]
            if type_name in _NESTED:
                raise ValueError(f"column {name!r} is nested.")
            if is_parquet and kind == "number" and type_name == "varchar":
                raise ValueError(f"column {name!r} must be numbers.")
            cell = _number(stored, type_name, args) if kind == "number" else ""
            cell = cell or _text(stored, type_name, args.na_values)
            cells.append(f"{cell} AS {_quote_name(name)}")
        loaded = source.project(", ".join(cells))
        make = loaded.create_view if is_parquet else loaded.create
        make("loaded")

    @property
    def frame(self) -> Any:
        """Return the rows as a table of DuckDB, which `skfair.frames` reads."""
        return self._connection.table(self._name)

    def _select(self, what: str, rest: str = "") -> list[tuple[Any, ...]]:
        """Query all rows."""
        with self.problems():
            query = f"SELECT {what} FROM {self._name} {rest}"
            return list(self._connection.execute(query).fetchall())

    @contextmanager
    def problems(self) -> Iterator[None]:
        """Turn errors of DuckDB into a ValueError of one line."""
        try:
            yield
        except RowError as error:  # DuckDB's rows are not in the order of lines
            tip = TAKES_ANY if error.tip else ""
            raise ValueError(
                error.describe_in(f"a row of {self.path}") + tip
            ) from error
        except (TypeError, KeyError, self._error) as error:
            said = " ".join(str(error).split())[:500]
            raise ValueError(f"{self.path} cannot be read: {said}") from error

    def counts(self, name: str) -> pd.Series[int]:
        """Count the rows of each value of a column, without missing values."""
        column = _quote_name(name)
        grouped = f"WHERE {column} IS NOT NULL GROUP BY {column}"
        rows = self._select(f"{column}, COUNT(*)", f"{grouped} LIMIT {_MAX_GROUPS + 1}")
        if len(rows) > _MAX_GROUPS:
            raise ValueError(
                f"column {name!r} has more than {_MAX_GROUPS:,} different values."
            )
        counts = dict(rows)
        labels = pd.Index(sort_labels(counts), dtype=object)
        return pd.Series([counts[label] for label in labels], labels)

    def n_missing(self, names: Sequence[str]) -> dict[str, int]:
        """Count the missing values of each column that has some."""
        counts = (f"COUNT(*) - COUNT({_quote_name(name)})" for name in names)
        row = self._select(", ".join(["COUNT(*)", *counts]))[0][1:]
        return {name: n for name, n in zip(names, row, strict=True) if n}

    def extremes(self, name: str) -> tuple[float, float]:
        """Return the smallest and the largest number of a column."""
        column = _quote_name(name)
        low, high = self._select(f"MIN({column}), MAX({column})")[0]
        return low, high

    def first(self, name: str, value: str | None = None) -> str:
        """Return no place: rows of DuckDB are not in the order of the file's lines."""
        return ""

    def total(self, name: str) -> tuple[float, int, bool]:
        """Sum a column of numbers, count its rows, and say whether all are whole."""
        column = _quote_name(name)
        whole = f"BOOL_AND({column} = FLOOR({column}))"
        total, n_rows, is_whole = self._select(f"SUM({column}), COUNT(*), {whole}")[0]
        return total or 0.0, n_rows, bool(is_whole)

    def replace_labels(self, name: str, labels: Mapping[str, str]) -> None:
        """Replace some labels of a column by others."""
        column = _quote_name(name)
        cases = [f"WHEN {_quote(a)} THEN {_quote(b)}" for a, b in labels.items()]
        new = f"CASE {column} {' '.join(cases)} END AS {column}"
        changed = self.frame.project(f"* REPLACE ({new})")
        self._name += "_"
        changed.create_view(self._name)


def _text(name: str, type_name: str, missing: Sequence[str]) -> str:
    """Write the SQL expression that turns a label into the text of `to_texts`."""
    column = _quote_name(name)
    if type_name == "boolean":
        return f"CASE WHEN {column} THEN 'True' WHEN NOT {column} THEN 'False' END"
    text = f"TRIM(CAST({column} AS VARCHAR), {_quote(BLANKS)})"
    if "int" not in type_name:
        text = f"REGEXP_REPLACE({text}, {_quote(WHOLE)}, '\\1')"
    for word in ["", *missing]:
        text = f"NULLIF({text}, {_quote(word)})"
    return text


def _number(name: str, type_name: str, args: Namespace) -> str:
    """Write the SQL expression of a number, which fails where there is none."""
    column = _quote_name(name)
    if type_name != "varchar":
        cell = f"CAST({column} AS DOUBLE)"
        return f"CASE WHEN NOT isnan({cell}) THEN {cell} END"
    text = _text(name, type_name, args.na_values)
    if args.decimal == ",":
        text = f"TRANSLATE({text}, ',.', '.,')"
    problem = _quote(f"column {name!r} must be numbers")
    return (
        f"CASE WHEN {text} IS NULL THEN NULL "
        f"WHEN REGEXP_FULL_MATCH({text}, {_quote(NUMBER)}) THEN CAST({text} AS DOUBLE) "
        f"ELSE error({problem}) END"
    )


def _quote_name(name: str) -> str:
    """Write the name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def _quote(text: str) -> str:
    """Write a text in SQL."""
    return "'" + text.replace("'", "''") + "'"

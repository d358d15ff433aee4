"""Reads tables of predictions by DuckDB, which keeps the rows out of Python."""

from __future__ import annotations

import glob
import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from skfair._cli._bins import range_labels
from skfair._cli._tables import (
    TAKES_ANY,
    Columns,
    check_file,
    check_flat,
    read_names,
)
from skfair._cli._text import (
    BLANKS,
    BOOLEANS,
    NUMBER,
    WHOLE_NUMBER,
    Format,
    check_columns,
    holds_rows,
    read_header,
    read_rows,
    refuse_text,
)
from skfair._utils._hints import extra, require
from skfair._utils._validation import RowError
from skfair.groups import MISSING_LABEL, OTHER_LABEL, check_rare

ENGINES = ("auto", "duckdb", "pandas")
#: A file of more bytes is read by DuckDB where it can; compressed ones are larger.
_LARGE = 2**25
_COMPRESSION = 8
#: What DuckDB keeps in memory; it writes what is more to temporary files.
_MEMORY = "512MB"
#: Types of which a row has several values.
_NESTED = ("list", "array", "struct", "map", "union")
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
    factor = _COMPRESSION if path.suffix.lower() == ".gz" else 1
    large = path.stat().st_size * factor > _LARGE
    return large and importlib.util.find_spec("duckdb") is not None


def _reads(path: Path) -> bool:
    return path.name.lower().endswith(
        (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".parquet")
    )


class DuckDBRows:
    """Columns of some files, by their names, as a query of DuckDB."""

    def __init__(self, path: Path, columns: Columns, form: Format) -> None:
        duckdb = require(
            "duckdb", f"Reading {path} by DuckDB", f"install it {extra('duckdb')}"
        )
        require("pyarrow", f"Reading {path} by DuckDB", "choose --engine pandas")
        self.path, self._error = path, duckdb.Error
        self._connection = duckdb.connect()
        self._connection.execute(f"SET memory_limit = '{_MEMORY}'")
        # It takes the least and largest value that Parquet files state for all values,
        # and overlooks nan, which they leave out.
        self._connection.execute("SET disabled_optimizers = 'statistics_propagation'")
        self._columns = {name: quote_name(name) for name in columns.all()}
        _check_case(self._columns)
        self._where = ""
        with self.problems():
            self._load(files_of(path), columns, form)
        if not self._numbers("COUNT(*)")[0]:
            raise ValueError(f"{path} has 0 rows, expected at least one.")

    def _load(self, files: list[Path], columns: Columns, form: Format) -> None:
        """Make a view of Parquet, or a table of text."""
        for file in files:
            if not _reads(file):
                raise UnsuitedError(f"DuckDB reads CSV and Parquet, got {file}.")
            check_file(file)
        n_parquet = sum(file.suffix.lower() == ".parquet" for file in files)
        if n_parquet == len(files):
            self._view_parquet(files)
            return
        if n_parquet:
            raise ValueError(f"{self.path} matches Parquet files and others.")
        try:
            query = self._strict_text(files, form)
            n_rows = self._load_text(query, files, columns, form)
            whole = holds_rows(files, form, n_rows)
        except self._error:
            whole = False
        if not whole:
            # pandas also reads rows that lack cells and lines that end in several
            # ways, and says what is wrong with other files.
            query = self._lenient_text(files, form)
            self._load_text(query, files, columns, form)

    def _view_parquet(self, files: list[Path]) -> None:
        """Make a view of the columns; nan is missing."""
        for file in files:
            _check_case(read_names(file, Format()))
        source = self._connection.read_parquet(
            [glob.escape(str(file)) for file in files], hive_partitioning=False
        )
        check_columns(self.path, source.columns, [*self._columns])
        types = {
            name: kind.id
            for name, kind in zip(source.columns, source.types, strict=True)
        }
        cells = []
        for name in self._columns:
            check_flat(self.path, name, types[name] in _NESTED)
            cell = quote_name(name)
            if types[name] in ("float", "double"):
                cell = f"CASE WHEN NOT isnan({cell}) THEN {cell} END AS {cell}"
            cells.append(cell)
        source.project(", ".join(cells)).create_view("loaded")

    def _strict_text(self, files: list[Path], form: Format) -> str:
        """Query of the cells of files that hold exactly what the standard of CSV says.

        Nothing is guessed from the first rows, which later ones might contradict.
        """
        alike: dict[tuple[Any, ...], list[str]] = {}
        for file in files:
            header, is_first_line = read_header(file, form)
            check_columns(file, header, [*self._columns])
            sep, encoding = form.of(file).values()
            if encoding != "utf-8-sig" or not is_first_line:
                return self._lenient_text(files, form)
            places = tuple(header.index(name) for name in self._columns)
            names = alike.setdefault((sep, len(header), places), [])
            names.append(quote_text(glob.escape(str(file))))
        queries = []
        for (sep, n_columns, places), names in alike.items():
            types = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(n_columns))
            cells = zip(places, self._columns, strict=True)
            columns = ", ".join(f"c{i} AS {quote_name(name)}" for i, name in cells)
            queries.append(
                f"SELECT {columns} FROM read_csv([{', '.join(names)}], columns = "
                f"{{{types}}}, auto_detect = false, header = true, delim = "
                f"{quote_text(sep)}, quote = '\"', escape = '\"')"
            )
        return " UNION ALL ".join(queries)

    def _lenient_text(self, files: list[Path], form: Format) -> str:
        """Query of the cells that pandas reads."""
        arrow = require("pyarrow", f"Reading {self.path}", "choose --engine pandas")
        cells = ", ".join(f"{quote_name(name)} VARCHAR" for name in self._columns)
        self._connection.execute(f"CREATE OR REPLACE TABLE written ({cells})")
        for file in files:
            for rows in read_rows(file, [*self._columns], form):
                table = arrow.Table.from_pandas(rows, preserve_index=False)
                self._connection.register("chunk", table)
                self._connection.execute("INSERT INTO written SELECT * FROM chunk")
        return "SELECT * FROM written"

    def _load_text(
        self, query: str, files: list[Path], columns: Columns, form: Format
    ) -> int:
        """Make a table of typed columns, parsed only once more; count its rows."""
        self._connection.execute("DROP TABLE IF EXISTS loaded")
        cells = ", ".join(
            f"NULLIF(TRIM({name}, {quote_text(BLANKS)}), '') AS {name}"
            for name in self._columns.values()
        )
        source = self._connection.sql(f"SELECT {cells} FROM ({query})")
        types = dict.fromkeys(columns.all(), "VARCHAR") | _types_of(source, columns)
        for name in columns.numbers:
            if types[name] != "DOUBLE":
                refuse_text(files, name, form)
        casts = ", ".join(
            f"CAST({cell} AS {types[name]}) AS {cell}"
            for name, cell in self._columns.items()
        )
        source.project(casts).create("loaded")
        return int(self._numbers("COUNT(*)")[0])

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
        except RowError as error:  # DuckDB's rows are not in the order of lines
            tip = TAKES_ANY if error.tip else ""
            raise ValueError(error.at(f"a line of {self.path}") + tip) from error
        except TypeError as error:  # columns of text in place of numbers
            raise ValueError(f"{self.path}: {error}") from error
        except self._error as error:
            lines = [line.strip() for line in str(error).splitlines()]
            said = " ".join(line for line in lines[:6] if line)
            raise ValueError(f"{self.path} cannot be read: {said}") from error

    def _numbers(self, *aggregates: str) -> tuple[Any, ...]:
        """Values of aggregates of all rows."""
        (row,) = self._found(f"SELECT {', '.join(aggregates)} FROM ({self._query})")
        return row

    def _found(self, query: str) -> list[tuple[Any, ...]]:
        """Rows that a query finds."""
        with self.problems():
            return list(self._connection.execute(query).fetchall())

    def labels(self, name: str) -> Any:
        """Distinct values of a column, the first of many, as a Series."""
        query = f"SELECT DISTINCT {quote_name(name)} FROM ({self._query})"
        found = [label for (label,) in self._found(f"{query} LIMIT {_MAX_LABELS}")]
        return pd.Series(found, name=name, dtype=object)

    def n_missing(self, names: Sequence[str]) -> dict[str, int]:
        """Count the missing values of each column that has some."""
        aggregates = (f"COUNT(*) - COUNT({quote_name(name)})" for name in names)
        _, *counts = self._numbers("COUNT(*)", *aggregates)  # there may be no names
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

    def merge_rare(self, name: str, min_group_size: int) -> None:
        """Merge the groups of a column with too few rows into one, which is last."""
        column = quote_name(name)
        query = (
            f"SELECT CAST({column} AS VARCHAR), COUNT(*) >= {min_group_size} "
            f"FROM ({self._query}) GROUP BY {column} ORDER BY {column}"
        )
        found = self._found(query)
        kept = [label for label, is_large in found if is_large]
        check_rare("merge", min_group_size, kept)
        if len(kept) < len(found):
            text = f"CAST({self._columns[name]} AS VARCHAR)"
            listed = ", ".join(map(quote_text, kept)) or "NULL"
            self._columns[name] = _as_enum(
                f"CASE WHEN {text} IN ({listed}) THEN {text} ELSE '{OTHER_LABEL}' END",
                [*kept, OTHER_LABEL],
            )

    def into_bins(self, name: str, edges: list[float]) -> None:
        """Replace numbers by the ranges that they are in; an edge begins a range."""
        column = quote_name(name)
        number = f"TRY_CAST({column} AS DOUBLE)"
        no_number = f"{number} IS NULL AND {column} IS NOT NULL"
        (bad,) = self._numbers(f"ANY_VALUE({column}) FILTER ({no_number})")
        if bad is not None:
            raise ValueError(f"bins of column {name!r} need numbers, got {bad!r}.")
        ranges = range_labels(edges)
        steps = " ".join(
            f"WHEN {number} < {edge!r} THEN '{label}'"
            for edge, label in zip(edges, ranges, strict=False)
        )
        case = f"CASE WHEN {number} IS NULL THEN NULL {steps} ELSE '{ranges[-1]}' END"
        self._columns[name] = case
        found = set(self.labels(name))
        self._columns[name] = _as_enum(case, [name for name in ranges if name in found])


def _check_case(names: Iterable[str]) -> None:
    """Raise if names differ in upper and lower case alone."""
    written: dict[str, str] = {}
    for name in names:
        other = written.setdefault(name.lower(), name)
        if other != name:
            raise UnsuitedError(
                f"columns {other!r} and {name!r} differ in upper and lower case alone, "
                "which DuckDB takes for one: choose --engine pandas."
            )


def _as_enum(column: str, labels: list[str]) -> str:
    """Give the labels of a column an order."""
    texts = ", ".join(map(quote_text, labels))
    return f"CAST({column} AS ENUM({texts}))"


def _types_of(source: Any, columns: Columns) -> dict[str, str]:
    """Types of columns of numbers and labels: those that `as_values` finds."""
    names = [*columns.numbers, *columns.labels]
    if not names:
        return {}
    tests = []
    truth = ", ".join(map(quote_text, BOOLEANS))
    for cell in map(quote_name, names):
        tests += [
            f"regexp_full_match({cell}, {quote_text(NUMBER)})",
            f"regexp_full_match({cell}, {quote_text(WHOLE_NUMBER)})",
            f"TRY_CAST({cell} AS BIGINT) IS NOT NULL OR {cell} IS NULL",
            f"{cell} IN ({truth})",
        ]
    # None is of a column without values.
    aggregates = ", ".join(f"COALESCE(BOOL_AND({test}), TRUE)" for test in tests)
    (found,) = source.aggregate(aggregates).fetchall()
    types = {}
    for i, name in enumerate(names):
        number, whole, short, boolean = found[4 * i : 4 * i + 4]
        types[name] = "VARCHAR"
        if name in columns.numbers or not whole:
            types[name] = "DOUBLE" if number else "BOOLEAN" if boolean else "VARCHAR"
        elif short:
            types[name] = "BIGINT"
    return types


def quote_name(name: str) -> str:
    """Write the name of a column in quotation marks."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """Write text as a literal, which no text can end."""
    return "'" + text.replace("'", "''") + "'"

"""Reads tables of predictions: by pandas, patterns and large files by DuckDB.

One clear message says what is wrong with a file, and in which line.
"""

from __future__ import annotations

import csv
import difflib
import glob
import gzip
import hashlib
import importlib.util
import re
import zipfile
import zlib
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pandas as pd

from skfair._utils._files import sha256_of
from skfair._utils._hints import extra, require
from skfair._utils._text import counted, visible_text
from skfair._utils._validation import RowError
from skfair.groups import sort_labels

#: Suffixes of the files that can be read.
_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".parquet", ".xlsx")
#: Chooses the columns to read by the names of all columns.
Choose = Callable[[list[str]], list[str]]
#: Files of more bytes are read by DuckDB where it can; compressed ones are larger.
_LARGE = 2**25
_COMPRESSION = 8
#: What DuckDB keeps in memory; it writes what is more to temporary files.
_MEMORY = "512MB"
#: Types of DuckDB of which a row has several values.
_NESTED = ("list", "array", "struct", "map", "union")
#: More groups than this cannot be compared.
_MAX_GROUPS = 100_000
#: Columns of a table that is no CSV file, such as a page, are not all listed.
_MAX_NAMES = 20
#: Longer lines are refused: a small compressed file may hold one of many gigabytes.
_MAX_LINE = 2**24
#: Names of columns that may identify people.
_IDENTIFIER = re.compile(r"(?i:(^|[_ .-])(id|uuid|ssn))$|[a-z]I[dD]$")
#: What is left out around a cell.
_BLANKS = " \t"
#: What is a number, and a whole one; nan and inf are words.
_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_WHOLE_NUMBER = r"[+-]?[0-9]+"
#: How truth values are written.
_BOOLEANS = {
    text: text[0] in "Tt"
    for text in ["True", "TRUE", "true", "False", "FALSE", "false"]
}
#: Numbers with a decimal comma become numbers with a point, and others no numbers.
_EXCHANGED = str.maketrans(",.", ".,")
#: What an error about scores that are no probabilities adds.
_TAKES_ANY = " With --scale rank scores may be any finite numbers."


def _separator(path: Path, args: Namespace) -> str:
    """Separator of the columns of a file: by default a comma, or a tab in a .tsv."""
    is_tsv = path.name.lower().endswith((".tsv", ".tsv.gz"))
    return args.sep or ("\t" if is_tsv else ",")


def _with_points(cells: Any, decimal: str, thousands: str | None) -> Any:
    """Write numbers with a decimal point and without marks of thousands."""
    if thousands is not None:
        grouped = cells.str.fullmatch(_grouped(thousands, decimal))
        cells = cells.mask(grouped, cells.str.replace(thousands, "", regex=False))
    return cells.str.translate(_EXCHANGED) if decimal == "," else cells


def _grouped(thousands: str, decimal: str) -> str:
    """Pattern of numbers of at least 1,000 whose digits are grouped by threes."""
    mark = re.escape(thousands)
    return rf"[+-]?[1-9][0-9]{{0,2}}({mark}[0-9]{{3}})+({re.escape(decimal)}[0-9]+)?"


def read_rows(
    path: Path, kinds: Mapping[str, str], args: Namespace, *, in_memory: bool
) -> Any:
    """Read columns of a file, or of the files of a pattern, written as options say.

    The kind of a column is "number", "label" or "group". Cells of groups stay as they
    are written, so that ``01`` is a label.
    """
    is_large = sum(map(_size, files_of(path))) > _LARGE
    if is_large and not in_memory and importlib.util.find_spec("duckdb") is not None:
        # Of what DuckDB cannot read pandas says in which line it is wrong.
        with suppress(ValueError):
            return DuckDBRows(path, kinds, args)
    return PandasRows(path, kinds, args)


def files_of(path: Path) -> list[Path]:
    """Files that a name or a pattern stands for, sorted."""
    if path.exists() or not glob.has_magic(str(path)):
        return [path]
    files = sorted(Path(name) for name in glob.glob(str(path), recursive=True))
    if not files:
        raise FileNotFoundError(f"{path} matches no file.")
    return files


def _size(path: Path) -> int:
    """Bytes of a file, about as many as it would have if it were not compressed."""
    factor = _COMPRESSION if path.suffix.lower() == ".gz" else 1
    return path.stat().st_size * factor if path.is_file() else 0


def _check_file(path: Path) -> None:
    """Raise unless a path is that of a file of a known kind."""
    if path.is_dir():
        raise IsADirectoryError(
            f"{path} is a directory, expected a file, or a pattern of files such as "
            f"'{path}/*.csv'."
        )
    if not path.name.lower().endswith(_SUFFIXES):
        raise ValueError(
            f"{path} must end in {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}."
        )
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist or is no file.")


class PandasRows:
    """Columns of files in memory; the index has the file and the line of each row.

    `identifier` is a column that may identify people, which is read as well.
    """

    in_memory = True

    def __init__(self, path: Path, kinds: Mapping[str, str], args: Namespace) -> None:
        self.path, self._kinds, self._args = path, kinds, args
        self._marks = args.decimal, args.thousands
        self.identifier: str | None = None
        table = pd.concat({file: self._read(file) for file in files_of(path)})
        if not len(table):
            raise ValueError(f"{path} has 0 rows, expected at least one.")
        # Made of columns, since a function of a table might change their types.
        self.frame = pd.DataFrame({name: self._typed(table[name]) for name in table})

    def _read(self, path: Path) -> pd.DataFrame:
        """Read the columns of a file, and one that may identify people."""
        _check_file(path)
        suffix = path.suffix.lower()
        read = {".parquet": _read_parquet, ".xlsx": _read_excel}.get(suffix, _read_text)

        def choose(names: list[str]) -> list[str]:
            check_columns(path, names, [*self._kinds])
            identifiers = [name for name in names if _IDENTIFIER.search(name)]
            identifiers = [name for name in identifiers if name not in self._kinds]
            self.identifier = identifiers[0] if len(identifiers) == 1 else None
            return [*self._kinds, *(identifiers if self.identifier else ())]

        return read(path, self._args, choose)

    def _typed(self, column: Any) -> Any:
        """Give the cells of a column their types; those of text files are text."""
        kind = self._kinds.get(column.name, "group")
        column = _replaced(column, self._args.replaced.get(column.name, {}))
        if pd.api.types.is_numeric_dtype(column):
            return column
        cells = column.astype(object)
        is_text = cells.map(lambda cell: isinstance(cell, str)).astype(bool)
        cells[is_text] = cells[is_text].str.strip(_BLANKS)
        cells = cells.mask(cells == "")
        if kind == "number" and is_text.any():
            return self._numbers(cells.map(str, na_action="ignore"))
        if self.path.suffix.lower() in (".parquet", ".xlsx"):
            return cells
        if kind == "label":
            return as_values(cells, *self._marks)
        as_written = as_numbers(cells, *self._marks) is None
        return cells if as_written else _with_points(cells, *self._marks)

    def _numbers(self, cells: Any) -> Any:
        """Turn text into numbers, or name the line of a cell that is no number."""
        numbers = as_numbers(cells, *self._marks)
        if numbers is None:
            written = cells.dropna()
            points = _with_points(written, *self._marks)
            bad = written[~points.str.fullmatch(_NUMBER)]
            path, line = bad.index[0]
            raise ValueError(
                f"column {cells.name!r} must be numbers, got {bad.iloc[0]!r} in line "
                f"{line} of {path}.{_number_hint(bad, self._args.decimal)}"
            )
        return numbers

    def counts(self, name: str) -> pd.Series[int]:
        """Count the rows of each value of a column; missing ones are left out."""
        counts = self.frame[name].value_counts()
        return counts.reindex(sort_labels(counts.index))

    def n_missing(self, names: Sequence[str]) -> dict[str, int]:
        """Count the missing values of each column that has some."""
        return _nonzero({name: int(self.frame[name].isna().sum()) for name in names})

    def first_missing(self, name: str) -> str:
        """Say in which line the first missing value of a column is."""
        return f", the first in {self.place(int(self.frame[name].isna().argmax()))}"

    def place(self, row: int) -> str:
        """Say in which line of which file a row is."""
        path, line = self.frame.index[row]
        return f"line {line} of {path}"

    def keep(self, rows: Any) -> int:
        """Keep some rows, and count the others."""
        n_rows = len(self.frame)
        self.frame = self.frame[rows].infer_objects()
        return n_rows - len(self.frame)

    def drop_missing(self, names: Sequence[str]) -> int:
        """Leave out the rows without a value in one of some columns; count them."""
        return self.keep(self.frame[[*names]].notna().all(axis=1))

    def drop_repeated(self, name: str | None) -> int:
        """Keep the first row of each value of a column, and count the others."""
        if name is None:
            return 0
        return self.keep(~self.frame[name].duplicated() | self.frame[name].isna())

    @contextmanager
    def problems(self) -> Iterator[None]:
        """Name the line of the file where an error names a row."""
        try:
            yield
        except RowError as error:
            tip = _TAKES_ANY if error.tip else ""
            raise ValueError(error.at(self.place(error.row)) + tip) from error


def _nonzero(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def _replaced(column: Any, texts: Mapping[str, str]) -> Any:
    """Column in which some values, as they are written, are others."""
    if not texts:
        return column
    written = column.map(lambda cell: str(cell).strip(_BLANKS), na_action="ignore")
    replaced = written.isin([*texts])
    new = written[replaced].map(lambda text: texts[text] or None)
    return column.astype(object).mask(replaced, new)


def as_values(column: Any, decimal: str = ".", thousands: str | None = None) -> Any:
    """Turn text into whole numbers, numbers or truth values if all of it is written so.

    Whole numbers of more than 64 bits stay text.
    """
    cells = _with_points(column.dropna(), decimal, thousands)
    if cells.str.fullmatch(_WHOLE_NUMBER).all():
        numbers = cells.map(int)
        if not numbers.between(-(2**63), 2**63 - 1).all():
            return column
        # Beside missing values they stay objects, since floats might round them.
        return numbers.reindex(column.index)
    numbers = as_numbers(column, decimal, thousands)
    if numbers is None and cells.isin([*_BOOLEANS]).all():
        return cells.map(_BOOLEANS).reindex(column.index)
    return column if numbers is None else numbers


def as_numbers(column: Any, decimal: str = ".", thousands: str | None = None) -> Any:
    """Turn text into numbers, None if some of it is no number."""
    written = column.dropna()
    grouped = written.str.fullmatch(_grouped(",", "."))
    whole = grouped | written.str.fullmatch("[+-]?[0-9]{1,3}")
    if decimal == "," and grouped.any() and whole.all():
        raise ValueError(
            f"column {column.name!r} has numbers such as {written[grouped].iloc[0]}, "
            "which --decimal ',' would read as less than 1,000: --thousands ',' in its "
            "place reads 1,000 as a thousand."
        )
    cells = _with_points(written, decimal, thousands)
    if not cells.str.fullmatch(_NUMBER).all():
        return None
    # Not by `pandas.to_numeric`, which may miss the nearest float.
    return cells.map(float).astype(float).reindex(column.index)


def _number_hint(cells: Any, decimal: str) -> str:
    """Say how cells can be read as numbers if they are written in another way."""
    if cells.str.fullmatch(_NUMBER.replace(r"\.", "[.,]") + "[ \u00a0]?%").all():
        return " Write each as a share, as 0.45 for 45%."
    other = "." if decimal == "," else ","
    if cells.str.fullmatch(_grouped(other, decimal)).all():
        return f" --thousands '{other}' reads numbers such as {cells.iloc[0]}."
    if _with_points(cells, other, None).str.fullmatch(_NUMBER).all():
        return f" --decimal '{other}' reads numbers such as {cells.iloc[0]}."
    words = cells.unique()
    if len(words) <= 3:
        typed = " ".join(f"--replace '{cells.name}:{word}='" for word in words)
        return f" {typed} makes such cells missing."
    return ""


def _read_text(path: Path, args: Namespace, choose: Choose) -> pd.DataFrame:
    """Read some columns of a text file as they are written."""
    with _records(path, args) as records:
        _, header = next(records)
        cells: dict[str, list[str | None]] = {name: [] for name in choose(header)}
        places = [(header.index(name), column) for name, column in cells.items()]
        lines = []
        for line, record in records:
            if len(record) > len(header) and any(record[len(header) :]):
                raise ValueError(
                    f"{path} cannot be read as CSV: line {line} has "
                    f"{counted(len(record), 'cell')}, the header {len(header)}."
                )
            lines.append(line)
            for place, column in places:
                column.append(record[place] if place < len(record) else None)
    return pd.DataFrame(cells, index=lines, dtype=object)


@contextmanager
def _records(path: Path, args: Namespace) -> Iterator[Iterator[tuple[int, list[str]]]]:
    """Read the header and the rows of a text file, and the lines in which they begin.

    A quotation mark that is never closed is an error, and so is text between the
    closing one and the separator: rows might be lost or joined.
    """
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    # Excel begins UTF-8 with a byte order mark.
    plain = args.encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    encoding = "utf-8-sig" if plain else args.encoding
    limit = csv.field_size_limit(_MAX_LINE)
    try:
        with opener(path, "rt", encoding=encoding, newline="") as file:
            yield _numbered(path, file, args)
    except LookupError as error:
        raise ValueError(f"--encoding: {error}.") from error
    except UnicodeError as error:
        raise ValueError(
            f"{path} is not text in {args.encoding}: {error}. --encoding names "
            "another encoding, such as cp1252, latin-1 or utf-16."
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} cannot be decompressed: {error}.") from error
    finally:
        csv.field_size_limit(limit)


def _numbered(
    path: Path, file: Any, args: Namespace
) -> Iterator[tuple[int, list[str]]]:
    """Split lines into cells; blank lines are left out."""
    reader = csv.reader(
        _lines(path, file),
        delimiter=_separator(path, args),
        skipinitialspace=True,
        strict=True,
    )
    line, is_header = 1, True
    try:
        for record in reader:
            if len(record) > 1 or "".join(record).strip(_BLANKS):
                if is_header:
                    record = _checked_header(path, record, args.encoding)
                is_header = False
                yield line, record
            line = reader.line_num + 1
    except csv.Error as error:
        problem = f"a quotation mark in line {line} is not closed"
        if "expected after" in str(error):
            problem = (
                f"a closing quotation mark in line {reader.line_num} is not followed "
                "by a separator"
            )
        elif "field larger" in str(error):
            problem = f"a cell in line {line} has more than {_MAX_LINE:,} characters"
        raise ValueError(f"{path} cannot be read as CSV: {problem}.") from error
    if is_header:
        raise ValueError(f"{path} is empty, expected the names of columns.")


def _lines(path: Path, file: Any) -> Iterator[str]:
    """Read lines, with what ends them."""
    number = 0
    while line := file.readline(_MAX_LINE):
        number += 1
        if len(line) == _MAX_LINE:
            raise ValueError(
                f"{path} cannot be read as CSV: line {number} has more than "
                f"{_MAX_LINE:,} characters."
            )
        yield line


def _checked_header(path: Path, names: list[str], encoding: str) -> list[str]:
    """Names of columns without blanks around them, or an error if they are no text."""
    if any("\0" in name for name in names):
        raise ValueError(
            f"{path} is not text in {encoding}: its first line has NUL "
            "characters. --encoding names another encoding, such as utf-16."
        )
    return [name.strip(_BLANKS) for name in names]


def check_columns(path: Path, names: list[str], wanted: Sequence[str]) -> None:
    """Raise unless a table has each of the columns once; name what may be meant."""
    for name in wanted:
        if names.count(name) > 1:
            raise ValueError(f"{path} has several columns {name!r}, expected one.")
    lacking = [name for name in wanted if name not in names]
    if not lacking:
        return
    by_case = {name.casefold(): name for name in reversed(names)}
    close = [
        difflib.get_close_matches(name.casefold(), by_case, 1, 0.7) for name in lacking
    ]
    meant = [repr(by_case[match]) for matches in close for match in matches]
    hint = f" Is {' and '.join(meant)} meant?" if meant else ""
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|,"):
        mark = next(mark for mark in ";\t|," if mark in names[0])
        written = "tab" if mark == "\t" else f"'{mark}'"
        hint = f" Columns seem to be separated otherwise: try --sep {written}."
    elif len(lacking) == len(wanted) and len(names) < 3:
        hint = " The first line must hold the names of the columns."
    listed = ", ".join(repr(name[:100]) for name in names[:_MAX_NAMES])
    more = f" and {len(names) - _MAX_NAMES:,} more" * (len(names) > _MAX_NAMES)
    missing = ", ".join(map(repr, lacking))
    raise ValueError(f"{path} has no column {missing}; it has [{listed}]{more}.{hint}")


def _read_excel(path: Path, args: Namespace, choose: Choose) -> pd.DataFrame:
    """Read the first worksheet, whose rows are lines."""
    require("openpyxl", f"Reading {path}", "save the table as CSV")
    with _one_line(path):
        sheet = pd.read_excel(
            path,
            header=None,
            dtype=object,
            keep_default_na=False,
            na_values=[""],
            engine="openpyxl",
        )
    names = [] if sheet.empty else [str(name).strip(_BLANKS) for name in sheet.iloc[0]]
    table = sheet.iloc[1:].set_axis(names, axis=1)[choose(names)]
    return table.set_axis(table.index + 1).infer_objects()


def _read_parquet(path: Path, args: Namespace, choose: Choose) -> pd.DataFrame:
    """Read columns of a Parquet file, whose rows are counted from 1."""
    parquet = require("pyarrow.parquet", f"Reading {path}", "save the table as CSV")
    # Opened first, since a name may be that of a directory or of another store.
    with _one_line(path), path.open("rb") as file:
        stored = parquet.ParquetFile(file)
        columns = choose(stored.schema_arrow.names)
        table: pd.DataFrame = stored.read(columns).to_pandas(ignore_metadata=True)
    for name in columns:
        first = table[name].dropna().head(1)
        _check_flat(path, name, first.map(pd.api.types.is_list_like).any())
    return table[columns].set_axis(pd.RangeIndex(1, len(table) + 1))


def _check_flat(path: Path, name: str, is_nested: bool) -> None:
    """Raise if a column has lists or several values in a row."""
    if is_nested:
        raise ValueError(
            f"column {name!r} of {path} is nested, expected one value in each row."
        )


@contextmanager
def _one_line(path: Path) -> Iterator[None]:
    """Say in one line what a library says of a file that is no worksheet or Parquet."""
    try:
        yield
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        if str(path) in str(error):
            raise
        said = " ".join(str(error).split())
        raise ValueError(
            f"{path} cannot be read as {path.suffix.lower()}: {said}"
        ) from error


class DuckDBRows:
    """Columns of files as a table of DuckDB, which keeps the rows out of Python."""

    in_memory, identifier = False, None

    def __init__(self, path: Path, kinds: Mapping[str, str], args: Namespace) -> None:
        duckdb = require("duckdb", f"Reading {path}", f"install it {extra('duckdb')}")
        self.path, self._error = path, duckdb.Error
        self._connection = duckdb.connect()
        self._connection.execute(f"SET memory_limit = '{_MEMORY}'")
        # It takes the least and largest value that Parquet files state for all values,
        # and overlooks nan, which they leave out.
        self._connection.execute("SET disabled_optimizers = 'statistics_propagation'")
        with self.problems():
            self._load(files_of(path), kinds, args)
        if not self._select("COUNT(*)")[0][0]:
            raise ValueError(f"{path} has 0 rows, expected at least one.")

    def _load(
        self, files: list[Path], kinds: Mapping[str, str], args: Namespace
    ) -> None:
        """Make a view of Parquet files, or a table of text files."""
        for file in files:
            _check_file(file)
            names = self._names(file, args)
            check_columns(file, names, [*kinds])
            # DuckDB does not tell upper case from lower case.
            check_columns(file, [n.lower() for n in names], [n.lower() for n in kinds])
        names = [glob.escape(str(file)) for file in files]
        is_parquet = {file.suffix.lower() for file in files} == {".parquet"}
        if is_parquet:
            source = self._connection.read_parquet(
                names, hive_partitioning=False, union_by_name=True
            )
        else:
            types = {"number": "DOUBLE", "group": "VARCHAR"}
            source = self._connection.read_csv(
                names,
                header=True,
                delimiter=_separator(files[0], args),
                quotechar='"',
                escapechar='"',
                encoding=args.encoding,
                strict_mode=True,
                union_by_name=True,
                sample_size=-1,  # types are those of all rows
                dtype={n: types[kind] for n, kind in kinds.items() if kind in types},
            )
        types = {
            name: kind.id
            for name, kind in zip(source.columns, source.types, strict=True)
        }
        cells = []
        for name in kinds:
            _check_flat(self.path, name, types[name] in _NESTED)
            if kinds[name] == "number" and types[name] == "varchar":
                raise ValueError(f"column {name!r} must be numbers, got text.")
            cell = _quote_name(name)
            if types[name] in ("float", "double"):
                cell = f"CASE WHEN NOT isnan({cell}) THEN {cell} END"
            elif types[name] == "varchar":
                cell = f"NULLIF(TRIM({cell}, '{_BLANKS}'), '')"
            cells.append(f"{cell} AS {_quote_name(name)}")
        loaded = source.project(", ".join(cells))
        make = loaded.create_view if is_parquet else loaded.create
        make("loaded")

    @staticmethod
    def _names(path: Path, args: Namespace) -> list[str]:
        """Read the names of the columns of a file."""
        if path.suffix.lower() != ".parquet":
            with _records(path, args) as records:
                return next(records)[1]
        parquet = require("pyarrow.parquet", f"Reading {path}", "save it as CSV")
        with _one_line(path):
            return list(parquet.read_schema(path).names)

    @property
    def frame(self) -> Any:
        """The rows, for `skfair.frames`."""
        return self._connection.table("loaded")

    def _select(self, what: str, rest: str = "") -> list[tuple[Any, ...]]:
        """Query all rows."""
        with self.problems():
            query = f"SELECT {what} FROM loaded {rest}"
            return list(self._connection.execute(query).fetchall())

    @contextmanager
    def problems(self) -> Iterator[None]:
        """Raise what DuckDB says of the files as ValueError, in one line."""
        try:
            yield
        except RowError as error:  # DuckDB's rows are not in the order of lines
            tip = _TAKES_ANY if error.tip else ""
            raise ValueError(error.at(f"a line of {self.path}") + tip) from error
        except TypeError as error:  # columns of text in place of numbers
            raise ValueError(f"{self.path}: {error}") from error
        except self._error as error:
            said = " ".join(str(error).split())[:500]
            raise ValueError(f"{self.path} cannot be read: {said}") from error

    def counts(self, name: str) -> pd.Series[int]:
        """Count the rows of each value of a column; missing ones are left out."""
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
        return _nonzero(dict(zip(names, row, strict=True)))

    def drop_repeated(self, name: None) -> int:
        """Leave out nothing: only rows in memory have an order."""
        return 0

    def first_missing(self, name: str) -> str:
        """Say nothing: DuckDB's rows are not in the order of lines."""
        return ""


def _quote_name(name: str) -> str:
    """Write the name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def input_record(path: Path) -> dict[str, str]:
    """Name what was read, without its directory, and hash it.

    Of a file its bytes are hashed as they are stored, of the files of a pattern the
    lines that ``sha256sum`` writes of them.
    """
    files = files_of(path)
    for file in files:
        _check_file(file)
    if files == [path]:
        return {"input": visible_text(path.name, 100), "sha256": sha256_of(path)}
    lines = "".join(f"{sha256_of(file)}  {file.name}\n" for file in files)
    name = f"{visible_text(path.name, 80)} ({counted(len(files), 'file')})"
    return {"input": name, "sha256": hashlib.sha256(lines.encode()).hexdigest()}

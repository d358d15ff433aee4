"""Reads tables of predictions: by pandas, patterns and large files by DuckDB.

Labels and groups are text, whatever the format and the size of a file, so that the
same table gives the same report; scores and weights are numbers.
"""

from __future__ import annotations

import csv
import difflib
import glob
import hashlib
import importlib.util
import re
import zipfile
from argparse import Namespace
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pandas as pd

from skfair._cli._columns import (
    BLANKS,
    TAKES_ANY,
    column_kinds,
    join_names,
    place_of,
    read_numbers,
    to_texts,
)
from skfair._cli._duckdb import DuckDBRows
from skfair._cli._faults import Faults
from skfair._utils._files import hash_file
from skfair._utils._hints import require
from skfair._utils._text import counted, listed, visible_text
from skfair._utils._validation import RowError
from skfair.groups import sort_labels
from skfair.report._repeats import PEOPLE

#: Files of more bytes are read by DuckDB where it can; compressed ones are larger.
_LARGE = 2**25
_COMPRESSION = 8
#: No more columns are listed.
_MAX_NAMES = 20
#: A table of counts has at most so many columns and rows, all of which are read.
_FEW_COLUMNS, _FEW_ROWS = 12, 10_000
#: Names of columns that may identify people.
_IDENTIFIER = re.compile(r"(?i:(^|[_ .-])(id|uuid|ssn))$|[a-z]I[dD]$")


def files_of(path: Path) -> list[Path]:
    """Return the files that a name or a pattern stands for, sorted."""
    if path.exists() or not glob.has_magic(str(path)):
        return [path]
    files = sorted(Path(name) for name in glob.glob(str(path), recursive=True))
    if not files:
        raise FileNotFoundError(f"{path} matches no file.")
    return files


def input_record(path: Path) -> dict[str, str]:
    """Return the name of the input, without its directory, and its hash.

    A file is hashed as stored. Of several files, the lines are hashed that
    ``sha256sum`` would write.
    """
    files = files_of(path)
    for file in files:
        if file.is_dir():
            raise IsADirectoryError(
                f"{file} is a directory, expected a file, or a pattern of files such "
                f"as '{file}/*.csv'."
            )
        if not file.is_file():
            raise FileNotFoundError(f"{file} does not exist or is not a file.")
    if files == [path]:
        return {"input": visible_text(path.name, 100), "sha256": hash_file(path)}
    lines = "".join(f"{hash_file(file)}  {file.name}\n" for file in files)
    name = f"{visible_text(path.name, 80)} ({counted(len(files), 'file')})"
    return {"input": name, "sha256": hashlib.sha256(lines.encode()).hexdigest()}


def read_rows(args: Namespace, faults: Faults, *, in_memory: bool) -> Any:
    """Read the columns that options name, of a file or the files of a pattern."""
    files = files_of(args.table)
    is_large = sum(map(_size, files)) > _LARGE
    if is_large and not in_memory and importlib.util.find_spec("duckdb") is not None:
        above = [_check_header(file, args, faults) for file in files]
        # Where DuckDB fails, pandas says which row cannot be read.
        with suppress(ValueError):
            return DuckDBRows(args, files, _format(files[0], args)["sep"], above)
    return PandasRows(args, files, faults)


def _check_header(path: Path, args: Namespace, faults: Faults) -> int | None:
    """Count the lines above the header, or return None if DuckDB cannot read it.

    DuckDB cannot read a table with two names that differ in case only.
    """
    with _raise_on_one_line(path, args):
        if path.suffix.lower() == ".parquet":
            names, skipped = _stored_names(path), 0
        else:
            names, skipped = _header(path, args, faults)
    _names_to_read(path, names, args, faults)
    cases = [name.casefold() for name in names]
    alike = any(cases.count(name.casefold()) > 1 for name in column_kinds(args))
    return None if alike else skipped


def _size(path: Path) -> int:
    """Estimate the size of a file in bytes when it is not compressed."""
    factor = _COMPRESSION if path.suffix.lower() == ".gz" else 1
    return path.stat().st_size * factor


class PandasRows:
    """Columns of files in memory; the index has the file and the position of each row.

    `identifier` names a column that may identify people, which is read too. `others`
    are the columns that no option names: all of them in a small table, and those that
    may identify people in a larger one.
    """

    in_memory = True

    def __init__(self, args: Namespace, files: Sequence[Path], faults: Faults) -> None:
        self.path = args.table
        table = pd.concat({file: _read(file, args, faults) for file in files})
        if not len(table):
            raise ValueError(f"{self.path} has 0 rows, expected at least one.")
        kinds = column_kinds(args)
        named = [name for name in table if _IDENTIFIER.search(name)]
        identifiers = [name for name in named if name not in kinds]
        one_each = len(identifiers) == 1 and args.count is None
        self.identifier = identifiers[0] if one_each else None
        if len(table) > _FEW_ROWS:
            others = [name for name in table if name not in kinds]
            table = table[[*kinds, *filter(PEOPLE.search, others)]]
        columns = {
            name: read_numbers(table[name], args, faults)
            if kinds.get(name) == "number"
            else to_texts(table[name], args.na_values)
            for name in table
        }
        self.frame, self.counted_by = pd.DataFrame(columns), args.count
        self.others = [name for name in columns if name not in kinds]

    def _people(self) -> Any:
        """Return the number of people for whom each row stands."""
        if self.counted_by is None:
            return pd.Series(1, self.frame.index)
        return self.frame[self.counted_by].fillna(0)

    def counts(self, name: str) -> pd.Series[int]:
        """Count the people of each value of a column, without missing values."""
        counts = self._people().groupby(self.frame[name].to_numpy()).sum()
        return counts.reindex(sort_labels(counts.index)).astype(int)

    def split(self, selected: str, names: tuple[str, str]) -> None:
        """Split each row in two: the people who are selected, and the others."""
        chosen, people = self.frame[selected], self.frame[self.counted_by]
        parts = zip(names, (chosen, people - chosen), strict=True)
        self.frame = pd.concat(
            [
                self.frame.assign(**{selected: label, str(self.counted_by): n})
                for label, n in parts
            ]
        )

    def n_missing(self, names: Sequence[str]) -> dict[str, int]:
        """Count the missing values of each column that has some."""
        counts = {name: int(self.frame[name].isna().sum()) for name in names}
        return {name: n for name, n in counts.items() if n}

    def extremes(self, name: str) -> tuple[float, float]:
        """Return the smallest and the largest number of a column."""
        return float(self.frame[name].min()), float(self.frame[name].max())

    def first(self, name: str, value: str | None = None) -> str:
        """Write the place of the first row with a value, by default a missing one."""
        column = self.frame[name]
        matches = column.isna() if value is None else column == value
        return f", the first in {place_of(self.frame.index[int(matches.argmax())])}"

    def total(self, name: str) -> tuple[float, int, bool]:
        """Sum a column of numbers, count its rows, and say whether all are whole."""
        numbers = self.frame[name].dropna()
        return numbers.sum(), len(numbers), bool((numbers == numbers.round()).all())

    def drop_missing(self, names: Sequence[str]) -> int:
        """Leave out rows with missing values in some columns; count their people."""
        whole = self.frame[[*names]].notna().all(axis=1)
        n_left_out = int(self._people()[~whole].sum())
        self.frame = self.frame[whole]
        return n_left_out

    def replace_labels(self, name: str, labels: Mapping[str, str]) -> None:
        """Replace some labels of a column by others."""
        self.frame = self.frame.assign(**{name: self.frame[name].map(labels)})

    @contextmanager
    def problems(self) -> Iterator[None]:
        """Name the row of the file in errors that name a row of the table."""
        try:
            yield
        except RowError as error:
            tip = TAKES_ANY if error.tip else ""
            place = place_of(self.frame.index[error.row])
            raise ValueError(error.describe_in(place) + tip) from error


def _read(path: Path, args: Namespace, faults: Faults) -> pd.DataFrame:
    """Read the columns that options name, and one column of identifiers."""
    suffix = path.suffix.lower()
    with _raise_on_one_line(path, args):
        if suffix == ".parquet":
            return _read_parquet(path, args, faults)
        if suffix in (".xlsx", ".xlsm", ".xls", ".ods"):
            return _read_sheet(path, args, faults)
        return _read_text(path, args, faults)


@contextmanager
def _raise_on_one_line(path: Path, args: Namespace) -> Iterator[None]:
    """Turn the error of a library that cannot read a file into one line."""
    try:
        yield
    except pd.errors.EmptyDataError as error:
        raise ValueError(f"{path} is empty, expected the names of columns.") from error
    except LookupError as error:
        raise ValueError(f"--encoding: {error}.") from error
    except UnicodeError as error:
        raise ValueError(
            f"{path} is not text in {args.encoding}: {error}. --encoding names "
            "another encoding, such as cp1252, latin-1 or utf-16."
        ) from error
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        if str(path) in str(error):
            raise
        said = " ".join(str(error).split()).removeprefix("Error tokenizing data. ")
        raise ValueError(f"{path} cannot be read: {said}") from error


def _read_text(path: Path, args: Namespace, faults: Faults) -> pd.DataFrame:
    """Read columns of a text file."""
    names, skipped = _header(path, args, faults)
    wanted = _names_to_read(path, names, args, faults)
    kinds = column_kinds(args)
    numbers = [i for i, name in enumerate(names) if kinds.get(name) == "number"]
    # All columns are read, since a row with more cells than the header is an error
    # then; of some columns alone pandas would cut it off.
    table = pd.read_csv(
        path,
        **_format(path, args),
        skiprows=skipped,
        header=0,
        names=[*range(len(names))],
        dtype={i: str for i in range(len(names)) if i not in numbers},
        decimal=args.decimal,
        thousands=args.thousands,
        na_values={i: ["", *args.na_values] for i in numbers},
        low_memory=False,
    )
    return _select_columns(path, table, names, wanted)


def _format(path: Path, args: Namespace) -> dict[str, Any]:
    """Return the arguments with which pandas reads a text file."""
    return {
        "sep": args.sep or ",",
        "encoding": args.encoding,
        "keep_default_na": False,
        "skipinitialspace": True,
    }


def _header(path: Path, args: Namespace, faults: Faults) -> tuple[list[str], int]:
    """Return column names of a text file, and how many lines stand above them."""
    whole = {**_format(path, args), "header": None, "dtype": str}
    # A character that no file has, so that a line is one cell.
    line = pd.read_csv(path, **{**whole, "sep": "\x1f", "quoting": 3, "nrows": 1})
    first, skipped = str(line.iloc[0, 0]), 0
    if (stated := re.fullmatch(r'"?sep=(.)"?', first.strip(BLANKS))) is not None:
        skipped, args.sep = 1, args.sep or stated[1]  # as spreadsheets write it
    else:
        separator = _separator(first, column_kinds(args))
        if args.sep is not None and args.sep not in first and separator in first:
            written = "tab" if separator == "\t" else f"'{separator}'"
            faults.add(f"{path} separates columns by {written}: --sep {written}.")
            faults.mend(sep=separator)
        args.sep = args.sep or separator
    # The second line is read, since pandas takes longer rows for rows with an index.
    whole |= {"sep": _format(path, args)["sep"], "skiprows": skipped, "nrows": 2}
    names = pd.read_csv(path, **whole).iloc[0]
    return [str(name).strip(BLANKS) for name in names], skipped


def _separator(line: str, names: Collection[str]) -> str:
    """Return the separator that yields the most known names, then the most cells."""

    def n_found(mark: str) -> tuple[int, int]:
        form: dict[str, Any] = {"delimiter": mark, "skipinitialspace": True}
        cells = next(csv.reader([line[:100_000]], **form), [])
        return len({cell.strip(BLANKS) for cell in cells} & {*names}), len(cells)

    return max(",;\t|", key=n_found)


def _names_to_read(
    path: Path, names: Sequence[str], args: Namespace, faults: Faults
) -> list[str]:
    """Return the names of the columns to read; report names that the table lacks."""
    for name in names:
        join_names(args, name)
    _ask_for_columns(path, names, args, faults)
    by_case = {name.casefold(): name for name in reversed(names)}
    for name in [name for name in column_kinds(args) if name not in names]:
        text = f"{path} has no column {name!r}"
        close = difflib.get_close_matches(name.casefold(), by_case, 1, 0.7)
        if close:
            meant = by_case[close[0]]
            faults.rename_column(f"{text}. Is {meant!r} meant?", name, meant)
        else:
            faults.add(f"{text}.")
    kinds = column_kinds(args)
    if not {*kinds} <= {*names}:
        faults.stop(list_columns(path, names))
    others = [name for name in names if name not in kinds and names.count(name) == 1]
    if len(names) > _FEW_COLUMNS:
        others = [*filter(PEOPLE.search, others)]
    return [*kinds, *others]


def _ask_for_columns(
    path: Path, names: Sequence[str], args: Namespace, faults: Faults
) -> None:
    """Report that a column of decisions, scores or groups is missing."""
    wanted = {}
    if not (args.y_pred or args.y_score or args.selected):
        faults.add("--y-pred must name the column of decisions, or --y-score scores.")
        wanted["y_pred"] = ["COLUMN"]
    if not args.sensitive:
        faults.add("--sensitive must name the columns of groups.")
        wanted["sensitive"] = ["COLUMN"]
    may_count = len(names) <= _FEW_COLUMNS and _size(path) <= _LARGE
    if wanted and {*column_kinds(args)} <= {*names} and args.sensitive and may_count:
        return  # the rows may tell that a column counts the selected people
    if wanted:
        faults.mend(**wanted)
        faults.stop(list_columns(path, names))


def list_columns(path: Path, names: Sequence[str]) -> str:
    """List the columns of a table in an error message, if it is a CSV file."""
    few = "The first line must hold the names of the columns." * (len(names) < 3)
    columns = listed([repr(name[:100]) for name in names], _MAX_NAMES)
    return f"{path} has the columns {columns}. {few}"


def _select_columns(
    path: Path, table: pd.DataFrame, names: Sequence[str], wanted: Sequence[str]
) -> pd.DataFrame:
    """Select columns by name; columns with the same name must be equal."""
    columns = {}
    for name in wanted:
        places = [i for i, other in enumerate(names) if other == name]
        columns[name] = table.iloc[:, places[0]]
        if not all(table.iloc[:, i].equals(columns[name]) for i in places[1:]):
            raise ValueError(
                f"{path} has several columns {name!r} that differ, expected one."
            )
    return pd.DataFrame(columns).reset_index(drop=True)


def _read_sheet(path: Path, args: Namespace, faults: Faults) -> pd.DataFrame:
    """Read columns of a worksheet, by default the first."""
    if path.suffix.lower() == ".xlsx":
        require("openpyxl", f"Reading {path}", "save the table as CSV")
    book = pd.read_excel(
        path,
        sheet_name=None,
        header=None,
        dtype=object,
        keep_default_na=False,
        na_values=[""],
    )
    sheets = {
        str(sheet): ([str(n).strip(BLANKS) for n in cells.iloc[:1].stack()], cells)
        for sheet, cells in book.items()
    }
    first = next(iter(sheets)) if args.sheet is None else args.sheet
    if first not in sheets:
        raise ValueError(
            f"--sheet must be one of {[*sheets]} of {path}, got {first!r}."
        )
    if not {*column_kinds(args)} & {*sheets[first][0]}:
        for sheet, (names, _) in sheets.items():
            if {*column_kinds(args)} <= {*names}:
                faults.add(
                    f"{path} has the columns in its sheet {sheet!r}: --sheet {sheet}."
                )
                faults.mend(sheet=sheet)
                first = sheet
                break
    names, cells = sheets[first]
    wanted = _names_to_read(path, names, args, faults)
    return _select_columns(path, cells.iloc[1:], names, wanted)


def _stored_names(path: Path) -> list[str]:
    """Return the names of the columns of a Parquet file."""
    parquet = require("pyarrow.parquet", f"Reading {path}", "save the table as CSV")
    with path.open("rb") as file:
        return list(parquet.read_schema(file).names)


def _read_parquet(path: Path, args: Namespace, faults: Faults) -> pd.DataFrame:
    """Read columns of a Parquet file."""
    pyarrow = require("pyarrow", f"Reading {path}", "save the table as CSV")
    wanted = _names_to_read(path, _stored_names(path), args, faults)
    kinds = column_kinds(args)
    # Opened first, since a name may be that of a directory or of another store.
    with path.open("rb") as file:
        table = pyarrow.parquet.read_table(file, columns=wanted)
    for name in wanted:
        if pyarrow.types.is_nested(table.schema.field(name).type):
            if name not in kinds:
                table = table.drop_columns([name])
                continue
            raise ValueError(
                f"column {name!r} of {path} is nested, expected one value in each row."
            )
    # Whole numbers beside missing ones are floats otherwise.
    made = table.to_pandas(ignore_metadata=True, types_mapper=pd.ArrowDtype)
    return made[[name for name in wanted if name in made]]

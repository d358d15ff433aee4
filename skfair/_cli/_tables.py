"""Reads tables of predictions; one clear message says what is wrong with a file."""

from __future__ import annotations

import csv
import gzip
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from skfair._utils._optional import require

#: Suffixes of the files that can be read.
SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".parquet", ".xlsx")

_NO_CSV = (
    pd.errors.EmptyDataError,
    pd.errors.ParserError,
    pd.errors.ParserWarning,
)


@dataclass(frozen=True)
class Format:
    """How a text file is written; None is a comma, or a tab in a .tsv file."""

    sep: str | None = None
    encoding: str = "utf-8"

    def of(self, path: Path) -> dict[str, Any]:
        """Parameters of `pandas.read_csv`."""
        is_tsv = path.name.lower().endswith((".tsv", ".tsv.gz"))
        sep = self.sep or ("\t" if is_tsv else ",")
        # Excel begins UTF-8 with a byte order mark.
        plain = self.encoding.lower().replace("_", "-") in ("utf-8", "utf8")
        encoding = "utf-8-sig" if plain else self.encoding
        return {"sep": sep, "encoding": encoding}


def read_columns(
    path: Path, wanted: Sequence[str], text: Sequence[str], form: Format
) -> Any:
    """Read some columns of a table.

    Those named by `text` are read as they are written, so that ``01`` stays a label.
    Only empty cells are missing.
    """
    if not path.name.lower().endswith(SUFFIXES):
        raise ValueError(
            f"{path} must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}."
        )
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist or is no file.")
    try:
        if path.suffix.lower() == ".parquet":
            table = _read_parquet(path, wanted, text)
        elif path.suffix.lower() == ".xlsx":
            table = _read_excel(path, wanted, text)
        else:
            table = _read_csv(path, wanted, text, form)
    except LookupError as error:
        raise ValueError(f"--encoding: {error}.") from error
    except UnicodeError as error:
        raise ValueError(
            f"{path} is not text in {form.encoding}: {error}. --encoding names "
            "another encoding, such as cp1252, latin-1 or utf-16."
        ) from error
    except _NO_CSV as error:
        raise ValueError(f"{path} cannot be read as CSV: {_one_line(error)}") from error
    if not len(table):
        raise ValueError(f"{path} has 0 rows, expected at least one.")
    return table


def line_of(path: Path, position: int, form: Format) -> int:
    """Find the line of a file where a row begins; rows of a worksheet are lines.

    Rows of a file without lines are counted from 1.
    """
    if path.suffix.lower() in (".parquet", ".xlsx"):
        return position + (2 if path.suffix.lower() == ".xlsx" else 1)
    options = form.of(path)
    openers: dict[str, Any] = {".gz": gzip.open}
    opener = openers.get(path.suffix.lower(), open)
    with opener(path, "rt", encoding=options["encoding"], newline="") as file:
        start, records = 1, csv.reader(file, delimiter=options["sep"])
        left = position + 1  # the header comes first
        for record in records:
            if len(record) > 1 or "".join(record).strip():
                if not left:
                    break
                left -= 1
            start = records.line_num + 1
    return start


def _read_csv(
    path: Path, wanted: Sequence[str], text: Sequence[str], form: Format
) -> pd.DataFrame:
    options = {**form.of(path), "skipinitialspace": True}
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, **options)
    check_columns(path, [str(name) for name in header.iloc[0]], wanted)
    with warnings.catch_warnings():
        # The end of a row longer than the header would otherwise be dropped silently.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        table: pd.DataFrame = pd.read_csv(
            path,
            index_col=False,
            dtype=dict.fromkeys(text, str),
            keep_default_na=False,
            na_values=[""],
            **options,
        )
    return table


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


def _read_parquet(
    path: Path, wanted: Sequence[str], text: Sequence[str]
) -> pd.DataFrame:
    parquet = require("pyarrow.parquet", f"Reading {path}", "save the table as CSV")
    # ArrowInvalid is a ValueError with a clear message.
    names = [str(name) for name in parquet.read_schema(path).names]
    check_columns(path, names, wanted)
    table: pd.DataFrame = pd.read_parquet(path, columns=sorted(set(wanted)))
    return table


def check_columns(path: Path, names: list[str], wanted: Sequence[str]) -> None:
    """Raise unless a table has each of the columns once."""
    for name in wanted:
        if names.count(name) > 1:
            raise ValueError(f"{path} has several columns {name!r}, expected one.")
    lacking = [name for name in dict.fromkeys(wanted) if name not in names]
    if lacking:
        hint = ""
        if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
            found = next(mark for mark in ";\t|" if mark in names[0])
            written = "tab" if found == "\t" else f"'{found}'"
            hint = f" Columns seem not to be separated by commas: try --sep {written}."
        missing = ", ".join(map(repr, lacking))
        raise ValueError(f"{path} has no column {missing}; it has {names}.{hint}")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())

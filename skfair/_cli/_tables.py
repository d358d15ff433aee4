"""Reads tables of predictions; one clear message says what is wrong with a file."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

#: Suffixes of the files that can be read.
SUFFIXES = (".csv", ".csv.gz", ".parquet")

_NO_CSV = (
    pd.errors.EmptyDataError,
    pd.errors.ParserError,
    pd.errors.ParserWarning,
)


def read_columns(path: Path, wanted: Sequence[str], text: Sequence[str]) -> Any:
    """Read some columns of a CSV or Parquet file.

    Those named by `text` are read as they are written, so that ``01`` stays a label.
    Only empty cells are missing.
    """
    if not path.name.lower().endswith(SUFFIXES):
        raise ValueError(
            f"{path} must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}."
        )
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist or is no file.")
    is_parquet = path.suffix.lower() == ".parquet"
    try:
        table = (_read_parquet if is_parquet else _read_csv)(path, wanted, text)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be text in UTF-8: {error}.") from error
    except _NO_CSV as error:
        raise ValueError(f"{path} cannot be read as CSV: {_one_line(error)}") from error
    if not len(table):
        raise ValueError(f"{path} has 0 rows, expected at least one.")
    return table


def _read_csv(path: Path, wanted: Sequence[str], text: Sequence[str]) -> pd.DataFrame:
    options: dict[str, Any] = {"encoding": "utf-8-sig", "skipinitialspace": True}
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, **options)
    _check_columns(path, [str(name) for name in header.iloc[0]], wanted)
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


def _read_parquet(
    path: Path, wanted: Sequence[str], text: Sequence[str]
) -> pd.DataFrame:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError(
            f"{path} needs pyarrow to be read, which is not installed. Install it with "
            "'pip install pyarrow', or convert the table to CSV."
        ) from error
    # ArrowInvalid is a ValueError with a clear message.
    names = [str(name) for name in parquet.read_schema(path).names]
    _check_columns(path, names, wanted)
    table: pd.DataFrame = pd.read_parquet(path, columns=sorted(set(wanted)))
    return table


def _check_columns(path: Path, names: list[str], wanted: Sequence[str]) -> None:
    for name in wanted:
        if names.count(name) > 1:
            raise ValueError(f"{path} has several columns {name!r}, expected one.")
    lacking = [name for name in dict.fromkeys(wanted) if name not in names]
    if lacking:
        hint = ""
        if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
            hint = " Columns must be separated by commas."
        missing = ", ".join(map(repr, lacking))
        raise ValueError(f"{path} has no column {missing}; it has {names}.{hint}")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())

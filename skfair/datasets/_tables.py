"""From a table, local or downloaded, to what the loaders return."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch

from skfair._utils._validation import check_flag


def data_directory() -> Path | None:
    """Directory named by the environment variable ``SKFAIR_DATA``, if it is set."""
    directory = os.environ.get("SKFAIR_DATA")
    return Path(directory) if directory else None


def existing(directory: Path, filename: str, advice: str) -> Path:
    """Path of a file; `advice` ends the message if it is missing."""
    path = directory / filename
    if not path.is_file():
        tables = sorted(file.name for file in directory.glob("*.csv.gz"))
        contents = f"has {', '.join(tables)}" if tables else "has no .csv.gz file"
        if not directory.is_dir():
            contents = "does not exist"
        raise FileNotFoundError(
            f"{str(path)!r} not found: the directory {contents}. {advice}"
        )
    return path


def read_table(directory: Path, filename: str, advice: str) -> pd.DataFrame:
    """Read a gzip-compressed CSV file; `advice` ends the message if it is missing."""
    path = existing(directory, filename, advice)
    # "None" and "NA" are ordinary categories in tables like these: only an empty
    # cell is missing.
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


def download_table(
    data_id: int, data_home: str | PathLike[str] | None, filename: str
) -> pd.DataFrame:
    """Fetch a table of whole numbers and text from OpenML, in place of `filename`."""
    try:
        with warnings.catch_warnings():
            # A failure is reported once, below.
            warnings.filterwarnings("ignore", "A network error occurred")
            table = fetch_openml(
                data_id=data_id, data_home=data_home, as_frame=True, parser="auto"
            ).frame
    except (URLError, ConnectionError, TimeoutError) as error:
        raise ConnectionError(
            f"could not download table {data_id} from OpenML ({error}). Check the "
            "network, or set the environment variable SKFAIR_DATA to a directory that "
            f"has {filename}."
        ) from error
    # OpenML does not distinguish integers from other numbers.
    return table.astype(dict.fromkeys(table.select_dtypes("number"), "int64"))


def require_columns(
    table: pd.DataFrame, columns: Sequence[str], source: str
) -> pd.DataFrame:
    """Select `columns`, or raise a ValueError that names those `source` lacks."""
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise ValueError(
            f"{source} must have the columns {list(columns)}, got "
            f"{list(table.columns)} without {missing}."
        )
    return table[list(columns)]


def optional_columns(table: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """List those of `columns` that the table has."""
    return [name for name in columns if name in table.columns]


def with_categories(table: pd.DataFrame) -> pd.DataFrame:
    """Make every text column categorical, with the same spelling for all sources.

    Surrounding blanks are removed, ``"?"`` becomes missing, categories are sorted. A
    categorical column keeps a group that has no rows in a fold.
    """
    table = table.copy()
    for name in table.select_dtypes(exclude="number").columns:
        text = table[name].astype(object).str.strip()
        table[name] = text.mask(text == "?", np.nan).astype("category")
    return table


def read_description(name: str, **values: str) -> str:
    """Read ``descr/name.rst``, with `values` for the names in braces."""
    text = (files("skfair.datasets") / "descr" / f"{name}.rst").read_text("utf-8")
    return text.format(**values)


def as_dataset(
    table: pd.DataFrame,
    *,
    target: str,
    sensitive_features: Sequence[str],
    descr: str,
    return_X_y: bool,
    as_frame: bool,
    extras: Mapping[str, Any],
) -> Any:
    """Return a table as scikit-learn's loaders do: a Bunch, or a tuple (X, y).

    `extras` are further columns or tables with the same rows.
    """
    check_flag("return_X_y", return_X_y)
    check_flag("as_frame", as_frame)
    features = table.drop(columns=target)
    rows = {"data": features, "target": table[target], **extras}
    if not as_frame:
        rows = {name: values.to_numpy() for name, values in rows.items()}
    if return_X_y:
        return rows["data"], rows["target"]
    return Bunch(
        **rows,
        frame=table if as_frame else None,
        feature_names=list(features.columns),
        target_names=[target],
        sensitive_features=list(sensitive_features),
        DESCR=descr,
    )

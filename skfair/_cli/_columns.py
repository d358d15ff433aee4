"""Columns of tables: what they are for, and the cells of each kind of column."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from skfair._cli._faults import COLUMNS, Faults

#: What is left out around a text.
BLANKS = " \t\r\n\u00a0"
#: Whole number that is written with decimals, as in a column with empty cells.
WHOLE = r"^([+-]?[0-9]+)\.0+$"
#: Number, and number whose digits are grouped by threes.
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_GROUPED = r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]+)?"
#: What an error about scores that are not probabilities adds.
TAKES_ANY = " With --scale rank scores may be any finite numbers."


def column_kinds(args: Namespace) -> dict[str, str]:
    """Map each column to its kind: number, label, group or person.

    A column with several uses is a number or a label if that is one of them.
    """
    numbers = [*args.y_score, args.sample_weight, args.count, args.selected]
    labels = [*args.y_pred, args.y_true]
    if args.scale == "real":
        numbers, labels = [*numbers, *labels], []
    groups = [*args.sensitive, *args.control_features]
    kinds: dict[str, str] = {}
    uses = {"number": numbers, "label": labels, "group": groups}
    for kind, names in (uses | {"person": [args.cluster]}).items():
        for name in names:
            if name is not None:
                kinds.setdefault(name, kind)
    return kinds


def join_names(args: Namespace, name: str) -> None:
    """Join the parts of a column name that contains commas, which options split."""
    parts = [part.strip() for part in name.split(",") if part.strip()]
    for parameter in COLUMNS if len(parts) > 1 else ():
        columns = getattr(args, parameter)
        if isinstance(columns, list) and {*parts} <= {*columns}:
            others = [other for other in columns if other not in parts]
            setattr(args, parameter, [*others, name])


def place_of(key: tuple[Path, int]) -> str:
    """Write the place of a row, by its file and position."""
    return f"row {key[1] + 1} of {key[0]}"


def to_texts(column: Any, missing: Sequence[str] = ()) -> Any:
    """Write labels as text without blanks around it; 1.0 is 1, and empty is missing."""
    codes, values = pd.factorize(column)
    texts = [text_of(value, missing) for value in values]
    return pd.Series(np.array([*texts, None], object)[codes], column.index)


def text_of(value: Any, missing: Sequence[str] = ()) -> str | None:
    """Write a label as text, None if it is missing."""
    text = re.sub(WHOLE, r"\1", str(value).strip(BLANKS))
    return None if text == "" or text in missing else text


def read_numbers(column: Any, args: Namespace, faults: Faults) -> Any:
    """Return a column as numbers; report cells that are not numbers."""
    is_number = pd.api.types.is_numeric_dtype(column)
    if is_number and not pd.api.types.is_bool_dtype(column):
        return column.astype("float64")
    cells = to_texts(column, args.na_values)
    numbers = _parse_numbers(cells, args.decimal, args.thousands)
    bad = cells[cells.notna() & numbers.isna()]
    if not len(bad):
        return numbers
    text = (
        f"column {column.name!r} must be numbers, got {bad.iloc[0]!r} in "
        f"{place_of(bad.index[0])}."
    )
    other = "." if args.decimal == "," else ","
    words = [*dict.fromkeys(bad)]
    if bad.str.fullmatch(NUMBER.replace(r"\.", "[.,]") + "[ \u00a0]?%").all():
        faults.stop(f"{text} Write each as a share, as 0.45 for 45%.")
    if bad.str.fullmatch(_GROUPED).all() and args.decimal == ".":
        faults.add(f"{text} --thousands , reads 1,000 as a thousand.")
        faults.mend(thousands=",")
    elif _parse_numbers(bad, other, None).notna().all():
        faults.add(f"{text} --decimal {other} reads such numbers.")
        faults.mend(decimal=other)
    elif len(words) <= 3:
        typed = ",".join(words)
        faults.add(f"{text} --na-values {typed} makes such cells missing.")
        faults.mend(na_values=[*args.na_values, *words])
    else:
        faults.stop(text)
    return _parse_numbers(cells, args.decimal, args.thousands)


def _parse_numbers(cells: Any, decimal: str, thousands: str | None) -> Any:
    """Turn texts into numbers; a text that is not a number becomes nan."""
    cells = cells.astype("str" if len(cells) == 0 else object)
    if thousands is not None:
        cells = cells.str.replace(thousands, "", regex=False)
    if decimal == ",":
        cells = cells.str.translate(str.maketrans(",.", ".,"))
    is_number = cells.str.fullmatch(NUMBER).eq(True)
    return cells.where(is_number, np.nan).astype("float64")

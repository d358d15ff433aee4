"""Groups of a numeric attribute, such as ages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from skfair._utils._text import all_digits
from skfair.groups import into_ranges, suggest_edges

#: From so many groups of numbers on, ranges are suggested.
_MANY_GROUPS = 20
#: How dates are written, with the year first or last.
_DATE = r"\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{2,4}"


def read_bins(given: list[str], columns: Sequence[str]) -> dict[str, list[float]]:
    """Read the edges of ranges, such as ``age=30,50``."""
    bins = {}
    for text in given:
        name, _, written = text.rpartition("=")
        if name not in columns:
            raise ValueError(
                "--bins must be COLUMN=EDGES with a column of --sensitive or "
                f"--control-features, got {text!r}."
            )
        try:
            edges = [float(edge) for edge in written.split(",")]
        except ValueError:
            edges = [math.nan]
        if not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
            raise ValueError(f"--bins must have increasing numbers, got {text!r}.")
        bins[name] = edges
    return bins


def into_bins(
    table: Any, names: Sequence[str], bins: Mapping[str, list[float]]
) -> dict[str, Any]:
    """Columns of groups, in which ranges stand for numbers if there are edges."""
    columns = {}
    for name in names:
        columns[name] = table[name]
        if name in bins:
            which = f" of column {name!r}"
            columns[name] = into_ranges(table[name], bins[name], which, range_labels)
    return columns


def range_labels(edges: list[float]) -> list[str]:
    """Name the ranges between edges, and those below the first and above the last."""
    at = [all_digits(edge) for edge in edges]
    between = [f"{a} to under {b}" for a, b in pairwise(at)]
    return [
        f"under {at[0]}",
        *between,
        f"{at[-1]} and over",
    ]


def bins_hint(column: Any) -> str | None:
    """Suggest ranges where the groups are many numbers, or dates."""
    groups = column.astype(object).dropna()
    values, n_groups = pd.to_numeric(groups, errors="coerce"), groups.nunique()
    if n_groups < _MANY_GROUPS:
        return None
    if groups.astype(str).str.match(_DATE).all():
        return (
            f"column {column.name!r} has {n_groups} groups, each a date; a column of "
            "years or of ranges of them could be compared."
        )
    if values.isna().any():
        return None
    written = ",".join(all_digits(edge) for edge in suggest_edges(values, 1))
    return (
        f"column {column.name!r} has {n_groups} groups, each a number; --bins "
        f"{column.name}={written} would compare ranges."
    )

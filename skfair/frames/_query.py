"""One aggregation of the rows of a table, on the engine that holds them."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from os import PathLike
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfair._utils._arrays import Floats, Integers
from skfair._utils._columns import open_frame, read_floats
from skfair._utils._text import listed, shown
from skfair._utils._validation import (
    LARGEST_WEIGHT,
    SCORE_ROUNDING,
    SMALLEST_WEIGHT,
    Scale,
)
from skfair.groups import (
    Groups,
    check_hashable,
    decode_dictionary,
    encode_column,
    is_dictionary,
    refuse_weightless,
)
from skfair.statistics._cells import (
    encode_attributes,
    join_attributes,
    label_array_of,
)
from skfair.statistics._distributions import whole_if_exact

#: What is wrong with a row that cannot be counted, by the number that stands in place
#: of its bin.
_FAULTS = {
    -2.0: "{score!r} has {n} NULL values, expected none",
    -3.0: "{score!r} has {n} NaN, expected none",
    -4.0: "{score!r} has {n} values outside {allowed}, from {low} to {high}",
    -5.0: "{weight!r} has {n} values that are NULL, NaN, negative, or not between "
    f"{SMALLEST_WEIGHT:g} and {LARGEST_WEIGHT:g}",
}
#: Stands in place of the bin of a row of weight zero.
_WEIGHTLESS = -6.0
#: Scores, or ones minus scores, below this are in equal bins.
_LEAST = 2.0**-40
#: Columns of numbers of the cells.
_NUMBERS = "key", "fault", "n_rows", "weight", "weight_squared", "low", "high"


@dataclass(frozen=True)
class Table:
    """A table, and the names of its columns by their use.

    Scores of the scale "rank" may be any finite numbers, and are not counted in bins.
    With `narrow_ends` bins are narrower towards 0 and 1, where scores may be crowded.
    """

    frame: Any  # of narwhals, lazy or not
    sensitive: list[str]
    weight: str | None
    score: str | None = None
    classes: tuple[str, ...] = ()
    scale: Scale = "probability"
    control: Sequence[str] = ()
    narrow_ends: bool = False


@dataclass(frozen=True)
class RowCounts:
    """Numbers of rows of a table by group, stratum, classes, and bin or score.

    `groups` are intersections of the `attributes`, `counts` the rows of each cell.
    `keys` holds bins, or scores if `n_bins` is None. Without scores, `keys`, `lows` and
    `highs` have no meaning.
    """

    groups: Groups
    attributes: list[Groups]
    classes: list[NDArray[Any]]
    keys: Floats
    counts: Integers
    weights: NDArray[Any]
    squares: NDArray[Any]
    lows: Floats
    highs: Floats
    strata: Groups | None
    n_bins: int | None


def open_table(
    frame: Any,
    sensitive_features: Any,
    sample_weight: str | None = None,
    control_features: Any = None,
    **columns: str | None,
) -> Any:
    """Read a table of any library, and check that it has the named columns."""
    try:
        table = open_frame(frame, "frame")
    except TypeError as error:
        is_path = isinstance(frame, (str, PathLike))
        tip = " Read the file first, as pandas.read_csv does." if is_path else ""
        raise TypeError(
            "frame must be a table of a library that narwhals reads (pandas, Polars, "
            "PyArrow, DuckDB, Ibis, PySpark, SQLFrame), got a "
            f"{type(frame).__name__}.{tip}"
        ) from error
    schema = table.collect_schema()
    wanted: list[tuple[str, Any]] = [
        ("sensitive_features", name) for name in group_names(sensitive_features)
    ]
    wanted += [("control_features", name) for name in stratum_names(control_features)]
    wanted += columns.items()
    if sample_weight is not None:
        wanted.append(("sample_weight", sample_weight))
    for argument, name in wanted:
        if not isinstance(name, str):
            raise TypeError(f"{argument} must name a column, got {name!r}.")
        if name not in schema:
            raise ValueError(
                f"{argument} must name a column of frame, got {name!r}; it has "
                f"{listed([repr(column) for column in schema.names()], 20)}."
            )
        check = _check_labels
        if argument in ("y_score", "sample_weight", "counts"):
            check = check_numeric_column
        check(table, argument, name, schema[name])
    if isinstance(frame, pd.DataFrame):
        names = {name for _, name in wanted if is_dictionary(frame[name])}
        if names:
            columns = {name: decode_dictionary(frame[name]) for name in names}
            return nw.from_native(frame.assign(**columns))
    return table


def check_numeric_column(table: Any, argument: str, name: str, dtype: Any) -> None:
    """Raise unless a column holds numbers; pandas holds decimal numbers as objects."""
    if dtype.is_numeric() or dtype == nw.Boolean:
        return
    if dtype == nw.Object and isinstance(table, nw.DataFrame):
        numbers = (type(None), Decimal, Real, np.bool_)
        if all(isinstance(value, numbers) for value in table[name].to_list()):
            return
    raise TypeError(f"{argument}={name!r} must be of numbers, got {dtype}.")


def _check_labels(table: Any, argument: str, name: str, dtype: Any) -> None:
    """Raise unless the labels of a column can be compared."""
    if dtype.is_nested():
        raise TypeError(
            f"{argument}={name!r} must be of text, numbers or dates, got {dtype}."
        )
    if dtype == nw.Object and isinstance(table, nw.DataFrame):
        check_hashable(table[name].to_list(), f"{argument}={name!r}")


def group_names(names: Any, argument: str = "sensitive_features") -> list[str]:
    """Return the names of the columns of groups or of strata as a list."""
    if isinstance(names, str):
        return [names]
    if not isinstance(names, (list, tuple)) or not names:
        raise TypeError(
            f"{argument} must be the name of a column or a list of names, got "
            f"{shown(names)}."
        )
    if len(set(names)) < len(names):
        raise ValueError(f"{argument} must be distinct columns, got {names!r}.")
    return list(names)


def stratum_names(control_features: Any) -> list[str]:
    """Return the names of the columns of strata as a list, which may be empty."""
    if control_features is None:
        return []
    return group_names(control_features, "control_features")


def count_rows_by(table: Table, n_bins: int | None) -> RowCounts:
    """Count rows by group and bin, or by group and score if `n_bins` is None."""
    columns = {f"group_{i}": nw.col(name) for i, name in enumerate(table.sensitive)}
    columns |= {f"class_{i}": nw.col(name) for i, name in enumerate(table.classes)}
    columns |= {f"stratum_{i}": nw.col(name) for i, name in enumerate(table.control)}
    labels = [*columns]
    if table.score is not None:
        columns["score"] = read_floats(table.frame, table.score)
    if table.weight is not None:
        columns["weight"] = read_floats(table.frame, table.weight)
    cells = _aggregate(table.frame.select(**columns), labels, table, n_bins)
    return _check_cells(cells, table, n_bins)


def _aggregate(
    rows: Any, labels: list[str], table: Table, n_bins: int | None
) -> nw.DataFrame[Any]:
    """Count rows by labels and key, with a query of the table's library."""
    score, weight = nw.col("score"), nw.col("weight")
    names = [*labels, "key"]
    key = nw.lit(0.0)
    if table.score is not None and table.scale == "probability":
        place = _stretch_ends(score) if table.narrow_ends else score
        # A score beyond 0 or 1 by rounding has a bin of its own, which is joined with
        # the next one afterwards. Equal bins are free of rounding on any engine.
        key = score if n_bins is None else (place * n_bins).floor()
    aggregates = [nw.len().alias("n_rows")]
    if table.weight is not None:
        key = _mark_faulty_weight(key)
        rows = rows.with_columns(weight_squared=weight * weight)
        aggregates += [weight.sum(), nw.col("weight_squared").sum()]
    if table.score is not None:
        key = _mark_faulty_score(key, table.scale)
        aggregates += [score.min().alias("low"), score.max().alias("high")]
    if table.scale == "rank":  # scores may be the numbers that stand for faults
        names.append("fault")
        fault, key = key, nw.when(key == 0).then(score).otherwise(nw.lit(0.0))
        rows = rows.with_columns(fault=fault)
    cells = rows.with_columns(key=key).group_by(*names).agg(*aggregates)
    # The engine has run the query already, unless it is lazy.
    return cells.collect() if isinstance(cells, nw.LazyFrame) else cells


def _stretch_ends(score: nw.Expr) -> nw.Expr:
    """Map scores to [0, 1] so that equal bins are narrower towards the ends."""
    from_low = score.clip(_LEAST, 1.0).log(2) / -math.log2(_LEAST) + 1
    from_high = (1 - score).clip(_LEAST, 1.0).log(2) / -math.log2(_LEAST) + 1
    return (6 * score + from_low + 1 - from_high) / 8


def _mark_faulty_score(key: nw.Expr, scale: Scale) -> nw.Expr:
    """Replace the key of a row with an invalid score by the number of the fault."""
    score = nw.col("score")
    low, high = -SCORE_ROUNDING, 1 + SCORE_ROUNDING
    if scale == "rank":
        low, high = -sys.float_info.max, sys.float_info.max
    inside = (score >= low) & (score <= high)
    no_number = nw.when(score.is_nan()).then(nw.lit(-3.0)).otherwise(nw.lit(-4.0))
    missing = nw.when(score.is_null()).then(nw.lit(-2.0)).otherwise(no_number)
    return nw.when(inside).then(key).otherwise(missing)


def _mark_faulty_weight(key: nw.Expr) -> nw.Expr:
    """Replace the key of a row with an invalid weight by the number of the fault."""
    weight = nw.col("weight")
    usable = (weight > SMALLEST_WEIGHT) & (weight < LARGEST_WEIGHT)
    faulty = nw.when(weight == 0).then(nw.lit(_WEIGHTLESS)).otherwise(nw.lit(-5.0))
    return nw.when(usable).then(key).otherwise(faulty)


def _check_cells(
    cells: nw.DataFrame[Any], table: Table, n_bins: int | None
) -> RowCounts:
    """Raise if rows could not be counted; drop rows of weight zero."""
    if not len(cells):
        raise ValueError("frame has 0 rows, expected at least one.")
    columns: dict[str, Floats] = {
        name: cells[name].cast(nw.Float64()).to_numpy().astype(np.float64, copy=False)
        for name in _NUMBERS
        if name in cells.columns
    }
    keys, n_rows = columns["key"], columns["n_rows"]
    faults = columns.pop("fault", keys)
    _check_keys(columns, faults, table)
    attributes = _encode_groups(cells, "group", table.sensitive, n_rows)
    groups, strata = join_attributes(attributes), None
    if table.control:
        columns_of_strata = _encode_groups(cells, "stratum", table.control, n_rows)
        strata = join_attributes(columns_of_strata)
    counts = n_rows.astype(np.int64)
    counting: Any = slice(None)
    if table.weight is not None:
        counting = faults != _WEIGHTLESS
        labels, sizes = groups.labels, groups.sizes()
        refuse_weightless(labels, sizes, groups[counting].sizes())

    def clip(values: Floats, largest: float) -> Floats:
        """Undo rounding, and turn -0.0 into 0.0."""
        return (values if table.scale == "rank" else np.clip(values, 0, largest)) + 0.0

    classes = [_read_labels(cells, table, i, n_rows) for i in range(len(table.classes))]
    return RowCounts(
        groups=groups[counting],
        attributes=[attribute[counting] for attribute in attributes],
        classes=[labels[counting] for labels in classes],
        keys=clip(keys[counting], 1 if n_bins is None else n_bins - 1),
        counts=counts[counting],
        weights=whole_if_exact(columns.get("weight", counts)[counting]),
        squares=whole_if_exact(columns.get("weight_squared", counts)[counting]),
        lows=clip(columns.get("low", keys)[counting], 1),
        highs=clip(columns.get("high", keys)[counting], 1),
        strata=None if strata is None else strata[counting],
        n_bins=n_bins,
    )


def _check_keys(columns: dict[str, Floats], keys: Floats, table: Table) -> None:
    """Raise if rows could not be counted, and say how many."""
    faults = []
    allowed = "[0, 1]" if table.scale == "probability" else "the finite numbers"
    for fault, text in _FAULTS.items():
        at = keys == fault
        if at.any():
            n_rows = int(columns["n_rows"][at].sum())
            scores: dict[str, Any] = {"allowed": allowed}
            if "low" in columns:
                scores["low"] = columns["low"][at].min()
                scores["high"] = columns["high"][at].max()
            names = {"score": table.score, "weight": table.weight}
            faults.append(text.format(n=f"{n_rows:,}", **names, **scores))
    if faults:
        raise ValueError(f"frame has rows that cannot be counted: {'; '.join(faults)}.")


def _encode_groups(
    cells: nw.DataFrame[Any], what: str, names: Sequence[str], n_rows: NDArray[Any]
) -> list[Groups]:
    """Encode groups or strata of aggregated rows, under the names of the columns."""
    columns = [cells[f"{what}_{i}"].to_native() for i in range(len(names))]
    argument = "sensitive_features" if what == "group" else "control_features"
    return encode_attributes(columns, names, n_rows, argument)


def _read_labels(
    cells: nw.DataFrame[Any], table: Table, position: int, n_rows: Floats
) -> NDArray[Any]:
    """Read true or predicted labels of aggregated rows."""
    labels, name = cells[f"class_{position}"], table.classes[position]
    codes, classes = encode_column(labels.to_native(), "drop", None, name)
    if (codes < 0).any():
        raise ValueError(
            f"{name!r} has {int(n_rows[codes < 0].sum()):,} missing "
            "labels, expected none."
        )
    return label_array_of(classes)[codes]

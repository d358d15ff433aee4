"""Columns and rows of lists, arrays and dataframes of any library."""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from skfair._utils._text import listed

#: What names the sensitive columns of X on a scorer or an estimator. A tuple names one
#: column of a table whose columns have several levels, else it is a list of names.
Selector: TypeAlias = (
    str | int | tuple[str, ...] | list[str] | list[int] | Callable[[Any], Any]
)


def open_frame(data: Any, argument: str, **options: Any) -> Any:
    """Return a dataframe of narwhals; raise where columns have the same name."""
    try:
        frame = nw.from_native(data, **options)
    except nw.exceptions.DuplicateError:
        columns = getattr(data, "column_names", None)  # of PyArrow, or of pandas
        raise _several_columns(argument, columns or data.columns) from None
    if getattr(frame, "implementation", None) is nw.Implementation.DUCKDB:
        columns = frame.columns  # narwhals does not compare these
        if len(set(columns)) < len(columns):
            raise _several_columns(argument, columns)
    return frame


def read_floats(table: Any, name: str) -> nw.Expr:
    """Return the expression of a narwhals column of numbers as floats.

    Decimal numbers of PyArrow are read as text, which is rounded to the nearest float.
    """
    column = nw.col(name)
    engine = table.implementation
    may_be_pyarrow = engine.is_pyarrow() or engine.is_pandas_like() or engine.is_dask()
    if may_be_pyarrow and table.collect_schema()[name] == nw.Decimal:
        column = column.cast(nw.String())
    return column.cast(nw.Float64())


def _several_columns(argument: str, columns: Any) -> ValueError:
    """Return the error about columns of the same name."""
    counts = Counter(map(str, columns))
    repeated = [repr(name) for name, count in counts.items() if count > 1]
    return ValueError(
        f"{argument} has several columns of the name {listed(repeated)}, expected "
        "distinct names."
    )


def check_selector(argument: str, selector: Any) -> None:
    """Raise unless a scorer is given names of columns of X or a function of X."""
    names = selector if isinstance(selector, (list, tuple)) else [selector]
    named = callable(selector) or all(map(_is_name, names))
    if selector is None or (named and len(set(map(str, names))) == len(names)):
        return
    raise TypeError(
        f"{argument} of a scorer must name columns of X, or be a function of X, got "
        f"{'labels in a ' if hasattr(selector, '__len__') else 'a '}"
        f"{type(selector).__name__}. Groups that are not a column of X are routed: "
        "sklearn.set_config(enable_metadata_routing=True), and pass "
        f"{argument} to search.fit, or params={{'{argument}': ...}} to "
        "cross_val_score."
    )


def names_columns(sensitive_features: Any, n_samples: int) -> bool:
    """Return whether `sensitive_features` names columns rather than holds labels.

    A list or tuple of names that has one entry for each row holds labels.
    """
    several = isinstance(sensitive_features, (list, tuple))
    if callable(sensitive_features) or (_is_name(sensitive_features) and not several):
        return True
    return (
        several
        and len(sensitive_features) != n_samples
        and all(_is_name(entry) for entry in sensitive_features)
    )


def names_positions(selector: Any) -> bool:
    """Return whether a selector holds positions of columns."""
    columns = selector if isinstance(selector, (list, tuple)) else [selector]
    return any(_is_name(column) and not isinstance(column, str) for column in columns)


def _is_name(value: Any) -> bool:
    """Return whether a value may be the name of a column."""
    if isinstance(value, tuple):
        return bool(value) and all(map(_is_name, value))
    return isinstance(value, (str, numbers.Integral)) and not isinstance(value, bool)


def select_columns(
    X: Any, selector: Selector, argument: str = "sensitive_features"
) -> Any:
    """Return the columns of X that carry groups or strata; messages name `argument`."""
    if callable(selector):
        return selector(X)
    table, positions = _locate(X, selector, argument)
    if not positions:
        raise ValueError(f"{argument} is an empty list, expected columns of X.")
    if isinstance(table, nw.DataFrame):
        if len(positions) == 1:
            return table[:, positions[0]].to_native()
        return table[:, positions].to_native()
    picked = table[:, positions]
    picked = picked.toarray() if hasattr(picked, "toarray") else picked
    return picked[:, 0] if len(positions) == 1 else picked


def find_positions(
    X: Any, selector: Selector | None, argument: str = "sensitive_features"
) -> list[int]:
    """Return the positions of the columns of X that a selector names."""
    if selector is None or callable(selector):
        raise ValueError(
            "drop_sensitive=True needs sensitive_features to name columns of X, got "
            f"sensitive_features={selector!r}. Or leave the column out of X, and pass "
            "groups to the methods as sensitive_features=groups."
        )
    table, positions = _locate(X, selector, argument)
    return [position % table.shape[1] for position in positions]


def drop_columns(X: Any, positions: list[int]) -> Any:
    """Return X without the columns at some positions, in the same container."""
    table, positions = _locate(X, positions)
    remaining = np.delete(np.arange(table.shape[1]), positions)
    if isinstance(table, nw.DataFrame):
        return table[:, remaining.tolist()].to_native()
    return table[:, remaining]


def absent_columns(
    X: Any, names: NDArray[Any] | None, n_columns: int, positions: list[int]
) -> list[int]:
    """Return the positions of the columns of a fitted table that X does not have.

    The table had `n_columns` columns, with `names` if it was a dataframe. If X is an
    array, all positions are absent, or none.
    """
    table = open_frame(X, "X", eager_only=True, pass_through=True)
    if names is not None and isinstance(table, nw.DataFrame):
        return [i for i in positions if names[i] not in table.columns]
    return positions if np.shape(X)[1:] == (n_columns - len(positions),) else []


def _locate(
    X: Any, selector: Any, argument: str = "sensitive_features"
) -> tuple[Any, list[int]]:
    """Return X as a dataframe or an array, and the positions of the columns."""
    wanted = list(selector) if isinstance(selector, (list, tuple)) else [selector]
    if not all(map(_is_name, wanted)):
        raise TypeError(
            f"{argument} must name columns of X, or be a function of X, got a "
            f"{type(selector).__name__}. Labels that are not a column of X are given "
            f"to the method, as fit(X, y, {argument}=...)."
        )
    table = open_frame(X, "X", eager_only=True, pass_through=True)
    if not isinstance(table, nw.DataFrame):
        table = X if hasattr(X, "shape") else np.asarray(X)
        if len(table.shape) != 2:
            raise ValueError(
                "X must have shape (n_samples, n_features), of which "
                f"{argument}={selector!r} names columns, got {table.shape}."
            )
    elif isinstance(selector, tuple) and tuple in map(type, table.columns):
        wanted = [selector]
    return table, [_position(table, column, argument) for column in wanted]


def _position(table: Any, column: Any, argument: str) -> int:
    """Return the position of a column of a dataframe or an array."""
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
        if not -table.shape[1] <= column < table.shape[1]:
            raise ValueError(
                f"{argument}={column!r} is out of range for X with "
                f"{table.shape[1]} columns."
            )
        return int(column)
    if not isinstance(table, nw.DataFrame):
        raise ValueError(
            f"{argument}={column!r} names a column, but X is a "
            f"{type(table).__name__} without column names. In a pipeline, call "
            "set_output(transform='pandas') on the steps before; or pass the labels "
            f"themselves in {argument}, or the position of the column."
        )
    if column not in table.columns:
        raise ValueError(
            f"X has no column {column!r} ({argument}); it has {table.columns}. "
            f"Labels need not be a column of X: pass them in {argument}."
        )
    return table.columns.index(column)

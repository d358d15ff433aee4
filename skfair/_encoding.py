"""Turns columns of labels into integer codes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

Codes = NDArray[np.integer]
Labels = tuple[Hashable, ...]

#: Label of the group that missing values form under ``missing="group"``.
MISSING_LABEL = "(missing)"
#: Up to this many codes are counted by one comparison each, which is faster.
_MAX_COMPARED = 8
#: Integer labels that span less than this are counted instead of hashed.
_MAX_SPAN = 2**16


def encode_column(column: Any, missing: str, name: str | None) -> tuple[Codes, Labels]:
    """Encode one column of labels, with -1 for the rows that are left out.

    Parameters
    ----------
    column : Series or ndarray of shape (n_samples,)
    missing : {"raise", "drop", "group"}
    name : str or None
        The column's name, for the message.

    Returns
    -------
    codes : ndarray of shape (n_samples,)
    labels : tuple of length n_groups, sorted, or in the order of the categories

    Raises
    ------
    ValueError
        If a value is missing and `missing` is ``"raise"``.
    """
    codes, labels = _factorize(column)
    n_missing = int(np.count_nonzero(codes < 0)) if _can_miss(column) else 0
    if n_missing and missing == "raise":
        where = "" if name is None else f" in column {name!r}"
        raise ValueError(
            f"sensitive_features has {n_missing} missing values{where}, expected "
            "none. Use skfair.groups.encode_groups with missing='drop' or "
            "missing='group' to leave these rows out or to make them a group."
        )
    if n_missing and missing == "group":
        # A label of that very name means the same thing, so the two are merged.
        if MISSING_LABEL not in labels:
            labels = (*labels, MISSING_LABEL)
            codes = _smallest(codes, len(labels))
        codes = np.where(codes < 0, labels.index(MISSING_LABEL), codes)
    return codes, labels


def intersect(columns: list[tuple[Codes, Labels]]) -> tuple[Codes, Labels]:
    """Combine columns into the groups that occur in their intersection.

    Parameters
    ----------
    columns : list of (codes, labels), at least one

    Returns
    -------
    codes : ndarray of shape (n_samples,), -1 where any column is left out
    labels : tuple of length n_groups; tuples of values for several columns
    """
    if not columns:
        raise ValueError("sensitive_features has no columns, expected at least one.")
    if len(columns) == 1:
        return columns[0]
    codes, labels = columns[0][0], tuple((label,) for label in columns[0][1])
    for more_codes, more_labels in columns[1:]:
        pair = codes.astype(np.int64) * len(more_labels) + more_codes
        pair[(codes < 0) | (more_codes < 0)] = -1
        present, codes = np.unique(pair, return_inverse=True)
        if present.size and present[0] < 0:
            present, codes = present[1:], codes - 1
        first, second = np.divmod(present, max(len(more_labels), 1))
        labels = tuple(
            (*labels[i], more_labels[j]) for i, j in zip(first, second, strict=True)
        )
        codes = _smallest(codes, len(labels))
    return codes, labels


def count_codes(codes: Codes, n_labels: int) -> NDArray[np.intp]:
    """Count the rows of each code, those left out (-1) excepted.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
    n_labels : int

    Returns
    -------
    ndarray of shape (n_labels,)
    """
    if n_labels <= _MAX_COMPARED:
        counts = [np.count_nonzero(codes == code) for code in range(n_labels)]
        return np.array(counts, dtype=np.intp)
    if codes.size and codes.min() < 0:
        codes = codes[codes >= 0]
    return np.bincount(codes, minlength=n_labels)


def relabel(codes: Codes, found: Labels, labels: Labels) -> Codes:
    """Recode rows of the groups `found` as positions in `labels`.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
    found : tuple
    labels : tuple

    Returns
    -------
    ndarray of shape (n_samples,)

    Raises
    ------
    ValueError
        If a group that has rows is not among `labels`.
    """
    position = {label: i for i, label in enumerate(labels)}
    present = set(np.unique(codes).tolist())
    unknown = [
        label for i, label in enumerate(found) if i in present and label not in position
    ]
    if unknown:
        raise ValueError(
            f"sensitive_features has unknown groups {unknown}, expected only "
            f"{list(labels)}."
        )
    # The last entry serves the rows left out, whose code is -1.
    lookup = np.array([position.get(label, -1) for label in found] + [-1])
    return _smallest(lookup[codes], len(labels))


def join_labels(first: Labels, second: Labels) -> Labels:
    """Labels of two statistics together, as the joined rows would have them.

    Parameters
    ----------
    first, second : tuple

    Returns
    -------
    tuple
    """
    if set(second) <= set(first):
        return first
    return (
        second if set(first) <= set(second) else tuple(sort_labels({*first, *second}))
    )


def positions_in(labels: Labels, found: Labels) -> NDArray[np.intp]:
    """Where each of the labels `found` stands in `labels`.

    Parameters
    ----------
    labels, found : tuple

    Returns
    -------
    ndarray of shape (len(found),)
    """
    position = {label: i for i, label in enumerate(labels)}
    return np.array([position[label] for label in found], dtype=np.intp)


def sort_labels(labels: Iterable[Hashable]) -> list[Any]:
    """Sort labels, those of types that do not compare by type and text.

    Parameters
    ----------
    labels : iterable of hashable

    Returns
    -------
    list
    """
    labels = list(labels)
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=lambda label: (type(label).__name__, str(label)))


def _factorize(column: Any) -> tuple[Codes, Labels]:
    if isinstance(column, np.ndarray) and column.dtype.kind in "biu" and column.size:
        counted = _count_codes(column)
        if counted is not None:
            return counted
    if not isinstance(column, (pd.Series, pd.Categorical, np.ndarray)):
        series = nw.from_native(column, series_only=True)
        if isinstance(series.dtype, nw.Enum):
            column = pd.Categorical(series.to_list(), list(series.dtype.categories))
        elif series.null_count():  # NumPy would turn whole numbers into floats
            column = np.array(series.to_list(), dtype=object)
        else:
            column = series.to_numpy()
    if isinstance(column, (pd.Series, pd.Categorical)) and isinstance(
        column.dtype, pd.CategoricalDtype
    ):
        categorical = pd.Categorical(column)
        return categorical.codes, tuple(categorical.categories.tolist())
    if isinstance(column, np.ndarray) and column.dtype.kind in "US":
        column = column.astype(object)
    if isinstance(column, pd.Series) and isinstance(column.dtype, np.dtype):
        column = column.to_numpy()
        if column.dtype.kind in "biu":
            return _factorize(column)
    if column.dtype.kind in "mM":  # NumPy's dates become integers in a list
        column = pd.Series(column)
    codes, found = pd.factorize(column)
    values = found.tolist()
    labels = tuple(sort_labels(values))
    rank = {label: i for i, label in enumerate(labels)}
    lookup = np.array([rank[value] for value in values] + [-1])
    return _smallest(lookup[codes], len(labels)), labels


def _count_codes(column: NDArray[Any]) -> tuple[Codes, Labels] | None:
    """Encode integers of a small span without hashing, None for a wide span."""
    values = column.view(np.int8) if column.dtype.kind == "b" else column
    low, high = int(values.min()), int(values.max())
    span = high - low + 1
    if span > _MAX_SPAN or abs(high) > 2**62:
        return None
    if low:
        values = np.subtract(values, low, dtype=np.int64)
    codes = _smallest(values, span)
    present = np.flatnonzero(count_codes(codes, span))
    labels = (present + low).astype(column.dtype).tolist()
    if len(present) < span:
        rank = np.zeros(span, dtype=np.intp)
        rank[present] = np.arange(len(present))
        codes = _smallest(rank[codes], len(labels))
    return codes, tuple(labels)


def _can_miss(column: Any) -> bool:
    return not (isinstance(column, np.ndarray) and column.dtype.kind in "biu")


def _smallest(codes: NDArray[Any], n_labels: int) -> Codes:
    """Store codes in as few bytes as the number of labels allows."""
    dtype = np.int8 if n_labels <= 127 else np.int16 if n_labels <= 32767 else np.int32
    return codes.astype(dtype)

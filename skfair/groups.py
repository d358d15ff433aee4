"""Who belongs to which group: the one place that reads ``sensitive_features``."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfair._utils._columns import Selector, select_columns
from skfair._utils._validation import check_choice, check_integer

__all__ = ["Groups", "Selector", "encode_groups", "resolve_groups"]


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """Group membership of rows, as integer codes into a fixed list of labels.

    Metrics accept a `Groups` wherever they accept ``sensitive_features``, and
    scikit-learn splits one like any array. Since a subset keeps every label, a
    fold that has lost a group is noticed, whatever container the labels came in.

    Attributes
    ----------
    codes : ndarray of shape (n_samples,)
        Position of each row's group in `labels`; -1 for a row left out because
        its group is missing.
    labels : tuple of length n_groups
        One label per group: the value itself, or a tuple of values for an
        intersection of several columns.
    names : tuple of str
        Names of the sensitive columns, empty where the input had none.
    min_group_size : int
        A group with fewer rows than this is too small to be compared: metrics
        are undefined (nan, with a warning) while it is present or absent.

    See Also
    --------
    encode_groups : Build a `Groups` from labels.

    Examples
    --------
    >>> from skfair.groups import encode_groups
    >>> groups = encode_groups(["F", "M", "M"])
    >>> groups.labels, groups.codes.tolist()
    (('F', 'M'), [0, 1, 1])
    >>> groups[1:].labels
    ('F', 'M')
    """

    codes: NDArray[np.integer]
    labels: tuple[Hashable, ...]
    names: tuple[str, ...] = ()
    min_group_size: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of `codes`; scikit-learn splits what has a shape like an array."""
        return self.codes.shape

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Groups:
        return replace(self, codes=self.codes[rows])

    def __repr__(self) -> str:
        sizes = ", ".join(
            f"{label!r}: {size}"
            for label, size in zip(self.labels, self.sizes(), strict=True)
        )
        return f"Groups({len(self)} rows; {sizes})"

    def sizes(self) -> NDArray[np.intp]:
        """Count the rows of each group.

        Returns
        -------
        ndarray of shape (n_groups,)
        """
        return count_codes(self.codes, len(self.labels))


def encode_groups(
    sensitive_features: Any,
    *,
    labels: Sequence[Hashable] | None = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    min_group_size: int = 1,
) -> Groups:
    """Turn group labels into a `Groups`.

    Parameters
    ----------
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
or Groups
        Group labels in any container: list, NumPy array, pandas or polars Series
        or DataFrame. Several columns stand for their intersection. The index of a
        pandas object never matters. A `Groups` keeps its codes and labels.
    labels : sequence of length n_groups, default=None
        The groups that must be there, in the order wanted. By default the sorted
        distinct labels, or, for one categorical column, all its categories.
    missing : {"raise", "drop", "group"}, default="raise"
        What to do with NaN, None and other nulls: raise, leave those rows out of
        every computation, or treat them as one more value, ``"(missing)"``.
    min_group_size : int, default=1
        Smallest number of rows with which a group may be compared.

    Returns
    -------
    Groups

    Raises
    ------
    ValueError
        If a value is missing and `missing` is ``"raise"``, if a label is not
        among `labels`, or if `sensitive_features` has more than two dimensions.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfair.groups import encode_groups
    >>> people = pd.DataFrame({"sex": ["F", "M", "F"], "race": ["x", "y", None]})
    >>> encode_groups(people, missing="group").labels
    (('F', 'x'), ('F', '(missing)'), ('M', 'y'))
    """
    check_choice("missing", missing, ("raise", "drop", "group"))
    min_group_size = check_integer("min_group_size", min_group_size, 1)
    if isinstance(sensitive_features, Groups):
        groups = sensitive_features
        min_group_size = max(min_group_size, groups.min_group_size)
    else:
        names, columns = columns_of(sensitive_features)
        codes, found = intersect(
            [
                encode_column(column, missing, name)
                for name, column in zip(names, columns, strict=True)
            ]
        )
        groups = Groups(codes, found, tuple(name for name in names if name))
    if labels is not None:
        repeated = {label for label in labels if list(labels).count(label) > 1}
        if repeated:
            raise ValueError(f"labels must be distinct, got {repeated} repeatedly.")
        codes = relabel(groups.codes, groups.labels, tuple(labels))
        groups = replace(groups, codes=codes, labels=tuple(labels))
    return replace(groups, min_group_size=min_group_size)


def resolve_groups(
    sensitive_features: Any,
    *,
    n_samples: int,
    X: Any = None,
    selector: Selector | None = None,
) -> Groups:
    """Find the groups of `n_samples` rows: given labels, or else columns of X.

    Parameters
    ----------
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
Groups or None
        Given labels, which win over `selector`.
    n_samples : int
        Number of rows that the groups must have.
    X : array-like or dataframe of shape (n_samples, n_features), default=None
        Where `selector` looks.
    selector : str, int, list of str, list of int, or callable, default=None
        Column name, column position, several of either (their intersection), or
        a function of X that returns group labels or a `Groups`.

    Returns
    -------
    Groups

    Raises
    ------
    ValueError
        If there are neither labels nor a selector, if X has no such column, or
        on a wrong length.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfair.groups import resolve_groups
    >>> X = pd.DataFrame({"age": [31, 47], "sex": ["F", "M"]})
    >>> resolve_groups(None, n_samples=2, X=X, selector="sex")
    Groups(2 rows; 'F': 1, 'M': 1)
    """
    if sensitive_features is None:
        if selector is None:
            raise ValueError(
                "sensitive_features is None, expected group labels of shape "
                f"({n_samples},) or ({n_samples}, n_columns)."
            )
        sensitive_features = select_columns(X, selector)
    groups = encode_groups(sensitive_features)
    if len(groups) != n_samples:
        raise ValueError(
            f"sensitive_features has {len(groups)} rows, expected {n_samples}, "
            "one per sample."
        )
    return groups


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


def keep_weighing(
    values: NDArray[np.float64], groups: Groups, weights: NDArray[Any] | None
) -> tuple[NDArray[np.float64], NDArray[np.integer], Any, NDArray[np.intp]]:
    """Leave out the rows without a group and those of weight zero.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
    groups : Groups of n_samples rows
    weights : ndarray of shape (n_samples,) or None

    Returns
    -------
    values, codes, weights : ndarray of shape (n_kept,), weights may be None
    counts : ndarray of shape (n_groups,)
        Rows kept of each group.

    Raises
    ------
    ValueError
        If every row of a group weighs zero.
    """
    codes, counts = groups.codes, groups.sizes()
    kept = None if counts.sum() == len(codes) else codes >= 0
    if weights is not None and not weights.all():
        kept = (codes >= 0) & (weights > 0)
    if kept is None:
        return values, codes, weights, counts
    values, codes = values[kept], codes[kept]
    weighing = count_codes(codes, len(counts))
    empty = [groups.labels[i] for i in np.flatnonzero((counts > 0) & (weighing == 0))]
    if empty:
        raise ValueError(
            f"sample_weight is zero for every row of the groups {empty}, expected a "
            "positive weight in each group."
        )
    return values, codes, None if weights is None else weights[kept], weighing


def columns_of(data: Any) -> tuple[list[str | None], list[Any]]:
    """Split one- or two-dimensional data into named columns.

    Parameters
    ----------
    data : array-like of shape (n_samples,) or (n_samples, n_columns)

    Returns
    -------
    names : list of str or None
    columns : list of native Series or ndarray of shape (n_samples,)

    Raises
    ------
    ValueError
        If `data` is not one- or two-dimensional.
    """
    frame = nw.from_native(data, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        series = list(frame.iter_columns())
        return [str(column.name) for column in series], [
            column.to_native() for column in series
        ]
    if isinstance(frame, nw.Series):
        return [None if frame.name in (None, "") else str(frame.name)], [data]
    if hasattr(data, "categories"):  # pandas.Categorical
        return [None], [data]
    array = np.asarray(data)
    if array.dtype.kind in "US" and not isinstance(data, np.ndarray):
        # NumPy turns [None, "F"] into strings on request only, but [nan, "F"] always.
        array = np.asarray(data, dtype=object)
    if array.ndim not in (1, 2):
        raise ValueError(
            "sensitive_features must have shape (n_samples,) or (n_samples, "
            f"n_columns), got an array of shape {array.shape}."
        )
    columns = [array] if array.ndim == 1 else list(array.T)
    return [None] * len(columns), columns

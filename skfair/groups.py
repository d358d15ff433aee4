"""Who belongs to which group and stratum: the only place that reads their columns."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import partial
from itertools import compress, pairwise, repeat
from numbers import Number
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skfair._utils._arrays import Integers
from skfair._utils._columns import Selector as Selector
from skfair._utils._columns import names_columns, open_frame, select_columns
from skfair._utils._text import all_digits, counted, listed, shown
from skfair._utils._validation import (
    ParameterError,
    as_array,
    check_choice,
    check_integer,
    check_length,
    count_rows,
)
from skfair._utils._warnings import warn_if_reordered, warn_user

__all__ = ["Groups", "encode_groups"]

#: A number in text, and its digits without zeros at the end; those before are a code.
_NUMBER = re.compile(r"(-?[0-9]+)(?:(\.[0-9]*[1-9])0*|\.0*)?")


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """Group membership of rows, as integer codes into a fixed list of labels.

    Metrics accept a `Groups` wherever they accept ``sensitive_features``, and
    scikit-learn splits one like any array. A subset keeps every label, so that metrics
    notice a fold without rows of a group, whatever container the labels came in.

    Attributes
    ----------
    codes : ndarray of shape (n_samples,)
        Position of each row's group in `labels`; -1 for a row left out because
        its group is missing.
    labels : tuple of length n_groups
        One label per group: the value itself, or a tuple of values for an
        intersection of several columns. Labels are the same in every container: scalars
        of Python, a date for a time at midnight, UTC for a time of a time zone, a float
        for a decimal number that it holds exactly as written.
    names : tuple of str
        Names of the sensitive columns, empty where the input had none.
    min_group_size : int
        Smallest number of rows with which a group can be compared. Metrics are
        undefined (nan, with a warning) if any group has fewer rows, or none.

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
        """Shape of `codes`, with which scikit-learn recognises an array."""
        return self.codes.shape

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Groups:
        return replace(self, codes=np.atleast_1d(self.codes[rows]))

    def __iter__(self) -> Iterator[Any]:
        """Labels of the rows: pandas would take what has none for a single value."""
        return iter(self.__array__())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Label of each row, None where it is missing, for functions of arrays."""
        if copy is False:
            raise ValueError(
                "The labels of Groups are made anew: copy must not be False."
            )
        labels: NDArray[Any] = np.empty(len(self.labels) + 1, dtype=object)
        labels[:-1] = self.labels
        values: NDArray[Any] = labels[self.codes]
        return values if dtype is None else values.astype(dtype)

    def __repr__(self) -> str:
        sizes = ", ".join(
            f"{label!r}: {size}"
            for label, size in zip(self.labels, self.sizes(), strict=True)
        )
        return f"Groups({len(self)} rows; {sizes})"

    def sizes(self) -> Integers:
        """Count the rows of each group.

        Returns
        -------
        ndarray of shape (n_groups,)
        """
        return count_codes(self.codes, len(self.labels))


def encode_groups(
    sensitive_features: ArrayLike | None,
    *,
    labels: Sequence[Hashable] | None = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    missing_values: Sequence[Hashable] | None = None,
    bins: Any = None,
    rare: Literal["keep", "drop", "merge"] = "keep",
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
        The expected groups, in the order wanted. By default the sorted distinct
        labels, and of a column whose type lists its levels all levels: a pandas
        categorical, a polars Enum, a PyArrow dictionary. Of several columns these are
        the combinations that occur, and all those with a level that has no row.
    missing : {"raise", "drop", "group"}, default="raise"
        What to do with NaN, None and other nulls: raise, leave those rows out of
        every computation, or treat them as one more value, ``"(missing)"``.
    missing_values : sequence of labels, default=None
        Labels that stand for missing values in every column, such as ``["NA", "?"]``.
        None warns of words that often do; an empty list says that none does.
    bins : list of numbers, or dict of column name -> list of numbers, default=None
        Increasing edges that make ranges of a column of numbers: ``[30, 50]`` stands
        for under 30, 30 to under 50, and 50 and over. Ranges without rows are not
        groups. Several columns need a dictionary.
    rare : {"keep", "drop", "merge"}, default="keep"
        What to do with groups of fewer than `min_group_size` rows: keep them, so that
        metrics are nan with a warning, leave their rows out of every computation, or
        merge them into one group, ``"(other)"``, which may be too small itself.
    min_group_size : int, default=1
        Smallest number of rows with which a group may be compared; for error rates,
        smallest number of rows of each true label.

    Returns
    -------
    Groups

    Raises
    ------
    ValueError
        If a value is missing and `missing` is ``"raise"``, if a label is not
        among `labels`, if columns hold probabilities of the groups, if
        `sensitive_features` has more than two dimensions, if `bins` do not increase
        or are given for text, if `bins` or `missing_values` are given for `Groups`, or
        if `rare` is given without `min_group_size`.
    TypeError
        If labels cannot be compared, such as sets, or `labels` or `missing_values` is
        not a list.

    Warns
    -----
    UserWarning
        If labels look alike but are not the same: the number 1 and the text "1", or
        texts that differ in spaces around them, in the encoding of an accent, or, as
        "1" and "1.0", in how they write a number. If labels are words for missing
        values: empty text, "NA", "N/A", "NaN", "NaT", "NULL", "None", "\\N", "?", "."
        or "-".

    See Also
    --------
    Groups : What it returns.
    skfair.metrics.values_by_stratum : Takes them as strata, too.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfair.groups import encode_groups
    >>> people = pd.DataFrame({"sex": ["F", "M", "F"], "race": ["x", "y", None]})
    >>> encode_groups(people, missing="group").labels
    (('F', 'x'), ('F', '(missing)'), ('M', 'y'))
    >>> encode_groups(["F", "?", "M"], missing_values=["?"], missing="drop")
    Groups(3 rows; 'F': 1, 'M': 1)
    >>> encode_groups([23, 31, 64, 38], bins=[30, 50])
    Groups(4 rows; 'under 30': 1, '30 to under 50': 2, '50 and over': 1)
    >>> encode_groups(list("aaabbc"), rare="merge", min_group_size=3)
    Groups(6 rows; 'a': 3, '(other)': 3)
    """
    check_choice("rare", rare, ("keep", "drop", "merge"))
    check_choice("missing", missing, ("raise", "drop", "group"))
    min_group_size = check_integer("min_group_size", min_group_size, 1)
    if isinstance(sensitive_features, Groups):
        groups = sensitive_features
        min_group_size = max(min_group_size, groups.min_group_size)
        for name, value in (("bins", bins), ("missing_values", missing_values)):
            if value is not None:
                raise ValueError(
                    f"{name} must be None for Groups, whose labels are known."
                )
    else:
        words = None
        if missing_values is not None:
            words = _list_of_labels("missing_values", missing_values, "labels")
        groups = _encode(sensitive_features, missing, "sensitive_features", bins, words)
    if rare != "keep":
        groups = _drop_rare(groups, rare, min_group_size)
    if labels is not None:
        groups = relabel_expected(groups, check_expected("labels", labels))
    return replace(groups, min_group_size=min_group_size)


def _list_of_labels(name: str, labels: Any, what: str) -> Labels:
    """Return the labels of a list that a user passes, as Python's types."""
    unordered = isinstance(labels, (str, set, frozenset))
    if unordered or not isinstance(labels, Iterable):
        raise TypeError(f"{name} must be a list of {what}, got {shown(labels)}.")
    labels = list(labels)
    check_hashable(labels, name, "position")
    return tuple(map(python_label, labels))


def resolve_groups(
    data: Any,
    *,
    n_samples: int,
    X: Any = None,
    selector: Selector | None = None,
    argument: str = "sensitive_features",
    missing_values: Labels | None = None,
) -> Groups:
    """Find the groups of `n_samples` rows: given labels, or else columns of X.

    Parameters
    ----------
    data : array-like of shape (n_samples,) or (n_samples, n_columns), Groups or None
        Given labels, which take precedence over `selector`.
    n_samples : int
        Number of rows that the groups must have.
    X : array-like or dataframe of shape (n_samples, n_features), default=None
        Data from which `selector` takes columns.
    selector : str, int, list of str, list of int, or callable, default=None
        Column name, column position, several of either (their intersection), or
        a function of X that returns group labels or a `Groups`.
    argument : str, default="sensitive_features"
        Name of the labels in messages.
    missing_values : tuple, default=None
        Labels that count as missing. None is none of them, and warns of words that
        often mean missing values.

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
    if data is None:
        if selector is None:
            raise ValueError(
                f"{argument} is None, expected labels of shape ({n_samples},) or "
                f"({n_samples}, n_columns), given by name: {argument}=labels."
            )
        data = select_columns(X, selector, argument)
    elif X is not None:
        warn_if_reordered(**{"X": X, argument: data})
    n_samples = check_integer("n_samples", n_samples, 0)
    if isinstance(data, Groups):
        groups = data
        _check_codes(groups, argument)
    else:
        groups = _encode(data, "raise", argument, missing_values=missing_values)
    if groups.codes.shape != (n_samples,):
        check_length(
            argument, len(groups), n_samples, tip_about_length(data, n_samples)
        )
    return groups


#: Finds the strata of rows, within which groups are compared, as groups are found. True
#: labels may be strata, too. Rows with the code -1, as `encode_groups(...,
#: missing="drop")` gives them to missing values, belong to no stratum. Strata of fewer
#: rows than the `min_group_size` of their `Groups` are left out.
resolve_strata = partial(resolve_groups, argument="control_features")


def _check_codes(groups: Groups, argument: str) -> None:
    """Raise unless codes, which a user may have made, are positions of labels or -1."""
    codes, n_labels = groups.codes, len(groups.labels)
    valid = isinstance(codes, np.ndarray) and codes.dtype.kind in "iu"
    valid = valid and codes.ndim == 1
    if valid and codes.size:
        valid = bool(codes.min() >= -1 and codes.max() < n_labels)
    if not valid:
        raise ValueError(
            f"{argument} must be Groups whose codes are an array of whole numbers from "
            f"-1 to {n_labels - 1}, positions among {n_labels} labels, got "
            f"{shown(codes)}."
        )


def tip_about_length(data: Any, n_samples: int) -> str:
    """Say what to pass if labels are names of columns, or the labels of all folds."""
    if len(data) > n_samples:
        return (
            " In cross-validation, get_fairness_scorer(..., sensitive_features="
            "<column of X>) takes the groups of each fold."
        )
    names = isinstance(data, list) and all(isinstance(value, str) for value in data)
    if not names or len(data) > _MOST_NAMES:
        return ""
    return f" If these are names of columns, pass their values: table[{data!r}]."


def labels_and_groups(
    resolve: Callable[..., Groups], data: Any, X: Any
) -> tuple[Any, Selector | None, Groups]:
    """Return labels given beside X, or the columns of X that are named, and groups.

    Either the labels or the columns are None. `resolve` finds the groups or the strata.
    """
    n_samples = count_rows(X)
    labels, selector = data, None
    if names_columns(data, n_samples):
        labels, selector = None, data
    groups = resolve(labels, n_samples=n_samples, X=X, selector=selector)
    return labels, selector, groups


#: Texts that stand for a missing value, in lower case: those that containers make, and
#: those that R, SQL, spreadsheets and people write.
MISSING_WORDS = (
    *("", "nan", "nat", "<na>", "na", "n/a", "#n/a", "null", "none", "\\n", "missing"),
    *("?", ".", "-"),
)


def _encode(
    data: Any,
    missing: str,
    argument: str,
    bins: Any = None,
    missing_values: Labels | None = None,
) -> Groups:
    """Encode labels in any container; `argument` names them in messages."""
    names, columns = columns_of(data, argument)
    words = missing_values or ()
    if bins is not None:
        columns = _cut_into_ranges(names, columns, bins, words)
    if len(columns) > 1:
        check_no_probabilities(columns, argument)
    encoded = [
        encode_column(column, missing, name, argument, words)
        for name, column in zip(names, columns, strict=True)
    ]
    if missing_values is None:
        warn_of_missing_words(encoded, argument)
    codes, labels = intersect(encoded, argument)
    return Groups(codes, labels, tuple(filter(None, names)))


def warn_of_missing_words(
    encoded: Sequence[tuple[Codes, Labels]], argument: str = "sensitive_features"
) -> None:
    """Warn of labels with rows that often mean missing values."""
    words = [
        label
        for codes, labels in encoded
        for i, label in enumerate(labels)
        if isinstance(label, str) and label != "none"  # as an answer: no religion
        if label.casefold() in MISSING_WORDS and (codes == i).any()
    ]
    if not words:
        return
    quoted = [repr(word) for word in dict.fromkeys(words)]
    single = len(quoted) == 1
    warn_user(
        f"{argument} has the {'label' if single else 'labels'} "
        f"{listed(quoted)}, which "
        f"{'looks like a missing value' if single else 'look like missing values'}: "
        f"encode_groups(..., missing_values=[{', '.join(quoted)}]) makes such "
        "rows missing, and missing_values=[] groups."
    )


def warn_of_look_alikes(labels: Iterable[Hashable], argument: str) -> None:
    """Warn of labels that look the same: in spaces, accents, or as 1 and "1.0"."""
    labels = list(labels)
    if {*map(type, labels)} <= {int, float, bool}:
        return
    seen: dict[Hashable, Hashable] = {}
    for label in labels:
        other = seen.setdefault(normalize_label(label), label)
        if other is not label:
            warn_user(
                f"{argument} has the labels {other!a} and {label!a}, which "
                "look alike but are not the same."
            )
            return


def normalize_label(label: Any) -> Hashable:
    """Return the text of a label as people see it, a number without last zeros."""
    if isinstance(label, tuple):
        return tuple(map(normalize_label, label))
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    text = unicodedata.normalize("NFC", str(label)).strip()
    number = _NUMBER.fullmatch(text)
    return "".join(number.groups("")) if number else text


def _cut_into_ranges(
    names: list[str | None],
    columns: list[Any],
    bins: Any,
    missing_values: Labels,
) -> list[Any]:
    """Replace the numbers of the columns in `bins` by their ranges."""
    if not isinstance(bins, Mapping):
        if len(columns) > 1:
            raise ValueError(
                "bins must be a dictionary of column name -> edges for "
                f"{len(columns)} columns, got {bins!r}."
            )
        bins = {names[0]: bins}
    unknown = [name for name in bins if name not in names]
    if unknown:
        raise ValueError(f"bins has the column {unknown[0]!r}, expected {names}.")
    return [
        cut_into_ranges(
            column,
            bins[name],
            f" of column {name!r}" if name else "",
            missing_values=missing_values,
        )
        if name in bins
        else column
        for name, column in zip(names, columns, strict=True)
    ]


def cut_into_ranges(
    column: Any,
    edges: Any,
    which: str = "",
    name_ranges: Callable[[list[float]], list[str]] | None = None,
    missing_values: Labels = (),
) -> pd.Series[Any]:
    """Replace numbers by their ranges; an edge begins a range."""
    try:
        ends = np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError):
        ends = np.array([np.nan])
    increasing = ends.ndim == 1 and len(ends) and np.isfinite(ends).all()
    if not increasing or (np.diff(ends) <= 0).any():
        raise ValueError(
            f"bins{which} must be a list of increasing numbers, got {edges!r}."
        )
    if not isinstance(column, (pd.Series, pd.Categorical, np.ndarray)):
        column = _to_pandas_or_numpy(column)
    values = pd.Series(column).astype(object)
    values = values.mask(values.isin(missing_values), None)
    numbers = pd.to_numeric(values, errors="coerce")
    bad = values.notna() & numbers.isna()
    if bad.any():
        raise ValueError(f"bins{which} need numbers, got {values[bad].iloc[0]!r}.")
    labels = (name_ranges or _name_ranges)(ends.tolist())
    # The last range has no upper end, which `pandas.cut` would leave out.
    finite = numbers.astype(np.float64).clip(upper=np.finfo(np.float64).max)
    ranges = pd.cut(finite, [-np.inf, *ends, np.inf], right=False, labels=labels)
    return ranges.cat.remove_unused_categories()


def _name_ranges(edges: list[float]) -> list[str]:
    """Name the ranges between edges, below the first and above the last."""
    numbers = [all_digits(edge) for edge in edges]
    between = [f"{low} to under {high}" for low, high in pairwise(numbers)]
    return [f"under {numbers[0]}", *between, f"{numbers[-1]} and over"]


def suggest_edges(values: Iterable[Any], counts: ArrayLike) -> list[float]:
    """Return round edges of four ranges of numbers with about as many rows."""
    numbers = np.repeat(np.array([*values], dtype=np.float64), np.asarray(counts))
    quartiles = np.unique(np.quantile(numbers, [0.25, 0.5, 0.75]))
    for n_digits in range(2, 18):  # years of birth take more than two
        edges = np.unique([float(f"{edge:.{n_digits}g}") for edge in quartiles])
        if len(edges) == len(quartiles):
            break
    return [int(edge) if edge == int(edge) else edge for edge in edges.tolist()]


def _drop_rare(groups: Groups, rare: str, min_group_size: int) -> Groups:
    """Leave out groups with too few rows, or merge them into one, which is last."""
    is_rare = groups.sizes() < min_group_size
    frequent = keep_labels(groups, ~is_rare)
    check_rare(rare, min_group_size, frequent.labels)
    if not is_rare.any():
        return groups
    if rare == "drop":
        return frequent
    labels = (*frequent.labels, OTHER_LABEL)
    other = (frequent.codes < 0) & (groups.codes >= 0)
    codes = np.where(other, len(frequent.labels), frequent.codes)
    return replace(groups, codes=_smallest(codes, len(labels)), labels=labels)


def check_rare(rare: str, min_group_size: int, labels: Iterable[Hashable]) -> None:
    """Raise where no group can be rare, or a group has the name of merged groups."""
    if min_group_size < 2:
        raise ParameterError(
            "min_group_size",
            f"must be above 1 with rare={rare!r}, since groups with fewer rows are "
            f"rare, got {min_group_size}.",
        )
    if rare == "merge" and OTHER_LABEL in labels:
        raise ParameterError(
            "rare", f"must not be 'merge' where a group is {OTHER_LABEL!r}."
        )


Codes = NDArray[np.integer]
Labels = tuple[Hashable, ...]

#: Joins the names of attributes, or of groups, whose intersection is meant.
CROSS = " \u00d7 "
#: So many texts may be names of columns that were given in place of labels.
_MOST_NAMES = 5
#: Label of the group that missing values form under ``missing="group"``.
MISSING_LABEL = "(missing)"
#: Label of the group that rare groups are merged into under ``rare="merge"``.
OTHER_LABEL = "(other)"
#: Up to this many codes are counted by one comparison each, which is faster.
_MAX_COMPARED = 8
#: Integer labels that span less than this are counted instead of hashed.
_MAX_SPAN = 2**16


def columns_of(
    data: Any, argument: str = "sensitive_features"
) -> tuple[list[str | None], list[Any]]:
    """Split one- or two-dimensional data into names and columns."""
    if isinstance(data, pd.MultiIndex):
        data = data.to_frame(allow_duplicates=True)
    elif isinstance(data, pd.Index):  # narwhals knows no index of categories
        data = data.to_series()
    if isinstance(data, pd.DataFrame):  # narwhals refuses columns of the same name
        series = [data.iloc[:, i] for i in range(data.shape[1])]
        return [str(name) for name in data.columns], series
    if not isinstance(data, np.ndarray):
        frame = open_frame(
            data, argument, eager_only=True, allow_series=True, pass_through=True
        )
        if isinstance(frame, nw.DataFrame):
            series = list(frame.iter_columns())
            names = [str(column.name) for column in series]
            return [*names], [column.to_native() for column in series]
        if isinstance(frame, nw.Series):
            return [None if frame.name in (None, "") else str(frame.name)], [data]
        if hasattr(data, "categories"):  # pandas.Categorical
            return [None], [data]
    if isinstance(data, np.ma.MaskedArray) and np.any(data.mask):
        mask, data = data.mask, np.array(data, dtype=object)
        data[mask] = None  # masked entries are missing
    array = as_array(data, argument)
    if array.ndim > 2:
        raise ValueError(
            f"{argument} must have shape (n_samples,) or (n_samples, n_columns), got "
            f"an array of shape {array.shape}."
        )
    columns = [array] if array.ndim == 1 else list(array.T)
    return [None] * len(columns), columns


def encode_column(
    column: Any,
    missing: str,
    name: str | None,
    argument: str = "sensitive_features",
    missing_values: Labels = (),
) -> tuple[Codes, Labels]:
    """Encode one column of labels, with -1 for the rows that are left out.

    Labels are sorted, or in the order of the categories of a categorical column. Those
    in `missing_values` are left out, too.
    """
    codes, labels = _factorize(column, argument)
    absent = set(labels) & set(missing_values)
    if absent:
        present = tuple(label for label in labels if label not in absent)
        codes, labels = recode(codes, labels, present), present
    warn_of_look_alikes(labels, argument)
    never_missing = isinstance(column, np.ndarray) and column.dtype.kind in "biu"
    never_missing &= not absent
    n_missing = 0 if never_missing else int(np.count_nonzero(codes < 0))
    if n_missing and missing == "raise":
        where, tip = "", ""
        if name is not None:
            where = f" in column {name!r}"
            tip = (
                ", and in place of the name of a column of X a function: "
                f"lambda X: encode_groups(X[{name!r}], missing='group')"
            )
        n_values = counted(n_missing, "missing value")
        raise ValueError(
            f"{argument} has {n_values}{where}, expected none. In place of labels pass "
            "skfair.groups.encode_groups(labels, missing='group')"
            " to make these rows a group, or missing='drop' to leave them out"
            f"{tip}."
        )
    if n_missing and missing == "group":
        # A label of that very name means the same thing, so the two are merged.
        if MISSING_LABEL not in labels:
            labels = (*labels, MISSING_LABEL)
            codes = _smallest(codes, len(labels))
        codes = np.where(codes < 0, labels.index(MISSING_LABEL), codes)
    return codes, labels


def _factorize(column: Any, argument: str) -> tuple[Codes, Labels]:
    """Encode one column of any library, with -1 for missing values."""
    if not isinstance(column, (pd.Series, pd.Categorical, np.ndarray)):
        column = _to_pandas_or_numpy(column)
    if not isinstance(column, np.ndarray) and is_dictionary(column):
        column = decode_dictionary(column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        categorical = pd.Categorical(column)
        return _simplify_labels(
            categorical.codes, categorical.categories.tolist(), in_order=True
        )
    if isinstance(column, pd.Series) and isinstance(column.dtype, np.dtype):
        column = column.to_numpy()
    if isinstance(column, np.ndarray):  # pandas hashes the native byte order only
        column = column.astype(column.dtype.newbyteorder("="), copy=False)
    if isinstance(column, np.ndarray) and column.dtype.kind in "biu" and column.size:
        counted = _factorize_integers(column)
        if counted is not None:
            return counted
    if isinstance(column, np.ndarray) and column.dtype.kind in "US":
        column = column.astype(object)
    if column.dtype.kind in "mM":  # NumPy's dates become integers in a list
        column = pd.Series(column)
    try:
        codes, values = pd.factorize(column)
    except (TypeError, NotImplementedError):
        check_hashable(column, argument)
        raise
    return _simplify_labels(codes, values.tolist(), in_order=False)


def _to_pandas_or_numpy(column: Any) -> Any:
    """Convert a Series of another library without changing its values."""
    series = nw.from_native(column, series_only=True)
    if isinstance(series.dtype, nw.Enum):
        return pd.Categorical(series.to_list(), list(series.dtype.categories))
    if isinstance(series.dtype, nw.Categorical) and series.implementation.is_pyarrow():
        return decode_dictionary(series.to_native())
    if series.dtype.is_nested():
        return np.fromiter(series.to_list(), dtype=object)
    if isinstance(series.dtype, nw.Datetime):
        values = pd.Series(series.to_numpy())  # in UTC
        return values.dt.tz_localize("UTC") if series.dtype.time_zone else values
    if series.null_count():  # NumPy would turn whole numbers into floats
        return np.array(series.to_list(), dtype=object)
    return series.to_numpy()


def is_dictionary(column: Any) -> bool:
    """Return whether a column is a dictionary of PyArrow in a Series of pandas."""
    dtype = column.dtype
    return isinstance(dtype, pd.ArrowDtype) and dtype.type is pd.CategoricalDtype.type


def decode_dictionary(column: Any) -> pd.Categorical:
    """Read a dictionary of PyArrow, whose entries are the categories."""
    import pyarrow as pa

    array = pa.array(column.array) if isinstance(column, pd.Series) else column
    chunks = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    parts = chunks.unify_dictionaries().chunks
    if not parts:
        return pd.Categorical([])
    # Some versions of PyArrow convert no dictionary with unsigned positions to pandas.
    codes = [part.indices.cast(pa.int64()).fill_null(-1).to_numpy() for part in parts]
    categories = pd.Index(parts[0].dictionary.to_pandas())
    return pd.Categorical.from_codes(np.concatenate(codes), categories)


def _simplify_labels(
    codes: NDArray[Any], values: list[Any], in_order: bool
) -> tuple[Codes, Labels]:
    """Encode by labels of Python's types, which are sorted unless `in_order`.

    NaN is missing, also where pandas tells it from NA, and so is a label of several
    columns with a missing value among them.
    """
    if not {*map(type, values)} <= _NEVER_MISSING:
        values = [None if _is_missing(v) else python_label(v) for v in values]
    distinct = dict.fromkeys(values)
    distinct.pop(None, None)
    labels = [*distinct] if in_order else sort_labels(distinct)
    return recode(codes, values, tuple(labels)), tuple(labels)


def _is_missing(label: Any) -> bool:
    """Return whether a label, or a part of it, is missing."""
    return any(map(pd.isna, label if isinstance(label, tuple) else (label,)))


#: Labels of these types are as they are in every container; a float may be NaN.
_PLAIN = {str, int, float, bool}
_NEVER_MISSING = _PLAIN - {float}


def python_label(label: Any) -> Any:
    """Return the label that the same value has in every container.

    Scalars of NumPy and pandas become scalars of Python. A time at midnight is a date,
    since pandas has no dates; a time with a time zone is in UTC, since some libraries
    keep no time zone. A decimal number is a float, unless that would change it.
    """
    if type(label) in _PLAIN:
        return label
    if isinstance(label, tuple):
        return tuple(map(python_label, label))
    if isinstance(label, np.datetime64):
        label = pd.Timestamp(label)
    if isinstance(label, np.timedelta64):
        label = pd.Timedelta(label)
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, Decimal):
        number = float(label)
        return number if Decimal(repr(number)) == label else label
    if isinstance(label, pd.Timedelta) and not label.nanoseconds:
        return label.to_pytimedelta()
    return _python_time(label) if isinstance(label, datetime) else label


def map_labels(
    name: str, by_label: Mapping[Any, Any] | pd.Series[Any]
) -> dict[Hashable, Any]:
    """Return the values of a mapping by the labels that groups have."""
    items = [(python_label(label), value) for label, value in by_label.items()]
    by_plain = dict(items)
    if len(by_plain) < len(items):
        label, _ = Counter(label for label, _ in items).most_common(1)[0]
        raise ValueError(f"{name} must name each group once, got {label!r} repeatedly.")
    return by_plain


def check_kinds_of_labels(
    names: str, first: Iterable[Hashable], second: Iterable[Hashable]
) -> None:
    """Raise if no label of one argument can equal any of the other.

    Text never equals a number; numbers, True and False are of one kind. Warns of labels
    -1 and 1 in one argument beside 0 and 1 in the other.
    """
    ours, theirs = list(first), list(second)
    if ours and theirs and not {*map(_kind, ours)} & {*map(_kind, theirs)}:
        raise ValueError(
            f"{names} must both be text or both be numbers, got {ours[0]!r} and "
            f"{theirs[0]!r}."
        )
    apart = {*ours} ^ {*theirs}
    three = {*ours, *theirs} == {-1, 0, 1}
    if three and {-1, 0} <= apart and len({-1, 0} & {*ours}) == 1:
        warn_user(
            f"{names} hold the labels -1, 0 and 1, three classes: one of them has -1 "
            "and not 0, the other 0 and not -1. If both are negative, write them alike."
        )


def _kind(label: Any) -> str:
    """Name the type of a label; equal labels have the same type."""
    label = python_label(label)
    return "number" if isinstance(label, Number) else type(label).__name__


def _python_time(label: datetime) -> Any:
    """Return a date for midnight, else a time of Python, in UTC if in a time zone.

    A time with nanoseconds stays a time of pandas.
    """
    if label.tzinfo is not None:
        label = label.astimezone(UTC)
    if isinstance(label, pd.Timestamp):
        if label.nanosecond:
            return label
        label = label.to_pydatetime()
    midnight = label.tzinfo is None and label.time() == time()
    return label.date() if midnight else label


def check_hashable(values: Iterable[Any], argument: str, place: str = "row") -> None:
    """Raise if a label, such as a set, cannot be compared with others."""
    for position, value in enumerate(values):
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"{argument} must hold text, numbers, dates or other hashable labels, "
                f"got {value!r} in {place} {position}."
            ) from None


#: More than the rounding of probabilities, whose sum is 1.
NEAR_ONE = 1e-6


def check_no_probabilities(columns: Sequence[Any], argument: str) -> None:
    """Raise if columns hold the probabilities of the groups in place of labels."""
    if len(columns) < 2:
        return
    arrays = []
    for column in columns:
        readable = isinstance(column, (pd.Series, pd.Categorical, np.ndarray))
        arrays.append(np.asarray(column if readable else _to_pandas_or_numpy(column)))
        if arrays[-1].dtype.kind != "f":
            return
    table = np.column_stack(arrays)
    if not ((table >= 0) & (table <= 1)).all():
        return
    labels = ((table == 0) | (table == 1)).all()  # one column of 0 and 1 for each group
    if len(table) and not labels and (abs(table.sum(axis=1) - 1) <= NEAR_ONE).all():
        raise ValueError(
            f"{argument} must be labels, got {len(columns)} columns of numbers that "
            f"add up to 1 in each row, such as {table[0].tolist()}, which look like "
            "probabilities of the groups. Pass one label for each row, or the "
            "probabilities to skfair.metrics.proxy_bounds."
        )


def _factorize_integers(column: NDArray[Any]) -> tuple[Codes, Labels] | None:
    """Encode integers of a small span without hashing; None for a wide span."""
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


def intersect(
    columns: list[tuple[Codes, Labels]], argument: str = "sensitive_features"
) -> tuple[Codes, Labels]:
    """Combine encoded columns into the groups of their intersection.

    The groups are the combinations that occur, and all combinations with an expected
    level: a label that has no row in its column. Labels of several columns are tuples
    of values; a row that is left out of any column has the code -1.
    """
    if not columns:
        raise ValueError(f"{argument} has no columns, expected at least one.")
    if len(columns) == 1:
        return columns[0]
    codes, labels = columns[0][0], tuple((label,) for label in columns[0][1])
    for more_codes, more_labels in columns[1:]:
        pair = codes.astype(np.int64) * len(more_labels) + more_codes
        pair[(codes < 0) | (more_codes < 0)] = -1
        absent = _pairs_of_absent(
            count_codes(codes, len(labels)), count_codes(more_codes, len(more_labels))
        )
        codes, present = pd.factorize(pair, sort=True)  # faster than numpy.unique
        if present.size and present[0] < 0:
            present, codes = present[1:], codes - 1
        if absent.size:
            occurring, present = present, np.union1d(present, absent)
            codes = recode(codes, occurring.tolist(), tuple(present.tolist()))
        first, second = np.divmod(present, max(len(more_labels), 1))
        labels = tuple(
            (*labels[i], more_labels[j]) for i, j in zip(first, second, strict=True)
        )
        codes = _smallest(codes, len(labels))
    return codes, labels


def _pairs_of_absent(first: Integers, second: Integers) -> Integers:
    """Find pairs of labels of two columns where either label has no rows.

    `first` and `second` are the rows of each label. A pair has the position of its
    first label times the number of second labels, plus the position of its second.
    """
    n = len(second)
    first_absent = np.flatnonzero(first == 0)[:, None] * n + np.arange(n)
    second_absent = np.arange(len(first))[:, None] * n + np.flatnonzero(second == 0)
    return np.union1d(first_absent, second_absent)


def check_expected(argument: str, expected: Any) -> Labels:
    """Return the labels of expected groups, which must be a list of distinct ones."""
    labels = _list_of_labels(argument, expected, "groups")
    repeated = [label for label, count in Counter(labels).items() if count > 1]
    if repeated:
        raise ValueError(f"{argument} must be distinct, got {repeated} repeatedly.")
    return labels


def relabel_expected(groups: Groups, labels: Labels) -> Groups:
    """Express groups by the expected labels, which must include all that have rows."""
    expected = set(labels)
    present = set(np.unique(groups.codes).tolist())
    unknown = [
        label
        for i, label in enumerate(groups.labels)
        if i in present and label not in expected
    ]
    if unknown:
        raise ValueError(
            f"sensitive_features has unknown groups {unknown[:5]}, expected only "
            f"{list(labels[:5])}."
        )
    return relabel(groups, labels)


def relabel(groups: Groups, labels: Labels) -> Groups:
    """Express groups by other labels; rows of labels not among these get -1."""
    codes = recode(groups.codes, groups.labels, labels)
    return replace(groups, codes=codes, labels=labels)


def keep_labels(groups: Groups, mask: Iterable[Any]) -> Groups:
    """Keep the labels where `mask` is True."""
    return relabel(groups, tuple(compress(groups.labels, mask)))


def recode(codes: NDArray[Any], before: Sequence[Hashable], labels: Labels) -> Codes:
    """Turn positions in `before` into positions in `labels`, -1 where there is none."""
    position = dict(zip(labels, range(len(labels)), strict=True))
    # The last entry serves the rows left out, whose code is -1.
    lookup = np.array([*map(position.get, before, repeat(-1)), -1])
    return _smallest(lookup[codes], len(labels))


def _smallest(codes: NDArray[Any], n_labels: int) -> Codes:
    """Store codes in as few bytes as the number of labels allows."""
    dtype = np.int8 if n_labels <= 127 else np.int16 if n_labels <= 32767 else np.int32
    return codes.astype(dtype)


def count_codes(codes: Codes, n_labels: int) -> Integers:
    """Count the rows of each code, those left out (-1) excepted."""
    if n_labels <= _MAX_COMPARED:
        counts = np.empty(n_labels, dtype=np.intp)
        for code in range(n_labels):
            counts[code] = np.count_nonzero(codes == code)
        return counts
    if codes.size and codes.min() < 0:
        codes = codes[codes >= 0]
    return np.bincount(codes, minlength=n_labels)


def sum_by_code(codes: Codes, values: NDArray[Any], n_labels: int) -> NDArray[Any]:
    """Sum a number of the rows of each code, those left out (-1) excepted."""
    coded = codes >= 0
    return np.bincount(codes[coded], values[coded], n_labels)


def rows_by_code(
    codes: NDArray[np.integer], n_labels: int | None = None
) -> list[Integers]:
    """Return the positions of the rows of each code, those left out (-1) excepted.

    Without `n_labels` the largest code that a row has is the last one.
    """
    order = np.argsort(codes, kind="stable")
    n_labels = int(codes.max(initial=-1)) + 1 if n_labels is None else n_labels
    starts = np.searchsorted(codes[order], np.arange(n_labels + 1))
    return np.split(order, starts)[1:-1]


def sort_labels(labels: Iterable[Hashable]) -> list[Any]:
    """Sort labels, by type and text where types do not compare.

    Texts of ranges, such as `bins` makes, are sorted by the numbers in them.
    """
    labels = list(labels)
    texts = [label for label in labels if isinstance(label, str)]
    are_ranges = len(texts) == len(labels) and all(map(_RANGE.fullmatch, texts))
    if are_ranges and not all(map(str.isdecimal, texts)):
        return sorted(texts, key=_ends_of_range)
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=_type_and_text)


#: Text of a range: "under 26", "26 to under 40", "40 and over", "[26, 40)", "26-39".
_RANGE = re.compile(
    r"(?:under |<)?\d+(?:\.\d+)?(?: and over|\+)?"
    r"|\d+(?:\.\d+)?(?: to | to under |-)\d+(?:\.\d+)?"
    r"|[\[(](?:-inf|\d+(?:\.\d+)?), (?:inf|\d+(?:\.\d+)?)[\])]"
)


def _ends_of_range(label: str) -> tuple[float, float, str]:
    """Return a sort key for a range: its smallest number, and its largest."""
    ends = [float(end) for end in re.findall(r"inf|\d+(?:\.\d+)?", label)]
    if label.startswith(("under", "<", "[-", "(-")):
        ends.insert(0, -math.inf)
    return ends[0], ends[-1], label


def _type_and_text(label: Any) -> tuple[str, str]:
    """Return a sort key for labels whose types do not compare."""
    kind = "date" if isinstance(label, date) else type(label).__name__
    return kind, str(label)


def join_labels(first: Labels, second: Labels) -> Labels:
    """Return the labels of two tables together, as the joined rows would have them."""
    if set(second) <= set(first):
        return first
    if set(first) <= set(second):
        return second
    labels = tuple(sort_labels({*first, *second}))
    warn_of_look_alikes(labels, "the sum of tables")
    return labels


def join_groups(first: Any, second: Any) -> tuple[Labels, tuple[str, ...], int]:
    """Return the labels, names and `min_group_size` of two tables together.

    Warns of columns of different names, which may hold different attributes.
    """
    names = first.names if first.names == second.names else ()
    if first.names and second.names and not names:
        ours, theirs = (CROSS.join(groups.names) for groups in (first, second))
        warn_user(
            f"tables of the columns {ours!r} and {theirs!r} are added: their "
            "groups count as those of one attribute. If the columns are the same, give "
            "them the same name."
        )
    return (
        join_labels(first.labels, second.labels),
        names,
        max(first.min_group_size, second.min_group_size),
    )


def positions_in(labels: Labels, sought: Labels) -> Integers:
    """Return the position in `labels` of each label in `sought`."""
    position = {label: i for i, label in enumerate(labels)}
    return np.array([position[label] for label in sought], dtype=np.intp)


def refuse_weightless(
    labels: Sequence[Hashable], counts: Integers, n_positive: Integers
) -> None:
    """Raise where a group has rows, but none of a positive weight."""
    weightless = np.flatnonzero((counts > 0) & (n_positive == 0))
    empty = [labels[i] for i in weightless.tolist()]
    if empty:
        raise ValueError(
            f"sample_weight is zero for every row of the groups {empty}, expected a "
            "positive weight in each group."
        )


def check_groups_have_weight(groups: Groups, weights: NDArray[Any] | None) -> None:
    """Raise where a group has rows, but none of a positive weight."""
    if weights is None or weights.all():
        return
    codes, n_groups = groups.codes, len(groups.labels)
    n_positive = count_codes(codes[weights > 0], n_groups)
    refuse_weightless(groups.labels, count_codes(codes, n_groups), n_positive)


def n_columns_of(labels: Sequence[Any]) -> int:
    """Count the columns of the labels: the length of tuples of one length, else 1."""
    lengths = {len(label) if isinstance(label, tuple) else 1 for label in labels}
    return lengths.pop() if len(lengths) == 1 else 1


def label_array(groups: Groups) -> NDArray[Any]:
    """Return the label of each row as an array that can be compared; no row lacks one.

    The array holds numbers where all labels are numbers of one type, else objects.
    """
    labels = _join_labels(groups).labels
    kinds = {*map(type, labels)}
    values: NDArray[Any] = np.empty(len(labels), dtype=object)
    values[:] = labels
    if len(kinds) == 1 and kinds <= {bool, int, float}:
        with suppress(OverflowError):  # a whole number of more than 64 bits
            values = values.astype(kinds.pop())
    row_labels: NDArray[Any] = values[groups.codes]
    return row_labels


def _join_labels(groups: Groups) -> Groups:
    """Write the label of each intersection of columns as a text.

    A function that compares an array of labels with each label cannot take tuples.
    """
    if n_columns_of(groups.labels) == 1:
        return groups
    several: Any = groups.labels
    labels = tuple(CROSS.join(map(str, label)) for label in several)
    distinct = len(set(labels)) == len(labels)
    return replace(groups, labels=labels, names=()) if distinct else groups


def group_index(labels: Sequence[Any], names: Sequence[str]) -> pd.Index:
    """Return the index of the groups of a table, with a level for each column."""
    if n_columns_of(labels) > 1:
        return pd.MultiIndex.from_tuples(labels, names=list(names) or None)
    name = names[0] if len(names) == 1 else None
    index: pd.Index = pd.Index(list(labels), name=name, tupleize_cols=False)
    return index

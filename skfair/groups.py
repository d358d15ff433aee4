"""Who belongs to which group: the one place that reads ``sensitive_features``."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from skfair._columns import Selector, columns_of, select_columns
from skfair._encoding import count_codes, encode_column, intersect, relabel
from skfair._parameters import check_choice, check_integer

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

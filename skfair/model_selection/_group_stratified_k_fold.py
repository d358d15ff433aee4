"""Folds that each hold their part of every group and class."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import (
    assert_all_finite,
    check_consistent_length,
    check_random_state,
    column_or_1d,
)
from sklearn.utils.multiclass import type_of_target

from skfair._utils._validation import check_choice, check_integer, count_rows
from skfair.groups import Groups, Selector, resolve_groups
from skfair.model_selection._dealing import deal_rows, splits_of

_MAX_LISTED = 5


class GroupStratifiedKFold(BaseCrossValidator):  # type: ignore[misc]
    """K-fold splitter that stratifies by class and group together.

    With scikit-learn's `StratifiedKFold` small groups vanish from folds, and fairness
    scores there are nan. Here the numbers of rows of any group, and of any class in
    it, differ by one at most between folds: a group with `n_splits` rows or more is
    in every fold.

    The groups come from columns of X that `sensitive_features` names, from
    ``sensitive_features=`` by metadata routing (requested by default), or from
    ``groups=``, scikit-learn's name for what splitters are given.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=False
        Whether to shuffle the rows first. Otherwise those of each class and group are
        dealt out in their order, one to each fold in turn.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling; must be None without it.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of X that says the group, several for their intersection, or a function
        of X.

    See Also
    --------
    sklearn.model_selection.StratifiedKFold : Stratifies by class alone.
    sklearn.model_selection.StratifiedGroupKFold : Does the contrary with groups: each
        is kept in one fold.

    Notes
    -----
    A class with fewer rows in a group than there are folds cannot be in every fold.
    It is merged with the rest of its group, with a warning: its rows go to the folds
    that have fewest of the group.

    Rows whose group is left out (see `skfair.groups.encode_groups`) are dealt out like
    a group of their own.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.model_selection import GroupStratifiedKFold
    >>> X, y = np.zeros((12, 1)), np.tile([0, 1], 6)
    >>> sex = np.repeat(["F", "M"], [4, 8])
    >>> folds = GroupStratifiedKFold(n_splits=2)
    >>> for _, test in folds.split(X, y, groups=sex):
    ...     print(sex[test].tolist(), y[test].tolist())
    ['F', 'F', 'M', 'M', 'M', 'M'] [0, 1, 0, 1, 0, 1]
    ['F', 'F', 'M', 'M', 'M', 'M'] [0, 1, 0, 1, 0, 1]
    """

    __metadata_request__split: ClassVar = {"sensitive_features": True}

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        random_state: Any = None,
        sensitive_features: Selector | None = None,
    ) -> None:
        check_integer("n_splits", n_splits, 2)
        check_choice("shuffle", shuffle, (True, False))
        if random_state is not None and not shuffle:
            raise ValueError(
                f"random_state must be None without shuffling, got {random_state!r}. "
                "Set shuffle=True."
            )
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.sensitive_features = sensitive_features

    def get_n_splits(
        self,
        X: Any = None,
        y: Any = None,
        groups: Any = None,
        *,
        sensitive_features: Any = None,
    ) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups, sensitive_features : object, default=None
            Ignored.

        Returns
        -------
        int
        """
        return self.n_splits

    def split(
        self,
        X: Any,
        y: ArrayLike,
        groups: Any = None,
        *,
        sensitive_features: Any = None,
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Split rows into training and test rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data. Only the columns that say the group are read.
        y : array-like of shape (n_samples,)
            Class labels.
        groups : array-like of shape (n_samples,) or (n_samples, n_columns), or \
Groups, default=None
            Group of each row, which wins over the column that the splitter names.
        sensitive_features : array-like, default=None
            The same under the name by which it is routed.

        Yields
        ------
        train, test : ndarray of int
            Positions of rows, increasing.

        Raises
        ------
        ValueError
            Without groups or with two of them, on wrong lengths, on labels that are
            no classes, and if all classes have fewer rows than there are folds.

        Warns
        -----
        UserWarning
            If a class has fewer rows in a group than there are folds, naming both;
            if a whole group has, its absence from folds is told.
        """
        if groups is not None and sensitive_features is not None:
            raise ValueError(
                "groups and sensitive_features mean the same here, expected one of "
                "them, got both."
            )
        given = groups if sensitive_features is None else sensitive_features
        n_samples = count_rows(X)
        classes, codes = _encode_classes(X, y, self.n_splits)
        found = resolve_groups(
            given, n_samples=n_samples, X=X, selector=self.sensitive_features
        )
        _warn_of_small_cells(classes, codes, found, self.n_splits)
        random = check_random_state(self.random_state) if self.shuffle else None
        folds = deal_rows(codes, found.codes, self.n_splits, random)
        yield from splits_of(folds, self.n_splits)


def _encode_classes(
    X: Any, y: Any, n_splits: int
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    check_consistent_length(X, y)
    kind = type_of_target(y, input_name="y")
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"y must be labels of classes, got a target of type {kind}.")
    y = column_or_1d(y)
    assert_all_finite(y, input_name="y")
    classes, codes = np.unique(y, return_inverse=True)
    largest = int(np.bincount(codes).max())
    if largest < n_splits:
        raise ValueError(
            f"n_splits={n_splits} is greater than the number of rows of each class, "
            f"{largest} at most."
        )
    return classes, codes


def _warn_of_small_cells(
    classes: NDArray[Any], codes: NDArray[np.intp], groups: Groups, n_splits: int
) -> None:
    """Name cells that cannot be in every fold, and the groups that cannot either."""
    n_groups, n_classes = len(groups.labels), len(classes)
    known = groups.codes >= 0
    cells = np.bincount(
        groups.codes[known].astype(np.intp) * n_classes + codes[known],
        minlength=n_groups * n_classes,
    ).reshape(n_groups, n_classes)
    sizes = cells.sum(axis=1)
    small = (cells > 0) & (cells < n_splits)
    if not small.any():
        return
    named = [
        f"class {classes[label].item()!r} in group {groups.labels[group]!r} (n = "
        f"{cells[group, label]})"
        for group, label in np.argwhere(small)[:_MAX_LISTED].tolist()
    ]
    text = (
        f"Fewer rows than n_splits={n_splits}: {', '.join(named)}"
        f"{_more(int(small.sum()))}. They are merged with the rest of their group."
    )
    lost = np.flatnonzero((sizes > 0) & (sizes < n_splits)).tolist()
    if lost:
        labels = ", ".join(
            f"{groups.labels[g]!r} (n = {sizes[g]})" for g in lost[:_MAX_LISTED]
        )
        text += f" Some folds have no row of the groups {labels}{_more(len(lost))}."
    warnings.warn(text, UserWarning, stacklevel=3)


def _more(n_all: int) -> str:
    return f" and {n_all - _MAX_LISTED} more" if n_all > _MAX_LISTED else ""

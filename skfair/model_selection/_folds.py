"""Parts of the rows: folds with their share of every group, and fits to some rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import BaseCrossValidator, train_test_split
from sklearn.utils import (
    assert_all_finite,
    check_consistent_length,
    check_random_state,
    column_or_1d,
)
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.parallel import Parallel, delayed

from skfair._rows import Rows, take_rows
from skfair._utils._arrays import Integers
from skfair._utils._text import listed
from skfair._utils._validation import (
    check_flag,
    check_integer,
    check_no_missing,
    count_rows,
)
from skfair._utils._warnings import warn_user
from skfair.groups import Codes, Groups, Selector, resolve_groups

#: Training and test rows, as positions or as masks.
Split: TypeAlias = tuple[NDArray[Any], NDArray[Any]]


class GroupStratifiedKFold(BaseCrossValidator):  # type: ignore[misc]
    """K-fold splitter that stratifies by class and group together.

    scikit-learn's `StratifiedKFold` stratifies by class only: a small group may be
    absent from a fold, where fairness scores are nan or miss it. Here the number of
    rows of each group, and of each class in a group, differs by at most one between
    folds. A group with `n_splits` rows or more is in every fold.

    The groups come from columns of X that `sensitive_features` names, from
    ``sensitive_features=`` by metadata routing (requested by default), or from
    ``groups=``, the argument of scikit-learn's splitters.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=False
        Whether to shuffle the rows first. Otherwise those of each class and group are
        assigned in their order, one to each fold in turn.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling; must be None without it.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the groups, several for their intersection, or a function of X
        that returns the groups.

    See Also
    --------
    sklearn.model_selection.StratifiedKFold : Stratifies by class alone.
    sklearn.model_selection.StratifiedGroupKFold : Does the opposite: it keeps all rows
        of a group in one fold.

    Notes
    -----
    A class with fewer rows in a group than there are folds cannot be in every fold.
    It is merged with the rest of its group, with a warning: its rows are assigned to
    the folds that have the fewest rows of the group.

    Rows whose group is left out (see `skfair.groups.encode_groups`) are stratified as
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
        random_state: int | np.random.RandomState | None = None,
        sensitive_features: Selector | None = None,
    ) -> None:
        check_integer("n_splits", n_splits, 2)
        check_flag("shuffle", shuffle)
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
        sensitive_features: ArrayLike | None = None,
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
        sensitive_features: ArrayLike | None = None,
    ) -> Iterator[Split]:
        """Split rows into training and test rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data. Only the columns with the groups are read.
        y : array-like of shape (n_samples,)
            Class labels.
        groups : array-like of shape (n_samples,) or (n_samples, n_columns), or \
Groups, default=None
            Group of each row, used in place of the column that the splitter names.
        sensitive_features : array-like, default=None
            The same, under the name that metadata routing uses.

        Yields
        ------
        train, test : ndarray of int
            Positions of rows, increasing.

        Raises
        ------
        ValueError
            If groups are given in neither or in both ways, on wrong lengths, if y is
            not a target of classes, and if every class has fewer rows than there are
            folds.

        Warns
        -----
        UserWarning
            If a class has fewer rows in a group than there are folds, naming both, and
            naming the groups that are absent from some folds.
        """
        if groups is not None and sensitive_features is not None:
            raise ValueError(
                "groups and sensitive_features mean the same here, expected one of "
                "them, got both."
            )
        labels = groups if sensitive_features is None else sensitive_features
        if labels is None and self.sensitive_features is None:
            raise ValueError(
                "GroupStratifiedKFold was given no groups: make it with "
                "sensitive_features=<column of X>, or pass groups=<group of each row> "
                "to split or to the cross-validation."
            )
        n_samples = count_rows(X)
        classes, codes = _encode_classes(X, y, self.n_splits)
        resolved = resolve_groups(
            labels,
            n_samples=n_samples,
            X=X,
            selector=self.sensitive_features,
            missing_values=(),  # who fits the folds is warned of them
        )
        _warn_of_small_cells(classes, codes, resolved, self.n_splits)
        random = check_random_state(self.random_state) if self.shuffle else None
        yield from stratified_splits(codes, resolved.codes, self.n_splits, random)


def _encode_classes(X: Any, y: Any, n_splits: int) -> tuple[NDArray[Any], Codes]:
    """Return the sorted classes, and each row's class as a position among them."""
    check_consistent_length(X, y)
    y = column_or_1d(y)
    if not len(y):
        raise ValueError("y has 0 rows, expected at least one.")
    check_no_missing(y, "y")
    assert_all_finite(y, input_name="y")
    with np.errstate(invalid="ignore"):  # of floats too large for an integer
        kind = type_of_target(y, input_name="y")
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"y must be class labels, got a target of type {kind}.")
    classes, codes = np.unique(y, return_inverse=True)
    largest = int(np.bincount(codes).max())
    if largest < n_splits:
        raise ValueError(
            f"n_splits={n_splits} is greater than the number of rows of each class, "
            f"{largest} at most."
        )
    return classes, codes


def _warn_of_small_cells(
    classes: NDArray[Any], codes: Codes, groups: Groups, n_splits: int
) -> None:
    """Warn of groups, and of classes within groups, with fewer rows than folds."""
    has_group = groups.codes >= 0
    cells = np.zeros((len(groups.labels), len(classes)), dtype=np.intp)
    np.add.at(cells, (groups.codes[has_group], codes[has_group]), 1)
    small = (cells > 0) & (cells < n_splits)
    if not small.any():
        return
    labels = classes.tolist()
    named = [
        f"class {labels[code]!r} in group {groups.labels[group]!r} (n = "
        f"{cells[group, code]})"
        for group, code in np.argwhere(small)
    ]
    text = (
        f"Fewer rows than n_splits={n_splits}: {listed(named)}. They are merged "
        "with the rest of their group."
    )
    absent = [
        f"{label!r} (n = {size})"
        for label, size in zip(groups.labels, cells.sum(axis=1), strict=True)
        if 0 < size < n_splits
    ]
    if absent:
        text += f" Some folds have no row of the groups {listed(absent)}."
    warn_user(text)


def stratified_splits(
    classes: Codes, groups: Codes, n_folds: int, random_state: RandomState | None
) -> Iterator[Split]:
    """Yield training and test rows of folds that are stratified by class and group."""
    folds = assign_folds(classes, groups, n_folds, random_state)
    for fold in range(n_folds):
        yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)


def assign_folds(
    classes: Codes, groups: Codes, n_folds: int, random_state: RandomState | None
) -> Integers:
    """Return the fold of each row; without a random state rows keep their order.

    Any two folds differ by at most one in their number of rows of a group, of a cell (a
    class in a group), and of the rarest class. The numbers of rows of other classes,
    and the sizes of the folds, are as equal as this allows.
    """
    n_samples = len(classes)
    order = np.arange(n_samples)
    if random_state is not None:
        order = random_state.permutation(n_samples)
    # The rarest class comes first in each group, where its folds can be chosen freely.
    ranks = np.argsort(np.argsort(np.bincount(classes), kind="stable"))[classes]
    order = order[np.lexsort((ranks[order], groups[order]))]
    changes = np.diff(groups[order]) | np.diff(ranks[order])
    cells = np.split(order, np.flatnonzero(changes) + 1)

    folds = np.empty(n_samples, dtype=np.intp)
    in_all, in_group = np.zeros((2, n_folds), dtype=np.intp)
    in_class = np.zeros((int(classes.max(initial=0)) + 1, n_folds), dtype=np.intp)
    group = None
    for cell in cells:
        if groups[cell[0]] != group:
            group, in_group[:] = groups[cell[0]], 0
        class_counts = in_class[classes[cell[0]]]
        # Folds with the fewest rows so far come first and get the remainder.
        turns = np.lexsort((in_all, class_counts, in_group))
        folds[cell] = np.resize(turns, len(cell))
        assigned = np.bincount(folds[cell], minlength=n_folds)
        for counts in (in_all, in_group, class_counts):
            counts += assigned
    return folds


def params_of_rows(
    params: dict[str, Any], rows: Integers, n_samples: int
) -> dict[str, Any]:
    """Select some rows of the fit parameters that have one entry for each row."""
    return {
        name: take_rows(value, rows) if _is_by_row(value, n_samples) else value
        for name, value in params.items()
    }


def _is_by_row(value: Any, n_samples: int) -> bool:
    """Return whether a fit parameter has one entry for each of n_samples rows."""
    if isinstance(value, (str, bytes, dict)):
        return False
    if hasattr(value, "shape"):
        return len(value.shape) > 0 and value.shape[0] == n_samples
    return hasattr(value, "__len__") and len(value) == n_samples


def fit_to_rows(
    estimator: Any, X: Any, y: NDArray[Any], rows: Integers, fit_params: dict[str, Any]
) -> Any:
    """Fit an estimator to some rows."""
    params = params_of_rows(fit_params, rows, len(y))
    return estimator.fit(take_rows(X, rows), y[rows], **params)


def cross_fit(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    splits: Iterable[Split],
    fit_params: dict[str, Any],
    use: Callable[[Any, Any, Integers], Any],
    done: Callable[[str], None] = lambda name: None,
    **parallel: Any,
) -> list[Any]:
    """Fit a clone to the training rows of each split, and use it on the test rows.

    `use` is called with the fitted clone, the features of the test rows, and the
    positions of the test rows. What it returns for each split is returned in a list.
    `done` is called after each split. Other keywords go to `Parallel`.
    """
    splits = list(splits)
    if not splits:
        raise ValueError(
            "cv must have at least one split, got none. A generator of splits is "
            "empty after its first use: pass list(splits)."
        )
    positions = np.arange(len(y))  # splits may be masks
    jobs = (
        delayed(_fit_split)(
            clone(estimator),
            X,
            y,
            positions[train],
            positions[test],
            fit_params,
            use,
        )
        for train, test in splits
    )
    results = []
    for result in Parallel(return_as="generator", **parallel)(jobs):
        results.append(result)
        done("fold")
    return results


def _fit_split(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    train: Integers,
    test: Integers,
    fit_params: dict[str, Any],
    use: Callable[[Any, Any, Integers], Any],
) -> Any:
    """Fit an estimator to the training rows, and use it on the test rows."""
    fitted = fit_to_rows(estimator, X, y, train, fit_params)
    return use(fitted, take_rows(X, test), test)


def hold_out(
    rows: Rows,
    validation_fraction: float,
    rng: np.random.RandomState,
    name: str = "validation_fraction",
) -> tuple[Integers, Integers]:
    """Draw positions of rows to train on, and of rows to hold out.

    The draw is stratified by class. It is also stratified by group (within strata, if
    there are any) if each cell has two rows and each part has room for a row of every
    cell. Errors call the share of rows held out by its `name`.
    """
    weighted = np.flatnonzero(rows.weights)
    cells = rows.stratum_group_codes[weighted]
    y = rows.y_true[weighted]
    n_samples = len(weighted)
    n_held_out = int(np.ceil(validation_fraction * n_samples))
    smaller_part = min(n_held_out, n_samples - n_held_out)
    for kinds in (2 * cells + y, y):
        _, sizes = np.unique(kinds, return_counts=True)
        if sizes.min() >= 2 and len(sizes) <= smaller_part:
            train, held_out = train_test_split(
                weighted, test_size=n_held_out, stratify=kinds, random_state=rng
            )
            return train, held_out
    raise ValueError(
        f"{name}={validation_fraction!r} of {n_samples} rows leaves too "
        "few rows to train on or to hold out, expected at least two rows of each "
        "class, and at least one of each class in both parts."
    )

"""Per group, how often each true label was predicted as each label."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers, quotients
from skfair._utils._validation import (
    check_length,
    refuse_scores,
)
from skfair._utils._warnings import warn_if_reordered
from skfair.groups import (
    check_kinds_of_labels,
    columns_of,
    drop_weightless,
    encode_column,
    join_labels,
    positions_in,
    recode,
    resolve_groups,
)
from skfair.statistics._statistic import GroupedStatistic


@dataclass(frozen=True, eq=False, repr=False)
class GroupedConfusion(GroupedStatistic):
    """Confusion matrix of every group.

    It is the sufficient statistic of equalized odds and of disparate conditional
    prediction, and additive: ``a + b`` is the statistic of the joined rows; the two
    may differ in classes and groups.

    Attributes
    ----------
    matrices : ndarray of shape (n_groups, n_classes, n_classes)
        Total weight of the rows of each group, true and predicted class: int64 counts
        where every sample weight is a whole number, else float64.
    label_counts : ndarray of shape (n_groups, n_classes)
        Number of rows of each group and true class, rows of weight zero excepted.
    classes : tuple of length n_classes
        Class labels.
    labels : tuple of length n_groups
        Group labels.
    names : tuple of str
        Names of the sensitive columns, where known.
    min_group_size : int
        Smallest number of rows with which a group may be compared, and of rows of each
        true class with which its errors may be.

    See Also
    --------
    skfair.metrics.dcp : A metric that takes this in place of predictions.

    Examples
    --------
    >>> from skfair.statistics import GroupedConfusion
    >>> statistic = GroupedConfusion.from_predictions(
    ...     ["a", "b", "b", "c"], ["a", "b", "c", "c"], sensitive_features=[0, 0, 0, 1]
    ... )
    >>> statistic.classes
    ('a', 'b', 'c')
    >>> statistic.confusion[0, 1].tolist()
    [0.0, 0.5, 0.5]
    """

    _by_group = "matrices", "label_counts"

    matrices: NDArray[Any]
    label_counts: Integers
    classes: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    names: tuple[str, ...] = ()
    min_group_size: int = 1

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        y_pred: ArrayLike,
        *,
        sensitive_features: Any,
        sample_weight: ArrayLike | None = None,
    ) -> GroupedConfusion:
        """Count the predictions of each group.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels.
        y_pred : array-like of shape (n_samples,)
            Predicted labels.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups
            Group of each row; several columns stand for their intersection.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.

        Returns
        -------
        GroupedConfusion

        Raises
        ------
        TypeError
            If an argument is missing, or of a kind that is not taken.
        ValueError
            On missing or continuous labels, wrong lengths, missing groups, negative
            weights, or a group whose rows all weigh zero.
        """
        warn_if_reordered(
            y_true=y_true,
            y_pred=y_pred,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )
        cells, classes = encode_label_pairs(y_true, y_pred)
        groups = resolve_groups(sensitive_features, n_samples=len(cells))
        cells, codes, weights, _ = drop_weightless(cells, groups, sample_weight)
        true, predicted = np.divmod(cells, len(classes))
        groups = replace(groups, codes=codes)
        rows = Rows(groups, None, true, predicted, weights, classes=classes)
        return cls._from_rows(rows)

    @classmethod
    def _from_rows(cls, rows: Rows) -> GroupedConfusion:
        """Count checked labels, which are positions in the classes of the rows."""
        rows, n_classes = rows.grouped(), len(rows.classes)
        shape = rows.n_groups, n_classes, n_classes
        cells = rows.groups.codes * np.intp(n_classes**2) + rows.label_pairs
        numbers = np.bincount(cells, rows.n, math.prod(shape)).reshape(shape)
        matrices = numbers = numbers.astype(np.intp)
        if rows.weight is not None:
            sums = np.bincount(cells, rows.weight, math.prod(shape))
            matrices = sums.astype(rows.weight.dtype).reshape(shape)
        groups = rows.groups
        rest = groups.labels, groups.names, groups.min_group_size
        return cls(matrices, numbers.sum(axis=2), rows.classes, *rest)

    @property
    def counts(self) -> Integers:
        """Number of rows of each group, of shape (n_groups,)."""
        return np.asarray(self.label_counts.sum(axis=1))

    @property
    def totals(self) -> NDArray[Any]:
        """Total weight of each group, of shape (n_groups,)."""
        return np.asarray(self.matrices.sum(axis=(1, 2)))

    @property
    def confusion(self) -> Floats:
        """P(prediction | true class) of each group, shaped as `matrices`.

        The row of a class that a group never has is zero.
        """
        return _shares_of_sums(self.matrices)

    @property
    def group_weights(self) -> Floats:
        """Share of each group in the population, of shape (n_groups,)."""
        return _shares_of_sums(self.totals)

    @property
    def label_frequencies(self) -> Floats:
        """Share of each true class in each group, of shape (n_groups, n_classes)."""
        return _shares_of_sums(self.matrices.sum(axis=2))

    @property
    def prediction_frequencies(self) -> Floats:
        """Share of each prediction in each group, of shape (n_groups, n_classes)."""
        return _shares_of_sums(self.matrices.sum(axis=1))

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, GroupedConfusion):
            return NotImplemented
        check_kinds_of_labels("classes of statistics", self.classes, other.classes)
        classes = join_labels(self.classes, other.classes)
        return super(GroupedConfusion, self._of_classes(classes)).__add__(
            other._of_classes(classes)
        )

    def _of_classes(self, classes: tuple[Hashable, ...]) -> GroupedConfusion:
        """Return the statistic with classes among which are all of its own."""
        n, cells = len(classes), positions_in(classes, self.classes)
        groups = np.arange(self.n_groups)
        matrices = np.zeros((self.n_groups, n, n), self.matrices.dtype)
        matrices[np.ix_(groups, cells, cells)] = self.matrices
        label_counts = np.zeros((self.n_groups, n), np.intp)
        label_counts[:, cells] = self.label_counts
        return replace(
            self, matrices=matrices, label_counts=label_counts, classes=classes
        )

    def __repr__(self) -> str:
        right = np.trace(self.matrices, axis1=1, axis2=2)
        groups = ", ".join(
            f"{label!r}: {part:.4g} of {total:.4g} right"
            for label, part, total in zip(self.labels, right, self.totals, strict=True)
        )
        return f"GroupedConfusion({len(self.classes)} classes; {groups})"


def _shares_of_sums(values: NDArray[Any]) -> Floats:
    """Divide by the sums over the last axis; shares of 0 are 0."""
    return quotients(values, values.sum(axis=-1, keepdims=True))


def encode_classes(
    name: str, values: ArrayLike | None
) -> tuple[NDArray[np.integer], tuple[Hashable, ...]]:
    """Encode class labels as positions among those that occur.

    Missing and continuous values, and more than one column, are refused.
    """
    if values is None:
        raise ValueError(f"{name} must be labels of shape (n_samples,), got None.")
    column = columns_of(values, name)[1]
    if len(column) != 1:
        raise ValueError(
            f"{name} must have shape (n_samples,), one label for each row, got "
            f"{len(column)} columns."
        )
    codes, classes = encode_column(column[0], "drop", name, name)
    if len(codes) == 0:
        raise ValueError(f"{name} has 0 rows, expected at least one.")
    n_missing = int(np.count_nonzero(codes < 0))
    if n_missing:
        raise ValueError(f"{name} has {n_missing} missing labels, expected none.")
    refuse_scores(np.array([v for v in classes if isinstance(v, float)]), name)
    present = pd.unique(codes)
    if len(present) < len(classes):  # categories without rows are no classes
        occurring = tuple(classes[i] for i in np.sort(present))
        codes, classes = recode(codes, classes, occurring), occurring
    return codes, classes


def encode_label_pairs(
    y_true: Any, y_pred: Any
) -> tuple[Integers, tuple[Hashable, ...]]:
    """Encode both labels of each row as one number, and return all classes.

    The number is the position of the cell in a flattened confusion matrix.
    """
    true, true_classes = encode_classes("y_true", y_true)
    predicted, predicted_classes = encode_classes("y_pred", y_pred)
    check_length("y_true", len(true), len(predicted))
    check_kinds_of_labels("y_true and y_pred", true_classes, predicted_classes)
    classes = join_labels(true_classes, predicted_classes)
    cells = positions_in(classes, true_classes)[true] * len(classes)
    cells += positions_in(classes, predicted_classes)[predicted]
    return cells, classes


def encode_labels(rows: Rows) -> Rows:
    """Encode both labels of rows as positions among the classes."""
    cells, classes = encode_label_pairs(rows.y_true, rows.y_pred)
    true, predicted = np.divmod(cells, len(classes))
    return replace(rows, y_true=true, y_pred=predicted, classes=classes)


def drop_absent_classes(rows: Rows) -> Rows:
    """Return encoded rows with the classes that occur among them."""
    true, predicted = (
        np.bincount(codes, minlength=len(rows.classes))
        for codes in (rows.y_true, rows.y_pred)
    )
    present = np.flatnonzero(true + predicted)
    if len(present) == len(rows.classes):
        return rows
    position = np.zeros(len(rows.classes), np.intp)
    position[present] = np.arange(len(present))
    classes = tuple(rows.classes[i] for i in present.tolist())
    true, predicted = position[rows.y_true], position[rows.y_pred]
    return replace(rows, y_true=true, y_pred=predicted, classes=classes)

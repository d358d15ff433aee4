"""True and predicted labels of rows, as positions among their classes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skfair._rows import Rows
from skfair._utils._arrays import Integers
from skfair._utils._text import counted
from skfair._utils._validation import (
    check_length,
    refuse_scores,
)
from skfair.groups import (
    check_kinds_of_labels,
    columns_of,
    encode_column,
    join_labels,
    positions_in,
    recode,
)
from skfair.statistics._cells import label_array_of


def encode_classes(
    name: str, values: ArrayLike | None
) -> tuple[NDArray[np.integer], tuple[Hashable, ...]]:
    """Encode class labels as positions among the labels that occur.

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
        n_labels = counted(n_missing, "missing label")
        raise ValueError(f"{name} has {n_labels}, expected none.")
    refuse_scores(np.array([v for v in classes if isinstance(v, float)]), name)
    present = pd.unique(codes)
    if len(present) < len(classes):  # categories without rows are not classes
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


def decode_labels(rows: Rows) -> Rows:
    """Return encoded rows with the labels themselves."""
    labels = label_array_of(rows.classes)
    true, predicted = labels[rows.y_true], labels[rows.y_pred]
    return replace(rows, y_true=true, y_pred=predicted, classes=())


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

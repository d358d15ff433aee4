"""True and predicted labels as codes."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skfair._columns import columns_of
from skfair._encoding import encode_column


def encode_labels(
    name: str, values: ArrayLike | None
) -> tuple[NDArray[np.integer], tuple[Hashable, ...]]:
    """Encode labels, and refuse those that are missing or continuous.

    Parameters
    ----------
    name : str
        What they are called, for messages.
    values : array-like of shape (n_samples,) or None

    Returns
    -------
    codes : ndarray of shape (n_samples,)
    labels : tuple
        The labels that occur; `codes` are positions in it.

    Raises
    ------
    ValueError
        On None, no rows, more than one column, missing and continuous labels.
    """
    if values is None:
        raise ValueError(f"{name} must be labels of shape (n_samples,), got None.")
    column = columns_of(values)[1]
    if len(column) != 1:
        raise ValueError(
            f"{name} must have shape (n_samples,), one label for each row, got "
            f"{len(column)} columns."
        )
    codes, labels = encode_column(column[0], "drop", name)
    if len(codes) == 0:
        raise ValueError(f"{name} has 0 rows, expected at least one.")
    n_missing = int(np.count_nonzero(codes < 0))
    if n_missing:
        raise ValueError(f"{name} has {n_missing} missing labels, expected none.")
    broken = [v for v in labels if isinstance(v, float) and not v.is_integer()]
    if broken:
        raise ValueError(
            f"{name} must be class labels, got the continuous value {broken[0]}."
        )
    present = pd.unique(codes)
    if len(present) < len(labels):  # categories without rows are no classes
        kept = np.sort(present)
        rank = np.full(len(labels), -1)
        rank[kept] = np.arange(len(kept))
        codes, labels = rank[codes], tuple(labels[i] for i in kept)
    return codes, labels

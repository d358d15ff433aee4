"""Checks of scores and sample weights."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._encoding import count_codes
from skfair.groups import Groups

#: Bit pattern of 1.0: larger patterns are above 1, negative, infinite or NaN.
_ONE_BITS = np.float64(1.0).view(np.uint64)
#: Whole weights are summed as integers while their sum stays below this.
_MAX_EXACT_SUM = 2**53


def check_scores(y_score: ArrayLike, name: str = "y_score") -> NDArray[np.float64]:
    """Scores as floats in [0, 1] without negative zeros.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
    name : str, default="y_score"
        The argument's name, for the message.

    Returns
    -------
    ndarray of shape (n_samples,)

    Raises
    ------
    ValueError
        On another shape, no rows, text, NaN, infinite or out-of-range scores.
    """
    scores = np.asarray(y_score)
    check_shape(scores, name)
    scores = np.ascontiguousarray(_to_numbers(scores, name))
    if scores.view(np.uint64).max() > _ONE_BITS:
        scores = scores + 0.0  # turns -0.0 into 0.0
        bad = ~((scores >= 0) & (scores <= 1))
        if bad.any():
            row = int(bad.argmax())
            raise ValueError(
                f"{name} must lie in [0, 1], got {scores[row]} in row {row} "
                f"({int(bad.sum())} such rows)."
            )
    return scores


def check_shape(values: NDArray[Any], name: str) -> None:
    """Raise unless there is one value for each row, and at least one row.

    Parameters
    ----------
    values : ndarray
    name : str
    """
    if values.ndim != 1:
        hint = (
            " Pass the column of the positive class."
            if values.ndim == 2 and values.shape[1] == 2
            else ""
        )
        raise ValueError(
            f"{name} must have shape (n_samples,), one value of a binary classifier "
            f"for each row; got shape {values.shape}.{hint}"
        )
    if values.size == 0:
        raise ValueError(f"{name} has 0 rows, expected at least one.")


def check_weights(sample_weight: ArrayLike | None, n_samples: int) -> Any:
    """Sample weights as int64 where all are whole numbers, else as float64.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,) or None
    n_samples : int

    Returns
    -------
    ndarray of shape (n_samples,) or None

    Raises
    ------
    ValueError
        On a wrong shape, and on negative, NaN or infinite weights.
    """
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight)
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have shape ({n_samples},), got {weights.shape}."
        )
    weights = _to_numbers(weights, "sample_weight")
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"sample_weight must be finite and non-negative, got {weights[row]} in "
            f"row {row}."
        )
    whole = np.array_equal(weights, np.rint(weights))
    exact = whole and weights.sum() < _MAX_EXACT_SUM
    return weights.astype(np.int64) if exact else weights


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


def _to_numbers(values: NDArray[Any], name: str) -> NDArray[np.float64]:
    if values.dtype.kind == "O":
        real = [isinstance(v, numbers.Real | np.bool_) for v in values]
    else:
        real = [values.dtype.kind in "biuf"]
    if not all(real):
        row = real.index(False)
        raise ValueError(f"{name} must be numbers, got {values[row]!r} in row {row}.")
    return values.astype(np.float64, copy=False)

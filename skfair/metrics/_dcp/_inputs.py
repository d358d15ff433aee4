"""Checks of confusion matrices, group weights and frequencies."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair.metrics._dcp._search._rows import Floats


def check_distributions(
    name: str,
    values: Any,
    shape: tuple[int | str, ...],
    *,
    tolerance: float,
    groups: Sequence[Hashable] | None = None,
    absent: NDArray[np.bool_] | None = None,
) -> Floats:
    """Rows of non-negative numbers that sum to one, scaled to do so exactly.

    Parameters
    ----------
    name : str
        The argument's name, for messages.
    values : array-like of shape `shape`
    shape : tuple of int or str
        Expected shape; a str is the name of a length that is free.
    tolerance : float
        How far a sum may be from one.
    groups : sequence of length n_groups, default=None
        Names for messages; positions by default.
    absent : ndarray of shape (n_groups, n_classes), default=None
        Rows that nobody belongs to: what they hold does not matter.

    Returns
    -------
    ndarray of shape `shape`; absent rows are zero

    Raises
    ------
    ValueError
        On another shape, NaN, infinite or negative entries, and sums other than one.
    """
    array = check_numbers(name, values, shape)
    if absent is not None:
        array = np.where(absent[..., None], 0.0, array)
    bad = ~np.isfinite(array) | (array < 0)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{name} must hold finite, non-negative numbers, got {array[at]} for "
            f"{_place(at, groups)}."
        )
    sums = array.sum(axis=-1)
    wrong = np.abs(sums - 1) > tolerance
    if absent is not None:
        wrong &= ~absent
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ValueError(
            f"{name} must sum to 1 within {tolerance:g} along its last axis, got "
            f"{sums[at]:.6g} for {_place(at, groups)}."
        )
    return np.asarray(
        np.divide(
            array, sums[..., None], out=np.zeros_like(array), where=sums[..., None] > 0
        )
    )


def check_numbers(name: str, values: Any, shape: tuple[int | str, ...]) -> Floats:
    """Values as floats of the expected shape.

    Parameters
    ----------
    name : str
    values : array-like
    shape : tuple of int or str
        A str is the name of a length that is free, but at least one.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        On another shape, and on what is not numbers.
    """
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from error
    fits = array.ndim == len(shape) and array.size > 0
    fits = fits and all(
        isinstance(wanted, str) or got == wanted
        for got, wanted in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join(str(length) for length in shape)
        raise ValueError(
            f"{name} must have shape ({wanted}{',' * (len(shape) == 1)}), got "
            f"{array.shape}."
        )
    return array


def _place(at: tuple[int, ...], groups: Sequence[Hashable] | None) -> str:
    group = at[0] if groups is None else groups[at[0]]
    return f"group {group!r}" + (f", label {at[1]}" if len(at) > 1 else "")

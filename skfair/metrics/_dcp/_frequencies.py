"""Checks of published figures: numbers, sums, and the labels of pandas objects."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from skfair._utils._arrays import Floats, Integers
from skfair._utils._validation import check_real, check_unmasked

#: Sums that differ from one by more come from another scale, such as percentages.
_MAX_SUM_TOLERANCE = 0.1


def check_sum_tolerance(sum_tolerance: Any) -> float:
    """Return how much sums of frequencies may differ from one."""
    return check_real("sum_tolerance", sum_tolerance, 0, _MAX_SUM_TOLERANCE)


def check_table(name: str, values: Any, shape: tuple[int | str, ...]) -> Floats:
    """Return values as floats of a shape; a str in it stands for any length but 0."""
    check_unmasked(values, name)
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biufO":
            raise TypeError(f"got an array of {given.dtype}")
        array = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from error
    fits = array.ndim == len(shape) and array.size > 0
    fits = fits and all(
        isinstance(wanted, str) or got == wanted
        for got, wanted in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join(str(length) for length in shape)
        raise ValueError(f"{name} must have shape ({wanted}), got {array.shape}.")
    return array


def check_distributions(
    tables: Mapping[str, Floats],
    sum_tolerance: float,
    groups: Sequence[Hashable],
    classes: Sequence[Hashable],
) -> list[Floats]:
    """Check tables of shares by group; return them with sums of exactly one.

    Sums are those over the last axis.

    `groups` and `classes` name the first two axes in messages.
    """
    for name, table in tables.items():
        bad = ~np.isfinite(table) | (table < 0)
        if bad.any():
            at = tuple(np.argwhere(bad)[0])
            raise ValueError(
                f"{name} must hold finite, non-negative numbers, got {table[at]} for "
                f"group {groups[at[0]]!r}, class {classes[at[1]]!r}."
            )
    with np.errstate(over="ignore"):  # inf is no sum of shares either
        sums = {name: table.sum(axis=-1) for name, table in tables.items()}
    errors = {name: np.abs(total - 1) for name, total in sums.items()}
    largest = max(float(error.max()) for error in errors.values())
    for name, error in errors.items():
        if error.max() > sum_tolerance:
            at = tuple(np.argwhere(error > sum_tolerance)[0])
            place = f"group {groups[at[0]]!r}"
            place += f", class {classes[at[1]]!r}" if len(at) > 1 else ""
            raise ValueError(
                f"{name} must sum to 1 within sum_tolerance={sum_tolerance:g} along "
                f"its last axis, got {sums[name][at]:.6g} for {place}. "
                + _sum_advice(largest)
            )
    return [table / sums[name][..., None] for name, table in tables.items()]


def _sum_advice(largest: float) -> str:
    """Advice for sums that differ from one, the worst of them by `largest`."""
    if largest > _MAX_SUM_TOLERANCE:
        return "Expected shares: divide percentages by 100, and counts by their sums."
    # Rounded up to two digits, so that the value itself is accepted.
    unit = 10.0 ** (math.floor(math.log10(largest)) - 1)
    enough = min(math.ceil(largest / unit) * unit, _MAX_SUM_TOLERANCE)
    return (
        f"If the figures are rounded, sum_tolerance={enough:.2g} accepts all of them."
    )


def row_labels(values: Any) -> pd.Index | None:
    """Index of a pandas object; None where rows have no labels."""
    return values.index if isinstance(values, (pd.Series, pd.DataFrame)) else None


def column_labels(values: Any) -> pd.Index | None:
    """Names of the columns of a dataframe; None where there are none."""
    if isinstance(values, pd.DataFrame):
        return values.columns
    table = nw.from_native(values, eager_only=True, pass_through=True)
    return pd.Index(table.columns) if isinstance(table, nw.DataFrame) else None


def first_labels(
    labels: Mapping[str, pd.Index | None], length: int
) -> tuple[str, tuple[Hashable, ...]]:
    """Name of the first argument that has labels, and the labels.

    If none has any, the name is empty and the labels are positions.
    """
    for name, index in labels.items():
        if index is not None:
            return name, tuple(index.tolist())
    return "", tuple(range(length))


def positions(
    name: str,
    labels: pd.Index | None,
    reference: tuple[str, tuple[Hashable, ...]],
    of_what: str,
) -> Integers:
    """Position of each label of another argument, the `reference`, among `labels`."""
    other, wanted = reference
    if labels is None or tuple(labels.tolist()) == wanted:
        return np.arange(len(wanted))
    own, expected = _as_index(labels.tolist()), _as_index(wanted)
    if own.is_unique and expected.is_unique and len(own) == len(expected):
        found = own.get_indexer(expected)
        if (found >= 0).all():
            return np.asarray(found)
    raise ValueError(
        f"{name} and {other} must have the same {of_what}, each once, got the labels "
        f"{_first_five(own)} and {_first_five(expected)}. Pass {name}.to_numpy() if "
        "the order is the same."
    )


def _as_index(labels: Sequence[Hashable]) -> pd.Index:
    """Labels as they are, tuples of a MultiIndex included."""
    return pd.Index(list(labels), dtype=object, tupleize_cols=False)


def _first_five(labels: pd.Index) -> str:
    """Text of the first five labels."""
    shown = ", ".join(map(repr, labels[:5]))
    return f"[{shown}{', ...' if len(labels) > 5 else ''}]"

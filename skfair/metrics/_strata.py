"""Strata and classes of rows, within which groups are compared."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers
from skfair._utils._text import counted
from skfair._utils._validation import (
    Scale,
    as_array,
    check_choice,
    check_no_missing,
    check_numbers,
    check_scores,
    distinct_labels,
)
from skfair.groups import (
    Groups,
    relabel,
    rows_by_code,
)
from skfair.metrics._undefined import comparable_groups, why_undefined

Multistratum = Literal["max", "weighted"]


class Stratum(NamedTuple):
    """Rows of a stratum, and the groups that can be compared there."""

    label: Hashable
    #: Positions of the rows of these groups.
    rows: Integers
    #: Groups of these rows; None where no groups can be compared.
    groups: Groups | None
    #: Number of people of each group.
    sizes: Integers
    #: Number of people of all groups.
    n_rows: int
    #: Total weight of these rows.
    weight: float
    #: Why no groups can be compared, or which are left out; "" if none is.
    reason: str


def split_strata(rows: Rows, *, leaves_groups_out: bool) -> tuple[list[Stratum], str]:
    """Split rows by stratum, and say why no groups can be compared at all, or "".

    Rows without a group, without a stratum or of weight zero are in no stratum. A group
    whose rows all weigh zero is an error.
    """
    groups, strata = rows.groups, rows.strata
    assert strata is not None
    weights, smallest = rows.weights, max(strata.min_group_size, 1)
    counting = rows.counted_positions()
    positions = rows_by_code(strata.codes[counting], len(strata.labels))
    parts = []
    for label, at in zip(strata.labels, positions, strict=True):
        part = counting[at]
        people = Rows(groups[part], n=None if rows.n is None else rows.n[part])
        n_rows, weight = people.n_people, float(weights[part].sum())
        sizes, reason = people.counts, ""
        compared: Groups | None = people.groups
        if n_rows < smallest:
            compared = None
            reason = f"it has {counted(n_rows, 'row')}, at least {smallest} needed"
        elif not leaves_groups_out:
            enough, reason = comparable_groups(
                groups.labels, sizes, groups.min_group_size
            )
            if not len(enough):
                compared = None
            elif reason:
                large = np.isin(people.groups.codes, enough)
                labels = tuple(groups.labels[i] for i in enough.tolist())
                part, compared = part[large], relabel(people.groups[large], labels)
        parts.append(Stratum(label, part, compared, sizes, n_rows, weight, reason))
    if leaves_groups_out:
        return parts, ""
    sizes = rows[counting].counts
    why = why_undefined(groups.labels, sizes, groups.min_group_size)
    return parts, why or ""


def combine_numbers(values: Sequence[Any], weights: Sequence[float] | None) -> Any:
    """Return the largest or weighted mean of numbers, or of each entry of arrays."""
    if weights is None or len(values) == 1:  # a mean of one would round
        combined = np.max(values, axis=0)
    else:
        combined = np.average(values, axis=0, weights=weights)
    return float(combined) if np.ndim(combined) == 0 else combined


def split_columns(rows: Rows, name: str, scale: Scale, hint: str = "") -> list[Rows]:
    """Return rows with the checked scores of each class."""
    columns = columns_of_classes(rows.y_pred, name, scale, hint)
    _check_n_classes(rows.y_true, len(rows), len(columns), name)
    return [replace(rows, y_true=None, y_pred=column) for column in columns]


def columns_of_classes(
    y_score: Any, name: str, scale: Scale, hint: str
) -> list[Floats]:
    """Check the scores of each class: probabilities, or any numbers for ranks."""
    check_choice("scale", scale, get_args(Scale))
    scores = as_array(y_score, name)
    if scores.ndim != 2 or scores.shape[1] < 2:
        raise ValueError(
            f"{name} must have shape (n_samples, n_classes), a column for each class, "
            f"got {scores.shape}."
        )
    check = check_numbers if scale == "rank" else check_scores
    columns = [
        check(column, f"column {position} of {name}")
        for position, column in enumerate(scores.T)
    ]
    sums = np.sum(columns, axis=0)
    wrong = ~np.isclose(sums, 1)
    if scale == "probability" and wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"{name} must have rows that sum to 1 over the classes, got "
            f"{sums[row]:.6g} in row {row} ({int(wrong.sum())} such rows).{hint}"
        )
    return columns


def _check_n_classes(y_true: Any, n_samples: int, n_classes: int, name: str) -> None:
    """Raise if there are more true classes than columns of scores."""
    if y_true is None:
        return
    true = as_array(y_true, "y_true", n_samples)
    check_no_missing(true, "y_true")
    n_found = len(distinct_labels(true, "y_true"))
    if n_found > n_classes:
        raise ValueError(
            f"y_true must have at most {n_classes} classes, one for each column of "
            f"{name}, got {n_found}."
        )

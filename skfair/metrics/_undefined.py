"""When a metric has no value, and whom the reason is told."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import UndefinedMetricWarning

from skfair._utils._arrays import Integers
from skfair._utils._text import counted, listed
from skfair._utils._warnings import warn_user
from skfair.groups import suggest_edges, why_undefined
from skfair.metrics._inputs import AnyStatistic

#: Reasons of the evaluation that collects them, None where users are warned.
_COLLECTED: ContextVar[list[str] | None] = ContextVar("collected", default=None)
#: From so many groups of numbers on, ranges are suggested where a group has fewer rows.
_MANY_NUMBERS, _FEW_ROWS = 30, 10
#: So many groups of numbers with fewer rows on average are values, not groups.
_TOO_MANY_NUMBERS, _FEWEST_ROWS = 1000, 2
#: What to do about groups that are too small.
_ADVICE = (
    " skfair.groups.encode_groups(..., rare='merge', min_group_size=...) makes one "
    "group of such groups, and rare='drop' leaves them out."
)


def undefined_reason(statistic: AnyStatistic) -> str | None:
    """Say why groups cannot be compared, with their names; None if they can."""
    return why_undefined(statistic.labels, statistic.counts, statistic.min_group_size)


def warn_if_undefined(name: str, statistic: AnyStatistic) -> bool:
    """Whether groups cannot be compared; if so, the reason names the groups."""
    reason = undefined_reason(statistic)
    if reason is not None:
        rare = statistic.counts < max(statistic.min_group_size, 1)
        warn_undefined(name, reason, _ADVICE if rare.any() else "")
    else:
        check_groups_of_numbers(name, statistic.labels, statistic.counts)
    return reason is not None


def value_or_nan(
    name: str, statistic: Any, locate: Callable[..., Any], **options: Any
) -> float:
    """Value that a metric has where it is located, or nan with the reason."""
    if warn_if_undefined(name, statistic):
        return math.nan
    return float(locate(statistic, **options).value)


def check_groups_of_numbers(
    name: str, labels: Sequence[Hashable], counts: Integers
) -> None:
    """Warn of many groups that are numbers with few rows, and refuse very many.

    The largest difference between so small groups is noise: between groups of one row
    MCDP is 1. Each column of an intersection is judged by itself.
    """
    if len(labels) < _MANY_NUMBERS or counts.min() >= _FEW_ROWS:
        return
    columns = [*zip(*labels, strict=True)] if type(labels[0]) is tuple else [labels]
    for position, column in enumerate(columns):
        rows = (
            pd.Series(counts).groupby(pd.Index(column, dtype=object), sort=False).sum()
        )
        where = f" in column {position + 1}" if len(columns) > 1 else ""
        _check_numbers(name, rows.index.tolist(), rows.to_numpy(), where)


def _check_numbers(
    name: str, labels: Sequence[Hashable], counts: Integers, where: str
) -> None:
    """Warn of the labels of one column, or refuse them."""
    tip = tip_for_numbers(labels, counts)
    if not tip:
        return
    n_groups, mean = len(labels), counts.sum() / len(labels)
    if n_groups >= _TOO_MANY_NUMBERS and mean < _FEWEST_ROWS:
        raise ValueError(
            f"sensitive_features has {n_groups:,} groups{where}, each a number, with "
            f"{mean:.2g} rows on average. {tip}"
        )
    if _COLLECTED.get() is None:
        n_small = int((counts < _FEW_ROWS).sum())
        warn_user(
            f"{name} compares {n_groups} groups{where}, each a number, of which "
            f"{n_small} have fewer than {_FEW_ROWS} rows: their largest difference may "
            f"be noise. {tip}",
            UndefinedMetricWarning,
        )


def tip_for_numbers(labels: Sequence[Hashable], counts: Integers) -> str:
    """Suggest ranges of many groups that are numbers, of which some have few rows.

    Names are not concerned.
    """
    if len(labels) < _MANY_NUMBERS or counts.min() >= _FEW_ROWS:
        return ""
    if not all(type(label) in (int, float) for label in labels):
        return ""
    return (
        f"skfair.groups.encode_groups(..., bins={suggest_edges(labels, counts)}) makes "
        "ranges of them."
    )


def warn_if_labels_are_few(
    name: str,
    labels: Sequence[Hashable],
    classes: Sequence[Hashable],
    label_counts: Integers,
    min_group_size: int,
) -> bool:
    """Whether a group has too few rows of a true label; the reason names both.

    `label_counts` has shape (n_groups, n_classes).
    """
    smallest = max(min_group_size, 1)
    few = [
        f"{labels[i]!r} has {counted(label_counts[i, j], 'row')} of {classes[j]!r}"
        for i, j in np.argwhere(label_counts < smallest)
    ]
    if few:
        warn_undefined(
            name,
            f"each group needs at least {counted(smallest, 'row')} of each true "
            f"label, but {listed(few)}",
            _ADVICE,
        )
    return bool(few)


def warn_undefined(name: str, reason: str, advice: str = "") -> float:
    """Warn that a metric has no value, unless reasons are collected; return nan."""
    warn_or_collect(reason, f"{name} is undefined and set to nan: {reason}.{advice}")
    return math.nan


def warn_or_collect(reason: str, message: str) -> None:
    """Warn with a message, or, where reasons are collected, add a reason to them."""
    if (collected := _COLLECTED.get()) is not None:
        collected.append(reason)
    else:
        warn_user(message, UndefinedMetricWarning)


@contextmanager
def collected_reasons() -> Iterator[list[str]]:
    """Collect why metrics have no value, or leave groups out, instead of warnings."""
    reasons: list[str] = []
    token = _COLLECTED.set(reasons)
    try:
        yield reasons
    finally:
        _COLLECTED.reset(token)


@contextmanager
def ignore_undefined() -> Iterator[None]:
    """Leave users alone where a metric is undefined: they are told elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        yield


def quietly(metric: Callable[..., Any], *args: Any, **rows: Any) -> Any:
    """Evaluate a metric again, of which an earlier evaluation has warned."""
    with collected_reasons():
        return metric(*args, **rows)

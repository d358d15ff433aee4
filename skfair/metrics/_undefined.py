"""When a metric has no value, and whom the reason is told."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from skfair._utils._text import counted, listed
from skfair._utils._types import Integers
from skfair._utils._user_line import warn_user
from skfair.groups import why_undefined
from skfair.metrics._inputs import AnyStatistic

#: Reasons of the evaluation that collects them, None where users are warned.
_COLLECTED: ContextVar[list[str] | None] = ContextVar("collected", default=None)


def undefined_reason(statistic: AnyStatistic) -> str | None:
    """Say why groups cannot be compared, with their names; None if they can."""
    return why_undefined(statistic.labels, statistic.counts, statistic.min_group_size)


def warn_if_undefined(name: str, statistic: AnyStatistic) -> bool:
    """Whether groups cannot be compared; if so, the reason names the groups."""
    reason = undefined_reason(statistic)
    if reason is not None:
        warn_undefined(name, reason)
    return reason is not None


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
        )
    return bool(few)


def warn_undefined(name: str, reason: str) -> float:
    """Warn that a metric has no value, unless reasons are collected; return nan."""
    warn_or_collect(reason, f"{name} is undefined and set to nan: {reason}.")
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


def quietly(metric: Callable[..., Any], *args: Any, **rows: Any) -> Any:
    """Evaluate a metric again, of which an earlier evaluation has warned."""
    with collected_reasons():
        return metric(*args, **rows)

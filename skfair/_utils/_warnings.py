"""Warnings that name the line of the user, and those about the order of rows."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import joblib
import pandas as pd
import sklearn

P = ParamSpec("P")
R = TypeVar("R")

#: Directories of what calls skfair back, such as a cross-validation for each fold.
_CALLERS = tuple(str(Path(one.__file__).parent) + os.sep for one in (sklearn, joblib))
#: Directories whose lines are not the user's.
_DIRECTORIES = (str(Path(__file__).parents[1]) + os.sep, *_CALLERS)


def warn_user(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the line, outside of skfair and scikit-learn, that has led here."""
    level, *_ = _line_of_user()
    warnings.warn(message, category, stacklevel=level)


def _line_of_user() -> tuple[int, tuple[str, int], bool]:
    """Return the line that has called skfair, and whether scikit-learn is between.

    The first number says how many calls it is away from who asks.
    """
    frame, level, called_back = sys._getframe(1), 1, False
    while frame.f_back and frame.f_code.co_filename.startswith(_DIRECTORIES):
        called_back |= frame.f_code.co_filename.startswith(_CALLERS)
        frame, level = frame.f_back, level + 1
    return level, (frame.f_code.co_filename, frame.f_lineno), called_back


#: Warnings about labels that were given, by line of the user.
_told: set[tuple[str, int, str]] = set()


def warn_of_labels(message: str) -> None:
    """Warn of the labels of rows, once for each call of the user.

    Calls that go on with the same rows say nothing, and what scikit-learn calls back,
    such as the fits and scorers of folds, does so once for each line of the user.
    """
    level, line, called_back = _line_of_user()
    told = (*line, message) in _told
    if _has_warned.get() or (called_back and told):
        return
    _told.add((*line, message))
    warnings.warn(message, UserWarning, stacklevel=level)


_has_warned: ContextVar[bool] = ContextVar("has_warned", default=False)


def warn_if_reordered(**rows: Any) -> bool:
    """Warn of pandas objects whose indexes hold the same labels in another order.

    Rows are matched by position. Somebody who sorted or sampled one of these tables may
    expect that they are matched by label. Return whether the user is warned.
    """
    if _has_warned.get():
        return False
    first: tuple[str, Any] | None = None
    for name, values in rows.items():
        if not isinstance(values, (pd.Series, pd.DataFrame)):
            continue
        index = values.index
        if first is None:
            first = name, index
        elif _is_reordered(first[1], index):
            warn_user(
                f"{first[0]} and {name} have the same index labels in different "
                f"orders. Rows are matched by position: pass "
                f"{name}.loc[{first[0]}.index] if they belong together by label."
            )
            return True
    return False


def warns_if_reordered(function: Callable[P, R]) -> Callable[P, R]:
    """Warn, before a call, of arguments whose rows are in different orders.

    If it does, the calls that the function makes in turn do not warn again.
    """
    names = [*signature(function).parameters]

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        rows = dict(zip(names, args, strict=False)) | kwargs
        if not warn_if_reordered(**rows):
            return function(*args, **kwargs)
        with rows_are_not_warned_of():
            return function(*args, **kwargs)

    return call


@contextmanager
def rows_are_not_warned_of(told: bool = True) -> Iterator[None]:
    """Let calls in this context not warn of rows of which the user knows."""
    token = _has_warned.set(told or _has_warned.get())
    try:
        yield
    finally:
        _has_warned.reset(token)


def warn_of_means(name: str) -> None:
    """Warn that the means of numbers between 0 and 1 are no rates of decisions."""
    if not _has_warned.get():
        warn_user(
            f"y_pred holds numbers between 0 and 1, such as probabilities, and {name} "
            "compares their means: threshold=0.5 compares decisions, scale='real' "
            "means without this warning."
        )


def _is_reordered(first: pd.Index[Any], second: pd.Index[Any]) -> bool:
    """Whether two indexes differ, but not in their labels."""
    if first is second or len(first) != len(second) or first.equals(second):
        return False
    return bool(first.isin(second).all() and second.isin(first).all())

"""Warnings that name the line of the user, and those about the order of rows."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
import sklearn

#: Directories of code that is not the user's: skfair, and packages that call it back,
#: such as a cross-validation for each fold.
_DIRECTORIES = (
    str(Path(__file__).parents[1]) + os.sep,
    *(str(Path(package.__file__).parent) + os.sep for package in (sklearn, joblib)),
)


def warn_user(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line: the last one outside of skfair and scikit-learn.

    Python shows a message once for each line, so the line must be the user's. Before
    Python 3.12 the warning names a line of skfair.
    """
    if sys.version_info >= (3, 12):
        warnings.warn(message, category, skip_file_prefixes=_DIRECTORIES)
    else:
        warnings.warn(message, category, stacklevel=3)


#: Python restores the filters of a process, whichever thread has changed them.
_CATCHING = threading.RLock()


@contextmanager
def caught_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Catch the warnings of other libraries, in one thread at a time."""
    with _CATCHING, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def warn_if_reordered(**rows: Any) -> None:
    """Warn of pandas objects whose indexes hold the same labels in another order.

    Rows are matched by position. Users who sorted or sampled one of the tables may
    expect rows to be matched by label.
    """
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
            return


def warn_of_means(name: str) -> None:
    """Warn that the means of numbers between 0 and 1 are not rates of decisions."""
    warn_user(
        f"y_pred holds numbers between 0 and 1, such as probabilities, and {name} "
        "compares their means: threshold=0.5 compares decisions, scale='real' "
        "means without this warning."
    )


def _is_reordered(first: pd.Index[Any], second: pd.Index[Any]) -> bool:
    """Return whether two indexes have the same labels in another order."""
    if first is second or len(first) != len(second) or first.equals(second):
        return False
    return bool(first.isin(second).all() and second.isin(first).all())

"""Lines that say how far a search is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeAlias

from skfair._utils._validation import check_integer

Report: TypeAlias = Callable[[str], None]

_now = time.perf_counter


def check_verbose(verbose: Any) -> int:
    """Return the verbosity, an integer or a bool."""
    # scikit-learn takes both.
    value = int(verbose) if isinstance(verbose, bool) else verbose
    return check_integer("verbose", value, 0)


def progress(name: str, verbose: int, seconds: float) -> Report:
    """Return a function that prints a line at most every so many seconds.

    Without `verbose` it prints nothing.
    """
    due = _now() + seconds

    def report(text: str) -> None:
        nonlocal due
        if verbose and _now() >= due:
            print(f"{name}: {text}", flush=True)
            due = _now() + seconds

    return report

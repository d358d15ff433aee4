"""How long a search may take, and lines that say how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from skfair._utils._validation import check_integer, check_real

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


def check_time_limit(time_limit: float | None) -> float:
    """Return a time limit in seconds, inf where there is none."""
    if time_limit is None:
        return np.inf
    return check_real(
        "time_limit", time_limit, 0, np.inf, closed="right", alternative="None or "
    )


@dataclass(frozen=True)
class Clock:
    """A time of `time.perf_counter` at which a search has to end; inf is never."""

    end: float = np.inf

    @classmethod
    def of(cls, time_limit: float) -> Clock:
        """Start a clock that runs for `time_limit` seconds."""
        return cls(time.perf_counter() + time_limit)

    def left(self) -> float:
        """Seconds left, at least zero."""
        return max(self.end - time.perf_counter(), 0.0)

    def is_over(self) -> bool:
        """Whether the time is over."""
        return time.perf_counter() >= self.end

    def part(self, share: float) -> Clock:
        """Clock of a share of the time that is left."""
        return Clock.of(self.left() * share)

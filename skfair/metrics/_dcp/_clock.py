"""How long a search may take."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from skfair._utils._validation import check_real


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

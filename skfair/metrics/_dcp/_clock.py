"""The time that a search has left."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Clock:
    """A point in time at which a search has to end.

    Attributes
    ----------
    end : float or None
        In seconds of `time.perf_counter`; None is never.
    """

    end: float | None

    @classmethod
    def of(cls, time_limit: float | None) -> Clock:
        """Start a clock that runs for `time_limit` seconds, or without end."""
        return cls(None if time_limit is None else time.perf_counter() + time_limit)

    def left(self) -> float | None:
        """Seconds left, None without end."""
        return None if self.end is None else self.end - time.perf_counter()

    def is_over(self) -> bool:
        """Whether the time is over."""
        return self.end is not None and time.perf_counter() >= self.end

    def part(self, share: float) -> Clock:
        """Clock of a share of the time that is left."""
        left = self.left()
        return self if left is None else Clock.of(max(left, 0.0) * share)

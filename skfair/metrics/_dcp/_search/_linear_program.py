"""The time that a search has left."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from skfair.metrics._dcp._search._rows import Floats


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


#: SciPy's stubs know no sparse matrices here.
_linprog: Any = linprog
_LEAST_SECONDS = 1e-3


def maximise(
    value: Floats,
    matrix: Any,
    right: Floats,
    low: Floats,
    high: Floats,
    clock: Clock,
    equal: tuple[Any, Floats] | None = None,
) -> Any:
    """Maximise ``value @ x`` subject to ``matrix @ x <= right``.

    Parameters
    ----------
    value : ndarray of shape (n_unknowns,)
    matrix : sparse array of shape (n_rows, n_unknowns)
    right : ndarray of shape (n_rows,)
    low, high : ndarray of shape (n_unknowns,)
        Bounds of the unknowns.
    clock : Clock
        When the solver has to stop.
    equal : tuple of matrix and right-hand side, default=None
        Equations that must hold too.

    Returns
    -------
    OptimizeResult, or None if there is no solution, or not in time
    """
    left = clock.left()
    solved = _linprog(
        -value,
        A_ub=matrix,
        b_ub=right,
        A_eq=None if equal is None else equal[0],
        b_eq=None if equal is None else equal[1],
        bounds=np.column_stack([low, high]),
        method="highs",
        options={} if left is None else {"time_limit": max(left, _LEAST_SECONDS)},
    )
    return solved if solved.status == 0 else None

"""Linear programs that stop at a time limit."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csc_array

from skfair._utils._validation import check_real
from skfair.metrics._dcp._search._rows import Floats

#: SciPy's stubs know no sparse matrices here.
_linprog: Any = linprog
_LEAST_SECONDS = 1e-3


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


def maximise(
    value: Floats,
    matrix: Any,
    right: Floats,
    low: Floats,
    high: Floats,
    clock: Clock,
    equal: tuple[Any, Floats] | None = None,
) -> Any:
    """Maximise ``value @ x`` subject to ``matrix @ x <= right`` and bounds of x.

    `equal` holds the matrix and right-hand side of equations. None is returned if
    there is no solution, or none in time.
    """
    solved = _linprog(
        -value,
        A_ub=matrix,
        b_ub=right,
        A_eq=None if equal is None else equal[0],
        b_eq=None if equal is None else equal[1],
        bounds=np.column_stack([low, high]),
        method="highs",
        options={"time_limit": max(clock.left(), _LEAST_SECONDS)},
    )
    return solved if solved.status == 0 else None


def maximise_explained(
    slopes: Floats,
    right: Floats,
    binds: NDArray[np.bool_],
    low: Floats,
    high: Floats,
    weights: Floats,
    clock: Clock,
) -> Any:
    """Maximise ``weights @ shares`` over a baseline row and the shares it explains.

    The unknowns are the row, which sums to one, and then the shares. Where `binds`,
    ``slopes[a, z] * row[z] + shares[a] <= right[a, z]``.
    """
    n_groups, n_classes = slopes.shape
    group, column = np.nonzero(binds)
    line = np.arange(len(group))
    matrix = csc_array(
        (
            np.concatenate([slopes[binds], np.ones(len(line))]),
            (np.concatenate([line, line]), np.concatenate([column, n_classes + group])),
        ),
        shape=(len(line), n_classes + n_groups),
    )
    simplex = csc_array(np.append(np.ones(n_classes), np.zeros(n_groups))[None])
    return maximise(
        np.append(np.zeros(n_classes), weights),
        matrix,
        right[binds],
        low,
        high,
        clock,
        equal=(simplex, np.ones(1)),
    )

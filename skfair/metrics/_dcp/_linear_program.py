"""Linear programs, solved by HiGHS until a clock runs out."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog

from skfair.metrics._dcp._clock import Clock
from skfair.metrics._dcp._rows import Floats

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

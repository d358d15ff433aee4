"""Linear programs that stop at a time limit."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_array

from skfair._utils._arrays import Bools, Floats
from skfair.metrics._dcp._clock import Clock

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
    n_rows: int = 0,
    row_sum: float = 1.0,
) -> Any:
    """Maximise ``value @ x`` subject to ``matrix @ (r, x) <= right`` and bounds.

    The unknowns before x are `n_rows` rows of a matrix r, each with the sum `row_sum`.
    None is returned if there is no solution, or none in time.
    """
    n_entries = len(low) - len(value)
    equations: dict[str, Any] = {}
    if n_rows:
        sums = np.kron(np.eye(n_rows), np.ones(n_entries // n_rows))
        sums = np.hstack([sums, np.zeros((n_rows, len(value)))])
        equations = {"A_eq": csc_array(sums), "b_eq": np.full(n_rows, row_sum)}
    solved = _linprog(
        -np.append(np.zeros(n_entries), value),
        A_ub=matrix,
        b_ub=right,
        **equations,
        bounds=np.column_stack([low, high]),
        method="highs",
        options={"time_limit": max(clock.left(), _LEAST_SECONDS)},
    )
    return solved if solved.status == 0 else None


def maximise_explained(
    slopes: Floats,
    right: Floats,
    binds: Bools,
    low: Floats,
    high: Floats,
    weights: Floats,
    clock: Clock,
) -> Any:
    """Maximise ``weights @ shares`` over a baseline row and the shares it explains.

    The unknowns are the row and then the shares. Where `binds`,
    ``slopes[a, z] * row[z] + shares[a] <= right[a, z]``.
    """
    n_classes = slopes.shape[1]
    group, column = np.nonzero(binds)
    line = np.arange(len(group))
    values = np.concatenate([slopes[binds], np.ones(len(line))])
    places = np.append(line, line), np.append(column, n_classes + group)
    matrix = csc_array((values, places), shape=(len(line), len(low)))
    return maximise(weights, matrix, right[binds], low, high, clock, n_rows=1)

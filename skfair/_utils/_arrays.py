"""Types of arrays, and division of arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
#: Positions of rows, groups, classes or scores, and numbers of them.
Integers: TypeAlias = NDArray[np.intp]


def quotients(numerator: Any, denominator: Any, otherwise: float = 0.0) -> Floats:
    """Divide where the denominator is above 0; elsewhere the result is `otherwise`."""
    shape = np.broadcast(numerator, denominator).shape
    result = np.full(shape, otherwise, dtype=np.float64)
    np.divide(numerator, denominator, out=result, where=np.greater(denominator, 0))
    return result


def shares_of_sums(values: NDArray[Any]) -> Floats:
    """Divide by the sums over the last axis; shares of 0 are 0."""
    return quotients(values, values.sum(axis=-1, keepdims=True))

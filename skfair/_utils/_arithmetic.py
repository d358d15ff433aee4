"""Arithmetic on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from skfair._utils._types import Floats


def quotients(numerator: Any, denominator: Any, otherwise: float = 0.0) -> Floats:
    """Divide where the denominator is above 0; elsewhere the result is `otherwise`."""
    shape = np.broadcast(numerator, denominator).shape
    found = np.full(shape, otherwise, dtype=np.float64)
    np.divide(numerator, denominator, out=found, where=np.greater(denominator, 0))
    return found

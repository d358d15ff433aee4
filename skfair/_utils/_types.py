"""Types of arrays."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
#: Positions of rows, groups, classes or scores, and numbers of them.
Integers: TypeAlias = NDArray[np.intp]

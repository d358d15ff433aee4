"""Rényi entropy, the logarithm of an effective number of groups."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from skfair._utils._validation import check_real
from skfair.sampling._plans import read_weights


def renyi_entropy(
    weights: Mapping[Any, float] | ArrayLike, order: float = 2 / 3
) -> float:
    """Rényi entropy of group weights, in bits.

    2 to the power of the entropy is an effective number of groups: the number of
    groups if weights are equal, smaller if they differ. For order 2/3, the number of
    rows that weighted sampling needs grows with its square root.

    Parameters
    ----------
    weights : mapping, Series or array-like of shape (n_groups,)
        Weights of the groups; they are scaled to sum to one.
    order : float in [0, inf], default=2/3
        0 gives the logarithm of the number of groups with a positive weight, 1 the
        Shannon entropy, and inf minus the logarithm of the largest weight.

    Returns
    -------
    float
        From 0 to log2(n_groups).

    Raises
    ------
    ValueError
        If weights are negative or all zero, or the order is negative.

    See Also
    --------
    required_sample_size : Number of rows, by simulation.

    References
    ----------
    .. [1] Monteiro Paes, Suresh, Beutel, Calmon, Beirami. "Multi-Group Fairness
       Evaluation via Conditional Value-at-Risk Testing". 2023. Equation 38.

    Examples
    --------
    >>> from skfair.sampling import renyi_entropy
    >>> renyi_entropy([0.25] * 4)
    2.0
    """
    order = check_real("order", order, 0, math.inf)
    shares = read_weights(weights, "weights")[1]
    logs = np.log(shares[shares > 0])
    if order == 1:
        nats = -float(np.exp(logs) @ logs)
    elif order > 1e16:  # by rounding the same as for inf, and `order * logs` is finite
        nats = -float(logs.max())
    else:
        nats = float(logsumexp(order * logs)) / (1 - order)
    # Rounding must not bring it below 0.
    return max(nats / math.log(2), 0.0)

"""Number of rows with which a small disparity can be certified."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike
from scipy.special import ndtri

from skfair._utils._validation import check_real
from skfair.metrics._confidence._noise import supremum_quantile
from skfair.sampling._plans import read_weights


def rows_to_certify(
    margin: float,
    group_weights: Mapping[Any, float] | ArrayLike,
    *,
    power: float = 0.9,
    confidence_level: float = 0.95,
) -> int:
    """Find the number of rows with which `certify` proves a small disparity.

    Parameters
    ----------
    margin : float in (0, 1)
        How much smaller the true disparity is than the value to be certified: 0.06 if
        "at most 0.1" is to be shown of a model whose disparity is 0.04.
    group_weights : mapping, Series or array-like of shape (n_groups,)
        Shares of the groups among the rows; they are scaled to sum to one.
    power : float in (0, 1), default=0.9
        Probability of a certificate, at least.
    confidence_level : float in (0, 1), default=0.95
        That of the certificate.

    Returns
    -------
    int
        Number of rows of all groups together, for `mcdp`. It is enough for `abcc` and
        `demographic_parity_difference`, which need fewer.

    Raises
    ------
    ValueError
        If a parameter is out of range, or fewer than two groups have weight.

    See Also
    --------
    skfair.metrics.certify : The test.
    required_sample_size : Rows that detect a disparity between many groups.

    Notes
    -----
    The estimate of each pair of groups stays within a quantile of the supremum of the
    noise above its true value, for all pairs at once, with probability `power`; the
    upper bound of `certify` lies above the estimate by a normal quantile. The number is
    conservative: in simulation the power was .97 to .99 for a power of .9.

    Examples
    --------
    >>> from skfair.sampling import rows_to_certify
    >>> rows_to_certify(0.06, {"F": 0.5, "M": 0.5})
    4653
    >>> rows_to_certify(0.06, {"F": 0.1, "M": 0.9})
    12924
    """
    margin = check_real("margin", margin, 0, 1, closed="neither")
    power = check_real("power", power, 0, 1, closed="neither")
    level = check_real("confidence_level", confidence_level, 0, 1, closed="neither")
    shares: list[float] = [
        share for share in read_weights(group_weights)[1].tolist() if share > 0
    ]
    if len(shares) < 2:
        raise ValueError("group_weights must have at least two groups, got one.")
    noise = supremum_quantile((1 - power) / math.comb(len(shares), 2))
    distance = max(float(ndtri(level)) / 2 + noise, 0.0)
    first, second = sorted(shares)[:2]  # the pair with the most noise
    widest = float(1 / first + 1 / second)
    return math.ceil((distance / margin) ** 2 * widest)

"""Scores of two groups, of known distributions."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.utils import check_random_state

from skfair._utils._arrays import Floats
from skfair._utils._text import shown

# Of group 0 and group 1, before they are cut to [0, 1].
DISTRIBUTIONS = (stats.gamma(4, scale=1 / 11), stats.norm(0.55, 0.1))


def make_biased_scores(
    n_samples: int | Sequence[int] = 20000, *, random_state: Any = None
) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Draw the scores of a model that prefers group 1 to group 0.

    This is the simulation of [1]_, section 4.4.1: scores of group 0 follow a gamma
    distribution of shape 4 and scale 1/11, those of group 1 a normal
    distribution of mean 0.55 and standard deviation 0.1, both truncated to [0, 1].
    The L1 distance of the two densities, which MADD estimates, is 1.195. Labels are
    drawn with the score as their probability: the scores are calibrated in both
    groups.

    Parameters
    ----------
    n_samples : int or pair of int, default=20000
        How many rows in all, half of them (rounded down) in group 0; or the sizes of
        group 0 and group 1.
    random_state : int, RandomState instance or None, default=None
        Seed for reproducible output.

    Returns
    -------
    y_true : ndarray of shape (n_samples,)
        Labels, 0 or 1.
    y_score : ndarray of shape (n_samples,)
        Scores in [0, 1].
    sensitive_features : ndarray of shape (n_samples,)
        Groups, 0 or 1. Rows are in random order.

    Raises
    ------
    ValueError
        If a group would be empty, or `n_samples` is neither an int nor two.

    See Also
    --------
    make_biased_classification : Features and labels to train on.

    Notes
    -----
    Equation 9 of [1]_ writes the second density as that of N(0.55, 1) at ten times the
    score. The distance of 1.19 that it reports belongs to N(0.55, 0.1), as here; taken
    literally, the equation puts that group near 0, at a distance of 1.43.

    References
    ----------
    .. [1] Verger M., Fan C., Lalle S., Bouchet F., Luengo V. (2024). A Comprehensive
       Study on Evaluating and Mitigating Algorithmic Unfairness with the MADD Metric.
       Journal of Educational Data Mining 16(1).

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> y_true, y_score, group = make_biased_scores(1000, random_state=0)
    >>> y_score.shape
    (1000,)
    >>> bool(y_score[group == 1].mean() > y_score[group == 0].mean())
    True
    """
    sizes = _group_sizes(n_samples)
    random = check_random_state(random_state)
    groups = random.permutation(np.repeat([0, 1], sizes))
    y_score = np.empty(len(groups))
    for group, distribution in enumerate(DISTRIBUTIONS):
        low, high = distribution.cdf([0, 1])
        quantiles = random.uniform(low, high, size=sizes[group])
        # A quantile may come back from its probability a rounding error outside.
        y_score[groups == group] = np.clip(distribution.ppf(quantiles), 0, 1)
    y_true = random.uniform(size=len(groups)) < y_score
    return y_true.astype(np.int64), y_score, groups.astype(np.int64)


def _group_sizes(n_samples: int | Sequence[int]) -> tuple[int, int]:
    if isinstance(n_samples, Integral):
        sizes: Any = (n_samples // 2, n_samples - n_samples // 2)
    else:
        sizes = n_samples
    whole = np.shape(sizes) == (2,) and all(isinstance(n, Integral) for n in sizes)
    if not whole or min(sizes) < 1 or max(sizes) > np.iinfo(np.intp).max:
        raise ValueError(
            "n_samples must be an int of at least 2, or a pair of ints of at least 1, "
            f"got {shown(n_samples)}."
        )
    return int(sizes[0]), int(sizes[1])

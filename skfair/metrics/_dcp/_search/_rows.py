"""One row of the baseline: its loss, bounds of it, and the best row so far.

The rows of a label decouple (Sabato, Treister, Yom-Tov, ICML 2025, equation 5). For a
true label y, a group a counts with the weight w_a * pi_a^y and predicts with the rates
h[a]. Since rates and baseline both add up to one, the second branch of eta (equation
4) is implied by the first over the other labels, so that

    max_z eta(alpha_z, h[a, z]) = 1 - min_z h[a, z] / alpha_z,   0/0 and h/0 being inf.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RowResult:
    """Bounds of the least loss of one row, and the baseline row that attains one.

    Attributes
    ----------
    lower, upper : float
    baseline : ndarray of shape (n_classes,)
        Its loss is `upper`.
    n_nodes : int
        Linear programs or vertices that were looked at.
    """

    lower: float
    upper: float
    baseline: Floats
    n_nodes: int


def least_ratios(baselines: Floats, rates: Floats) -> Floats:
    """Least ratio of a group's rates to those of a baseline row.

    Parameters
    ----------
    baselines : ndarray of shape (..., n_classes)
    rates : ndarray of shape (n_groups, n_classes)

    Returns
    -------
    ndarray of shape (..., n_groups)
    """
    divisor = baselines[..., None, :]
    ratios = np.full(np.broadcast_shapes(divisor.shape, rates.shape), np.inf)
    np.divide(rates, divisor, out=ratios, where=divisor > 0)
    return np.asarray(ratios.min(axis=-1))


def kept_shares(baselines: Floats, rates: Floats) -> Floats:
    """Share of each group that a baseline row explains at most: 1 - eta.

    Parameters
    ----------
    baselines : ndarray of shape (..., n_classes)
        Summing to one; where they sum to less, an upper bound for all rows above.
    rates : ndarray of shape (n_groups, n_classes)

    Returns
    -------
    ndarray of shape (..., n_groups), in [0, 1]
    """
    return np.minimum(least_ratios(baselines, rates), 1.0)


def row_losses(baselines: Floats, rates: Floats, weights: Floats) -> Floats:
    """Loss of each baseline row: the weight that it leaves unexplained.

    Parameters
    ----------
    baselines : ndarray of shape (..., n_classes)
    rates : ndarray of shape (n_groups, n_classes)
    weights : ndarray of shape (n_groups,)

    Returns
    -------
    ndarray of shape (...,)
    """
    return np.asarray((1.0 - kept_shares(baselines, rates)) @ weights)


def two_part_search(
    first: Floats, second: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    """Most weight that a split of the baseline's mass between two parts explains.

    A share t goes to the first part, the rest to the second; a group then keeps
    ``min(first / t, second / (1 - t))``. Between the values of t where the two are
    equal for some group the sum is convex, so that one of these values is best, or 0
    or 1 (the binary case of equation 3).

    Parameters
    ----------
    first, second : ndarray of shape (n_problems, n_groups)
        What a group would keep if all the mass were in one part; inf for a part
        without labels.
    weights : ndarray of shape (n_groups,)

    Returns
    -------
    kept : ndarray of shape (n_problems,)
    share : ndarray of shape (n_problems,)
        The best t.
    """
    total = first + second
    equal = np.divide(first, total, out=np.zeros_like(total), where=total > 0)
    ends = np.broadcast_to([0.0, 1.0], (len(first), 2))
    shares = np.concatenate([equal, ends], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = first[:, None, :] / shares[:, :, None]
        right = second[:, None, :] / (1 - shares[:, :, None])
        # 0/0 is no limit, which is what fmin makes of nan.
        kept = np.fmin(np.fmin(left, right), 1.0) @ weights
    best = kept.argmax(axis=1)
    rows = np.arange(len(first))
    return kept[rows, best], shares[rows, best]


def merged_bound(rates: Floats, weights: Floats, subsets: NDArray[np.bool_]) -> float:
    """Lower bound of the loss: the best over ways of merging labels into two.

    Merging labels can only lower the loss (appendix C), and two labels are solved
    exactly. With single labels as `subsets` it is the paper's bound, equation 7.

    Parameters
    ----------
    rates : ndarray of shape (n_groups, n_classes)
    weights : ndarray of shape (n_groups,)
    subsets : ndarray of shape (n_subsets, n_classes)
        Which labels form the first of the two sets.

    Returns
    -------
    float
    """
    first = subsets @ rates.T
    second = ~subsets @ rates.T
    kept, _ = two_part_search(first, second, weights)
    return max(0.0, float(weights.sum() - kept.min()))


def halves(n_classes: int) -> NDArray[np.bool_]:
    """All ways of splitting labels into two sets, one row each.

    Parameters
    ----------
    n_classes : int

    Returns
    -------
    ndarray of shape (2 ** (n_classes - 1) - 1, n_classes)
        True for the labels of the set without label 0.
    """
    codes = np.arange(1, 2 ** (n_classes - 1))
    others = (codes[:, None] >> np.arange(n_classes - 1)) & 1
    return np.column_stack([np.zeros(len(codes), bool), others.astype(bool)])

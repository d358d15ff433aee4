"""Loss of one row of the baseline, and a lower bound of it.

The rows of the baseline are independent problems (Sabato, Treister, Yom-Tov, ICML
2025, equation 5). For a true class y, group a has the weight w_a * pi_a^y and predicts
with the rates h[a]. Since rates and baseline both sum to one, the second branch of eta
(equation 4) follows from the first over the other classes, so that

    max_z eta(alpha_z, h[a, z]) = 1 - min_z h[a, z] / alpha_z,   0/0 and h/0 being inf.

A baseline row explains the share min_z h[a, z] / alpha_z of a group, 1 - eta. Its loss
is the weight that it does not explain.

Everywhere in this package, `rates` has shape (n_groups, n_classes) and `weights` shape
(n_groups,); they belong to one true class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skfair._utils._arrays import Bools, Floats


@dataclass(frozen=True, eq=False)
class RowResult:
    """Bounds of the least loss of a row, and a row whose loss is `upper`."""

    lower: float
    upper: float
    baseline: Floats
    n_nodes: int  # linear programs, trees and boxes that were examined

    def __str__(self) -> str:
        return f"{self.lower:.6f} to {self.upper:.6f}, {self.n_nodes} nodes"


def least_ratios(baselines: Floats, rates: Floats) -> Floats:
    """Least ratio of each group's rates to those of each baseline row."""
    divisor = baselines[..., None, :]
    ratios = np.full(np.broadcast_shapes(divisor.shape, rates.shape), np.inf)
    # Not `divisor > 0`: the ratios to an undefined baseline are nan.
    np.divide(rates, divisor, out=ratios, where=divisor != 0)
    return np.asarray(ratios.min(axis=-1))


def explained_shares(baselines: Floats, rates: Floats) -> Floats:
    """Share of each group that each baseline row explains, 1 - eta."""
    # For the low corner of a box this is an upper bound on all rows of the box.
    return np.minimum(least_ratios(baselines, rates), 1.0)


def row_losses(baselines: Floats, rates: Floats, weights: Floats) -> Floats:
    """Loss of each baseline row: the weight that it does not explain."""
    left = 1.0 - explained_shares(baselines, rates)
    return np.asarray((left @ weights[..., None])[..., 0])


def etas(baseline: Floats, confusion: Floats) -> Floats:
    """Share of each group and true class that a baseline does not explain."""
    explained = [
        explained_shares(row, confusion[:, y]) for y, row in enumerate(baseline)
    ]
    return 1.0 - np.column_stack(explained)


def best_split(first: Floats, second: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Most weight explained by dividing the baseline's mass between two parts.

    `first` and `second`, of shape (n_problems, n_groups), are the shares explained if
    all mass is in one part. The second array returned is the first part's mass.
    """
    # With mass t in the first part a group's share is min(first / t, second / (1 - t)).
    # The total is convex in t between the values where the two are equal for some
    # group, so that one of these, 0 or 1 is best (the binary case of equation 3).
    total = first + second
    equal = np.divide(first, total, out=np.zeros_like(total), where=total > 0)
    ends = np.broadcast_to([0.0, 1.0], (len(first), 2))
    masses = np.concatenate([equal, ends], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = first[:, None, :] / masses[:, :, None]
        right = second[:, None, :] / (1 - masses[:, :, None])
        # 0/0 is no bound: fmin ignores nan.
        explained = np.fmin(np.fmin(left, right), 1.0) @ weights
    best = explained.argmax(axis=1)
    problems = np.arange(len(first))
    return explained[problems, best], masses[problems, best]


def merged_bound(rates: Floats, weights: Floats, subsets: Bools | None = None) -> float:
    """Lower bound of the loss: the largest of the losses with two merged classes.

    Each row of `subsets` merges the classes in it, and the classes outside it.
    """
    # Merging can only lower the loss (appendix C), and two classes are solved exactly.
    # Single classes as subsets, the default, give the paper's bound, equation 7.
    if subsets is None:
        subsets = np.eye(rates.shape[1], dtype=bool)
    explained, _ = best_split(subsets @ rates.T, ~subsets @ rates.T, weights)
    return max(0.0, float(weights.sum() - explained.min()))


def halves(n_classes: int) -> Bools:
    """All ways of splitting classes into two sets, shape (n_ways, n_classes)."""
    # True marks the set without class 0, so that each way occurs once.
    codes = np.arange(1, 2 ** (n_classes - 1))
    others = (codes[:, None] >> np.arange(n_classes - 1)) & 1
    return np.column_stack([np.zeros(len(codes), bool), others.astype(bool)])

"""The DCP paper's algorithms, written plainly from its text.

Sabato, Treister, Yom-Tov, "Disparate Conditional Prediction in Multiclass Classifiers",
ICML 2025. Matrices are clipped to [1e-5, 1 - 1e-5] first, as section 5 says.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Floats = NDArray[np.float64]
CLIP = 1e-5


def clipped(confusion: Floats) -> Floats:
    inside = np.clip(confusion, CLIP, 1 - CLIP)
    return inside / inside.sum(axis=-1, keepdims=True)


def eta(a: Floats, b: Floats) -> Floats:
    """Equation 4."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(b < a, 1 - b / a, 1 - (1 - b) / (1 - a))
    return np.where(a == b, 0.0, value)


def objective(alpha: Floats, H: Floats, weights: Floats) -> float:
    """Equation 8."""
    return float(weights @ eta(alpha[None, :], H).max(axis=1))


def lower_bound(H: Floats, weights: Floats) -> float:
    """Equation 7, of one true class."""
    bounds = []
    for rates in H.T:
        points = np.concatenate([[0.0, 1.0], rates])
        bounds.append(min(float(weights @ eta(x, rates)) for x in points))
    return max(bounds)


def average(H: Floats, weights: Floats) -> Floats:
    return weights @ H / weights.sum()


def greedy(
    H: Floats, weights: Floats, true_class: int, rng: np.random.Generator
) -> Floats:
    """Appendix C, with ten random orders of the classes."""
    others = [z for z in range(H.shape[1]) if z != true_class]
    rows = [
        _greedy_in_order(H, weights, [true_class, *rng.permutation(others)])
        for _ in range(10)
    ]
    return min(rows, key=lambda row: objective(row, H, weights))


def _greedy_in_order(H: Floats, weights: Floats, order: list[int]) -> Floats:
    alpha = np.zeros(H.shape[1])
    v, gamma = np.zeros(len(H)), 1.0
    for i, z in enumerate(order[:-1]):
        own, rest = H[:, z], H[:, order[i + 1 :]].sum(axis=1)
        candidates = [0.0, gamma, *own, *(gamma - rest)]
        # Where two of the terms of a group are equal, either branch of eta.
        candidates += list(own / (1 - v)) + list(1 - (1 - own) / (1 - v))
        candidates += list(gamma - rest / (1 - v))
        candidates += list(gamma - 1 + (1 - rest) / (1 - v))
        candidates += list(gamma * own / (own + rest))
        points = np.unique(np.clip(np.array(candidates), 0, gamma))
        terms = np.maximum(
            eta(points[:, None], own), eta(gamma - points[:, None], rest)
        )
        values = np.maximum(terms, v) @ weights
        alpha[z] = points[values.argmin()]
        v = np.maximum(v, eta(alpha[z], own))
        v = np.minimum(v, 1 - 1e-12)
        gamma -= alpha[z]
    alpha[order[-1]] = max(gamma, 0.0)
    return alpha


def local_minimum(alpha: Floats, H: Floats, weights: Floats) -> Floats:
    """Algorithm 1: sequential linear programs with a line search."""
    n_groups, k = H.shape
    alpha = clipped(alpha)
    value = objective(alpha, H, weights)
    for _ in range(50):
        slope = np.where(
            alpha > H,
            H / alpha**2,
            np.where(alpha < H, -(1 - H) / (1 - alpha) ** 2, 0.0),
        )
        v = eta(alpha[None, :], H)
        A = np.zeros((n_groups * k, k + n_groups))
        rows = np.arange(n_groups * k)
        A[rows, np.tile(np.arange(k), n_groups)] = slope.ravel()
        A[rows, k + np.repeat(np.arange(n_groups), k)] = -1
        solved = linprog(
            np.append(np.zeros(k), weights),
            A_ub=A,
            b_ub=(slope * alpha - v).ravel(),
            A_eq=np.append(np.ones(k), np.zeros(n_groups))[None, :],
            b_eq=[1.0],
            bounds=(0, 1),
        )
        if solved.x is None:
            break
        step, mu = solved.x[:k] - alpha, 1.0
        while (
            mu > 1e-6
            and objective(clipped(alpha + mu * step), H, weights) >= value - 1e-12
        ):
            mu /= 2
        if mu <= 1e-6:
            break
        # A step can end on the boundary, where the slopes have no bound.
        alpha = clipped(alpha + mu * step)
        value = objective(alpha, H, weights)
    return alpha


def upper_bounds(
    confusion: Floats, weights: Floats, rng: np.random.Generator
) -> dict[str, Floats]:
    """Baselines of the four methods, for weights of shape (n_groups, k)."""
    H = clipped(confusion)
    k = weights.shape[1]
    starts = {
        "Average": [average(H[:, y], weights[:, y]) for y in range(k)],
        "Greedy": [greedy(H[:, y], weights[:, y], y, rng) for y in range(k)],
    }
    baselines = {name: np.array(rows) for name, rows in starts.items()}
    for name, rows in starts.items():
        baselines[name + "+LM"] = np.array(
            [local_minimum(rows[y], H[:, y], weights[:, y]) for y in range(k)]
        )
    return baselines

"""How rows were drawn from groups, and what an estimator must know about it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from skfair._utils._validation import check_real

Sampling: TypeAlias = (
    Literal["fixed", "weighted", "attribute_specific"] | tuple[str, float]
)

#: The exponent that minimises the samples needed under weighted sampling.
EXPONENT = 2 / 3


@dataclass(frozen=True, eq=False)
class SamplingDesign:
    """Chance of seeing a group once and twice, and the weights that this leaves.

    Attributes
    ----------
    name : {"fixed", "weighted", "attribute_specific"}
    weights : ndarray of shape (n_groups,)
        Sum to one over the groups that take part.
    once, twice : ndarray of shape (n_groups,)
        P[M_g >= 1] and P[M_g >= 2].
    shares : ndarray of shape (n_groups,) or None
        Probability of each group in one draw, under weighted sampling.
    """

    name: str
    weights: NDArray[np.float64]
    once: NDArray[np.float64]
    twice: NDArray[np.float64]
    shares: NDArray[np.float64] | None = None


def sampling_design(
    sampling: Sampling, weights: NDArray[np.float64], sizes: NDArray[np.intp]
) -> SamplingDesign:
    """Read `sampling` for groups of given weights and sizes.

    Parameters
    ----------
    sampling : str, or tuple of str and float
    weights : ndarray of shape (n_groups,)
        Sum to one.
    sizes : ndarray of shape (n_groups,)

    Returns
    -------
    SamplingDesign

    Raises
    ------
    ValueError
        On another `sampling`.
    """
    name, parameter = _parse(sampling)
    n_rows = int(sizes.sum())
    if name == "weighted":
        exponent = EXPONENT if parameter is None else parameter
        shares = weighted_shares(weights, exponent)
        once, twice = (np.asarray(binom.sf(k, n_rows, shares)) for k in (0, 1))
        return SamplingDesign(name, weights, once, twice, shares)
    if name == "attribute_specific":
        # So many groups were sampled, which on average are gamma.
        gamma = n_rows / max(sizes.max(initial=0), 1)
        chance = np.minimum(1, (parameter or gamma) * weights)
        return SamplingDesign(name, weights, chance, chance)
    kept = np.where(sizes >= 2, weights, 0.0)
    total = kept.sum()
    certain = np.ones(len(weights))
    return SamplingDesign(name, kept / (total if total > 0 else 1), certain, certain)


def weighted_shares(
    weights: NDArray[np.float64], exponent: float
) -> NDArray[np.float64]:
    """Probability of each group in one draw of weighted sampling (equation 35).

    Parameters
    ----------
    weights : ndarray of shape (n_groups,)
    exponent : float, non-negative

    Returns
    -------
    ndarray of shape (n_groups,)
        A group without weight is never drawn.
    """
    exponent = check_real("exponent", exponent, 0, math.inf, closed="left")
    powers = np.zeros(len(weights))
    np.power(weights, exponent, out=powers, where=weights > 0)
    return np.asarray(powers / powers.sum())


def attribute_specific_plan(
    weights: NDArray[np.float64], n: int, gamma: float | None
) -> tuple[int, NDArray[np.float64]]:
    """Rows of each group that is sampled, and the probability that it is.

    Parameters
    ----------
    weights : ndarray of shape (n_groups,)
        Sum to one.
    n : int
        Data budget.
    gamma : float or None
        None is n / 2, or less where the heaviest group would be sampled for sure with
        rows to spare: then the groups that are sampled get more rows each.

    Returns
    -------
    n_rows : int
        At least 2.
    probabilities : ndarray of shape (n_groups,)

    Raises
    ------
    ValueError
        If a sampled group would have fewer than two rows.
    """
    if gamma is None:
        if n < 2:
            raise ValueError(f"n must be at least 2 to see a group twice, got {n}.")
        # Rounded down: it is better to sample every group than to miss one in fifty.
        n_rows = max(2, int(n * weights.max() * (1 + 1e-9)))
        return n_rows, np.minimum(1, n / n_rows * weights)
    gamma = check_real("gamma", gamma, 0, math.inf, closed="neither")
    n_rows = int(n / gamma * (1 + 1e-9))
    if n_rows < 2:
        raise ValueError(
            f"gamma must be at most n / 2 = {n / 2:g}, so that a sampled group has at "
            f"least two rows, got {gamma:g}."
        )
    return n_rows, np.minimum(1, gamma * weights)


def _parse(sampling: Any) -> tuple[str, float | None]:
    name, parameter = sampling if isinstance(sampling, tuple) else (sampling, None)
    if name not in ("fixed", "weighted", "attribute_specific"):
        raise ValueError(
            "sampling must be 'fixed', 'weighted', 'attribute_specific', or a tuple of "
            f"one of the latter two and its parameter, got {sampling!r}."
        )
    if parameter is None:
        return name, None
    if name == "fixed":
        raise ValueError(f"sampling 'fixed' has no parameter, got {sampling!r}.")
    open_end: Literal["left", "neither"] = "left" if name == "weighted" else "neither"
    return name, check_real(
        f"the parameter of sampling {name!r}", parameter, 0, math.inf, closed=open_end
    )

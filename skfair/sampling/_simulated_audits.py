"""Audits of made-up groups, to see how often a test would tell."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skfair.metrics._groupwise._rate_variance import Estimator
from skfair.metrics._groupwise._sampling_design import (
    EXPONENT,
    SamplingDesign,
    attribute_specific_plan,
    sampling_design,
    weighted_shares,
)

Method: TypeAlias = Literal["weighted", "attribute_specific"]

#: Numbers in one block of audits, which bounds memory.
_BLOCK = 2**20


def simulated_estimates(
    weights: NDArray[np.float64],
    n: int,
    method: Method,
    *,
    tail: float,
    epsilon: float,
    n_simulations: int,
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Estimates of definition 7 over many audits of n rows.

    Groups of weight `tail`, drawn anew for each audit, have rates of one half plus and
    minus epsilon in turn; the others have one half. With epsilon 0 all are alike.

    Parameters
    ----------
    weights : ndarray of shape (n_groups,)
    n : int
    method : {"weighted", "attribute_specific"}
    tail : float
    epsilon : float in [0, 0.5]
    n_simulations : int
    generator : Generator

    Returns
    -------
    ndarray of shape (n_simulations,)
    """
    values = np.empty(n_simulations)
    n_in_block = max(1, _BLOCK // len(weights))
    for start in range(0, n_simulations, n_in_block):
        block = slice(start, min(start + n_in_block, n_simulations))
        shape = (block.stop - block.start, len(weights))
        rates = unequal_rates(weights, shape[0], tail, epsilon, generator)
        sizes, design = draw_sizes(weights, n, method, shape[0], generator)
        hits = np.zeros_like(sizes)
        seen = sizes > 0
        hits[seen] = generator.binomial(sizes[seen], rates[seen])
        values[block] = _estimates(sizes, hits, design)
    return values


def unequal_rates(
    weights: NDArray[np.float64],
    n_audits: int,
    tail: float,
    epsilon: float,
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Rates of the groups in each audit.

    Parameters
    ----------
    weights : ndarray of shape (n_groups,)
    n_audits : int
    tail : float
        Weight of the groups that differ; the last of them may exceed it.
    epsilon : float in [0, 0.5]
    generator : Generator

    Returns
    -------
    ndarray of shape (n_audits, n_groups)
    """
    rates = np.full((n_audits, len(weights)), 0.5)
    if epsilon == 0:
        return rates
    order = generator.permuted(
        np.broadcast_to(np.arange(len(weights)), rates.shape), axis=1
    )
    ordered = weights[order]
    before = np.cumsum(ordered, axis=1) - ordered
    signs = np.where(np.arange(len(weights)) % 2, -epsilon, epsilon)
    shifts = np.where(before < tail - 1e-12, signs, 0.0)
    np.put_along_axis(rates, order, 0.5 + shifts, axis=1)
    return rates


def draw_sizes(
    weights: NDArray[np.float64],
    n: int,
    method: Method,
    n_audits: int,
    generator: np.random.Generator,
) -> tuple[NDArray[Any], SamplingDesign]:
    """Rows of each group in each audit, and the design that they follow.

    Parameters
    ----------
    weights : ndarray of shape (n_groups,)
    n : int
    method : {"weighted", "attribute_specific"}
    n_audits : int
    generator : Generator

    Returns
    -------
    sizes : ndarray of shape (n_audits, n_groups)
    design : SamplingDesign
    """
    if method == "weighted":
        shares = weighted_shares(weights, EXPONENT)
        sizes = _weighted_sizes(shares, n, n_audits, generator)
        return sizes, sampling_design("weighted", weights, sizes[0])
    n_rows, chance = attribute_specific_plan(weights, n, None)
    drawn = generator.random((n_audits, len(weights))) < chance
    design = SamplingDesign("attribute_specific", weights, chance, chance)
    return n_rows * drawn, design


def _weighted_sizes(
    shares: NDArray[np.float64],
    n: int,
    n_audits: int,
    generator: np.random.Generator,
) -> NDArray[Any]:
    """Multinomial counts; few rows are drawn one by one, which is faster."""
    n_groups = len(shares)
    if n >= n_groups:
        return generator.multinomial(n, shares, size=n_audits)
    rows = generator.choice(n_groups, size=(n_audits, n), p=shares)
    rows += n_groups * np.arange(n_audits)[:, np.newaxis]
    counts = np.bincount(rows.ravel(), minlength=n_audits * n_groups)
    return counts.reshape(n_audits, n_groups)


def _estimates(
    sizes: NDArray[Any], hits: NDArray[Any], design: SamplingDesign
) -> NDArray[np.float64]:
    """F of audits whose sizes differ."""
    ones = np.ones(len(design.weights), dtype=np.intp)
    counted = np.maximum(sizes, 1)
    pairs = np.maximum(sizes * (sizes - 1), 1)
    once = Estimator(design, ones, ones).row_weights
    twice = np.zeros(len(once))
    np.divide(design.weights, design.twice, out=twice, where=design.twice > 0)
    f1 = (hits * (hits - 1) / pairs) @ twice
    f2 = (hits / counted) @ once
    return np.asarray(f1 - f2**2)

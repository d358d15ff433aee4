"""Sharp lower bounds by linear programs, each with multipliers that prove it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from skfair._utils._arithmetic import quotients
from skfair._utils._types import Floats
from skfair.metrics._proxy._bands import (
    DenseCells,
    Kind,
    odds_limits,
)


class _Program(NamedTuple):
    """Linear program of the gap between two groups at one odds ratio.

    The gap at threshold j is ``scale`` times the mass of the second group at or below
    it, minus ``offset[j]``.
    """

    masses: Floats  # of each cell by score, shape (n_cells, n_scores)
    shares: Floats  # of the second group in each cell
    low: Floats  # least share of the second group among rows of a cell
    high: Floats  # largest such share
    scale: float
    offset: Floats
    rounding: float  # of sums, relative to the mass of all cells


def sharp_lower_bound(
    cells: DenseCells, odds_ratio: float, kind: Kind
) -> tuple[float, Floats]:
    """Bound the measure of a gap from below, by multipliers of the gaps that prove it.

    Whatever the multipliers are, the bound computed from them is valid: no rounding or
    tolerance of the solver can make it too large.
    """
    program = _program_of(cells, odds_ratio)
    widths = cells.widths if kind == "area" else None
    multipliers = _solve(program, widths)
    if widths is None:
        multipliers /= max(1.0, abs(multipliers).sum())
    else:
        multipliers = np.clip(multipliers, -widths, widths)
    return _certified_lower_bound(program, multipliers), multipliers


def _program_of(cells: DenseCells, odds_ratio: float) -> _Program:
    """Read the linear program of two groups at an odds ratio."""
    masses = cells.masses[0]
    shares = cells.probabilities[:, 1]
    low, high = odds_limits(shares, odds_ratio)
    everyone = cells.masses.sum(axis=(0, 1))
    known = cells.masses[2].sum(axis=0) if len(cells.masses) > 1 else 0 * everyone
    second = known.sum() + masses.sum(axis=1) @ shares
    first = everyone.sum() - second
    scale = float(1 / first + 1 / second)
    offset = np.cumsum(everyone) / first - scale * np.cumsum(known)
    return _Program(masses, shares, low, high, scale, offset, cells.rounding)


def _certified_lower_bound(program: _Program, multipliers: Floats) -> float:
    """Least sum of the gaps times multipliers, over all that is possible.

    It bounds every measure whose dual norm of the multipliers is at most 1. Of each
    cell the entries with the least cost are filled with the largest share first.
    """
    masses, shares, low, high, scale, offset, rounding = program
    costs = scale * np.cumsum(multipliers[::-1])[::-1]
    order = np.argsort(costs)
    ordered, totals = masses[:, order], masses.sum(axis=1)
    slopes = high - low
    cut = totals * quotients(shares - low, slopes, 1.0)
    filled = np.clip(cut[:, None] - np.cumsum(ordered, axis=1) + ordered, 0, ordered)
    given = low[:, None] * ordered + slopes[:, None] * filled
    value = float((given @ costs[order]).sum() - multipliers @ offset)
    sizes = abs(costs).max() * totals.sum() + abs(multipliers) @ abs(offset)
    return value - float(sizes) * rounding


def _solve(program: _Program, widths: Floats | None) -> Floats:
    """Multipliers of the gaps in the dual of the linear program.

    The variables are what each entry holds above its least share, the cumulative sums
    over entries, and the largest gap, or the absolute gap at each threshold.
    """
    masses, shares, low, high, scale, offset, _ = program
    total = masses.sum()
    masses = masses / total
    n_cells, n = masses.shape
    n_entries = n_cells * n
    n_gaps = 1 if widths is None else n
    in_cell = sparse.kron(sparse.eye(n_cells), np.ones((1, n)))
    at_score = sparse.kron(np.ones((1, n_cells)), sparse.eye(n))
    steps = sparse.eye(n) - sparse.eye(n, k=-1)
    equal = sparse.block_array(
        [
            [in_cell, None, sparse.csr_array((n_cells, n_gaps))],
            [-at_score, steps, None],
        ]
    )
    least = low[:, None] * masses
    sums = np.concatenate([(shares - low) * masses.sum(axis=1), least.sum(axis=0)])
    gaps = np.ones((n, 1)) if widths is None else sparse.eye(n)
    gap = scale * total * sparse.eye(n)
    no_entries = sparse.csr_array((n, n_entries))
    limits = sparse.block_array([[no_entries, gap, -gaps], [no_entries, -gap, -gaps]])
    cost = np.ones(1) if widths is None else widths
    room = ((high - low)[:, None] * masses).ravel()
    upper = np.concatenate([room, np.full(n + n_gaps, np.inf)])
    lower = np.concatenate([np.zeros(n_entries), np.full(n, -np.inf), np.zeros(n_gaps)])
    found = linprog(
        np.concatenate([np.zeros(n_entries + n), cost]),
        A_ub=limits,
        b_ub=np.concatenate([offset, -offset]),
        A_eq=equal,
        b_eq=sums,
        bounds=np.column_stack([lower, upper]),
        method="highs",
    )
    if found.status != 0:
        raise RuntimeError(f"the linear program was not solved: {found.message}")
    above, below = np.split(-found.ineqlin.marginals, 2)
    return np.asarray(above - below)

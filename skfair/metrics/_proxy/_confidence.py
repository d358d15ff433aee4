"""Noise of the bounds, and what rows with a known group say about the proxy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from skfair._utils._arrays import Bools, Floats, Integers, quotients
from skfair.groups import Codes
from skfair.metrics._distribution._gap import Pair
from skfair.metrics._proxy._bands import (
    DenseCells,
    Kind,
    Rates,
    odds_limits,
    split_below,
)
from skfair.metrics._proxy._cells import ProxyRows
from skfair.metrics._rate_intervals import clopper_pearson

#: Draws of the noise, and numbers that a part of them may hold in memory. Noise needs
#: no more than the seven digits of these numbers.
_N_DRAWS, _MAX_NUMBERS, _SHORT = 499, 2**18, np.float32
_TINY = float(np.finfo(float).tiny)
#: Kinds of rows up to which one that is rare decides a bound.
_FEW_KINDS = 10
#: Known rows of a cell are compared with the cell in this many parts, by score.
_N_PARTS = 4
#: Level of the comparison of known rows with the probabilities, over all of them.
_ALPHA = 0.05


class _Noise(NamedTuple):
    """Draws of the noise of masses, of numerator and rest, and of probabilities."""

    masses: Floats  # (n_draws, 1 + n_groups, n_cells)
    parts: tuple[Floats, Floats]  # (n_draws, 1 + n_groups, n_cells, n_points) each
    shares: Floats | None  # (n_draws, n_cells, n_groups)


def margins(
    rows: ProxyRows,
    cells: DenseCells,
    odds_ratios: Sequence[float],
    kind: Kind,
    pairs: Sequence[Pair],
    confidence_level: float,
    generator: np.random.RandomState,
) -> Floats:
    """How much the bounds of the measure may be too narrow, for each odds ratio.

    Noise is as wide as Student's where a group has few rows. Of few kinds of rows, such
    as labels, it is also at least that of as many rows of each cell that are like
    everyone: a cell in which a kind is missing by chance shows no noise.
    """
    step = max(1, _MAX_NUMBERS // cells.parts[0].size)
    bits = np.random.SFC64(generator.randint(2**31 - 1))
    draws = np.random.Generator(bits)  # which draws normal numbers faster
    variances = [cells.squares]
    if len(cells.compared_within) <= _FEW_KINDS:
        variances.append(_like_everyone(cells))
    drawn = np.empty((len(odds_ratios), len(variances), _N_DRAWS))
    for start, (i, squares) in product(range(0, _N_DRAWS, step), enumerate(variances)):
        n_draws = min(step, _N_DRAWS - start)
        noise = _draw(rows, cells, squares, n_draws, draws)
        for of_ratio, odds_ratio in zip(drawn, odds_ratios, strict=True):
            errors = _noise_of_rates(rows, cells, noise, odds_ratio)
            largest = [
                _largest_error(kind, errors, pair, cells.widths, draws)
                for pair in pairs
            ]
            of_ratio[i, start : start + n_draws] = np.max(largest, axis=0)
    quantiles = np.quantile(drawn, confidence_level, axis=2, method="higher")
    two_sided = (1 + confidence_level) / 2
    freedom = max(_least_freedom(cells), 1.0)
    quantiles *= stdtrit(freedom, two_sided) / ndtri(two_sided)
    quantiles *= np.sqrt((freedom + 1) / freedom)
    return np.asarray(np.maximum(quantiles.max(axis=1), 0))


def _least_freedom(cells: DenseCells) -> float:
    """Degrees of freedom of the mean of the group whose rows are fewest, by Welch."""
    masses, squares = (each.sum(axis=-1) for each in (cells.masses, cells.squares))
    counts = quotients(masses**2, squares)
    freedom = []
    for group, of_cells in enumerate(cells.probabilities.T):
        shares = np.zeros_like(masses)
        shares[0], shares[1 + group : 2 + group] = of_cells, 1
        noise = squares * shares**2
        freedom.append(noise.sum() ** 2 / (noise**2 / np.maximum(counts, 1)).sum())
    return float(min(freedom)) - 1


def _like_everyone(cells: DenseCells) -> Floats:
    """Squared weights by kind, if the kinds of a part were those of everyone there."""
    squares = np.zeros_like(cells.squares)
    everyone = cells.masses.sum(axis=(0, 1))
    for part in np.unique(cells.compared_within):
        kinds = cells.compared_within == part
        shares = everyone[kinds] / max(everyone[kinds].sum(), _TINY)
        squares[..., kinds] = cells.squares[..., kinds].sum(-1, keepdims=True) * shares
    return squares


def _largest_error(
    kind: Kind, errors: Rates, pair: Pair, widths: Any, generator: Any
) -> Floats:
    """By how much the bounds of the measure of a gap are too narrow, for each draw."""
    low, up = errors.gap(pair)
    down = -low
    if kind == "mean":
        return np.asarray(np.maximum(up @ widths, down @ widths))
    if kind == "area":
        return np.asarray(np.maximum(np.maximum(up, down), 0) @ widths)
    if widths is not None:
        up, down = (_with_bridges(one, generator) for one in (up, down))
    return np.asarray(np.maximum(up, down).max(axis=-1))


def _with_bridges(errors: Floats, generator: Any) -> Floats:
    """Draw the largest error from each threshold to the next: that of a bridge."""
    steps = np.diff(errors, axis=-1, append=0)
    variance = np.mean(steps**2, axis=0)
    logs = generator.standard_exponential(steps.shape, dtype=steps.dtype)
    return np.asarray(errors + (steps + np.sqrt(steps**2 + 2 * variance * logs)) / 2)


def _draw(
    rows: ProxyRows, cells: DenseCells, squares: Floats, n_draws: int, generator: Any
) -> _Noise:
    """Draw the noise of independent rows, and of the probabilities of cells."""
    normal = generator.standard_normal((n_draws, *cells.masses.shape), dtype=_SHORT)
    normal *= np.sqrt(squares).astype(_SHORT)
    shares = None
    if rows.from_known:
        of_known = normal[:, 1:].sum(axis=-1)
        total = cells.masses[1:].sum(axis=(0, 2))[:, np.newaxis]
        common = of_known.sum(axis=1)[..., np.newaxis] * rows.probabilities
        shares = ((of_known.swapaxes(1, 2) - common) / total).astype(_SHORT)
    return _Noise(normal.sum(axis=-1), cells.split(normal), shares)


def _noise_of_rates(
    rows: ProxyRows, cells: DenseCells, noise: _Noise, odds_ratio: float
) -> Rates:
    """Draw true bounds of the rates minus those found, and the noise of everyone's.

    Of lower bounds it is the least that it may be, of upper bounds the most. The shape
    is (n_groups, n_draws, n_points).
    """
    lows: list[Floats] = []
    highs: list[Floats] = []
    n_groups = len(rows.labels)
    of_parts = [part.sum(axis=(1, 2)) for part in noise.parts]
    pair = rows.fixed and n_groups == 2
    errors = [
        _noise_of_ends(rows, cells, noise, group, odds_ratio)
        for group in range(pair, n_groups)
    ]
    if pair:  # the first group has what the second has not
        inside, rest = (
            [of_part - end for end in reversed(ends)]
            for of_part, ends in zip(of_parts, errors[0], strict=True)
        )
        errors.insert(0, (inside, rest))
    for group, (of_inside, of_rest) in enumerate(errors):
        ends = [cells.ends(group, part, odds_ratio) for part in cells.parts]
        for found, end in ((lows, 0), (highs, 1)):
            x, y = np.maximum(ends[0][end], 0), np.maximum(ends[1][1 - end], 0)
            found.append(_noise_of_ratio(x, y, of_inside[end], of_rest[1 - end]))
    parts = [part.sum(axis=(0, 1)) for part in cells.parts]
    of_everyone = _noise_of_ratio(*parts, *of_parts)
    return Rates(np.stack(lows), np.stack(highs), (of_everyone, of_everyone))


def _noise_of_ends(
    rows: ProxyRows, cells: DenseCells, noise: _Noise, group: int, odds_ratio: float
) -> tuple[list[Floats], list[Floats]]:
    """Noise of the least and the most of a group's mass, in numerator and rest."""

    def of_part(part: int) -> list[Floats]:
        return [
            _noise_of_end(rows, cells, noise, group, part, odds_ratio, end)
            for end in (-1, 1)
        ]

    inside = of_part(0)
    if not (rows.fixed and cells.split is split_below):
        return inside, of_part(1)
    # Each score is in the numerator or in the rest, and the group's mass is known.
    mass = noise.masses[:, 0] @ cells.probabilities[:, [group]].astype(_SHORT)
    if len(cells.masses) > 1:
        mass = mass + noise.masses[:, 1 + group].sum(axis=1, keepdims=True)
    return inside, [mass - end for end in reversed(inside)]


def _noise_of_ratio(x: Floats, y: Floats, of_x: Floats, of_y: Floats) -> Floats:
    """Noise of x / (x + y) to first order."""
    total = x + y
    rate = np.divide(x, total, out=np.zeros_like(total), where=total > 0)
    scale = np.divide(1, total, out=np.zeros_like(total), where=total > 0)
    by_x, by_y = ((part * scale).astype(_SHORT) for part in (1 - rate, rate))
    return np.asarray(of_x * by_x - of_y * by_y)


def _noise_of_end(
    rows: ProxyRows,
    cells: DenseCells,
    noise: _Noise,
    group: int,
    part: int,
    odds_ratio: float,
    end: int,
) -> Floats:
    """Noise of the least (-1) or the most (1) of a group's mass in a part of the rows.

    Of each cell with a known share this is the smaller of two linear functions for the
    most, and the larger for the least. Where they are nearly equal, either may be the
    true one, so that the worse noise counts.
    """
    q = cells.probabilities[:, [group]]
    # The most fills a cell from its highest odds on, the least from its lowest.
    first, other = odds_limits(q, odds_ratio)[::-end]
    value, of_value = cells.parts[part][0], noise.parts[part][:, 0]
    if not rows.fixed:
        found = np.einsum("dzp,z->dp", of_value, first[:, 0].astype(_SHORT))
        if noise.shares is not None:
            of_first = _slopes(q, odds_ratio)[::-end][0]
            found += noise.shares[..., group] @ (of_first * value).astype(_SHORT)
        return np.asarray(found + cells.known_part(noise.parts[part], group))
    # The functions are first * value and q * total - other * (total - value).
    total = cells.masses[0].sum(axis=-1, keepdims=True)
    apart = end * ((first - other) * value - (q - other) * total)
    spread = abs(first - other) * np.sqrt(cells.squares[0].sum(axis=1))[:, None] / 2
    near = abs(apart) <= np.sqrt(np.log(len(rows.cells) + 1)) * spread
    near &= first != other  # otherwise the functions are one
    is_first = (apart < 0) & ~near
    slopes = np.where(is_first, first, other), np.where(is_first, 0, q - other)
    found = np.einsum("dzp,zp->dp", of_value, slopes[0].astype(_SHORT))
    found += noise.masses[:, 0] @ slopes[1].astype(_SHORT)
    at = np.flatnonzero(near.any(axis=1))
    of_values, of_totals = (
        (near * tilt)[at].astype(_SHORT) for tilt in (first - other, q - other)
    )
    between = of_value[:, at] * of_values
    between -= noise.masses[:, 0, at, np.newaxis] * of_totals
    between *= end
    found += end * np.maximum(between, 0, out=between).sum(axis=1)
    return np.asarray(found + cells.known_part(noise.parts[part], group))


def _slopes(q: Floats, odds_ratio: float) -> tuple[Floats, Floats]:
    """Differentiate `odds_limits` by the probability."""
    inverse = 1 / odds_ratio
    with np.errstate(divide="ignore", invalid="ignore"):
        low = inverse / (q * inverse + 1 - q) ** 2
        high = inverse / (q + (1 - q) * inverse) ** 2
    return np.nan_to_num(low), np.nan_to_num(high)


def compare_known_rows(rows: ProxyRows) -> tuple[Bools, float]:
    """Compare the known rows of each cell with its probabilities.

    Returns which cells they contradict, and how far the odds of some scores of a cell
    are at least from those of the cell.
    """
    kept = (rows.known >= 0) & (rows.weights > 0)
    if rows.from_known or not kept.any():
        return np.zeros(rows.n_cells, dtype=bool), np.nan
    cells, groups = rows.cells[kept].astype(np.intp), rows.known[kept]
    whole = _separation(rows, cells, groups, np.zeros(len(cells), np.intp), 1)
    parts = _parts_by_score(cells, rows.lows[kept])
    by_score = _separation(rows, cells, groups, parts, _N_PARTS)
    return np.any(whole > 1, axis=(1, 2)), float(by_score.max())


def _parts_by_score(cells: Integers, scores: Floats) -> Integers:
    """Quarter of its cell in which each score is."""
    order = np.lexsort((scores, cells))
    sizes = np.bincount(cells)
    starts = np.cumsum(sizes) - sizes
    ranks = np.empty(len(cells), np.intp)
    ranks[order] = np.arange(len(cells)) - starts[cells[order]]
    return np.asarray(ranks * _N_PARTS // sizes[cells])


def _separation(
    rows: ProxyRows, cells: Integers, groups: Codes, parts: Integers, n_parts: int
) -> Floats:
    """Least odds ratio between exact intervals of known shares and probabilities.

    It is 1 where the interval holds the probability; all intervals hold together with
    the probability 0.95.
    """
    shape = rows.n_cells, n_parts, len(rows.labels)
    counts = np.zeros(shape)
    np.add.at(counts, (cells, parts, groups), 1)
    totals = counts.sum(axis=2, keepdims=True)
    q = np.broadcast_to(rows.probabilities[:, np.newaxis], shape)
    n_intervals = 2 * int(np.count_nonzero(totals)) * shape[2]
    tail = _ALPHA / max(1, n_intervals) / 2
    low, high = clopper_pearson(counts, totals, tail)
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(low > q, _odds(low) / _odds(q), 1)
        below = np.where(high < q, _odds(q) / _odds(high), 1)
    return np.asarray(np.maximum(above, below))


def _odds(probability: Floats) -> Floats:
    """Odds of a probability."""
    return probability / (1 - probability)

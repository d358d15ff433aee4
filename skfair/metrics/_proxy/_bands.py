"""Closed-form bounds of distributions of groups: `docs/proofs/proxies.md`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfair._utils._arrays import Floats, Integers, quotients
from skfair.metrics._distribution._gap import Pair
from skfair.metrics._proxy._cells import ProxyRows

#: How the gap between two groups becomes a number: its largest absolute value, the
#: integral of the absolute value, or the absolute value of the integral.
Kind = Literal["largest", "area", "mean"]
#: So many numbers are added one by one, so that rounding grows with the logarithm.
_BLOCK = 64
_EPS, _TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)


class Rates(NamedTuple):
    """Bounds of a probability within each group, at each of some points.

    `low` and `high` have shape (n_groups, n_points); `everyone` holds two such bounds
    of the probability among everyone.
    """

    low: Floats
    high: Floats
    everyone: tuple[Floats, Floats]

    def gap(self, pair: Pair) -> tuple[Floats, Floats]:
        """Bounds of the rate of one group minus that of another, or of everyone."""
        first, second = pair
        if second is None:
            low, high = self.everyone
        else:
            low, high = self.low[second], self.high[second]
        return self.low[first] - high, self.high[first] - low


def measure(
    kind: Kind, rates: Rates, pairs: Sequence[Pair], widths: Floats | None
) -> tuple[float, float]:
    """Bounds of the largest measure of a gap between the groups."""
    bounds = [_measure_gap(kind, *rates.gap(pair), widths) for pair in pairs]
    lower, upper = np.max(bounds, axis=0)
    return float(lower), float(upper)


def _measure_gap(
    kind: Kind, low: Floats, high: Floats, widths: Any
) -> tuple[float, float]:
    """Bounds of the measure of one gap that lies between `low` and `high`."""
    if kind == "mean":
        low, high = (running_sums(widths * end)[-1:] for end in (low, high))
    if kind == "area":
        least = np.maximum(np.maximum(low, -high), 0)
        ends = least, np.maximum(high, -low)
        low, high = (running_sums(widths * end)[-1:] for end in ends)
    return max(0.0, low.max(), -high.min()), max(0.0, high.max(), -low.min())


def odds_limits(probabilities: Floats, odds_ratio: float) -> tuple[Floats, Floats]:
    """Least and largest probability whose odds differ by at most this factor."""
    q = probabilities
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(q < 1, q / (q + odds_ratio * (1 - q)), 1.0)
        high = np.where(q > 0, q / (q + (1 - q) / odds_ratio), 0.0)
    return low, high


def running_sums(values: NDArray[Any]) -> Floats:
    """Cumulative sums of values, of sums of blocks, of sums of blocks of blocks."""
    n = len(values)
    if n <= _BLOCK:
        return np.cumsum(values, dtype=float)
    blocks = np.zeros(-(-n // _BLOCK) * _BLOCK)
    blocks[:n] = values
    sums = np.cumsum(blocks.reshape(-1, _BLOCK), axis=1)
    sums[1:] += running_sums(sums[:, -1])[:-1, np.newaxis]
    return sums.reshape(-1)[:n]


def rounding_of_sums(n: int) -> float:
    """Bound of the relative rounding of `running_sums` of products."""
    levels = max(1, math.ceil(math.log(n + 1, _BLOCK)))
    return 4 * (levels * _BLOCK + 8) * _EPS


class _Steps:
    """Entries in the order of one of their values, and sums at thresholds."""

    def __init__(self, rows: ProxyRows, values: Floats, thresholds: Floats | None):
        order = np.argsort(values)
        ordered = values[order]
        if thresholds is None:
            self.ends = np.flatnonzero(np.append(np.diff(ordered) > 0, True)) + 1
            self.thresholds = ordered[self.ends - 1]
        else:
            self.ends = np.searchsorted(ordered, thresholds, side="right")
            self.thresholds = thresholds
        self.cells = rows.cells[order]
        weights, known = rows.weights[order], rows.known[order]
        self.masses = np.where(known < 0, weights, 0).astype(float)
        self.known = np.stack(
            [self.at_ends(weights * (known == g)) for g in range(len(rows.labels))]
        )
        self.everyone = self.at_ends(weights)
        in_cells = np.argsort(self.cells, kind="stable")
        sums = np.append(0.0, running_sums(self.masses[in_cells]))
        sizes = np.bincount(self.cells, minlength=rows.n_cells)
        ends = np.cumsum(sizes)
        starts = sums[ends - sizes]
        self.totals = sums[ends] - starts
        self.sums_in_cell = np.empty(len(order))
        self.sums_in_cell[in_cells] = sums[1:] - np.repeat(starts, sizes)

    def at_ends(self, values: NDArray[Any]) -> Floats:
        """Sum the values up to each threshold."""
        return np.append(0.0, running_sums(values))[self.ends]

    def largest(self, q: Floats, low: Floats, high: Floats) -> Floats:
        """Most of a group's mass that can lie below each threshold.

        The cells have the shares `q` of the group. It fills each cell from below with
        the share `high` until only `low` is left for the rest.
        """
        return self._filled(q - low, high, low)

    def least(self, q: Floats, low: Floats, high: Floats) -> Floats:
        """Least of a group's mass that can lie below each threshold."""
        return self._filled(high - q, low, high)

    def rate(
        self, group: int, of_below: Floats, of_above: Floats, empty: float
    ) -> Floats:
        """Share of a group that lies below each threshold.

        The shares of the group in the cells are given for rows below the threshold, and
        for those above it.
        """
        known = self.known[group]
        below = known + self.at_ends(self.masses * of_below.take(self.cells))
        sums = self.at_ends(self.masses * of_above.take(self.cells))
        total = below + np.maximum(known[-1] - known + sums[-1] - sums, 0)
        return quotients(below, total, empty)

    def _filled(self, part: Floats, first: Floats, then: Floats) -> Floats:
        """Fill a part of each cell from below by the share `first`, else by `then`."""
        slopes = then - first
        cut = self.totals * np.divide(
            part, abs(slopes), out=np.ones_like(part), where=slopes != 0
        )
        beyond = self.sums_in_cell - cut.take(self.cells)
        np.clip(beyond, 0, self.masses, out=beyond)
        beyond *= slopes.take(self.cells)
        beyond += self.masses * first.take(self.cells)
        return self.at_ends(beyond)


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """Bounds of the cumulative distributions of scores, from rows by cell."""

    rows: ProxyRows

    @cached_property
    def steps(self) -> tuple[_Steps, _Steps]:
        """Entries in order of their largest, and of their least values."""
        rows = self.rows
        if rows.lows is rows.highs:
            return (_Steps(rows, rows.lows, None),) * 2
        thresholds = np.unique(np.concatenate([rows.lows, rows.highs]))
        return (
            _Steps(rows, rows.highs, thresholds),
            _Steps(rows, rows.lows, thresholds),
        )

    @property
    def thresholds(self) -> Floats:
        """Scores at which a cumulative distribution may step."""
        return self.steps[0].thresholds

    @property
    def widths(self) -> Floats:
        """Distance of each threshold to the next one."""
        return np.append(np.diff(self.thresholds), 0.0)

    @cached_property
    def group_masses(self) -> Floats:
        """Mass of each group, where the cells' probabilities are shares."""
        late = self.steps[0]
        masses = late.totals[:, np.newaxis] * self.rows.probabilities
        unknown = [running_sums(of_group)[-1] for of_group in masses.T]
        return np.asarray(late.known[:, -1] + unknown)

    def rates(self, odds_ratio: float, *, widened: bool) -> Rates:
        """Bounds of the groups' cumulative distributions at the thresholds."""
        late, early = self.steps
        n_groups, fixed = len(self.rows.labels), self.rows.fixed
        pair = fixed and n_groups == 2 and late is early
        bound = self._fixed_rates if fixed else self._free_rates
        found = [bound(group, odds_ratio) for group in range(pair, n_groups)]
        if pair:
            found.insert(0, self._complement(*found[0]))
        low, high = (np.stack(part) for part in zip(*found, strict=True))
        if widened:
            tolerance = self._rounding(odds_ratio)[:, np.newaxis]
            low -= tolerance
            high += tolerance
        total = late.everyone[-1]
        return Rates(
            np.clip(low, 0, 1, out=low),
            np.clip(high, 0, 1, out=high),
            (late.everyone / total, early.everyone / total),
        )

    def _fixed_rates(self, group: int, odds_ratio: float) -> tuple[Floats, Floats]:
        """Bounds for one group, whose shares of the cells are known."""
        late, early = self.steps
        q, mass = self.rows.probabilities[:, group], self.group_masses[group]
        limits = odds_limits(q, odds_ratio)
        low = (late.known[group] + late.least(q, *limits)) / mass
        high = (early.known[group] + early.largest(q, *limits)) / mass
        return low, high

    def _complement(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Bounds for the first of two groups, from those for the second."""
        first, second = self.group_masses
        everyone, ratio = self.steps[0].everyone / first, second / first
        return everyone - ratio * high, everyone - ratio * low

    def _free_rates(self, group: int, odds_ratio: float) -> tuple[Floats, Floats]:
        """Bounds for one group, whose shares of the cells are not known."""
        late, early = self.steps
        limits = odds_limits(self.rows.probabilities[:, group], odds_ratio)
        low = late.rate(group, *limits, empty=0.0)
        return low, early.rate(group, *limits[::-1], empty=1.0)

    def _rounding(self, odds_ratio: float) -> Floats:
        """Bound of the rounding of the rates of each group."""
        late = self.steps[0]
        if self.rows.fixed:
            masses = self.group_masses
        else:
            low, _ = odds_limits(self.rows.probabilities, odds_ratio)
            masses = late.known[:, -1] + late.totals @ low
        rounding = rounding_of_sums(len(late.cells)) * late.everyone[-1]
        return np.asarray(rounding / np.maximum(masses, _TINY))


#: Turns masses by kind of value into those of a numerator, and of the rest of the
#: denominator, at each point.
Split = Callable[[Floats], tuple[Floats, Floats]]


def split_below(masses: Floats) -> tuple[Floats, Floats]:
    """Mass at or below each value, and above it."""
    below = np.cumsum(masses, axis=-1)
    return below, below[..., -1:] - below


@dataclass(frozen=True, eq=False)
class DenseCells:
    """Masses of cells by few kinds of values, such as pairs of labels.

    `masses` and `squares` have shape (1 + n_groups, n_cells, n_kinds); rows without a
    known group come first. Without known groups the first axis has length 1.
    """

    masses: Floats
    squares: Floats
    probabilities: Floats
    fixed: bool
    split: Split
    #: Bound of the rounding of sums, relative to the mass of all cells.
    rounding: float
    #: Parts of the kinds, such as true labels, within which groups are compared.
    compared_within: Integers
    widths: Floats | None = None

    @classmethod
    def of(
        cls,
        rows: ProxyRows,
        kinds: Integers,
        compared_within: Integers,
        split: Split,
        widths: Floats | None = None,
    ) -> DenseCells:
        """Add up rows by known group, cell and kind of value."""
        n_first = 1 + (len(rows.labels) if (rows.known >= 0).any() else 0)
        shape = n_first, rows.n_cells, len(compared_within)
        first = rows.known.astype(np.intp) + 1
        at = np.ravel_multi_index((first, rows.cells.astype(np.intp), kinds), shape)
        masses, squares = (
            np.bincount(at, values, int(np.prod(shape))).reshape(shape).astype(float)
            for values in (rows.weights, rows.squares)
        )
        rounding = rounding_of_sums(masses.size)
        if rows.weights.dtype.kind == "f":  # whole numbers are added exactly
            rounding += len(at) * _EPS
        parts = masses, squares, rows.probabilities, rows.fixed, split, rounding
        return cls(*parts, compared_within, widths)

    @cached_property
    def parts(self) -> tuple[Floats, Floats]:
        """Numerator and rest, of shape (1 + n_groups, n_cells, n_points)."""
        return self.split(self.masses)

    def known_part(self, part: Floats, group: int) -> Any:
        """Sum over cells of the mass of rows known to be of a group."""
        return part[..., 1 + group, :, :].sum(axis=-2) if len(self.masses) > 1 else 0.0

    def ends(
        self, group: int, part: Floats, odds_ratio: float
    ) -> tuple[Floats, Floats]:
        """Least and most of a group's mass in a part of the rows at each point."""
        q = self.probabilities[:, [group]]
        low, high = odds_limits(q, odds_ratio)
        inside, total = part[0], self.masses[0].sum(axis=-1, keepdims=True)
        least, most = low * inside, high * inside
        if self.fixed:
            least = np.maximum(least, q * total - high * (total - inside))
            most = np.minimum(most, q * total - low * (total - inside))
        known = self.known_part(part, group)
        return known + least.sum(axis=0), known + most.sum(axis=0)

    def rates(self, odds_ratio: float, *, widened: bool) -> Rates:
        """Bounds of the rate of the numerator in each group, at each point."""
        found = []
        for group in range(self.probabilities.shape[1]):
            (x_low, x_high), (y_low, y_high) = (
                self.ends(group, part, odds_ratio) for part in self.parts
            )
            ends = []
            for x, y, vacuous in ((x_low, y_high, 0.0), (x_high, y_low, 1.0)):
                total = np.maximum(x, 0) + np.maximum(y, 0)
                rate = quotients(np.maximum(x, 0), total, vacuous)
                if widened:
                    sign = 2 * vacuous - 1
                    rounding = self.rounding * self.masses.sum()
                    rate += sign * rounding / np.maximum(total, _TINY)
                ends.append(np.clip(rate, 0, 1))
            found.append(ends)
        low, high = np.array(found).swapaxes(0, 1)
        inside, outside = (part.sum(axis=(0, 1)) for part in self.parts)
        for nobody, certain in ((inside == 0, 0), (outside == 0, 1)):
            low[:, nobody] = high[:, nobody] = certain
        everyone = inside / (inside + outside)
        return Rates(low, high, (everyone, everyone))

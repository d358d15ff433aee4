"""Cells of rows that share a proxy, and bounds of the groups' distributions in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers, quotients
from skfair._utils._text import counted, listed
from skfair._utils._validation import (
    as_array,
    check_choice,
    check_length,
    check_weights,
)
from skfair._utils._warnings import warn_user
from skfair.groups import (
    NEAR_ONE,
    Codes,
    Labels,
    columns_of,
    encode_column,
    encode_groups,
    intersect,
    positions_in,
    python_label,
    sort_labels,
)
from skfair.metrics._pairs import Pair

#: Rows of like probability form this many cells where no cells are given.
N_BINS = 20
#: Share of rows that may be alone in their cell without a warning.
_FEW = 0.05

Missing = Literal["proxy", "bounds"]


@dataclass(frozen=True, eq=False)
class ProxyRows:
    """Rows or entries of a statistic by cell, and the groups' probabilities by cell.

    The value of an entry lies between `lows` and `highs`. `groups` holds the group of
    each entry, -1 if unknown. If `fixed`, `probabilities` are the shares of the groups
    among the rows of a cell whose group is unknown. Otherwise only the odds of each
    group at a score are compared with the odds of `probabilities`.
    """

    cells: Codes
    groups: Codes
    lows: Floats
    highs: Floats
    weights: NDArray[Any]
    squares: NDArray[Any]
    probabilities: Floats
    labels: Labels
    fixed: bool
    cell_labels: Labels
    #: Whether the probabilities are shares of known rows, and as random as these.
    from_known: bool = False

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.probabilities)

    def group_masses(self) -> Floats:
        """Return the mass of each group, if the probabilities are shares."""
        unknown, has_group = self.groups < 0, self.groups >= 0
        n_groups = len(self.labels)
        cell_masses = np.bincount(
            self.cells[unknown], self.weights[unknown], self.n_cells
        )
        sure = np.bincount(self.groups[has_group], self.weights[has_group], n_groups)
        return np.asarray(sure + cell_masses @ self.probabilities)


def read_rows_by_cell(
    values: Floats,
    *,
    group_probabilities: Any,
    cells: Any,
    sensitive_features: ArrayLike | None,
    missing: Missing,
    sample_weight: ArrayLike | None,
) -> ProxyRows:
    """Read rows by cell, each with one value."""
    check_choice("missing", missing, ("proxy", "bounds"))
    n_rows = len(values)
    codes, cell_labels = _encode_cells(cells, n_rows)
    groups, labels = _encode_known(sensitive_features, n_rows)
    weights = check_weights(sample_weight, n_rows)
    weights = np.ones(n_rows, dtype=np.int64) if weights is None else weights
    if group_probabilities is None:
        if missing != "bounds" or not len(labels):
            raise ValueError(
                "group_probabilities is None, expected the probabilities of the "
                "groups, or missing='bounds' with sensitive_features that are known "
                "for some rows."
            )
        table = _known_shares(codes, groups, weights, cell_labels, labels)
    else:
        table, labels, groups = _read_probabilities(group_probabilities, groups, labels)
        if isinstance(group_probabilities, Mapping):
            table = _align_by_label(
                "group_probabilities", group_probabilities, table, cell_labels, cells
            )
        else:
            check_length("group_probabilities", len(table), n_rows)
            if cells is None:
                codes, cell_labels = _bin_probabilities(table)
            table = _means(table, codes, weights, len(cell_labels))
    if missing == "proxy":
        _check_not_alone(np.bincount(codes[groups < 0]))
    return ProxyRows(
        codes,
        groups,
        values,
        values,
        weights,
        np.square(weights, dtype=float),
        table,
        labels,
        missing == "proxy",
        cell_labels,
        from_known=group_probabilities is None,
    )


def read_table_by_cell(
    table: Rows,
    values: tuple[Floats, Floats],
    *,
    group_probabilities: Any,
    missing: Missing,
) -> ProxyRows:
    """Read a table whose groups are the cells, and whose entries lie in ranges."""
    if missing != "proxy":
        raise ValueError(
            "missing must be 'proxy' where a table holds cells without known groups, "
            f"got {missing!r}."
        )
    if not isinstance(group_probabilities, Mapping):
        raise TypeError(
            "group_probabilities must map the groups of the table, which are the "
            f"cells, to probabilities, got a {type(group_probabilities).__name__}."
        )
    labels, codes = table.labels, table.groups.codes
    nobody = np.full(0, -1)
    probabilities, names, _ = _read_probabilities(group_probabilities, nobody, ())
    probabilities = _align_by_label(
        "group_probabilities", group_probabilities, probabilities, labels, labels
    )
    _check_not_alone(table.counts)
    groups = np.full(len(codes), -1)
    mass = np.ones(len(codes), np.int64) if table.mass is None else table.mass
    squares = mass if table.weight is None else table.entry_squares
    rest: Any = mass, squares, probabilities, names, True, labels
    return ProxyRows(codes, groups, *values, *rest)


def _encode_cells(cells: Any, n_rows: int) -> tuple[Codes, Labels]:
    """Return the position of each row's cell among the labels of cells."""
    if cells is None:
        return np.zeros(n_rows, dtype=np.int8), ("all rows",)
    names, columns = columns_of(cells, "cells")
    encoded = [
        encode_column(column, "raise", name, "cells")
        for name, column in zip(names, columns, strict=True)
    ]
    codes, labels = intersect(encoded, "cells")
    check_length("cells", len(codes), n_rows)
    return codes, labels


def _encode_known(
    sensitive_features: ArrayLike | None, n_rows: int
) -> tuple[Codes, Labels]:
    """Return the position of each row's group in the labels, -1 if unknown."""
    if sensitive_features is None:
        return np.full(n_rows, -1, dtype=np.int8), ()
    groups = encode_groups(sensitive_features, missing="drop")
    check_length("sensitive_features", len(groups), n_rows)
    return groups.codes, groups.labels


def _known_shares(
    codes: Codes, groups: Codes, weights: Any, cell_labels: Labels, labels: Labels
) -> Floats:
    """Return the shares of the groups among the known rows of each cell."""
    shape = len(cell_labels), len(labels)
    at, has_group = codes.astype(np.intp) * shape[1] + groups, groups >= 0
    sums = np.bincount(at[has_group], weights[has_group], shape[0] * shape[1]).reshape(
        shape
    )
    empty = [repr(cell_labels[i]) for i in np.flatnonzero(sums.sum(axis=1) == 0)]
    if empty:
        raise ValueError(
            f"cells has no row with a known group in {listed(empty)}, expected some in "
            "each cell. Join cells, or pass group_probabilities."
        )
    return np.asarray(sums / sums.sum(axis=1, keepdims=True))


def _read_probabilities(
    group_probabilities: Any, groups: Codes, labels: Labels
) -> tuple[Floats, Labels, Codes]:
    """Return the probabilities of groups, the groups' labels, and known groups."""
    names, columns = _probability_columns(group_probabilities)
    try:
        table = np.column_stack([np.asarray(c, dtype=float) for c in columns])
    except (TypeError, ValueError) as error:
        raise ValueError(f"group_probabilities must be numbers: {error}.") from error
    bad = ~((table >= 0) & (table <= 1)).all(axis=1)
    if bad.any():
        raise ValueError(
            "group_probabilities must lie in [0, 1], got "
            f"{table[bad.argmax()].tolist()} ({counted(int(bad.sum()), 'such row')})."
        )
    if table.shape[1] == 1:
        names_of_groups = _two_labels(names[0], labels)
        table = np.column_stack([1 - table[:, 0], table[:, 0]])
    else:
        names_of_groups = tuple(range(len(names)) if None in names else names)
        sums = table.sum(axis=1, keepdims=True)
        if (abs(sums - 1) > NEAR_ONE).any():
            row = int(abs(sums - 1).argmax())
            raise ValueError(
                "group_probabilities must add up to 1 over the groups, got "
                f"{table[row].tolist()}, whose sum is {sums[row, 0]:g}."
            )
        table = table / sums
    unknown = [label for label in labels if label not in names_of_groups]
    if unknown:
        raise ValueError(
            f"sensitive_features has the groups {unknown}, expected only groups of "
            f"group_probabilities: {list(names_of_groups)}."
        )
    places = np.append(positions_in(names_of_groups, labels), -1)
    return table, names_of_groups, places[groups]


def _probability_columns(group_probabilities: Any) -> tuple[list[Any], list[Any]]:
    """Return the names and the columns of group probabilities."""
    if not isinstance(group_probabilities, Mapping):
        return columns_of(group_probabilities, "group_probabilities")
    values = list(group_probabilities.values())
    if values and all(isinstance(value, Mapping) for value in values):
        names = sort_labels({label for value in values for label in value})
        columns = [[value.get(name, 0.0) for value in values] for name in names]
        return [python_label(name) for name in names], columns
    array = as_array(values, "group_probabilities")
    columns = list(np.atleast_2d(array.T))
    return [None] * len(columns), columns


def _two_labels(name: str | None, labels: Labels) -> Labels:
    """Return the labels of the two groups of a single column."""
    column_label: Hashable = 1 if name is None else name
    if not labels:
        return (0, 1) if name is None else (f"not {name}", name)
    others = [label for label in labels if label != column_label]
    if len(others) > 1 or (column_label not in labels and labels != (0,)):
        raise ValueError(
            f"group_probabilities is one column, named {name!r}, expected the name of "
            f"one of two groups of sensitive_features: {list(labels)}. Pass a table "
            "with a column for each group."
        )
    return (others[0] if others else f"not {column_label}", column_label)


def _align_by_label(
    name: str, by_label: Mapping[Any, Any], table: Any, cell_labels: Labels, cells: Any
) -> Any:
    """Return the rows of a table that belong to the cells, by their labels."""
    if cells is None:
        raise ValueError(f"cells must say which rows {name} are of, got None.")
    position = {python_label(label): i for i, label in enumerate(by_label)}
    lacking = [repr(label) for label in cell_labels if label not in position]
    if lacking:
        raise ValueError(
            f"{name} has no entry for {counted(len(lacking), 'cell')}, expected one "
            f"for each: {listed(lacking)}."
        )
    return table[[position[label] for label in cell_labels]]


def _bin_probabilities(table: Floats) -> tuple[Codes, Labels]:
    """Divide rows into cells of similar probabilities.

    Each distinct row of probabilities is a cell if there are at most `N_BINS` cells.
    Otherwise rows are split by quantiles: of the second group's probability if there
    are two groups, else of the probability of each row's most probable group.
    """
    n_groups = table.shape[1]
    codes = np.full(len(table), N_BINS)
    if all(len(pd.unique(column)) <= N_BINS for column in table.T):
        _, codes = np.unique(table[:, ::-1], axis=0, return_inverse=True)
    if codes.max() >= N_BINS:
        first = np.ones(len(table), np.intp) if n_groups == 2 else table.argmax(axis=1)
        n_bins = N_BINS if n_groups == 2 else max(2, N_BINS // n_groups)
        values = table[np.arange(len(table)), first]
        bins = np.zeros(len(table), dtype=np.intp)
        for group in np.unique(first):
            group_values = values[first == group]
            edges = np.quantile(group_values, np.arange(1, n_bins) / n_bins)
            bins[first == group] = np.searchsorted(edges, group_values, side="right")
        _, codes = np.unique(first * n_bins + bins, return_inverse=True)
    return codes.reshape(-1).astype(np.int16), tuple(range(int(codes.max()) + 1))


def _means(table: Floats, codes: Codes, weights: Any, n_cells: int) -> Floats:
    """Return the mean probabilities of the rows of each cell."""
    sums = [np.bincount(codes, weights * column, n_cells) for column in table.T]
    totals = np.bincount(codes, weights, n_cells)
    means = np.column_stack(sums) / np.maximum(totals, np.finfo(float).tiny)[:, None]
    totals = means.sum(axis=1, keepdims=True)
    # A cell of weight zero has no rows that count.
    return np.where(
        totals > 0, means / np.where(totals > 0, totals, 1), 1 / means.shape[1]
    )


def _check_not_alone(sizes: Integers) -> None:
    """Raise if most rows are alone in their cell; warn if many are."""
    alone, n_rows = int(np.count_nonzero(sizes == 1)), int(sizes.sum())
    if alone <= _FEW * n_rows:
        return
    message = (
        f"cells must hold several rows each, but {alone} of {n_rows} rows are the only "
        "row of their cell, so that nothing would be left unknown about them. Join "
        "cells, or leave them out, and rows of like probability are joined."
    )
    if 2 * alone > n_rows:
        raise ValueError(message)
    warn_user(message)


#: How the gap between two groups becomes a number: its largest absolute value, the
#: integral of the absolute value, or the absolute value of the integral.
Kind = Literal["largest", "area", "mean"]
#: So many numbers are added one by one, so that rounding grows with the logarithm.
_BLOCK = 64
_EPS, _TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)


class Rates(NamedTuple):
    """Bounds of a probability within each group, at several points.

    `low` and `high` have shape (n_groups, n_points); `everyone` holds both bounds of
    the overall probability.
    """

    low: Floats
    high: Floats
    overall: tuple[Floats, Floats]

    def gap(self, pair: Pair) -> tuple[Floats, Floats]:
        """Bound the difference between two groups' rates."""
        first, second = pair
        if second is None:
            low, high = self.overall
        else:
            low, high = self.low[second], self.high[second]
        return self.low[first] - high, self.high[first] - low


def measure(
    kind: Kind, rates: Rates, pairs: Sequence[Pair], widths: Floats | None
) -> tuple[float, float]:
    """Bound the largest measure of the gaps of all pairs."""
    bounds = [_measure_gap(kind, *rates.gap(pair), widths) for pair in pairs]
    lower, upper = np.max(bounds, axis=0)
    return float(lower), float(upper)


def _measure_gap(
    kind: Kind, low: Floats, high: Floats, widths: Any
) -> tuple[float, float]:
    """Bound the measure of one gap that lies between `low` and `high`."""
    if kind == "mean":
        low, high = (running_sums(widths * end)[-1:] for end in (low, high))
    if kind == "area":
        smallest = np.maximum(np.maximum(low, -high), 0)
        ends = smallest, np.maximum(high, -low)
        low, high = (running_sums(widths * end)[-1:] for end in ends)
    return max(0.0, low.max(), -high.min()), max(0.0, high.max(), -low.min())


def odds_limits(probabilities: Floats, odds_ratio: float) -> tuple[Floats, Floats]:
    """Return the smallest and largest probability whose odds are within a factor."""
    q = probabilities
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(q < 1, q / (q + odds_ratio * (1 - q)), 1.0)
        high = np.where(q > 0, q / (q + (1 - q) / odds_ratio), 0.0)
    return low, high


def running_sums(values: NDArray[Any]) -> Floats:
    """Return cumulative sums, added in blocks to keep rounding errors small."""
    n = len(values)
    if n <= _BLOCK:
        return np.cumsum(values, dtype=float)
    blocks = np.zeros(-(-n // _BLOCK) * _BLOCK)
    blocks[:n] = values
    sums = np.cumsum(blocks.reshape(-1, _BLOCK), axis=1)
    sums[1:] += running_sums(sums[:, -1])[:-1, np.newaxis]
    return sums.reshape(-1)[:n]


def sum_rounding(n: int) -> float:
    """Bound the relative rounding error of `running_sums` of products."""
    levels = max(1, math.ceil(math.log(n + 1, _BLOCK)))
    return 4 * (levels * _BLOCK + 8) * _EPS


class _Steps:
    """Entries in the order of their values, with sums at thresholds."""

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
        weights, groups = rows.weights[order], rows.groups[order]
        self.masses = np.where(groups < 0, weights, 0).astype(float)
        self.known_masses = np.stack(
            [
                self.sum_to_thresholds(weights * (groups == g))
                for g in range(len(rows.labels))
            ]
        )
        self.overall = self.sum_to_thresholds(weights)
        in_cells = np.argsort(self.cells, kind="stable")
        sums = np.append(0.0, running_sums(self.masses[in_cells]))
        sizes = np.bincount(self.cells, minlength=rows.n_cells)
        ends = np.cumsum(sizes)
        starts = sums[ends - sizes]
        self.totals = sums[ends] - starts
        self.sums_in_cell = np.empty(len(order))
        self.sums_in_cell[in_cells] = sums[1:] - np.repeat(starts, sizes)

    def sum_to_thresholds(self, values: NDArray[Any]) -> Floats:
        """Sum the values up to each threshold."""
        return np.append(0.0, running_sums(values))[self.ends]

    def largest(self, q: Floats, low: Floats, high: Floats) -> Floats:
        """Return the largest mass of a group that can lie below each threshold.

        `q` is the group's share in each cell. Rows of low values belong to the group
        with the share `high`, as many as leave the share `low` for the other rows.
        """
        return self._fill(q - low, high, low)

    def smallest(self, q: Floats, low: Floats, high: Floats) -> Floats:
        """Return the smallest mass of a group that can lie below each threshold."""
        return self._fill(high - q, low, high)

    def rate(
        self, group: int, shares_below: Floats, shares_above: Floats, empty: float
    ) -> Floats:
        """Return the share of a group that lies below each threshold.

        In each cell the group has one share below the threshold, and another above.
        """
        known_mass = self.known_masses[group]
        below = known_mass + self.sum_to_thresholds(
            self.masses * shares_below.take(self.cells)
        )
        sums = self.sum_to_thresholds(self.masses * shares_above.take(self.cells))
        total = below + np.maximum(known_mass[-1] - known_mass + sums[-1] - sums, 0)
        return quotients(below, total, empty)

    def _fill(self, part: Floats, first: Floats, then: Floats) -> Floats:
        """Fill each cell from below with one share, and beyond a point with another."""
        slopes = then - first
        cut = self.totals * np.divide(
            part, abs(slopes), out=np.ones_like(part), where=slopes != 0
        )
        beyond = self.sums_in_cell - cut.take(self.cells)
        np.clip(beyond, 0, self.masses, out=beyond)
        beyond *= slopes.take(self.cells)
        beyond += self.masses * first.take(self.cells)
        return self.sum_to_thresholds(beyond)


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """Bounds of the cumulative distributions of scores, from rows by cell."""

    rows: ProxyRows

    @cached_property
    def steps(self) -> tuple[_Steps, _Steps]:
        """Return the entries in two orders: by largest and by smallest value.

        The two are the same object if the values of all entries are known.
        """
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
        """Return the scores at which a cumulative distribution may step."""
        return self.steps[0].thresholds

    @property
    def widths(self) -> Floats:
        """Return the distance of each threshold to the next threshold."""
        return np.append(np.diff(self.thresholds), 0.0)

    @cached_property
    def group_masses(self) -> Floats:
        """Return the mass of each group, if the probabilities are shares."""
        late = self.steps[0]
        masses = late.totals[:, np.newaxis] * self.rows.probabilities
        unknown = [running_sums(column)[-1] for column in masses.T]
        return np.asarray(late.known_masses[:, -1] + unknown)

    def rates(self, odds_ratio: float, *, widened: bool) -> Rates:
        """Bound the groups' cumulative distributions at the thresholds."""
        late, early = self.steps
        n_groups, fixed = len(self.rows.labels), self.rows.fixed
        pair = fixed and n_groups == 2 and late is early
        bound = self._fixed_rates if fixed else self._free_rates
        bounds = [bound(group, odds_ratio) for group in range(pair, n_groups)]
        if pair:
            bounds.insert(0, self._complement(*bounds[0]))
        low, high = (np.stack(part) for part in zip(*bounds, strict=True))
        if widened:
            tolerance = self._rounding(odds_ratio)[:, np.newaxis]
            low -= tolerance
            high += tolerance
        total = late.overall[-1]
        return Rates(
            np.clip(low, 0, 1, out=low),
            np.clip(high, 0, 1, out=high),
            (late.overall / total, early.overall / total),
        )

    def _fixed_rates(self, group: int, odds_ratio: float) -> tuple[Floats, Floats]:
        """Bound the distribution of a group whose shares of the cells are known."""
        late, early = self.steps
        q, mass = self.rows.probabilities[:, group], self.group_masses[group]
        limits = odds_limits(q, odds_ratio)
        low = (late.known_masses[group] + late.smallest(q, *limits)) / mass
        high = (early.known_masses[group] + early.largest(q, *limits)) / mass
        return low, high

    def _complement(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Bound the distribution of the first of two groups by that of the second."""
        first, second = self.group_masses
        overall, ratio = self.steps[0].overall / first, second / first
        return overall - ratio * high, overall - ratio * low

    def _free_rates(self, group: int, odds_ratio: float) -> tuple[Floats, Floats]:
        """Bound the distribution of a group whose shares of the cells are unknown."""
        late, early = self.steps
        limits = odds_limits(self.rows.probabilities[:, group], odds_ratio)
        low = late.rate(group, *limits, empty=0.0)
        return low, early.rate(group, *limits[::-1], empty=1.0)

    def _rounding(self, odds_ratio: float) -> Floats:
        """Bound the rounding errors of the rates of each group."""
        late = self.steps[0]
        if self.rows.fixed:
            masses = self.group_masses
        else:
            low, _ = odds_limits(self.rows.probabilities, odds_ratio)
            masses = late.known_masses[:, -1] + late.totals @ low
        rounding = sum_rounding(len(late.cells)) * late.overall[-1]
        return np.asarray(rounding / np.maximum(masses, _TINY))


#: Turns masses by kind of value into masses of a numerator, and of the rest of the
#: denominator, at each point.
Split = Callable[[Floats], tuple[Floats, Floats]]


def split_below(masses: Floats) -> tuple[Floats, Floats]:
    """Return the mass at or below each value, and the mass above."""
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
    def from_rows(
        cls,
        rows: ProxyRows,
        kinds: Integers,
        compared_within: Integers,
        split: Split,
        widths: Floats | None = None,
    ) -> DenseCells:
        """Add up rows by known group, cell and kind of value."""
        n_first = 1 + (len(rows.labels) if (rows.groups >= 0).any() else 0)
        shape = n_first, rows.n_cells, len(compared_within)
        first = rows.groups.astype(np.intp) + 1
        at = np.ravel_multi_index((first, rows.cells.astype(np.intp), kinds), shape)
        masses, squares = (
            np.bincount(at, values, int(np.prod(shape))).reshape(shape).astype(float)
            for values in (rows.weights, rows.squares)
        )
        rounding = sum_rounding(masses.size)
        if rows.weights.dtype.kind == "f":  # whole numbers are added exactly
            rounding += len(at) * _EPS
        parts = masses, squares, rows.probabilities, rows.fixed, split, rounding
        return cls(*parts, compared_within, widths)

    @cached_property
    def parts(self) -> tuple[Floats, Floats]:
        """Return the masses of the numerator, and of the rest of the denominator.

        Both have the shape (1 + n_groups, n_cells, n_points).
        """
        return self.split(self.masses)

    def known_part(self, part: Floats, group: int) -> Any:
        """Sum over cells the mass of rows known to belong to a group."""
        return part[..., 1 + group, :, :].sum(axis=-2) if len(self.masses) > 1 else 0.0

    def ends(
        self, group: int, part: Floats, odds_ratio: float
    ) -> tuple[Floats, Floats]:
        """Return the smallest and largest possible mass of a group at each point."""
        q = self.probabilities[:, [group]]
        low, high = odds_limits(q, odds_ratio)
        inside, total = part[0], self.masses[0].sum(axis=-1, keepdims=True)
        smallest, most = low * inside, high * inside
        if self.fixed:
            smallest = np.maximum(smallest, q * total - high * (total - inside))
            most = np.minimum(most, q * total - low * (total - inside))
        mass = self.known_part(part, group)
        return mass + smallest.sum(axis=0), mass + most.sum(axis=0)

    def rates(self, odds_ratio: float, *, widened: bool) -> Rates:
        """Bound the rate of the numerator in each group, at each point."""
        bounds = []
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
            bounds.append(ends)
        low, high = np.array(bounds).swapaxes(0, 1)
        inside, outside = (part.sum(axis=(0, 1)) for part in self.parts)
        for nobody, certain in ((inside == 0, 0), (outside == 0, 1)):
            low[:, nobody] = high[:, nobody] = certain
        overall = inside / (inside + outside)
        return Rates(low, high, (overall, overall))

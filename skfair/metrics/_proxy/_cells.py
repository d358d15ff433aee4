"""Cells of rows that share a proxy, and the probabilities of the groups in each."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skfair._utils._arrays import Floats, Integers
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
    plain_label,
    positions_in,
    sort_labels,
)
from skfair.metrics._inputs import in_place_of_rows
from skfair.statistics import GroupedConfusion, GroupedHistogram, GroupedScores

#: Rows of like probability form this many cells where no cells are given.
N_BINS = 20
#: Share of rows that may be alone in their cell without a warning.
_FEW = 0.05

Missing = Literal["proxy", "bounds"]
#: Statistics whose groups are the cells.
CellStatistic: TypeAlias = GroupedScores | GroupedHistogram | GroupedConfusion


@dataclass(frozen=True, eq=False)
class ProxyRows:
    """Rows or entries of a statistic, by cell, and the groups' probabilities by cell.

    The value of an entry lies between `lows` and `highs`. Its group is `known`, -1 for
    most. `fixed` says that `probabilities` are the shares of the groups among the rows
    of a cell without a known group; otherwise they are only what odds are compared
    with.
    """

    cells: Codes
    known: Codes
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

    def masses_of_groups(self) -> Floats:
        """Mass of each group, if the probabilities are shares."""
        unknown, known = self.known < 0, self.known >= 0
        n_groups = len(self.labels)
        of_cells = np.bincount(self.cells[unknown], self.weights[unknown], self.n_cells)
        sure = np.bincount(self.known[known], self.weights[known], n_groups)
        return np.asarray(sure + of_cells @ self.probabilities)


def rows_by_cell(
    values: Floats,
    *,
    group_probabilities: Any,
    cells: Any,
    sensitive_features: Any,
    missing: Missing,
    sample_weight: ArrayLike | None,
) -> ProxyRows:
    """Read rows with one value each."""
    check_choice("missing", missing, ("proxy", "bounds"))
    n_rows = len(values)
    codes, cell_labels = _encode_cells(cells, n_rows)
    known, labels = _encode_known(sensitive_features, n_rows)
    weights = check_weights(sample_weight, n_rows)
    weights = np.ones(n_rows, dtype=np.int64) if weights is None else weights
    if group_probabilities is None:
        if missing != "bounds" or not len(labels):
            raise ValueError(
                "group_probabilities is None, expected the probabilities of the "
                "groups, or missing='bounds' with sensitive_features that are known "
                "for some rows."
            )
        table = _shares_of_known(codes, known, weights, cell_labels, labels)
    else:
        table, labels, known = _read_probabilities(group_probabilities, known, labels)
        if isinstance(group_probabilities, Mapping):
            table = _by_label(
                "group_probabilities", group_probabilities, table, cell_labels, cells
            )
        else:
            check_length("group_probabilities", len(table), n_rows)
            if cells is None:
                codes, cell_labels = _bins_of(table)
            table = _means(table, codes, weights, len(cell_labels))
    if missing == "proxy":
        _check_not_alone(np.bincount(codes[known < 0]))
    return ProxyRows(
        codes,
        known,
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


def statistic_by_cell(
    statistic: CellStatistic,
    *,
    group_probabilities: Any,
    missing: Missing,
    **rows: Any,
) -> ProxyRows:
    """Read a statistic whose groups are the cells."""
    in_place_of_rows(statistic, **rows)
    if missing != "proxy":
        raise ValueError(
            "missing must be 'proxy' where a statistic holds cells without known "
            f"groups, got {missing!r}."
        )
    if not isinstance(group_probabilities, Mapping):
        raise TypeError(
            "group_probabilities must map the groups of the statistic, which are the "
            f"cells, to probabilities, got a {type(group_probabilities).__name__}."
        )
    labels = statistic.labels
    nobody = np.full(0, -1)
    table, groups, _ = _read_probabilities(group_probabilities, nobody, ())
    table = _by_label("group_probabilities", group_probabilities, table, labels, labels)
    counts = (
        statistic.label_counts.sum(axis=1)
        if isinstance(statistic, GroupedConfusion)
        else statistic.counts
    )
    _check_not_alone(counts)
    codes, lows, highs, weights, squares = _entries(statistic)
    known = np.full(len(codes), -1)
    sums = lows, highs, weights, squares
    return ProxyRows(codes, known, *sums, table, groups, True, labels)


def _entries(statistic: CellStatistic) -> tuple[Any, ...]:
    """Cells, least and largest values, weights and squares of entries.

    Squares are nan where the statistic does not hold them.
    """
    if isinstance(statistic, GroupedHistogram):
        parts = statistic.lows, statistic.highs, statistic.weights, statistic.squares
        return statistic.codes, *parts
    if isinstance(statistic, GroupedScores):
        codes, values, weights = statistic.codes, statistic.scores, statistic.weights
        counts = statistic.counts
    else:
        flat = statistic.matrices.reshape(len(statistic.labels), -1)
        codes, kinds = np.nonzero(flat)
        values, weights = kinds.astype(float), flat[codes, kinds]
        counts = statistic.label_counts
    unweighted = weights.dtype.kind == "i" and weights.sum() == counts.sum()
    return codes, values, values, weights, np.where(unweighted, weights, np.nan)


def _encode_cells(cells: Any, n_rows: int) -> tuple[Codes, Labels]:
    """Position of each row's cell in the labels; a single cell where none are given."""
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


def _encode_known(sensitive_features: Any, n_rows: int) -> tuple[Codes, Labels]:
    """Position of each row's group in the labels, -1 where it is not known."""
    if sensitive_features is None:
        return np.full(n_rows, -1, dtype=np.int8), ()
    groups = encode_groups(sensitive_features, missing="drop")
    check_length("sensitive_features", len(groups), n_rows)
    return groups.codes, groups.labels


def _shares_of_known(
    codes: Codes, known: Codes, weights: Any, cell_labels: Labels, labels: Labels
) -> Floats:
    """Shares of the groups among the known rows of each cell."""
    shape = len(cell_labels), len(labels)
    at, kept = codes.astype(np.intp) * shape[1] + known, known >= 0
    sums = np.bincount(at[kept], weights[kept], shape[0] * shape[1]).reshape(shape)
    empty = [repr(cell_labels[i]) for i in np.flatnonzero(sums.sum(axis=1) == 0)]
    if empty:
        raise ValueError(
            f"cells has no row with a known group in {listed(empty)}, expected some in "
            "each cell. Join cells, or pass group_probabilities."
        )
    return np.asarray(sums / sums.sum(axis=1, keepdims=True))


def _read_probabilities(
    given: Any, known: Codes, labels: Labels
) -> tuple[Floats, Labels, Codes]:
    """Probabilities by row or cell and group, labels, and known groups among these."""
    names, columns = _columns_of_probabilities(given)
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
        found = _two_labels(names[0], labels)
        table = np.column_stack([1 - table[:, 0], table[:, 0]])
    else:
        found = tuple(range(len(names)) if None in names else names)
        sums = table.sum(axis=1, keepdims=True)
        if (abs(sums - 1) > NEAR_ONE).any():
            row = int(abs(sums - 1).argmax())
            raise ValueError(
                "group_probabilities must add up to 1 over the groups, got "
                f"{table[row].tolist()}, whose sum is {sums[row, 0]:g}."
            )
        table = table / sums
    unknown = [label for label in labels if label not in found]
    if unknown:
        raise ValueError(
            f"sensitive_features has the groups {unknown}, expected only groups of "
            f"group_probabilities: {list(found)}."
        )
    places = np.append(positions_in(found, labels), -1)
    return table, found, places[known]


def _columns_of_probabilities(given: Any) -> tuple[list[Any], list[Any]]:
    """Names and columns of probabilities; a mapping has a row for each of its cells."""
    if not isinstance(given, Mapping):
        return columns_of(given, "group_probabilities")
    values = list(given.values())
    if values and all(isinstance(value, Mapping) for value in values):
        names = sort_labels({label for value in values for label in value})
        columns = [[value.get(name, 0.0) for value in values] for name in names]
        return [plain_label(name) for name in names], columns
    array = as_array(values, "group_probabilities")
    columns = list(np.atleast_2d(array.T))
    return [None] * len(columns), columns


def _two_labels(name: str | None, labels: Labels) -> Labels:
    """Labels of the two groups of a single column: of the other, and of its own."""
    own: Hashable = 1 if name is None else name
    if not labels:
        return (0, 1) if name is None else (f"not {name}", name)
    others = [label for label in labels if label != own]
    if len(others) > 1 or (own not in labels and labels != (0,)):
        raise ValueError(
            f"group_probabilities is one column, named {name!r}, expected the name of "
            f"one of two groups of sensitive_features: {list(labels)}. Pass a table "
            "with a column for each group."
        )
    return (others[0] if others else f"not {own}", own)


def _by_label(
    name: str, given: Mapping[Any, Any], table: Any, cell_labels: Labels, cells: Any
) -> Any:
    """Rows of a table that belong to the cells, by their labels."""
    if cells is None:
        raise ValueError(f"cells must say which rows {name} are of, got None.")
    position = {plain_label(label): i for i, label in enumerate(given)}
    lacking = [repr(label) for label in cell_labels if label not in position]
    if lacking:
        raise ValueError(
            f"{name} has no entry for {counted(len(lacking), 'cell')}, expected one "
            f"for each: {listed(lacking)}."
        )
    return table[[position[label] for label in cell_labels]]


def _bins_of(table: Floats) -> tuple[Codes, Labels]:
    """Cells of rows with like probabilities, from the least of the last group on.

    Each distinct row of probabilities is a cell where there are at most `N_BINS` of
    them. Otherwise rows are split by quantiles of the probability: with two groups of
    the second one, with more of each row's most probable group.
    """
    n_groups = table.shape[1]
    codes = np.full(len(table), N_BINS)
    if all(len(pd.unique(column)) <= N_BINS for column in table.T):
        _, codes = np.unique(table[:, ::-1], axis=0, return_inverse=True)
    if codes.max() >= N_BINS:
        first = np.ones(len(table), np.intp) if n_groups == 2 else table.argmax(axis=1)
        each = N_BINS if n_groups == 2 else max(2, N_BINS // n_groups)
        values = table[np.arange(len(table)), first]
        bins = np.zeros(len(table), dtype=np.intp)
        for group in np.unique(first):
            of_group = values[first == group]
            edges = np.quantile(of_group, np.arange(1, each) / each)
            bins[first == group] = np.searchsorted(edges, of_group, side="right")
        _, codes = np.unique(first * each + bins, return_inverse=True)
    return codes.reshape(-1).astype(np.int16), tuple(range(int(codes.max()) + 1))


def _means(table: Floats, codes: Codes, weights: Any, n_cells: int) -> Floats:
    """Mean probabilities of the rows of each cell."""
    sums = [np.bincount(codes, weights * column, n_cells) for column in table.T]
    totals = np.bincount(codes, weights, n_cells)
    means = np.column_stack(sums) / np.maximum(totals, np.finfo(float).tiny)[:, None]
    totals = means.sum(axis=1, keepdims=True)
    # A cell of weight zero has no rows that count.
    return np.where(
        totals > 0, means / np.where(totals > 0, totals, 1), 1 / means.shape[1]
    )


def _check_not_alone(sizes: Integers) -> None:
    """Raise where most rows are the only one of their cell, warn where many are."""
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

"""An audit as statistics: how many rows share groups, classes and score.

A report is computed again from them, but for what is drawn row by row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair._utils._arrays import Bools, Floats, Integers, quotients
from skfair._utils._validation import scores_on
from skfair.groups import Groups, intersect, keep_labels
from skfair.report._inputs import (
    Attribute,
    Audit,
    Model,
    Options,
    mid_ranks,
    with_intersection,
)
from skfair.report._sample import count_outcomes
from skfair.statistics import GroupedOutcomes, GroupedScores
from skfair.statistics._statistic import (
    check_sealed,
    label_to_json,
    labels_from_json,
    list_from_json,
    sealed,
)

Data = dict[str, Any]
#: Codes of rows, and the labels that they stand for.
Column = tuple[Any, tuple[Any, ...]]

_ENTRIES = "model threshold decides classes labelled weighted attributes strata"
_ENTRIES += " statistic squares errors true_numbers"
#: Numbers of intervals of scores; their edges are short as decimal numbers.
_N_BINS = (10_000, 5_000, 2_000, 1_000, 500, 200, 100)
#: Least number of intervals of predicted numbers, of which neighbours are joined.
_N_FINE = 2**17


def of_each_model(audit: Audit) -> list[Audit]:
    """One audit for each model."""
    return [replace(audit, models=(model,)) for model in audit.models]


def n_tables(audit: Audit) -> int:
    """Count the statistics of a model: numbers with true values have three."""
    return 3 if audit.of_numbers and audit.y_true is not None else 1


def to_data(audit: Audit) -> Data:
    """Return the statistics of one model, and what their cells stand for, as in JSON.

    Of numbers, predictions, errors and true values are counted apart.
    """
    (model,) = audit.models
    names = [str(one.name) for one in _given(audit)]
    names += [] if audit.strata is None else ["stratum"]
    names += [] if audit.of_numbers or audit.y_true is None else ["true label"]
    audit = replace(audit, n_alike=audit.entry_rows)
    codes, labels = intersect(_columns(audit))
    cells = Groups(codes, labels, (*names, "decision"))
    statistic: GroupedScores | GroupedOutcomes
    squares = None
    if model.y_score is None:
        last = (model.y_pred == len(audit.classes) - 1).astype(float)
        statistic = count_outcomes(audit, last, cells)
    else:
        statistic = _count(audit, cells, model.y_score)
        if audit.weighted:
            squares = _squares(audit, codes, model.y_score).tolist()
    errors = true_numbers = None
    if n_tables(audit) > 1:
        errors = _count(audit, cells, audit.errors_of(model)).to_dict()
        assert audit.y_true is not None
        true_numbers = _count(audit, cells, audit.y_true).to_dict()
    entries = {
        "model": model.name,
        "threshold": model.threshold,
        "decides": model.decides,
        "classes": [label_to_json(label) for label in audit.classes],
        "labelled": audit.y_true is not None,
        "weighted": audit.weighted,
        "attributes": [
            {"name": one.name, **_groups_to_data(one.every)} for one in _given(audit)
        ],
        "strata": None if audit.strata is None else _groups_to_data(audit.strata),
        "statistic": statistic.to_dict(),
        "squares": squares,
        "errors": errors,
        "true_numbers": true_numbers,
    }
    return sealed("counted", entries)


def _count(audit: Audit, cells: Groups, values: NDArray[Any]) -> GroupedScores:
    """Count numbers by cell, with their weights."""
    counted = GroupedScores.from_scores(
        values, sensitive_features=cells, sample_weight=audit.weights, scale="real"
    )
    rows = np.bincount(cells.codes, audit.n_alike, len(cells.labels))
    return replace(counted, counts=rows.astype(np.intp))


def _squares(audit: Audit, cells: NDArray[Any], scores: Floats) -> NDArray[Any]:
    """Sum of squared weights of each entry of a statistic, of numbers of each cell."""
    assert audit.squares is not None
    if audit.of_numbers:
        return np.bincount(cells, audit.squares)
    order = np.lexsort((cells, scores))
    moved = (np.diff(cells[order]) != 0) | (np.diff(scores[order]) != 0)
    first = np.flatnonzero(np.append(True, moved))
    return np.asarray(np.add.reduceat(audit.squares[order], first))


def _given(audit: Audit) -> tuple[Attribute, ...]:
    """Attributes without their intersection."""
    several = len(audit.attributes) > 1
    return audit.attributes[:-1] if several else audit.attributes


def _columns(audit: Audit) -> list[Column]:
    """List what the rows of a cell of one model share; None is no group."""
    return [*_groups_of(audit), *_labels_of(audit), *_decisions_of(audit)]


def _groups_of(audit: Audit) -> list[Column]:
    groups = [one.every for one in _given(audit)]
    groups += [] if audit.strata is None else [audit.strata]
    return [(one.codes + np.intp(1), (None, *one.labels)) for one in groups]


def _labels_of(audit: Audit) -> list[Column]:
    numbers = audit.of_numbers or audit.y_true is None
    return [] if numbers else [(audit.y_true, audit.classes)]


def _decisions_of(audit: Audit) -> list[Column]:
    """Decisions of each model; of numbers there is one, 0."""
    return [(model.y_pred, audit.classes or (0,)) for model in audit.models]


def _groups_to_data(groups: Groups) -> Data:
    return {
        "labels": [label_to_json(label) for label in groups.labels],
        "names": [*groups.names],
        "min_group_size": groups.min_group_size,
    }


def from_data(data: Any, options: Options, blur: tuple[float, float]) -> Audit:
    """Return the audit of counted rows, or raise ValueError, KeyError or TypeError."""
    check_sealed(data, "counted", _ENTRIES.split())
    classes = labels_from_json("classes", data["classes"])
    numbers = options.scale == "real"
    tables = [_read_table(data["statistic"])]
    if numbers and data["labelled"]:
        tables += [_read_table(data[name]) for name in ("errors", "true_numbers")]
    statistic = tables[0]
    values: list[Any] = [None] * 3
    codes, weights = np.arange(statistic.n_groups), statistic.totals
    if isinstance(statistic, GroupedScores):
        codes, weights, values[: len(tables)] = _coupled(tables)
        values[0] = scores_on(options.scale, values[0])
    known = _read_weights(data, statistic, codes, weights, numbers)
    described = [*data["attributes"]]
    described += [] if data["strata"] is None else [data["strata"]]
    with_labels = bool(data["labelled"]) and not numbers
    columns = iter(zip(*statistic.labels, strict=True))
    groups = [_groups_from_data(one, next(columns), codes) for one in described]
    true = _positions(next(columns), classes)[codes] if with_labels else values[2]
    predicted = _positions(next(columns), classes or (0,))[codes]
    strata = groups.pop() if data["strata"] is not None else None
    each = {
        one["name"]: group
        for one, group in zip(data["attributes"], groups, strict=True)
    }
    threshold = None if data["threshold"] is None else float(data["threshold"])
    name = data["model"]
    return Audit(
        models=(
            Model(
                name, values[0], predicted, threshold, values[1], bool(data["decides"])
            ),
        ),
        attributes=with_intersection(each, known["n_alike"]),
        y_true=true,
        classes=classes,
        sample_weight=None,
        options=options,
        **known,
        blur=blur,
        strata=strata,
    )


def _read_table(data: Any) -> Any:
    """Read a statistic."""
    kind: Any = GroupedScores if data["type"] == "GroupedScores" else GroupedOutcomes
    return kind.from_dict(data)


def _coupled(tables: Sequence[GroupedScores]) -> tuple[Any, Any, list[Floats]]:
    """Cells, weights and values of entries that have a value of each table.

    Numbers depend on the distribution of each table in each cell alone, so that the
    values of a cell may be put side by side in any order.
    """
    first = tables[0]
    if len(tables) == 1:
        return first.codes, first.weights, [first.scores]
    orders = [np.argsort(one.codes, kind="stable") for one in tables]
    ends = []
    for table, order in zip(tables, orders, strict=True):
        until = np.cumsum(table.weights[order])
        last = np.cumsum(np.bincount(table.codes)) - 1
        of_cell = np.cumsum(first.totals)
        until[last] = of_cell
        ends.append(np.minimum(until, of_cell[table.codes[order]]))
    edges = np.unique(np.concatenate(ends))
    places = [np.searchsorted(np.maximum.accumulate(one), edges) for one in ends]
    found = [order[place] for order, place in zip(orders, places, strict=True)]
    values = [table.scores[at] for table, at in zip(tables, found, strict=True)]
    return first.codes[found[0]], np.diff(edges, prepend=edges[:1] * 0), values


def _read_weights(
    data: Data, statistic: Any, codes: Integers, weights: NDArray[Any], numbers: bool
) -> dict[str, Any]:
    """Rows of each entry, or its weight and squares, with the rows of its cell.

    Squares of numbers, whose entries are coupled, are those of the cell, too.
    """
    counts = statistic.counts
    if not data["weighted"]:
        return {"n_alike": weights.astype(np.int64)}
    squares = getattr(statistic, "squares", None)
    if squares is None:
        squares = np.array(list_from_json("squares", data["squares"]), dtype=float)
    first = np.unique(codes, return_index=True)[1]
    rows, squared = np.zeros(len(codes), np.int64), np.zeros(len(codes))
    rows[first] = counts
    squared[first if numbers else slice(None)] = squares
    return {"n_alike": rows, "totals": weights, "squared": squared}


def _groups_from_data(
    data: Mapping[str, Any], column: tuple[Any, ...], codes: Integers
) -> Groups:
    """Make the groups of an attribute, from the values of the cells."""
    labels = labels_from_json("labels", data["labels"])
    found = _positions(column, (None, *labels))[codes] - 1
    return Groups(found, labels, tuple(data["names"]), data["min_group_size"])


def _positions(column: tuple[Any, ...], labels: tuple[Any, ...]) -> Integers:
    """Positions of values among labels."""
    positions = {label: i for i, label in enumerate(labels)}
    return np.array([positions[value] for value in column], dtype=np.intp)


def without_small_cells(audit: Audit, min_cell: int) -> tuple[Audit, int]:
    """Leave out what has few rows, and count the rows that are left out.

    All rows of an intersection of groups and strata, and of a cell of a proxy, are left
    out if fewer rows of it have one combination of true label and decisions of any two
    models, since numbers of two models may be subtracted.
    """
    parts = [_groups_of(audit)] if audit.attributes else []
    if audit.proxy is not None:
        parts.append([(audit.proxy[0].codes, audit.proxy[0].labels)])
    rows = audit.entry_rows
    kept, before = np.ones(len(rows), dtype=bool), -1
    while before != kept.sum():
        before = kept.sum()
        for part in parts:
            of_part = intersect(part)[0]
            for classes in _classes_of_two_models(audit):
                cells = intersect([*part, *classes])[0]
                sizes = np.bincount(cells, rows * kept)
                few = kept & (sizes[cells] < min_cell)
                kept &= ~np.isin(of_part, of_part[few])
    if not kept.any():
        raise ValueError(
            f"min_cell is {min_cell}: each group has fewer rows of some combination of "
            "true label and decisions, so that nothing is left."
        )
    return _only(audit, kept), int(rows[~kept].sum())


def _classes_of_two_models(audit: Audit) -> Iterator[list[Column]]:
    """Yield true labels with the decisions of each two models, or of the only one."""
    for decisions in combinations(_decisions_of(audit), min(2, len(audit.models))):
        yield [*_labels_of(audit), *decisions]


def _only(audit: Audit, kept: Bools) -> Audit:
    """Audit of some entries, without groups and strata that have lost all rows."""

    def of(groups: Groups) -> Groups:
        lost = set(groups.codes[~kept].tolist()) - set(groups.codes[kept].tolist())
        return keep_labels(
            groups[kept], [i not in lost for i in range(len(groups.labels))]
        )

    rest = audit.at(kept, *(model.at(kept) for model in audit.models))
    each = {one.name: of(one.every) for one in _given(audit)}
    proxy = audit.proxy
    if proxy is not None:
        cells = of(proxy[0])
        proxy = cells, {label: proxy[1][label] for label in cells.labels}
    return replace(
        rest,
        attributes=with_intersection(each, rest.n_alike),
        strata=None if audit.strata is None else of(audit.strata),
        proxy=proxy,
    )


def joined(audit: Audit, min_cell: int | None, n_entries: int) -> Audit:
    """Join numbers in intervals if their entries are too many, or of too few rows.

    Each table of a model has at most so many entries, or twice as many where intervals
    are written with few digits.
    """
    (model,) = audit.models
    if model.y_score is None:
        return audit
    cells = intersect(_columns(audit))[0].astype(np.intp)
    numbers = {"scores": model.y_score}
    if n_tables(audit) > 1:
        assert audit.y_true is not None
        numbers |= {"errors": audit.errors_of(model), "true": audit.y_true}
    if min_cell is None and all(
        _n_distinct(cells, values) <= n_entries for values in numbers.values()
    ):
        return audit
    if audit.options.scale == "rank":
        numbers["scores"] = mid_ranks(model.y_score, audit.weights)
    found = {
        name: _in_intervals(audit, values, cells, min_cell or 1, 2 * n_entries)
        for name, values in numbers.items()
    }
    middles = {name: one[2] for name, one in found.items()}
    of_scores, length = _blur(audit, *found["scores"][:2])
    if audit.of_numbers:
        # Of true numbers R2 alone depends.
        moved = [_moved(audit, numbers[k] - middles[k]) for k in numbers if k != "true"]
        length = max(moved)
    scores, errors = middles["scores"], middles.get("errors")
    return replace(
        audit,
        models=(replace(model, y_score=scores, errors=errors),),
        y_true=middles.get("true", audit.y_true),
        blur=(audit.blur[0] + of_scores, audit.blur[1] + length),
    )


def _n_distinct(cells: Integers, values: Floats) -> int:
    """Count distinct pairs of a cell and a value."""
    order = np.lexsort((values, cells))
    cells, values = cells[order], values[order]
    return 1 + int(np.count_nonzero((np.diff(cells) != 0) | (np.diff(values) != 0)))


def _in_intervals(
    audit: Audit, values: Floats, cells: Integers, least: int, n_entries: int
) -> tuple[Floats, Floats, Floats]:
    """Find the ends of the interval of each entry, and the number it counts as.

    Intervals consist of bins whose edges are short as decimal numbers. Scores count as
    the middle of the bin that holds the mean of their interval. Predicted numbers and
    errors count as one of two numbers with the mean and the variance of their interval,
    on which confidence intervals depend; these may lie outside of it.
    """
    grids = [(1, n) for n in _N_BINS]
    if audit.of_numbers:
        grids = [_fine_grid(values)]
    for up, down in grids:
        bins = np.floor(values / up * down).astype(np.int64)
        if not audit.of_numbers:
            bins = np.minimum(bins, down - 1)
        lowest, n_bins = bins.min(), np.ptp(bins) + 1
        keys, entries = np.unique(cells * n_bins + bins - lowest, return_inverse=True)
        if len(keys) <= n_entries:
            break
    n_cells, rows = int(cells.max()) + 1, audit.entry_rows
    if len(keys) > n_entries and audit.of_numbers and 4 * n_cells <= n_entries:
        least = max(least, math.ceil(rows.sum() / (n_entries - 2 * n_cells)))
    elif len(keys) > n_entries:
        raise ValueError(
            f"rows have {n_cells:,} distinct groups and labels, too many for a bundle, "
            f"whose statistics have at most {n_entries:,} entries."
        )
    if audit.of_numbers and least > 1:
        least *= 2  # each of two numbers stands for half of the rows
    parts = _runs(keys // n_bins, np.bincount(entries, rows), least)
    first = np.flatnonzero(np.diff(parts, prepend=-1))
    last = np.append(first[1:], len(keys)) - 1
    bins, part_of = keys % n_bins + lowest, parts[entries]
    if audit.of_numbers:
        middles = np.floor(_two_numbers(audit, values, part_of) / up * down)
    else:
        means = np.bincount(part_of, rows * values) / np.bincount(part_of, rows)
        middles = np.clip(np.floor(means * down), bins[first], bins[last])[part_of]
    # Twice a middle is a whole number of steps, so that middles are short numbers.
    found = bins[first][part_of] * 2.0, bins[last][part_of] * 2.0 + 2, middles * 2 + 1
    lows, highs, middles = (steps * up / (2 * down) for steps in found)
    return np.minimum(lows, middles), np.maximum(highs, middles), middles


def _two_numbers(audit: Audit, values: Floats, parts: Integers) -> Floats:
    """Replace the lower and the upper half of each part by one number each.

    The two numbers of a part have its mean and its variance.
    """
    weights = audit.entry_weights
    order, sizes = np.lexsort((values, parts)), np.bincount(parts)
    ranks = np.empty(len(parts), np.intp)
    ranks[order] = np.arange(len(parts)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    upper = 2 * ranks >= sizes[parts]
    totals = np.bincount(parts, weights)
    means = np.bincount(parts, weights * values) / totals
    squares = np.bincount(parts, weights * (values - means[parts]) ** 2)
    above = np.bincount(parts, weights * upper)
    odds = quotients(totals - above, above)
    shift = np.sqrt(squares / totals * odds)
    down = quotients(shift, odds)
    return np.asarray(means[parts] + np.where(upper, shift[parts], -down[parts]))


def _fine_grid(values: Floats) -> tuple[int, int]:
    """Numerator and denominator of a step of 1, 2 or 5 times a power of ten."""
    size = max(float(np.ptp(values)) / _N_FINE, float(np.abs(values).max()) / 2**40)
    power = math.floor(math.log10(max(size, 1e-290)))
    digit = next((d for d in (1, 2, 5) if d * 10.0**power >= size), 10)
    return digit * 10 ** max(power, 0), 10 ** max(-power, 0)


def _runs(cells: Integers, sizes: NDArray[Any], min_cell: int) -> Integers:
    """Give a number to each run of neighbouring bins of a cell that hold enough rows.

    The last bins of a cell that hold too few belong to its last run.
    """
    if min_cell == 1:
        return np.arange(len(cells))
    starts = np.zeros(len(cells), dtype=bool)
    begun, held = 0, 0.0
    for i, size in enumerate(sizes.tolist()):
        if i == 0 or cells[i] != cells[i - 1]:
            if i and held < min_cell:
                starts[begun] = begun == 0 or cells[begun] != cells[begun - 1]
            begun, held, starts[i] = i, 0.0, True
        elif held >= min_cell:
            begun, held, starts[i] = i, 0.0, True
        held += size
    if held < min_cell:
        starts[begun] = begun == 0 or cells[begun] != cells[begun - 1]
    return np.cumsum(starts) - 1


def _blur(audit: Audit, lows: Floats, highs: Floats) -> tuple[float, float]:
    """How far MCDP(0) may move, and how far ABCC, where intervals stand for scores.

    At each threshold a group's share moves by at most the share of its intervals that
    contain it; a rank by at most the share of everyone whose interval overlaps.
    """
    weights = audit.entry_weights
    width = 0.0
    for codes in _codes_of_groups(audit):
        width = max(
            width,
            _of_two_groups(
                _most_within(lows[own], highs[own], weights[own]) for own in codes
            ),
        )
    if audit.options.scale == "rank":
        below, above = _total(highs, weights, lows), _total(-lows, weights, -highs)
        return width, 2 * float(1 - ((below + above) / weights.sum()).min())
    return width, float((highs - lows).max())


def _moved(audit: Audit, changes: Floats) -> float:
    """How far differences of means, and areas, move where numbers change so far.

    It is rounded up to two digits, since it is a number of all rows.
    """
    weights = audit.entry_weights
    moved = max(
        (
            _of_two_groups(
                float(np.average(np.abs(changes[own]), weights=weights[own]))
                for own in codes
            )
            for codes in _codes_of_groups(audit)
        ),
        default=0.0,
    )
    return float(f"{1.06 * moved:.1e}")


def _codes_of_groups(audit: Audit) -> Iterator[list[Bools]]:
    """Of each attribute with groups to compare, which entries are in each group."""
    for attribute in audit.attributes:
        n_groups = len(attribute.groups.labels)
        if n_groups > 1:
            yield [attribute.groups.codes == i for i in range(n_groups)]


def _of_two_groups(numbers: Iterator[float]) -> float:
    """Sum of the two largest numbers."""
    return sum(sorted(numbers)[-2:])


def _most_within(lows: Floats, highs: Floats, weights: Floats) -> float:
    """Largest share of intervals that contain one score inside."""
    edges = np.unique(np.concatenate([lows, highs]))
    middles = (edges[1:] + edges[:-1]) / 2
    inside = _total(lows, weights, middles) - _total(highs, weights, middles)
    return float(inside.max() / weights.sum())


def _total(values: Floats, weights: Floats, at: Floats) -> Floats:
    """Total weight of the values up to each of some numbers."""
    order = np.argsort(values, kind="stable")
    sums = np.append(0.0, np.cumsum(weights[order]))
    return sums[np.searchsorted(values[order], at, side="right")]

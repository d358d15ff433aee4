"""An audit as statistics: how many rows share groups, classes, weight and score.

A report is computed again from them, but for what is drawn row by row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair._utils._types import Bools, Floats, Integers
from skfair._utils._validation import scores_on
from skfair.groups import Groups, intersect
from skfair.report._inputs import (
    Attribute,
    Audit,
    Model,
    Options,
    mid_ranks,
    with_intersection,
)
from skfair.report._language import Unnamed
from skfair.report._sample import count_outcomes
from skfair.statistics import GroupedOutcomes, GroupedScores
from skfair.statistics._json import check_entries, label_to_json, labels_from_json

Data = dict[str, Any]

_ENTRIES = "model threshold classes labelled weighted attributes strata statistic"
#: Numbers of intervals of scores; their edges are short as decimal numbers.
_N_BINS = (10_000, 5_000, 2_000, 1_000, 500, 200, 100)


def of_each_model(audit: Audit) -> list[Audit]:
    """One audit for each model, without the probabilities of a proxy."""
    return [replace(audit, models=(model,), proxy=None) for model in audit.models]


def to_data(audit: Audit) -> Data:
    """Return the statistic of one model, and what its cells stand for, as in JSON."""
    (model,) = audit.models
    names, columns = _columns(audit)
    codes, labels = intersect(columns)
    cells = Groups(codes, labels, tuple(names))
    rows = np.ones(len(codes), np.int64) if audit.n_alike is None else audit.n_alike
    statistic: GroupedScores | GroupedOutcomes
    if model.y_score is not None:
        statistic = GroupedScores.from_counts(
            model.y_score, sensitive_features=cells, n_rows=rows, scale="real"
        )
    else:
        last = (model.y_pred == len(audit.classes) - 1).astype(float)
        statistic = count_outcomes(replace(audit, sample_weight=None), last, cells)
    return {
        "type": "counted",
        "model": _name_to_data(model.name),
        "threshold": model.threshold,
        "classes": [label_to_json(label) for label in audit.classes],
        "labelled": audit.y_true is not None,
        "weighted": audit.sample_weight is not None,
        "attributes": [
            {"name": _name_to_data(one.name), **_groups_to_data(one.every)}
            for one in _given(audit)
        ],
        "strata": None if audit.strata is None else _groups_to_data(audit.strata),
        "statistic": statistic.to_dict(),
    }


def _given(audit: Audit) -> tuple[Attribute, ...]:
    """Attributes without their intersection."""
    several = len(audit.attributes) > 1
    return audit.attributes[:-1] if several else audit.attributes


def _columns(audit: Audit) -> tuple[list[str], list[tuple[Any, tuple[Any, ...]]]]:
    """Names, codes and labels of what the rows of a cell share; None is no group."""
    (model,) = audit.models
    found: list[tuple[str, Any, tuple[Any, ...]]] = []
    groups = [(one.name, one.every) for one in _given(audit)]
    if audit.strata is not None:
        groups.append(("stratum", audit.strata))
    for name, one in groups:
        found.append((name, one.codes + np.intp(1), (None, *one.labels)))
    if audit.y_true is not None:
        found.append(("true label", audit.y_true, audit.classes))
    found.append(("decision", model.y_pred, audit.classes))
    weights = audit.sample_weight
    if weights is None:
        weights = np.ones(len(model.y_pred), np.int64)
    distinct, levels = np.unique(weights, return_inverse=True)
    found.append(("weight", levels, tuple(distinct.tolist())))
    return [name for name, _, _ in found], [(codes, to) for _, codes, to in found]


def _name_to_data(name: str) -> str | list[str]:
    """Write a name, one that nobody gave within a list."""
    return [str(name)] if isinstance(name, Unnamed) else name


def _name_from_data(data: str | list[str]) -> str:
    return Unnamed(data[0]) if isinstance(data, list) else data


def _groups_to_data(groups: Groups) -> Data:
    return {
        "labels": [label_to_json(label) for label in groups.labels],
        "names": [*groups.names],
        "min_group_size": groups.min_group_size,
    }


def from_data(data: Any, options: Options, blur: tuple[float, float]) -> Audit:
    """Return the audit of counted rows, or raise ValueError, KeyError or TypeError."""
    check_entries(data, "counted", _ENTRIES.split())
    classes = labels_from_json("classes", data["classes"])
    kind = data["statistic"].get("type")
    statistic: Any = GroupedScores if kind == "GroupedScores" else GroupedOutcomes
    statistic = statistic.from_dict(data["statistic"])
    scores, codes, rows = None, np.arange(statistic.n_groups), statistic.counts
    if isinstance(statistic, GroupedScores):
        scores = scores_on(options.scale, statistic.scores)
        codes, rows = statistic.codes, statistic.weights
    if not len(rows) or rows.dtype.kind != "i" or not (rows > 0).all():
        raise ValueError("counts must be whole numbers above 0, of at least one row.")
    described = [*data["attributes"]]
    described += [] if data["strata"] is None else [data["strata"]]
    n_columns = len(described) + bool(data["labelled"]) + 2
    if any(
        not isinstance(one, tuple) or len(one) != n_columns for one in statistic.labels
    ):
        raise ValueError(f"labels must be lists of {n_columns} values.")
    columns = iter(zip(*statistic.labels, strict=True))
    groups = [_groups_from_data(one, next(columns), codes) for one in described]
    true = _positions(next(columns), classes)[codes] if data["labelled"] else None
    predicted = _positions(next(columns), classes)[codes]
    weights = np.array([*next(columns)])[codes]
    if weights.dtype.kind not in "if" or not ((weights > 0) & (weights < 1e150)).all():
        raise ValueError("weights must be numbers above 0.")
    strata = groups.pop() if data["strata"] is not None else None
    each = {
        _name_from_data(one["name"]): group
        for one, group in zip(data["attributes"], groups, strict=True)
    }
    threshold = None if data["threshold"] is None else float(data["threshold"])
    model = Model(_name_from_data(data["model"]), scores, predicted, threshold)
    return Audit(
        models=(model,),
        attributes=with_intersection(each, rows),
        y_true=true,
        classes=classes,
        sample_weight=weights if data["weighted"] else None,
        options=options,
        n_alike=rows,
        blur=blur,
        strata=strata,
    )


def _groups_from_data(
    data: Mapping[str, Any], column: tuple[Any, ...], codes: Integers
) -> Groups:
    """Make the groups of an attribute, from the values of the cells."""
    labels = labels_from_json("labels", data["labels"])
    found = _positions(column, (None, *labels))[codes] - 1
    size = data["min_group_size"]
    if type(size) is not int or not 1 <= size < 2**31:
        raise ValueError("min_group_size must be a positive integer.")
    return Groups(found, labels, tuple(map(str, data["names"])), size)


def _positions(column: tuple[Any, ...], labels: tuple[Any, ...]) -> Integers:
    """Positions of values among labels, or raise ValueError."""
    known = {label: i for i, label in enumerate(labels)}
    unknown = [value for value in column if value not in known]
    if unknown:
        raise ValueError(f"a cell has the unknown value {unknown[0]!r}.")
    return np.array([known[value] for value in column], dtype=np.intp)


def reduced(audit: Audit, min_cell: int | None, n_entries: int) -> tuple[Audit, int]:
    """Count at most so many entries, each of enough rows, and rows that are left out.

    Scores are joined in intervals where they are too many; since these are written with
    few digits, there may be twice as many. With `min_cell` all rows of
    an intersection of groups and strata are left out if fewer than that have one pair
    of true label and decision, and intervals hold at least as many rows of each cell.
    """
    n_left_out = 0
    if min_cell is not None:
        kept = _large_enough(audit, min_cell)
        n_left_out = audit.count(~kept)
        if not kept.any():
            raise ValueError(
                f"min_cell is {min_cell}: each group has fewer rows of some pair of "
                "true label and decision, so that nothing is left."
            )
        audit = _only(audit, kept)
    (model,) = audit.models
    cells = intersect(_columns(audit)[1])[0].astype(np.intp)
    if model.y_score is None:
        return audit, n_left_out
    pairs = np.unique(np.stack([cells.astype(float), model.y_score]), axis=1)
    if min_cell is None and pairs.shape[1] <= n_entries:
        return audit, n_left_out
    return _joined(audit, cells, min_cell or 1, 2 * n_entries), n_left_out


def _large_enough(audit: Audit, min_cell: int) -> Bools:
    """Whether the groups and stratum of each entry have no small cell."""
    n_groups = len(_given(audit)) + (audit.strata is not None)
    cells, labels = intersect(_columns(audit)[1])
    rows = np.bincount(cells, audit.n_alike, len(labels))
    parts = [label[:n_groups] for label in labels if isinstance(label, tuple)]
    small = {part for part, n in zip(parts, rows, strict=True) if 0 < n < min_cell}
    return ~np.array([part in small for part in parts])[cells]


def _only(audit: Audit, kept: Bools) -> Audit:
    """Audit of some entries, without groups and strata that have lost all rows."""

    def of(groups: Groups) -> Groups:
        lost = set(groups.codes[~kept].tolist()) - set(groups.codes[kept].tolist())
        labels = tuple(x for i, x in enumerate(groups.labels) if i not in lost)
        position = np.cumsum([i not in lost for i in range(len(groups.labels))]) - 1
        codes = groups.codes[kept]
        codes = np.where(codes < 0, -1, position[codes])
        return replace(groups, codes=codes, labels=labels)

    rest = audit.at(kept, audit.models[0].at(kept))
    each = {one.name: of(one.every) for one in _given(audit)}
    return replace(
        rest,
        attributes=with_intersection(each, rest.n_alike),
        strata=None if audit.strata is None else of(audit.strata),
    )


def _joined(audit: Audit, cells: Integers, min_cell: int, n_entries: int) -> Audit:
    """Join the scores of each cell in intervals, and count as their middles."""
    (model,) = audit.models
    scores = model.y_score
    assert scores is not None
    if audit.options.scale == "rank":
        scores = mid_ranks(scores, audit.weights)
    rows = np.ones(len(cells), np.int64) if audit.n_alike is None else audit.n_alike
    for n_bins in _N_BINS:
        bins = np.minimum((scores * n_bins).astype(np.int64), n_bins - 1)
        keys = cells * n_bins + bins
        keys, entries = np.unique(keys, return_inverse=True)
        if len(keys) <= n_entries:
            break
    else:
        raise ValueError(
            f"rows have {len(keys):,} distinct groups, labels and weights, expected at "
            f"most {n_entries:,} in a bundle: weights that are rounded are fewer."
        )
    sizes = np.bincount(entries, rows)
    parts = _runs(keys // n_bins, sizes, min_cell)
    first = np.flatnonzero(np.diff(parts, prepend=-1))
    last = np.append(first[1:], len(keys)) - 1
    lows, highs = (keys[first] % n_bins) / n_bins, (keys[last] % n_bins + 1) / n_bins
    # The sum of two whole numbers is exact, so that middles are short numbers.
    middles = (keys[first] % n_bins + keys[last] % n_bins + 1) / (2 * n_bins)
    entry_of = parts[entries]
    blur = _blur(audit, lows[entry_of], highs[entry_of])
    return replace(
        audit,
        models=(replace(model, y_score=middles[entry_of]),),
        n_alike=rows,
        blur=(audit.blur[0] + blur[0], audit.blur[1] + blur[1]),
    )


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
    weights = np.ones(len(lows)) if audit.weights is None else audit.weights
    width = 0.0
    for attribute in audit.attributes:
        codes = attribute.groups.codes
        of_groups = [
            _most_within(lows[codes == i], highs[codes == i], weights[codes == i])
            for i in range(len(attribute.groups.labels))
        ]
        if len(of_groups) > 1:
            width = max(width, sum(sorted(of_groups)[-2:]))
    if audit.options.scale == "rank":
        below, above = _total(highs, weights, lows), _total(-lows, weights, -highs)
        return width, 2 * float(1 - ((below + above) / weights.sum()).min())
    return width, float((highs - lows).max())


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

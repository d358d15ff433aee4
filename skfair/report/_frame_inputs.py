"""What a report is about, from a table whose rows stay on their engine."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from skfair._utils._columns import floats_in
from skfair._utils._progress import Progress
from skfair._utils._types import Bools, Floats, Integers
from skfair._utils._validation import ROUNDING
from skfair.frames._batches import lie_in
from skfair.frames._mcdp_bounds import merge_bins, power_of_two
from skfair.frames._query import (
    Counted,
    Table,
    control_names,
    count_rows_by,
    names_of,
    open_table,
)
from skfair.groups import Groups, recode
from skfair.metrics import mcdp
from skfair.metrics._distribution._gap import compared_pairs
from skfair.metrics._distribution._metric_bounds import (
    Cells,
    largest_bounds,
    on_band_of,
)
from skfair.metrics._inputs import Multigroup
from skfair.report._inputs import MANY_ROWS, Audit, Options, make_audit, of_one_model

#: Most bins of scores that a pass counts.
_MOST_BINS = 2**16
#: A bin that holds more than this share of all rows is counted again in finer bins.
_HEAVY = 2**-11
#: Passes of finer bins.
_MAX_PASSES = 2
#: Weights whose logarithms to the base 2 share an interval of this length are alike.
_WEIGHT_STEP = 1 / 8


@dataclass(frozen=True)
class Sizes:
    """From which sizes on a table is counted in other ways.

    A table of at least `many_rows` is counted by its engine; with more than
    `max_scores` rows in bins. A pass counts up to `max_cells` cells of groups, classes
    and bins, unless there are then fewer than `fewest_bins`.
    """

    many_rows: int = MANY_ROWS
    max_scores: int = 2**20
    max_cells: int = 2**20
    fewest_bins: int = 2**10


@dataclass(frozen=True)
class _Columns:
    """Columns of a table, by their use; a model has scores, predictions, or both."""

    sensitive: list[str]
    control: list[str]
    models: dict[str, tuple[str | None, str | None]]
    y_true: str | None
    weight: str | None

    def all(self) -> list[str]:
        """Names of all columns, each once."""
        names = [*self.sensitive, *self.control, self.y_true, self.weight]
        names += [column for model in self.models.values() for column in model]
        return list(dict.fromkeys(name for name in names if name is not None))


def read_frame(
    frame: Any,
    *,
    y_true: str | None,
    y_score: Any,
    y_pred: Any,
    sensitive_features: Any,
    control_features: Any,
    sample_weight: str | None,
    pos_label: Any,
    options: Options,
    sizes: Sizes = Sizes(),
) -> list[Audit]:
    """Read a table of few rows, or count its rows for each model."""
    columns = _Columns(
        names_of(sensitive_features),
        control_names(control_features),
        _columns_of_models(y_score, y_pred),
        y_true,
        sample_weight,
    )
    table = _open(frame, columns)
    n_rows = int(_collected(table.select(nw.len().alias("n")))["n"][0])
    if n_rows < sizes.many_rows:
        return [_read_rows(table, columns, pos_label, options)]
    audits = []
    for name, (score, predicted) in columns.models.items():
        one = replace(columns, models={name: (score, predicted)})
        audits.append(_count_rows(table, one, n_rows, pos_label, options, sizes))
    if len({audit.classes for audit in audits}) > 1:
        raise ValueError(
            "y_pred must have the same labels for all models, got "
            f"{[list(audit.classes) for audit in audits]}; report on them one by one."
        )
    return audits


def _columns_of_models(
    y_score: Any, y_pred: Any
) -> dict[str, tuple[str | None, str | None]]:
    """Columns of each model: one of each is one model, several are matched by name."""
    scores, predicted = _named("y_score", y_score), _named("y_pred", y_pred)
    if not (isinstance(y_score, Mapping) and isinstance(y_pred, Mapping)):
        scores, predicted = of_one_model(scores, predicted)
    if not scores and not predicted:
        raise ValueError("y_score and y_pred are both None, expected at least one.")
    names = dict.fromkeys([*scores, *predicted])
    return {name: (scores.get(name), predicted.get(name)) for name in names}


def _named(argument: str, columns: Any) -> dict[str, str]:
    """Names of columns by model; a model without a name has that of its column."""
    if columns is None:
        return {}
    if isinstance(columns, str):
        columns = [columns]
    if not isinstance(columns, Mapping):
        columns = {name: name for name in columns}
    for name in columns.values():
        if not isinstance(name, str):
            raise TypeError(f"{argument} must name a column, got {name!r}.")
    return {str(model): name for model, name in columns.items()}


def _open(frame: Any, columns: _Columns) -> Any:
    """Check that a table has the columns, and that scores are numbers."""
    table: Any = None
    for score, predicted in columns.models.values():
        given = {"y_score": score, "y_pred": predicted, "y_true": columns.y_true}
        given = {name: column for name, column in given.items() if column is not None}
        table = open_table(
            frame, columns.sensitive, columns.weight, columns.control or None, **given
        )
    return table


def _collected(table: Any) -> nw.DataFrame[Any]:
    """Run a query, unless the engine has run it already."""
    return table.collect() if isinstance(table, nw.LazyFrame) else table


def _read_rows(
    table: Any, columns: _Columns, pos_label: Any, options: Options
) -> Audit:
    """Make an audit of the rows themselves."""
    rows = _collected(table.select(*columns.all())).to_pandas()
    scores = {m: rows[s] for m, (s, _) in columns.models.items() if s is not None}
    predicted = {m: rows[p] for m, (_, p) in columns.models.items() if p is not None}
    return make_audit(
        y_true=None if columns.y_true is None else rows[columns.y_true],
        y_score=scores or None,
        y_pred=predicted or None,
        sensitive_features={name: rows[name] for name in columns.sensitive},
        control_features=rows[columns.control] if columns.control else None,
        pos_label=pos_label,
        sample_weight=None if columns.weight is None else rows[columns.weight],
        options=options,
    )


#: Columns of entries that are numbers.
_OF_ENTRIES = "cells", "rows", "weights", "lows", "highs"


@dataclass(frozen=True)
class _Entries:
    """Rows counted by groups, classes and score, and where their cells begin.

    The last of `groups` are the strata, if there are any.
    """

    groups: list[Groups]
    classes: list[NDArray[Any]]
    cells: Floats
    rows: Integers
    weights: NDArray[Any]
    lows: Floats
    highs: Floats

    @classmethod
    def of(cls, counted: Counted, n_bins: int | None) -> _Entries:
        """Entries of an aggregation, of all rows or of some ranges of scores."""
        cells = counted.keys / (n_bins or 1)
        columns = counted.rows, counted.weights, counted.lows, counted.highs
        strata = [] if counted.strata is None else [counted.strata]
        return cls(counted.attributes + strata, counted.classes, cells, *columns)

    @property
    def blurred(self) -> Bools:
        """Whether rows of an entry may have scores between the least and largest."""
        return np.asarray(self.lows < self.highs)

    def at(self, places: Integers) -> _Entries:
        """Entries at some places, which may be repeated."""
        return _Entries(
            [groups[places] for groups in self.groups],
            [values[places] for values in self.classes],
            *(getattr(self, name)[places] for name in _OF_ENTRIES),
        )

    def joined(self, finer: _Entries, again: Bools) -> _Entries:
        """Put finer entries in place of some."""
        rest, groups = self.at(np.flatnonzero(~again)), []
        for before, after in zip(rest.groups, finer.groups, strict=True):
            codes = recode(after.codes, after.labels, before.labels)
            groups.append(replace(before, codes=np.append(before.codes, codes)))
        return _Entries(
            groups,
            [*map(np.append, rest.classes, finer.classes)],
            *(np.append(getattr(rest, x), getattr(finer, x)) for x in _OF_ENTRIES),
        )

    def split(self, pairs: Bools) -> _Entries:
        """Entries of two rows each as one entry for either row."""
        order = np.repeat(np.arange(len(self.rows)), np.where(pairs, 2, 1))
        found, of_pair = self.at(order), pairs[order]
        second = np.diff(order, prepend=-1) == 0
        scores = np.where(second, found.highs, found.lows)
        halves = np.where(of_pair, 2, 1)
        return replace(
            found,
            rows=found.rows // halves,
            weights=found.weights // halves if pairs.any() else found.weights,
            lows=np.where(of_pair, scores, found.lows),
            highs=np.where(of_pair, scores, found.highs),
        )


def _count_rows(
    table: Any,
    columns: _Columns,
    n_rows: int,
    pos_label: Any,
    options: Options,
    sizes: Sizes,
) -> Audit:
    """Count the rows of a model by groups, classes and scores."""
    ((name, (score, predicted)),) = columns.models.items()
    added: dict[str, Any] = {}
    known = table.collect_schema().names()
    classes = [column for column in (columns.y_true, predicted) if column is not None]
    if score is not None and predicted is None and options.scale == "probability":
        least = options.threshold or -ROUNDING
        added[_unused("decision", known)] = floats_in(table, score) >= least
    if columns.weight is not None:
        weight = floats_in(table, columns.weight)
        level = (weight.log(2) / _WEIGHT_STEP).floor()
        steps = nw.when(weight > 0).then(level).otherwise(nw.lit(0.0))
        added[_unused("step of weight", known)] = steps
    rows = table.with_columns(**added) if added else table
    by = Table(
        rows,
        columns.sensitive,
        columns.weight,
        score,
        (*classes, *added),
        control=columns.control,
        scale="rank" if options.scale == "rank" else "probability",
    )
    progress = Progress("FairnessReport", options.verbose)
    entries = _count_scores(by, n_rows, sizes, progress)
    if columns.weight is None:
        entries = entries.split((entries.rows == 2) & entries.blurred)
    values = dict(zip(classes, entries.classes, strict=False))
    middles = entries.lows + (entries.highs - entries.lows) / 2
    audit = make_audit(
        y_true=None if columns.y_true is None else values[columns.y_true],
        y_score=None if score is None else {name: middles},
        y_pred=None if predicted is None else {name: values[predicted]},
        sensitive_features=dict(zip(columns.sensitive, entries.groups, strict=False)),
        control_features=entries.groups[-1] if columns.control else None,
        pos_label=pos_label,
        sample_weight=None
        if columns.weight is None
        else entries.weights / entries.rows,
        options=options,
        n_alike=entries.rows,
    )
    if score is None:
        return audit
    return replace(audit, blur=_blur_of_entries(audit, entries))


def _unused(name: str, known: Iterable[str]) -> str:
    """Name for a new column; engines may not tell upper case from lower case."""
    taken = {one.lower() for one in known}
    while name in taken:
        name += " "
    return name


def _count_scores(
    table: Table, n_rows: int, sizes: Sizes, progress: Progress
) -> _Entries:
    """Count rows by score, or in bins, of which those of many rows become finer."""
    progress.line(f"counting {n_rows:,} rows")
    if table.score is None or n_rows <= sizes.max_scores:
        return _Entries.of(count_rows_by(table, None), None)
    if table.scale == "rank":
        table = _in_unit_interval(table)
    n_kinds = len(count_rows_by(replace(table, score=None), None).rows)
    n_bins = power_of_two(sizes.max_cells / n_kinds)
    n_bins = min(max(n_bins, sizes.fewest_bins), _MOST_BINS)
    heavy = max(_HEAVY, 4 / n_bins) * n_rows
    entries = _Entries.of(count_rows_by(table, n_bins), n_bins)
    for i in range(_MAX_PASSES):
        cells, positions = np.unique(entries.cells, return_inverse=True)
        n_blurred = np.bincount(positions, entries.rows * entries.blurred)
        bins = np.unique(np.floor(cells[n_blurred > heavy] * n_bins))
        if not len(bins):
            break
        ranges = merge_bins(bins, n_bins)
        again = lie_in(ranges, entries.lows)
        n_bins *= max(2, power_of_two(sizes.max_cells / n_kinds / len(bins)))
        progress.line(f"counting {n_rows:,} rows, pass {i + 2} of {1 + _MAX_PASSES}")
        finer = count_rows_by(table, n_bins, ranges)
        if finer.rows.sum() != entries.rows[again].sum():
            raise ValueError(
                "frame changed between two passes, expected the same rows."
            )
        entries = entries.joined(_Entries.of(finer, n_bins), again)
    return entries


def _in_unit_interval(table: Table) -> Table:
    """Move scores to [0, 1], which changes no rank, so that bins can hold them."""
    assert table.score is not None
    score, most = floats_in(table.frame, table.score), sys.float_info.max
    finite = table.frame.filter((score >= -most) & (score <= most))
    ends = finite.select(score.min().alias("low"), score.max().alias("high"))
    found = _collected(ends)
    # Without a finite score there is nothing to move, and the query finds the fault.
    low, high = (float(found[name][0] or 0) for name in ("low", "high"))
    moved = (score - low) / ((high - low) or 1.0)
    rows = table.frame.with_columns(moved.alias(table.score))
    return replace(table, frame=rows, scale="probability")


def _blur_of_entries(audit: Audit, entries: _Entries) -> tuple[float, float]:
    """How far MCDP(0) and ABCC may be from the values at the middles of intervals.

    The first is the largest width of the bounds of MCDP(0). The second is the length of
    the longest interval of scores; of ranks it is twice the largest share of everyone
    in an interval, which a rank moves by at most. Values within strata move by no more
    than the largest of any stratum.
    """
    width, share = 0.0, 0.0
    _, cells = np.unique(entries.cells, return_inverse=True)
    for attribute in audit.attributes if entries.blurred.any() else ():
        codes = attribute.groups.codes
        parts = [codes]
        if audit.strata is not None:
            n_strata = len(audit.strata.labels)
            parts += [
                np.where(audit.strata.codes == i, codes, -1) for i in range(n_strata)
            ]
        for part in parts:
            width = max(width, _width(part, attribute.comparison, entries))
            if (known := part >= 0).any():
                weights = np.bincount(cells, entries.weights * known)
                blurred = np.bincount(cells, entries.blurred)
                share = max(share, weights[blurred > 0].max(initial=0) / weights.sum())
    if audit.options.scale == "rank":
        return width, 2 * float(share)
    return width, float((entries.highs - entries.lows).max())


def _width(codes: NDArray[Any], multigroup: Multigroup, entries: _Entries) -> float:
    """Largest width of the bounds of MCDP(0) of the entries that have a group."""
    order = np.argsort(codes, kind="stable")[np.count_nonzero(codes < 0) :]
    labels, sorted_codes = np.unique(codes[order], return_inverse=True)
    if len(labels) < 2:
        return 0.0
    weights = entries.weights[order]
    totals = np.bincount(sorted_codes, weights).astype(weights.dtype)
    lows, highs = entries.lows[order], entries.highs[order]
    found, _ = largest_bounds(
        Cells(sorted_codes, lows, highs, weights, totals),
        compared_pairs(len(labels), multigroup),
        on_band_of(mcdp)[0],
    )
    return found.width

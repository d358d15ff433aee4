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
from skfair._utils._validation import ROUNDING
from skfair.frames._query import (
    Counted,
    Table,
    control_names,
    count_rows_by,
    names_of,
    open_table,
)
from skfair.metrics import mcdp
from skfair.metrics._inputs import Multigroup
from skfair.metrics._metric_bounds import (
    Cells,
    largest_bounds,
    on_band_of,
)
from skfair.metrics._pairs import compared_pairs
from skfair.report._inputs import MANY_ROWS, Audit, Options, make_audit, of_one_model

#: More rows than these are counted in bins of their scores.
_MAX_SCORES = 2**20
#: Cells of groups, classes and bins, unless there are then too few bins.
_MAX_CELLS = 2**20
_FEWEST_BINS, _MOST_BINS = 2**10, 2**16
#: Weights whose logarithms to the base 2 share an interval of this length are alike.
_WEIGHT_STEP = 1 / 8


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
    if n_rows < MANY_ROWS:
        return [_read_rows(table, columns, pos_label, options)]
    audits = []
    for name, (score, predicted) in columns.models.items():
        one = replace(columns, models={name: (score, predicted)})
        audits.append(_count_rows(table, one, n_rows, pos_label, options))
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


def _count_rows(
    table: Any,
    columns: _Columns,
    n_rows: int,
    pos_label: Any,
    options: Options,
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
    progress.line(f"counting {n_rows:,} rows")
    entries = _count_scores(by, n_rows)
    if columns.weight is None:
        entries = _split_pairs(entries)
    values = dict(zip(classes, entries.classes, strict=False))
    middles = entries.lows + (entries.highs - entries.lows) / 2
    audit = make_audit(
        y_true=None if columns.y_true is None else values[columns.y_true],
        y_score=None if score is None else {name: middles},
        y_pred=None if predicted is None else {name: values[predicted]},
        sensitive_features=dict(
            zip(columns.sensitive, entries.attributes, strict=True)
        ),
        control_features=entries.strata,
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


def _count_scores(table: Table, n_rows: int) -> Counted:
    """Count rows by score, or in bins of scores."""
    if table.score is None or n_rows <= _MAX_SCORES:
        return count_rows_by(table, None)
    if table.scale == "rank":
        table = _in_unit_interval(table)
    n_kinds = len(count_rows_by(replace(table, score=None), None).rows)
    n_bins = 1 << max(0, (_MAX_CELLS // n_kinds).bit_length() - 1)
    n_bins = min(max(n_bins, _FEWEST_BINS), _MOST_BINS)
    return count_rows_by(replace(table, narrow_ends=True), n_bins)


def _split_pairs(entries: Counted) -> Counted:
    """Give each of two rows of a bin an entry, since both of their scores are known."""
    pairs = (entries.rows == 2) & (entries.lows < entries.highs)
    order = np.repeat(np.arange(len(pairs)), np.where(pairs, 2, 1))
    second, pairs = np.diff(order, prepend=-1) == 0, pairs[order]
    rows = entries.rows[order] // np.where(pairs, 2, 1)
    lows, highs = entries.lows[order], entries.highs[order]
    return replace(
        entries,
        attributes=[groups[order] for groups in entries.attributes],
        classes=[labels[order] for labels in entries.classes],
        keys=entries.keys[order],
        rows=rows,
        weights=rows,
        lows=np.where(second, highs, lows),
        highs=np.where(pairs & ~second, lows, highs),
        strata=None if entries.strata is None else entries.strata[order],
    )


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


def _blur_of_entries(audit: Audit, entries: Counted) -> tuple[float, float]:
    """How far MCDP(0) and ABCC may be from the values at the middles of intervals.

    The first is the largest width of the bounds of MCDP(0). The second is the length of
    the longest interval of scores; of ranks it is twice the largest share of everyone
    in an interval, which a rank moves by at most. Values within strata move by no more
    than the largest of any stratum.
    """
    width, share = 0.0, 0.0
    _, cells = np.unique(entries.keys, return_inverse=True)
    blurred = entries.lows < entries.highs
    for attribute in audit.attributes if blurred.any() else ():
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
                several = np.bincount(cells, blurred) > 0
                share = max(share, weights[several].max(initial=0) / weights.sum())
    if audit.options.scale == "rank":
        return width, 2 * float(share)
    return width, float((entries.highs - entries.lows).max())


def _width(codes: NDArray[Any], multigroup: Multigroup, entries: Counted) -> float:
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

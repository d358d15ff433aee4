"""The map of a `ScoreRepairer` as a table of linear pieces, and as SQL."""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from skfair._utils._sql import quote_name, quote_text
from skfair._utils._types import Floats
from skfair._utils._validation import ROUNDING
from skfair.frames._query import names_of
from skfair.groups import MISSING_LABEL
from skfair.postprocessing._calibration import BetaCalibration

#: Scores of one group, and their repaired values, between which the map is linear.
Knots: TypeAlias = tuple[Floats, Floats]


def thin_knots(scores: Floats, repaired: Floats, tol: float) -> Knots:
    """Leave knots out of an increasing map that then changes by `tol` at most.

    At most ``2 / tol + 1`` pieces are left: two in a row rise by more than `tol`.
    """
    if not tol:
        return scores, repaired
    x, y = scores.tolist(), repaired.tolist()
    kept, start, last = [0], 0, len(x) - 1
    while start < last:
        # Slopes of the lines from the start that miss no knot so far by more than tol.
        least, largest = -math.inf, math.inf
        end = knot = start + 1
        while knot <= last and least <= largest:
            width, rise = x[knot] - x[start], y[knot] - y[start]
            if least <= rise / width <= largest:
                end = knot
            least = max(least, (rise - tol) / width)
            largest = min(largest, (rise + tol) / width)
            knot += 1
        kept.append(end)
        start = end
    return scores[kept], repaired[kept]


def table_of_pieces(groups: tuple[Hashable, ...], knots: list[Knots]) -> pd.DataFrame:
    """One row for each linear piece, group by group."""
    positions = np.repeat(np.arange(len(groups)), [len(x) - 1 for x, _ in knots])
    columns = labels_by_column(groups)
    names = (
        ["group"] if len(columns) == 1 else [f"group_{i}" for i in range(len(columns))]
    )
    table = pd.DataFrame(dict(zip(names, columns, strict=True))).iloc[positions]
    for part, name in enumerate(("score", "repaired")):
        values = [of_group[part] for of_group in knots]
        table[f"{name}_from"] = np.concatenate([ends[:-1] for ends in values])
        table[f"{name}_to"] = np.concatenate([ends[1:] for ends in values])
    return table.reset_index(drop=True)


def write_query(
    table: str,
    name: str,
    quote: str,
    expression: list[str],
    calibrator: BetaCalibration | None,
) -> str:
    """Write a query that adds a column to a table, as a probability if calibrated."""
    if calibrator is None:
        lines = [f"  {line}" for line in expression]
        lines[-1] += f" AS {quote_name(name, quote)}"
        return "\n".join(["SELECT", "  *,", *lines, f"FROM {table}"])
    uncalibrated = f"uncalibrated_{name}"
    inner = write_query(table, uncalibrated, quote, expression, None)
    score = quote_name(uncalibrated, quote)
    slope_0, slope_1, intercept = map(_number, calibrator)
    logit = f"{slope_0} * LN({score}) - {slope_1} * LN(1 - {score}) + {intercept}"
    probability = [
        f"CASE WHEN {score} <= 0 THEN 0",
        f"     WHEN {score} >= 1 THEN 1",
        f"     ELSE 1 / (1 + EXP(-({logit}))) END",
    ]
    return write_query(f"(\n{inner}\n) AS repaired", name, quote, probability, None)


def write_map(
    groups: tuple[Hashable, ...],
    knots: list[Knots],
    y_score: str,
    sensitive_features: str | list[str],
    quote: str,
    keeps_unknown: bool,
    keeps_missing: bool,
    *,
    real: bool,
) -> list[str]:
    """Lines of the map as a SQL expression, NULL where a score cannot be repaired."""
    columns = labels_by_column(groups)
    names = names_of(sensitive_features)
    if len(names) != len(columns):
        raise ValueError(
            f"sensitive_features must name {len(columns)} columns, since `fit` got as "
            f"many, got {sensitive_features!r}."
        )
    names = [quote_name(name, quote) for name in names]
    score = quote_name(y_score, quote)
    tests = [
        [_sql_test(name, label, labels, quote) for label in labels]
        for name, labels in zip(names, columns, strict=True)
    ]
    largest = float(np.finfo(np.float64).max)
    low, high = (-largest, largest) if real else (-ROUNDING, 1 + ROUNDING)
    lines = [
        f"CASE WHEN {score} >= {_number(low)} AND {score} <= {_number(high)} THEN CASE"
    ]
    for test, (x, y) in zip(zip(*tests, strict=True), knots, strict=True):
        lines.append(f"  WHEN {' AND '.join(test)} THEN CASE")
        lines += [
            f"    {line}" for line in _pieces(score, x.tolist(), y.tolist(), real)
        ]
        lines.append("  END")
    if keeps_unknown:
        lines.append(f"  ELSE {score}")
    elif keeps_missing:
        missing = " OR ".join(f"{name} IS NULL" for name in names)
        lines.append(f"  WHEN {missing} THEN {score}")
    return [*lines, "END END"]


def labels_by_column(groups: tuple[Hashable, ...]) -> list[tuple[Any, ...]]:
    """Labels by column: those of an intersection are tuples."""
    if all(isinstance(label, tuple) for label in groups):
        return list(zip(*groups, strict=True))
    return [groups]


def _pieces(score: str, x: list[float], y: list[float], real: bool) -> list[str]:
    """Branches of the map of one group: its ends, and pieces closed on the left.

    Beyond the ends the map of real scores has slope 1.
    """
    ends = [_number(value) for value in (y[0], y[-1])]
    if real:
        ends = [
            f"{value} + ({score} - {_number(end)})"
            for value, end in zip(ends, (x[0], x[-1]), strict=True)
        ]
    lines = [f"WHEN {score} <= {_number(x[0]) if real else 0} THEN {ends[0]}"]
    for i in range(len(x) - 1):
        value, rise = _number(y[i]), y[i + 1] - y[i]
        if rise:
            # A slope could overflow; the quotient of the differences lies in [0, 1].
            width = _number(x[i + 1] - x[i])
            value += f" + {_number(rise)} * (({score} - {_number(x[i])}) / {width})"
        lines.append(f"WHEN {score} < {_number(x[i + 1])} THEN {value}")
    return [*lines, f"ELSE {ends[1]}"]


def _number(value: float) -> str:
    """Write a float to its last digit, with an exponent: without one it is DECIMAL."""
    return str(np.format_float_scientific(value, trim="0"))


def _sql_test(name: str, label: Any, labels: tuple[Any, ...], quote: str) -> str:
    """Write the test whether a column has a label."""
    if label != MISSING_LABEL:
        return f"{name} = {_literal(label, quote)}"
    if all(isinstance(other, str) for other in labels):
        return f"({name} IS NULL OR {name} = {_literal(label, quote)})"
    return f"{name} IS NULL"


def _literal(label: Any, quote: str) -> str:
    """Write a label as a SQL literal, which no text can end."""
    if isinstance(label, bool):
        return str(label).upper()
    if isinstance(label, numbers.Integral):
        return str(int(label))
    if isinstance(label, numbers.Real) and math.isfinite(label):
        return _number(float(label))
    if not isinstance(label, str) or "\0" in label:
        raise ValueError(
            f"groups_ has the label {label!r}, which SQL cannot hold, expected "
            "text, numbers or booleans: join the table of `to_frame` instead."
        )
    if quote == "`":
        return quote_text(label, quote)
    # A backslash is a letter in standard SQL, but not in Snowflake: none is written.
    parts = [quote_text(part) for part in label.split("\\")]
    return parts[0] if len(parts) == 1 else f"({' || CHR(92) || '.join(parts)})"

"""Results that say what a gap goes with, as sections of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skfair._utils._text import (
    DASH,
    interval,
    label_text,
    number,
    or_none,
    percent,
    visible_text,
    whole,
)
from skfair.inspection import ExplainedGapResult
from skfair.report._metrics import MEASURES


def data_of(result: Any) -> dict[str, Any]:
    """Return a result as in JSON: its numbers, the names of groups, and a table."""
    if not isinstance(result, ExplainedGapResult):
        raise TypeError(
            "results must be of skfair.inspection.explained_gap, got "
            f"{type(result).__name__}."
        )
    population = result.population
    return {
        "metric": result.metric,
        "confidence_level": result.confidence_level,
        "population": None if population == "overlap" else label_text(population),
        "value": or_none(result.value),
        "lower": or_none(result.lower),
        "upper": or_none(result.upper),
        "table": [
            {"name": visible_text(str(name)), **{k: or_none(v) for k, v in row.items()}}
            for name, row in result.table.iterrows()
        ],
    }


def section_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """Write what remains of a gap between people who are alike in some columns."""
    title, population = MEASURES[result["metric"]].title, result["population"]
    where = "where all groups have people"
    if population is not None:
        where = f"with the columns of {population}"
    ends = {f"value_{end}": result[end] for end in ("lower", "upper")}
    value = _with_ends({"value": result["value"], **ends}, "value")
    return {
        "title": "What the gap goes with",
        "texts": [
            f"{title} is {value} between the groups as they are. The table has what "
            f"remains of it between people who are alike in some columns, {where}.",
            "Neither number is a cause or an excuse: columns may carry an injustice "
            "themselves, and groups may differ in columns that are not among them.",
            f"Intervals of {100 * result['confidence_level']:g}% are in parentheses.",
        ],
        "head": [
            "Alike in",
            "Remains",
            "Goes with these columns",
            "Rows without overlap",
            "Effective rows of the smallest group",
        ],
        "rows": [
            [
                row["name"],
                *(_with_ends(row, name) for name in ("remaining", "explained")),
                percent(row["no_overlap"]),
                whole(row["effective_size"]),
            ]
            for row in result["table"]
        ],
    }


def _with_ends(numbers: Mapping[str, Any], name: str) -> str:
    """Write a number and the ends of its interval, a dash where it is undefined."""
    if numbers[name] is None:
        return DASH
    ends = interval(numbers[f"{name}_lower"], numbers[f"{name}_upper"])
    return f"{number(numbers[name])} ({ends})"

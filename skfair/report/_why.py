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
from skfair.inspection import ExplainedGapResult, GapContributionsResult
from skfair.report._metrics import MEASURES


def data_of(result: Any) -> dict[str, Any]:
    """Return a result as in JSON: its numbers, the names of groups, and a table."""
    if not isinstance(result, (ExplainedGapResult, GapContributionsResult)):
        raise TypeError(
            "results must be of skfair.inspection.explained_gap or gap_contributions, "
            f"got {type(result).__name__}."
        )
    names = ("value", "lower", "upper", "threshold", "mean_difference")
    found = {name: or_none(getattr(result, name, None)) for name in names}
    rows = [
        {"name": visible_text(str(name)), **{k: or_none(v) for k, v in row.items()}}
        for name, row in result.table.iterrows()
    ]
    labels: tuple[Any, ...] = ()
    if isinstance(result, GapContributionsResult):
        labels = result.groups
    elif result.population != "overlap":
        labels = (result.population,)
    return {
        "type": type(result).__name__,
        "metric": getattr(result, "metric", None),
        "confidence_level": result.confidence_level,
        "groups": list(map(label_text, labels)),
        **found,
        "table": rows,
    }


def section_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """Title, sentences and a table of texts of a result."""
    return (_of_columns if result["metric"] else _of_features)(result)


def _of_columns(result: Mapping[str, Any]) -> dict[str, Any]:
    """Write what remains of a gap between people who are alike in some columns."""
    title = MEASURES[result["metric"]].title
    population = "where all groups have people"
    if result["groups"]:
        (group,) = result["groups"]
        population = f"with the columns of {label_text(group)}"
    rows = [
        [
            row["name"],
            *(_with_ends(row, name) for name in ("remaining", "explained")),
            percent(row["no_overlap"]),
            whole(row["effective_size"]),
        ]
        for row in result["table"]
    ]
    ends = {f"value_{end}": result[end] for end in ("lower", "upper")}
    value = _with_ends({"value": result["value"], **ends}, "value")
    return {
        "title": "What the gap goes with",
        "texts": [
            (
                f"{title} is {value} between the groups as they are. The table has "
                "what remains of it between people who are alike in some columns, "
                f"{population}."
            ),
            (
                "Neither number is a cause or an excuse: columns may carry an "
                "injustice themselves, and groups may differ in columns that are not "
                "among them."
            ),
            _level(result["confidence_level"]),
        ],
        "head": [
            "Alike in",
            "Remains",
            "Goes with these columns",
            "Rows without overlap",
            "Effective rows of the smallest group",
        ],
        "rows": rows,
    }


def _of_features(result: Mapping[str, Any]) -> dict[str, Any]:
    """Contributions of the features of a model to its gaps."""
    first, second = map(label_text, result["groups"])
    rows = [
        [row["name"], *(_with_ends(row, name) for name in ("decisions", "means"))]
        for row in result["table"]
    ]
    return {
        "title": "Through which features the gap comes",
        "texts": [
            (
                f"The share of scores above {number(result['threshold'])} is larger in "
                f"{first} than in {second} by {number(result['value'])}, and the mean "
                f"score by {number(result['mean_difference'])}. The contributions of "
                "all features add up to these numbers."
            ),
            (
                "They say through which features this model gives the groups different "
                "scores, not why the groups differ. Features that go together share "
                "the contribution, and another model may use others."
            ),
            _level(result["confidence_level"]),
        ],
        "head": [
            "Feature",
            "To the difference of shares",
            "To the difference of means",
        ],
        "rows": rows,
    }


def _with_ends(numbers: Mapping[str, Any], name: str) -> str:
    """Write a number and the ends of its interval, a dash where it is undefined."""
    if numbers[name] is None:
        return DASH
    ends = interval(numbers[f"{name}_lower"], numbers[f"{name}_upper"])
    return f"{number(numbers[name])} ({ends})"


def _level(confidence_level: float) -> str:
    """Say what the parentheses hold."""
    level = f"{100 * confidence_level:g}"
    return f"Intervals of {level}% are in parentheses."

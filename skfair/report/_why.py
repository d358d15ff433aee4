"""Results that say what a gap goes with, as sections of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skfair._utils._language import DASH, figure, interval, number, percent, say, whole
from skfair._utils._text import label_text, or_none, visible_text
from skfair.inspection import ExplainedGapResult, GapContributionsResult
from skfair.report._metrics import MEASURES
from skfair.report._names import name_of


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
    """Title, sentences and a table of texts of a result, in the spoken language."""
    return (_of_columns if result["metric"] else _of_features)(result)


def _of_columns(result: Mapping[str, Any]) -> dict[str, Any]:
    """Write what remains of a gap between people who are alike in some columns."""
    title = say(MEASURES[result["metric"]].title)
    population = say("where all groups have people")
    if result["groups"]:
        (group,) = result["groups"]
        population = say("with the columns of {group}", group=name_of(group))
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
    return {
        "title": say("What the gap goes with"),
        "texts": [
            say(
                "{title} is {value} between the groups as they are. The table has what "
                "remains of it between people who are alike in some columns, {where}.",
                title=title,
                value=_with_ends({"value": result["value"], **ends}, "value"),
                where=population,
            ),
            say(
                "Neither number is a cause or an excuse: columns may carry an "
                "injustice themselves, and groups may differ in columns that are not "
                "among them."
            ),
            _level(result["confidence_level"]),
        ],
        "head": [
            say("Alike in"),
            say("Remains"),
            say("Goes with these columns"),
            say("Rows without overlap"),
            say("Effective rows of the smallest group"),
        ],
        "rows": rows,
    }


def _of_features(result: Mapping[str, Any]) -> dict[str, Any]:
    """Contributions of the features of a model to its gaps."""
    first, second = map(name_of, result["groups"])
    rows = [
        [row["name"], *(_with_ends(row, name) for name in ("decisions", "means"))]
        for row in result["table"]
    ]
    return {
        "title": say("Through which features the gap comes"),
        "texts": [
            say(
                "The share of scores above {threshold} is larger in {first} than in "
                "{second} by {value}, and the mean score by {mean}. The contributions "
                "of all features add up to these numbers.",
                threshold=number(result["threshold"]),
                first=first,
                second=second,
                value=number(result["value"]),
                mean=number(result["mean_difference"]),
            ),
            say(
                "They say through which features this model gives the groups different "
                "scores, not why the groups differ. Features that go together share "
                "the contribution, and another model may use others."
            ),
            _level(result["confidence_level"]),
        ],
        "head": [
            say("Feature"),
            say("To the difference of shares"),
            say("To the difference of means"),
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
    level = figure(f"{100 * confidence_level:g}")
    return say("Intervals of {level}% are in parentheses.", level=level)

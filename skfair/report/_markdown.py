"""From a summary to Markdown, as for a model card."""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from skfair._utils._text import interval, plain
from skfair.report._metrics import MEASURES, amount, amounts
from skfair.report._sentences import say
from skfair.report._words import RATES, methods

Summary = dict[str, Any]

#: Level, heading and lines of a part of a report.
Section = tuple[int, str, list[str]]
#: Numbers of a group, in the order of the page, and their headings.
OF_GROUPS = {
    "n": "Rows",
    "n_people": "People",
    "selection_rate": RATES["selection_rate"],
    "interval": "Interval",
    "differs": "Differs from the rest",
    "base_rate": "Truly positive",
    "true_positive_rate": RATES["true_positive_rate"],
    "false_positive_rate": RATES["false_positive_rate"],
    "accuracy": RATES["accuracy"],
    "accuracy_differs": "Accuracy differs from the rest",
    "average_precision": "Average precision",
    "log_loss": "Log loss",
    "score_excess": "Score minus outcome",
    "calibration_error": "Calibration error",
    "mean_prediction": "Mean prediction",
    "mean_error": "Mean error",
    "mean_absolute_error": "Mean absolute error",
    "r2": "R²",
}
#: Whether rates of a group differ from those of all other rows.
_TESTED = "differs", "accuracy_differs"
OF_POOLED = {
    "title": "Rate",
    "n": "Rows",
    "n_people": "People",
    "value": "Raw rate",
    "pooled": "Pooled rate",
    "interval": "Interval",
}
OF_RATIOS = {
    "n": "Rows",
    "share": "Share of rows",
    "selected": "Selected",
    "rate": "Rate",
    "impact_ratio": "Impact ratio",
    "lower": "Lower",
    "upper": "Upper",
    "status": "Status",
}
#: Captions of tables of impact ratios.
RATIOS = {
    "selection": "Impact ratios of selection rates",
    "scoring": "Impact ratios of scoring rates",
}
#: Columns of tables of metrics within strata, and of everyone, and their headings.
OF_STRATA = {
    "title": "Metric",
    "everyone": "Everyone",
    "value": "Largest within",
    "stratum": "In",
    "mean": "Mean within",
    "interval": "Interval of the largest",
    "null_mean": "By chance",
    "pvalue": "p-value",
    "tested": "Decided by",
}
OF_METRICS = {"title": "Metric", "value": "Value", "interval": "Interval"}
OF_TESTS = {"null_mean": "By chance", "pvalue": "p-value"}


def record_of(date: str | datetime.date | None, source: str | None) -> dict[str, str]:
    """Write the date and source at the head of a page, if they are given."""
    record = {"Date": date, "Input": source}
    return {name: str(value) for name, value in record.items() if value is not None}


def render_markdown(summary: Summary, record: Mapping[str, str]) -> str:
    """Write the verdict, metrics and groups of a report as Markdown.

    `record` is written at the head of the page, with what the summary says about how
    the report was made.
    """
    lines = [f"# {plain(summary['title'])}", "", *_head(summary, record)]
    for level, heading, texts in sections(summary):
        lines += ["", f"{'#' * level} {heading}", "", *texts]
    return "\n".join(lines)


def sections(summary: Summary) -> Iterator[Section]:
    """Return the parts of a report below its head, in order."""
    for attribute in summary["attributes"]:
        for result in attribute["results"]:
            title = plain(f"{attribute['name']}, {result['model']}")
            measures = [one for one in result["measures"] if one["shown"]]
            measures.sort(key=lambda one: not one["answers"])
            tested = any(one["pvalue"] is not None for one in measures)
            headings = OF_METRICS | (OF_TESTS if tested else {})
            rows = [row for one in measures for row in _rows_of(one)]
            words = [f"{one['title']}: {one['sentence']}" for one in measures]
            lines = [*_metrics(rows, headings), "", "In words:", ""]
            yield 2, title, [*lines, *_bullets(map(plain, words))]
            if result["groups"]:
                rows = [
                    {**row, "interval": _ends(row)}
                    | {name: _differs(row.get(name)) for name in _TESTED}
                    for row in result["groups"]
                ]
                lines = _table_of_groups(rows, OF_GROUPS)
                if attribute["comparison"] == "pooled" and "selection_rate" in rows[0]:
                    lines = [plain(say("order of groups")), "", *lines]
                yield 3, f"Groups: {title}", lines
            if result.get("pooled"):
                rows = [
                    {**row, "interval": _ends(row, "pooled_")}
                    for row in result["pooled"]["rows"]
                ]
                lines = [plain(result["pooled"]["sentence"]), ""]
                lines += _table_of_groups(rows, OF_POOLED)
                yield 3, f"Pooled rates: {title}", lines
            for table in result.get("impact_ratios") or ():
                lines = [plain(table["sentence"]), ""]
                lines += _table_of_groups(table["rows"], OF_RATIOS)
                yield 3, f"{RATIOS[table['kind']]}: {title}", lines
            if result.get("strata"):
                lines = [plain(result["strata"]["sentence"]), ""]
                rows = [row for row in result["strata"]["rows"] if row["shown"]]
                lines += _metrics(rows, OF_STRATA)
                yield 3, f"Within strata: {title}", lines
    for heading, texts in {
        "Read with care": summary["cautions"],
        "Method": [*methods(summary)],
        "What this report cannot show": summary["verdict"]["cannot"],
    }.items():
        if texts:
            yield 2, heading, _bullets(map(plain, texts))


def card_sections(
    summary: Summary, section: str, record: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Return path and text of each section of a model card."""
    places = [section]
    yield section, "\n".join(_head(summary, record))
    for level, heading, texts in sections(summary):
        places = [*places[: level - 1], heading.replace("/", "\\/")]
        yield "/".join(places), "\n".join(texts)


def _head(summary: Summary, record: Mapping[str, str]) -> list[str]:
    """Return the lines on rows, settings and verdict of a report."""
    lines = [f"{plain(summary['rows'])}.", ""]
    lines += [f"- {name}: {plain(str(text))}" for name, text in record.items()]
    if summary["settings"]["decides"]:
        decided = {model["name"]: model["decided_by"] for model in summary["models"]}
        rules = [f"{name}: {rule}" for name, rule in decided.items()]
        rules = rules if len(rules) > 1 else [*decided.values()]
        what = "Decisions" if summary["settings"]["decided"] else "Predictions"
        lines.append(f"- {what}: {plain('; '.join(rules))}")
    seed = summary["settings"]["random_state"]
    made = f"skfair {summary['versions']['skfair']}, seed {seed}"
    lines += [f"- Made with: {plain(made)}", ""]
    if notes := summary["settings"]["notes"]:
        lines += ["**Notes on the data**", "", *_bullets(map(plain, notes)), ""]
    verdict, several = summary["verdict"], len(summary["models"]) > 1
    for lead in verdict["leads"]:
        changes = [plain(change["text"]) for change in lead["changes"]]
        if changes:
            lines += [f"**{plain(lead['changed'])}**", "", *_bullets(changes), ""]
    for position, lead in enumerate(verdict["leads"]):
        name = f"{plain(lead['model'])}: " if several else ""
        if lead["nothing"]:
            lines += [f"{name}{plain(lead['nothing'])}", ""]
        for answer in lead["answers"]:
            question = plain(summary["questions"][answer["question"]])
            lines += [f"**{name}{question}** {plain(answer['text'])}", ""]
            points = [
                f"{plain(point['attribute'])}: {plain(point['text'])}"
                for point in verdict["points"]
                if point["position"] == position
                and point["question"] == answer["question"]
            ]
            lines += [*_bullets(points), ""]
        for text in lead["further"]:
            lines += [f"{name}{plain(text)}", ""]
    return lines[:-1] if lines[-1] == "" else lines


def _bullets(texts: Iterable[str]) -> list[str]:
    """Return texts as the lines of a list."""
    return [f"- {text}" for text in texts]


def _ends(row: Summary, of: str = "") -> str | None:
    """Write the interval of a row, or of one of its numbers, if there is one."""
    if row.get(f"{of}lower") is None:
        return None
    return interval(row[f"{of}lower"], row[f"{of}upper"])


def _differs(found: bool | None) -> str | None:
    """Write whether a rate of a group differs, where it is tested."""
    if found is None:
        return None
    return "yes" if found else "no evidence"


def _rows_of(measure: Summary) -> Iterator[Summary]:
    """Yield the row of a metric, and a row for the pair that decides its test."""
    decider = measure["decider"]
    if decider is None:
        yield measure
        return
    yield {**measure, "null_mean": None, "pvalue": None}
    yield {**measure, **decider, "title": f"{measure['title']}: {decider['pair']}"}


def _metrics(rows: list[Summary], headings: Mapping[str, str]) -> list[str]:
    """Return the lines of a table of metrics.

    Numbers in the unit of the target are written here, shares by `_table_lines`.
    """
    cells = []
    for row in rows:
        key, written = row["key"], {**row, "interval": None}
        if row["lower"] is not None:
            written["interval"] = amounts(row["lower"], row["upper"], key)
        if MEASURES[key].maximum is None:
            for name in ("everyone", "value", "mean", "null_mean"):
                value = row.get(name)
                written[name] = None if value is None else amount(value, key)
        cells.append([written[name] for name in headings])
    return _table_lines(list(headings.values()), cells)


def _table_of_groups(rows: list[Summary], headings: Mapping[str, str]) -> list[str]:
    """Return the table of groups, without columns that are empty for all groups."""
    keys = [k for k in headings if any(row.get(k) is not None for row in rows)]
    head = ["Group", *(headings[key] for key in keys)]
    cells = [[row[k] if k == "status" else row.get(k) for k in keys] for row in rows]
    labels = [row["label"] for row in rows]
    return _table_lines(head, ([a, *b] for a, b in zip(labels, cells, strict=True)))


def _table_lines(
    head: Sequence[str], rows: Iterable[Sequence[Any]], digits: int = 3
) -> list[str]:
    """Return the lines of a table; all numbers of a column have the same decimals."""
    table = [list(row) for row in rows]
    places = [_places(column, digits) for column in zip(*table, strict=True)]
    lines = [[plain(name) for name in head], ["---"] * len(head)]
    lines += [
        [_written(v, n) for v, n in zip(row, places, strict=True)] for row in table
    ]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _places(column: Iterable[Any], digits: int) -> int:
    """Return the decimal places of numbers: 0 for counts, `digits` for shares."""
    defined = [v for v in column if _has_number(v)]
    whole = all(float(v).is_integer() for v in defined)
    counts = all(isinstance(v, numbers.Integral) for v in defined) or max(defined) > 1
    return 0 if whole and counts else digits


def _has_number(value: Any) -> bool:
    """Return whether a value is a number other than nan."""
    if isinstance(value, bool):
        return False
    return isinstance(value, numbers.Real) and not math.isnan(value)


def _written(value: Any, digits: int) -> str:
    """Write a number, or text on one line; nothing where there is none."""
    if _has_number(value):
        return f"{value:z,.{digits}f}"
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return plain(", ".join(map(str, value)) if isinstance(value, tuple) else str(value))

"""From a summary to a page, by templates and pictures of displays, and to Markdown."""

from __future__ import annotations

import datetime
import functools
import importlib.resources
import io
import math
import numbers
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from skfair._utils._hints import extra, require
from skfair._utils._text import (
    counted,
    in_quotes,
    in_unit,
    interval,
    listed,
    number,
    percent,
    plain,
    points,
    pvalue_text,
    quoted,
    visible_text,
    whole,
)
from skfair.report._metrics import (
    ALPHA,
    FURTHER_QUESTIONS,
    MEASURES,
    Measure,
    amount,
    amounts,
    questions_of,
    signed,
    word_of,
)
from skfair.report._options import Options
from skfair.report._words import is_missing

if TYPE_CHECKING:
    import jinja2

Summary = dict[str, Any]

_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "skfair",
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "path.simplify": True,
    "figure.autolayout": False,
    "figure.constrained_layout.use": False,
}
#: Held by the thread that draws.
_DRAWING = threading.Lock()
#: Inches of a picture's height for its labels.
_FRAME = 1.4
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_DECIMAL = re.compile(r"-?\d+\.\d+")


def in_settings(value: Any) -> str:
    """Write the value of an option."""
    if isinstance(value, dict):
        value = [f"{key} {number:g}" for key, number in value.items()]
    if isinstance(value, list):
        return listed([in_settings(part) for part in value], len(value))
    return "" if value is None else str(value)


#: Functions of the templates: those that write one value, and all others.
_FILTERS: tuple[Callable[..., str], ...] = (
    number,
    in_unit,
    amount,
    signed,
    percent,
    points,
    whole,
    pvalue_text,
    in_settings,
)
_FUNCTIONS: tuple[Callable[..., str], ...] = (
    counted,
    interval,
    amounts,
)
#: Headings of what answers each question.
_HEADINGS = {
    "decisions": "Decisions",
    "scores": "Scores at any threshold",
    "errors": "Errors",
    "predictions": "Predictions",
    "mean errors": "Mean errors",
    "absolute errors": "Absolute errors",
}
#: Groups of a table that are shown; the others are folded.
_SHOWN = 12
#: Level, heading and lines of a part of a report.
Section = tuple[int, str, list[str]]
#: Numbers of a group, in the order of the page, and their headings.
OF_GROUPS = {
    "n": "Rows",
    "selection_rate": "Selected",
    "interval": "Interval",
    "base_rate": "Truly positive",
    "true_positive_rate": "Selected of the truly positive",
    "false_positive_rate": "Selected of the others",
    "accuracy": "Accuracy",
    "average_precision": "Average precision",
    "log_loss": "Log loss",
    "score_excess": "Score minus outcome",
    "calibration_error": "Calibration error",
    "mean_prediction": "Mean prediction",
    "mean_error": "Mean error",
    "mean_absolute_error": "Mean absolute error",
    "r2": "R²",
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
#: Captions of tables of impact ratios, and headings of lists.
RATIOS = {
    "selection": "Impact ratios of selection rates",
    "scoring": "Impact ratios of scoring rates",
}
SECTIONS = {"Cautions": "cautions", "What this cannot show": ""}
#: Columns of tables of metrics within strata, and of everyone, and their headings.
OF_STRATA = {
    "title": "Metric",
    "everyone": "Everyone",
    "value": "Largest within",
    "stratum": "In",
    "mean": "Mean within",
    "interval": "Interval",
    "null_mean": "By chance",
    "pvalue": "p-value",
    "tested": "Decided by",
}
OF_METRICS = {"title": "Metric", "value": "Value", "interval": "Interval"}
OF_TESTS = {"null_mean": "By chance", "pvalue": "p-value", "tested": "Decided by"}


def require_report_extra() -> None:
    """Raise an ImportError with advice unless the extra `report` is installed."""
    for name in ("jinja2", "matplotlib"):
        require(name, "The page of a FairnessReport", extra("report"))


def record_of(date: str | datetime.date | None, source: str | None) -> dict[str, str]:
    """Name what is written at the head of a page, if it is given."""
    record = {"Date": date, "Input": source}
    return {name: str(value) for name, value in record.items() if value is not None}


def render(summary: Summary, record: Mapping[str, Any]) -> str:
    """Write the page of a report: HTML without script, which loads nothing.

    `record` is written at its head, beside what the summary says about its making.
    """
    require_report_extra()
    from markupsafe import Markup

    settings = summary["settings"]
    metrics = [metric for key, metric in MEASURES.items() if key in settings["calls"]]
    folder = importlib.resources.files("skfair.report") / "templates"
    page = (
        _environment()
        .get_template("report.html")
        .render(
            **summary,
            style=Markup((folder / "report.css").read_text()),
            safe=Markup,
            record={key: visible_text(text, 200) for key, text in record.items()},
            pictures=_pictures(summary),
            questions={**questions_of(settings), **FURTHER_QUESTIONS},
            headings=[_HEADINGS[word_of(q, settings)] for q in questions_of(settings)],
            numbers=settings["scale"] == "real",
            decides=settings["decides"],
            performances=[
                {"label": model["name"], "n": summary["n_rows"], **model["performance"]}
                for model in summary["models"]
            ],
            metrics=metrics,
            by_value=_titles([m for m in metrics if not m.compares_pairs]),
            resampled=_titles([m for m in metrics if not m.bounded]),
            option_names=[field.name for field in fields(Options)],
            charts=[_chart(summary, j) for j in range(len(summary["models"]))],
            shown=_SHOWN,
            limit=_limit_of_rates(settings),
            several=len(summary["models"]) > 1,
        )
    )
    return str(page)


def _titles(metrics: list[Measure]) -> str:
    """List the titles of some metrics."""
    return listed([in_quotes(metric.title) for metric in metrics])


@functools.cache
def _environment() -> jinja2.Environment:
    """Templates and their filters, compiled once."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("skfair.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for write in _FILTERS:
        environment.filters[write.__name__] = write
    for write in _FUNCTIONS:
        environment.globals[write.__name__] = write
    return environment


def _limit_of_rates(settings: Summary) -> float | None:
    """Limit of the difference of selection rates."""
    limit = settings["limit"]
    if isinstance(limit, dict):
        limit = limit.get("demographic_parity_difference")
    return limit if limit is None else float(limit)


def _chart(summary: Summary, model: int) -> list[Summary]:
    """Share of each group that is selected, or predicted right, by attribute.

    Groups are in the order of their shares; those whose group is missing are last.
    """
    binary = summary["positive"] is not None and summary["settings"]["decides"]
    name = "selection_rate" if binary else "accuracy"
    limit, parts = _limit_of_rates(summary["settings"]), []
    for attribute in summary["attributes"]:
        rows = [row for row in attribute["results"][model]["groups"] if row.get(name)]
        rows.sort(key=lambda row: (is_missing(row["label"]), -row[name]))
        shown = rows[:_SHOWN] if len(rows) <= _SHOWN else [*rows[:6], *rows[-6:]]
        bars = [
            {"label": row["label"], "n": row["n"], "value": row[name]}
            | {end: row[end] if binary else None for end in ("lower", "upper")}
            for row in shown
        ]
        if bars:
            floor = -1 if limit is None or not binary else bars[0]["value"] - limit
            what = "Share that gets the positive decision" if binary else "Accuracy"
            more = len(rows) - len(shown)
            part = {"bars": bars, "floor": floor, "what": what, "more": more}
            parts.append(part | {"name": attribute["name"], "decisions": binary})
    return parts


def _pictures(summary: Summary) -> dict[tuple[int, int], list[Summary]]:
    """Draw the pictures of each attribute and model."""
    draws, settings = {"c": cdf_picture, "g": group_gap_picture}, summary["settings"]
    return {
        (i, j): [
            picture
            for mark, draw in draws.items()
            if (picture := draw(result, attribute, settings, f"p{i}-{j}{mark}-"))
        ]
        for i, attribute in enumerate(summary["attributes"])
        for j, result in enumerate(attribute["results"])
    }


def cdf_picture(
    result: Summary, attribute: Summary, settings: Summary, prefix: str
) -> Summary | None:
    """Draw the groups' score distributions and their largest gap."""
    from skfair.inspection import CDFGapDisplay
    from skfair.metrics._pairs import Located

    shapes = result.get("cdf")
    if shapes is None:
        return None
    gap = shapes["gap"]
    mark = Located(gap["value"], tuple(gap["pair"]), tuple(gap["shares"]), gap["score"])
    labels = [group["label"] for group in attribute["groups"]]
    display = CDFGapDisplay(
        scores=[np.array(curve["scores"]) for curve in shapes["curves"]],
        shares=[np.array(curve["shares"]) for curve in shapes["curves"]],
        labels=labels,
        counts=np.array([group["n"] for group in attribute["groups"]]),
        marks={0.0: mark},
        sensitive_names=[attribute["name"]],
        scale=settings.get("scale", "probability"),
    )
    first, second = (quoted(labels, group) for group in gap["pair"])
    ours, theirs = map(percent, gap["shares"])
    words = {"first": first, "second": second, "ours": ours, "theirs": theirs}
    words |= {"name": attribute["name"], "gap": points(gap["value"])}
    words["score"] = (in_unit if display.scale == "real" else number)(gap["score"])
    return {
        "of": display.scale,
        "svg": _svg((4.8, 3.2), display, prefix),
        "words": {**words, "n": len(labels)},
    }


def group_gap_picture(
    result: Summary, attribute: Summary, settings: Summary, prefix: str
) -> Summary | None:
    """Draw the gaps of many groups, largest first."""
    from skfair._pictures._group_dots import GroupDotsDisplay, rows_height

    rows = result["groups"]
    if attribute["comparison"] == "pairwise" or "selection_rate" not in rows[0]:
        return None
    report = _gap_table(rows, attribute["name"])
    display = GroupDotsDisplay(
        tables={"Selection rate minus the average": report},
        interval=f"{settings['confidence_level']:.4g} interval, each group alone",
        reference="Average",
        filled=f"{percent(1 - ALPHA)} furthest",
    )
    height = 1.6 + (rows_height(report, 0.2) if len(rows) <= 40 else 3.4)
    differences, n_tail = report["value"], int(report["filled"].sum())
    low, high = points(differences.min()), points(differences.max())
    words = {"low": low, "high": high, "n_tail": n_tail, "n": len(rows)}
    return {
        "of": "groups",
        "svg": _svg((5.2, height), display, prefix),
        "words": {**words, "share": percent(1 - ALPHA)},
    }


def _gap_table(groups: list[Summary], name: str) -> pd.DataFrame:
    """Put the groups of a summary into the form of a table of dots."""
    table = pd.DataFrame(groups).set_index("label").rename_axis(name)
    average = table["selection_rate"] - table["difference"]
    return pd.DataFrame(
        {
            "value": table["difference"],
            "lower": table["lower"] - average,
            "upper": table["upper"] - average,
            "n": table["n"],
            "reference": 0.0,
            "filled": table["tail_share"] > 0,
        }
    )


def _svg(size: tuple[float, float], display: Any, prefix: str) -> str:
    """Draw on a figure of its own, and return markup that is safe inside a page."""
    import matplotlib
    from matplotlib.figure import Figure

    from skfair._pictures._drawing import keep_size

    file = io.BytesIO()
    # Settings of matplotlib and filters of warnings are those of all threads.
    with _DRAWING, matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        # A browser has the characters that the font of the layout lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        drawing = Figure(figsize=size, layout="constrained")
        display.plot(ax := drawing.subplots())
        # A legend below the axes takes nothing from their height.
        keep_size(ax, (0, size[1] - _FRAME))
        # The axes have their places: saving would find them twice again.
        drawing.set_layout_engine(None)
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        drawing.savefig(file, format="svg", transparent=True, metadata=nothing)
    return _inline(ElementTree.fromstring(file.getvalue()), prefix)


def _inline(root: ElementTree.Element, prefix: str) -> str:
    """Markup of an SVG without styles, metadata or ids that clash with others."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.rpartition("}")[2] in ("style", "metadata"):
                parent.remove(child)
    attributes = [element.attrib for element in root.iter()]
    used = {name for values in attributes for name in _referred(values)}
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        values = {
            key.rpartition("}")[2]: _REFERENCE.sub(rf"url(#{prefix}\1)", value)
            for key, value in element.attrib.items()
        }
        if "d" in values:  # a tenth of a point is finer than a screen
            values["d"] = _DECIMAL.sub(lambda x: f"{float(x[0]):.1f}", values["d"])
        if "href" in values:
            values["href"] = "#" + prefix + values["href"].removeprefix("#")
        name = values.pop("id", None)
        if name in used:
            values["id"] = f"{prefix}{name}"
        element.attrib.clear()
        element.attrib.update(values)
    root.attrib = {"viewBox": root.attrib["viewBox"], "aria-hidden": "true"}
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)


def _referred(values: dict[str, str]) -> list[str]:
    names = [name for value in values.values() for name in _REFERENCE.findall(value)]
    return names + [
        value.removeprefix("#")
        for key, value in values.items()
        if key.rpartition("}")[2] == "href"
    ]


def render_markdown(summary: Summary, record: Mapping[str, str]) -> str:
    """Write what a report says, its metrics and groups, as Markdown.

    `record` is written at its head, beside what the summary says about its making.
    """
    lines = [f"# {plain(summary['title'])}", "", *_head(summary, record)]
    for level, heading, texts in sections(summary):
        lines += ["", f"{'#' * level} {heading}", "", *texts]
    return "\n".join(lines)


def sections(summary: Summary) -> Iterator[Section]:
    """Parts of a report below its head, in order."""
    for attribute in summary["attributes"]:
        for result in attribute["results"]:
            title = plain(f"{attribute['name']}, {result['model']}")
            tests = OF_TESTS if summary["settings"]["n_permutations"] else {}
            if not any(measure["tested"] for measure in result["measures"]):
                tests = {k: heading for k, heading in tests.items() if k != "tested"}
            yield 2, title, _metrics(result["measures"], OF_METRICS | tests)
            if result["groups"]:
                rows = [{**row, "interval": _ends(row)} for row in result["groups"]]
                yield 3, f"Groups: {title}", _table_of_groups(rows, OF_GROUPS)
            for table in result.get("impact_ratios") or ():
                lines = [plain(table["sentence"]), ""]
                lines += _table_of_groups(table["rows"], OF_RATIOS)
                yield 3, f"{RATIOS[table['kind']]}: {title}", lines
            if result.get("strata"):
                lines = [plain(result["strata"]["sentence"]), ""]
                lines += _metrics(result["strata"]["rows"], OF_STRATA)
                yield 3, f"Within strata: {title}", lines
    for heading, key in SECTIONS.items():
        texts = summary[key] if key else summary["verdict"]["cannot"]
        if texts:
            yield 2, heading, [f"- {plain(text)}" for text in texts]


def card_sections(
    summary: Summary, section: str, record: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Path and text of each part of a report within a section of a model card."""
    places = [section]
    yield section, "\n".join(_head(summary, record))
    for level, heading, texts in sections(summary):
        places = [*places[: level - 1], heading.replace("/", "\\/")]
        yield "/".join(places), "\n".join(texts)


def _head(summary: Summary, record: Mapping[str, str]) -> list[str]:
    """Lines on what a report was made of, and its verdict on each model."""
    lines = [f"{counted(summary['n_rows'], 'row')}.", ""]
    if (left_out := summary["settings"]["left_out"]) is not None:
        lines[0] = f"{lines[0][:-1]}, {whole(left_out['n_rows'])} more left out."
    lines += [f"- {name}: {plain(str(text))}" for name, text in record.items()]
    seed = summary["settings"]["random_state"]
    made = f"skfair {summary['versions']['skfair']}, seed {seed}"
    lines += [f"- Made with: {plain(made)}", ""]
    for lead in summary["verdict"]["leads"]:
        text = " ".join([lead["text"], *lead.get("further", ())])
        lines.append(f"- **{plain(lead['model'])}**: {plain(text)}")
    return lines


def _ends(row: Summary) -> str | None:
    """Write the interval of a row, if it has one."""
    if row.get("lower") is None:
        return None
    return interval(row["lower"], row["upper"])


def _metrics(rows: list[Summary], headings: Mapping[str, str]) -> list[str]:
    """Table of metrics, of everyone or within strata.

    Values are text in the unit of a target; others have the digits of their column.
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
    """Table of groups, without the columns that no group has a number for."""
    keys = [k for k in headings if any(row.get(k) is not None for row in rows)]
    head = ["Group", *(headings[key] for key in keys)]
    cells = [[row[k] if k == "status" else row.get(k) for k in keys] for row in rows]
    labels = [row["label"] for row in rows]
    return _table_lines(head, ([a, *b] for a, b in zip(labels, cells, strict=True)))


def _table_lines(
    head: Sequence[str], rows: Iterable[Sequence[Any]], digits: int = 3
) -> list[str]:
    """Lines of a table, numbers of a column with the same decimal places."""
    table = [list(row) for row in rows]
    places = [_places(column, digits) for column in zip(*table, strict=True)]
    lines = [[plain(name) for name in head], ["---"] * len(head)]
    lines += [
        [_written(v, n) for v, n in zip(row, places, strict=True)] for row in table
    ]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _places(column: Iterable[Any], digits: int) -> int:
    """Return 0 for counts, else `digits`; shares may happen to be 0 and 1."""
    defined = [v for v in column if _has_number(v)]
    whole = all(float(v).is_integer() for v in defined)
    counts = all(isinstance(v, numbers.Integral) for v in defined) or max(defined) > 1
    return 0 if whole and counts else digits


def _has_number(value: Any) -> bool:
    """Whether a value is a number that exists."""
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

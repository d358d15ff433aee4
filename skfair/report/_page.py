"""From a summary to a page, by templates."""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from skfair._utils._hints import extra, require
from skfair._utils._text import (
    counted,
    format_in_unit,
    interval,
    listed,
    number,
    percent,
    points,
    pvalue_text,
    quote,
    visible_text,
    whole,
)
from skfair.report._metrics import (
    MEASURES,
    Measure,
    amount,
    amounts,
    questions_of,
    signed,
)
from skfair.report._pictures import cdf_picture, group_gap_picture
from skfair.report._words import advice, is_missing, noun_of, tell_independence

if TYPE_CHECKING:
    import jinja2

Summary = dict[str, Any]


def format_setting(value: Any) -> str:
    """Write the value of an option."""
    if isinstance(value, dict):
        value = [f"{key} {number:g}" for key, number in value.items()]
    if isinstance(value, list):
        return listed([format_setting(part) for part in value], len(value))
    return "" if value is None else str(value)


#: Functions of the templates: those that write one value, and all others.
_FILTERS: tuple[Callable[..., str], ...] = (
    number,
    format_in_unit,
    amount,
    signed,
    percent,
    points,
    whole,
    pvalue_text,
    format_setting,
)
_FUNCTIONS: tuple[Callable[..., str], ...] = (
    counted,
    interval,
    amounts,
)
#: Groups of a table that are shown; the others are folded.
_SHOWN = 12


def require_report_extra() -> None:
    """Raise an ImportError with advice unless the extra `report` is installed."""
    for name in ("jinja2", "matplotlib"):
        require(name, "The page of a FairnessReport", extra("report"))


def render(summary: Summary, record: Mapping[str, Any]) -> str:
    """Write the page of a report: HTML without scripts, which loads nothing.

    `record` is written at the head of the page, with what the summary says about how
    the report was made.
    """
    require_report_extra()
    from markupsafe import Markup

    settings = summary["settings"]
    results = [result for named in summary["attributes"] for result in named["results"]]
    shown = {m["key"] for result in results for m in result["measures"] if m["shown"]}
    metrics = [metric for key, metric in MEASURES.items() if key in shown]
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
            headings=[
                noun_of(question, settings).capitalize()
                for question in questions_of(settings)
            ],
            advice=[*advice(summary)],
            independent=tell_independence(settings),
            numbers=settings["scale"] == "real",
            decides=settings["decides"],
            performances=[
                {"label": model["name"], "n": summary["n_rows"], **model["performance"]}
                for model in summary["models"]
            ],
            metrics=metrics,
            by_value=_titles([m for m in metrics if not m.compares_pairs]),
            resampled=_titles([m for m in metrics if not m.bounded]),
            used=used_settings(summary),
            charts=[_chart(summary, j) for j in range(len(summary["models"]))],
            shown=_SHOWN,
            limit=_limit_of_rates(settings),
            several=len(summary["models"]) > 1,
        )
    )
    return str(page)


def _titles(metrics: list[Measure]) -> str:
    """List the titles of some metrics."""
    return listed([quote(metric.title) for metric in metrics])


@functools.cache
def _environment() -> jinja2.Environment:
    """Return the templates and their filters, compiled once."""
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
    """Return the limit that is set for the difference of selection rates."""
    limit = settings["limit"]
    if isinstance(limit, dict):
        limit = limit.get("demographic_parity_difference")
    return limit if limit is None else float(limit)


def _chart(summary: Summary, model: int) -> list[Summary]:
    """Return, by attribute, the share of each group that a chart shows.

    It is the share that is selected, or predicted right. Groups are in the order of
    their shares; people whose group is missing come last.
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
            what = _rate_of(summary) if binary else "Accuracy"
            more = len(rows) - len(shown)
            part = {"bars": bars, "floor": floor, "what": what, "more": more}
            parts.append(part | {"name": attribute["name"], "decisions": binary})
    return parts


def _rate_of(summary: Summary) -> str:
    """Name the share of a group that a chart shows."""
    label = quote(summary["positive"])
    if summary["settings"]["decided"]:
        return f"Share that gets the decision {label}"
    return f"Share that is predicted {label}"


def used_settings(summary: Summary) -> Summary:
    """Return the settings, by name, on which the numbers of a page depend."""
    settings, keys = summary["settings"], {*summary["settings"]["calls"]}
    by_threshold = settings["decides"] and not settings["decided"]
    needed = {
        "threshold": by_threshold and summary["models"][0]["threshold"] is not None,
        "n_resamples": any(not MEASURES[key].bounded for key in keys),
        "intersection": len(summary["attributes"]) > 1,
        "impact_ratios": settings["impact_ratios"],
    }
    hidden = {"decides", "decided", "blur", "left_out", "notes", "calls"}
    hidden |= {"counts_are_drawn", "sample_weight", "control_features", "n_people"}
    return {
        name: format_setting(value)
        for name, value in settings.items()
        if value is not None and needed.get(name, True) and name not in hidden
    }


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

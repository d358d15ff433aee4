"""From a summary to one self-contained page."""

from __future__ import annotations

import datetime
import functools
import importlib.resources
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from skfair._utils._optional import extra, require
from skfair._utils._text import visible_text
from skfair.report._language import (
    DASH,
    counted,
    figure,
    in_quotes,
    in_unit,
    interval,
    listed,
    number,
    percent,
    points,
    pvalue_text,
    say,
    whole,
)
from skfair.report._metrics import (
    FURTHER_QUESTIONS,
    MEASURES,
    amount,
    amounts,
    questions_of,
    signed,
    word_of,
)
from skfair.report._page._pictures import (
    cdf_picture,
    group_gap_picture,
    models_picture,
    proxy_picture,
)
from skfair.report._page._terms import terms_of
from skfair.report._proxy import bounds_text, ratio_text, sizes_text

if TYPE_CHECKING:
    import jinja2

Summary = dict[str, Any]

#: Headings of what the questions are about.
HEADINGS = {
    "decisions": "Decisions",
    "scores": "Scores at any threshold",
    "errors": "Errors",
    "predictions": "Predictions",
    "mean errors": "Mean errors",
    "absolute errors": "Absolute errors",
}
#: Groups of a table that are shown; the others are folded.
_SHOWN = 12


def require_report_extra() -> None:
    """Raise an ImportError with advice unless the extra `report` is installed."""
    for name in ("jinja2", "matplotlib"):
        require(name, "The page of a FairnessReport", extra("report"))


def record_of(date: str | datetime.date | None, source: str | None) -> dict[str, str]:
    """Name what is written at the head of a page, if it is given."""
    record = {"Date": date, "Input": source}
    return {name: str(value) for name, value in record.items() if value is not None}


def render(summary: Summary, record: Mapping[str, Any]) -> str:
    """Write the page: HTML without script, which loads nothing.

    `record` is written at its head, beside what the summary says about its making.
    """
    require_report_extra()
    from markupsafe import Markup

    template = _environment().get_template("report.html")
    proxy, settings = summary.get("proxy"), summary["settings"]
    questions = questions_of(settings)
    page = template.render(
        **{**summary, "proxy": proxy, "why": summary.get("why")},
        style=_style(),
        safe=Markup,
        pictures=_pictures(summary),
        models_picture=models_picture(summary),
        proxy_pictures=[
            proxy_picture(result, f"x{i}-")
            for i, result in enumerate(proxy["results"] if proxy else ())
        ],
        questions={**questions, **FURTHER_QUESTIONS},
        headings=[HEADINGS[word_of(name, settings)] for name in questions],
        numbers=settings.get("scale") == "real",
        performances=[
            {"label": one["name"], "n": summary["n_rows"], **one["performance"]}
            for one in summary["models"]
        ],
        definitions=_definitions(summary),
        resampled=_resampled(settings),
        terms=terms_of(summary),
        shown=_SHOWN,
        several=len(summary["models"]) > 1,
        record=_page_head(record),
    )
    return str(page)


def render_tables(
    summary: Summary, record: Mapping[str, Any], leads: Any, tables: Any, cannot: Any
) -> str:
    """Write the page of a data report, whose tables are text already."""
    require_report_extra()
    page = (
        _environment()
        .get_template("data.html")
        .render(
            **summary,
            style=_style(),
            record=_page_head(record),
            leads=leads,
            tables=tables,
            cannot=cannot,
        )
    )
    return str(page)


def _style() -> Any:
    from markupsafe import Markup

    templates = importlib.resources.files("skfair.report._page") / "templates"
    return Markup((templates / "report.css").read_text())


def _page_head(record: Mapping[str, Any]) -> dict[str, str]:
    """Name and shorten what is written at the head of a page."""
    return {say(key): visible_text(value, 200) for key, value in record.items()}


@functools.cache
def _environment() -> jinja2.Environment:
    """Templates and their filters, compiled once."""
    import jinja2
    from markupsafe import Markup

    def marked(message: str, **values: Any) -> Markup:
        """Write a message that has markup of its own, and escape its values."""
        return Markup(say(message)).format(**values)

    def at_each_page(write: Callable[..., str]) -> Any:
        """Write constants, too, in the language of each page, not of the first one."""
        return jinja2.pass_context(lambda _, *values: write(*values))

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("skfair.report._page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., str]] = {
        "number": number,
        "in_unit": in_unit,
        "amount": amount,
        "signed": signed,
        "percent": lambda value: DASH if value is None else percent(value),
        "points": points,
        "pvalue": pvalue_text,
        "whole": whole,
    }
    environment.filters |= {name: at_each_page(one) for name, one in filters.items()}
    environment.globals |= {
        "say": say,
        "marked": marked,
        "counted": counted,
        "figure": figure,
        "interval": interval,
        "amounts": amounts,
        "bounds_text": bounds_text,
        "ratio_text": ratio_text,
        "sizes_text": sizes_text,
    }
    return environment


def _pictures(summary: Summary) -> dict[tuple[int, int], list[Summary]]:
    """Draw the pictures of each attribute and model."""
    found = {}
    for i, attribute in enumerate(summary["attributes"]):
        for j, result in enumerate(attribute["results"]):
            pictures = (
                cdf_picture(result, attribute, summary["settings"], f"p{i}-{j}c-"),
                group_gap_picture(
                    result, attribute, summary["settings"], f"p{i}-{j}g-"
                ),
            )
            found[i, j] = [picture for picture in pictures if picture is not None]
    return found


def _definitions(summary: Summary) -> list[Summary]:
    """Metrics of the report, their definitions, and the calls that compute them."""
    settings = summary["settings"]
    return [
        {
            "key": key,
            "title": measure.title_of(settings),
            "definition": measure.definition_on(settings.get("scale", "probability")),
            "range": say("at least 0")
            if measure.maximum is None
            else say("{low} to {high}", low=0, high=measure.maximum),
            "call": settings["calls"][key],
        }
        for key, measure in MEASURES.items()
        if key in settings["calls"]
    ]


def _resampled(settings: Summary) -> str:
    """Name the metrics whose intervals are of resamples."""
    measures = [MEASURES[key] for key in settings["calls"]]
    titles = [one.title_of(settings) for one in measures if not one.bounded]
    return listed([in_quotes(title) for title in titles])

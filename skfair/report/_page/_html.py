"""From a summary to one self-contained page."""

from __future__ import annotations

import datetime
import functools
import importlib.resources
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from skfair._utils._hints import extra, require
from skfair._utils._text import (
    counted,
    in_quotes,
    in_unit,
    interval,
    listed,
    number,
    percent,
    points,
    pvalue_text,
    visible_text,
    whole,
)
from skfair.report._metrics import (
    FURTHER_QUESTIONS,
    MEASURES,
    Measure,
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
from skfair.report._proxy import bounds_text, ratio_text, sizes_text

if TYPE_CHECKING:
    import jinja2

Summary = dict[str, Any]

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
)
_FUNCTIONS: tuple[Callable[..., str], ...] = (
    counted,
    interval,
    amounts,
    bounds_text,
    ratio_text,
    sizes_text,
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

    proxy, settings = summary["proxy"], summary["settings"]
    metrics = [one for key, one in MEASURES.items() if key in settings["calls"]]
    folder = importlib.resources.files("skfair.report._page") / "templates"
    page = (
        _environment()
        .get_template("report.html")
        .render(
            **{"why": None, **summary},
            style=Markup((folder / "report.css").read_text()),
            safe=Markup,
            record={key: visible_text(text, 200) for key, text in record.items()},
            pictures=_pictures(summary),
            models_picture=models_picture(summary),
            proxy_pictures=[
                proxy_picture(result, f"x{i}-")
                for i, result in enumerate(proxy["results"] if proxy else ())
            ],
            questions={**questions_of(settings), **FURTHER_QUESTIONS},
            headings=[_HEADINGS[word_of(q, settings)] for q in questions_of(settings)],
            numbers=settings["scale"] == "real",
            decides=settings["decides"],
            performances=[
                {"label": one["name"], "n": summary["n_rows"], **one["performance"]}
                for one in summary["models"]
            ],
            metrics=metrics,
            by_value=_titles([m for m in metrics if not m.compares_pairs], settings),
            resampled=_titles([m for m in metrics if not m.bounded], settings),
            shown=_SHOWN,
            several=len(summary["models"]) > 1,
        )
    )
    return str(page)


def _titles(metrics: list[Measure], settings: Summary) -> str:
    """List the titles of some metrics."""
    return listed([in_quotes(metric.title_of(settings)) for metric in metrics])


@functools.cache
def _environment() -> jinja2.Environment:
    """Templates and their filters, compiled once."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("skfair.report._page"),
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

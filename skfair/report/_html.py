"""From a summary to one self-contained page."""

from __future__ import annotations

import importlib
import importlib.resources
from typing import Any

from skfair.report._audit import Options
from skfair.report._measures import MEASURES, QUESTIONS, fill
from skfair.report._pictures import cdf_picture, group_gap_picture
from skfair.report._text import DASH, counted, number, percent, points, pvalue_text

Summary = dict[str, Any]

#: Groups of a table that are shown; the others are folded.
_SHOWN = 12


def require_report_extra() -> None:
    """Raise an ImportError with advice unless the extra `report` is installed."""
    for name in ("jinja2", "matplotlib"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise ImportError(
                f"FairnessReport needs {name} to write a page, which is not installed. "
                "Install the extra 'report' of a skfair checkout: "
                'pip install -e ".[report]".'
            ) from error


def render(summary: Summary) -> str:
    """Write the page.

    Parameters
    ----------
    summary : dict
        As `summarize` returns it.

    Returns
    -------
    str
        HTML without script, that loads nothing.

    Raises
    ------
    ImportError
        Without jinja2 or matplotlib.
    """
    require_report_extra()
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("skfair.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number,
        "percent": lambda value: DASH if value is None else percent(value),
        "points": points,
        "pvalue": pvalue_text,
    }
    templates = importlib.resources.files("skfair.report") / "templates"
    page = environment.get_template("report.html").render(
        **summary,
        style=Markup((templates / "report.css").read_text()),
        safe=Markup,
        pictures=_pictures(summary),
        questions=QUESTIONS,
        definitions=_definitions(summary),
        counted=counted,
        shown=_SHOWN,
        several=len(summary["models"]) > 1,
    )
    return str(page)


def _pictures(summary: Summary) -> dict[tuple[int, int], list[Summary]]:
    """Pictures by attribute and model."""
    found = {}
    for i, attribute in enumerate(summary["attributes"]):
        for j, result in enumerate(attribute["results"]):
            drawn = (
                [
                    cdf_picture(result, attribute, f"p{i}-{j}c-"),
                    group_gap_picture(
                        result, attribute, summary["settings"], f"p{i}-{j}g-"
                    ),
                ]
                if len(attribute["groups"]) > 1
                else []
            )
            found[i, j] = [picture for picture in drawn if picture is not None]
    return found


def _definitions(summary: Summary) -> list[Summary]:
    """Metrics of the report, what they say, and the call that gives them."""
    settings = summary["settings"]
    options = Options(alpha=settings["alpha"], epsilon=settings["epsilon"])
    return [
        {
            "title": fill(measure.title, options),
            "definition": measure.definition,
            "range": f"0 to {measure.maximum}",
            "call": settings["calls"][measure.key],
        }
        for measure in MEASURES
        if measure.key in settings["calls"]
    ]

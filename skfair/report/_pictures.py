"""Pictures of a page: displays, drawn as SVG that is safe inside a page."""

from __future__ import annotations

import io
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from skfair._utils._text import format_in_unit, number, percent, points, quote_group
from skfair._utils._warnings import caught_warnings
from skfair.report._metrics import ALPHA

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
#: Inches of a picture's height for its labels.
_FRAME = 1.4
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_DECIMAL = re.compile(r"-?\d+\.\d+")


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
    first, second = (quote_group(labels, group) for group in gap["pair"])
    ours, theirs = map(percent, gap["shares"])
    words = {"first": first, "second": second, "ours": ours, "theirs": theirs}
    words |= {"name": attribute["name"], "gap": points(gap["value"])}
    words["score"] = (format_in_unit if display.scale == "real" else number)(
        gap["score"]
    )
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
    """Return the groups of a summary in the form that the dot plot reads."""
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
    """Draw on a figure of its own, and return an SVG for use inside a page."""
    import matplotlib
    from matplotlib.figure import Figure

    from skfair._pictures._drawing import keep_size

    file = io.BytesIO()
    # Settings of matplotlib are those of all threads, and drawn in one at a time. A
    # browser has the characters that the font of the layout lacks.
    with caught_warnings(), matplotlib.rc_context(_STYLE):
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
    """Return the markup of an SVG that is safe inside a page."""
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

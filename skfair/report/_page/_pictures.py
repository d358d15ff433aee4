"""The pictures of a report: displays of `skfair.inspection` as inline SVG."""

from __future__ import annotations

import io
import re
import warnings
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from skfair._utils._text import (
    in_unit,
    listed,
    number,
    percent,
    points,
    quoted,
)

if TYPE_CHECKING:
    pass

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
    from skfair.inspection._gap_mark import GapMark

    shapes = result.get("cdf")
    if shapes is None:
        return None
    gap = shapes["gap"]
    nothing = gap["value"] == 0
    score = np.nan if nothing else gap["score"]
    mark = GapMark(
        0.0, gap["value"], tuple(gap["pair"]), score, tuple(gap["shares"]), (score,) * 2
    )
    labels = [group["label"] for group in attribute["groups"]]
    display = CDFGapDisplay(
        scores=[np.array(curve["scores"]) for curve in shapes["curves"]],
        shares=[np.array(curve["shares"]) for curve in shapes["curves"]],
        labels=labels,
        counts=np.array([group["n"] for group in attribute["groups"]]),
        marks=[mark],
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
        "svg": _svg((7.6, 3.7), display, prefix),
        "words": {**words, "n": len(labels)},
    }


def group_gap_picture(
    result: Summary, attribute: Summary, settings: Summary, prefix: str
) -> Summary | None:
    """Draw the gaps of many groups, largest first."""
    from skfair.inspection import GroupGapDisplay

    rows, alpha = result["groups"], settings["alpha"]
    if attribute["comparison"] == "pairwise" or "selection_rate" not in rows[0]:
        return None
    report = _gap_table(rows, attribute["name"])
    display = GroupGapDisplay(
        report=report, alpha=alpha, confidence_level=settings["confidence_level"]
    )
    height = 1.6 + (0.2 * len(rows) if len(rows) <= 40 else 3.4)
    differences, n_tail = report["difference"], int(report["in_tail"].sum())
    low, high = points(differences.min()), points(differences.max())
    words = {"low": low, "high": high, "n_tail": n_tail, "n": len(rows)}
    return {
        "of": "groups",
        "svg": _svg((7.6, height), display, prefix),
        "words": {**words, "share": percent(1 - alpha)},
    }


#: Colours of models in a picture, in turn.
_COLOURS = "#0b5c99", "#8f3a00", "#1b6b3a", "#6b2d8b", "#565d66"
#: Width of a panel of a picture of models, and height with its labels.
_PANEL = 240, 250
#: What a picture of models has across, by what it has upwards.
_ACROSS = {"decisions": ("accuracy", "Accuracy")}
_ACROSS |= {"scores": ("average_precision", "Average precision")}
_ACROSS |= {"errors": _ACROSS["decisions"], "real": ("r2", "R²")}


def models_picture(summary: Summary) -> Summary | None:
    """Place several models by performance and disparity, a panel for each attribute."""
    models = summary["models"]
    panels = [
        panel
        for i, attribute in enumerate(summary["attributes"])
        if (panel := _panel(summary, i, attribute["name"])) is not None
    ]
    if len(models) < 2 or not panels:
        return None
    for i, panel in enumerate(panels):
        panel["left"], panel["top"] = _PANEL[0] * (i % 3), _PANEL[1] * (i // 3)
    names = [f"{i}: {model['name']}" for i, model in enumerate(models, 1)]
    words = {"across": panels[0]["name_across"], "up": panels[0]["name_up"]}
    return {
        "panels": panels,
        "height": _PANEL[1] * ((len(panels) + 2) // 3),
        "words": {**words, "names": listed(names, len(names))},
    }


def _panel(summary: Summary, position: int, name: str) -> Summary | None:
    """Place the models by the first question that has a value for all of them."""
    models, glance = summary["models"], summary["verdict"]["glance"]
    rows = glance[position * len(models) :][: len(models)]
    for cells in zip(*(row["cells"] for row in rows), strict=True):
        measures = [cell["measure"] for cell in cells]
        if any(m is None or m["value"] is None or m["lower"] is None for m in measures):
            continue
        scale = summary["settings"].get("scale")
        key, title = _ACROSS["real" if scale == "real" else measures[0]["question"]]
        found = [model["performance"] for model in models]
        if any(one.get(f"{key}_lower") is None for one in found):
            return None
        right, bottom = _PANEL[0] - 16, _PANEL[1] - 42
        xs, across = _axis(found, (f"{key}_lower", key, f"{key}_upper"), 60, right)
        ys, up = _axis(measures, ("lower", "value", "upper"), bottom - 8, 30)
        return {
            "heading": f"By {name}",
            "name_across": title,
            "name_up": measures[0]["title"],
            "right": right,
            "bottom": bottom,
            "across": across,
            "up": up,
            "points": [
                {
                    **dict(zip(("low", "x", "high"), x, strict=True)),
                    **dict(zip(("bottom", "y", "top"), y, strict=True)),
                    "color": _COLOURS[i % len(_COLOURS)],
                    "number": i + 1,
                }
                for i, (x, y) in enumerate(zip(xs, ys, strict=True))
            ],
        }
    return None


def _axis(
    rows: list[Summary], names: tuple[str, ...], first: float, last: float
) -> tuple[list[list[float]], list[Summary]]:
    """Coordinates of values and ends of intervals, and the marks of an axis."""
    from matplotlib.ticker import MaxNLocator

    values = np.array([[row[name] for name in names] for row in rows])
    low, high = values.min(), values.max()
    span = high - low or 1.0

    def placed(value: Any) -> Any:
        return np.round(first + (value - low) / span * (last - first), 1)

    ticks = MaxNLocator(3).tick_values(low, high)
    ticks = ticks[(ticks >= low) & (ticks <= high)]
    marks = [
        {"text": f"{round(tick, 9) + 0.0:g}", "at": float(placed(tick))}
        for tick in ticks.tolist()
    ]
    return placed(values).tolist(), marks


def proxy_picture(result: Summary, prefix: str) -> Summary | None:
    """Draw the bounds of the first metric between groups known by a proxy."""
    from skfair.inspection import ProxyBoundsDisplay

    curve = result["curve"]
    if curve is None:
        return None
    arrays = {name: np.array(curve[name]) for name in ("odds_ratio", "lower", "upper")}
    tipping = np.inf if curve["tipping"] is None else curve["tipping"]
    display = ProxyBoundsDisplay(**{**curve, **arrays, "tipping": tipping})
    low, high = map(number, curve["unbounded"])
    words = {"low": low, "high": high, "estimate": number(curve["lower"][0])}
    return {
        "of": "bounds",
        "svg": _svg((7.6, 3.7), display, prefix),
        "words": {**words, "title": result["measures"][0]["title"]},
    }


def _gap_table(groups: list[Summary], name: str) -> pd.DataFrame:
    """Put the groups of a summary into the form of `cvar_fairness_report`."""
    table = pd.DataFrame(groups).set_index("label").rename_axis(name)
    table = table.rename(columns={"n": "size", "selection_rate": "rate"})
    return table.assign(
        weight=1 / len(groups),
        gap=table["difference"].abs(),
        in_tail=table["tail_share"] > 0,
    )


def _svg(size: tuple[float, float], display: Any, prefix: str) -> str:
    """Draw on a figure of its own, and return markup that is safe inside a page."""
    import matplotlib
    from matplotlib.figure import Figure

    from skfair.inspection._layout import keep_size

    file = io.BytesIO()
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
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

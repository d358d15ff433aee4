"""A page of a monitor: one picture and one table, without other files."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from skfair._utils._text import visible_text

#: Size of the picture.
_WIDTH, _HEIGHT = 640, 240
#: Looks in the picture, at most, and in the table.
_IN_PICTURE, _IN_TABLE = 300, 10
_COLORS = {"value": "#0072b2", "recent": "#d55e00"}
_NAMES = {"value": "All rows so far", "recent": "Recent rows"}
_STYLE = (
    "body{font-family:sans-serif;max-width:45em;margin:1em auto}"
    "td,th{text-align:right;padding:.2em .6em}"
)


def page_of(
    metric: str,
    at_most: float,
    history: pd.DataFrame,
    alarms: Mapping[str, bool],
    change: tuple[int, int, int] | None,
) -> str:
    """Return the page of a history."""
    raised = ", ".join(name for name, alarm in alarms.items() if alarm)
    texts = [f"Alarm: {raised}." if raised else "No alarm."]
    if change is not None:
        texts.append("The disparity changed after {} looks ({} to {}).".format(*change))
    texts.append(f"Limit: {at_most:.4g}. Looks: {history.index[-1] + 1:,}.")
    shown = history.tail(_IN_TABLE).dropna(axis=1, how="all")
    columns = [name for name in shown if name not in ("epoch", "compared")]
    head = "".join(f"<th>{html.escape(str(name))}</th>" for name in columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{_cell(row[name])}</td>' for name in columns)}</tr>"
        for row in shown.to_dict("records")
    )
    title = html.escape(metric)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style><h1>{title}</h1><p>{' '.join(texts)}</p>"
        f"{_picture(history, at_most, change)}"
        f"<table><tr>{head}</tr>{rows}</table></html>\n"
    )


def _cell(value: Any) -> str:
    """Write a number or a label."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    return html.escape(visible_text(str(value), 40))


def _picture(
    history: pd.DataFrame, at_most: float, change: tuple[int, int, int] | None
) -> str:
    """Draw both disparities by look, with their intervals, limit and change."""
    step = math.ceil(len(history) / _IN_PICTURE)
    looks = history.iloc[::-1].iloc[::step].iloc[::-1]
    first, last = int(looks.index[0]), int(looks.index[-1])
    ends = looks[["upper", "recent_upper"]].max().max()
    highest = max(float(ends) if ends > 0 else 0.0, at_most, 0.01)

    def x(look: float) -> str:
        return f"{_WIDTH * (look - first) / max(last - first, 1):.1f}"

    def y(value: float) -> str:
        return f"{_HEIGHT * (1 - value / highest):.1f}"

    parts = []
    if change is not None:
        start, end = max(change[1], first), change[2]
        width = float(x(end)) - float(x(start))
        parts.append(
            f'<rect x="{x(start)}" y="0" width="{max(width, 1):.1f}" '
            f'height="{_HEIGHT}" fill="#ddd"/>'
        )
    parts.append(
        f'<path d="M0 {y(at_most)}H{_WIDTH}" stroke="#222" stroke-dasharray="6 4"/>'
    )
    for name, color in _COLORS.items():
        low, high = (
            ("lower", "upper")
            if name == "value"
            else (f"{name}_lower", f"{name}_upper")
        )
        known = looks[looks[name].notna()]
        up = [f"{x(i)},{y(v)}" for i, v in known[high].items()]
        down = [f"{x(i)},{y(v)}" for i, v in known[low].items()][::-1]
        line = [f"{x(i)},{y(v)}" for i, v in known[name].items()]
        parts.append(
            f'<polygon points="{" ".join(up + down)}" fill="{color}" opacity=".15"/>'
            f'<polyline points="{" ".join(line)}" fill="none" stroke="{color}" '
            f'stroke-width="2"/>'
        )
    legend = " ".join(
        f'<span style="color:{color}">{_NAMES[name]}</span>'
        for name, color in _COLORS.items()
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="100%" role="img" '
        f'aria-label="Disparity by look">{"".join(parts)}</svg>'
        f"<p>0 to {highest:.3g}, looks {first} to {last}: {legend}; dashed the limit, "
        "grey when the change began.</p>"
    )

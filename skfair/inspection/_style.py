"""What all displays share: matplotlib on demand, line styles and safe text."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from skfair._utils._arrays import Integers
from skfair._utils._hints import extra, require
from skfair._utils._text import counted, one_line, whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

#: Okabe and Ito's colours without yellow, which is hard to see on white.
COLORS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#E69F00",
    "#CC79A7",
    "#56B4E9",
    "#000000",
    "#7F7F7F",
)
#: In the same order, so that groups can be told apart without colour.
LINE_STYLES: tuple[Any, ...] = (
    "-",
    (0, (4, 1.5)),
    (0, (1, 1.2)),
    (0, (6, 1.5, 1, 1.5)),
    (0, (8, 3)),
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (1, 3)),
    (0, (2, 2)),
)
#: Largest number of groups that have a style of their own and an entry in a legend.
MAX_GROUPS = len(COLORS)
#: Label of an axis of scores, and unit of differences of scores, by scale.
SCORE_LABELS = {
    "probability": "Predicted probability of the positive class",
    "rank": "Rank of the score among everyone (0 to 1)",
    "real": "Predicted number",
}
#: What a score at which curves are compared is called, by scale.
MARK_UNITS = {"probability": "score", "rank": "rank", "real": "number"}
#: Significant digits of these.
SCORE_DIGITS = {"probability": 3, "rank": 3, "real": 6}
UNITS = {"probability": "score units", "rank": "share of everyone"}
#: Colours of marks that are no group.
INK = "#222222"
SHADE = "#999999"
_MAX_LABEL = 40
#: Texts longer than this go on over several lines.
_MAX_LINE = 48


def require_matplotlib(caller: str) -> None:
    """Raise an ImportError that names the caller unless matplotlib is installed."""
    require("matplotlib", caller, extra("plot"))


def group_style(position: int) -> dict[str, Any]:
    """Keywords of the line of the group or curve at a position."""
    position %= MAX_GROUPS
    return {
        "color": COLORS[position],
        "linestyle": LINE_STYLES[position],
        "linewidth": 1.8,
    }


def plain_text(value: Any, max_length: int | None = None) -> str:
    """Text on one line that matplotlib shows as it is, never as mathematics.

    A long text is cut in its middle, since long names often begin alike.
    """
    text = _drawable(one_line(value))
    if max_length is not None and len(text) > max_length:
        tail = (max_length - 3) // 2
        text = f"{text[: max_length - 3 - tail]}...{text[-tail:]}"
    if not text or text.startswith("_"):
        # Legends leave out entries that begin with an underscore.
        text = f"'{text}'"
    return text.replace("$", r"\$")


def _drawable(text: str) -> str:
    """Replace characters that the fonts lack by their codes, such as U+4E2D.

    The fonts are those of matplotlib's setting ``font.family``. It would draw an empty
    box for each of these characters, and warn. Nothing is replaced where pictures hold
    text that the viewer's fonts will show.
    """
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties, findfont

    if rcParams["svg.fonttype"] == "none":
        return text
    families = FontProperties().get_family()
    paths = [str(findfont(FontProperties(family=[family]))) for family in families]
    known = frozenset(" ").union(*map(_characters, paths))
    shown = [char if char in known else f" U+{ord(char):04X} " for char in text]
    return " ".join("".join(shown).split())


@cache
def _characters(path: str) -> frozenset[str]:
    """Characters that a font file has."""
    from matplotlib.font_manager import get_font

    return frozenset(map(chr, get_font(path).get_charmap()))


def folded(text: str, width: int = _MAX_LINE) -> str:
    """Break a text into lines of at most `width` characters."""
    lines = "\n".join(textwrap.wrap(text, width))
    return lines.replace("\\\n$", "\n\\$")  # an escaped dollar sign is not parted


def metric_text(name: str) -> str:
    """Plain text of a metric's name, with spaces."""
    return plain_text(name.replace("_", " "))


def short_label(label: Hashable) -> str:
    """Plain text of a group label, shortened if long; a tuple is an intersection."""
    parts = label if isinstance(label, tuple) else (label,)
    return plain_text(", ".join(str(part) for part in parts), _MAX_LABEL)


def group_text(label: Hashable, count: int, effective: float | None = None) -> str:
    """Label of a group with its rows, and their effective number where it differs."""
    more = ""
    if effective is not None and round(effective) != count:
        more = f", effective {effective:,.0f}"
    return f"{short_label(label)} (n = {whole(count)}{more})"


def groups_text(labels: Sequence[Hashable], counts: Integers) -> str:
    """List groups with their sizes, one a line; of many, give only the number."""
    if len(labels) > MAX_GROUPS:
        return f"{len(labels)} groups ({range_text(counts)})"
    sizes = zip(labels, counts.tolist(), strict=True)
    return "\n".join(group_text(label, count) for label, count in sizes)


def others_text(counts: Integers) -> str:
    """Legend entry of all groups that have none of their own."""
    return f"{counted(len(counts), 'other group')} ({range_text(counts)})"


def joined_text(labels: Sequence[Hashable]) -> str:
    """Text of a pair of groups, on two lines if it is long."""
    first, second = map(short_label, labels)
    if len(first) + len(second) < _MAX_LINE:
        return f"{first} and {second}"
    last = f"\n{second}"
    return f"{first} and {last}".replace(" \n", "\n")


def range_text(counts: Integers) -> str:
    """Text of the range of group sizes."""
    low, high = int(counts.min()), int(counts.max())
    if low == high:
        return f"n = {whole(low)}"
    return f"n = {whole(low)} to {whole(high)}"


def pairs_text(n_groups: int) -> str | None:
    """Text that a value is the largest over pairs of groups; None for one pair."""
    n_pairs = n_groups * (n_groups - 1) // 2
    return f"largest of {n_pairs:,} pairs" if n_pairs > 1 else None


def names_text(names: Sequence[str]) -> str | None:
    """Names of the sensitive columns as the title of a legend, None without any."""
    return folded(", ".join(plain_text(name, _MAX_LABEL) for name in names)) or None


def draw_group_lines(
    ax: Axes,
    curves: Sequence[tuple[Any, Any]],
    texts: Sequence[str],
    counts: Integers,
    coloured: list[int],
    **options: Any,
) -> list[Line2D]:
    """Draw a line for each group; those that are not coloured share a legend entry."""
    lines: list[Line2D] = []
    for group, curve in enumerate(curves):
        style: dict[str, Any] = {"color": SHADE, "linewidth": 0.6, "zorder": 1.5}
        if group in coloured:
            style = {**group_style(coloured.index(group)), "zorder": 2.5}
            style["label"] = texts[group]
        lines += ax.plot(*curve, **options, **style)
    others = [group for group in range(len(curves)) if group not in coloured]
    if others:
        lines[others[0]].set_label(others_text(counts[others]))
    return lines


def size_of_bars(n_bars: int) -> tuple[float, float]:
    """Size in inches of a figure with some horizontal bars of two lines of text."""
    return 7.5, 1.6 + 0.5 * n_bars


def bars_with_intervals(
    ax: Axes, labels: Sequence[str], table: pd.DataFrame, label: str
) -> tuple[Any, Any]:
    """Draw horizontal bars from the top on, and their intervals as lines.

    The table has a column of values, one of lower and one of upper ends.
    """
    ranks, (values, lower, upper) = np.arange(len(table)), table.to_numpy().T
    bars = ax.barh(ranks, values, 0.6, color=COLORS[0], alpha=0.6, label=label)
    intervals = ax.hlines(ranks, lower, upper, color=INK, linewidth=1.8)
    ax.set_yticks(ranks, labels)
    ax.set_ylim(len(table) - 0.5, -0.5)
    return bars, intervals

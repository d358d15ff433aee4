"""What all displays share: matplotlib on demand, styles, safe text and legends."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from skfair._utils._arrays import Floats, Integers
from skfair._utils._hints import extra, require
from skfair._utils._text import counted, one_line, whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D
    from matplotlib.transforms import Bbox

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
#: Colours of marks that are not a group.
INK = "#222222"
SHADE = "#999999"
_MAX_LABEL = 40
#: Texts longer than this go on over several lines.
_MAX_LINE = 48
#: A legend wider than this share of the axes goes below them, not beside them.
_NARROW = 0.6
#: Distance of a legend from the axes, and from a label of the axes, in inches.
_PAD = 0.08
#: Share of the height of the axes left free below a legend inside them.
_GAP = 0.03
#: A legend inside the axes takes at most this share of their height.
_MAX_SHARE = 0.7


def require_matplotlib(caller: str) -> None:
    """Raise an ImportError that names the caller unless matplotlib is installed."""
    require("matplotlib", caller, extra("plot"))


def group_style(position: int) -> dict[str, Any]:
    """Return the keywords of the line of the group or curve at a position."""
    position %= MAX_GROUPS
    return {
        "color": COLORS[position],
        "linestyle": LINE_STYLES[position],
        "linewidth": 1.8,
    }


def mark_style(style: int, color: str = INK, linewidth: float = 1.2) -> dict[str, Any]:
    """Return keywords of a line that marks a value."""
    linestyle = LINE_STYLES[style]
    return {"color": color, "linestyle": linestyle, "linewidth": linewidth}


def band_style(position: int | None, alpha: float) -> dict[str, Any]:
    """Return keywords of the band around the curve of a group."""
    color = SHADE if position is None else COLORS[position % MAX_GROUPS]
    return {"color": color, "alpha": alpha, "linewidth": 0}


def point_style(
    marker: str, color: str, size: float, edge: float = 1.0, **colors: str
) -> dict[str, Any]:
    """Return keywords of points without a line, with edges of a width."""
    look = {"linestyle": "none", "marker": marker, "color": color, **colors}
    return look | {"markersize": size, "markeredgewidth": edge}


def mark_ticks(ax: Axes, ticks: Sequence[float]) -> None:
    """Mark some numbers, and no others, on a logarithmic axis."""
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xticks([], minor=True)


def plain_text(value: Any, max_length: int | None = None) -> str:
    """Return the text on one line that matplotlib shows as it is, never as mathematics.

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

    Matplotlib's setting ``font.family`` names the fonts. Matplotlib would draw an empty
    box for each missing character, and warn. Nothing is replaced where pictures hold
    text that the viewer's fonts will show.
    """
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties, findfont

    if rcParams["svg.fonttype"] == "none":
        return text
    families = FontProperties().get_family()
    paths = [str(findfont(FontProperties(family=[family]))) for family in families]
    in_fonts = frozenset(" ").union(*map(_characters, paths))
    shown = [char if char in in_fonts else f" U+{ord(char):04X} " for char in text]
    return " ".join("".join(shown).split())


@cache
def _characters(path: str) -> frozenset[str]:
    """Return the characters that a font file has."""
    from matplotlib.font_manager import get_font

    return frozenset(map(chr, get_font(path).get_charmap()))


def wrap_text(text: str, width: int = _MAX_LINE) -> str:
    """Break a text into lines of at most `width` characters."""
    lines = "\n".join(textwrap.wrap(text, width))
    return lines.replace("\\\n$", "\n\\$")  # an escaped dollar sign is not parted


def metric_text(name: str) -> str:
    """Return the plain text of a metric's name, with spaces."""
    return plain_text(name.replace("_", " "))


def short_label(label: Hashable) -> str:
    """Return the label of a group as plain text, shortened if long."""
    parts = label if isinstance(label, tuple) else (label,)
    return plain_text(", ".join(str(part) for part in parts), _MAX_LABEL)


def group_text(label: Hashable, count: int, effective: float | None = None) -> str:
    """Return the label of a group with its number of rows."""
    more = ""
    if effective is not None and round(effective) != count:
        more = f", effective {effective:,.0f}"
    return f"{short_label(label)} (n = {whole(count)}{more})"


def groups_text(labels: Sequence[Hashable], counts: Integers) -> str:
    """List groups with their sizes, one a line; give only the number of many groups."""
    if len(labels) > MAX_GROUPS:
        return f"{len(labels)} groups ({range_text(counts)})"
    sizes = zip(labels, counts.tolist(), strict=True)
    return "\n".join(group_text(label, count) for label, count in sizes)


def others_text(counts: Integers) -> str:
    """Return the common legend entry of the groups without a separate entry."""
    return f"{counted(len(counts), 'other group')} ({range_text(counts)})"


def pair_text(labels: Sequence[Hashable]) -> str:
    """Return the text of a pair of groups, on two lines if it is long."""
    first, second = map(short_label, labels)
    if len(first) + len(second) < _MAX_LINE:
        return f"{first} and {second}"
    last = f"\n{second}"
    return f"{first} and {last}".replace(" \n", "\n")


def range_text(counts: Integers) -> str:
    """Return the text of the range of group sizes."""
    low, high = int(counts.min()), int(counts.max())
    if low == high:
        return f"n = {whole(low)}"
    return f"n = {whole(low)} to {whole(high)}"


def pairs_text(n_groups: int) -> str | None:
    """Return a note that a value is the largest over pairs, None for one pair."""
    n_pairs = n_groups * (n_groups - 1) // 2
    return f"largest of {n_pairs:,} pairs" if n_pairs > 1 else None


def names_text(names: Sequence[str]) -> str | None:
    """Return the names of the sensitive columns as a title of the legend."""
    return wrap_text(", ".join(plain_text(name, _MAX_LABEL) for name in names)) or None


def draw_group_lines(
    ax: Axes,
    curves: Sequence[tuple[Any, Any]],
    texts: Sequence[str],
    counts: Integers,
    coloured: list[int],
    **options: Any,
) -> list[Line2D]:
    """Draw a line for each group; lines without a colour share an entry."""
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


def legend(ax: Axes, heading: str | None, **place: Any) -> Legend:
    """Draw a legend in small type, at a place that matplotlib's keywords describe."""
    return ax.legend(
        title=heading,
        alignment="left",
        fontsize="small",
        title_fontsize="small",
        framealpha=0.9,
        **place,
    )


def legend_in_corner(
    ax: Axes, heading: str | None, corners: Sequence[str], *, may_grow: bool
) -> None:
    """Draw a legend in the first corner without marks, else outside the axes."""
    arrange(ax)
    room = ax.get_window_extent()
    for corner in corners:
        box = legend(ax, heading, loc=corner).get_window_extent()
        inside = bool(room.contains(*box.min) and room.contains(*box.max))
        if inside and not any(_meets(mark, box) for mark in marks(ax)):
            return
    legend_outside(ax, heading, may_grow=may_grow)


def legend_outside(ax: Axes, heading: str | None, *, may_grow: bool) -> None:
    """Draw a legend beside the axes, or below them if it is wide or high.

    A figure that may grow does so, by what the legend takes from the axes. A figure
    without a layout keeps the legend inside, where it covers least.
    """
    drawn = legend(ax, heading, loc="best")
    figure = _whole_figure(ax)
    if not may_grow and figure.get_layout_engine() is None:
        return
    drawn.set_in_layout(False)
    size = inches(ax)
    width, height = np.array(drawn.get_window_extent().size) / figure.dpi + _PAD
    below = width > _NARROW * size[0] or height > size[1]
    if may_grow:
        # First, since a layout fails in a figure that is too small for a legend.
        more = np.array([0, height] if below else [width, 0])
        figure.set_size_inches(figure.get_size_inches() + more)
    if below:
        _legend_below(ax, heading)
    else:
        legend(ax, heading, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    if may_grow:
        keep_size(ax, size)


def _legend_below(ax: Axes, heading: str | None) -> None:
    """Draw a legend below the axes and their labels, from their left edge on."""
    from matplotlib.transforms import ScaledTranslation

    figure = _whole_figure(ax)
    arrange(ax)
    labels = ax.xaxis.get_tightbbox()
    lowest = ax.bbox.y0 if labels is None else labels.y0
    down = (ax.bbox.y0 - lowest) / figure.dpi + _PAD
    place = ax.transAxes + ScaledTranslation(0, -down, figure.dpi_scale_trans)
    options = {"bbox_to_anchor": (0.0, 0.0), "bbox_transform": place}
    legend(ax, heading, loc="upper left", borderaxespad=0, **options)


def legend_above_data(
    ax: Axes,
    heading: str | None,
    highest: float,
    min_headroom: float,
    **options: Any,
) -> float:
    """Draw a legend inside the axes, and scale the y-axis so that data end below it.

    The y-axis ends at `highest` times `min_headroom`, or higher if the legend needs
    room; the ticks end where the data do. Return the share of the height for the data.
    """
    ax.set_ylim(0, min_headroom * highest)
    drawn = legend(ax, heading, loc="upper right", **options)
    arrange(ax)
    room: Any = ax.get_window_extent()
    share = float((drawn.get_window_extent().y0 - room.y0) / room.height) - _GAP
    share = min(max(share, 1 - _MAX_SHARE), 1 / min_headroom)
    ax.set_ylim(0, highest / share)
    ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= 1.01 * highest])
    return share


def arrange(ax: Axes) -> None:
    """Apply the layout of a figure before it is drawn, if it has a layout."""
    figure = _whole_figure(ax)
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


def inches(ax: Axes) -> Floats:
    """Return the width and height of the axes as they will be drawn."""
    arrange(ax)
    box = ax.get_window_extent()
    return np.array([box.width, box.height]) / float(_whole_figure(ax).dpi)


def keep_size(ax: Axes, size: Sequence[float] | Floats) -> None:
    """Enlarge the figure until the axes have at least a size in inches."""
    figure = _whole_figure(ax)
    for _ in range(2):  # larger axes may have more ticks, which take room of their own
        short = np.maximum(np.asarray(size) - inches(ax), 0)
        if not short.any():
            return
        figure.set_size_inches(figure.get_size_inches() + short)
    arrange(ax)


def _whole_figure(ax: Axes) -> Any:
    """Return the whole figure of the axes, which may be in a subfigure."""
    figure: Any = ax.figure
    return getattr(figure, "figure", figure) or figure


def marks(ax: Axes) -> list[tuple[Floats, bool]]:
    """Return the outline of each drawn artist, and whether it is filled."""
    vertices = [(_line_vertices(line), False) for line in ax.lines]
    for patch in ax.patches:
        path = patch.get_transform().transform_path(patch.get_path())
        vertices.append((np.asarray(path.vertices), True))
    for collection in ax.collections:
        filled = len(np.asarray(collection.get_facecolor())) > 0
        for path in collection.get_paths():
            path = collection.get_transform().transform_path(path)
            vertices.append((np.asarray(path.vertices), filled))
    return vertices


def _line_vertices(line: Line2D) -> Floats:
    """Return the vertices of a line on the screen, including those of its steps."""
    from matplotlib.cbook import STEP_LOOKUP_MAP

    steps = STEP_LOOKUP_MAP[line.get_drawstyle()](*line.get_data(orig=False))
    return np.asarray(line.get_transform().transform(np.column_stack(list(steps))))


def _meets(mark: tuple[Floats, bool], box: Bbox) -> bool:
    """Return whether a mark on the screen reaches into a box."""
    from matplotlib.path import Path

    vertices, filled = mark
    vertices = vertices[np.isfinite(vertices).all(axis=1)]
    if not len(vertices):
        return False
    if len(vertices) == 1:
        return bool(box.contains(*vertices[0]))
    return bool(Path(vertices).intersects_bbox(box, filled=filled))

"""Legends that leave the marks alone, in figures as large as their texts need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from skfair._utils._arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D
    from matplotlib.transforms import Bbox

#: A legend wider than this share of the axes goes below them, not beside them.
_NARROW = 0.6
#: Distance of a legend from the axes, and from a label of the axes, in inches.
_PAD = 0.08
#: Share of the height of the axes left free below a legend inside them.
_GAP = 0.03
#: A legend inside the axes takes at most this share of their height.
_MAX_SHARE = 0.7


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
        _enlarge(figure, [0, height] if below else [width, 0])
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
    least_headroom: float,
    **options: Any,
) -> float:
    """Draw a legend inside the axes, and scale the y-axis so that data end below it.

    The y-axis ends at `highest` times `least_headroom`, or more if the legend is high.
    Returns the share of the height that is left for the data.
    """
    ax.set_ylim(0, least_headroom * highest)
    drawn = legend(ax, heading, loc="upper right", **options)
    arrange(ax)
    room: Any = ax.get_window_extent()
    share = float((drawn.get_window_extent().y0 - room.y0) / room.height) - _GAP
    share = min(max(share, 1 - _MAX_SHARE), 1 / least_headroom)
    ax.set_ylim(0, highest / share)
    return share


def arrange(ax: Axes) -> None:
    """Place the axes of a figure as they will be drawn, by its layout if it has one."""
    figure = _whole_figure(ax)
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


def inches(ax: Axes) -> Floats:
    """Width and height of the axes as they will be drawn."""
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
        _enlarge(figure, short)
    arrange(ax)


def _enlarge(figure: Any, inches: Sequence[float] | Floats) -> None:
    """Add to the width and height of a figure."""
    figure.set_size_inches(figure.get_size_inches() + np.asarray(inches))


def _whole_figure(ax: Axes) -> Any:
    """Return the figure of the axes; of axes in a subfigure, the whole figure."""
    figure: Any = ax.figure
    return getattr(figure, "figure", figure) or figure


def marks(ax: Axes) -> list[tuple[Floats, bool]]:
    """Vertices of each drawn artist on the screen, and whether it is a filled area."""
    found = [(_line_vertices(line), False) for line in ax.lines]
    for patch in ax.patches:
        path = patch.get_transform().transform_path(patch.get_path())
        found.append((np.asarray(path.vertices), True))
    for collection in ax.collections:
        filled = len(np.asarray(collection.get_facecolor())) > 0
        for path in collection.get_paths():
            path = collection.get_transform().transform_path(path)
            found.append((np.asarray(path.vertices), filled))
    return found


def _line_vertices(line: Line2D) -> Floats:
    """Vertices of a line on the screen, its steps among them."""
    from matplotlib.cbook import STEP_LOOKUP_MAP

    steps = STEP_LOOKUP_MAP[line.get_drawstyle()](*line.get_data(orig=False))
    return np.asarray(line.get_transform().transform(np.column_stack(list(steps))))


def _meets(mark: tuple[Floats, bool], box: Bbox) -> bool:
    """Whether a mark on the screen reaches into a box."""
    from matplotlib.path import Path

    vertices, filled = mark
    vertices = vertices[np.isfinite(vertices).all(axis=1)]
    if not len(vertices):
        return False
    if len(vertices) == 1:
        return bool(box.contains(*vertices[0]))
    return bool(Path(vertices).intersects_bbox(box, filled=filled))

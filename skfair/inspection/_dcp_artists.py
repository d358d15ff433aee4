"""Draws the cells and the interval of a DCP display."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skfair.inspection._style import INK, label_text
from skfair.metrics import DCPResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.lines import Line2D

#: Height of the strip of the interval, and its distance, in inches.
_STRIP, _PAD = 0.22, 0.35
#: Text is white on cells darker than this.
_DARK = 0.55


def draw_etas(ax: Axes, result: DCPResult, max_groups: int) -> QuadMesh:
    """Draw one cell for each group and true label, shaded and labelled by eta.

    Parameters
    ----------
    ax : matplotlib Axes
    result : DCPResult
    max_groups : int

    Returns
    -------
    QuadMesh
    """
    parts = (result.weights * np.nan_to_num(result.eta)).sum(axis=1)
    order = np.argsort(-parts, kind="stable")[:max_groups]
    etas = result.eta[order]
    edges = [np.arange(size + 1) - 0.5 for size in reversed(etas.shape)]
    cells = ax.pcolormesh(
        *edges,
        np.ma.masked_invalid(etas),
        cmap="Blues",
        vmin=0,
        vmax=1,
        edgecolors="white",
        linewidth=1,
    )
    ax.yaxis.set_inverted(True)
    for (row, column), eta in np.ndenumerate(etas):
        text = "none" if np.isnan(eta) else f"{eta:.2f}"
        color = "white" if eta > _DARK else INK
        cell = ax.text(column, row, text, ha="center", va="center", color=color)
        cell.set_fontsize("small")
    ax.set_xticks(
        range(len(result.labels)), [label_text(label) for label in result.labels]
    )
    ax.set_yticks(
        range(len(order)),
        [f"{label_text(result.groups[a])} ({parts[a]:.4f})" for a in order],
    )
    hidden = len(result.groups) - len(order)
    more = f"\n{hidden} groups with less are not shown" if hidden else ""
    ax.set(
        xlabel=f"True label; cells: eta, the share not explained by the baseline{more}",
        ylabel="Group (its part of DCP)",
    )
    return cells


def draw_interval(ax: Axes, result: DCPResult) -> tuple[Axes, Line2D]:
    """Draw the interval of DCP as a strip above the cells.

    Parameters
    ----------
    ax : matplotlib Axes
    result : DCPResult

    Returns
    -------
    strip : matplotlib Axes
    line : matplotlib Line2D
    """
    figure = ax.get_figure()
    dpi = 100.0 if figure is None else figure.dpi
    height = ax.get_window_extent().height / dpi
    strip = ax.inset_axes((0.0, 1 + _PAD / height, 1.0, _STRIP / height))
    (line,) = strip.plot(
        [result.lower, result.upper], [0, 0], color=INK, marker="|", linewidth=3
    )
    widest = max(2.2 * result.upper, 0.01)
    proven = "proven" if result.optimal else "bounds"
    strip.text(
        result.upper + 0.02 * widest,
        0,
        f"DCP {result.lower:.4f} to {result.upper:.4f} ({proven})",
        va="center",
        fontsize="small",
    )
    strip.set(xlim=(0, widest), ylim=(-1, 1), yticks=[])
    strip.tick_params(labelsize="small")
    for side in ("left", "right", "top"):
        strip.spines[side].set_visible(False)
    return strip, line

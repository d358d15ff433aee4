"""Eta by group and true class, and the interval of DCP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skfair._pictures import _drawing
from skfair._pictures._display import Display
from skfair._utils._validation import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.lines import Line2D

#: Height of the axes of the interval, and their distance, in inches.
_HEIGHT, _PAD = 0.22, 0.35
#: Text is white on cells with a larger eta.
_DARK = 0.55


@dataclass(kw_only=True, eq=False, repr=False)
class DCPDisplay(Display):
    """Share of each group and true class that the common baseline does not explain.

    Parameters
    ----------
    result : DCPResult
        Interval of DCP, with eta of each group and true class.
    max_groups : int, default=20
        Largest number of groups shown: those with the largest parts of DCP.
    name : str, default=None
        Name of the model, the title of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The cells.
    interval_ax_ : matplotlib Axes
        The interval above them.
    figure_ : matplotlib Figure
    cells_ : matplotlib QuadMesh
        One row for each group shown, one column for each true class.
    interval_line_ : matplotlib Line2D
        From the lower to the upper bound.
    """

    result: Any
    max_groups: int = 20
    name: str | None = None

    def _size(self) -> tuple[float, float]:
        """Check that there are numbers to draw, and return the size of the figure."""
        max_groups = check_integer("max_groups", self.max_groups, 1)
        if np.isnan(self.result.upper):
            raise ValueError(
                "result must be defined, got nan bounds: a group is absent or too "
                "small."
            )
        width = max(4.5, 0.8 * len(self.result.classes))
        self._min_size = width, 0.3 * min(len(self.result.groups), max_groups)
        return width + 1.5, 2.2 + self._min_size[1]

    def _draw(self) -> Axes:
        """Draw the cells, and the interval above; return the axes of the interval."""
        n_shown = min(len(self.result.groups), self.max_groups)
        self.cells_ = self._draw_cells(n_shown)
        self.interval_ax_, self.interval_line_ = self._draw_interval()
        return self.interval_ax_

    def _draw_legend(self, *, may_grow: bool) -> None:
        """Enlarge a new figure until the cells have their size; draw no legend."""
        if may_grow:
            _drawing.keep_size(self.ax_, self._min_size)

    def _draw_cells(self, n_shown: int) -> QuadMesh:
        """Draw one cell for each group and true class, shaded and labelled by eta."""
        result = self.result
        parts = (result.weights * np.nan_to_num(result.eta)).sum(axis=1)
        order = np.argsort(-parts, kind="stable")[:n_shown]
        etas = result.eta[order]
        edges = [np.arange(size + 1) - 0.5 for size in reversed(etas.shape)]
        shades: dict[str, Any] = {"cmap": "Blues", "vmin": 0, "vmax": 1}
        shades |= {"edgecolors": "white", "linewidth": 1}
        cells = self.ax_.pcolormesh(*edges, np.ma.masked_invalid(etas), **shades)
        self.ax_.yaxis.set_inverted(True)
        for (row, column), eta in np.ndenumerate(etas):
            text = "none" if np.isnan(eta) else f"{eta:.2f}"
            color = "white" if eta > _DARK else _drawing.INK
            cell = self.ax_.text(column, row, text, ha="center", va="center")
            cell.set(color=color, fontsize="small")
        classes = [_drawing.short_label(label) for label in result.classes]
        groups = [
            f"{_drawing.short_label(result.groups[a])} ({parts[a]:.4f})" for a in order
        ]
        self.ax_.set_xticks(range(len(classes)), classes)
        self.ax_.set_yticks(range(n_shown), groups)
        text = "True class; cells: eta, the share not explained by the baseline"
        hidden = len(result.groups) - n_shown
        if hidden:
            text += f"\n{hidden} groups with smaller parts are not shown"
        self.ax_.set(xlabel=text, ylabel="Group (its part of DCP)")
        return cells

    def _draw_interval(self) -> tuple[Axes, Line2D]:
        """Draw the interval of DCP on separate axes above the cells."""
        low, high = self.result.lower, self.result.upper
        from matplotlib import transforms

        across: Any = self.ax_.transAxes
        top = transforms.ScaledTranslation(0, 1, across)  # of the axes, in inches
        up = self.figure_.dpi_scale_trans + top
        place = transforms.blended_transform_factory(across, up)
        strip = self.ax_.inset_axes((0, _PAD, 1, _HEIGHT), transform=place)
        (line,) = strip.plot(
            [low, high], [0, 0], color=_drawing.INK, marker="|", linewidth=3
        )
        widest = max(2.2 * high, 0.01)
        proven = "proven" if self.result.optimal else "bounds"
        text = f"DCP {low:.4f} to {high:.4f} ({proven})"
        strip.text(high + 0.02 * widest, 0, text, va="center", fontsize="small")
        strip.set(xlim=(0, widest), ylim=(-1, 1), yticks=[])
        strip.tick_params(labelsize="small")
        strip.spines[["left", "right", "top"]].set_visible(False)
        return strip, line

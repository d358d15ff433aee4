"""Draws the gaps of few or many groups, their intervals and the tail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from skfair.inspection._style import (
    COLORS,
    INK,
    SHADE,
    group_text,
    legend,
    metric_text,
    names_text,
    range_text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

#: More groups than this are not named.
_MAX_NAMED = 40
#: Inches: height of a named group, of the rest of the axes, of axes without names.
_ROW, _FRAME, _HEIGHT = 0.27, 1.3, 6.5


class GroupGapArtists:
    """Draws the parts of a `GroupGapDisplay` on its axes.

    Parameters
    ----------
    report : DataFrame of n_groups rows
        As `cvar_fairness_report` returns it.
    ax : matplotlib Axes or None
        None makes a new figure.
    """

    def __init__(self, report: pd.DataFrame, ax: Axes | None) -> None:
        self.report = report
        self.named = len(self.report) <= _MAX_NAMED
        self.ax = self._new_axes() if ax is None else ax
        self.ranks = np.arange(1, len(self.report) + 1)
        self.in_tail = self.report["in_tail"].to_numpy(dtype=bool)

    def _new_axes(self) -> Axes:
        import matplotlib.pyplot as plt

        height = _FRAME + _ROW * len(self.report) if self.named else _HEIGHT
        return plt.subplots(figsize=(9, height), layout="constrained")[1]

    def draw_tail(self) -> Rectangle | None:
        """Shade the groups of the tail.

        Returns
        -------
        Rectangle, or None where the tail is empty
        """
        if not self.in_tail.any():
            return None
        # The groups of a tail of whole groups need not come first.
        last = int(np.flatnonzero(self.in_tail).max()) + 1
        return self.ax.axhspan(0.5, last + 0.5, color=SHADE, alpha=0.25, linewidth=0)

    def draw_average(self) -> Line2D:
        """Mark the average.

        Returns
        -------
        Line2D
        """
        rate = self.report["rate"].iloc[0] - self.report["difference"].iloc[0]
        return self.ax.axvline(
            0, color=INK, linewidth=1, label=f"Weighted average of rates = {rate:.3f}"
        )

    def draw_intervals(self, level: float) -> LineCollection:
        """Draw the interval of each group around its difference.

        Parameters
        ----------
        level : float

        Returns
        -------
        LineCollection
        """
        average = self.report["rate"] - self.report["difference"]
        return self.ax.hlines(
            self.ranks,
            self.report["low"] - average,
            self.report["high"] - average,
            color=np.where(self.in_tail, COLORS[1], SHADE),
            linewidth=1.5 if self.named else 0.5,
            label=f"{level:.4g} interval, each group alone",
        )

    def draw_points(self, cvar: float, alpha: float) -> list[Line2D]:
        """Mark the groups, filled in the tail and hollow elsewhere.

        Parameters
        ----------
        cvar, alpha : float
            CVaR fairness and its level.

        Returns
        -------
        list of two Line2D
        """
        differences = self.report["difference"].to_numpy()
        sizes = self.report["size"].to_numpy()
        points: list[Line2D] = []
        texts = (
            f"In the tail: CVaR fairness = {cvar:.3f} (alpha = {alpha:.4g})",
            "Other groups",
        )
        for text, chosen in zip(texts, (self.in_tail, ~self.in_tail), strict=True):
            filled = chosen is self.in_tail
            counted = f"\n{chosen.sum():,} groups"
            if chosen.any():
                counted += f" ({range_text(sizes[chosen])})"
            points += self.ax.plot(
                differences[chosen],
                self.ranks[chosen],
                linestyle="none",
                marker="D" if filled else "o",
                markersize=(6 if filled else 5) if self.named else 2,
                color=COLORS[1] if filled else COLORS[0],
                markerfacecolor=COLORS[1] if filled else "white",
                markeredgewidth=1.2 if self.named else 0.5,
                label=text + counted,
            )
        return points

    def label_axes(self, quality: str) -> None:
        """Name the axes and, where they are few, the groups.

        Parameters
        ----------
        quality : str
        """
        report = self.report
        ends = [self.ax.dataLim.x0, self.ax.dataLim.x1]
        reach = 1.05 * max(np.abs(ends))
        self.ax.set(
            xlabel=f"Difference of {metric_text(quality)} from the average",
            xlim=(-reach, reach),
            ylim=(len(report) + 0.5, 0.5),
        )
        names = names_text([str(name) for name in report.index.names if name])
        if self.named:
            texts = [
                group_text(label, int(size))
                for label, size in zip(report.index, report["size"], strict=True)
            ]
            self.ax.set_yticks(self.ranks, texts)
            self.ax.set_ylabel(names or "")
        else:
            by = "" if names is None else f" by {names}"
            self.ax.set_ylabel(f"{len(report):,} groups{by}, largest gap first")
        # Beside the axes, since groups leave no corner free.
        legend(self.ax, None, loc="upper left", bbox_to_anchor=(1.01, 1.0))

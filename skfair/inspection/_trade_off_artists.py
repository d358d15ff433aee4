"""Draws the candidates of a search, their front and what a rule chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skfair.inspection._style import (
    COLORS,
    INK,
    LINE_STYLES,
    SHADE,
    label_text,
    legend,
    metric_text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import ErrorbarContainer
    from matplotlib.lines import Line2D

#: With more candidates than this, marks and spreads are drawn finer.
_MANY = 100
_MAX_PARAMS = 6


class TradeOffArtists:
    """Draws the parts of a `TradeOffDisplay` on its axes.

    Parameters
    ----------
    ax : matplotlib Axes
    candidates : DataFrame of n_candidates rows
        Columns ``performance``, ``performance_std``, ``fairness``, ``fairness_std``.
    performance, fairness : str
        Names of the two scores.
    """

    def __init__(
        self, ax: Axes, candidates: pd.DataFrame, performance: str, fairness: str
    ) -> None:
        self.ax, self.candidates = ax, candidates
        self.performance, self.fairness = performance, fairness
        self.negated = fairness.startswith("neg_")
        sign = -1 if self.negated else 1
        self.points = pd.DataFrame(
            {"x": sign * candidates["fairness"], "y": candidates["performance"]}
        )
        self.fine = len(candidates) > _MANY

    def draw_spreads(self) -> ErrorbarContainer:
        """Draw one standard deviation over folds, both ways.

        Returns
        -------
        ErrorbarContainer
        """
        return self.ax.errorbar(
            self.points["x"],
            self.points["y"],
            xerr=self.candidates["fairness_std"],
            yerr=self.candidates["performance_std"],
            fmt="none",
            ecolor=SHADE,
            elinewidth=0.4 if self.fine else 0.9,
            alpha=0.4 if self.fine else 0.7,
            zorder=1.5,
            label="Standard deviation over folds",
        )

    def draw_points(self, front: Sequence[int]) -> Line2D:
        """Mark the candidates beside the front.

        Parameters
        ----------
        front : sequence of int

        Returns
        -------
        Line2D
        """
        others = self.points.drop(index=list(front))
        (points,) = self.ax.plot(
            others["x"],
            others["y"],
            linestyle="none",
            marker="o",
            markersize=3 if self.fine else 5,
            color=INK,
            markerfacecolor="white",
            markeredgewidth=0.5 if self.fine else 1,
            zorder=2,
            label=f"Candidates beside the front ({len(others):,})",
        )
        return points

    def draw_front(self, front: Sequence[int]) -> Line2D:
        """Draw the front as a staircase from the fairest on.

        Parameters
        ----------
        front : sequence of int

        Returns
        -------
        Line2D
        """
        # No fairness is needed for the performance of a fairer candidate.
        chosen = self.points.loc[list(front)]
        chosen = chosen.sort_values(["x", "y"], ascending=self.negated)
        (line,) = self.ax.plot(
            chosen["x"],
            chosen["y"],
            drawstyle="steps-post",
            color=COLORS[0],
            linewidth=1.8,
            marker="o",
            markersize=4 if self.fine else 6,
            zorder=2.5,
            label=f"Pareto front ({len(chosen):,})",
        )
        return line

    def draw_tolerance(self, least_performance: float | None) -> Line2D | None:
        """Mark the performance from which on a candidate could be chosen.

        Parameters
        ----------
        least_performance : float or None

        Returns
        -------
        Line2D or None
        """
        if least_performance is None or not np.isfinite(least_performance):
            return None
        return self.ax.axhline(
            least_performance,
            color=INK,
            linestyle=LINE_STYLES[1],
            linewidth=1.2,
            zorder=1.8,
            label=f"Within the tolerance: at least {least_performance:.4g}",
        )

    def draw_limit(self, limit: float | None) -> Line2D | None:
        """Mark the disparity up to which a candidate could be chosen.

        Parameters
        ----------
        limit : float or None

        Returns
        -------
        Line2D or None
        """
        if limit is None:
            return None
        return self.ax.axvline(
            limit if self.negated else -limit,
            color=INK,
            linestyle=LINE_STYLES[1],
            linewidth=1.2,
            zorder=1.8,
            label=f"Within the limit: at most {limit:.4g}",
        )

    def draw_chosen(
        self, best_index: int | None, params: Mapping[str, Any] | None
    ) -> Line2D | None:
        """Mark the candidate chosen, and name its parameters.

        Parameters
        ----------
        best_index : int or None
        params : mapping or None

        Returns
        -------
        Line2D, or None where there is none among the candidates drawn
        """
        if best_index is None or best_index not in self.points.index:
            return None
        point = self.points.loc[best_index]
        (mark,) = self.ax.plot(
            [point["x"]],
            [point["y"]],
            linestyle="none",
            marker="D",
            markersize=10,
            color=COLORS[1],
            markeredgecolor=INK,
            markeredgewidth=1.2,
            zorder=3,
            label="\n".join(["Chosen", *_params_lines(params or {})]),
        )
        return mark

    def label_axes(self, n_hidden: int) -> None:
        """Name the axes, and draw the legend beside them.

        Parameters
        ----------
        n_hidden : int
        """
        name = self.fairness.removeprefix("neg_") if self.negated else self.fairness
        direction = "smaller" if self.negated else "larger"
        self.ax.set(
            xlabel=f"{metric_text(name)}, mean over folds ({direction} is fairer)",
            ylabel=f"{metric_text(self.performance)}, mean over folds",
        )
        if not self.negated:
            self.ax.xaxis.set_inverted(True)
        heading = f"{len(self.points):,} candidates"
        if n_hidden:
            heading += f", {n_hidden:,} not drawn"
        # Beside the axes, since candidates leave no corner free.
        legend(self.ax, heading, loc="upper left", bbox_to_anchor=(1.01, 1.0))


def _params_lines(params: Mapping[str, Any]) -> list[str]:
    """Parameters, one a line, without the path to their estimator where not needed."""
    short = [name.rpartition("__")[2] for name in params]
    names = short if len(set(short)) == len(short) else list(params)
    lines = [
        f"  {label_text(name)} = {label_text(value)}"
        for name, value in zip(names, map(_plain, params.values()), strict=True)
    ]
    more = len(lines) - _MAX_PARAMS
    return lines if more <= 0 else [*lines[:_MAX_PARAMS], f"  and {more} more"]


def _plain(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)

"""Draws score distributions, their confidence bands and the marks of their gaps."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skfair._utils._validation import check_real
from skfair.inspection._gap_mark import GapMark, at_scores, share_at
from skfair.inspection._style import (
    INK,
    MAX_GROUPS,
    SHADE,
    group_style,
    group_text,
    label_text,
    legend,
    range_text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D

#: About the height of a line of a legend, as a share of the height of the axes.
_LINE_HEIGHT = 0.042
#: How much wider a figure is with the legend beside the axes.
_WIDER = 1.4


def band_widths(
    effective_sizes: NDArray[np.float64], confidence_level: Any
) -> NDArray[np.float64]:
    """Half-widths of the confidence bands of Dvoretzky, Kiefer and Wolfowitz.

    Parameters
    ----------
    effective_sizes : ndarray of shape (n_groups,)
    confidence_level : float

    Returns
    -------
    ndarray of shape (n_groups,)

    Raises
    ------
    ValueError
        On a level outside (0, 1), or where a size is not known.
    """
    level = check_real("confidence_level", confidence_level, 0, 1, closed="neither")
    if np.isnan(effective_sizes).any():
        raise ValueError(
            "confidence_level must be None: the effective group sizes cannot be known "
            "from a statistic of weighted rows. Pass the rows instead."
        )
    spread = np.log(2 / (1 - level)) / 2
    return np.asarray(np.sqrt(spread / effective_sizes))


class CDFArtists:
    """Draws the parts of a `CDFGapDisplay` on its axes.

    Parameters
    ----------
    ax : matplotlib Axes
    cdfs : list of n_groups (scores, shares)
        Each as `step_cdf` returns it.
    labels : sequence of length n_groups
    counts : ndarray of shape (n_groups,)
    marks : sequence of GapMark
    """

    def __init__(
        self,
        ax: Axes,
        cdfs: list[tuple[NDArray[np.float64], NDArray[np.float64]]],
        labels: Sequence[Hashable],
        counts: NDArray[np.intp],
        marks: Sequence[GapMark],
    ) -> None:
        self.ax, self.cdfs, self.marks = ax, cdfs, marks
        self.labels, self.counts = labels, counts
        self.named = list(range(len(self.labels)))
        if len(self.labels) > MAX_GROUPS:
            # Keeps the order of the marks, and each group once.
            self.named = list(dict.fromkeys(i for m in self.marks for i in m.pair))

    def draw_cdfs(self, effective_sizes: NDArray[np.float64] | None) -> list[Line2D]:
        """Draw one line for each group.

        Parameters
        ----------
        effective_sizes : ndarray of shape (n_groups,) or None
            Effective numbers of rows, for the legend.

        Returns
        -------
        list of n_groups Line2D
        """
        lines: list[Line2D] = []
        others = [i for i in range(len(self.labels)) if i not in self.named]
        for i, (scores, shares) in enumerate(self.cdfs):
            style: dict[str, Any]
            if i in self.named:
                effective = (
                    None if effective_sizes is None else float(effective_sizes[i])
                )
                text = group_text(self.labels[i], int(self.counts[i]), effective)
                style = {**group_style(self.named.index(i)), "zorder": 2.5}
                style["label"] = text
            else:
                style = {"color": SHADE, "linewidth": 0.6, "zorder": 1.5}
            lines += self.ax.plot(scores, shares, drawstyle="steps-post", **style)
        if others:
            sizes = range_text(self.counts[others])
            lines[others[0]].set_label(f"{len(others)} other groups ({sizes})")
        return lines

    def draw_bands(
        self, widths: NDArray[np.float64], level: float | None
    ) -> list[PolyCollection]:
        """Draw the confidence band of each named group.

        Parameters
        ----------
        widths : ndarray of shape (n_groups,)
            Half-widths.
        level : float

        Returns
        -------
        list of PolyCollection
        """
        bands: list[PolyCollection] = []
        for position, i in enumerate(self.named):
            scores, shares = self.cdfs[i]
            band = self.ax.fill_between(
                scores,
                np.maximum(shares - widths[i], 0),
                np.minimum(shares + widths[i], 1),
                step="post",
                color=group_style(position)["color"],
                alpha=0.25,
                linewidth=0,
                zorder=2,
            )
            bands.append(band)
        if bands:
            bands[0].set_label(f"{level:.4g} confidence band, each group alone")
        return bands

    def draw_gap_area(self) -> PolyCollection | None:
        """Shade the gap of the first mark.

        Returns
        -------
        PolyCollection or None
        """
        if not self.marks:
            return None
        first, second = (self.cdfs[i] for i in self.marks[0].pair)
        grid = np.union1d(first[0], second[0])
        return self.ax.fill_between(
            grid,
            at_scores(*first, grid),
            at_scores(*second, grid),
            step="post",
            color=SHADE,
            alpha=0.2,
            linewidth=0,
            zorder=1,
        )

    def draw_marks(self) -> tuple[list[Line2D], list[Any]]:
        """Draw each mark as a line of its height, and its window.

        Returns
        -------
        lines : list of Line2D
        windows : list of Patch
        """
        lines: list[Line2D] = []
        windows: list[Any] = []
        for mark in self.marks:
            if mark.epsilon > 0 and mark.value > 0:
                window = self.ax.axvspan(
                    *mark.window, color=SHADE, alpha=0.25, linewidth=0
                )
                windows.append(window)
            plain = mark.epsilon == 0
            lines += self.ax.plot(
                [mark.score, mark.score],
                mark.shares,
                color=INK,
                linestyle="-" if plain else (0, (2, 1)),
                linewidth=1.5,
                marker="_" if plain else "o",
                markersize=10 if plain else 4,
                label=self._text(mark),
                zorder=3,
            )
        return lines, windows

    def label_axes(self) -> None:
        """Name the axes."""
        self.ax.set(
            xlabel="Predicted probability of the positive class",
            ylabel="Cumulative share of the group",
            xlim=(0, 1),
            ylim=(0, 1.01),
        )

    def draw_legend(self, heading: str | None, *, may_widen: bool) -> None:
        """Draw the legend in a corner that the CDFs leave free, else on the right.

        Parameters
        ----------
        heading : str or None
        may_widen : bool
            Whether the figure may grow to make room on the right.
        """
        corner = self._free_corner()
        if corner is not None:
            legend(self.ax, heading, loc=corner)
            return
        if may_widen:
            figure: Any = self.ax.figure
            figure.set_figwidth(_WIDER * figure.get_figwidth())
        legend(self.ax, heading, loc="upper left", bbox_to_anchor=(1.01, 1.0))

    def _free_corner(self) -> str | None:
        texts = self.ax.get_legend_handles_labels()[1]
        height = _LINE_HEIGHT * (2 + sum(1 + text.count("\n") for text in texts))
        # A legend is somewhat wider than half the axes.
        left, right = (
            [share_at(*cdf, score) for cdf in self.cdfs] for score in (0.45, 0.55)
        )
        if min(left) >= height:
            return "lower right"
        return "upper left" if 1 - max(right) >= height else None

    def _text(self, mark: GapMark) -> str:
        text = f"MCDP({mark.epsilon:.3g}) = {mark.value:.3f}"
        if mark.value > 0 and mark.epsilon > 0:
            text += f", scores {mark.window[0]:.3g} to {mark.window[1]:.3g}"
        elif mark.value > 0:
            text += f", score {mark.score:.3g}"
        if len(self.labels) > 2:
            text += "\n" + " and ".join(label_text(self.labels[i]) for i in mark.pair)
        return text

"""Draws the search of a MADD display."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skfair.inspection._style import (
    COLORS,
    INK,
    LINE_STYLES,
    SHADE,
    groups_text,
    legend,
)
from skfair.metrics import MADDBandwidthResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TICKS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
#: Height of the axes as a multiple of the highest value.
_HEADROOM = 1.8


def draw_search(
    ax: Axes,
    result: MADDBandwidthResult,
    counts: NDArray[np.intp],
    null_distribution: NDArray[np.float64] | None,
) -> list[Any]:
    """Draw MADD over its bandwidths, with what the search chose.

    Parameters
    ----------
    ax : matplotlib Axes
    result : MADDBandwidthResult
    counts : ndarray of shape (2,)
    null_distribution : ndarray of shape (n_permutations,) or None

    Returns
    -------
    list of artists
        Curve, interval, line at h_sup, line at the mean, and the null's lines.
    """
    low, high = result.interval
    # MADD at 1/m holds for the bandwidths above 1/(m + 1), hence steps before it.
    (curve,) = ax.plot(
        result.bandwidths,
        result.values,
        drawstyle="steps-pre",
        color=COLORS[2],
        linewidth=1.5,
        label="MADD at one bandwidth",
    )
    interval = ax.axvspan(
        low,
        high,
        color=SHADE,
        alpha=0.3,
        linewidth=0,
        label=f"Most stable from {low:.3g} to {high:.3g}",
    )
    h_sup = ax.axvline(
        result.h_sup,
        color=INK,
        linestyle=LINE_STYLES[2],
        label=f"Best order of magnitude, h_sup = {result.h_sup:.3g}",
    )
    mean = ax.axhline(
        result.madd,
        color=INK,
        linewidth=1.5,
        label=f"MADD = {result.madd:.3f} (mean there)",
    )
    lines = [] if null_distribution is None else _draw_null(ax, null_distribution)
    highest = [result.values.max(), *(line.get_ydata()[0] for line in lines)]
    _scale(ax, result, top=max(float(np.max(highest)), 0.01))
    legend(ax, groups_text(result.groups, counts), loc="upper right")
    return [curve, interval, h_sup, mean, *lines]


def _draw_null(ax: Axes, null_distribution: NDArray[np.float64]) -> list[Any]:
    mean, high = null_distribution.mean(), np.quantile(null_distribution, 0.95)
    times = f"Groups permuted {len(null_distribution):,} times"
    return [
        ax.axhline(value, color=COLORS[4], linestyle=style, linewidth=1.5, label=text)
        for value, style, text in (
            (mean, LINE_STYLES[1], f"{times}: mean {mean:.3f}"),
            (high, LINE_STYLES[3], f"{times}: 0.95 quantile {high:.3f}"),
        )
    ]


def _scale(ax: Axes, result: MADDBandwidthResult, *, top: float) -> None:
    ax.set(xlabel="Bandwidth h (score units)", ylabel="MADD (0 to 2)", xscale="log")
    ticks = [tick for tick in _TICKS if tick >= result.bandwidths[0]]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xticks([], minor=True)
    ax.set_xlim(result.bandwidths[0], max(1, result.h_sup))
    # The curve fills the plot from side to side: the legend goes above it.
    ax.set_ylim(0, _HEADROOM * top)
    ax.set_yticks([tick for tick in ax.get_yticks() if tick <= min(2, top * _HEADROOM)])

"""Draws the histograms of two groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skfair.inspection._style import SHADE, group_style, group_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_histograms(
    ax: Axes,
    edges: NDArray[np.float64],
    shares: NDArray[np.float64],
    labels: Sequence[Any],
    counts: NDArray[np.intp],
) -> list[Any]:
    """Draw two histograms, with room for a legend above them.

    Parameters
    ----------
    ax : matplotlib Axes
    edges : ndarray of shape (n_bins + 1,)
    shares : ndarray of shape (2, n_bins)
    labels : sequence of length 2
    counts : ndarray of shape (2,)

    Returns
    -------
    list of two StepPatch
    """
    histograms = [
        ax.stairs(
            shares[i],
            edges,
            label=group_text(labels[i], int(counts[i])),
            zorder=2.5,
            **group_style(i),
        )
        for i in range(2)
    ]
    ax.set(
        xlabel="Predicted probability of the positive class",
        ylabel=f"Share of the group in each of {len(edges) - 1} bins",
        xlim=(0, 1),
    )
    ax.set_ylim(0, 1.35 * float(shares.max()))
    return histograms


def draw_difference(
    ax: Axes, edges: NDArray[np.float64], shares: NDArray[np.float64]
) -> Any:
    """Fill the absolute difference of two histograms.

    Parameters
    ----------
    ax : matplotlib Axes
    edges : ndarray of shape (n_bins + 1,)
    shares : ndarray of shape (2, n_bins)

    Returns
    -------
    StepPatch
    """
    distance = np.abs(shares[0] - shares[1])
    return ax.stairs(
        distance,
        edges,
        fill=True,
        color=SHADE,
        alpha=0.4,
        label=f"Absolute difference, adds up to {distance.sum():.3f}",
    )

"""Histograms of the scores of two groups, with the bins of MADD."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from skfair._utils._arrays import Floats, Integers
from skfair._utils._validation import Scale
from skfair.inspection import _style
from skfair.metrics import MADDBandwidthResult
from skfair.statistics import GroupedScores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Least height of the axes as a multiple of the highest bin: the legend goes above it.
HEADROOM = 1.35


def bins_to_show(result: MADDBandwidthResult) -> int:
    """Return the number of bins of the stable bandwidth that is nearest to h_sup."""
    low, high = result.interval
    inside = (result.bandwidths >= low) & (result.bandwidths < high)
    bandwidths = result.bandwidths[inside]
    return int(np.rint(1 / bandwidths[np.abs(bandwidths - result.h_sup).argmin()]))


def shares_in_bins(
    statistic: GroupedScores, groups: Sequence[Hashable], n_bins: int
) -> tuple[Floats, Floats, Integers]:
    """Edges of the bins, share of each of the given groups in them, and group sizes."""
    edges = np.arange(n_bins + 1) / n_bins
    positions = [statistic.labels.index(label) for label in groups]
    shares = np.empty((len(positions), n_bins))
    for row, group in enumerate(positions):
        scores, weights = statistic.of_group(group)
        # Bins are closed on the left, the last one on both sides, as those of MADD.
        heights, _ = np.histogram(scores, edges, weights=weights)
        shares[row] = heights / statistic.totals[group]
    return edges, shares, statistic.counts[positions]


def draw_histograms(
    ax: Axes,
    edges: Floats,
    shares: Floats,
    labels: Sequence[Hashable],
    counts: Integers,
    scale: Scale = "probability",
) -> list[Any]:
    """Draw the histograms of two groups."""
    histograms = [
        ax.stairs(
            shares[i],
            edges,
            label=_style.group_text(labels[i], int(counts[i])),
            zorder=2.5,
            **_style.group_style(i),
        )
        for i in range(2)
    ]
    ax.set(
        xlabel=_style.SCORE_LABELS[scale],
        ylabel=f"Share of the group in each of {len(edges) - 1} bins",
        xlim=(0, 1),
    )
    return histograms

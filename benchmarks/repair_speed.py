"""Baseline of `repair.py`: plain re-mapping of all scores at each level."""

from __future__ import annotations

import numpy as np
from scipy.integrate import cumulative_trapezoid
from scipy.interpolate import interp1d


def plain_remapping(
    y: np.ndarray, scores: np.ndarray, groups: np.ndarray, levels: np.ndarray
) -> np.ndarray:
    """Objective by re-mapping all scores at each level, through histogram densities."""
    n_bins = 100
    centres = (np.arange(n_bins) + 0.5) / n_bins

    def density(chosen: np.ndarray) -> np.ndarray:
        return np.histogram(chosen, n_bins, (0, 1), density=True)[0]

    def cdf(heights: np.ndarray) -> np.ndarray:
        area = cumulative_trapezoid(heights, centres, initial=0)
        return area / area[-1]

    pooled, totals = density(scores), []
    for level in levels:
        moved = np.empty_like(scores)
        for group in (0, 1):
            chosen = groups == group
            own = density(scores[chosen])
            forward = interp1d(centres, cdf(own), bounds_error=False, fill_value=(0, 1))
            mixed = cdf((1 - level) * own + level * pooled)
            inverse = interp1d(mixed + 1e-12 * np.arange(n_bins), centres)
            moved[chosen] = inverse(forward(scores[chosen]))
        gap = density(moved[groups == 0]) - density(moved[groups == 1])
        loss = np.mean((moved >= 0.5) != y)
        totals.append((loss + np.abs(gap).sum() / n_bins / 2) / 2)
    return np.array(totals)

"""The curves that pictures show, with as few points as the eye needs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair.report._sentences import Sentences

#: Points of a curve along each axis: finer than a picture's pixels are of use.
_N_POINTS = 150


def cdf_shapes(sentences: Sentences) -> dict[str, Any] | None:
    """Cumulative distribution of each group's scores, and where the largest gap is.

    Parameters
    ----------
    sentences : Sentences

    Returns
    -------
    dict or None
        None without scores, or with too many groups for one picture.
    """
    sample = sentences.sample
    if sample.attribute.comparison != "pairwise" or "mcdp" not in sentences.found:
        return None
    grid, found = sample.grid, sentences.found["mcdp"]
    first, second = found.pair
    assert grid is not None
    assert second is not None
    cdfs = [sentences.cdf(group) for group in range(len(sentences.labels))]
    where = np.searchsorted(grid.scores, found.score)
    return {
        "curves": [_curve(grid.scores, cdf) for cdf in cdfs],
        "gap": {
            "value": found.value,
            "pair": [first, second],
            "score": found.score,
            "shares": [float(cdfs[first][where]), float(cdfs[second][where])],
        },
    }


def _curve(
    scores: NDArray[np.float64], cdf: NDArray[np.float64]
) -> dict[str, list[float]]:
    """Thin the steps of a CDF from (0, 0) to (1, 1), evenly along both axes."""
    even = np.linspace(0, 1, _N_POINTS)
    kept = np.union1d(np.searchsorted(scores, even), np.searchsorted(cdf, even))
    kept = kept[kept < len(scores)]
    return {
        "scores": [0.0, *np.round(scores[kept], 4).tolist(), 1.0],
        "shares": [0.0, *np.round(cdf[kept], 4).tolist(), 1.0],
    }

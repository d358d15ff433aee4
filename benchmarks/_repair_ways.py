"""Ways from scores to scores with a share of their gap, which benchmarks compare.

- band: `ScoreRepairer(max_mcdp=...)`; exact: the same without smoothed CDFs;
- level: `ScoreRepairer(repair_level=...)`;
- quantiles: (1 - t) s + t times the groups' mean quantile at F_g(s), by smoothed CDFs;
- barycentre: the same by the order of the rows, as EquiPy does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair.metrics import mcdp
from skfair.postprocessing import ScoreRepairer, _group_cdfs

SHARES_LEFT = (0.0, 0.25, 0.5, 0.75)
Scores = NDArray[np.float64]
#: Learns from scores and groups to leave a share of the gap of other scores.
Way = Callable[[Scores, Any, float], Callable[[Scores, Any], Scores]]


def band(scores: Scores, groups: Any, share_left: float) -> Any:
    gap = share_left * mcdp(None, scores, sensitive_features=groups)
    repairer = ScoreRepairer(max_mcdp=gap).fit(scores, sensitive_features=groups)
    return lambda new, of: repairer.transform(new, sensitive_features=of)


def exact(scores: Scores, groups: Any, share_left: float) -> Any:
    largest = _group_cdfs._LARGEST_CHANGE
    _group_cdfs._LARGEST_CHANGE = 0.0
    try:
        return band(scores, groups, share_left)
    finally:
        _group_cdfs._LARGEST_CHANGE = largest


def level(scores: Scores, groups: Any, share_left: float) -> Any:
    repairer = ScoreRepairer(1 - share_left).fit(scores, sensitive_features=groups)
    return lambda new, of: repairer.transform(new, sensitive_features=of)


def quantiles(scores: Scores, groups: Any, share_left: float) -> Any:
    full = band(scores, groups, 0.0)
    return lambda new, of: share_left * new + (1 - share_left) * full(new, of)


def barycentre(scores: Scores, groups: Any, share_left: float) -> Any:
    own = {group: np.sort(scores[groups == group]) for group in np.unique(groups)}

    def repaired(new: Scores, of: Any) -> Scores:
        fair = np.zeros(len(new))
        for group, sample in own.items():
            rows = of == group
            heights = np.searchsorted(sample, new[rows], "right") / len(sample)
            for other in own.values():
                share = len(other) / len(scores)
                fair[rows] += share * np.quantile(other, heights)
        return share_left * new + (1 - share_left) * fair

    return repaired


WAYS: dict[str, Way] = {
    "band": band,
    "exact": exact,
    "level": level,
    "quantiles": quantiles,
    "barycentre": barycentre,
}

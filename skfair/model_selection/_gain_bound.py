"""What one more random candidate of a search may gain, at every moment of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skfair._training_rows import Split
from skfair._utils._types import Bools, Floats, Integers
from skfair.metrics._confidence._noise import cdf_at_any_time, supremum_quantile


class FoldNoise(NamedTuple):
    """How far noise moves the mean over folds of a largest gap.

    `upward` bounds by how much its expected value is above the mean of the true gaps;
    `scale` is the square root of the sum of squares of what each row may change.
    """

    upward: float
    scale: float

    def beyond(self, level: float) -> float:
        """Bound the distance of the mean from its expected value, to one side.

        The inequality is McDiarmid's; the distance is larger with at most the
        probability `level`.
        """
        return self.scale * supremum_quantile(level, sides=1)


def fold_noise(splits: Sequence[Split], codes: Integers) -> FoldNoise:
    """Noise of the mean over the test rows of all folds; codes of -1 do not count."""
    n_groups = int(codes.max()) + 1
    n_pairs = n_groups * (n_groups - 1) // 2
    # The noise of a pair exceeds x times its scale with at most the probability
    # 2 exp(-2 x^2). Of several, the mean of the largest follows by integration.
    most = supremum_quantile(1.0, sides=2 * max(1, n_pairs))
    influence, upward = np.zeros(len(codes)), 0.0
    for _, test in splits:
        rows = np.arange(len(codes))[test]
        rows = rows[codes[rows] >= 0]
        sizes = np.bincount(codes[rows], minlength=n_groups)
        present = 1 / sizes[sizes > 0]
        influence[rows] += 1 / sizes[codes[rows]] / len(splits)
        spread = np.sqrt(np.sort(present)[-2:].sum())
        upward += spread * (most + 1 / (4 * most)) / len(splits)
    return FoldNoise(upward, float(np.linalg.norm(influence)))


def gain_bound(
    disparities: Floats, eligible: Bools, noise: FoldNoise, level: float
) -> float:
    """Bound by how much one more random candidate lowers the disparity on average.

    The first disparity is that of the baseline, the others are those of the candidates
    in the order in which they were drawn; nan where a fit failed. All bounds, after any
    number of candidates, hold together with the probability `level`: half of the rest
    is for the distribution of the candidates, half for the errors of their disparities.
    """
    n_drawn = len(disparities) - 1
    position = np.arange(1, len(disparities) + 1)
    shares = (1 - level) / 4 / (position * (position + 1))
    beyond = np.array([noise.beyond(share) for share in shares])
    counted = np.append(True, eligible[1:]) & ~np.isnan(disparities)
    # The smallest disparity so far is at most this.
    best = float((disparities + beyond)[counted].min())
    if n_drawn == 0:
        return best
    radius = float(cdf_at_any_time(np.array([n_drawn]), (1 - level) / 2)[0])
    counted[0] = False
    steps = np.sort((disparities - noise.upward - beyond)[counted])
    edges = np.concatenate([[0.0], np.clip(steps, 0, best), [best]])
    heights = np.minimum(1, np.arange(len(steps) + 1) / n_drawn + radius)
    return float(heights @ np.diff(edges))

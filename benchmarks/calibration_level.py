"""How often the test of `calibration_gap` rejects a true hypothesis at the level .05.

    python benchmarks/calibration_level.py [--samples 5000] [level|bounds]

Groups of 50 to 5,000 rows have scores of the same beta distribution or not, and
outcomes of probability s**2 at the score s: the scores are wrong, and equally so.
`bounds` prints bounds of the value of a million rows that are known by bins.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from skfair.metrics import (
    calibration_gap,
    metric_bounds,
    permutation_test,
)
from skfair.statistics import CountTable

SIZES = [
    (50, 50),
    (50, 500),
    (500, 500),
    (50, 50, 500, 500),
    (50, 5000),
    (500, 5000),
    (5000, 5000),
]
SHAPES = {"same scores": (2, 2), "other scores": (2, 5)}


def rejected(sizes: tuple[int, ...], shapes: tuple[int, int], seed: int) -> bool:
    """Whether the test rejects in a sample."""
    rng = np.random.default_rng([seed, 1])  # apart from the permutations
    groups = np.repeat(np.arange(len(sizes)), sizes)
    shape = np.where(groups % 2, shapes[1], shapes[0])
    scores = rng.beta(shape, sum(shapes) - shape)
    result = permutation_test(
        calibration_gap,
        rng.random(len(scores)) < scores**2,
        scores,
        sensitive_features=groups,
        n_permutations=19,
        random_state=seed,
    )
    return result.pvalue <= 0.05


def level(n_samples: int) -> None:
    for sizes in SIZES:
        for kind, shapes in SHAPES.items():
            share = np.mean([rejected(sizes, shapes, i) for i in range(n_samples)])
            print(f"{sizes}, {kind}: {share:.4f}", flush=True)


def bounds() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(10**6)
    y_true = (rng.random(len(scores)) < scores).astype(int)
    groups = rng.integers(0, 2, len(scores))
    gap = calibration_gap(y_true, scores, sensitive_features=groups)
    print(f"value: {gap:.5f}")
    for n_bins in (2**8, 2**12, 2**16):
        statistic = CountTable.from_rows(
            y_true, scores, sensitive_features=groups, n_bins=n_bins
        )
        found = metric_bounds(calibration_gap, statistic)
        print(f"{n_bins} bins: {found.lower:.5f} to {found.upper:.5f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["level", "bounds"])
    parser.add_argument("--samples", type=int, default=5000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # all permutations may have the value of the data
    if options.what == "level":
        level(options.samples)
    else:
        bounds()

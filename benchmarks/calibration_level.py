"""How often both tests of calibration reject a true hypothesis at the level .05.

    python benchmarks/calibration_level.py [--samples 5000] [calibrated|equally|speed]

Groups of 50 to 5,000 rows whose scores have beta distributions, the same or not.
`calibration_test` gets calibrated scores, and 39 draws. `permutation_test` of
`calibration_gap` gets outcomes of probability s**2 at the score s in all groups: wrong,
and equally so. It rejects at .05 with 19 permutations if all values are below that of
the data: the first 3 mostly say no, and only where they do not the other 16 are drawn.
`speed` compares the processor time of `calibration_gap` of a million rows with that of
`mcdp`, and `bounds` prints bounds of the value of a million rows that are known by
bins.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from skfair.metrics import (
    calibration_gap,
    calibration_test,
    mcdp,
    metric_bounds,
    permutation_test,
)
from skfair.statistics import GroupedCalibration

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


def calibrated(scores: Any, uniform: Any, rows: dict[str, Any], seed: int) -> bool:
    """Whether `calibration_test` rejects."""
    found = calibration_test(
        uniform < scores, scores, n_draws=39, random_state=seed, **rows
    )
    return found.pvalue <= 0.05


def equally(scores: Any, uniform: Any, rows: dict[str, Any], seed: int) -> bool:
    """Whether `permutation_test` of `calibration_gap` rejects."""
    return all(
        permutation_test(
            calibration_gap,
            uniform < scores**2,
            scores,
            n_permutations=size,
            random_state=2 * seed + (size > 3),
            **rows,
        ).pvalue
        == 1 / (size + 1)
        for size in (3, 16)
    )


TESTS: dict[str, Callable[..., bool]] = {"calibrated": calibrated, "equally": equally}


def rejected(
    test: Callable[..., bool],
    sizes: tuple[int, ...],
    shapes: tuple[int, int],
    seed: int,
) -> bool:
    """Whether a test rejects in a sample."""
    rng = np.random.default_rng([seed, 1])  # apart from the draws of the tests
    groups = np.repeat(np.arange(len(sizes)), sizes)
    other = groups % 2 == 1
    scores = rng.beta(
        np.where(other, shapes[1], shapes[0]), np.where(other, shapes[0], shapes[1])
    )
    return test(scores, rng.random(len(scores)), {"sensitive_features": groups}, seed)


def level(name: str, n_samples: int) -> None:
    for sizes in SIZES:
        for kind, shapes in SHAPES.items():
            drawn = range(n_samples)
            share = np.mean([rejected(TESTS[name], sizes, shapes, i) for i in drawn])
            print(f"{name}, {sizes}, {kind}: {share:.4f}", flush=True)


def speed() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(10**6)
    y_true = (rng.random(len(scores)) < scores).astype(int)
    for n_groups in (2, 4, 8):
        groups, seconds = rng.integers(0, n_groups, len(scores)), []
        for metric in (mcdp, calibration_gap):
            times = []
            for _ in range(5):
                start = time.process_time()
                metric(y_true, scores, sensitive_features=groups)
                times.append(time.process_time() - start)
            seconds.append(min(times))
        print(f"{n_groups} groups: {seconds[1] / seconds[0]:.2f} times mcdp")


def bounds() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(10**6)
    y_true = (rng.random(len(scores)) < scores).astype(int)
    groups = rng.integers(0, 2, len(scores))
    gap = calibration_gap(y_true, scores, sensitive_features=groups)
    print(f"value: {gap:.5f}")
    for n_bins in (2**8, 2**12, 2**16):
        statistic = GroupedCalibration.from_scores(
            y_true, scores, sensitive_features=groups, n_bins=n_bins
        )
        found = metric_bounds(calibration_gap, statistic)
        print(f"{n_bins} bins: {found.lower:.5f} to {found.upper:.5f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=[*TESTS, "speed", "bounds"])
    parser.add_argument("--samples", type=int, default=5000)
    options = parser.parse_args()
    # All of 3 permutations may have the value of the data.
    warnings.simplefilter("ignore")
    for name in TESTS:
        if options.what in (None, name):
            level(name, options.samples)
    if options.what == "speed":
        speed()
    if options.what == "bounds":
        bounds()

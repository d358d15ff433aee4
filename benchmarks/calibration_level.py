"""How often both tests of calibration reject a true hypothesis at the level .05.

    python benchmarks/calibration_level.py [--samples 1000] [speed]

Groups of 50 to 5,000 rows whose scores have beta distributions, the same or not.
`calibration_test` gets calibrated scores. `permutation_test` of `calibration_gap` gets
outcomes of probability s**2 at the score s in all groups: wrong, and equally so. Of
more than 1,000 rows there are half as many samples. `speed` compares the processor
time of `calibration_gap` of a million rows with that of `mcdp`, `bounds` prints bounds
of the value of a million rows that are known by bins.
"""

from __future__ import annotations

import argparse
import time
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

SIZES = [(50, 50), (50, 500), (500, 500), (50, 5000), (5000, 5000), (50, 50, 500, 500)]
SHAPES = {"same scores": (2, 2), "other scores": (2, 5)}
N_DRAWS = 99


def rejected(
    sizes: tuple[int, ...], shapes: tuple[int, int], seed: int
) -> tuple[bool, ...]:
    """Whether each test rejects in a sample."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    other = groups % 2 == 1
    scores = rng.beta(
        np.where(other, shapes[1], shapes[0]), np.where(other, shapes[0], shapes[1])
    )
    uniform = rng.random(len(scores))
    rows: dict[str, Any] = {"sensitive_features": groups, "random_state": seed}
    calibrated = calibration_test(uniform < scores, scores, n_draws=N_DRAWS, **rows)
    equal = permutation_test(
        calibration_gap, uniform < scores**2, scores, n_permutations=N_DRAWS, **rows
    )
    return calibrated.pvalue <= 0.05, equal.pvalue <= 0.05


def level(n_samples: int) -> None:
    for sizes in SIZES:
        for name, shapes in SHAPES.items():
            n = n_samples if sum(sizes) <= 1000 else n_samples // 2
            shares = np.mean([rejected(sizes, shapes, i) for i in range(n)], axis=0)
            text = ", ".join(
                f"{test} {share:.3f}"
                for test, share in zip(("calibrated", "equally"), shares, strict=True)
            )
            print(f"{sizes}, {name}: {text} of {n} samples", flush=True)


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
    parser.add_argument("what", nargs="?", choices=["speed", "bounds"])
    parser.add_argument("--samples", type=int, default=1000)
    options = parser.parse_args()
    if options.what is None:
        level(options.samples)
    else:
        {"speed": speed, "bounds": bounds}[options.what]()

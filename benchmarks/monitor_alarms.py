"""How often a monitor raises a false alarm, and how soon it raises a right one.

    python benchmarks/monitor_alarms.py [--runs 1000] [--looks 500]

Each look adds 20 rows of two groups. The first line of a metric is parity with an alarm
above 0, the share of runs with an alarm at any look; the second a disparity, and the
median number of rows at the first alarm. The first two runs of each go through
`FairnessMonitor` itself; the others compare the disparities of all looks, which are
found at once, with the noise that the monitor allowed there: it depends on the numbers
of rows only.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair.metrics import demographic_parity_difference, mcdp
from skfair.monitoring import FairnessMonitor

THRESHOLD, N_ROWS, N_WATCHED = 0.3, 20, 2
METRICS = {
    "mcdp": mcdp,
    "parity at .3": partial(demographic_parity_difference, threshold=THRESHOLD),
}
GROUPS = np.arange(N_ROWS) % 2
Floats = NDArray[np.float64]


def draw(shift: float, seed: int, n_looks: int) -> Floats:
    """Scores of all looks, shape (n_looks, N_ROWS)."""
    generator = np.random.default_rng(seed)
    return generator.beta(2 + shift * GROUPS, 5, size=(n_looks, N_ROWS))


def watch(name: str, scores: Floats) -> tuple[Floats, Floats, bool]:
    """Disparities at all looks, the largest that may be noise, and the alarm."""
    monitor = FairnessMonitor(METRICS[name])
    noise = []
    for batch in scores:
        monitor.update(None, batch, sensitive_features=GROUPS)
        found = monitor._compare(monitor.statistic_)
        level = (1 - monitor.confidence_level) / found.n_comparisons
        noise.append(found.value - found.low(level))
    return monitor.history_["value"].to_numpy(), np.array(noise), monitor.alarm_


def largest_gaps(scores: Floats) -> Floats:
    """MCDP(0) of all rows so far, at each look."""
    n_looks = len(scores)
    order = np.argsort(scores.ravel())
    look = np.repeat(np.arange(n_looks), N_ROWS)[order]
    steps = np.tile(2 * GROUPS - 1, n_looks)[order].astype(np.int16)
    seen = look <= np.arange(n_looks)[:, np.newaxis]
    sums = np.cumsum(seen * steps, axis=1, dtype=np.int16)
    return np.abs(sums).max(axis=1) / (np.arange(1, n_looks + 1) * N_ROWS / 2)


def differences(scores: Floats) -> Floats:
    """Difference of selection rates of all rows so far, at each look."""
    selected = (scores >= THRESHOLD) @ (2 * GROUPS - 1)
    n_of_group = np.arange(1, len(scores) + 1) * N_ROWS / 2
    return np.abs(np.cumsum(selected)) / n_of_group


PATHS: dict[str, Callable[[Floats], Any]] = {
    "mcdp": largest_gaps,
    "parity at .3": differences,
}


def first_alarms(name: str, shift: float, n_runs: int, n_looks: int) -> Floats:
    """Return the number of rows at each first alarm; infinite without one."""
    noise, rows = np.zeros(n_looks), np.full(n_runs, np.inf)
    for run in range(n_runs):
        scores = draw(shift, run, n_looks)
        path = PATHS[name](scores)
        if run < N_WATCHED:
            values, noise, alarm = watch(name, scores)
            assert np.allclose(values, path)
            assert alarm == (path > noise).any()
        alarms = np.flatnonzero(path > noise)
        if len(alarms):
            rows[run] = (alarms[0] + 1) * N_ROWS
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--looks", type=int, default=500)
    options = parser.parse_args()
    for name in METRICS:
        for shift in (0.0, 1.0):
            rows = first_alarms(name, shift, options.runs, options.looks)
            share = np.isfinite(rows).mean()
            text = f"{share:.3f} of {options.runs} runs with an alarm"
            if shift:
                text += f", half of them after {np.median(rows):,.0f} rows"
            print(f"{name:14s} shift {shift}: {text}", flush=True)


if __name__ == "__main__":
    main()

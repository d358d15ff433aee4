"""How often a monitor raises a false alarm, and how soon it raises a right one.

    python benchmarks/monitor_alarms.py [--runs 1000] [--looks 500]

Each look adds 20 rows of two groups. The first line of a metric is parity with an alarm
above 0, the share of runs with an alarm at any look; the second a disparity, and the
median number of rows at the first alarm.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
from joblib import Parallel, delayed

from skfair.metrics import demographic_parity_difference, mcdp
from skfair.monitoring import FairnessMonitor

METRICS = {
    "mcdp": mcdp,
    "parity at .3": partial(demographic_parity_difference, threshold=0.3),
}
N_ROWS = 20


def first_alarm(name: str, shift: float, seed: int, n_looks: int) -> float:
    """Return the number of rows at the first alarm; infinite without one."""
    generator = np.random.default_rng(seed)
    monitor = FairnessMonitor(METRICS[name])
    for look in range(n_looks):
        groups = np.arange(N_ROWS) % 2
        scores = generator.beta(2 + shift * groups, 5)
        monitor.update(None, scores, sensitive_features=groups)
        if monitor.alarm_:
            return (look + 1) * N_ROWS
    return np.inf


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--looks", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    parallel = Parallel(n_jobs=options.jobs)
    for name in METRICS:
        for shift in (0.0, 1.0):
            runs = options.runs if shift == 0 else options.runs // 10
            rows = np.array(
                parallel(
                    delayed(first_alarm)(name, shift, seed, options.looks)
                    for seed in range(runs)
                )
            )
            share = np.isfinite(rows).mean()
            text = f"{share:.3f} of {runs} runs with an alarm"
            if shift:
                text += f", half of them after {np.median(rows):,.0f} rows"
            print(f"{name:14s} shift {shift}: {text}", flush=True)


if __name__ == "__main__":
    main()

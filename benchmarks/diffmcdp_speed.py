"""Times 150 steps of DiffMCDPClassifier on Adult, and its gap alone.

    SKFAIR_DATA=<folder of the tables> python benchmarks/diffmcdp_speed.py

Run it on a machine that does nothing else; the target is 3 s on two cores.
"""

from __future__ import annotations

from functools import partial
from statistics import median

import numpy as np
from _paper_protocol import load_task, split
from _timing import seconds
from diffmcdp_table import NETWORKS

from skfair._penalty._smooth_gap import smooth_gap
from skfair.inprocessing import DiffMCDPClassifier

TARGET = 3.0


def time_training() -> None:
    rows = split(load_task("adult"), 0).train
    for network, options in NETWORKS.items():
        for dtype in (np.float32, np.float64):
            X = rows.X.to_numpy(dtype)
            model = DiffMCDPClassifier(random_state=0, **options | {"max_iter": 150})
            fit = partial(model.fit, X, rows.y, sensitive_features=rows.groups)
            taken = median(seconds(fit) for _ in range(3))
            print(
                f"150 steps, network {network}, {np.dtype(dtype)}: "
                f"{taken:.2f} s, {'met' if taken < TARGET else 'MISSED'}",
                flush=True,
            )


def time_gap() -> None:
    generator = np.random.default_rng(0)
    for n_samples in (1024, 20_000):
        scores, codes = generator.beta(1, 5, n_samples), np.arange(n_samples) % 2
        for objective in ("mcdp", "abcc", "dp"):
            gap = partial(
                smooth_gap, scores, codes, None, temperature=50, objective=objective
            )
            taken = 1e3 * median(seconds(gap) for _ in range(21))
            print(f"gap {objective:4s} of {n_samples} rows: {taken:.2f} ms")


if __name__ == "__main__":
    time_training()
    time_gap()

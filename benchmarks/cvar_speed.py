"""Time and memory of CVaR fairness on a million rows of ten thousand groups.

    python benchmarks/cvar_speed.py

Times are the least processor times of three calls; memory is the peak that Python and
NumPy allocate beyond the data, traced in a separate call.
"""

from __future__ import annotations

import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
from _timing import processor_seconds

from skfair.metrics import cvar_fairness, cvar_fairness_report, cvar_fairness_test

N_ROWS, N_GROUPS = 1_000_000, 10_000


def main() -> None:
    """Run all calls."""
    generator = np.random.default_rng(0)
    codes = generator.integers(0, N_GROUPS, N_ROWS)
    y_pred = (generator.random(N_ROWS) < 0.3).astype(int)
    columns = pd.DataFrame({name: codes // 10**i % 10 for i, name in enumerate("abcd")})
    value = partial(cvar_fairness, None, y_pred)
    weights = generator.dirichlet(np.ones(N_GROUPS))
    test = partial(cvar_fairness_test, None, y_pred, alpha=0.9, epsilon=0.1)
    calls = {
        "cvar_fairness, group codes": partial(value, sensitive_features=codes),
        "cvar_fairness, four columns": partial(value, sensitive_features=columns),
        "cvar_fairness, whole groups": partial(
            value, sensitive_features=codes, group_weights=weights, fractional=False
        ),
        "cvar_fairness_test, 1,000 permutations": partial(
            test, sensitive_features=codes, n_permutations=1000
        ),
        "cvar_fairness_report": partial(
            cvar_fairness_report, None, y_pred, sensitive_features=codes
        ),
    }
    for name, call in calls.items():
        seconds = processor_seconds(call, 3)
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        print(f"{name:40s} {seconds:8.3f} s {peak:8.0f} MiB", flush=True)


if __name__ == "__main__":
    main()

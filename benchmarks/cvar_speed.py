"""Time and memory of CVaR fairness on a million rows of ten thousand groups.

    python benchmarks/cvar_speed.py

Times are the median of repeats; memory is the peak that Python and NumPy allocate
beyond the data, traced in a separate call.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from skfair.metrics import (
    cvar_fairness,
    cvar_fairness_report,
    cvar_fairness_test,
    max_gap,
    max_gap_test,
    top_groups,
)

N_ROWS, N_GROUPS = 1_000_000, 10_000


def measure(name: str, call: Callable[[], Any], repeats: int, target: float) -> None:
    """Print the median time and the peak of memory of a call."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    verdict = "yes" if median(seconds) <= target else "NO"
    print(
        f"{name:58s} {median(seconds):8.3f} s (at most {target:g}: {verdict}) "
        f"{peak:8.0f} MiB",
        flush=True,
    )


def main() -> None:
    """Run all calls."""
    generator = np.random.default_rng(0)
    codes = generator.integers(0, N_GROUPS, N_ROWS)
    y_pred = (generator.random(N_ROWS) < 0.3).astype(int)
    y_true = (generator.random(N_ROWS) < 0.3).astype(int)
    digits = [codes // 10**place % 10 for place in range(4)]
    columns = pd.DataFrame(dict(zip("abcd", digits, strict=True)))
    print(f"{N_ROWS:,} rows, {N_GROUPS:,} groups\n")
    weights = generator.dirichlet(np.ones(N_GROUPS))
    for name, groups in (("group codes", codes), ("four columns", columns)):
        measure(
            f"cvar_fairness, {name}",
            lambda groups=groups: cvar_fairness(
                None, y_pred, sensitive_features=groups
            ),
            5,
            0.2,
        )
    options = {"sensitive_features": codes}
    measure("max_gap", lambda: max_gap(None, y_pred, **options), 5, 0.2)
    measure(
        "cvar_fairness, true positive rate",
        lambda: cvar_fairness(y_true, y_pred, quality="true_positive_rate", **options),
        5,
        0.2,
    )
    measure(
        "cvar_fairness, given weights, fractional=False",
        lambda: cvar_fairness(
            None, y_pred, group_weights=weights, fractional=False, **options
        ),
        5,
        0.2,
    )
    measure(
        "cvar_fairness_test, 1,000 permutations",
        lambda: cvar_fairness_test(
            None, y_pred, alpha=0.9, epsilon=0.1, n_permutations=1000, **options
        ),
        3,
        20,
    )
    measure(
        "max_gap_test, 1,000 permutations",
        lambda: max_gap_test(None, y_pred, n_permutations=1000, **options),
        3,
        20,
    )
    measure(
        "cvar_fairness_report",
        lambda: cvar_fairness_report(None, y_pred, **options),
        3,
        1,
    )
    measure("top_groups", lambda: top_groups(None, y_pred, **options), 3, 1)


if __name__ == "__main__":
    main()

"""Times of calls, in processor time, which other programs affect less."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def processor_seconds(call: Callable[[], Any], n_calls: int = 1) -> float:
    """Least processor time of several calls."""
    times = []
    for _ in range(n_calls):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def compare(
    name: str, ours: Callable[[], Any], theirs: Callable[[], Any], repeats: int = 9
) -> None:
    """Print the least times of two calls that alternate, and their ratio."""
    best = [float("inf")] * 2
    for _ in range(repeats):
        for position, call in enumerate((ours, theirs)):
            best[position] = min(best[position], processor_seconds(call))
    milliseconds = "".join(f"{1e3 * value:10.2f} ms" for value in best)
    print(f"{name:56s}{milliseconds}{best[0] / best[1]:10.3f}", flush=True)

"""Times of calls: wall time, two calls in turn, and processor time.

Calls that alternate cancel a drift of the machine's speed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any


def seconds(call: Callable[[], Any], n_calls: int = 1) -> float:
    """Wall time of one call, on average over calls in a row."""
    start = time.perf_counter()
    for _ in range(n_calls):
        call()
    return (time.perf_counter() - start) / n_calls


def processor_seconds(call: Callable[[], Any], n_calls: int = 1) -> float:
    """Least processor time of several calls."""
    times = []
    for _ in range(n_calls):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def pairs(
    ours: Callable[[], Any], theirs: Callable[[], Any], repeats: int, n_calls: int
) -> list[tuple[float, float]]:
    """Time `repeats` pairs of calls, after one pair that is not counted."""
    ours(), theirs()
    return [(seconds(ours, n_calls), seconds(theirs)) for _ in range(repeats)]


def compare(
    name: str,
    ours: Callable[[], Any],
    theirs: Callable[[], Any],
    *,
    at_most: float | None = None,
    at_least: float | None = None,
    repeats: int = 9,
    n_calls: int = 1,
) -> None:
    """Print a row: median times, the median ratio, and whether it meets its target.

    `at_most` bounds our time as a multiple of theirs; `at_least` is how many times
    faster than theirs we must be. Where theirs takes seconds and gigabytes, ours is
    the mean of `n_calls` in a row, since theirs has emptied the caches.
    """
    times = pairs(ours, theirs, repeats, n_calls)
    mine, other = (1e3 * median(column) for column in zip(*times, strict=True))
    slower = median(a / b for a, b in times)
    faster = median(b / a for a, b in times)
    shown, target, verdict = f"{slower:.2f} x", "", ""
    if at_most is not None:
        target, verdict = f"at most {at_most:g} x", "yes" if slower <= at_most else "NO"
    if at_least is not None:
        shown, target = f"{faster:.1f} x faster", f"at least {at_least:g} x faster"
        verdict = "yes" if faster >= at_least else "NO"
    print(
        f"{name:58s} {mine:10.3f} ms {other:11.3f} ms   {shown:16s} "
        f"{target:24s} {verdict}",
        flush=True,
    )

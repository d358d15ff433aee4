"""How soon a monitor finds a change, when it was, and how often there was none.

    python benchmarks/monitor_change.py [false_alarms] [day_30] [long_history] [growing]

- `false_alarms`: share of 1,000 runs of 500 looks with a `change_alarm_`, where groups
  do not differ. Counts are drawn, and the disparities of all looks are compared with
  thresholds that depend on the numbers of rows only; some are checked against
  `separation`.
- `day_30`: 500 rows a day, a disparity of 0.03, from day 30 on 0.22. The median day of
  the alarm, and how often the interval of `change_time_` covers day 30 at day 45.
- `long_history`: a change of 0.1 after 200 looks of 500 rows. Rows until
  `change_alarm_`.
- `growing`: share of 100 runs of 100 looks with a `change_alarm_`, where no scores
  change, but a third group with far larger ones grows by a row every fifth look, or
  appears at look 50.
"""

from __future__ import annotations

import sys
import warnings
from functools import reduce
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from skfair.metrics import demographic_parity_difference, mcdp
from skfair.metrics._quantiles import Comparisons, supremum_quantile
from skfair.monitoring import FairnessMonitor
from skfair.monitoring._fairness_monitor import (
    N_SCORES,
    add_look,
    look_share,
    separation,
    split_tail,
)

ALPHA, N_RUNS, N_LOOKS = 0.05, 1000, 500
Floats = NDArray[np.float64]


def below(metric: str, level: float, sizes: tuple[float, float]) -> float:
    """Distance from a value to the lower end, with two groups of these sizes."""
    if metric == "mcdp":
        return supremum_quantile(level, sides=4) * sum(1 / np.sqrt(sizes))
    return above(level / {"parity": 2, "odds": 8}[metric], sizes)


def above(level: float, sizes: tuple[float, float]) -> float:
    """Distance from a value to the upper end."""
    return float(np.sqrt(np.log(1 / level) / 2 * (1 / sizes[0] + 1 / sizes[1])))


def thresholds(
    metric: str, sizes: tuple[float, float], n_looks: int
) -> list[list[tuple[int, float, float]]]:
    """At each look each start, and how much the disparity may rise and fall there."""
    found = []
    for look in range(1, n_looks + 1):
        blocks = reduce(add_look, [0] * look, [])
        starts = [*accumulate(n for n, _ in blocks)][:-1]
        level = ALPHA * look_share(look)
        levels = split_tail(level / (4 * max(len(starts), 1)))
        entries = []
        for start in starts:
            before, since = (
                (sizes[0] * n, sizes[1] * n) for n in (start, look - start)
            )
            moves = [
                max(
                    below(metric, one, larger) + above(other, smaller)
                    for one, other in zip(levels[1:], levels[:0:-1], strict=True)
                )
                for larger, smaller in ((since, before), (before, since))
            ]
            entries.append((start, *moves))
        found.append(entries)
    return found


def check_threshold(metric: str, sizes: tuple[float, float], n_looks: int) -> None:
    """Compare a threshold with the monitor's own bounds of rows of these numbers."""
    functions = {"mcdp": mcdp, "parity": demographic_parity_difference}
    if metric not in functions:
        return
    monitor = FairnessMonitor(functions[metric], min_group_size=1)
    start, rise, fall = thresholds(metric, sizes, n_looks)[-1][-1]
    n_starts = len(reduce(add_look, [0] * n_looks, [])) - 1
    tail = ALPHA * look_share(n_looks) / (4 * n_starts)
    found = []
    for n in (start, n_looks - start):
        groups = np.repeat([0, 1], [n * size for size in sizes])
        monitor.update(None, np.full(len(groups), 0.5), sensitive_features=groups)
        found.append(monitor._compare_once(monitor.table_))
        monitor = FairnessMonitor(functions[metric], min_group_size=1)
    for move, larger, smaller in ((rise, found[1], found[0]), (fall, *found)):
        for by, sign in ((move * 1.001, 1), (move * 0.999, -1)):
            moved = Comparisons(
                by,
                larger.n_comparisons,
                lambda level, by=by, one=larger: one.low(level) + by,
                lambda level, by=by, one=larger: one.high(level) + by,
            )
            assert np.sign(separation(moved, smaller, tail)) == sign or move > 1


def paths(metric: str, sizes: tuple[int, int], run: int, n_looks: int) -> Floats:
    """Signed sums behind the disparity of all rows so far, shape (looks + 1, ...).

    The disparity of looks i to j is the largest absolute difference of two entries over
    j - i.
    """
    rng = np.random.default_rng(run)
    if metric == "mcdp":
        shares = np.full(N_SCORES, 1 / N_SCORES)
        drawn = [rng.multinomial(n, shares, n_looks) / n for n in sizes]
        steps = np.cumsum(drawn[0] - drawn[1], axis=1)
    elif metric == "parity":
        steps = np.diff([rng.binomial(n, 0.5, (n_looks, 1)) / n for n in sizes], axis=0)
    else:  # half of the rows of each group have each true label
        steps = np.diff(
            [rng.binomial(n // 2, 0.5, (n_looks, 2)) / (n // 2) for n in sizes], axis=0
        )
    steps = steps.reshape(n_looks, -1)
    return np.concatenate([np.zeros((1, steps.shape[1])), np.cumsum(steps, axis=0)])


def alarms(path: Floats, limits: list[list[tuple[int, float, float]]]) -> bool:
    """Whether the disparity since any start differs from that before it by too much."""
    whole = np.abs(path).max(axis=1)
    for look, entries in enumerate(limits, start=1):
        if not entries:
            continue
        starts, rises, falls = map(np.array, zip(*entries, strict=True))
        since = np.abs(path[look] - path[starts]).max(axis=1) / (look - starts)
        moved = since - whole[starts] / starts
        if (moved > rises).any() or (-moved > falls).any():
            return True
    return False


def false_alarms() -> None:
    for metric in ("mcdp", "parity", "odds"):
        for sizes in ((50, 50), (2, 18), (250, 250)):
            of_classes = tuple(n / 2 for n in sizes) if metric == "odds" else sizes
            limits = thresholds(metric, of_classes, N_LOOKS)
            for n_looks in (20, N_LOOKS):
                check_threshold(metric, sizes, n_looks)
            n_found = sum(
                alarms(paths(metric, sizes, run, N_LOOKS), limits)
                for run in range(N_RUNS)
            )
            print(
                f"{metric}, {sizes} rows a look: {n_found} of {N_RUNS} runs", flush=True
            )


def scores_of(
    rng: np.random.Generator, n_rows: int, gap: float
) -> tuple[Floats, Floats]:
    """Scores of two groups whose MCDP is the gap."""
    groups = rng.integers(0, 2, n_rows)
    scores = rng.random(n_rows)
    scores = np.where(groups == 1, gap + (1 - gap) * scores, scores)
    return np.floor(scores * 1000) / 1000, groups


def day_30(n_runs: int = 200) -> None:
    days, covered, widths, errors = [], 0, [], []
    for run in range(n_runs):
        rng, monitor = np.random.default_rng(run), FairnessMonitor(mcdp, at_most=0.2)
        for day in range(46):
            scores, groups = scores_of(rng, 500, 0.03 if day < 30 else 0.22)
            monitor.update(None, scores, sensitive_features=groups)
        history = monitor.history_
        found = history.index[history["change_alarm"]]
        days.append(found[0] if len(found) else np.inf)
        time = monitor.change_time_
        if time is not None:
            covered += time.lower <= 30 <= time.upper
            widths.append(time.upper - time.lower)
            errors.append(abs(time.value - 30))
    early = np.mean(np.array(days) < 30)
    print(f"day 30: alarm on day {np.median(days)} in the median, early in {early}")
    print(
        f"interval of the time covers day 30 in {covered} of {n_runs} runs, "
        f"median width {np.median(widths)}, mean error {np.mean(errors)}"
    )


def long_history(n_runs: int = 11) -> None:
    rows = []
    for run in range(n_runs):
        rng = np.random.default_rng(run)
        monitor = FairnessMonitor(mcdp, at_most=0.2)
        for look in range(400):
            scores, groups = scores_of(rng, 500, 0.0 if look < 200 else 0.1)
            monitor.update(None, scores, sensitive_features=groups)
            if monitor.change_alarm_:
                break
        rows.append((look - 199) * 500 if monitor.change_alarm_ else np.inf)
    print(f"change of .1 after 100,000 rows: alarm after {np.median(rows):,} rows")


def growing(n_runs: int = 100, n_looks: int = 100) -> None:
    for name, rows in (
        ("grows", [int(look % 5 == 0) for look in range(n_looks)]),
        ("appears", [5 * (look >= n_looks // 2) for look in range(n_looks)]),
    ):
        n_found = 0
        for run in range(n_runs):
            rng = np.random.default_rng(run)
            monitor = FairnessMonitor(mcdp, at_most=0.9)
            for n_third in rows:
                groups = np.repeat([0, 1, 2], [20, 20, n_third])
                scores = rng.beta(np.where(groups == 2, 20, 2), 5).round(3)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    monitor.update(None, scores, sensitive_features=groups)
            n_found += monitor.change_alarm_
        print(f"a group {name}: {n_found} of {n_runs} runs", flush=True)


if __name__ == "__main__":
    functions = false_alarms, day_30, long_history, growing
    studies = {one.__name__: one for one in functions}
    for name in sys.argv[1:] or studies:
        studies[name]()

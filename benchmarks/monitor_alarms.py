"""How often a monitor raises a false alarm, and how soon it raises a right one.

    python benchmarks/monitor_alarms.py [--runs 1000] [--looks 500] [--metric mcdp]

Each look adds 20 rows of two groups, 10 and 10 or 2 and 18. Lines with "no alarm due"
have a true disparity of at most the limit: the share of runs with an alarm at any look.
The others, of a fifth of the runs, have a disparity above the limit, and the median
number of rows at the first alarm. Beside it are the rows of the textbook's test of
fixed size with power one half (a normal difference of rates, Kolmogorov's bound).

The first two runs of each line go through `FairnessMonitor` itself. The others find the
disparities of all looks at once, and the lower end only at looks at which a bound of it
is above the limit.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import beta

from skfair.metrics import demographic_parity_difference, mcdp
from skfair.metrics._anytime import (
    gap_variance,
    log_e_value,
    two_means,
    variances_at_any_time,
)
from skfair.metrics._confidence_interval import compare, observe
from skfair.metrics._quantiles import supremum_quantile
from skfair.monitoring import FairnessMonitor

N_ROWS, N_WATCHED, LEVEL = 20, 2, 0.05
#: A monitor keeps a tenth of its level for groups that appear later.
TAIL = 0.9 * LEVEL
THRESHOLD = 0.3
METRICS = ("mcdp", "parity at .3")
Floats = NDArray[np.float64]


class Stream(NamedTuple):
    """Scores of two groups, Beta(2, 5) and Beta(2 + shift, 5), and what is watched."""

    name: str
    shift: float
    at_most: float
    n_first: int  # of the 20 rows of each look

    @property
    def metric(self) -> Callable[..., float]:
        """What a monitor watches."""
        if self.name == "mcdp":
            return mcdp
        return partial(demographic_parity_difference, threshold=THRESHOLD)

    @property
    def groups(self) -> NDArray[np.intp]:
        """Group of each row of a look."""
        return (np.arange(N_ROWS) >= self.n_first).astype(np.intp)

    def draw(self, seed: int, n_looks: int) -> Floats:
        """Scores of all looks, shape (n_looks, N_ROWS)."""
        generator = np.random.default_rng(seed)
        return generator.beta(2 + self.shift * self.groups, 5, size=(n_looks, N_ROWS))

    def sizes(self, n_looks: int) -> Floats:
        """Numbers of rows of both groups at each look, shape (2, n_looks)."""
        looks = np.arange(1, n_looks + 1, dtype=float)
        return np.array([self.n_first, N_ROWS - self.n_first])[:, None] * looks


def gap_of(name: str, shift: float) -> float:
    """Return the true disparity."""
    scores = np.linspace(0, 1, 10001) if name == "mcdp" else np.array([THRESHOLD])
    return float((beta.cdf(scores, 2, 5) - beta.cdf(scores, 2 + shift, 5)).max())


def shift_of(name: str, gap: float) -> float:
    """Shift of a true disparity."""
    return float(brentq(lambda shift: gap_of(name, shift) - gap, 0, 10))


def largest_gaps(stream: Stream, scores: Floats) -> Floats:
    """MCDP(0) of all rows so far, at each look."""
    n_looks, groups = len(scores), stream.groups
    order = np.argsort(scores.ravel())
    look = np.repeat(np.arange(n_looks), N_ROWS)[order]
    n_first, n_second = stream.n_first, N_ROWS - stream.n_first
    steps = np.tile(np.where(groups, n_first, -n_second), n_looks)[order]
    seen = look <= np.arange(n_looks)[:, np.newaxis]
    sums = np.cumsum(seen * steps.astype(np.int32), axis=1, dtype=np.int32)
    return np.abs(sums).max(axis=1) / np.arange(1, n_looks + 1) / (n_first * n_second)


def rates_so_far(stream: Stream, scores: Floats) -> Floats:
    """Return the selection rates of all rows so far, shape (2, n_looks)."""
    selected = scores >= THRESHOLD
    hits = np.array([selected[:, stream.groups == g].sum(axis=1) for g in (0, 1)])
    return np.cumsum(hits, axis=1) / stream.sizes(len(scores))


def evaluate(stream: Stream, scores: Floats) -> tuple[Floats, Floats]:
    """Disparity and its largest lower end at each look."""
    sizes = stream.sizes(len(scores))
    if stream.name == "mcdp":
        values = largest_gaps(stream, scores)
        noise = two_means(gap_variance(sizes), TAIL, sides=2)
        most = values + 1 / np.maximum(sizes.min(axis=0) - 1, 1e-3) - noise
        return values, most
    rates = rates_so_far(stream, scores)
    values = np.abs(rates[0] - rates[1])
    # Rates that are the limit apart, as close to those seen as their noise tells.
    far = np.maximum(values - stream.at_most, 0) * np.sign(rates[1] - rates[0])
    moved = rates + far * np.array([[1], [-1]]) * (1 / sizes) / (1 / sizes).sum(axis=0)
    inside = np.clip(moved, 1e-9, 1 - 1e-9)
    evidence = log_e_value(inside, sizes * rates, sizes * (1 - rates)).sum(axis=0)
    noise = two_means(variances_at_any_time(sizes).sum(axis=0), TAIL / 2, sides=2)
    return values, np.where(evidence < -math.log(TAIL / 2), values - noise, 1.0)


def first_alarms(stream: Stream, n_runs: int, n_looks: int) -> Floats:
    """Rows at the first alarm of each run; infinite if none."""
    rows = np.full(n_runs, np.inf)
    for run in range(n_runs):
        scores = stream.draw(run, n_looks)
        values, most = evaluate(stream, scores)
        alarm = next(exact_alarms(stream, scores, most > stream.at_most), None)
        if alarm is not None:
            rows[run] = (alarm + 1) * N_ROWS
        if run < N_WATCHED:
            check(stream, scores[: n_looks if alarm is None else alarm + 2], values)
    return rows


def exact_alarms(
    stream: Stream, scores: Floats, candidates: NDArray[np.bool_]
) -> Iterator[int]:
    """Find looks, of some, at which the lower end is above the limit."""
    for look in np.flatnonzero(candidates):
        groups = np.tile(stream.groups, look + 1)
        observed = observe(stream.metric, None, scores[: look + 1].ravel(), groups)
        if compare(stream.metric, observed, "anytime").low(TAIL) > stream.at_most:
            yield int(look)


def check(stream: Stream, scores: Floats, values: Floats) -> None:
    """Compare disparities and alarms with those of a monitor, whose last are due."""
    monitor = FairnessMonitor(stream.metric, at_most=stream.at_most)
    for batch in scores:
        monitor.update(None, batch, sensitive_features=stream.groups)
    history = monitor.history_
    assert np.allclose(history["value"], values[: len(scores)])
    due = exact_alarms(stream, scores, np.full(len(scores), True))
    assert history["alarm"].to_numpy().argmax() == next(due, 0)


def rows_of_textbook(stream: Stream) -> float:
    """Rows for which the textbook's noise is the distance from the limit."""
    gap = gap_of(stream.name, stream.shift)
    quantile, variances = supremum_quantile(LEVEL), np.ones(2)
    if stream.name != "mcdp":
        rates = beta.sf(THRESHOLD, 2 + stream.shift * np.arange(2), 5)
        quantile, variances = -ndtri(LEVEL / 2), rates * (1 - rates)
    spread = N_ROWS * variances / [stream.n_first, N_ROWS - stream.n_first]
    return float(quantile**2 * spread.sum() / (gap - stream.at_most) ** 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--looks", type=int, default=500)
    parser.add_argument("--metric", choices=METRICS, nargs="*", default=METRICS)
    options = parser.parse_args()
    for name in options.metric:
        shift = shift_of(name, 0.3)
        for due, *given in (
            (False, 0.0, 0.0, 10),
            (False, 0.0, 0.0, 2),
            (False, shift, 0.3, 10),
            (False, shift, 0.3, 2),
            (True, 1.0, 0.0, 10),
            (True, 1.0, 0.0, 2),
            (True, shift, 0.2, 10),
            (True, shift, 0.2, 2),
        ):
            stream = Stream(name, *given)
            gap = gap_of(name, stream.shift)
            text = f"{name:12s} {gap:.2f}, limit {stream.at_most:.1f}, "
            text += f"{stream.n_first}:{N_ROWS - stream.n_first}: "
            n_runs = options.runs // 5 if due else options.runs
            rows = first_alarms(stream, n_runs, options.looks)
            share = np.isfinite(rows).mean()
            if not due:
                print(f"{text}no alarm due, {share:.3f} raised", flush=True)
                continue
            median, textbook = np.median(rows), rows_of_textbook(stream)
            print(
                f"{text}{share:.3f} found, half of them by {median:,.0f} rows; "
                f"textbook {textbook:,.0f} rows, times {median / textbook:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""How often a monitor raises a false alarm, and how soon it raises a right one.

    python benchmarks/monitor_alarms.py [--runs 1000] [--looks 500] [--metric mcdp]
    python benchmarks/monitor_alarms.py --growing [--runs 2000] [--looks 300]

Each look adds 20 rows of two groups, 10 and 10 or 2 and 18. Lines with "no alarm due"
have a true disparity of at most the limit: the share of runs with an alarm at any look.
The others, of a fifth of the runs, have a disparity above the limit, and the median
number of rows at the first alarm. Beside it are the rows of the textbook's test of
fixed size with power one half (a normal difference of rates, Kolmogorov's bound).

The first two runs of each line go through `FairnessMonitor` itself. The others find the
disparities of all looks at once, and the lower end only at looks at which a bound of it
is above the limit.

With ``--growing`` selection rates of three or more groups are watched, of which some
come in single rows, and some appear at look 100. Alarms are for a disparity that is at
most the limit; misses are of intervals, which at some look lie above or below the
disparity of the groups that have ten rows by then.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import beta

from skfair.metrics import confidence_interval, demographic_parity_difference, mcdp
from skfair.metrics._anytime import (
    gap_variance,
    log_e_value,
    mean_difference_noise,
    rate_ends,
    variances_at_any_time,
)
from skfair.metrics._quantiles import supremum_quantile
from skfair.monitoring import FairnessMonitor

N_ROWS, N_WATCHED, LEVEL, N_LEAST = 20, 2, 0.05, 10
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
        noise = mean_difference_noise(gap_variance(sizes), TAIL, sides=2)
        most = values + 1 / np.maximum(sizes.min(axis=0) - 1, 1e-3) - noise
        return values, most
    rates = rates_so_far(stream, scores)
    values = np.abs(rates[0] - rates[1])
    # Rates that are the limit apart, as close to those seen as their noise tells.
    far = np.maximum(values - stream.at_most, 0) * np.sign(rates[1] - rates[0])
    moved = rates + far * np.array([[1], [-1]]) * (1 / sizes) / (1 / sizes).sum(axis=0)
    inside = np.clip(moved, 1e-9, 1 - 1e-9)
    evidence = log_e_value(inside, sizes * rates, sizes * (1 - rates)).sum(axis=0)
    noise = mean_difference_noise(
        variances_at_any_time(sizes).sum(axis=0), TAIL / 2, sides=2
    )
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
        found = confidence_interval(
            stream.metric,
            None,
            scores[: look + 1].ravel(),
            sensitive_features=groups,
            method="anytime",
            confidence_level=1 - 2 * TAIL,
        )
        if found.lower > stream.at_most:
            yield int(look)


def check(stream: Stream, scores: Floats, values: Floats) -> None:
    """Compare disparities and alarms with those of a monitor, whose last are due."""
    monitor = FairnessMonitor(stream.metric, at_most=stream.at_most, min_group_size=1)
    for batch in scores:
        monitor.update(None, batch, sensitive_features=stream.groups)
    history = monitor.history_
    assert np.allclose(history["value"], values[: len(scores)])
    due = exact_alarms(stream, scores, np.full(len(scores), True))
    assert history["alarm"].to_numpy().argmax() == next(due, 0)


class Growing(NamedTuple):
    """Groups with their rows at each look, first looks, and selection rates."""

    name: str
    rows: tuple[float, ...]  # 0.2 is one row at every fifth look
    rates: tuple[float, ...]
    first: tuple[int, ...]

    def sizes(self, n_looks: int) -> Floats:
        """Return the numbers of rows so far, shape (n_groups, n_looks)."""
        looks = np.arange(1, n_looks + 1)
        rows, first = np.array([self.rows, self.first])[:, :, None]
        return np.floor(np.maximum(looks - first, 0) * rows + 1e-9)

    def draw(self, seed: int, sizes: Floats) -> Floats:
        """Return the numbers of selected rows so far."""
        generator = np.random.default_rng(seed)
        new = np.diff(sizes, axis=1, prepend=0).astype(np.intp)
        rates = np.array(self.rates)[:, None]
        return np.cumsum(generator.binomial(new, rates), axis=1).astype(float)


def tails_of(sizes: Floats) -> tuple[Floats, Floats]:
    """Return the share of the level at each look: of a pair, and of an upper end."""
    known, large = sizes > 0, sizes >= N_LEAST
    tails, epoch, last = np.full((2, sizes.shape[1]), math.nan), 0, 0
    for look in np.flatnonzero(large.sum(axis=0) > 1):
        n_known = int(known[:, look].sum())
        if n_known != last:
            epoch, last = epoch + 1, n_known
            share = 0.9 if epoch < 2 else 0.1 / (epoch * (epoch - 1))
            n_sets = 1 + n_known - int(large[:, look].sum())
        pairs = n_known * (n_known - 1) / 2
        tails[:, look] = LEVEL * share / pairs, LEVEL * share / n_sets
    return tails[0], tails[1]


def noises(sizes: Floats, tails: Floats, *, sides: int) -> Floats:
    """Return the noise of a difference at each look, at half of a level each."""
    variances, found = variances_at_any_time(sizes).sum(axis=0), np.empty_like(tails)
    for tail in np.unique(tails):
        here = tails == tail
        found[here] = mean_difference_noise(variances[here], tail / 2, sides=sides)
    return found


def may_reject(
    first: Floats, second: Floats, sizes: Floats, gap: Floats, tails: Floats
) -> NDArray[np.bool_]:
    """Whether the evidence may tell that the first rate is not larger by a gap.

    It is that of a pair of rates with this gap; that of others may be less.
    """
    shares = (1 / sizes[0]) / (1 / sizes).sum(axis=0)
    moved = first - (first - second - gap) * shares
    moved = np.clip(moved, gap + 1e-9, 1 - 1e-9)
    inside = np.clip([moved, moved - gap], 1e-9, 1 - 1e-9)
    rates = np.array([first, second])
    evidence = log_e_value(inside, sizes * rates, sizes * (1 - rates)).sum(axis=0)
    return np.asarray(evidence >= -np.log(tails / 2))


def watch_growing(
    layout: Growing, n_runs: int, n_looks: int
) -> tuple[list[bool], list[bool]]:
    """Whether each run has a false alarm, and an interval that misses."""
    sizes, true = layout.sizes(n_looks), np.array(layout.rates)
    large, at_most = sizes >= N_LEAST, float(np.ptp(true))
    of_pair, of_upper = tails_of(sizes)
    truth = np.array([np.ptp(true[kept]) if kept.any() else 0 for kept in large.T])
    pairs = []
    for pair in combinations(np.argsort(-true), 2):
        looks = np.flatnonzero(large[list(pair)].all(axis=0))
        own = sizes[list(pair)][:, looks]
        below = noises(own, of_pair[looks], sides=2)
        above = noises(own, of_upper[looks] / 2, sides=1)
        pairs.append((list(pair), looks, own, below, above))
    alarms, misses = [], []
    for run in range(n_runs):
        rates = layout.draw(run, sizes) / np.maximum(sizes, 1)
        candidates = np.zeros(n_looks, bool)
        for pair, looks, own, below, above in pairs:
            (first, second), due = rates[pair][:, looks], truth[looks]
            larger, smaller = np.maximum(first, second), np.minimum(first, second)
            order = np.where(first < second, own[::-1], own)
            rejects = may_reject(larger, smaller, order, due, of_pair[looks])
            candidates[looks] |= rejects & (larger - smaller > due)
            candidates[looks] |= larger - smaller - due > below
            apart = float(true[pair[0]] - true[pair[1]])
            largest = due <= apart + 1e-9
            rejects = may_reject(first, second, own, due, of_upper[looks] / 2)
            rejects |= first - second + above < due
            candidates[looks] |= rejects & largest
        alarm = miss = False
        for look in np.flatnonzero(candidates):
            kept = large[:, look]
            ends = rate_ends(rates[kept, look][:, None], sizes[kept, look][:, None])
            alarm |= ends[0](of_pair[look]) > at_most
            miss |= ends[0](of_pair[look] / 2) > truth[look] + 1e-9
            miss |= ends[1](of_upper[look] / 2) < truth[look] - 1e-9
        alarms.append(bool(alarm))
        misses.append(bool(miss))
        if run < N_WATCHED:
            check_growing(layout, run, n_looks, (alarms[-1], misses[-1]))
    return alarms, misses


def check_growing(
    layout: Growing, run: int, n_looks: int, found: tuple[bool, bool]
) -> None:
    """Compare with what a monitor finds in the same rows."""
    sizes = layout.sizes(n_looks)
    hits = layout.draw(run, sizes)
    true, large = np.array(layout.rates), sizes >= N_LEAST
    metric = demographic_parity_difference
    monitor = FairnessMonitor(
        metric, at_most=float(np.ptp(true)), confidence_level=1 - LEVEL
    )
    for look in range(n_looks):
        new, chosen = (
            np.diff(numbers, axis=1, prepend=0)[:, look].astype(int)
            for numbers in (sizes, hits)
        )
        groups = np.repeat(np.arange(len(new)), new)
        outcomes = [
            np.arange(n) < n_chosen for n, n_chosen in zip(new, chosen, strict=True)
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            monitor.update(
                None,
                np.concatenate(outcomes).astype(int),
                sensitive_features=groups,
            )
    history = monitor.history_[large.sum(axis=0) > 1]
    truth = np.array([np.ptp(true[large[:, look]]) for look in history.index])
    missed = (history["lower"] > truth + 1e-9) | (history["upper"] < truth - 1e-9)
    assert found == (monitor.alarm_, missed.any())


GROWING = (
    Growing("10, 10 and 0.2 rows", (10, 10, 0.2), (0.5, 0.5, 0.5), (0, 0, 0)),
    Growing("10, 10 and 0.2, 0.3 apart", (10, 10, 0.2), (0.5, 0.5, 0.8), (0, 0, 0)),
    Growing(
        "20, 20, 5, 1, 0.2 and 0.1", (20, 20, 5, 1, 0.2, 0.1), (0.1,) * 6, (0,) * 6
    ),
    Growing(
        "18, 2, 0.2 and 0.2, 0.1 apart",
        (18, 2, 0.2, 0.2),
        (0.3, 0.4, 0.35, 0.3),
        (0,) * 4,
    ),
    Growing("10 and 10, 2 from look 100 on", (10, 10, 2), (0.5,) * 3, (0, 0, 100)),
)


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
    parser.add_argument("--growing", action="store_true")
    options = parser.parse_args()
    if options.growing:
        for layout in GROWING:
            found = watch_growing(layout, options.runs, options.looks)
            alarms, misses = (
                f"{np.mean(one):.4f} +- {np.std(one) / math.sqrt(len(one)):.4f}"
                for one in found
            )
            print(f"{layout.name}: alarms {alarms}, misses {misses}", flush=True)
        return
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

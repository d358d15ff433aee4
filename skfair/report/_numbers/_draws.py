"""P-values of all metrics and the interval of DCP, from draws of rows or counts.

Rows are drawn as `permutation_test` and `bootstrap_interval` draw them, so that either
returns the numbers of the report. Counts stand for many rows.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.parallel import Parallel, delayed

from skfair._utils._progress import Progress
from skfair._utils._types import Floats, Integers
from skfair.groups import Codes, positions_in, sort_labels
from skfair.metrics._uncertainty import (
    ROUNDING,
    basic_interval,
    check_seed,
    count_smaller,
    exact_pvalue,
    shuffled_codes,
    stratified_draws,
)
from skfair.report._inputs import Audit
from skfair.report._numbers._cells import Cells
from skfair.report._numbers._intervals import Interval
from skfair.report._numbers._sample import Sample, sort_by_group
from skfair.report._options import OF_ERRORS, TIES, Options

#: DCP is computed again in each draw where its exact search, which enumerates
#: vertices, takes milliseconds.
_FEW_VERTICES = 1000
#: Metric whose tied permutations are compared by another.
TIED = "equalized_odds_difference"
#: An interval or a test of fewer defined draws than this share is not given.
_ENOUGH = 0.5

#: Draws of counts in one job. Each job has a generator of its own, so that the
#: numbers do not depend on how many processes there are.
_BLOCK = 20

#: Values of each metric in all draws, nan where it is undefined.
Draws = dict[str, Floats]


class Drawn(NamedTuple):
    """Bootstrap and permutation draws, and the values of what was drawn from.

    `observed` has no metric where these are the values of the metrics themselves.
    """

    bootstrap: Draws
    permutation: Draws
    observed: dict[str, float]


class _Job(NamedTuple):
    """Some draws of one sample, from a seed, or from a generator for counts."""

    source: Sample | Cells
    kind: str
    n_draws: int
    seed: Any
    n_groups: int

    @property
    def work(self) -> int:
        """Time that the draws take, in the time of one draw of one group."""
        return self.n_draws * self.n_groups


def draw_all(samples: list[Sample]) -> list[Drawn]:
    """Bootstrap and permutation draws of every sample."""
    options, sources = samples[0].audit.options, [_source(s) for s in samples]
    jobs = [job for pair in zip(samples, sources, strict=True) for job in _jobs(*pair)]
    # The largest come first, so that no process is left alone with one at the end.
    order = sorted(range(len(jobs)), key=lambda i: -jobs[i].work)
    done = dict(zip(order, _run([jobs[i] for i in order], options), strict=True))

    def join(source: Sample | Cells, kind: str) -> Draws:
        parts = [
            done[i]
            for i, job in enumerate(jobs)
            if job.source is source and job.kind == kind
        ]
        keys = parts[0] if parts else ()
        return {key: np.concatenate([part[key] for part in parts]) for key in keys}

    return [
        Drawn(
            join(source, "bootstrap"),
            join(source, "permutation"),
            _observed(source),
        )
        for source in sources
    ]


def _observed(source: Sample | Cells) -> dict[str, float]:
    """Values of what was drawn from that are not those of the metrics."""
    if isinstance(source, Cells):
        return source.values()
    if not source.comparable or TIED not in source.keys:
        return {}
    return source.values(sort_by_group(source.attribute.groups.codes), (TIES,))


def _source(sample: Sample) -> Sample | Cells:
    """Return what is drawn from, rows or counts."""
    many = sample.comparable and sample.audit.counts_are_drawn
    return Cells.from_sample(sample) if many else sample


def _jobs(sample: Sample, source: Sample | Cells) -> list[_Job]:
    """Draws of rows are one job for each kind, draws of counts are many."""
    options, n_groups = sample.audit.options, len(sample.attribute.groups.labels)
    numbers = {"bootstrap": options.n_resamples, "permutation": options.n_permutations}
    jobs = []
    for kind, n_draws in numbers.items():
        keys = _drawn_keys(source, kind, n_groups)
        n_draws = n_draws if sample.comparable and keys else 0
        seed: Any = options.random_state
        if isinstance(source, Sample):
            jobs.append(_Job(source, kind, n_draws, seed, n_groups))
            continue
        starts = range(0, n_draws, _BLOCK)
        generators = check_seed(seed).spawn(len(starts))
        jobs += [
            _Job(source, kind, min(_BLOCK, n_draws - start), generator, n_groups)
            for start, generator in zip(starts, generators, strict=True)
        ]
    return jobs


def _run(jobs: list[_Job], options: Options) -> Iterator[Draws]:
    """Do the jobs in order, and show how far they are."""
    progress = _DrawsDone(jobs, options.verbose)
    if options.n_jobs in (None, 1):
        for job in jobs:
            yield _draw(job, progress)
        return
    parallel = Parallel(n_jobs=options.n_jobs, return_as="generator")
    for job, draws in zip(
        jobs, parallel(delayed(_draw)(job) for job in jobs), strict=True
    ):
        progress(job, job.n_draws)
        yield draws


class _DrawsDone:
    """Counts draws on the standard error stream, and estimates the time left."""

    def __init__(self, jobs: list[_Job], verbose: int) -> None:
        self.total = sum(job.n_draws for job in jobs)
        self.work = sum(job.work for job in jobs)
        self.done = self.work_done = 0
        self.progress = Progress("FairnessReport", verbose)
        self.start = time.monotonic()

    def __call__(self, job: _Job, n_draws: int = 1) -> None:
        self.done += n_draws
        self.work_done += n_draws * job.n_groups
        text = f"{self.done:,} of {self.total:,} draws"
        if self.done == self.total:
            self.progress.line(text)
            return
        passed = time.monotonic() - self.start
        left = passed * (self.work / self.work_done - 1)
        self.progress.update(f"{text}, about {duration(left)} left")


def duration(seconds: float) -> str:
    """Write a number of seconds, in minutes or hours where it is large."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _draw(job: _Job, tick: Callable[[_Job], Any] = lambda job: None) -> Draws:
    """Compute the metrics on many draws."""
    keys = _drawn_keys(job.source, job.kind, job.n_groups)
    drawn = {key: np.full(job.n_draws, np.nan) for key in keys}
    with warnings.catch_warnings():
        # Undefined draws are counted, and the count is reported.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        for i, values in zip(range(job.n_draws), _values(job, keys), strict=False):
            for key, value in values.items():
                drawn[key][i] = value
            tick(job)
    return drawn


def _drawn_keys(source: Sample | Cells, kind: str, n_groups: int) -> tuple[str, ...]:
    """Metrics that are computed on draws: all are permuted, DCP is resampled."""
    keys, n_classes = source.measuring.keys, source.n_classes
    skipped = set(keys) - {"dcp"} if kind == "bootstrap" else set()
    if comb(n_groups + n_classes - 2, n_classes - 1) > _FEW_VERTICES:
        skipped.add("dcp")
    ties = (TIES,) if kind == "permutation" and TIED in keys else ()
    return (*(key for key in keys if key not in skipped), *ties)


def _values(job: _Job, keys: tuple[str, ...]) -> Iterator[dict[str, float]]:
    """Metrics of one draw after the other."""
    source = job.source
    if isinstance(source, Cells):
        draw = source.bootstrap if job.kind == "bootstrap" else source.permutation
        while True:
            yield draw(job.seed, keys)
    draws = _bootstraps if job.kind == "bootstrap" else _permutations
    for parts in draws(source, keys):
        found = [source.values(rows, kept) for rows, kept in parts]
        yield {key: value for values in found for key, value in values.items()}


#: Rows of a draw, and the metrics that are computed on them.
Parts = list[tuple[Integers, tuple[str, ...]]]


def _bootstraps(sample: Sample, keys: tuple[str, ...]) -> Iterator[Parts]:
    """Draw rows within each group, with replacement."""
    generator = check_seed(sample.audit.options.random_state)
    draw = stratified_draws(sample.attribute.groups, generator)
    while True:
        yield [(draw(), keys)]


def _permutations(sample: Sample, keys: tuple[str, ...]) -> Iterator[Parts]:
    """Permute groups over all rows, or over those of a true class."""
    for draw in permuted_codes(sample.audit, sample.attribute.groups.codes, keys):
        yield [(sort_by_group(codes), kept) for codes, kept in draw]


#: Codes of groups, and the metrics that are computed with them.
PermutedCodes = list[tuple[Codes, tuple[str, ...]]]


def permuted_codes(
    audit: Audit, codes: Codes, keys: Sequence[str], strata: Codes | None = None
) -> Iterator[PermutedCodes]:
    """Permute groups, within strata if given; for metrics of errors, within classes.

    Equalized odds allow groups to differ in their classes, and the rates of a group
    with few positives are noisy.
    """
    rows = np.flatnonzero(codes >= 0)
    if (weights := audit.sample_weight) is not None:
        rows = rows[weights[rows] > 0]
    columns = [] if strata is None else [strata[rows]]
    kinds = [(tuple(key for key in keys if key not in OF_ERRORS), columns)]
    if of_errors := tuple(key for key in keys if key in OF_ERRORS):
        assert audit.y_true is not None
        # In the order of permutation_test, whichever class is positive.
        order = positions_in(tuple(sort_labels(audit.classes)), audit.classes)
        kinds.append((of_errors, [*columns, order[audit.y_true[rows]]]))
    # A generator each, so that all numbers are those of permutation_test.
    drawn = [
        (_split(rows, within), check_seed(audit.options.random_state), kept)
        for kept, within in kinds
        if kept
    ]
    while True:
        yield [
            (shuffled_codes(codes, parts, generator), kept)
            for parts, generator, kept in drawn
        ]


def _split(rows: Integers, columns: list[NDArray[Any]]) -> list[Integers]:
    """Split rows by the values of some columns."""
    if not columns:
        return [rows]
    order = np.lexsort(columns[::-1])
    steps = np.any([np.diff(column[order]) != 0 for column in columns], axis=0)
    return np.split(rows[order], np.flatnonzero(steps) + 1)


class Uncertainty(NamedTuple):
    """Interval, certificate, mean under permutation and p-value; None where undefined.

    `as_large` is the share of permutations with a value at least as large, the given
    order included: the p-value, unless ties are broken. The last is the share of
    permutations in which the metric is undefined, None where there were none.
    """

    lower: float | None = None
    upper: float | None = None
    certified: float | None = None
    null_mean: float | None = None
    pvalue: float | None = None
    as_large: float | None = None
    without_test: float | None = None


def uncertainty(
    value: float,
    key: str,
    draws: Drawn,
    interval: Interval | None,
    confidence_level: float,
) -> Uncertainty:
    """Summarise the draws of a metric; too many undefined ones leave None."""
    if math.isnan(value):
        return Uncertainty()
    found = Uncertainty()
    if interval is not None:
        # Up to rounding, the metric is computed in another way there.
        low, high = min(interval.lower, value), max(interval.upper, value)
        found = found._replace(lower=low, upper=high, certified=interval.certified)
    resampled, _ = _defined(draws.bootstrap.get(key))
    permuted, undefined = _defined(draws.permutation.get(key))
    drawn_from = draws.observed.get(key, value)
    if resampled is not None:
        # Joined scores move the draws of a metric as they move its value.
        resampled = resampled + (value - drawn_from)
        low, high = basic_interval(value, resampled, confidence_level)
        # Noise adds to a disparity, so the interval may lie below the value.
        found = found._replace(lower=min(low, value), upper=max(high, value))
    if permuted is not None:
        every = draws.permutation[key]
        n_below = _count_below(key, draws, drawn_from)
        found = found._replace(
            null_mean=float(permuted.mean()),
            pvalue=exact_pvalue(drawn_from, every, n_below),
            as_large=exact_pvalue(drawn_from, every),
        )
    return found._replace(without_test=undefined)


def _count_below(key: str, draws: Drawn, observed: float) -> int:
    """Count permutations of the observed value that are below it by a tie breaker."""
    if key != TIED:
        return 0
    tied = np.abs(draws.permutation[key] - observed) <= ROUNDING
    return count_smaller(draws.permutation[TIES][tied], draws.observed[TIES])


def _defined(values: Floats | None) -> tuple[Floats | None, float | None]:
    """Draws in which a metric is defined, unless too few, and the share of others."""
    if values is None or not len(values):
        return None, None
    kept = values[~np.isnan(values)]
    enough = len(kept) >= _ENOUGH * len(values)
    return kept if enough else None, 1 - len(kept) / len(values)

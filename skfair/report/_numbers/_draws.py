"""Intervals and p-values of all metrics, from draws of rows that they share."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterator
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.parallel import Parallel, delayed

from skfair.metrics._uncertainty import (
    basic_interval,
    check_seed,
    exact_pvalue,
    stratified_draws,
)
from skfair.report._numbers._sample import Rows, Sample, sort_by_group
from skfair.report._options import OF_ERRORS

#: DCP is computed again in each draw where its exact search, which enumerates
#: vertices, takes milliseconds.
_FEW_VERTICES = 1000
#: An interval or a test of fewer defined draws than this share is not given.
_ENOUGH = 0.5

#: Values of each metric in all draws, nan where it is undefined.
Draws = dict[str, NDArray[np.float64]]
Job = tuple[Sample, str, int]


def draw_all(samples: list[Sample]) -> list[tuple[Draws, Draws]]:
    """Bootstrap and permutation draws of every sample."""
    options = samples[0].audit.options
    kinds = {"bootstrap": options.n_bootstrap, "permutation": options.n_permutations}
    jobs = [
        (sample, kind, n_draws if sample.comparable else 0)
        for sample in samples
        for kind, n_draws in kinds.items()
    ]
    # The largest come first, so that no process is left alone with one at the end.
    work = [n_draws * len(s.attribute.groups.labels) for s, _, n_draws in jobs]
    order = sorted(range(len(jobs)), key=lambda i: -work[i])
    drawn = dict(zip(order, _run([jobs[i] for i in order]), strict=True))
    return [(drawn[i], drawn[i + 1]) for i in range(0, len(jobs), 2)]


def _run(jobs: list[Job]) -> Iterator[Draws]:
    """Do the jobs in order, and show how far they are."""
    options = jobs[0][0].audit.options
    total, done = sum(n_draws for _, _, n_draws in jobs), 0

    def tick(n_draws: int = 1) -> None:
        nonlocal done
        done += n_draws
        # Fast draws would otherwise spend their time in the terminal.
        if options.verbose and (done % 10 == 0 or done == total):
            end = "\n" if done == total else ""
            text = f"\rFairnessReport: {done:,} of {total:,} draws"
            print(text, end=end, file=sys.stderr, flush=True)

    if options.n_jobs in (None, 1):
        for job in jobs:
            yield _draw(*job, tick)
        return
    parallel = Parallel(n_jobs=options.n_jobs, return_as="generator")
    results = parallel(delayed(_draw)(*job) for job in jobs)
    for (_, _, n_draws), result in zip(jobs, results, strict=True):
        tick(n_draws)
        yield result


def _draw(
    sample: Sample, kind: str, n_draws: int, tick: Callable[[], Any] = lambda: None
) -> Draws:
    """Compute the metrics on many draws of rows."""
    n_groups, n_classes = len(sample.attribute.groups.labels), len(sample.audit.classes)
    keys = sample.keys
    if comb(n_groups + n_classes - 2, n_classes - 1) > _FEW_VERTICES:
        keys = tuple(key for key in keys if key != "dcp")
    drawn = {key: np.full(n_draws, np.nan) for key in keys}
    draws = _bootstraps if kind == "bootstrap" else _permutations
    with warnings.catch_warnings():
        # Undefined draws are counted, and the count is reported.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        for i, parts in zip(range(n_draws), draws(sample, keys), strict=False):
            for rows, kept in parts:
                for key, value in sample.values(rows, kept).items():
                    drawn[key][i] = value
            tick()
    return drawn


#: Rows of a draw, and the metrics that are computed on them.
Parts = list[tuple[Rows, tuple[str, ...]]]


def _bootstraps(sample: Sample, keys: tuple[str, ...]) -> Iterator[Parts]:
    """Draw rows within each group, with replacement."""
    generator = check_seed(sample.audit.options.random_state)
    draw = stratified_draws(sample.attribute.groups, generator)
    while True:
        yield [(draw(), keys)]


def _permutations(sample: Sample, keys: tuple[str, ...]) -> Iterator[Parts]:
    """Permute groups over all rows; for metrics of errors, within each true class.

    Equalized odds allow groups to differ in their classes, and the rates of a group
    with few positives are noisy.
    """
    seed = sample.audit.options.random_state
    # Two generators, so that the other numbers are those of permutation_test.
    generator, within = check_seed(seed), check_seed(seed)
    codes, y_true = sample.attribute.groups.codes, sample.audit.y_true
    errors = tuple(key for key in keys if key in OF_ERRORS)
    others = tuple(key for key in keys if key not in OF_ERRORS)
    classes = range(len(sample.audit.classes)) if errors else ()
    same_class = [np.flatnonzero(y_true == i) for i in classes]
    while True:
        parts = [(sort_by_group(generator.permutation(codes)), others)]
        if errors:
            shuffled = codes.copy()
            for rows in same_class:
                shuffled[rows] = within.permutation(codes[rows])
            parts.append((sort_by_group(shuffled), errors))
        yield parts


class Uncertainty(NamedTuple):
    """Interval, mean under permutation and p-value of a metric; None where undefined.

    The last two are the shares of draws in which the metric is undefined, None where
    there were no draws.
    """

    lower: float | None = None
    upper: float | None = None
    null: float | None = None
    pvalue: float | None = None
    without_interval: float | None = None
    without_test: float | None = None


def uncertainty(
    value: float, key: str, draws: tuple[Draws, Draws], confidence_level: float
) -> Uncertainty:
    """Summarise the draws of a metric; too many undefined ones leave None."""
    if math.isnan(value):
        return Uncertainty()
    lower = upper = null = pvalue = None
    (resampled, undefined), (permuted, no_test) = (_defined(d.get(key)) for d in draws)
    if resampled is not None:
        lower, upper = basic_interval(value, resampled, confidence_level)
    if permuted is not None:
        null, pvalue = float(permuted.mean()), exact_pvalue(value, permuted)
    return Uncertainty(lower, upper, null, pvalue, undefined, no_test)


def _defined(
    values: NDArray[np.float64] | None,
) -> tuple[NDArray[np.float64] | None, float | None]:
    """Draws in which a metric is defined, unless too few, and the share of others."""
    if values is None or not len(values):
        return None, None
    kept = values[~np.isnan(values)]
    enough = len(kept) >= _ENOUGH * len(values)
    return kept if enough else None, 1 - len(kept) / len(values)

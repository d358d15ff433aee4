"""Intervals and tests of all metrics, from draws that they share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from skfair.metrics._uncertainty._bootstrap import basic_interval
from skfair.metrics._uncertainty._permutation import exact_pvalue
from skfair.report._audit import Options
from skfair.report._sample import Sample, resample
from skfair.report._text import percent

#: An interval or a test of fewer defined draws than this share is not shown.
_ENOUGH = 0.5


@dataclass(frozen=True, eq=False)
class Draws:
    """Metrics of resampled rows.

    Attributes
    ----------
    bootstrap, permutation : dict of str to ndarray of shape (n_draws,)
        nan where a metric is undefined.
    """

    bootstrap: dict[str, NDArray[np.float64]]
    permutation: dict[str, NDArray[np.float64]]


def draw_all(
    samples: list[Sample], progress: Callable[[int, int], None] | None
) -> list[Draws]:
    """Draw rows of every model and attribute.

    Parameters
    ----------
    samples : list of Sample
    progress : callable or None
        Called with the number of draws done, and of all.

    Returns
    -------
    list of Draws, one for each sample
    """
    options = samples[0].audit.options
    kinds = {"bootstrap": options.n_bootstrap, "permutation": options.n_permutations}
    jobs = [
        (sample, kind, n_draws)
        for sample in samples
        for kind, n_draws in kinds.items()
        if len(sample.attribute.groups.labels) > 1
    ]
    # The largest come first, so that no process is left alone with one at the end.
    order = sorted(range(len(jobs)), key=lambda i: -_work(*jobs[i]))
    drawn = dict(zip(order, _run([jobs[i] for i in order], progress), strict=True))
    found = iter([drawn[i] for i in range(len(jobs))])
    return [
        Draws(next(found), next(found))
        if len(sample.attribute.groups.labels) > 1
        else Draws({}, {})
        for sample in samples
    ]


def _work(sample: Sample, kind: str, n_draws: int) -> int:
    return n_draws * len(sample.attribute.groups.labels)


def _run(
    jobs: list[tuple[Sample, str, int]], progress: Callable[[int, int], None] | None
) -> Iterator[dict[str, NDArray[np.float64]]]:
    """Do the jobs in order, and tell how far they are."""
    total, done = sum(n_draws for _, _, n_draws in jobs), 0

    def tick(n_draws: int = 1) -> None:
        nonlocal done
        done += n_draws
        if progress is not None:
            progress(done, total)

    n_jobs = jobs[0][0].audit.options.n_jobs if jobs else None
    if n_jobs in (None, 1):
        for job in jobs:
            yield resample(*job, tick)
        return
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    results = parallel(delayed(resample)(*job) for job in jobs)
    for (_, _, n_draws), result in zip(jobs, results, strict=True):
        tick(n_draws)
        yield result


def summarize_draws(
    value: float, key: str, draws: Draws, options: Options
) -> dict[str, Any]:
    """Interval, mean under shuffled groups and p-value of a metric.

    Parameters
    ----------
    value : float
        As observed; nan leaves everything undefined.
    key : str
    draws : Draws
    options : Options

    Returns
    -------
    dict
        With "lower", "upper", "null", "pvalue" and "note"; None where undefined.
    """
    found: dict[str, Any] = dict.fromkeys(("lower", "upper", "null", "pvalue"))
    notes = []
    if not math.isnan(value):
        values, note = _defined(draws.bootstrap.get(key), "resamples", "an interval")
        notes.append(note)
        if values is not None:
            found["lower"], found["upper"] = basic_interval(
                value, values, options.confidence_level
            )
        values, note = _defined(draws.permutation.get(key), "shuffles", "a test")
        notes.append(note)
        if values is not None:
            found["null"] = float(values.mean())
            found["pvalue"] = exact_pvalue(value, values)
    return {**found, "note": " ".join(note for note in notes if note)}


def _defined(
    values: NDArray[np.float64] | None, what: str, goal: str
) -> tuple[NDArray[np.float64] | None, str]:
    """Draws on which a metric is defined, unless too few, and a note on the others."""
    if values is None or not len(values):
        return None, ""
    kept = values[~np.isnan(values)]
    if len(kept) == len(values):
        return kept, ""
    share = percent(1 - len(kept) / len(values))
    enough = len(kept) >= _ENOUGH * len(values)
    consequence = "which are left out" if enough else f"too many for {goal}"
    return kept if enough else None, f"Undefined in {share} of {what}, {consequence}."

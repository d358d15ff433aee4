"""Solves the rows of all classes, one after the other or in several processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from skfair._utils._arrays import Floats
from skfair._utils._progress import Progress, check_verbose
from skfair._utils._validation import check_choice, check_real
from skfair.metrics._dcp._clock import Clock
from skfair.metrics._dcp._search._branch_and_bound import RowSearch
from skfair.metrics._dcp._search._enumeration import enumerate_row, n_vertices
from skfair.metrics._dcp._search._local_search import search_locally
from skfair.metrics._dcp._search._rows import RowResult, halves

SearchMethod = Literal["auto", "local"]

#: A proof enumerates up to this many vertices of a class, in about a second.
_MAX_AUTO_VERTICES = 400_000


@dataclass
class SearchOptions:
    """How to solve: see the parameters of `dcp_bounds`."""

    tol: float
    time_limit: float  # inf where there is none
    method: SearchMethod
    n_jobs: int | None
    verbose: int

    def __post_init__(self) -> None:
        self.tol = check_real("tol", self.tol, 0, 1, closed="neither")
        check_choice("method", self.method, get_args(SearchMethod))
        self.verbose = check_verbose(self.verbose)


def solve_rows(
    confusion: Floats, weights: Floats, options: SearchOptions
) -> list[RowResult]:
    """Bound the loss of every true class.

    `confusion` has shape (n_groups, n_classes, n_classes), `weights` shape (n_groups,
    n_classes).
    """
    clock = Clock.of(options.time_limit)
    problems = [
        (y, confusion[present, y], weights[present, y])
        for y, present in enumerate(weights.T > 0)
    ]
    tol = options.tol / len(problems)
    n_jobs = min(effective_n_jobs(options.n_jobs), len(problems))
    if n_jobs == 1:
        return _solve_some(problems, options, tol, clock.left())
    # Clocks of two processes need not agree, seconds do.
    parts = Parallel(n_jobs=options.n_jobs)(
        delayed(_solve_some)(problems[job::n_jobs], options, tol, clock.left())
        for job in range(n_jobs)
    )
    return [parts[y % n_jobs][y // n_jobs] for y in range(len(problems))]


def _solve_some(
    problems: Sequence[tuple[int, Floats, Floats]],
    options: SearchOptions,
    tol: float,
    time_limit: float,
) -> list[RowResult]:
    """Solve one by one, each in an equal share of the time that is left.

    A problem is a true class, and the rates and weights of the groups that have it.
    """
    clock = Clock.of(time_limit)
    searches: dict[int, RowSearch] = {}
    results: list[RowResult] = []

    shown = [Progress(f"dcp_bounds: class {y}", options.verbose) for y, *_ in problems]
    for i, (_, rates, weights) in enumerate(problems):
        own = clock.part(1 / (len(problems) - i))
        if _needs_branch_and_bound(rates, options.method):
            searches[i] = RowSearch(rates, weights, tol)
            results.append(searches[i].run(own, shown[i]))
        else:
            results.append(_solve_row(rates, weights, options.method, own))
        shown[i].line(str(results[i]))
    # The time that easy classes did not need goes to searches that have not ended.
    while not clock.is_over():
        waiting = [i for i, search in searches.items() if not search.is_done]
        if not waiting:
            break
        for left, i in zip(range(len(waiting), 0, -1), waiting, strict=True):
            results[i] = searches[i].run(clock.part(1 / left), shown[i])
            shown[i].line(str(results[i]))
    return results


def _needs_branch_and_bound(rates: Floats, method: SearchMethod) -> bool:
    """Whether a class has too many vertices to look at each of them."""
    return method == "auto" and n_vertices(*rates.shape) > _MAX_AUTO_VERTICES


def _solve_row(
    rates: Floats, weights: Floats, method: SearchMethod, clock: Clock
) -> RowResult:
    """Solve one class vertex by vertex, or search it without a proof."""
    n_groups, n_classes = rates.shape
    if not n_groups:  # no group has this class: any row will do
        return RowResult(0.0, 0.0, np.full(n_classes, 1 / n_classes), 0)
    if method == "local":
        return search_locally(rates, weights, clock)
    result = enumerate_row(rates, weights, clock)
    return result or search_locally(rates, weights, clock, halves(n_classes))

"""Solves the rows of all labels, one after the other or in several processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from skfair._utils._validation import check_choice, check_integer, check_real
from skfair.metrics._dcp._search._branch_and_bound import RowSearch
from skfair.metrics._dcp._search._enumeration import enumerate_row, n_vertices
from skfair.metrics._dcp._search._linear_program import Clock
from skfair.metrics._dcp._search._local import improve_row, search_sets, starting_rows
from skfair.metrics._dcp._search._paper import (
    average_row,
    greedy_row,
    locally_minimal_row,
)
from skfair.metrics._dcp._search._rows import (
    Floats,
    RowResult,
    halves,
    merged_bound,
    row_losses,
)

Method = Literal[
    "auto", "enumerate", "branch_and_bound", "local", "average", "greedy", "greedy+lm"
]
METHODS = (
    "auto",
    "enumerate",
    "branch_and_bound",
    "local",
    "average",
    "greedy",
    "greedy+lm",
)

#: "auto" enumerates up to this many vertices of a label, about a second's work.
_FEW_VERTICES = 400_000
#: "enumerate" would need more memory than most machines have.
_MAX_VERTICES = 10_000_000
_N_STARTS = 5
#: How far breaking ties and rounding can move the loss of a label.
_ROUNDING = 1e-10


@dataclass(frozen=True)
class Options:
    """How to solve.

    Attributes
    ----------
    tol : float
        Gap between the bounds of DCP at which to stop.
    time_limit : float or None
        In seconds.
    method : str
    n_jobs : int or None
    verbose : int
    """

    tol: float = 1e-4
    time_limit: float | None = None
    method: Method = "auto"
    n_jobs: int | None = None
    verbose: int = 0

    def checked(self) -> Options:
        """Return the same options with valid types.

        Raises
        ------
        ValueError
            On a value out of range.
        """
        limit = self.time_limit
        if limit is not None:
            limit = check_real(
                "time_limit", limit, 0, np.inf, closed="right", alternative="None or "
            )
        check_choice("method", self.method, METHODS)
        return replace(
            self,
            tol=check_real("tol", self.tol, 0, 1, closed="neither"),
            time_limit=None if limit == np.inf else limit,
            verbose=check_integer("verbose", int(self.verbose), 0),
        )


@dataclass(frozen=True, eq=False)
class RowProblem:
    """One true label: what each group predicts, and how much it weighs.

    Attributes
    ----------
    label : int
    rates : ndarray of shape (n_groups, n_classes)
    weights : ndarray of shape (n_groups,)
    """

    label: int
    rates: Floats
    weights: Floats

    def present(self) -> tuple[Floats, Floats]:
        """Rates and weights of the groups that have the label."""
        here = self.weights > 0
        return self.rates[here], self.weights[here]


def solve_rows(confusion: Floats, weights: Floats, options: Options) -> list[RowResult]:
    """Bound the loss of every label.

    Parameters
    ----------
    confusion : ndarray of shape (n_groups, n_classes, n_classes)
    weights : ndarray of shape (n_groups, n_classes)
    options : Options

    Returns
    -------
    list of n_classes RowResult
    """
    clock = Clock.of(options.time_limit)
    problems = [
        RowProblem(y, confusion[:, y], weights[:, y]) for y in range(weights.shape[1])
    ]
    tol = options.tol / len(problems)
    if options.n_jobs in (None, 1):
        return _solve_some(problems, options, tol, clock)
    parallel = Parallel(n_jobs=options.n_jobs)
    n_jobs = min(parallel._effective_n_jobs(), len(problems))
    parts = parallel(
        delayed(_solve_in_process)(problems[job::n_jobs], options, tol, clock.left())
        for job in range(n_jobs)
    )
    results: list[RowResult] = [parts[0][0]] * len(problems)
    for job, part in enumerate(parts):
        results[job::n_jobs] = part
    return results


def _solve_in_process(
    problems: Sequence[RowProblem], options: Options, tol: float, left: float | None
) -> list[RowResult]:
    # Clocks of two processes need not agree, seconds do.
    return _solve_some(problems, options, tol, Clock.of(left))


def _solve_some(
    problems: Sequence[RowProblem], options: Options, tol: float, clock: Clock
) -> list[RowResult]:
    """Solve one by one, each in an equal share of the time that is left.

    What the easy labels leave over goes to the searches that have not ended.
    """
    searches: dict[int, RowSearch] = {}
    results: list[RowResult] = []
    for position, problem in enumerate(problems):
        own = clock.part(1 / (len(problems) - position))
        if _is_searched(problem, options.method):
            searches[position] = RowSearch(*problem.present(), tol)
            results.append(searches[position].run(own))
        else:
            results.append(_solve_row(problem, options.method, own))
        _report(problem, results[-1], options.verbose)
    while not clock.is_over():
        waiting = [i for i, search in searches.items() if not search.is_done]
        if not waiting:
            break
        for left, i in zip(range(len(waiting), 0, -1), waiting, strict=True):
            results[i] = searches[i].run(clock.part(1 / left))
            _report(problems[i], results[i], options.verbose)
    return results


def _report(problem: RowProblem, result: RowResult, verbose: int) -> None:
    if verbose:
        print(
            f"dcp_bounds: label {problem.label}: {result.lower:.6f} to "
            f"{result.upper:.6f}, {result.n_nodes} nodes",
            flush=True,
        )


def _is_searched(problem: RowProblem, method: Method) -> bool:
    """Whether a label is solved by branch and bound."""
    rates, _ = problem.present()
    if method == "branch_and_bound":
        return len(rates) > 0
    return method == "auto" and n_vertices(*rates.shape) > _FEW_VERTICES


def _solve_row(problem: RowProblem, method: Method, clock: Clock) -> RowResult:
    n_classes = problem.rates.shape[1]
    rates, weights = problem.present()
    if not len(rates):  # nobody has this label: any row will do
        return RowResult(0.0, 0.0, np.full(n_classes, 1 / n_classes), 0)
    if method in ("auto", "enumerate", "branch_and_bound"):
        return _enumerate(rates, weights, clock)
    single = np.eye(n_classes, dtype=bool)
    if method == "local":
        return _local(rates, weights, single, clock)
    row = _paper_row(problem.label, rates, weights, method, clock)
    loss = float(row_losses(row, rates, weights))
    return RowResult(min(loss, merged_bound(rates, weights, single)), loss, row, 0)


def _enumerate(rates: Floats, weights: Floats, clock: Clock) -> RowResult:
    """All vertices, or local search if the time is over first."""
    vertices = n_vertices(*rates.shape)
    if vertices > _MAX_VERTICES:
        raise ValueError(
            f"method must be 'branch_and_bound' or 'auto' for {len(rates)} groups and "
            f"{rates.shape[1]} labels, whose {vertices:,} vertices are too many for "
            "'enumerate'."
        )
    found = enumerate_row(rates, weights, clock)
    if found is None:
        return _local(rates, weights, halves(rates.shape[1]), clock)
    # The enumeration shifts rates to break ties. One group's own row is the optimum
    # where groups are equal, and is exact.
    candidates = np.vstack([found.baseline, rates])
    losses = row_losses(candidates, rates, weights)
    best = int(losses.argmin())
    loss = float(losses[best])
    lower = max(min(found.lower, loss) - _ROUNDING, 0.0)
    return RowResult(lower, loss, candidates[best], found.n_nodes)


def _local(
    rates: Floats, weights: Floats, merged: NDArray[np.bool_], clock: Clock
) -> RowResult:
    """Best of a few local searches, with a lower bound from merged labels."""
    lower = merged_bound(rates, weights, merged)
    sets = search_sets(rates.shape[1])
    best, loss = average_row(rates, weights), np.inf
    for start in starting_rows(rates, weights, _N_STARTS):
        found, row = improve_row(start, rates, weights, sets, clock)
        if found < loss:
            best, loss = row, found
        if clock.is_over():
            break
    return RowResult(min(lower, loss), loss, best, 0)


def _paper_row(
    label: int, rates: Floats, weights: Floats, method: Method, clock: Clock
) -> Floats:
    if method == "average":
        return average_row(rates, weights)
    row = greedy_row(rates, weights, label, clock)
    if method == "greedy":
        return row
    return locally_minimal_row(row, rates, weights, clock)

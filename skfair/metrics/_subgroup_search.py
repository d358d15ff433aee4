"""Branch and bound over conjunctions: the subgroups furthest from everyone else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfair._utils._arrays import Floats, Integers

#: More than the rounding of a difference of two shares, or of means of numbers in
#: [0, 1].
_GAP_ROUNDING = 1e-12
#: More than the rounding of the bound of such means.
_ROUNDING_OF_BOUNDS = 1e-9


class Entries(NamedTuple):
    """Rows in the order of scores; rows of equal score and cell may share an entry."""

    scores: Floats
    weights: Integers  # number of rows
    below: Integers  # rows of the whole table with a lower score
    through: Integers  # rows with at most this score
    codes: NDArray[np.integer]  # of shape (n_columns, n_entries)
    #: Whether means of numbers in [0, 1] are compared, in place of distributions.
    compares_means: bool

    @property
    def n_rows(self) -> int:
        """Return the number of rows of all entries."""
        return int(self.through[-1]) if len(self.through) else 0

    @property
    def total(self) -> float:
        """Return the sum of the numbers of all rows."""
        return float(self.weights @ self.scores)


def sort_by_score(
    scores: Floats, codes: NDArray[np.integer], *, compares_means: bool
) -> tuple[Integers, Callable[[Integers], Entries]]:
    """Sort the rows by score once for all permutations.

    Return the cell of each row in this order, a cell being an intersection of all
    columns, and a function that makes entries from any order of the cells.
    """
    order = np.argsort(scores, kind="stable")
    distinct, score_codes = np.unique(scores[order], return_inverse=True)
    cells = np.zeros(len(scores), dtype=np.intp)
    for column in codes:
        pair = cells * (int(column.max(initial=0)) + 1) + column
        cells = np.unique(pair, return_inverse=True)[1]
    first = np.unique(cells, return_index=True)[1]
    n_cells = len(first)
    through = np.cumsum(np.bincount(score_codes, minlength=len(distinct)))
    before = np.append(0, through)

    def make_entries(cells: Integers) -> Entries:
        """Make entries; join rows with equal score and cell if this saves memory."""
        at, weights = score_codes, np.ones(len(cells), dtype=np.intp)
        if len(distinct) * n_cells < len(cells):
            counts = np.bincount(score_codes * n_cells + cells)
            keys = np.flatnonzero(counts)
            weights = counts[keys]
            at, cells = np.divmod(keys, n_cells)
        columns = codes[:, first][:, cells]
        below, up_to = before[at], through[at]
        return Entries(distinct[at], weights, below, up_to, columns, compares_means)

    return cells[order], make_entries


class Subgroup(NamedTuple):
    """A conjunction, pairs of column and code, and its distance from all others."""

    value: float
    conditions: tuple[tuple[int, int], ...]
    entries: Integers  # positions, in the order of scores
    size: int
    bound: float  # of the values of its refinements


def largest_value(strata: Sequence[Entries], min_size: int) -> float:
    """Return the largest value of any subgroup of any stratum."""
    return max(search_subgroups(entries, min_size, 1)[0].value for entries in strata)


def search_subgroups(entries: Entries, min_size: int, n_best: int) -> list[Subgroup]:
    """Return subgroups of the largest values, the largest first, by branch and bound.

    A conjunction is refined by later columns only, and so is found only once.
    """
    best: list[Subgroup] = []
    n_rows, n_columns = entries.n_rows, len(entries.codes)
    all_rows = np.arange(len(entries.weights))
    stack = [Subgroup(0, (), all_rows, n_rows, math.inf)]
    while stack:
        parent = stack.pop()
        if len(best) == n_best and parent.bound < best[-1].value - _GAP_ROUNDING:
            continue
        first = parent.conditions[-1][0] + 1 if parent.conditions else 0
        children = []
        for column in range(first, n_columns):
            for child in _refine(parent, column, entries, min_size):
                # The complement needs rows, too; it grows with each refinement.
                if n_rows - child.size >= min_size:
                    _keep(child, best, n_best)
                if column < n_columns - 1:
                    children.append(child)
        stack += sorted(children, key=lambda child: child.bound)
    return best


def _refine(
    parent: Subgroup, column: int, entries: Entries, min_size: int
) -> list[Subgroup]:
    """Split a subgroup by the values of one column."""
    chosen = parent.entries
    codes = entries.codes[column][chosen]
    large = np.bincount(codes, entries.weights[chosen]) >= min_size
    if not large.any():
        return []
    if not large.all():
        is_large = large[codes]
        chosen, codes = chosen[is_large], codes[is_large]
    order = np.argsort(codes, kind="stable")
    chosen, codes = chosen[order], codes[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    stops = np.append(starts[1:], len(codes))
    sums = np.cumsum(entries.weights[chosen])
    sizes = np.diff(sums[stops - 1], prepend=0)
    measure = _measure_means if entries.compares_means else _measure_distributions
    values, bounds = measure(chosen, sums, starts, sizes, entries, min_size)
    return [
        Subgroup(
            float(values[i]),
            (*parent.conditions, (column, int(codes[starts[i]]))),
            chosen[starts[i] : stops[i]],
            int(sizes[i]),
            float(bounds[i]),
        )
        for i in range(len(starts))
    ]


def _measure_distributions(
    chosen: Integers,
    sums: Integers,
    starts: Integers,
    sizes: Integers,
    entries: Entries,
    min_size: int,
) -> tuple[Floats, Floats]:
    """Measure each subgroup's CDF against all other rows, and bound its refinements.

    The measure is the largest difference. The entries of one subgroup follow those of
    another in `chosen`; `sums` are their rows up to each entry, added up over
    subgroups.
    """
    lengths = np.diff(starts, append=len(chosen))
    through = sums - np.repeat(np.cumsum(sizes) - sizes, lengths)
    rows = chosen, through, np.repeat(sizes, lengths)
    gaps = np.maximum.reduceat(_gaps(*rows, entries), starts)
    values = gaps / (sizes * np.maximum(entries.n_rows - sizes, 1))
    bounds = np.maximum.reduceat(_bounds(*rows, entries, min_size), starts)
    return values, bounds


def _measure_means(
    chosen: Integers,
    sums: Integers,
    starts: Integers,
    sizes: Integers,
    entries: Entries,
    min_size: int,
) -> tuple[Floats, Floats]:
    """Measure each subgroup's mean against all other rows, and bound its refinements.

    The sum of a refinement of t rows is at most the sum of the t largest numbers of the
    subgroup, and at least the sum of the t smallest. The bound is the largest distance
    of a mean with such a sum from the mean of all other rows.
    """
    lengths = np.diff(starts, append=len(chosen))
    numbers, weights = entries.scores[chosen], entries.weights[chosen]
    masses = numbers * weights
    n_rows, total = entries.n_rows, entries.total
    totals = np.add.reduceat(masses, starts)
    gaps = np.abs(totals * n_rows - total * sizes)
    values = gaps / (sizes * np.maximum(n_rows - sizes, 1))
    through = sums - np.repeat(np.cumsum(sizes) - sizes, lengths)
    held = np.cumsum(masses)
    held -= np.repeat(held[starts] - masses[starts], lengths)
    from_here = np.repeat(sizes, lengths) - through + weights
    held_from_here = np.repeat(totals, lengths) - held + masses
    low = _furthest_means(through, weights, -numbers, -held, -total, n_rows, min_size)
    high = _furthest_means(
        from_here, weights, numbers, held_from_here, total, n_rows, min_size
    )
    bounds = np.maximum.reduceat(np.maximum(low, high), starts)
    return values, bounds + _ROUNDING_OF_BOUNDS


def _furthest_means(
    counts: Integers,
    weights: Integers,
    numbers: Floats,
    held: Floats,
    total: float,
    n_rows: int,
    min_size: int,
) -> Floats:
    """Bound how far the mean of the most extreme rows exceeds the mean of the rest.

    The most extreme rows are the `counts` rows up to each entry, with the sum `held`,
    or fewer rows of the last entry. Rows of an entry have the same number. Within an
    entry, the excess is convex in the number of rows, or decreases, and so is largest
    at an end.
    """
    best = np.full(len(counts), -math.inf)
    for taken in counts, np.maximum(counts - weights, min_size):
        taken_sum = held - (counts - taken) * numbers
        gaps = taken_sum * n_rows - total * taken
        np.maximum(best, gaps / (taken * np.maximum(n_rows - taken, 1)), out=best)
    return np.where(counts >= min_size, best, -math.inf)


def _gaps(
    chosen: Integers, through: Integers, sizes: Any, entries: Entries
) -> Integers:
    """Return the gap between the CDFs of a subgroup and of all others, at each entry.

    The subgroup has the entries `chosen`. `through` counts its rows up to and including
    each entry; several subgroups may follow each other.

    The gap is multiplied by both sizes. If k of the s rows of the subgroup, and K of
    all n rows, have at most some score, the gap there is k n - K s. The subgroup's CDF
    exceeds the others' most at one of its scores, and falls below it most just before
    one. Where several entries share a score, the count at this score is right for the
    last of these entries, and the count just before it for the first; the other entries
    give smaller gaps.
    """
    n_rows, before = entries.n_rows, through - entries.weights[chosen]
    above = through * n_rows - entries.through[chosen] * sizes
    below = entries.below[chosen] * sizes - before * n_rows
    return np.asarray(np.maximum(above, below))


def _bounds(
    chosen: Integers, through: Integers, sizes: Any, entries: Entries, min_size: int
) -> Floats:
    """Bound the gaps of all refinements of a subgroup, at each entry.

    Let k rows of the subgroup, and K of all n rows, be at most at a score. A refinement
    of t rows has j <= min(k, t) of them, so that the gap j / t - (K - j) / (n - t) is
    largest for j = min(k, t). Up to t = k this gap is 1 - (K - t) / (n - t), which
    increases in t as K <= n; beyond it is k / t - (K - k) / (n - t), which decreases.
    So no gap exceeds the gap of the t = max(k, min_size) most extreme rows. Just before
    a score, the same holds for the rows from this score on.
    """
    n_rows, before = entries.n_rows, through - entries.weights[chosen]

    def bound(hits: Integers, all_hits: Integers) -> Floats:
        taken = np.maximum(hits, min_size)
        others = np.maximum(n_rows - taken, 1)
        return np.asarray(hits / taken - (all_hits - hits) / others)

    above = bound(through, entries.through[chosen])
    below = bound(sizes - before, n_rows - entries.below[chosen])
    return np.maximum(above, below)


def _keep(child: Subgroup, best: list[Subgroup], n_best: int) -> None:
    """Insert a subgroup into the best ones, unless its rows are already there."""
    if len(best) == n_best and child.value < best[-1].value - _GAP_ROUNDING:
        return

    def length(subgroup: Subgroup) -> tuple[int, tuple[tuple[int, int], ...]]:
        return len(subgroup.conditions), subgroup.conditions

    for i, other in enumerate(best):
        if other.size == child.size and np.array_equal(other.entries, child.entries):
            best[i] = min(other, child, key=length)
            break
    else:
        best.append(child)
    best.sort(key=lambda subgroup: (-subgroup.value, *length(subgroup)))
    del best[n_best:]


class Contrast(NamedTuple):
    """Means of a subgroup and of all others, or their shares above a score."""

    #: The score at which the shares differ most, nan for means.
    score: float
    value: float
    value_of_others: float


def compare_with_others(subgroup: Subgroup, entries: Entries) -> Contrast:
    """Compare a subgroup with all others where they differ most."""
    weights, scores = (
        entries.weights[subgroup.entries],
        entries.scores[subgroup.entries],
    )
    if entries.compares_means:
        score, held, total = math.nan, float(weights @ scores), entries.total
    else:
        score = _worst_score(subgroup, entries)
        held = float(weights[scores > score].sum())
        total = float(entries.weights[entries.scores > score].sum())
    n_others = entries.n_rows - subgroup.size
    return Contrast(score, held / subgroup.size, (total - held) / n_others)


def _worst_score(subgroup: Subgroup, entries: Entries) -> float:
    """Find the score at which a subgroup and all others differ most."""
    chosen, n_rows = subgroup.entries, entries.n_rows
    hits = np.cumsum(entries.weights[chosen])
    gaps = _gaps(chosen, hits, subgroup.size, entries)
    at = int(gaps.argmax())
    score = float(entries.scores[chosen[at]])
    if gaps[at] > hits[at] * n_rows - entries.through[chosen[at]] * subgroup.size:
        # Just before this score: from the one below it on.
        score = float(entries.scores[np.searchsorted(entries.scores, score) - 1])
    return score

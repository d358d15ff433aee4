"""Search for the conjunctions that differ most from all other rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfair._utils._types import Bools, Floats, Integers
from skfair.metrics._uncertainty._drawn_labels import curve_ranges, in_deviations

#: More than the rounding of a difference of two shares.
_ROUNDING = 1e-12


class Entries(NamedTuple):
    """Rows in the order of scores; those of one score and cell may be one entry."""

    scores: Floats
    weights: Integers  # number of rows
    below: Integers  # rows of the whole table with a lower score
    through: Integers  # rows with at most this score
    codes: NDArray[np.integer]  # of shape (n_columns, n_entries)
    positive: NDArray[Any] | None = None  # number of rows with a positive true label

    @property
    def n_rows(self) -> int:
        """Number of rows of all entries."""
        return int(self.through[-1]) if len(self.through) else 0

    def drawn(self, generator: np.random.Generator, n_draws: int) -> NDArray[Any]:
        """Share of positive rows of each entry, drawn by the scores.

        Of shape (n_draws, n_entries).
        """
        shape = n_draws, len(self.scores)
        if (self.weights == 1).all():
            return np.asarray(generator.random(shape) < self.scores)
        hits = generator.binomial(self.weights, self.scores, shape)
        return np.asarray(hits / self.weights)


class Population(NamedTuple):
    """Rows in the order of scores; a cell is an intersection of all columns."""

    scores: Floats  # distinct
    score_codes: Integers  # of each row, increasing
    cells: Integers  # of each row
    cell_codes: NDArray[np.integer]  # of shape (n_columns, n_cells)
    positive: Bools | None = None  # of each row, its true label

    @classmethod
    def of(
        cls,
        scores: Floats,
        codes: NDArray[np.integer],
        positive: Bools | None = None,
    ) -> Population:
        """Sort the rows by score once for all permutations."""
        order = np.argsort(scores, kind="stable")
        distinct, score_codes = np.unique(scores[order], return_inverse=True)
        cells = np.zeros(len(scores), dtype=np.intp)
        for column in codes:
            pair = cells * (int(column.max(initial=0)) + 1) + column
            cells = np.unique(pair, return_inverse=True)[1]
        first = np.unique(cells, return_index=True)[1]
        if positive is not None:
            positive = positive[order]
        return cls(distinct, score_codes, cells[order], codes[:, first], positive)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.cells)

    def permuted(self, generator: np.random.Generator) -> Entries:
        """Entries with the scores permuted over all rows."""
        return self._replace(cells=generator.permutation(self.cells)).entries()

    def entries(self) -> Entries:
        """Join rows of the same score and cell where that makes them fewer."""
        n_cells = self.cell_codes.shape[1]
        through = np.cumsum(np.bincount(self.score_codes, minlength=len(self.scores)))
        score_codes, cells = self.score_codes, self.cells
        positive: NDArray[Any] | None = self.positive
        weights = np.ones(len(cells), dtype=np.intp)
        if len(self.scores) * n_cells < len(cells):
            key_of_row = score_codes * n_cells + cells
            counts = np.bincount(key_of_row)
            keys = np.flatnonzero(counts)
            weights = counts[keys]
            score_codes, cells = np.divmod(keys, n_cells)
            if positive is not None:
                hits = np.bincount(key_of_row[positive], minlength=len(counts))
                positive = hits[keys]
        before = np.append(0, through)
        return Entries(
            self.scores[score_codes],
            weights,
            before[score_codes],
            through[score_codes],
            self.cell_codes[:, cells],
            positive,
        )


class Subgroup(NamedTuple):
    """A conjunction, pairs of column and code, and how far it is from all others."""

    value: float
    conditions: tuple[tuple[int, int], ...]
    entries: Integers  # positions, in the order of scores
    size: int
    bound: float  # of the values of its refinements


def largest_value(strata: Sequence[Entries], min_size: int) -> float:
    """Largest value of any subgroup of any stratum, each of which has one."""
    return max(search_subgroups(one, min_size, 1)[0].value for one in strata)


def search_subgroups(entries: Entries, min_size: int, n_best: int) -> list[Subgroup]:
    """Subgroups of the largest values, the largest first, by branch and bound.

    A conjunction is refined by later columns only, so that each is met once.
    """
    best: list[Subgroup] = []
    n_rows, n_columns = entries.n_rows, len(entries.codes)
    everyone = np.arange(len(entries.weights))
    stack = [Subgroup(0, (), everyone, n_rows, math.inf)]
    while stack:
        parent = stack.pop()
        if len(best) == n_best and parent.bound < best[-1].value - _ROUNDING:
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
    """Subgroups of a subgroup by the values of one column, if they have enough rows."""
    chosen = parent.entries
    codes = entries.codes[column][chosen]
    large = np.bincount(codes, entries.weights[chosen]) >= min_size
    if not large.any():
        return []
    if not large.all():
        kept = large[codes]
        chosen, codes = chosen[kept], codes[kept]
    order = np.argsort(codes, kind="stable")
    chosen, codes = chosen[order], codes[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    stops = np.append(starts[1:], len(codes))
    weights = entries.weights[chosen]
    sums = np.cumsum(weights)
    sizes = np.diff(sums[stops - 1], prepend=0)
    lengths = stops - starts
    own = sums - np.repeat(sums[stops - 1] - sizes, lengths)
    rows = _OwnRows(chosen, own, own - weights, np.repeat(sizes, lengths))
    n_others = np.maximum(entries.n_rows - sizes, 1)
    gaps = np.maximum.reduceat(_gaps(rows, entries), starts)
    values = gaps / (sizes * n_others)
    bounds = np.maximum.reduceat(_bounds(rows, entries, min_size), starts)
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


class _OwnRows(NamedTuple):
    """Entries of subgroups, one after the other, and rows of the subgroup of each."""

    entries: Integers
    through: Integers  # rows of the subgroup up to the entry
    before: Integers  # rows of the subgroup before it
    sizes: Integers  # rows of the subgroup in all


def _gaps(own: _OwnRows, entries: Entries) -> Integers:
    """Difference of the CDFs of the subgroup and of all others, at each entry.

    Times the sizes of both. With k of its s rows and K of all n rows at most at a score
    it is k n - K s. The subgroup's CDF exceeds the others' most at one of its scores,
    and falls below most just before one. Of entries of the same score `through` is
    right at the last and `before` at the first; at the others the gap reads smaller.
    """
    n_rows, chosen = entries.n_rows, own.entries
    above = own.through * n_rows - entries.through[chosen] * own.sizes
    below = entries.below[chosen] * own.sizes - own.before * n_rows
    return np.asarray(np.maximum(above, below))


def _bounds(own: _OwnRows, entries: Entries, min_size: int) -> Floats:
    """Bound of the gaps of all refinements of a subgroup, at each entry.

    Let k rows of the subgroup, and K of all n rows, be at most at a score. A refinement
    of t rows has j <= min(k, t) of them, so that the gap j / t - (K - j) / (n - t) is
    largest for j = min(k, t). Up to t = k that is 1 - (K - t) / (n - t), which
    increases in t as K <= n; from there on k / t - (K - k) / (n - t), which decreases.
    So it is at most that of its t = max(k, min_size) most extreme rows. Just before a
    score the same holds of the rows from there on.
    """
    n_rows, chosen = entries.n_rows, own.entries

    def bound(hits: Integers, of_all: Integers) -> Floats:
        taken = np.maximum(hits, min_size)
        others = np.maximum(n_rows - taken, 1)
        return np.asarray(hits / taken - (of_all - hits) / others)

    above = bound(own.through, entries.through[chosen])
    below = bound(own.sizes - own.before, n_rows - entries.below[chosen])
    return np.maximum(above, below)


def _keep(child: Subgroup, best: list[Subgroup], n_best: int) -> None:
    """Put a subgroup in its place among the best, once for the same rows."""
    if len(best) == n_best and child.value < best[-1].value - _ROUNDING:
        return

    def length(one: Subgroup) -> tuple[int, tuple[tuple[int, int], ...]]:
        return len(one.conditions), one.conditions

    for i, other in enumerate(best):
        if other.size == child.size and np.array_equal(other.entries, child.entries):
            best[i] = min(other, child, key=length)
            break
    else:
        best.append(child)
    best.sort(key=lambda one: (-one.value, *length(one)))
    del best[n_best:]


def search_calibration(entries: Entries, min_size: int, n_best: int) -> list[Subgroup]:
    """Subgroups whose calibration errors are the most deviations, largest first."""
    best: list[Subgroup] = []
    assert entries.positive is not None  # a search of calibration knows true labels
    means = (entries.positive / entries.weights)[np.newaxis]
    for columns, rows, labels in _partitions(entries, min_size):
        sizes, (values,) = _errors_in_deviations(entries, rows, labels, means)
        starts = np.searchsorted(labels, np.arange(len(sizes) + 1))
        values[entries.n_rows - sizes < min_size] = -1.0
        for i in np.argsort(-values, kind="stable")[:n_best]:
            if values[i] >= 0:
                chosen = rows[starts[i] : starts[i + 1]]
                codes = entries.codes[:, chosen[0]]
                conditions = tuple((column, int(codes[column])) for column in columns)
                found = float(values[i]), conditions, chosen, int(sizes[i]), math.inf
                _keep(Subgroup(*found), best, n_best)
    return best


def largest_errors(
    strata: Sequence[Entries], drawn: Sequence[NDArray[Any]], min_size: int
) -> Floats:
    """Largest error of any subgroup of any stratum, in each draw, in deviations."""
    largest = np.zeros(len(drawn[0]))
    for entries, means in zip(strata, drawn, strict=True):
        for _, rows, labels in _partitions(entries, min_size):
            sizes, values = _errors_in_deviations(entries, rows, labels, means)
            kept = values[:, entries.n_rows - sizes >= min_size]
            largest = np.maximum(largest, kept.max(axis=1, initial=0))
    return largest


def _partitions(
    entries: Entries, min_size: int
) -> Iterator[tuple[tuple[int, ...], Integers, Integers]]:
    """Yield sets of columns, and the entries of each subgroup by their values.

    Entries are in the order of the subgroups, whose numbers follow, then of scores.
    Those of subgroups with too few rows are left out, since no refinement has more.
    """
    everyone = np.arange(len(entries.weights))
    stack: list[tuple[tuple[int, ...], Integers, Integers]] = [
        ((), everyone, np.zeros_like(everyone))
    ]
    while stack:
        columns, parent, above = stack.pop()
        for column in range(columns[-1] + 1 if columns else 0, len(entries.codes)):
            codes = entries.codes[column]
            labels = above * (int(codes.max()) + 1) + codes[parent]
            large = np.bincount(labels, entries.weights[parent]) >= min_size
            kept = large[labels]
            if not kept.any():
                continue
            numbers = np.cumsum(large) - 1
            labels = numbers[labels[kept]]
            # Few numbers take few bits, which sort faster.
            few = labels.astype(np.min_scalar_type(numbers[-1]))
            order = np.argsort(few, kind="stable")
            stack.append(((*columns, column), parent[kept][order], labels[order]))
            yield stack[-1]


def _errors_in_deviations(
    entries: Entries, rows: Integers, labels: Integers, means: NDArray[Any]
) -> tuple[Integers, Floats]:
    """Rows of each subgroup, and its calibration errors, shape (n_draws, n_groups)."""
    scores, weights = entries.scores[rows], entries.weights[rows]
    sizes = np.bincount(labels, weights)
    variances = np.bincount(labels, weights * scores * (1 - scores)) / sizes**2
    errors = curve_ranges(scores, labels, weights / sizes[labels])(means[:, rows])
    return sizes.astype(np.intp), in_deviations(errors, variances, 1 / sizes)


def compare_with_others(
    one: Subgroup, entries: Entries, *, is_rate: bool
) -> dict[str, float]:
    """Shares of a subgroup and of all others above the score of the largest gap."""
    chosen, n_rows = one.entries, entries.n_rows
    weights, scores = entries.weights[chosen], entries.scores[chosen]
    own = np.cumsum(weights)
    sizes = np.full(len(own), one.size)
    score = 0.0
    if not is_rate:
        gaps = _gaps(_OwnRows(chosen, own, own - weights, sizes), entries)
        at = int(gaps.argmax())
        score = float(scores[at])
        if gaps[at] > own[at] * n_rows - entries.through[chosen[at]] * one.size:
            # Just before this score: from the one below it on.
            score = float(entries.scores[np.searchsorted(entries.scores, score) - 1])
    above = int(weights[scores > score].sum())
    all_above = int(entries.weights[entries.scores > score].sum())
    rate, others = above / one.size, (all_above - above) / (n_rows - one.size)
    return {
        "n_rows": one.size,
        "score": score,
        "rate": rate,
        "rate_of_others": others,
        "difference": rate - others,
    }


def compare_with_scores(one: Subgroup, entries: Entries) -> dict[str, float]:
    """Interval of scores over which outcomes of a subgroup differ from them most."""
    assert entries.positive is not None
    scores, weights = entries.scores[one.entries], entries.weights[one.entries]
    positive = entries.positive[one.entries].astype(np.float64)
    expected = weights * scores
    # The curve before the first row, and after the last of each score.
    after = np.append(0, np.flatnonzero(np.append(np.diff(scores) > 0, True)) + 1)
    curve = np.append(0, np.cumsum(positive - expected))[after]
    first, stop = sorted((int(curve.argmin()), int(curve.argmax())))
    part = slice(after[first], after[stop])
    found = {"n_rows": one.size, "low": math.nan, "high": math.nan}
    found |= {"rate": math.nan, "mean_score": math.nan}
    if first < stop:
        n_rows = weights[part].sum()
        found |= {"low": scores[part][0], "high": scores[part][-1]}
        found["rate"] = positive[part].sum() / n_rows
        found["mean_score"] = expected[part].sum() / n_rows
    found["difference"] = found["rate"] - found["mean_score"]
    return found | {"error": np.ptp(curve) / one.size, "deviations": one.value}

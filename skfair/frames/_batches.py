"""Rows of a DuckDB table, counted by group and bin while DuckDB reads them.

DuckDB finds the cell of a row by hashing. Where there are few cells, arrays of counts
are faster, and rows near the largest gap can be kept, which saves further passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from skfair._utils._types import Floats, Integers
from skfair._utils._validation import LARGEST_WEIGHT, ROUNDING, SMALLEST_WEIGHT
from skfair.statistics._grouped_scores import sort_scores

#: Arrays of counts have at most this many cells.
_MAX_CELLS = 2**22
#: Integers of a smaller range are codes of labels as they are.
_MAX_RANGE = 256
#: Ranges of scores, sorted and closed on the left.
Ranges = Sequence[tuple[float, float]]


class PassSizes(NamedTuple):
    """How rows are read and counted, which decides how many passes there are."""

    #: Bins of the first pass: engines count few cells faster, and later bins are finer.
    first_bins: int = 2**11
    #: How much finer bins become with each pass, at least.
    finer: int = 2**4
    #: Bins of all groups that a further pass counts, unless that is not finer.
    max_cells: int = 2**16
    #: Up to this many rows are counted by score, which ends the search; more cost more
    #: than a pass of finer bins, unless that pass is the last.
    max_scores: int = 2**19
    max_scores_at_last: int = 2**21
    #: The same for rows that were kept while all were counted.
    max_kept_scores: int = 2**15
    #: The first rows of a table show whether scores are crowded: where one range of
    #: bins has more than this share of them, and the largest gap, it gets finer bins.
    first_rows: int = 2**16
    crowded: float = 0.25
    #: Finer bins of all groups in the first pass.
    first_cells: int = 2**14
    #: Ranges of scores that a query asks for; each is compared with every row.
    max_ranges: int = 4
    #: Rows that are read from DuckDB at once, and stay in a processor's cache; None
    #: leaves it to DuckDB to count.
    batch: int | None = 2**17
    #: Which rows to keep is decided after this many, and each time that rows double.
    first_decision: int = 2**18
    #: No rows are kept where more than this many would be.
    max_kept: int = 2**24


class FinerBins(NamedTuple):
    """Number of bins of [0, 1] for the scores of a range, which is closed on the left.

    It is a multiple of the number of other bins, whose edges the ends of the range are.
    """

    low: float
    high: float
    n_bins: int


def count_batches(
    rows: nw.LazyFrame[Any],
    n_bins: int,
    finer: FinerBins | None,
    undecided: Callable[[Any], Ranges] | None,
    sizes: PassSizes,
) -> RowCounter | None:
    """Count the rows of a DuckDB table, with columns "score", "weight", and of labels.

    `undecided` finds in a table of cells the ranges of scores of which rows are kept;
    they are asked for while rows are read, and each time less is kept. None stands for
    a table that DuckDB has to count: with NULL, with scores or weights that are faulty
    or zero, of types that are rare, or with too many cells.
    """
    relation: Any = rows.to_native()
    # Older versions of DuckDB have another name for it.
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
    counter = RowCounter(
        rows.columns,
        _Bins(n_bins, [] if finer is None else [finer]),
        undecided is not None,
        sizes,
    )
    look_at, size = sizes.first_decision, counter.size
    with read(size) as batches:
        parts = (
            batch.slice(start, size)
            for batch in batches
            for start in range(0, len(batch), size)
        )
        for part in parts:
            if not counter.add(part):
                return None
            if undecided and counter.keeps_rows and counter.n_rows >= look_at:
                counter.keep(undecided(counter.cells()))
                look_at = 2 * counter.n_rows
    return counter if counter.n_rows else None


class _Bins:
    """Bins of scores, numbered from 0 on without those that cannot occur.

    A score beyond 1 by rounding has a bin of its own, and one below 0 that of 0. Ranges
    may have finer bins.
    """

    def __init__(self, n_bins: int, finer: Sequence[FinerBins] = ()) -> None:
        self.n_bins, self.finer = n_bins, finer
        edges = [np.arange(n_bins + 1) / n_bins]
        edges += [np.arange(low * n, high * n) / n for low, high, n in finer]
        #: Lower edge of each bin.
        self.edges = np.concatenate(edges)

    def find(self, scores: Floats, out: Integers, work: Floats) -> None:
        """Write the bins of scores to `out`."""
        out[...] = np.multiply(scores, self.n_bins, out=work)
        start = self.n_bins + 1
        for low, high, n_bins in self.finer:
            first, last = int(low * n_bins), int(high * n_bins)
            at = np.flatnonzero((scores >= low) & (scores < high))
            out[at] = (scores[at] * n_bins).astype(np.intp) + (start - first)
            start += last - first


class _Labels:
    """Codes of the intersections of columns of labels, in order of their appearance."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.types: list[Any] = []
        self.codes: dict[tuple[Hashable, ...], int] = {}
        #: Values of the columns of the last batch, and codes of their intersections,
        #: -1 for those that did not occur; whether these are 0, 1, and so on.
        self._values: list[list[Hashable]] = []
        self._known = np.zeros(0, np.intp)
        self._in_order = False

    def __len__(self) -> int:
        return len(self.codes)

    def encode(self, batch: Any, out: Integers, work: Integers) -> bool:
        """Write the codes of rows to `out`.

        Return False if types are rare or labels are too many.
        """
        self.types = [batch.schema.field(name).type for name in self.names]
        encoded = [_encode_batch(batch.column(name)) for name in self.names]
        parts = [part for part in encoded if part is not None]
        values = [part.values for part in parts]
        size = math.prod(map(len, values))
        if len(parts) < len(encoded) or size > _MAX_CELLS:
            return False
        if values != self._values:
            self._values, self._known = values, np.full(size, -1)
            self._in_order = False
        out[...] = parts[0].codes
        out -= parts[0].first
        for part in parts[1:]:
            out *= len(part.values)
            out += part.codes
            out -= part.first
        if self._in_order:
            return True
        work[...] = out
        np.take(self._known, work, out=out, mode="clip")
        if out.min() < 0:
            self._learn(np.flatnonzero(np.bincount(work, minlength=size)))
            np.take(self._known, work, out=out, mode="clip")
        return True

    def _learn(self, joint: Integers) -> None:
        """Give intersections codes, those of earlier batches where they occurred."""
        positions = np.unravel_index(joint, [len(each) for each in self._values])
        for i, *at in zip(joint, *positions, strict=True):
            label = tuple(each[j] for each, j in zip(self._values, at, strict=True))
            self._known[i] = self.codes.setdefault(label, len(self.codes))
        self._in_order = np.array_equal(self._known, np.arange(len(self._known)))

    def columns(self, codes: Integers) -> dict[str, Any]:
        """Columns of the labels of rows with these codes."""
        import pyarrow as pa

        parts = zip(self.names, self.types, zip(*self.codes, strict=True), strict=True)
        return {
            name: pa.array(list(values), of_type).take(pa.array(codes))
            for name, of_type, values in parts
        }


class _Encoded(NamedTuple):
    """Whole numbers from `first` on that stand for values, of the rows of a column."""

    codes: Integers
    first: int
    values: list[Hashable]


def _encode_batch(column: Any) -> _Encoded | None:
    """Encode a column; None if its type is rare."""
    import pyarrow as pa

    of_type = column.type
    signed = pa.types.is_integer(of_type) and of_type != pa.uint64()
    if signed and not column.null_count:
        numbers = column.to_numpy()
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < _MAX_RANGE:
            return _Encoded(numbers, low, [*range(low, high + 1)])
    tests = "is_integer", "is_floating", "is_boolean", "is_string", "is_date"
    if not any(getattr(pa.types, test)(of_type) for test in tests):
        return None
    encoded = column.dictionary_encode(null_encoding="encode")
    return _Encoded(encoded.indices.to_numpy(), 0, encoded.dictionary.to_pylist())


class _Work(NamedTuple):
    """Arrays for one batch: fresh memory would cost more than the arithmetic."""

    floats: Floats
    codes: Integers
    bins: Integers
    flags: NDArray[np.bool_]

    def of_length(self, n_rows: int) -> _Work:
        """Return the first part of each array."""
        floats, codes, bins, flags = self
        return _Work(floats[:n_rows], codes[:n_rows], bins[:n_rows], flags[:n_rows])


class _Counts:
    """Counts of rows by code of a group and bin, under the names of the query."""

    def __init__(self, bins: _Bins, weighted: bool, n_groups: int = 0) -> None:
        self.bins = bins
        weights = ["weight", "weight_squared"] if weighted else []
        self._sums = {name: np.zeros(0) for name in ["low", "high", *weights]}
        self._sums["n_rows"] = np.zeros(0, np.int64)
        self.lengthen(n_groups)

    def lengthen(self, n_groups: int) -> None:
        """Make cells for groups that are new."""
        size, empty = n_groups * len(self.bins.edges), {"low": np.inf, "high": -np.inf}
        for name, values in self._sums.items():
            more = np.full(size - len(values), empty.get(name, 0), values.dtype)
            self._sums[name] = np.append(values, more)

    def add(self, scores: Floats, weights: Floats | None, work: _Work) -> None:
        """Count rows whose codes and bins are in `work`; codes become cells."""
        cells, sums = work.codes, self._sums
        cells *= len(self.bins.edges)
        cells += work.bins
        sums["n_rows"] += np.bincount(cells, minlength=len(sums["n_rows"]))
        extremes = ("low", np.less, np.minimum), ("high", np.greater, np.maximum)
        for name, beyond, extreme in extremes:
            np.take(sums[name], cells, out=work.floats, mode="clip")
            at = np.flatnonzero(beyond(scores, work.floats, out=work.flags))
            extreme.at(sums[name], cells[at], scores[at])
        if weights is not None:
            sums["weight"] += np.bincount(cells, weights, len(sums["weight"]))
            sums["weight_squared"] += np.bincount(cells, weights**2, len(sums["low"]))

    def cells(self, labels: _Labels) -> Any:
        """Table of the cells that have rows, as the engine's query returns it."""
        import pyarrow as pa

        present = np.flatnonzero(self._sums["n_rows"])
        codes, bins = np.divmod(present, len(self.bins.edges))
        sums = {name: values[present] for name, values in self._sums.items()}
        n_bins = max([self.bins.n_bins, *(finer.n_bins for finer in self.bins.finer)])
        sums["key"] = self.bins.edges[bins] * n_bins
        return pa.table(labels.columns(codes) | sums)


class RowCounter:
    """Counts of rows by labels and bin, and rows that are kept to be counted again."""

    def __init__(
        self, names: Sequence[str], bins: _Bins, keeps: bool, sizes: PassSizes
    ) -> None:
        self._weighted = "weight" in names
        self._labels = _Labels([n for n in names if n not in ("score", "weight")])
        self._counts = _Counts(bins, self._weighted)
        #: Rows of a batch, and most rows that are kept.
        self.size, self._max_kept = sizes.batch or 1, sizes.max_kept
        types = float, np.intp, np.intp, np.bool_
        self._work = _Work(*(np.empty(self.size, dtype) for dtype in types))
        self.n_rows = 0
        #: Whether rows of a bin are kept, from the first on.
        self._keeps = np.full(len(bins.edges), keeps)
        #: Cells, scores and weights of rows that were kept, by batch.
        self._kept: list[list[NDArray[Any]]] = []
        self._n_kept = 0

    @property
    def keeps_rows(self) -> bool:
        """Whether rows of any bin are kept."""
        return bool(self._keeps.any())

    def add(self, batch: Any) -> bool:
        """Count the rows of a batch; False if the engine must count them instead."""
        numbers = _read_numbers(batch, self._weighted)
        work, n_groups = self._work.of_length(len(batch)), len(self._labels)
        if numbers is None or not self._labels.encode(batch, work.codes, work.bins):
            return False
        n_bins = len(self._counts.bins.edges)
        if len(self._labels) * n_bins > _MAX_CELLS:
            return False
        if len(self._labels) > n_groups:
            self._counts.lengthen(len(self._labels))
        self._counts.bins.find(numbers[0], work.bins, work.floats)
        self._counts.add(*numbers, work)
        self.n_rows += len(batch)
        if self.keeps_rows:
            np.take(self._keeps, work.bins, out=work.flags, mode="clip")
            at = np.flatnonzero(work.flags)
            columns = [
                work.codes,
                *(column for column in numbers if column is not None),
            ]
            self._kept.append([column[at] for column in columns])
            self._n_kept += len(at)
            if self._n_kept > self._max_kept:
                self.keep([])
        return True

    def cells(self) -> Any:
        """Table of all cells that have rows."""
        return self._counts.cells(self._labels)

    def keep(self, ranges: Ranges) -> None:
        """Keep rows of ranges of scores only."""
        self._keeps &= lie_in(ranges, self._counts.bins.edges)
        self._filter(ranges)

    def _filter(self, ranges: Ranges) -> None:
        """Leave kept rows out that are outside ranges of scores."""
        kept = []
        for part in self._kept if ranges else []:
            at = np.flatnonzero(lie_in(ranges, part[1]))
            kept.append([column[at] for column in part])
        self._kept, self._n_kept = kept, sum(len(part[1]) for part in kept)

    def count_again(self, ranges: Ranges, n_bins: int | None) -> Any:
        """Table of cells of ranges in finer bins, or by score (None, or many bins).

        None where not all rows of the ranges were kept. Later ranges lie within these.
        """
        if (lie_in(ranges, self._counts.bins.edges) & ~self._keeps).any():
            return None
        self._filter(ranges)
        inside = [(max(low, 0), min(high, 1)) for low, high in ranges]
        width = sum(high - low for low, high in inside)
        if n_bins is None or width * n_bins * len(self._labels) > _MAX_CELLS:
            return self._cells_by_score()
        finer = [FinerBins(low, high, n_bins) for low, high in inside]
        counts = _Counts(_Bins(1, finer), self._weighted, len(self._labels))
        n_bins_before = len(self._counts.bins.edges)
        for cells, scores, *weights in self._kept:
            work = self._work.of_length(len(scores))
            np.floor_divide(cells, n_bins_before, out=work.codes)
            counts.bins.find(scores, work.bins, work.floats)
            counts.add(scores, weights[0] if weights else None, work)
        return counts.cells(self._labels)

    def _cells_by_score(self) -> Any:
        """Table of kept rows by labels and score."""
        import pyarrow as pa

        columns = zip(*self._kept, strict=True)
        cells, scores, *weights = (np.concatenate(parts) for parts in columns)
        codes = cells // len(self._counts.bins.edges)
        scores = np.clip(scores, 0, 1) + 0.0
        sums: dict[str, NDArray[Any]] = {"n_rows": np.ones(len(scores), np.int64)}
        if weights:
            sums |= {"weight": weights[0], "weight_squared": weights[0] ** 2}
        else:
            found = sort_scores(scores, codes, None, n_groups=len(self._labels))
            scores, codes, sums["n_rows"] = found
        return pa.table(self._labels.columns(codes) | {"key": scores} | sums)


def _read_numbers(batch: Any, weighted: bool) -> tuple[Floats, Floats | None] | None:
    """Scores and weights of a batch; None if some of them are missing or not usable."""
    scores = batch.column("score")
    if scores.null_count:
        return None
    scores = scores.to_numpy()
    # NaN compares as false.
    if not (scores.min() >= -ROUNDING and scores.max() <= 1 + ROUNDING):
        return None
    if not weighted:
        return scores, None
    weights = batch.column("weight")
    if weights.null_count:
        return None
    weights = weights.to_numpy()
    usable = weights.min() > SMALLEST_WEIGHT and weights.max() < LARGEST_WEIGHT
    return (scores, weights) if usable else None


def lie_in(ranges: Ranges, scores: Floats) -> NDArray[np.bool_]:
    """Whether scores lie in one of some ranges."""
    inside = np.zeros(len(scores), dtype=bool)
    for low, high in ranges:
        inside |= (scores >= low) & (scores < high)
    return inside

"""MCDP(0) of a table of any size, exact after one pass over the rows, or a few."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from skfair._utils._types import Floats, Integers
from skfair._utils._validation import check_integer, check_real
from skfair.frames._batches import FinerBins, PassSizes, Ranges, lie_in
from skfair.frames._grouped import count_bins, histogram_of, open_scores
from skfair.frames._query import (
    Counted,
    Table,
    control_names,
    count_rows_by,
)
from skfair.groups import comparable_groups, recode, sort_labels, why_undefined
from skfair.metrics import MetricBounds, mcdp
from skfair.metrics._distribution._gap import EveryPair, Pair, compared_pairs
from skfair.metrics._distribution._metric_bounds import (
    Band,
    Cells,
    cells_of_histogram,
    largest_bounds,
    on_band_of,
)
from skfair.metrics._inputs import Multigroup, check_multigroup
from skfair.metrics._strata import warn_of_strata
from skfair.metrics._undefined import warn_if_undefined, warn_undefined
from skfair.statistics import GroupedHistogram
from skfair.statistics._grouped_histogram import MAX_BINS, join_attributes

#: Bounds of MCDP(0) of a difference of CDFs that lies within a band.
_ON_BAND = on_band_of(mcdp)[0]


@dataclass(frozen=True)
class RefinedBounds(MetricBounds):
    """Interval that contains MCDP(0) of a table.

    Attributes
    ----------
    lower : float
        MCDP(0) is at least this: the gap at some score.
    upper : float
        MCDP(0) is at most this; equal to `lower` where the value is exact.
    n_passes : int
        How often all rows were read.
    histogram : GroupedHistogram
        Result of the first pass, for bounds of other metrics. Statistics of further
        tables can be added to it. With `control_features` its groups are the
        intersections of stratum and group.

    See Also
    --------
    mcdp_bounds : The function that returns this.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfair.frames import mcdp_bounds
    >>> frame = pd.DataFrame({"score": [0.2, 0.9], "sex": ["F", "M"]})
    >>> bounds = mcdp_bounds(frame, y_score="score", sensitive_features="sex")
    >>> bounds.histogram
    GroupedHistogram(2 cells of 2048 bins; rows 'F': 1, 'M': 1)
    """

    n_passes: int
    histogram: GroupedHistogram = field(repr=False)


def mcdp_bounds(
    frame: Any,
    *,
    y_score: str,
    sensitive_features: str | list[str],
    control_features: str | list[str] | None = None,
    tol: float = 0.0,
    max_passes: int = 3,
    multigroup: Multigroup = "pairwise",
    sample_weight: str | None = None,
) -> RefinedBounds:
    """Bound MCDP(0) of a table of any size, where the rows are.

    The first pass counts the rows of each group in 2,048 bins. Where the first 65,536
    rows show that scores are crowded, bins near the largest gap are finer at once. Each
    further pass reads only rows in the bins that may still contain the largest gap: up
    to 524,288 rows, 2,097,152 in the last pass, are counted by score, which makes the
    value exact, more in finer bins, of which there are 65,536 for all groups together.
    A table of DuckDB is usually read once, since rows near the largest gap are kept.

    Parameters
    ----------
    frame : table
        Of any library that narwhals reads: pandas, Polars (eager or lazy), PyArrow,
        DuckDB, Ibis, PySpark, SQLFrame, or Dask where narwhals supports it. Its rows
        must not change between the passes.
    y_score : str
        Name of the column of scores in [0, 1].
    sensitive_features : str or list of str
        Name of the column of groups; several stand for their intersection.
    control_features : str or list of str, default=None
        Name of the column of strata, within which groups are compared; several stand
        for their intersection. The value is the largest over strata, as that of
        `skfair.metrics.mcdp`; further passes read only rows that may change it.
    tol : float in [0, 1], default=0.0
        The search ends when ``upper - lower`` is at most this.
    max_passes : int, default=3
        How often all rows are read at most.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest value over pairs of groups, or over groups compared with everyone,
        the group included. With `control_features` it must be ``"pairwise"``.
    sample_weight : str, default=None
        Name of the column of non-negative sample weights.

    Returns
    -------
    RefinedBounds
        Equal bounds are, with whole weights, the very number that
        `skfair.metrics.mcdp` returns for the rows. nan with a warning where there are
        fewer than two groups, or an absent category; with `control_features` where no
        stratum has two groups.

    Raises
    ------
    ValueError
        If a column is missing, if there are no rows, and with their numbers if scores
        are NULL, NaN or outside [0, 1], if groups are missing, or if weights are
        negative or not finite; if rows change between passes.
    TypeError
        If `frame` is no table, or if scores or weights are no numbers.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared, and where a stratum lacks groups.

    See Also
    --------
    skfair.metrics.metric_bounds : Bounds of other metrics, from a histogram.
    grouped_scores : Every distinct score, for MCDP of any epsilon.

    Examples
    --------
    >>> import polars as pl
    >>> from skfair.frames import mcdp_bounds
    >>> frame = pl.LazyFrame(
    ...     {"score": [0.1, 0.2, 0.3, 0.6], "sex": ["F", "M", "F", "M"]}
    ... )
    >>> mcdp_bounds(frame, y_score="score", sensitive_features="sex")
    RefinedBounds(lower=0.5, upper=0.5, n_passes=1)
    """
    tol = check_real("tol", tol, 0, 1, closed="both")
    max_passes = check_integer("max_passes", max_passes, 1)
    check_multigroup(multigroup)
    if control_features is not None and multigroup == "pooled":
        raise ValueError(
            "multigroup must be 'pairwise' with control_features, got 'pooled'."
        )
    table = open_scores(
        frame,
        y_score,
        sensitive_features,
        sample_weight,
        control_features=control_features,
    )
    n_control = len(control_names(control_features))
    return refine_bounds(table, n_control, multigroup, tol, max_passes)


def refine_bounds(
    table: Table,
    n_control: int,
    multigroup: Multigroup,
    tol: float,
    max_passes: int,
) -> RefinedBounds:
    """Bound MCDP(0) of a table, of whose attributes the first are the strata."""
    finer, sizes = find_crowded_bins(table, multigroup, n_control), table.sizes

    def undecided(some: Counted) -> Ranges:
        histogram = histogram_of(some)
        pairs = _pairs(histogram.labels, multigroup, n_control)
        return _ranges_of_sample(_cells_of(histogram, finer, sizes), pairs, sizes)

    counted = count_rows_by(table, sizes.first_bins, finer=finer, undecided=undecided)
    found = histogram_of(counted)
    histogram = found.coarsen(sizes.first_bins)
    pairs = _pairs(histogram.labels, multigroup, n_control)
    if n_control:
        undefined = _warn_of_strata(counted, n_control, histogram.labels, not pairs)
    else:
        undefined = warn_if_undefined("mcdp", histogram)
    if undefined:
        return RefinedBounds(math.nan, math.nan, 1, histogram)
    cells, again = _cells_of(found, finer, sizes), counted.count_again
    return _count_finer(table, histogram, cells, tol, max_passes, pairs, again)


def _pairs(
    labels: tuple[Hashable, ...], multigroup: Multigroup, n_control: int
) -> Sequence[Pair]:
    """Pair the groups to compare: all, or those whose labels begin with a stratum."""
    if not n_control:
        return compared_pairs(len(labels), multigroup)
    strata = _groups_by_stratum(labels, n_control).values()
    return EveryPair(*([*groups.values()] for groups in strata))


def _groups_by_stratum(
    labels: tuple[Any, ...], n_control: int
) -> dict[Hashable, dict[Hashable, int]]:
    """Positions of the groups of each stratum, by the labels of both."""

    def label_of(values: tuple[Hashable, ...]) -> Hashable:
        return values[0] if len(values) == 1 else values

    strata: dict[Hashable, dict[Hashable, int]] = {}
    for position, label in enumerate(labels):
        groups = strata.setdefault(label_of(label[:n_control]), {})
        groups[label_of(label[n_control:])] = position
    return strata


def _warn_of_strata(
    counted: Counted, n_control: int, labels: tuple[Hashable, ...], no_pairs: bool
) -> bool:
    """Warn of groups and strata that lack rows, in the words of metrics.

    Returns whether the value is undefined: a category has no rows in any stratum, or no
    stratum has two groups.
    """
    groups = join_attributes(counted.attributes[n_control:])
    sizes = np.bincount(groups.codes, counted.rows, len(groups.labels))
    reason = why_undefined(groups.labels, sizes.astype(np.intp))
    if reason is not None:
        warn_undefined("mcdp", reason)
        return True
    strata = _groups_by_stratum(labels, n_control)
    every = sort_labels({label for present in strata.values() for label in present})
    reasons = {}
    for stratum, present in strata.items():
        has_rows = np.array([group in present for group in every], dtype=np.intp)
        reasons[stratum] = comparable_groups(every, has_rows, 1)[1]
    warn_of_strata("mcdp", reasons, undefined=no_pairs)
    return no_pairs


@dataclass(frozen=True, eq=False)
class _CountedCells(Cells):
    """Cells, their numbers of rows, and the widths of their bins."""

    n_rows: Integers
    widths: Floats

    def bins(self) -> tuple[Floats, Floats]:
        """Edges of the bins that have cells, sorted; bins do not overlap."""
        starts = np.floor(self.lows / self.widths) * self.widths
        starts, cells = np.unique(
            np.minimum(starts, 1 - self.widths), return_index=True
        )
        return starts, starts + self.widths[cells]


def _cells_of(
    histogram: GroupedHistogram, finer: FinerBins | None, sizes: PassSizes
) -> _CountedCells:
    """Cells of the first pass."""
    widths = np.full(len(histogram.codes), 1 / sizes.first_bins)
    if finer is not None:
        edges = histogram.bins / finer.n_bins
        widths[(edges >= finer.low) & (edges < finer.high)] = 1 / finer.n_bins
    cells = cells_of_histogram(histogram)
    return _CountedCells(
        cells.codes,
        cells.lows,
        cells.highs,
        cells.weights,
        cells.totals,
        histogram.rows,
        widths,
    )


def find_crowded_bins(
    table: Table, multigroup: Multigroup, n_control: int
) -> FinerBins | None:
    """Find in the first rows the bins that hold many rows and the largest gap.

    No bounds depend on what is found, but passes do.
    """
    sizes = table.sizes
    n_bins = sizes.first_bins
    if isinstance(table.frame, nw.DataFrame) and len(table.frame) < sizes.first_rows:
        return None
    rows = table.frame.head(sizes.first_rows)
    try:
        look = count_bins(replace(table, frame=rows), n_bins)
    except ValueError:  # the first pass will say what is wrong with all rows
        return None
    n_rows = look.rows.sum()
    if n_rows < sizes.first_rows or look.n_groups < 2 or not look.totals.all():
        return None
    cells = _cells_of(look, None, sizes)
    pairs = _pairs(look.labels, multigroup, n_control)
    found, pairs = largest_bounds(cells, pairs, _ON_BAND)
    if not pairs:
        return None
    ranges = _undecided_ranges(cells, pairs, found.lower, sizes)
    low, high = max(ranges[0][0], 0), min(ranges[-1][1], 1)
    inside = (look.bins >= low * n_bins) & (look.bins < high * n_bins)
    n_finer = power_of_two(sizes.first_cells / (high - low) / look.n_groups)
    if look.rows[inside].sum() <= sizes.crowded * n_rows or n_finer <= n_bins:
        return None
    return FinerBins(low, high, n_finer)


@dataclass(frozen=True, eq=False)
class _SampledCells(_CountedCells):
    """Cells of some rows only: bounds of all rows, but for a few standard errors."""

    def band(self, first: int, second: int | None) -> Band:
        """Bounds of all rows: those of the sample, and a standard error of the gap."""
        band = super().band(first, second)
        sizes = np.bincount(self.codes, self.n_rows, len(self.totals))
        other = sizes.sum() if second is None else sizes[second]
        noise = 0.5 * band.scale * math.sqrt(1 / sizes[first] + 1 / other)
        return band._replace(low=band.low - noise, high=band.high + noise)


def _ranges_of_sample(
    cells: _CountedCells, pairs: Sequence[Pair], sizes: PassSizes
) -> Ranges:
    """Ranges of scores of which rows are kept until all rows are counted."""
    if not pairs:
        return []
    sample = _SampledCells(**vars(cells))
    found, pairs = largest_bounds(sample, pairs, _ON_BAND)
    ranges = _undecided_ranges(sample, pairs, found.lower, sizes)
    inside = lie_in(ranges, cells.lows)
    one_score = cells.lows[inside] == cells.highs[inside]
    return [] if one_score.all() else ranges  # bins of one score are exact as they are


def _count_finer(
    table: Table,
    histogram: GroupedHistogram,
    cells: _CountedCells,
    tol: float,
    max_passes: int,
    pairs: Sequence[Pair],
    count_kept: Callable[[Ranges, int | None], Counted | None] | None,
) -> RefinedBounds:
    """Count rows again, in the bins that may contain the largest gap."""
    lower, n_passes, sizes = 0.0, 1, table.sizes
    while True:
        found, pairs = largest_bounds(cells, pairs, _ON_BAND, lower)
        lower = found.lower
        if found.width <= tol:
            break
        ranges = _undecided_ranges(cells, pairs, lower, sizes)
        again = lie_in(ranges, cells.lows)
        width = sum(min(high, 1) - max(low, 0) for low, high in ranges)
        n_bins = max(
            power_of_two(sizes.max_cells / width / histogram.n_groups),
            sizes.finer * round(1 / cells.widths[again].min()),
        )
        n_rows, counted = cells.n_rows[again].sum(), None
        if count_kept is not None:
            wanted = _bins_unless_few(n_bins, n_rows, sizes.max_kept_scores)
            counted = count_kept(ranges, wanted)
            if counted is None or wanted is None:  # read again, or known by score
                count_kept = None
        if counted is None:
            if n_passes == max_passes:
                break
            n_passes += 1
            at_last = n_passes == max_passes
            limit = sizes.max_scores_at_last if at_last else sizes.max_scores
            wanted = _bins_unless_few(n_bins, n_rows, limit)
            counted = count_rows_by(table, wanted, ranges)
        cells = _replace_cells(cells, again, counted, histogram.labels, 1 / n_bins)
    return RefinedBounds(found.lower, found.upper, n_passes, histogram)


def _bins_unless_few(n_bins: int, n_rows: int, limit: int) -> int | None:
    """Return a number of bins, or None to count by score.

    Rows are counted by score where few are left or bins would be tiny.
    """
    return None if n_rows <= limit or n_bins > MAX_BINS else n_bins


def power_of_two(number: float) -> int:
    """Largest power of two up to a number, 1 for smaller numbers."""
    return 1 << max(0, int(number).bit_length() - 1)


def _undecided_ranges(
    cells: _CountedCells, pairs: Any, lower: float, sizes: PassSizes
) -> list[tuple[float, float]]:
    """Ranges of scores where a gap may be larger than the largest known one."""
    undecided = []
    for pair in pairs:
        band = cells.band(*pair)
        largest = np.maximum(band.high, -band.low) / band.scale
        undecided.append(band.scores[largest > lower])
    starts, ends = cells.bins()
    scores = np.unique(np.concatenate(undecided))
    bins = np.unique(np.searchsorted(starts, scores, side="right") - 1)
    return _merge_ranges(starts[bins], ends[bins], sizes.max_ranges)


def merge_bins(bins: Floats, n_bins: int) -> list[tuple[float, float]]:
    """Cover sorted bins by a few ranges of scores, closed on the left."""
    return _merge_ranges(bins / n_bins, (bins + 1) / n_bins, PassSizes().max_ranges)


def _merge_ranges(
    starts: Floats, ends: Floats, max_ranges: int
) -> list[tuple[float, float]]:
    """Cover sorted ranges of scores by a few, closed on the left."""
    gaps = starts[1:] - ends[:-1]
    kept = np.sort(np.argsort(-gaps, kind="stable")[: max_ranges - 1])
    kept = kept[gaps[kept] > 0]
    first = starts[np.concatenate([[0], kept + 1])]
    last = ends[np.concatenate([kept, [-1]])]
    # Scores may leave [0, 1] by rounding.
    first[first == 0] = -1
    last[last == 1] = 2
    return list(zip(first.tolist(), last.tolist(), strict=True))


def _replace_cells(
    cells: _CountedCells,
    again: NDArray[np.bool_],
    counted: Counted,
    labels: tuple[Hashable, ...],
    width: float,
) -> _CountedCells:
    """Put cells of rows that were counted again in place of coarser ones."""
    codes = recode(counted.groups.codes, counted.groups.labels, labels)
    before = np.bincount(cells.codes[again], cells.n_rows[again], len(labels))
    if (codes < 0).any() or (
        before != np.bincount(codes, counted.rows, len(labels))
    ).any():
        raise ValueError("frame changed between two passes, expected the same rows.")
    columns = {
        "codes": codes.astype(np.intp),
        "lows": counted.lows,
        "highs": counted.highs,
        "weights": counted.weights,
        "n_rows": counted.rows,
        "widths": np.full(len(codes), width),
    }
    joined = {
        name: np.concatenate([getattr(cells, name)[~again], column])
        for name, column in columns.items()
    }
    order = np.lexsort((joined["lows"], joined["codes"]))
    return replace(cells, **{name: column[order] for name, column in joined.items()})

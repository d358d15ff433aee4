"""MCDP(0) of a table of any size, exact after a few aggregations."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skfair._utils._types import Floats
from skfair._utils._validation import check_integer, check_real
from skfair.frames._grouped import count_bins, open_scores
from skfair.frames._query import Counted, Table, count_rows_by
from skfair.groups import recode
from skfair.metrics import MetricBounds
from skfair.metrics._distribution._bounds import (
    Cells,
    cells_of,
    largest_bounds,
    mcdp_of_band,
)
from skfair.metrics._distribution._gap import compared_pairs
from skfair.metrics._inputs import Multigroup, check_multigroup, warn_if_undefined
from skfair.statistics import GroupedHistogram
from skfair.statistics._grouped_histogram import MAX_BINS

#: Bins of the first pass: engines count few cells faster, and further passes see finer.
_FIRST_BINS = 2**11
#: How much finer bins become with each pass, at least.
_FINER = 2**4
#: Bins of all groups that a further pass counts, unless that is not finer.
_MAX_CELLS = 2**16
#: Up to this many rows are counted by score, which ends the search; more cost more than
#: a pass of finer bins.
_MAX_SCORES = 2**19
#: Ranges of scores that a query asks for; each is compared with every row.
_MAX_RANGES = 4


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
        Number of aggregations that were run.
    histogram : GroupedHistogram
        Result of the first pass, for bounds of other metrics. Statistics of further
        tables can be added to it.

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
    sample_weight: str | None = None,
    tol: float = 0.0,
    max_passes: int = 3,
    multigroup: Multigroup = "pairwise",
) -> RefinedBounds:
    """Bound MCDP(0) of a table of any size, where the rows are.

    The first pass counts the rows of each group in 2,048 bins. Each further pass reads
    only rows in the bins that may still contain the largest gap: up to 524,288 rows are
    counted by score, which makes the value exact, more in finer bins, of which there
    are 65,536 for all groups together.

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
    sample_weight : str, default=None
        Name of the column of non-negative sample weights.
    tol : float in [0, 1], default=0.0
        The search ends when ``upper - lower`` is at most this.
    max_passes : int, default=3
        Number of aggregations after which the search ends in any case.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest value over pairs of groups, or over groups compared with everyone,
        the group included.

    Returns
    -------
    RefinedBounds
        Equal bounds are, with whole weights, the very number that
        `skfair.metrics.mcdp` returns for the rows. nan with a warning where there are
        fewer than two groups, or an absent category.

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
        If fewer than two groups can be compared.

    See Also
    --------
    skfair.metrics.mcdp_bounds : Bounds from a histogram.
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
    table = open_scores(frame, y_score, sensitive_features, sample_weight)
    histogram = count_bins(table, _FIRST_BINS)
    if warn_if_undefined("MCDP", histogram):
        return RefinedBounds(math.nan, math.nan, 1, histogram)
    return _refine(table, histogram, tol, max_passes, multigroup)


def _refine(
    table: Table,
    histogram: GroupedHistogram,
    tol: float,
    max_passes: int,
    multigroup: Multigroup,
) -> RefinedBounds:
    """Count rows again, in the bins that may contain the largest gap."""
    cells, n_bins, n_passes = cells_of(histogram), histogram.n_bins, 1
    n_rows = histogram.rows
    pairs, lower = compared_pairs(histogram.n_groups, multigroup), 0.0
    while True:
        found, pairs = largest_bounds(cells, pairs, mcdp_of_band, lower)
        lower = found.lower
        if found.width <= tol or n_passes == max_passes:
            return RefinedBounds(found.lower, found.upper, n_passes, histogram)
        ranges = _undecided_ranges(cells, pairs, lower, n_bins)
        again = np.zeros(len(cells.codes), dtype=bool)
        for low, high in ranges:
            again |= (cells.lows >= low) & (cells.lows < high)
        read_again = n_bins * sum(min(high, 1) - max(low, 0) for low, high in ranges)
        finer = max(_FINER, power_of_two(_MAX_CELLS / read_again / histogram.n_groups))
        fewer = n_rows[again].sum() <= _MAX_SCORES or n_bins * finer > MAX_BINS
        n_bins *= finer
        counted = count_rows_by(table, None if fewer else n_bins, ranges)
        cells, n_rows = _replace(cells, n_rows, again, counted, histogram)
        n_passes += 1


def power_of_two(number: float) -> int:
    """Largest power of two up to a number, 1 for smaller numbers."""
    return 1 << max(0, int(number).bit_length() - 1)


def _undecided_ranges(
    cells: Cells, pairs: Any, lower: float, n_bins: int
) -> list[tuple[float, float]]:
    """Ranges of scores where a gap may be larger than the largest known one."""
    undecided = []
    for pair in pairs:
        band = cells.band(*pair)
        largest = np.maximum(band.high, -band.low) / band.scale
        undecided.append(np.floor(band.scores[largest > lower] * n_bins))
    return merge_bins(np.unique(np.concatenate(undecided)), n_bins)


def merge_bins(bins: Floats, n_bins: int) -> list[tuple[float, float]]:
    """Cover sorted bins by a few ranges of scores, closed on the left."""
    gaps = np.diff(bins)
    ends = np.sort(np.argsort(-gaps, kind="stable")[: _MAX_RANGES - 1])
    ends = ends[gaps[ends] > 1]
    first = bins[np.concatenate([[0], ends + 1])] / n_bins
    last = (bins[np.concatenate([ends, [-1]])] + 1) / n_bins
    # Scores may leave [0, 1] by rounding.
    first[first == 0] = -1
    last[last == 1] = 2
    return list(zip(first.tolist(), last.tolist(), strict=True))


def _replace(
    cells: Cells, n_rows: Any, again: Any, counted: Counted, histogram: GroupedHistogram
) -> tuple[Cells, Any]:
    """Put cells of rows that were counted again in place of coarser ones."""
    groups = counted.groups
    codes = recode(groups.codes, groups.labels, histogram.labels)
    n_groups = histogram.n_groups
    before = np.bincount(cells.codes[again], n_rows[again], n_groups)
    if (codes < 0).any() or (
        before != np.bincount(codes, counted.rows, n_groups)
    ).any():
        raise ValueError("frame changed between two passes, expected the same rows.")
    columns = {
        "codes": codes.astype(np.intp),
        "lows": counted.lows,
        "highs": counted.highs,
        "weights": counted.weights,
    }
    joined = {
        name: np.concatenate([getattr(cells, name)[~again], column])
        for name, column in columns.items()
    }
    n_rows = np.concatenate([n_rows[~again], counted.rows])
    order = np.lexsort((joined["lows"], joined["codes"]))
    joined = {name: column[order] for name, column in joined.items()}
    return replace(cells, **joined), n_rows[order]

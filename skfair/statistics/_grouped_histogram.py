"""The scores of each group in bins: of all rows, or of both true labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._utils._arrays import Floats, Integers
from skfair._utils._columns import floats_in, open_frame
from skfair._utils._validation import (
    as_array,
    check_integer,
    check_scores,
)
from skfair._utils._warnings import warn_if_reordered
from skfair.groups import (
    Codes,
    Groups,
    check_no_probabilities,
    drop_weightless,
    encode_column,
    intersect,
    resolve_groups,
    warn_of_missing_words,
)
from skfair.statistics._grouped_scores import GroupedScores, whole_if_exact
from skfair.statistics._statistic import GroupedStatistic

#: Rows, weights, squared weights, least and largest scores of cells.
Sums: TypeAlias = tuple[Integers, NDArray[Any], NDArray[Any], Floats, Floats]
#: The same, with groups and bins before them.
Columns: TypeAlias = tuple[
    Integers, Integers, Integers, NDArray[Any], NDArray[Any], Floats, Floats
]
_COLUMNS = ("codes", "bins", "rows", "weights", "squares", "lows", "highs")
#: Edges k / n_bins, and products of a score and n_bins, have no rounding up to this.
MAX_BINS = 2**52


@dataclass(frozen=True, eq=False, repr=False)
class GroupedHistogram(GroupedStatistic):
    """How many scores of every group lie in each bin, and between which scores.

    Metrics of score distributions are computed from it as bounds that contain the
    value of the rows (`skfair.metrics.metric_bounds`). Its size depends on the number
    of bins, not of rows, and it is additive: ``a + b`` is the statistic of the joined
    rows. `skfair.frames.grouped_histogram` computes it where the rows are.

    One entry, called a cell, per pair of group and bin that has rows, sorted by group,
    then bin. Bin k of n_bins equal ones is closed on the left at exactly k / n_bins;
    the last is closed on the right, too.

    Attributes
    ----------
    codes : ndarray of shape (n_cells,)
        Position in `labels` of the group of each cell.
    bins : ndarray of shape (n_cells,)
        Bin of each cell, from 0 to ``n_bins - 1``.
    rows : ndarray of shape (n_cells,)
        Number of rows of each cell, rows of weight zero excepted.
    weights : ndarray of shape (n_cells,)
        Total weight of the rows of each cell: int64 where all are whole numbers, which
        keeps all sums exact, else float64.
    squares : ndarray of shape (n_cells,)
        Sum of the squared weights of each cell.
    lows : ndarray of shape (n_cells,)
        Least score of each cell.
    highs : ndarray of shape (n_cells,)
        Largest score of each cell.
    n_bins : int
        Number of bins, a power of two.
    labels : tuple of length n_groups
        Group labels.
    names : tuple of str
        Names of the sensitive columns, where known.
    min_group_size : int
        Smallest number of rows with which a group may be compared.

    See Also
    --------
    GroupedScores : Every distinct score, for exact values of all metrics.
    skfair.metrics.metric_bounds : Bounds of a metric from this statistic.
    GroupedCalibration : The same of positive and of negative rows.

    Notes
    -----
    A cell takes 56 bytes: at most 7.3 MB for two groups and 65,536 bins.

    Examples
    --------
    >>> from skfair.metrics import mcdp, metric_bounds
    >>> from skfair.statistics import GroupedHistogram
    >>> monday = GroupedHistogram.from_scores([0.2, 0.9], sensitive_features=["F", "M"])
    >>> tuesday = GroupedHistogram.from_scores(
    ...     [0.4, 0.6], sensitive_features=["F", "M"]
    ... )
    >>> metric_bounds(mcdp, monday + tuesday)
    MetricBounds(lower=1, upper=1)
    """

    codes: Integers
    bins: Integers
    rows: Integers
    weights: NDArray[Any]
    squares: NDArray[Any]
    lows: Floats
    highs: Floats
    n_bins: int
    labels: tuple[Hashable, ...]
    names: tuple[str, ...] = ()
    min_group_size: int = 1

    @classmethod
    def from_scores(
        cls,
        y_score: ArrayLike,
        *,
        sensitive_features: Any,
        n_bins: int = 2**16,
        sample_weight: ArrayLike | None = None,
    ) -> GroupedHistogram:
        """Count the scores of each group and bin.

        Parameters
        ----------
        y_score : array-like of shape (n_samples,)
            Scores in [0, 1], probabilities of the positive class as a rule.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups
            Group of each row; several columns stand for their intersection.
        n_bins : int, default=65536
            Number of bins: a power of two, at most 2**52.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.

        Returns
        -------
        GroupedHistogram

        Raises
        ------
        TypeError
            If an argument is missing, or of a kind that is not taken.
        ValueError
            On scores outside [0, 1], NaN, wrong lengths, missing groups, negative
            weights, a group whose rows all weigh zero, or another number of bins.
        """
        warn_if_reordered(
            y_score=y_score,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )
        n_bins = check_n_bins(n_bins)
        scores = check_scores(y_score)
        groups = resolve_groups(sensitive_features, n_samples=len(scores))
        scores, codes, weights, _ = drop_weightless(scores, groups, sample_weight)
        return count_rows(scores, codes, weights, n_bins, groups)

    @classmethod
    def from_cells(cls, cells: Any, *, n_bins: int = 2**16) -> GroupedHistogram:
        """Read what an aggregation by group and bin returned, in SQL for instance.

        Parameters
        ----------
        cells : dataframe
            Of pandas, Polars, PyArrow or any other library that narwhals reads. The
            columns ``bin``, ``n_rows``, ``low`` and ``high`` hold the bin, the number
            of rows, and the least and largest score; ``weight`` and
            ``weight_squared``, sums of weights and of their squares, are `n_rows`
            where there are no such columns. All other columns are sensitive ones.
            Cells of the same group and bin are joined, so that results of several
            tables may be concatenated.
        n_bins : int, default=65536
            Number of bins of the aggregation, a power of two.

        Returns
        -------
        GroupedHistogram

        Raises
        ------
        ValueError
            If a column is missing, if numbers contradict each other (a score outside
            its bin), or if a group is missing.

        Notes
        -----
        In a database that Python does not reach, such a table is the result of::

            SELECT sex, CASE WHEN score < 0 OR score > 1 THEN NULL
                             WHEN score = 1 THEN 65535
                             ELSE FLOOR(score * 65536) END AS bin,
                   COUNT(*) AS n_rows, MIN(score) AS low, MAX(score) AS high
            FROM people GROUP BY 1, 2

        Examples
        --------
        >>> import pandas as pd
        >>> from skfair.statistics import GroupedHistogram
        >>> cells = pd.DataFrame(
        ...     {"sex": ["F", "M"], "bin": [0, 3], "n_rows": [7, 5],
        ...      "low": [0.1, 0.8], "high": [0.2, 0.9]}
        ... )
        >>> GroupedHistogram.from_cells(cells, n_bins=4)
        GroupedHistogram(2 cells of 4 bins; rows 'F': 7, 'M': 5)
        """
        n_bins = check_n_bins(n_bins)
        try:
            frame = open_frame(cells, "cells", eager_only=True)
        except TypeError as error:
            raise TypeError(f"cells must be a dataframe: {error}") from error
        groups, columns = _read_cells(frame)
        problem = _find_problem_of_cells(n_bins, columns)
        if problem is not None:
            raise ValueError(f"cells must be those of a histogram, but {problem}.")
        joined = join_cells(groups.codes, *columns)
        return cls(*joined, n_bins, groups.labels, groups.names, groups.min_group_size)

    @property
    def counts(self) -> Integers:
        """Number of rows of each group, of shape (n_groups,)."""
        return np.bincount(self.codes, self.rows, self.n_groups).astype(np.intp)

    @cached_property
    def totals(self) -> NDArray[Any]:
        """Total weight of each group, of shape (n_groups,)."""
        sums = np.bincount(self.codes, self.weights, self.n_groups)
        return sums.astype(self.weights.dtype)

    def coarsen(self, n_bins: int) -> GroupedHistogram:
        """Return the statistic of the same rows in fewer bins.

        Parameters
        ----------
        n_bins : int
            A power of two, at most the number of bins of the statistic.

        Returns
        -------
        GroupedHistogram

        Raises
        ------
        ValueError
            If there are to be more bins, or a number that is no power of two.
        """
        n_bins = check_n_bins(n_bins, self.n_bins)
        bins = self.bins // (self.n_bins // n_bins)
        cells = join_cells(self.codes, bins, *self._sums())
        return GroupedHistogram(
            *cells, n_bins, self.labels, self.names, self.min_group_size
        )

    def at_edges(self) -> GroupedScores:
        """Return the statistic of scores that were rounded down to edges of bins.

        Returns
        -------
        GroupedScores
            Metrics of histograms whose bins are unions of bins of this statistic,
            such as MADD of ``n_bins / 4`` bins, are those of the rows.
        """
        order = np.lexsort((self.codes, self.bins))
        return GroupedScores(
            self.bins[order] / self.n_bins,
            self.codes[order],
            self.weights[order],
            self.counts,
            self.totals,
            whole_if_exact(np.bincount(self.codes, self.squares, self.n_groups)),
            self.labels,
            self.names,
            self.min_group_size,
        )

    def _join_entries(self, other: GroupedHistogram) -> dict[str, Any]:
        """Join the cells of both, in the bins of the coarser one."""
        n_bins = min(self.n_bins, other.n_bins)
        parts = [
            (part.codes, part.bins // (part.n_bins // n_bins), *part._sums())
            for part in (self, other)
        ]
        cells = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
        joined = dict(zip(_COLUMNS, join_cells(*cells), strict=True))
        return {**joined, "n_bins": n_bins}

    def __repr__(self) -> str:
        return (
            f"GroupedHistogram({len(self.bins)} cells of {self.n_bins} bins; "
            f"rows {self._rows_by_group()})"
        )

    def _cells_of(self, group: int) -> tuple[Floats, Floats, NDArray[Any]]:
        """Least scores, largest scores and weights of the cells of a group."""
        cells = slice(*np.searchsorted(self.codes, [group, group + 1]))
        return self.lows[cells], self.highs[cells], self.weights[cells]

    @cached_property
    def _of_everyone(self) -> tuple[Floats, NDArray[Any], NDArray[Any]]:
        """Scores at which a CDF may rise, and bounds of everyone's sums of weights."""
        scores = np.unique(np.concatenate([self.lows, self.highs]))
        early = sums_up_to(self.lows, self.weights, scores)
        return scores, early, sums_up_to(self.highs, self.weights, scores)

    def _sums(self) -> Sums:
        """Columns of the cells, without groups and bins."""
        return self.rows, self.weights, self.squares, self.lows, self.highs


def sums_up_to(at: Floats, weights: NDArray[Any], scores: Floats) -> NDArray[Any]:
    """Weight at or below each of sorted scores, which include all of `at`."""
    order = np.argsort(at, kind="stable")
    sums = np.concatenate([[0], np.cumsum(weights[order])])
    steps = np.searchsorted(scores, at[order])
    lengths = np.diff(np.concatenate([[0], steps, [len(scores)]]))
    return np.repeat(sums, lengths)


def count_rows(
    scores: Floats, codes: Codes, weights: Any, n_bins: int, groups: Groups
) -> GroupedHistogram:
    """Count checked rows, of which there may be none; weights None count each once."""
    ones = np.ones(len(scores), np.int64)
    weights = ones if weights is None else weights
    squares = ones if weights is ones else np.square(weights, dtype=float)
    bins = bins_of_scores(scores, n_bins)
    cells = (codes, bins, ones, weights, squares, scores, scores)
    return GroupedHistogram(
        *join_cells(*cells), n_bins, groups.labels, groups.names, groups.min_group_size
    )


def check_n_bins(n_bins: Any, largest: int = MAX_BINS) -> int:
    """Return a number of bins, a power of two."""
    checked = check_integer("n_bins", n_bins, 1, largest)
    if checked & (checked - 1):
        raise ValueError(f"n_bins must be a power of two, got {n_bins!r}.")
    return checked


def bins_of_scores(scores: Floats, n_bins: int) -> Integers:
    """Bin of each score; the last bin is closed. The product has no rounding."""
    return np.minimum(np.floor(scores * n_bins), n_bins - 1).astype(np.int64)


#: Columns of a table of cells; the other columns are sensitive ones.
_NUMBERS = ("bin", "n_rows", "weight", "weight_squared", "low", "high")


def _read_cells(frame: nw.DataFrame[Any]) -> tuple[Groups, list[NDArray[Any]]]:
    """Read the groups of the cells of a table, and its columns of numbers."""
    lacking = {"bin", "n_rows", "low", "high"} - set(frame.columns)
    names = [name for name in frame.columns if name not in _NUMBERS]
    if lacking or not names:
        raise ValueError(
            "cells must have the columns bin, n_rows, low, high and at least one "
            f"sensitive column, got {frame.columns}."
        )
    if not len(frame):
        raise ValueError("cells has 0 rows, expected at least one.")
    rows = _as_numbers(frame["n_rows"], "n_rows")
    lost = frame["bin"].is_null().to_numpy()
    if lost.any():
        raise ValueError(
            f"cells has no bin for {int(rows[lost].sum()):,} rows: their scores are "
            "missing or outside [0, 1], or their weights missing or negative."
        )
    sensitive = [frame[name].to_native() for name in names]
    groups = join_attributes(encode_attributes(sensitive, names, rows))
    otherwise = {"weight": "n_rows", "weight_squared": "n_rows"}
    columns = []
    for name in _NUMBERS:
        column = frame[name if name in frame.columns else otherwise[name]]
        numbers = _as_numbers(column, name)
        whole = name in ("bin", "n_rows")
        columns.append(numbers.astype(np.int64) if whole else numbers)
    return groups, columns


def _as_numbers(column: nw.Series[Any], name: str) -> Floats:
    """Read a column of a table, and check its numbers."""
    if not column.dtype.is_numeric():
        raise ValueError(f"cells[{name!r}] must be numbers, got {column.dtype}.")
    frame = column.to_frame()
    column = frame.select(floats_in(frame, column.name))[column.name]
    numbers: Floats = column.to_numpy().astype(np.float64)
    if name in ("low", "high"):
        return check_scores(numbers, f"cells[{name!r}]")
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise ValueError(f"cells[{name!r}] must be finite numbers of at least 0.")
    if name in ("bin", "n_rows") and (numbers != np.floor(numbers)).any():
        raise ValueError(f"cells[{name!r}] must be whole numbers.")
    return numbers


def join_attributes(attributes: list[Groups]) -> Groups:
    """Intersect attributes, of one column each."""
    encoded = [(groups.codes, groups.labels) for groups in attributes]
    return Groups(*intersect(encoded), tuple(groups.names[0] for groups in attributes))


def encode_attributes(
    columns: Sequence[Any],
    names: Sequence[str],
    rows: NDArray[Any],
    argument: str = "sensitive_features",
) -> list[Groups]:
    """Encode sensitive columns of a table of cells, of any library, by their names.

    Missing groups are an error that names the column and the number of rows.
    """
    encoded = []
    check_no_probabilities(columns, argument)
    for name, column in zip(names, columns, strict=True):
        codes, labels = encode_column(column, "drop", name, argument)
        if (codes < 0).any():
            raise ValueError(
                f"{argument} has {int(rows[codes < 0].sum())} missing values "
                f"in column {name!r}, expected none. Filter these rows out, or give "
                "them a value of their own."
            )
        encoded.append(Groups(codes, labels, (name,)))
    warn_of_missing_words([(part.codes, part.labels) for part in encoded], argument)
    return encoded


def _find_problem_of_cells(n_bins: int, columns: list[NDArray[Any]]) -> str | None:
    """Say what contradicts itself in the columns of cells."""
    bins, rows, weights, squares, lows, highs = columns
    if (rows < 1).any() or (weights <= 0).any() or (squares <= 0).any():
        return "a cell has no rows or no weight"
    if (lows > highs).any() or (highs > 1).any():
        return "a least score is above the largest, or a score is above 1"
    inside = (bins_of_scores(lows, n_bins) == bins) & (
        bins_of_scores(highs, n_bins) == bins
    )
    if not inside.all():
        cell = int((~inside).argmax())
        return (
            f"scores {lows[cell]} to {highs[cell]} do not lie in bin {bins[cell]} of "
            f"{n_bins}"
        )
    # Sums of squares of positive weights lie between these, by Cauchy and Schwarz.
    roots = np.sqrt(squares) * (1 + 1e-9)
    if (np.sqrt(rows) * roots < weights).any():
        return "squared weights are too small for the weights"
    if (weights * (1 + 1e-9) ** 2 < roots).any():
        return "squared weights are too large for the weights"
    return None


def join_cells(codes: Any, bins: Any, *sums: Any) -> Columns:
    """Sort cells by group and bin, and join those of the same group and bin."""
    codes = codes.astype(np.intp, copy=False)
    # Numbers of 8 and 16 bits are sorted faster.
    keys = [key.astype(np.min_scalar_type(key.max(initial=0))) for key in (bins, codes)]
    order = np.lexsort(keys)
    codes, bins, rows, weights, squares, lows, highs = (
        column[order] for column in (codes, bins, *sums)
    )
    new = np.ones(len(order), dtype=bool)
    new[1:] = (codes[1:] != codes[:-1]) | (bins[1:] != bins[:-1])
    if not new.all():
        starts = np.flatnonzero(new)
        codes, bins = codes[starts], bins[starts]
        rows, weights, squares = (
            np.add.reduceat(column, starts) for column in (rows, weights, squares)
        )
        lows = np.minimum.reduceat(lows, starts)
        highs = np.maximum.reduceat(highs, starts)
    weights, squares = whole_if_exact(weights), whole_if_exact(squares)
    return codes, bins, rows, weights, squares, lows, highs


@dataclass(frozen=True, eq=False, repr=False)
class GroupedCalibration(GroupedStatistic):
    """How many positive and negative rows of every group have scores in each bin.

    Metrics of calibration are computed from it as bounds that contain the value of the
    rows (`skfair.metrics.metric_bounds`). Its size depends on the number of bins, not
    of rows, and it is additive: ``a + b`` is the statistic of the joined rows.
    `skfair.frames.grouped_calibration` computes it where the rows are.

    Attributes
    ----------
    positive : GroupedHistogram
        Scores of the rows with a positive outcome. A group without such rows stays
        among its labels.
    negative : GroupedHistogram
        Scores of the other rows, with the same labels and number of bins.

    See Also
    --------
    GroupedHistogram : Scores in bins, of all rows.
    skfair.metrics.metric_bounds : Bounds of `calibration_gap`.

    Notes
    -----
    A cell takes 56 bytes: at most 14.7 MB for two groups and 65,536 bins.

    Examples
    --------
    >>> from skfair.metrics import calibration_gap, metric_bounds
    >>> from skfair.statistics import GroupedCalibration
    >>> monday = GroupedCalibration.from_scores(
    ...     [1, 0], [0.75, 0.25], sensitive_features=["F", "M"]
    ... )
    >>> tuesday = GroupedCalibration.from_scores(
    ...     [0, 0], [0.25, 0.75], sensitive_features=["F", "M"]
    ... )
    >>> metric_bounds(calibration_gap, monday + tuesday)
    MetricBounds(lower=0.5, upper=0.5)
    """

    positive: GroupedHistogram
    negative: GroupedHistogram

    @classmethod
    def from_scores(
        cls,
        outcomes: ArrayLike,
        y_score: ArrayLike,
        *,
        sensitive_features: Any,
        n_bins: int = 2**16,
        sample_weight: ArrayLike | None = None,
    ) -> GroupedCalibration:
        """Count the scores of each group, outcome and bin.

        Parameters
        ----------
        outcomes : array-like of shape (n_samples,)
            Whether the true label of each row is the positive one: 0 and 1, or bool.
        y_score : array-like of shape (n_samples,)
            Probabilities of the positive class, in [0, 1].
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups
            Group of each row; several columns stand for their intersection.
        n_bins : int, default=65536
            Number of bins: a power of two, at most 2**52.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.

        Returns
        -------
        GroupedCalibration

        Raises
        ------
        TypeError
            If an argument is missing, or of a kind that is not taken.
        ValueError
            On outcomes other than 0 and 1, and as `GroupedHistogram.from_scores` does.
        """
        warn_if_reordered(
            outcomes=outcomes,
            y_score=y_score,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )
        n_bins = check_n_bins(n_bins)
        scores = check_scores(y_score)
        values = as_array(outcomes, "outcomes", len(scores))
        positive = np.asarray(values == 1)
        if not (positive | (values == 0)).all():
            row = int((positive | (values == 0)).argmin())
            raise ValueError(
                f"outcomes must be 0 or 1, got {values[row]!r} in row {row}."
            )
        groups = resolve_groups(sensitive_features, n_samples=len(scores))
        rows, codes, weights, _ = drop_weightless(
            np.arange(len(scores)), groups, sample_weight
        )
        scores, positive = scores[rows], positive[rows]
        parts = []
        for of_label in (positive, ~positive):
            own = None if weights is None else weights[of_label]
            parts.append(
                count_rows(scores[of_label], codes[of_label], own, n_bins, groups)
            )
        return cls(*parts)

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """Group labels."""
        return self.positive.labels

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sensitive columns, where known."""
        return self.positive.names

    @property
    def min_group_size(self) -> int:
        """Smallest number of rows with which a group may be compared."""
        return self.positive.min_group_size

    @property
    def counts(self) -> Integers:
        """Number of rows of each group, of shape (n_groups,)."""
        return self.positive.counts + self.negative.counts

    @property
    def totals(self) -> NDArray[Any]:
        """Total weight of each group, of shape (n_groups,)."""
        return np.asarray(self.positive.totals + self.negative.totals)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, GroupedCalibration):
            return NotImplemented
        return GroupedCalibration(
            self.positive + other.positive, self.negative + other.negative
        )

    def __repr__(self) -> str:
        shares = zip(self.labels, self.positive.counts, self.counts, strict=True)
        sizes = ", ".join(f"{label!r}: {hits} of {n}" for label, hits, n in shares)
        return f"GroupedCalibration({self.positive.n_bins} bins; positive rows {sizes})"

    @classmethod
    def _read_entry(cls, name: str, value: Any) -> GroupedHistogram:
        """Return one of the histograms."""
        return GroupedHistogram.from_dict(value)

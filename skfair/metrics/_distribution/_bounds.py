"""Bounds of metrics of score distributions, from scores in cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfair._utils._results import NumbersResult
from skfair._utils._types import Floats, Integers
from skfair.metrics._distribution._gap import Pair, blocks_of, compared_pairs
from skfair.metrics._distribution._madd import madd, number_of_bins
from skfair.metrics._inputs import Multigroup, check_multigroup
from skfair.metrics._undefined import warn_if_undefined
from skfair.statistics import GroupedHistogram
from skfair.statistics._grouped_scores import MAX_EXACT

#: More than the rounding of a sum of two distances.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class MetricBounds(NumbersResult):
    """Interval that contains the value of a metric.

    This is no confidence interval: it says where the value of these very rows lies,
    whose scores are known by bins only.

    Attributes
    ----------
    lower : float
        The metric is at least this.
    upper : float
        The metric is at most this; equal to `lower` where the value is exact.

    See Also
    --------
    mcdp_bounds : Bounds of MCDP(0) from a histogram.

    Examples
    --------
    >>> from skfair.metrics import MetricBounds
    >>> MetricBounds(lower=0.25, upper=0.5).width
    0.25
    """

    lower: float
    upper: float

    @property
    def width(self) -> float:
        """Upper minus lower bound; 0 where the value is exact."""
        return self.upper - self.lower


def mcdp_bounds(
    histogram: GroupedHistogram, *, multigroup: Multigroup = "pairwise"
) -> MetricBounds:
    """Bound the largest gap between the groups' score distributions, MCDP(0).

    Parameters
    ----------
    histogram : GroupedHistogram
        Scores of each group in bins.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest value over pairs of groups, or over groups compared with everyone,
        the group included.

    Returns
    -------
    MetricBounds
        Contains what `mcdp` returns for the rows. `lower` is the gap at some score.
        With whole weights the bounds have no rounding, and equal ones are the very
        number that `mcdp` returns. nan with a warning where a group is absent or too
        small.

    Raises
    ------
    TypeError
        If `histogram` is not a `GroupedHistogram`.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    mcdp : The value, from all rows or from every distinct score.
    skfair.frames.mcdp_bounds : Reads a table again until the value is exact.

    Notes
    -----
    The cumulative distribution functions are known at the edges of bins. Inside a bin
    that of a group lies between two step functions: all its scores in the bin might be
    the least, or all the largest. Hence a bin where each group has a single score, or
    where all scores of one group are below those of the other, is exact.

    Examples
    --------
    >>> from skfair.metrics import mcdp_bounds
    >>> from skfair.statistics import GroupedHistogram
    >>> scores, sex = [0.1, 0.2, 0.4, 0.15, 0.7, 0.8], ["F", "F", "F", "M", "M", "M"]
    >>> for n_bins in 1, 4:
    ...     histogram = GroupedHistogram.from_scores(
    ...         scores, sensitive_features=sex, n_bins=n_bins
    ...     )
    ...     print(mcdp_bounds(histogram).to_frame().round(3).to_string(index=False))
     lower  upper
       0.0    1.0
     lower  upper
     0.667  0.667
    """
    return _bounds("MCDP", histogram, multigroup, mcdp_of_band)


def abcc_bounds(
    histogram: GroupedHistogram, *, multigroup: Multigroup = "pairwise"
) -> MetricBounds:
    """Bound the area between the groups' cumulative curves, ABCC.

    Parameters
    ----------
    histogram : GroupedHistogram
        Scores of each group in bins.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest value over pairs of groups, or over groups compared with everyone,
        the group included.

    Returns
    -------
    MetricBounds
        Contains what `abcc` returns for the rows, up to rounding (1e-12). No wider
        than ``2 / n_bins``, whatever the scores. nan with a warning where a group is
        absent or too small.

    Raises
    ------
    TypeError
        If `histogram` is not a `GroupedHistogram`.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    abcc : The value, from all rows or from every distinct score.

    Examples
    --------
    >>> from skfair.metrics import abcc_bounds
    >>> from skfair.statistics import GroupedHistogram
    >>> histogram = GroupedHistogram.from_scores(
    ...     [0.1, 0.4, 0.5, 0.6], sensitive_features=[0, 0, 1, 1], n_bins=2
    ... )
    >>> abcc_bounds(histogram).to_frame().round(3)
       lower  upper
    0    0.1    0.5
    """
    return _bounds("ABCC", histogram, multigroup, _abcc_of_band)


def demographic_parity_bounds(
    histogram: GroupedHistogram, *, multigroup: Multigroup = "pairwise"
) -> MetricBounds:
    """Bound the largest difference between groups of the mean score.

    Parameters
    ----------
    histogram : GroupedHistogram
        Scores of each group in bins.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest difference between two groups, or between a group and everyone,
        the group included.

    Returns
    -------
    MetricBounds
        Contains what `demographic_parity_difference` returns for the rows, up to
        rounding (1e-12). No wider than ``2 / n_bins``. nan with a warning where a
        group is absent or too small.

    Raises
    ------
    TypeError
        If `histogram` is not a `GroupedHistogram`.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    demographic_parity_difference : The value, from rows.

    Examples
    --------
    >>> from skfair.metrics import demographic_parity_bounds
    >>> from skfair.statistics import GroupedHistogram
    >>> histogram = GroupedHistogram.from_scores(
    ...     [0.2, 0.4, 0.9, 0.7], sensitive_features=["F", "F", "M", "M"], n_bins=8
    ... )
    >>> demographic_parity_bounds(histogram).to_frame().round(3)
       lower  upper
    0    0.5    0.5
    """
    name = "Demographic parity difference"
    return _bounds(name, histogram, multigroup, _mean_difference_of_band)


def madd_bounds(
    histogram: GroupedHistogram,
    *,
    bandwidth: float,
    multigroup: Multigroup = "pairwise",
) -> MetricBounds:
    """MADD of a bandwidth whose bins are unions of bins of a histogram: exact.

    Parameters
    ----------
    histogram : GroupedHistogram
        Scores of each group in bins.
    bandwidth : float in (0, 1]
        Width of the bins of MADD, one divided by a power of two of at most
        ``histogram.n_bins``.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest value over pairs of groups, or over groups compared with everyone,
        the group included.

    Returns
    -------
    MetricBounds
        `lower` and `upper` are equal: what `madd` returns for the rows. nan with a
        warning where a group is absent or too small.

    Raises
    ------
    TypeError
        If `histogram` is not a `GroupedHistogram`.
    ValueError
        If bins of that width are no unions of bins of the histogram.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    madd : MADD of any bandwidth, from all rows or from every distinct score.

    Examples
    --------
    >>> from skfair.metrics import madd_bounds
    >>> from skfair.statistics import GroupedHistogram
    >>> histogram = GroupedHistogram.from_scores(
    ...     [0.1, 0.4, 0.3, 0.6], sensitive_features=[0, 0, 1, 1]
    ... )
    >>> madd_bounds(histogram, bandwidth=0.5)
    MetricBounds(lower=1.0, upper=1.0)
    """
    check_multigroup(multigroup)
    _check_histogram(histogram)
    n_bins = number_of_bins(bandwidth)
    if histogram.n_bins % n_bins:
        raise ValueError(
            f"bandwidth must be 1 / m for a power of two m <= {histogram.n_bins}, got "
            f"{bandwidth!r}, with {n_bins} bins."
        )
    if warn_if_undefined("MADD", histogram):
        return MetricBounds(math.nan, math.nan)
    value = madd(None, histogram.at_edges(), bandwidth=bandwidth, multigroup=multigroup)
    return MetricBounds(value, value)


class Band(NamedTuple):
    """Step functions that a difference of two CDFs lies between.

    From ``scores[i]`` on it is at least ``low[i] / scale`` and at most
    ``high[i] / scale``; below the first score, and from the last on, it is 0.
    """

    scores: Floats
    low: NDArray[Any]
    high: NDArray[Any]
    scale: float


@dataclass(frozen=True, eq=False)
class Cells:
    """Weights of cells, and the least and largest score of each, sorted by group.

    Cells of a group do not overlap and are sorted, but need not be of equal width.
    """

    codes: Integers
    lows: Floats
    highs: Floats
    weights: NDArray[Any]
    totals: NDArray[Any]

    @cached_property
    def everyone(self) -> tuple[Floats, NDArray[Any], NDArray[Any]]:
        """Scores at which a CDF may rise, and bounds of everyone's sums of weights."""
        scores = np.unique(np.concatenate([self.lows, self.highs]))
        return (
            scores,
            _sums(self.highs, self.weights, scores),
            _sums(self.lows, self.weights, scores),
        )

    def of_group(self, group: int) -> tuple[Floats, Floats, NDArray[Any]]:
        """Least scores, largest scores and weights of the cells of one group."""
        start, stop = np.searchsorted(self.codes, [group, group + 1])
        return self.lows[start:stop], self.highs[start:stop], self.weights[start:stop]

    def band(self, first: int, second: int | None) -> Band:
        """Bound the CDF of one group minus that of another, or of everyone (None).

        The CDF of a group is largest if all rows of a cell have the least score, and
        smallest if all have the largest.
        """
        lows, highs, weights = self.of_group(first)
        ours = self.totals[first]
        theirs = self.totals.sum() if second is None else self.totals[second]
        exact = weights.dtype.kind == "i" and float(ours) * float(theirs) < MAX_EXACT
        up, down = (theirs, ours) if exact else (1 / ours, 1 / theirs)
        if second is None:
            scores, late, early = self.everyone
        else:
            others = self.of_group(second)
            scores = np.unique(np.concatenate([lows, highs, *others[:2]]))
            early, late = (_sums(at, others[2], scores) for at in others[:2])
        our_early, our_late = (_sums(at, weights, scores) for at in (lows, highs))
        if second is None:  # the group stands on both sides
            early, late, up = early - our_early, late - our_late, up - down
        low = up * our_late - down * early
        high = up * our_early - down * late
        if not exact:
            np.clip(low, -1, 1, out=low)
            np.clip(high, -1, 1, out=high)
        low[-1] = high[-1] = 0  # both CDFs end at 1, without rounding
        return Band(scores, low, high, float(ours * theirs if exact else 1.0))


def _sums(at: Floats, weights: NDArray[Any], scores: Floats) -> NDArray[Any]:
    """Weight at or below each of sorted scores, which include all of `at`."""
    order = np.argsort(at, kind="stable")
    sums = np.concatenate([[0], np.cumsum(weights[order])])
    steps = np.searchsorted(scores, at[order])
    lengths = np.diff(np.concatenate([[0], steps, [len(scores)]]))
    return np.repeat(sums, lengths)


def cells_of(histogram: GroupedHistogram) -> Cells:
    """Cells of a histogram."""
    parts = histogram.codes, histogram.lows, histogram.highs, histogram.weights
    return Cells(*parts, histogram.totals)


#: Bounds of the measure of a gap between two CDFs.
Measure = Callable[[Band], tuple[float, float]]


def mcdp_of_band(band: Band) -> tuple[float, float]:
    """Largest absolute value."""
    lower = max(band.low.max(), -band.high.min())
    upper = max(band.high.max(), -band.low.min())
    return float(lower / band.scale), float(upper / band.scale)


def _abcc_of_band(band: Band) -> tuple[float, float]:
    """Integral of the absolute value."""
    least = np.maximum(np.maximum(band.low, -band.high), 0)
    most = np.maximum(band.high, -band.low)
    return _integral(band, least), min(1.0, _integral(band, most))


def _mean_difference_of_band(band: Band) -> tuple[float, float]:
    """Absolute value of the integral."""
    low, high = _integral(band, band.low), _integral(band, band.high)
    return max(0.0, low, -high), min(1.0, max(high, -low))


def _integral(band: Band, heights: NDArray[Any]) -> float:
    return float(heights[:-1] / band.scale @ np.diff(band.scores))


def _check_histogram(histogram: Any) -> None:
    if not isinstance(histogram, GroupedHistogram):
        raise TypeError(
            "histogram must be a GroupedHistogram, got a "
            f"{type(histogram).__name__}; GroupedHistogram.from_scores makes one."
        )


def _bounds(
    name: str, histogram: GroupedHistogram, multigroup: Multigroup, measure: Measure
) -> MetricBounds:
    """Bound the largest measure over the pairs of groups of a histogram."""
    check_multigroup(multigroup)
    _check_histogram(histogram)
    if warn_if_undefined(name, histogram):
        return MetricBounds(math.nan, math.nan)
    pairs = compared_pairs(histogram.n_groups, multigroup)
    return largest_bounds(cells_of(histogram), pairs, measure)[0]


def largest_bounds(
    cells: Cells, pairs: Sequence[Pair], measure: Measure, lower: float = 0.0
) -> tuple[MetricBounds, list[Pair]]:
    """Bound the largest measure, and return the pairs that may attain it.

    It is at least `lower`, the value of other pairs perhaps. Measures obey the triangle
    inequality: two groups are no further apart than both are from everyone. Of some
    pairs at once those are visited whose bound exceeds the largest lower bound, from
    the largest bound on.
    """
    n_groups = len(cells.totals)
    found: list[tuple[float, Pair]] = []
    if len(pairs) <= n_groups:
        lower, found = _visit(cells, pairs, np.full(len(pairs), np.inf), measure, lower)
    else:
        from_everyone = np.array(
            [measure(cells.band(group, None))[1] for group in range(n_groups)]
        )
        for _, first, second in blocks_of(pairs):
            limits = from_everyone[first] + from_everyone[second]
            at = np.flatnonzero(limits + _ROUNDING >= lower)
            some = list(zip(first[at].tolist(), second[at].tolist(), strict=True))
            lower, more = _visit(cells, some, limits[at], measure, lower)
            found = [one for one in found + more if one[0] > lower]
    # By rounding an upper bound may be below.
    upper = max([lower, *(high for high, _ in found)])
    return MetricBounds(lower, upper), [pair for high, pair in found if high > lower]


def _visit(
    cells: Cells, pairs: Sequence[Pair], limits: Floats, measure: Measure, lower: float
) -> tuple[float, list[tuple[float, Pair]]]:
    """Largest lower bound of pairs, and the upper bounds of those that were visited."""
    found = []
    for i in np.argsort(-limits, kind="stable"):
        if limits[i] + _ROUNDING < lower:
            break
        low, high = measure(cells.band(*pairs[i]))
        lower = max(lower, low)
        found.append((high, pairs[i]))
    return lower, found

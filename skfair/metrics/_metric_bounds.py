"""Bounds of a metric of score distributions, from scores in bins."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skfair._utils._arrays import Floats, Integers
from skfair._utils._results import Result
from skfair.metrics._inputs import check_multigroup, warn_if_undefined
from skfair.metrics._pairs import Measure, Pair, blocks_of, compared_pairs
from skfair.metrics._spec import (
    check_known,
    check_metric,
    known_metrics,
    specification_of,
)
from skfair.statistics import GroupedCalibration, GroupedHistogram
from skfair.statistics._grouped_scores import MAX_EXACT, Gap

#: More than the rounding of a sum of two distances.
_ROUNDING = 1e-12
#: Bins of which the bounds of all pairs are computed, before those of few pairs.
_FEW_BINS = 2**12


@dataclass(frozen=True, repr=False)
class MetricBounds(Result):
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
    metric_bounds : Bounds of a metric from a histogram.

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


def metric_bounds(
    metric: Callable[..., float],
    histogram: GroupedHistogram | GroupedCalibration,
    **options: Any,
) -> MetricBounds:
    """Bound a metric of rows whose scores are known by bins only.

    Parameters
    ----------
    metric : callable
        `mcdp`, `abcc`, `demographic_parity_difference` of scores, or `madd` whose bins
        are unions of bins of the histogram or `calibration_gap`;
        `functools.partial` may set its options.
    histogram : GroupedHistogram or GroupedCalibration
        Scores of each group in bins. Metrics of calibration need the second, which has
        those of positive and of negative rows.
    **options : dict
        Options of the metric, such as ``multigroup="pooled"`` or, for `madd`,
        ``bandwidth=1/8``.

    Returns
    -------
    MetricBounds
        Contains what the metric returns for the rows, up to rounding (1e-12). The
        lower bound of MCDP(0) is the gap at some score; with whole weights its bounds
        have no rounding, and equal ones are the very number that `mcdp` returns. Those
        of ABCC and of the difference of means are no wider than ``2 / n_bins``, those
        of `calibration_gap` no wider than that plus the shares of two groups in one
        bin. Those of `madd` are equal. nan with a warning where a group is absent or
        too small.

    Raises
    ------
    TypeError
        If `histogram` is not the statistic that the metric needs.
    ValueError
        On a metric whose bounds are not known, if bins of the bandwidth of `madd` are
        no unions of bins of the histogram, and as the metric does.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    skfair.frames.grouped_histogram : Counts the rows of a table in bins.
    confidence_interval : Takes a histogram, and adds the width of these bounds.

    Notes
    -----
    The cumulative distribution functions are known at the edges of bins. Inside a bin
    that of a group lies between two step functions: all its scores in the bin might be
    the least, or all the largest. Hence a bin where each group has a single score, or
    where all scores of one group are below those of the other, is exact. The curves
    of calibration lie between two step functions in the same way.

    Examples
    --------
    >>> from skfair.metrics import abcc, madd, mcdp, metric_bounds
    >>> from skfair.statistics import GroupedCalibration, GroupedHistogram
    >>> scores, sex = [0.1, 0.2, 0.4, 0.15, 0.7, 0.8], ["F", "F", "F", "M", "M", "M"]
    >>> for n_bins in 1, 4:
    ...     histogram = GroupedHistogram.from_scores(
    ...         scores, sensitive_features=sex, n_bins=n_bins
    ...     )
    ...     print(metric_bounds(mcdp, histogram).to_frame().round(3).to_string())
       lower  upper
    0    0.0    1.0
       lower  upper
    0  0.667  0.667
    >>> metric_bounds(abcc, histogram).to_frame().round(3)
       lower  upper
    0    0.3   0.35
    >>> metric_bounds(madd, histogram, bandwidth=0.25).width
    0.0
    """
    check_metric(metric)
    specification, given = specification_of(metric)
    given |= options
    by_label = specification.bounds_by_label
    expected = GroupedHistogram if by_label is None else GroupedCalibration
    if not isinstance(histogram, expected):
        raise TypeError(
            f"histogram must be a {expected.__name__}, got a "
            f"{type(histogram).__name__}; {expected.__name__}.from_scores makes one."
        )
    multigroup = given.get("multigroup", "pairwise")
    check_multigroup(multigroup)
    if by_label is not None:
        check_known(specification, given, by_label, what="bounds")
        if warn_if_undefined(specification.name, histogram):
            return MetricBounds(math.nan, math.nan)
        lower, upper = by_label(histogram, **given)
        # By rounding an upper bound may be below.
        return MetricBounds(lower, max(lower, min(upper, specification.maximum)))
    assert isinstance(histogram, GroupedHistogram)
    if specification.check_bins is not None:
        check_bins = specification.check_bins
        own = check_known(specification, given, check_bins, what="bounds")
        check_bins(histogram.n_bins, **own)
        value = metric(None, histogram.at_edges(), **options)
        return MetricBounds(value, value)
    on_band, limit = on_band_of(metric, **options)
    if warn_if_undefined(specification.name, histogram):
        return MetricBounds(math.nan, math.nan)
    pairs: Sequence[Pair] = compared_pairs(histogram.n_groups, multigroup)
    # Few bins show which pairs may have the largest value.
    coarse = histogram.coarsen(min(_FEW_BINS, histogram.n_bins))
    lower = 0.0
    for some in coarse, histogram:
        cells = _cells_of(some)
        bounds, pairs = largest_bounds(cells, pairs, on_band, lower, limit=limit)
        lower = bounds.lower
    return bounds


class Band(NamedTuple):
    """Step functions that a difference of two CDFs lies between.

    From ``scores[i]`` on it is at least ``low[i] / scale`` and at most
    ``high[i] / scale``; below the first score, and from the last on, it is 0.
    """

    scores: Floats
    low: NDArray[Any]
    high: NDArray[Any]
    scale: float


#: Bounds of a metric of a difference of CDFs that lies within a band.
OnBand: TypeAlias = Callable[[Band], tuple[float, float]]


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


def _cells_of(histogram: GroupedHistogram) -> Cells:
    """Cells of a histogram."""
    parts = histogram.codes, histogram.lows, histogram.highs, histogram.weights
    return Cells(*parts, histogram.totals)


def on_band_of(metric: Callable[..., float], **options: Any) -> tuple[OnBand, OnBand]:
    """Find what bounds a metric of the gap of two CDFs, and a seminorm above it."""
    check_metric(metric)
    specification, given = specification_of(metric)
    given |= options
    make = specification.on_band or specification.measure
    if make is not None:
        own = check_known(specification, given, make, what="bounds")
    if specification.on_band is not None:
        on_band = specification.on_band(**own)
        return on_band, on_band
    if specification.measure is not None:
        measure = specification.measure(**own)
        distance = specification.distance or measure
        return partial(_bound_measure, measure), partial(_bound_measure, distance)
    bounded = [
        one.name
        for one in known_metrics().values()
        if one.on_band or one.measure or one.check_bins or one.bounds_by_label
    ]
    raise ValueError(
        f"metric must be one of {', '.join(bounded)}, whose bounds are known, got "
        f"{metric!r}."
    )


def _bound_measure(measure: Measure, band: Band) -> tuple[float, float]:
    """Measures of the least and of the largest absolute difference."""
    least = np.maximum(np.maximum(band.low, -band.high), 0)
    most = np.maximum(band.high, -band.low)
    lower, upper = (
        measure(Gap(band.scores, heights, band.scale, (1.0, 1.0)))
        for heights in (least, most)
    )
    return lower, upper


def largest_bounds(
    cells: Cells,
    pairs: Sequence[Pair],
    on_band: OnBand,
    lower: float = 0.0,
    *,
    limit: OnBand | None = None,
) -> tuple[MetricBounds, list[Pair]]:
    """Bound the largest value of a metric, and return the pairs that may attain it.

    It is at least `lower`, the value of other pairs perhaps. The metric, or another
    number above it, `limit`, obeys the triangle inequality: two groups are no further
    apart than both are from everyone. Of some pairs at once those are visited whose
    bound exceeds the largest lower bound, from the largest bound on.
    """
    limit = on_band if limit is None else limit
    n_groups = len(cells.totals)
    found: list[tuple[float, Pair]] = []
    if len(pairs) <= n_groups:
        lower, found = _visit(cells, pairs, np.full(len(pairs), np.inf), on_band, lower)
    else:
        from_everyone = np.array(
            [limit(cells.band(group, None))[1] for group in range(n_groups)]
        )
        for _, first, second in blocks_of(pairs):
            limits = from_everyone[first] + from_everyone[second]
            at = np.flatnonzero(limits + _ROUNDING >= lower)
            some = list(zip(first[at].tolist(), second[at].tolist(), strict=True))
            lower, more = _visit(cells, some, limits[at], on_band, lower)
            found = [one for one in found + more if one[0] > lower]
    # By rounding an upper bound may be below.
    upper = max([lower, *(high for high, _ in found)])
    return MetricBounds(lower, upper), [pair for high, pair in found if high > lower]


def _visit(
    cells: Cells, pairs: Sequence[Pair], limits: Floats, on_band: OnBand, lower: float
) -> tuple[float, list[tuple[float, Pair]]]:
    """Largest lower bound of pairs, and the upper bounds of those that were visited."""
    found = []
    for i in np.argsort(-limits, kind="stable"):
        if limits[i] + _ROUNDING < lower:
            break
        low, high = on_band(cells.band(*pairs[i]))
        lower = max(lower, low)
        found.append((high, pairs[i]))
    return lower, found

"""Bounds of a metric of score distributions, from scores in bins."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from skfair._utils._results import Result
from skfair.metrics._inputs import check_multigroup, warn_if_undefined
from skfair.metrics._pairs import Measure, Pair, compared_pairs
from skfair.metrics._spec import (
    Specification,
    check_known,
    check_metric,
    known_metrics,
    specification_of,
)
from skfair.statistics import GroupedCalibration, GroupedHistogram
from skfair.statistics._grouped_histogram import sums_up_to
from skfair.statistics._grouped_scores import MAX_EXACT, Gap

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
        no unions of bins of the histogram, on pairs of more than 64 groups, and as the
        metric does.

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
    specification, settings = specification_of(metric)
    settings |= options
    by_label = specification.bounds_by_label
    expected = GroupedHistogram if by_label is None else GroupedCalibration
    if not isinstance(histogram, expected):
        raise TypeError(
            f"histogram must be a {expected.__name__}, got a "
            f"{type(histogram).__name__}; {expected.__name__}.from_scores makes one."
        )
    multigroup = settings.get("multigroup", "pairwise")
    check_multigroup(multigroup)
    if settings.get("scale", "probability") != "probability":
        raise ValueError(
            f"scale must be left at its default: bounds of {specification.name} do not "
            f"know this option, got {settings['scale']!r}."
        )
    if by_label is not None:
        check_known(specification, settings, by_label, what="bounds")
        if warn_if_undefined(specification.name, histogram):
            return MetricBounds(math.nan, math.nan)
        lower, upper = by_label(histogram, **settings)
        # By rounding an upper bound may be below.
        return MetricBounds(lower, max(lower, min(upper, specification.maximum)))
    assert isinstance(histogram, GroupedHistogram)
    if specification.check_bins is not None:
        check_bins = specification.check_bins
        own = check_known(specification, settings, check_bins, what="bounds")
        check_bins(histogram.n_bins, **own)
        value = metric(None, histogram.at_edges(), **options)
        return MetricBounds(value, value)
    band_bounds = _bounds_of_gap(specification, settings)
    if warn_if_undefined(specification.name, histogram):
        return MetricBounds(math.nan, math.nan)
    pairs = compared_pairs(histogram.n_groups, multigroup)
    lower = 0.0
    if (
        histogram.n_bins > _FEW_BINS
    ):  # these show which pairs may have the largest value
        few = histogram.coarsen(_FEW_BINS)
        lower, _, pairs = _largest_bounds(few, pairs, band_bounds, lower)
    lower, upper, _ = _largest_bounds(histogram, pairs, band_bounds, lower)
    return MetricBounds(lower, upper)


#: Bounds of a metric of a difference of CDFs, from its least and its largest values.
BandBounds: TypeAlias = Callable[[Gap, Gap], tuple[float, float]]


def _bounds_of_gap(specification: Specification, options: dict[str, Any]) -> BandBounds:
    """Find what bounds a metric of the gap of two CDFs."""
    make = specification.band_bounds or specification.measure
    if make is None:
        bounded = [
            other.name
            for other in known_metrics().values()
            if other.band_bounds
            or other.measure
            or other.check_bins
            or other.bounds_by_label
        ]
        raise ValueError(
            f"metric must be one of {', '.join(bounded)}, whose bounds are known, got "
            f"{specification.function!r}."
        )
    own = check_known(specification, options, make, what="bounds")
    if specification.band_bounds is not None:
        return specification.band_bounds(**own)
    measure: Any = make(**own)
    return partial(_bound_measure, measure)


def _bound_measure(measure: Measure, low: Gap, high: Gap) -> tuple[float, float]:
    """Measures of the least and of the largest absolute difference."""
    least = np.maximum(np.maximum(low.signed, -high.signed), 0)
    most = np.maximum(high.signed, -low.signed)
    return measure(low._replace(signed=least)), measure(low._replace(signed=most))


def band(
    histogram: GroupedHistogram, first: int, second: int | None
) -> tuple[Gap, Gap]:
    """Least and largest CDF of one group minus that of another, or of everyone (None).

    The CDF of a group is largest if all rows of a cell have the least score, and
    smallest if all have the largest.
    """
    lows, highs, weights = histogram._cells_of(first)
    totals = histogram.totals
    ours = totals[first]
    theirs = totals.sum() if second is None else totals[second]
    exact = weights.dtype.kind == "i" and float(ours) * float(theirs) < MAX_EXACT
    up, down = (theirs, ours) if exact else (1 / ours, 1 / theirs)
    if second is None:
        scores, early, late = histogram._of_everyone
    else:
        *ends, others = histogram._cells_of(second)
        scores = np.unique(np.concatenate([lows, highs, *ends]))
        early, late = (sums_up_to(at, others, scores) for at in ends)
    our_early, our_late = (sums_up_to(at, weights, scores) for at in (lows, highs))
    if second is None:  # the group stands on both sides
        early, late, up = early - our_early, late - our_late, up - down
    low = up * our_late - down * early
    high = up * our_early - down * late
    for signed in (low, high):
        if not exact:
            np.clip(signed, -1, 1, out=signed)
        signed[-1] = 0  # both CDFs end at 1, without rounding
    scale = float(ours * theirs if exact else 1.0)
    gap = Gap(scores, low, scale, (float(ours), float(theirs)))
    return gap, gap._replace(signed=high)


def _largest_bounds(
    histogram: GroupedHistogram,
    pairs: Sequence[Pair],
    band_bounds: BandBounds,
    lower: float,
) -> tuple[float, float, list[Pair]]:
    """Bound the largest value of a metric, and return the pairs that may attain it.

    It is at least `lower`, the value of other pairs perhaps.
    """
    ends = [band_bounds(*band(histogram, *pair)) for pair in pairs]
    lower = max([lower, *(low for low, _ in ends)])
    # By rounding an upper bound may be below.
    upper = max([lower, *(high for _, high in ends)])
    above = [pair for pair, (_, high) in zip(pairs, ends, strict=True) if high > lower]
    return lower, upper, above

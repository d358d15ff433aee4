"""Bounds of a metric of score distributions, from scores in bins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from skfair._rows import Rows
from skfair._utils._results import Result
from skfair.metrics._as_metric import METRICS, as_metric
from skfair.metrics._inputs import rows_of_table
from skfair.metrics._metric import Metric
from skfair.statistics import CountTable


@dataclass(frozen=True, repr=False)
class MetricBounds(Result):
    """Interval that contains the value of a metric.

    This is not a confidence interval: it says where the value of these very rows lies,
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
    metric: Any,
    histogram: CountTable,
    **options: Any,
) -> MetricBounds:
    """Bound a metric of rows whose scores are known by bins only.

    Parameters
    ----------
    metric : callable
        `mcdp`, `abcc`, `demographic_parity_difference` of scores, or `madd` whose bins
        are unions of bins of the histogram or `calibration_gap`;
        `functools.partial` may set its options.
    histogram : CountTable
        Scores of each group in bins, for metrics of calibration with true labels.
    **options : dict
        Options of the metric, such as ``multigroup="pooled"`` or, for `madd`,
        ``bandwidth=1/8``.

    Returns
    -------
    MetricBounds
        Contains what the metric returns for the rows, up to rounding (1e-12). The lower
        bound of MCDP(0) is the gap at some score. With whole weights the bounds of
        MCDP(0) have no rounding, and equal bounds are exactly what `mcdp` returns.
        Bounds of ABCC and of the difference of means differ by at most ``2 / n_bins``,
        bounds of `calibration_gap` at most that plus the shares of two groups in one
        bin. Both bounds of `madd` are equal. nan with a warning where a group is absent
        or too small.

    Raises
    ------
    TypeError
        If `histogram` is not a table of scores in bins.
    ValueError
        On a metric whose bounds are not known, if bins of the bandwidth of `madd` are
        not unions of bins of the histogram, on pairs of more than 64 groups, and as the
        metric does.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    skfair.frames.count_table : Counts the rows of a table in bins.
    confidence_interval : Takes a histogram, and adds the width of these bounds.

    Notes
    -----
    The cumulative distribution function of a group is known at the edges of bins.
    Inside a bin it lies between two step functions: all scores of the group in the bin
    might be the smallest, or all the largest. Hence a bin where each group has a single
    score, or where all scores of one group are below those of the other, is exact. The
    curves of calibration lie between two step functions in the same way.

    Examples
    --------
    >>> from skfair.metrics import abcc, madd, mcdp, metric_bounds
    >>> from skfair.statistics import CountTable
    >>> scores, sex = [0.1, 0.2, 0.4, 0.15, 0.7, 0.8], ["F", "F", "F", "M", "M", "M"]
    >>> for n_bins in 1, 4:
    ...     histogram = CountTable.from_rows(
    ...         None, scores, sensitive_features=sex, n_bins=n_bins
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
    found = as_metric(metric, **options)
    if not found.has_range_from_bins:
        names = [kind.name for kind in METRICS.values() if kind.has_range_from_bins]
        raise ValueError(
            f"metric must be one of {', '.join(names)}, whose bounds are known, got "
            f"{metric!r}."
        )
    cells = rows_of_table(histogram)
    if cells is None or not cells.n_bins:
        raise TypeError(
            "histogram must be a table of scores in bins, which CountTable.from_rows "
            f"makes with n_bins, got {histogram!r:.60}."
        )
    return bounds_of_bins(found, cells)


def bounds_of_bins(metric: Metric, histogram: Rows) -> MetricBounds:
    """Bound a metric of rows whose scores are known by bins."""
    scale = metric.options.get("scale", "probability")
    if scale != "probability":
        raise ValueError(
            f"scale must be left at its default: bounds of {metric.name} do not "
            f"know this option, got {scale!r}."
        )
    histogram = metric.check_bins(histogram)
    reason, advice = metric.why_undefined(histogram)
    if reason:
        metric.undefined(reason, advice).warn()
        return MetricBounds(math.nan, math.nan)
    lower, upper = metric.range_from_bins(histogram)
    # By rounding an upper bound may be below.
    return MetricBounds(lower, max(lower, min(upper, metric.maximum)))

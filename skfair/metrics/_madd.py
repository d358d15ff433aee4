"""Model absolute density distance (MADD), and the bandwidths where it is stable."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skfair._rows import Rows
from skfair._utils._arrays import Floats
from skfair._utils._results import Result
from skfair._utils._validation import (
    Scale,
    check_integer,
    check_real,
    check_shape,
)
from skfair.metrics._distributions import CurveOfScores, MetricOfScores
from skfair.metrics._inputs import Multigroup
from skfair.metrics._madd_bins import (
    N_BANDWIDTHS,
    StableInterval,
    bandwidths_to_one,
    bin_scores,
    count_bins,
    gap_curves,
    histogram_distance,
    histogram_gaps,
    is_automatic,
    most_stable,
    optimal_order,
    stable_interval,
)
from skfair.metrics._madd_noise import compare_bins, compare_stable
from skfair.metrics._metric import evaluates
from skfair.metrics._pairs import (
    Located,
    PairGaps,
    compared_groups,
    compared_pairs,
)
from skfair.metrics._parts import undefined_estimate
from skfair.metrics._quantiles import Comparisons, Method, Observed
from skfair.metrics._strata import Multistratum
from skfair.statistics import CountTable
from skfair.statistics._cells import round_to_edges
from skfair.statistics._distributions import Distributions, gap_between


@dataclass(frozen=True, kw_only=True)
class MADD(MetricOfScores):
    """Largest distance between two score histograms."""

    maximum = 2.0
    has_noise_bounds = True
    has_range_from_bins = True

    bandwidth: float | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        if not self.is_automatic:
            count_bins(self.bandwidth)

    @property
    def is_automatic(self) -> bool:
        """Whether the bandwidth is chosen by the data."""
        return is_automatic(self.bandwidth)

    @property
    def n_bins(self) -> int:
        """Number of bins, for a bandwidth that is a number."""
        return count_bins(self.bandwidth)

    def collect_part(self, part: Rows) -> Any:
        """Collect checked rows, as numbers of rows in bins if that is faster.

        Counting rows by bin takes a third of the time of sorting them; each bin has the
        score of its lower edge. Rows with weights are not counted: floats that are
        added in another order would change the last digit.
        """
        if self.is_automatic or part.mass is not None or self.scale == "rank":
            return super().collect_part(part)
        part, n_bins = part.grouped(), self.n_bins
        n_cells = part.n_groups * n_bins
        if n_cells > len(part) or not len(part):
            return super().collect_part(part)
        cells = part.groups.codes.astype(np.intp) * n_bins
        cells += bin_scores(part.y_pred, n_bins).astype(np.intp)
        rows_of_cells = np.bincount(cells, minlength=n_cells)
        cells = np.flatnonzero(rows_of_cells)
        codes, bins = np.divmod(cells, n_bins)
        groups, n = replace(part.groups, codes=codes), rows_of_cells[cells]
        return Distributions.from_rows(Rows(groups, y_pred=bins / n_bins, n=n))

    def range_from_bins(self, histogram: Rows) -> tuple[float, float]:
        """Find the value from a histogram; bins of MADD must be unions of its bins."""
        if self.is_automatic or histogram.n_bins % self.n_bins:
            raise ValueError(
                f"bandwidth must be 1 / m for a power of two m <= {histogram.n_bins}, "
                f"got {self.bandwidth!r}."
            )
        value = float(self.value(self.collect(round_to_edges(histogram))))
        return value, value

    def locate(self, statistic: Distributions) -> Located:
        """Find the largest distance between two histograms, and of which groups."""
        if self.is_automatic:
            best, (_, _, mean) = most_stable(
                statistic, self.multigroup, N_BANDWIDTHS, stable_interval
            )
            return Located(mean, best[0])
        gaps = histogram_gaps(statistic, self.n_bins, self.multigroup)
        pair = compared_pairs(statistic.n_groups, self.multigroup)[int(gaps.argmax())]
        gap = gap_between(statistic, *pair)
        return Located(histogram_distance(gap, self.n_bins), pair)

    def gaps(self, statistic: Distributions) -> PairGaps:
        """Find the distances of all pairs of groups."""
        n_groups, sizes = statistic.n_groups, statistic.counts
        first, second = compared_groups(n_groups, self.multigroup)
        enough = sizes >= max(statistic.min_group_size, 1)
        defined = enough[first] if second is None else enough[first] & enough[second]
        values = np.full(len(first), np.nan)
        if self.is_automatic:
            pairs = compress(compared_pairs(n_groups, self.multigroup), defined)
            curves = gap_curves(statistic, [*pairs], N_BANDWIDTHS)
            means = [stable_interval(curve, rows)[2] for _, rows, curve in curves]
            values[defined] = means
        elif defined.any():
            gaps = histogram_gaps(statistic, self.n_bins, self.multigroup)
            values[defined] = gaps[defined]
        return PairGaps(first, second, values[np.newaxis], sizes[np.newaxis])

    def check_method(self, method: Method) -> None:
        """Raise where the noise has no bounds by a method, with these options."""
        super().check_method(method)
        if self.is_automatic and method != "band":
            raise ValueError(
                f"bandwidth must be a number with method={method!r}, got 'auto', "
                "which is chosen by the data."
            )

    def bound_noise(self, observed: Observed, method: Method) -> Comparisons:
        """Bound the noise of histograms."""
        if self.is_automatic:
            return compare_stable(observed, self.multigroup)
        value = self.value(observed.statistic)
        return compare_bins(value, observed, self.n_bins, self.multigroup, method)


@evaluates(MADD)
def madd(
    y_true: ArrayLike | None,
    y_score: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    bandwidth: float | Literal["auto"] = "auto",
    scale: Scale = "probability",
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> float:
    """Model absolute density distance (MADD) between groups' score histograms.

    .. math::
        \\sum_{k=1}^{m} |d_{0,k} - d_{1,k}|, \\quad m = \\lfloor 1 / h \\rfloor,

    with the share :math:`d_{g,k}` of group g whose scores fall in bin k of m equal
    ones. Half of MADD is the share of a group whose scores would have to change for
    the histograms to agree. MADD needs no true labels, and says nothing about errors
    or about what caused the distance.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        Ignored, so that the metric fits `sklearn.metrics.make_scorer`. If given it
        must be of the right length, and binary where `y_score` is one column
        of probabilities.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes), or \
CountTable
        Probabilities of the positive class, in [0, 1]; any finite numbers with
        ``scale="rank"``. Of three or more classes a column for each: the value is the
        largest over classes, each against the rest, and `values_by_class` names the
        class. A table takes the place of all rows; then `y_true`,
        `sensitive_features` and `sample_weight` are None.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, such as its department or its true label, within which
        groups are compared; several columns stand for their intersection. Strata
        without two groups are left out, with a warning that names them.
    bandwidth : float in (0, 1] or "auto", default="auto"
        Width h of the bins, in units of the score. ``"auto"`` is the mean over the
        interval of bandwidths in which MADD is most stable, see
        `madd_optimal_bandwidth`; it takes some milliseconds for each comparison.
    scale : {"probability", "rank"}, default="probability"
        ``"rank"`` is for scores that are not probabilities: it replaces them by their
        ranks among everyone, from 0 to 1, so that each bin holds a share h of everyone.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest value over pairs of groups, or over groups compared with everyone,
        the group included. The pooled value differs, even with two groups; the paper
        compares pairs.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights, which count rows.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

    Returns
    -------
    float in [0, 2]
        0 is equal histograms, 2 disjoint ones. nan with a warning where a group is
        absent or too small.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On scores outside [0, 1] or not finite, lengths that differ, missing groups, a
        bandwidth outside (0, 1], or pairs of more than 64 groups.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    madd_optimal_bandwidth : The stable interval behind ``"auto"``.
    permutation_test : Test of MADD, with its values for permuted groups.
    madd_curve : MADD of each bandwidth.

    Notes
    -----
    Noise alone makes MADD positive, the more so the smaller the groups are: compare
    it with its value under permuted groups, which `permutation_test` returns. Bins are
    closed on the left at exactly k / m; the last is closed on both sides.

    References
    ----------
    .. [1] Verger, Fan, Lalle, Bouchet, Luengo. "A Comprehensive Study on Evaluating
       and Mitigating Algorithmic Unfairness with the MADD Metric". Journal of
       Educational Data Mining 16(1), 2024. Equations 1 to 3.

    Examples
    --------
    >>> from skfair.metrics import madd
    >>> y_score = [0.1, 0.2, 0.6, 0.1, 0.6, 0.7]
    >>> sex = ["F", "F", "F", "M", "M", "M"]
    >>> round(madd(None, y_score, sensitive_features=sex, bandwidth=0.5), 3)
    0.667
    """
    metric = MADD(
        bandwidth=bandwidth,
        scale=scale,
        multigroup=multigroup,
        multistratum=multistratum,
    )
    return metric(
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        counts=counts,
    )


@dataclass(frozen=True, kw_only=True)
class MADDCurve(CurveOfScores):
    """MADD of the bandwidths 1, 1/2, ..., 1/n_bandwidths in place of a number."""

    name = "madd_curve"

    n_bandwidths: int = N_BANDWIDTHS

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        check_integer("n_bandwidths", self.n_bandwidths, 1)

    @property
    def undefined_value(self) -> tuple[Floats, Floats]:
        """Curve where groups cannot be compared."""
        bandwidths = bandwidths_to_one(self.n_bandwidths).copy()
        return bandwidths, np.full(self.n_bandwidths, np.nan)

    def value(self, statistic: Distributions) -> tuple[Floats, Floats]:
        """Find the largest value of all pairs at each bandwidth."""
        pairs = compared_pairs(statistic.n_groups, self.multigroup)
        values = np.zeros(self.n_bandwidths)
        for _, _, curve in gap_curves(statistic, pairs, self.n_bandwidths):
            np.maximum(values, curve, out=values)
        return bandwidths_to_one(self.n_bandwidths).copy(), values

    def combine(self, values: Sequence[Any], weights: Sequence[float]) -> Any:
        """Combine curves of strata at each bandwidth."""
        return values[0][0], super().combine([curve for _, curve in values], weights)


def madd_curve(
    y_true: ArrayLike | None,
    y_score: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    n_bandwidths: int = N_BANDWIDTHS,
    scale: Scale = "probability",
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> tuple[Floats, Floats]:
    """MADD for the bandwidths 1, 1/2, ..., 1/n_bandwidths.

    These are all the bandwidths that matter: in between, the number of bins and so
    MADD stay the same.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        Ignored. If given it must be binary and of the right length.
    y_score : array-like of shape (n_samples,), or CountTable
        Probabilities of the positive class, in [0, 1], or any finite numbers with
        ``scale="rank"``; or a table of all rows.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, such as its department or its true label, within which
        groups are compared; several columns stand for their intersection. Strata
        without two groups are left out, with a warning that names them.
    n_bandwidths : int, default=500
        Number of bandwidths.
    scale : {"probability", "rank"}, default="probability"
        ``"rank"`` replaces scores by their ranks among everyone, as in `madd`.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest value over pairs of groups, or over groups compared with everyone,
        the group included, for each bandwidth. The pooled value is smaller, even with
        two groups; the paper compares pairs.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

    Returns
    -------
    bandwidths : ndarray of shape (n_bandwidths,)
        Increasing, up to 1.
    values : ndarray of shape (n_bandwidths,)
        MADD in [0, 2]; nan, with a warning, where it is undefined.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        As in `madd`, and if `n_bandwidths` is not a positive integer.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    madd : The value for one bandwidth.

    Notes
    -----
    Scores are sorted once, and the edges of all bins are searched together.

    References
    ----------
    .. [1] Verger, Fan, Lalle, Bouchet, Luengo. "A Comprehensive Study on Evaluating and
       Mitigating Algorithmic Unfairness with the MADD Metric". JEDM 16(1), 2024.
       Figures 9 and 10.

    Examples
    --------
    >>> from skfair.metrics import madd_curve
    >>> bandwidths, values = madd_curve(
    ...     None, [0.2, 0.7, 0.8], sensitive_features=["F", "M", "M"], n_bandwidths=2
    ... )
    >>> bandwidths.tolist(), values.tolist()
    ([0.5, 1.0], [2.0, 0.0])
    """
    metric = MADDCurve(
        n_bandwidths=n_bandwidths,
        scale=scale,
        multigroup=multigroup,
        multistratum=multistratum,
    )
    columns = sensitive_features, control_features, sample_weight, counts
    rows = metric.read(y_true, y_score, *columns)
    curve: tuple[Floats, Floats] = metric.evaluate(rows)
    return curve


@dataclass(frozen=True, eq=False, repr=False)
class MADDBandwidthResult(Result):
    """Result of `madd_optimal_bandwidth`.

    Attributes
    ----------
    interval : tuple of two floats
        Least and largest bandwidth, both included.
    value : float in [0, 2]
        Mean of MADD over the interval.
    std : float
        Standard deviation of MADD over the interval.
    h_sup : float
        Order of magnitude of the best bandwidth for these group sizes.
    groups : tuple of length 2
        Labels of the two groups compared; the second is None for everyone.
    bandwidths : ndarray of shape (n_bandwidths,), increasing
    values : ndarray of shape (n_bandwidths,)
        MADD for each bandwidth.
    stratum : object
        Label of the stratum with the largest MADD; None without strata.
    """

    interval: tuple[float, float]
    value: float
    std: float
    h_sup: float
    groups: tuple[Hashable, Hashable]
    bandwidths: Floats = field(repr=False)
    values: Floats = field(repr=False)
    stratum: Hashable = None

    def to_frame(self) -> pd.DataFrame:
        """Table of MADD by bandwidth.

        Returns
        -------
        DataFrame
            One row for each bandwidth: ``bandwidth``, ``value``, and ``in_interval``,
            whether it lies in `interval`.

        Examples
        --------
        >>> from skfair.datasets import make_biased_scores
        >>> from skfair.metrics import madd_optimal_bandwidth
        >>> _, y_score, group = make_biased_scores(20_000, random_state=0)
        >>> frame = madd_optimal_bandwidth(
        ...     None, y_score, sensitive_features=group
        ... ).to_frame()
        >>> frame.columns.tolist(), len(frame)
        (['bandwidth', 'value', 'in_interval'], 500)
        """
        low, high = self.interval
        inside = (self.bandwidths >= low) & (self.bandwidths <= high)
        return pd.DataFrame(
            {"bandwidth": self.bandwidths, "value": self.values, "in_interval": inside}
        )


def madd_optimal_bandwidth(
    y_true: ArrayLike | None,
    y_score: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    n_bandwidths: int = N_BANDWIDTHS,
    min_points: int = 50,
    min_length: float = 0.45,
    scale: Scale = "probability",
    multigroup: Multigroup = "pairwise",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> MADDBandwidthResult:
    """Find the interval of bandwidths in which MADD is most stable.

    Among the intervals of at least `min_points` bandwidths and of length at least
    `min_length` times

    .. math::
        h_{sup} = \\left(
            \\frac{\\sqrt{n_0} + \\sqrt{n_1}}{\\sqrt{n_0 n_1}}
        \\right)^{2/3}

    this is the one over which MADD has the smallest standard deviation. Both ends
    belong to an interval.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        Ignored. If given it must be binary and of the right length.
    y_score : array-like of shape (n_samples,), or CountTable
        Probabilities of the positive class, in [0, 1], or any finite numbers with
        ``scale="rank"``; or a table of all rows.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, within which groups are compared; the result is that of the
        stratum with the largest MADD. Strata without two groups are left out, with a
        warning that names them.
    n_bandwidths : int, default=500
        The bandwidths 1, 1/2, ..., 1/n_bandwidths are searched.
    min_points : int, default=50
        Least number of bandwidths in the interval.
    min_length : float, default=0.45
        Least length of the interval, as a multiple of h_sup.
    scale : {"probability", "rank"}, default="probability"
        ``"rank"`` replaces scores by their ranks among everyone, as in `madd`.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The result for the pair of groups, or for the group compared with everyone, the
        group included, with the largest MADD. The pooled value differs, even with two
        groups; the paper compares pairs.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights. Kish's effective numbers of rows stand for n_0 and
        n_1: `counts` says that a row stands for several people.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

    Returns
    -------
    MADDBandwidthResult

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        As in `madd`, on parameters out of range, and if no interval is eligible.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared; all numbers are nan then.

    See Also
    --------
    madd : The value alone.
    skfair.inspection.MADDDisplay : Plot of MADD over bandwidths, with the interval.

    References
    ----------
    .. [1] Verger, Fan, Lalle, Bouchet, Luengo. "A Comprehensive Study on Evaluating
       and Mitigating Algorithmic Unfairness with the MADD Metric". Journal of
       Educational Data Mining 16(1), 2024. Theorem 2 and Algorithm 1.

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.metrics import madd_optimal_bandwidth
    >>> _, y_score, group = make_biased_scores(20_000, random_state=0)
    >>> result = madd_optimal_bandwidth(None, y_score, sensitive_features=group)
    >>> abs(result.value - 1.195) < 0.03, round(result.h_sup, 3)
    (True, 0.074)
    """
    n_bandwidths = check_integer("n_bandwidths", n_bandwidths, 3)
    min_points = check_integer("min_points", min_points, 2, n_bandwidths - 1)
    min_length = check_real("min_length", min_length, 0, math.inf, closed="neither")
    search = partial(stable_interval, min_points=min_points, min_length=min_length)

    metric, name = MADD(scale=scale, multigroup=multigroup), "madd_optimal_bandwidth"
    columns = sensitive_features, control_features, sample_weight, counts
    table = metric.read(y_true, y_score, *columns)
    if table.strata is None:
        check_shape(table.y_pred, "y_score")
        statistic = metric.collect_part(metric.check(table))
        reason, advice = metric.why_undefined(statistic)
        if reason:
            undefined_estimate(name, reason, advice).warn()
            return _undefined(n_bandwidths)
        return find_interval(metric, statistic, n_bandwidths, search)
    parts = metric.split(table)
    strata = parts.strata or []
    estimates = parts.evaluate_strata(metric.estimate_part, metric.join_estimates)
    joined = parts.join(estimates, metric.join_estimates)
    joined.warn()
    if not joined.defined:
        return _undefined(n_bandwidths)
    results = {
        stratum.label: find_interval(
            metric,
            metric.collect_part(parts.take(stratum)[0]),
            n_bandwidths,
            search,
        )
        for stratum, estimate in zip(strata, estimates, strict=True)
        if estimate.defined
    }
    largest = max(results, key=lambda label: results[label].value)
    return replace(results[largest], stratum=largest)


def _undefined(n_bandwidths: int) -> MADDBandwidthResult:
    """Return the result for groups that cannot be compared."""
    return MADDBandwidthResult(
        interval=(math.nan, math.nan),
        value=math.nan,
        std=math.nan,
        h_sup=math.nan,
        groups=(None, None),
        bandwidths=bandwidths_to_one(n_bandwidths).copy(),
        values=np.full(n_bandwidths, np.nan),
    )


def find_interval(
    metric: MADD,
    statistic: Distributions,
    n_bandwidths: int = N_BANDWIDTHS,
    search: Callable[..., StableInterval] = stable_interval,
) -> MADDBandwidthResult:
    """Return the stable interval of one statistic."""
    statistic, bandwidths = metric.rescale(statistic), bandwidths_to_one(n_bandwidths)
    bandwidths = bandwidths.copy()
    best, (first, last, mean) = most_stable(
        statistic, metric.multigroup, n_bandwidths, search
    )
    (group, other), sizes, values = best
    return MADDBandwidthResult(
        interval=(float(bandwidths[first]), float(bandwidths[last])),
        value=mean,
        std=float(values[first : last + 1].std()),
        h_sup=float(optimal_order(sizes)),
        groups=(
            statistic.labels[group],
            None if other is None else statistic.labels[other],
        ),
        bandwidths=bandwidths,
        values=values,
    )

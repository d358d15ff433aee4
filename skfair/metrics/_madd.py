"""Model absolute density distance (MADD), and the bandwidths where it is stable."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import compress
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers, quotients
from skfair._utils._results import Result
from skfair._utils._validation import (
    Scale,
    check_integer,
    check_real,
)
from skfair._utils._warnings import warns_if_reordered
from skfair.metrics._distributions import MetricOfScores
from skfair.metrics._evaluate import (
    Multistratum,
    combine_numbers,
    defined_results,
    never,
    specify,
)
from skfair.metrics._inputs import (
    Multigroup,
    check_multigroup,
    warn_if_undefined,
)
from skfair.metrics._metric import evaluates
from skfair.metrics._pairs import (
    Located,
    Pair,
    PairGaps,
    compared_groups,
    compared_pairs,
    grouped_scores,
    measure_apart,
)
from skfair.statistics import GroupedScores
from skfair.statistics._grouped_scores import MAX_EXACT, Gap, gap_between

#: Variances below this are rounding noise of the running sums, and count as zero.
_NO_VARIANCE = 1e-14
#: Bandwidths 1, 1/2, ..., 1/500 are searched, as in the tables of the paper.
N_BANDWIDTHS = 500
#: Products below this, and sums of two of them, need half the memory as integers.
_MAX_SHORT = 2**30
#: Groups whose bins are kept at a time, a megabyte each for 500 bandwidths.
_MAX_KEPT = 256
#: Cells of groups and bins that are counted at once.
_MOST_CELLS = 2**22
#: Finer bins than this cannot tell more floats in [0, 1] apart.
_MAX_BINS = 2**53


def is_automatic(bandwidth: Any) -> bool:
    """Whether a bandwidth is chosen by the data."""
    return isinstance(bandwidth, str) and bandwidth == "auto"


def histogram_gaps(
    statistic: GroupedScores, n_bins: int, multigroup: Multigroup
) -> Floats:
    """Distance of the histograms of each pair of groups, or from that of everyone."""
    n_groups = statistic.n_groups
    if n_groups * n_bins > _MOST_CELLS:
        pairs = compared_pairs(n_groups, multigroup)
        gaps = (gap_between(statistic, *pair) for pair in pairs)
        return np.array([histogram_distance(gap, n_bins) for gap in gaps])
    cells = statistic.codes * np.intp(n_bins)
    cells += bins_of(statistic.scores, n_bins).astype(np.intp)
    sums: Any = np.bincount(cells, statistic.weights, n_groups * n_bins)
    weights = sums.reshape(n_groups, n_bins)
    if multigroup == "pooled":
        weights = np.vstack([weights, weights.sum(axis=0)])
    shares = quotients(weights, weights.sum(axis=1, keepdims=True))
    return measure_apart(shares, multigroup, lambda apart: apart.sum(axis=1))


@dataclass(frozen=True, kw_only=True)
class MADD(MetricOfScores):
    """Largest distance between two score histograms."""

    name = "madd"
    maximum = 2.0

    bandwidth: float | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        """Check the options, which are checked nowhere else."""
        super().__post_init__()
        if not self.is_automatic:
            number_of_bins(self.bandwidth)

    @property
    def is_automatic(self) -> bool:
        """Whether the bandwidth is chosen by the data."""
        return is_automatic(self.bandwidth)

    @property
    def n_bins(self) -> int:
        """Number of bins of the bandwidth, which is given."""
        return number_of_bins(self.bandwidth)

    def count_once(self, part: Rows) -> Any:
        """Count checked rows; by bin, at its lower edge, if that is faster.

        Counting rows by bin takes a third of the time of sorting them. Weights are not
        counted: floats that are added in another order would change the last digit.
        """
        if self.is_automatic or part.totals is not None or self.scale == "rank":
            return self.count(part)
        part, n_bins = part.grouped(), self.n_bins
        n_cells = part.n_groups * n_bins
        if n_cells > len(part) or not len(part):
            return self.count(part)
        cells = part.groups.codes.astype(np.intp) * n_bins
        cells += bins_of(part.y_pred, n_bins).astype(np.intp)
        rows_of_cells = np.bincount(cells, minlength=n_cells)
        cells = np.flatnonzero(rows_of_cells)
        codes, bins = np.divmod(cells, n_bins)
        return GroupedScores.from_counts(
            bins / n_bins,
            sensitive_features=replace(part.groups, codes=codes),
            n_rows=rows_of_cells[cells],
        )

    def check_bins(self, n_known: int) -> None:
        """Raise unless the bins are unions of `n_known` equal ones."""
        if self.is_automatic or n_known % self.n_bins:
            raise ValueError(
                f"bandwidth must be 1 / m for a power of two m <= {n_known}, got "
                f"{self.bandwidth!r}."
            )

    def locate(self, statistic: GroupedScores) -> Located:
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

    def gaps(self, statistic: GroupedScores) -> PairGaps:
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


@evaluates(MADD)
def madd(
    y_true: ArrayLike | None,
    y_score: ArrayLike | GroupedScores,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    bandwidth: float | Literal["auto"] = "auto",
    scale: Scale = "probability",
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
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
GroupedScores
        Probabilities of the positive class, in [0, 1]; any finite numbers with
        ``scale="rank"``. Of three or more classes a column for each: the value is the
        largest over classes, each against the rest, and `values_by_class` names the
        class. A statistic takes the place of all rows; then `y_true`,
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
        ``"rank"`` is for scores that are no probabilities: it replaces them by their
        ranks among everyone, from 0 to 1, so that each bin holds a share h of everyone.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest value over pairs of groups, or over groups compared with everyone,
        the group included. The second is another value, even with two groups; the
        paper uses the first.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights, which count rows.

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
    )


def _combine_curves(
    curves: list[tuple[Floats, Floats]], weights: Sequence[float] | None
) -> tuple[Floats, Floats]:
    """Largest values of several curves at each bandwidth, or their weighted mean."""
    return curves[0][0], combine_numbers([values for _, values in curves], weights)


@specify(
    statistic=GroupedScores,
    maximum=2.0,
    combine=_combine_curves,
    compares_errors=never,
)
def madd_curve(
    y_true: ArrayLike | None,
    y_score: ArrayLike | GroupedScores,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    n_bandwidths: int = N_BANDWIDTHS,
    scale: Scale = "probability",
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
) -> tuple[Floats, Floats]:
    """MADD for the bandwidths 1, 1/2, ..., 1/n_bandwidths.

    These are all the bandwidths that matter: in between, the number of bins and so
    MADD stay the same.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        Ignored. If given it must be binary and of the right length.
    y_score : array-like of shape (n_samples,), or GroupedScores
        Probabilities of the positive class, in [0, 1], or any finite numbers with
        ``scale="rank"``; or a statistic of all rows.
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
        the group included, for each bandwidth. The second is smaller, even with two
        groups; the paper uses the first.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

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
    n_bandwidths = check_integer("n_bandwidths", n_bandwidths, 1)
    statistic = grouped_scores(
        y_true, y_score, sensitive_features, sample_weight, scale=scale
    )
    pairs = compared_pairs(statistic.n_groups, multigroup)
    bandwidths = bandwidths_to_one(n_bandwidths).copy()
    if warn_if_undefined("madd_curve", statistic):
        return bandwidths, np.full(n_bandwidths, np.nan)
    values = np.zeros(n_bandwidths)
    for _, _, curve in gap_curves(statistic, pairs, n_bandwidths):
        np.maximum(values, curve, out=values)
    return bandwidths, values


def number_of_bins(bandwidth: Any) -> int:
    """Return the number of bins of a width that fit into [0, 1]."""
    width = check_real(
        "bandwidth", bandwidth, 0, 1, closed="right", alternative="'auto' or "
    )
    # Without the margin floor(1 / (1 / m)) is m - 1 for some m.
    return math.floor(min(1 / width * (1 + 1e-12), _MAX_BINS))


def bins_of(scores: Floats, n_bins: int) -> Floats:
    """Largest k below `n_bins` for which k / n_bins is at most the score."""
    bins = np.floor(scores * n_bins)
    bins += (bins + 1) / n_bins <= scores
    bins -= bins / n_bins > scores
    return np.minimum(bins, n_bins - 1, out=bins)


def histogram_distance(gap: Gap, n_bins: int) -> float:
    """Sum of the absolute differences between two histograms."""
    if n_bins <= len(gap.scores):
        return float(histogram_distances(gap, edges_of(np.array([n_bins])))[0])
    bins = bins_of(gap.scores, n_bins)
    last = np.append(bins[1:] != bins[:-1], True)
    changes = np.abs(np.diff(gap.signed[last], prepend=0))
    return min(2.0, float(changes.sum() / gap.scale))


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


@warns_if_reordered
def madd_optimal_bandwidth(
    y_true: ArrayLike | None,
    y_score: ArrayLike | GroupedScores,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    n_bandwidths: int = N_BANDWIDTHS,
    min_points: int = 50,
    min_length: float = 0.45,
    scale: Scale = "probability",
    multigroup: Multigroup = "pairwise",
    sample_weight: ArrayLike | None = None,
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
    y_score : array-like of shape (n_samples,), or GroupedScores
        Probabilities of the positive class, in [0, 1], or any finite numbers with
        ``scale="rank"``; or a statistic of all rows.
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
        The result for the pair of groups, or for the group compared with everyone,
        the group included, with the largest MADD. The second is another value, even
        with two groups; the paper uses the first.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights. Effective numbers of rows stand for n_0 and n_1,
        Kish's where weights are fractional; whole weights count rows.

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
    check_multigroup(multigroup)
    search = partial(stable_interval, min_points=min_points, min_length=min_length)

    def find(
        y_true: Any, y_score: Any, sensitive_features: Any, sample_weight: Any = None
    ) -> MADDBandwidthResult:
        rows = y_true, y_score, sensitive_features, sample_weight
        statistic = grouped_scores(*rows, scale=scale)
        return _find_interval(statistic, multigroup, n_bandwidths, search)

    if control_features is None:
        return find(y_true, y_score, sensitive_features, sample_weight)
    rows = y_true, y_score, sensitive_features, control_features, sample_weight
    results = defined_results(partial(madd, scale=scale), *rows, evaluate=find)
    if not results:
        return _undefined(n_bandwidths)
    largest = max(results, key=lambda stratum: stratum.result.value)
    result: MADDBandwidthResult = largest.result
    return replace(result, stratum=largest.label)


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


def _find_interval(
    statistic: GroupedScores,
    multigroup: Multigroup,
    n_bandwidths: int,
    search: Callable[[Floats, tuple[float, float]], StableInterval],
) -> MADDBandwidthResult:
    """Stable interval of one statistic."""
    if warn_if_undefined("madd_optimal_bandwidth", statistic):
        return _undefined(n_bandwidths)
    bandwidths = bandwidths_to_one(n_bandwidths).copy()
    best, (first, last, mean) = most_stable(statistic, multigroup, n_bandwidths, search)
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


@lru_cache
def bandwidths_to_one(n_bandwidths: int) -> Floats:
    """All bandwidths that matter, increasing: 1 / n_bandwidths, ..., 1 / 2, 1."""
    return 1 / bin_numbers(n_bandwidths)


def bin_numbers(n_bandwidths: int) -> Integers:
    """Numbers of bins of the histograms: n_bandwidths, ..., 2, 1."""
    return np.arange(n_bandwidths, 0, -1)


#: A pair of groups, both effective sizes, and MADD for n_bandwidths, ..., 2, 1 bins.
GapCurve: TypeAlias = tuple[Pair, tuple[float, float], Floats]
#: Edges of the bins of several histograms, which share many of them: the distinct ones,
#: increasing, the position among these of each edge of each histogram, and the position
#: of the first edge of each histogram.
Edges: TypeAlias = tuple[Floats, Integers, Integers]


def gap_curves(
    statistic: GroupedScores, pairs: Sequence[Pair], n_bandwidths: int
) -> Iterator[GapCurve]:
    """MADD of each pair for all numbers of bins."""
    edges = edges_of_all(n_bandwidths)
    sizes = statistic.effective_sizes.tolist()
    of_everyone = statistic._effective_size

    def sizes_of(pair: Pair) -> tuple[float, float]:
        """Effective sizes of two groups, or of a group and everyone."""
        return sizes[pair[0]], of_everyone if pair[1] is None else sizes[pair[1]]

    if len(pairs) == 1:
        gap = gap_between(statistic, *pairs[0])
        yield pairs[0], sizes_of(pairs[0]), histogram_distances(gap, edges)
        return
    totals, everything = statistic.totals, statistic.totals.sum()
    # Products of whole totals, and sums of two of them, are exact.
    exact = statistic.weights.dtype.kind == "i" and float(everything) ** 2 < MAX_EXACT
    small = np.int32 if float(everything) ** 2 < _MAX_SHORT else np.int64
    dtype: Any = small if exact else float

    @lru_cache(maxsize=_MAX_KEPT)
    def in_bins(group: int | None) -> NDArray[Any]:
        """Weights of a group, or of everyone, in all bins; shares of it if inexact."""
        scores, weights = statistic.of_group(group)
        heights = np.append(0, np.cumsum(weights)).astype(dtype)
        # By the last height, not by the total, it ends at 1 without rounding.
        return bin_changes(scores, heights if exact else heights / heights[-1], edges)

    # Memory that is asked for once: a megabyte takes as long as a sum.
    changes, lowered = np.empty((2, len(edges[1])), dtype)
    for pair in pairs:
        first, second = pair
        ours, theirs = totals[first], everything if second is None else totals[second]
        up, down = (dtype(theirs), dtype(ours)) if exact else (1, 1)
        np.multiply(in_bins(first), up, out=changes)
        np.multiply(in_bins(second), down, out=lowered)
        np.subtract(changes, lowered, out=changes)
        scale = float(up) * float(down)
        yield pair, sizes_of(pair), bin_distances(changes, edges, scale)


def edges_of(n_bins: Integers) -> Edges:
    """Edges of histograms with these numbers of bins."""
    starts = np.asarray(np.cumsum(n_bins + 1) - (n_bins + 1))
    widths = np.repeat(n_bins, n_bins + 1)
    edges = (np.arange(len(widths)) - np.repeat(starts, n_bins + 1)) / widths
    order = np.argsort(edges, kind="stable")  # merges runs, which histograms are
    distinct = edges[order]
    new = np.diff(distinct, prepend=-1) > 0
    places = np.empty(len(edges), dtype=np.intp)
    places[order] = np.cumsum(new) - 1
    distinct = distinct[new]
    distinct[-1] = np.inf  # the last bin is closed
    return distinct, places, starts


@lru_cache(maxsize=1)  # those of the paper take longer to find than small tables
def edges_of_all(n_bandwidths: int) -> Edges:
    """Edges of histograms of n_bandwidths, ..., 2, 1 bins."""
    return edges_of(bin_numbers(n_bandwidths))


def histogram_distances(gap: Gap, edges: Edges) -> Floats:
    """Sum over bins of the absolute change of one gap, for each number of bins."""
    heights = np.concatenate([gap.signed[:1] * 0, gap.signed])
    return bin_distances(bin_changes(gap.scores, heights, edges), edges, gap.scale)


def bin_changes(scores: Floats, sums: NDArray[Any], edges: Edges) -> NDArray[Any]:
    """Change of running sums in the bin after each edge; 0 after the last edges.

    `sums` has one entry more than the sorted `scores`: the sum before the first score,
    and the sum after each score.
    """
    distinct, places, starts = edges
    # Bins are closed on the left: an edge counts what lies strictly below it.
    if len(scores) > len(distinct):
        of_distinct = sums[np.searchsorted(scores, distinct, side="left")]
    else:
        first = np.searchsorted(distinct, scores, side="right")
        lengths = np.diff(first, prepend=0, append=len(distinct))
        of_distinct = np.repeat(sums, lengths)
    at_edges = of_distinct.take(places, mode="clip")
    changes = np.empty_like(at_edges)
    np.subtract(at_edges[1:], at_edges[:-1], out=changes[:-1])
    changes[starts[1:] - 1] = 0
    changes[-1] = 0
    return changes


def bin_distances(changes: NDArray[Any], edges: Edges, scale: float) -> Floats:
    """Sum of the absolute changes in each histogram, which are overwritten."""
    np.abs(changes, out=changes)
    sums = np.add.reduceat(changes, edges[2], dtype=changes.dtype)
    return np.minimum(sums / scale, 2.0)  # rounding may exceed 2


#: Positions of the first and the last bandwidth of an interval, and the mean there.
StableInterval: TypeAlias = tuple[int, int, float]


def most_stable(
    statistic: GroupedScores,
    multigroup: Multigroup,
    n_bandwidths: int,
    search: Callable[[Floats, tuple[float, float]], StableInterval],
) -> tuple[GapCurve, StableInterval]:
    """Stable interval of the pair of groups with the largest mean of MADD over it."""
    pairs = compared_pairs(statistic.n_groups, multigroup)
    curves = gap_curves(statistic, pairs, n_bandwidths)
    best = next(curves)
    stable = search(best[2], best[1])
    for curve in curves:
        _, sizes, values = curve
        if values.max() <= stable[2]:
            continue  # no mean over an interval is larger
        interval = search(values, sizes)
        if interval[2] > stable[2]:
            best, stable = curve, interval
    return best, stable


def optimal_order(sizes: tuple[Any, Any]) -> Any:
    """Order of magnitude of the best bandwidth, h_sup in Theorem 2 of the paper."""
    first, second = np.sqrt(sizes[0]), np.sqrt(sizes[1])
    return ((first + second) / (first * second)) ** (2 / 3)


def stable_interval(
    values: Floats,
    n_rows: tuple[float, float],
    *,
    min_points: int = 50,
    min_length: float = 0.45,
) -> StableInterval:
    """Algorithm 1 of the MADD paper, for all eligible intervals at once.

    `values` belong to the bandwidths 1 / n_values, ..., 1 / 2, 1. An interval has the
    values of both its ends. Of the intervals with the smallest standard deviation it is
    the first.
    """
    first, last, sizes = _eligible_intervals(
        len(values), n_rows, min_points, min_length
    )
    centred = values - values.mean()
    # Sums of the first 0, 1, ..., n values and of their squares.
    sums, squares = np.zeros((2, len(values) + 1))
    np.cumsum(centred, out=sums[1:])
    np.cumsum(centred**2, out=squares[1:])
    variances: Any = (squares[last + 1] - squares[first]) / sizes
    variances -= ((sums[last + 1] - sums[first]) / sizes) ** 2
    variances[variances < _NO_VARIANCE] = 0
    variances[sizes == np.inf] = np.inf
    row, column = divmod(int(variances.argmin()), len(last))
    start, end = int(first[row, 0]), int(last[column])
    return start, end, float(values[start : end + 1].mean())


@lru_cache(maxsize=1)
def _eligible_intervals(
    n_values: int, n_rows: tuple[float, float], min_points: int, min_length: float
) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    """First and last positions of intervals, and sizes, infinite if not eligible.

    First positions are a column: each has a row of sizes.
    """
    bandwidths = bandwidths_to_one(n_values)
    length = optimal_order(n_rows) * min_length
    n_starts = np.searchsorted(bandwidths, bandwidths[-1] - length, side="right")
    starts = np.arange(min(int(n_starts), n_values - min_points))
    if not len(starts):
        raise ValueError(
            f"no interval of {min_points} bandwidths and length {length:.3g} lies in "
            f"[{bandwidths[0]:.3g}, {bandwidths[-1]:.3g}]: the groups, of "
            f"{n_rows[0]:.6g} and {n_rows[1]:.6g} rows, are too small for "
            "bandwidth='auto'."
        )
    least = np.searchsorted(bandwidths, bandwidths[starts] + length) - 1
    least = np.maximum(least, starts + min_points)
    first, last = starts[:, np.newaxis], np.arange(least.min(), n_values)
    sizes = (last - first + 1).astype(np.float64)
    sizes[last < least[:, np.newaxis]] = np.inf
    return first, last, sizes

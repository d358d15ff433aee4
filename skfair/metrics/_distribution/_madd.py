"""Model absolute density distance: MADD, for one bandwidth or for all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from skfair._utils._arithmetic import quotients
from skfair._utils._types import Floats, Integers
from skfair._utils._validation import (
    TAKES_ANY,
    Scale,
    check_integer,
    check_real,
    check_scores,
    check_y_true,
)
from skfair.groups import resolve_groups
from skfair.metrics._distribution._gap import (
    compared_pairs,
    grouped_scores,
    largest_gap,
    rows_of_scores,
    value_of_gaps,
)
from skfair.metrics._distribution._histograms import (
    N_BANDWIDTHS,
    Edges,
    bandwidths_to_one,
    gap_curves,
    histogram_distances,
    optimal_order,
    stable_mean,
)
from skfair.metrics._evaluate import never, specify
from skfair.metrics._inputs import Multigroup
from skfair.metrics._pairs import PairGaps, compared_groups
from skfair.metrics._strata import Multistratum, combine_numbers
from skfair.metrics._undefined import warn_if_undefined
from skfair.statistics import GroupedScores
from skfair.statistics._grouped_scores import Gap
from skfair.statistics._json import JSONStatistic

#: Finer bins than this cannot tell more floats in [0, 1] apart.
_MAX_BINS = 2**53


def is_automatic(bandwidth: Any) -> bool:
    """Whether a bandwidth is chosen by the data."""
    return isinstance(bandwidth, str) and bandwidth == "auto"


def check_bins(n_known: int, *, bandwidth: Any = "auto") -> None:
    """Raise unless the bins of a width are unions of `n_known` equal ones."""
    if is_automatic(bandwidth) or n_known % number_of_bins(bandwidth):
        raise ValueError(
            f"bandwidth must be 1 / m for a power of two m <= {n_known}, got "
            f"{bandwidth!r}."
        )


def pairs_of_madd(
    statistic: GroupedScores,
    *,
    multigroup: Multigroup = "pairwise",
    among: Integers | None = None,
    bandwidth: float | Literal["auto"] = "auto",
) -> PairGaps:
    """MADD of all pairs of groups, each in bins of one width.

    Of several pairs an automatic width is the order of the best one for the sizes of
    both groups, on which alone it depends.
    """
    n_groups, sizes = statistic.n_groups, statistic.counts
    first, second = compared_groups(n_groups, multigroup, among)
    ours = sizes[first]
    theirs = sizes[first] * 0 + sizes.sum() if second is None else sizes[second]
    more: dict[str, Any] = {}
    values = np.full(len(first), np.nan)
    enough = sizes >= max(statistic.min_group_size, 1)
    defined = enough[first] if second is None else enough[first] & enough[second]
    if is_automatic(bandwidth):
        whole = stable_mean(statistic, multigroup)[0] if enough.all() else math.nan
        if len(first) == 1:
            return PairGaps(first, second, np.full((1, 1), whole), sizes[np.newaxis])
        order = optimal_order((np.maximum(ours, 1), np.maximum(theirs, 1)))
        n_bins = np.floor(1 / np.minimum(order, 1) + 1e-9).astype(np.intp)
        more = {"metric": whole, "columns": {"bandwidth": 1 / n_bins}}
    else:
        n_bins = np.full(len(first), number_of_bins(bandwidth))
        if among is not None and enough.all():
            measure = partial(histogram_distance, n_bins=int(n_bins[0]))
            more = {"metric": largest_gap(statistic, multigroup, measure).value}
    for number in np.unique(n_bins[defined]).tolist():
        here = np.flatnonzero(defined & (n_bins == number))
        shares = _shares_in_bins(statistic, number)
        for i in here.tolist():
            other = shares[-1 if second is None else second[i]]
            values[i] = np.abs(shares[first[i]] - other).sum()
    return PairGaps(first, second, values[np.newaxis], sizes[np.newaxis], **more)


def _shares_in_bins(statistic: GroupedScores, n_bins: int) -> Floats:
    """Share of each group, and at last of everyone, in each bin that is not empty."""
    bins = bins_of(statistic.scores, n_bins)
    columns = np.cumsum(np.diff(bins, prepend=-1) > 0) - 1
    n_groups, n_columns = statistic.n_groups, int(columns[-1]) + 1
    cells = statistic.codes * np.intp(n_columns) + columns
    sums = np.bincount(cells, statistic.weights, n_groups * n_columns)
    weights = sums.reshape(n_groups, n_columns)
    weights = np.vstack([weights, weights.sum(axis=0)])
    return quotients(weights, weights.sum(axis=1, keepdims=True))


@specify(
    statistic=GroupedScores,
    maximum=2.0,
    takes_classes=True,
    compares_errors=never,
    check_bins=check_bins,
    countable=rows_of_scores,
    pairs=pairs_of_madd,
)
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
        On scores outside [0, 1] or not finite, lengths that differ, missing groups, or
        a bandwidth outside (0, 1].

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
    rows = y_true, y_score, sensitive_features, sample_weight
    if is_automatic(bandwidth):
        statistic = grouped_scores(*rows, scale)
        if warn_if_undefined("madd", statistic):
            return math.nan
        return stable_mean(statistic, multigroup)[0]
    n_bins = number_of_bins(bandwidth)
    statistic = binned_scores(n_bins, *rows, scale)
    measure = partial(histogram_distance, n_bins=n_bins)
    return value_of_gaps("madd", statistic, multigroup, measure)


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
        y_true, y_score, sensitive_features, sample_weight, scale
    )
    pairs = compared_pairs(statistic.n_groups, multigroup)
    bandwidths = bandwidths_to_one(n_bandwidths)
    if warn_if_undefined("madd_curve", statistic):
        return bandwidths, np.full(n_bandwidths, np.nan)
    values = np.zeros(n_bandwidths)
    for curve in gap_curves(statistic, pairs, n_bandwidths):
        np.maximum(values, curve.values, out=values)
    return bandwidths, values


def number_of_bins(bandwidth: Any) -> int:
    """Return the number of bins of a width that fit into [0, 1]."""
    width = check_real(
        "bandwidth", bandwidth, 0, 1, closed="right", alternative="'auto' or "
    )
    # Without the margin floor(1 / (1 / m)) is m - 1 for some m.
    return math.floor(min(1 / width * (1 + 1e-12), _MAX_BINS))


def binned_scores(
    n_bins: int,
    y_true: ArrayLike | None,
    y_score: ArrayLike | GroupedScores,
    sensitive_features: Any,
    sample_weight: ArrayLike | None,
    scale: Scale,
) -> GroupedScores:
    """Scores of each group, moved to the lower edges of their bins if that is faster.

    Counting rows by bin takes a third of the time of sorting them. Weights are not
    counted: floats that are added in another order would change the last digit.
    """
    if (
        isinstance(y_score, JSONStatistic)
        or sample_weight is not None
        or scale == "rank"
    ):
        return grouped_scores(y_true, y_score, sensitive_features, sample_weight, scale)
    scores = check_scores(y_score, tip=TAKES_ANY)
    check_y_true(y_true, scores)
    groups = resolve_groups(sensitive_features, n_samples=len(scores))
    n_cells = len(groups.labels) * n_bins
    if n_cells > len(scores) or not (groups.codes >= 0).any():
        return grouped_scores(y_true, scores, groups, None, scale)
    cells = groups.codes.astype(np.intp) * n_bins
    cells += bins_of(scores, n_bins).astype(np.intp)
    rows = np.bincount(cells[cells >= 0], minlength=n_cells)
    cells = np.flatnonzero(rows)
    codes, bins = np.divmod(cells, n_bins)
    return GroupedScores.from_counts(
        bins / n_bins,
        sensitive_features=replace(groups, codes=codes),
        n_rows=rows[cells],
    )


def bins_of(scores: Floats, n_bins: int) -> Floats:
    """Largest k below `n_bins` for which k / n_bins is at most the score."""
    bins = np.floor(scores * n_bins)
    bins += (bins + 1) / n_bins <= scores
    bins -= bins / n_bins > scores
    return np.minimum(bins, n_bins - 1, out=bins)


def histogram_distance(gap: Gap, n_bins: int) -> float:
    """Sum of the absolute differences between two histograms."""
    if n_bins <= len(gap.scores):
        return float(histogram_distances(gap, Edges.of(np.array([n_bins])))[0])
    bins = bins_of(gap.scores, n_bins)
    last = np.append(bins[1:] != bins[:-1], True)
    changes = np.abs(np.diff(gap.signed[last], prepend=0))
    return min(2.0, float(changes.sum() / gap.scale))

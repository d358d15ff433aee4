"""MCDP of an attribute that is a number: the largest over all cut points."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skfair._utils._types import Floats, Integers
from skfair._utils._validation import (
    Scale,
    as_array,
    check_real,
    check_shape,
    check_weights,
)
from skfair._utils._warnings import warns_if_reordered
from skfair.groups import resolve_groups
from skfair.metrics._distribution._gap import grouped_scores
from skfair.metrics._distribution._mcdp import largest_sustained_gap, mcdp_measure
from skfair.metrics._evaluate import never, specify
from skfair.metrics._strata import Multistratum
from skfair.metrics._undefined import warn_undefined
from skfair.statistics import GroupedScores
from skfair.statistics._grouped_scores import Gap, gap_between

#: More than the rounding of shares and gaps.
_ROUNDING = 1e-12
#: Of an attribute with more cut points `continuous_mcdp_cuts` lists as many as this.
_MAX_LISTED = 200


@dataclass(frozen=True, eq=False)
class ContinuousMCDPResult:
    """Result of `continuous_mcdp_cuts`.

    Attributes
    ----------
    value : float in [0, 1]
        The largest gap: `continuous_mcdp`. nan, as `cut` and `score`, where undefined.
    cut : float
        Value of the attribute: rows at most at it are compared with those above it.
    score : float
        Score from which on the gap is that large; nan where `value` is 0.
    n_at_most, n_above : int
        Number of rows on the two sides of the cut.
    cuts : ndarray of shape (n_cuts,), increasing
        Cut points: all that leave the least share on both sides, or 200 of them and
        `cut`.
    values : ndarray of shape (n_cuts,)
        MCDP at each of them.
    sizes : ndarray of shape (n_cuts,)
        Number of rows at most at each of them.
    """

    value: float
    cut: float
    score: float
    n_at_most: int
    n_above: int
    cuts: Floats = field(repr=False)
    values: Floats = field(repr=False)
    sizes: Integers = field(repr=False)

    def to_frame(self) -> pd.DataFrame:
        """Table of MCDP by cut point.

        Returns
        -------
        DataFrame
            One row for each cut point: ``cut``, ``n_at_most``, ``n_above``, ``value``.

        Examples
        --------
        >>> from skfair.metrics import continuous_mcdp_cuts
        >>> continuous_mcdp_cuts(
        ...     None, [0.2, 0.1, 0.9, 0.8], sensitive_features=[23, 31, 47, 59]
        ... ).to_frame()
            cut  n_at_most  n_above     value
        0  23.0          1        3  0.666667
        1  31.0          2        2  1.000000
        2  47.0          3        1  0.666667
        """
        n_rows = self.n_at_most + self.n_above
        columns = {
            "cut": self.cuts,
            "n_at_most": self.sizes,
            "n_above": n_rows - self.sizes,
            "value": self.values,
        }
        return pd.DataFrame(columns)


@specify(
    statistic=GroupedScores,
    takes_classes=True,
    leaves_groups_out=True,
    groups_are_numbers=True,
    compares_errors=never,
)
def continuous_mcdp(
    y_true: ArrayLike | None,
    y_score: ArrayLike | GroupedScores,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    epsilon: float = 0.0,
    min_share: float = 0.05,
    scale: Scale = "probability",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Largest MCDP over all cut points of an attribute that is a number, such as age.

    Rows whose attribute is at most c are compared with those above c by `mcdp`, for
    every value c of the attribute that leaves a least share of the rows on both sides.
    The largest of these gaps is the disparity between younger and older people where
    nobody has chosen the age that divides them. It sees what changes in one direction;
    that the middle differs from both ends, it sees in part only.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        Ignored, so that the metric fits `sklearn.metrics.make_scorer`. If given it
        must be of the right length, and binary where `y_score` is one column
        of probabilities.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes), or \
GroupedScores
        Scores of one class, or of each of three or more, as in `mcdp`. A statistic
        whose labels are numbers takes the place of all rows.
    sensitive_features : array-like of shape (n_samples,), or Groups
        The attribute: one column of finite numbers, or a `Groups` of such labels.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, such as its department or its true label, within which
        groups are compared; several columns stand for their intersection. Strata
        without two groups are left out, with a warning that names them.
    epsilon : float in [0, 0.5], default=0.0
        Half the length of the window, in units of the score, as in `mcdp`.
    min_share : float in [0, 0.5], default=0.05
        Least share of the rows, by weight, on either side of a cut point. Small sides
        have large gaps by chance. Both sides also have at least the `min_group_size`
        of a `Groups`.
    scale : {"probability", "rank"}, default="probability"
        ``"rank"`` replaces scores by their ranks among everyone, as in `mcdp`.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights. Whole numbers count rows, without rounding.

    Returns
    -------
    float in [0, 1]
        0 is parity at every cut point. nan with a warning where there is none.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        If the attribute is not one column of finite numbers, and as in `mcdp`.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If the attribute has fewer than two values, or no cut point leaves enough rows
        on both sides.

    See Also
    --------
    continuous_mcdp_cuts : Where the gap is, and MCDP at every cut point.
    worst_subgroup : The largest gap over conjunctions of several attributes.
    permutation_test : Its p-value pays for the search: it shuffles the attribute, and
        takes the largest gap over all cut points each time.

    Notes
    -----
    A search finds a gap in noise, too: of scores that have nothing to do with age the
    mean of the value was .13 with 1,000 rows and .05 with 10,000, and .09 and .03 with
    `min_share` .2. Report it with the p-value of `permutation_test`, and take a larger
    `min_share` where the attribute is not about its extremes.

    The value is exact. After one sort each cut point takes O(n) time, and most are
    never evaluated: where q is the share of the rows between two cut points, and p the
    share on one side, the gap times p (1 - p) differs by at most q (1 - q).

    Examples
    --------
    >>> from skfair.metrics import continuous_mcdp
    >>> age = [23, 31, 38, 47, 52, 59]
    >>> y_score = [0.3, 0.2, 0.7, 0.6, 0.8, 0.9]
    >>> continuous_mcdp(None, y_score, sensitive_features=age)
    1.0
    """
    rows = y_true, y_score, sensitive_features, sample_weight
    _, cuts, gap_at = _gaps_by_cut(*rows, scale, epsilon, min_share)
    return _largest_over_cuts(cuts, gap_at)[0] if len(cuts.values) else math.nan


@warns_if_reordered
def continuous_mcdp_cuts(
    y_true: ArrayLike | None,
    y_score: ArrayLike | GroupedScores,
    *,
    sensitive_features: Any = None,
    epsilon: float = 0.0,
    min_share: float = 0.05,
    scale: Scale = "probability",
    sample_weight: ArrayLike | None = None,
) -> ContinuousMCDPResult:
    """Find where `continuous_mcdp` is attained, and MCDP at every cut point.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        Ignored. If given it must be binary and of the right length.
    y_score : array-like of shape (n_samples,), or GroupedScores
        Probabilities of the positive class, in [0, 1], or any finite numbers with
        ``scale="rank"``; or a statistic of all rows.
    sensitive_features : array-like of shape (n_samples,), or Groups
        The attribute: one column of finite numbers, or a `Groups` of such labels.
    epsilon : float in [0, 0.5], default=0.0
        Half the length of the window, in units of the score, as in `mcdp`.
    min_share : float in [0, 0.5], default=0.05
        Least share of the rows, by weight, on either side of a cut point.
    scale : {"probability", "rank"}, default="probability"
        ``"rank"`` replaces scores by their ranks among everyone, as in `mcdp`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    ContinuousMCDPResult
        With nan, and without cut points, where the metric is undefined. Of several
        cut points with the largest gap `cut` is the smallest.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        As in `continuous_mcdp`.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        As in `continuous_mcdp`.

    See Also
    --------
    continuous_mcdp : The value alone, for scorers and tests.
    skfair.inspection.ContinuousMCDPDisplay : The same as a picture.

    Notes
    -----
    The cut was chosen because its gap is the largest, so that its gap in new data is
    smaller as a rule. Of more than 200 cut points 200 are listed, at equal distances
    in rows, with the one at which the gap is largest.

    Examples
    --------
    >>> from skfair.metrics import continuous_mcdp_cuts
    >>> age = [23, 31, 38, 47, 52, 59]
    >>> y_score = [0.3, 0.2, 0.7, 0.6, 0.8, 0.9]
    >>> continuous_mcdp_cuts(None, y_score, sensitive_features=age)
    ContinuousMCDPResult(value=1.0, cut=31.0, score=0.3, n_at_most=2, n_above=4)
    """
    rows = y_true, y_score, sensitive_features, sample_weight
    statistic, cuts, gap_at = _gaps_by_cut(*rows, scale, epsilon, min_share)
    if not len(cuts.values):
        return ContinuousMCDPResult(
            value=math.nan,
            cut=math.nan,
            score=math.nan,
            n_at_most=0,
            n_above=int(statistic.counts.sum()),
            cuts=np.empty(0),
            values=np.empty(0),
            sizes=np.empty(0, np.intp),
        )
    value, best = _largest_over_cuts(cuts, gap_at)
    place = largest_sustained_gap(_two_sides(statistic, cuts, best), float(epsilon))
    listed = _listed(cuts, best)
    n_at_most = int(cuts.sizes[best])
    return ContinuousMCDPResult(
        value=value,
        cut=float(cuts.values[best]),
        score=place.score,
        n_at_most=n_at_most,
        n_above=int(statistic.counts.sum()) - n_at_most,
        cuts=cuts.values[listed],
        values=np.array([gap_at(cut) for cut in listed]),
        sizes=cuts.sizes[listed],
    )


class _Cuts(NamedTuple):
    """Cut points of an attribute, in increasing order.

    `ranks` are the positions of all groups in the order of their values; a group is
    at most at cut i if its rank is at most ``last[i]``.
    """

    values: Floats
    sizes: Integers  # rows at most at the cut
    weights: NDArray[Any]  # of these rows
    above: NDArray[Any]  # weights of the other rows, added up by themselves
    last: Integers
    ranks: Integers


def _scores_by_number(
    y_true: ArrayLike | None,
    y_score: ArrayLike | GroupedScores,
    sensitive_features: Any,
    sample_weight: ArrayLike | None,
    scale: Scale,
) -> GroupedScores:
    """Scores of each value of the attribute; values without weight have no rows."""
    if sample_weight is not None and not isinstance(y_score, GroupedScores):
        scores = as_array(y_score, "y_score")
        check_shape(scores, "y_score")
        weights = check_weights(sample_weight, len(scores))
        groups = resolve_groups(sensitive_features, n_samples=len(scores))
        codes = np.where(weights > 0, groups.codes, -1)
        sensitive_features = replace(groups, codes=codes)
    statistic = grouped_scores(
        y_true, y_score, sensitive_features, sample_weight, scale
    )
    labels: tuple[Any, ...] = statistic.labels
    for label in labels:
        if not isinstance(label, numbers.Real) or not math.isfinite(label):
            raise ValueError(
                "sensitive_features must be one column of finite numbers, got the "
                f"value {label!r}. For groups that are no numbers use mcdp."
            )
    return statistic


def _cut_points(statistic: GroupedScores, min_share: float) -> _Cuts:
    """Cut points that leave the least share, and number, of rows on both sides."""
    values = np.array(statistic.labels, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    ranks = np.empty(len(order), dtype=np.intp)
    ranks[order] = np.arange(len(order))
    counts = statistic.counts[order]
    totals = statistic.totals[order]
    sizes, weights, n_rows = np.cumsum(counts), np.cumsum(totals), counts.sum()
    above = np.append(np.cumsum(totals[:0:-1])[::-1], 0)
    smallest = max(statistic.min_group_size, 1)
    least = (min_share - _ROUNDING) * totals.sum()
    kept = (counts > 0) & (np.minimum(sizes, n_rows - sizes) >= smallest)
    last = np.flatnonzero(kept & (np.minimum(weights, above) >= least))
    return _Cuts(
        values[order][last], sizes[last], weights[last], above[last], last, ranks
    )


def _gaps_by_cut(
    y_true: ArrayLike | None,
    y_score: ArrayLike | GroupedScores,
    sensitive_features: Any,
    sample_weight: ArrayLike | None,
    scale: Scale,
    epsilon: float,
    min_share: float,
) -> tuple[GroupedScores, _Cuts, Callable[[int], float]]:
    """Scores by value, the cut points, and MCDP at each; warn where there are none."""
    measure = mcdp_measure(epsilon=epsilon)
    min_share = check_real("min_share", min_share, 0, 0.5)
    statistic = _scores_by_number(
        y_true, y_score, sensitive_features, sample_weight, scale
    )
    cuts = _cut_points(statistic, min_share)
    if not len(cuts.values):
        _warn_without_cuts(statistic, min_share)
    return statistic, cuts, lambda cut: measure(_gap_at(statistic, cuts, cut))


def _warn_without_cuts(statistic: GroupedScores, min_share: float) -> None:
    """Warn that there is no cut point, and say why."""
    found = [statistic.labels[i] for i in np.flatnonzero(statistic.counts)]
    if len(found) < 2:
        reason = f"the attribute must have at least two values, got only {found}"
    else:
        rows = max(statistic.min_group_size, 1)
        reason = (
            f"no cut point leaves a share of {min_share:g} and {rows} rows on both "
            f"sides, the attribute has {len(found)} values"
        )
    warn_undefined("continuous_mcdp", reason)


def _two_sides(statistic: GroupedScores, cuts: _Cuts, cut: int) -> GroupedScores:
    """Scores of the rows at most at a cut point, and of those above it."""
    above = (cuts.ranks > cuts.last[cut]).astype(np.int8)
    n_rows = statistic.counts.sum()
    return replace(
        statistic,
        codes=above[statistic.codes],
        counts=np.array([cuts.sizes[cut], n_rows - cuts.sizes[cut]]),
        totals=np.array([cuts.weights[cut], cuts.above[cut]]),
        labels=("at most", "above"),
    )


def _gap_at(statistic: GroupedScores, cuts: _Cuts, cut: int) -> Gap:
    """Difference of the CDFs of the two sides of a cut point."""
    return gap_between(_two_sides(statistic, cuts, cut), 0, 1)


def _largest_over_cuts(
    cuts: _Cuts, gap_at: Callable[[int], float]
) -> tuple[float, int]:
    """Largest gap over the cut points, and the first at which it is attained.

    Let p be the share of the rows at most at a cut, F their CDF and G that of all
    rows. The gap is sup |F - G| / (1 - p), so that gap * p (1 - p) = sup |p F - p G|.
    Rows of share q and CDF H that change sides change p F - p G by q (H - G), and
    G = q H + (1 - q) K, K the CDF of the other rows, gives q (1 - q) |H - K| at most.
    A window takes the least of several such distances, which changes by no more.
    """
    total = cuts.weights[0] + cuts.above[0]
    shares, above = cuts.weights / total, cuts.above / total
    spread = shares * above
    bounds = 1 + spread  # above all gaps, and largest in the middle
    largest, best = -math.inf, len(shares)
    while True:
        cut = int(bounds.argmax())
        if bounds[cut] < largest - _ROUNDING:
            return largest, best
        gap = gap_at(cut)
        if gap > largest or (gap == largest and cut < best):
            largest, best = gap, cut
        moved = np.abs(shares - shares[cut])  # a small share on one side is exact
        moved = np.maximum(moved, np.abs(above - above[cut]))
        reach = (gap * spread[cut] + moved * (1 - moved)) / spread
        bounds = np.minimum(bounds, reach)
        bounds[cut] = -math.inf


def _listed(cuts: _Cuts, best: int) -> Integers:
    """Positions of the cut points that a table lists: `best` and others."""
    n_cuts = len(cuts.values)
    if n_cuts <= _MAX_LISTED:
        return np.arange(n_cuts)
    wanted = np.linspace(cuts.weights[0], cuts.weights[-1], _MAX_LISTED)
    return np.union1d(np.searchsorted(cuts.weights, wanted), best)

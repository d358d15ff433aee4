"""Maximal cumulative ratio disparity along varying predictions: MCDP(epsilon)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import minimum_filter1d

from skfair._utils._arrays import Bools, Floats, Integers
from skfair._utils._validation import Scale, check_integer, check_real
from skfair.metrics._anytime import gap_variance, largest_gap_end, mean_difference_noise
from skfair.metrics._distributions import (
    CurveOfScores,
    GapOfDistributions,
    compare_gaps,
)
from skfair.metrics._inputs import Multigroup
from skfair.metrics._metric import evaluates
from skfair.metrics._pairs import (
    Located,
    MeasureAt,
    MeasuredGaps,
    Pair,
    PairGaps,
    compared_pairs,
    find_largest,
    largest_of_rows,
    measure_gaps,
)
from skfair.metrics._quantiles import (
    Comparisons,
    Method,
    Observed,
    bridge_quantiles,
    distribution_free_quantiles,
    ends_by_size,
    high_end,
    low_end,
    one_score_high_end,
    one_score_quantiles,
    pairs_of_variances,
    shares_of_groups,
    sum_by_comparison,
    supremum_quantile,
)
from skfair.metrics._strata import Multistratum, combine_numbers
from skfair.statistics import CountTable
from skfair.statistics._distributions import Distributions, Gap, cdf_steps, gap_between


def sustained_gap(gap: Gap, epsilon: float = 0.0) -> float:
    """Return MCDP of one gap: the largest gap that lasts over a window.

    A window ``[a, a + 2 epsilon]`` inside [0, 1] is closed and pieces are half-open,
    so a run of pieces contains a window only if it is longer; a window centred at 0 is
    cut to ``[0, epsilon]``, the only one that does not reach 1 where epsilon is above
    0.5. One that reaches 1 sees a gap of 0.
    """
    if epsilon == 0:
        return float(np.abs(gap.signed).max() / gap.scale)
    return float(_sustained(gap.scores, np.abs(gap.signed), epsilon) / gap.scale)


def _add_cdfs(statistic: Distributions, located: Located) -> Located:
    """Add the CDFs of both groups at the score."""
    first, second = (
        statistic._share_below(group, located.score) for group in located.pair
    )
    return located._replace(figures=(first, second))


def sustained_at(scores: Floats, epsilon: float) -> Callable[[Floats], Floats]:
    """Return MCDP(epsilon) of rows of gaps at some scores.

    MCDP(epsilon) is the largest over windows of the smallest gap in a window. The best
    window starts where a piece does. A range of pieces is the union of two overlapping
    ranges whose length is a power of two: its smallest gap is the smaller of theirs.
    """
    if epsilon == 0:
        return largest_of_rows
    starts, stops = _windows(scores, epsilon)
    powers = np.frexp(stops - starts)[1] - 1
    ranges = [
        (starts[powers == j], stops[powers == j] - 2**j)
        for j in range(powers.max(initial=-1) + 1)
    ]
    return partial(_largest_sustained, ranges=ranges)


def _largest_sustained(
    apart: Floats, ranges: Sequence[tuple[Integers, Integers]]
) -> Floats:
    """Return the largest of the smallest gaps in the windows of each row."""
    values = np.zeros(len(apart))
    for j, (begin, end) in enumerate(ranges):
        if j:
            apart = np.minimum(apart[:, : -(2 ** (j - 1))], apart[:, 2 ** (j - 1) :])
        if len(begin):
            inside = np.minimum(apart[:, begin], apart[:, end]).max(axis=1)
            np.maximum(values, inside, out=values)
    return values


def _windows(scores: Floats, epsilon: float) -> tuple[Integers, Integers]:
    """Return first pieces of windows, and the end of the shortest run that holds each.

    Windows that reach beyond the last score, where every gap is 0, are left out.
    """
    starts = np.arange(len(scores))
    reach = scores + 2 * epsilon
    if scores[0] == 0:
        reach[0] = epsilon  # a window may be cut at 0
    stops = np.searchsorted(scores, reach - 4 * _LENGTH_ROUNDING, side="left")
    while True:
        inside = stops < len(scores)
        starts, stops = starts[inside], stops[inside]
        short = ~_fits_window(scores, starts, stops, epsilon)
        if not short.any():
            return starts, stops
        stops = stops + short


@dataclass(frozen=True, kw_only=True)
class MCDP(GapOfDistributions):
    """Largest gap between two CDFs that is sustained over a window of scores."""

    has_loose_bounds = False
    choices = GapOfDistributions.choices | {"method": ("exact", "approximate")}

    epsilon: float = 0.0
    method: Literal["exact", "approximate"] = "exact"
    n_subdivisions: int = 32

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        check_real("epsilon", self.epsilon, 0, 1)
        check_integer("n_subdivisions", self.n_subdivisions, 1)
        if self.method == "approximate" and self.epsilon == 0:
            raise ValueError("epsilon must be above 0 for method='approximate', got 0.")

    def measure(self, gap: Gap) -> float:
        """Measure the largest gap that is sustained over a window."""
        if self.method == "exact":
            return sustained_gap(gap, self.epsilon)
        return _approximate(gap, self.epsilon, self.n_subdivisions)

    @property
    def measure_at(self) -> MeasureAt | None:
        """Return the function that measures rows of gaps at given scores, if any."""
        if self.method == "approximate":
            return None
        return partial(sustained_at, epsilon=self.epsilon)

    def gaps(self, statistic: Distributions) -> PairGaps:
        """Find the gaps of all pairs of groups, and a score with each of MCDP(0)."""

        def place(first: int, second: int | None) -> float:
            gap = gap_between(statistic, first, second)
            return float(gap.scores[np.abs(gap.signed).argmax()])

        found = super().gaps(statistic)
        return found._replace(place=place) if self.epsilon == 0 else found

    def largest_pair(self, statistic: Distributions) -> Located:
        """Find the largest gap, and between which groups it is.

        MCDP(0) needs no pairs, so that there may be any number of groups.
        """
        if self.epsilon > 0 or statistic.n_groups == 2:
            return super().largest_pair(statistic)
        find = _furthest_two if self.multigroup == "pairwise" else _furthest_group
        pair = find(statistic)
        return Located(sustained_gap(gap_between(statistic, *pair)), pair)

    def locate(self, statistic: Distributions) -> Located:
        """Find a score and a window with the largest gap, and both CDFs there."""
        epsilon = self.epsilon
        located = replace(self, method="exact").largest_pair(statistic)
        if located.value == 0:
            score = float(statistic.scores[0])
            return _add_cdfs(statistic, located._replace(score=score))
        gap = gap_between(statistic, *located.pair)
        heights = np.abs(gap.signed) / gap.scale
        if epsilon == 0:
            score = float(gap.scores[heights.argmax()])
            located = located._replace(score=score, window=(score, score))
            return _add_cdfs(statistic, located)
        window = _roomiest_window(gap.scores, heights >= located.value, epsilon)
        # Each window of the run has a score at which the gap is the value: otherwise
        # MCDP would be larger.
        seen = np.searchsorted(gap.scores, window, side="right") - 1
        pieces = np.arange(max(seen[0], 0), seen[1] + 1)
        nearest = pieces[np.abs(heights[pieces] - located.value).argmin()]
        score = max(float(gap.scores[nearest]), window[0])
        return _add_cdfs(statistic, located._replace(score=score, window=window))

    def check_method(self, method: Method) -> None:
        """Raise where the noise has no bounds by a method, with these options."""
        super().check_method(method)
        if self.method != "exact":
            raise ValueError(f"method of MCDP must be 'exact', got {self.method!r}.")

    def bound_noise(self, observed: Observed, method: Method) -> Comparisons:
        """Bound the noise of CDFs, at most that of a Brownian bridge.

        The tangent of MCDP(0) is the noise at one score, a difference of binomials.
        MCDP(epsilon) is not convex: it falls by at most the noise on the true window.
        Windows of ranks are chosen by the data, so that all windows must be bounded.
        """
        statistic, sizes, _ = observed
        multigroup, at_one_score = self.multigroup, self.epsilon == 0
        gaps = measure_gaps(statistic, multigroup, self.measure, self.measure_at)
        shares = shares_of_groups(statistic)
        windows_of_data = self.scale == "rank" and not at_one_score
        if method == "band" and multigroup == "pairwise" and not windows_of_data:
            return _gap_comparisons(gaps, sizes, at_one_score=at_one_score)
        above, below = distribution_free_quantiles(sizes, shares, multigroup, method)
        if method == "band":
            scale = np.sqrt(sum_by_comparison(1 / sizes, shares, multigroup))
            above = bridge_quantiles(scale, sides=1)
            if at_one_score:
                above = one_score_quantiles(sizes, shares, multigroup)
            below = bridge_quantiles(scale, sides=2)
        elif not at_one_score:
            above = below
        moved = compare_gaps(gaps, above, below)
        if method == "anytime" and at_one_score and multigroup == "pairwise":
            return moved._replace(low=_mixed_low(gaps, statistic, sizes))
        return moved


#: Lower end of a pair whose gap may be 0: below 0, so that any other end is larger.
_BELOW_0 = -1e-9


def _gap_comparisons(
    gaps: MeasuredGaps, sizes: Floats, *, at_one_score: bool
) -> Comparisons:
    """Compare pairs of groups by ends that are closer the larger the gap is."""
    highest = one_score_high_end if at_one_score else high_end
    variances = pairs_of_variances(sizes)
    scale = np.sqrt(np.sum(variances, axis=1))

    def low(tail: float) -> float:
        end = ends_by_size(low_end, tail, variances)
        return find_largest(gaps.ceilings, lambda i: end(i, gaps.value_of(i)))[0]

    def high(tail: float) -> float:
        end = ends_by_size(highest, tail, variances)
        ceilings = gaps.ceilings + supremum_quantile(tail, sides=1) * scale
        return find_largest(ceilings, lambda i: end(i, gaps.value_of(i)))[0]

    return Comparisons(gaps.largest[0], len(gaps.pairs), low, high)


def _mixed_low(
    gaps: MeasuredGaps, statistic: Distributions, sizes: Floats
) -> Callable[[float], float]:
    """Return the lower end of the largest MCDP(0) at all looks at once, by tail."""
    pairs = np.array(np.triu_indices(statistic.n_groups, 1))
    variances = gap_variance(sizes[pairs])
    # With one row less a gap may be larger by this.
    ceilings = gaps.ceilings + 1 / np.maximum(sizes[pairs].min(axis=0) - 1, 1e-3)

    @cache
    def end_of(i: int) -> Callable[[float], float]:
        return largest_gap_end(
            *(statistic.select_group(group) for group in pairs[:, i])
        )

    def low(tail: float) -> float:
        # As if the gap were the same at the scores of all rows.
        noise = mean_difference_noise(variances, tail, sides=2)
        return find_largest(ceilings - noise, lambda i: max(end_of(i)(tail), _BELOW_0))[
            0
        ]

    return low


@evaluates(MCDP)
def mcdp(
    y_true: ArrayLike | None,
    y_score: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    epsilon: float = 0.0,
    method: Literal["exact", "approximate"] = "exact",
    n_subdivisions: int = 32,
    scale: Scale = "probability",
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> float:
    """Maximal local disparity of two groups' score distributions, MCDP(epsilon).

    The largest gap between the groups' cumulative distribution functions that is
    sustained over a whole window of scores,

    .. math::
        \\max_{y_0 \\in [0, 1]} \\; \\min_{|t - y_0| \\le \\epsilon} |F_0(t) - F_1(t)|,
        \\quad t \\in [0, 1],

    so that no decision threshold treats the groups more unequally than MCDP(0) says.
    It needs no true labels: it measures demographic parity at every threshold, and
    says nothing about errors or about what caused the gap.

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
    epsilon : float in [0, 1], default=0.0
        Half the length of the window, in units of the score. At 0 the metric is the
        two-sample Kolmogorov-Smirnov statistic. Windows are cut at 0 and at 1: above
        0.5 the metric is the smallest gap from 0 to epsilon.
    method : {"exact", "approximate"}, default="exact"
        ``"approximate"`` is Algorithm 2 of [1]_, which evaluates the gap only at
        multiples of ``epsilon / n_subdivisions`` and never underestimates MCDP.
    n_subdivisions : int, default=32
        The paper's K, for the approximate method.
    scale : {"probability", "rank"}, default="probability"
        ``"rank"`` is for scores that are not probabilities, such as decision functions
        and predictions of regressors: it replaces them by their ranks among everyone,
        from 0 to 1, so that a window holds a share of 2 epsilon of everyone. MCDP(0)
        is the same on either scale.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest value over pairs of groups, or over groups compared with everyone,
        the group included. The pooled value is smaller, even with two groups; the paper
        compares pairs. MCDP(0) needs no pairs; windows of more than 64 groups need the
        second.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights. Whole numbers are added without rounding.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

    Returns
    -------
    float in [0, 1]
        0 is parity. nan with a warning where a group is absent or too small.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On scores outside [0, 1] or not finite, lengths that differ, missing groups, an
        epsilon outside [0, 1], an approximation without `epsilon` or subdivisions, or
        pairs of more than 64 groups where `epsilon` is above 0.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    mcdp_curve : MCDP for every epsilon at once.
    abcc : The average gap in place of the largest.
    permutation_test : Test of MCDP, with its values for permuted groups.

    Notes
    -----
    The exact method takes O(n log n) time, for one sort; Algorithm 1 of [1]_ takes
    O(n^2) time and memory. Windows are closed: a step at the end of a window belongs to
    it. Lengths that differ from the length of a window by rounding only count as equal.

    References
    ----------
    .. [1] Jin, Li, Feng. "On the Maximal Local Disparity of Fairness-Aware
       Classifiers". ICML 2024. Equation 4, Algorithms 1 and 2.

    Examples
    --------
    >>> from skfair.metrics import mcdp
    >>> y_score = [0.1, 0.4, 0.5, 0.6, 0.7, 0.9]
    >>> sex = ["F", "F", "F", "M", "M", "M"]
    >>> mcdp(None, y_score, sensitive_features=sex)
    1.0
    >>> round(mcdp(None, y_score, sensitive_features=sex, epsilon=0.1), 3)
    0.667

    Salaries are not probabilities; a window holds a tenth of everyone:

    >>> salary = [2100, 2900, 3200, 3100, 4000, 9000]
    >>> round(
    ...     mcdp(None, salary, sensitive_features=sex, scale="rank", epsilon=0.05), 3
    ... )
    0.667
    """
    metric = MCDP(
        epsilon=epsilon,
        method=method,
        n_subdivisions=n_subdivisions,
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


def _combine_steps(
    curves: Sequence[tuple[Floats, Floats]], weights: Sequence[float] | None = None
) -> tuple[Floats, Floats]:
    """Return the largest of several step functions, or their weighted mean."""
    if len(curves) == 1:
        return curves[0]
    epsilons = np.unique(np.concatenate([steps for steps, _ in curves]))
    heights = (
        values[np.searchsorted(steps, epsilons, side="right") - 1]
        for steps, values in curves
    )
    if weights is None:  # of many pairs, whose heights are not held at once
        return merge_steps(epsilons, reduce(np.maximum, heights))
    return merge_steps(epsilons, combine_numbers([*heights], weights))


class MCDPCurve(CurveOfScores):
    """MCDP of every epsilon: a step function in place of a number."""

    name = "mcdp_curve"

    @property
    def undefined_value(self) -> tuple[Floats, Floats]:
        """Curve where groups cannot be compared."""
        return np.zeros(1), np.full(1, np.nan)

    def value(self, statistic: Distributions) -> tuple[Floats, Floats]:
        """Find the largest step function of all pairs."""
        pairs = compared_pairs(statistic.n_groups, self.multigroup)
        gaps = (gap_between(statistic, *pair) for pair in pairs)
        return _combine_steps([gap_profile(gap) for gap in gaps])

    def combine(self, values: Sequence[Any], weights: Sequence[float]) -> Any:
        """Combine step functions of strata."""
        return _combine_steps(values, weights if self.averages_strata else None)


def mcdp_curve(
    y_true: ArrayLike | None,
    y_score: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    scale: Scale = "probability",
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> tuple[Floats, Floats]:
    """MCDP for every epsilon at once, exactly.

    MCDP(epsilon) is a step function: it never increases, and it takes ``values[i]``
    from ``epsilons[i]`` on, until the next step.

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
    scale : {"probability", "rank"}, default="probability"
        ``"rank"`` replaces scores by their ranks among everyone, as in `mcdp`.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest value over pairs of groups, or over groups compared with everyone,
        the group included, for each epsilon. The pooled value is smaller, even with two
        groups; the paper compares pairs.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

    Returns
    -------
    epsilons : ndarray of shape (n_steps,)
        Where the steps begin, increasing from 0 to at most 1.
    values : ndarray of shape (n_steps,)
        Decreasing, in [0, 1]. One nan, with a warning, where MCDP is undefined.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        As in `mcdp`, and on pairs of more than 64 groups.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    mcdp : The value at one epsilon.

    Notes
    -----
    O(n log n) time for two groups.

    References
    ----------
    .. [1] Jin, Li, Feng. "On the Maximal Local Disparity of Fairness-Aware
       Classifiers". ICML 2024. Equation 4 and figure 2.

    Examples
    --------
    >>> from skfair.metrics import mcdp_curve
    >>> epsilons, values = mcdp_curve(
    ...     None, [0.0, 0.25, 0.5, 1.0], sensitive_features=["F", "F", "M", "M"]
    ... )
    >>> epsilons.tolist(), values.tolist()
    ([0.0, 0.125, 1.0], [1.0, 0.5, 0.0])
    """
    metric = MCDPCurve(scale=scale, multigroup=multigroup, multistratum=multistratum)
    columns = sensitive_features, control_features, sample_weight, counts
    rows = metric.read(y_true, y_score, *columns)
    curve: tuple[Floats, Floats] = metric.evaluate(rows)
    return curve


def _roomiest_window(
    scores: Floats, above: Bools, epsilon: float
) -> tuple[float, float]:
    """Centre a window in the run of pieces that has most room for it."""
    first, last = _runs_of_true(above)
    starts, stops = scores[first], scores[last]
    room = (stops - starts) / 2
    room[starts == 0] = stops[starts == 0]  # a window may be cut at 0
    run = int(room.argmax())
    start, stop = float(starts[run]), float(stops[run])
    if start == 0 and stop <= 2 * epsilon:
        return 0.0, epsilon
    left = (start + stop) / 2 - epsilon
    return left, left + 2 * epsilon


def _furthest_two(statistic: Distributions) -> Pair:
    """Find the two groups whose CDFs differ most at any score.

    CDFs increase: the largest at a score is the largest that was reached at an entry so
    far, and the smallest is the smallest from which a later entry starts.
    """
    scores, (before, after) = statistic.scores, cdf_steps(statistic)
    highest = np.maximum.accumulate(after)
    lowest = np.minimum.accumulate(np.append(before[1:], 1)[::-1])[::-1]
    last = np.append(scores[1:] != scores[:-1], True)  # of several entries at a score
    up_to = int(np.where(last, highest - lowest, -1).argmax()) + 1
    codes, weights = statistic.codes[:up_to], statistic.weights[:up_to]
    cdfs = np.bincount(codes, weights, statistic.n_groups) / statistic.totals
    first, second = sorted((int(cdfs.argmin()), int(cdfs.argmax())))
    return (first, second) if first < second else (0, 1)


def _furthest_group(statistic: Distributions) -> Pair:
    """Find the group whose CDF differs most from everyone's at any score."""
    scores, (before, after) = statistic.scores, cdf_steps(statistic)
    last = np.append(scores[1:] != scores[:-1], True)  # of several entries at a score
    positions = np.cumsum(last) - last  # position of each entry's score among all
    overall = np.append(0, np.cumsum(statistic.weights)[last]) / statistic.totals.sum()
    above = np.abs(after - overall[positions + 1])
    below = np.abs(before - overall[positions])
    return int(statistic.codes[np.maximum(above, below).argmax()]), None


def _approximate(gap: Gap, epsilon: float, n_subdivisions: int) -> float:
    """Compute MCDP by algorithm 2 of the paper, on a grid of windows."""
    # Rounding must not add a point where epsilon / n_subdivisions divides 1. The window
    # at 0 has its last point, though, at 1 too.
    n_points = math.ceil(n_subdivisions / epsilon * (1 - _LENGTH_ROUNDING))
    n_points = max(n_points, n_subdivisions + 1)
    points = np.arange(n_points) * (epsilon / n_subdivisions)
    heights = np.append(0, np.abs(gap.signed))  # both CDFs are 0 below all scores
    seen = heights[np.searchsorted(gap.scores, points, side="right")]
    best = seen[: n_subdivisions + 1].min()
    window = 2 * n_subdivisions
    if n_points > window:
        # Index i is the smallest over points i - window // 2, ..., i + window // 2 - 1.
        minima = minimum_filter1d(seen, window, mode="nearest")
        first = 1 + n_subdivisions
        best = max(best, minima[first : first + n_points - window].max())
    return float(best / gap.scale)


#: Lengths this close to a window's may be equal to it: scores and windows such as
#: 0.8 - 0.6 against 2 * 0.1 carry a few units of rounding each.
_LENGTH_ROUNDING = 4 * 2.0**-53
#: Differences of decimal scores are decimal again to this many places.
_DECIMALS = 15
#: Pieces that are bounded together before single pieces are evaluated.
_BLOCK = 64


def _sustained(scores: Floats, heights: NDArray[Any], epsilon: float) -> Any:
    """Bound the sustained gap by blocks, then search the heights between."""
    starts = np.arange(0, len(scores), _BLOCK)
    edges = np.append(scores[starts], scores[-1])
    lower = _highest(edges, np.minimum.reduceat(heights, starts), epsilon)
    upper = _highest(edges, np.maximum.reduceat(heights, starts), epsilon)
    if lower == upper:
        return lower
    first, last = _runs_of_true(heights > lower)
    fits = _fits_window(scores, first, last, epsilon)
    pieces = _ranges(first[fits], last[fits] + 1)
    if not len(pieces):
        return lower
    return max(lower, _highest(scores[pieces], heights[pieces], epsilon, lower, upper))


def _highest(
    scores: Floats,
    heights: NDArray[Any],
    epsilon: float,
    lower: Any = 0,
    upper: Any = np.inf,
) -> Any:
    """Return the largest height that the gap keeps over a whole window."""
    inside = (heights > lower) & (heights <= upper)
    candidates = np.unique(heights[inside])
    # A window fits at candidates[:low], and at none of candidates[high:].
    low, high = 0, len(candidates)
    while low < high:
        middle = (low + high) // 2
        first, last = _runs_of_true(heights >= candidates[middle])
        if _fits_window(scores, first, last, epsilon).any():
            low = middle + 1
        else:
            high = middle
    return candidates[low - 1] if low else lower


def _runs_of_true(above: Bools) -> tuple[Integers, Integers]:
    """Return first piece of each run of true values, and the piece after its last."""
    changes = np.flatnonzero(above[1:] != above[:-1]) + 1
    if above[0]:
        changes = np.concatenate([[0], changes])
    if len(changes) % 2:
        changes = np.append(changes, len(above))
    return changes[0::2], changes[1::2]


def _fits_window(
    scores: Floats, first: Integers, last: Integers, epsilon: float
) -> Bools:
    """Return which runs are long enough for a window."""
    halves = (scores[last] - scores[first]) / 2
    if len(first) and scores[first[0]] == 0:
        halves[0] = scores[last[0]]
    fits = halves > epsilon + _LENGTH_ROUNDING
    close = (halves >= epsilon - _LENGTH_ROUNDING) > fits
    if close.any():  # seldom
        fits[close] = _remove_rounding(halves[close]) > epsilon
    return np.asarray(fits)


def _remove_rounding(halves: Floats) -> Floats:
    """Return the smallest epsilons whose windows exceed runs of some lengths.

    (0.8 - 0.6) / 2 exceeds 0.1 by rounding only: no window of 0.1 fits into it. Half
    lengths that are not decimals may have been rounded up, so they become smaller; 1/7
    is just below a number of 15 decimals, but is none.
    """
    decimal = np.round(halves, _DECIMALS)
    excess = halves - decimal
    near = (excess >= 0) & (excess <= _LENGTH_ROUNDING / 2) & (decimal > 0)
    return np.where(near, decimal, halves - _LENGTH_ROUNDING / 2)


def _ranges(first: Integers, last: Integers) -> Integers:
    """Return all integers of the half-open ranges, one range after the other."""
    lengths = last - first
    offsets = np.cumsum(lengths) - lengths
    positions: Integers = np.arange(lengths.sum())
    positions += np.repeat(first - offsets, lengths)
    return positions


def gap_profile(gap: Gap) -> tuple[Floats, Floats]:
    """Return the sustained gap as a right-continuous step function of epsilon.

    Each piece is extended left and right while the gap stays at least as large: the
    longest run of at least its height. The profile is the upper envelope of these runs
    over half their lengths.
    """
    scores, heights = gap.scores, np.abs(gap.signed)
    positive = np.flatnonzero(heights)
    if not len(positive):
        return np.zeros(1), np.zeros(1)
    before = _previous_lower(heights)[positive]
    after = len(heights) - 1 - _previous_lower(heights[::-1])[::-1][positive]
    ends = scores[after]
    reach = (ends - scores[before + 1]) / 2
    if scores[0] == 0:
        at_zero = before < 0
        reach[at_zero] = ends[at_zero]
    # MCDP(0) sees every piece, however short: none may end at epsilon 0.
    reach = np.maximum(_remove_rounding(reach), np.nextafter(0, 1))
    order = np.argsort(reach)
    values = np.maximum.accumulate(heights[positive][order][::-1])[::-1] / gap.scale
    return merge_steps(np.concatenate([[0.0], reach[order]]), np.append(values, 0.0))


def merge_steps(epsilons: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Drop steps of no width or no height."""
    inside = np.append(epsilons[:-1] < epsilons[1:], True)
    epsilons, values = epsilons[inside], values[inside]
    falls = np.append(True, values[1:] < values[:-1])
    return epsilons[falls], values[falls]


def _previous_lower(heights: NDArray[Any]) -> NDArray[np.integer]:
    """Return the nearest earlier position with a smaller value, else -1.

    All positions ascend a tree of block minima at once, until the block before them
    contains a smaller value, and then descend to the last such value.
    """
    minima = [heights]
    while len(minima[-1]) > 1:
        level = minima[-1]
        pairs = np.minimum(level[: len(level) // 2 * 2 : 2], level[1::2])
        minima.append(pairs if len(level) % 2 == 0 else np.append(pairs, level[-1]))
    reached: list[tuple[NDArray[Any], NDArray[Any]]] = []
    small = np.int32 if len(heights) < 2**31 else np.int64
    rows: NDArray[Any] = np.arange(len(heights), dtype=small)
    ends = rows  # blocks before this one are not searched yet
    for level in minima:
        odd = (ends & 1).astype(bool)
        blocks = ends - odd
        lower = odd & (level[blocks] < heights[rows])
        reached.append((rows[lower], blocks[lower]))
        going = ~lower & (blocks > 0)
        rows, ends = rows[going], ends[going] >> 1
    result: NDArray[Any] = np.full(len(heights), -1, dtype=small)
    rows, blocks = reached[-1]
    for level, (more_rows, more_blocks) in zip(
        minima[-2::-1], reached[-2::-1], strict=True
    ):
        blocks = 2 * blocks + 1
        blocks -= ~(level[blocks] < heights[rows])
        rows = np.concatenate([rows, more_rows])
        blocks = np.concatenate([blocks, more_blocks])
    result[rows] = blocks
    return result

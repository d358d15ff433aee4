"""Maximal cumulative ratio disparity along varying predictions: MCDP(epsilon)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from skfair._utils._arrays import Floats
from skfair._utils._validation import Scale, check_integer, check_real
from skfair.metrics._anytime import gap_variance, largest_gap_end, mean_difference_noise
from skfair.metrics._distributions import (
    CurveOfScores,
    GapOfDistributions,
    compare_gaps,
)
from skfair.metrics._gap_ends import (
    ends_by_size,
    high_end,
    low_end,
    one_score_high_end,
    pairs_of_variances,
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
    measure_gaps,
)
from skfair.metrics._quantiles import (
    Comparisons,
    Method,
    Observed,
    bridge_quantiles,
    distribution_free_quantiles,
    one_score_quantiles,
    shares_of_groups,
    sum_by_comparison,
    supremum_quantile,
)
from skfair.metrics._strata import Multistratum, combine_numbers
from skfair.metrics._windows import (
    approximate_sustained_gap,
    gap_profile,
    merge_steps,
    roomiest_window,
    sustained_at,
    sustained_gap,
)
from skfair.statistics import CountTable
from skfair.statistics._distributions import Distributions, Gap, cdf_steps, gap_between


def _add_cdfs(statistic: Distributions, located: Located) -> Located:
    """Add the CDFs of both groups at the score."""
    first, second = (
        statistic._share_below(group, located.score) for group in located.pair
    )
    return located._replace(figures=(first, second))


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
        return approximate_sustained_gap(gap, self.epsilon, self.n_subdivisions)

    @property
    def measure_at(self) -> MeasureAt | None:
        """Return a function that makes measures of gaps at given scores, or None."""
        if self.method == "approximate":
            return None
        return partial(sustained_at, epsilon=self.epsilon)

    def gaps(self, statistic: Distributions) -> PairGaps:
        """Find the gaps of all pairs; of MCDP(0), also a score with each gap."""

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
        window = roomiest_window(gap.scores, heights >= located.value, epsilon)
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
        """Bound the noise of sustained gaps, at most that of a Brownian bridge.

        The tangent of MCDP(0) is the noise at one score, a difference of binomials.
        MCDP(epsilon) is not convex: noise lowers it by at most the noise on the true
        window. On the scale of ranks the data choose the windows, so that the noise on
        all windows is bounded.
        """
        statistic, sizes, _ = observed
        multigroup, at_one_score = self.multigroup, self.epsilon == 0
        gaps = measure_gaps(statistic, multigroup, self.measure, self.measure_at)
        shares = shares_of_groups(statistic)
        windows_of_data = self.scale == "rank" and not at_one_score
        if method == "band" and multigroup == "pairwise" and not windows_of_data:
            return _gap_comparisons(gaps, sizes, at_one_score=at_one_score)
        free = distribution_free_quantiles(sizes, shares, multigroup, method)
        to_upper_end = free.of_mean if at_one_score else free.of_cdf
        to_lower_end = free.of_cdf
        if method == "band":
            scale = np.sqrt(sum_by_comparison(1 / sizes, shares, multigroup))
            to_upper_end = bridge_quantiles(scale, sides=1)
            if at_one_score:
                to_upper_end = one_score_quantiles(sizes, shares, multigroup)
            to_lower_end = bridge_quantiles(scale, sides=2)
        moved = compare_gaps(gaps, to_upper_end, to_lower_end)
        if method == "anytime" and at_one_score and multigroup == "pairwise":
            return moved._replace(low=_mixed_low(gaps, statistic, sizes))
        return moved


#: Lower end of a pair whose gap may be 0: below 0, so that any other end is larger.
_BELOW_0 = -1e-9


def _gap_comparisons(
    gaps: MeasuredGaps, sizes: Floats, *, at_one_score: bool
) -> Comparisons:
    """Compare pairs of groups by ends that are closer to larger gaps."""
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

    return Comparisons(gaps.largest_with_position[0], len(gaps.pairs), low, high)


def _mixed_low(
    gaps: MeasuredGaps, statistic: Distributions, sizes: Floats
) -> Callable[[float], float]:
    """Return a function for the lower end of MCDP(0), valid at all looks at once."""
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
        """Find the largest MCDP of all pairs, as a step function of epsilon."""
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


def _furthest_two(statistic: Distributions) -> Pair:
    """Find the two groups whose CDFs differ most at any score.

    CDFs increase. So the highest CDF at a score is the highest value that any entry has
    reached so far, and the lowest CDF is the lowest value from which any later entry
    rises.
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

"""Noise of metrics of score distributions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from skfair._utils._arrays import Floats
from skfair.metrics._confidence._anytime import (
    gap_variance,
    largest_gap_end,
    two_means,
)
from skfair.metrics._confidence._gap_ends import (
    high_end,
    high_end_at_one_score,
    low_end,
    once_per_size,
    pairs_of_variances,
)
from skfair.metrics._confidence._noise import (
    MEAN_ABSOLUTE,
    Comparisons,
    Method,
    Observed,
    Quantiles,
    contrast,
    distribution_free,
    mean_moments,
    noise_of_means,
    normal_at_one_score,
    plus,
    shares_of_groups,
    supremum,
    supremum_quantile,
)
from skfair.metrics._distribution._abcc import area
from skfair.metrics._distribution._gap import (
    MeasuredGaps,
    measured_gaps,
    sums_of_distances,
)
from skfair.metrics._distribution._mcdp import bound_pairs, mcdp_measure
from skfair.metrics._inputs import Multigroup
from skfair.metrics._spec import Measure
from skfair.statistics import GroupedScores

#: Scores at which the noise of the area between CDFs is evaluated.
_GRID = 1024
#: Lower end of a pair whose gap may be 0, of which no more needs to be found.
_BELOW_0 = -1e-9


def compare_mcdp(
    observed: Observed,
    bounds: Method,
    /,
    *,
    epsilon: float = 0.0,
    method: str = "exact",
    n_subdivisions: int = 32,
    multigroup: Multigroup = "pairwise",
    ranked: bool = False,
) -> Comparisons:
    """Compare CDFs, whose noise is at most that of a Brownian bridge.

    The tangent of MCDP(0) is the noise at one score, a difference of binomials.
    MCDP(epsilon) is not convex: it falls by at most the noise on the true window.
    Windows of ranks are chosen by the data, so that all windows must be bounded.
    """
    if method != "exact":
        raise ValueError(f"method of MCDP must be 'exact', got {method!r}.")
    statistic, sizes, _ = observed
    measure = mcdp_measure(epsilon=epsilon, n_subdivisions=n_subdivisions)
    bounds_of = partial(bound_pairs, epsilon=epsilon)
    gaps = measured_gaps(statistic, multigroup, measure, bounds_of)
    shares = shares_of_groups(statistic)
    windows_of_data = ranked and epsilon > 0
    if bounds == "band" and multigroup == "pairwise" and not windows_of_data:
        return _gap_comparisons(gaps, sizes, at_one_score=epsilon == 0)
    above, below = distribution_free(sizes, shares, multigroup, bounds)
    if bounds == "band":
        scale = np.sqrt(contrast(1 / sizes, shares, multigroup))
        above = supremum(scale, sides=1)
        if epsilon == 0:
            above = normal_at_one_score(sizes, shares, multigroup)
        below = supremum(scale, sides=2)
    elif epsilon > 0:
        above = below
    moved = _with_fixed_ends(gaps, above, below)
    if bounds == "anytime" and epsilon == 0 and multigroup == "pairwise":
        return moved._replace(low=_mixed_low(gaps, statistic, sizes))
    return moved


def _gap_comparisons(
    gaps: MeasuredGaps, sizes: Floats, *, at_one_score: bool
) -> Comparisons:
    """Compare pairs of groups by ends that are closer the larger the gap is."""
    highest = high_end_at_one_score if at_one_score else high_end
    variances = pairs_of_variances(sizes)
    scale = np.sqrt(np.sum(variances, axis=1))

    def low(level: float) -> float:
        return gaps.largest(gaps.bounds, once_per_size(low_end, level, variances))

    def high(level: float) -> float:
        bounds = gaps.bounds + supremum_quantile(level, sides=1) * scale
        return gaps.largest(bounds, once_per_size(highest, level, variances))

    return Comparisons(gaps.value, len(gaps.pairs), low, high)


def _mixed_low(
    gaps: MeasuredGaps, statistic: GroupedScores, sizes: Floats
) -> Callable[[float], float]:
    """Lower end of the largest MCDP(0), at all looks at once, by level."""
    pairs = np.array(np.triu_indices(statistic.n_groups, 1))
    variances = gap_variance(sizes[pairs])
    # With one row less a gap may be larger by this.
    bounds = gaps.bounds + 1 / np.maximum(sizes[pairs].min(axis=0) - 1, 1e-3)

    @cache
    def end_of(i: int) -> Callable[[float], float]:
        return largest_gap_end(*(statistic.of_group(group) for group in pairs[:, i]))

    def low(level: float) -> float:
        # As if the gap were the same at the scores of all rows.
        noise = two_means(variances, level, sides=2)
        return gaps.largest(
            bounds - noise, lambda i, _: max(end_of(i)(level), _BELOW_0)
        )

    return low


def compare_abcc(
    observed: Observed,
    method: Method,
    /,
    *,
    multigroup: Multigroup = "pairwise",
) -> Comparisons:
    """Compare areas, whose tangents are means of functions of slope at most 1.

    Their variance is at most that of the scores. By the Gaussian isoperimetric
    inequality the area of the noise exceeds its mean by no more than a tangent does.
    """
    statistic, sizes, _ = observed
    gaps = measured_gaps(statistic, multigroup, area, sums_of_distances(area))
    shares = shares_of_groups(statistic)
    above, below = distribution_free(sizes, shares, multigroup, method)
    if method == "band":
        moments = mean_moments(statistic)
        above, further = noise_of_means(moments, sizes, shares, multigroup)
        below = plus(_area_noise(observed, multigroup), further)
    return _with_fixed_ends(gaps, above, below)


def compare_seminorm(
    observed: Observed,
    method: Method,
    /,
    *,
    measure: Measure,
    maximum: float,
    multigroup: Multigroup = "pairwise",
    ranked: bool = False,
) -> Comparisons:
    """Compare CDFs by any measure of their gap that is a seminorm.

    Noise moves it by at most its value for the noise, and that is at most its largest
    value times the largest noise of the difference of CDFs; this holds of `ranked`
    scores, too.
    """
    statistic, sizes, _ = observed
    shares = shares_of_groups(statistic)
    gaps = measured_gaps(statistic, multigroup, measure, sums_of_distances(measure))
    _, noise = distribution_free(sizes, shares, multigroup, method)
    if method == "band":
        noise = supremum(np.sqrt(contrast(1 / sizes, shares, multigroup)), sides=2)

    def moved(level: float) -> Any:
        return maximum * noise(level)

    return _with_fixed_ends(gaps, moved, moved)


def _area_noise(observed: Observed, multigroup: Multigroup) -> Floats:
    """Mean of the area of the noise of each comparison."""
    statistic, sizes, _ = observed
    n_groups = statistic.n_groups
    grid = np.linspace(0, len(statistic.scores) - 1, _GRID).astype(np.intp)
    scores = np.unique(statistic.scores[grid])
    ends = np.searchsorted(statistic.scores, scores, side="right")
    cells = np.repeat(n_groups * np.arange(len(ends)), np.diff(ends, prepend=0))
    cells += statistic.codes
    weights = np.bincount(cells, statistic.weights, len(ends) * n_groups)
    sums = np.cumsum(weights.reshape(-1, n_groups), axis=0)
    cdfs = (sums[:-1] / statistic.totals).T
    variances = np.maximum(cdfs * (1 - cdfs), 0) / sizes[:, None]  # rounded
    noise = np.sqrt(contrast(variances, shares_of_groups(statistic), multigroup))
    return np.asarray(MEAN_ABSOLUTE * noise @ np.diff(scores))


def _with_fixed_ends(
    gaps: MeasuredGaps, above: Quantiles, below: Quantiles
) -> Comparisons:
    """Comparisons whose bounds are the values plus and minus fixed distances."""

    def largest(offsets: Any) -> float:
        added = np.broadcast_to(offsets, len(gaps.pairs))
        return gaps.largest(gaps.bounds + added, lambda i, value: value + added[i])

    return Comparisons(
        gaps.value,
        len(gaps.pairs),
        lambda level: largest(-below(level)),
        lambda level: largest(above(level)),
    )

"""How far noise moves the values that a metric is the largest of.

A metric compares groups by a seminorm of a contrast of their distributions, such as
F_g - F_h, and returns the largest. If E is the same contrast of the errors of the
estimated distributions,

- an estimate falls below its true value by at most a linear function of E, the same one
  for all samples, since a convex function lies above its tangents;
- an estimate exceeds its true value by at most the seminorm of E.

``docs/intervals.md`` has the proofs of the quantiles of both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

from skfair._utils._validation import check_weights
from skfair.groups import resolve_groups
from skfair.metrics._demographic_parity import (
    demographic_parity_difference,
    parity_outcomes,
)
from skfair.metrics._distribution._abcc import abcc, area
from skfair.metrics._distribution._gap import compared_pairs, largest_gap
from skfair.metrics._distribution._histograms import (
    N_BANDWIDTHS,
    bin_numbers,
    gap_curves,
    stable_interval,
)
from skfair.metrics._distribution._madd import count_bins, histogram_distance, madd
from skfair.metrics._distribution._mcdp import kolmogorov, mcdp, mcdp_measure
from skfair.metrics._equalized_odds import equalized_odds_difference
from skfair.metrics._groupwise._group_gaps import group_gaps
from skfair.metrics._groupwise._max_gap import max_gap
from skfair.metrics._inputs import Multigroup, grouped_quality, grouped_scores
from skfair.statistics import GroupedConfusion, GroupedOutcomes, GroupedScores

Floats = NDArray[np.float64]
#: A quantile for each comparison: exceeded with at most the probability given.
Quantiles = Callable[[float], Any]

#: Mean of the absolute value of a standard normal variable.
_MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
#: Scores at which the noise of the area between CDFs is evaluated.
_GRID = 1024
#: Numbers of bins, of those that MADD averages over, at which its noise is evaluated.
_MAX_HISTOGRAMS = 16


class Arguments(NamedTuple):
    """Arguments of a metric, with rows or a statistic."""

    y_true: ArrayLike | None
    y_score: Any
    sensitive_features: Any
    sample_weight: ArrayLike | None

    def weighted(self) -> dict[str, Any]:
        """Keyword arguments that say to whom rows belong and what they weigh."""
        return {
            "sensitive_features": self.sensitive_features,
            "sample_weight": self.sample_weight,
        }


class Comparisons(NamedTuple):
    """What a metric is the largest of, and how far noise may move each value."""

    value: float
    n_comparisons: int
    # The largest value, after something is added to each.
    largest: Callable[[Any], float]
    # How far the true value may lie above the estimate of one comparison.
    above: Quantiles
    # How far the estimate of one comparison may lie above the true value.
    below: Quantiles
    maximum: float = 1.0


#: Groups that cannot be compared; the metric has said why.
_UNDEFINED = Comparisons(
    math.nan, 1, lambda _: math.nan, lambda _: math.nan, lambda _: math.nan
)


def compare(
    metric: Callable[..., float], arguments: Arguments, finite_sample: bool
) -> Comparisons:
    """Find what a metric compares, and quantiles of the noise of each comparison."""
    options: dict[str, Any] = {}
    function: Any = metric
    while isinstance(function, partial):
        if function.args:
            raise ValueError(
                f"metric must have its options set by keyword, got {metric!r}."
            )
        function, options = function.func, {**function.keywords, **options}
    if function not in _COMPARISONS:
        names = ", ".join(known.__name__ for known in _COMPARISONS)
        raise ValueError(
            f"metric must be one of {names}, or a functools.partial of it, got "
            f"{metric!r}. bootstrap_interval takes any metric, and is approximate."
        )
    if finite_sample and arguments.sample_weight is not None:
        raise ValueError(
            "sample_weight must be None with method='finite_sample', whose bounds are "
            "for unweighted rows."
        )
    return _COMPARISONS[function](arguments, finite_sample, **options)


def _compare_mcdp(
    arguments: Arguments,
    finite_sample: bool,
    *,
    epsilon: float = 0.0,
    method: str = "exact",
    n_subdivisions: int = 32,
    multigroup: Multigroup = "pairwise",
) -> Comparisons:
    """Compare CDFs, whose noise is at most that of a Brownian bridge.

    The tangent of MCDP(0) is the noise at one score, a difference of binomials.
    MCDP(epsilon) is not convex: it falls by at most the noise on the true window.
    """
    if method != "exact":
        raise ValueError(f"method of MCDP must be 'exact', got {method!r}.")
    statistic, sizes = _scores(arguments)
    value = mcdp(None, statistic, epsilon=epsilon, multigroup=multigroup)
    if math.isnan(value):
        return _UNDEFINED
    scale, band = _scale(statistic, sizes, multigroup)
    above = _gaussian(scale / 2)
    if epsilon > 0:
        above = _supremum(scale, sides=1)
    below = _supremum(scale, sides=2)
    if finite_sample:
        above, below = (band if epsilon > 0 else _supremum(scale, sides=1)), band
    measure = mcdp_measure(epsilon, method, n_subdivisions)
    largest = _largest(statistic, multigroup, measure, kolmogorov, value)
    return Comparisons(value, len(scale), largest, above, below)


def _compare_abcc(
    arguments: Arguments, finite_sample: bool, *, multigroup: Multigroup = "pairwise"
) -> Comparisons:
    """Compare areas, whose tangents are means of functions of slope at most 1.

    Their variance is at most that of the scores. By the Gaussian isoperimetric
    inequality the area of the noise exceeds its mean by no more than a tangent does.
    """
    statistic, sizes = _scores(arguments)
    value = abcc(None, statistic, multigroup=multigroup)
    if math.isnan(value):
        return _UNDEFINED
    scale, band = _scale(statistic, sizes, multigroup)
    if finite_sample:
        above, below = _supremum(scale, sides=1), band
    else:
        codes, groups = statistic.codes, statistic.n_groups
        first, second = (
            np.bincount(codes, statistic.weights * statistic.scores**power, groups)
            / statistic.totals
            for power in (1, 2)
        )
        above = _student(first, second, sizes, _shares(statistic), multigroup)
        grid = np.linspace(0, len(statistic.scores) - 1, _GRID).astype(np.intp)
        scores = np.unique(statistic.scores[grid])
        cdfs = _cdfs(statistic, scores)[:, :-1]
        noise = _contrast(
            cdfs * (1 - cdfs) / sizes[:, None], _shares(statistic), multigroup
        )
        means = _MEAN_ABSOLUTE * np.sqrt(noise) @ np.diff(scores)
        below = _plus(means, above)
    largest = _largest(statistic, multigroup, area, area, value)
    return Comparisons(value, len(scale), largest, above, below)


def _compare_madd(
    arguments: Arguments,
    finite_sample: bool,
    *,
    bandwidth: float | str = "auto",
    multigroup: Multigroup = "pairwise",
) -> Comparisons:
    """Compare histograms; tangents are means of functions of values -1 and 1."""
    statistic, sizes = _scores(arguments)
    options: dict[str, Any] = {"bandwidth": bandwidth, "multigroup": multigroup}
    value = madd(None, statistic, **options)
    if math.isnan(value):
        return _UNDEFINED
    scale, _ = _scale(statistic, sizes, multigroup)
    above = _gaussian(scale)
    if bandwidth == "auto":
        if finite_sample:
            raise ValueError(
                "bandwidth must be a number with method='finite_sample', got 'auto', "
                "which is chosen by the data."
            )
        values, means = _stable_values(statistic, sizes, multigroup)
        return Comparisons(
            value,
            len(scale),
            lambda offsets: float((values + offsets).max()),
            above,
            _plus(means, above),
            maximum=2.0,
        )
    n_bins = count_bins(bandwidth)
    below = _plus(_bin_noise(statistic, sizes, multigroup, n_bins), above)
    if finite_sample:
        above = _supremum(2 * scale, sides=1)
        roots = np.sqrt((n_bins - 1) / sizes)
        shares = _shares(statistic)
        below = _plus(_contrast(roots, shares, multigroup, power=1), above)
    measure = partial(histogram_distance, n_bins=n_bins)
    largest = _largest(statistic, multigroup, measure, measure, value)
    return Comparisons(value, len(scale), largest, above, below, maximum=2.0)


def _stable_values(
    statistic: GroupedScores, sizes: Floats, multigroup: Multigroup
) -> tuple[Floats, Floats]:
    """MADD of each comparison over its stable interval, and the mean of its noise."""
    pairs = compared_pairs(statistic.n_groups, multigroup)
    values, means = np.empty(len(pairs)), np.empty(len(pairs))
    n_bins = bin_numbers(N_BANDWIDTHS)
    noise = cache(lambda n: _bin_noise(statistic, sizes, multigroup, n))
    for curve in gap_curves(statistic, pairs, N_BANDWIDTHS):
        found, at = stable_interval(curve.values, curve.totals), pairs.index(curve.pair)
        some = np.linspace(found.start, found.stop - 1, _MAX_HISTOGRAMS).astype(np.intp)
        values[at] = found.mean
        means[at] = np.mean([noise(n)[at] for n in n_bins[some].tolist()])
    return values, means


def _bin_noise(
    statistic: GroupedScores, sizes: Floats, multigroup: Multigroup, n_bins: int
) -> Floats:
    """Mean of the sum over bins of the noise of each comparison.

    Shares are smoothed by Laplace's rule: bins seen empty would have no noise.
    """
    edges = np.arange(1, n_bins) / n_bins
    cdfs = _cdfs(statistic, np.nextafter(edges, 0))
    shares = np.diff(cdfs, axis=1, prepend=0, append=1)
    shares = (sizes[:, None] * shares + 1) / (sizes[:, None] + n_bins)
    noise = shares * (1 - shares) / sizes[:, None]
    noise = np.sqrt(_contrast(noise, _shares(statistic), multigroup))
    return np.asarray(_MEAN_ABSOLUTE * noise.sum(axis=1))


def _compare_parity(
    arguments: Arguments,
    finite_sample: bool,
    *,
    threshold: float | None = None,
    pos_label: Any = None,
    multigroup: Multigroup = "pairwise",
) -> Comparisons:
    """Differences of means."""
    statistic = arguments.y_score
    if isinstance(statistic, GroupedOutcomes):
        squares = statistic.means  # at least the mean square of values in [0, 1]
        _check_counts(statistic.totals, statistic.counts)
    else:
        outcomes = parity_outcomes(statistic, threshold, pos_label)
        weighted = arguments.weighted()
        weighted["sensitive_features"] = resolve_groups(
            arguments.sensitive_features, n_samples=len(outcomes)
        )
        statistic, squared = (
            GroupedOutcomes.from_outcomes(values, **weighted)
            for values in (outcomes, outcomes**2)
        )
        squares = squared.means
    value = demographic_parity_difference(None, statistic, multigroup=multigroup)
    return _compare_means(
        value,
        statistic.means,
        squares,
        statistic.effective_sizes,
        statistic.totals / statistic.totals.sum(),
        multigroup,
        finite_sample,
    )


def _compare_equalized_odds(
    arguments: Arguments, finite_sample: bool, *, multigroup: Multigroup = "pairwise"
) -> Comparisons:
    """Differences of the rates of each true and predicted class."""
    statistic = arguments.y_score
    if isinstance(statistic, GroupedConfusion):
        _check_counts(statistic.totals, statistic.counts)
        squares = statistic.matrices
    else:
        weighted = arguments.weighted()
        statistic = GroupedConfusion.from_predictions(
            arguments.y_true, arguments.y_score, **weighted
        )
        squares = statistic.matrices
        weights = check_weights(arguments.sample_weight, len(arguments.y_score))
        if weights is not None:
            weighted["sample_weight"] = np.square(weights, dtype=float)
            squares = GroupedConfusion.from_predictions(
                arguments.y_true, arguments.y_score, **weighted
            ).matrices
    value = equalized_odds_difference(None, statistic, multigroup=multigroup)
    if math.isnan(value):
        return _UNDEFINED
    true = statistic.matrices.sum(axis=(0, 2)) > 0
    totals = statistic.matrices[:, true].sum(axis=2, keepdims=True)
    sizes = totals.astype(float) ** 2 / squares[:, true].sum(axis=2, keepdims=True)
    rates = statistic.matrices[:, true] / totals
    shares = totals / totals.sum(axis=0)
    return _compare_means(value, rates, rates, sizes, shares, multigroup, finite_sample)


def _compare_max_gap(
    arguments: Arguments,
    finite_sample: bool,
    *,
    quality: Any = "selection_rate",
    group_weights: Any = "uniform",
    pos_label: Any = None,
) -> Comparisons:
    """Differences of each group's rate from the weighted average."""
    statistic = grouped_quality(
        arguments.y_true,
        arguments.y_score,
        arguments.sensitive_features,
        quality,
        pos_label,
        arguments.sample_weight,
    )
    gaps = group_gaps("Max-gap fairness", statistic, group_weights)
    value = float(np.nanmax(gaps.gaps)) if gaps.defined else math.nan
    means, sizes, weights = (
        by_group[gaps.compared]
        for by_group in (statistic.means, statistic.effective_sizes, gaps.weights)
    )
    return _compare_means(value, means, means, sizes, weights, "pooled", finite_sample)


def _compare_means(
    value: float,
    first: Floats,
    second: Floats,
    sizes: Floats,
    shares: Floats,
    multigroup: Multigroup,
    finite_sample: bool,
) -> Comparisons:
    """Compare means by group, of shape (n_groups, ...), with their mean squares."""
    if math.isnan(value):
        return _UNDEFINED
    if multigroup == "pairwise":
        i, j = np.triu_indices(len(first), 1)
        values = np.abs(first[i] - first[j])
    else:
        values = np.abs(first - (shares * first).sum(axis=0))
    sizes = np.broadcast_to(sizes, first.shape)
    above = _student(first, second, sizes, shares, multigroup)
    if finite_sample:
        scale = np.sqrt(_contrast(1 / sizes, shares, multigroup))
        above = _supremum(scale, sides=1)
    return Comparisons(
        value,
        values.size,
        lambda offsets: float((values + offsets).max()),
        above,
        lambda level: above(level / 2),  # the noise has either sign
    )


def _contrast(
    by_group: Floats, shares: Any, multigroup: Multigroup, power: int = 2
) -> Floats:
    """Sum over groups of the powers of their coefficients in each comparison.

    Those are 1 and -1 for two groups; with everyone, one minus the share of the group,
    and the shares of the others.
    """
    if multigroup == "pairwise":
        i, j = np.triu_indices(len(by_group), 1)
        return np.asarray(by_group[i] + by_group[j])
    shares = np.reshape(
        shares, (*np.shape(shares), *[1] * (by_group.ndim - np.ndim(shares)))
    )
    everyone = shares**power * by_group
    return np.asarray(
        (1 - shares) ** power * by_group + everyone.sum(axis=0) - everyone
    )


def _gaussian(deviations: Floats) -> Quantiles:
    """Quantiles of normal noise."""
    return lambda level: -ndtri(level) * deviations


def _supremum(scale: Floats, sides: int) -> Quantiles:
    """Quantiles of the supremum of a Brownian bridge, or of its absolute value."""
    return lambda level: math.sqrt(math.log(sides / level) / 2) * scale


def _plus(means: Floats, quantiles: Quantiles) -> Quantiles:
    """Move quantiles."""
    return lambda level: means + quantiles(level)


def _student(
    first: Floats, second: Floats, sizes: Floats, shares: Any, multigroup: Multigroup
) -> Quantiles:
    """Quantiles of Welch's t for means with known mean squares.

    Two rows, 0 and 1, are added to each variance, as Agresti and Caffo do for rates:
    groups whose rows all agree would have no noise.
    """
    mean, square = ((sizes * moment + 1) / (sizes + 2) for moment in (first, second))
    variances = (square - mean**2) / sizes
    noise = _contrast(variances, shares, multigroup)
    doubt = _contrast(variances**2 / (sizes + 1), shares, multigroup, power=4)
    freedom = noise**2 / doubt
    return lambda level: -stdtrit(freedom, level) * np.sqrt(noise)


def _scale(
    statistic: GroupedScores, sizes: Floats, multigroup: Multigroup
) -> tuple[Floats, Quantiles]:
    """Root of the sum of squared coefficients over sizes, and the bands by Massart."""
    shares = _shares(statistic)
    scale = np.sqrt(_contrast(1 / sizes, shares, multigroup))
    roots = _contrast(1 / np.sqrt(sizes), shares, multigroup, power=1)
    involved = 2 if multigroup == "pairwise" else statistic.n_groups
    return scale, _supremum(roots, sides=2 * involved)


def _largest(
    statistic: GroupedScores,
    multigroup: Multigroup,
    measure: Callable[[Any], float],
    distance: Callable[[Any], float],
    value: float,
) -> Callable[[Any], float]:
    """Largest value of a metric of two distributions, after something is added."""
    if statistic.n_groups == 2 and multigroup == "pairwise":
        return lambda offsets: float(np.max(value + offsets))
    return lambda offsets: (
        largest_gap(statistic, multigroup, measure, distance, offsets).value
    )


def _scores(arguments: Arguments) -> tuple[GroupedScores, Floats]:
    """Scores of each group, and the numbers of rows, effective ones with weights."""
    statistic = grouped_scores(*arguments)
    if isinstance(arguments.y_score, GroupedScores):
        _check_counts(statistic.totals, statistic.counts)
    elif arguments.sample_weight is not None:
        weighted = GroupedOutcomes.from_outcomes(
            arguments.y_score, **arguments.weighted()
        )
        return statistic, weighted.effective_sizes
    return statistic, statistic.counts.astype(float)


def _check_counts(totals: NDArray[Any], counts: NDArray[Any]) -> None:
    """Raise where a statistic does not tell the effective numbers of rows."""
    if not np.array_equal(totals, counts):
        raise ValueError(
            "y_score must be a statistic of rows without sample weights, whose squares "
            "it does not keep; pass the rows with their weights."
        )


def _shares(statistic: GroupedScores) -> Floats:
    return np.asarray(statistic.totals / statistic.totals.sum())


def _cdfs(statistic: GroupedScores, scores: Floats) -> Floats:
    """CDF of each group at increasing scores, of shape (n_groups, n_scores)."""
    cells = np.searchsorted(scores, statistic.scores, side="left")
    n_cells = len(scores) + 1
    sums = np.bincount(
        statistic.codes * np.intp(n_cells) + cells,
        statistic.weights,
        statistic.n_groups * n_cells,
    ).reshape(statistic.n_groups, n_cells)
    return np.asarray(np.cumsum(sums, axis=1)[:, :-1] / statistic.totals[:, None])


_COMPARISONS: dict[Callable[..., float], Callable[..., Comparisons]] = {
    mcdp: _compare_mcdp,
    abcc: _compare_abcc,
    madd: _compare_madd,
    demographic_parity_difference: _compare_parity,
    equalized_odds_difference: _compare_equalized_odds,
    max_gap: _compare_max_gap,
}

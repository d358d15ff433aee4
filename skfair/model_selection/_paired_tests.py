"""Tests of one model against another on the same rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from skfair._utils._types import Floats, Integers
from skfair.groups import Codes, Groups
from skfair.metrics._distribution._gap import largest_gap
from skfair.metrics._distribution._mcdp import sustained_gap
from skfair.statistics import GroupedScores
from skfair.statistics._grouped_scores import gap_between

#: Parts that are left out one after the other for the error of a performance.
N_PARTS = 30

#: A performance of some rows, by position.
Performance = Callable[[Integers], float]


class PairedTest(NamedTuple):
    """A one-sided bound of a difference, and the p-value of the test that it decides.

    The p-value is at most one minus a level if and only if the bound at that level is
    on the right side.
    """

    bound: float
    pvalue: float


def random_parts(cells: Codes, n_parts: int = N_PARTS) -> list[Integers]:
    """Positions of rows in random parts, each with its share of every cell.

    The parts are the same in every call.
    """
    random = np.random.default_rng(0).permutation(len(cells))
    by_cell = random[np.argsort(cells[random], kind="stable")]
    parts = [by_cell[start::n_parts] for start in range(n_parts)]
    return [part for part in parts if len(part)]


def subsets(parts: list[Integers]) -> list[Integers]:
    """Positions of all rows, then of the rows without each part."""
    rows = np.sort(np.concatenate(parts))
    return [rows, *(np.setdiff1d(rows, part, assume_unique=True) for part in parts)]


def performance_test(
    values: Floats, baseline: Floats, margin: float, level: float
) -> PairedTest:
    """Test that a performance is lower than the baseline's by no more than a margin.

    Values are those of `subsets`, whose spread is the jackknife's error. The
    bound is the lower one of the difference.
    """
    difference, *others = values - baseline
    n_parts = len(others)
    error = math.sqrt((n_parts - 1) * np.var(others))
    if math.isnan(difference) or n_parts < 2:
        return PairedTest(math.nan, math.nan)
    bound = difference - float(stdtrit(n_parts - 1, level)) * error
    excess = difference + margin
    if error <= 0:
        return PairedTest(bound, 0.0 if excess > 0 else 1.0)
    return PairedTest(bound, float(stdtr(n_parts - 1, -excess / error)))


class Place(NamedTuple):
    """Score at which two groups differ most.

    `high` is the code of the group with the larger share of rows up to the score, and
    `low` that of the other group.
    """

    threshold: float
    high: int
    low: int


def largest_gap_place(scores: Floats, codes: Codes, weights: Floats) -> Place:
    """Find the score and the groups at which MCDP(0) is attained."""
    present, own = np.unique(codes, return_inverse=True)
    labels = tuple(present.tolist())
    statistic = GroupedScores.from_scores(
        scores,
        sensitive_features=Groups(own, labels),
        sample_weight=weights,
        scale="rank",
    )
    first, second = largest_gap(statistic, "pairwise", sustained_gap).pair
    assert second is not None  # groups are compared in pairs
    gap = gap_between(statistic, first, second)
    best = int(np.abs(gap.signed).argmax())
    high, low = (first, second) if gap.signed[best] > 0 else (second, first)
    return Place(float(gap.scores[best]), labels[high], labels[low])


def gap_test(
    scores: Floats,
    baseline: Floats,
    place: Place,
    codes: Codes,
    weights: Floats,
    level: float,
) -> PairedTest:
    """Test that the largest gap of a candidate is lower than that of the baseline.

    The baseline's is at least its gap at a place that was found on other rows, so that
    noise has not pushed it up. The candidate's is below that if its gap at every score
    and between every two groups is. Each of these is a hypothesis about one difference
    of means, and all of them must be rejected, so that the largest p-value has the
    level of each. The bound is the upper one of the difference.
    """
    worst_bound = worst_z = -math.inf
    quantile = float(ndtri(level))
    for mean, variance in _paired_differences(scores, baseline, place, codes, weights):
        error = np.sqrt(variance)
        worst_bound = max(worst_bound, float((mean + quantile * error).max()))
        worst_z = max(worst_z, float((mean / error).max()))
    return PairedTest(worst_bound, float(ndtr(worst_z)))


def _paired_differences(
    scores: Floats, baseline: Floats, place: Place, codes: Codes, weights: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """Gap at each score minus that of the baseline, and the variance, of each pair."""
    order = np.argsort(scores, kind="stable")
    # Of equal scores the last row has all of them at or below it.
    ends = np.flatnonzero(np.append(np.diff(scores[order]) > 0, True))
    below = baseline <= place.threshold
    cdfs, variances = {}, {}
    present, gap = np.unique(codes).tolist(), 0.0
    for group in present:
        of_group = weights * (codes == group)
        size = of_group.sum()
        n_rows = size**2 / float(of_group @ of_group)
        # Groups count with 1 or -1 in the gap of the baseline, or not at all.
        own = (group == place.high) - (group == place.low)
        share = of_group @ below / size
        cdf, both = (
            np.cumsum((of_group * values)[order])[ends] / size for values in (1, below)
        )
        cdfs[group], gap = cdf, gap + own * share
        variances[group] = [
            _variance_of_mean(
                sign * cdf - own * share,
                abs(sign) * cdf - 2 * sign * own * both + abs(own) * share,
                n_rows,
            )
            for sign in (0, 1, -1)
        ]
    absent = sum(variance[0] for variance in variances.values())
    for high, low in permutations(present, 2):
        others = absent - variances[high][0] - variances[low][0]
        noise = others + variances[high][1] + variances[low][2]
        yield cdfs[high] - cdfs[low] - gap, noise


def _variance_of_mean(first: Floats, second: Floats, n_rows: float) -> Floats:
    """Variance of a mean of differences in [-1, 1], from the means of both powers.

    Two rows, 1 and -1, are added: a group whose rows all agree would have no noise.
    """
    mean, square = n_rows * first / (n_rows + 2), (n_rows * second + 2) / (n_rows + 2)
    return np.asarray((square - mean**2) / n_rows)


def holm(pvalues: Floats) -> Floats:
    """Adjust p-values of several hypotheses by Holm's method; nan counts as 1."""
    given = np.where(np.isnan(pvalues), 1.0, pvalues)
    order = np.argsort(given, kind="stable")
    factors = len(given) - np.arange(len(given))
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(factors * given[order]))
    return adjusted

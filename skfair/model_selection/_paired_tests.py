"""Tests of one model against another on the same rows."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from skfair._utils._types import Floats, Integers
from skfair.groups import Codes, Groups
from skfair.metrics._distribution._gap import largest_gap
from skfair.metrics._distribution._mcdp import sustained_gap
from skfair.metrics._inputs import Multigroup
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


#: Stands for the code of a group in a `Place`: all rows that have a group.
EVERYONE = -1
#: The place of a gap is found on one of so many parts of the rows.
N_PLACES = 4


class Place(NamedTuple):
    """Score at which two groups differ most.

    `high` is the code of the group with the larger share of rows up to the score, and
    `low` that of the other group. One of the two may be everyone.
    """

    threshold: float
    high: int
    low: int


def largest_gap_place(
    scores: Floats, codes: Codes, weights: Floats, multigroup: Multigroup = "pairwise"
) -> Place:
    """Find the score and the groups at which MCDP(0) is attained.

    One group alone differs from no other: it stands for both at any score.
    """
    present, own = np.unique(codes, return_inverse=True)
    labels = tuple(present.tolist())
    if len(labels) == 1:
        return Place(float(scores[0]), labels[0], labels[0])
    statistic = GroupedScores.from_scores(
        scores,
        sensitive_features=Groups(own, labels),
        sample_weight=weights,
        scale="rank",
    )
    first, second = largest_gap(statistic, multigroup, sustained_gap).pair
    gap = gap_between(statistic, first, second)
    best = int(np.abs(gap.signed).argmax())
    pair = labels[first], EVERYONE if second is None else labels[second]
    high, low = pair if gap.signed[best] > 0 else pair[::-1]
    return Place(float(gap.scores[best]), high, low)


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


def gap_interval(
    scores: Floats,
    baseline: Floats,
    codes: Codes,
    weights: Floats,
    level: float,
    multigroup: Multigroup = "pairwise",
) -> tuple[float, float]:
    """Interval of the largest gap of a candidate minus that of the baseline.

    Each end is a bound of `gap_test`, with the place of the other model's gap found on
    a part of the rows. Codes are of rows that have a group.
    """
    finding, *others = random_parts(codes, N_PLACES)
    rows = np.sort(np.concatenate(others or [finding]))

    def upper(own: Floats, other: Floats) -> float:
        of_place = other[finding], codes[finding], weights[finding]
        place = largest_gap_place(*of_place, multigroup)
        given = place, codes[rows], weights[rows], (1 + level) / 2
        return gap_test(own[rows], other[rows], *given).bound

    return -upper(baseline, scores), upper(scores, baseline)


def _paired_differences(
    scores: Floats, baseline: Floats, place: Place, codes: Codes, weights: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """Gap at each score minus that of the baseline, and the variance, of each pair."""
    order = np.argsort(scores, kind="stable")
    # Of equal scores the last row has all of them at or below it.
    ends = np.flatnonzero(np.append(np.diff(scores[order]) > 0, True))
    below = baseline <= place.threshold
    present = np.unique(codes).tolist()
    sizes = {group: weights[codes == group].sum() for group in present}
    total = sum(sizes.values())

    def factors(high: int, low: int) -> list[float]:
        """Return the factor of each group in the gap of two, one perhaps everyone."""
        everyone = (high == EVERYONE) - (low == EVERYONE)
        return [
            (group == high) - (group == low) + everyone * sizes[group] / total
            for group in present
        ]

    cdfs, found, gap = [], [], 0.0
    for group, own in zip(present, factors(place.high, place.low), strict=True):
        of_group = weights * (codes == group)
        n_rows = sizes[group] ** 2 / float(of_group @ of_group)
        share = of_group @ below / sizes[group]
        cdf, both = (
            np.cumsum((of_group * values)[order])[ends] / sizes[group]
            for values in (1, below)
        )
        gap += own * share
        cdfs.append(cdf)
        found.append((own, share, both, n_rows))

    @functools.cache
    def variance(i: int, factor: float) -> Any:
        """Variance of the part of a group, a number where it does not count."""
        own, share, both, n_rows = found[i]
        cdf, both = (cdfs[i], both) if factor else (0.0, 0.0)
        mean = factor * cdf - own * share
        square = factor**2 * cdf - 2 * factor * own * both + own**2 * share
        return _variance_of_mean(mean, square, n_rows)

    pairs: Iterator[tuple[int, int]] = permutations(present, 2)
    if EVERYONE in place[1:]:
        pairs = ((a, b) for g in present for a, b in ((g, EVERYONE), (EVERYONE, g)))
    for high, low in pairs:
        counts = [(i, one) for i, one in enumerate(factors(high, low))]
        mean = sum(one * cdfs[i] for i, one in counts if one)
        yield mean - gap, sum(variance(i, one) for i, one in counts)


def _variance_of_mean(first: Any, second: Any, n_rows: float) -> Any:
    """Variance of a mean of differences in [-1, 1], from the means of both powers.

    Two rows, 1 and -1, are added: a group whose rows all agree would have no noise.
    """
    mean, square = n_rows * first / (n_rows + 2), (n_rows * second + 2) / (n_rows + 2)
    return (square - mean**2) / n_rows


def holm(pvalues: Floats) -> Floats:
    """Adjust p-values of several hypotheses by Holm's method; nan counts as 1."""
    given = np.where(np.isnan(pvalues), 1.0, pvalues)
    order = np.argsort(given, kind="stable")
    factors = len(given) - np.arange(len(given))
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(factors * given[order]))
    return adjusted

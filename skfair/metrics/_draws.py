"""Metrics of several draws of a small table at once.

Permutations of a small table take longer to call functions than to compute numbers. So
their statistics are computed as one, in which each draw has groups of its own, those of
the first draw first. The functions here take such a statistic and the number of draws.
They return a row for each draw: the gaps of all pairs of groups in the order of
`PairGaps`, whose largest is the metric, or the value of another metric. None stands for
draws that are evaluated one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations

import numpy as np

from skfair._utils._arrays import Floats, quotients
from skfair.metrics._abcc import abcc, areas_at
from skfair.metrics._calibration_gap import Steps, calibration_gap, gap_of_steps
from skfair.metrics._cvar_fairness import cvar_fairness, max_gap, tail_mean, tail_shares
from skfair.metrics._dcp import dcp
from skfair.metrics._dcp_search import least_losses_of_two
from skfair.metrics._madd import N_BANDWIDTHS, gap_curves, madd, stable_interval
from skfair.metrics._mcdp import mcdp, sustained_at
from skfair.metrics._pairs import (
    MeasureAt,
    compared_groups,
    curve_blocks,
    largest_of_rows,
)
from skfair.metrics._rates import (
    demographic_parity_difference,
    difference_of_comparable_odds,
    difference_of_means,
    equalized_odds_difference,
    error_rates,
    mean_numbers,
)
from skfair.metrics._spec import complete
from skfair.statistics import GroupedConfusion, GroupedOutcomes, GroupedScores

#: More numbers than curves of small tables have.
_EVERY_SCORE = 2**31


def _gaps_of_groups(by_group: Floats, n_draws: int) -> Floats:
    """Gaps between numbers of groups, of which each cell has a row."""
    each = by_group.reshape(len(by_group), n_draws, -1)
    first, second = compared_groups(each.shape[2], "pairwise")
    gaps = np.abs(each[..., first] - each[..., second])
    return gaps.swapaxes(0, 1).reshape(n_draws, -1)


def _gaps_of_means(
    statistic: GroupedOutcomes | GroupedScores, n_draws: int, *, scale: str = ""
) -> Floats:
    """Gaps between mean outcomes, or mean scores."""
    return _gaps_of_groups(mean_numbers(statistic)[0], n_draws)


def _gaps_of_odds(statistic: GroupedConfusion, n_draws: int) -> Floats:
    """Gaps between error rates."""
    return _gaps_of_groups(error_rates(statistic)[0], n_draws)


def _gaps_of_cdfs(
    statistic: GroupedScores, n_draws: int, measure_at: MeasureAt
) -> Floats:
    """Measure the gaps of the CDFs of each two groups, free of rounding if they can be.

    `measure_at` takes all scores, and returns what takes the gaps at these.
    """
    parts = statistic.scores, statistic.codes, statistic.weights, statistic.n_groups
    scores, sums = next(curve_blocks(*parts, size=_EVERY_SCORE))
    sums = sums.reshape(n_draws, -1, len(scores))
    enough = statistic.counts >= max(statistic.min_group_size, 1)
    totals = np.where(enough, statistic.totals, np.nan).reshape(n_draws, -1, 1)
    measure, gaps = measure_at(scores), []
    for i, j in combinations(range(sums.shape[1]), 2):
        ours, theirs = totals[:, i], totals[:, j]
        apart = np.abs(sums[:, i] * theirs - sums[:, j] * ours) / (ours * theirs)
        gaps.append(measure(apart))
    return np.stack(gaps, axis=1)


def _gaps_of_mcdp(
    statistic: GroupedScores, n_draws: int, *, epsilon: float = 0.0
) -> Floats:
    """MCDP of each pair."""
    return _gaps_of_cdfs(statistic, n_draws, partial(sustained_at, epsilon=epsilon))


def _gaps_of_abcc(statistic: GroupedScores, n_draws: int, *, scale: str = "") -> Floats:
    """Area between each two CDFs."""
    return _gaps_of_cdfs(statistic, n_draws, areas_at)


def _gaps_of_madd(statistic: GroupedScores, n_draws: int) -> Floats:
    """MADD of each pair, averaged where it is stable."""
    enough = statistic.counts >= max(statistic.min_group_size, 1)
    gaps = []
    for groups in np.arange(statistic.n_groups).reshape(n_draws, -1).tolist():
        for first, second in combinations(groups, 2):
            gaps.append(np.nan)
            if enough[first] and enough[second]:
                pairs = [(first, second)]
                (_, rows, curve), *_ = gap_curves(statistic, pairs, N_BANDWIDTHS)
                gaps[-1] = stable_interval(curve, rows)[2]
    return np.reshape(gaps, (n_draws, -1))


def _gaps_of_calibration(statistic: Steps, n_draws: int) -> Floats:
    """Largest distance of the curves of each two groups."""
    largest: Floats | None = None
    for _, curves in statistic.curves():
        curves[statistic.shares == 0] = np.nan
        each = curves.reshape(n_draws, -1, curves.shape[1])
        pairs = combinations(range(each.shape[1]), 2)
        apart = [largest_of_rows(np.abs(each[:, i] - each[:, j])) for i, j in pairs]
        gaps = np.stack(apart, axis=1)
        largest = gaps if largest is None else np.maximum(largest, gaps)
    assert largest is not None
    return largest


def _gaps_to_average(statistic: GroupedOutcomes, n_draws: int) -> tuple[Floats, Floats]:
    """Distances of groups from the average group, and their weights, by draw."""
    means = mean_numbers(statistic)[0].reshape(n_draws, -1)
    compared = ~np.isnan(means)
    n = compared.sum(axis=1, keepdims=True)
    weights = quotients(compared, np.where(n > 1, n, 0), np.nan)
    average = np.where(compared, weights * means, 0).sum(axis=1, keepdims=True)
    return np.where(n > 1, np.abs(means - average), np.nan), weights


def _largest_gap(statistic: GroupedOutcomes, n_draws: int) -> Floats:
    """Largest distance from the average group."""
    gaps, _ = _gaps_to_average(statistic, n_draws)
    return np.asarray(np.fmax.reduce(gaps, axis=1, keepdims=True))


def _mean_of_tail(
    statistic: GroupedOutcomes, n_draws: int, *, alpha: float = 0.9
) -> Floats | None:
    """Mean distance of the groups that are furthest from the average group."""
    gaps, weights = _gaps_to_average(statistic, n_draws)
    if np.isnan(gaps).any():
        return None
    means = [
        tail_mean(own, weight, tail_shares(own, weight, alpha), alpha)
        for own, weight in zip(gaps, weights, strict=True)
    ]
    return np.array(means)[:, np.newaxis]


def _least_losses(statistic: GroupedConfusion, n_draws: int) -> Floats | None:
    """DCP of two classes where each group has rows of both."""
    smallest = max(statistic.min_group_size, 1)
    sums = statistic.matrices.sum(axis=2)
    if len(statistic.classes) != 2 or not (statistic.counts >= smallest).all():
        return None
    if not sums.all():
        return None
    by_draw = sums.reshape(n_draws, -1, 2)
    weights = by_draw / by_draw.sum(axis=(1, 2), keepdims=True)
    rates = statistic.confusion.reshape(n_draws, -1, 2, 2)
    losses = [least_losses_of_two(rates[:, :, y], weights[..., y]) for y in (0, 1)]
    return np.column_stack([losses[0] + losses[1]])


_OF_DRAWS: dict[Callable[..., float], Callable[..., Floats | None]] = {
    demographic_parity_difference: _gaps_of_means,
    difference_of_means: _gaps_of_means,
    equalized_odds_difference: _gaps_of_odds,
    difference_of_comparable_odds: _gaps_of_odds,
    mcdp: _gaps_of_mcdp,
    abcc: _gaps_of_abcc,
    madd: _gaps_of_madd,
    calibration_gap: _gaps_of_calibration,
    gap_of_steps: _gaps_of_calibration,
    max_gap: _largest_gap,
    cvar_fairness: _mean_of_tail,
    dcp: _least_losses,
}
for _metric, _of_draws in _OF_DRAWS.items():
    complete(_metric, of_draws=_of_draws)

"""Band of a repair that keeps a largest gap for rows that gave nothing to the repair.

A sample differs from its population as a random half of each group differs from the
whole sample. The share of a group's n rows below a score has the variance
``p (1 - p) / n`` about the share p of the population. The share in a random half of the
rows, drawn without replacement, has the same variance about the share in all n rows.
The repair of a half, applied to all rows, thus leaves the gap that the repair of all
rows leaves in the population.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from skfair._mitigation import keep_comparable, labels_text
from skfair._rows import Rows
from skfair._utils._arrays import Bools, Floats, Integers
from skfair.groups import recode, rows_by_code
from skfair.postprocessing._group_cdfs import (
    MANY_ROWS_OF_GROUP,
    GroupCDFs,
    Targets,
    end_scores,
    interpolate,
    row_counts,
    thin,
    weighted_distributions,
)
from skfair.postprocessing._repair_map import RepairMap
from skfair.statistics._distributions import Distributions

#: Halves that are drawn of few rows, at least, and rows of them all together.
_MOST_HALVES, _FEWEST_HALVES, _N_ROWS = 20, 4, 100_000
#: Steps of the search for the width of the band.
_N_STEPS = 4
#: A band may leave the smallest gap that any band leaves, times this: it repairs less.
_ABOUT = 1.05
#: Groups of fewer rows do not narrow the band, which other groups share.
_FEWEST_STEERED = 50
#: Share of the limit within which it is kept.
_KEPT = 1.15
#: Largest expected noise of a gap, as a share of the limit, that is left out.
_NO_NOISE = 0.01
#: Mean of the largest distance of an empirical CDF of n rows, times the root of n.
_MEAN_DISTANCE = 0.87


class Aim(NamedTuple):
    """Width of a band, with the MCDP(0) that the band leaves in the population.

    `expected` is the mean of this MCDP(0) over strata, among all groups of two rows or
    more. `steered` is the mean among the groups by which the band was found.
    `too_small` are those other groups with which the limit would not be kept.
    """

    max_mcdp: float
    expected: float
    steered: float
    too_small: tuple[Hashable, ...]

    def describe_problem(self, limit: float) -> str:
        """Say why the rows do not show that the limit is kept; return "" if they do."""
        if not self.too_small and self.expected <= _KEPT * limit:
            return ""
        expected = f"{self.expected:.3f}"
        if self.too_small:
            # Of a single row nothing is to be expected.
            more = f", and {expected} with them" if self.expected > self.steered else ""
            few = f"groups of too few rows, {labels_text(self.too_small)}"
            expected = f"{self.steered:.3f} without {few}{more}"
        return (
            f"max_mcdp={limit:g} is not shown to hold for new rows: MCDP(0) to expect "
            f"of their population is {expected}"
        )


class PopulationGap(NamedTuple):
    """Mean MCDP(0) in the population: among groups steered, and among all groups."""

    steered: float
    all_groups: float


@dataclass(frozen=True)
class ModelPredictions:
    """Predictions of several models for the same rows.

    The repair takes the `spread_scores` of each model, which differ from its `scores`
    where rows that share a score are spread. The final prediction is the mean of the
    repaired scores over the models. Both arrays are models by rows.
    """

    rows: Rows
    scores: Floats
    spread_scores: Floats

    def __getitem__(self, index: Any) -> Self:
        """Take the predictions of some rows."""
        return type(self)(
            self.rows[index], self.scores[:, index], self.spread_scores[:, index]
        )

    def average(self, repaired: Floats) -> Floats:
        """Average repaired scores over models.

        Where the repair changes nothing, the score that is not spread is taken.
        """
        stays = repaired == self.spread_scores
        return np.asarray(np.where(stays, self.scores, repaired).mean(axis=0))


class PopulationGaps:
    """MCDP(0) that bands of any width leave in the population of some rows.

    If the final prediction is a mean over several models, their predictions for the
    rows stand for the population.
    """

    def __init__(
        self, rows: Rows, repair_map: RepairMap, predicted: ModelPredictions | None
    ) -> None:
        assert repair_map.max_mcdp is not None
        self.limit = repair_map.max_mcdp
        parts = _split_by_stratum(rows, predicted)
        self.strata = [_Stratum(*part, self.limit, repair_map) for part in parts]
        totals = np.array([part.weights.sum() for part, _ in parts], dtype=np.float64)
        self.shares = totals / totals.sum()

    def _average(self, width: float) -> PopulationGap:
        """Average gaps over strata."""
        gaps = self.shares @ [stratum.estimate_gap(width) for stratum in self.strata]
        return PopulationGap(*gaps.tolist())

    def find_aim(self) -> Aim:
        """Find the widest band that leaves at most the limit.

        Where no band is narrow enough, take the widest one that leaves about the
        smallest gap.
        """

        def steered_gap(width: float) -> float:
            return self._average(width).steered

        width = limit = self.limit
        gap = steered_gap(limit)
        if gap > limit:
            smallest = steered_gap(0.0)
            target = max(limit, _ABOUT * smallest)
            if gap > target:
                narrow, wide = (0.0, smallest), (limit, gap)
                width, gap = _find_width(steered_gap, target, narrow, wide)
        too_small = [
            label
            for stratum in self.strata
            for label in stratum.find_too_small(width, _KEPT * limit)
        ]
        labels = tuple(dict.fromkeys(too_small))
        return Aim(width, self._average(width).all_groups, gap, labels)


def _find_width(
    gap: Callable[[float], float],
    target: float,
    low: tuple[float, float],
    high: tuple[float, float],
) -> tuple[float, float]:
    """Find a width whose gap is at most `target`, and close to it.

    `low` and `high` are two widths with their gaps, between which the width lies.
    """
    for _ in range(_N_STEPS):
        share = (target - low[1]) / (high[1] - low[1])
        # A curve that is flat at one end is halved in part.
        width = low[0] + (0.2 + 0.6 * share) * (high[0] - low[0])
        middle = width, gap(width)
        low, high = (middle, high) if middle[1] <= target else (low, middle)
    return low


def _split_by_stratum(
    rows: Rows, predicted: ModelPredictions | None
) -> list[tuple[Rows, ModelPredictions | None]]:
    """Return the rows of each stratum that has a map, with their predictions."""
    if rows.strata is None:
        return [(rows, predicted)]
    groups, strata = keep_comparable(rows.groups, rows.strata, rows.weight, warn=False)
    assert strata is not None
    n_strata, rows = len(strata.labels), replace(rows, groups=groups)
    predictions: list[ModelPredictions | None] = [None] * n_strata
    if predicted is not None:
        column = predicted.rows.strata
        assert column is not None
        codes = recode(column.codes, column.labels, strata.labels)
        predictions = [predicted[part] for part in rows_by_code(codes, n_strata)]
    parts = [rows[positions] for positions in rows_by_code(strata.codes, n_strata)]
    return list(zip(parts, predictions, strict=True))


class _Stratum:
    """One stratum: CDFs of its groups and of random halves, and models' predictions.

    `steered` are the groups whose gap the band is to bring below the limit.
    """

    def __init__(
        self,
        rows: Rows,
        predicted: ModelPredictions | None,
        limit: float,
        repair_map: RepairMap,
    ) -> None:
        self.ties, statistic = repair_map.ties, weighted_distributions(rows)
        # Scores are smoothed as the repair smooths them.
        smooths = repair_map.scale == "probability"
        ends = end_scores(repair_map.scale, statistic.scores)
        self.cdfs = GroupCDFs.from_statistic(statistic, ends, smooth=smooths)
        sizes = self.cdfs.n_rows
        noise = _MEAN_DISTANCE * np.sqrt(self.cdfs.largest_row_share())
        self.halves: list[GroupCDFs] = []
        if noise > _NO_NOISE * limit:
            n_rows = len(statistic.scores if predicted is None else predicted.rows)
            n_halves = _N_ROWS // max(1, n_rows)
            n_halves = min(_MOST_HALVES, max(_FEWEST_HALVES, n_halves))
            random = np.random.default_rng(0)
            self.halves = [
                GroupCDFs.from_statistic(half, ends, smooth=smooths, sizes=sizes)
                for _ in range(n_halves // 2)
                for half in _draw_halves(statistic, random)
            ]
        #: CDFs of the population, as far as rows show them.
        self.population = self.cdfs.unsmoothed
        if smooths:
            groups = np.flatnonzero(statistic.counts).tolist()
            by_group = zip(self.cdfs.unsmoothed, groups, strict=True)
            self.population = tuple(cdf.smooth(statistic, i) for cdf, i in by_group)
        #: Predictions for each group, where several models make them.
        self.predicted: list[ModelPredictions] = []
        if predicted is not None:
            column, labels = predicted.rows.groups, self.cdfs.labels
            codes = recode(column.codes, column.labels, labels)
            parts = rows_by_code(codes, len(labels))
            self.predicted = [predicted[positions] for positions in parts]
        self.has_several_rows = sizes >= 2
        if self.has_several_rows.sum() < 2:
            self.has_several_rows[:] = True
        self.steered = self.has_several_rows & (sizes >= _FEWEST_STEERED)
        if self.steered.sum() < 2:
            self.steered[np.argsort(-sizes, kind="stable")[:2]] = True
        self._gaps: dict[float, PopulationGap] = {}
        if self.halves:
            self._leave_out(limit)

    def _leave_out(self, limit: float) -> None:
        """Leave out groups for which no band keeps the limit, the smallest first."""
        heights, sizes = self._repair_by_halves(0.0), self.cdfs.n_rows
        order = np.argsort(sizes, kind="stable")
        for group in order[self.steered[order] & (sizes[order] < MANY_ROWS_OF_GROUP)]:
            few = np.count_nonzero(self.steered) <= 2
            if few or _mean_gap(heights, self.steered) <= limit:
                break
            self.steered[group] = False
        self._gaps[0.0] = self._measure(heights)

    def find_too_small(self, width: float, limit: float) -> list[Hashable]:
        """Return labels of the groups with which the limit would not be kept."""
        if self.steered.all() or not self.halves:
            return []
        heights, large = self._repair_by_halves(width), self.steered.copy()
        for group in np.argsort(-self.cdfs.n_rows, kind="stable"):
            with_group = large.copy()
            with_group[group] = True
            keeps_limit = _mean_gap(heights, with_group) <= limit
            if self.has_several_rows[group] and keeps_limit:
                large = with_group
        return [self.cdfs.labels[group] for group in np.flatnonzero(~large)]

    def estimate_gap(self, width: float) -> PopulationGap:
        """Return the mean gap among all rows after repairs learnt from random halves.

        Groups of a single row are left out of both gaps.
        """
        if width not in self._gaps:
            self._gaps[width] = self._measure(self._repair_by_halves(width))
        return self._gaps[width]

    def _measure(self, heights: list[Floats]) -> PopulationGap:
        """Average the gaps over several repairs, given the CDFs after each of them."""
        steered = _mean_gap(heights, self.steered)
        return PopulationGap(steered, _mean_gap(heights, self.has_several_rows))

    def _repair_by_halves(self, width: float) -> list[Floats]:
        """Return the CDFs of all rows after each repair that was learnt from a half."""
        learnt = self.halves or [self.cdfs]
        return [self._repaired_heights(cdfs, width) for cdfs in learnt]

    def _repaired_heights(self, learnt: GroupCDFs, width: float) -> Floats:
        """Return the CDFs of groups after a learnt repair, a row for each group."""
        targets = learnt.limit_gap(width)
        if self.predicted:
            scores = [
                part.average(_repair_scores(learnt, targets, group, part.spread_scores))
                for group, part in enumerate(self.predicted)
            ]
            return _empirical_cdfs(
                scores, [part.rows.weights for part in self.predicted]
            )
        if self.ties == "random":
            return learnt.spread_and_repair(targets, self.population)
        repaired = [
            cdf._replace(scores=_repair_scores(learnt, targets, group, cdf.scores))
            for group, cdf in enumerate(self.population)
        ]
        points = thin(np.unique(np.concatenate([cdf.scores for cdf in repaired])))
        return np.stack([cdf.evaluate(points) for cdf in repaired])


def _empirical_cdfs(scores: list[Floats], weights: list[Floats]) -> Floats:
    """Return the CDF of each group's scores, evaluated at the scores of all groups."""
    points, heights = thin(np.unique(np.concatenate(scores))), []
    for values, weight in zip(scores, weights, strict=True):
        order = np.argsort(values)
        below = np.append(0, np.cumsum(weight[order]))
        heights.append(below[np.searchsorted(values[order], points, "right")])
    return np.stack([row / row[-1] for row in heights])


def _mean_gap(heights: list[Floats], groups: Bools) -> float:
    """Return the mean, over repairs, of the largest distance of two groups' CDFs."""
    return float(np.mean([np.ptp(part[groups], axis=0).max() for part in heights]))


def _repair_scores(
    learnt: GroupCDFs, targets: Targets, group: int, scores: Floats
) -> Floats:
    """Return repaired scores of a group; tied rows stay together."""
    if not targets.changes:
        return scores
    cdf = learnt.cdfs[group]
    values = learnt.repair_at(targets, group, cdf.middle)
    within = np.clip(scores, cdf.scores[0], cdf.scores[-1])
    return interpolate(within, cdf.scores, values) + (scores - within)


def _draw_halves(
    statistic: Distributions, random: np.random.Generator
) -> tuple[Distributions, Distributions]:
    """Divide the rows of each group into random halves; a single row is in both.

    An entry with an integer weight stands for as many rows.
    """
    whole = statistic.weights.dtype.kind == "i"
    counts: Integers = statistic.weights
    if not whole:
        counts = np.ones(len(statistic.codes), dtype=np.int64)
    first, second = counts.copy(), counts.copy()
    for group in range(statistic.n_groups):
        entries = np.flatnonzero(statistic.codes == group)
        n_rows = int(counts[entries].sum())
        if n_rows > 1:
            half = (n_rows + int(random.integers(2))) // 2
            first[entries] = random.multivariate_hypergeometric(
                counts[entries], half, method="marginals"
            )
            second[entries] = counts[entries] - first[entries]
    halves = [_draw_entries(statistic, drawn, counts) for drawn in (first, second)]
    return halves[0], halves[1]


def _draw_entries(
    statistic: Distributions, drawn: Integers, counts: Integers
) -> Distributions:
    """Return the distributions of the `drawn` rows of each entry."""
    present = drawn > 0
    whole = statistic.weights.dtype.kind == "i"
    weights = drawn if whole else statistic.weights
    codes, n_groups = statistic.codes[present], statistic.n_groups
    totals = np.bincount(codes, weights[present], n_groups)
    n_rows = np.bincount(codes, drawn[present], n_groups)
    # Entries of fractional weights may stand for several rows.
    share = row_counts(statistic) / np.maximum(
        np.bincount(statistic.codes, counts, n_groups), 1
    )
    return replace(
        statistic,
        scores=statistic.scores[present],
        codes=codes,
        weights=weights[present],
        counts=np.maximum(np.rint(n_rows * share), n_rows > 0).astype(np.intp),
        totals=totals.astype(statistic.totals.dtype),
    )

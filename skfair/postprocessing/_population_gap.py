"""Band of a repair that keeps a largest gap for rows that gave nothing to the repair.

The noise of a sample about its population is that of a random half of each group about
the whole sample: the share of a group's n rows below a score has the variance
``p (1 - p) / n`` about that of the population, and that of a random half of the rows,
drawn without replacement, has the same about that of all n. The repair of a half,
applied to all rows, leaves the gap that the repair of all rows leaves in the
population.
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
from skfair.postprocessing._score_repairer import (
    MANY_ROWS_OF_GROUP,
    GroupCDFs,
    LinearCDF,
    Path,
    distributions,
    ends_of,
    interpolate,
    row_counts,
    thinned,
)
from skfair.statistics._distributions import Distributions

#: Halves that are drawn of few rows, at least, and rows of them all together.
_MOST_HALVES, _FEWEST_HALVES, _N_ROWS = 20, 4, 100_000
#: Steps of the search for the width of the band.
_N_STEPS = 4
#: Share of the smallest gap that any band leaves, by which one that leaves more repairs
#: less for about the same.
_ABOUT = 1.05
#: Groups of fewer rows do not narrow the band, which is that of other groups, too.
_FEWEST_STEERED = 50
#: Share of the limit within which it is kept.
_KEPT = 1.15
#: Largest expected noise of a gap, as a share of the limit, that is left out.
_NO_NOISE = 0.01
#: Mean of the largest distance of an empirical CDF of n rows, times the root of n.
_MEAN_DISTANCE = 0.87


class Aim(NamedTuple):
    """Width of a band, with the MCDP(0) that it leaves in the population.

    `expected` is the mean over strata, and includes all groups of two rows or more;
    `steered` is that of the groups by which the band was found. Of the others, those
    beyond the limit are `too_small`.
    """

    max_mcdp: float
    expected: float
    steered: float
    too_small: tuple[Hashable, ...]

    def problem(self, limit: float) -> str:
        """Say why the rows do not show that the limit is kept; "" if they do."""
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


@dataclass(frozen=True)
class ModelPredictions:
    """Predictions of several models for rows.

    The repair gets the `spread` scores of each model, which differ from its `scores`
    where rows that share a score are spread. A prediction is the mean of the repaired
    scores. Both arrays are models by rows.
    """

    rows: Rows
    scores: Floats
    spread: Floats

    def __getitem__(self, index: Any) -> Self:
        """Take the predictions of some rows."""
        return type(self)(
            self.rows[index], self.scores[:, index], self.spread[:, index]
        )

    def mean(self, repaired: Floats) -> Floats:
        """Average repaired scores over models; those that stay are not spread."""
        stays = repaired == self.spread
        return np.asarray(np.where(stays, self.scores, repaired).mean(axis=0))


class PopulationGaps:
    """Gaps that bands of any width leave in the population of some rows.

    `repair` has the parameter `ties`. Where the mean of several models is repaired,
    what they predict stands for the population.
    """

    def __init__(
        self,
        rows: Rows,
        limit: float,
        scale: str,
        repair: Any,
        predicted: ModelPredictions | None = None,
    ) -> None:
        parts, self.limit = _split_by_stratum(rows, predicted), limit
        self.strata = [
            _Stratum(distributions(own), limit, scale, repair.ties, new)
            for own, new in parts
        ]
        totals = np.array([own.weights.sum() for own, _ in parts], dtype=np.float64)
        self.shares = totals / totals.sum()

    def _mean(self, width: float) -> Floats:
        """Average gaps over strata, of steered groups and of all groups."""
        return np.asarray(self.shares @ [part.gaps(width) for part in self.strata])

    def aim(self) -> Aim:
        """Find the widest band that leaves at most the limit.

        Where no band is narrow enough, take the widest one that leaves about the
        smallest gap.
        """

        def gap(width: float) -> float:
            return float(self._mean(width)[0])

        widest = limit = self.limit
        left = gap(limit)
        if left > limit > 0:
            smallest = gap(0.0)
            target = max(limit, _ABOUT * smallest)
            if left > target:
                widest, left = _root(gap, target, (0.0, smallest), (limit, left))
        expected = float(self._mean(widest)[1])
        small = [
            label
            for part in self.strata
            if limit
            for label in part.too_small(widest, _KEPT * limit)
        ]
        return Aim(widest, expected, left, tuple(dict.fromkeys(small)))


def _root(
    gap: Callable[[float], float],
    target: float,
    low: tuple[float, float],
    high: tuple[float, float],
) -> tuple[float, float]:
    """Find a width whose gap is just at most `target`, between two widths and gaps."""
    for _ in range(_N_STEPS):
        share = (target - low[1]) / (high[1] - low[1])
        # A curve that is flat at one end is halved in part.
        width = low[0] + (0.2 + 0.6 * share) * (high[0] - low[0])
        found = width, gap(width)
        low, high = (found, high) if found[1] <= target else (low, found)
    return low


def _split_by_stratum(
    rows: Rows, predicted: ModelPredictions | None
) -> list[tuple[Rows, ModelPredictions | None]]:
    """Return the rows in each stratum that has a map, and what is predicted there."""
    if rows.strata is None:
        return [(rows, predicted)]
    groups, strata = keep_comparable(rows.groups, rows.strata, rows.weight, warn=False)
    assert strata is not None
    n_strata, rows = len(strata.labels), replace(rows, groups=groups)
    new: list[ModelPredictions | None] = [None] * n_strata
    if predicted is not None:
        before = predicted.rows.strata
        assert before is not None
        codes = recode(before.codes, before.labels, strata.labels)
        new = [predicted[own] for own in rows_by_code(codes, n_strata)]
    own = [rows[part] for part in rows_by_code(strata.codes, n_strata)]
    return list(zip(own, new, strict=True))


class _Stratum:
    """Scores of the groups of a stratum, halves of them, and what is predicted."""

    def __init__(
        self,
        statistic: Distributions,
        limit: float,
        scale: str,
        ties: str,
        predicted: ModelPredictions | None,
    ) -> None:
        self.ties = ties
        # Scores are smoothed as the repair smooths them.
        ends = ends_of(scale, statistic.scores)
        options: dict[str, Any] = {"ends": ends, "smooth": scale == "probability"}
        self.all = GroupCDFs.from_statistic(statistic, **options)
        sizes = self.all.n_rows
        noise = _MEAN_DISTANCE * np.sqrt(np.sort(1 / sizes)[-2:].sum())
        self.halves: list[GroupCDFs] = []
        if noise > _NO_NOISE * limit:
            n_rows = len(statistic.scores if predicted is None else predicted.rows)
            n_halves = _N_ROWS // max(1, n_rows)
            n_halves = min(_MOST_HALVES, max(_FEWEST_HALVES, n_halves))
            random = np.random.default_rng(0)
            self.halves = [
                GroupCDFs.from_statistic(half, **options, sizes=sizes)
                for _ in range(n_halves // 2)
                for half in _two_halves(statistic, random)
            ]
        #: CDFs of the population, as far as rows show them.
        self.population: list[LinearCDF] = list(self.all.own)
        groups = np.flatnonzero(statistic.counts).tolist()
        if options["smooth"]:
            both = zip(self.all.own, groups, strict=True)
            self.population = [cdf.smoothed(statistic, group) for cdf, group in both]
        #: Predictions of each group, where several models make them.
        self.predicted: list[ModelPredictions] = []
        if predicted is not None:
            of_rows = predicted.rows.groups
            codes = recode(of_rows.codes, of_rows.labels, self.all.labels)
            parts = rows_by_code(codes, len(self.all.labels))
            self.predicted = [predicted[own] for own in parts]
        self.several = sizes >= 2
        if self.several.sum() < 2:
            self.several[:] = True
        self.steered = self.several & (sizes >= _FEWEST_STEERED)
        if self.steered.sum() < 2:
            self.steered[np.argsort(-sizes, kind="stable")[:2]] = True
        self._found: dict[float, list[float]] = {}
        if self.halves and limit:
            self._leave_out(limit)

    def _leave_out(self, limit: float) -> None:
        """Leave small groups out, the smallest first, that no band can steer."""
        after, sizes = self._gaps_after_halves(0.0), self.all.n_rows
        order = np.argsort(sizes, kind="stable")
        for group in order[self.steered[order] & (sizes[order] < MANY_ROWS_OF_GROUP)]:
            few = np.count_nonzero(self.steered) <= 2
            if few or _mean_range(after, self.steered) <= limit:
                break
            self.steered[group] = False
        self._found[0.0] = self._measure(after)

    def too_small(self, width: float, most: float) -> list[Hashable]:
        """Return labels of groups that are too small to keep the limit."""
        if self.steered.all() or not self.halves:
            return []
        after, kept = self._gaps_after_halves(width), self.steered.copy()
        for group in np.argsort(-self.all.n_rows, kind="stable"):
            with_group = kept.copy()
            with_group[group] = True
            if self.several[group] and _mean_range(after, with_group) <= most:
                kept = with_group
        return [self.all.labels[group] for group in np.flatnonzero(~kept)]

    def gaps(self, width: float) -> list[float]:
        """Return mean gaps of all rows after repairs learnt from halves.

        They are that of the groups that can be steered, and of all of several rows.
        """
        if width not in self._found:
            self._found[width] = self._measure(self._gaps_after_halves(width))
        return self._found[width]

    def _measure(self, after: list[Floats]) -> list[float]:
        return [_mean_range(after, groups) for groups in (self.steered, self.several)]

    def _gaps_after_halves(self, width: float) -> list[Floats]:
        return [
            self._repaired_heights(half, width) for half in self.halves or [self.all]
        ]

    def _repaired_heights(self, learnt: GroupCDFs, width: float) -> Floats:
        """Return heights of the groups' CDFs after a learnt repair."""
        path = learnt.clip_to_band(width)
        if self.predicted:
            return _heights_of(
                [
                    part.mean(_moved(learnt, path, group, part.spread))
                    for group, part in enumerate(self.predicted)
                ],
                [part.rows.weights for part in self.predicted],
            )
        if self.ties == "random":
            return np.stack(
                [
                    thinned(own.heights_at(cdf, path.target(heights)))
                    for own, cdf, heights in zip(
                        self.population, learnt.cdfs, learnt.heights(), strict=True
                    )
                ]
            )
        moved = [
            cdf._replace(scores=_moved(learnt, path, group, cdf.scores))
            for group, cdf in enumerate(self.population)
        ]
        points = thinned(np.unique(np.concatenate([cdf.scores for cdf in moved])))
        return np.stack([cdf.evaluate(points) for cdf in moved])


def _heights_of(scores: list[Floats], weights: list[Floats]) -> Floats:
    """Return the share of each group's weight at or below scores of all groups."""
    points, heights = thinned(np.unique(np.concatenate(scores))), []
    for values, weight in zip(scores, weights, strict=True):
        order = np.argsort(values)
        below = np.append(0, np.cumsum(weight[order]))
        heights.append(below[np.searchsorted(values[order], points, "right")])
    return np.stack([row / row[-1] for row in heights])


def _mean_range(heights: list[Floats], groups: Bools) -> float:
    """Return the mean, over repairs, of the largest distance of two groups' CDFs."""
    return float(np.mean([np.ptp(part[groups], axis=0).max() for part in heights]))


def _moved(learnt: GroupCDFs, path: Path, group: int, scores: Floats) -> Floats:
    """Return repaired scores of a group; tied rows stay together."""
    if not path.moves:
        return scores
    cdf = learnt.cdfs[group]
    values = learnt.repaired_at(path, group, cdf.middle)
    seen = np.clip(scores, cdf.scores[0], cdf.scores[-1])
    return interpolate(seen, cdf.scores, values) + (scores - seen)


def _two_halves(
    statistic: Distributions, random: np.random.Generator
) -> tuple[Distributions, Distributions]:
    """Divide the rows of each group at random; a single row is in both halves.

    A whole weight counts as so many rows.
    """
    whole = statistic.weights.dtype.kind == "i"
    counts: Integers = statistic.weights
    if not whole:
        counts = np.ones(len(statistic.codes), dtype=np.int64)
    first, second = counts.copy(), counts.copy()
    for group in range(statistic.n_groups):
        own = np.flatnonzero(statistic.codes == group)
        n_rows = int(counts[own].sum())
        if n_rows > 1:
            half = (n_rows + int(random.integers(2))) // 2
            first[own] = random.multivariate_hypergeometric(
                counts[own], half, method="marginals"
            )
            second[own] = counts[own] - first[own]
    return _keep_counts(statistic, first, counts), _keep_counts(
        statistic, second, counts
    )


def _keep_counts(
    statistic: Distributions, counts: Integers, every: Integers
) -> Distributions:
    """Keep so many rows of each entry, of the number that it has."""
    kept = counts > 0
    whole = statistic.weights.dtype.kind == "i"
    weights = counts if whole else statistic.weights
    codes, n_groups = statistic.codes[kept], statistic.n_groups
    totals = np.bincount(codes, weights[kept], n_groups)
    rows = np.bincount(codes, counts[kept], n_groups)
    # Entries of fractional weights may stand for several rows.
    share = row_counts(statistic) / np.maximum(
        np.bincount(statistic.codes, every, n_groups), 1
    )
    return replace(
        statistic,
        scores=statistic.scores[kept],
        codes=codes,
        weights=weights[kept],
        counts=np.maximum(np.rint(rows * share), rows > 0).astype(np.intp),
        totals=totals.astype(statistic.totals.dtype),
    )

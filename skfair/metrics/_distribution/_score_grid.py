"""Metrics of score distributions for many resamples of the same rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._utils._types import Floats, Integers
from skfair.metrics._distribution._gap import (
    LargestGap,
    Pair,
    compared_pairs,
    largest_bounded,
)
from skfair.metrics._distribution._histograms import (
    N_BANDWIDTHS,
    bin_changes,
    bin_distances,
    edges_of_all,
    stable_interval,
)
from skfair.metrics._distribution._mcdp import sustained_gap
from skfair.metrics._inputs import Multigroup
from skfair.statistics._grouped_scores import Gap

#: Weight of each score of the grid in a group, by its position; None is everyone.
Count = Callable[[int | None], NDArray[Any]]


class Distribution(NamedTuple):
    """CDF at each score of the grid, shares of the bins of MADD, and total weight."""

    cdf: Floats
    bins: Floats | None
    total: float


class ScoreGrid:
    """The distinct scores of all rows, and where the bins of MADD lie among them.

    Scores are sorted once: a resample only counts how often each of them was drawn.
    `positions` holds the position of each row's score among the distinct ones.
    """

    def __init__(self, y_score: ArrayLike, sample_weight: NDArray[Any] | None) -> None:
        self.scores, self.positions = np.unique(y_score, return_inverse=True)
        self.steps = np.diff(self.scores)
        self.sample_weight = sample_weight
        edges = edges_of_all(N_BANDWIDTHS)
        self.below = edges.count_below(self.scores)[edges.places]
        self.starts = edges.starts
        # Memory for shares of bins: a megabyte or more for each resample and group
        # would otherwise be asked for, cleared and given back, which takes as long
        # as the computation.
        self._bins = np.empty((0, len(self.below)))

    def largest_gaps(
        self,
        count: Count,
        n_groups: int,
        multigroup: Multigroup,
        keys: Sequence[str],
        epsilon: float,
    ) -> dict[str, LargestGap]:
        """Compute metrics by key, for groups given by the weights of their scores.

        Keys are mcdp, mcdp_epsilon, abcc, mean_score_difference and madd; others have
        no value here.
        """
        best: dict[str, LargestGap] = {}
        pairs, bounds, cdfs = [], [], []
        compared = self._compared(count, n_groups, multigroup, "madd" in keys)
        for pair, ours, theirs in compared:
            signed = _signed(ours.cdf, theirs.cdf)
            heights = np.abs(signed)
            highest = int(heights.argmax())
            values = {
                "mcdp": float(heights[highest]),
                "abcc": min(1.0, self._integral(heights)),
                "mean_score_difference": abs(self._integral(signed)),
            }
            if "madd" in keys:
                needed = best["madd"].value if "madd" in best else -math.inf
                values["madd"] = self._madd(ours, theirs, needed)
            for key in values.keys() & set(keys):
                value = values[key]
                if key not in best or value > best[key].value:
                    score = self.scores[highest] if key == "mcdp" else math.nan
                    best[key] = LargestGap(value, pair, float(score))
            if "mcdp_epsilon" in keys:
                pairs.append(pair)
                bounds.append(values["mcdp"])  # no window sees more
                cdfs.append((ours.cdf, theirs.cdf))
        if pairs:
            best["mcdp_epsilon"] = largest_bounded(
                pairs, bounds, lambda i: self._sustained(*cdfs[i], epsilon)
            )
        return best

    def count(self, rows: Integers) -> NDArray[Any]:
        """Weight of each score among some rows, which may repeat."""
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        return np.bincount(self.positions[rows], weights, len(self.scores))

    def _compared(
        self, count: Count, n_groups: int, multigroup: Multigroup, with_bins: bool
    ) -> Iterator[tuple[Pair, Distribution, Distribution]]:
        """Yield every pair of groups, or each group with everyone."""
        pairs = compared_pairs(n_groups, multigroup)
        n_kept = n_groups if multigroup == "pairwise" else 2
        if with_bins and len(self._bins) < 1 + n_kept:
            self._bins = np.empty((1 + n_kept, len(self.below)))
        if multigroup == "pairwise":
            every = [
                self._distribution(count(group), 1 + group if with_bins else None)
                for group in range(n_groups)
            ]
            for first, second in pairs:
                assert second is not None
                yield (first, second), every[first], every[second]
            return
        everyone = self._distribution(count(None), 1 if with_bins else None)
        for pair in pairs:
            ours = self._distribution(count(pair[0]), 2 if with_bins else None)
            yield pair, ours, everyone

    def _distribution(self, counts: NDArray[Any], place: int | None) -> Distribution:
        """Distribution of scores that have these weights.

        Shares of bins are computed if they have a place in memory, and stay valid
        until another group is given the same place.
        """
        cdf, total = cumulate(counts)
        if place is None:
            return Distribution(cdf, None, total)
        at_edges = self._bins[0]
        np.concatenate([[0.0], cdf]).take(self.below, mode="clip", out=at_edges)
        bins = bin_changes(at_edges, self.starts, out=self._bins[place])
        return Distribution(cdf, bins, total)

    def _integral(self, heights: Floats) -> float:
        """Integral of a step function; without the threads of a matrix product."""
        return float(np.einsum("i,i->", heights[:-1], self.steps))

    def _madd(self, ours: Distribution, theirs: Distribution, needed: float) -> float:
        """MADD of two groups, or an upper bound if it is at most `needed`."""
        assert ours.bins is not None
        assert theirs.bins is not None
        changes = np.subtract(ours.bins, theirs.bins, out=self._bins[0])
        curve = bin_distances(changes, self.starts)
        highest = float(curve.max())
        if highest <= needed:
            return highest  # no mean over an interval can be larger
        return stable_interval(curve, (ours.total, theirs.total)).mean

    def _sustained(self, ours: Floats, theirs: Floats, epsilon: float) -> float:
        gap = Gap(self.scores, _signed(ours, theirs), 1.0, (1.0, 1.0))
        return sustained_gap(gap, epsilon)


def cumulate(counts: NDArray[Any]) -> tuple[Floats, float]:
    """Share of the weight at or below each score, and the total weight."""
    total = float(counts.sum())
    return np.cumsum(counts) / total, total


def _signed(ours: Floats, theirs: Floats) -> Floats:
    """Difference of two CDFs on the grid."""
    signed = ours - theirs
    signed[-1] = 0  # both end at 1, without rounding
    return signed

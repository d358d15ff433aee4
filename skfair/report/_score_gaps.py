"""Disparities of score distributions, for rows drawn again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair.metrics._distribution._bandwidth import stable_interval
from skfair.metrics._distribution._histograms import (
    N_BANDWIDTHS,
    bandwidths_to_one,
    bin_edges,
)
from skfair.metrics._distribution._mcdp import sustained_gap
from skfair.report._audit import MAX_PAIRWISE, Attribute
from skfair.report._measures import OF_SCORES
from skfair.statistics._grouped_scores import Gap

Floats = NDArray[np.float64]
Pair = tuple[int, int | None]

_BANDWIDTHS = bandwidths_to_one(N_BANDWIDTHS)


@dataclass(frozen=True, eq=False)
class ScoreGrid:
    """The distinct scores of all rows, and where the bins of MADD fall among them.

    Attributes
    ----------
    scores : ndarray of shape (n_distinct,), increasing
    positions : ndarray of shape (n_samples,)
        Which of the scores each row has.
    below, starts : ndarray
        As `skfair.metrics._distribution._histograms.bin_edges` returns them.
    """

    scores: Floats
    positions: NDArray[np.intp]
    below: NDArray[np.intp]
    starts: NDArray[np.intp]

    @classmethod
    def from_scores(cls, y_score: Floats) -> ScoreGrid:
        """Sort the scores of all rows.

        Parameters
        ----------
        y_score : ndarray of shape (n_samples,)

        Returns
        -------
        ScoreGrid
        """
        scores, positions = np.unique(y_score, return_inverse=True)
        n_bins = np.arange(N_BANDWIDTHS, 0, -1)
        return cls(scores, positions, *bin_edges(scores, n_bins))

    @cached_property
    def work(self) -> Floats:
        """Memory of two rows, and one for each group that is compared in pairs.

        A megabyte or more for each resample and group would otherwise be asked for,
        cleared and given back, which takes as long as the computation.
        """
        return np.empty((2 + MAX_PAIRWISE, len(self.below)))

    def cdf(
        self, rows: NDArray[np.intp], sample_weight: NDArray[Any] | None
    ) -> tuple[Floats, float]:
        """Share of some rows at or below each score, and their total weight.

        Parameters
        ----------
        rows : ndarray of int
            May repeat.
        sample_weight : ndarray of shape (n_samples,) or None
            Of all rows.

        Returns
        -------
        cdf : ndarray of shape (n_distinct,)
        total : float
        """
        weights = None if sample_weight is None else sample_weight[rows]
        counts = np.bincount(self.positions[rows], weights, len(self.scores))
        total = float(counts.sum())
        return np.cumsum(counts) / total, total

    def bin_shares(self, cdf: Floats, row: int) -> Floats:
        """Share of a group in each bin of each of the histograms of MADD.

        Parameters
        ----------
        cdf : ndarray of shape (n_distinct,)
        row : int
            Where in `work`, behind its first two rows, the shares are kept.

        Returns
        -------
        ndarray of shape (n_edges,)
            Until another resample takes its place.
        """
        at_edges: Floats = self.work[0]
        shares: Floats = self.work[2 + row]
        np.concatenate([[0.0], cdf]).take(self.below, mode="clip", out=at_edges)
        np.subtract(at_edges[1:], at_edges[:-1], out=shares[:-1])
        shares[self.starts[1:] - 1] = 0  # the last edge of a histogram starts no bin
        shares[-1] = 0
        return shares


@dataclass(frozen=True, eq=False)
class Distribution:
    """Scores of one group, or of everyone.

    Attributes
    ----------
    cdf : ndarray of shape (n_distinct,)
    bins : ndarray of shape (n_edges,) or None
        Shares of bins, where MADD is wanted.
    total : float
        Total weight.
    """

    cdf: Floats
    bins: Floats | None
    total: float


@dataclass(frozen=True)
class Found:
    """The largest value over the gaps that are compared, and where it is.

    Attributes
    ----------
    value : float
    pair : tuple of int, and int or None
        Positions of the two groups; None is everyone.
    """

    value: float
    pair: Pair


def score_disparities(
    grid: ScoreGrid,
    rows: NDArray[np.intp],
    attribute: Attribute,
    sample_weight: NDArray[Any] | None,
    epsilon: float,
    keys: tuple[str, ...],
) -> dict[str, Found]:
    """Compute the metrics of score distributions.

    Parameters
    ----------
    grid : ScoreGrid
    rows : ndarray of shape (n_rows,)
        Positions of rows, group after group, as many of each group as it has.
    attribute : Attribute
    sample_weight : ndarray of shape (n_samples,) or None
    epsilon : float
    keys : tuple of str
        The metrics wanted; those of decisions are ignored.

    Returns
    -------
    dict of str to Found
    """
    wanted = [key for key in OF_SCORES if key in keys]
    best = dict.fromkeys(wanted, Found(-1.0, (0, None)))
    sustained, steps = [], np.diff(grid.scores)
    compared = _compared(grid, rows, attribute, sample_weight, "madd" in wanted)
    for pair, ours, theirs in compared:
        signed = _signed_gap(ours, theirs)
        heights = np.abs(signed)
        values = {
            "mcdp": float(heights.max()),
            "abcc": min(1.0, float(heights[:-1] @ steps)),
            "mean_score_difference": abs(float(signed[:-1] @ steps)),
        }
        if "madd" in wanted:
            values["madd"] = _madd(grid, ours, theirs, best["madd"].value)
        for key in wanted:
            if values.get(key, -1.0) > best[key].value:
                best[key] = Found(values[key], pair)
        if "mcdp_epsilon" in wanted:
            sustained.append((values["mcdp"], pair, ours, theirs))
    if sustained:
        best["mcdp_epsilon"] = _largest_sustained(grid.scores, sustained, epsilon)
    return best


def _compared(
    grid: ScoreGrid,
    rows: NDArray[np.intp],
    attribute: Attribute,
    sample_weight: NDArray[Any] | None,
    with_bins: bool,
) -> Iterator[tuple[Pair, Distribution, Distribution]]:
    """Every pair of groups, or each group and everyone."""

    def distribution(part: NDArray[np.intp], row: int) -> Distribution:
        cdf, total = grid.cdf(part, sample_weight)
        bins = grid.bin_shares(cdf, row) if with_bins else None
        return Distribution(cdf, bins, total)

    sizes = attribute.groups.sizes()
    parts = np.split(rows, np.cumsum(sizes)[:-1])
    if attribute.comparison == "pairwise":
        groups = [distribution(part, row) for row, part in enumerate(parts)]
        for i, j in combinations(range(len(parts)), 2):
            yield (i, j), groups[i], groups[j]
    else:
        everyone = distribution(rows, 0)
        for i, part in enumerate(parts):
            yield (i, None), distribution(part, 1), everyone


def _signed_gap(ours: Distribution, theirs: Distribution) -> Floats:
    signed = ours.cdf - theirs.cdf
    signed[-1] = 0  # both end at 1, without rounding
    return signed


def _madd(
    grid: ScoreGrid, ours: Distribution, theirs: Distribution, needed: float
) -> float:
    assert ours.bins is not None
    assert theirs.bins is not None
    changes = grid.work[1]
    np.subtract(ours.bins, theirs.bins, out=changes)
    np.abs(changes, out=changes)
    curve = np.minimum(np.add.reduceat(changes, grid.starts), 2.0)
    highest = float(curve.max())
    if highest <= needed:
        return highest  # no mean over an interval can be larger
    return stable_interval(_BANDWIDTHS, curve, (ours.total, theirs.total)).mean


def _largest_sustained(
    scores: Floats,
    gaps: list[tuple[float, Pair, Distribution, Distribution]],
    epsilon: float,
) -> Found:
    """Largest MCDP(epsilon); a gap's MCDP(0) bounds it, so that most need no look."""
    best = Found(-1.0, (0, None))
    for largest, pair, ours, theirs in sorted(gaps, key=lambda gap: -gap[0]):
        if largest <= best.value:
            break
        signed = _signed_gap(ours, theirs)
        value = sustained_gap(Gap(scores, signed, 1.0, (1.0, 1.0)), epsilon)
        if value > best.value:
            best = Found(value, pair)
    return best

"""The scores of each group: sorted, distinct, weighted and additive."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._encoding import join_labels, positions_in
from skfair.groups import resolve_groups
from skfair.statistics._sorting import sort_scores
from skfair.statistics._validation import check_scores, check_weights, keep_weighing


@dataclass(frozen=True, eq=False, repr=False)
class GroupedScores:
    """The empirical score distribution of every group.

    One entry per distinct pair of score and group, sorted by score. It is a
    sufficient statistic for every metric of score distributions, and additive:
    ``a + b`` is the statistic of the joined rows.

    Attributes
    ----------
    scores : ndarray of shape (n_entries,)
        Scores in [0, 1], non-decreasing; a score that several groups share has
        one entry per group.
    codes : ndarray of shape (n_entries,)
        Position in `labels` of the group of each entry.
    weights : ndarray of shape (n_entries,)
        Total weight of the rows of each entry: int64 counts where every sample
        weight is a whole number, which keeps all sums exact, else float64.
    counts : ndarray of shape (n_groups,)
        Number of rows of each group, rows of weight zero excepted.
    totals : ndarray of shape (n_groups,)
        Total weight of each group.
    labels : tuple of length n_groups
        Group labels.
    names : tuple of str
        Names of the sensitive columns, where known.
    min_group_size : int
        Smallest number of rows with which a group may be compared.

    See Also
    --------
    skfair.metrics.mcdp : One of the metrics that take this in place of scores.

    Examples
    --------
    >>> from skfair.metrics import mcdp
    >>> from skfair.statistics import GroupedScores
    >>> monday = GroupedScores.from_scores([0.2, 0.9], sensitive_features=["F", "M"])
    >>> tuesday = GroupedScores.from_scores([0.4, 0.6], sensitive_features=["F", "M"])
    >>> mcdp(None, monday + tuesday)
    1.0
    """

    scores: NDArray[np.float64]
    codes: NDArray[np.integer]
    weights: NDArray[Any]
    counts: NDArray[np.intp]
    totals: NDArray[Any]
    labels: tuple[Hashable, ...]
    names: tuple[str, ...] = ()
    min_group_size: int = 1

    @classmethod
    def from_scores(
        cls,
        y_score: ArrayLike,
        *,
        sensitive_features: Any,
        sample_weight: ArrayLike | None = None,
    ) -> GroupedScores:
        """Collect the scores of each group.

        Parameters
        ----------
        y_score : array-like of shape (n_samples,)
            Scores in [0, 1], probabilities of the positive class as a rule.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups
            Group of each row; several columns stand for their intersection.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.

        Returns
        -------
        GroupedScores

        Raises
        ------
        ValueError
            On scores outside [0, 1], NaN, wrong lengths, missing groups,
            negative weights, or a group whose rows all weigh zero.
        """
        scores = check_scores(y_score)
        groups = resolve_groups(sensitive_features, n_samples=len(scores))
        weights = check_weights(sample_weight, len(scores))
        scores, codes, weights, counts = keep_weighing(scores, groups, weights)
        totals = counts.astype(np.int64)
        if weights is not None:
            totals = np.bincount(codes, weights, len(counts)).astype(weights.dtype)
        entries = sort_scores(scores, codes, weights, n_groups=len(counts))
        return cls(
            *entries, counts, totals, groups.labels, groups.names, groups.min_group_size
        )

    @property
    def n_groups(self) -> int:
        """Number of groups, absent ones included."""
        return len(self.labels)

    def of_group(self, group: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Distinct scores of one group and their weights.

        Parameters
        ----------
        group : int
            Position in `labels`.

        Returns
        -------
        scores : ndarray of shape (n_distinct,), increasing
        weights : ndarray of shape (n_distinct,)
        """
        rows = self.rows_of(group)
        return self.scores[rows], self.weights[rows]

    def __add__(self, other: GroupedScores) -> GroupedScores:
        if not isinstance(other, GroupedScores):
            return NotImplemented
        labels = join_labels(self.labels, other.labels)
        mine, theirs = (positions_in(labels, part.labels) for part in (self, other))
        counts = np.zeros(len(labels), dtype=np.intp)
        totals = np.zeros(len(labels), np.result_type(self.totals, other.totals))
        for part, positions in ((self, mine), (other, theirs)):
            counts[positions] += part.counts
            totals[positions] += part.totals
        entries = sort_scores(
            np.concatenate([self.scores, other.scores]),
            np.concatenate([mine[self.codes], theirs[other.codes]]),
            np.concatenate([self.weights, other.weights]),
            n_groups=len(labels),
        )
        names = self.names if self.names == other.names else ()
        smallest = max(self.min_group_size, other.min_group_size)
        return GroupedScores(*entries, counts, totals, labels, names, smallest)

    def __repr__(self) -> str:
        sizes = ", ".join(
            f"{label!r}: {count}"
            for label, count in zip(self.labels, self.counts, strict=True)
        )
        return f"GroupedScores({len(self.scores)} entries; rows {sizes})"

    @cached_property
    def _order(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Entries of each group one after the other, and where each group starts."""
        sizes = np.bincount(self.codes, minlength=self.n_groups)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return np.argsort(self.codes, kind="stable"), starts

    def rows_of(self, group: int) -> NDArray[np.intp]:
        order, starts = self._order
        return order[starts[group] : starts[group + 1]]

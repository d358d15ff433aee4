"""Per group, how many rows there are and the sum of a value in [0, 1]."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._encoding import join_labels, positions_in
from skfair.groups import resolve_groups
from skfair.statistics._validation import check_scores, check_weights, keep_weighing


@dataclass(frozen=True, eq=False, repr=False)
class GroupedOutcomes:
    """Size and summed outcome of every group.

    It is the sufficient statistic of rates and means by group, and additive:
    ``a + b`` is the statistic of the joined rows.

    Attributes
    ----------
    sums : ndarray of shape (n_groups,)
        Weighted sum of the outcomes.
    totals : ndarray of shape (n_groups,)
        Total weight.
    counts : ndarray of shape (n_groups,)
        Number of rows, rows of weight zero excepted.
    labels : tuple of length n_groups
        Group labels.
    names : tuple of str
        Names of the sensitive columns, where known.
    min_group_size : int
        Smallest number of rows with which a group may be compared.

    Examples
    --------
    >>> from skfair.statistics import GroupedOutcomes
    >>> hired = GroupedOutcomes.from_outcomes([1, 0, 1], sensitive_features=[0, 0, 1])
    >>> hired.means.tolist()
    [0.5, 1.0]
    """

    sums: NDArray[Any]
    totals: NDArray[Any]
    counts: NDArray[np.intp]
    labels: tuple[Hashable, ...]
    names: tuple[str, ...] = ()
    min_group_size: int = 1

    @classmethod
    def from_outcomes(
        cls,
        outcomes: ArrayLike,
        *,
        sensitive_features: Any,
        sample_weight: ArrayLike | None = None,
    ) -> GroupedOutcomes:
        """Add up the outcomes of each group.

        Parameters
        ----------
        outcomes : array-like of shape (n_samples,)
            Values in [0, 1]: 0/1 decisions, or scores.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups
            Group of each row; several columns stand for their intersection.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.

        Returns
        -------
        GroupedOutcomes

        Raises
        ------
        ValueError
            On outcomes outside [0, 1], NaN, wrong lengths, missing groups,
            negative weights, or a group whose rows all weigh zero.
        """
        values = check_scores(outcomes, "outcomes")
        groups = resolve_groups(sensitive_features, n_samples=len(values))
        weights = check_weights(sample_weight, len(values))
        values, codes, weights, counts = keep_weighing(values, groups, weights)
        totals = counts
        if weights is not None:
            totals = np.bincount(codes, weights, len(counts))
            values = values * weights
        sums = np.bincount(codes, values, len(counts))
        return cls(
            sums, totals, counts, groups.labels, groups.names, groups.min_group_size
        )

    @property
    def n_groups(self) -> int:
        """Number of groups, absent ones included."""
        return len(self.labels)

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean outcome of each group, of shape (n_groups,); nan without rows."""
        means = np.full(self.n_groups, np.nan)
        np.divide(self.sums, self.totals, out=means, where=self.totals > 0)
        return means

    def __add__(self, other: GroupedOutcomes) -> GroupedOutcomes:
        if not isinstance(other, GroupedOutcomes):
            return NotImplemented
        labels = join_labels(self.labels, other.labels)
        parts = [(part, positions_in(labels, part.labels)) for part in (self, other)]
        sums, totals = np.zeros(len(labels)), np.zeros(len(labels))
        counts = np.zeros(len(labels), dtype=np.intp)
        for part, positions in parts:
            sums[positions] += part.sums
            totals[positions] += part.totals
            counts[positions] += part.counts
        names = self.names if self.names == other.names else ()
        smallest = max(self.min_group_size, other.min_group_size)
        return GroupedOutcomes(sums, totals, counts, labels, names, smallest)

    def __repr__(self) -> str:
        means = ", ".join(
            f"{label!r}: {mean:.4g} of {count}"
            for label, mean, count in zip(
                self.labels, self.means, self.counts, strict=True
            )
        )
        return f"GroupedOutcomes({means})"

"""Per group, how many rows there are and the sum of a value in [0, 1]."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._rows import Rows
from skfair._utils._arrays import Bools, Floats, Integers, quotients
from skfair._utils._validation import as_array, check_scores
from skfair._utils._warnings import warn_if_reordered
from skfair.groups import drop_weightless, resolve_groups
from skfair.statistics._statistic import GroupedStatistic


@dataclass(frozen=True, eq=False, repr=False)
class GroupedOutcomes(GroupedStatistic):
    """Size and summed outcome of every group.

    It is the sufficient statistic of rates and means by group, and additive:
    ``a + b`` is the statistic of the joined rows.

    Attributes
    ----------
    sums : ndarray of shape (n_groups,)
        Weighted sum of the outcomes.
    totals : ndarray of shape (n_groups,)
        Total weight.
    squares : ndarray of shape (n_groups,)
        Sum of the squared weights.
    counts : ndarray of shape (n_groups,)
        Number of rows, rows of weight zero excepted.
    labels : tuple of length n_groups
        Group labels.
    names : tuple of str
        Names of the sensitive columns, where known.
    min_group_size : int
        Smallest number of rows with which a group may be compared.

    See Also
    --------
    skfair.metrics.cvar_fairness : One of the metrics that take this in place of rows.

    Examples
    --------
    >>> from skfair.statistics import GroupedOutcomes
    >>> hired = GroupedOutcomes.from_outcomes([1, 0, 1], sensitive_features=[0, 0, 1])
    >>> hired.means.tolist()
    [0.5, 1.0]
    """

    _by_group = "sums", "totals", "squares", "counts"

    sums: NDArray[Any]
    totals: NDArray[Any]
    squares: NDArray[Any]
    counts: Integers
    labels: tuple[Hashable, ...]
    names: tuple[str, ...] = ()
    min_group_size: int = 1

    @classmethod
    def from_outcomes(
        cls,
        outcomes: ArrayLike,
        *,
        sensitive_features: Any,
        mask: ArrayLike | None = None,
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
        mask : array-like of bool of shape (n_samples,), default=None
            Which rows count; all by default. With the true positives alone, the mean
            of 0/1 decisions is the true positive rate. A group that is left without
            rows stays among the labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.

        Returns
        -------
        GroupedOutcomes

        Raises
        ------
        TypeError
            If an argument is missing, or of a kind that is not taken.
        ValueError
            On outcomes outside [0, 1], NaN, wrong lengths, missing groups,
            negative weights, a mask that is not of bool, or a group whose rows all
            weigh zero.
        """
        warn_if_reordered(
            outcomes=outcomes,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )
        values = check_scores(outcomes, "outcomes")
        groups = resolve_groups(sensitive_features, n_samples=len(values))
        counts = None if mask is None else _check_mask(mask, len(values))
        values, codes, weights, _ = drop_weightless(
            values, groups, sample_weight, counts
        )
        groups = replace(groups, codes=codes)
        return cls._from_rows(Rows(groups, y_pred=values, weight=weights))

    @classmethod
    def _from_rows(cls, rows: Rows) -> GroupedOutcomes:
        """Add up checked outcomes, which are the `y_pred` of the rows."""
        rows = rows.grouped()
        codes, outcomes, squares = rows.groups.codes, rows.y_pred, rows.squares
        counts = np.bincount(codes, rows.n, rows.n_groups).astype(np.intp)
        totals = sums_of_squares = counts
        if rows.weight is not None:
            if squares is None:
                n = 1 if rows.n is None else rows.n
                squares = np.square(rows.weight, dtype=float) / n
            totals = np.bincount(codes, rows.weight, rows.n_groups)
            sums_of_squares = np.bincount(codes, squares, rows.n_groups)
        if rows.totals is not None:
            outcomes = outcomes * rows.totals
        sums = np.bincount(codes, outcomes, rows.n_groups)
        groups = rows.groups
        rest = groups.labels, groups.names, groups.min_group_size
        return cls(sums, totals, sums_of_squares, counts, *rest)

    @property
    def means(self) -> Floats:
        """Mean outcome of each group, of shape (n_groups,); nan without rows."""
        return quotients(self.sums, self.totals, np.nan)

    @property
    def effective_sizes(self) -> Floats:
        """Kish's effective number of rows of each group, of shape (n_groups,).

        The number of rows where all weigh the same; 0 without rows.
        """
        return quotients(np.square(self.totals, dtype=float), self.squares)

    def with_labels(self, labels: tuple[Hashable, ...]) -> GroupedOutcomes:
        """Return the same statistic over more groups, or over groups in another order.

        Parameters
        ----------
        labels : tuple of length n_labels
            Has every label of the statistic. The others become groups without rows.

        Returns
        -------
        GroupedOutcomes
        """
        return cast(GroupedOutcomes, self._over(labels))

    def __repr__(self) -> str:
        means = ", ".join(
            f"{label!r}: {mean:.4g} of {count}"
            for label, mean, count in zip(
                self.labels, self.means, self.counts, strict=True
            )
        )
        return f"GroupedOutcomes({means})"


def _check_mask(mask: ArrayLike, n_samples: int) -> Bools:
    """Return which rows count as an array, or raise ValueError."""
    counts = as_array(mask, "mask", n_samples)
    if counts.dtype != bool:
        raise ValueError(f"mask must be an array of bool, got one of {counts.dtype}.")
    return counts

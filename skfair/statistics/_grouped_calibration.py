"""The scores of each group in bins, of positive and of negative rows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._utils._arrays import Integers
from skfair._utils._validation import as_array, check_scores
from skfair._utils._warnings import warns_if_reordered
from skfair.groups import drop_weightless, resolve_groups
from skfair.statistics._grouped_histogram import (
    GroupedHistogram,
    check_n_bins,
    count_rows,
)
from skfair.statistics._statistic import GroupedStatistic


@dataclass(frozen=True, eq=False, repr=False)
class GroupedCalibration(GroupedStatistic):
    """How many positive and negative rows of every group have scores in each bin.

    Metrics of calibration are computed from it as bounds that contain the value of the
    rows (`skfair.metrics.metric_bounds`). Its size depends on the number of bins, not
    of rows, and it is additive: ``a + b`` is the statistic of the joined rows.
    `skfair.frames.grouped_calibration` computes it where the rows are.

    Attributes
    ----------
    positive : GroupedHistogram
        Scores of the rows with a positive outcome. A group without such rows stays
        among its labels.
    negative : GroupedHistogram
        Scores of the other rows, with the same labels and number of bins.

    See Also
    --------
    GroupedHistogram : Scores in bins, of all rows.
    skfair.metrics.metric_bounds : Bounds of `calibration_gap`.

    Notes
    -----
    A cell takes 56 bytes: at most 14.7 MB for two groups and 65,536 bins.

    Examples
    --------
    >>> from skfair.metrics import calibration_gap, metric_bounds
    >>> from skfair.statistics import GroupedCalibration
    >>> monday = GroupedCalibration.from_scores(
    ...     [1, 0], [0.75, 0.25], sensitive_features=["F", "M"]
    ... )
    >>> tuesday = GroupedCalibration.from_scores(
    ...     [0, 0], [0.25, 0.75], sensitive_features=["F", "M"]
    ... )
    >>> metric_bounds(calibration_gap, monday + tuesday)
    MetricBounds(lower=0.5, upper=0.5)
    """

    positive: GroupedHistogram
    negative: GroupedHistogram

    @classmethod
    @warns_if_reordered
    def from_scores(
        cls,
        outcomes: ArrayLike,
        y_score: ArrayLike,
        *,
        sensitive_features: Any,
        n_bins: int = 2**16,
        sample_weight: ArrayLike | None = None,
    ) -> GroupedCalibration:
        """Count the scores of each group, outcome and bin.

        Parameters
        ----------
        outcomes : array-like of shape (n_samples,)
            Whether the true label of each row is the positive one: 0 and 1, or bool.
        y_score : array-like of shape (n_samples,)
            Probabilities of the positive class, in [0, 1].
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups
            Group of each row; several columns stand for their intersection.
        n_bins : int, default=65536
            Number of bins: a power of two, at most 2**52.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.

        Returns
        -------
        GroupedCalibration

        Raises
        ------
        TypeError
            If an argument is missing, or of a kind that is not taken.
        ValueError
            On outcomes other than 0 and 1, and as `GroupedHistogram.from_scores` does.
        """
        n_bins = check_n_bins(n_bins)
        scores = check_scores(y_score)
        values = as_array(outcomes, "outcomes", len(scores))
        positive = np.asarray(values == 1)
        if not (positive | (values == 0)).all():
            row = int((positive | (values == 0)).argmin())
            raise ValueError(
                f"outcomes must be 0 or 1, got {values[row]!r} in row {row}."
            )
        groups = resolve_groups(sensitive_features, n_samples=len(scores))
        rows, codes, weights, _ = drop_weightless(
            np.arange(len(scores)), groups, sample_weight
        )
        scores, positive = scores[rows], positive[rows]
        parts = []
        for kept in (positive, ~positive):
            own = None if weights is None else weights[kept]
            parts.append(count_rows(scores[kept], codes[kept], own, n_bins, groups))
        return cls(*parts)

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """Group labels."""
        return self.positive.labels

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sensitive columns, where known."""
        return self.positive.names

    @property
    def min_group_size(self) -> int:
        """Smallest number of rows with which a group may be compared."""
        return self.positive.min_group_size

    @property
    def counts(self) -> Integers:
        """Number of rows of each group, of shape (n_groups,)."""
        return self.positive.counts + self.negative.counts

    @property
    def totals(self) -> NDArray[Any]:
        """Total weight of each group, of shape (n_groups,)."""
        return np.asarray(self.positive.totals + self.negative.totals)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, GroupedCalibration):
            return NotImplemented
        return GroupedCalibration(
            self.positive + other.positive, self.negative + other.negative
        )

    def __repr__(self) -> str:
        shares = zip(self.labels, self.positive.counts, self.counts, strict=True)
        sizes = ", ".join(f"{label!r}: {hits} of {n}" for label, hits, n in shares)
        return f"GroupedCalibration({self.positive.n_bins} bins; positive rows {sizes})"

    @classmethod
    def _read_entry(cls, name: str, value: Any) -> GroupedHistogram:
        """Return one of the histograms."""
        return GroupedHistogram.from_dict(value)

"""The interval of DCP with what attains it and what explains it."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics._dcp._search._rows import Floats, kept_shares
from skfair.metrics._dcp._search._solve import Method, Options, solve_rows
from skfair.metrics._inputs import grouped_confusion, undefined_reason
from skfair.statistics import GroupedConfusion


@dataclass(frozen=True, eq=False)
class DCPResult:
    """Interval of the disparate conditional prediction, and its explanation.

    Attributes
    ----------
    lower, upper : float in [0, 1]
        DCP lies between them. `baseline` attains `upper`.
    optimal : bool
        Whether the interval is no longer than the tolerance.
    per_class : tuple of two ndarray of shape (n_classes,)
        Lower and upper bound of each true label's part, which add up to DCP.
    n_nodes : int
        Linear programs, trees and boxes that the search looked at.
    message : str
        How the search ended.
    baseline : ndarray of shape (n_classes, n_classes)
        The common confusion matrix: row y holds P(prediction | y).
    eta : ndarray of shape (n_groups, n_classes)
        Share of each group's rows of each true label that the baseline does not
        explain; nan where a group has no row of the label.
    weights : ndarray of shape (n_groups, n_classes)
        Share of the population in each group and true label.
    confusion : ndarray of shape (n_groups, n_classes, n_classes)
        What was compared.
    groups : tuple of length n_groups
        Group labels.
    classes : tuple of length n_classes
        Classes, in the order of rows and columns of the matrices.

    See Also
    --------
    dcp_bounds : Makes one from matrices.
    skfair.inspection.DCPDisplay : Draws one.
    """

    lower: float
    upper: float
    optimal: bool
    n_nodes: int
    message: str
    per_class: tuple[Floats, Floats] = field(repr=False)
    baseline: Floats = field(repr=False)
    eta: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    confusion: Floats = field(repr=False)
    groups: tuple[Hashable, ...] = field(repr=False)
    classes: tuple[Hashable, ...] = field(repr=False)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        y_pred: ArrayLike | GroupedConfusion,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        tol: float = 1e-4,
        time_limit: float | None = None,
        method: Method = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> Self:
        """Bound the DCP of given predictions.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            True labels; None only beside a statistic.
        y_pred : array-like of shape (n_samples,), or GroupedConfusion
            Predicted labels, or a statistic in place of all rows.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns)
            Group of each row; several columns stand for their intersection.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        tol, time_limit, method, n_jobs, verbose
            As in `dcp_bounds`.

        Returns
        -------
        DCPResult

        Raises
        ------
        ValueError
            On invalid labels, lengths or parameters, and missing groups.

        Warns
        -----
        sklearn.exceptions.UndefinedMetricWarning
            If a group is absent or too small, or if there is only one, whose DCP is
            0. With an absent group all numbers are nan.

        Examples
        --------
        >>> from skfair.metrics import DCPResult
        >>> y_true = ["cat", "cat", "dog", "dog"] * 2
        >>> y_pred = ["cat", "cat", "dog", "dog", "cat", "dog", "dog", "dog"]
        >>> result = DCPResult.from_predictions(
        ...     y_true, y_pred, sensitive_features=["a"] * 4 + ["b"] * 4
        ... )
        >>> round(result.upper, 3), result.optimal
        (0.125, True)
        """
        options = Options(tol, time_limit, method, n_jobs, verbose).checked()
        statistic = grouped_confusion(y_true, y_pred, sensitive_features, sample_weight)
        parts = (
            statistic.confusion,
            statistic.group_weights,
            statistic.label_frequencies,
            statistic.labels,
            statistic.classes,
        )
        if _warn_if_undefined(statistic):
            return cls._undefined(*parts)
        return cls._solve(*parts, options)

    @classmethod
    def _solve(
        cls,
        confusion: Floats,
        group_weights: Floats,
        label_frequencies: Floats,
        groups: tuple[Hashable, ...],
        classes: tuple[Hashable, ...],
        options: Options,
    ) -> Self:
        weights = group_weights[:, None] * label_frequencies
        rows = solve_rows(confusion, weights, options)
        # Scaled again, so that a label that is alone has probability one exactly.
        baseline = np.array([row.baseline / row.baseline.sum() for row in rows])
        eta = etas(baseline, confusion)
        # The parts are added up from the baseline returned: `upper` is its loss.
        uppers = (weights * eta).sum(axis=0)
        lowers = np.minimum([row.lower for row in rows], uppers)
        upper, lower = float(uppers.sum()), float(lowers.sum())
        optimal = upper - lower <= options.tol
        return cls(
            lower=min(lower, upper),
            upper=upper,
            optimal=optimal,
            n_nodes=sum(row.n_nodes for row in rows),
            message=_message(optimal, options),
            per_class=(lowers, uppers),
            baseline=baseline,
            eta=np.where(weights > 0, eta, np.nan),
            weights=weights,
            confusion=confusion,
            groups=groups,
            classes=classes,
        )

    @classmethod
    def _undefined(
        cls,
        confusion: Floats,
        group_weights: Floats,
        label_frequencies: Floats,
        groups: tuple[Hashable, ...],
        classes: tuple[Hashable, ...],
    ) -> Self:
        n_classes = len(classes)
        nothing = np.full(n_classes, np.nan)
        return cls(
            lower=np.nan,
            upper=np.nan,
            optimal=False,
            n_nodes=0,
            message="undefined: a group is absent or too small",
            per_class=(nothing, nothing),
            baseline=np.full((n_classes, n_classes), np.nan),
            eta=np.full(label_frequencies.shape, np.nan),
            weights=group_weights[:, None] * label_frequencies,
            confusion=confusion,
            groups=groups,
            classes=classes,
        )

    def to_frame(self) -> pd.DataFrame:
        """Who is treated differently, and how: one row for each group and true label.

        Returns
        -------
        DataFrame, the largest part of the disparity first
            ``weight``: share of the population; ``eta``: share of these rows that the
            baseline does not explain; ``disparity``: their product, which adds up to
            `upper`; ``share``: of `upper`; ``too_rare``: the predicted label that
            decides eta, whose ``rate`` falls furthest below its ``baseline_rate`` in
            proportion; ``too_frequent``: the predicted label that most of the
            unexplained rows have. The last four are empty where eta is 0.

        Examples
        --------
        >>> from skfair.metrics import dcp_bounds
        >>> fair, unfair = [[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.5, 0.5]]
        >>> result = dcp_bounds([fair, unfair], [0.7, 0.3], [[0.5, 0.5]] * 2)
        >>> result.to_frame().head(1)[["group", "class", "disparity", "too_rare"]]
           group  class  disparity  too_rare
        0      1      1    0.05625       1.0
        """
        groups, classes = np.indices(self.eta.shape).reshape(2, -1)
        base = self.baseline[classes]
        own = self.confusion[groups, classes]
        eta = self.eta.ravel()
        ratios = np.full(own.shape, np.inf)
        np.divide(own, base, out=ratios, where=base > 0)
        rare = ratios.argmin(axis=1)
        frequent = (own - (1 - eta[:, None]) * base).argmax(axis=1)
        each = np.arange(len(eta))
        differs = eta > 0
        disparity = self.weights.ravel() * np.nan_to_num(eta)
        whole = disparity.sum()
        names = pd.Series(list(self.classes))
        frame = pd.DataFrame(
            {
                "group": pd.Series([self.groups[a] for a in groups]),
                "class": names[classes].to_numpy(),
                "weight": self.weights.ravel(),
                "eta": eta,
                "disparity": disparity,
                "share": disparity / whole if whole > 0 else disparity,
                "too_rare": names[rare].reset_index(drop=True).where(differs),
                "rate": np.where(differs, own[each, rare], np.nan),
                "baseline_rate": np.where(differs, base[each, rare], np.nan),
                "too_frequent": names[frequent].reset_index(drop=True).where(differs),
            }
        )
        return frame.sort_values(
            "disparity", ascending=False, kind="stable", ignore_index=True
        )


def etas(baseline: Floats, confusion: Floats) -> Floats:
    """Share of each group and true label that a baseline does not explain.

    Parameters
    ----------
    baseline : ndarray of shape (n_classes, n_classes)
    confusion : ndarray of shape (n_groups, n_classes, n_classes)

    Returns
    -------
    ndarray of shape (n_groups, n_classes)
    """
    kept = [kept_shares(row, confusion[:, y]) for y, row in enumerate(baseline)]
    return 1.0 - np.column_stack(kept)


def _message(optimal: bool, options: Options) -> str:
    if optimal:
        return f"optimal: the bounds meet within {options.tol:g}"
    if options.method in ("auto", "enumerate", "branch_and_bound"):
        return f"time_limit of {options.time_limit:g} s reached"
    return f"method {options.method!r} does not search for a proof"


def _warn_if_undefined(statistic: GroupedConfusion) -> bool:
    """Whether DCP is undefined; warn if so, and if a single group makes it 0."""
    reason = undefined_reason(statistic)
    if reason is None:
        return False
    single = statistic.n_groups == 1 and statistic.counts[0] >= max(
        statistic.min_group_size, 1
    )
    # A single group has a common baseline, its own: that says nothing about fairness.
    value = "0 for a single group" if single else "undefined and set to nan"
    warnings.warn(f"DCP is {value}: {reason}.", UndefinedMetricWarning, stacklevel=4)
    return not single

"""The confusion matrices that a metric was given, and whether they compare."""

from __future__ import annotations

import warnings
from typing import Any

from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics._comparison import check_no_rows, undefined_reason
from skfair.statistics import GroupedConfusion


def grouped_confusion(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedConfusion,
    sensitive_features: Any,
    sample_weight: ArrayLike | None,
) -> GroupedConfusion:
    """Statistic of the rows that a metric was given.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
    y_pred : array-like of shape (n_samples,), or GroupedConfusion
        A statistic is returned as it is.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
    sample_weight : array-like of shape (n_samples,) or None

    Returns
    -------
    GroupedConfusion

    Raises
    ------
    ValueError
        On invalid input, and on rows beside a statistic that has them already.
    """
    if isinstance(y_pred, GroupedConfusion):
        check_no_rows(
            y_true=y_true,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )
        return y_pred
    return GroupedConfusion.from_predictions(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
    )


def are_comparable(statistic: GroupedConfusion) -> bool:
    """Whether DCP is a number; warn if it is not, and of a group that is alone.

    One group has a common baseline, its own, so that its DCP is 0 by definition. That
    says nothing about fairness, hence the warning.

    Parameters
    ----------
    statistic : GroupedConfusion

    Returns
    -------
    bool
    """
    reason = undefined_reason(statistic)
    if reason is None:
        return True
    alone = statistic.n_groups == 1 and "at least two" in reason
    outcome = "0 for want of a comparison" if alone else "undefined and set to nan"
    warnings.warn(f"DCP is {outcome}: {reason}.", UndefinedMetricWarning, stacklevel=4)
    return alone

"""What all metrics of score distributions share: inputs, and comparing groups."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning

from skfair._utils._validation import check_choice
from skfair.statistics import GroupedConfusion, GroupedOutcomes, GroupedScores

Multigroup = Literal["pairwise", "pooled"]
Statistic = GroupedScores | GroupedConfusion | GroupedOutcomes


def grouped_scores(
    y_true: ArrayLike | None,
    y_score: ArrayLike | GroupedScores,
    sensitive_features: Any,
    sample_weight: ArrayLike | None,
) -> GroupedScores:
    """Statistic of the rows that a metric was given.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        Ignored, but of the right length and binary.
    y_score : array-like of shape (n_samples,), or GroupedScores
        A statistic is returned as it is.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
    sample_weight : array-like of shape (n_samples,) or None

    Returns
    -------
    GroupedScores

    Raises
    ------
    ValueError
        On invalid input, and on rows beside a statistic that has them already.
    """
    if isinstance(y_score, GroupedScores):
        check_no_rows(
            y_true=y_true,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )
        return y_score
    check_y_true(y_true, y_score)
    return GroupedScores.from_scores(
        y_score, sensitive_features=sensitive_features, sample_weight=sample_weight
    )


def check_no_rows(**rows: Any) -> None:
    """Raise if anything is given by row beside a statistic."""
    given = [name for name, values in rows.items() if values is not None]
    if given:
        raise ValueError(
            f"{given[0]} must be None where a statistic takes the place of the rows."
        )


def check_y_true(y_true: ArrayLike | None, y_score: Any) -> None:
    """Raise unless `y_true` is None, or binary and of the length of `y_score`."""
    if y_true is None:
        return
    values = np.asarray(y_true)
    if values.ndim != 1 or len(values) != len(y_score):
        raise ValueError(
            f"y_true must have shape ({len(y_score)},), one label for each row of "
            f"y_score, got {values.shape}."
        )
    if len(values) == 0:
        return
    n_missing = int(np.count_nonzero(pd.isna(values)))
    if n_missing:
        raise ValueError(f"y_true has {n_missing} missing values, expected none.")
    if values.dtype.kind in "biuf":
        low, high = values.min(), values.max()
        if bool(((values == low) | (values == high)).all()):
            return
    classes = pd.unique(values)
    if len(classes) > 2:
        raise ValueError(
            f"y_true must be binary, got {len(classes)} classes: "
            f"{classes[:5].tolist()}{'...' if len(classes) > 5 else ''}."
        )


def check_group_weights(
    values: ArrayLike, labels: Sequence[Hashable] | None = None
) -> NDArray[np.float64]:
    """Return the weights of the groups, scaled to sum to one."""
    weights = np.asarray(values)
    if weights.dtype.kind not in "biufO":
        raise ValueError(
            "group_weights must be numbers, one for each group, got an array of "
            f"{weights.dtype}."
        )
    n_groups = weights.size if labels is None else len(labels)
    if weights.shape != (n_groups,) or n_groups == 0:
        expected = "n_groups" if labels is None else n_groups
        raise ValueError(
            f"group_weights must have shape ({expected},), one weight for each group, "
            f"got {weights.shape}."
        )
    weights = weights.astype(np.float64)
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        position = int(bad.argmax())
        label = position if labels is None else labels[position]
        raise ValueError(
            "group_weights must be finite and non-negative, got "
            f"{weights[position]} for group {label!r}."
        )
    if not weights.any():
        raise ValueError("group_weights must have a positive sum, got 0.")
    return np.asarray(weights / weights.sum())


def undefined_reason(statistic: Statistic) -> str | None:
    """Say why groups cannot be compared, with their names.

    Parameters
    ----------
    statistic : GroupedScores, GroupedConfusion or GroupedOutcomes

    Returns
    -------
    str or None
        None if every group can be compared.
    """
    labels, counts = statistic.labels, statistic.counts
    smallest = max(statistic.min_group_size, 1)
    small = np.flatnonzero(counts < smallest)
    if len(small):
        named = ", ".join(f"{labels[i]!r} has {counts[i]} rows" for i in small[:5])
        more = f" and {len(small) - 5} more" if len(small) > 5 else ""
        return f"each group needs at least {smallest} rows, and {named}{more}"
    if len(labels) < 2:
        return f"there must be at least two groups, got only {list(labels)}"
    return None


def is_defined(metric: str, statistic: Statistic) -> bool:
    """Whether every group can be compared; if not, warn and name the groups.

    Parameters
    ----------
    metric : str
        Name for the message.
    statistic : GroupedScores, GroupedConfusion or GroupedOutcomes

    Returns
    -------
    bool
    """
    reason = undefined_reason(statistic)
    if reason is not None:
        warnings.warn(
            f"{metric} is undefined and set to nan: {reason}.",
            UndefinedMetricWarning,
            stacklevel=3,
        )
    return reason is None


def check_multigroup(multigroup: str) -> None:
    """Raise unless `multigroup` is one of its two values."""
    check_choice("multigroup", multigroup, ("pairwise", "pooled"))


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

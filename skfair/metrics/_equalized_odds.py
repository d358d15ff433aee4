"""Equalized odds difference, for any number of classes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair.metrics._evaluate import always, specify
from skfair.metrics._inputs import (
    Multigroup,
    check_multigroup,
    grouped_confusion,
    largest_difference,
)
from skfair.metrics._strata import Multistratum
from skfair.metrics._undefined import warn_if_undefined, warn_undefined
from skfair.statistics import GroupedConfusion


def sum_of_differences(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any = None,
    sample_weight: Any = None,
) -> float:
    """Add up all differences between rates of a group and of everyone.

    The largest difference takes few values where a group has few rows of a label. Among
    permutations with the same largest difference the sum tells which are larger.
    """
    rates, everyone = _rates(
        grouped_confusion(y_true, y_pred, sensitive_features, sample_weight)
    )
    return float(np.abs(rates - everyone).sum())


@specify(
    "Equalized odds difference",
    statistic=GroupedConfusion,
    compares_errors=always,
    ties=sum_of_differences,
)
def equalized_odds_difference(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedConfusion,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Largest difference between groups of P(prediction | true label).

    With two classes it is the larger of the differences of true and of false positive
    rates. Unlike `dcp` it does not say how many people are concerned: the rates of a
    rare class count as much as those of any other.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels of any number of classes; None only beside a statistic.
    y_pred : array-like of shape (n_samples,), or GroupedConfusion
        Predicted labels, or a statistic in place of all rows.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, such as its department or its true label, within which
        groups are compared; several columns stand for their intersection. Strata
        without two groups are left out, with a warning that names them.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest difference between two groups, or between a group and everyone,
        the group included. The second is smaller, even with two groups.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    float in [0, 1]
        0 is equalized odds. nan with a warning where it is undefined.

    Raises
    ------
    ValueError
        On missing or continuous labels, lengths that differ, or missing groups.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared, or a group has no row of a true
        label: its rates do not exist.

    See Also
    --------
    dcp : The share of people whose predictions differ from a common baseline.

    References
    ----------
    .. [1] Hardt, Price, Srebro. "Equality of Opportunity in Supervised Learning".
       NeurIPS 2016.
    .. [2] Putzel, Lee. "Blackbox Post-Processing for Multiclass Fairness". 2022. The
       term-by-term multiclass form.

    Examples
    --------
    >>> from skfair.metrics import equalized_odds_difference
    >>> y_true = ["cat", "cat", "dog", "dog"] * 2
    >>> y_pred = ["cat", "cat", "dog", "dog", "cat", "dog", "dog", "dog"]
    >>> equalized_odds_difference(
    ...     y_true, y_pred, sensitive_features=["a"] * 4 + ["b"] * 4
    ... )
    0.5
    """
    statistic = grouped_confusion(y_true, y_pred, sensitive_features, sample_weight)
    check_multigroup(multigroup)
    if warn_if_undefined("Equalized odds difference", statistic):
        return math.nan
    true = statistic.matrices.sum(axis=(0, 2)) > 0
    lacks = statistic.label_frequencies[:, true] == 0
    if lacks.any():
        group, label = (int(i) for i in np.argwhere(lacks)[0])
        named = [
            c for c, is_true in zip(statistic.classes, true, strict=True) if is_true
        ]
        warn_undefined(
            "Equalized odds difference",
            f"group {statistic.labels[group]!r} has no row of the true label "
            f"{named[label]!r} ({int(lacks.sum())} such pairs)",
        )
        return math.nan
    rates, everyone = _rates(statistic)
    return largest_difference(rates, everyone, multigroup)


def _rates(
    statistic: GroupedConfusion,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """P(prediction | true label) of each group, and of everyone."""
    pooled = statistic.matrices.sum(axis=0)
    # A class that is only ever predicted has no rates to compare.
    true = pooled.sum(axis=1) > 0
    everyone = pooled[true] / pooled[true].sum(axis=1, keepdims=True)
    return statistic.confusion[:, true], everyone

"""Differences between groups of the mean error of predicted numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skfair._rows import Rows
from skfair._utils._arrays import Floats
from skfair._utils._validation import LARGEST_NUMBER, as_array, check_numbers
from skfair.metrics._demographic_parity import (
    locate_means,
    pairs_of_means,
    rows_of_numbers,
)
from skfair.metrics._evaluate import never, specify
from skfair.metrics._inputs import Multigroup
from skfair.metrics._spec import Countable
from skfair.metrics._strata import Multistratum
from skfair.metrics._undefined import value_or_nan
from skfair.statistics import GroupedScores


def errors_of(y_true: Any, y_pred: Any) -> Floats:
    """Predicted minus true value of each row."""
    if y_true is None:
        raise ValueError("y_true must be the true values, one for each row, got None.")
    # Half of it, so that their difference is one of the numbers that can be added up.
    largest = LARGEST_NUMBER / 2
    predicted = check_numbers(y_pred, "y_pred", largest)
    true = as_array(y_true, "y_true", len(predicted))
    return predicted - check_numbers(true, "y_true", largest)


def _difference_of_errors(
    title: str, errors: Floats, groups: Any, weights: Any, multigroup: Multigroup
) -> float:
    """Largest difference of mean errors, or nan with the reason."""
    statistic = GroupedScores.from_scores(
        errors, sensitive_features=groups, scale="real", sample_weight=weights
    )
    return value_or_nan(title, statistic, locate_means, multigroup=multigroup)


def _rows_of_errors(rows: Rows) -> Countable:
    """Sort the errors of rows."""
    return rows_of_numbers(rows, errors_of(rows.y_true, rows.y_pred))


def _rows_of_absolute_errors(rows: Rows) -> Countable:
    """Sort the absolute errors of rows."""
    return rows_of_numbers(rows, np.abs(errors_of(rows.y_true, rows.y_pred)))


@specify(
    compares_errors=never,
    maximum=math.inf,
    countable=_rows_of_errors,
    pairs=pairs_of_means,
    locate=locate_means,
)
def mean_error_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: Any,
    control_features: Any = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Largest difference between groups of the mean error of predicted numbers.

    The error of a row is its predicted minus its true value, in the unit of the target.
    A group with a larger mean error than another is overestimated beside it. 0 says
    that errors are equal on average, not that they are equally large, which
    `mean_absolute_error_difference` compares.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True values, any finite numbers.
    y_pred : array-like of shape (n_samples,)
        Predicted values.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, within which groups are compared; several columns stand for
        their intersection. Strata without two groups are left out, with a warning that
        names them.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest difference between two groups, or between a group and everyone,
        the group included. The second is smaller, even with two groups.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    float
        At least 0, in the unit of the target. nan with a warning where a group is
        absent or too small.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On values that are no finite numbers, lengths that differ, or missing groups.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    demographic_parity_difference : Difference of the mean predictions.
    group_metrics : Any metric of scikit-learn by group.
    mean_absolute_error_difference : Compares the sizes of errors.

    Examples
    --------
    >>> from skfair.metrics import mean_error_difference
    >>> salary, predicted = [30, 40, 36, 44], [28, 37, 38, 45]
    >>> sex = ["F", "F", "M", "M"]
    >>> mean_error_difference(salary, predicted, sensitive_features=sex)
    4.0
    """
    errors = errors_of(y_true, y_pred)
    given = errors, sensitive_features, sample_weight, multigroup
    return _difference_of_errors("mean_error_difference", *given)


@specify(
    compares_errors=never,
    maximum=math.inf,
    countable=_rows_of_absolute_errors,
    pairs=pairs_of_means,
    locate=locate_means,
)
def mean_absolute_error_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: Any,
    control_features: Any = None,
    multigroup: Multigroup = "pairwise",
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Largest difference between groups of the mean absolute error.

    0 says that predictions of all groups are equally exact on average. Groups may have
    errors of other signs, which `mean_error_difference` compares.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True values, any finite numbers.
    y_pred : array-like of shape (n_samples,)
        Predicted values.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, within which groups are compared; several columns stand for
        their intersection. Strata without two groups are left out, with a warning that
        names them.
    multigroup : {"pairwise", "pooled"}, default="pairwise"
        The largest difference between two groups, or between a group and everyone,
        the group included. The second is smaller, even with two groups.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    float
        At least 0, in the unit of the target. nan with a warning where a group is
        absent or too small.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On values that are no finite numbers, lengths that differ, or missing groups.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    mean_error_difference : Difference of the signed errors.

    Examples
    --------
    >>> from skfair.metrics import mean_absolute_error_difference
    >>> salary, predicted = [30, 40, 36, 44], [28, 37, 38, 45]
    >>> sex = ["F", "F", "M", "M"]
    >>> mean_absolute_error_difference(salary, predicted, sensitive_features=sex)
    1.0
    """
    errors = np.abs(errors_of(y_true, y_pred))
    given = errors, sensitive_features, sample_weight, multigroup
    return _difference_of_errors("mean_absolute_error_difference", *given)

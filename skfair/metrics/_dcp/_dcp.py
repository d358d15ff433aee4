"""Multiclass DCP of predictions, as a metric."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from skfair.metrics._dcp._result import DCPResult
from skfair.metrics._dcp._search._solve import Method
from skfair.statistics import GroupedConfusion


def dcp(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | GroupedConfusion,
    *,
    sensitive_features: Any = None,
    method: Method = "auto",
    tol: float = 1e-4,
    time_limit: float | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Share of the population that a classifier treats differently.

    Disparate conditional prediction (DCP) is the least share of people whose
    predictions must be taken away so that the others' confusion matrices are the same
    in all groups: 0 is equalized odds, for any number of labels and groups.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True labels; None only beside a statistic.
    y_pred : array-like of shape (n_samples,), or GroupedConfusion
        Predicted labels, or a statistic in place of all rows.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    method : str, default="auto"
        As in `dcp_bounds`. ``"local"`` has no proof but takes milliseconds.
    tol : float in (0, 1), default=1e-4
        The value is at most this above the true one, unless `method` has no proof or
        `time_limit` ends first.
    time_limit : float, default=None
        Seconds after which the search ends.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    float in [0, 1]
        The upper bound that the best baseline found attains. nan with a warning where
        a group is absent or too small.

    Raises
    ------
    ValueError
        On missing or continuous labels, lengths that differ, or missing groups.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If a group is absent or too small, or if there is only one, whose DCP is 0.

    See Also
    --------
    DCPResult.from_predictions : The interval, the baseline and what explains it.
    equalized_odds_difference : The largest difference instead of a share of people.

    References
    ----------
    .. [1] Sabato, Treister, Yom-Tov. "Disparate Conditional Prediction in Multiclass
       Classifiers". ICML 2025. Equation 5.

    Examples
    --------
    >>> from skfair.metrics import dcp
    >>> y_true = ["cat", "cat", "dog", "dog"] * 2
    >>> y_pred = ["cat", "cat", "dog", "dog", "cat", "dog", "dog", "dog"]
    >>> dcp(y_true, y_pred, sensitive_features=["a"] * 4 + ["b"] * 4)
    0.125
    """
    result = DCPResult.from_predictions(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        tol=tol,
        time_limit=time_limit,
        method=method,
    )
    return result.upper

"""What displays are made from: an estimator's scores, groups and their sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from skfair._utils._columns import names_columns
from skfair._utils._response import respond
from skfair._utils._validation import count_rows
from skfair.groups import Groups, resolve_groups
from skfair.metrics._inputs import undefined_reason
from skfair.statistics import GroupedOutcomes, GroupedScores


def estimator_scores(
    estimator: Any, X: Any, sensitive_features: Any
) -> tuple[NDArray[Any], Groups]:
    """Scores of the positive class, and the group of each row.

    Parameters
    ----------
    estimator : estimator instance
        Fitted binary classifier with `predict_proba`. If that takes
        `sensitive_features` by name, labels are handed on to it.
    X : array-like of shape (n_samples, n_features)
    sensitive_features : array-like, str, int, list of str, list of int, or callable

    Returns
    -------
    y_score : ndarray of shape (n_samples,)
    groups : Groups of n_samples rows

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    ValueError
        If it has no `predict_proba` or other than two classes, or on groups that
        cannot be resolved.
    """
    name = type(estimator).__name__
    check_is_fitted(estimator)
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"{name} has no predict_proba, expected a classifier that predicts "
            "probabilities. Wrap it in sklearn.calibration.CalibratedClassifierCV, or "
            "pass scores in [0, 1] to from_predictions."
        )
    classes = list(estimator.classes_)
    if len(classes) != 2:
        raise ValueError(
            f"{name} must be a binary classifier, it was fitted on {len(classes)} "
            f"classes: {classes}."
        )
    return respond_with_groups(estimator, "predict_proba", X, sensitive_features)


def respond_with_groups(
    estimator: Any, method: str, X: Any, sensitive_features: Any
) -> tuple[NDArray[Any], Groups]:
    """Responses of a classifier, and the groups of the rows.

    Parameters
    ----------
    estimator : fitted classifier
        Told the groups if it asks for them and they are no columns of X.
    method : {"predict", "predict_proba"}
    X : array-like of shape (n_samples, n_features)
    sensitive_features : array-like, or names of columns of X

    Returns
    -------
    response : ndarray of shape (n_samples,)
    groups : Groups

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    ValueError
        On groups that cannot be resolved.
    """
    check_is_fitted(estimator)
    n_samples = count_rows(X)
    named = names_columns(sensitive_features, n_samples)
    routed = None if named else sensitive_features
    selector = sensitive_features if named else None
    groups = resolve_groups(routed, n_samples=n_samples, X=X, selector=selector)
    return respond(estimator, method, X, sensitive_features=routed), groups


def check_comparable(statistic: GroupedScores) -> None:
    """Raise unless there are two groups or more, each with enough rows.

    A metric would be nan here, of which there is no picture.

    Parameters
    ----------
    statistic : GroupedScores

    Raises
    ------
    ValueError
        With the names of the groups.
    """
    reason = undefined_reason(statistic)
    if reason is not None:
        raise ValueError(f"sensitive_features leave nothing to compare: {reason}.")


def effective_sizes(
    statistic: GroupedScores, sensitive_features: Any, sample_weight: ArrayLike | None
) -> NDArray[np.float64]:
    """Kish's effective number of rows of each group, nan where it cannot be known.

    Parameters
    ----------
    statistic : GroupedScores
        Of the rows that the other two arguments describe, or, with both None, given
        in place of rows. It then tells the size of unweighted rows only.
    sensitive_features : array-like of shape (n_samples,), Groups or None
    sample_weight : array-like of shape (n_samples,) or None

    Returns
    -------
    ndarray of shape (n_groups,)
    """
    sizes = statistic.counts.astype(np.float64)
    if sample_weight is not None:
        return GroupedOutcomes.from_outcomes(
            np.zeros(len(np.asarray(sample_weight))),
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        ).effective_sizes
    whole = statistic.weights.dtype.kind == "i"
    # Positive whole weights that add up to the number of rows are all 1.
    if whole and np.array_equal(statistic.totals, statistic.counts):
        return sizes
    return np.full(len(sizes), np.nan)

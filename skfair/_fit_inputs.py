"""What a mitigator is given to fit: a table, labels of two classes, and groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils import (
    _safe_indexing,
    assert_all_finite,
    check_array,
    check_consistent_length,
    column_or_1d,
    indexable,
)
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from skfair.groups import Groups, encode_groups


def check_table(X: Any) -> Any:
    """Return X as rows that can be split, with columns unless they are text.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)

    Returns
    -------
    list, array, sparse matrix or dataframe

    Raises
    ------
    ValueError
        On an array of numbers that is empty or has not two dimensions.
    """
    X = indexable(X)[0]
    if isinstance(X, np.ndarray) and (X.ndim != 1 or X.dtype.kind in "biufc"):
        check_array(X, dtype=None, ensure_all_finite=False)
    return X


def groups_to_compare(groups: Groups) -> Groups:
    """Keep the labels of groups that have rows, of which there must be two.

    Parameters
    ----------
    groups : Groups

    Returns
    -------
    Groups

    Raises
    ------
    ValueError
        On fewer than two groups.
    """
    present = [groups.labels[group] for group in np.flatnonzero(groups.sizes())]
    if len(present) < 2:
        raise ValueError(
            f"sensitive_features has the groups {present}, expected at least two."
        )
    return encode_groups(groups, labels=present)


def params_of_rows(
    params: dict[str, Any], rows: NDArray[np.intp], n_samples: int
) -> dict[str, Any]:
    """Parameters for a fit to some of the rows: what has an entry for each is split.

    Parameters
    ----------
    params : dict
    rows : ndarray of int
    n_samples : int
        Number of all rows.

    Returns
    -------
    dict
    """
    return {
        name: _safe_indexing(value, rows) if _is_by_row(value, n_samples) else value
        for name, value in params.items()
    }


def _is_by_row(value: Any, n_samples: int) -> bool:
    if isinstance(value, (str, bytes, dict)):
        return False
    if hasattr(value, "shape"):
        return len(value.shape) > 0 and value.shape[0] == n_samples
    return hasattr(value, "__len__") and len(value) == n_samples


def check_labels(
    X: Any, y: Any, estimator: Any, sample_weight: NDArray[Any] | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Labels of two classes, one for each row of X.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    estimator : classifier
        If frozen, its classes are those of y.
    sample_weight : ndarray of shape (n_samples,) or None
        Classes without any weight do not count.

    Returns
    -------
    y : ndarray of shape (n_samples,)
    classes : ndarray of shape (2,)

    Raises
    ------
    ValueError
        On wrong lengths, and on other than two classes.
    """
    check_consistent_length(X, y)
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    classes = np.unique(y)
    if isinstance(estimator, FrozenEstimator):
        check_is_fitted(estimator)
        classes = np.asarray(estimator.classes_)
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(y)}, with the classes {classes[:5].tolist()}."
        )
    weighing = y if sample_weight is None else y[sample_weight > 0]
    if not len(weighing):
        raise ValueError(
            "sample_weight is zero in every row, expected positive weights."
        )
    if len(found := np.unique(weighing)) < 2:
        raise ValueError(f"y must have two classes, got 1 class: {found.tolist()}.")
    strange = np.setdiff1d(y, classes)
    if len(strange):
        raise ValueError(
            f"y has the classes {strange.tolist()}, expected those of the fitted "
            f"estimator, {classes.tolist()}."
        )
    return y, classes

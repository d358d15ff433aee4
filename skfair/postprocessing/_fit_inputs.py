"""What a meta-estimator is given: parameters, labels, groups, and what others get."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.utils import (
    assert_all_finite,
    check_array,
    check_consistent_length,
    column_or_1d,
    indexable,
)
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from skfair._parameters import check_choice, check_integer, check_real
from skfair.groups import Groups, Selector, encode_groups, resolve_groups


def check_parameters(model: Any) -> None:
    """Raise unless the parameters of a `MADDPostProcessor` are valid.

    Parameters
    ----------
    model : MADDPostProcessor

    Raises
    ------
    TypeError
        If its estimator has no `predict_proba`.
    ValueError
        On a parameter out of range.
    """
    if not hasattr(model.estimator, "predict_proba"):
        raise TypeError(
            f"estimator must have predict_proba, got {model.estimator!r}. Wrap it in "
            "sklearn.calibration.CalibratedClassifierCV."
        )
    if model.repair_level != "auto":
        check_real("repair_level", model.repair_level, 0, 1, alternative="'auto' or ")
    check_real("theta", model.theta, 0, 1)
    check_real("threshold", model.threshold, 0, 1)
    check_integer("n_levels", model.n_levels, 2)
    if isinstance(model.cv, numbers.Integral):
        check_integer("cv", model.cv, 2)
    choices = {
        "accuracy_loss": ("zero_one", "log_loss"),
        "fairness": ("madd", "mcdp"),
        "ensemble": (True, False, "auto"),
        "drop_sensitive": (True, False),
        "ties": ("mid", "random"),
        "unknown_groups": ("raise", "pooled"),
    }
    for name, allowed in choices.items():
        value = getattr(model, name)
        if not (callable(value) and name in ("accuracy_loss", "fairness")):
            check_choice(name, value, allowed)


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


def count_rows(X: Any) -> int:
    """Return the number of rows of X.

    Parameters
    ----------
    X : list, array, sparse matrix or dataframe

    Returns
    -------
    int
    """
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def groups_to_repair(
    sensitive_features: Any, X: Any, n_samples: int, selector: Selector | None
) -> Groups:
    """Find the groups that have rows, of which there must be two.

    Parameters
    ----------
    sensitive_features : array-like of shape (n_samples,) or None
    X : array-like of shape (n_samples, n_features)
    n_samples : int
    selector : Selector or None

    Returns
    -------
    Groups

    Raises
    ------
    ValueError
        As `resolve_groups`, and on fewer than two groups.
    """
    groups = resolve_groups(
        sensitive_features, n_samples=n_samples, X=X, selector=selector
    )
    present = [groups.labels[group] for group in np.flatnonzero(groups.sizes())]
    if len(present) < 2:
        raise ValueError(
            f"sensitive_features has the groups {present}, expected at least two."
        )
    return encode_groups(groups, labels=present)


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


def params_for_others(
    owner: Any,
    sensitive_features: Any,
    sample_weight: ArrayLike | None,
    fit_params: dict[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Route parameters to the estimator's `fit` and to the splitter's `split`.

    Parameters
    ----------
    owner : meta-estimator
        Its ``estimator`` and ``cv`` are meant.
    sensitive_features : array-like of shape (n_samples,) or None
    sample_weight : array-like of shape (n_samples,) or None
    fit_params : dict

    Returns
    -------
    for_fit, for_split : dict

    Warns
    -----
    UserWarning
        If there are weights that the estimator does not take.
    """
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(
            owner,
            "fit",
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            **fit_params,
        )
        return dict(routed.estimator.fit), dict(routed.splitter.split)
    for_fit = dict(fit_params)
    if sample_weight is not None:
        if has_fit_parameter(owner.estimator, "sample_weight"):
            for_fit["sample_weight"] = sample_weight
        else:
            warnings.warn(
                f"{type(owner.estimator).__name__}.fit takes no sample_weight: the "
                "weights count in the repair only. In a Pipeline, enable metadata "
                "routing.",
                UserWarning,
                stacklevel=3,
            )
    return for_fit, {}

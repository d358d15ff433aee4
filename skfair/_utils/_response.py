"""Responses of classifiers, told the groups where they ask for them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils.metadata_routing import get_routing_for_object


def asks_for_groups(estimator: Any, method: str) -> bool:
    """Whether a predict method wants `sensitive_features`.

    Under metadata routing it is what the estimator requests, however deeply nested;
    without, what the method's signature says.

    Parameters
    ----------
    estimator : estimator
    method : str

    Returns
    -------
    bool
    """
    if get_config()["enable_metadata_routing"]:
        request = get_routing_for_object(estimator)
        return bool(request.consumes(method, ["sensitive_features"]))
    parameters = inspect.signature(getattr(estimator, method)).parameters
    return "sensitive_features" in parameters


def respond(
    estimator: Any,
    method: str,
    X: Any,
    pos_label: Any = None,
    sensitive_features: Any = None,
) -> NDArray[Any]:
    """Ask a classifier, and keep the positive class where there are two.

    Parameters
    ----------
    estimator : fitted classifier
    method : {"predict", "predict_proba", "decision_function"}
    X : array-like of shape (n_samples, n_features)
    pos_label : int, float, bool or str, default=None
        The positive class; None stands for the second.
    sensitive_features : array-like of shape (n_samples,), default=None
        Groups, handed on if the method asks for them.

    Returns
    -------
    ndarray of shape (n_samples,), or (n_samples, n_classes) for more classes
    """
    metadata = {}
    if sensitive_features is not None and asks_for_groups(estimator, method):
        metadata["sensitive_features"] = sensitive_features
    response = np.asarray(getattr(estimator, method)(X, **metadata))
    if method == "predict" or len(estimator.classes_) != 2:
        return response
    positive = 1 if pos_label is None else list(estimator.classes_).index(pos_label)
    if response.ndim == 2:
        return response[:, positive]
    return response if positive == 1 else -response

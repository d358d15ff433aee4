"""Responses of classifiers, told the groups where they ask for them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils.metadata_routing import get_routing_for_object


def asks_for_groups(estimator: Any, method: str) -> bool:
    """Whether a predict method takes `sensitive_features`.

    Under metadata routing the estimator's requests decide, however deeply nested;
    without, the method's signature.
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
    """Return the response of a classifier, for the positive class if there are two.

    The positive class is `pos_label`, by default the second; groups are passed on if
    the method takes them.
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

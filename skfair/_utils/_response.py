"""Responses of classifiers, told the groups where they ask for them."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    FixedThresholdClassifier,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import check_is_fitted

from skfair._utils._text import shown

#: Methods whose responses have ranks; the first that an estimator has is taken.
RANKED_METHODS = ("predict_proba", "decision_function", "predict")


def check_fitted(estimator: Any) -> None:
    """Raise unless `estimator` is a fitted estimator."""
    if not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must be a fitted model, got {shown(estimator)}.")
    check_is_fitted(estimator)


def find_score_method(estimator: Any, response_method: str | tuple[str, ...]) -> str:
    """Return the first of some methods that an estimator has; raise if it has none.

    Predicted labels are not accepted as scores, since they have no ranks.
    """
    methods = response_method
    if isinstance(methods, str):
        methods = (methods,)
    elif methods == RANKED_METHODS and is_classifier(estimator):
        methods = RANKED_METHODS[:2]
    for method in methods:
        if hasattr(estimator, method):
            return method
    name, hint = type(estimator).__name__, ""
    if methods == ("predict_proba",):
        others = [RANKED_METHODS[1]] if is_classifier(estimator) else RANKED_METHODS
        other = next((method for method in others if hasattr(estimator, method)), "")
        hint = f" With scale='rank' metrics of distributions compare its {other}."
        if other and is_classifier(estimator):
            hint = f" Wrap it in sklearn.calibration.CalibratedClassifierCV.{hint}"
        hint = hint if other else ""
    raise ValueError(
        f"{name} has no {' or '.join(methods)}, whose scores are compared.{hint}"
    )


def accepted_metadata(
    estimator: Any, method: str, metadata: dict[str, Any]
) -> dict[str, Any]:
    """Return the metadata that a predict method takes, such as groups.

    With metadata routing, the requests of the estimator and its parts decide; without
    routing, the signature of the method decides.
    """
    names: Any = [name for name, values in metadata.items() if values is not None]
    if names and get_config()["enable_metadata_routing"]:
        names = get_routing_for_object(estimator).consumes(method, names)
    elif names:
        parameters = inspect.signature(getattr(estimator, method)).parameters
        names = [name for name in names if name in parameters]
    return {name: metadata[name] for name in names}


@contextmanager
def tip_for_unknown_columns(
    estimator: Any, X: Any, sensitive_features: Any
) -> Iterator[None]:
    """Say how to pass a sensitive column of X that the estimator was not fitted on."""
    try:
        yield
    except ValueError as error:
        unknown = _unknown_columns(estimator, X, sensitive_features)
        if not unknown:
            raise
        raise ValueError(
            f"{error}\n{type(estimator).__name__} was fitted without {unknown}: leave "
            "the sensitive columns out of X, and pass their values beside it, in "
            "sensitive_features."
        ) from error


def _unknown_columns(estimator: Any, X: Any, named: Any) -> list[Any]:
    """Return the sensitive columns of X that the estimator was not fitted on.

    Columns named by position count only if X has exactly that many columns more than
    the estimator saw.
    """
    named = list(named) if isinstance(named, (list, tuple)) else [named]
    names = getattr(estimator, "feature_names_in_", None)
    if all(isinstance(column, str) for column in named):
        return [] if names is None else [name for name in named if name not in names]
    n_known = getattr(estimator, "n_features_in_", -1)
    shape: tuple[int, ...] = getattr(X, "shape", ())
    are_positions = all(isinstance(column, numbers.Integral) for column in named)
    exceeds = len(shape) == 2 and shape[1] - len(set(named)) == n_known
    return named if are_positions and exceeds else []


def respond(
    estimator: Any, method: str, X: Any, pos_label: Hashable = None, **metadata: Any
) -> NDArray[Any]:
    """Return the response of a classifier, for the positive class if there are two.

    The positive class is `pos_label`, by default the second; metadata, such as groups
    and strata, are passed on if the method takes them.
    """
    taken = accepted_metadata(estimator, method, metadata)
    response = np.asarray(getattr(estimator, method)(X, **taken))
    if method == "predict" or len(getattr(estimator, "classes_", ())) != 2:
        return response
    classes = np.asarray(estimator.classes_).tolist()
    if pos_label is not None and pos_label not in classes:
        raise ValueError(f"pos_label must be one of {classes}, got {pos_label!r}.")
    positive = 1 if pos_label is None else classes.index(pos_label)
    if response.ndim == 2:
        if response.shape[1] != 2:
            raise ValueError(
                f"{method} of {type(estimator).__name__} must have a column for each "
                f"of the classes {classes}, got shape {response.shape}."
            )
        return response[:, positive]
    return response if positive == 1 else -response


#: Least score for which a classifier without a threshold of its own predicts the second
#: class: of two equal probabilities the first decides.
_ABOVE_HALF = float(np.nextafter(0.5, 1))


def decision_threshold(models: Sequence[Any]) -> float:
    """Return the median decision threshold of classifiers.

    The decision threshold is the smallest probability of the second class for which a
    classifier predicts this class.
    """
    return float(np.median([_model_threshold(model) for model in models]))


def _model_threshold(model: Any) -> float:
    """Return the decision threshold of one fitted classifier."""
    while True:  # the classifier that decides
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        elif isinstance(model, Pipeline):
            model = model.steps[-1][1]
        elif hasattr(model, "best_estimator_"):  # a search
            model = model.best_estimator_
        else:
            break
    if isinstance(model, TunedThresholdClassifierCV):
        lowest, positive = model.best_threshold_, model._curve_scorer._get_pos_label()
    elif isinstance(model, FixedThresholdClassifier) and model.threshold != "auto":
        lowest, positive = model.threshold, model.pos_label
    elif isinstance(model, FixedThresholdClassifier):
        lowest, positive = 0.5, model.pos_label
    else:
        return _ABOVE_HALF
    if model.response_method == "decision_function":
        raise ValueError(
            f"threshold=None takes the threshold of {type(model).__name__}, which must "
            "be one of probabilities, got response_method='decision_function'. Set "
            "threshold to a probability."
        )
    if positive is None or positive == model.classes_[1]:
        return float(lowest)
    # The second class is what does not reach the threshold of the first.
    return float(np.nextafter(1 - lowest, 2))

"""Scores, decisions and groups of fitted classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.utils.validation import check_is_fitted

from skfair._utils._columns import names_columns, select_columns
from skfair._utils._response import respond
from skfair._utils._validation import count_rows
from skfair.report._inputs import Named

Inputs = tuple[Named, Named, Any, Any]


def estimator_inputs(
    estimator: Any, X: Any, sensitive_features: Any, pos_label: Any
) -> Inputs:
    """Ask classifiers for what `FairnessReport.from_predictions` needs.

    Parameters
    ----------
    estimator : estimator, or mapping of str to estimator
    X : array-like of shape (n_samples, n_features)
    sensitive_features : object
        Groups, or what names columns of X.
    pos_label : int, float, bool, str or None

    Returns
    -------
    scores : dict of str to ndarray of shape (n_samples,)
        Of the binary classifiers with `predict_proba`.
    predictions : dict of str to ndarray of shape (n_samples,)
    groups : array-like, dataframe, Groups or mapping
    pos_label : int, float, bool, str or None
        The second of two classes, unless given.

    Raises
    ------
    sklearn.exceptions.NotFittedError
    ValueError
        On no or different classes, or a positive class that is none of them.
    """
    estimators = (
        dict(estimator)
        if isinstance(estimator, Mapping)
        else {type(estimator).__name__: estimator}
    )
    if not estimators:
        raise ValueError("estimator has no models, expected at least one.")
    named = names_columns(sensitive_features, count_rows(X))
    groups = select_columns(X, sensitive_features) if named else sensitive_features
    classes = _common_classes(estimators)
    if len(classes) == 2 and pos_label is None:
        pos_label = classes[1]
    if len(classes) == 2 and pos_label not in classes:
        raise ValueError(
            f"pos_label must be one of the classes {classes}, got {pos_label!r}."
        )
    routed = None if named or isinstance(groups, Mapping) else groups
    scores, predictions = {}, {}
    for name, model in estimators.items():
        name = str(name)
        if len(classes) == 2 and hasattr(model, "predict_proba"):
            scores[name] = respond(model, "predict_proba", X, pos_label, routed)
        predictions[name] = respond(model, "predict", X, sensitive_features=routed)
    return scores, predictions, groups, pos_label


def _common_classes(estimators: Named) -> list[Any]:
    found: dict[str, list[Any]] = {}
    for name, model in estimators.items():
        check_is_fitted(model)
        if not hasattr(model, "classes_"):
            raise ValueError(
                f"estimator {name!r} is a {type(model).__name__} without classes_, "
                "expected a fitted classifier."
            )
        found[name] = list(model.classes_)
    first = next(iter(found))
    for name, classes in found.items():
        if classes != found[first]:
            raise ValueError(
                "estimator must hold models of the same classes, got "
                f"{found[first]} for {first!r} and {classes} for {name!r}."
            )
    return found[first]

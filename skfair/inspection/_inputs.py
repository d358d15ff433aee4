"""What displays are made from: responses of an estimator and comparable groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from skfair._utils._columns import names_columns
from skfair._utils._response import respond, tip_for_unknown_columns
from skfair._utils._types import Floats
from skfair._utils._validation import check_real, count_rows
from skfair.groups import Groups, resolve_groups
from skfair.metrics._inputs import grouped_scores, undefined_reason
from skfair.statistics import GroupedScores


def estimator_response(
    estimator: Any, X: Any, sensitive_features: Any, method: str = "predict_proba"
) -> tuple[NDArray[Any], Groups]:
    """Scores of a binary classifier, or predictions, and the groups of the rows.

    Labels that are given beside X are passed to the method if it asks for them.
    """
    check_is_fitted(estimator)
    if method == "predict_proba":
        _check_binary(estimator)
    n_samples = count_rows(X)
    named = names_columns(sensitive_features, n_samples)
    routed = None if named else sensitive_features
    selector = sensitive_features if named else None
    groups = resolve_groups(routed, n_samples=n_samples, X=X, selector=selector)
    with tip_for_unknown_columns(estimator, X, selector):
        return respond(estimator, method, X, sensitive_features=routed), groups


def _check_binary(estimator: Any) -> None:
    """Raise unless a classifier predicts probabilities of two classes."""
    name = type(estimator).__name__
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


def comparable_scores(
    y_true: ArrayLike | None,
    y_score: ArrayLike | GroupedScores,
    sensitive_features: Any,
    sample_weight: ArrayLike | None = None,
) -> GroupedScores:
    """Statistic of the scores; raise ValueError where metrics of it would be nan."""
    statistic = grouped_scores(y_true, y_score, sensitive_features, sample_weight)
    reason = undefined_reason(statistic)
    if reason is not None:
        raise ValueError(f"sensitive_features leave nothing to compare: {reason}.")
    return statistic


def check_level(effective_sizes: Floats, confidence_level: Any) -> float:
    """Return the level of a band, whose width needs the effective group sizes."""
    level = check_real("confidence_level", confidence_level, 0, 1, closed="neither")
    if np.isnan(effective_sizes).any():
        raise ValueError(
            "confidence_level must be None: the effective group sizes cannot be known "
            "from a statistic of weighted rows. Pass the rows instead."
        )
    return level

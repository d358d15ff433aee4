"""What displays are made from: responses of an estimator and comparable groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair._utils._arrays import Floats
from skfair._utils._response import (
    RANKED_METHODS,
    check_fitted,
    find_score_method,
    respond,
    tip_for_unknown_columns,
)
from skfair._utils._text import label_text, listed
from skfair._utils._validation import (
    AnyScale,
    Scale,
    as_array,
    check_integer,
    check_real,
)
from skfair._utils._warnings import warns_if_reordered
from skfair.groups import (
    CROSS,
    Groups,
    labels_and_groups,
    resolve_groups,
    resolve_strata,
)
from skfair.metrics import permutation_test
from skfair.metrics._distribution._gap import grouped_scores
from skfair.metrics._spec import unwrapped
from skfair.metrics._strata import results_by_stratum, warn_of_results
from skfair.metrics._undefined import undefined_reason
from skfair.statistics import GroupedScores


def estimator_response(
    estimator: Any,
    X: Any,
    sensitive_features: Any,
    method: str = "predict_proba",
    *,
    control_features: Any = None,
    scale: AnyScale | None = None,
) -> tuple[NDArray[Any], Groups, Groups | None]:
    """Response of an estimator to X, and groups and strata of the rows.

    The method ``"predict_proba"`` stands for probabilities of a binary classifier, or,
    on another scale, for scores of any estimator; None is for displays that have
    no scale. Groups and strata that are given beside X are passed to the method if it
    asks for them.
    """
    check_fitted(estimator)
    if method == "predict_proba":
        method = _method_of_scores(estimator, scale)
    labels, selector, groups = labels_and_groups(resolve_groups, sensitive_features, X)
    strata, own = None, None
    if control_features is not None:
        own, _, strata = labels_and_groups(resolve_strata, control_features, X)
    with tip_for_unknown_columns(estimator, X, selector):
        response = respond(
            estimator, method, X, sensitive_features=labels, control_features=own
        )
    return response, groups, strata


def _method_of_scores(estimator: Any, scale: AnyScale | None) -> str:
    """Return the method that gives one score for each row, or raise ValueError."""
    name = type(estimator).__name__
    if scale in ("rank", "real"):
        method = find_score_method(estimator, RANKED_METHODS)
    elif hasattr(estimator, "predict_proba"):
        method = "predict_proba"
    else:
        ranks = ", draw ranks by scale='rank'" if scale is not None else ""
        raise ValueError(
            f"{name} has no predict_proba, expected a classifier that predicts "
            "probabilities. Wrap it in sklearn.calibration.CalibratedClassifierCV"
            f"{ranks}, or pass scores in [0, 1] to from_predictions."
        )
    classes = list(getattr(estimator, "classes_", ()))
    if method != "predict" and classes and len(classes) != 2:
        raise ValueError(
            f"{name} must be a binary classifier, it was fitted on {len(classes)} "
            f"classes: {classes}. Pass the scores of one class to from_predictions; "
            "skfair.metrics.values_by_class says in which the gap is largest."
        )
    return method


#: True classes, scores, groups and weights of rows.
RowsToDraw: TypeAlias = tuple[Any, Any, Any, Any]


def stratum_of_largest(
    metric: Callable[..., float],
    rows: RowsToDraw,
    control_features: Any,
    name: str | None,
) -> tuple[RowsToDraw, str | None]:
    """Rows of the stratum in which a metric is largest, and a name with its label.

    Without strata both are returned as they are. ValueError is raised if the groups
    can be compared in no stratum.
    """
    if control_features is None:
        return rows, name
    y_true, y_score, groups, weights = rows
    results, reason = results_by_stratum(
        metric, y_true, y_score, groups, control_features, weights
    )
    found = [one for one in results if one.result is not None]
    if reason is not None or not found:
        why = reason or listed([f"{one.label!r} ({one.reason})" for one in results])
        raise ValueError(f"control_features leave nothing to compare: {why}.")
    warn_of_results(unwrapped(metric)[0].__name__, results)
    largest = max(found, key=lambda one: one.result)
    kept = largest.rows
    names = resolve_strata(control_features, n_samples=len(y_score)).names
    text = f"{CROSS.join(names) or 'stratum'} {label_text(largest.label)}"
    own = (
        None if y_true is None else as_array(y_true, "y_true")[kept],
        as_array(y_score, "y_score")[kept],
        largest.groups,
        None if weights is None else as_array(weights, "sample_weight")[kept],
    )
    return own, text if name is None else f"{name}, {text}"


@warns_if_reordered
def comparable_scores(
    y_true: ArrayLike | None,
    y_score: ArrayLike | GroupedScores,
    sensitive_features: Any,
    sample_weight: ArrayLike | None = None,
    scale: AnyScale = "probability",
    scales: Any = Scale,
) -> GroupedScores:
    """Return the statistic of scores; raise ValueError if its metrics would be nan."""
    statistic = grouped_scores(
        y_true, y_score, sensitive_features, sample_weight, scale, scales=scales
    )
    reason = undefined_reason(statistic)
    if reason is not None:
        raise ValueError(f"sensitive_features leave nothing to compare: {reason}.")
    return statistic


def permuted_values(
    metric: Callable[..., float],
    rows: RowsToDraw,
    n_permutations: Any,
    random_state: Any,
) -> Floats | None:
    """Values of a metric of scores after random permutations, None if none are made."""
    _, y_score, groups, weights = rows
    n_permutations = check_integer("n_permutations", n_permutations, 0)
    if not n_permutations:
        return None
    if isinstance(y_score, GroupedScores):
        raise ValueError(
            "n_permutations must be 0 where a statistic takes the place of rows, which "
            f"alone can be permuted, got {n_permutations}."
        )
    return permutation_test(
        metric,
        None,
        y_score,
        sensitive_features=groups,
        n_permutations=n_permutations,
        sample_weight=weights,
        random_state=random_state,
    ).null_distribution


def check_level(effective_sizes: Floats, confidence_level: Any) -> float:
    """Check the level of a confidence band and that effective sizes are known."""
    level = check_real("confidence_level", confidence_level, 0, 1, closed="neither")
    if np.isnan(effective_sizes).any():
        raise ValueError(
            "confidence_level must be None: the effective group sizes cannot be known "
            "from a statistic of weighted rows. Pass the rows instead."
        )
    return level

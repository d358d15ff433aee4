"""Predictions of a target and of the group, by models that were not fitted to the row.

Mitigators that need no group at prediction call these functions one after the other.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from skfair._comparison import (
    Comparison,
    compare_classifiers,
    compare_regressors,
    limit_missed,
    warn_of_comparison,
)
from skfair._mitigation import (
    FitInputs,
    FoldMitigator,
    Mitigator,
    check_estimator,
    mean_of_folds,
    predict_folds,
    predict_targets,
    tip_to_drop,
    weights_for,
)
from skfair._rows import Rows, weights_in_rows
from skfair._utils._arrays import Floats
from skfair._utils._progress import Tasks
from skfair._utils._validation import check_real
from skfair.model_selection._folds import Split
from skfair.postprocessing._score_map import StrengthMaps

_REMEDY = "Lower strength, or use a better group_estimator"


class GroupPredictor(Mitigator, FoldMitigator, Protocol):
    """The attributes of a mitigator that predicts the group, and has a strength."""

    strength: float | Literal["auto"]
    group_estimator: Any
    groups_: tuple[Hashable, ...]


AnyMitigator = TypeVar("AnyMitigator", bound=GroupPredictor)


def check_parameters(mitigator: GroupPredictor) -> None:
    """Raise unless both models, and the strength, are valid."""
    check_estimator(mitigator)
    group_estimator = mitigator.group_estimator
    if group_estimator is not None and not hasattr(group_estimator, "predict_proba"):
        raise TypeError(
            f"group_estimator must have predict_proba, got {group_estimator!r}."
        )
    if mitigator.strength != "auto":
        limits: dict[str, Any] = {"closed": "left", "alternative": "'auto' or "}
        check_real("strength", mitigator.strength, 0, math.inf, **limits)


class Predicted(NamedTuple):
    """Models of the folds, and held-out rows with their predictions and folds.

    `q` has the rows' probabilities of groups. Its columns are in the order of
    `group_classes`, the classes that the models of the group predict.
    """

    models: list[Any]
    group_models: list[Any]
    group_classes: list[Any]
    rows: Rows
    q: Floats


def predict_held_out(
    mitigator: GroupPredictor,
    inputs: FitInputs,
    routed: Bunch,
    splits: list[Split],
    group_splits: list[Split],
    tasks: Tasks,
    n_last_fits: int = 0,
) -> Predicted:
    """Fit both models on folds, each on its own splits, and predict held-out rows.

    A row that several folds hold out gets the mean of its predictions, and the number
    of the first of these folds. `n_last_fits` is the number of fits that follow.
    """
    rows, estimator = inputs.rows, mitigator.estimator
    n_fits = 0 if isinstance(estimator, FrozenEstimator) else len(splits)
    if not isinstance(mitigator.group_estimator, FrozenEstimator):
        n_fits += len(group_splits)
    tasks.begin(n_fits + n_last_fits)
    with tip_to_drop(mitigator, inputs.X, estimator):
        models, held_out = predict_targets(mitigator, inputs, splits, routed, tasks)
        group_estimator, params = _group_model(mitigator, inputs, routed)
        group_classes = _group_classes(group_estimator, rows.labels)
        try:
            group_models, grouped = predict_folds(
                group_estimator,
                inputs.X,
                rows,
                rows.groups.codes,
                labels=group_classes,
                splits=group_splits,
                fit_params=params,
                n_jobs=mitigator.n_jobs,
                done=tasks.done,
            )
        except ValueError as error:
            if group_estimator is not estimator:
                raise
            raise ValueError(
                f"{error}\nWithout a group_estimator a clone of estimator is fitted to "
                "the groups: give one if it cannot be."
            ) from error
    fold = np.full(len(rows), -1)
    for number, (_, test) in reversed(list(enumerate(splits))):
        fold[test] = number
    used = np.flatnonzero((fold >= 0) & (rows.weights > 0))
    predicted = mean_of_folds(held_out, len(rows))[:, -1]
    return Predicted(
        models,
        group_models,
        group_classes,
        replace(rows, y_pred=predicted, fold=fold)[used],
        mean_of_folds(grouped, len(rows))[used],
    )


def _group_classes(estimator: Any, labels: tuple[Hashable, ...]) -> list[Any]:
    """Return the classes that models of the group predict.

    They are codes of groups, or the labels of a frozen model.
    """
    if not isinstance(estimator, FrozenEstimator):
        return list(range(len(labels)))
    classes = np.asarray(estimator.classes_).tolist()
    if set(classes) != set(labels):
        raise ValueError(
            f"group_estimator is frozen and has the classes {classes}, "
            f"expected the groups {list(labels)}."
        )
    return list(labels)


def _group_model(
    mitigator: GroupPredictor, inputs: FitInputs, routed: Bunch
) -> tuple[Any, dict[str, Any]]:
    """Return the classifier of the group, not fitted, and its fit parameters.

    The default is a clone of a classifier that is mitigated, and gradient boosting
    where a regressor is mitigated.
    """
    estimator, weights = mitigator.group_estimator, inputs.rows.weight
    if estimator is not None and get_config()["enable_metadata_routing"]:
        return estimator, routed.group_estimator.fit
    if estimator is None:
        estimator = mitigator.estimator
        if is_regressor(mitigator):
            estimator = default_group_estimator(estimator, inputs.X)
            weights = weights_in_rows(weights)
        elif isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
    return estimator, weights_for(estimator, weights)


def copy_with(mitigator: AnyMitigator, **parameters: Any) -> AnyMitigator:
    """Return a copy of a fitted mitigator with other parameters of its map."""
    check_is_fitted(mitigator, "strength_")
    if not mitigator.groups_:
        raise ValueError(
            f"strength={parameters['strength']!r} needs groups, but fit was given none."
        )
    model = copy.copy(mitigator)
    for name, value in parameters.items():
        setattr(model, name, value)
    check_parameters(model)
    return model


def compare_strength(
    mitigator: GroupPredictor,
    maps: StrengthMaps,
    strength: float,
    max_mcdp: float | None = None,
) -> Comparison:
    """Compare scores at a strength with plain scores, and warn if no gain is shown.

    No gain is needed with the parameter ``strength=0``, or if the baseline keeps
    `max_mcdp`.
    """
    rows, scores = maps.rows, maps.held_out_scores(strength)
    compare = compare_classifiers if is_classifier(mitigator) else compare_regressors
    comparison = compare(rows, rows.y_pred, scores, cross_fitted=True)
    missed, baseline_keeps_limit = "", False
    if max_mcdp is not None:
        missed = limit_missed(rows, comparison, max_mcdp)
        baseline_keeps_limit = list(comparison.baseline.values())[-1] <= max_mcdp
    if missed or not (baseline_keeps_limit or mitigator.strength == 0):
        warn_of_comparison(mitigator, comparison, _REMEDY, missed)
    return comparison


def default_group_estimator(estimator: Any, X: Any) -> Any:
    """Return gradient boosting behind the first steps of the estimator's pipeline.

    The boosting is regularised more than scikit-learn's default, which was
    overconfident on 3,000 rows of Adult and of Bank. Without early stopping no rows are
    drawn at random.
    """
    boosting = HistGradientBoostingClassifier(
        max_iter=80,
        learning_rate=0.08,
        max_leaf_nodes=12,
        l2_regularization=5.0,
        early_stopping=False,
        random_state=0,
    )
    if get_config()["enable_metadata_routing"]:
        boosting.set_fit_request(sample_weight=True)
    inner = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
    piped = isinstance(inner, Pipeline)
    if not piped and not issparse(X):
        return boosting
    before = inner.steps[:-1] if piped else []
    dense = FunctionTransformer(_to_dense, accept_sparse=True)
    steps = [(name, clone(step, safe=False)) for name, step in before]
    kind = type(inner) if piped else Pipeline
    return kind([*steps, ("to_dense", dense), ("group_boosting", boosting)])


def _to_dense(X: Any) -> Any:
    """Return an array in place of a sparse matrix, which boosting does not take."""
    return X.toarray() if issparse(X) else X

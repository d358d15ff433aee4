"""Fits of the classifiers of LightGBM and XGBoost, through the interfaces they have."""

from __future__ import annotations

import sys
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix, issparse
from scipy.special import logit
from sklearn.base import clone

from skfair._training_rows import TrainingRows
from skfair._utils._text import shown

#: Parameters of `fit` that say from where trees start or when they stop.
_RESERVED = (
    *("eval_set", "eval_X", "eval_y", "eval_names", "eval_metric", "init_score"),
    *("eval_sample_weight", "eval_class_weight", "eval_init_score", "init_model"),
    *("base_margin", "xgb_model", "sample_weight_eval_set", "base_margin_eval_set"),
)
#: Values of parameters that go with a penalised loss, and what to do instead.
_ALLOWED: dict[str, tuple[tuple[Any, ...], str]] = {
    "objective": ((None, "binary", "binary:logistic"), "leave out"),
    "early_stopping_round": ((None, 0), "leave out"),
    "early_stopping_rounds": ((None, 0), "leave out"),
    "is_unbalance": ((None, False), "give sample_weight to fit and leave out"),
    "scale_pos_weight": ((None, 1), "give sample_weight to fit and leave out"),
    "boosting_type": (("gbdt", "dart"), "leave out"),
    "linear_tree": ((None, False), "leave out"),
}


def find_library(estimator: Any) -> Literal["lightgbm", "xgboost"]:
    """Return the library of a classifier, or raise if it is not one of the two."""
    # Whoever has an instance has imported its library.
    lightgbm, xgboost = sys.modules.get("lightgbm"), sys.modules.get("xgboost")
    if lightgbm is not None and isinstance(estimator, lightgbm.LGBMClassifier):
        return "lightgbm"
    if xgboost is not None and isinstance(estimator, xgboost.XGBClassifier):
        is_forest = isinstance(estimator, xgboost.XGBRFClassifier)
        if not is_forest:
            return "xgboost"
    raise TypeError(
        "estimator must be an LGBMClassifier or an XGBClassifier, neither frozen nor "
        f"in a pipeline, got {shown(estimator)}. MCDPBoostingClassifier can "
        "itself be a step of a pipeline; UnawarePostProcessor takes other classifiers."
    )


def check_boosting(estimator: Any, fit_params: dict[str, Any]) -> None:
    """Raise if parameters of an estimator, or of its `fit`, contradict the penalty."""
    params = estimator.get_params()
    for name, (values, advice) in _ALLOWED.items():
        value = params.get(name, values[0])
        if not isinstance(value, (str, float, int)) and value is not None:
            value = repr(value)  # a callable, or what else is no allowed value
        if value not in values:
            raise ValueError(
                f"estimator has {name}={value!r}, which the penalised loss does not "
                f"allow: {advice} {name}."
            )
    for name in _RESERVED:
        if fit_params.get(name) is not None:
            raise ValueError(
                f"fit takes no {name}: trees start from the base rate, and they do not "
                "stop early."
            )


def to_table(X: Any) -> Any:
    """Return X in a container that both libraries read in all places."""
    if issparse(X):
        return csr_matrix(X)  # LightGBM reads no sparse arrays
    return np.asarray(X) if isinstance(X, (list, tuple)) else X


def fit_plain(estimator: Any, rows: TrainingRows, params: dict[str, Any]) -> Any:
    """Fit a clone of a classifier as it is."""
    return clone(estimator).fit(rows.X, rows.y, **_with_weights(params, rows))


def fit_penalised(
    estimator: Any, rows: TrainingRows, params: dict[str, Any], objective: Any
) -> Any:
    """Fit a clone of a classifier, to labels 0 and 1, with an objective of log-odds.

    Trees start from the base rate. The fitted classifier predicts probabilities.
    """
    base_rate = float(np.average(rows.y, weights=rows.weights))
    model = clone(estimator).set_params(objective=objective)
    given, params = params, _with_weights(params, rows)
    if find_library(model) == "xgboost":
        if model.base_score is None:
            model.set_params(base_score=base_rate)
        model.fit(rows.X, rows.y, **params)
        return model.set_params(objective=estimator.objective)
    start = float(logit(base_rate))
    params["init_score"] = np.full(len(rows.y), start)
    try:
        return _as_binary(model.fit(rows.X, rows.y, **params), start)
    except sys.modules["lightgbm"].basic.LightGBMError as error:
        if "num_features" not in str(error):
            raise
        # No feature can be split, so scores are equal, and no gap is to be closed.
        return fit_plain(estimator, rows, given)


def _with_weights(params: dict[str, Any], rows: TrainingRows) -> dict[str, Any]:
    """Parameters of `fit` with the weights of the rows, if there are any."""
    given = rows.sample_weight is not None
    return params | ({"sample_weight": rows.weights} if given else {})


def _as_binary(model: Any, start: float) -> Any:
    """Make a model with an objective of its own predict as one of the log-loss.

    LightGBM does not keep the log-odds from which such trees start, and predicts no
    probabilities by them. The start is added to the leaves of the first tree.
    """
    booster = model.booster_
    text = booster.model_to_string(num_iteration=1)
    n_leaves = int(text.split("\nnum_leaves=", 1)[1].split("\n", 1)[0])
    for leaf in range(n_leaves):
        booster.set_leaf_output(0, leaf, booster.get_leaf_output(0, leaf) + start)
    head, tail = booster.model_to_string().split("\nfeature_names=", 1)
    booster.model_from_string(
        f"{head}\nobjective=binary sigmoid:1\nfeature_names={tail}"
    )
    return model.set_params(objective="binary")

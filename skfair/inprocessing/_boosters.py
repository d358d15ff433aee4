"""Fits of the classifiers of LightGBM and XGBoost, through the interfaces they have."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix, issparse
from scipy.special import logit
from sklearn.base import clone

from skfair._training_rows import Array, TrainingRows
from skfair._utils._text import shown

#: Loss of the log-odds of held-out rows.
Metric: TypeAlias = Callable[[Array], float]

#: Parameters of `fit` that say from where trees start or when they stop.
_RESERVED = (
    *("eval_set", "eval_X", "eval_y", "eval_names", "eval_metric", "init_score"),
    *("eval_sample_weight", "eval_class_weight", "eval_init_score", "init_model"),
    *("base_margin", "xgb_model", "sample_weight_eval_set", "base_margin_eval_set"),
)
#: Values of parameters that go with a penalised loss, and what to do instead.
_ALLOWED: dict[str, tuple[tuple[Any, ...], str]] = {
    "objective": ((None, "binary", "binary:logistic"), "leave out"),
    "early_stopping_round": ((None, 0), "set early_stopping=True and leave out"),
    "early_stopping_rounds": ((None, 0), "set early_stopping=True and leave out"),
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
                f"fit takes no {name}: trees start from the base rate, and with "
                "early_stopping=True they stop by rows held out with their groups."
            )


def to_table(X: Any) -> Any:
    """Return X in a container that both libraries read in all places."""
    if issparse(X):
        return csr_matrix(X)  # LightGBM reads no sparse arrays
    return np.asarray(X) if isinstance(X, (list, tuple)) else X


@dataclass(frozen=True, eq=False)
class EarlyStopping:
    """Rows to stop by, after so many trees that do not reduce the loss on them.

    The loss is that of the library, or a `metric` of log-odds.
    """

    rows: TrainingRows
    n_iter_no_change: int
    metric: Metric | None = None

    def lightgbm(self, start: float | None) -> dict[str, Any]:
        """Parameters of `fit`, for trees that start from some log-odds."""
        rows = self.rows
        callback = sys.modules["lightgbm"].early_stopping(
            self.n_iter_no_change, verbose=False
        )
        params: dict[str, Any] = {"eval_X": rows.X, "eval_y": rows.y}
        params["callbacks"] = [callback]
        if rows.sample_weight is not None:
            params["eval_sample_weight"] = [rows.weights]
        if start is not None:
            params["eval_init_score"] = [np.full(len(rows), start)]
        if (metric := self.metric) is not None:
            params["eval_metric"] = lambda _, log_odds: (
                "penalised_loss",
                metric(log_odds),
                False,
            )
        return params

    def xgboost(self, model: Any) -> dict[str, Any]:
        """Parameters of `fit`, after those of the model are set."""
        model.set_params(early_stopping_rounds=self.n_iter_no_change)
        if (metric := self.metric) is not None:
            model.set_params(
                eval_metric=lambda y, log_odds, sample_weight=None: metric(log_odds)
            )
        given = None if self.rows.sample_weight is None else [self.rows.weights]
        held_out = [(self.rows.X, self.rows.y)]
        return {"eval_set": held_out, "sample_weight_eval_set": given, "verbose": False}


def fit_plain(
    estimator: Any,
    rows: TrainingRows,
    params: dict[str, Any],
    stopping: EarlyStopping | None = None,
) -> Any:
    """Fit a clone of a classifier as it is."""
    model, params = clone(estimator), _with_weights(params, rows)
    if stopping is not None and find_library(model) == "xgboost":
        params |= stopping.xgboost(model)
    elif stopping is not None:
        params |= _join_callbacks(params, stopping.lightgbm(None))
    return model.fit(rows.X, rows.y, **params)


def fit_penalised(
    estimator: Any,
    rows: TrainingRows,
    params: dict[str, Any],
    objective: Any,
    stopping: EarlyStopping | None = None,
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
        if stopping is not None:
            params |= stopping.xgboost(model)
        model.fit(rows.X, rows.y, **params)
        return _restore(model, estimator)
    start = float(logit(base_rate))
    params["init_score"] = np.full(len(rows.y), start)
    if stopping is not None:
        params |= _join_callbacks(params, stopping.lightgbm(start))
    try:
        return _as_binary(model.fit(rows.X, rows.y, **params), start)
    except sys.modules["lightgbm"].basic.LightGBMError as error:
        if "num_features" not in str(error):
            raise
        # No feature can be split, so scores are equal, and no gap is to be closed.
        return fit_plain(estimator, rows, given)


def _restore(model: Any, estimator: Any) -> Any:
    """Give a fitted classifier of XGBoost the objective and metric it was given."""
    names = "objective", "eval_metric"
    return model.set_params(**{name: getattr(estimator, name) for name in names})


def _with_weights(params: dict[str, Any], rows: TrainingRows) -> dict[str, Any]:
    """Parameters of `fit` with the weights of the rows, if there are any."""
    given = rows.sample_weight is not None
    return params | ({"sample_weight": rows.weights} if given else {})


def _join_callbacks(params: dict[str, Any], added: dict[str, Any]) -> dict[str, Any]:
    """Parameters to add, with the callbacks of both."""
    return added | {
        "callbacks": [*(params.get("callbacks") or ()), *added["callbacks"]]
    }


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

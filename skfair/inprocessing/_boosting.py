"""LightGBM and XGBoost: plain fits, fits with an objective, probabilities of groups."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from scipy.special import logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from skfair._rows import Rows, take_rows, weights_in_rows
from skfair._utils._arrays import Floats
from skfair._utils._text import shown
from skfair.groups import Groups
from skfair.model_selection._folds import params_of_rows

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
    """Return the library of a classifier, XGBoost or LightGBM; raise for any other."""
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
    """Raise if parameters of an estimator, or of `fit`, conflict with the penalty."""
    params = estimator.get_params()
    for name, (values, advice) in _ALLOWED.items():
        value = params.get(name, values[0])
        if not isinstance(value, (str, float, int)) and value is not None:
            value = repr(value)  # a callable, for instance
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
    """Return X in a container that both libraries accept for fits and predictions."""
    if issparse(X):
        return csr_matrix(X)  # LightGBM reads no sparse arrays
    return np.asarray(X) if isinstance(X, (list, tuple)) else X


def fit_plain(estimator: Any, X: Any, rows: Rows, params: dict[str, Any]) -> Any:
    """Fit a clone of a classifier with its own objective."""
    return clone(estimator).fit(X, rows.y_true, **_add_weights(params, rows))


def fit_penalised(
    estimator: Any, X: Any, rows: Rows, params: dict[str, Any], objective: Any
) -> Any:
    """Fit a clone of a classifier, to labels 0 and 1, with an objective of log-odds.

    Trees start from the base rate. The fitted classifier predicts probabilities.
    """
    base_rate = float(np.average(rows.y_true, weights=rows.weights))
    model = clone(estimator).set_params(objective=objective)
    unweighted, params = params, _add_weights(params, rows)
    if find_library(model) == "xgboost":
        if model.base_score is None:
            model.set_params(base_score=base_rate)
        model.fit(X, rows.y_true, **params)
        return model.set_params(objective=estimator.objective)
    start = float(logit(base_rate))
    params["init_score"] = np.full(len(rows), start)
    try:
        return _make_binary(model.fit(X, rows.y_true, **params), start)
    except sys.modules["lightgbm"].basic.LightGBMError as error:
        if "num_features" not in str(error):
            raise
        # No feature can be split, so scores are equal, and no gap is to be closed.
        return fit_plain(estimator, X, rows, unweighted)


def _add_weights(params: dict[str, Any], rows: Rows) -> dict[str, Any]:
    """Return the parameters of `fit` with the weights of the rows, if there are any."""
    weighted = rows.weight is not None
    return params | ({"sample_weight": rows.weights} if weighted else {})


def _make_binary(model: Any, start: float) -> Any:
    """Make a model with a custom objective predict as a binary classifier.

    With a custom objective, LightGBM neither stores the log-odds from which the trees
    start, nor turns log-odds into probabilities. The start is added to the leaves of
    the first tree.
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


#: Parameters of a classifier of the label that one of the groups does not share.
_ABOUT_LABELS = ("class_weight", "monotone_constraints", "base_score")
#: Trees of XGBoost where `n_estimators` is None.
_N_TREES = 100
#: What a row's own group adds to the probabilities: half the trees on half the rows
#: leave out some of what the features tell. More of it would close gaps of the training
#: rows only. On census 0.1 was better than 0 and 0.2, on OULAD 0.2 was better still.
_OWN_SHARE = 0.1
#: Probabilities are clipped to this before they are calibrated.
_LEAST = 1e-4


def group_probabilities(
    estimator: Any,
    X: Any,
    rows: Rows,
    codes: NDArray[np.integer],
    params: dict[str, Any],
    rng: np.random.RandomState,
) -> Floats:
    """Return the probability of each group given X, by models of the other half.

    The rows of each group are divided into two equal halves. A model that was fitted to
    one half predicts the other half. The groups are the codes from 0 on. Rows without a
    group (code -1) get probabilities, too.
    """
    rows = replace(rows, weight=weights_in_rows(rows.weight))
    order = np.lexsort((rng.permutation(len(codes)), codes))
    halves = np.sort(order[::2]), np.sort(order[1::2])
    probabilities = np.zeros((len(codes), int(codes.max()) + 1))
    for training, test in (halves, halves[::-1]):
        grouped = training[codes[training] >= 0]
        groups, labels = np.unique(codes[grouped], return_inverse=True)
        if len(groups) == 1:
            probabilities[np.ix_(test, groups)] = 1
            continue
        model = fit_plain(
            _group_classifier(estimator),
            take_rows(X, grouped),
            replace(rows[grouped], y_true=labels),
            params_of_rows(params, grouped, len(codes)),
        )
        probabilities[np.ix_(test, groups)] = model.predict_proba(take_rows(X, test))
    return _calibrate(probabilities, codes, rows.weight)


def mix_own_group(probabilities: Floats, codes: NDArray[np.integer]) -> Floats:
    """Mix the probabilities with the own group of the row, which counts a tenth.

    In the shape (n_samples, n_strata, n_groups) the probability of each stratum stays
    as it is. Rows without a group (code -1) keep their probabilities.
    """
    *_, n_groups = probabilities.shape
    by_stratum = probabilities.reshape(len(codes), -1, n_groups)
    in_group = (codes[:, None] == np.arange(n_groups))[:, None]
    shares = np.where(codes < 0, 0.0, _OWN_SHARE)[:, None, None]
    own_group = by_stratum.sum(axis=2, keepdims=True) * in_group
    mixed = by_stratum + shares * (own_group - by_stratum)
    return np.asarray(mixed.reshape(probabilities.shape))


def joint_probabilities(
    predict_codes: Callable[[NDArray[np.integer]], Floats],
    groups: Groups,
    strata: Groups,
) -> Floats:
    """Return the probability of each stratum and group together, for each row.

    `predict_codes` takes one code for each row and predicts the probability of each
    code. The result has shape (n_samples, n_strata, n_groups); the sum of a row is less
    than 1 where rows may be in no stratum.
    """
    n_strata, n_groups = len(strata.labels), len(groups.labels)
    cells = strata.codes.astype(np.intp) * n_groups + groups.codes
    cells[groups.codes < 0] = -1
    cells[strata.codes < 0] = n_strata * n_groups
    present = np.unique(cells[cells >= 0])
    codes = np.where(cells < 0, -1, np.searchsorted(present, cells))
    joint = np.zeros((len(cells), n_strata * n_groups + 1))
    joint[:, present] = predict_codes(codes)
    return joint[:, :-1].reshape(-1, n_strata, n_groups)


def _group_classifier(estimator: Any) -> Any:
    """Return a clone that predicts groups, with half as many trees.

    Options that concern labels are left out. Half of the rows are too few for as many
    trees to generalise.
    """
    params = estimator.get_params()
    n_trees = params["n_estimators"] or _N_TREES
    names = [name for name in _ABOUT_LABELS if name in params]
    if find_library(estimator) == "lightgbm":
        names.append("objective")  # XGBoost changes its own for several groups
    n_estimators = max(1, n_trees // 2)
    return clone(estimator).set_params(
        **dict.fromkeys(names), n_estimators=n_estimators
    )


def _calibrate(
    probabilities: Floats, codes: NDArray[np.integer], weights: Floats | None
) -> Floats:
    """Scale probabilities until the sum over rows is the weight of each group."""
    grouped = codes >= 0
    log_probabilities = np.log(np.clip(probabilities, _LEAST, 1))
    sample_weight = None if weights is None else weights[grouped]
    calibration = LogisticRegression(max_iter=10_000)
    calibration.fit(
        log_probabilities[grouped], codes[grouped], sample_weight=sample_weight
    )
    return np.asarray(calibration.predict_proba(log_probabilities))

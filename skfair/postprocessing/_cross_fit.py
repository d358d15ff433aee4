"""Probabilities of classes and of groups by models that were not fitted to the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.parallel import Parallel, delayed

from skfair._mitigation import take_rows, weight_keyword
from skfair._penalty._training_rows import Array, Positions
from skfair.postprocessing._held_out import fit_to_rows

Split = tuple[NDArray[Any], NDArray[Any]]


class CrossFit(NamedTuple):
    """Models, and the mean probability of each label by those not fitted to the row.

    Rows that no split held out have nan.
    """

    models: list[Any]
    probabilities: Array


def fold_of_rows(splits: list[Split], n_samples: int) -> Positions:
    """Position of the first split that holds a row out, -1 if none does."""
    folds = np.full(n_samples, -1)
    for fold, (_, test) in reversed(list(enumerate(splits))):
        folds[test] = fold
    return folds


def cross_fit(
    estimator: Any,
    X: Any,
    target: NDArray[Any],
    labels: list[Any],
    splits: list[Split],
    fit_params: dict[str, Any],
    n_jobs: int | None,
) -> CrossFit:
    """Fit a clone to the training part of each split, and predict the rows left out.

    Rows whose target is not among the labels are predicted, but not trained on. A
    frozen classifier predicts all rows, since it was fitted to none of them.
    """
    if isinstance(estimator, FrozenEstimator):
        return CrossFit([estimator], label_probabilities(estimator, X, labels))
    positions, known = np.arange(len(target)), np.isin(target, labels)
    # Splits may be masks.
    parts = [(positions[train], positions[test]) for train, test in splits]
    fit = delayed(fit_to_rows)
    models = Parallel(n_jobs=n_jobs)(
        fit(clone(estimator), X, target, train[known[train]], fit_params)
        for train, _ in parts
    )
    total, counts = np.zeros((len(target), len(labels))), np.zeros(len(target))
    for model, (_, test) in zip(models, parts, strict=True):
        total[test] += label_probabilities(model, take_rows(X, test), labels)
        counts[test] += 1
    counts[counts == 0] = np.nan
    return CrossFit(models, total / counts[:, None])


def label_probabilities(model: Any, X: Any, labels: list[Any]) -> Array:
    """Probability of each label by a fitted classifier, 0 if it has not seen it."""
    found = np.asarray(model.predict_proba(X), dtype=np.float64)
    classes = np.asarray(model.classes_).tolist()
    if found.ndim != 2 or found.shape[1] != len(classes) or len(classes) < 2:
        raise ValueError(
            f"{type(model).__name__} gives probabilities of shape {found.shape} for "
            f"the classes {classes[:5]}, expected a column for each of at least two: "
            "every training part of cv needs rows of two classes and of two groups."
        )
    columns = [classes.index(label) if label in classes else -1 for label in labels]
    padded = np.column_stack([found, np.zeros(len(found))])
    return np.clip(padded[:, columns], 0, 1)


def mean_probabilities(models: list[Any], X: Any, labels: list[Any]) -> Array:
    """Mean probability of each label over fitted models."""
    predicted = [label_probabilities(model, X, labels) for model in models]
    return np.asarray(np.mean(predicted, axis=0))


def default_group_estimator(estimator: Any, X: Any) -> Any:
    """Gradient boosting, behind the steps before the classifier if it is a pipeline.

    It is regularised more than scikit-learn's default, which was overconfident on 3,000
    rows of Adult and of Bank. Without early stopping no rows are drawn at random.
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


def weights_for(estimator: Any, weights: NDArray[Any] | None) -> dict[str, Any]:
    """Keyword with the weights for the `fit` of an estimator, if it takes any."""
    if weights is None:
        return {}
    try:
        return {weight_keyword(estimator): weights}
    except TypeError:
        return {}

"""Models of folds, and what they predict of rows that they were not fitted to."""

from __future__ import annotations

import numbers
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state, column_or_1d

from skfair._training_rows import Split, TrainingRows, cross_fit
from skfair._utils._types import Floats, Integers
from skfair._utils._validation import check_integer, check_numbers
from skfair.groups import Groups
from skfair.model_selection._group_stratified_k_fold import stratified_splits


class Fold(NamedTuple):
    """A fitted model, and the probabilities of rows that it was not fitted to.

    They have a column for each label; of a regressor they are its predictions.
    """

    model: Any
    rows: Integers
    probabilities: Floats


def make_splits(
    mitigator: Any,
    X: Any,
    y: NDArray[Any],
    cells: NDArray[np.integer],
    for_split: dict[str, Any],
) -> list[Split]:
    """Training and test rows by `cv`; a number makes folds that are stratified.

    They are stratified by class and cell, and each class needs a row for each fold. Of
    a regressor tenths of the rows, by order of the target, stand for classes.
    """
    cv, seed = mitigator.cv, mitigator.random_state
    regressor = is_regressor(mitigator)
    if not isinstance(cv, numbers.Integral):
        return list(check_cv(cv, y, classifier=not regressor).split(X, y, **for_split))
    cv = check_integer("cv", cv, 2)
    random = None if seed is None else check_random_state(seed)
    if regressor:
        if len(y) < cv:
            raise ValueError(f"cv={cv} needs as many rows, got n_samples={len(y)}.")
        return list(stratified_splits(tenths_of(y), cells, cv, random))
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if counts.min() < cv:
        raise ValueError(
            f"cv={cv} needs as many rows of each class, got {counts.min()} of "
            f"class {classes.tolist()[counts.argmin()]!r}."
        )
    return list(stratified_splits(codes, cells, cv, random))


def tenths_of(y: Floats) -> Integers:
    """Return which tenth of the rows each row is in, 0 to 9, in order of the target."""
    ranks = np.argsort(np.argsort(y, kind="stable"), kind="stable")
    return np.asarray(ranks * 10 // len(y))


def predict_folds(
    estimator: Any,
    X: Any,
    target: NDArray[Any],
    labels: list[Any] | None,
    splits: list[Split],
    fit_params: dict[str, Any],
    n_jobs: int | None,
) -> list[Fold]:
    """Fit a clone to the training part of each split, and predict the rows left out.

    Rows whose target is not among the labels are predicted, but not trained on. A
    frozen classifier predicts all rows, since it was fitted to none of them. A
    regressor has no labels.
    """
    positions, known = np.arange(len(target)), np.ones(len(target), dtype=bool)
    if labels is not None:
        known = np.isin(target, labels)
    if isinstance(estimator, FrozenEstimator):
        return [_fold_of(estimator, X, positions, labels)]
    fold_of = partial(_fold_of, labels=labels)
    splits = [(positions[train], test) for train, test in splits]  # may be masks
    splits = [(train[known[train]], test) for train, test in splits]
    return cross_fit(estimator, X, target, splits, fit_params, fold_of, n_jobs=n_jobs)


def _fold_of(model: Any, X: Any, rows: Integers, labels: list[Any] | None) -> Fold:
    """Predict rows left out."""
    return Fold(model, rows, label_probabilities(model, X, labels))


def label_probabilities(model: Any, X: Any, labels: list[Any] | None) -> Floats:
    """Probability of each label by a fitted classifier, 0 if it has not seen it.

    Of a regressor, without labels, its predictions are the only column.
    """
    if labels is None:
        predicted = column_or_1d(model.predict(X))
        predicted = check_numbers(predicted, f"{type(model).__name__}.predict")
        return to_40_digits(predicted)[:, None]
    found = np.asarray(model.predict_proba(X), dtype=np.float64)
    classes = np.asarray(model.classes_).tolist()
    if found.ndim != 2 or found.shape[1] != len(classes) or len(classes) < 2:
        raise ValueError(
            f"{type(model).__name__} gives probabilities of shape {found.shape} for "
            f"the classes {classes[:5]}, expected a column for each of at least two: "
            "every training part of cv needs rows of two classes and of two groups."
        )
    columns = [classes.index(label) if label in classes else -1 for label in labels]
    check_numbers(found.ravel(), f"{type(model).__name__}.predict_proba")
    padded = np.column_stack([found, np.zeros(len(found))])
    return np.clip(padded[:, columns], 0, 1)


def to_40_digits(predicted: Floats) -> Floats:
    """Return numbers to 40 binary digits, so that equal ones do not differ by rounding.

    Products of matrices, for instance, give equal rows predictions that differ by
    rounding, and a repair would take them for two.
    """
    digits, exponents = np.frexp(predicted)
    return np.asarray(np.ldexp(np.rint(np.ldexp(digits, 40)), exponents - 40))


def mean_probabilities(models: list[Any], X: Any, labels: list[Any] | None) -> Floats:
    """Mean probability of each label over fitted models."""
    predicted = [label_probabilities(model, X, labels) for model in models]
    return np.asarray(np.mean(predicted, axis=0))


def mean_of_folds(folds: list[Fold], n_samples: int) -> Floats:
    """Mean probabilities of each row over the folds that held it out, nan for none."""
    total = np.zeros((n_samples, folds[0].probabilities.shape[1]))
    counts = np.zeros(n_samples)
    for fold in folds:
        total[fold.rows] += fold.probabilities
        counts[fold.rows] += 1
    counts[counts == 0] = np.nan
    return np.asarray(total / counts[:, None])


def fit_all(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
    """Fit a clone to all rows; a frozen classifier is returned as it is."""
    if isinstance(estimator, FrozenEstimator):
        return estimator
    return clone(estimator).fit(X, y, **fit_params)


class MeanVote(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier that averages the probabilities of fitted binary classifiers."""

    def __init__(self, estimators: list[Any]) -> None:
        self.estimators = estimators

    @property
    def classes_(self) -> NDArray[Any]:
        """Class labels."""
        return np.asarray(self.estimators[0].classes_)

    def fit(self, X: Any, y: Any) -> Self:
        """Do nothing: the members are fitted."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, X: Any) -> Floats:
        """Average the probabilities of the members."""
        probabilities = [member.predict_proba(X) for member in self.estimators]
        return np.asarray(np.mean(probabilities, axis=0))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the larger mean probability."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def average_repeats(folds: list[Fold], n_samples: int) -> list[Fold]:
    """Join repeated splits into one fold of all rows; return other splits as they are.

    Its model is the mean of one model of each repeat. Each row is scored by the mean of
    as many models that were not trained on it, so that these scores are distributed as
    those of new rows.
    """
    repeats: list[list[Fold]] = [[]]
    for fold in folds:
        if sum(len(other.rows) for other in repeats[-1]) >= n_samples:
            repeats.append([])
        repeats[-1].append(fold)
    scores = np.full((len(repeats), n_samples), np.nan)
    for row, repeat in zip(scores, repeats, strict=True):
        for fold in repeat:
            row[fold.rows] = fold.probabilities[:, 1]
    if len(repeats) == 1 or np.isnan(scores).any():
        return folds
    members, mean = [repeat[0].model for repeat in repeats], scores.mean(axis=0)
    probabilities = np.column_stack([1 - mean, mean])
    return [Fold(MeanVote(members), np.arange(n_samples), probabilities)]


def cells_to_repair(rows: TrainingRows) -> NDArray[np.integer]:
    """Code of each row's group, or with several strata of its stratum and group.

    There is a map for each of these codes, and none for -1. The maps of a single
    stratum hold for all rows.
    """
    several = rows.strata is not None and len(rows.strata.labels) > 1
    return rows.cells if several else rows.codes


def held_out_rows(fold: Fold, rows: TrainingRows) -> TrainingRows:
    """Rows of a fold that have weight and a map, with their scores."""
    own = replace(rows, X=None).take(fold.rows)
    chosen = (cells_to_repair(own) >= 0) & (own.weights > 0)
    return replace(own, scores=fold.probabilities[:, -1]).take(chosen)


def join_rows(parts: list[TrainingRows]) -> TrainingRows:
    """Rows of several parts, which have the same groups, together."""
    first = parts[0]

    def join(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        if isinstance(values[0], Groups):
            codes = np.concatenate([value.codes for value in values])
            return replace(values[0], codes=codes)
        return None if values[0] is None else np.concatenate(values)

    return replace(first, **{part.name: join(part.name) for part in fields(first)})

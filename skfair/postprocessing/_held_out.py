"""Models of folds, and what they predict of rows that they were not fitted to."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state, column_or_1d

from skfair._training_rows import Split, TrainingRows, cross_fit
from skfair._utils._arrays import Floats, Integers
from skfair._utils._validation import check_integer, check_numbers
from skfair.model_selection._group_stratified_k_fold import stratified_splits
from skfair.postprocessing._score_repairer import (
    LinearCDF,
    distributions,
    ends_of,
    interpolate,
    row_counts,
)


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
        # Equal rows have predictions that differ by rounding, which a repair would take
        # for two: they are rounded to 40 binary digits.
        digits, exponents = np.frexp(predicted)
        rounded = np.ldexp(np.rint(np.ldexp(digits, 40)), exponents - 40)
        return np.asarray(rounded[:, None])
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


def cells_to_repair(rows: TrainingRows) -> NDArray[np.integer]:
    """Code of each row's group, or with several strata of its stratum and group.

    There is a map for each of these codes, and none for -1. The maps of a single
    stratum hold for all rows.
    """
    several = rows.strata is not None and len(rows.strata.labels) > 1
    return rows.cells if several else rows.codes


def held_out_rows(
    folds: list[Fold], rows: TrainingRows
) -> tuple[TrainingRows, Integers]:
    """Return the rows held out that have weight and a map, with their scores.

    Also return the position of the fold of each.
    """
    fold_of_row = np.repeat(np.arange(len(folds)), [len(fold.rows) for fold in folds])
    held_out = replace(rows, X=None).take(np.concatenate([one.rows for one in folds]))
    scores = np.concatenate([fold.probabilities[:, -1] for fold in folds])
    held_out = replace(held_out, scores=scores)
    chosen = (cells_to_repair(held_out) >= 0) & (held_out.weights > 0)
    return held_out.take(chosen), fold_of_row[chosen]


@dataclass(frozen=True, eq=False)
class CommonScale:
    """CDF of everyone by all models together, and that by each of them.

    Models of different folds may spread their scores more or less: one map suits them
    all on the scale of everyone's scores together. A score keeps its height.
    """

    everyone: LinearCDF
    by_model: list[LinearCDF]

    @classmethod
    def of(cls, rows: TrainingRows, fold_of_row: Integers, scale: str) -> Self:
        """Return the scale of models that have each scored the rows of one fold."""
        n_models = int(fold_of_row.max()) + 1
        by_model = [
            _everyone(rows.take(fold_of_row == k), scale, (k + 0.5) / n_models)
            for k in range(n_models)
        ]
        return cls(_everyone(rows, scale), by_model)

    def rescaled(
        self, rows: TrainingRows, fold_of_row: Integers, draws: Floats | None
    ) -> TrainingRows:
        """Return the rows that the models have scored, on the common scale."""
        scores = np.array(rows.scores)
        for model in range(len(self.by_model)):
            own = fold_of_row == model
            own_draws = None if draws is None else draws[own]
            scores[own] = self.from_model(model, scores[own], own_draws)
        return replace(rows, scores=scores)

    def from_model(
        self, model: int, scores: Floats, draws: Floats | None = None
    ) -> Floats:
        """Return scores of one model on the common scale.

        Rows that share a score stay together, or are spread over its heights by draws.
        """
        return _rescale(scores, self.by_model[model], self.everyone, draws)

    def to_model(self, model: int, scores: Floats) -> Floats:
        """Return scores of the common scale on that of one model."""
        return _rescale(scores, self.everyone, self.by_model[model])


def _everyone(rows: TrainingRows, scale: str, place: float = 0.5) -> LinearCDF:
    """CDF of everyone.

    Rows of two folds that have different places in [0, 1] share no height, so that they
    do not come to share a score on another scale.
    """
    statistic = distributions(rows)
    cdf = LinearCDF.of(statistic, None, ends_of(scale, statistic.scores))
    if len(cdf.scores) == 1:  # a model that predicts one number, as those of others
        return cdf
    # At most half a row up or down; a whole weight counts as so many rows.
    shift = (2 * place - 1) / row_counts(statistic).sum()
    both = []
    for heights in (cdf.low, cdf.high):
        if scale == "real":
            # Ends correspond to ends, and slopes of 1 beyond them to each other.
            heights[[0, -1]] = 0, 1
        both.append(heights + 2 * shift * heights * (1 - heights))
    return LinearCDF(cdf.scores, *both)


def _rescale(
    scores: Floats, own: LinearCDF, other: LinearCDF, draws: Floats | None = None
) -> Floats:
    """Scores that have the same height in another CDF of everyone."""
    seen = np.clip(scores, own.scores[0], own.scores[-1])
    if draws is None:
        heights = interpolate(seen, own.scores, own.middle)
    else:
        heights = own.heights_of(seen, draws)
    return np.interp(heights, other.middle, other.scores) + (scores - seen)

"""Rows that a model was not trained on, with their scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from skfair._mitigation import params_of_rows, take_rows
from skfair.groups import Groups
from skfair.model_selection._group_stratified_k_fold import Split, stratified_splits
from skfair.postprocessing._linear_cdf import Floats, tied_shares
from skfair.statistics import GroupedScores


class Fold(NamedTuple):
    """A fitted classifier, and its scores of rows that it was not trained on."""

    estimator: Any
    rows: NDArray[np.intp]
    scores: Floats

    def scored_rows(
        self, y_true: NDArray[Any], groups: Groups, weights: NDArray[Any] | None
    ) -> ScoredRows:
        """Rows of the fold that have a group and a positive weight."""
        chosen = groups.codes[self.rows] >= 0
        if weights is not None:
            chosen &= weights[self.rows] > 0
            weights = weights[self.rows]
        y_true = y_true[self.rows].astype(np.intp)
        rows = ScoredRows(y_true, self.scores, groups[self.rows], weights)
        return rows.take(chosen)


def stratified_folds(
    y: NDArray[Any], groups: Groups, n_folds: int, random_state: Any
) -> Iterator[Split]:
    """Stratify folds by class and group; each class needs a row for each fold."""
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if counts.min() < n_folds:
        raise ValueError(
            f"cv={n_folds} needs as many rows of each class, got {counts.min()} of "
            f"class {classes.tolist()[counts.argmin()]!r}."
        )
    random = None if random_state is None else check_random_state(random_state)
    yield from stratified_splits(codes, groups.codes, n_folds, random)


def score_folds(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    splits: Iterable[Split],
    fit_params: dict[str, Any],
    n_jobs: int | None,
) -> list[Fold]:
    """Fit a clone to each training part and score the rows left out.

    A frozen classifier scores all rows, since it was fitted to none of them.
    """
    if isinstance(estimator, FrozenEstimator):
        return [Fold(estimator, np.arange(len(y)), positive_scores(estimator, X))]
    score = delayed(_score_fold)
    return list(
        Parallel(n_jobs=n_jobs)(
            score(clone(estimator), X, y, train, test, fit_params)
            for train, test in splits
        )
    )


def _score_fold(
    estimator: Any, X: Any, y: NDArray[Any], train: Any, test: Any, fit_params: Any
) -> Fold:
    """Fit an estimator to the training rows and score the test rows."""
    positions = np.arange(len(y))
    train, test = positions[train], positions[test]  # splits may be masks
    params = params_of_rows(fit_params, train, len(y))
    estimator.fit(take_rows(X, train), y[train], **params)
    return Fold(estimator, test, positive_scores(estimator, take_rows(X, test)))


def fit_all(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
    """Fit a clone to all rows; a frozen classifier is returned as it is."""
    if isinstance(estimator, FrozenEstimator):
        return estimator
    return clone(estimator).fit(X, y, **fit_params)


def positive_scores(estimator: Any, X: Any) -> Floats:
    """Probability of the second class by a fitted classifier of two classes."""
    probabilities = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    if probabilities.shape[1] != 2:
        raise ValueError(
            f"estimator gives probabilities of shape {probabilities.shape}, expected "
            "two columns: it must be fitted on rows of two classes."
        )
    # Sums of float32 probabilities can exceed 1 by rounding.
    return np.clip(probabilities[:, 1], 0, 1)


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
    """One fold of all rows in place of repeated splits; other splits are returned.

    Its model is the mean of one model of each repeat. Each row is scored by the mean
    of as many models that were not trained on it, so that these scores are distributed
    as those of new rows.
    """
    repeats: list[list[Fold]] = [[]]
    for fold in folds:
        if sum(len(other.rows) for other in repeats[-1]) >= n_samples:
            repeats.append([])
        repeats[-1].append(fold)
    scores = np.full((len(repeats), n_samples), np.nan)
    for row, repeat in zip(scores, repeats, strict=True):
        for fold in repeat:
            row[fold.rows] = fold.scores
    if len(repeats) == 1 or np.isnan(scores).any():
        return folds
    members = [repeat[0].estimator for repeat in repeats]
    return [Fold(MeanVote(members), np.arange(n_samples), scores.mean(axis=0))]


class ScoredRows(NamedTuple):
    """Rows with a group and a positive weight, from which a repair is learnt."""

    y_true: NDArray[np.intp]
    scores: Floats
    groups: Groups
    sample_weight: NDArray[Any] | None

    def take(self, chosen: NDArray[Any]) -> ScoredRows:
        """Select rows by position or by a mask."""
        weights = self.sample_weight
        return ScoredRows(
            self.y_true[chosen],
            self.scores[chosen],
            self.groups[chosen],
            None if weights is None else weights[chosen],
        )

    def weighing(self) -> dict[str, Any]:
        """Keyword of the weights for a metric, none without weights."""
        if self.sample_weight is None:
            return {}
        return {"sample_weight": self.sample_weight}

    def keywords(self) -> dict[str, Any]:
        """Keywords of the groups and of the weights for a metric."""
        return {"sensitive_features": self.groups, **self.weighing()}

    def statistic(self) -> GroupedScores:
        """Score distributions of the groups."""
        return GroupedScores.from_scores(self.scores, **self.keywords())


def join_rows(parts: list[ScoredRows]) -> ScoredRows:
    """Rows of several parts, which have the same groups, together."""
    y_true, scores, groups, weights = zip(*parts, strict=True)
    codes = np.concatenate([part.codes for part in groups])
    return ScoredRows(
        np.concatenate(y_true),
        np.concatenate(scores),
        replace(groups[0], codes=codes),
        None if weights[0] is None else np.concatenate(weights),
    )


def share_scores(parts: list[ScoredRows]) -> bool:
    """Whether more than a fifth of the rows of a group share a score.

    Averages of several models then have another distribution than each model's scores.
    """
    # Measured on Adult and Bank: below 0.14 (boosting, shallow trees) the ensemble is
    # fairer, above 0.24 (forests, neighbours) a refit with ties at random is.
    return bool((tied_shares(join_rows(parts).statistic()) > 0.2).any())


def makes_ensemble(ensemble: bool | str, parts: list[ScoredRows], shared: bool) -> bool:
    """Whether to average the models of the folds rather than refit one to all rows.

    `shared` tells whether rows share scores: averages would make their repaired
    distributions differ again.
    """
    sizes = np.array([part.groups.sizes() for part in parts])
    if ensemble == "auto":
        return bool(sizes.min() > 0) and not shared
    if ensemble and sizes.min() == 0:
        fold, group = np.argwhere(sizes == 0)[0].tolist()
        raise ValueError(
            "ensemble=True needs rows of every group held out in every fold, but fold "
            f"{fold} has none of {parts[0].groups.labels[group]!r}, which has "
            f"{sizes[:, group].sum()} in all. Use ensemble='auto' or fewer folds."
        )
    return bool(ensemble)

"""Rows that a model was not trained on: their scores, and whether repair helps them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from skfair._comparison import PlainComparison, compare_with_plain
from skfair._mitigation import level_of_user, params_of_rows, take_rows
from skfair._utils._types import Floats
from skfair.exceptions import MitigationWarning
from skfair.groups import Groups
from skfair.model_selection._group_stratified_k_fold import Split, stratified_splits
from skfair.postprocessing._linear_cdf import has_ties, tied_shares
from skfair.postprocessing._score_repairer import ScoreRepairer
from skfair.statistics import GroupedScores

#: Rows that are enough to see how good a repair is.
_MANY_ROWS = 100_000
#: Share of the plain MCDP that ties may add, unsaid, to what a level or gap leaves, and
#: that may be left where the level is chosen.
_SHARE_ADDED, _SHARE_LEFT = 0.25, 0.4
#: Rows below which nothing is said of shared scores: there may be few distinct ones.
_FEWEST_ROWS = 50
#: Share of the average precision above the base rate that `"auto"` may cost unsaid.
_SHARE_LOST = 0.5


class Fold(NamedTuple):
    """A fitted classifier, and its scores of rows that it was not trained on."""

    estimator: Any
    rows: NDArray[np.intp]
    scores: Floats

    def scored_rows(
        self,
        y_true: NDArray[Any],
        groups: Groups,
        weights: NDArray[Any] | None,
        strata: Groups | None = None,
    ) -> ScoredRows:
        """Rows of the fold that have a group, one of several strata, and weight."""
        chosen = groups.codes[self.rows] >= 0
        if strata is not None and len(strata.labels) > 1:
            chosen &= strata.codes[self.rows] >= 0
        if weights is not None:
            chosen &= weights[self.rows] > 0
            weights = weights[self.rows]
        y_true = y_true[self.rows].astype(np.intp)
        within = None if strata is None else strata[self.rows]
        rows = ScoredRows(y_true, self.scores, groups[self.rows], weights, within)
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
    fit_to_rows(estimator, X, y, train, fit_params)
    return Fold(estimator, test, positive_scores(estimator, take_rows(X, test)))


def fit_to_rows(
    estimator: Any, X: Any, y: NDArray[Any], rows: NDArray[np.intp], fit_params: Any
) -> Any:
    """Fit an estimator to some rows."""
    params = params_of_rows(fit_params, rows, len(y))
    return estimator.fit(take_rows(X, rows), y[rows], **params)


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
    strata: Groups | None = None

    def take(self, chosen: NDArray[Any]) -> ScoredRows:
        """Select rows by position or by a mask."""
        weights = self.sample_weight
        return ScoredRows(
            self.y_true[chosen],
            self.scores[chosen],
            self.groups[chosen],
            None if weights is None else weights[chosen],
            None if self.strata is None else self.strata[chosen],
        )

    def cells(self) -> Groups:
        """Return the groups within strata, if there are any."""
        return cells_of(self.groups, self.strata)

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


def cells_of(groups: Groups, strata: Groups | None) -> Groups:
    """Strata and groups together; rows in no stratum stay in their groups."""
    if strata is None or len(strata.labels) == 1:
        return groups
    n_groups = len(groups.labels)
    codes = strata.codes.astype(np.intp) * n_groups + groups.codes
    codes[(strata.codes < 0) | (groups.codes < 0)] = -1
    labels = tuple(product(strata.labels, groups.labels))
    return Groups(codes, labels)


def join_rows(parts: list[ScoredRows]) -> ScoredRows:
    """Rows of several parts, which have the same groups, together."""
    y_true, scores, groups, weights, strata = zip(*parts, strict=True)
    return ScoredRows(
        np.concatenate(y_true),
        np.concatenate(scores),
        _join(groups),
        None if weights[0] is None else np.concatenate(weights),
        None if strata[0] is None else _join(strata),
    )


def _join(parts: Sequence[Groups]) -> Groups:
    """Join the groups of several parts, which have the same labels."""
    return replace(parts[0], codes=np.concatenate([part.codes for part in parts]))


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
    cells = [part.cells() for part in parts]
    sizes = np.array([part.sizes() for part in cells])
    missing = (sizes == 0) & (sizes.any(axis=0) | (parts[0].strata is None))
    if ensemble == "auto":
        return not missing.any() and not shared
    if ensemble and missing.any():
        fold, cell = np.argwhere(missing)[0].tolist()
        raise ValueError(
            "ensemble=True needs rows of every group held out in every fold, but fold "
            f"{fold} has none of {cells[0].labels[cell]!r}, which has "
            f"{sizes[:, cell].sum()} in all. Use ensemble='auto' or fewer folds."
        )
    return bool(ensemble)


def learn_part(
    repairer: ScoreRepairer, rows: ScoredRows, whole: ScoreRepairer | None = None
) -> ScoreRepairer:
    """Learn a repair from rows, a part of those from which `whole` was learnt."""
    return repairer._fit(
        rows.scores,
        None,
        rows.groups,
        rows.sample_weight,
        whole=whole,
        strata=rows.strata,
        warn=False,
    )


def repair_held_out(
    rows: ScoredRows, parts: list[NDArray[np.intp]], repairer: ScoreRepairer
) -> tuple[ScoredRows, Floats]:
    """Rows of all parts, each repaired as learnt from the rows outside of its part.

    Of many rows, some are held out once.
    """
    n_rows = len(rows.scores)
    if n_rows > _MANY_ROWS:
        parts = [np.arange(0, n_rows, 1 + n_rows // _MANY_ROWS)]
    scores = []
    for part in parts:
        others = np.ones(n_rows, dtype=bool)
        others[part] = False
        # The others may lack a group that is in this part alone.
        learnt = clone(repairer).set_params(unknown_groups="pooled")
        held_out = rows.take(part)
        learn_part(learnt, rows.take(others))
        scores.append(
            learnt.transform(
                held_out.scores,
                sensitive_features=held_out.groups,
                control_features=held_out.strata,
            )
        )
    return rows.take(np.concatenate(parts)), np.concatenate(scores)


def check_repair(mitigator: Any, rows: ScoredRows, repaired: Floats) -> PlainComparison:
    """Compare repaired with plain scores, and warn of what went wrong."""
    comparison = compare_with_plain(
        rows.y_true,
        rows.scores,
        repaired,
        rows.groups,
        strata=None if rows.strata is None else rows.strata.codes,
        sample_weight=rows.sample_weight,
        max_mcdp=mitigator.max_mcdp,
    )
    problem = _tie_problem(mitigator, rows, comparison)
    if problem is None:
        comparison.warn(
            mitigator, "Take a lower repair_level, a larger max_mcdp or larger groups"
        )
        problem = _loss_problem(mitigator, rows, comparison)
    if problem is not None:
        message = f"{type(mitigator).__name__}, on held-out rows: {problem}."
        warnings.warn(message, MitigationWarning, stacklevel=level_of_user())
    return comparison


def _tie_problem(
    mitigator: Any, rows: ScoredRows, found: PlainComparison
) -> str | None:
    """Say that rows which share a score keep most of the gap, where they do."""
    if mitigator.ties == "random" or found.n_samples < _FEWEST_ROWS:
        return None
    if not found.plain_mcdp > found.noise:
        return None
    if mitigator.max_mcdp is not None:
        share = min(1.0, mitigator.max_mcdp / found.plain_mcdp) + _SHARE_ADDED
    elif mitigator.repair_level == "auto":
        share = _SHARE_LEFT
    else:
        share = 1 - mitigator.repair_level + _SHARE_ADDED
    statistic = rows.statistic()
    if found.mcdp <= share * found.plain_mcdp or not has_ties(statistic):
        return None
    return (
        f"MCDP(0) is {found.mcdp:.3f}, the plain classifier's is "
        f"{found.plain_mcdp:.3f}, because rows that share a score stay together and up "
        f"to {tied_shares(statistic).max():.0%} of a group share one. Set "
        "ties='random', which gives such rows different scores, or a classifier with "
        "more distinct scores, such as one that cv=RepeatedStratifiedKFold(...) "
        "averages"
    )


def _loss_problem(
    mitigator: Any, rows: ScoredRows, found: PlainComparison
) -> str | None:
    """Say that the chosen level costs most of what the classifier knows, where so."""
    if mitigator.repair_level != "auto" or mitigator.max_mcdp is not None:
        return None
    gain = found.plain_average_precision - np.average(
        rows.y_true, weights=rows.sample_weight
    )
    loss = found.plain_average_precision - found.average_precision
    if not loss > max(_SHARE_LOST * gain, 2 * found.average_precision_error):
        return None
    return (
        f"average precision falls from {found.plain_average_precision:.3f} to "
        f"{found.average_precision:.3f} at repair_level={mitigator.repair_level_:.3g}, "
        f"MCDP(0) from {found.plain_mcdp:.3f} to {found.mcdp:.3f}: most of what the "
        "classifier knows is the difference between the groups. Set a lower theta, a "
        "repair_level or max_mcdp"
    )

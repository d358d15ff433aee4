"""Rows that a model was not trained on: their scores, and whether repair helps them."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state, column_or_1d

from skfair._comparison import (
    Comparison,
    PlainComparison,
    RegressorComparison,
    compare_regressors,
    compare_with_plain,
)
from skfair._training_rows import Split, TrainingRows, cross_fit
from skfair._utils._columns import select_columns
from skfair._utils._types import Floats, Integers
from skfair._utils._validation import check_integer, check_numbers
from skfair._utils._warnings import warn_user
from skfair.exceptions import MitigationWarning
from skfair.groups import Groups
from skfair.model_selection._group_stratified_k_fold import stratified_splits
from skfair.postprocessing._linear_cdf import (
    LinearCDF,
    distributions,
    ends_of,
    has_ties,
    interpolate,
    row_counts,
    tied_shares,
)
from skfair.postprocessing._score_repairer import ScoreRepairer

#: Rows that are enough to see how good a repair is.
_MANY_ROWS = 100_000
#: Share of the plain MCDP that ties may add, unsaid, to what a level or gap leaves, and
#: that may be left where the level is chosen.
_SHARE_ADDED, _SHARE_LEFT = 0.25, 0.4
#: Rows below which nothing is said of shared scores: there may be few distinct ones.
_FEWEST_ROWS = 50
#: Share of the average precision above the base rate that a repair may cost unsaid.
_SHARE_LOST = 0.5
#: Noise of a gap up to which a repair is harmless where no gap is seen: what it adds to
#: the gap is noise of the same rows, and less.
_HARMLESS_NOISE = 0.06


class Fold(NamedTuple):
    """A fitted model, and the probabilities of rows that it was not fitted to.

    They have a column for each label; of a regressor they are its predictions.
    """

    model: Any
    rows: Integers
    probabilities: Floats


def make_splits(
    mitigator: Any, X: Any, y: NDArray[Any], cells: Groups, for_split: dict[str, Any]
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
        return list(stratified_splits(tenths_of(y), cells.codes, cv, random))
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if counts.min() < cv:
        raise ValueError(
            f"cv={cv} needs as many rows of each class, got {counts.min()} of "
            f"class {classes.tolist()[counts.argmin()]!r}."
        )
    return list(stratified_splits(codes, cells.codes, cv, random))


def tenths_of(y: Floats) -> Integers:
    """Return the tenth of the rows, by order of the target, that each row is in."""
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
        return _to_40_digits(predicted)[:, None]
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


def _to_40_digits(predicted: Floats) -> Floats:
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


def held_out_rows(fold: Fold, rows: TrainingRows) -> TrainingRows:
    """Rows of a fold that have weight, a group and, with strata, a stratum."""
    own = replace(rows, X=None).take(fold.rows)
    chosen = (own.codes >= 0) & (own.weights > 0)
    if own.strata is not None and len(own.strata.labels) > 1:
        chosen &= own.strata.codes >= 0
    return replace(own, scores=fold.probabilities[:, -1]).take(chosen)


def weight_keywords(rows: TrainingRows) -> dict[str, Any]:
    """Keyword of the weights for a metric, none without weights."""
    if rows.sample_weight is None:
        return {}
    return {"sample_weight": rows.sample_weight}


def strata_and_groups(groups: Groups, strata: Groups | None) -> Groups:
    """Strata and groups together; rows in no stratum stay in their groups."""
    if strata is None or len(strata.labels) == 1:
        return groups
    n_groups = len(groups.labels)
    codes = strata.codes.astype(np.intp) * n_groups + groups.codes
    codes[(strata.codes < 0) | (groups.codes < 0)] = -1
    labels = tuple(product(strata.labels, groups.labels))
    return Groups(codes, labels)


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


#: Scores of everyone and the heights of their CDF there, which both increase.
ScoreScale: TypeAlias = tuple[Floats, Floats]


def on_common_scale(
    folds: list[TrainingRows], n_models: int, scale: str = "probability"
) -> tuple[ScoreScale, list[ScoreScale], list[TrainingRows]]:
    """Scale of all folds together and of each model, and the folds on the common one.

    Models of different folds may spread their scores more or less: one map suits them
    all on the scale of everyone's scores together. A single model is left as it is.
    """
    common = _score_scale(join_rows(folds), scale)
    if n_models == 1:
        return common, [common], folds
    scales = [
        _score_scale(fold, scale, (k + 0.5) / n_models) for k, fold in enumerate(folds)
    ]
    rescaled = [
        replace(fold, scores=_to_common(fold.scores, own, common, scale))
        for fold, own in zip(folds, scales, strict=True)
    ]
    return common, scales, rescaled


def mean_of_repaired(
    repairer: ScoreRepairer,
    predicted: list[Floats],
    given: tuple[Groups, Groups | None],
    common: ScoreScale,
    scales: list[ScoreScale],
) -> Floats:
    """Mean of the scores of several models, each repaired on the common scale.

    `given` are the groups and the strata of the rows.
    """
    if len(predicted) == 1:
        return repairer._repair(predicted[0], *given)
    total = np.zeros(len(predicted[0]))
    for scores, own in zip(predicted, scales, strict=True):
        scores = _to_common(scores, own, common, repairer.scale)
        repaired = repairer._repair(scores, *given)
        total += _rescale(repaired, common, own)
    return total / len(predicted)


def _score_scale(rows: TrainingRows, scale: str, place: float = 0.5) -> ScoreScale:
    """Scores of everyone, and the heights of their CDF there.

    Rows of two folds that have different places in [0, 1] share no height, so that they
    do not come to share a score on another scale.
    """
    statistic = distributions(rows)
    cdf = LinearCDF.of(statistic, None, ends_of(scale, statistic.scores))
    heights = cdf.middle
    if len(heights) == 1:  # a model that predicts one number, as those of other folds
        return cdf.scores, heights
    if scale == "real":
        # Ends correspond to ends, and slopes of 1 beyond them to each other.
        heights[[0, -1]] = 0, 1
    # At most half a row up or down; a whole weight counts as so many rows.
    shift = (2 * place - 1) / row_counts(statistic).sum()
    return cdf.scores, heights + 2 * shift * heights * (1 - heights)


def _to_common(
    scores: Floats, own: ScoreScale, common: ScoreScale, scale: str
) -> Floats:
    """Return scores of one model on the common scale."""
    found = _rescale(scores, own, common)
    return _to_40_digits(found) if scale == "real" else found


def _rescale(scores: Floats, own: ScoreScale, other: ScoreScale) -> Floats:
    """Scores that have the same height in another CDF of everyone; no order changes."""
    seen = np.clip(scores, own[0][0], own[0][-1])
    return np.interp(interpolate(seen, *own), other[1], other[0]) + (scores - seen)


def groups_to_repair(
    mitigator: Any,
    X: Any,
    n_samples: int,
    sensitive_features: Any,
    control_features: Any,
) -> tuple[Groups, Groups | None]:
    """Return the groups and strata of rows to predict, which are repaired by group."""
    if sensitive_features is None and mitigator.sensitive_features is None:
        name = type(mitigator).__name__
        raise ValueError(
            f"{name} needs the group of each row that it predicts, but "
            "sensitive_features is None: pass it to the method, or construct "
            f"{name}(..., sensitive_features=<column of X>). If a "
            "cross-validation or search called this: scikit-learn's scorers pass "
            "no groups on, score with skfair.metrics.make_group_scorer(<scorer>)."
        )
    if sensitive_features is None:
        sensitive_features = select_columns(X, mitigator.sensitive_features)
    strata = mitigator._find_strata(control_features, X)
    found: tuple[Groups, Groups | None] = mitigator.repairer_._read_groups(
        sensitive_features, strata, n_samples, mitigator.unknown_groups
    )
    return found


def share_scores(parts: list[TrainingRows]) -> bool:
    """Whether more than a fifth of the rows of a group share a score.

    Averages of several models then have another distribution than each model's scores.
    """
    # Measured on Adult and Bank: below 0.14 (boosting, shallow trees) the ensemble is
    # fairer, above 0.24 (forests, neighbours) a refit with ties at random is.
    return bool((tied_shares(distributions(join_rows(parts))) > 0.2).any())


def repair_held_out(
    rows: TrainingRows, parts: list[NDArray[np.intp]], repairer: ScoreRepairer
) -> tuple[TrainingRows, Floats]:
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
        learnt, held_out = clone(repairer), rows.take(part)
        learnt._learn_rows(rows.take(others), warn=False)
        scores.append(learnt._repair(held_out.scores, held_out.groups, held_out.strata))
    return rows.take(np.concatenate(parts)), np.concatenate(scores)


def check_repair(
    mitigator: Any, repairer: ScoreRepairer, rows: TrainingRows, repaired: Floats
) -> tuple[RegressorComparison, bool]:
    """Compare repaired with plain predictions, and warn of what went wrong.

    Also say whether the plain regressor is to be kept: where there is something to gain
    and no gain is shown.
    """
    asked = repairer.max_mcdp
    comparison = compare_regressors(rows, rows.scores, repaired, max_mcdp=asked)
    problem = _tie_problem(repairer, rows, comparison)
    largest = max(comparison.plain_mcdp, comparison.mcdp)
    if asked is None or largest > asked:  # there is something to gain
        may_keep = mitigator.fallback and not comparison.shows_gain
        if (may_keep or problem is None) and comparison.keeps_plain(
            mitigator, _remedy(problem)
        ):
            return comparison, True
    _warn_of_problem(mitigator, problem)
    return comparison, False


def judge_repair(
    mitigator: Any,
    rows: TrainingRows,
    repaired: Floats,
    differ: bool,
    restrict: Callable[[TrainingRows], TrainingRows],
) -> tuple[PlainComparison, bool]:
    """Compare repaired with plain scores, and warn of what went wrong.

    Also return whether the plain classifier is to be kept: if the rows that `restrict`
    keeps show no gain, or if no groups `differ` clearly and noise is so large that a
    repair may harm.
    """
    asked = mitigator.max_mcdp
    comparison = compare_with_plain(rows, rows.scores, repaired, max_mcdp=asked)
    part, judged = restrict(rows), comparison
    if part is not rows:
        scores = restrict(replace(rows, scores=repaired)).scores
        judged = compare_with_plain(part, part.scores, scores, max_mcdp=asked)
    problem, keeps_plain = _tie_problem(mitigator, rows, comparison), False
    remedy = _remedy(problem)
    largest = max(comparison.plain_mcdp, comparison.mcdp)
    if (repaired == rows.scores).all() or (asked is not None and largest <= asked):
        pass  # there is nothing to gain
    elif mitigator.fallback and not differ and comparison.noise > _HARMLESS_NOISE:
        problem, keeps_plain = _noise_problem(comparison), True
    elif not judged.shows_gain and judged.keeps_plain(mitigator, remedy):
        problem, keeps_plain = None, True
    elif problem is None:
        if judged.shows_gain:
            comparison.warn(mitigator, remedy)
        problem = _loss_problem(mitigator, rows, comparison)
    _warn_of_problem(mitigator, problem)
    return comparison, keeps_plain


def _remedy(tie_problem: str | None) -> str:
    """Say what a user can do where a repair shows no gain."""
    if tie_problem is not None:
        return "Set ties='random', or take an estimator with more distinct scores"
    return "Take a lower repair_level, a larger max_mcdp or larger groups"


def _warn_of_problem(mitigator: Any, problem: str | None) -> None:
    """Warn of what went wrong on held-out rows, if anything did."""
    if problem is not None:
        message = f"{type(mitigator).__name__}, on held-out rows: {problem}."
        warn_user(message, MitigationWarning)


def _noise_problem(found: PlainComparison) -> str:
    """Say that there is no gap to repair."""
    return (
        "no group differs clearly from all others (the plain classifier's MCDP(0) is "
        f"{found.plain_mcdp:.3f}, sampling noise {found.noise:.3f}), so a repair may "
        "widen the gap of new rows. The plain classifier is kept; fallback=False "
        "repairs it nevertheless"
    )


def _tie_problem(asked: Any, rows: TrainingRows, found: Comparison) -> str | None:
    """Say that rows which share a score keep most of the gap, where they do."""
    if asked.ties == "random" or found.n_samples < _FEWEST_ROWS:
        return None
    if not found.plain_mcdp > found.noise:
        return None
    if asked.max_mcdp is not None:
        share = min(1.0, asked.max_mcdp / found.plain_mcdp) + _SHARE_ADDED
    elif asked.repair_level == "auto":
        share = _SHARE_LEFT
    else:
        share = 1 - asked.repair_level + _SHARE_ADDED
    statistic = distributions(rows)
    if found.mcdp <= share * found.plain_mcdp or not has_ties(statistic):
        return None
    averaged = ""
    if is_classifier(asked):
        averaged = ", such as one that cv=RepeatedStratifiedKFold(...) averages"
    return (
        f"MCDP(0) is {found.mcdp:.3f}, the plain model's is "
        f"{found.plain_mcdp:.3f}, because rows that share a score stay together and up "
        f"to {tied_shares(statistic).max():.0%} of a group share one. Set "
        "ties='random', which gives such rows different scores, or an estimator with "
        f"more distinct scores{averaged}"
    )


def _loss_problem(
    mitigator: Any, rows: TrainingRows, found: PlainComparison
) -> str | None:
    """Return a warning if the repair removes most of the model's skill, else None."""
    asked = f"max_mcdp={mitigator.max_mcdp}"
    if mitigator.max_mcdp is None:
        if mitigator.repair_level != "auto":
            return None
        asked = f"repair_level={mitigator.repair_level_:.3g}"
    gain = found.plain_average_precision - np.average(
        rows.y, weights=rows.sample_weight
    )
    loss = found.plain_average_precision - found.average_precision
    if not loss > max(_SHARE_LOST * gain, 2 * found.average_precision_error):
        return None
    return (
        f"average precision falls from {found.plain_average_precision:.3f} to "
        f"{found.average_precision:.3f} at {asked}, MCDP(0) from "
        f"{found.plain_mcdp:.3f} to {found.mcdp:.3f}: most of what the "
        "classifier knows is the difference between the groups. Set a lower theta, a "
        "lower repair_level or a larger max_mcdp"
    )

"""Repair of what the models of folds predict: held-out rows, their map, predictions.

`MADDPostProcessor` and `RepairedRegressor` call `score_held_out`, `learn_repair` and
`repair_predictions`, in this order.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch, check_random_state

from skfair._comparison import (
    Comparison,
    compare_classifiers,
    compare_regressors,
    mean_mcdp,
    warn_of_comparison,
)
from skfair._mitigation import (
    FitInputs,
    FoldMitigator,
    Mitigator,
    features_to_predict,
    groups_to_predict,
    label_probabilities,
    make_splits,
    predict_targets,
    read_strata,
    tenths_of,
    tip_to_drop,
)
from skfair._rows import Rows, take_rows
from skfair._utils._arrays import Floats
from skfair._utils._progress import Tasks
from skfair._utils._validation import count_rows
from skfair.groups import Selector
from skfair.model_selection._folds import Split, assign_folds
from skfair.postprocessing._group_cdfs import (
    LinearCDF,
    end_scores,
    has_ties,
    row_counts,
    weighted_distributions,
)
from skfair.postprocessing._population_gap import (
    Aim,
    ModelPredictions,
    PopulationGaps,
)
from skfair.postprocessing._repair_map import RepairMap

#: Parts of the rows that one model scored, each of which is repaired by the others.
_N_PARTS = 5
#: Rows that are enough to see how good a repair is.
_MANY_ROWS = 100_000
#: Rows of which the gap is found where random ties add to it.
_N_DRAWN = 10_000
_REMEDY = (
    "Give more rows, larger groups, a larger max_mcdp or a lower repair_level, or "
    "ties='random' where rows share scores"
)


class RepairMitigator(Mitigator, FoldMitigator, Protocol):
    """The attributes of a mitigator that repairs what the models of folds predict.

    A classifier has `classes_`, too.
    """

    control_features: Selector | None
    ties: str
    unknown_groups: str
    repair_level: float | Literal["auto"]
    estimators_: list[Any]
    classes_: NDArray[Any]


class Spread:
    """Scores of everyone, over which tied rows of one model are spread.

    A tree predicts few different scores, and the tree of another fold predicts others.
    A row with a tied score is drawn a height within the step of this score in the CDF
    of its model, and gets the score that has this height in the CDF of everyone.
    """

    def __init__(self, rows: Rows, n_models: int, scale: str) -> None:
        """Learn the CDF of all held-out scores, and the CDF of each model."""
        parts = [rows, *(rows[rows.fold == model] for model in range(n_models))]
        pooled, *self.by_model = [
            LinearCDF.from_statistic(
                statistic, None, end_scores(scale, statistic.scores)
            )
            for statistic in map(weighted_distributions, parts)
        ]
        self.scores, self.heights = pooled.scores, pooled.middle
        if len(self.scores) > 1:
            self.heights[[0, -1]] = 0, 1  # all heights have scores of their own

    def spread_model(self, scores: Floats, model: int, draws: Floats) -> Floats:
        """Spread scores of a model by draws from [0, 1]."""
        cdf = self.by_model[model]
        within = np.clip(scores, cdf.scores[0], cdf.scores[-1])
        heights = cdf.evaluate_within(within, draws)
        spread = np.interp(heights, self.heights, self.scores)
        return np.asarray(spread + (scores - within))

    def spread_models(self, scores: Floats, random_state: Any) -> Floats:
        """Spread the scores of all models, by the same draws of each row."""
        draws = _draw_heights(random_state, scores.shape[1])
        by_model = enumerate(scores)
        return np.array([self.spread_model(row, i, draws) for i, row in by_model])


class HeldOutScores(NamedTuple):
    """Models of the folds, and held-out rows with the score by the model of their fold.

    `spread` spreads rows that share a score of one of several models; None where such
    rows stay together.
    """

    models: list[Any]
    rows: Rows
    spread: Spread | None


@dataclass(frozen=True)
class MeanRepair:
    """Repair of the predictions of several models, whose mean is then predicted."""

    map: RepairMap
    spread: Spread | None
    random_state: Any

    def repair_mean(self, predicted: ModelPredictions) -> Floats:
        """Repair what each model predicts of rows, and return the mean."""
        rows = predicted.rows
        repaired = [
            self.map.repair(scores, rows.groups, rows.strata, self.random_state)
            for scores in predicted.spread_scores
        ]
        return predicted.average(np.array(repaired))


class RepairedFolds(NamedTuple):
    """Rows with their repaired scores, by maps that were learnt without their fold.

    `are_complete` is False if only a sample of the rows is repaired, by one map that
    was learnt from all other rows.
    """

    rows: Rows
    scores: Floats
    are_complete: bool


def score_held_out(
    mitigator: RepairMitigator, inputs: FitInputs, routed: Bunch, tasks: Tasks
) -> HeldOutScores:
    """Fit the estimator on folds, and score the held-out rows that have a map.

    Only rows with a group and a weight have a map. If a single (frozen) model scored
    all rows, the rows are dealt to five folds.
    """
    rows, splits = inputs.rows, list[Split]()
    if not isinstance(mitigator.estimator, FrozenEstimator):
        splits = make_splits(
            mitigator,
            inputs.X,
            inputs.target,
            cells=map_codes(rows),
            for_split=routed.splitter.split,
        )
    tasks.begin(len(splits))
    with tip_to_drop(mitigator, inputs.X, mitigator.estimator):
        models, held_out = predict_targets(mitigator, inputs, splits, routed, tasks)
    usable = (map_codes(held_out) >= 0) & (held_out.weights > 0)
    scores = held_out.y_pred[:, -1] + 0.0  # no negative zeros
    held_out = replace(held_out, y_pred=scores)[usable]
    if len(models) == 1:
        y = held_out.y_true
        classes = y if is_classifier(mitigator) else tenths_of(y)
        folds = assign_folds(classes, held_out.groups.codes, _N_PARTS, None)
        held_out = replace(held_out, fold=folds)
    elif mitigator.ties == "random" and _folds_have_ties(held_out):
        return _spread_ties(mitigator, models, held_out)
    return HeldOutScores(models, held_out, None)


def _spread_ties(
    mitigator: RepairMitigator, models: list[Any], rows: Rows
) -> HeldOutScores:
    """Spread rows that share a score of one of several models.

    With a single model the repair itself spreads them.
    """
    scale = "probability" if is_classifier(mitigator) else "real"
    spread = Spread(rows, len(models), scale)
    draws = _draw_heights(mitigator.random_state, len(rows))
    scores = np.array(rows.y_pred)
    for model in range(len(models)):
        in_fold = rows.fold == model
        scores[in_fold] = spread.spread_model(scores[in_fold], model, draws[in_fold])
    return HeldOutScores(models, replace(rows, y_pred=scores), spread)


def learn_repair(
    mitigator: RepairMitigator,
    inputs: FitInputs,
    held_out: HeldOutScores,
    repair_map: RepairMap,
) -> tuple[MeanRepair, Comparison]:
    """Learn the map from held-out scores, and compare plain with repaired scores.

    With `max_mcdp`, the map is learnt for the gap that keeps the limit in the
    population. There is a warning if no gain is shown, or if `max_mcdp` is not kept.
    """
    limit, rows = repair_map.max_mcdp, held_out.rows
    predicted = _predict_fitted(mitigator, inputs, held_out)
    aim = _find_aim(repair_map, rows, predicted)
    if aim is not None:
        repair_map = replace(repair_map, max_mcdp=aim.max_mcdp)
    repair_map.learn(rows, warn=False, takes_ungrouped=inputs.ungrouped)
    repair = MeanRepair(repair_map, held_out.spread, mitigator.random_state)
    comparison = _compare_repair(mitigator, repair, rows, predicted)
    if aim is not None:
        comparison = _state_expected_gap(comparison, aim)
    _warn_of_repair(mitigator, comparison, aim, limit)
    return repair, comparison


def _predict_fitted(
    mitigator: RepairMitigator, inputs: FitInputs, held_out: HeldOutScores
) -> ModelPredictions | None:
    """Predict the rows of the fit by all models if scores are tied; otherwise None.

    Rows that share a score of one model often share the scores of the other models,
    too. Held-out scores do not show this, since one model scores each fold. The mean of
    all models then leaves more of the gap, in the rows of the fit as in new rows. Where
    ties are random and rows are few, each row is drawn several times.
    """
    models, spread = held_out.models, held_out.spread
    if len(models) == 1 or not (spread or _folds_have_ties(held_out.rows)):
        return None
    rows = inputs.rows
    rows = rows[(rows.weights > 0) & (map_codes(rows) >= 0)]
    X = take_rows(inputs.X, rows.position)
    scores = np.array([_predict_scores(mitigator, model, X) for model in models])
    if spread is None:
        return ModelPredictions(rows, scores, scores)
    places = np.tile(np.arange(len(rows)), 1 + _N_DRAWN // max(1, len(rows)))
    rows, scores = rows[places], scores[:, places]
    spread_scores = spread.spread_models(scores, mitigator.random_state)
    return ModelPredictions(rows, scores, spread_scores)


def _find_aim(
    repair_map: RepairMap, held_out: Rows, predicted: ModelPredictions | None
) -> Aim | None:
    """Find the band that keeps `max_mcdp` for rows of the population."""
    if not repair_map.max_mcdp:
        return None  # there is no band, or it has no width
    # Rows that repeated splits hold out again are no other rows.
    first = np.unique(held_out.position, return_index=True)[1]
    return PopulationGaps(held_out[np.sort(first)], repair_map, predicted).find_aim()


def _compare_repair(
    mitigator: RepairMitigator,
    repair: MeanRepair,
    held_out: Rows,
    predicted: ModelPredictions | None,
) -> Comparison:
    """Compare plain and repaired scores of each fold, by maps of the other folds."""
    folds = _repair_across_folds(repair, held_out)
    compare = compare_classifiers if is_classifier(mitigator) else compare_regressors
    rows, baseline = folds.rows, folds.rows.y_pred
    comparison = compare(rows, baseline, folds.scores, cross_fitted=folds.are_complete)
    if predicted is None:
        return comparison
    repaired = repair.map.repair(
        held_out.y_pred, held_out.groups, held_out.strata, repair.random_state
    )
    plain_mean = replace(predicted.rows, y_pred=predicted.scores.mean(axis=0))
    repaired_mean = replace(predicted.rows, y_pred=repair.repair_mean(predicted))
    baseline_excess = _excess_gap(plain_mean, held_out)
    excess = _excess_gap(repaired_mean, replace(held_out, y_pred=repaired))
    return replace(
        comparison,
        baseline=_add_gap(comparison.baseline, baseline_excess),
        mitigated=_add_gap(comparison.mitigated, excess),
    )


def _repair_across_folds(repair: MeanRepair, rows: Rows) -> RepairedFolds:
    """Repair the rows of each fold by a map learnt from the other folds.

    With more than 100,000 rows, a sample of at most 100,000 is repaired instead, by one
    map that is learnt from all other rows.
    """
    fold, scores = rows.fold, rows.y_pred
    if len(rows) > _MANY_ROWS:
        sampled = np.arange(len(rows)) % (1 + len(rows) // _MANY_ROWS) == 0
        fold = np.where(sampled, 0, -1)
    repaired = np.array(scores)
    for part in range(int(fold.max()) + 1):
        in_fold = fold == part
        others_map = replace(repair.map).learn(rows[~in_fold], warn=False)
        tested = rows[in_fold]
        # The comparison does not move on the state that predictions draw from.
        random_state = copy.deepcopy(repair.random_state)
        repaired[in_fold] = others_map.repair(
            tested.y_pred, tested.groups, tested.strata, random_state
        )
    chosen = fold >= 0
    return RepairedFolds(rows[chosen], repaired[chosen], bool(chosen.all()))


def _excess_gap(mean: Rows, held_out: Rows) -> float:
    """Return how far MCDP(0) of the models' mean exceeds MCDP(0) of held-out scores."""
    return max(0.0, mean_mcdp(mean).value - mean_mcdp(held_out).value)


def _add_gap(figures: dict[str, float], excess: float) -> dict[str, float]:
    """Return the figures, with an excess added to each MCDP."""
    return {
        name: min(1.0, value + excess) if name.endswith("mcdp") else value
        for name, value in figures.items()
    }


def _state_expected_gap(comparison: Comparison, aim: Aim) -> Comparison:
    """Replace the mitigated gap by the one expected when the band was chosen.

    The expected gap takes account of shared scores and of groups of few rows.
    """
    gap = comparison.mitigated["mcdp"]
    if gap == comparison.baseline["mcdp"]:
        return comparison
    share = aim.expected / gap
    mitigated = {
        name: share * value if name == "adjusted_mcdp" else value
        for name, value in comparison.mitigated.items()
    }
    return replace(comparison, mitigated=mitigated | {"mcdp": aim.expected})


def _warn_of_repair(
    mitigator: RepairMitigator,
    comparison: Comparison,
    aim: Aim | None,
    limit: float | None,
) -> None:
    """Warn if held-out rows show no gain, or do not show that `max_mcdp` is kept.

    No gain is needed if the baseline keeps `max_mcdp`, or if the level is 0.
    """
    problem, keeps_limit = "", False
    if aim is not None and limit is not None:
        problem = aim.describe_problem(limit)
        gaps = comparison.baseline["mcdp"], comparison.mitigated["mcdp"]
        keeps_limit = max(gaps) <= limit
    if problem or not (keeps_limit or mitigator.repair_level == 0):
        warn_of_comparison(mitigator, comparison, _REMEDY, problem)


def repair_predictions(
    mitigator: RepairMitigator,
    repair: MeanRepair | None,
    X: Any,
    sensitive_features: ArrayLike | None,
    control_features: ArrayLike | None,
) -> Floats:
    """Repair the predictions of each model, and return their mean over models."""
    features, models = features_to_predict(mitigator, X), mitigator.estimators_
    predicted = [_predict_scores(mitigator, model, features) for model in models]
    if repair is None:
        return predicted[0]
    groups, strata = repair.map.read_groups(
        groups_to_predict(mitigator, X, sensitive_features),
        read_strata(mitigator.control_features, X, control_features),
        count_rows(X),
        mitigator.unknown_groups,
    )
    scores = spread_scores = np.array(predicted)
    if repair.spread is not None:
        spread_scores = repair.spread.spread_models(scores, repair.random_state)
    rows = Rows(groups, strata)
    return repair.repair_mean(ModelPredictions(rows, scores, spread_scores))


def _predict_scores(mitigator: RepairMitigator, model: Any, X: Any) -> Floats:
    """Predict the second class, or the target, by one of the models."""
    labels = mitigator.classes_.tolist() if is_classifier(mitigator) else None
    predicted: Floats = label_probabilities(model, X, labels)[:, -1]
    return predicted


def map_codes(rows: Rows) -> NDArray[np.integer]:
    """Return the code of each row's map, -1 for none.

    Each group has a map, or with several strata each stratum and group. The maps of a
    single stratum hold for all rows.
    """
    several = rows.strata is not None and len(rows.strata.labels) > 1
    return rows.stratum_group_codes if several else rows.groups.codes


def _draw_heights(random_state: Any, n_samples: int) -> Floats:
    """Draw where each row is within the rows that share its score."""
    random = check_random_state(random_state)
    return np.asarray(random.uniform(size=n_samples))


def _folds_have_ties(rows: Rows) -> bool:
    """Return whether a model gives many rows of one group the same score."""
    n_rows = row_counts(weighted_distributions(rows))
    return any(
        has_ties(weighted_distributions(rows[rows.fold == fold]), n_rows)
        for fold in range(int(rows.fold.max()) + 1)
    )

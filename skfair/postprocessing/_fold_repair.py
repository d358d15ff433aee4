"""Repair of what the models of folds predict: held-out rows, their map, predictions.

`MADDPostProcessor` and `RepairedRegressor` call these functions one after the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
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
    Given,
    begin_predict,
    find_strata,
    groups_to_predict,
    label_probabilities,
    make_splits,
    predict_targets,
    tenths_of,
    tip_to_drop,
)
from skfair._rows import Rows, take_rows
from skfair._utils._arrays import Floats
from skfair._utils._progress import Tasks
from skfair._utils._validation import count_rows
from skfair.model_selection._folds import Split, assign_folds
from skfair.postprocessing._population_gap import Aim, ModelPredictions, PopulationGaps
from skfair.postprocessing._score_repairer import (
    LinearCDF,
    ScoreRepairer,
    distributions,
    ends_of,
    row_counts,
    tied_shares,
)

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


class Spread:
    """Everyone's scores, by which tied rows of one model are spread.

    A model of a tree gives few scores, other ones than the models of other folds. A row
    is drawn a height within its score's step in the CDF of its model, and gets the
    score that everyone has at that height.
    """

    def __init__(self, rows: Rows, n_models: int, scale: str) -> None:
        """Learn the scores of rows that were predicted by the models of folds."""
        parts = [rows, *(rows[rows.fold == model] for model in range(n_models))]
        statistics = [distributions(part) for part in parts]
        overall, *self.by_model = [
            LinearCDF.from_statistic(statistic, None, ends_of(scale, statistic.scores))
            for statistic in statistics
        ]
        self.scores, self.heights = overall.scores, overall.middle
        if len(self.scores) > 1:
            self.heights[[0, -1]] = 0, 1  # all heights have scores of their own

    def __call__(self, scores: Floats, model: int, draws: Floats) -> Floats:
        """Spread scores of a model by draws from [0, 1]."""
        own = self.by_model[model]
        seen = np.clip(scores, own.scores[0], own.scores[-1])
        spread = np.interp(own.heights_of(seen, draws), self.heights, self.scores)
        return np.asarray(spread + (scores - seen))

    def spread_models(self, repair: Any, scores: Floats) -> Floats:
        """Spread the scores of all models, by the same draws of each row."""
        draws = draw_heights(repair, scores.shape[1])
        return np.array([self(own, model, draws) for model, own in enumerate(scores)])


def score_held_out(
    mitigator: Any, given: Given, routed: Bunch, tasks: Tasks
) -> tuple[list[Any], Rows]:
    """Fit the estimator on folds, and return the models and the rows held out.

    Rows have a weight, a map and a score. Those that a single model scored are dealt to
    five folds.
    """
    rows, splits = given.rows, list[Split]()
    if not isinstance(mitigator.estimator, FrozenEstimator):
        columns = given.X, given.target, cells_to_repair(rows)
        splits = make_splits(mitigator, *columns, routed.splitter.split)
    tasks.begin(len(splits))
    with tip_to_drop(mitigator, given.X):
        models, held_out = predict_targets(mitigator, given, splits, routed, tasks)
    usable = (cells_to_repair(held_out) >= 0) & (held_out.weights > 0)
    scores = held_out.y_pred[:, -1] + 0.0  # no negative zeros
    held_out = replace(held_out, y_pred=scores)[usable]
    if len(models) == 1:
        y = held_out.y_true
        classes = y if is_classifier(mitigator) else tenths_of(y)
        folds = assign_folds(classes, held_out.groups.codes, _N_PARTS, None)
        held_out = replace(held_out, fold=folds)
    return models, held_out


def spread_ties(
    mitigator: Any, rows: Rows, n_models: int
) -> tuple[Rows, Spread | None]:
    """Spread rows that share a score of one of several models, if ties are random.

    With one model the repair does so.
    """
    if mitigator.ties == "mid" or n_models == 1 or not _folds_have_ties(rows):
        return rows, None
    scale = "probability" if is_classifier(mitigator) else "real"
    spread, draws = Spread(rows, n_models, scale), draw_heights(mitigator, len(rows))
    scores = np.array(rows.y_pred)
    for model in range(n_models):
        own = rows.fold == model
        scores[own] = spread(scores[own], model, draws[own])
    return replace(rows, y_pred=scores), spread


def make_repairer(mitigator: Any, **options: Any) -> ScoreRepairer:
    """Return a repair with the parameters that it shares with a mitigator."""
    return ScoreRepairer(
        **options,
        ties=mitigator.ties,
        unknown_groups=mitigator.unknown_groups,
        random_state=mitigator.random_state,
    )


def repair_across_folds(
    repairer: ScoreRepairer, rows: Rows
) -> tuple[Rows, Floats, bool]:
    """Repair the rows of each fold by a map learnt from the other folds.

    If there are more than 100,000 rows, a sample of at most as many is held out in
    place of the folds. Return the rows that were held out, their repaired scores, and
    whether maps have learnt from all other folds.
    """
    fold, scores = rows.fold, rows.y_pred
    if len(rows) > _MANY_ROWS:
        sampled = np.arange(len(rows)) % (1 + len(rows) // _MANY_ROWS) == 0
        fold = np.where(sampled, 0, -1)
    repaired = np.array(scores)
    for part in range(int(fold.max()) + 1):
        own = fold == part
        learnt, tested = clone(repairer), rows[own]
        learnt._learn_rows(rows[~own], warn=False)
        repaired[own] = learnt._repair(scores[own], tested.groups, tested.strata)
    chosen = fold >= 0
    return rows[chosen], repaired[chosen], bool(chosen.all())


def predict_fitted(
    mitigator: Any,
    models: list[Any],
    given: Given,
    held_out: Rows,
    spread: Spread | None,
) -> ModelPredictions | None:
    """Predict the rows of the fit by all models, where rows share scores, else None.

    Rows that share a score of one model share those of others, which the scores that
    each model gives to its own fold do not show: the mean of all models leaves more of
    the gap then, of the rows that they were fitted to as of new ones. Few rows whose
    ties are random are drawn several times.
    """
    if len(models) == 1 or not (spread or _folds_have_ties(held_out)):
        return None
    rows = given.rows
    rows = rows[(rows.weights > 0) & (cells_to_repair(rows) >= 0)]
    X = take_rows(given.X, rows.position)
    scores = np.array([scores_of(mitigator, model, X) for model in models])
    if spread is None:
        return ModelPredictions(rows, scores, scores)
    places = np.tile(np.arange(len(rows)), 1 + _N_DRAWN // max(1, len(rows)))
    rows, scores = rows[places], scores[:, places]
    return ModelPredictions(rows, scores, spread.spread_models(mitigator, scores))


def gap_of(predicted: ModelPredictions, repairer: ScoreRepairer | None = None) -> float:
    """Return MCDP(0) of the mean of all models, which may be repaired."""
    rows, scores = predicted.rows, predicted.scores.mean(axis=0)
    if repairer is not None:
        scores = _mean_repaired(repairer, predicted)
    return mean_mcdp(replace(rows, y_pred=scores)).value


def find_aim(
    mitigator: Any,
    held_out: Rows,
    predicted: ModelPredictions | None,
    options: dict[str, Any],
) -> Aim | None:
    """Find the band that keeps `max_mcdp` for rows of the population."""
    if not options["max_mcdp"]:
        return None  # there is no band, or it has no width
    # Rows that repeated splits hold out again are no other rows.
    first = np.unique(held_out.position, return_index=True)[1]
    held_out = held_out[np.sort(first)]
    scale = "probability" if is_classifier(mitigator) else "real"
    limit = options["max_mcdp"]
    return PopulationGaps(held_out, limit, scale, mitigator, predicted).aim()


def compare_repair(
    mitigator: Any,
    repairer: ScoreRepairer,
    held_out: Rows,
    predicted: ModelPredictions | None,
    aim: Aim | None,
) -> Comparison:
    """Compare repaired with plain scores of each fold, by the maps of all others.

    A warning says where no gain is shown, or `max_mcdp` is not kept.
    """
    rows, repaired, all_folds = repair_across_folds(repairer, held_out)
    classifier = is_classifier(mitigator)
    compare = compare_classifiers if classifier else compare_regressors
    found = compare(rows, rows.y_pred, repaired, cross_fitted=all_folds)
    if predicted is not None:
        after = repairer._repair(held_out.y_pred, held_out.groups, held_out.strata)
        of_mean = gap_of(predicted), gap_of(predicted, repairer)
        found = replace(
            found,
            baseline=_add_gap(found.baseline, held_out, of_mean[0]),
            mitigated=_add_gap(
                found.mitigated, replace(held_out, y_pred=after), of_mean[1]
            ),
        )
    found = _expect_aim(found, aim)
    _warn_of_repair(mitigator, found, aim)
    return found


def _add_gap(figures: dict[str, float], rows: Rows, gap: float) -> dict[str, float]:
    """Add to figures of MCDP the excess of a gap over that of the rows."""
    more = max(0.0, gap - mean_mcdp(rows).value)
    return {
        name: min(1.0, value + more) if name.endswith("mcdp") else value
        for name, value in figures.items()
    }


def _expect_aim(comparison: Comparison, aim: Aim | None) -> Comparison:
    """State the gap that repairs of halves leave, where a band was found by it.

    It knows of shared scores and of groups of few rows.
    """
    gap = comparison.mitigated["mcdp"]
    if aim is None or gap == comparison.baseline["mcdp"]:
        return comparison
    share = aim.expected / gap
    mitigated = {
        name: share * value if name == "adjusted_mcdp" else value
        for name, value in comparison.mitigated.items()
    }
    return replace(comparison, mitigated=mitigated | {"mcdp": aim.expected})


def _warn_of_repair(mitigator: Any, comparison: Comparison, aim: Aim | None) -> None:
    """Warn if held-out rows show no gain, or do not show that `max_mcdp` is kept.

    There is nothing to gain where the baseline keeps the limit, or the level is 0.
    """
    limit = mitigator.max_mcdp
    missed = "" if aim is None else aim.problem(limit)
    gaps = comparison.baseline["mcdp"], comparison.mitigated["mcdp"]
    kept = aim is not None and max(gaps) <= limit
    if missed or not (kept or mitigator.repair_level == 0):
        warn_of_comparison(mitigator, comparison, _REMEDY, missed)


def repair_predictions(
    mitigator: Any,
    X: Any,
    sensitive_features: ArrayLike | None,
    control_features: ArrayLike | None,
) -> Floats:
    """Return the mean of the predictions of the models, each of which is repaired."""
    features, models = begin_predict(mitigator, X), mitigator.estimators_
    predicted = [scores_of(mitigator, model, features) for model in models]
    repairer = mitigator.repairer_
    if repairer is None:
        return predicted[0]
    groups, strata = repairer._read_groups(
        groups_to_predict(mitigator, X, sensitive_features),
        find_strata(mitigator, X, control_features),
        count_rows(X),
        mitigator.unknown_groups,
    )
    scores, spread = np.array(predicted), mitigator._spread
    moved = scores if spread is None else spread.spread_models(repairer, scores)
    return _mean_repaired(
        repairer, ModelPredictions(Rows(groups, strata), scores, moved)
    )


def _mean_repaired(repairer: ScoreRepairer, predicted: ModelPredictions) -> Floats:
    """Repair what each model predicts of rows, and return the mean."""
    groups, strata = predicted.rows.groups, predicted.rows.strata
    repaired = [repairer._repair(each, groups, strata) for each in predicted.spread]
    return predicted.mean(np.array(repaired))


def draw_heights(repair: Any, n_samples: int) -> Floats:
    """Draw where each row is within the rows that share its score."""
    random = check_random_state(repair.random_state)
    return np.asarray(random.uniform(size=n_samples))


def labels_of(mitigator: Any) -> list[Any] | None:
    """Return the classes of a classifier, None of a regressor."""
    return mitigator.classes_.tolist() if is_classifier(mitigator) else None


def scores_of(mitigator: Any, model: Any, X: Any) -> Floats:
    """Predict the second class, or the target, by one of the models."""
    predicted: Floats = label_probabilities(model, X, labels_of(mitigator))[:, -1]
    return predicted


def cells_to_repair(rows: Rows) -> NDArray[np.integer]:
    """Return code of each row's group, or with several strata of its stratum and group.

    There is a map for each of these codes, and none for -1. The maps of a single
    stratum hold for all rows.
    """
    several = rows.strata is not None and len(rows.strata.labels) > 1
    return rows.stratum_group_codes if several else rows.groups.codes


def _folds_have_ties(rows: Rows) -> bool:
    """Return whether many rows of a group share a score of one model."""
    limits = 1 / np.sqrt(np.maximum(row_counts(distributions(rows)), 1))
    for fold in range(int(rows.fold.max()) + 1):
        statistic = distributions(rows[rows.fold == fold])
        if (tied_shares(statistic) > limits[statistic.codes]).any():
            return True
    return False

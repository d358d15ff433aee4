"""Repair of what the models of folds predict: held-out rows, their map, predictions.

`MADDPostProcessor` and `RepairedRegressor` call these functions one after the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch, check_random_state

from skfair._comparison import Comparison, mean_mcdp, warn_of_comparison
from skfair._mitigation import (
    Given,
    begin_predict,
    find_strata,
    groups_to_predict,
    label_probabilities,
    make_splits,
    predict_folds,
    tenths_of,
    tip_to_drop,
)
from skfair._rows import Rows, take_rows
from skfair._utils._arrays import Floats
from skfair._utils._progress import Tasks
from skfair._utils._validation import count_rows
from skfair.groups import Groups
from skfair.model_selection._folds import assign_folds
from skfair.postprocessing._population_gap import Aim, PopulationGaps
from skfair.postprocessing._score_repairer import (
    LinearCDF,
    ScoreRepairer,
    distributions,
    ends_of,
    interpolate,
    row_counts,
    tied_shares,
)

#: Parts of the rows that one model scored, each of which is repaired by the others.
_N_PARTS = 5
#: Rows that are enough to see how good a repair is.
_MANY_ROWS = 100_000
_REMEDY = (
    "Give more rows, larger groups, a larger max_mcdp or a lower repair_level, or "
    "ties='random' where rows share scores"
)


class CommonScale(NamedTuple):
    """Scale on which everyone's scores have the same distribution for each model.

    Models of different folds may spread their scores more or less: one map suits them
    all on the scale of everyone's scores together. A score keeps its height.
    """

    everyone: LinearCDF
    by_model: list[LinearCDF]

    @classmethod
    def fit(cls, rows: Rows, n_models: int, scale: str) -> Self:
        """Learn the scale from rows with scores, whose fold is the model."""
        models = range(n_models)
        places = [(model + 0.5) / n_models for model in models]
        by_model = [
            _everyone(rows[rows.fold == model], scale, places[model])
            for model in models
        ]
        return cls(_everyone(rows, scale), by_model)

    def place(self, scores: Floats, model: int, draws: Floats | None) -> Floats:
        """Move scores of a model to the common scale."""
        return _rescale(scores, self.by_model[model], self.everyone, draws)

    def place_back(self, scores: Floats, model: int) -> Floats:
        """Move scores on the common scale to that of a model."""
        return _rescale(scores, self.everyone, self.by_model[model])


class FoldRepair:
    """Repair of what each model of folds predicts, on the scale that they share.

    `common` is None for a single model, whose predictions are repaired as they are.
    """

    def __init__(self, repairer: ScoreRepairer, common: CommonScale | None) -> None:
        self.repairer, self.common = repairer, common

    def fit(self, rows: Rows) -> Self:
        """Learn from held-out rows, whose scores are on the common scale."""
        self.repairer._learn_rows(rows, warn=False)
        return self

    def __call__(
        self, predicted: list[Floats], groups: Groups, strata: Groups | None
    ) -> Floats:
        """Return the mean of the predictions of the models, each repaired."""
        repair, common = self.repairer._repair, self.common
        if common is None:
            return repair(predicted[0], groups, strata)
        draws, repaired = draw_heights(self.repairer, len(groups)), []
        for model, scores in enumerate(predicted):
            before = common.place(scores, model, draws)
            after = repair(before, groups, strata)
            # Scores that stay are not spread.
            own = np.where(after == before, scores, common.place_back(after, model))
            repaired.append(own)
        return np.asarray(np.mean(repaired, axis=0))


def score_held_out(
    mitigator: Any, given: Given, routed: Bunch, tasks: Tasks
) -> tuple[list[Any], Rows]:
    """Fit the estimator on folds, and return the models and the rows held out.

    Rows have a weight, a map and a score. Those that a single model scored are dealt to
    five folds.
    """
    rows, labels, splits = given.rows, labels_of(mitigator), []
    if not isinstance(mitigator.estimator, FrozenEstimator):
        columns = given.X, given.target, cells_to_repair(rows)
        splits = make_splits(mitigator, *columns, routed.splitter.split)
    tasks.begin(len(splits))
    with tip_to_drop(mitigator, given.X):
        models, held_out = predict_folds(
            mitigator.estimator,
            *(given.X, rows, given.target, labels, splits),
            routed.estimator.fit,
            mitigator.n_jobs,
            tasks.done,
        )
    usable = (cells_to_repair(held_out) >= 0) & (held_out.weights > 0)
    scores = held_out.y_pred[:, -1] + 0.0  # no negative zeros
    held_out = replace(held_out, y_pred=scores)[usable]
    if len(models) == 1:
        y = held_out.y_true
        classes = tenths_of(y) if labels is None else y
        folds = assign_folds(classes, held_out.groups.codes, _N_PARTS, None)
        held_out = replace(held_out, fold=folds)
    return models, held_out


def put_on_common_scale(
    mitigator: Any, rows: Rows, n_models: int
) -> tuple[Rows, CommonScale | None]:
    """Move the scores of several models to their common scale."""
    if n_models == 1:
        return rows, None
    real = not is_classifier(mitigator)
    common = CommonScale.fit(rows, n_models, "real" if real else "probability")
    scores, draws = np.array(rows.y_pred), draw_heights(mitigator, len(rows))
    for model in range(n_models):
        own = rows.fold == model
        own_draws = None if draws is None else draws[own]
        scores[own] = common.place(scores[own], model, own_draws)
    return replace(rows, y_pred=scores), common


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
    """Repair the rows of each fold as learnt from those outside of it.

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


def find_aim(
    mitigator: Any,
    held_out: Rows,
    given: Given,
    models: list[Any],
    common: CommonScale | None,
    options: dict[str, Any],
) -> Aim | None:
    """Find the band that keeps `max_mcdp` for rows of the population.

    Rows that share a score of one model share those of others, which the scores that
    each model gives to its own fold do not show: the mean of all models leaves more of
    the gap then, of the rows that they were fitted to as of new ones.
    """
    if not options["max_mcdp"]:
        return None  # there is no band, or it has no width
    # Rows that repeated splits hold out again are no other rows.
    first = np.unique(held_out.position, return_index=True)[1]
    held_out = held_out[np.sort(first)]
    scale = "probability" if is_classifier(mitigator) else "real"
    gaps = PopulationGaps(held_out, options["max_mcdp"], scale, mitigator)
    aim = gaps.aim()
    if common is None or not _folds_have_ties(held_out):
        return aim
    repairer = make_repairer(mitigator, **options | {"max_mcdp": aim.max_mcdp})
    repair = FoldRepair(repairer, common).fit(held_out)
    steered = [label in gaps.steered for label in given.rows.labels]
    compared = np.isin(given.rows.groups.codes, np.flatnonzero(steered))
    compared &= (given.rows.weights > 0) & (cells_to_repair(given.rows) >= 0)
    rows = given.rows[compared]
    X = take_rows(given.X, rows.position)
    predicted = [scores_of(mitigator, model, X) for model in models]
    scores = repair(predicted, rows.groups, rows.strata)
    left = mean_mcdp(replace(rows, y_pred=scores)).value
    return gaps.aim(max(0.0, left - aim.learnt))


def expect_aim(comparison: Comparison, aim: Aim | None) -> Comparison:
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


def warn_of_repair(mitigator: Any, comparison: Comparison, aim: Aim | None) -> None:
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
    mitigator: Any, X: Any, sensitive_features: Any, control_features: Any
) -> Floats:
    """Mean of the predictions of the models, each repaired on the common scale."""
    features, models = begin_predict(mitigator, X), mitigator.estimators_
    predicted = [scores_of(mitigator, model, features) for model in models]
    repair = mitigator._repair
    if repair is None:
        return predicted[0]
    groups, strata = repair.repairer._read_groups(
        groups_to_predict(mitigator, X, sensitive_features),
        find_strata(mitigator, X, control_features),
        count_rows(X),
        mitigator.unknown_groups,
    )
    return np.asarray(repair(predicted, groups, strata))


def labels_of(mitigator: Any) -> list[Any] | None:
    """Return the classes of a classifier, None of a regressor."""
    return mitigator.classes_.tolist() if is_classifier(mitigator) else None


def scores_of(mitigator: Any, model: Any, X: Any) -> Floats:
    """Predict the second class, or the target, by one of the models."""
    predicted: Floats = label_probabilities(model, X, labels_of(mitigator))[:, -1]
    return predicted


def draw_heights(repair: Any, n_samples: int) -> Floats | None:
    """Draw where each row is within the rows that share its score, if ties are."""
    if repair.ties == "mid":
        return None
    random = check_random_state(repair.random_state)
    return np.asarray(random.uniform(size=n_samples))


def cells_to_repair(rows: Rows) -> NDArray[np.integer]:
    """Code of each row's group, or with several strata of its stratum and group.

    There is a map for each of these codes, and none for -1. The maps of a single
    stratum hold for all rows.
    """
    several = rows.strata is not None and len(rows.strata.labels) > 1
    return rows.cells if several else rows.groups.codes


def _folds_have_ties(rows: Rows) -> bool:
    """Whether rows of a group share a score of one model beyond sampling noise."""
    limits = 1 / np.sqrt(np.maximum(row_counts(distributions(rows)), 1))
    for fold in range(int(rows.fold.max()) + 1):
        statistic = distributions(rows[rows.fold == fold])
        if (tied_shares(statistic) > limits[statistic.codes]).any():
            return True
    return False


def _everyone(rows: Rows, scale: str, place: float = 0.5) -> LinearCDF:
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
    """Scores that have the same height in another CDF of everyone.

    Rows that share a score stay together, or are spread over its heights by draws.
    """
    seen = np.clip(scores, own.scores[0], own.scores[-1])
    if draws is None:
        heights = interpolate(seen, own.scores, own.middle)
    else:
        heights = own.heights_of(seen, draws)
    return np.interp(heights, other.middle, other.scores) + (scores - seen)

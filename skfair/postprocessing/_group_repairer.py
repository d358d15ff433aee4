"""What mitigators share that repair predictions by the group of each row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state

from skfair._comparison import Comparison
from skfair._mitigation import (
    ROUTED,
    MetaMitigator,
    make_splits,
    predict_folds,
    tenths_of,
)
from skfair._rows import Rows
from skfair._utils._arrays import Floats
from skfair._utils._validation import count_rows
from skfair._utils._warnings import warn_user
from skfair.exceptions import MitigationWarning
from skfair.groups import Groups
from skfair.model_selection._group_stratified_k_fold import assign_folds
from skfair.postprocessing._score_repairer import (
    LinearCDF,
    ScoreRepairer,
    distributions,
    ends_of,
    has_ties,
    interpolate,
    row_counts,
    tied_shares,
)

#: Parts of the rows that one model scored, each of which is repaired by the others.
_N_PARTS = 5
#: Rows that are enough to see how good a repair is.
_MANY_ROWS = 100_000
#: Share of the plain MCDP that ties may add, before the user is warned, to what a level
#: or gap leaves, and that may be left where the level is chosen.
_SHARE_ADDED, _SHARE_LEFT = 0.25, 0.4
#: Rows below which nothing is said of shared scores: there may be few distinct ones.
_FEWEST_ROWS = 50


class GroupRepairer(MetaMitigator):
    """Mixin of mitigators that repair the predictions of the models of folds."""

    estimators_: list[Any]
    repairer_: ScoreRepairer | None
    n_jobs: int | None
    ties: Literal["mid", "random"]
    random_state: Any
    unknown_groups: Literal["raise", "pooled"]
    #: CDF of everyone's predictions by all models together, and that by each of them;
    #: None for a single model, whose predictions are repaired as they are.
    _scales: tuple[LinearCDF, list[LinearCDF]] | None = None
    _without_groups = "nothing is repaired"
    __metadata_request__predict: ClassVar = ROUTED
    __metadata_request__predict_proba: ClassVar = ROUTED
    __metadata_request__score: ClassVar = ROUTED

    def _score_held_out(
        self,
        X: Any,
        features: Any,
        rows: Rows,
        target: NDArray[Any],
        labels: list[Any] | None,
        routed: Any,
    ) -> Rows:
        """Fit the estimator on folds, and return the rows held out with their scores.

        They have a weight and a map. Scores of several models are on a common scale.
        Rows that a single model scored are in five folds.
        """
        splits = []
        if not isinstance(self.estimator, FrozenEstimator):
            cells, for_split = _cells_to_repair(rows), routed.splitter.split
            splits = make_splits(self, features, target, cells, for_split)
        self._tasks.begin(len(splits))
        with self._tip_to_drop(X):
            self.estimators_, held_out = predict_folds(
                self.estimator,
                features,
                rows,
                target,
                labels,
                splits,
                routed.estimator.fit,
                self.n_jobs,
                self._tasks.done,
            )
        scores = held_out.y_pred[:, -1] + 0.0  # no negative zeros
        usable = (_cells_to_repair(held_out) >= 0) & (held_out.weights > 0)
        held_out = replace(held_out, y_pred=scores)[usable]
        if len(self.estimators_) == 1:
            self._scales = None
            y: Any = held_out.y_true
            classes = tenths_of(y) if labels is None else y
            folds = assign_folds(classes, held_out.groups.codes, _N_PARTS, None)
            return replace(held_out, fold=folds)
        self._scales = _scales_of(held_out, "real" if labels is None else "probability")
        return self._on_common_scale(held_out)

    def _on_common_scale(self, rows: Rows) -> Rows:
        """Return rows that models have scored, on the scale that all models share."""
        assert self._scales is not None
        everyone, by_model = self._scales
        scores, draws = np.array(rows.y_pred), self._draws(len(rows))
        for model, cdf in enumerate(by_model):
            own = rows.fold == model
            own_draws = None if draws is None else draws[own]
            scores[own] = _rescale(scores[own], cdf, everyone, own_draws)
        return replace(rows, y_pred=scores)

    def _draws(self, n_samples: int) -> Floats | None:
        """Draw where each row is within the rows that share its score, if ties are."""
        if self.ties == "mid":
            return None
        return np.asarray(check_random_state(self.random_state).uniform(size=n_samples))

    def _repaired(
        self,
        X: Any,
        predicted: list[Floats],
        sensitive_features: Any,
        control_features: Any,
    ) -> Floats:
        """Mean of the predictions of the models, each repaired on the common scale."""
        repairer = self.repairer_
        if repairer is None:
            return predicted[0]
        given = self._groups_to_repair(X, sensitive_features, control_features)
        if self._scales is None:
            return repairer._repair(predicted[0], *given)
        everyone, by_model = self._scales
        draws, repaired = self._draws(len(predicted[0])), []
        for scores, cdf in zip(predicted, by_model, strict=True):
            before = _rescale(scores, cdf, everyone, draws)
            after = repairer._repair(before, *given)
            # Scores that stay are not spread.
            own = np.where(after == before, scores, _rescale(after, everyone, cdf))
            repaired.append(own)
        return np.asarray(np.mean(repaired, axis=0))

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
    ) -> float:
        """Accuracy of `predict`, or R2 of a regressor.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.
        y : array-like of shape (n_samples,)
            True classes, or true target.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        sensitive_features, control_features : object, default=None
            As in `predict`.

        Returns
        -------
        float
        """
        given = {
            "sensitive_features": sensitive_features,
            "control_features": control_features,
        }
        metric = accuracy_score if is_classifier(self) else r2_score
        predicted = self.predict(X, **given)
        return float(metric(y, predicted, sample_weight=sample_weight))

    def _groups_to_repair(
        self, X: Any, sensitive_features: Any, control_features: Any
    ) -> tuple[Groups, Groups | None]:
        """Return the groups and the strata of rows to predict."""
        sensitive_features = self._groups_to_predict(X, sensitive_features)
        strata = self._find_strata(control_features, X)
        assert self.repairer_ is not None
        return self.repairer_._read_groups(
            sensitive_features, strata, count_rows(X), self.unknown_groups
        )


def _cells_to_repair(rows: Rows) -> NDArray[np.integer]:
    """Code of each row's group, or with several strata of its stratum and group.

    There is a map for each of these codes, and none for -1. The maps of a single
    stratum hold for all rows.
    """
    several = rows.strata is not None and len(rows.strata.labels) > 1
    return rows.cells if several else rows.groups.codes


def _scales_of(rows: Rows, scale: str) -> tuple[LinearCDF, list[LinearCDF]]:
    """CDF of everyone's scores by all models, and by the model of each fold.

    Models of different folds may spread their scores more or less: one map suits them
    all on the scale of everyone's scores together. A score keeps its height.
    """
    n_models = int(rows.fold.max()) + 1
    by_model = [
        _everyone(rows[rows.fold == k], scale, (k + 0.5) / n_models)
        for k in range(n_models)
    ]
    return _everyone(rows, scale), by_model


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


def repair_held_out(rows: Rows, repairer: ScoreRepairer) -> tuple[Rows, Floats]:
    """Return the rows, and their scores repaired by maps learnt from other rows.

    Each fold is repaired as learnt from the rows outside of it. If there are more than
    100,000 rows, a sample of at most as many is held out in place of the folds.
    """
    fold, scores = rows.fold, rows.y_pred
    if len(rows) > _MANY_ROWS:
        sampled = np.arange(len(rows)) % (1 + len(rows) // _MANY_ROWS) == 0
        fold = np.where(sampled, 0, -1)
    repaired = np.array(scores)
    for part in range(int(fold.max()) + 1):
        own = fold == part
        learnt, held_out = clone(repairer), rows[own]
        learnt._learn_rows(rows[~own], warn=False)
        repaired[own] = learnt._repair(scores[own], held_out.groups, held_out.strata)
    chosen = fold >= 0
    return (rows, repaired) if chosen.all() else (rows[chosen], repaired[chosen])


def changes_the_gap(comparison: Comparison, rows: Rows, repaired: Floats) -> bool:
    """Whether the repair changes scores, to a gap that the plain model exceeds."""
    if (repaired == rows.y_pred).all():
        return False
    asked = comparison.max_mcdp
    return asked is None or max(comparison.plain_mcdp, comparison.mcdp) > asked


def remedy_of(tie_problem: str | None) -> str:
    """Advice for a repair that shows no gain."""
    if tie_problem is not None:
        return "Set ties='random', or take an estimator with more distinct scores"
    return "Take a lower repair_level, a larger max_mcdp or larger groups"


def warn_of_problem(mitigator: Any, problem: str | None) -> None:
    """Warn of what went wrong on held-out rows, if anything did."""
    if problem is not None:
        message = f"{type(mitigator).__name__}, on held-out rows: {problem}."
        warn_user(message, MitigationWarning)


def tie_problem(asked: Any, rows: Rows, comparison: Comparison) -> str | None:
    """Return a warning if rows that share a score keep most of the gap, else None."""
    if asked.ties == "random" or comparison.n_samples < _FEWEST_ROWS:
        return None
    if not comparison.beyond_noise:
        return None
    if asked.max_mcdp is not None:
        share = min(1.0, asked.max_mcdp / comparison.plain_mcdp) + _SHARE_ADDED
    elif asked.repair_level == "auto":
        share = _SHARE_LEFT
    else:
        share = 1 - asked.repair_level + _SHARE_ADDED
    statistic = distributions(rows)
    if comparison.mcdp <= share * comparison.plain_mcdp or not has_ties(statistic):
        return None
    return (
        f"MCDP(0) is {comparison.mcdp:.3f}, the plain model's is "
        f"{comparison.plain_mcdp:.3f}, because rows that share a score stay together "
        f"and up to {tied_shares(statistic).max():.0%} of a group share one. Set "
        "ties='random', which gives such rows different scores, or an estimator with "
        "more distinct scores"
    )

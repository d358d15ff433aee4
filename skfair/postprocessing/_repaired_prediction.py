"""Prediction with classifiers whose scores are repaired."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from skfair._mitigation import MetaMitigator
from skfair.postprocessing._held_out import positive_scores
from skfair.postprocessing._level_choice import mildest_level
from skfair.postprocessing._mean_vote import MeanVote
from skfair.postprocessing._objective import repair_objective
from skfair.postprocessing._score_repairer import ScoreRepairer
from skfair.postprocessing._scored_rows import ScoredRows, join_rows


class RepairedPrediction(MetaMitigator):
    """Mixin that predicts with the fitted ``estimators_`` and their ``repairers_``."""

    __metadata_request__predict: ClassVar = {"sensitive_features": True}
    __metadata_request__predict_proba: ClassVar = {"sensitive_features": True}

    repair_level: Any
    theta: float
    n_levels: int
    bandwidth: Any
    accuracy_loss: Any
    fairness: Any
    threshold: float
    ties: Any
    unknown_groups: Any
    random_state: Any

    estimator_: Any
    repairer_: ScoreRepairer | None
    estimators_: list[Any]
    repairers_: list[ScoreRepairer]
    repair_level_: float
    objective_: pd.DataFrame | None
    standard_error_: float | None
    groups_: tuple[Hashable, ...]
    classes_: NDArray[Any]

    def predict_proba(
        self, X: Any, *, sensitive_features: Any = None
    ) -> NDArray[np.float64]:
        """Predict repaired probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row, which wins over the column that the parameter names.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities of `classes_`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        ValueError
            If there are no groups, on wrong lengths, missing groups, and on groups
            that were absent in `fit`, unless `unknown_groups` is ``"pooled"``.
        """
        X = self._check_predict_input(X, "estimator_")
        if self.repairer_ is None:
            scores = positive_scores(self.estimator_, X)
            return np.column_stack([1 - scores, scores])
        groups = self._find_groups(sensitive_features, X)
        X = self._without_sensitive(X)
        repaired = [
            repairer.transform(positive_scores(estimator, X), sensitive_features=groups)
            for estimator, repairer in zip(
                self.estimators_, self.repairers_, strict=True
            )
        ]
        scores = np.mean(repaired, axis=0)
        return np.column_stack([1 - scores, scores])

    def predict(self, X: Any, *, sensitive_features: Any = None) -> NDArray[Any]:
        """Predict classes: the second where its repaired score reaches `threshold`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row, which wins over the column that the parameter names.

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        ValueError
            As in `predict_proba`.
        """
        scores = self.predict_proba(X, sensitive_features=sensitive_features)[:, 1]
        return self.classes_[(scores >= self.threshold).astype(np.intp)]

    def _keep_plain(self, estimator: Any) -> Self:
        """Predict with one fitted classifier, without repair."""
        self.estimator_, self.estimators_ = estimator, [estimator]
        self.repairer_, self.repairers_ = None, []
        self.objective_, self.standard_error_ = None, None
        self.repair_level_, self.groups_ = 0.0, ()
        return self

    def _keep_repaired(
        self, estimators: list[Any], rows: list[ScoredRows], n_samples: int
    ) -> Self:
        """Learn level and repair, of one classifier or of one for each part of rows."""
        everything = join_rows(rows)
        levels = np.arange(self.n_levels) / (self.n_levels - 1)
        options = {
            "theta": self.theta,
            "accuracy_loss": self.accuracy_loss,
            "fairness": self.fairness,
            "bandwidth": self.bandwidth,
            "threshold": self.threshold,
            "ties": self.ties,
            "random_state": self.random_state,
        }
        self.objective_ = repair_objective(everything, levels, **options)
        if self.repair_level == "auto":
            choice = mildest_level(self.objective_, rows, n_samples, **options)
            self.repair_level_, self.standard_error_ = choice
        else:
            self.repair_level_, self.standard_error_ = float(self.repair_level), None
        repairer = ScoreRepairer(
            self.repair_level_,
            ties=self.ties,
            unknown_groups=self.unknown_groups,
            random_state=self.random_state,
        )
        first = everything.fit_repairer(repairer)
        self.repairer_ = first
        self.estimators_ = estimators
        if len(estimators) == 1:
            self.estimator_, self.repairers_ = estimators[0], [first]
        else:
            self.estimator_ = MeanVote(estimators)
            self.repairers_ = [part.fit_repairer(clone(repairer)) for part in rows]
        return self

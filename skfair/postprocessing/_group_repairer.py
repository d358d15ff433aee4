"""What mitigators share that repair predictions by the group of each row."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from skfair._mitigation import ROUTED, MetaMitigator
from skfair._training_rows import TrainingRows
from skfair._utils._columns import select_columns
from skfair._utils._types import Floats
from skfair._utils._validation import count_rows
from skfair.groups import Groups
from skfair.postprocessing._common_scale import CommonScale
from skfair.postprocessing._held_out import (
    Fold,
    cells_to_repair,
    make_splits,
    predict_folds,
)
from skfair.postprocessing._score_repairer import ScoreRepairer


class GroupRepairer(MetaMitigator):
    """Mixin of mitigators that repair the predictions of the models of folds."""

    estimators_: list[Any]
    repairer_: ScoreRepairer | None
    n_jobs: int | None
    unknown_groups: Literal["raise", "pooled"]
    #: None for a single model, whose predictions are repaired as they are.
    _common_scale: CommonScale | None = None
    _without_groups = "nothing is repaired"
    __metadata_request__predict: ClassVar = ROUTED
    __metadata_request__predict_proba: ClassVar = ROUTED
    __metadata_request__score: ClassVar = ROUTED

    def _predict_held_out(
        self,
        X: Any,
        rows: TrainingRows,
        target: NDArray[Any],
        labels: list[Any] | None,
        routed: Any,
    ) -> list[Fold]:
        """Fit the estimator on folds, and predict the rows that are held out."""
        splits = []
        if not isinstance(self.estimator, FrozenEstimator):
            cells = cells_to_repair(rows)
            splits = make_splits(self, rows.X, target, cells, routed.splitter.split)
        fit_params = routed.estimator.fit
        with self._tip_to_drop(X):
            return predict_folds(
                self.estimator, rows.X, target, labels, splits, fit_params, self.n_jobs
            )

    def _put_on_common_scale(
        self, held_out: list[TrainingRows], scale: str
    ) -> list[TrainingRows]:
        """Set the common scale of several models, and return their rows on it."""
        self._common_scale = None
        if len(self.estimators_) == 1:
            return held_out
        self._common_scale = CommonScale.of(held_out, scale)
        return self._common_scale.rescaled(held_out)

    def _repaired(
        self,
        X: Any,
        predicted: list[Floats],
        sensitive_features: Any,
        control_features: Any,
    ) -> Floats:
        """Mean of the predictions of the models, each repaired on the common scale."""
        repairer, scale = self.repairer_, self._common_scale
        if repairer is None:
            return predicted[0]
        given = self._groups_to_repair(X, sensitive_features, control_features)
        if scale is None:
            return repairer._repair(predicted[0], *given)
        repaired = [
            scale.to_model(k, repairer._repair(scale.from_model(k, scores), *given))
            for k, scores in enumerate(predicted)
        ]
        return np.asarray(np.mean(repaired, axis=0))

    def _groups_to_repair(
        self, X: Any, sensitive_features: Any, control_features: Any
    ) -> tuple[Groups, Groups | None]:
        """Return the groups and the strata of rows to predict."""
        if sensitive_features is None:
            if self.sensitive_features is None:
                name = type(self).__name__
                raise ValueError(
                    f"{name} needs the group of each row that it predicts, but "
                    "sensitive_features is None: pass it to the method, or construct "
                    f"{name}(..., sensitive_features=<column of X>). If a "
                    "cross-validation or search called this: scikit-learn's scorers "
                    "pass no groups on, score with "
                    "skfair.metrics.make_group_scorer(<scorer>)."
                )
            sensitive_features = select_columns(X, self.sensitive_features)
        strata = self._find_strata(control_features, X)
        assert self.repairer_ is not None
        return self.repairer_._read_groups(
            sensitive_features, strata, count_rows(X), self.unknown_groups
        )

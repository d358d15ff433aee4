"""What mitigators share that need the group of a row in `fit` alone, and predict it."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from skfair._mitigation import (
    FittedTable,
    MetaMitigator,
    route_fit_params,
    weight_keyword,
)
from skfair._training_rows import Split, TrainingRows
from skfair._utils._validation import check_real
from skfair._utils._warnings import warn_user
from skfair.exceptions import MitigationWarning
from skfair.postprocessing._held_out import (
    Fold,
    fit_all,
    make_splits,
    mean_of_folds,
    predict_folds,
)
from skfair.postprocessing._score_map import (
    KEPT,
    CrossFittedPath,
    Performance,
    PredictedRows,
    choose_strength,
    fit_path,
    path_table,
)


class GroupPredictor(MetaMitigator, ABC):
    """Mixin of mitigators that map predictions of a target and of the group.

    Both are predicted by models that were not fitted to the row.
    """

    group_estimator: Any
    strength: Any
    max_mcdp: float | None = None
    n_jobs: int | None
    group_estimators_: list[Any]
    comparison_: Any
    path_ = FittedTable()
    _performance: ClassVar[Performance]
    _rows: PredictedRows
    _path: CrossFittedPath
    _map: Any

    def _check_parameters(self) -> None:
        """Raise unless the parameters are valid."""
        self._check_estimator()
        given = self.group_estimator
        if given is not None and not hasattr(given, "predict_proba"):
            raise TypeError(f"group_estimator must have predict_proba, got {given!r}.")
        if self.strength != "auto":
            limits: dict[str, Any] = {"closed": "left", "alternative": "'auto' or "}
            check_real("strength", self.strength, 0, math.inf, **limits)

    def _fit(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        control_features: Any,
        sample_weight: ArrayLike | None,
        fit_params: dict[str, Any],
    ) -> Self:
        """Fit both models on folds, and the map to the rows held out."""
        self._check_parameters()
        rows = self._prepare(X, y, sensitive_features, control_features, sample_weight)
        routed = route_fit_params(
            self, sensitive_features, fit_params, rows.sample_weight
        )
        target = self.classes_[rows.y] if is_classifier(self) else rows.y
        if not self.groups_:
            for_fit = routed.estimator.fit
            return self._keep_plain(fit_all(self.estimator, rows.X, target, for_fit))
        self._rows = self._predict_held_out(X, rows, target, routed)
        self._path = fit_path(self._rows, self._performance)
        return self._choose_map()

    def _keep_plain(self, estimator: Any) -> Self:
        """Predict with one fitted model, without a map."""
        self.estimators_, self.group_estimators_ = [estimator], []
        self._map, self.comparison_ = None, None
        self.strength_, self.path_ = 0.0, pd.DataFrame()
        return self

    def _copy_with(self, **parameters: Any) -> Self:
        """Copy of the fitted model with other parameters of its map."""
        check_is_fitted(self, "estimators_")
        if not self.groups_:
            raise ValueError(
                f"strength={parameters['strength']!r} needs groups, but fit was given "
                "none."
            )
        model = copy.copy(self)
        for name, value in parameters.items():
            setattr(model, name, value)
        model._check_parameters()
        return model

    @abstractmethod
    def _compare(self, scores: ArrayLike) -> Any:
        """Compare new scores of the held-out rows with the plain ones."""

    def _choose_map(self) -> Self:
        """Take the map of a strength, and compare it with the plain model."""
        rows, automatic = self._rows, self.strength == "auto"
        given = None if automatic else float(self.strength)
        self.path_ = path_table(rows, self._path, given)
        chosen = 1
        if automatic:
            chosen = choose_strength(self.path_, self._performance, self.max_mcdp)
        strength = float(self.path_["strength"][chosen])
        found = self._compare(self._path.held_out_scores(rows, strength))
        remedy = "Lower strength, or use a better group_estimator"
        if automatic and not found.plain_mcdp > found.noise:
            # A map fitted to noise makes no gap of new rows smaller.
            strength, found = 0.0, self._compare(rows.scores)
        elif automatic and not chosen and self.max_mcdp is None:
            warn_user(
                f"{type(self).__name__} changes nothing: on held-out rows no strength "
                "lowers MCDP(0) by more than its standard error and keeps "
                f"{KEPT[self._performance]:.0%} of the plain performance. MCDP(0) "
                f"stays {found.plain_mcdp:.3f}. Look at path_, give a strength, or "
                "use an estimator whose scores differ more from row to row.",
                MitigationWarning,
            )
        else:
            found.warn(self, remedy)
        self.strength_, self._map = strength, self._path.whole.at(strength)
        self.comparison_ = found
        return self

    def _predict_held_out(
        self, X: Any, rows: TrainingRows, target: NDArray[Any], routed: Any
    ) -> PredictedRows:
        """Fit both models on folds, and predict the rows that are held out."""
        splits = make_splits(self, rows.X, target, rows.codes, routed.splitter.split)
        classes = self.classes_.tolist() if is_classifier(self) else None
        given = rows.X, target, classes, splits, routed.estimator.fit, self.n_jobs
        with self._tip_to_drop(X):
            folds = predict_folds(self.estimator, *given)
            group_folds = self._predict_groups(rows, splits, routed)
        self.estimators_ = [fold.model for fold in folds]
        self.group_estimators_ = [fold.model for fold in group_folds]
        fold_of_row = np.full(len(rows), -1)
        for fold, (_, test) in reversed(list(enumerate(splits))):
            fold_of_row[test] = fold
        found = PredictedRows(
            None,
            rows.y,
            rows.groups,
            rows.sample_weight,
            rows.strata,
            mean_of_folds(folds, len(rows))[:, -1],
            mean_of_folds(group_folds, len(rows)),
            fold_of_row,
        )
        return found.take((fold_of_row >= 0) & (rows.weights > 0))

    def _predict_groups(
        self, rows: TrainingRows, splits: list[Split], routed: Any
    ) -> list[Fold]:
        """Predict the group of each row by models that were not fitted to it."""
        estimator, params = self._group_model(rows, routed)
        self._group_classes: list[Any] = list(range(len(self.groups_)))
        if isinstance(estimator, FrozenEstimator):
            self._group_classes = list(self.groups_)
            known = np.asarray(estimator.classes_).tolist()
            if set(known) != set(self.groups_):
                raise ValueError(
                    f"group_estimator is frozen and has the classes {known}, expected "
                    f"the groups {list(self.groups_)}."
                )
        try:
            return predict_folds(
                estimator,
                rows.X,
                rows.codes,
                self._group_classes,
                splits,
                params,
                self.n_jobs,
            )
        except ValueError as error:
            if estimator is not self.estimator:
                raise
            raise ValueError(
                f"{error}\nWithout a group_estimator a clone of estimator is fitted to "
                "the groups: give one if it cannot be."
            ) from error

    def _group_model(
        self, rows: TrainingRows, routed: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Return the classifier of the group, not fitted, and its fit parameters."""
        estimator = self.group_estimator
        if estimator is None:
            return self._default_group_model(rows, routed)
        if get_config()["enable_metadata_routing"]:
            return estimator, routed.group_estimator.fit
        return estimator, weights_for(estimator, rows.sample_weight)

    @abstractmethod
    def _default_group_model(
        self, rows: TrainingRows, routed: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Return the classifier of the group where none is given."""


def weights_for(estimator: Any, weights: NDArray[Any] | None) -> dict[str, Any]:
    """Keyword with the weights for the `fit` of an estimator, if it takes any."""
    if weights is None:
        return {}
    try:
        return {weight_keyword(estimator): weights}
    except TypeError:
        return {}

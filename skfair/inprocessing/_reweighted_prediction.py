"""What a reweighter leaves to the classifier inside: prediction, without groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if

from skfair._mitigation import MetaMitigator


def _has(method: str) -> Any:
    """Check for `available_if`: whether the classifier inside has a method."""

    def check(model: Any) -> bool:
        getattr(getattr(model, "estimator_", model.estimator), method)
        return True

    return check


class ReweightedPrediction(MetaMitigator):
    """Mixin that predicts with the fitted ``estimator_``."""

    estimator_: Any

    @available_if(_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes, as the fitted classifier does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        """
        return np.asarray(self._respond("predict", X))

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict probabilities of `classes_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        """
        return np.asarray(self._respond("predict_proba", X))

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Decision function of the fitted classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        """
        return np.asarray(self._respond("decision_function", X))

    def get_metadata_routing(self) -> MetadataRouter:
        """Tell scikit-learn which metadata goes where.

        Returns
        -------
        MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self.estimator, method_mapping=mapping)
        )

    def _respond(self, method: str, X: Any) -> Any:
        X = self._check_predict_input(X, "estimator_")
        return getattr(self.estimator_, method)(self._without_sensitive(X))

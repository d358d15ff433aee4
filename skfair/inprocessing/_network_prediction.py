"""Prediction with classifiers that are a network of one output."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils import check_array

from skfair._mitigation import Mitigator
from skfair.inprocessing._network import Array, Parameters, forward


def parameters_of(model: Any) -> Parameters:
    """Coefficients and intercepts of a fitted model, layer by layer.

    Parameters
    ----------
    model : classifier
        With ``coefs_`` and ``intercepts_``.

    Returns
    -------
    list of ndarray
    """
    pairs = zip(model.coefs_, model.intercepts_, strict=True)
    return [values for pair in pairs for values in pair]


class NetworkPrediction(Mitigator):
    """Mixin that predicts with ``coefs_`` and ``intercepts_``."""

    coefs_: list[Array]
    intercepts_: list[Array]
    classes_: NDArray[Any]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Predict logits of the second class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        """
        X = self._check_predict_input(X, "coefs_")
        logits = forward(self._features(X), parameters_of(self))[-1][:, 0]
        return np.asarray(logits, dtype=np.float64)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict probabilities.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities of `classes_`.
        """
        scores = expit(self.decision_function(X))
        return np.column_stack([1 - scores, scores])

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the more probable class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(np.intp)]

    def _features(self, X: Any) -> Any:
        """Return what the network sees of X."""
        return check_array(
            self._without_sensitive(X),
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            estimator=self,
            input_name="X",
        )

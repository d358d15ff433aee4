"""Classifiers that vote by the mean of their probabilities."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from skfair.postprocessing._held_out import HeldOut


class MeanVote(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Mean of the probabilities that fitted binary classifiers predict.

    Parameters
    ----------
    estimators : list of fitted classifiers of the same classes
    """

    def __init__(self, estimators: list[Any]) -> None:
        self.estimators = estimators

    @property
    def classes_(self) -> NDArray[Any]:
        """Class labels, of shape (2,)."""
        return np.asarray(self.estimators[0].classes_)

    def fit(self, X: Any, y: Any) -> Self:
        """Do nothing: the members are fitted.

        Parameters
        ----------
        X, y : object
            Ignored.

        Returns
        -------
        self : MeanVote
        """
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Mean of the predicted probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        probabilities = [member.predict_proba(X) for member in self.estimators]
        return np.asarray(np.mean(probabilities, axis=0))

    def predict(self, X: Any) -> NDArray[Any]:
        """Class with the larger mean probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def average_repeats(held_out: list[HeldOut], n_samples: int) -> list[HeldOut]:
    """One model for all parts, if all rows were held out more than once.

    It is the mean of one model of each repeat, and scores each row by the mean of the
    models that have not seen it: as many, and trained alike, so that these scores are
    distributed as those of new rows.

    Parameters
    ----------
    held_out : list of HeldOut
    n_samples : int

    Returns
    -------
    list of HeldOut
        A single one, or those given unless they are repeats of splits that hold out
        each row once.
    """
    repeats: list[list[HeldOut]] = [[]]
    for part in held_out:
        if sum(len(other.rows) for other in repeats[-1]) >= n_samples:
            repeats.append([])
        repeats[-1].append(part)
    scores = np.full((len(repeats), n_samples), np.nan)
    for repeat, parts in enumerate(repeats):
        for part in parts:
            scores[repeat, part.rows] = part.scores
    if len(repeats) == 1 or np.isnan(scores).any():
        return held_out
    members = [parts[0].estimator for parts in repeats]
    return [HeldOut(MeanVote(members), np.arange(n_samples), scores.mean(axis=0))]

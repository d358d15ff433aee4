"""Fits of clones of one estimator, with weights by row and label."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skfair._mitigation import params_of_rows
from skfair._utils._columns import take_rows
from skfair._utils._response import respond
from skfair.inprocessing._label_weights import Form
from skfair.inprocessing._smooth_gap import Array


@dataclass(frozen=True, eq=False)
class WeightedFits:
    """Rows to fit clones of an estimator to.

    Attributes
    ----------
    estimator : classifier
    keyword : str
        By which its `fit` takes weights.
    X : array-like of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    classes : ndarray of shape (2,)
    weights : ndarray of shape (n_samples,) or None
        That multiply all others.
    params : dict
        What else its `fit` is given.
    """

    estimator: Any
    keyword: str
    X: Any
    y: NDArray[Any]
    classes: NDArray[Any]
    weights: NDArray[Any] | None
    params: dict[str, Any]

    def take(self, rows: NDArray[np.intp]) -> WeightedFits:
        """Return fits to some of the rows.

        Parameters
        ----------
        rows : ndarray of int

        Returns
        -------
        WeightedFits
        """
        if np.array_equal(rows, np.arange(len(self.y))):
            return self
        return WeightedFits(
            self.estimator,
            self.keyword,
            take_rows(self.X, rows),
            self.y[rows],
            self.classes,
            None if self.weights is None else self.weights[rows],
            self._params_of(rows),
        )

    def plain(self) -> Any:
        """Fit a clone to the rows as they are.

        Returns
        -------
        classifier
        """
        params = dict(self.params)
        if self.weights is not None:
            params[self.keyword] = self.weights
        return clone(self.estimator).fit(self.X, self.y, **params)

    def reweighted(self, weights: Array, form: Form) -> Any:
        """Fit a clone to rows with weights of their own, which multiply the others.

        Parameters
        ----------
        weights : ndarray of shape (n_samples, 2)
            By label.
        form : {"two_label", "sample_weight"}
            Whether every row stands there twice, with the first and with the second
            label, or once, with its own, where the other label's weight is 0.

        Returns
        -------
        classifier
        """
        if self.weights is not None:
            weights = weights * self.weights[:, None]
        if form == "two_label":
            X, y, params = self._doubled
            weighing = weights.T.ravel()
        else:
            X, y, params = self.X, self.y, self.params
            weighing = weights.sum(axis=1)
        return clone(self.estimator).fit(X, y, **{**params, self.keyword: weighing})

    def scores(self, estimator: Any, number: int) -> Array:
        """Scores of the rows under a classifier fitted in some round.

        Parameters
        ----------
        estimator : fitted classifier
        number : int
            Of the round, for the message.

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        ValueError
            On scores that are NaN or infinite.
        """
        scores = respond(estimator, "predict_proba", self.X).astype(np.float64)
        broken = int(np.count_nonzero(~np.isfinite(scores)))
        if broken:
            cause = (
                "already without reweighting"
                if number == 0
                else "probably because the weights have become too large or too uneven "
                "for it: choose a smaller strength or temperature, or regularise it"
            )
            raise ValueError(
                f"{type(self.estimator).__name__} gave {broken} NaN or infinite scores "
                f"in round {number}, {cause}."
            )
        return scores

    @cached_property
    def _doubled(self) -> tuple[Any, NDArray[Any], dict[str, Any]]:
        n_samples = len(self.y)
        rows = np.tile(np.arange(n_samples), 2)
        y = np.repeat(self.classes, n_samples)
        return take_rows(self.X, rows), y, self._params_of(rows)

    def _params_of(self, rows: NDArray[np.intp]) -> dict[str, Any]:
        return params_of_rows(self.params, rows, len(self.y))

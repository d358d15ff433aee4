"""One increasing map from scores to probabilities."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from skfair._utils._types import Floats

#: Bounds of both slopes: the map increases, and tiny scores do not underflow.
_SLOPES = (0.01, 2.0)
#: Least score, and least distance from 1, whose logarithm the fit sees.
_LEAST = 1e-12


class BetaCalibration(NamedTuple):
    """Map with ``logit(q) = slope_0 * log(p) - slope_1 * log(1 - p) + intercept``.

    Both slopes are positive, so that the map increases from 0 to 1 and changes no
    order: beta calibration of Kull, Silva Filho and Flach (AISTATS 2017).
    """

    slope_0: float
    slope_1: float
    intercept: float

    @classmethod
    def fit(
        cls,
        scores: Floats,
        positive: NDArray[np.bool_],
        sample_weight: NDArray[Any] | None,
    ) -> Self:
        """Fit the map by log-loss, with the targets of Platt, which are never 0 or 1.

        There must be rows of both classes.
        """
        weights = np.ones(len(scores)) if sample_weight is None else sample_weight
        n_positive, n_negative = weights[positive].sum(), weights[~positive].sum()
        targets = np.where(
            positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2)
        )
        terms = np.stack(
            [
                np.log(np.maximum(scores, _LEAST)),
                -np.log(np.maximum(1 - scores, _LEAST)),
                np.ones(len(scores)),
            ]
        )
        shares = weights / weights.sum()

        def loss(parameters: Floats) -> tuple[float, Floats]:
            logits = parameters @ terms
            # log(1 + exp(logits)) - targets * logits, without overflow
            value = shares @ (np.logaddexp(0, logits) - targets * logits)
            return float(value), terms @ (shares * (expit(logits) - targets))

        bounds = [_SLOPES, _SLOPES, (None, None)]
        # The identity is where the search starts.
        found = minimize(loss, np.array([1.0, 1.0, 0.0]), jac=True, bounds=bounds)
        return cls(*found.x.tolist())

    def __call__(self, scores: Floats) -> Floats:
        """Probabilities of the positive class."""
        with np.errstate(divide="ignore"):  # 0 and 1 stay 0 and 1
            logits = (
                self.slope_0 * np.log(scores)
                - self.slope_1 * np.log1p(-scores)
                + self.intercept
            )
        return np.asarray(expit(logits))

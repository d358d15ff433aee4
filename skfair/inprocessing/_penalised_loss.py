"""Log-loss plus a gap between groups, and how the gap pushes each row."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from scipy.special import expit, logit

from skfair.inprocessing._gridded_gap import gap_by_row
from skfair.inprocessing._smooth_gap import Array, Objective
from skfair.inprocessing._training_rows import TrainingRows

#: Scores are kept this far from 0 and 1, where log-odds and weights are infinite.
_MARGIN = 1e-4
#: Of the soft maximum over thresholds, see `smooth_gap`.
_SHARPNESS = 100.0


class Judgement(NamedTuple):
    """A penalised loss, and its derivatives.

    Attributes
    ----------
    loss : float
        Weighted mean of the log-loss.
    gap : float
    threshold : float
        Score at which the groups are furthest apart.
    objective : float
        Loss plus strength times gap.
    push : ndarray of shape (n_samples,)
        Derivative of the penalty in the log-odds of each row, divided by the row's
        share of all weight.
    """

    loss: float
    gap: float
    threshold: float
    objective: float
    push: Array


def inside(scores: Array) -> Array:
    """Scores kept inside (0, 1).

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    return np.clip(scores, _MARGIN, 1 - _MARGIN)


@dataclass(frozen=True)
class PenalisedLoss:
    """Mean log-loss plus strength times the gap of spread-out scores.

    Scores crowd near 0 where the positive class is rare, and a smooth gap of them sees
    little. MCDP does not change under increasing maps, so its smooth gap is taken of
    ``expit((log-odds - center) / width)``, which fills [0, 1].

    Attributes
    ----------
    strength, temperature : float
    objective : {"mcdp", "dp", "abcc"}
    center, width : float
        0 and 1 leave scores as they are.
    """

    strength: float
    temperature: float
    objective: Objective
    center: float = 0.0
    width: float = 1.0

    def spread_over(self, scores: Array, weights: Array) -> Self:
        """Return the loss whose map makes these scores nearly uniform.

        Parameters
        ----------
        scores, weights : ndarray of shape (n_samples,)

        Returns
        -------
        PenalisedLoss
        """
        if self.objective != "mcdp":  # the others are defined on the scores
            return self
        low, center, high = np.quantile(
            logit(inside(scores)),
            [0.25, 0.5, 0.75],
            weights=weights,
            method="inverted_cdf",
        )
        # Quartiles of the logistic distribution lie log(3) from its median.
        width = (high - low) / (2 * math.log(3)) or 1.0
        return replace(self, center=float(center), width=float(width))

    def judge(self, scores: Array, rows: TrainingRows) -> Judgement:
        """Loss and gap of the scores of some rows.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Probabilities of label 1.
        rows : TrainingRows

        Returns
        -------
        Judgement
        """
        _, y, codes, weights = rows
        total = weights.sum()
        p = inside(scores)
        loss = -float(weights @ np.log(np.where(y == 1, p, 1 - p)) / total)
        spread = expit((logit(p) - self.center) / self.width)
        gap, slopes = gap_by_row(
            spread,
            codes,
            weights,
            temperature=self.temperature,
            objective=self.objective,
            sharpness=_SHARPNESS,
        )
        value = gap.value if gap.pair[0] >= 0 else math.nan
        threshold = float(expit(self.center + self.width * logit(gap.threshold)))
        return Judgement(
            loss,
            value,
            threshold,
            loss + self.strength * value if self.strength else loss,
            self.strength * total * slopes * spread * (1 - spread) / self.width,
        )

"""What the rules that choose a candidate of a search share."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from skfair.model_selection._candidates import (
    CVResults,
    check_metric,
    defined,
    first_best,
    mean_scores,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rule(ABC):
    """Chooses among the candidates whose performance and fairness are known.

    Parameters
    ----------
    performance : str, default="average_precision"
    fairness : str, default="neg_mcdp"
        Names of metrics in the `scoring` of the search.
    """

    performance: str = "average_precision"
    fairness: str = "neg_mcdp"

    def __post_init__(self) -> None:
        check_metric("performance", self.performance)
        check_metric("fairness", self.fairness)

    def __call__(self, cv_results: CVResults) -> int:
        """Choose a candidate.

        Parameters
        ----------
        cv_results : dict of ndarrays, or DataFrame
            Attribute ``cv_results_`` of a search.

        Returns
        -------
        int
            Its position.
        """
        performance = mean_scores(cv_results, self.performance)
        fairness = mean_scores(cv_results, self.fairness)
        performers = defined(cv_results, self.performance)
        if not performers.any():
            raise ValueError(
                f"performance={self.performance!r} is not finite for any candidate: "
                "there is none to choose."
            )
        candidates = defined(cv_results, self.performance, self.fairness)
        if candidates.any():
            return self._choose(cv_results, candidates, performance, fairness)
        warnings.warn(
            f"fairness={self.fairness!r} is not finite for any candidate with a finite "
            "performance: the best performer is taken. Folds that lose a group score "
            "nan, see GroupStratifiedKFold.",
            UndefinedMetricWarning,
            stacklevel=2,
        )
        return first_best(performers, performance)

    @abstractmethod
    def _choose(
        self,
        cv_results: CVResults,
        candidates: NDArray[np.bool_],
        performance: Floats,
        fairness: Floats,
    ) -> int:
        """Choose one of the candidates, of which there is one at least."""

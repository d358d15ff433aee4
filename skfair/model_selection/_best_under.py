"""The best candidate of a search among those that are fair enough."""

from __future__ import annotations

import math
import warnings
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from skfair._utils._validation import check_real
from skfair.model_selection._candidates import ROUNDING, CVResults, first_best
from skfair.model_selection._rule import Floats, Rule


@dataclass(frozen=True)
class BestUnder(Rule):
    """Take the best performer among the candidates with a disparity within a limit.

    For the parameter `refit` of `GridSearchCV`, `RandomizedSearchCV` and every search
    that lets a function of ``cv_results_`` choose. The search needs both metrics in
    its `scoring`.

    Parameters
    ----------
    performance : str, default="average_precision"
        Name of a metric in `scoring`, larger for better.
    fairness : str, default="neg_mcdp"
        Name of a metric in `scoring` that is a negated disparity, as those of
        `skfair.metrics.get_fairness_scorer`.
    limit : float
        Largest mean disparity allowed, not negated: 0.1 keeps candidates that score
        -0.1 or more.

    Raises
    ------
    ValueError
        When constructed, on a negative limit. When called, if `cv_results` has no
        such metric (listing those it has), if the performance of no candidate is
        finite, or if a fairness score is positive, and so no negated disparity.

    Warns
    -----
    UserWarning
        If no candidate is within the limit: the fairest is taken.
    sklearn.exceptions.UndefinedMetricWarning
        If fairness is nan for all candidates: the best performer is taken.

    See Also
    --------
    FairestWithin : The other way round; its notes hold here too.

    Examples
    --------
    >>> from skfair.model_selection import BestUnder
    >>> rule = BestUnder("accuracy", "neg_mcdp", limit=0.1)
    >>> rule(
    ...     {
    ...         "mean_test_accuracy": [0.8, 0.7, 0.6],
    ...         "mean_test_neg_mcdp": [-0.2, -0.1, 0.0],
    ...     }
    ... )
    1
    """

    _: KW_ONLY
    limit: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("limit", self.limit, 0, math.inf, closed="left")

    def _choose(
        self,
        cv_results: CVResults,
        candidates: NDArray[np.bool_],
        performance: Floats,
        fairness: Floats,
    ) -> int:
        if (largest := fairness[candidates].max()) > ROUNDING:
            raise ValueError(
                f"fairness={self.fairness!r} must be a negated disparity, at most 0, "
                f"got a score of {largest:.6g}."
            )
        within = candidates & (-fairness <= self.limit + ROUNDING)
        if not within.any():
            chosen = first_best(candidates, fairness, performance)
            warnings.warn(
                f"No candidate has {self.fairness} within limit={self.limit:.6g}; the "
                f"fairest is taken, with {fairness[chosen]:.6g}.",
                UserWarning,
                stacklevel=3,
            )
            return chosen
        return first_best(within, performance, fairness)

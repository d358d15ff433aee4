"""The best candidate of a search among those that are fair enough."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

import pandas as pd

from skfair._utils._validation import check_real
from skfair._utils._warnings import warn_user
from skfair.model_selection._candidates import ROUNDING, CVResults, Rule, first_best


@dataclass(frozen=True, eq=False)
class BestUnder(Rule):
    """Take the best performer among the candidates with a disparity within a limit.

    Pass it as `refit` to `GridSearchCV`, `RandomizedSearchCV` or any search that takes
    a function of ``cv_results_`` there. The search needs both metrics in its
    `scoring`.

    Parameters
    ----------
    performance : str, default="average_precision"
        Name of a metric in `scoring`, its key if `scoring` is a dict; larger for
        better.
    fairness : str, default="neg_mcdp"
        Name of a metric in `scoring` that is a negated disparity, as those of
        `skfair.metrics.get_fairness_scorer`.
    limit : float
        Largest mean disparity allowed, not negated: 0.1 keeps candidates that score
        -0.1 or more.

    Raises
    ------
    ValueError
        When constructed, on a negative limit. When called, if `cv_results` is not that
        of a search.

    Warns
    -----
    UserWarning
        If no candidate is within the limit: the fairest is taken. If the rule does not
        apply, because `cv_results` has no metric of these names or a fairness score is
        positive, so that it is not a negated disparity: the best performer is taken,
        or, without that metric, the best by another one.
    sklearn.exceptions.UndefinedMetricWarning
        If no candidate has finite scores in both metrics: likewise.

    See Also
    --------
    FairestWithin : Takes the fairest of the candidates that perform well enough; its
        notes apply here too.
    pareto_front : All candidates that no other candidate dominates.

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

    def _choose(self, cv_results: CVResults, means: pd.DataFrame) -> int:
        if (largest := means[self.fairness].max()) > ROUNDING:
            raise ValueError(
                f"fairness={self.fairness!r} must be a negated disparity, at most 0, "
                f"got a score of {largest:.6g}."
            )
        within = means[-means[self.fairness] <= self.limit + ROUNDING]
        if len(within):
            return first_best(within, self.performance, self.fairness)
        fairest = first_best(means, self.fairness, self.performance)
        warn_user(
            f"No candidate has {self.fairness} within limit={self.limit:.6g}; the "
            f"fairest is taken, with {means.loc[fairest, self.fairness]:.6g}.",
        )
        return fairest

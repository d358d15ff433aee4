"""The fairest candidate of a search among those that perform well enough."""

from __future__ import annotations

import math
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from skfair._utils._validation import check_choice, check_real
from skfair.model_selection._candidates import (
    ROUNDING,
    CVResults,
    defined,
    first_best,
    mean_scores,
    standard_error,
)
from skfair.model_selection._rule import Floats, Rule

_SHARE = 0.95


@dataclass(frozen=True)
class FairestWithin(Rule):
    """Take the fairest of the candidates that perform almost as well as the best.

    For the parameter `refit` of `GridSearchCV`, `RandomizedSearchCV` and every search
    that lets a function of ``cv_results_`` choose. The search needs both metrics in
    its `scoring`.

    Parameters
    ----------
    performance : str, default="average_precision"
        Name of a metric in `scoring`, larger for better.
    fairness : str, default="neg_mcdp"
        Name of a metric in `scoring`, larger for fairer.
    tolerance : float, default=None
        What is well enough, by `kind`. None stands for 0.95 of the best.
    kind : {"relative", "absolute", "one_standard_error"}, default="relative"
        A candidate performs well enough with a mean score of at least

        - ``"relative"``: `tolerance` times the best candidate's, `tolerance` in
          (0, 1]. For positive scores: a share of a negative one means nothing.
        - ``"absolute"``: the best candidate's less `tolerance`, at least 0.
        - ``"one_standard_error"``: the best candidate's less its standard error over
          folds; `tolerance` must be None.
    reference : float, default=None
        Score of a model outside the search, as a plain one, that takes the place of
        the best candidate's. Not with ``"one_standard_error"``.

    Raises
    ------
    ValueError
        When constructed, on a parameter out of range. When called, if `cv_results`
        has no such metric (listing those it has), if the performance of no candidate
        is finite, or if the best is not positive where `kind` is ``"relative"``.

    Warns
    -----
    UserWarning
        If no candidate performs as well as `reference` asks for: the best performer
        is taken.
    sklearn.exceptions.UndefinedMetricWarning
        If fairness is nan for all candidates: the best performer is taken.

    See Also
    --------
    BestUnder : The other way round.
    pareto_front : All candidates between which only a preference can choose.
    skfair.inspection.TradeOffDisplay : A picture of the choice.

    Notes
    -----
    Candidates with a score that is not finite are left out, the best one's included.
    Of equally fair candidates the best performer is taken, then the first.

    Searches set `best_index_` and `best_params_` to the choice, but no `best_score_`,
    as with any function for `refit`. Halving searches take one metric only and ignore
    a function for `refit`: call the rule on their ``cv_results_``, where it compares
    the candidates of the last iteration.

    References
    ----------
    .. [1] Jin, Li, Feng. "On the Maximal Local Disparity of Fairness-Aware
       Classifiers". ICML 2024. Section 6.1 selects the fairest model with at least
       95 % of the average precision of the plain one, by its validation rows.
    .. [2] Breiman, Friedman, Olshen, Stone. "Classification and Regression Trees".
       1984. Section 3.4.3: the one standard error rule.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skfair.datasets import make_biased_classification
    >>> from skfair.metrics import get_fairness_scorer
    >>> from skfair.model_selection import FairestWithin
    >>> X, y = make_biased_classification(
    ...     group_sizes={"sex": {0: 0.4, 1: 0.6}}, random_state=0
    ... )
    >>> search = GridSearchCV(
    ...     LogisticRegression(),
    ...     {"C": [0.0001, 0.01, 1]},
    ...     scoring={
    ...         "average_precision": "average_precision",
    ...         "neg_mcdp": get_fairness_scorer("neg_mcdp", sensitive_features="sex"),
    ...     },
    ...     refit=FairestWithin(tolerance=0.98),
    ... ).fit(X, y)
    >>> search.best_params_
    {'C': 0.0001}
    """

    tolerance: float | None = None
    _: KW_ONLY
    kind: Literal["relative", "absolute", "one_standard_error"] = "relative"
    reference: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        choices = ("relative", "absolute", "one_standard_error")
        check_choice("kind", self.kind, choices)
        if self.kind == "one_standard_error":
            self._check_one_standard_error()
        elif self.kind == "absolute":
            check_real("tolerance", self.tolerance, 0, math.inf, closed="left")
        else:
            if self.tolerance is None:
                object.__setattr__(self, "tolerance", _SHARE)
            check_real("tolerance", self.tolerance, 0, 1, closed="right")
            # Better now than at the end of a search.
            if self.performance.startswith("neg_"):
                raise ValueError(self._no_share("is never positive"))
        if self.reference is not None:
            check_real("reference", self.reference, -math.inf, math.inf)
            if self.kind == "relative" and self.reference <= 0:
                raise ValueError(self._no_share(f"has reference={self.reference!r}"))

    def _check_one_standard_error(self) -> None:
        for name in ("tolerance", "reference"):
            if (value := getattr(self, name)) is not None:
                raise ValueError(
                    f"{name} must be None with kind='one_standard_error', got "
                    f"{value!r}."
                )

    def _no_share(self, reason: str) -> str:
        return (
            f"performance={self.performance!r} {reason}, so a share of it means "
            "nothing. Use kind='absolute' with tolerance=<the loss allowed>."
        )

    def _choose(
        self,
        cv_results: CVResults,
        candidates: NDArray[np.bool_],
        performance: Floats,
        fairness: Floats,
    ) -> int:
        least = self.least_performance(cv_results)
        within = candidates & (performance >= least - ROUNDING)
        if not within.any():
            chosen = first_best(candidates, performance, fairness)
            warnings.warn(
                f"No candidate has {self.performance} of at least {least:.6g}; the "
                f"best performer is taken, with {performance[chosen]:.6g}.",
                UserWarning,
                stacklevel=3,
            )
            return chosen
        return first_best(within, fairness, performance)

    def least_performance(self, cv_results: CVResults) -> float:
        """Mean score from which on a candidate performs well enough.

        Parameters
        ----------
        cv_results : dict of ndarrays, or DataFrame
            Attribute ``cv_results_`` of a search.

        Returns
        -------
        float
        """
        reference = self.reference
        if reference is None:
            candidates = defined(cv_results, self.performance, self.fairness)
            performance = mean_scores(cv_results, self.performance)
            if not candidates.any():
                return math.nan
            best = first_best(candidates, performance)
            reference = float(performance[best])
            if self.kind == "one_standard_error":
                error = standard_error(cv_results, self.performance, best)
                return reference - error
        if self.kind == "absolute":
            return reference - float(self.tolerance or 0)
        if reference <= 0:
            raise ValueError(self._no_share(f"is {reference:.6g} at best"))
        return reference * float(self.tolerance or 0)

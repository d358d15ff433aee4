"""The fairest candidate of a search among those that perform well enough."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import pandas as pd

from skfair._utils._validation import check_choice, check_real
from skfair._utils._warnings import warn_user
from skfair.model_selection._candidates import (
    ROUNDING,
    CVResults,
    Rule,
    compared_means,
    first_best,
    standard_error,
)


@dataclass(frozen=True, eq=False)
class FairestWithin(Rule):
    """Take the fairest of the candidates that perform almost as well as the best.

    Pass it as `refit` to `GridSearchCV`, `RandomizedSearchCV` or any search that takes
    a function of ``cv_results_`` there. The search needs both metrics in its
    `scoring`.

    Parameters
    ----------
    performance : str, default="average_precision"
        Name of a metric in `scoring`, its key if `scoring` is a dict; larger for
        better.
    fairness : str, default="neg_mcdp"
        Name of a metric in `scoring`, larger for fairer.
    tolerance : float, default=None
        With ``kind="relative"`` the share of the best performance that must be kept,
        of which None stands for 0.95; with ``"absolute"`` the performance that may be
        lost.
    kind : {"relative", "absolute", "one_standard_error"}, default="relative"
        How the least performance, a mean score, is computed:

        - ``"relative"``: `tolerance` times the best mean score, with `tolerance` in
          (0, 1]. It needs positive scores.
        - ``"absolute"``: the best mean score minus `tolerance`, which is 0 or more.
        - ``"one_standard_error"``: the best mean score minus its standard error over
          folds; `tolerance` must be None.
    reference : float, default=None
        Score of a model outside the search, such as one without mitigation, to use in
        place of the best mean score. Not allowed with ``"one_standard_error"``.

    Raises
    ------
    ValueError
        When constructed, on a parameter out of range. When called, if `cv_results` is
        not that of a search.

    Warns
    -----
    UserWarning
        If no candidate reaches the least performance, because `reference` is higher
        than all of them: the best performer is taken. If the rule does not apply,
        because `cv_results` has no metric of these names, the best performance is not
        positive with ``kind="relative"``, or there are fewer than two folds with
        ``kind="one_standard_error"``: the best performer is taken, or, without that
        metric, the best by another one.
    sklearn.exceptions.UndefinedMetricWarning
        If no candidate has finite scores in both metrics: likewise.

    See Also
    --------
    BestUnder : Takes the best performer among the candidates that are fair enough.
    pareto_front : All candidates that no other candidate dominates.
    skfair.inspection.TradeOffDisplay : A plot of the choice.

    Notes
    -----
    Candidates with a performance or fairness that is not finite are left out, also
    from the search for the best mean score. Of equally fair candidates the best
    performer is taken, then the first.

    Scorers of scikit-learn of a positive label, such as ``"average_precision"``, fail
    where labels are not 0 and 1. ``make_group_scorer("average_precision")`` takes the
    second of two labels of text as the positive one. scikit-learn tells of a scorer
    that fails by a warning at each score, and goes on; with ``error_score="raise"``
    the search stops at the first.

    scikit-learn discards the results of a search if `refit` raises, so a rule that
    cannot choose takes a candidate and warns. The results are kept: call another rule
    on the ``cv_results_`` of the search.

    Searches set `best_index_` and `best_params_` to the choice, but no `best_score_`,
    as with any function for `refit`. ``search.score(X, y)`` is the performance: a rule
    equals, and has the hash of, the name of its performance metric, which is how a
    search finds its scorer. Halving searches take one metric only and ignore a
    function for `refit`: call the rule on their ``cv_results_``, where it compares the
    candidates of the last iteration.

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
    >>> round(search.score(X, y), 2)  # average precision
    0.92
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
            for name in ("tolerance", "reference"):
                if (value := getattr(self, name)) is not None:
                    raise ValueError(
                        f"{name} must be None with kind='one_standard_error', got "
                        f"{value!r}."
                    )
        elif self.kind == "absolute":
            check_real("tolerance", self.tolerance, 0, math.inf, closed="left")
        else:
            if self.tolerance is None:
                object.__setattr__(self, "tolerance", 0.95)
            check_real("tolerance", self.tolerance, 0, 1, closed="right")
            # A search would notice only at its end.
            if self.performance.startswith("neg_"):
                raise ValueError(self._no_share("is never positive"))
        if self.reference is not None:
            check_real("reference", self.reference, -math.inf, math.inf)
            if self.kind == "relative" and self.reference <= 0:
                raise ValueError(self._no_share(f"has reference={self.reference!r}"))

    def _no_share(self, reason: str) -> str:
        """Error message: a share of the performance is meaningless."""
        return (
            f"performance={self.performance!r} {reason}, so a share of it means "
            "nothing. Use kind='absolute' with tolerance=<the loss allowed>."
        )

    def _choose(self, cv_results: CVResults, means: pd.DataFrame) -> int:
        least = self.least_performance(cv_results)
        within = means[means[self.performance] >= least - ROUNDING]
        if len(within):
            return first_best(within, self.fairness, self.performance)
        best = first_best(means, self.performance, self.fairness)
        warn_user(
            f"No candidate has {self.performance} of at least {least:.6g}; the best "
            f"performer is taken, with {means.loc[best, self.performance]:.6g}.",
        )
        return best

    def least_performance(self, cv_results: CVResults) -> float:
        """Compute the mean score from which on a candidate performs well enough.

        Parameters
        ----------
        cv_results : dict of ndarrays, or DataFrame
            Attribute ``cv_results_`` of a search.

        Returns
        -------
        float
            nan if no candidate has a finite performance and fairness, unless
            `reference` is given.
        """
        reference = self.reference
        if reference is None:
            means = compared_means(cv_results, self.performance, self.fairness)
            if means.empty:
                return math.nan
            best = first_best(means, self.performance)
            reference = float(means.loc[best, self.performance])
            if self.kind == "one_standard_error":
                return reference - standard_error(cv_results, self.performance, best)
        if self.kind == "absolute":
            return reference - float(self.tolerance or 0)
        if reference <= 0:
            raise ValueError(self._no_share(f"is {reference:.6g} at best"))
        return reference * float(self.tolerance or 0)

"""The candidates of a search: rules that choose one, and the Pareto front."""

from __future__ import annotations

import math
import re
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, astuple, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import sem
from sklearn.exceptions import UndefinedMetricWarning

from skfair._utils._arrays import Bools, Floats
from skfair._utils._hints import did_you_mean
from skfair._utils._text import listed, shown
from skfair._utils._validation import ParameterError, check_choice, check_real
from skfair._utils._warnings import warn_user
from skfair.groups import Selector
from skfair.metrics import get_fairness_scorer, make_group_scorer

#: The attribute ``cv_results_`` of a search, or a DataFrame made from it.
CVResults: TypeAlias = Mapping[str, Any] | pd.DataFrame

#: How the columns of means and standard deviations over folds begin.
_MEAN, _STD = "mean_test_", "std_test_"
#: Scores that differ by no more are equal: means over folds carry rounding.
_MEAN_ROUNDING = 1e-12
#: Largest share of the best performance that may be lost: whoever asks for more means
#: the share that is kept.
MOST_LOST = 0.5


@dataclass(frozen=True, eq=False)
class Rule(ABC):
    """Chooses among the candidates whose performance and fairness are both finite."""

    performance: str = "average_precision"
    fairness: str | Sequence[str] = "neg_mcdp"

    def __post_init__(self) -> None:
        check_metric_name("performance", self.performance)
        if isinstance(self.fairness, Collection) and not isinstance(self.fairness, str):
            check_metric_names("fairness", self.fairness)
        else:
            check_metric_name("fairness", self.fairness)

    def _means(self, cv_results: CVResults) -> pd.DataFrame:
        """Return mean performance and fairness of each candidate.

        Columns are "performance" and "fairness".
        """
        means = compared_means(cv_results, self.performance, *fairness_names(self))
        fairness = self._fairness_of(means[fairness_names(self)])
        columns = {"performance": means[self.performance], "fairness": fairness}
        return pd.DataFrame(columns)

    def _fairness_of(self, scores: pd.DataFrame) -> pd.Series:
        """Return one number for several fairness scores, larger for fairer."""
        return scores.min(axis=1)

    def __eq__(self, other: object) -> bool:
        # After a search, `score` looks up the scorer under the key `refit`: as a key, a
        # rule is the name of its performance metric.
        if isinstance(other, str):
            return self.performance == other
        return type(other) is type(self) and astuple(other) == astuple(self)

    def __hash__(self) -> int:
        return hash(self.performance)

    def __call__(self, cv_results: CVResults) -> int:
        """Choose a candidate.

        Parameters
        ----------
        cv_results : dict of ndarrays, or DataFrame
            Attribute ``cv_results_`` of a search.

        Returns
        -------
        int
            Position of the candidate.
        """
        names = metrics_of(cv_results)
        category: type[UserWarning] = UserWarning
        try:
            means = self._means(cv_results)
            if len(means):
                return self._choose(cv_results, means)
            category = UndefinedMetricWarning
            reason = (
                f"No candidate has finite scores in {self.performance!r} and "
                f"{listed([*map(repr, fairness_names(self))])}. Folds without a group "
                "score nan, see GroupStratifiedKFold; scorers that fail do too, and "
                "error_score='raise' stops the search at the first of them. Where "
                "labels are not 0 and 1, scorers of scikit-learn such as "
                "'average_precision' need pos_label, the positive label: use "
                "skfair.metrics.make_group_scorer('average_precision'), which takes "
                "the second of two labels, or make_scorer(..., pos_label=...)."
            )
        except ValueError as error:
            # scikit-learn discards all results of a search if `refit` raises.
            reason = str(error)
            if self.performance not in names:
                reason += (
                    " search.score will end in a KeyError, without a scorer of it."
                )
        order = dict.fromkeys((self.performance, *fairness_names(self), *names))
        chosen, description = _best_by_any(cv_results, order, names)
        warn_user(
            f"{type(self).__name__} has no choice. {reason} Candidate {chosen} is "
            f"taken, {description}; to choose again, call another rule on "
            "cv_results_.",
            category,
        )
        return chosen

    def scoring(
        self, *, sensitive_features: Selector | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Make the scorers whose names the rule has, before anything is fitted.

        Parameters
        ----------
        sensitive_features : str, int, list of str, list of int, or callable, \
default=None
            Columns of X that hold the group, see
            `skfair.metrics.get_fairness_scorer`; with None groups must be routed.
        **kwargs : dict
            Options of all its fairness scorers, such as ``threshold=0.5``.

        Returns
        -------
        dict of scorers
            For `scoring` of the search, made by `skfair.metrics.make_group_scorer` and
            `skfair.metrics.get_fairness_scorer`.

        Raises
        ------
        ValueError
            If there is no scorer of a name.
        """
        scorers: dict[str, Any] = {
            self.performance: make_group_scorer(self.performance)
        }
        for name in fairness_names(self):
            scorers[name] = get_fairness_scorer(
                name, sensitive_features=sensitive_features, **kwargs
            )
        return scorers

    @abstractmethod
    def _choose(self, cv_results: CVResults, means: pd.DataFrame) -> int:
        """Choose one of the candidates in `means`, of which there is at least one."""


def fairness_names(rule: Rule) -> list[str]:
    """Return the names of the fairness scores of a rule."""
    return [rule.fairness] if isinstance(rule.fairness, str) else [*rule.fairness]


def _best_by_any(
    cv_results: CVResults, order: Iterable[str], names: list[str]
) -> tuple[int, str]:
    """Return the best candidate by the first finite metric, and a description."""
    for metric in order:
        if metric in names and len(means := compared_means(cv_results, metric)):
            return first_best(means, metric), f"the best by {metric!r}"
    return 0, "the first, since no score is finite"


def check_metric_name(parameter: str, value: Any) -> None:
    """Raise unless a parameter is the name of a metric."""
    if not isinstance(value, str):
        raise ValueError(
            f"{parameter} must be the name of a metric in the scoring of the search, "
            f"got {shown(value)}."
        )


def check_metric_names(parameter: str, values: Any) -> None:
    """Raise unless a parameter is a list of distinct names."""
    several = isinstance(values, Collection) and not isinstance(values, str)
    if not several or not len(values):
        raise ValueError(
            f"{parameter} must be a list of one or more names, got {shown(values)}."
        )
    for name in values:
        check_metric_name(f"every entry of {parameter}", name)
    if len(set(values)) < len(values):
        raise ValueError(f"{parameter} must be distinct, got {list(values)}.")


def compared_means(cv_results: CVResults, *metrics: str) -> pd.DataFrame:
    """Return the mean test scores of candidates whose scores are all finite.

    Of a halving search only the last iteration, which used the most rows, is compared.
    The index is the position in the search.
    """
    table = results_of(cv_results, *metrics)
    means = table[[_MEAN + metric for metric in metrics]].set_axis([*metrics], axis=1)
    compared = np.isfinite(means).all(axis=1)
    if "iter" in table:
        compared &= table["iter"] == table["iter"].max()
    return means[compared]


def results_of(cv_results: Any, *metrics: str) -> pd.DataFrame:
    """Return means and standard deviations of the scores of a search.

    Each row is a candidate. A halving search has also the column "iter".
    """
    if not isinstance(cv_results, (Mapping, pd.DataFrame)):
        raise ValueError(
            "cv_results must be the cv_results_ of a search, a dict or a DataFrame, "
            f"got {type(cv_results).__name__}."
        )
    names = [str(name) for name in cv_results]
    present = [name.removeprefix(_MEAN) for name in names if name.startswith(_MEAN)]
    if not present:
        raise ValueError(
            f"cv_results must be the cv_results_ of a search, with {_MEAN}<metric>, "
            f"got the columns {names[:5]}."
        )
    columns = [start + name for start in (_MEAN, _STD) for name in present]
    table: dict[str, Floats] = {}
    for column in [*columns, "iter"]:
        if column in cv_results:
            n_candidates = len(table[columns[0]]) if table else None
            table[column] = _numbers(cv_results, column, n_candidates)
    if "params" in cv_results and len(cv_results["params"]) != len(table[columns[0]]):
        raise ValueError(
            f"cv_results['params'] has {len(cv_results['params'])} entries, expected "
            f"{len(table[columns[0]])}, one for each candidate of the search."
        )
    for metric in metrics:
        if metric not in present:
            raise ValueError(
                f"cv_results has no metric {metric!r}, it has {present}."
                f"{did_you_mean(metric, present)} Names are those in the scoring of "
                "the search; scoring=rule.scoring(sensitive_features=...) has those "
                "of a rule."
            )
    return pd.DataFrame(table).rename_axis("candidate")


def metrics_of(cv_results: Any) -> list[str]:
    """Return the names of the metrics in the results of a search."""
    table = results_of(cv_results)
    return [name.removeprefix(_MEAN) for name in table if name.startswith(_MEAN)]


def _numbers(
    cv_results: CVResults, column: str, n_candidates: int | None = None
) -> Floats:
    """Return a column of the results as numbers, one for each candidate.

    Raises if the column does not have `n_candidates` numbers, by default at least one.
    """
    must = f"cv_results[{column!r}] must have one number for each candidate of the"
    try:
        values = np.asarray(cv_results[column])
        if values.dtype.kind not in "biufO":
            raise TypeError
        values = values.astype(np.float64)
    except (TypeError, ValueError):
        text = reprlib.repr(cv_results[column])
        raise ValueError(f"{must} search, got {text}.") from None
    n_values = len(values) if values.ndim == 1 else 0
    if not n_values or n_values != (n_candidates or n_values):
        raise ValueError(f"{must} search, got an array of shape {values.shape}.")
    return values


def standard_error(cv_results: CVResults, metric: str, candidate: int) -> float:
    """Estimate the standard error of a candidate's mean test score from its folds."""
    folds = folds_of(cv_results, metric)
    if len(folds) < 2:
        raise ValueError(
            "kind='one_standard_error' needs the scores of two folds or more, but "
            f"cv_results_ has {len(folds)} columns 'split<i>_test_{metric}'."
        )
    return float(sem([scores[candidate] for scores in folds]))


def folds_of(cv_results: CVResults, metric: str) -> list[Floats]:
    """Return test scores of the candidates in each fold."""
    column = re.compile(rf"split\d+_test_{re.escape(metric)}")
    return [
        np.asarray(cv_results[name])
        for name in map(str, cv_results)
        if column.fullmatch(name)
    ]


def first_best(means: pd.DataFrame, *metrics: str) -> int:
    """Return the position of the largest score; the next metric breaks ties."""
    order = np.lexsort([-means[metric] for metric in reversed(metrics)])
    return int(means.index[order[0]])


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
    fairness : str or list of str, default="neg_mcdp"
        Name of a metric in `scoring` that is a negated disparity, as those of
        `skfair.metrics.get_fairness_scorer`; or several, all of which must be within
        their limits.
    limit : float or list of float
        Largest mean disparity allowed, not negated: 0.1 keeps candidates that score
        -0.1 or more. A list has the limit of each metric of `fairness`.

    Raises
    ------
    ValueError
        When constructed, on a negative limit, or on a list of another length than
        `fairness`. When called, if `cv_results` is not that
        of a search.

    Warns
    -----
    UserWarning
        If no candidate is within the limit: the one that exceeds it least is taken. If
        the rule does not apply, because `cv_results` has no metric of these names or a
        fairness score is positive, so that it is not a negated disparity: the best
        performer is taken, or, without that metric, the best by another one.
    sklearn.exceptions.UndefinedMetricWarning
        If no candidate has finite scores in all these metrics: likewise.

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
    limit: float | Sequence[float]

    def __post_init__(self) -> None:
        super().__post_init__()
        n_limits, n_names = len(limits_of(self)), len(fairness_names(self))
        for limit in limits_of(self):
            check_real("limit", limit, 0, math.inf, closed="left")
        if n_limits not in (1, n_names):
            raise ValueError(
                f"limit must be one number or one for each of fairness={self.fairness}"
                f", got {n_limits}."
            )

    def _fairness_of(self, scores: pd.DataFrame) -> pd.Series:
        """Return the smallest distance of a disparity below its limit."""
        within = scores.to_numpy() + np.array(limits_of(self), dtype=float)
        return pd.Series(within.min(axis=1), scores.index)

    def _choose(self, cv_results: CVResults, means: pd.DataFrame) -> int:
        scores = compared_means(cv_results, self.performance, *fairness_names(self))
        largest = scores[fairness_names(self)].max()
        if (largest > _MEAN_ROUNDING).any():
            name = largest.idxmax()
            raise ValueError(
                f"fairness={name!r} must be a negated disparity, at most 0, got a "
                f"score of {largest[name]:.6g}."
            )
        within = means[means["fairness"] >= -_MEAN_ROUNDING]
        if len(within):
            return first_best(within, "performance", "fairness")
        fairest = first_best(means, "fairness", "performance")
        limits = ", ".join(f"{limit:.6g}" for limit in limits_of(self))
        names = fairness_names(self)
        taken = ", ".join(f"{scores.loc[fairest, name]:.6g}" for name in names)
        warn_user(
            f"No candidate has {', '.join(names)} within limit={limits}; the "
            f"fairest is taken, with {taken}.",
        )
        return fairest


def limits_of(rule: BestUnder) -> list[Any]:
    """Return the limit of each fairness score of a rule; one number holds for all."""
    limit: Any = rule.limit
    several = isinstance(limit, Sequence) and not isinstance(limit, str)
    return [*limit] if several else [limit]


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
    fairness : str or list of str, default="neg_mcdp"
        Name of a metric in `scoring`, larger for fairer; or several, of which the
        smallest mean score of a candidate counts.
    tolerance : float, default=None
        The performance that may be lost: with ``kind="relative"`` a share of the best
        one, of which None stands for 0.05; with ``"absolute"`` a number of its unit.
    kind : {"relative", "absolute", "one_standard_error"}, default="relative"
        How the lowest performance, a mean score, is computed:

        - ``"relative"``: ``1 - tolerance`` times the best mean score, with `tolerance`
          in [0, 0.5]. It needs positive scores.
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
        If no candidate reaches the lowest performance, because `reference` is higher
        than all of them: the best performer is taken. If the rule does not apply,
        because `cv_results` has no metric of these names, the best performance is not
        positive with ``kind="relative"``, or there are fewer than two folds with
        ``kind="one_standard_error"``: the best performer is taken, or, without that
        metric, the best by another one.
    sklearn.exceptions.UndefinedMetricWarning
        If no candidate has finite scores in all these metrics: likewise.

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

    scikit-learn calls `refit` after all fits, with their results alone, and discards
    the results if `refit` raises. So a wrong name fails before the fits only where
    `scoring` is made by ``rule.scoring``. Otherwise a rule that cannot choose takes a
    candidate and warns. The results are kept: call another rule on the ``cv_results_``
    of the search.

    Searches set `best_index_` and `best_params_` to the choice, but no `best_score_`,
    as with any function for `refit`. ``search.score(X, y)`` is the performance: a rule
    equals the name of its performance metric and has the same hash, so that a search
    finds the scorer. Halving searches take one metric only and ignore a function for
    `refit`: call the rule on their ``cv_results_``, where it compares the candidates of
    the last iteration.

    References
    ----------
    .. [1] Jin, Li, Feng. "On the Maximal Local Disparity of Fairness-Aware
       Classifiers". ICML 2024. Table 1 and appendix D select the fairest model with at
       least 95 % of the average precision of the plain one, by its validation rows.
    .. [2] Breiman, Friedman, Olshen, Stone. "Classification and Regression Trees".
       1984. Section 3.4.3: the one standard error rule.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skfair.datasets import make_biased_classification
    >>> from skfair.model_selection import FairestWithin
    >>> X, y = make_biased_classification(
    ...     group_sizes={"sex": {0: 0.4, 1: 0.6}}, random_state=0
    ... )
    >>> rule = FairestWithin(tolerance=0.02)
    >>> search = GridSearchCV(
    ...     LogisticRegression(),
    ...     {"C": [0.0001, 0.01, 1]},
    ...     scoring=rule.scoring(sensitive_features="sex"),
    ...     refit=rule,
    ...     cv=3,
    ... ).fit(X, y)
    >>> search.best_params_
    {'C': 0.0001}
    >>> round(float(search.score(X, y)), 2)  # average precision
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
                object.__setattr__(self, "tolerance", 0.05)
            self._check_share()
            # A search would notice only at its end.
            if self.performance.startswith("neg_"):
                raise ValueError(self._no_share("is never positive"))
        if self.reference is not None:
            check_real("reference", self.reference, -math.inf, math.inf)
            if self.kind == "relative" and self.reference <= 0:
                raise ValueError(self._no_share(f"has reference={self.reference!r}"))

    def _check_share(self) -> None:
        """Raise unless `tolerance` is a share of the performance that may be lost."""
        share = self.tolerance
        if isinstance(share, int | float) and share > MOST_LOST:
            raise ParameterError(
                "tolerance",
                f"must be at most {MOST_LOST} with kind='relative', got {share!r}: it "
                "is the share of the best performance that may be lost. It was the "
                "share to be kept before: 0.05 takes the place of 0.95.",
            )
        check_real("tolerance", share, 0, MOST_LOST)

    def _no_share(self, reason: str) -> str:
        """Return the error message: a share of the performance is meaningless."""
        return (
            f"performance={self.performance!r} {reason}, so a share of it means "
            "nothing. Use kind='absolute' with tolerance=<the loss allowed>."
        )

    def _choose(self, cv_results: CVResults, means: pd.DataFrame) -> int:
        tolerated = self.min_performance(cv_results)
        within = means[means["performance"] >= tolerated - _MEAN_ROUNDING]
        if len(within):
            return first_best(within, "fairness", "performance")
        best = first_best(means, "performance", "fairness")
        warn_user(
            f"No candidate has {self.performance} of at least {tolerated:.6g}; the "
            f"best performer is taken, with {means.loc[best, 'performance']:.6g}.",
        )
        return best

    def min_performance(self, cv_results: CVResults) -> float:
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
            means = self._means(cv_results)
            if means.empty:
                return math.nan
            best = first_best(means, "performance")
            reference = float(means.loc[best, "performance"])
            if self.kind == "one_standard_error":
                return reference - standard_error(cv_results, self.performance, best)
        if self.kind == "absolute":
            return reference - float(self.tolerance or 0)
        if reference <= 0:
            raise ValueError(self._no_share(f"is {reference:.6g} at best"))
        return reference * (1 - float(self.tolerance or 0))


def pareto_front(
    cv_results: CVResults,
    metrics: Sequence[str],
    *,
    reference_point: ArrayLike | None = None,
) -> pd.DataFrame:
    """Find the candidates of a search that no other candidate dominates.

    One candidate dominates another if none of its mean scores is smaller and at least
    one is larger. Which candidate of the front is best depends on the weight given to
    each metric.

    Parameters
    ----------
    cv_results : dict of ndarrays, or DataFrame
        Attribute ``cv_results_`` of a search, or columns ``mean_test_<metric>`` of any
        candidates.
    metrics : sequence of str of length n_metrics
        Names of metrics in its `scoring`, larger for better.
    reference_point : array-like of shape (n_metrics,), default=None
        Scores from which the hypervolume is measured, by default the smallest mean
        score of each metric among the candidates. To compare searches, give them the
        same point.

    Returns
    -------
    DataFrame of n_front rows
        Sorted by the mean score of the first metric, largest first. The index
        ``candidate`` is the position in `cv_results`; the columns are ``params``,
        ``mean_test_<metric>`` and ``std_test_<metric>`` for each metric, as far as
        `cv_results` has them. ``attrs["hypervolume"]`` is the volume of the points that
        the front dominates and that are better than ``attrs["reference_point"]``, a
        list of n_metrics floats.

    Raises
    ------
    ValueError
        If `cv_results` has no such metric (listing those it has), if `metrics` is not
        a list of distinct names, or if `reference_point` is not n_metrics finite
        numbers.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If no candidate has finite scores in all metrics: the front is empty and its
        hypervolume nan.

    See Also
    --------
    FairestWithin, BestUnder : Rules that choose one candidate.
    skfair.inspection.TradeOffDisplay : A plot of the front.

    Notes
    -----
    Candidates that are equal in all metrics stay together. Those with a score that is
    not finite are left out; of a halving search only the last iteration counts. Two
    metrics take O(n log n) for n candidates.

    Examples
    --------
    >>> from skfair.model_selection import pareto_front
    >>> cv_results = {
    ...     "params": [{"C": 0.1}, {"C": 1}, {"C": 10}],
    ...     "mean_test_accuracy": [0.70, 0.80, 0.75],
    ...     "std_test_accuracy": [0.01, 0.01, 0.01],
    ...     "mean_test_neg_mcdp": [-0.10, -0.30, -0.40],
    ...     "std_test_neg_mcdp": [0.02, 0.02, 0.02],
    ... }
    >>> front = pareto_front(cv_results, ["accuracy", "neg_mcdp"])
    >>> front["params"].tolist()
    [{'C': 1}, {'C': 0.1}]
    >>> round(front.attrs["hypervolume"], 6)
    0.01
    """
    check_metric_names("metrics", metrics)
    means = compared_means(cv_results, *metrics)
    points = means.to_numpy()
    reference = _reference(reference_point, points, len(metrics))
    best = means[non_dominated(points)]
    front_order = best.index[np.lexsort([-best[name] for name in reversed(metrics)])]
    table = results_of(cv_results)
    columns = [start + name for name in metrics for start in (_MEAN, _STD)]
    front = table.loc[front_order, [name for name in columns if name in table]]
    if "params" in cv_results:
        params = list(cv_results["params"])
        front.insert(0, "params", [params[i] for i in front_order])
    volume = hypervolume(points, reference) if len(points) else np.nan
    front.attrs = {"hypervolume": volume, "reference_point": reference.tolist()}
    if not len(points):
        warn_user(
            f"No candidate has finite scores in all of {list(metrics)}: the front is "
            "empty.",
            UndefinedMetricWarning,
        )
    return front


def _reference(
    reference_point: ArrayLike | None, points: Floats, n_metrics: int
) -> Floats:
    """Return the reference point of the hypervolume; by default the smallest scores."""
    if reference_point is None:
        return points.min(axis=0) if len(points) else np.full(n_metrics, np.nan)
    reference = np.asarray(reference_point)
    if (
        reference.shape != (n_metrics,)
        or reference.dtype.kind not in "biuf"
        or not np.isfinite(reference).all()
    ):
        raise ValueError(
            f"reference_point must be {n_metrics} finite numbers, one for each of "
            f"metrics, got {shown(reference_point)}."
        )
    return reference.astype(np.float64)


def non_dominated(points: Floats) -> Bools:
    """Return which points are not dominated, where larger coordinates are better.

    Equal points do not dominate each other. Two coordinates take O(n log n), more
    coordinates O(n) comparisons with each point of the front.
    """
    if not len(points):
        return np.zeros(0, dtype=bool)
    distinct, inverse = np.unique(points, axis=0, return_inverse=True)
    # From the lexicographically largest down: no point is dominated by a later one.
    distinct = distinct[::-1]
    on_front = np.zeros(len(distinct), dtype=bool)
    if distinct.shape[1] == 2:
        highest = np.maximum.accumulate(distinct[:, 1])
        on_front[0] = True
        on_front[1:] = distinct[1:, 1] > highest[:-1]
    else:
        for i, point in enumerate(distinct):
            on_front[i] = not (distinct[:i][on_front[:i]] >= point).all(axis=1).any()
    return np.asarray(on_front[::-1][inverse.ravel()])


def hypervolume(points: Floats, reference: Floats) -> float:
    """Return the volume between a reference point and the points better than it.

    Slices along the last coordinate are summed, recursively, down to two coordinates.
    """
    # Points at the reference point in some coordinate add nothing: > is as good as >=.
    points = points[(points > reference).all(axis=1)]
    points = points[non_dominated(points)]
    if not len(points):
        return 0.0
    if points.shape[1] == 1:
        return float(points.max() - reference[0])
    points = points[np.argsort(-points[:, -1])]
    heights = points[:, -1] - np.append(points[1:, -1], reference[-1])
    if points.shape[1] == 2:
        return float(np.sum(heights * (points[:, 0] - reference[0])))
    slices = [
        height * hypervolume(points[: i + 1, :-1], reference[:-1])
        for i, height in enumerate(heights)
        if height > 0
    ]
    return float(np.sum(slices))

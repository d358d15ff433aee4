"""Candidates of a search: their test scores, and the rules that choose among them."""

from __future__ import annotations

import re
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from scipy.stats import sem
from sklearn.exceptions import UndefinedMetricWarning

from skfair._utils._text import shown
from skfair._utils._types import Floats
from skfair._utils._warnings import warn_user

#: The attribute ``cv_results_`` of a search, or a DataFrame made from it.
CVResults: TypeAlias = Mapping[str, Any] | pd.DataFrame

#: Scores that differ by no more are equal: means over folds carry rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Rule(ABC):
    """Chooses among the candidates whose performance and fairness are both finite."""

    performance: str = "average_precision"
    fairness: str = "neg_mcdp"

    def __post_init__(self) -> None:
        check_metric_name("performance", self.performance)
        check_metric_name("fairness", self.fairness)

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
            means = compared_means(cv_results, self.performance, self.fairness)
            if len(means):
                return self._choose(cv_results, means)
            category = UndefinedMetricWarning
            reason = (
                f"No candidate has finite scores in {self.performance!r} and "
                f"{self.fairness!r}. Folds without a group score nan, see "
                "GroupStratifiedKFold; scorers that fail do too, and "
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
        order = dict.fromkeys((self.performance, self.fairness, *names))
        chosen, description = _best_by_any(cv_results, order, names)
        warn_user(
            f"{type(self).__name__} has no choice. {reason} Candidate {chosen} is "
            f"taken, {description}; to choose again, call another rule on "
            "cv_results_.",
            category,
        )
        return chosen

    @abstractmethod
    def _choose(self, cv_results: CVResults, means: pd.DataFrame) -> int:
        """Choose one of the candidates in `means`, of which there is at least one."""


def _best_by_any(
    cv_results: CVResults, order: Iterable[str], names: list[str]
) -> tuple[int, str]:
    """Return the best candidate by the first metric with a finite score, described."""
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


def compared_means(cv_results: CVResults, *metrics: str) -> pd.DataFrame:
    """Mean test scores of the candidates that have finite ones in all metrics.

    Of a halving search, only those of the last iteration, which used most rows. The
    index is the position in the search.
    """
    means = pd.DataFrame(
        {metric: scores_of(cv_results, metric, "mean") for metric in metrics}
    ).rename_axis("candidate")
    compared = np.isfinite(means).all(axis=1)
    if "iter" in cv_results:
        iterations = np.asarray(cv_results["iter"])
        compared &= iterations == iterations.max()
    return means[compared]


def metrics_of(cv_results: Any) -> list[str]:
    """Names of the metrics in the results of a search, which need one at least."""
    if not isinstance(cv_results, (Mapping, pd.DataFrame)):
        raise ValueError(
            "cv_results must be the cv_results_ of a search, a dict or a DataFrame, "
            f"got {type(cv_results).__name__}."
        )
    prefix = "mean_test_"
    columns = [str(name) for name in cv_results if str(name).startswith(prefix)]
    if not columns:
        raise ValueError(
            f"cv_results must be the cv_results_ of a search, with {prefix}<metric>, "
            f"got the columns {[str(name) for name in cv_results][:5]}."
        )
    n_candidates = len(_numbers(cv_results, columns[0]))
    for name in (*columns, "iter"):
        if name in cv_results:
            _numbers(cv_results, name, n_candidates)
    if "params" in cv_results and len(cv_results["params"]) != n_candidates:
        raise ValueError(
            f"cv_results['params'] has {len(cv_results['params'])} entries, expected "
            f"{n_candidates}, one for each candidate of the search."
        )
    return [name.removeprefix(prefix) for name in columns]


def _numbers(
    cv_results: CVResults, column: str, n_candidates: int | None = None
) -> Floats:
    """Return a column with one number for each candidate, or raise.

    There must be one candidate at least, or as many as given.
    """
    must = f"cv_results[{column!r}] must have one number for each candidate of the"
    try:
        values = np.asarray(cv_results[column])
        if values.dtype.kind not in "biufO":
            raise TypeError
        values = values.astype(np.float64)
    except (TypeError, ValueError):
        found = reprlib.repr(cv_results[column])
        raise ValueError(f"{must} search, got {found}.") from None
    given = len(values) if values.ndim == 1 else 0
    if not given or given != (n_candidates or given):
        raise ValueError(f"{must} search, got an array of shape {values.shape}.")
    return values


def scores_of(cv_results: CVResults, metric: str, statistic: str) -> Floats:
    """Mean ("mean") or standard deviation ("std") of test scores, by candidate."""
    present = metrics_of(cv_results)
    if metric not in present:
        raise ValueError(
            f"cv_results has no metric {metric!r}, it has {present}. Use the "
            "names in the scoring of the search."
        )
    n_candidates = len(_numbers(cv_results, f"mean_test_{metric}"))
    return _numbers(cv_results, f"{statistic}_test_{metric}", n_candidates)


def statistics_of(cv_results: CVResults, metric: str) -> list[str]:
    """Names of the statistics of a metric: tables of trials have no "std"."""
    return ["mean", *(["std"] if f"std_test_{metric}" in cv_results else [])]


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
    """Test scores of the candidates in each fold."""
    column = re.compile(rf"split\d+_test_{re.escape(metric)}")
    return [
        np.asarray(cv_results[name])
        for name in map(str, cv_results)
        if column.fullmatch(name)
    ]


def first_best(means: pd.DataFrame, *metrics: str) -> int:
    """Position of the largest score; ties go to the next metric, then to the first."""
    order = np.lexsort([-means[metric] for metric in reversed(metrics)])
    return int(means.index[order[0]])

"""Candidates of a search: their test scores, and the rules that choose among them."""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import sem
from sklearn.exceptions import UndefinedMetricWarning

#: The attribute ``cv_results_`` of a search, or a DataFrame made from it.
CVResults: TypeAlias = Mapping[str, Any] | pd.DataFrame

#: Scores that differ by no more are equal: means over folds carry rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Rule(ABC):
    """Chooses among the candidates whose performance and fairness are both finite."""

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
            Position of the candidate.
        """
        means = compared_means(cv_results, self.performance, self.fairness)
        if len(means):
            return self._choose(cv_results, means)
        performers = compared_means(cv_results, self.performance)
        if performers.empty:
            raise ValueError(
                f"performance={self.performance!r} is not finite for any candidate: "
                "there is none to choose."
            )
        warnings.warn(
            f"fairness={self.fairness!r} is not finite for any candidate with a finite "
            "performance: the best performer is taken. Folds without a group score "
            "nan, see GroupStratifiedKFold.",
            UndefinedMetricWarning,
            stacklevel=2,
        )
        return first_best(performers, self.performance)

    @abstractmethod
    def _choose(self, cv_results: CVResults, means: pd.DataFrame) -> int:
        """Choose one of the candidates in `means`, of which there is at least one."""


def check_metric(parameter: str, value: Any) -> None:
    """Raise unless a parameter is the name of a metric."""
    if not isinstance(value, str):
        raise ValueError(
            f"{parameter} must be the name of a metric in the scoring of the search, "
            f"got {value!r}."
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


def scores_of(
    cv_results: CVResults, metric: str, statistic: str
) -> NDArray[np.float64]:
    """Mean ("mean") or standard deviation ("std") of test scores, by candidate."""
    if not isinstance(cv_results, (Mapping, pd.DataFrame)):
        raise ValueError(
            "cv_results must be the cv_results_ of a search, a dict or a DataFrame, "
            f"got {type(cv_results).__name__}."
        )
    prefix = f"{statistic}_test_"
    if prefix + metric not in cv_results:
        names = [str(name) for name in cv_results]
        present = [name[len(prefix) :] for name in names if name.startswith(prefix)]
        raise ValueError(
            f"cv_results has no metric {metric!r}, it has {present}. Name it in the "
            "scoring of the search."
        )
    return np.asarray(cv_results[prefix + metric], dtype=np.float64)


def standard_error(cv_results: CVResults, metric: str, candidate: int) -> float:
    """Estimate the standard error of a candidate's mean test score from its folds."""
    column = re.compile(rf"split\d+_test_{re.escape(metric)}")
    folds = [name for name in map(str, cv_results) if column.fullmatch(name)]
    if len(folds) < 2:
        raise ValueError(
            "kind='one_standard_error' needs the scores of two folds or more, but "
            f"cv_results_ has {len(folds)} columns 'split<i>_test_{metric}'."
        )
    return float(sem([np.asarray(cv_results[name])[candidate] for name in folds]))


def first_best(means: pd.DataFrame, *metrics: str) -> int:
    """Position of the largest score; ties go to the next metric, then to the first."""
    order = np.lexsort([-means[metric] for metric in reversed(metrics)])
    return int(means.index[order[0]])

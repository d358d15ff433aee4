"""Reads the candidates of a search from its ``cv_results_``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import sem

#: The attribute ``cv_results_`` of a search, or a DataFrame made from it.
CVResults: TypeAlias = Mapping[str, Any] | pd.DataFrame

_MEAN, _FOLD = "mean_test_", "split"
#: Scores that differ by no more are equal: means over folds carry rounding.
ROUNDING = 1e-12


def mean_scores(cv_results: CVResults, metric: str) -> NDArray[np.float64]:
    """Mean test score of each candidate.

    Parameters
    ----------
    cv_results : dict or DataFrame
    metric : str
        Its name in the `scoring` of the search, ``"score"`` for the only one.

    Returns
    -------
    ndarray of shape (n_candidates,)

    Raises
    ------
    ValueError
        If the search has no such metric, listing those it has.
    """
    return _column(cv_results, metric, _MEAN)


def std_scores(cv_results: CVResults, metric: str) -> NDArray[np.float64]:
    """Spread over folds, a standard deviation, of each candidate's test score.

    Parameters
    ----------
    cv_results : dict or DataFrame
    metric : str

    Returns
    -------
    ndarray of shape (n_candidates,)

    Raises
    ------
    ValueError
        If the search has no such metric.
    """
    return _column(cv_results, metric, "std_test_")


def standard_error(cv_results: CVResults, metric: str, candidate: int) -> float:
    """Estimate the standard error of a candidate's mean, from its spread over folds.

    Parameters
    ----------
    cv_results : dict or DataFrame
    metric : str
    candidate : int

    Returns
    -------
    float

    Raises
    ------
    ValueError
        On fewer than two folds.
    """
    ending = f"_test_{metric}"
    folds = [
        name
        for name in map(str, cv_results)
        if name.startswith(_FOLD)
        and name.endswith(ending)
        and name[len(_FOLD) : -len(ending)].isdigit()
    ]
    if len(folds) < 2:
        raise ValueError(
            f"kind='one_standard_error' needs the scores of two folds or more, but "
            f"cv_results_ has {len(folds)} columns 'split<i>{ending}'."
        )
    scores = [float(np.asarray(cv_results[name])[candidate]) for name in folds]
    return float(sem(scores))


def defined(cv_results: CVResults, *metrics: str) -> NDArray[np.bool_]:
    """Which candidates can be compared: all their mean scores are finite.

    Of a halving search, only those of the last iteration, which saw most rows.

    Parameters
    ----------
    cv_results : dict or DataFrame
    *metrics : str

    Returns
    -------
    ndarray of bool of shape (n_candidates,)
    """
    scores = [mean_scores(cv_results, metric) for metric in metrics]
    compared = np.isfinite(scores).all(axis=0)
    if "iter" in cv_results:
        iterations = np.asarray(cv_results["iter"])
        compared &= iterations == iterations.max()
    return np.asarray(compared)


def first_best(candidates: NDArray[np.bool_], *scores: NDArray[np.float64]) -> int:
    """Candidate with the largest score; ties go to the next score, then to the first.

    Parameters
    ----------
    candidates : ndarray of bool of shape (n_candidates,)
        Of which at least one is True.
    *scores : ndarray of shape (n_candidates,)

    Returns
    -------
    int
    """
    rows = np.flatnonzero(candidates)
    order = np.lexsort([-score[rows] for score in reversed(scores)])
    return int(rows[order[0]])


def check_metric(parameter: str, value: Any) -> None:
    """Raise unless a parameter is the name of a metric.

    Parameters
    ----------
    parameter : str
    value : object

    Raises
    ------
    ValueError
    """
    if not isinstance(value, str):
        raise ValueError(
            f"{parameter} must be the name of a metric in the scoring of the search, "
            f"got {value!r}."
        )


def _column(cv_results: CVResults, metric: str, prefix: str) -> NDArray[np.float64]:
    if not isinstance(cv_results, (Mapping, pd.DataFrame)):
        raise ValueError(
            "cv_results must be the cv_results_ of a search, a dict or a DataFrame, "
            f"got {type(cv_results).__name__}."
        )
    if prefix + metric not in cv_results:
        names = map(str, cv_results)
        present = [name[len(_MEAN) :] for name in names if name.startswith(_MEAN)]
        raise ValueError(
            f"cv_results has no metric {metric!r}, it has {present}. Name it in the "
            "scoring of the search."
        )
    return np.asarray(cv_results[prefix + metric], dtype=np.float64)

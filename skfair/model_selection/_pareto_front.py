"""Candidates of a search that no other candidate beats in every respect."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning

from skfair.model_selection._candidates import (
    CVResults,
    check_metric,
    defined,
    mean_scores,
    std_scores,
)
from skfair.model_selection._dominance import hypervolume, non_dominated


def pareto_front(
    cv_results: CVResults,
    metrics: Sequence[str],
    *,
    reference_point: ArrayLike | None = None,
) -> pd.DataFrame:
    """Find the candidates of a search that no other candidate dominates.

    One candidate dominates another if no mean score is smaller and one is larger.
    Between candidates of the front only a preference can choose.

    Parameters
    ----------
    cv_results : dict of ndarrays, or DataFrame
        Attribute ``cv_results_`` of a search.
    metrics : sequence of str of length n_metrics
        Names of metrics in its `scoring`, larger for better.
    reference_point : array-like of shape (n_metrics,), default=None
        Scores from which on the hypervolume is measured, by default the smallest
        mean score of each metric among the candidates. To compare searches, give them
        the same point.

    Returns
    -------
    DataFrame of n_front rows
        Best mean of the first metric first. Its index ``candidate`` is the position
        in `cv_results`; its columns are ``params``, where `cv_results` has them, and
        ``mean_test_<metric>`` and ``std_test_<metric>`` for each metric.
        ``attrs["hypervolume"]`` is the volume of scores that the front dominates and
        that are better than ``attrs["reference_point"]``, a list of n_metrics floats.

    Raises
    ------
    ValueError
        If `cv_results` has no such metric (listing those it has), if `metrics` is no
        list of distinct names, or if `reference_point` is not n_metrics numbers.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If no candidate has finite scores in all metrics: the front is empty and its
        hypervolume nan.

    See Also
    --------
    FairestWithin, BestUnder : Rules that choose one candidate.
    skfair.inspection.TradeOffDisplay : A picture of the front.

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
    _check_metrics(metrics)
    means = np.stack([mean_scores(cv_results, name) for name in metrics], axis=1)
    compared = np.flatnonzero(defined(cv_results, *metrics))
    points = means[compared]
    reference = _reference(reference_point, points, len(metrics))
    kept = compared[non_dominated(points)]
    order = np.lexsort([-means[kept, i] for i in reversed(range(len(metrics)))])
    kept = kept[order]
    columns: dict[str, Any] = {}
    if "params" in cv_results:
        params = list(cv_results["params"])
        columns["params"] = [params[i] for i in kept]
    for name, mean in zip(metrics, means.T, strict=True):
        columns[f"mean_test_{name}"] = mean[kept]
        columns[f"std_test_{name}"] = std_scores(cv_results, name)[kept]
    front = pd.DataFrame(columns, index=pd.Index(kept, name="candidate"))
    volume = hypervolume(points, reference) if len(points) else np.nan
    front.attrs = {"hypervolume": volume, "reference_point": reference.tolist()}
    if not len(points):
        warnings.warn(
            f"No candidate has finite scores in all of {list(metrics)}: the front is "
            "empty.",
            UndefinedMetricWarning,
            stacklevel=2,
        )
    return front


def _check_metrics(metrics: Any) -> None:
    if isinstance(metrics, str) or not len(metrics):
        raise ValueError(
            f"metrics must be a list of one or more names, got {metrics!r}."
        )
    for name in metrics:
        check_metric("every entry of metrics", name)
    if len(set(metrics)) < len(metrics):
        raise ValueError(f"metrics must be distinct, got {list(metrics)}.")


def _reference(
    given: ArrayLike | None, points: NDArray[np.float64], n_metrics: int
) -> NDArray[np.float64]:
    if given is None:
        return points.min(axis=0) if len(points) else np.full(n_metrics, np.nan)
    reference = np.asarray(given, dtype=np.float64)
    if reference.shape != (n_metrics,) or not np.isfinite(reference).all():
        raise ValueError(
            f"reference_point must be {n_metrics} finite numbers, one for each of "
            f"metrics, got {given!r}."
        )
    return reference

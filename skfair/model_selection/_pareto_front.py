"""The candidates of a search that no other candidate dominates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from skfair._utils._arrays import Bools, Floats
from skfair._utils._text import shown
from skfair._utils._warnings import warn_user
from skfair.model_selection._rules import (
    CVResults,
    check_metric_names,
    compared_means,
    scores_of,
    statistics_of,
)


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
    columns: dict[str, Any] = {}
    if "params" in cv_results:
        params = list(cv_results["params"])
        columns["params"] = [params[i] for i in front_order]
    for name in metrics:
        for statistic in statistics_of(cv_results, name):
            scores = scores_of(cv_results, name, statistic)[front_order]
            columns[f"{statistic}_test_{name}"] = scores
    front = pd.DataFrame(columns, index=front_order)
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
    """Return the reference point of the hypervolume, by default the smallest scores."""
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
    """Which points, of coordinates to be maximised, no other point dominates.

    Equal points do not dominate each other. Two coordinates take O(n log n), more take
    O(n) comparisons with each point of the front.
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
    """Volume between a reference point and the points that are better than it.

    It sums slices along the last coordinate, recursively, down to two coordinates.
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

"""Bounds of multiclass DCP from confusion matrices."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skfair.metrics._dcp._clock import check_time_limit
from skfair.metrics._dcp._dcp import DCPResult
from skfair.metrics._dcp._frequencies import (
    check_distributions,
    check_sum_tolerance,
    check_table,
    column_labels,
    first_labels,
    positions,
    row_labels,
)
from skfair.metrics._dcp._search._solve import SearchMethod, SearchOptions
from skfair.metrics._inputs import check_group_weights


def dcp_bounds(
    confusion: ArrayLike,
    group_weights: ArrayLike,
    label_frequencies: ArrayLike,
    *,
    method: SearchMethod = "auto",
    tol: float = 1e-4,
    time_limit: float | None = None,
    sum_tolerance: float = 1e-6,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> DCPResult:
    """Bound the share of the population that a classifier treats differently.

    Disparate conditional prediction (DCP) is the least share of people that must be
    left out so that the confusion matrices of the others are the same in all groups.
    That common matrix is the baseline.

    Parameters
    ----------
    confusion : array-like of shape (n_groups, n_classes, n_classes)
        ``confusion[a, y, z]`` is P(prediction z | true class y, group a), so that
        rows sum to one. Rows and columns of a list of dataframes are matched by
        label.
    group_weights : array-like of shape (n_groups,)
        Share of each group in the population, or its size. The labels of a Series
        must be those of `label_frequencies`, in the same order.
    label_frequencies : array-like of shape (n_groups, n_classes)
        ``label_frequencies[a, y]`` is P(true class y | group a). Where it is 0 the row
        of the confusion matrix has no influence and may be anything, even NaN.
        Columns of a dataframe are matched with those of `confusion` by label.
    method : {"auto", "local"}, default="auto"
        ``"auto"`` ends with a proof: it looks at every vertex where the optimum can
        lie where these are up to 400,000 for a class, for example 5 classes in 51
        groups, and else solves linear programs on boxes. ``"local"`` searches without
        proof, takes milliseconds, and returns the paper's lower bound.
    tol : float in (0, 1), default=1e-4
        The search ends when ``upper - lower`` is at most this.
    time_limit : float, default=None
        Seconds after which the search ends in any case, with a valid interval.
    sum_tolerance : float in [0, 0.1], default=1e-6
        How much the sums of frequencies and of rows of matrices may differ from one,
        because they are rounded. They are scaled to sum to one.
    n_jobs : int, default=None
        Number of processes among which true classes are divided, as in scikit-learn.
    verbose : int, default=0
        Above 0, the standard error stream shows the bounds of each class that is done,
        and of the class that is searched.

    Returns
    -------
    DCPResult

    Raises
    ------
    ValueError
        On shapes or labels that disagree, NaN, negative entries, rows that do not sum
        to one within `sum_tolerance`, or parameters out of range.

    See Also
    --------
    dcp : The upper bound from true classes and predictions.
    min_dcp_bounds : Without any confusion matrix.

    Notes
    -----
    Rates of zero are exact, never replaced by small numbers, and `upper` is the value
    of equation 5 at `baseline`. Matrices estimated from few rows differ by chance: DCP
    is then above zero for a fair classifier too, and increases with the number of
    groups.

    References
    ----------
    .. [1] Sabato, Treister, Yom-Tov. "Disparate Conditional Prediction in Multiclass
       Classifiers". ICML 2025. Equations 4, 5 and 7.

    Examples
    --------
    >>> from skfair.metrics import dcp_bounds
    >>> fair, unfair = [[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.5, 0.5]]
    >>> result = dcp_bounds([fair, unfair], [0.7, 0.3], [[0.5, 0.5], [0.5, 0.5]])
    >>> round(result.lower, 5), round(result.upper, 5), result.optimal
    (0.05625, 0.05625, True)
    """
    options = SearchOptions(tol, check_time_limit(time_limit), method, n_jobs, verbose)
    sum_tolerance = check_sum_tolerance(sum_tolerance)
    confusion, matrix_classes = _aligned_matrices(confusion)
    matrices = check_table(
        "confusion", confusion, ("n_groups", "n_classes", "n_classes")
    )
    n_groups, _, n_classes = matrices.shape
    matrices = check_table("confusion", matrices, (n_groups, n_classes, n_classes))
    frequencies = check_table(
        "label_frequencies", label_frequencies, (n_groups, n_classes)
    )
    columns = column_labels(label_frequencies)
    classes = first_labels(
        {"confusion": matrix_classes, "label_frequencies": columns}, n_classes
    )
    in_order = positions("label_frequencies", columns, classes, "classes")
    frequencies = frequencies[:, in_order]
    groups = _groups_in_order(label_frequencies, group_weights, n_groups)
    # The row of a class that a group never has is not read.
    absent = (frequencies == 0)[..., None]
    tables = {
        "label_frequencies": frequencies,
        "confusion": np.where(absent, 1 / n_classes, matrices),
    }
    weights = check_group_weights(group_weights, groups)
    frequencies, matrices = check_distributions(
        tables, sum_tolerance, groups, classes[1]
    )
    matrices[np.broadcast_to(absent, matrices.shape)] = 0.0
    weights = weights[:, None] * frequencies
    return DCPResult._solve(matrices, weights, groups, classes[1], options)


def _aligned_matrices(confusion: Any) -> tuple[Any, pd.Index | None]:
    """Matrices in the order of the first one's columns, if they are dataframes."""
    if not (isinstance(confusion, (list, tuple)) and confusion):
        return confusion, None
    if not all(isinstance(matrix, pd.DataFrame) for matrix in confusion):
        return confusion, None
    classes = confusion[0].columns
    reference = "confusion[0]", tuple(classes.tolist())
    aligned = []
    for a, matrix in enumerate(confusion):
        rows = positions(f"confusion[{a}]", matrix.index, reference, "classes")
        columns = positions(f"confusion[{a}]", matrix.columns, reference, "classes")
        aligned.append(matrix.iloc[rows, columns].to_numpy())
    return aligned, classes


def _groups_in_order(
    label_frequencies: Any, group_weights: Any, n_groups: int
) -> tuple[Hashable, ...]:
    """Labels of the groups; they must be in one order, which `confusion` follows."""
    labels = {
        "label_frequencies": row_labels(label_frequencies),
        "group_weights": row_labels(group_weights),
    }
    reference = first_labels(labels, n_groups)
    order = positions("group_weights", labels["group_weights"], reference, "groups")
    if (order != np.arange(n_groups)).any():
        raise ValueError(
            "group_weights must have its groups in the order of label_frequencies, "
            "since confusion has no labels of groups that say which of the two orders "
            "it follows. Sort one of them, for example by "
            "group_weights.reindex(label_frequencies.index)."
        )
    return reference[1]

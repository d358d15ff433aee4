"""Bounds of multiclass DCP from confusion matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skfair.metrics._dcp._dcp import DCPResult
from skfair.metrics._dcp._search._linear_program import check_time_limit
from skfair.metrics._dcp._search._rows import Floats
from skfair.metrics._dcp._search._solve import Method, Options
from skfair.metrics._inputs import check_group_weights

#: How far the sum of a row may differ from one: rounding, not another scale.
_SUM_TOLERANCE = 1e-6


def dcp_bounds(
    confusion: ArrayLike,
    group_weights: ArrayLike,
    label_frequencies: ArrayLike,
    *,
    tol: float = 1e-4,
    time_limit: float | None = None,
    method: Method = "auto",
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
        rows sum to one.
    group_weights : array-like of shape (n_groups,)
        Share of each group in the population, or its size.
    label_frequencies : array-like of shape (n_groups, n_classes)
        ``label_frequencies[a, y]`` is P(true class y | group a). Where it is 0 the row
        of the confusion matrix has no influence and may be anything, even NaN.
    tol : float in (0, 1), default=1e-4
        The search ends when ``upper - lower`` is at most this.
    time_limit : float, default=None
        Seconds after which the search ends in any case, with a valid interval.
    method : {"auto", "enumerate", "branch_and_bound", "local", "average", \
"greedy", "greedy+lm"}, default="auto"
        ``"enumerate"`` examines every vertex where the optimum can lie,
        ``"branch_and_bound"`` solves linear programs on boxes; both end with a proof.
        ``"auto"`` enumerates up to 400,000 vertices for each class, for example 5
        classes in 51 groups, and uses branch and bound for more. ``"local"`` searches
        without proof. The last three are the paper's methods, for comparison. Methods
        without proof return the paper's lower bound.
    n_jobs : int, default=None
        Number of processes among which true classes are divided, as in scikit-learn.
    verbose : int, default=0
        Above 0, prints a line for each class that is done.

    Returns
    -------
    DCPResult

    Raises
    ------
    ValueError
        On shapes that disagree, NaN, negative entries, rows that do not sum to one
        (within 1e-6), parameters out of range, or too many vertices to enumerate.

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
       Classifiers". ICML 2025. Equations 4, 5 and 7, Algorithm 1, Appendix C.

    Examples
    --------
    >>> from skfair.metrics import dcp_bounds
    >>> fair, unfair = [[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.5, 0.5]]
    >>> result = dcp_bounds([fair, unfair], [0.7, 0.3], [[0.5, 0.5], [0.5, 0.5]])
    >>> round(result.lower, 5), round(result.upper, 5), result.optimal
    (0.05625, 0.05625, True)
    """
    options = Options(tol, check_time_limit(time_limit), method, n_jobs, verbose)
    array = check_numbers(
        "confusion", confusion, ("n_groups", "n_classes", "n_classes")
    )
    n_groups, n_classes = array.shape[:2]
    shape = n_groups, n_classes, n_classes
    weights = check_group_weights(group_weights, range(n_groups))
    frequencies = check_distributions(
        "label_frequencies", label_frequencies, shape[:2], _SUM_TOLERANCE
    )
    # The row of a class that a group never has is not read.
    matrices = check_distributions(
        "confusion", array, shape, _SUM_TOLERANCE, absent=frequencies == 0
    )
    groups, classes = tuple(range(n_groups)), tuple(range(n_classes))
    weights = weights[:, None] * frequencies
    return DCPResult._solve(matrices, weights, groups, classes, options)


def check_distributions(
    name: str,
    values: Any,
    shape: tuple[int | str, ...],
    sum_tolerance: float,
    absent: NDArray[np.bool_] | None = None,
) -> Floats:
    """Rows of non-negative numbers, scaled to sum to one; absent rows are zero."""
    array = check_numbers(name, values, shape)
    if absent is None:
        absent = np.zeros(array.shape[:-1], bool)
    array = np.where(absent[..., None], 0.0, array)
    bad = ~np.isfinite(array) | (array < 0)
    if bad.any():
        at = tuple(np.argwhere(bad)[0])
        raise ValueError(
            f"{name} must hold finite, non-negative numbers, got {array[at]} for "
            f"{_place(at)}."
        )
    sums = array.sum(axis=-1)
    wrong = (np.abs(sums - 1) > sum_tolerance) & ~absent
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0])
        raise ValueError(
            f"{name} must sum to 1 within {sum_tolerance:g} along its last axis, got "
            f"{sums[at]:.6g} for {_place(at)}."
        )
    return array / np.where(absent, 1.0, sums)[..., None]


def check_numbers(name: str, values: Any, shape: tuple[int | str, ...]) -> Floats:
    """Values as floats; a str in `shape` names a length of at least one."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from error
    fits = array.ndim == len(shape) and array.size > 0
    fits = fits and all(
        isinstance(wanted, str) or got == wanted
        for got, wanted in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join(str(length) for length in shape)
        raise ValueError(f"{name} must have shape ({wanted}), got {array.shape}.")
    return array


def _place(at: tuple[int, ...]) -> str:
    return f"group {at[0]}" + (f", class {at[1]}" if len(at) > 1 else "")

"""Bounds of multiclass DCP from confusion matrices."""

from __future__ import annotations

from numpy.typing import ArrayLike

from skfair.metrics._dcp._inputs import (
    check_distributions,
    check_numbers,
)
from skfair.metrics._dcp._result import DCPResult
from skfair.metrics._dcp._search._solve import Method, Options
from skfair.metrics._inputs import check_group_weights

#: How far the sums of rows may be from one: rounding, not another scale.
_TOLERANCE = 1e-6


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

    Disparate conditional prediction (DCP) is the least share of people whose
    predictions must be taken away so that the others' confusion matrices are the same
    in all groups, the baseline.

    Parameters
    ----------
    confusion : array-like of shape (n_groups, n_classes, n_classes)
        ``confusion[a, y, z]`` is P(prediction z | true label y, group a), so that
        rows sum to one.
    group_weights : array-like of shape (n_groups,)
        Share of each group in the population, or its size.
    label_frequencies : array-like of shape (n_groups, n_classes)
        ``label_frequencies[a, y]`` is P(true label y | group a). Where it is 0 the row
        of the confusion matrix does not matter and may be anything, NaN as well.
    tol : float in (0, 1), default=1e-4
        The search ends when upper - lower is at most this.
    time_limit : float, default=None
        Seconds after which it ends in any case, with a valid interval.
    method : {"auto", "enumerate", "branch_and_bound", "local", "average", \
"greedy", "greedy+lm"}, default="auto"
        ``"enumerate"`` looks at every vertex where the optimum can lie,
        ``"branch_and_bound"`` solves linear programs on boxes; both end with a proof.
        ``"auto"`` enumerates up to 400,000 vertices for each label: 5 labels in 51
        groups, for example. ``"local"`` searches without proof. The last three are
        the paper's methods, for comparison. Methods without proof come with the
        paper's lower bound.
    n_jobs : int, default=None
        Processes among which labels are divided, as in scikit-learn.
    verbose : int, default=0
        Above 0, prints a line for each label that is done.

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
    dcp : The upper bound from labels and predictions.
    min_dcp_bounds : Without any confusion matrix.

    Notes
    -----
    Rates of zero are exact, never replaced by small numbers, and the objective at
    `baseline` is `upper`. Matrices estimated from few rows differ by chance: DCP is
    then above zero for a fair classifier too, the more so the more groups there are.

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
    options = Options(tol, time_limit, method, n_jobs, verbose).checked()
    matrices = check_numbers(
        "confusion", confusion, ("n_groups", "n_classes", "n_classes")
    )
    n_groups, n_classes = matrices.shape[:2]
    weights = check_group_weights(group_weights, range(n_groups))
    frequencies = check_distributions(
        "label_frequencies",
        label_frequencies,
        (n_groups, n_classes),
        tolerance=_TOLERANCE,
        absent=None,
    )
    matrices = check_distributions(
        "confusion",
        matrices,
        (n_groups, n_classes, n_classes),
        tolerance=_TOLERANCE,
        absent=frequencies == 0,
    )
    groups, labels = tuple(range(n_groups)), tuple(range(n_classes))
    return DCPResult._solve(matrices, weights, frequencies, groups, labels, options)

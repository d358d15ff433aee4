"""Bounds of the least DCP that published frequencies allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from skfair._utils._validation import check_integer, check_real
from skfair.metrics._dcp._channel._channel import Frequencies
from skfair.metrics._dcp._channel._merged import merged_lower_bound
from skfair.metrics._dcp._channel._result import (
    MinDCPResult,
    complete,
    largest_violation,
)
from skfair.metrics._dcp._channel._starts import best_channel
from skfair.metrics._dcp._inputs import (
    check_distributions,
    check_numbers,
)
from skfair.metrics._dcp._result import etas
from skfair.metrics._dcp._search._linear_program import Clock
from skfair.metrics._inputs import check_group_weights

#: Share of the time limit that goes to the upper bound.
_SHARE_OF_SEARCH = 0.4
_MAX_VIOLATION = 1e-8


def min_dcp_bounds(
    group_weights: ArrayLike,
    label_frequencies: ArrayLike,
    prediction_frequencies: ArrayLike,
    *,
    tol: float = 1e-4,
    time_limit: float | None = None,
    n_starts: int = 10,
    random_state: int | np.random.RandomState | None = None,
    sum_tolerance: float = 1e-6,
) -> MinDCPResult:
    """Bound the least DCP of a classifier of which only frequencies are known.

    At least this share of the population is treated differently from a common
    baseline, however the classifier works inside: what each group's true and
    predicted labels sum up to allows no less.

    Parameters
    ----------
    group_weights : array-like of shape (n_groups,)
        Share of each group in the population, or its size.
    label_frequencies : array-like of shape (n_groups, n_classes)
        ``label_frequencies[a, y]`` is P(true label y | group a).
    prediction_frequencies : array-like of shape (n_groups, n_classes)
        ``prediction_frequencies[a, z]`` is P(prediction z | group a).
    tol : float in (0, 1), default=1e-4
        The search ends when upper - lower is at most this.
    time_limit : float, default=None
        Seconds after which the search ends, with a valid interval; two fifths go to
        the upper bound at most. Without a limit both searches end after a fixed
        number of steps, and the result does not depend on the speed of the machine.
    n_starts : int, default=10
        Local searches for the upper bound from each of two kinds of start, fits that
        emphasise two and three groups; half as many begin at random ones.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.
    sum_tolerance : float in [0, 0.1], default=1e-6
        How far from one each group's frequencies may sum: 0.005 for two decimals, for
        example. They are scaled to sum to one exactly.

    Returns
    -------
    MinDCPResult

    Raises
    ------
    ValueError
        On shapes that disagree, NaN, negative entries, a group whose frequencies do
        not sum to one within `sum_tolerance`, or parameters out of range.

    See Also
    --------
    dcp_bounds : With known confusion matrices.

    Notes
    -----
    Zero does not say that the classifier is fair, only that these frequencies do not
    show it to be unfair. Errors of the frequencies, rounding included, move the
    result by about as much.

    The lower bound merges predictions into two or three sets; for two labels it is
    exact, for more it stays below the truth in general.

    References
    ----------
    .. [1] Sabato, Treister, Yom-Tov. "Disparate Conditional Prediction in Multiclass
       Classifiers". ICML 2025. Equation 12.

    Examples
    --------
    >>> from skfair.metrics import min_dcp_bounds
    >>> result = min_dcp_bounds(
    ...     [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.3, 0.7]]
    ... )
    >>> bool(result.lower <= result.upper), result.optimal
    (True, True)
    """
    tol = check_real("tol", tol, 0, 1, closed="neither")
    n_starts = check_integer("n_starts", n_starts, 1)
    if time_limit is not None:
        time_limit = check_real(
            "time_limit", time_limit, 0, np.inf, closed="right", alternative="None or "
        )
    limit = None if time_limit in (None, np.inf) else time_limit
    data = _checked(
        group_weights, label_frequencies, prediction_frequencies, sum_tolerance
    )
    clock = Clock.of(limit)
    found, followed = best_channel(
        data, n_starts, check_random_state(random_state), clock.part(_SHARE_OF_SEARCH)
    )
    confusion = complete(found, data)
    violation = largest_violation(confusion, data)
    if violation > _MAX_VIOLATION:
        raise RuntimeError(
            f"the confusion matrices found miss a constraint by {violation:.1e}."
        )
    weights = data.weights[:, None] * data.true
    eta = etas(found.channel, confusion)
    upper = float((weights * eta).sum())
    lower = merged_lower_bound(data, found.channel, upper, tol, clock)
    optimal = upper - lower <= tol
    return MinDCPResult(
        lower=lower,
        upper=upper,
        optimal=optimal,
        n_starts=followed,
        message=_message(optimal, tol, followed),
        baseline=found.channel,
        confusion=confusion,
        eta=np.where(weights > 0, eta, np.nan),
        weights=weights,
    )


def _checked(
    group_weights: ArrayLike,
    label_frequencies: ArrayLike,
    prediction_frequencies: ArrayLike,
    sum_tolerance: float,
) -> Frequencies:
    sum_tolerance = check_real("sum_tolerance", sum_tolerance, 0, 0.1)
    shape = check_numbers(
        "label_frequencies", label_frequencies, ("n_groups", "n_classes")
    ).shape
    true, predicted = (
        check_distributions(name, values, shape, tolerance=sum_tolerance)
        for name, values in (
            ("label_frequencies", label_frequencies),
            ("prediction_frequencies", prediction_frequencies),
        )
    )
    return Frequencies(
        check_group_weights(group_weights, range(shape[0])), true, predicted
    )


def _message(optimal: bool, tol: float, followed: int) -> str:
    if optimal:
        return f"optimal: the bounds meet within {tol:g}"
    return f"the bounds did not meet; {followed} starts were followed"

"""Bounds of the least DCP that published frequencies allow."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from skfair._utils._arrays import Floats, quotients
from skfair._utils._progress import Progress, check_verbose
from skfair._utils._results import TableResult
from skfair._utils._validation import check_integer, check_real
from skfair.metrics._dcp._channel._lower_bound import merged_lower_bound
from skfair.metrics._dcp._channel._upper_bound import (
    Carried,
    Frequencies,
    best_channel,
    search_from,
)
from skfair.metrics._dcp._clock import Clock, check_time_limit
from skfair.metrics._dcp._dcp import table_of_disparities
from skfair.metrics._dcp._frequencies import (
    check_distributions,
    check_sum_tolerance,
    check_table,
    column_labels,
    first_labels,
    positions,
    row_labels,
)
from skfair.metrics._dcp._search._rows import etas
from skfair.metrics._inputs import check_group_weights

#: Share of the time limit that the search for the upper bound may take.
_SHARE_OF_SEARCH = 0.4
#: Share of the time that is left then that the lower bound may take.
_SHARE_OF_BOUND = 0.9
_MAX_VIOLATION = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class MinDCPResult(TableResult):
    """Interval of the least DCP that published frequencies allow.

    Attributes
    ----------
    lower, upper : float in [0, 1]
        No classifier with these frequencies has a DCP below `lower`; the one with the
        matrices `confusion` has a DCP of at most `upper`.
    optimal : bool
        Whether ``upper - lower`` is at most `tol`.
    n_starts : int
        Number of local searches that were made.
    message : str
        How the search ended.
    baseline : ndarray of shape (n_classes, n_classes)
        The common confusion matrix.
    confusion : ndarray of shape (n_groups, n_classes, n_classes)
        A confusion matrix for each group that agrees with its frequencies.
    eta : ndarray of shape (n_groups, n_classes)
        Share of each group's people of each true class that the baseline does not
        explain; nan where there are none.
    weights : ndarray of shape (n_groups, n_classes)
        Share of the population in each group and true class.
    groups : tuple of length n_groups
        Group labels: those of the pandas objects given, else positions.
    classes : tuple of length n_classes
        Classes, likewise.

    See Also
    --------
    min_dcp_bounds : The function that returns it.
    """

    lower: float
    upper: float
    optimal: bool
    n_starts: int
    message: str
    baseline: Floats = field(repr=False)
    confusion: Floats = field(repr=False)
    eta: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    groups: tuple[Hashable, ...] = field(repr=False)
    classes: tuple[Hashable, ...] = field(repr=False)

    def to_frame(self) -> pd.DataFrame:
        """Table of who is treated differently, if the matrices are `confusion`.

        Other matrices with the same frequencies can attain the same bound. Their
        disparities have the same sum, `upper`, but can belong to other groups.

        Returns
        -------
        DataFrame
            One row for each group and true class, the largest disparity first, with
            the columns of `DCPResult.to_frame`.

        Examples
        --------
        >>> from skfair.metrics import min_dcp_bounds
        >>> result = min_dcp_bounds(
        ...     [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.3, 0.7]]
        ... )
        >>> result.to_frame()[["group", "class", "weight", "disparity"]].shape
        (4, 4)
        """
        return table_of_disparities(self)


def min_dcp_bounds(
    group_weights: ArrayLike,
    label_frequencies: ArrayLike,
    prediction_frequencies: ArrayLike,
    *,
    tol: float = 1e-4,
    time_limit: float | None = None,
    n_starts: int = 10,
    sum_tolerance: float = 1e-6,
    random_state: int | np.random.RandomState | None = None,
    verbose: int = 0,
) -> MinDCPResult:
    """Bound the least DCP of a classifier of which only frequencies are known.

    At least this share of the population is treated differently from a common
    baseline by every classifier with these frequencies of true and predicted classes.

    Parameters
    ----------
    group_weights : array-like of shape (n_groups,)
        Share of each group in the population, or its size. Groups of
        pandas objects are matched by the labels of rows, classes by those of columns.
    label_frequencies : array-like of shape (n_groups, n_classes)
        ``label_frequencies[a, y]`` is P(true class y | group a).
    prediction_frequencies : array-like of shape (n_groups, n_classes)
        ``prediction_frequencies[a, z]`` is P(prediction z | group a).
    tol : float in (0, 1), default=1e-4
        The search ends when ``upper - lower`` is at most this.
    time_limit : float, default=None
        Seconds after which the search ends, with a valid interval; about half of them
        are used for the upper bound. Without a limit all searches end after a fixed
        number of steps, and the result does not depend on the speed of the machine.
    n_starts : int, default=10
        Number of local searches for the upper bound from each of two kinds of start:
        fits with larger weights on sets of two groups, and on sets of three. Half as
        many more start from fits with random weights. For two classes the search for
        the lower bound makes them unnecessary.
    sum_tolerance : float in [0, 0.1], default=1e-6
        How much the sum of each group's frequencies may differ from one, for example
        ``0.005 * n_classes`` if they are rounded to two decimals. They are scaled to
        sum to one.
    random_state : int, RandomState instance or None, default=None
        Seed of the random weights.
    verbose : int, default=0
        Above 0, the standard error stream shows how far the searches are.

    Returns
    -------
    MinDCPResult

    Raises
    ------
    ValueError
        On shapes or labels that disagree, NaN, negative entries, a group whose
        frequencies do not sum to one within `sum_tolerance`, or parameters out of
        range.

    See Also
    --------
    dcp_bounds : With known confusion matrices.

    Notes
    -----
    Zero does not mean that the classifier is fair, only that these frequencies do not
    show it to be unfair. Errors of the frequencies, including rounding, change the
    result by about the same amount.

    The lower bound merges predicted classes into two or three sets. For two classes
    the bounds meet; for more the lower one is below the true value in general.

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
    >>> round(result.lower, 3), round(result.upper, 3), result.optimal
    (0.1, 0.1, True)
    """
    tol = check_real("tol", tol, 0, 1, closed="neither")
    n_starts = check_integer("n_starts", n_starts, 1)
    progress = Progress("min_dcp_bounds", check_verbose(verbose))
    data = _frequencies(
        group_weights, label_frequencies, prediction_frequencies, sum_tolerance
    )
    clock = Clock.of(check_time_limit(time_limit))
    found, n_searches = best_channel(
        data,
        n_starts,
        check_random_state(random_state),
        clock.part(_SHARE_OF_SEARCH),
        progress,
    )
    lower, merged = merged_lower_bound(
        data, found, tol, clock.part(_SHARE_OF_BOUND), progress
    )
    if found.loss - lower > tol:
        n_searches += 1
        again = search_from(merged, data, clock)
        found = found if again is None or again.loss >= found.loss else again
    result = _completed_result(found, lower, n_searches, tol, data)
    progress.line(f"{result.lower:.6f} to {result.upper:.6f}, {n_searches} searches")
    return result


def _frequencies(
    group_weights: ArrayLike,
    label_frequencies: ArrayLike,
    prediction_frequencies: ArrayLike,
    sum_tolerance: float,
) -> Frequencies:
    """Check published frequencies; return them with labels of groups and classes."""
    sum_tolerance = check_sum_tolerance(sum_tolerance)
    tables = {
        "label_frequencies": label_frequencies,
        "prediction_frequencies": prediction_frequencies,
    }
    shape: tuple[int | str, ...] = "n_groups", "n_classes"
    arrays, rows, columns = {}, {}, {}
    for name, table in tables.items():
        arrays[name] = check_table(name, table, shape)
        shape = arrays[name].shape
        rows[name], columns[name] = row_labels(table), column_labels(table)
    rows["group_weights"] = row_labels(group_weights)
    n_groups, n_classes = arrays["label_frequencies"].shape
    groups, classes = first_labels(rows, n_groups), first_labels(columns, n_classes)
    if rows["group_weights"] is None or len(groups[1]) != n_groups:
        check_group_weights(group_weights, range(n_groups))
    for name, array in arrays.items():
        row = positions(name, rows[name], groups, "groups")
        column = positions(name, columns[name], classes, "classes")
        arrays[name] = array[row][:, column]
    if isinstance(group_weights, pd.Series):
        order = positions("group_weights", group_weights.index, groups, "groups")
        group_weights = group_weights.iloc[order]
    weights = check_group_weights(group_weights, groups[1])
    true, predicted = check_distributions(arrays, sum_tolerance, groups[1], classes[1])
    return Frequencies(weights, true, predicted, groups[1], classes[1])


def _completed_result(
    found: Carried, lower: float, n_searches: int, tol: float, data: Frequencies
) -> MinDCPResult:
    """Complete the matrices of a channel; their DCP is the upper bound."""
    confusion = _completed(found, data)
    violation = _largest_violation(confusion, data)
    if violation > _MAX_VIOLATION:
        raise RuntimeError(
            f"the confusion matrices found violate a constraint by {violation:.1e}, "
            f"expected at most {_MAX_VIOLATION:g}."
        )
    weights = data.weights[:, None] * data.true
    eta = etas(found.channel, confusion)
    upper = float((weights * eta).sum())
    lower = min(lower, upper)
    optimal = upper - lower <= tol
    message = f"the bounds differ by more than {tol:g} after {n_searches} searches"
    if optimal:
        message = f"optimal: the bounds differ by at most {tol:g}"
    return MinDCPResult(
        lower=lower,
        upper=upper,
        optimal=optimal,
        n_starts=n_searches,
        message=message,
        baseline=found.channel,
        confusion=confusion,
        eta=np.where(weights > 0, eta, np.nan),
        weights=weights,
        groups=data.groups,
        classes=data.classes,
    )


def _completed(found: Carried, data: Frequencies) -> Floats:
    """Confusion matrices that follow from a channel and the mass that it carries.

    Mass that is not carried is divided in proportion to what remains of the true and
    of the predicted frequencies. The row of a class that a group never has is that of
    the channel.
    """
    left_true = data.true - found.carried
    left_predicted = np.maximum(data.predicted - found.carried @ found.channel, 0.0)
    totals = left_predicted.sum(axis=1)[:, None, None]
    joint = found.carried[:, :, None] * found.channel
    product = left_true[:, :, None] * left_predicted[:, None, :]
    joint += quotients(product, totals)
    confusion = np.tile(found.channel, (len(data.true), 1, 1))
    sums = joint.sum(axis=2, keepdims=True)
    np.divide(joint, sums, out=confusion, where=sums > 0)
    return confusion


def _largest_violation(confusion: Floats, data: Frequencies) -> float:
    """Largest amount by which confusion matrices violate a constraint."""
    predicted = np.einsum("ay,ayz->az", data.true, confusion)
    violations: list[Floats] = [
        np.abs(predicted - data.predicted),
        np.abs(confusion.sum(axis=2) - 1),
        np.maximum(-confusion, 0.0),
    ]
    return float(max(violation.max() for violation in violations))

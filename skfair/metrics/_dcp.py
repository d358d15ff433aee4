"""Disparate conditional prediction (DCP) of predictions or confusion matrices."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, get_args

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skfair._pictures._dcp import DCPDisplay
from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers, quotients, shares_of_sums
from skfair._utils._progress import check_verbose
from skfair._utils._results import TableResult
from skfair._utils._validation import check_choice, check_real
from skfair.metrics._dcp_search import (
    RowResult,
    SearchMethod,
    check_time_limit,
    solve_rows,
    unexplained_shares,
)
from skfair.metrics._inputs import check_group_weights, check_numeric
from skfair.metrics._metric import Metric, evaluates
from skfair.metrics._strata import Multistratum
from skfair.statistics import CountTable
from skfair.statistics._labels import drop_absent_classes, encode_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Sums that differ from one by more come from another scale, such as percentages.
_MAX_SUM_TOLERANCE = 0.1


def _weights(rows: Rows) -> Floats:
    """Return the share of the population in each group and true class."""
    group_shares = shares_of_sums(rows.totals)[:, np.newaxis]
    return group_shares * shares_of_sums(rows.matrices.sum(axis=2))


def check_search(tol: Any, time_limit: Any, method: Any) -> tuple[float, float]:
    """Check when a search ends; return its tolerance, and its limit in seconds."""
    check_choice("method", method, get_args(SearchMethod))
    return check_real("tol", tol, 0, 1, closed="neither"), check_time_limit(time_limit)


@dataclass(frozen=True, kw_only=True)
class DCP(Metric):
    """Smallest share of people who are treated differently, bounded from above."""

    exchangeable = "same true label"

    method: SearchMethod = "auto"
    tol: float = 1e-4
    time_limit: float | None = None

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        check_search(self.tol, self.time_limit, self.method)

    def check(self, rows: Rows) -> Rows:
        """Check both labels, and return their positions among the classes."""
        return encode_labels(rows)

    def select(self, rows: Rows) -> Rows:
        """Return the rows, with only the classes that occur in them."""
        return drop_absent_classes(rows)

    def value(self, statistic: Rows) -> float:
        """Return the share of people that the best baseline found does not explain."""
        return self.search(statistic).upper

    def search(self, rows: Rows, *options: Any, is_defined: bool = True) -> DCPResult:
        """Search for the best baseline."""
        return DCPResult._solve(
            shares_of_sums(rows.matrices),
            _weights(rows),
            rows.labels,
            rows.classes,
            self.tol,
            self.time_limit,
            self.method,
            *options,
            is_defined=is_defined,
        )


@evaluates(DCP)
def dcp(
    y_true: ArrayLike | None,
    y_pred: ArrayLike | CountTable,
    *,
    sensitive_features: ArrayLike | None = None,
    control_features: ArrayLike | None = None,
    method: SearchMethod = "auto",
    tol: float = 1e-4,
    time_limit: float | None = None,
    multistratum: Multistratum = "max",
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> float:
    """Share of the population that a classifier treats differently.

    Disparate conditional prediction (DCP) is the smallest share of people that must be
    left out so that the confusion matrices of the others are the same in all groups:
    0 is equalized odds, for any number of classes and groups.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or None
        True classes; None where `y_pred` is a table.
    y_pred : array-like of shape (n_samples,), or CountTable
        Predicted classes, or a table in place of all rows.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, such as its department, within which groups are compared;
        several columns stand for their intersection. Strata without two groups are
        left out, with a warning that names them.
    method : {"auto", "local"}, default="auto"
        As in `dcp_bounds`. ``"local"`` has no proof but takes milliseconds.
    tol : float in (0, 1), default=1e-4
        The value is at most this above the true one, unless `method` is "local" or
        `time_limit` ends first.
    time_limit : float, default=None
        Seconds after which the search ends, in each stratum.
    multistratum : {"max", "weighted"}, default="max"
        The largest value over strata, or their mean by the total weight of each.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.

    Returns
    -------
    float in [0, 1]
        An upper bound of DCP: the share left out with the best baseline found. nan
        with a warning where a group is absent or too small.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On missing or continuous classes, lengths that differ, or missing groups.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If fewer than two groups can be compared.

    See Also
    --------
    DCPResult.from_predictions : The interval, the baseline and the explanation.
    equalized_odds_difference : The largest difference instead of a share of people.
    dcp_bounds : The same from frequencies.

    References
    ----------
    .. [1] Sabato, Treister, Yom-Tov. "Disparate Conditional Prediction in Multiclass
       Classifiers". ICML 2025. Equation 5.

    Examples
    --------
    >>> from skfair.metrics import dcp
    >>> y_true = ["cat", "cat", "dog", "dog"] * 2
    >>> y_pred = ["cat", "cat", "dog", "dog", "cat", "dog", "dog", "dog"]
    >>> dcp(y_true, y_pred, sensitive_features=["a"] * 4 + ["b"] * 4)
    0.125
    """
    metric = DCP(
        method=method, tol=tol, time_limit=time_limit, multistratum=multistratum
    )
    return metric(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        counts=counts,
    )


@dataclass(frozen=True, eq=False, repr=False)
class DCPResult(TableResult):
    """Interval of the disparate conditional prediction, and its explanation.

    Attributes
    ----------
    lower, upper : float in [0, 1]
        DCP lies between them. `upper` is the share that `baseline` does not explain.
    optimal : bool
        Whether ``upper - lower`` is at most `tol`.
    per_class : tuple of two ndarray of shape (n_classes,)
        Lower and upper bounds of the part of each true class. They sum to `lower` and
        `upper`.
    n_nodes : int
        Linear programs, trees and boxes that the search examined.
    message : str
        How the search ended.
    baseline : ndarray of shape (n_classes, n_classes)
        The common confusion matrix: row y holds P(prediction | y).
    eta : ndarray of shape (n_groups, n_classes)
        Share of each group's rows of each true class that the baseline does not
        explain; nan where a group has no row of the class.
    weights : ndarray of shape (n_groups, n_classes)
        Share of the population in each group and true class.
    confusion : ndarray of shape (n_groups, n_classes, n_classes)
        Confusion matrix of each group: P(prediction | true class).
    groups : tuple of length n_groups
        Group labels.
    classes : tuple of length n_classes
        Classes, in the order of rows and columns of the matrices.

    See Also
    --------
    dcp_bounds : The same from confusion matrices.
    """

    lower: float
    upper: float
    optimal: bool
    n_nodes: int
    message: str
    per_class: tuple[Floats, Floats] = field(repr=False)
    baseline: Floats = field(repr=False)
    eta: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    confusion: Floats = field(repr=False)
    groups: tuple[Hashable, ...] = field(repr=False)
    classes: tuple[Hashable, ...] = field(repr=False)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        y_pred: ArrayLike | CountTable,
        *,
        sensitive_features: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        counts: ArrayLike | None = None,
        tol: float = 1e-4,
        time_limit: float | None = None,
        method: SearchMethod = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> Self:
        """Bound the DCP of given predictions.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            True classes; None where `y_pred` is a table.
        y_pred : array-like of shape (n_samples,), or CountTable
            Predicted classes, or a table of both in place of all rows.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns)
            Group of each row; several columns stand for their intersection.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative sample weights.
        counts : array-like of shape (n_samples,), default=None
            How many people each row stands for; by default one.
        tol : float in (0, 1), default=1e-4
            The search ends when ``upper - lower`` is at most this.
        time_limit : float, default=None
            Seconds after which the search ends in any case, with a valid interval.
        method : {"auto", "local"}, default="auto"
            How the interval is searched for, see `dcp_bounds`.
        n_jobs : int, default=None
            Number of processes among which true classes are divided; None is 1 unless
            in a `joblib.parallel_config` context, -1 uses all processors.
        verbose : int, default=0
            Above 0, the standard error stream shows the bounds of each class that is
            done, and of the class that is searched.

        Returns
        -------
        DCPResult

        Raises
        ------
        TypeError
            If an argument is missing, or of a kind that is not taken.
        ValueError
            On invalid classes, lengths or parameters, and missing groups.

        Warns
        -----
        sklearn.exceptions.UndefinedMetricWarning
            If fewer than two groups can be compared, which makes all bounds nan.

        Examples
        --------
        >>> from skfair.metrics import DCPResult
        >>> y_true = ["cat", "cat", "dog", "dog"] * 2
        >>> y_pred = ["cat", "cat", "dog", "dog", "cat", "dog", "dog", "dog"]
        >>> result = DCPResult.from_predictions(
        ...     y_true, y_pred, sensitive_features=["a"] * 4 + ["b"] * 4
        ... )
        >>> round(result.upper, 3), result.optimal
        (0.125, True)
        """
        metric = DCP(tol=tol, time_limit=time_limit, method=method)
        rows = y_true, y_pred, sensitive_features, sample_weight, counts
        statistic = metric.read_statistic(*rows)
        reason, advice = metric.why_undefined(statistic)
        if reason:
            metric.undefined(reason, advice).warn()
        result: Any = metric.search(statistic, n_jobs, verbose, is_defined=not reason)
        return cls(**vars(result))

    @classmethod
    def _solve(
        cls,
        confusion: Floats,
        weights: Floats,
        groups: tuple[Hashable, ...],
        classes: tuple[Hashable, ...],
        tol: float,
        time_limit: float | None,
        method: SearchMethod,
        n_jobs: int | None = None,
        verbose: int = 0,
        *,
        is_defined: bool = True,
    ) -> Self:
        """Bound the DCP of groups and true classes with weights; nan if undefined."""
        tol, seconds = check_search(tol, time_limit, method)
        if is_defined:
            rows = solve_rows(
                confusion,
                weights,
                tol=tol,
                time_limit=seconds,
                method=method,
                n_jobs=n_jobs,
                verbose=check_verbose(verbose),
            )
        else:
            nan = np.full(len(classes), np.nan)
            rows = [RowResult(np.nan, np.nan, nan, 0)] * len(classes)
        # Scaled again, so that a class that is alone has probability one exactly.
        baseline = np.array([row.baseline / row.baseline.sum() for row in rows])
        eta = unexplained_shares(baseline, confusion)
        # The parts are added up from the baseline returned: `upper` is its loss.
        uppers = (weights * eta).sum(axis=0)
        lowers = np.minimum([row.lower for row in rows], uppers)
        upper, lower = float(uppers.sum()), float(lowers.sum())
        optimal = upper - lower <= tol
        message = f"time_limit of {seconds:g} s reached"
        if optimal:
            message = f"optimal: the bounds differ by at most {tol:g}"
        elif method == "local":
            message = "method 'local' does not search for a proof"
        if not is_defined:  # sums over no class at all would be 0
            upper = lower = math.nan
            optimal, message = False, "undefined: a group is absent or too small"
        return cls(
            lower=min(lower, upper),
            upper=upper,
            optimal=optimal,
            n_nodes=sum(row.n_nodes for row in rows),
            message=message,
            per_class=(lowers, uppers),
            baseline=baseline,
            eta=np.where(weights > 0, eta, np.nan),
            weights=weights,
            confusion=confusion,
            groups=groups,
            classes=classes,
        )

    def to_frame(self) -> pd.DataFrame:
        """Table of who is treated differently, and how.

        Returns
        -------
        DataFrame
            One row for each group and true class, the largest disparity first.
            ``weight``: share of the population. ``eta``: share of these rows that the
            baseline does not explain. ``disparity``: product of the two; the column
            sums to `upper`. ``share``: disparity divided by `upper`. ``too_rare``: the
            predicted class that determines eta, since its ``rate`` is the smallest
            fraction of its ``baseline_rate``. ``too_frequent``: the predicted class of
            most rows that are not explained. The last four are empty where eta is 0.

        Examples
        --------
        >>> from skfair.metrics import dcp_bounds
        >>> fair, unfair = [[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.5, 0.5]]
        >>> result = dcp_bounds([fair, unfair], [0.7, 0.3], [[0.5, 0.5]] * 2)
        >>> result.to_frame().head(1)[["group", "class", "disparity", "too_rare"]]
           group  class  disparity  too_rare
        0      1      1    0.05625       1.0
        """
        return tabulate_disparities(self)

    def plot(
        self, ax: Axes | None = None, *, max_groups: int = 20, name: str | None = None
    ) -> DCPDisplay:
        """Draw the share of each group and true class that is not explained.

        The interval of DCP is drawn above.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        max_groups : int, default=20
            Largest number of groups shown: those with the largest parts of DCP.
        name : str, default=None
            Title of the axes, none by default.

        Returns
        -------
        DCPDisplay
            With `ax_`, `interval_ax_` and `figure_`.

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If DCP is undefined.

        Examples
        --------
        >>> from skfair.metrics import DCPResult
        >>> y_true = ["cat", "cat", "dog", "dog"] * 2
        >>> y_pred = ["cat", "cat", "dog", "dog", "cat", "dog", "dog", "dog"]
        >>> result = DCPResult.from_predictions(
        ...     y_true, y_pred, sensitive_features=["a"] * 4 + ["b"] * 4
        ... )
        >>> result.plot().cells_.get_array().shape
        (2, 2)
        """
        return DCPDisplay(result=self, max_groups=max_groups, name=name).plot(ax)


def tabulate_disparities(result: Any) -> pd.DataFrame:
    """Return the table by group and true class that `DCPResult.to_frame` describes."""
    at_group, at_class = np.indices(result.eta.shape).reshape(2, -1)
    rates = result.confusion[at_group, at_class]
    baseline_rates = result.baseline[at_class]
    weight, eta = result.weights.ravel(), result.eta.ravel()
    rare = quotients(rates, baseline_rates, np.inf).argmin(axis=1)
    frequent = (rates - (1 - eta[:, None]) * baseline_rates).argmax(axis=1)
    entries = np.arange(len(eta))
    differs = eta > 0
    disparity = weight * np.nan_to_num(eta)
    whole = disparity.sum()
    names = pd.Series(list(result.classes))
    frame = pd.DataFrame(
        {
            "group": pd.Series([result.groups[a] for a in at_group]),
            "class": names[at_class].to_numpy(),
            "weight": weight,
            "eta": eta,
            "disparity": disparity,
            "share": disparity / whole if whole > 0 else disparity,
            "too_rare": names[rare].reset_index(drop=True).where(differs),
            "rate": np.where(differs, rates[entries, rare], np.nan),
            "baseline_rate": np.where(differs, baseline_rates[entries, rare], np.nan),
            "too_frequent": names[frequent].reset_index(drop=True).where(differs),
        }
    )
    return frame.sort_values(
        "disparity", ascending=False, kind="stable", ignore_index=True
    )


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

    Disparate conditional prediction (DCP) is the smallest share of people that must be
    left out so that the confusion matrices of the others are the same in all groups.
    The common matrix is the baseline.

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
        ``"auto"`` ends with a proof. It evaluates every vertex where the optimum can
        lie, if a class has at most 400,000 of them (for example 5 classes in 51
        groups), and otherwise solves linear programs on boxes. ``"local"`` searches
        without proof, takes milliseconds, and returns the paper's lower bound.
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
    sum_tolerance = check_sum_tolerance(sum_tolerance)
    confusion, matrix_classes = _align_matrices(confusion)
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
    in_order = match_labels("label_frequencies", columns, classes, "classes")
    frequencies = frequencies[:, in_order]
    groups = _order_groups(label_frequencies, group_weights, n_groups)
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
    search = tol, time_limit, method, n_jobs, verbose
    return DCPResult._solve(matrices, weights, groups, classes[1], *search)


def _align_matrices(confusion: Any) -> tuple[Any, pd.Index | None]:
    """Return confusion matrices with classes in the order of the first."""
    if not (isinstance(confusion, (list, tuple)) and confusion):
        return confusion, None
    if not all(isinstance(matrix, pd.DataFrame) for matrix in confusion):
        return confusion, None
    classes = confusion[0].columns
    reference = "confusion[0]", tuple(classes.tolist())
    aligned = []
    for a, matrix in enumerate(confusion):
        rows = match_labels(f"confusion[{a}]", matrix.index, reference, "classes")
        columns = match_labels(f"confusion[{a}]", matrix.columns, reference, "classes")
        aligned.append(matrix.iloc[rows, columns].to_numpy())
    return aligned, classes


def _order_groups(
    label_frequencies: Any, group_weights: Any, n_groups: int
) -> tuple[Hashable, ...]:
    """Return the labels of the groups in the order of `confusion`."""
    labels = {
        "label_frequencies": row_labels(label_frequencies),
        "group_weights": row_labels(group_weights),
    }
    reference = first_labels(labels, n_groups)
    order = match_labels("group_weights", labels["group_weights"], reference, "groups")
    if (order != np.arange(n_groups)).any():
        raise ValueError(
            "group_weights must have its groups in the order of label_frequencies, "
            "since confusion has no labels of groups that say which of the two orders "
            "it follows. Sort one of them, for example by "
            "group_weights.reindex(label_frequencies.index)."
        )
    return reference[1]


def check_sum_tolerance(sum_tolerance: Any) -> float:
    """Check the tolerance of sums of frequencies that should be one."""
    return check_real("sum_tolerance", sum_tolerance, 0, _MAX_SUM_TOLERANCE)


def check_table(name: str, values: Any, shape: tuple[int | str, ...]) -> Floats:
    """Return values as floats of `shape`, where a str means any length but 0."""
    array = check_numeric(values, name, "an array of numbers")
    fits = array.ndim == len(shape) and array.size > 0
    fits = fits and all(
        isinstance(wanted, str) or got == wanted
        for got, wanted in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join(str(length) for length in shape)
        raise ValueError(f"{name} must have shape ({wanted}), got {array.shape}.")
    return array


def check_distributions(
    tables: Mapping[str, Floats],
    sum_tolerance: float,
    groups: Sequence[Hashable],
    classes: Sequence[Hashable],
) -> list[Floats]:
    """Check tables of shares by group; return tables that sum to exactly one.

    The sums are over the last axis.

    `groups` and `classes` name the first two axes in messages.
    """
    for name, table in tables.items():
        bad = ~np.isfinite(table) | (table < 0)
        if bad.any():
            at = tuple(np.argwhere(bad)[0])
            raise ValueError(
                f"{name} must hold finite, non-negative numbers, got {table[at]} for "
                f"group {groups[at[0]]!r}, class {classes[at[1]]!r}."
            )
    with np.errstate(over="ignore"):  # inf is not a sum of shares either
        sums = {name: table.sum(axis=-1) for name, table in tables.items()}
    errors = {name: np.abs(total - 1) for name, total in sums.items()}
    largest = max(float(error.max()) for error in errors.values())
    for name, error in errors.items():
        if error.max() > sum_tolerance:
            at = tuple(np.argwhere(error > sum_tolerance)[0])
            place = f"group {groups[at[0]]!r}"
            place += f", class {classes[at[1]]!r}" if len(at) > 1 else ""
            raise ValueError(
                f"{name} must sum to 1 within sum_tolerance={sum_tolerance:g} along "
                f"its last axis, got {sums[name][at]:.6g} for {place}. "
                + _sum_advice(largest)
            )
    return [table / sums[name][..., None] for name, table in tables.items()]


def _sum_advice(largest: float) -> str:
    """Write advice for sums that should be one; the worst is off by `largest`."""
    if largest > _MAX_SUM_TOLERANCE:
        return "Expected shares: divide percentages by 100, and counts by their sums."
    # Rounded up to two digits, so that the value itself is accepted.
    unit = 10.0 ** (math.floor(math.log10(largest)) - 1)
    enough = min(math.ceil(largest / unit) * unit, _MAX_SUM_TOLERANCE)
    return (
        f"If the figures are rounded, sum_tolerance={enough:.2g} accepts all of them."
    )


def row_labels(values: Any) -> pd.Index | None:
    """Return the index of a pandas object, or None if rows have no labels."""
    return values.index if isinstance(values, (pd.Series, pd.DataFrame)) else None


def column_labels(values: Any) -> pd.Index | None:
    """Return the column names of a dataframe, or None if there are none."""
    if isinstance(values, pd.DataFrame):
        return values.columns
    table = nw.from_native(values, eager_only=True, pass_through=True)
    return pd.Index(table.columns) if isinstance(table, nw.DataFrame) else None


def first_labels(
    labels: Mapping[str, pd.Index | None], length: int
) -> tuple[str, tuple[Hashable, ...]]:
    """Return the name of the first argument that has labels, and the labels.

    If no argument has labels, the name is empty and the labels are positions.
    """
    for name, index in labels.items():
        if index is not None:
            return name, tuple(index.tolist())
    return "", tuple(range(length))


def match_labels(
    name: str,
    labels: pd.Index | None,
    reference: tuple[str, tuple[Hashable, ...]],
    axis_name: str,
) -> Integers:
    """Find the position of each label of `reference` among `labels`."""
    other, wanted = reference
    if labels is None or tuple(labels.tolist()) == wanted:
        return np.arange(len(wanted))
    index, expected = _make_index(labels.tolist()), _make_index(wanted)
    if index.is_unique and expected.is_unique and len(index) == len(expected):
        indices = index.get_indexer(expected)
        if (indices >= 0).all():
            return np.asarray(indices)
    raise ValueError(
        f"{name} and {other} must have the same {axis_name}, each once, got the labels "
        f"{_first_five(index)} and {_first_five(expected)}. Pass {name}.to_numpy() if "
        "the order is the same."
    )


def _make_index(labels: Sequence[Hashable]) -> pd.Index:
    """Return an index of labels, in which tuples stay labels."""
    return pd.Index(list(labels), dtype=object, tupleize_cols=False)


def _first_five(labels: pd.Index) -> str:
    """Return the text of the first five labels."""
    shown = ", ".join(map(repr, labels[:5]))
    return f"[{shown}{', ...' if len(labels) > 5 else ''}]"

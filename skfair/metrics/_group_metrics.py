"""Any metric of scikit-learn by group, with sizes, intervals and disparities."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning

from skfair._rows import Rows, read_people
from skfair._utils._arrays import Floats, Integers
from skfair._utils._results import TableResult
from skfair._utils._text import listed
from skfair._utils._validation import (
    as_array,
    check_choice,
    check_integer,
    check_length,
    check_no_missing,
    check_real,
)
from skfair._utils._warnings import caught_warnings, warn_if_reordered, warn_user
from skfair.groups import (
    Groups,
    check_kinds_of_labels,
    keep_labels,
    n_columns_of,
    sort_labels,
)
from skfair.metrics._disparities import (
    DISPARITIES,
    Disparity,
    bound_by_rates,
    bound_by_resamples,
    compare,
)
from skfair.metrics._inputs import (
    FEW_ROWS,
    Multigroup,
    check_groups_of_numbers,
    outcomes_of_rate,
)
from skfair.metrics._pooling import pool_groups
from skfair.metrics._rate_intervals import (
    clopper_pearson,
)
from skfair.metrics._resampling import (
    check_seed,
    percentile_interval,
    read_each,
)
from skfair.metrics._sklearn_metrics import RATES, GroupMetric, find_metrics, prepare
from skfair.metrics._undefined import ADVICE, why_undefined
from skfair.statistics._cells import merge_cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skfair._pictures._group_dots import GroupDotsDisplay

#: Up to this many kinds of rows, their numbers are drawn in place of rows.
_MAX_CELLS = 500
#: True labels up to this many are counted for each group, and compared with others.
_MAX_LABELS = 10
_NUMBERS = ["value", "lower", "upper"]
_POOLED = ["pooled", "pooled_lower", "pooled_upper"]


@dataclass(frozen=True, eq=False, repr=False)
class GroupMetricsResult(TableResult):
    """Result of `group_metrics`.

    Attributes
    ----------
    groups : DataFrame
        Indexed by metric, stratum if there are strata, and group, with the columns
        ``n``, the rows of the group, ``n_counted``, the rows in the denominator of a
        rate, ``value``, ``lower`` and ``upper``; with `pooling` also ``pooled``,
        ``pooled_lower`` and ``pooled_upper``.
    overall_table : DataFrame
        The same of all groups together, indexed by metric and stratum.
    disparities : DataFrame
        ``value``, ``lower`` and ``upper``, indexed by metric, stratum, disparity
        (``"difference"`` or ``"ratio"``) and multigroup.
    sizes : DataFrame
        Rows of each group, ``n``, and its rows of each true label if these are at most
        ten.
    confidence_level : float or None
    """

    groups: pd.DataFrame = field(repr=False)
    overall_table: pd.DataFrame = field(repr=False)
    disparities: pd.DataFrame = field(repr=False)
    sizes: pd.DataFrame = field(repr=False)
    confidence_level: float | None = field(repr=False)

    @property
    def by_group(self) -> pd.DataFrame:
        """Value of each group, one column for each metric."""
        return _wide(self.groups)

    @property
    def overall(self) -> Any:
        """Overall value of each metric, in each stratum if there are any."""
        if self.overall_table.index.nlevels == 1:
            return self.overall_table["value"].rename(None)
        return _wide(self.overall_table)

    def difference(self, *, multigroup: Multigroup = "pairwise") -> pd.DataFrame:
        """Largest difference between groups, with its interval.

        Parameters
        ----------
        multigroup : {"pairwise", "pooled"}, default="pairwise"
            The largest difference between two groups, or between a group and everyone.

        Returns
        -------
        DataFrame
            Indexed by metric and stratum, with ``value``, ``lower`` and ``upper``.
        """
        return self._table_of("difference", multigroup)

    def ratio(self, *, multigroup: Multigroup = "pairwise") -> pd.DataFrame:
        """Smallest ratio of a group to another one, or to everyone, with its interval.

        Parameters
        ----------
        multigroup : {"pairwise", "pooled"}, default="pairwise"
            The smallest value over the largest, or the smallest ratio, at most 1,
            between a group and everyone.

        Returns
        -------
        DataFrame
            Indexed by metric and stratum, with ``value``, ``lower`` and ``upper``.
        """
        return self._table_of("ratio", multigroup)

    def _table_of(self, disparity: str, multigroup: Multigroup) -> pd.DataFrame:
        """Return the rows of one disparity."""
        check_choice("multigroup", multigroup, get_args(Multigroup))
        names = ["disparity", "multigroup"]
        return self.disparities.xs((disparity, multigroup), level=names)

    def to_frame(self) -> pd.DataFrame:
        """Return a table of all groups, with the overall value beside theirs.

        Returns
        -------
        DataFrame
            `groups` with the column ``overall``.
        """
        values = self.overall_table["value"].rename("overall")
        return self.groups.join(values, on=self.overall_table.index.names)

    def plot(
        self, ax: Axes | Sequence[Axes] | None = None, *, name: str | None = None
    ) -> GroupDotsDisplay:
        """Draw the groups with their intervals, one panel for each metric.

        Parameters
        ----------
        ax : matplotlib Axes, or array of them, default=None
            Where to draw, one for each metric. None makes a new figure.
        name : str, default=None
            Title, none by default.

        Returns
        -------
        skfair.inspection.GroupDotsDisplay

        Raises
        ------
        ImportError
            Without matplotlib.

        Examples
        --------
        >>> from skfair.metrics import group_metrics
        >>> result = group_metrics(
        ...     ["accuracy", "recall"],
        ...     [1, 1, 0, 0, 1, 1, 0, 0],
        ...     [1, 0, 0, 0, 1, 1, 1, 0],
        ...     sensitive_features=["F"] * 4 + ["M"] * 4,
        ... )
        >>> [ax.get_xlabel() for ax in result.plot().axes_]
        ['accuracy', 'recall']
        """
        from skfair._pictures._group_dots import GroupDotsDisplay

        table = self.to_frame().rename(columns={"overall": "reference"})
        if self.confidence_level is None:
            table = table.drop(columns=["lower", "upper"])
        metrics = dict.fromkeys(table.index.get_level_values("metric"))
        tables = {str(key): table.xs(key, level="metric") for key in metrics}
        interval = f"{self.confidence_level or 0:.4g} interval, each group alone"
        return GroupDotsDisplay(tables=tables, interval=interval, name=name).plot(ax)


def group_metrics(
    metrics: Any,
    y_true: ArrayLike | None,
    y_pred: ArrayLike | None,
    *,
    sensitive_features: ArrayLike | None,
    control_features: ArrayLike | None = None,
    y_score: ArrayLike | None = None,
    pos_label: Hashable = None,
    confidence_level: float | None = 0.95,
    n_resamples: int = 199,
    pooling: Literal["additive"] | None = None,
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> GroupMetricsResult:
    """Metrics of each group, with intervals, differences and ratios.

    Any metric of scikit-learn, or several, on the rows of each group and on all rows.

    Parameters
    ----------
    metrics : str, callable, scorer, list of these, or dict of name -> these
        A name of a function in `sklearn.metrics`, such as ``"recall_score"``, of a
        scorer of scikit-learn, such as ``"roc_auc"``, or of a rate:
        ``"selection_rate"``, ``"accuracy"``, ``"error_rate"``,
        ``"true_positive_rate"``, ``"false_negative_rate"``, ``"false_positive_rate"``,
        ``"true_negative_rate"`` or ``"predictive_value"``. A callable is
        ``metric(y_true, y_pred)`` and returns a number; `functools.partial` sets its
        options. The value of a scorer has its sign.
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
        True labels, or numbers of a regression. The selection rate needs none.
    y_pred : array-like of shape (n_samples,) or (n_samples, ...), or None
        Predicted labels or numbers. Metrics that take several columns, such as the
        ends of intervals, sets of classes, or several outputs, have them as they are.
        None if all metrics take scores.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row. All tables have the groups of each stratum, and
        disparities are those within strata.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes), default=None
        Scores for the metrics that take them: scorers of probabilities or decision
        values, and functions whose second parameter is called ``y_score``,
        ``y_proba`` or ``pred_decision``. None stands for `y_pred`.
    pos_label : int, float, bool or str, default=None
        Label of the positive class. None stands for 1 where labels are 0 and 1 or -1
        and 1. Text labels need it for metrics of the positive class.
    confidence_level : float in (0, 1) or None, default=0.95
        Level of the intervals; None computes none, and costs no resamples.
    n_resamples : int, default=199
        Number of bootstrap resamples for metrics that are not rates.
    pooling : {"additive"} or None, default=None
        With ``"additive"`` the tables have, beside the raw rates, ``pooled``,
        ``pooled_lower`` and ``pooled_upper``: rates of small groups borrow from groups
        that are alike in some of their columns, see Notes. All metrics must be rates.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.
    clusters : array-like of shape (n_samples,), default=None
        Person of each row, where people have several rows: visits, loans, months.
        Intervals of rates use the effective number of people, as if all rows of a
        person were alike; for other metrics people are drawn with all their rows. All
        rows of a person must have the same group and stratum.
    random_state : int, RandomState instance or None, default=None
        Seed of the resamples.
    n_jobs : int, default=None
        Number of processes for the resamples; None is 1 unless in a
        `joblib.parallel_config` context, -1 uses all processors.

    Returns
    -------
    GroupMetricsResult
        `by_group`, `overall`, `sizes`, `difference()`, `ratio()` and `to_frame()`.

    Raises
    ------
    ValueError
        On an unknown name, a metric of scores without scores, text labels without
        `pos_label`, lengths that differ, or missing groups; with `pooling` on a metric
        that is not a rate; and as the metric does.
    TypeError
        If `metrics` is none of the above, or a metric takes no sample weights.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If a metric has no finite value for a group, such as a recall without positives,
        or a group has fewer rows than the `min_group_size` of its `Groups`. The value
        is nan, and so are differences and ratios. If a group has too few rows for an
        interval, or a pairwise difference is one of more than 64 groups.

    See Also
    --------
    cvar_fairness_report : Rates of very many groups.
    GroupMetricsResult.plot : The picture.
    true_positive_rate_difference : One rate, as a metric with a scorer.
    mean_error_difference : Errors of predicted numbers, likewise.

    Notes
    -----
    The rates by name, `accuracy_score`, `zero_one_loss`, `recall_score` and
    `precision_score` of two classes are proportions. Each has the exact interval of
    Clopper and Pearson [1]_. Differences have the intervals of `confidence_interval`,
    and ratios of two groups the intervals of `impact_ratios`. A ratio to everyone has
    the widest interval that simultaneous intervals of all groups permit. All of these
    keep their level. With sample weights they use Kish's effective number of rows.

    All other metrics have bootstrap intervals, from people drawn within each group. The
    ends for a value are percentiles. Differences and ratios have ends that follow from
    simultaneous intervals of all pairs: the gap of each pair plus and minus a multiple
    of its standard error. These intervals are approximate, and nan for groups of fewer
    than ten rows.

    A ratio is nan where a value is negative. A metric of two classes that is 0/0 in a
    group, for which scikit-learn has the option `zero_division`, is nan.

    Pooled rates are predictions of a regression with random effects (empirical Bayes):
    the logit of a rate is a mean, an effect of each column, and an effect of the group
    [2]_. The pooled rate of a group of few rows is close to what its columns predict,
    and that of many rows close to the raw rate; with one column, groups borrow from
    their mean. The intervals cover the rates of a share `confidence_level` of the
    groups, not each single rate. Differences and ratios compare raw rates.

    References
    ----------
    .. [1] Clopper, Pearson. "The Use of Confidence or Fiducial Limits Illustrated in
       the Case of the Binomial". Biometrika 26(4), 1934.
    .. [2] Herlihy, Truong, Chouldechova, Dudík. "A structured regression approach for
       evaluating model performance across intersectional subgroups". FAccT 2024
       (arXiv 2401.14893), with other estimates of the variances.

    Examples
    --------
    >>> from skfair.metrics import group_metrics
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 0, 0, 0, 1, 1, 1, 0]
    >>> sex = ["F"] * 4 + ["M"] * 4
    >>> result = group_metrics(
    ...     ["accuracy", "recall"], y_true, y_pred, sensitive_features=sex
    ... )
    >>> result.by_group
           accuracy  recall
    group
    F          0.75     0.5
    M          0.75     1.0
    >>> result.difference()["value"]
    metric
    accuracy    0.0
    recall      0.5
    Name: value, dtype: float64
    """
    if confidence_level is not None:
        confidence_level = check_real(
            "confidence_level",
            confidence_level,
            0,
            1,
            closed="neither",
            alternative="None or ",
        )
    n_resamples = check_integer("n_resamples", n_resamples, 1)
    generator = check_seed(random_state)
    rows = _read_rows(
        y_true,
        y_pred,
        y_score,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        counts=counts,
        clusters=clusters,
    )
    prepared = [prepare(metric, rows, pos_label) for metric in find_metrics(metrics)]
    others = [metric for metric in prepared if metric.rate is None]
    check_choice("pooling", pooling, (None, "additive"))
    if pooling and others:
        raise ValueError(
            f"pooling must be None for {others[0].name}, got {pooling!r}: only rates "
            "are pooled."
        )
    if any(metric.compares_labels for metric in others):
        _check_labels(rows)
    results = []
    for label, stratum in _split_by_stratum(rows):
        reason = why_undefined(stratum.labels, stratum.counts, stratum.min_group_size)
        if reason:
            _warn_of_undefined([metric.name for metric in prepared], reason)
        resamples: dict[str, Floats] = {}
        if others:
            order = np.argsort(stratum.groups.codes, kind="stable")
            stratum = stratum[order]
        if others and confidence_level is not None:
            draws = _resample(others, stratum, n_resamples, generator)
            resamples = _evaluate_resamples(others, draws, n_jobs)
        for metric in prepared:
            if metric.rate is None:
                result = _measure_any(
                    metric, stratum, confidence_level, resamples.get(metric.name)
                )
            else:
                result = _measure_rate(
                    metric, stratum, confidence_level, pooled=pooling is not None
                )
            results.append(((metric.name, label), stratum.labels, result))
    return GroupMetricsResult(
        *_tabulate(results, rows), _tabulate_sizes(rows), confidence_level
    )


def _read_rows(y_true: Any, y_pred: Any, y_score: Any, **people: Any) -> Rows:
    """Read the arguments by row, and keep the rows with a group and a stratum.

    Labels and scores may have several columns.
    """
    warn_if_reordered(y_true=y_true, y_pred=y_pred, y_score=y_score, **people)
    arguments = {"y_pred": y_pred, "y_score": y_score, "y_true": y_true}
    columns: dict[str, Any] = {
        name: as_array(values, name)
        for name, values in arguments.items()
        if values is not None
    }
    if not columns.keys() & {"y_pred", "y_score"}:
        raise ValueError("y_pred and y_score are both None, expected one of them.")
    first, n_samples = next((name, len(column)) for name, column in columns.items())
    if not n_samples:
        raise ValueError(f"{first} has 0 rows, expected at least one.")
    for name, column in columns.items():
        check_length(name, len(column), n_samples)
    rows = replace(read_people(n_samples, **people), **columns)
    positions = rows.counted_positions()
    if rows.strata is not None and not len(positions):
        raise ValueError(
            "control_features has no row with a stratum, a group and a positive "
            "weight, expected at least one."
        )
    return rows[positions]


def _check_labels(rows: Rows) -> None:
    """Check that no label is missing, and that both columns hold the same kind."""
    if rows.y_true.ndim > 1 or rows.y_pred.ndim > 1:
        return
    check_no_missing(rows.y_true, "y_true")
    check_no_missing(rows.y_pred, "y_pred")
    true, predicted = pd.unique(rows.y_true).tolist(), pd.unique(rows.y_pred).tolist()
    if max(len(true), len(predicted)) <= _MAX_LABELS:  # not of a regressor
        check_kinds_of_labels("y_true and y_pred", true, predicted)


def _split_by_stratum(rows: Rows) -> Iterator[tuple[Hashable, Rows]]:
    """Yield each stratum that has rows, with the groups that it has; or all rows."""
    if rows.strata is None:
        yield None, rows
        return
    for label, positions in rows.split_by_stratum():
        if len(positions):
            stratum = replace(rows[positions], strata=None)
            groups = keep_labels(stratum.groups, stratum.counts > 0)
            yield label, stratum.replace_groups(groups)


def _split_by_group(rows: Rows) -> list[Rows]:
    """Return the rows of each group, and last all rows, which are sorted by group."""
    ends = np.searchsorted(rows.groups.codes, np.arange(rows.n_groups + 1))
    return [*(rows[start:stop] for start, stop in pairwise(ends.tolist())), rows]


# Values of groups, and their disparities ----------------------------------------------


class _Result(NamedTuple):
    """Numbers of a metric in a stratum."""

    #: Columns of the tables of groups, with an entry for each group, the overall last.
    columns: dict[str, NDArray[Any]]
    #: Value and interval of each disparity.
    disparities: dict[Disparity, tuple[float, float, float]]


def _measure_rate(
    metric: GroupMetric, rows: Rows, confidence_level: float | None, *, pooled: bool
) -> _Result:
    """Compute a proportion of each group, with intervals that keep their level."""
    rate, complement = RATES[str(metric.rate)]
    pos_label = metric.options.get("pos_label")
    outcomes, mask = outcomes_of_rate(rows.y_true, rows.y_pred, rate, pos_label)
    numbers = (~outcomes if complement else outcomes).astype(np.float64)
    counted = replace(rows, y_true=None, y_pred=numbers, y_score=None)
    if mask is not None:
        counted = counted[mask]
    totals = _append_sum(counted.totals)
    enough = _append_sum(counted.counts) >= max(rows.min_group_size, 1)
    rates, lower, upper = np.full((3, len(totals)), np.nan)
    rates[enough] = _append_sum(counted.sums)[enough] / totals[enough]
    bound = None
    if confidence_level is not None:
        squares = _append_sum(counted.group_squares_by_person)[enough]
        sizes = totals[enough].astype(float) ** 2 / squares
        lower[enough], upper[enough] = clopper_pearson(
            rates[enough] * sizes, sizes, (1 - confidence_level) / 2
        )
        bound = partial(bound_by_rates, rates, counted, confidence_level)
    values = rates, lower, upper
    result = _collect(metric.name, rows, counted.counts, values, bound)
    if pooled:
        by_group = pool_groups(counted, confidence_level)
        by_group[:, ~enough[:-1]] = np.nan
        # The overall rate borrows from no other.
        overall = [rates[-1], lower[-1], upper[-1]]
        columns = np.column_stack([by_group, overall])
        result.columns.update(zip(_POOLED, columns, strict=True))
    return result


def _measure_any(
    metric: GroupMetric,
    rows: Rows,
    confidence_level: float | None,
    resamples: Floats | None,
) -> _Result:
    """Compute any metric of each group, with bootstrap intervals.

    `rows` are sorted by group. `resamples` are the values on resamples, of shape
    (n_resamples, n_groups + 1).
    """
    values = _evaluate_by_group(metric, rows)
    too_few = _append_sum(rows.counts) < rows.min_group_size
    values[too_few | np.isinf(values)] = np.nan
    lower, upper = np.full((2, len(values)), np.nan)
    bound, is_small = None, np.zeros(len(values) - 1, dtype=bool)
    if resamples is not None and confidence_level is not None:
        defined = ~np.isnan(values)
        is_small = defined[:-1] & (rows.people.counts < FEW_ROWS)
        for i in np.flatnonzero(defined & np.append(~is_small, True)):
            lower[i], upper[i] = percentile_interval(resamples[:, i], confidence_level)
        if not is_small.any():
            bound = partial(bound_by_resamples, values, resamples, confidence_level)
    result = _collect(metric.name, rows, rows.counts, (values, lower, upper), bound)
    if is_small.any():
        _warn_of_small_groups(metric.name, rows, is_small)
    return result


def _collect(
    name: str,
    rows: Rows,
    n_counted: Integers,
    values: tuple[Floats, Floats, Floats],
    bound: Callable[[Disparity], tuple[float, float]] | None,
) -> _Result:
    """Collect the values of groups with their ends, and compute the disparities.

    `n_counted` is the number of people of each group that the metric counts. `bound`
    computes the interval of a disparity.
    """
    disparities = {}
    for disparity in DISPARITIES:
        value, ends = compare(disparity, values[0]), (math.nan, math.nan)
        if bound is not None and not math.isnan(value):
            ends = bound(disparity)
        disparities[disparity] = (value, *ends)
    _warn_of_groups(name, rows, values[0], n_counted)
    columns = {"n": _append_sum(rows.counts), "n_counted": _append_sum(n_counted)}
    return _Result(columns | dict(zip(_NUMBERS, values, strict=True)), disparities)


def _append_sum(values: NDArray[Any]) -> NDArray[Any]:
    """Append the sum of a number over all groups, as the number of everyone."""
    return np.append(values, values.sum())


# Evaluation of other metrics than rates -----------------------------------------------


def _evaluate_by_group(metric: GroupMetric, rows: Rows) -> Floats:
    """Evaluate a metric for each group and overall, on rows sorted by group."""
    names = [*map(repr, rows.labels), "all groups"]
    values = []
    for name, part in zip(names, _split_by_group(rows), strict=True):
        with caught_warnings() as caught:
            values.append(metric.evaluate(part))
        for warning in caught:
            # The caller warns of values that are nan.
            undefined = issubclass(warning.category, UndefinedMetricWarning)
            if not (undefined and math.isnan(values[-1])):
                warn_user(
                    f"{metric.name} of {name}: {warning.message}", warning.category
                )
    return np.array(values)


def _evaluate_resamples(
    metrics: list[GroupMetric], draws: Iterator[Rows], n_jobs: int | None
) -> dict[str, Floats]:
    """Return the values of each metric, of groups and overall, on each resample."""
    evaluate = partial(_evaluate_resample, metrics)
    (values,) = read_each([evaluate], ([rows] for rows in draws), n_jobs)
    names = [metric.name for metric in metrics]
    return dict(zip(names, np.moveaxis(values, 1, 0), strict=True))


def _evaluate_resample(metrics: list[GroupMetric], rows: Rows) -> list[list[float]]:
    """Return the values of metrics, of each group and overall, without warnings."""
    if not any(metric.takes_counts for metric in metrics):
        rows = rows.split_into_people()  # once, not for each group and metric
    parts = _split_by_group(rows)
    with caught_warnings():
        return [[metric.evaluate(part) for part in parts] for metric in metrics]


def _resample(
    metrics: list[GroupMetric],
    rows: Rows,
    n_resamples: int,
    generator: np.random.Generator,
) -> Iterator[Rows]:
    """Draw people within groups, from rows sorted by group.

    For metrics that compare labels, people who are alike are counted first, if few
    kinds of people occur.
    """
    people = rows.n, rows.weight, rows.cluster
    if (
        all(column is None for column in people)
        and all(metric.compares_labels for metric in metrics)
        and rows.y_true.ndim == rows.y_pred.ndim == 1
    ):
        cells = merge_cells(replace(rows, y_score=None))
        if len(cells) <= _MAX_CELLS:
            rows = cells[np.argsort(cells.groups.codes, kind="stable")]
    return (rows.resampled(generator) for _ in range(n_resamples))


# Warnings -----------------------------------------------------------------------------


def _warn_of_small_groups(name: str, rows: Rows, is_small: NDArray[np.bool_]) -> None:
    """Warn that groups of few rows or people have no bootstrap interval."""
    names = listed([repr(rows.labels[i]) for i in np.flatnonzero(is_small)])
    drawn = "rows" if rows.cluster is None else "people"
    warn_user(
        f"{name} has no interval for {names}, and its difference and ratio "
        f"have none: a bootstrap needs at least {FEW_ROWS} {drawn} of each group. "
        "Pass confidence_level=None for no intervals.",
        UndefinedMetricWarning,
    )


def _warn_of_groups(name: str, rows: Rows, values: Floats, n_counted: Integers) -> None:
    """Warn of groups without a value of a metric that other groups have.

    `n_counted` is the number of people of each group that the metric counts. No warning
    is given here if there is a single group, or if groups are too small for any metric:
    one warning then speaks of all metrics.
    """
    labels, min_size = rows.labels, rows.min_group_size
    if why_undefined(labels, rows.counts, min_size):
        return
    reason = why_undefined(labels, n_counted, min_size)
    if reason is None:
        check_groups_of_numbers(name, labels, n_counted)
    undefined = np.flatnonzero(np.isnan(values[:-1]))
    if reason is None and len(undefined):
        names = listed([repr(labels[i]) for i in undefined])
        reason = f"it has no finite value for {names}"
    if reason is not None:
        _warn_of_undefined([name], reason)


def _warn_of_undefined(names: list[str], reason: str) -> None:
    """Warn that metrics have no difference and ratio, and what to do about it."""
    whose = "its" if len(names) == 1 else "their"
    advice = f".{ADVICE}" if reason.startswith("each group needs") else "."
    warn_user(
        f"{listed(names)} of some groups, or {whose} difference and ratio, are "
        f"undefined and set to nan: {reason}{advice}",
        UndefinedMetricWarning,
    )


# Tables -------------------------------------------------------------------------------


def _tabulate(
    results: list[tuple[tuple[str, Hashable], tuple[Hashable, ...], _Result]],
    rows: Rows,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Arrange the values of groups, the overall values and disparities in tables.

    A result comes with its metric and stratum, and the labels of the groups in the
    stratum.
    """
    columns: list[str] = []
    groups, strata = _index_entries(rows.groups), _index_entries(rows.strata)
    by_group, overall, by_disparity = {}, {}, {}
    for (metric, stratum), labels, result in results:
        columns = list(result.columns)
        above = (metric, *strata[stratum])
        *lines, overall[above] = zip(*result.columns.values(), strict=True)
        for label, line in zip(labels, lines, strict=True):
            by_group[*above, *groups[label]] = line
        for disparity, interval in result.disparities.items():
            by_disparity[*above, *disparity] = interval
    names = ["metric", *_index_names(rows.strata, "stratum")]
    return (
        _table(by_group, [*names, *_index_names(rows.groups, "group")], columns),
        _table(overall, names, columns),
        _table(by_disparity, [*names, "disparity", "multigroup"], _NUMBERS),
    )


def _tabulate_sizes(rows: Rows) -> pd.DataFrame:
    """Count the rows of each group, by true label if few labels occur."""
    classes: list[Any] = []
    if np.ndim(rows.y_true) == 1:
        classes = sort_labels(pd.unique(rows.y_true).tolist())
    classes = classes if len(classes) <= _MAX_LABELS else []
    groups, strata = _index_entries(rows.groups), _index_entries(rows.strata)
    lines = {}
    for stratum, part in _split_by_stratum(rows):
        people = Rows(part.groups, n=part.n)
        by_class = [people[part.y_true == label].counts for label in classes]
        counts = zip(people.counts, *by_class, strict=True)
        for label, line in zip(part.labels, counts, strict=True):
            lines[*strata[stratum], *groups[label]] = line
    names = _index_names(rows.strata, "stratum") + _index_names(rows.groups, "group")
    return _table(lines, names, ["n", *(f"y_true={label}" for label in classes)])


def _index_entries(groups: Groups | None) -> dict[Any, tuple[Hashable, ...]]:
    """Return the entries of an index for each label: one for each of its columns."""
    if groups is None:
        return {None: ()}
    several = n_columns_of(groups.labels) > 1
    labels: Any = groups.labels
    return {label: label if several else (label,) for label in labels}


def _index_names(groups: Groups | None, default: str) -> list[str]:
    """Return the names of the columns of groups, or of strata, in an index."""
    if groups is None:
        return []
    n_columns = n_columns_of(groups.labels)
    if len(groups.names) == n_columns:
        return list(groups.names)
    if n_columns == 1:
        return [default]
    return [f"{default} {i + 1}" for i in range(n_columns)]


def _table(
    lines: dict[Any, Any], names: Sequence[str], columns: list[str]
) -> pd.DataFrame:
    """Make a table with an index of one or several levels."""
    entries = list(zip(*lines, strict=True))
    index: Any = pd.MultiIndex.from_arrays(entries, names=names)
    if len(entries) == 1:
        index = pd.Index(list(entries[0]), name=names[0], tupleize_cols=False)
    table = pd.DataFrame(list(lines.values()), index=index, columns=columns)
    return table.astype({name: float for name in _NUMBERS if name in columns})


def _wide(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of values with a column for each metric."""
    values = table["value"]
    metrics = dict.fromkeys(values.index.get_level_values("metric"))
    return pd.DataFrame({name: values.xs(name, level="metric") for name in metrics})

"""Any metric of scikit-learn by group, with sizes, intervals and disparities."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeAlias, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.parallel import Parallel, delayed

from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers
from skfair._utils._results import TableResult
from skfair._utils._text import listed
from skfair._utils._validation import (
    as_array,
    check_integer,
    check_length,
    check_real,
    check_shape,
    check_weights,
)
from skfair._utils._warnings import warn_user, warns_if_reordered
from skfair.groups import (
    Groups,
    check_kinds_of_labels,
    encode_column,
    intersect,
    keep_labels,
    n_columns_of,
    resolve_groups,
    resolve_strata,
    rows_by_code,
    sort_labels,
    why_undefined,
)
from skfair.metrics._confidence_interval import confidence_interval
from skfair.metrics._evaluate import refuse_sorted_rows
from skfair.metrics._inputs import (
    Multigroup,
    check_groups_of_numbers,
    check_multigroup,
    outcomes_of_rate,
)
from skfair.metrics._measures import (
    RATES,
    Columns,
    GroupMetric,
    find_measures,
    prepare,
)
from skfair.metrics._rate_intervals import clopper_pearson, ratio_ends
from skfair.metrics._rates import demographic_parity_difference
from skfair.metrics._resampling import (
    basic_interval,
    check_seed,
    defined_values,
)
from skfair.statistics import GroupedOutcomes

#: Rows of a group below which resamples of it tell nothing.
_LEAST_ROWS = 10
_LABELS = ("y_true", "y_pred")
#: Up to this many kinds of rows, their numbers are drawn in place of rows.
_MAX_CELLS = 500
#: True labels up to this many are counted for each group, and compared with others.
_MAX_LABELS = 10
_NUMBERS = ["value", "lower", "upper"]
#: A difference or a ratio, and whom it compares.
_Disparity: TypeAlias = tuple[str, Multigroup]
_DISPARITIES: list[_Disparity] = [
    (disparity, multigroup)
    for disparity in ("difference", "ratio")
    for multigroup in get_args(Multigroup)
]


@dataclass(frozen=True, eq=False, repr=False)
class GroupMetricsResult(TableResult):
    """Result of `group_metrics`.

    Attributes
    ----------
    groups : DataFrame
        Indexed by metric, stratum if there are strata, and group, with the columns
        ``n``, the rows of the group, ``n_counted``, the rows in the denominator of a
        rate, ``value``, ``lower`` and ``upper``.
    everyone : DataFrame
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
    everyone: pd.DataFrame = field(repr=False)
    disparities: pd.DataFrame = field(repr=False)
    sizes: pd.DataFrame = field(repr=False)
    confidence_level: float | None = field(repr=False)

    @property
    def by_group(self) -> pd.DataFrame:
        """Value of each group, one column for each metric."""
        return _wide(self.groups)

    @property
    def overall(self) -> Any:
        """Value of everyone for each metric, and for each stratum if there are any."""
        if self.everyone.index.nlevels == 1:
            return self.everyone["value"].rename(None)
        return _wide(self.everyone)

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
            The least value over the largest, or the smallest ratio, at most 1, between
            a group and everyone.

        Returns
        -------
        DataFrame
            Indexed by metric and stratum, with ``value``, ``lower`` and ``upper``.
        """
        return self._table_of("ratio", multigroup)

    def _table_of(self, disparity: str, multigroup: Multigroup) -> pd.DataFrame:
        """Rows of one disparity."""
        check_multigroup(multigroup)
        levels = ["disparity", "multigroup"]
        return self.disparities.xs((disparity, multigroup), level=levels)

    def to_frame(self) -> pd.DataFrame:
        """Table of all groups, with the value of everyone beside theirs.

        Returns
        -------
        DataFrame
            `groups` with the column ``everyone``.
        """
        levels = self.everyone.index.names
        values = self.everyone["value"].rename("everyone")
        return self.groups.join(values, on=levels)


def group_metrics(
    metrics: Any,
    y_true: ArrayLike | None,
    y_pred: ArrayLike | None,
    *,
    sensitive_features: Any,
    control_features: Any = None,
    y_score: ArrayLike | None = None,
    pos_label: Any = None,
    confidence_level: float | None = 0.95,
    n_resamples: int = 199,
    sample_weight: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> GroupMetricsResult:
    """Metrics of each group, with intervals, differences and ratios.

    Any metric of scikit-learn, or several, on the rows of each group and of everyone.

    Parameters
    ----------
    metrics : str, callable, scorer, list of these, or dict of name -> these
        A name is that of a function in `sklearn.metrics`, such as ``"recall_score"``,
        of a scorer of scikit-learn, such as ``"roc_auc"``, or of a rate:
        ``"selection_rate"``, ``"accuracy"``, ``"error_rate"``,
        ``"true_positive_rate"``, ``"false_negative_rate"``, ``"false_positive_rate"``,
        ``"true_negative_rate"`` or ``"predictive_value"``. A callable is
        ``metric(y_true, y_pred)`` and returns a number; `functools.partial` sets its
        options. The value of a scorer has its sign.
    y_true : array-like of shape (n_samples,) or None
        True labels, or numbers of a regression. The selection rate needs none.
    y_pred : array-like of shape (n_samples,) or None
        Predicted labels or numbers. None if all metrics take scores.
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
        Number of bootstrap resamples for metrics that are no rates.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.
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
        `pos_label`, lengths that differ, or missing groups; and as the metric does.
    TypeError
        If `metrics` is none of the above, or a metric takes no sample weights.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If a metric has no finite value for a group, such as a recall without positives,
        or a group has fewer rows than the `min_group_size` of its `Groups`. The value
        is nan, and so are differences and ratios. If a group has too few rows for an
        interval.

    See Also
    --------
    true_positive_rate_difference : One of the disparities with a scorer.
    cvar_fairness_report : Rates of very many groups.
    skfair.inspection.GroupMetricsDisplay : The picture.
    true_positive_rate_difference : One rate, as a metric with a scorer.
    mean_error_difference : Errors of predicted numbers, likewise.

    Notes
    -----
    The rates by name, `accuracy_score`, `zero_one_loss`, `recall_score` and
    `precision_score` of two classes are proportions. Each has the exact interval of
    Clopper and Pearson [1]_. Their differences have those of `confidence_interval`,
    their ratios of two groups that of `impact_ratios`, and their ratios to everyone the
    widest that simultaneous intervals of all groups permit: these keep their level.
    With sample weights they use Kish's effective number of rows.

    All other metrics have bootstrap intervals of rows drawn within each group, of which
    metrics of scikit-learn that compare labels see the counts:
    percentiles for values, the basic interval for differences and ratios. They are
    approximate, and nan for groups of fewer than ten rows.

    A ratio is nan where a value is negative. A metric of two classes that is 0/0 in a
    group, for which scikit-learn has the option `zero_division`, is nan.

    References
    ----------
    .. [1] Clopper, Pearson. "The Use of Confidence or Fiducial Limits Illustrated in
       the Case of the Binomial". Biometrika 26(4), 1934.

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
    refuse_sorted_rows("group_metrics", y_pred)
    level = confidence_level
    if level is not None:
        level = check_real(
            "confidence_level", level, 0, 1, closed="neither", alternative="None or "
        )
    n_resamples = check_integer("n_resamples", n_resamples, 1)
    generator = check_seed(random_state)
    columns, groups, strata = _check_rows(
        y_true, y_pred, y_score, sample_weight, sensitive_features, control_features
    )
    measures = [prepare(one, columns, pos_label) for one in find_measures(metrics)]
    others = [one for one in measures if one.rate is None]
    if any(one.takes_counts for one in others):  # scikit-learn's metrics of labels
        true, predicted = (pd.unique(columns[name]).tolist() for name in _LABELS)
        if max(len(true), len(predicted)) <= _MAX_LABELS:  # not of a regressor
            check_kinds_of_labels("y_true and y_pred", true, predicted)
    parts = []
    for label, part, rows in _rows_by_stratum(groups, strata):
        kept = {name: column[rows] for name, column in columns.items()}
        draws: dict[str, Any] = {}
        if level is not None and others:
            drawn = _values_of_resamples(
                others, kept, part, n_resamples, generator, n_jobs
            )
            names = [one.name for one in others]
            draws = dict(zip(names, np.moveaxis(drawn, 1, 0), strict=True))
        for one in measures:
            found = (
                _measure_any(one, kept, part, level or 0.0, draws.get(one.name))
                if one.rate is None
                else _measure_rate(one, kept, part, level)
            )
            parts.append((one.name, label, found))
    tables = _tables(parts, groups, strata)
    sizes = _sizes(columns.get("y_true"), groups, strata)
    return GroupMetricsResult(*tables, sizes, level)


@warns_if_reordered
def _check_rows(
    y_true: Any,
    y_pred: Any,
    y_score: Any,
    sample_weight: Any,
    sensitive_features: Any,
    control_features: Any,
) -> tuple[Columns, Groups, Groups | None]:
    """Check the arguments by row, and keep the rows with a group and a stratum."""
    columns: Columns = {}
    if y_pred is not None:
        columns["y_pred"] = as_array(y_pred, "y_pred")
        check_shape(columns["y_pred"], "y_pred")
    if y_score is not None:
        columns["y_score"] = as_array(y_score, "y_score")
    if not columns:
        raise ValueError("y_pred and y_score are both None, expected one of them.")
    n_samples = len(next(iter(columns.values())))
    if y_score is not None:
        check_length("y_score", len(columns["y_score"]), n_samples)
    if y_true is not None:
        columns["y_true"] = as_array(y_true, "y_true", n_samples)
    weights = check_weights(sample_weight, n_samples)
    if weights is not None:
        columns["sample_weight"] = weights
    groups = resolve_groups(sensitive_features, n_samples=n_samples)
    strata, kept = None, groups.codes >= 0
    if control_features is not None:
        strata = resolve_strata(control_features, n_samples=n_samples)
        kept = kept & (strata.codes >= 0)
    if weights is not None:
        kept = kept & (weights > 0)
    if kept.all():
        return columns, groups, strata
    columns = {name: column[kept] for name, column in columns.items()}
    return columns, groups[kept], None if strata is None else strata[kept]


class _ByGroup(NamedTuple):
    """Numbers of a metric, of each group and, last, of everyone."""

    labels: tuple[Hashable, ...]
    n: Integers
    n_counted: Integers
    values: Floats
    lower: Floats
    upper: Floats
    #: Value and interval, by disparity and multigroup.
    disparities: dict[_Disparity, tuple[float, float, float]]


def _measure_rate(
    measure: GroupMetric, columns: Columns, groups: Groups, level: float | None
) -> _ByGroup:
    """Compute a proportion of each group, with intervals that keep their level."""
    rate, complement = RATES[str(measure.rate)]
    pos_label = measure.options.get("pos_label")
    rows = columns.get("y_true"), columns["y_pred"]
    outcomes, mask = outcomes_of_rate(*rows, rate, pos_label)
    statistic = GroupedOutcomes.from_outcomes(
        ~outcomes if complement else outcomes,
        sensitive_features=groups,
        mask=mask,
        sample_weight=columns.get("sample_weight"),
    )
    counts, totals = _and_all(statistic.counts), _and_all(statistic.totals)
    enough = counts >= max(groups.min_group_size, 1)
    rates, lower, upper = np.full((3, len(counts)), np.nan)
    rates[enough] = (_and_all(statistic.sums) / np.maximum(totals, 1e-300))[enough]
    if level is not None:
        squares = _and_all(statistic.squares)[enough]
        sizes = totals[enough].astype(float) ** 2 / squares
        lower[enough], upper[enough] = clopper_pearson(
            rates[enough] * sizes, sizes, (1 - level) / 2
        )
    disparities = {}
    for key in _DISPARITIES:
        value, ends = float(_disparity(key, rates)), (math.nan, math.nan)
        if level is not None and not math.isnan(value):
            ends = _interval_of_rates(key, statistic, level)
        disparities[key] = (value, *ends)
    _warn_of_groups(measure.name, groups, rates, counts)
    n = _and_all(groups.sizes())
    return _ByGroup(groups.labels, n, counts, rates, lower, upper, disparities)


def _and_all(values: NDArray[Any]) -> NDArray[Any]:
    """Append the sum of all groups to their values."""
    return np.append(values, values.sum())


def _interval_of_rates(
    key: _Disparity, statistic: GroupedOutcomes, level: float
) -> tuple[float, float]:
    """Interval of a difference or ratio of rates."""
    disparity, multigroup = key
    if disparity == "difference":
        metric = partial(demographic_parity_difference, multigroup=multigroup)
        found = confidence_interval(metric, None, statistic, confidence_level=level)
        return found.lower, found.upper
    rates, sizes = statistic.means, statistic.effective_sizes
    n_groups, tail = len(rates), (1 - level) / 2
    if multigroup == "pooled":
        shares = statistic.totals / statistic.totals.sum()
        ends = clopper_pearson(rates * sizes, sizes, tail / n_groups)
        return _least_ratio_to_mean(*ends, shares)
    # The true ratio is that of one pair, for which its own lower end holds. It is at
    # most that of every pair, whose upper ends hold together.
    part = tail / (n_groups * (n_groups - 1))
    lower, upper = ratio_ends(rates, sizes, tail, part)
    return float(lower.min()), float(upper.min())


def _least_ratio_to_mean(
    low: Floats, high: Floats, shares: Floats
) -> tuple[float, float]:
    """Bound the smallest ratio between a rate and their mean, of rates between ends."""
    from_ = low / np.maximum(low * shares + (high @ shares - high * shares), 1e-300)
    to = high / np.maximum(high * shares + (low @ shares - low * shares), 1e-300)
    ends = np.sort([_at_most_one(from_), _at_most_one(to)], axis=0)
    ends[1, (from_ <= 1) & (to >= 1)] = 1
    return float(ends[0].min()), float(ends[1].min())


def _at_most_one(ratios: Floats) -> Floats:
    """Ratios or their inverses, whichever are smaller."""
    return np.minimum(ratios, 1 / np.maximum(ratios, 1e-300))


def _measure_any(
    measure: GroupMetric,
    columns: Columns,
    groups: Groups,
    level: float,
    draws: Floats | None,
) -> _ByGroup:
    """Compute any metric of each group, with bootstrap intervals.

    `draws` are its values on resamples, of shape (n_resamples, n_groups + 1).
    """
    n = _and_all(groups.sizes())
    values = _evaluate_by_group(measure, columns, groups)
    values[(n < groups.min_group_size) | np.isinf(values)] = np.nan
    few = n[:-1] < _LEAST_ROWS
    lower, upper = np.full((2, len(n)), np.nan)
    disparities = {}
    if draws is not None:
        for i in np.flatnonzero(np.append(~few, True) & ~np.isnan(values)):
            lower[i], upper[i] = _percentiles(draws[:, i], level)
    for key in _DISPARITIES:
        value, ends = float(_disparity(key, values)), (math.nan, math.nan)
        if draws is not None and not few.any() and not math.isnan(value):
            ends = _basic_interval(key, value, _disparity(key, draws), level)
        disparities[key] = (value, *ends)
    _warn_of_groups(measure.name, groups, values, n)
    if draws is not None and few.any():
        names = listed([repr(groups.labels[i]) for i in np.flatnonzero(few)])
        warn_user(
            f"{measure.name} has no interval for {names}, and its difference and ratio "
            f"have none: a bootstrap needs at least {_LEAST_ROWS} rows of each group. "
            "Pass confidence_level=None for no intervals.",
            UndefinedMetricWarning,
        )
    return _ByGroup(groups.labels, n, n, values, lower, upper, disparities)


def _values_of_resamples(
    measures: list[GroupMetric],
    columns: Columns,
    groups: Groups,
    n_resamples: int,
    generator: np.random.Generator,
    n_jobs: int | None,
) -> Floats:
    """Values of metrics on rows that are drawn within each group.

    They have the shape (n_resamples, n_metrics, n_groups + 1).
    """
    draw = _resamples(measures, columns, groups, generator)
    drawn = (draw() for _ in range(n_resamples))
    evaluate = delayed(partial(_evaluate_resample, measures))
    return np.array(Parallel(n_jobs=n_jobs)(evaluate(*one) for one in drawn))


def _resamples(
    measures: list[GroupMetric],
    columns: Columns,
    groups: Groups,
    generator: np.random.Generator,
) -> Callable[[], tuple[Columns, Groups, Integers]]:
    """Return what draws rows within each group, or numbers of rows of few kinds.

    A draw is columns, their groups, and positions of rows, sorted by group.
    """
    if "sample_weight" not in columns and all(one.takes_counts for one in measures):
        labels = [encode_column(columns[name], "raise", name, name) for name in _LABELS]
        cells, kinds = intersect([(groups.codes, groups.labels), *labels])
        if len(kinds) <= _MAX_CELLS:
            _, first, counts = np.unique(cells, return_index=True, return_counts=True)
            return partial(_draw_counts, columns, groups, first, counts, generator)
    rows = Rows(groups)
    return lambda: (columns, groups, rows.draw(generator))


def _draw_counts(
    columns: Columns,
    groups: Groups,
    first: Integers,
    counts: Integers,
    generator: np.random.Generator,
) -> tuple[Columns, Groups, Integers]:
    """Draw how often each distinct row occurs in a resample, sorted by group."""
    of_cells, drawn = groups[first], np.zeros(len(counts), dtype=np.int64)
    for code, size in enumerate(groups.sizes().tolist()):
        own = of_cells.codes == code
        drawn[own] = generator.multinomial(size, counts[own] / max(size, 1))
    kept = np.flatnonzero(drawn)
    alike = {name: columns[name][first[kept]] for name in _LABELS}
    return {**alike, "sample_weight": drawn[kept]}, of_cells[kept], np.arange(len(kept))


def _evaluate_resample(
    measures: list[GroupMetric], columns: Columns, groups: Groups, rows: Integers
) -> list[list[float]]:
    """Values of metrics, of each group and of everyone, without warnings."""
    parts = _rows_of_groups(groups, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [[one.evaluate(columns, part) for part in parts] for one in measures]


def _rows_of_groups(groups: Groups, rows: Integers) -> list[Integers]:
    """Rows of each group, and of everyone, from rows that are sorted by group."""
    return [*np.split(rows, np.cumsum(groups.sizes())[:-1]), rows]


def _evaluate_by_group(
    measure: GroupMetric, columns: Columns, groups: Groups
) -> Floats:
    """Values of a metric, of each group and of everyone; warnings name the group."""
    rows = np.argsort(groups.codes, kind="stable")
    names = [*map(repr, groups.labels), "everyone"]
    values = []
    for name, part in zip(names, _rows_of_groups(groups, rows), strict=True):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            values.append(measure.evaluate(columns, part))
        for one in caught:
            # Of values that are nan the caller warns.
            undefined = issubclass(one.category, UndefinedMetricWarning)
            if not (undefined and math.isnan(values[-1])):
                warn_user(f"{measure.name} of {name}: {one.message}", one.category)
    return np.array(values)


def _disparity(key: _Disparity, values: Floats) -> Floats:
    """Difference or ratio of values of shape (..., n_groups + 1), everyone last."""
    disparity, multigroup = key
    groups, everyone = values[..., :-1], values[..., -1:]
    if groups.shape[-1] < 2:
        return np.full(values.shape[:-1], np.nan)
    low = groups.min(axis=-1, keepdims=True)
    high = groups.max(axis=-1, keepdims=True)
    if multigroup == "pooled":
        low, high = np.minimum(groups, everyone), np.maximum(groups, everyone)
    if disparity == "difference":
        return np.asarray((high - low).max(axis=-1))
    ratios = np.full(low.shape, np.nan)
    np.divide(low, high, out=ratios, where=(low >= 0) & (high > 0))
    return np.asarray(ratios.min(axis=-1))


def _percentiles(values: Floats, level: float) -> tuple[float, float]:
    """Percentile interval of the values of resamples; nan if most are undefined."""
    tails = (1 - level) / 2, (1 + level) / 2
    low, high = np.quantile(defined_values(values), tails)
    return float(low), float(high)


def _basic_interval(
    key: _Disparity, value: float, values: Floats, level: float
) -> tuple[float, float]:
    """Return the basic interval of a disparity; a ratio is 1 minus a disparity."""
    defined = defined_values(values)
    if key[0] == "difference":
        return basic_interval(value, defined, level)
    low, high = basic_interval(1 - value, 1 - defined, level)
    return 1 - high, 1 - low


def _warn_of_groups(
    name: str, groups: Groups, values: Floats, counts: Integers
) -> None:
    """Warn of groups for which a metric has no value, or that there is one group."""
    reason = why_undefined(groups.labels, counts[:-1], groups.min_group_size)
    if reason is None:
        check_groups_of_numbers(name, groups.labels, counts[:-1])
    undefined = np.flatnonzero(np.isnan(values[:-1]))
    if reason is None and len(undefined):
        names = listed([repr(groups.labels[i]) for i in undefined])
        reason = f"it has no finite value for {names}"
    if reason is not None:
        warn_user(
            f"{name} of some groups, or its difference and ratio, are undefined and "
            f"set to nan: {reason}.",
            UndefinedMetricWarning,
        )


def _rows_by_stratum(
    groups: Groups, strata: Groups | None
) -> Iterator[tuple[Hashable, Groups, Any]]:
    """Yield the label, the groups and the rows of each stratum, or of everyone."""
    if strata is None:
        yield None, groups, slice(None)
        return
    for label, rows in zip(strata.labels, rows_by_code(strata.codes), strict=False):
        if not len(rows):
            continue
        part = groups[rows]
        yield label, keep_labels(part, part.sizes() > 0), rows


def _tables(
    parts: list[tuple[str, Hashable, _ByGroup]], groups: Groups, strata: Groups | None
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Arrange the numbers of groups, of everyone and of disparities."""
    columns = ["n", "n_counted", *_NUMBERS]
    of_groups, of_everyone, of_disparities = {}, {}, {}
    for metric, stratum, found in parts:
        above = (metric, *_cells(stratum, strata))
        numbers = found.n, found.n_counted, found.values, found.lower, found.upper
        *rows, everyone = zip(*numbers, strict=True)
        for label, row in zip(found.labels, rows, strict=True):
            of_groups[*above, *_cells(label, groups)] = row
        of_everyone[above] = everyone
        for key, interval in found.disparities.items():
            of_disparities[*above, *key] = interval
    names = ["metric", *([] if strata is None else _level_names(strata, "stratum"))]
    return (
        _table(of_groups, [*names, *_level_names(groups, "group")], columns),
        _table(of_everyone, names, columns),
        _table(of_disparities, [*names, "disparity", "multigroup"], _NUMBERS),
    )


def _sizes(
    true: NDArray[Any] | None, groups: Groups, strata: Groups | None
) -> pd.DataFrame:
    """Count the rows of each group, and its rows of each true label if few occur."""
    classes = [] if true is None else sort_labels(pd.unique(true).tolist())
    classes = classes if len(classes) <= _MAX_LABELS else []
    counts = {}
    for stratum, part, rows in _rows_by_stratum(groups, strata):
        by_class = [part.sizes()]
        for label in classes:
            of_label = np.flatnonzero(true[rows] == label)  # type: ignore[index]
            by_class.append(part[of_label].sizes())
        for label, row in zip(part.labels, zip(*by_class, strict=True), strict=True):
            counts[*_cells(stratum, strata), *_cells(label, groups)] = row
    names = [] if strata is None else _level_names(strata, "stratum")
    columns = ["n", *(f"y_true={label}" for label in classes)]
    return _table(counts, [*names, *_level_names(groups, "group")], columns)


def _cells(label: Hashable, groups: Groups | None) -> tuple[Hashable, ...]:
    """Cells of the index for a label: one for each column of an intersection."""
    if groups is None:
        return ()
    several = n_columns_of(groups.labels) > 1
    return label if several else (label,)  # type: ignore[return-value]


def _level_names(groups: Groups, default: str) -> list[str]:
    """Names of the levels of the index: those of columns, or made of a default."""
    n_levels = n_columns_of(groups.labels)
    if len(groups.names) == n_levels:
        return list(groups.names)
    return (
        [default] if n_levels == 1 else [f"{default} {i + 1}" for i in range(n_levels)]
    )


def _table(
    rows: dict[Any, Any], names: Sequence[str], columns: list[str]
) -> pd.DataFrame:
    """Make a table with an index of one or several levels."""
    levels = list(zip(*rows, strict=True))
    index: Any = pd.MultiIndex.from_arrays(levels, names=names)
    if len(levels) == 1:
        index = pd.Index(list(levels[0]), name=names[0], tupleize_cols=False)
    table = pd.DataFrame(list(rows.values()), index=index, columns=columns)
    return table.astype({name: float for name in _NUMBERS if name in columns})


def _wide(table: pd.DataFrame) -> pd.DataFrame:
    """Values with a column for each metric."""
    values = table["value"]
    metrics = dict.fromkeys(values.index.get_level_values("metric"))
    return pd.DataFrame({name: values.xs(name, level="metric") for name in metrics})

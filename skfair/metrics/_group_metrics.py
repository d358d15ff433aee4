"""Any metric of scikit-learn by group, with sizes, intervals and disparities."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import isfunction, signature
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import pandas as pd
import sklearn.metrics
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer, get_scorer_names

from skfair._pictures._group_dots import GroupDotsDisplay
from skfair._rows import Rows, add_people, check_clusters
from skfair._utils._arrays import Floats, Integers, quotients
from skfair._utils._hints import did_you_mean
from skfair._utils._results import TableResult
from skfair._utils._text import listed
from skfair._utils._validation import (
    as_array,
    check_choice,
    check_counts,
    check_integer,
    check_length,
    check_no_missing,
    check_real,
    check_weights,
    refuse_scores,
)
from skfair._utils._warnings import caught_warnings, warn_if_reordered, warn_user
from skfair.groups import (
    Groups,
    check_kinds_of_labels,
    encode_column,
    intersect,
    keep_labels,
    n_columns_of,
    resolve_groups,
    resolve_strata,
    sort_labels,
)
from skfair.metrics._confidence_interval import lower_bound, upper_bound
from skfair.metrics._inputs import (
    Multigroup,
    Rate,
    check_groups_of_numbers,
    has_text,
    outcomes_of_rate,
    positive_class,
)
from skfair.metrics._pairs import MAX_PAIRWISE, compared_groups
from skfair.metrics._pooling import pool_groups
from skfair.metrics._rate_intervals import clopper_pearson, ratio_ends
from skfair.metrics._rates import DemographicParity
from skfair.metrics._resampling import (
    ENOUGH,
    check_seed,
    defined_values,
)
from skfair.metrics._scorer import _Scorer
from skfair.metrics._undefined import ADVICE, why_undefined

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Rates by name, and whether the complement of one is taken.
RATES: dict[str, tuple[Rate, bool]] = {
    "selection_rate": ("selection_rate", False),
    "accuracy": ("accuracy", False),
    "error_rate": ("error_rate", False),
    "true_positive_rate": ("true_positive_rate", False),
    "false_negative_rate": ("true_positive_rate", True),
    "false_positive_rate": ("false_positive_rate", False),
    "true_negative_rate": ("false_positive_rate", True),
    "predictive_value": ("predictive_value", False),
}
#: Functions of scikit-learn that are such rates, and the options with which they are.
_RATES_OF_SKLEARN: dict[Any, tuple[str, dict[str, Any]]] = {
    sklearn.metrics.accuracy_score: ("accuracy", {"normalize": True}),
    sklearn.metrics.zero_one_loss: ("error_rate", {"normalize": True}),
    sklearn.metrics.recall_score: ("true_positive_rate", {"average": "binary"}),
    sklearn.metrics.precision_score: ("predictive_value", {"average": "binary"}),
}
#: Second parameters of metrics that take scores.
_SCORES = ("y_score", "y_proba", "y_prob", "pred_decision")
#: Metrics of scores whose second parameter was called y_pred before scikit-learn 1.9.
_OF_SCORES = (sklearn.metrics.log_loss, sklearn.metrics.d2_log_loss_score)
#: Values of rows by the name of the argument.
Columns: TypeAlias = dict[str, NDArray[Any]]


class GroupMetric(NamedTuple):
    """A metric, and how it is called."""

    name: str
    #: None for a rate that scikit-learn does not have.
    function: Callable[..., float] | None
    options: dict[str, Any]
    sign: int = 1
    takes_scores: bool = False
    #: Name of the rate that it is.
    rate: str | None = None
    #: True label that counts as 1, for metrics of scores; None for labels as they are.
    positive: Any = None

    def takes(self, parameter: str) -> bool:
        """Return whether a function has a parameter that the user left open."""
        return parameter not in self.options and parameter in _parameters(self.function)

    @property
    def takes_counts(self) -> bool:
        """Whether a weight of n stands for n rows that are alike."""
        of_sklearn = getattr(self.function, "__module__", "").startswith("sklearn.")
        return of_sklearn and self.takes("sample_weight")

    def replace_option(self, name: str, value: Any) -> GroupMetric:
        """Set an option."""
        return self._replace(options={**self.options, name: value})

    def evaluate(self, columns: Columns, rows: Integers) -> float:
        """Return the value of some rows, nan of none."""
        if not len(rows):
            return math.nan
        options = dict(self.options)
        counts, weight = columns.get("counts"), columns.get("sample_weight")
        if counts is not None and self.takes_counts:
            weight = counts if weight is None else counts * weight
        elif counts is not None:
            rows = np.repeat(rows, counts[rows])
        if weight is not None:
            options["sample_weight"] = weight[rows]
        true = columns["y_true"][rows]
        if self.positive is not None:
            true = (true == self.positive).astype(int)
        predicted = (
            _scores_or_predictions(columns) if self.takes_scores else columns["y_pred"]
        )
        function: Any = self.function
        value = np.asarray(function(true, predicted[rows], **options))
        if value.size != 1:
            raise ValueError(
                f"{self.name} must return a number, got an array of shape "
                f"{value.shape}. Choose one of them, or take their mean, in a function "
                "of your own."
            )
        return self.sign * float(value.item())


def compares_labels(measure: GroupMetric) -> bool:
    """Return whether a metric of scikit-learn takes labels."""
    return measure.takes_counts and not measure.takes_scores


def _parameters(function: Any) -> list[str]:
    """Return the names of the parameters of a function, as far as they are known."""
    try:
        return list(signature(function).parameters)
    except (TypeError, ValueError):  # of None, or of a builtin
        return []


def find_metrics(metrics: Any) -> list[GroupMetric]:
    """Return the metrics with their names, which are distinct."""
    if isinstance(metrics, Mapping):
        measures = [_find_metric(metric, str(name)) for name, metric in metrics.items()]
    else:
        several = isinstance(metrics, (list, tuple))
        measures = [
            _find_metric(metric) for metric in (metrics if several else [metrics])
        ]
    if not measures:
        raise ValueError("metrics must hold at least one metric, got none.")
    names = [measure.name for measure in measures]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(
            f"metrics must have distinct names, got {repeated[0]!r} repeatedly. Pass a "
            "dictionary of name -> metric."
        )
    return measures


def _find_metric(metric: Any, name: str | None = None) -> GroupMetric:
    """Find how a metric is called that is given by name, as function or as scorer."""
    if isinstance(metric, str):
        if metric in RATES:
            return GroupMetric(name or metric, None, {}, rate=metric)
        return _find_metric(_find(metric), name or metric)
    if isinstance(metric, _Scorer):
        measure = _find_metric(partial(metric._score_func, **metric._kwargs), name)
        scores = metric._response_method != "predict"
        rate = measure.rate if metric._sign == 1 else None
        return measure._replace(sign=metric._sign, takes_scores=scores, rate=rate)
    if not callable(metric):
        raise TypeError(
            "metrics must be the name of a metric, a function, a scorer, or a list or "
            f"dictionary of these, got {metric!r}."
        )
    function: Any = metric
    options: dict[str, Any] = {}
    while isinstance(function, partial):
        function, options = function.func, {**function.keywords, **options}
    if function is sklearn.metrics.auc:
        raise ValueError(
            "metrics must compare labels with predictions or scores, got 'auc', the "
            "area under the points of any curve. Is 'roc_auc' meant?"
        )
    return GroupMetric(
        name or _name_of(function),
        function,
        options,
        takes_scores=function in _OF_SCORES
        or _parameters(function)[1:2] in [[parameter] for parameter in _SCORES],
        rate=_rate_of(function, options),
    )


def _name_of(function: Any) -> str:
    """Return the name of a function, or its text where it has none."""
    return getattr(function, "__name__", None) or repr(function)


def _find(name: str) -> Any:
    """Return the function or the scorer of scikit-learn that has a name."""
    function = getattr(sklearn.metrics, name, None)
    if isfunction(function):
        return function
    if name in get_scorer_names():
        return get_scorer(name)
    raise ValueError(
        "metrics must name a function of sklearn.metrics such as 'recall_score', a "
        f"scorer such as 'roc_auc', or one of {', '.join(map(repr, RATES))}, got "
        f"{name!r}.{did_you_mean(name, [*RATES, *dir(sklearn.metrics)])}"
    )


def _rate_of(function: Any, options: dict[str, Any]) -> str | None:
    """Name the rate that a function of scikit-learn computes, None for others."""
    for metric, (rate, as_rate) in _RATES_OF_SKLEARN.items():
        if function is metric:
            free = ("pos_label", "zero_division")
            same = [
                name in free or (name, value) in as_rate.items()
                for name, value in options.items()
            ]
            return rate if all(same) else None
    return None


def prepare(measure: GroupMetric, columns: Columns, pos_label: Hashable) -> GroupMetric:
    """Check the arguments of a metric, and set its labels."""
    if "y_true" not in columns and measure.rate != "selection_rate":
        raise ValueError(f"y_true must be given for {measure.name}, got None.")
    if not measure.takes_scores and "y_pred" not in columns:
        raise ValueError(f"y_pred must be predictions for {measure.name}, got None.")
    weighted = "sample_weight" in columns and measure.rate is None
    if weighted and not measure.takes("sample_weight"):
        raise TypeError(f"{measure.name} takes no sample_weight, got weights.")
    if measure.takes_scores:
        return _prepare_for_scores(measure, columns, pos_label)
    if any(columns[name].ndim > 1 for name in ("y_true", "y_pred") if name in columns):
        if measure.function is None:
            raise ValueError(
                f"y_true and y_pred must have shape (n_samples,) for {measure.name}, "
                f"got {columns['y_pred'].shape}. Pass a function of several columns, "
                "such as one of sklearn.metrics."
            )
        return measure._replace(rate=None)
    if measure.rate is not None:
        refuse_scores(columns["y_pred"], "y_pred")
    return _prepare_for_labels(measure, columns, pos_label)


def _prepare_for_labels(
    measure: GroupMetric, columns: Columns, pos_label: Hashable
) -> GroupMetric:
    """Tell a metric of predicted labels which of two labels is positive."""
    asks = measure.rate not in (None, "accuracy", "error_rate")
    asks = asks or measure.takes("pos_label")
    if not asks or measure.options.get("average", "binary") != "binary":
        return measure
    read = [name for name in ("y_true", "y_pred") if name in columns]
    classes = _labels_in(columns, read)
    if measure.function is not None and len(classes) > 2:
        return measure._replace(rate=None)  # whose error names other averages
    label = measure.options.get("pos_label", pos_label)
    positive = positive_class(classes, " and ".join(read), label)
    measure = measure.replace_option("pos_label", positive)
    if measure.function is sklearn.metrics.jaccard_score:
        return measure._replace(function=_jaccard)
    if measure.takes("zero_division"):
        measure = measure.replace_option("zero_division", np.nan)
    return measure


def _jaccard(y_true: Any, y_pred: Any, **options: Any) -> float:
    """Return Jaccard score of two classes, whose `zero_division` cannot be nan."""
    zero_division = options.pop("zero_division", np.nan)
    score = partial(sklearn.metrics.jaccard_score, y_true, y_pred, **options)
    low, high = score(zero_division=0), score(zero_division=1)
    return float(low if low == high else zero_division)


def _prepare_for_scores(
    measure: GroupMetric, columns: Columns, pos_label: Hashable
) -> GroupMetric:
    """Tell a metric of scores which true label is positive, and which there are."""
    scores = _scores_or_predictions(columns)
    alike = scores.ndim == 1 and (has_text(scores) or len(pd.unique(scores)) < 3)
    if "y_score" not in columns and alike:
        raise ValueError(
            f"{measure.name} takes scores, but y_pred holds labels: pass "
            "y_score=<probabilities or decision values> as well."
        )
    classes = _labels_in(columns, ["y_true"])
    if scores.ndim == 1 and len(classes) <= 2:
        label = measure.options.get("pos_label", pos_label)
        positive = positive_class(classes, "y_true", label)
        options = {k: v for k, v in measure.options.items() if k != "pos_label"}
        measure = measure._replace(options=options, positive=positive)
        classes = [0, 1]
    return (
        measure.replace_option("labels", classes)
        if measure.takes("labels")
        else measure
    )


def _scores_or_predictions(columns: Columns) -> NDArray[Any]:
    """Return the scores, for which predictions may stand."""
    return columns["y_score"] if "y_score" in columns else columns["y_pred"]


def _labels_in(columns: Columns, names: Iterable[str]) -> list[Any]:
    """Return the sorted distinct labels in some columns."""
    labels: list[Any] = []
    for name in names:
        check_no_missing(columns[name], name)
        labels += pd.unique(columns[name]).tolist()
    return sort_labels(dict.fromkeys(labels))


#: Rows, or people, of a group below which resamples of it tell nothing.
_LEAST_ROWS = 10
_LABELS = ("y_true", "y_pred")
#: Up to this many kinds of rows, their numbers are drawn in place of rows.
_MAX_CELLS = 500
#: True labels up to this many are counted for each group, and compared with others.
_MAX_LABELS = 10
_NUMBERS = ["value", "lower", "upper"]
_POOLED = ["pooled", "pooled_lower", "pooled_upper"]
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
        levels = ["disparity", "multigroup"]
        return self.disparities.xs((disparity, multigroup), level=levels)

    def to_frame(self) -> pd.DataFrame:
        """Return a table of all groups, with the overall value beside theirs.

        Returns
        -------
        DataFrame
            `groups` with the column ``overall``.
        """
        levels = self.overall_table.index.names
        values = self.overall_table["value"].rename("overall")
        return self.groups.join(values, on=levels)

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
        table = self.to_frame().rename(columns={"overall": "reference"})
        if self.confidence_level is None:
            table = table.drop(columns=["lower", "upper"])
        metrics = dict.fromkeys(table.index.get_level_values("metric"))
        tables = {str(each): table.xs(each, level="metric") for each in metrics}
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
        A name is that of a function in `sklearn.metrics`, such as ``"recall_score"``,
        of a scorer of scikit-learn, such as ``"roc_auc"``, or of a rate:
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
        Number of bootstrap resamples for metrics that are no rates.
    pooling : {"additive"} or None, default=None
        With ``"additive"`` the tables have, beside the raw rates, ``pooled``,
        ``pooled_lower`` and ``pooled_upper``: rates of small groups borrow from groups
        that are alike in some of their columns, see Notes. All metrics must be rates.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.
    clusters : array-like of shape (n_samples,), default=None
        Person of each row, where people have several: visits, loans, months. Rates have
        intervals of the effective number of people, as if all rows of a person were
        alike; for other metrics people are drawn with all their rows. All rows of a
        person must have the same group and stratum.
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
        that is no rate; and as the metric does.
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
    true_positive_rate_difference : One of the disparities with a scorer.
    cvar_fairness_report : Rates of very many groups.
    GroupMetricsResult.plot : The picture.
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
    percentiles for values. Those of differences and ratios follow from intervals of all
    pairs that hold together, the gap of each plus and minus a multiple of its standard
    error. They are approximate, and nan for groups of fewer than ten rows.

    A ratio is nan where a value is negative. A metric of two classes that is 0/0 in a
    group, for which scikit-learn has the option `zero_division`, is nan.

    Pooled rates are predictions of a regression with random effects (empirical Bayes):
    the logit of a rate is a mean, an effect of each column, and an effect of the group
    [2]_. A group of few rows has nearly the rate that its columns predict, one of many
    rows nearly its own; of one column, groups borrow from their mean. The intervals
    cover the rates of a share `confidence_level` of the groups, not each single one.
    Differences and ratios are those of raw rates.

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
    level = confidence_level
    if level is not None:
        level = check_real(
            "confidence_level", level, 0, 1, closed="neither", alternative="None or "
        )
    n_resamples = check_integer("n_resamples", n_resamples, 1)
    generator = check_seed(random_state)
    people = sample_weight, counts, clusters, sensitive_features, control_features
    columns, groups, strata = _check_rows(y_true, y_pred, y_score, *people)
    measures = [
        prepare(measure, columns, pos_label) for measure in find_metrics(metrics)
    ]
    others = [measure for measure in measures if measure.rate is None]
    check_choice("pooling", pooling, (None, "additive"))
    if pooling and others:
        raise ValueError(
            f"pooling must be None for {others[0].name}, got {pooling!r}: only rates "
            "are pooled."
        )
    if any(compares_labels(measure) for measure in others):
        _warn_of_kinds(*(columns[name] for name in _LABELS))
    parts = []
    for label, part, rows in _rows_by_stratum(groups, strata):
        of_stratum = {name: column[rows] for name, column in columns.items()}
        draws: dict[str, Any] = {}
        if reason := why_undefined(
            part.labels, _sizes_of(part, of_stratum), part.min_group_size
        ):
            _warn_of_undefined([measure.name for measure in measures], reason)
        if level is not None and others:
            draw = _resamples(others, of_stratum, part, generator)
            evaluate = delayed(partial(_evaluate_resample, others))
            tasks = (evaluate(*draw()) for _ in range(n_resamples))
            drawn = np.array(Parallel(n_jobs=n_jobs)(tasks))
            names = [measure.name for measure in others]
            draws = dict(zip(names, np.moveaxis(drawn, 1, 0), strict=True))
        for measure in measures:
            if measure.rate is None:
                of_metric = draws.get(measure.name)
                numbers, disparities = _measure_any(
                    measure, of_stratum, part, level or 0.0, of_metric
                )
            else:
                pooled = pooling is not None
                numbers, disparities = _measure_rate(
                    measure, of_stratum, part, level, pooled=pooled
                )
            parts.append((measure.name, label, part.labels, numbers, disparities))
    tables = _tables(parts, groups, strata)
    sizes = _sizes(columns, groups, strata)
    return GroupMetricsResult(*tables, sizes, level)


def _warn_of_kinds(y_true: NDArray[Any], y_pred: NDArray[Any]) -> None:
    """Warn of true and predicted labels that look alike, such as 1 and "1"."""
    if y_true.ndim > 1 or y_pred.ndim > 1:
        return
    true, predicted = pd.unique(y_true).tolist(), pd.unique(y_pred).tolist()
    if max(len(true), len(predicted)) <= _MAX_LABELS:  # not of a regressor
        check_kinds_of_labels("y_true and y_pred", true, predicted)


def _check_rows(
    y_true: Any,
    y_pred: Any,
    y_score: Any,
    sample_weight: ArrayLike | None,
    counts: ArrayLike | None,
    clusters: ArrayLike | None,
    sensitive_features: ArrayLike | None,
    control_features: ArrayLike | None,
) -> tuple[Columns, Groups, Groups | None]:
    """Check the arguments by row, and keep the rows with a group and a stratum."""
    warn_if_reordered(
        y_true=y_true,
        y_pred=y_pred,
        y_score=y_score,
        sample_weight=sample_weight,
        sensitive_features=sensitive_features,
        control_features=control_features,
        counts=counts,
        clusters=clusters,
    )
    arguments = {"y_pred": y_pred, "y_score": y_score, "y_true": y_true}
    columns: Columns = {
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
    weights = check_weights(sample_weight, n_samples)
    if weights is not None:
        columns["sample_weight"] = weights
    groups, strata = resolve_groups(sensitive_features, n_samples=n_samples), None
    if control_features is not None:
        strata = resolve_strata(control_features, n_samples=n_samples)
    people = check_counts(counts, n_samples)
    if people is not None:
        columns["counts"] = people
    if clusters is not None:
        columns["clusters"] = check_clusters(clusters, groups, strata, counts)
    counting = Rows(groups, strata, weight=weights).counted_positions()
    if people is not None:
        counting = counting[people[counting] > 0]
    columns = {name: column[counting] for name, column in columns.items()}
    return columns, groups[counting], None if strata is None else strata[counting]


def _sizes_of(groups: Groups, columns: Columns) -> Integers:
    """Count the people of each group."""
    return Rows(groups, n=columns.get("counts")).counts


#: Columns of the result's tables for one metric, each with an entry for each group and,
#: last, for all rows.
ResultColumns: TypeAlias = dict[str, NDArray[Any]]
#: Value and interval, by disparity and multigroup.
Disparities: TypeAlias = dict[_Disparity, tuple[float, float, float]]


def _measure_rate(
    measure: GroupMetric,
    columns: Columns,
    groups: Groups,
    level: float | None,
    *,
    pooled: bool,
) -> tuple[ResultColumns, Disparities]:
    """Compute a proportion of each group, with intervals that keep their level."""
    rate, complement = RATES[str(measure.rate)]
    pos_label = measure.options.get("pos_label")
    rows = columns.get("y_true"), columns["y_pred"]
    outcomes, mask = outcomes_of_rate(*rows, rate, pos_label)
    outcomes = ~outcomes if complement else outcomes
    people = columns.get("sample_weight"), columns.get("counts")
    cluster = columns.get("clusters")
    table = Rows(groups, y_pred=outcomes.astype(np.float64), cluster=cluster)
    table = add_people(table, *people)
    statistic = (table if mask is None else table[mask]).grouped()
    counts, totals = _append_sum(statistic.counts), _append_sum(statistic.totals)
    enough = counts >= max(groups.min_group_size, 1)
    rates, lower, upper = np.full((3, len(counts)), np.nan)
    rates[enough] = (_append_sum(statistic.sums) / np.maximum(totals, 1e-300))[enough]
    ends_of = None
    if level is not None:
        squares = _append_sum(statistic.squares_of_people)[enough]
        sizes = totals[enough].astype(float) ** 2 / squares
        lower[enough], upper[enough] = clopper_pearson(
            rates[enough] * sizes, sizes, (1 - level) / 2
        )
        ends_of = partial(_interval_of_rates, statistic, level)
    sizes = _append_sum(_sizes_of(groups, columns)), counts
    found = measure.name, groups, sizes, (rates, lower, upper), ends_of
    numbers, disparities = _measured(*found)
    if pooled:
        values = pool_groups(statistic, level)
        values[:, ~enough[:-1]] = np.nan
        # Everyone borrows from nobody.
        values = np.column_stack([values, [rates[-1], lower[-1], upper[-1]]])
        numbers |= dict(zip(_POOLED, values, strict=True))
    return numbers, disparities


def _measured(
    name: str,
    groups: Groups,
    sizes: tuple[Integers, Integers],
    values: tuple[Floats, Floats, Floats],
    ends_of: Callable[[_Disparity, float], tuple[float, float]] | None,
) -> tuple[ResultColumns, Disparities]:
    """Name the values of groups and their ends, and compute disparities with theirs.

    `sizes` are the people of each group, and those who count.
    """
    disparities = {}
    for key in _DISPARITIES:
        value, ends = float(_disparity(key, values[0])), (math.nan, math.nan)
        if ends_of is not None and not math.isnan(value):
            ends = ends_of(key, value)
        disparities[key] = (value, *ends)
    _warn_of_groups(name, groups, values[0], sizes)
    columns = dict(zip(("n", "n_counted"), sizes, strict=True))
    return columns | dict(zip(_NUMBERS, values, strict=True)), disparities


def _append_sum(values: NDArray[Any]) -> NDArray[Any]:
    """Append the sum of all groups to their values."""
    return np.append(values, values.sum())


def _interval_of_rates(
    statistic: Rows, level: float, key: _Disparity, value: float
) -> tuple[float, float]:
    """Return the interval of a difference or ratio of rates."""
    disparity, multigroup = key
    n_groups = len(statistic.labels)
    if disparity == "difference":
        if multigroup == "pairwise" and n_groups > MAX_PAIRWISE:
            _warn_of_no_interval(n_groups)
            return math.nan, math.nan
        metric = DemographicParity(multigroup=multigroup)
        compared = metric.compare(metric.observe(statistic), "band")
        tail = (1 - level) / 2
        return lower_bound(compared, tail), upper_bound(compared, tail)
    rates, sizes = statistic.means, statistic.effective_sizes
    tail = (1 - level) / 2
    if multigroup == "pooled":
        shares = statistic.totals / statistic.totals.sum()
        ends = clopper_pearson(rates * sizes, sizes, tail / n_groups)
        return _smallest_ratio_to_mean(*ends, shares)
    # The true ratio is that of one pair, for which its own lower end holds. It is at
    # most that of every pair, whose upper ends hold together.
    part = tail / (n_groups * (n_groups - 1))
    lower, upper = ratio_ends(rates, sizes, tail, part)
    return float(lower.min()), float(upper.min())


def _warn_of_no_interval(n_groups: int) -> None:
    """Warn that pairs of very many groups have no interval of their disparity."""
    warn_user(
        f"The largest difference of two of {n_groups} groups has no interval: "
        f"of more than {MAX_PAIRWISE} groups each is compared with everyone, "
        "see difference(multigroup='pooled').",
        UndefinedMetricWarning,
    )


def _smallest_ratio_to_mean(
    low: Floats, high: Floats, shares: Floats
) -> tuple[float, float]:
    """Bound the smallest ratio between a rate and their mean, of rates between ends."""
    from_ = low / np.maximum(low * shares + (high @ shares - high * shares), 1e-300)
    to = high / np.maximum(high * shares + (low @ shares - low * shares), 1e-300)
    ends = np.sort([_invert_above_one(from_), _invert_above_one(to)], axis=0)
    ends[1, (from_ <= 1) & (to >= 1)] = 1
    return float(ends[0].min()), float(ends[1].min())


def _invert_above_one(ratios: Floats) -> Floats:
    """Return the ratios or their inverses, whichever are smaller."""
    return np.minimum(ratios, 1 / np.maximum(ratios, 1e-300))


def _measure_any(
    measure: GroupMetric,
    columns: Columns,
    groups: Groups,
    level: float,
    draws: Floats | None,
) -> tuple[ResultColumns, Disparities]:
    """Compute any metric of each group, with bootstrap intervals.

    `draws` are its values on resamples, of shape (n_resamples, n_groups + 1).
    """
    n = _append_sum(_sizes_of(groups, columns))
    values = _evaluate_by_group(measure, columns, groups)
    values[(n < groups.min_group_size) | np.isinf(values)] = np.nan
    defined, ends_of = ~np.isnan(values), None
    cluster = columns.get("clusters")
    people = Rows(groups, n=columns.get("counts"), cluster=cluster).people.counts
    few = defined[:-1] & (people < _LEAST_ROWS)
    lower, upper = np.full((2, len(n)), np.nan)
    if draws is not None:
        for i in np.flatnonzero(defined & np.append(~few, True)):
            lower[i], upper[i] = _percentiles(draws[:, i], level)
        if not few.any():
            ends_of = partial(_bootstrap_interval, values, draws, level)
    measured = _measured(measure.name, groups, (n, n), (values, lower, upper), ends_of)
    if draws is not None and few.any():
        names = listed([repr(groups.labels[i]) for i in np.flatnonzero(few)])
        drawn = "rows" if cluster is None else "people"
        warn_user(
            f"{measure.name} has no interval for {names}, and its difference and ratio "
            f"have none: a bootstrap needs at least {_LEAST_ROWS} {drawn} of each "
            "group. "
            "Pass confidence_level=None for no intervals.",
            UndefinedMetricWarning,
        )
    return measured


def _resamples(
    measures: list[GroupMetric],
    columns: Columns,
    groups: Groups,
    generator: np.random.Generator,
) -> Callable[[], tuple[Columns, Groups, Integers]]:
    """Return a function that draws rows, or counts of rows, within groups.

    A draw is columns, their groups, and positions of rows, sorted by group.
    """
    if "counts" in columns:
        order = np.argsort(groups.codes, kind="stable")
        counts = columns["counts"][order]
        return partial(_draw_counts, columns, groups, order, counts, generator)
    several = any(columns[name].ndim > 1 for name in _LABELS if name in columns)
    if "clusters" in columns:
        rows = Rows(groups, cluster=columns["clusters"])
        return partial(_draw_people, columns, rows, generator)
    alike = "sample_weight" not in columns and not several
    if alike and all(map(compares_labels, measures)):
        labels = [encode_column(columns[name], "raise", name, name) for name in _LABELS]
        cells, kinds = intersect([(groups.codes, groups.labels), *labels])
        if len(kinds) <= _MAX_CELLS:
            columns = {name: columns[name] for name in _LABELS}
            _, first, counts = np.unique(cells, return_index=True, return_counts=True)
            return partial(_draw_counts, columns, groups, first, counts, generator)
    rows = Rows(groups)
    return lambda: (columns, groups, rows.draw(generator))


def _draw_people(
    columns: Columns, rows: Rows, generator: np.random.Generator
) -> tuple[Columns, Groups, Integers]:
    """Draw people of each group with all their rows, sorted by group."""
    people = rows.people
    numbers = np.bincount(people.draw(generator), minlength=len(people))
    order = np.argsort(rows.groups.codes, kind="stable")
    drawn = np.repeat(order, numbers[rows.person[order]])
    columns = {name: column[drawn] for name, column in columns.items()}
    return columns, rows.groups[drawn], np.arange(len(drawn))


def _draw_counts(
    columns: Columns,
    groups: Groups,
    first: Integers,
    counts: Integers,
    generator: np.random.Generator,
) -> tuple[Columns, Groups, Integers]:
    """Draw how often each distinct row occurs in a resample, sorted by group."""
    of_cells, drawn = groups[first], np.zeros(len(counts), dtype=np.int64)
    sizes = Rows(of_cells, n=counts).counts
    for code in np.flatnonzero(sizes):  # a group without rows has none to draw
        own = of_cells.codes == code
        drawn[own] = generator.multinomial(sizes[code], counts[own] / sizes[code])
    positions = np.flatnonzero(drawn)
    cells = {name: column[first[positions]] for name, column in columns.items()}
    cells["counts"] = drawn[positions]
    return cells, of_cells[positions], np.arange(len(positions))


def _evaluate_resample(
    measures: list[GroupMetric], columns: Columns, groups: Groups, rows: Integers
) -> list[list[float]]:
    """Return the values of metrics, of each group and overall, without warnings."""
    parts = _rows_of_groups(groups, rows)
    with caught_warnings():
        return [
            [measure.evaluate(columns, part) for part in parts] for measure in measures
        ]


def _rows_of_groups(groups: Groups, rows: Integers) -> list[Integers]:
    """Return the rows of each group and of all, sorted by group."""
    return [*np.split(rows, np.cumsum(groups.sizes())[:-1]), rows]


def _evaluate_by_group(
    measure: GroupMetric, columns: Columns, groups: Groups
) -> Floats:
    """Evaluate a metric for each group and overall."""
    rows = np.argsort(groups.codes, kind="stable")
    names = [*map(repr, groups.labels), "all groups"]
    values = []
    for name, part in zip(names, _rows_of_groups(groups, rows), strict=True):
        with caught_warnings() as caught:
            values.append(measure.evaluate(columns, part))
        for warning in caught:
            # Of values that are nan the caller warns.
            undefined = issubclass(warning.category, UndefinedMetricWarning)
            if not (undefined and math.isnan(values[-1])):
                warn_user(
                    f"{measure.name} of {name}: {warning.message}", warning.category
                )
    return np.array(values)


def _disparity(key: _Disparity, values: Floats) -> Floats:
    """Return the difference or ratio of values, whose last is the overall value."""
    disparity, multigroup = key
    groups, overall = values[..., :-1], values[..., -1:]
    if groups.shape[-1] < 2:
        return np.full(values.shape[:-1], np.nan)
    low = groups.min(axis=-1, keepdims=True)
    high = groups.max(axis=-1, keepdims=True)
    if multigroup == "pooled":
        low, high = np.minimum(groups, overall), np.maximum(groups, overall)
    if disparity == "difference":
        return np.asarray((high - low).max(axis=-1))
    ratios = np.full(low.shape, np.nan)
    np.divide(low, high, out=ratios, where=(low >= 0) & (high > 0))
    return np.asarray(ratios.min(axis=-1))


def _percentiles(values: Floats, level: float) -> tuple[float, float]:
    """Return the percentile interval of the values of resamples."""
    tails = (1 - level) / 2, (1 + level) / 2
    low, high = np.quantile(defined_values(values), tails)
    return float(low), float(high)


def _bootstrap_interval(
    values: Floats, draws: Floats, level: float, key: _Disparity, value: float
) -> tuple[float, float]:
    """Bound a disparity by intervals of the gaps of all pairs that hold together.

    Resamples of the largest gap itself tell little where groups are alike: it cannot
    fall below 0, and noise enlarges it. Gaps with a sign have no such end.
    """
    disparity, multigroup = key
    n_groups = len(values) - 1
    if multigroup == "pairwise" and n_groups > MAX_PAIRWISE:
        _warn_of_no_interval(n_groups)
        return math.nan, math.nan
    gaps, drawn = _signed_gaps(key, values), _signed_gaps(key, draws)
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    if len(drawn) < ENOUGH * len(draws):
        return math.nan, math.nan
    spread = drawn.std(axis=0)
    furthest = quotients(np.abs(drawn - gaps), spread).max(axis=1)
    reach = spread * np.quantile(furthest, level)
    low = max(0.0, float((np.abs(gaps) - reach).max()))
    high = min(float((np.abs(gaps) + reach).max()), float(np.abs(drawn).max()))
    high = max(high, float(np.abs(gaps).max()))
    return (low, high) if disparity == "difference" else (1 - high, 1 - low)


def _signed_gaps(key: _Disparity, values: Floats) -> Floats:
    """Subtract the values of the groups of each pair, as shares of the larger one.

    Shares are for ratios alone. The last value is that of overall.
    """
    disparity, multigroup = key
    first, second = compared_groups(values.shape[-1] - 1, multigroup)
    ours, theirs = values[..., first], values[..., -1:]
    if second is not None:
        theirs = values[..., second]
    if disparity == "difference":
        return ours - theirs
    negative = np.minimum(ours, theirs) < 0
    shares = quotients(ours - theirs, np.maximum(ours, theirs))
    return np.where(negative, np.nan, shares)


def _warn_of_groups(
    name: str, groups: Groups, values: Floats, sizes: tuple[Integers, Integers]
) -> None:
    """Warn of groups for which a metric has no value, though it has for others.

    `sizes` are the people of each group, and those who count. Where all people of a
    group are too few, or there is one group, all metrics lack it, with one warning.
    """
    min_size = groups.min_group_size
    if why_undefined(groups.labels, sizes[0][:-1], min_size):
        return
    counts = sizes[1][:-1]
    reason = why_undefined(groups.labels, counts, min_size)
    if reason is None:
        check_groups_of_numbers(name, groups.labels, counts)
    undefined = np.flatnonzero(np.isnan(values[:-1]))
    if reason is None and len(undefined):
        names = listed([repr(groups.labels[i]) for i in undefined])
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


def _rows_by_stratum(
    groups: Groups, strata: Groups | None
) -> Iterator[tuple[Hashable, Groups, Any]]:
    """Yield the label, the groups and the rows of each stratum, or of all rows."""
    for label, rows in Rows(groups, strata).split_by_stratum():
        if strata is None:
            yield label, groups, rows
        elif len(rows):
            part = groups[rows]
            yield label, keep_labels(part, part.sizes() > 0), rows


def _tables(
    parts: list[tuple[str, Hashable, tuple[Hashable, ...], ResultColumns, Disparities]],
    groups: Groups,
    strata: Groups | None,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Arrange the numbers by group, overall and of disparities."""
    columns = ["n", "n_counted", *_NUMBERS]
    group_rows, overall_rows, disparity_rows = {}, {}, {}
    for metric, stratum, labels, numbers, disparities in parts:
        columns = list(numbers)
        above = (metric, *_cells(stratum, strata))
        *rows, overall = zip(*numbers.values(), strict=True)
        for label, row in zip(labels, rows, strict=True):
            group_rows[*above, *_cells(label, groups)] = row
        overall_rows[above] = overall
        for key, interval in disparities.items():
            disparity_rows[*above, *key] = interval
    names = ["metric", *([] if strata is None else _level_names(strata, "stratum"))]
    return (
        _table(group_rows, [*names, *_level_names(groups, "group")], columns),
        _table(overall_rows, names, columns),
        _table(disparity_rows, [*names, "disparity", "multigroup"], _NUMBERS),
    )


def _sizes(columns: Columns, groups: Groups, strata: Groups | None) -> pd.DataFrame:
    """Count the rows of each group, and its rows of each true label if few occur."""
    true, n = columns.get("y_true"), columns.get("counts")
    classes = []
    if true is not None and true.ndim == 1:
        classes = sort_labels(pd.unique(true).tolist())
    classes = classes if len(classes) <= _MAX_LABELS else []
    counts = {}
    for stratum, part, rows in _rows_by_stratum(groups, strata):
        people = Rows(part, n=None if n is None else n[rows])
        by_class = [people.counts]
        for label in classes:
            of_label = np.flatnonzero(true[rows] == label)  # type: ignore[index]
            by_class.append(people[of_label].counts)
        for label, row in zip(part.labels, zip(*by_class, strict=True), strict=True):
            counts[*_cells(stratum, strata), *_cells(label, groups)] = row
    names = [] if strata is None else _level_names(strata, "stratum")
    headings = ["n", *(f"y_true={label}" for label in classes)]
    return _table(counts, [*names, *_level_names(groups, "group")], headings)


def _cells(label: Hashable, groups: Groups | None) -> tuple[Hashable, ...]:
    """Return cells of the index for a label: one for each column of an intersection."""
    if groups is None:
        return ()
    several = n_columns_of(groups.labels) > 1
    return label if several else (label,)  # type: ignore[return-value]


def _level_names(groups: Groups, default: str) -> list[str]:
    """Return the names of the levels of the index of groups."""
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
    """Return the table of values with a column for each metric."""
    values = table["value"]
    metrics = dict.fromkeys(values.index.get_level_values("metric"))
    return pd.DataFrame({name: values.xs(name, level="metric") for name in metrics})

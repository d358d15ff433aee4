"""Rows by stratum and by class, within which a metric compares groups.

The value is the largest over strata of the largest over classes.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skfair._rows import Rows, read, take_rows
from skfair._utils._arrays import Floats, Integers
from skfair._utils._text import counted, listed
from skfair._utils._validation import (
    TAKES_ANY,
    Scale,
    as_array,
    check_choice,
    check_no_missing,
    check_numbers,
    check_scores,
    distinct_labels,
)
from skfair._utils._warnings import rows_are_not_warned_of, warns_if_reordered
from skfair.groups import (
    Groups,
    columns_of,
    comparable_groups,
    group_index,
    label_array,
    positions_in,
    resolve_groups,
    resolve_strata,
    rows_by_code,
    sort_labels,
    why_undefined,
    with_labels,
)
from skfair.metrics._inputs import (
    Multigroup,
    collected_reasons,
    warn_or_collect,
    warn_undefined,
)
from skfair.metrics._spec import (
    Specification,
    check_metric,
    is_known,
    name_of,
    number_of,
    specification_of,
    unwrapped,
)
from skfair.statistics import GroupedScores
from skfair.statistics._grouped_confusion import encode_classes
from skfair.statistics._statistic import GroupedStatistic


@warns_if_reordered
def values_by_class(
    metric: Callable[..., float],
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    sensitive_features: Any,
    control_features: Any = None,
    labels: Sequence[Hashable] | None = None,
    sample_weight: ArrayLike | None = None,
) -> pd.Series[float]:
    """Compute a metric of the scores of each class, one against the rest.

    A metric of scores of several classes, such as `mcdp` of what `predict_proba`
    returns, is the largest of these values; ``idxmax()`` names its class.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_score, sensitive_features=...)`` of the scores of one class
        that returns a number; with a keyword `sample_weight` or `control_features` if
        that is given. Use `functools.partial` to set its options.
    y_true : array-like of shape (n_samples,) or None
        True classes. The metric is given whether each is the class in question.
    y_score : array-like of shape (n_samples, n_classes)
        A column of scores for each class: probabilities that sum to 1 in each row, or,
        with ``scale="rank"`` among the options of the metric, any finite numbers.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
default=None
        Stratum of each row, within which groups are compared.
    labels : sequence of length n_classes, default=None
        Classes in the order of the columns, as `classes_` of a classifier. By default
        the names of the columns of a dataframe, else the sorted values of `y_true` as
        in :func:`sklearn.metrics.roc_auc_score`, else 0, 1, ...
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    Series of length n_classes
        Value of the metric for each class, by class; nan where it is undefined.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        If `y_score` has fewer than two columns or rows that do not sum to 1, on
        `labels` of another number or that lack values of `y_true`, and as the metric
        does.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        As the metric does.

    See Also
    --------
    mcdp : Takes scores of several classes itself; the value is the largest.
    values_by_stratum : The same by stratum.
    dcp : Disparity of the confusion matrices of several classes.

    Examples
    --------
    >>> from skfair.metrics import mcdp, values_by_class
    >>> y_score = [[0.7, 0.2, 0.1], [0.5, 0.1, 0.4], [0.1, 0.1, 0.8], [0.4, 0.2, 0.4]]
    >>> values_by_class(
    ...     mcdp,
    ...     None,
    ...     y_score,
    ...     sensitive_features=["F", "F", "M", "M"],
    ...     labels=["low", "middle", "high"],
    ... )
    low       1.0
    middle    0.0
    high      0.5
    Name: value, dtype: float64
    """
    check_metric(metric)
    scale = unwrapped(metric)[1].get("scale", "probability")
    columns = _columns_of_classes(y_score, "y_score", scale, TAKES_ANY)
    n_samples = len(columns[0])
    codes, classes, trues = None, None, [None] * len(columns)
    if y_true is not None:
        as_array(y_true, "y_true", n_samples)
        codes, classes = encode_classes("y_true", y_true)
    names = _class_labels(labels, classes, y_score, len(columns))
    if classes is not None and codes is not None:
        unknown = [label for label in classes if label not in names]
        if unknown:
            raise ValueError(f"y_true has {unknown[0]!r}, expected one of {names}.")
        codes = positions_in(tuple(names), classes)[codes]
        trues = [codes == position for position in range(len(columns))]
    rows = {
        "sensitive_features": resolve_groups(sensitive_features, n_samples=n_samples),
        "control_features": control_features,
        "sample_weight": sample_weight,
    }
    values = [
        number_of(metric, over_strata(metric, true, column, **rows))
        for true, column in zip(trues, columns, strict=True)
    ]
    return pd.Series(values, pd.Index(names, tupleize_cols=False), float, "value")


def split_classes(
    specification: Specification, options: dict[str, Any], y_true: Any, y_score: Any
) -> list[Any]:
    """Return the checked scores of each class, or `y_score` itself if it has one."""
    if not specification.takes_classes or _count_columns(y_score) < 3:
        return [y_score]
    name = specification.inputs[1]
    columns = _columns_of_classes(
        y_score,
        name,
        options.get("scale", "probability"),
        TAKES_ANY if specification.statistic is GroupedScores else "",
    )
    _check_n_classes(y_true, len(columns[0]), len(columns), name)
    return [*columns]


def split_columns(rows: Rows, name: str, scale: Scale, hint: str = "") -> list[Rows]:
    """Return rows with the checked scores of each class."""
    columns = _columns_of_classes(rows.y_pred, name, scale, hint)
    _check_n_classes(rows.y_true, len(rows), len(columns), name)
    return [replace(rows, y_true=None, y_pred=column) for column in columns]


def _count_columns(y_score: Any) -> int:
    """Count the columns of a table; anything else counts as one."""
    shape: tuple[int, ...] = getattr(y_score, "shape", ())
    if isinstance(y_score, (list, tuple)):
        shape = np.shape(y_score[:1])
    return int(shape[1]) if len(shape) == 2 else 1


def _columns_of_classes(
    y_score: Any, name: str, scale: Scale, hint: str
) -> list[Floats]:
    """Return the scores of each class: probabilities, unless ranks are taken."""
    check_choice("scale", scale, get_args(Scale))
    scores = as_array(y_score, name)
    if scores.ndim != 2 or scores.shape[1] < 2:
        raise ValueError(
            f"{name} must have shape (n_samples, n_classes), a column for each class, "
            f"got {scores.shape}."
        )
    check = check_numbers if scale == "rank" else check_scores
    columns = [
        check(column, f"column {position} of {name}")
        for position, column in enumerate(scores.T)
    ]
    sums = np.sum(columns, axis=0)
    wrong = ~np.isclose(sums, 1)
    if scale == "probability" and wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"{name} must have rows that sum to 1 over the classes, got "
            f"{sums[row]:.6g} in row {row} ({int(wrong.sum())} such rows).{hint}"
        )
    return columns


def _check_n_classes(y_true: Any, n_samples: int, n_classes: int, name: str) -> None:
    """Raise if there are more true classes than columns of scores."""
    if y_true is None:
        return
    true = as_array(y_true, "y_true", n_samples)
    check_no_missing(true, "y_true")
    n_found = len(distinct_labels(true, "y_true"))
    if n_found > n_classes:
        raise ValueError(
            f"y_true must have at most {n_classes} classes, one for each column of "
            f"{name}, got {n_found}."
        )


def _class_labels(
    labels: Any, classes: Sequence[Hashable] | None, y_score: Any, n_classes: int
) -> list[Hashable]:
    """Classes in the order of the columns of scores; `classes` are those of y_true."""
    names = columns_of(y_score, "y_score")[0]
    numbers = [str(position) for position in range(n_classes)]
    chosen: Iterable[Any] = range(n_classes)
    if labels is not None:
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            raise TypeError(f"labels must be a list of classes, got {labels!r}.")
        chosen = labels
    elif all(names) and names != numbers:
        chosen = names
    elif classes is not None:
        chosen = sort_labels(classes)
    chosen = [
        label.item() if isinstance(label, np.generic) else label for label in chosen
    ]
    if len(chosen) != n_classes or len(set(chosen)) != n_classes:
        raise ValueError(
            f"labels must be {n_classes} different classes, one for each column of "
            f"y_score, got {chosen}."
        )
    return chosen


Multistratum = Literal["max", "weighted"]
#: Arguments of a metric that the metric of one stratum is not given.
_OF_STRATA = ("control_features", "multistratum")


class Stratum(NamedTuple):
    """Rows of a stratum, and the result of a metric among the groups compared there.

    `reason` says why there is no result, or which groups are left out; "" if none is.
    """

    label: Hashable
    rows: Integers  # of the groups that can be compared
    groups: Groups | None  # None where no groups can be compared
    n_rows: int  # of all groups
    weight: float  # of these rows
    reason: str
    result: Any = None  # None where the metric has none


def combine_numbers(values: list[Any], weights: Sequence[float] | None) -> Any:
    """Largest of numbers, or of each entry of arrays, or their weighted mean."""
    if weights is None:
        combined = np.max(values, axis=0)
    else:
        combined = (np.array(weights) / np.sum(weights)) @ np.array(values)
    return float(combined) if np.ndim(combined) == 0 else combined


def largest_defined(values: list[Any], weights: Sequence[float] | None) -> Any:
    """Largest number of those that are not nan."""
    return float(np.fmax.reduce(values))


def split_strata(
    rows: Rows, *, leaves_groups_out: bool
) -> tuple[list[Stratum], str | None]:
    """Split rows by stratum, and say why no groups can be compared at all, if so.

    Rows without a group, without a stratum or of weight zero are in no stratum. A group
    whose rows all weigh zero is an error.
    """
    groups, strata = rows.groups, rows.strata
    assert strata is not None
    weights, smallest = rows.weights, max(strata.min_group_size, 1)
    counting = rows.that_count()
    positions = rows_by_code(strata.codes[counting], len(strata.labels))
    parts = []
    for label, at in zip(strata.labels, positions, strict=True):
        part = counting[at]
        weight = float(weights[part].sum())
        stratum = Stratum(label, part, groups[part], len(part), weight, "")
        if len(part) < smallest:
            few = f"it has {counted(len(part), 'row')}, at least {smallest} needed"
            stratum = stratum._replace(groups=None, reason=few)
        elif not leaves_groups_out:
            stratum = _with_comparable_groups(stratum)
        parts.append(stratum)
    if leaves_groups_out:
        return parts, None
    counts = groups[counting].sizes()
    return parts, why_undefined(groups.labels, counts, groups.min_group_size)


def _with_comparable_groups(stratum: Stratum) -> Stratum:
    """Leave out groups of a stratum that cannot be compared, and name them."""
    rows, groups = stratum.rows, stratum.groups
    assert groups is not None
    comparable, reason = comparable_groups(
        groups.labels, groups.sizes(), groups.min_group_size
    )
    if len(comparable) and reason:
        enough = np.isin(groups.codes, comparable)
        labels = tuple(groups.labels[i] for i in comparable.tolist())
        rows, groups = rows[enough], with_labels(groups[enough], labels)
    return stratum._replace(
        rows=rows, groups=groups if len(comparable) else None, reason=reason
    )


def _evaluated(
    stratum: Stratum, rows: Rows, evaluate: Callable[..., Any], *, told: bool
) -> Stratum:
    """Evaluate a metric, which knows no strata, in one, and collect reasons.

    The metric does not warn of rows where the user knows, from another stratum.
    """
    part = rows[stratum.rows]
    weights = {} if part.weight is None else {"sample_weight": part.weight}
    with collected_reasons() as reasons, rows_are_not_warned_of(told):
        result = evaluate(
            part.y_true, part.y_pred, sensitive_features=stratum.groups, **weights
        )
    result = None if _is_undefined(result) else result
    reasons = [stratum.reason, *reasons] if stratum.reason else reasons
    return stratum._replace(result=result, reason="; ".join(reasons))


def _is_undefined(result: Any) -> bool:
    """Whether a metric is nan, or the value of a result."""
    return math.isnan(getattr(result, "value", result))


def check_no_strata(options: dict[str, Any]) -> None:
    """Raise if strata are among the options that `partial` has set."""
    if options.get("control_features") is not None:
        raise ValueError(
            "control_features must be given beside sensitive_features, not as an "
            "option of the metric: they are split with the rows."
        )


def _of_one_stratum(metric: Any) -> Callable[..., Any]:
    """Return the metric of rows of one stratum, with its options."""
    specification, options = specification_of(metric)
    check_no_strata(options)
    if not is_known(metric):
        return partial(evaluate_users, metric)
    if not specification.takes_strata:
        return cast(Callable[..., Any], metric)
    options = {name: options[name] for name in options if name not in _OF_STRATA}
    return partial(specification.function, **options)


def evaluate_users(
    metric: Callable[..., Any],
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Groups,
    groups_as_given: Any = None,
    **weights: Any,
) -> float:
    """Evaluate a function of the user's own, which gets an array of labels.

    Rows without a group are left out. The value is nan, with a warning, where a group
    that is expected has too few rows. With `groups_as_given`, those of the user, the
    function must not have a value that it has not with the array.
    """
    groups, columns, rows = sensitive_features, [y_true, y_score], weights
    name, sizes = name_of(unwrapped(metric)[0]), groups.sizes()
    if (sizes < max(groups.min_group_size, 1)).any():
        reason = why_undefined(groups.labels, sizes, groups.min_group_size)
        warn_undefined(name, str(reason))
        return math.nan
    if sizes.sum() < len(groups):
        kept = np.flatnonzero(groups.codes >= 0)
        groups = groups[kept]
        columns = [None if c is None else take_rows(c, kept) for c in columns]
        rows = {key: take_rows(values, kept) for key, values in weights.items()}
    labels, value, error = label_array(groups), math.nan, None
    try:
        value = number_of(metric, metric(*columns, sensitive_features=labels, **rows))
    except Exception as raised:
        error = raised
    if groups_as_given is not None and math.isnan(value):
        rows = {"sensitive_features": groups_as_given, **weights}
        plain = _value_if_any(partial(metric, y_true, y_score, **rows))
        if not math.isnan(plain):
            raise ValueError(
                f"metric {name} is {plain:.6g} with sensitive_features as given, but "
                f"{'nan' if error is None else f'raises {error!r}'} with an array of "
                f"their labels, {labels[:2].tolist()} first, which is what tests, "
                "intervals and scorers pass: let it compare such labels."
            ) from error
    if error is not None:
        raise error
    return value


def _value_if_any(evaluate: Callable[[], Any]) -> float:
    """Return the number that a call returns; nan if it returns none, or raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return float(evaluate())
        except Exception:
            return math.nan


def defined_results(
    metric: Callable[..., Any],
    *rows: Any,
    evaluate: Callable[..., Any] | None = None,
) -> list[Stratum]:
    """Results of the strata that have one; a warning names what is left out.

    `rows` are those of `results_by_stratum`.
    """
    results, reason = results_by_stratum(metric, *rows, evaluate=evaluate)
    name = specification_of(metric)[0].name
    if reason is not None:
        warn_undefined(name, reason)
        return []
    warn_of_results(name, results)
    return [stratum for stratum in results if stratum.result is not None]


def results_by_stratum(
    metric: Callable[..., Any],
    *arguments: Any,
    evaluate: Callable[..., Any] | None = None,
) -> tuple[list[Stratum], str | None]:
    """Evaluate a metric in each stratum, and say why no groups compare, if so.

    `arguments` are true labels, scores, groups, strata and weights. `evaluate` takes
    the place of the metric in the strata.
    """
    y_true, y_score, groups, control, weights = arguments
    specification, plain = specification_of(metric)[0], _of_one_stratum(metric)
    if specification.takes_strata:
        # All arguments at once: messages have the positions of all rows, and labels
        # that occur in different strata are seen together.
        _of_one_group(plain, y_true, y_score, groups, weights)
    rows = read(y_true, y_score, groups, control, weights, name="y_score")
    strata, reason = split_strata(
        rows, leaves_groups_out=specification.leaves_groups_out
    )
    evaluate = plain if evaluate is None else evaluate
    first = next((stratum for stratum in strata if stratum.groups is not None), None)
    results = [
        stratum
        if stratum.groups is None
        else _evaluated(stratum, rows, evaluate, told=stratum is not first)
        for stratum in strata
    ]
    return results, reason


def _of_one_group(plain: Callable[..., Any], *arguments: Any) -> Any:
    """Evaluate a metric with one group, so that wrong input raises its error.

    `arguments` are true labels, scores, groups and weights.
    """
    y_true, y_score, sensitive_features, sample_weight = arguments
    if isinstance(y_score, GroupedStatistic):
        raise ValueError(
            "control_features must be None where a statistic takes the place of the "
            "rows: make a statistic of each stratum, and take the largest value."
        )
    n_samples = len(as_array(y_score, "y_score"))
    with rows_are_not_warned_of():
        groups = resolve_groups(sensitive_features, n_samples=n_samples)
    groups = replace(
        groups, codes=np.zeros(n_samples, np.int8), labels=groups.labels or (0,)
    )
    with warnings.catch_warnings(), collected_reasons():
        warnings.simplefilter("ignore")
        return plain(
            y_true, y_score, sensitive_features=groups, sample_weight=sample_weight
        )


def warn_of_results(name: str, results: Sequence[Stratum]) -> None:
    """Warn of the strata without a result, and of groups left out of others."""
    reasons = {stratum.label: stratum.reason for stratum in results}
    undefined = all(stratum.result is None for stratum in results)
    warn_of_strata(name, reasons, undefined=undefined)


def warn_of_strata(
    name: str, reasons: Mapping[Hashable, str], *, undefined: bool
) -> None:
    """Warn of the strata that are left out, or groups of them, for the reasons given.

    The reason is "" for a stratum of which nothing is left out.
    """
    texts = [f"{label!r} ({reason})" for label, reason in reasons.items() if reason]
    if undefined:
        why = f": {listed(texts)}" if texts else ""
        warn_undefined(name, f"no stratum has two groups that can be compared{why}")
    elif texts:
        left_out = f"leaves out strata, or groups within strata: {listed(texts)}"
        warn_or_collect(left_out, f"{name} {left_out}.")


def over_strata(
    metric: Callable[..., float],
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    sensitive_features: Any,
    control_features: Any = None,
    sample_weight: ArrayLike | None = None,
    groups_as_given: Any = None,
    **options: Any,
) -> float:
    """Value of a metric; the largest over strata if it has no parameters for them.

    Without strata a function of the user's own is compared with its value for
    `groups_as_given`, see `evaluate_users`.
    """
    rows = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
    rows = {name: values for name, values in rows.items() if values is not None}
    metric = partial(metric, **options)
    specification, settings = specification_of(metric)
    check_no_strata(settings)
    if control_features is None and not is_known(metric):
        rows["groups_as_given"] = groups_as_given
        return evaluate_users(metric, y_true, y_score, **rows)
    if control_features is None:
        return metric(y_true, y_score, **rows)
    if specification.takes_strata:
        return metric(y_true, y_score, control_features=control_features, **rows)
    results = defined_results(
        metric, y_true, y_score, sensitive_features, control_features, sample_weight
    )
    return max((stratum.result for stratum in results), default=math.nan)


@warns_if_reordered
def values_by_stratum(
    metric: Callable[..., float],
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    sensitive_features: Any,
    control_features: Any,
    sample_weight: ArrayLike | None = None,
) -> pd.DataFrame:
    """Compute a metric within each stratum.

    A metric with `control_features` is the largest of these values, or, with
    ``multistratum="weighted"``, their mean by `weight`.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_score, sensitive_features=...)`` that returns a number; with
        a keyword `sample_weight` if that is given. Use `functools.partial` to set its
        options.
    y_true : array-like of shape (n_samples,) or None
        True labels, handed to the metric.
    y_score : array-like of shape (n_samples,)
        Scores or predicted labels, handed to the metric.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each row; several columns stand for their intersection.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Stratum of each row; several columns stand for their intersection. Rows that a
        `Groups` leaves out, as ``encode_groups(..., missing="drop")`` does, are in no
        stratum.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sample weights.

    Returns
    -------
    DataFrame
        One row for each stratum: the ``value`` of the metric, nan where the stratum is
        left out; ``n_rows`` and their total ``weight``; and ``reason``, a text that
        says why the stratum is left out, or which groups are, "" if none is.

    Raises
    ------
    TypeError
        If an argument is missing, or of a kind that is not taken.
    ValueError
        On missing strata or groups, lengths that differ, and as the metric does.

    See Also
    --------
    mcdp : One of the metrics that take `control_features`.
    skfair.groups.encode_groups : Strata without missing values or small strata.
    values_by_class : The same by class.

    Notes
    -----
    A stratum is left out if it has fewer rows than the `min_group_size` of a `Groups`,
    if fewer than two groups have rows in it (or the `min_group_size` of their own), or
    if the metric is undefined in it. Groups with too few rows in a stratum are left out
    there, and compared in the others. Rows of weight zero do not count.

    Examples
    --------
    >>> from skfair.metrics import demographic_parity_difference, values_by_stratum
    >>> values_by_stratum(
    ...     demographic_parity_difference,
    ...     None,
    ...     [1, 0, 1, 1, 0, 0, 1],
    ...     sensitive_features=["F", "F", "M", "M", "F", "M", "M"],
    ...     control_features=["a", "a", "a", "a", "b", "b", "c"],
    ... )
       value  n_rows  weight                           reason
    a    0.5       4     4.0
    b    0.0       2     2.0
    c    NaN       1     1.0  only the group 'M' has rows
    """
    check_metric(metric)
    n_samples = len(as_array(y_score, "y_score"))
    if n_samples == 0:
        raise ValueError("y_score has 0 rows, expected at least one.")
    results, _ = results_by_stratum(
        metric, y_true, y_score, sensitive_features, control_features, sample_weight
    )
    with rows_are_not_warned_of():
        names = resolve_strata(control_features, n_samples=n_samples).names
    values = [
        math.nan if stratum.result is None else number_of(metric, stratum.result)
        for stratum in results
    ]
    return pd.DataFrame(
        {
            "value": np.array(values, dtype=np.float64),
            "n_rows": [stratum.n_rows for stratum in results],
            "weight": [stratum.weight for stratum in results],
            "reason": [stratum.reason for stratum in results],
        },
        index=group_index([stratum.label for stratum in results], names),
    )


#: Options that mean the same for every metric which has them.
_SHARED = {
    "multigroup": get_args(Multigroup),
    "multistratum": get_args(Multistratum),
}


def never(**options: Any) -> bool:
    """Say of a metric that its groups are permuted over all rows."""
    return False


def check_shared(options: Mapping[str, Any]) -> None:
    """Raise unless the options that many metrics have hold one of their values."""
    for name, choices in _SHARED.items():
        if name in options:
            check_choice(name, options[name], choices)


def refuse_sorted_rows(name: str) -> None:
    """Raise in a call by scikit-learn's `metric_at_thresholds`, direct or not.

    Its decisions have 32 bits. Only of these the callers are looked at.
    """
    frame = sys._getframe(2)
    while frame.f_code.co_name != "metric_at_thresholds" or (
        frame.f_globals.get("__name__", "").partition(".")[0] != "sklearn"
    ):
        if frame.f_back is None:
            return
        frame = frame.f_back
    raise ValueError(
        "metric_at_thresholds sorts y_true and y_score, but not sensitive_features, so "
        "that rows would get the groups of others. Evaluate each threshold by itself: "
        f"[{name}(y_true, y_score >= t, sensitive_features=...) for t in thresholds]."
    )

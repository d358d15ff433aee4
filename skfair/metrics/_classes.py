"""Scores of several classes: a metric of each class against the rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from inspect import signature
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skfair._utils._arrays import Floats
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
from skfair._utils._warnings import warns_if_reordered
from skfair.groups import columns_of, positions_in, resolve_groups, sort_labels
from skfair.metrics._spec import Specification, check_metric, number_of, unwrapped
from skfair.statistics import GroupedScores
from skfair.statistics._grouped_confusion import encode_classes


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
    codes, classes = None, None
    if y_true is not None:
        as_array(y_true, "y_true", n_samples)
        codes, classes = encode_classes("y_true", y_true)
    found = _class_labels(labels, classes, y_score, len(columns))
    if classes is not None and codes is not None:
        unknown = [label for label in classes if label not in found]
        if unknown:
            raise ValueError(f"y_true has {unknown[0]!r}, expected one of {found}.")
        codes = positions_in(tuple(found), classes)[codes]
    rows = {"control_features": control_features, "sample_weight": sample_weight}
    rows = {name: values for name, values in rows.items() if values is not None}
    rows["sensitive_features"] = resolve_groups(sensitive_features, n_samples=n_samples)
    values = [
        number_of(
            metric, metric(None if codes is None else codes == position, column, **rows)
        )
        for position, column in enumerate(columns)
    ]
    return pd.Series(values, pd.Index(found, tupleize_cols=False), float, "value")


def evaluate_classes(specification: Specification, *args: Any, **kwargs: Any) -> Any:
    """Evaluate a metric of rows of one stratum: the largest value over classes.

    Two columns are left to the metric, which refuses them: which of two classes is
    meant matters for windows and bins.
    """
    metric, names = specification.function, specification.inputs
    given = signature(metric).bind(*args, **kwargs).arguments
    y_true, y_score = (given.pop(name) for name in names)
    columns = split_classes(specification, given, y_true, y_score)
    if len(columns) == 1:
        return metric(*args, **kwargs)
    n_samples = len(columns[0])
    groups = given.get("sensitive_features")
    given["sensitive_features"] = resolve_groups(groups, n_samples=n_samples)
    largest = metric(None, columns[0], **given)
    if math.isnan(largest):  # the groups cannot be compared in any class
        return largest
    return max(largest, *(metric(None, column, **given) for column in columns[1:]))


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
    found: Iterable[Any] = range(n_classes)
    if labels is not None:
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            raise TypeError(f"labels must be a list of classes, got {labels!r}.")
        found = labels
    elif all(names) and names != numbers:
        found = names
    elif classes is not None:
        found = sort_labels(classes)
    found = [one.item() if isinstance(one, np.generic) else one for one in found]
    if len(found) != n_classes or len(set(found)) != n_classes:
        raise ValueError(
            f"labels must be {n_classes} different classes, one for each column of "
            f"y_score, got {found}."
        )
    return found

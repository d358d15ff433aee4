"""Values of a metric by class, and by stratum."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skfair._utils._validation import TAKES_ANY, as_array
from skfair.groups import columns_of, group_index, positions_in, sort_labels
from skfair.metrics._as_metric import as_metric
from skfair.metrics._strata import columns_of_classes
from skfair.statistics._labels import encode_classes


def values_by_class(
    metric: Any,
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    sensitive_features: ArrayLike | None,
    control_features: ArrayLike | None = None,
    labels: Sequence[Hashable] | None = None,
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    **options: Any,
) -> pd.Series[float]:
    """Compute a metric of the scores of each class, one against the rest.

    A metric of scores of several classes, such as `mcdp` of what `predict_proba`
    returns, is the largest of these values; ``idxmax()`` names its class.

    Parameters
    ----------
    metric : callable or str
        ``metric(y_true, y_score, sensitive_features=...)`` of the scores of one class
        that returns a number; with a keyword `sample_weight` or `control_features` if
        that is given. The name of a metric stands for it.
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
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.
    **options : dict
        Options of the metric, such as ``pos_label="yes"`` or ``epsilon=0.05``.

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
    metric = as_metric(metric, **options)
    scale = metric.options.get("scale", "probability")
    columns = columns_of_classes(y_score, "y_score", scale, TAKES_ANY)
    codes, classes, trues = None, None, [None] * len(columns)
    if y_true is not None:
        as_array(y_true, "y_true", len(columns[0]))
        codes, classes = encode_classes("y_true", y_true)
    names = _class_labels(labels, classes, y_score, len(columns))
    if classes is not None and codes is not None:
        unknown = [label for label in classes if label not in names]
        if unknown:
            raise ValueError(f"y_true has {unknown[0]!r}, expected one of {names}.")
        codes = positions_in(tuple(names), classes)[codes]
        trues = [codes == position for position in range(len(columns))]
    arguments = sensitive_features, control_features, sample_weight, counts
    rows = metric.read(None, y_score, *arguments)
    rows_of_classes = [
        replace(rows, y_true=true, y_pred=column)
        for true, column in zip(trues, columns, strict=True)
    ]
    values = [metric.evaluate(class_rows) for class_rows in rows_of_classes]
    metric.advise(rows_of_classes[0])
    return pd.Series(values, pd.Index(names, tupleize_cols=False), float, "value")


def _class_labels(
    labels: Any, classes: Sequence[Hashable] | None, y_score: Any, n_classes: int
) -> list[Hashable]:
    """Return the classes in the order of the columns of scores."""
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


def values_by_stratum(
    metric: Any,
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    sensitive_features: ArrayLike | None,
    control_features: ArrayLike | None,
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Compute a metric within each stratum.

    A metric with `control_features` is the largest of these values, or, with
    ``multistratum="weighted"``, their mean by `weight`.

    Parameters
    ----------
    metric : callable or str
        ``metric(y_true, y_score, sensitive_features=...)`` that returns a number; with
        a keyword `sample_weight` if that is given. The name of a metric stands for it.
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
    counts : array-like of shape (n_samples,), default=None
        How many people each row stands for; by default one.
    **options : dict
        Options of the metric, such as ``pos_label="yes"`` or ``epsilon=0.05``.

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
    metric = as_metric(metric, **options)
    if control_features is None:
        raise ValueError("control_features is None, expected the stratum of each row.")
    arguments = sensitive_features, control_features, sample_weight, counts
    rows = metric.read(y_true, y_score, *arguments)
    parts = metric.split(rows)
    strata = parts.strata or []
    estimates = parts.evaluate_strata(metric.estimate_part, metric.join_estimates)
    return pd.DataFrame(
        {
            "value": np.array(
                [estimate.value for estimate in estimates], dtype=np.float64
            ),
            "n_rows": [stratum.n_rows for stratum in strata],
            "weight": [stratum.weight for stratum in strata],
            "reason": [estimate.reason for estimate in estimates],
        },
        index=group_index([stratum.label for stratum in strata], rows.strata.names),
    )

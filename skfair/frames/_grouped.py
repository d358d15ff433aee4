"""The statistics of a table, each by one aggregation on its engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import numpy as np

from skfair._utils._validation import Scale, check_choice
from skfair.frames._query import (
    Counted,
    Table,
    count_rows_by,
    names_of,
    open_table,
)
from skfair.metrics._inputs import positive_rows
from skfair.metrics._rates import parity_outcomes
from skfair.statistics import (
    GroupedCalibration,
    GroupedConfusion,
    GroupedHistogram,
    GroupedOutcomes,
    GroupedScores,
)
from skfair.statistics._grouped_histogram import check_n_bins, join_cells


def grouped_histogram(
    frame: Any,
    *,
    y_score: str,
    sensitive_features: str | list[str],
    n_bins: int = 2**16,
    sample_weight: str | None = None,
) -> GroupedHistogram:
    """Count the scores of each group in bins, where the rows are.

    The table is read once, by one aggregation; only its cells are moved: at most
    ``n_bins`` for each group. Bounds of metrics are computed from them.

    Parameters
    ----------
    frame : table
        Of any library that narwhals reads: pandas, Polars (eager or lazy), PyArrow,
        DuckDB, Ibis, PySpark, SQLFrame, or Dask where narwhals supports it.
    y_score : str
        Name of the column of scores in [0, 1].
    sensitive_features : str or list of str
        Name of the column of groups; several stand for their intersection.
    n_bins : int, default=65536
        Number of bins, a power of two.
    sample_weight : str, default=None
        Name of the column of non-negative sample weights.

    Returns
    -------
    GroupedHistogram
        The same as `GroupedHistogram.from_scores` of the rows, on every engine; sums of
        weights that are not whole numbers may differ by rounding.

    Raises
    ------
    ValueError
        If a column is missing, if there are no rows, and with their numbers if scores
        are NULL, NaN or outside [0, 1], if groups are missing, or if weights are
        negative or not finite.
    TypeError
        If `frame` is no table, or if scores or weights are no numbers.

    See Also
    --------
    grouped_scores : Every distinct score, for exact values.
    skfair.metrics.metric_bounds : Bounds of metrics, from the histogram.

    Examples
    --------
    >>> import polars as pl
    >>> from skfair.frames import grouped_histogram
    >>> from skfair.metrics import mcdp, metric_bounds
    >>> frame = pl.LazyFrame({"score": [0.2, 0.4, 0.9], "sex": ["F", "F", "M"]})
    >>> histogram = grouped_histogram(frame, y_score="score", sensitive_features="sex")
    >>> metric_bounds(mcdp, histogram)
    MetricBounds(lower=1, upper=1)
    """
    n_bins = check_n_bins(n_bins)
    rows = open_table(frame, sensitive_features, sample_weight, y_score=y_score)
    table = Table(rows, names_of(sensitive_features), sample_weight, y_score)
    return _histogram_of(count_rows_by(table, n_bins))


def _histogram_of(counted: Counted, entries: Any = slice(None)) -> GroupedHistogram:
    """Histogram of rows that were counted by bin, of all entries or some."""
    assert counted.n_bins is not None
    groups = counted.groups
    columns = (
        groups.codes,
        counted.keys.astype(np.int64),
        counted.rows,
        counted.weights,
        counted.squares,
        counted.lows,
        counted.highs,
    )
    cells = join_cells(*(column[entries] for column in columns))
    return GroupedHistogram(*cells, counted.n_bins, groups.labels, groups.names)


def grouped_calibration(
    frame: Any,
    *,
    y_true: str,
    y_score: str,
    sensitive_features: str | list[str],
    pos_label: Any = None,
    n_bins: int = 2**16,
    sample_weight: str | None = None,
) -> GroupedCalibration:
    """Count the scores of each group and true label in bins, where the rows are.

    The table is read once, by one aggregation; only its cells are moved: at most
    ``2 * n_bins`` for each group. Bounds of `calibration_gap`
    are computed from them.

    Parameters
    ----------
    frame : table
        Of any library that narwhals reads, as in `grouped_histogram`.
    y_true : str
        Name of the column of true labels of two classes.
    y_score : str
        Name of the column of probabilities of the positive class, in [0, 1].
    sensitive_features : str or list of str
        Name of the column of groups; several stand for their intersection.
    pos_label : int, float, bool or str, default=None
        The true label that counts as positive. None is 1 where the labels are 0 and 1,
        or -1 and 1; text labels need it.
    n_bins : int, default=65536
        Number of bins, a power of two.
    sample_weight : str, default=None
        Name of the column of non-negative sample weights.

    Returns
    -------
    GroupedCalibration
        The same as `GroupedCalibration.from_scores` of the rows, on every engine; sums
        of weights that are not whole numbers may differ by rounding.

    Raises
    ------
    ValueError
        As in `grouped_histogram`, if labels are missing, and if they are of more than
        two classes.
    TypeError
        As in `grouped_histogram`.

    See Also
    --------
    skfair.metrics.metric_bounds : Bounds of metrics of calibration.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfair.frames import grouped_calibration
    >>> from skfair.metrics import calibration_gap, metric_bounds
    >>> frame = pd.DataFrame(
    ...     {"y": [1, 0, 0, 0], "score": [0.75, 0.25, 0.75, 0.25], "sex": list("FFMM")}
    ... )
    >>> statistic = grouped_calibration(
    ...     frame, y_true="y", y_score="score", sensitive_features="sex"
    ... )
    >>> metric_bounds(calibration_gap, statistic)
    MetricBounds(lower=0.5, upper=0.5)
    """
    n_bins = check_n_bins(n_bins)
    rows = open_table(
        frame, sensitive_features, sample_weight, y_true=y_true, y_score=y_score
    )
    names = names_of(sensitive_features)
    table = Table(rows, names, sample_weight, y_score, classes=(y_true,))
    counted = count_rows_by(table, n_bins)
    positive = positive_rows(counted.classes[0], "y_true", pos_label)
    return GroupedCalibration(
        _histogram_of(counted, positive), _histogram_of(counted, ~positive)
    )


def grouped_scores(
    frame: Any,
    *,
    y_score: str,
    sensitive_features: str | list[str],
    scale: Scale = "probability",
    sample_weight: str | None = None,
) -> GroupedScores:
    """Count how often each score occurs in each group, where the rows are.

    All metrics are exact from it. Every distinct pair of score and group is moved: use
    it where scores are rounded or come from trees, and `grouped_histogram` where nearly
    every row has a score of its own.

    Parameters
    ----------
    frame : table
        Of any library that narwhals reads, as in `grouped_histogram`.
    y_score : str
        Name of the column of scores in [0, 1], with ``scale="rank"`` of any finite
        numbers.
    sensitive_features : str or list of str
        Name of the column of groups; several stand for their intersection.
    scale : {"probability", "rank"}, default="probability"
        ``"rank"`` is for scores that are no probabilities, of which metrics take ranks:
        pass ``scale="rank"`` to them, too. The statistic keeps the scores.
    sample_weight : str, default=None
        Name of the column of non-negative sample weights.

    Returns
    -------
    GroupedScores
        The same as `GroupedScores.from_scores` of the rows.

    Raises
    ------
    ValueError
        As in `grouped_histogram`; with ``scale="rank"`` if scores are infinite, not if
        they are outside [0, 1].
    TypeError
        As in `grouped_histogram`.

    See Also
    --------
    grouped_histogram : Scores in bins, of any number of rows.
    skfair.statistics.GroupedScores : The statistic, and how it is made of arrays.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfair.frames import grouped_scores
    >>> frame = pd.DataFrame({"score": [0.2, 0.2, 0.9], "sex": ["F", "F", "M"]})
    >>> grouped_scores(frame, y_score="score", sensitive_features="sex")
    GroupedScores(2 entries; rows 'F': 2, 'M': 1)
    """
    check_choice("scale", scale, get_args(Scale))
    rows = open_table(frame, sensitive_features, sample_weight, y_score=y_score)
    names = names_of(sensitive_features)
    counted = count_rows_by(
        Table(rows, names, sample_weight, y_score, scale=scale), None
    )
    statistic = GroupedScores.from_counts(
        counted.keys,
        sensitive_features=counted.groups,
        n_rows=counted.rows,
        total_weight=counted.weights,
        scale=scale,
    )
    # Rows of one score and group may weigh differently.
    return replace(statistic, squares=counted.by_group(counted.squares))


def grouped_confusion(
    frame: Any,
    *,
    y_true: str,
    y_pred: str,
    sensitive_features: str | list[str],
    sample_weight: str | None = None,
) -> GroupedConfusion:
    """Count the predictions of each group and true class, where the rows are.

    Parameters
    ----------
    frame : table
        Of any library that narwhals reads, as in `grouped_histogram`.
    y_true : str
        Name of the column of true labels.
    y_pred : str
        Name of the column of predicted labels.
    sensitive_features : str or list of str
        Name of the column of groups; several stand for their intersection.
    sample_weight : str, default=None
        Name of the column of non-negative sample weights.

    Returns
    -------
    GroupedConfusion
        The same as `GroupedConfusion.from_predictions` of the rows.

    Raises
    ------
    ValueError
        If a column is missing, if there are no rows, and with their numbers if labels
        or groups are missing, or if weights are negative or not finite.
    TypeError
        If `frame` is no table, or if weights are no numbers.

    See Also
    --------
    grouped_outcomes : Rates of one class by group.
    skfair.statistics.GroupedConfusion : The statistic, and how it is made of arrays.
    skfair.metrics.dcp : Takes it.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfair.frames import grouped_confusion
    >>> from skfair.metrics import equalized_odds_difference
    >>> frame = pd.DataFrame(
    ...     {"y": [1, 1, 0, 1, 0], "hired": [1, 0, 0, 1, 0], "sex": list("FFFMM")}
    ... )
    >>> statistic = grouped_confusion(
    ...     frame, y_true="y", y_pred="hired", sensitive_features="sex"
    ... )
    >>> equalized_odds_difference(None, statistic)
    0.5
    """
    rows = open_table(
        frame, sensitive_features, sample_weight, y_true=y_true, y_pred=y_pred
    )
    names = names_of(sensitive_features)
    counted = count_rows_by(
        Table(rows, names, sample_weight, classes=(y_true, y_pred)), None
    )
    statistic = GroupedConfusion.from_predictions(
        *counted.classes,
        sensitive_features=counted.groups,
        sample_weight=counted.weights,
    )
    # The same entries again, each weighing its number of rows.
    rows = GroupedConfusion.from_predictions(
        *counted.classes,
        sensitive_features=counted.groups,
        sample_weight=counted.rows,
    )
    return replace(statistic, label_counts=rows.matrices.sum(axis=2))


def grouped_outcomes(
    frame: Any,
    *,
    y_pred: str,
    sensitive_features: str | list[str],
    pos_label: Any = None,
    sample_weight: str | None = None,
) -> GroupedOutcomes:
    """Count the rows and the positive decisions of each group, where the rows are.

    Parameters
    ----------
    frame : table
        Of any library that narwhals reads, as in `grouped_histogram`.
    y_pred : str
        Name of the column of predicted labels of two classes.
    sensitive_features : str or list of str
        Name of the column of groups; several stand for their intersection.
    pos_label : int, float, bool or str, default=None
        The predicted label that counts as positive. None stands for 1 where labels
        are numbers; text labels need it.
    sample_weight : str, default=None
        Name of the column of non-negative sample weights.

    Returns
    -------
    GroupedOutcomes
        The same as `GroupedOutcomes.from_outcomes` of 0/1 decisions.

    Raises
    ------
    ValueError
        As in `grouped_confusion`, and if labels are of more than two classes.
    TypeError
        As in `grouped_confusion`.

    See Also
    --------
    grouped_confusion : True and predicted classes by group.
    skfair.statistics.GroupedOutcomes : The statistic, and how it is made of arrays.
    skfair.metrics.cvar_fairness : Takes it.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfair.frames import grouped_outcomes
    >>> frame = pd.DataFrame({"hired": [True, False, True], "sex": ["F", "F", "M"]})
    >>> grouped_outcomes(frame, y_pred="hired", sensitive_features="sex")
    GroupedOutcomes('F': 0.5 of 2, 'M': 1 of 1)
    """
    rows = open_table(frame, sensitive_features, sample_weight, y_pred=y_pred)
    names = names_of(sensitive_features)
    counted = count_rows_by(Table(rows, names, sample_weight, classes=(y_pred,)), None)
    counts = counted.by_group(counted.rows)
    positive = parity_outcomes(counted.classes[0], None, pos_label)
    return GroupedOutcomes(
        counted.by_group(counted.weights * positive),
        counted.by_group(counted.weights),
        counted.by_group(counted.squares),
        counts,
        counted.groups.labels,
        counted.groups.names,
    )

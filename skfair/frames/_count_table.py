"""A table of any library counted by one aggregation on its engine."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from skfair._rows import Rows
from skfair.frames._query import (
    Table,
    check_numeric_column,
    count_rows_by,
    group_names,
    open_table,
    stratum_names,
)
from skfair.statistics import CountTable
from skfair.statistics._cells import check_n_bins
from skfair.statistics._count_table import table_of


def count_table(
    frame: Any,
    *,
    y_pred: str,
    sensitive_features: str | list[str],
    y_true: str | None = None,
    control_features: str | list[str] | None = None,
    n_bins: int | None = None,
    sample_weight: str | None = None,
) -> CountTable:
    """Count the rows of a table that are alike, where the rows are.

    The table is read once, by one aggregation, and only the cells are moved. A cell is
    a group, a true label, and a decision, distinct score or bin, with its number of
    rows. Without bins all metrics are exact; use this for decisions, and for scores
    that are rounded or come from trees. Where nearly every row has its own score, bins
    serve tables of any size, and metrics are known within bounds.

    Parameters
    ----------
    frame : table
        Of any library that narwhals reads: pandas, Polars (eager or lazy), PyArrow,
        DuckDB, Ibis, PySpark, SQLFrame, or Dask where narwhals supports it.
    y_pred : str
        Name of the column of scores, of predicted labels or of numbers.
    sensitive_features : str or list of str
        Name of the column of groups; several stand for their intersection.
    y_true : str, default=None
        Name of the column of true labels, for metrics of errors and of calibration.
    control_features : str or list of str, default=None
        Name of the column of strata; several stand for their intersection.
    n_bins : int, default=None
        Number of bins of scores in [0, 1], a power of two such as 65,536.
    sample_weight : str, default=None
        Name of the column of non-negative sample weights.

    Returns
    -------
    CountTable
        The same as `CountTable.from_rows` of the rows, on every engine; sums of weights
        that are not whole numbers may differ by rounding.

    Raises
    ------
    ValueError
        If a column is missing, if there are no rows, and with their numbers if scores
        are NULL, NaN or infinite, with `n_bins` outside [0, 1], if labels or groups are
        missing, or if weights are negative or not finite.
    TypeError
        If `frame` is not a table, or if weights, or scores in bins, are not numbers.

    See Also
    --------
    skfair.statistics.CountTable : The table, and how it is made of arrays.
    skfair.metrics.metric_bounds : Bounds of metrics, from scores in bins.

    Examples
    --------
    >>> import polars as pl
    >>> from skfair.frames import count_table
    >>> from skfair.metrics import mcdp, metric_bounds
    >>> frame = pl.LazyFrame({"score": [0.2, 0.2, 0.9], "sex": ["F", "F", "M"]})
    >>> table = count_table(frame, y_pred="score", sensitive_features="sex")
    >>> table
    CountTable(2 cells; people 'F': 2, 'M': 1)
    >>> mcdp(None, table)
    1.0
    >>> in_bins = count_table(
    ...     frame, y_pred="score", sensitive_features="sex", n_bins=4
    ... )
    >>> metric_bounds(mcdp, in_bins)
    MetricBounds(lower=1, upper=1)
    """
    n_bins = None if n_bins is None else check_n_bins(n_bins)
    columns = {"y_pred": y_pred} | ({} if y_true is None else {"y_true": y_true})
    rows = open_table(
        frame,
        sensitive_features,
        sample_weight=sample_weight,
        control_features=control_features,
        **columns,
    )
    dtype = rows.collect_schema()[y_pred]
    if n_bins is not None:
        check_numeric_column(rows, "y_pred", y_pred, dtype)
    has_scores = n_bins is not None or dtype.is_float() or dtype == nw.Decimal
    labels = ([] if y_true is None else [y_true]) + ([] if has_scores else [y_pred])
    table = Table(
        rows,
        group_names(sensitive_features),
        sample_weight,
        y_pred if has_scores else None,
        classes=tuple(labels),
        scale="rank" if has_scores and n_bins is None else "probability",
        control=stratum_names(control_features),
    )
    counted = count_rows_by(table, n_bins)
    scores = counted.keys if n_bins is None else counted.keys / n_bins
    cells = Rows(
        counted.groups,
        counted.strata,
        y_true=None if y_true is None else counted.classes[0],
        y_pred=scores if has_scores else counted.classes[-1],
        weight=None if sample_weight is None else counted.weights,
        n=counted.counts,
        squares=None if sample_weight is None else counted.squares,
        low=None if n_bins is None else counted.lows,
        high=None if n_bins is None else counted.highs,
        n_bins=n_bins or 0,
    )
    return table_of(cells)

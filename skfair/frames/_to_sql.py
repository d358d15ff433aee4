"""The aggregation of a histogram as SQL."""

from __future__ import annotations

from skfair._utils._sql import quote_name
from skfair._utils._validation import ROUNDING, check_choice
from skfair.frames._query import names_of
from skfair.statistics._grouped_histogram import cell_name, check_n_bins


def to_sql(
    table: str,
    *,
    y_score: str,
    sensitive_features: str | list[str],
    n_bins: int = 2**16,
    quote: str = '"',
    sample_weight: str | None = None,
) -> str:
    """Write the aggregation of `grouped_histogram` as a SQL query.

    For an auditor who has a SQL console and nothing else: run it, save the result as a
    table, and read it with `GroupedHistogram.from_cells`.

    Parameters
    ----------
    table : str
        Table to read, as it is written in SQL: ``sales.predictions``, or for DuckDB
        ``'predictions/*.parquet'`` in quotation marks.
    y_score : str
        Name of the column of scores in [0, 1].
    sensitive_features : str or list of str
        Name of the column of groups; several stand for their intersection. One that
        has the name of a column of the result, such as ``low``, is called
        ``group_low`` there, which `from_cells` undoes.
    n_bins : int, default=65536
        Number of bins, a power of two; `from_cells` needs the same.
    quote : {'"', "`"}, default='"'
        Quotation mark of names of columns: a double one in standard SQL, a backtick in
        BigQuery, Spark, Databricks and MySQL.
    sample_weight : str, default=None
        Name of the column of non-negative sample weights. DuckDB and Trino take
        booleans as 0 and 1, other databases need numbers.

    Returns
    -------
    str
        A query of standard SQL. Rows whose score is NULL or outside [0, 1] by more than
        rounding, or whose weight is NULL or negative, have a NULL in place of the bin,
        which `from_cells` refuses; rows of weight zero are left out.

    Raises
    ------
    ValueError
        On a number of bins that is no power of two, or another quotation mark.
    TypeError
        If names are no text.

    See Also
    --------
    skfair.statistics.GroupedHistogram.from_cells : Reads the result.
    grouped_histogram : The same where Python reaches the table.

    Examples
    --------
    >>> from skfair.frames import to_sql
    >>> print(to_sql("loans", y_score="score", sensitive_features="sex", n_bins=4096))
    SELECT
      "sex",
      CASE WHEN "score" < -1e-12 OR "score" > 1.000000000001 THEN NULL
           WHEN "score" < 0 THEN 0
           WHEN "score" >= 1 THEN 4095
           ELSE FLOOR("score" * 4096) END AS bin,
      COUNT(*) AS n_rows,
      MIN("score") AS low,
      MAX("score") AS high
    FROM loans
    GROUP BY 1, 2
    """
    n_bins = check_n_bins(n_bins)
    check_choice("quote", quote, ('"', "`"))
    names = names_of(sensitive_features)
    check_names(table, y_score, *names)
    if sample_weight is not None:
        check_names(sample_weight)
    score = quote_name(y_score, quote)
    faulty = f"{score} < {-ROUNDING!r} OR {score} > {1 + ROUNDING!r}"
    sums, rows = [], ""
    if sample_weight is not None:
        weight = quote_name(sample_weight, quote)
        if quote == '"':  # other databases have another name for the type
            # Booleans count as 0 and 1.
            weight = f"CAST({weight} AS DOUBLE PRECISION)"
        faulty += f" OR {weight} IS NULL OR {weight} < 0"
        sums = [
            f"SUM({weight}) AS weight",
            f"SUM({weight} * {weight}) AS weight_squared",
        ]
        rows = f"\nWHERE {weight} IS NULL OR {weight} <> 0"
    columns = [
        *(_sensitive_column(name, quote) for name in names),
        f"CASE WHEN {faulty} THEN NULL\n"
        f"       WHEN {score} < 0 THEN 0\n"
        f"       WHEN {score} >= 1 THEN {n_bins - 1}\n"
        f"       ELSE FLOOR({score} * {n_bins}) END AS bin",
        "COUNT(*) AS n_rows",
        *sums,
        f"MIN({score}) AS low",
        f"MAX({score}) AS high",
    ]
    keys = ", ".join(str(i + 1) for i in range(len(names) + 1))
    listed = ",\n  ".join(columns)
    return f"SELECT\n  {listed}\nFROM {table}{rows}\nGROUP BY {keys}"


def _sensitive_column(name: str, quote: str) -> str:
    """Write a sensitive column, under a name that no column of numbers has."""
    column, alias = quote_name(name, quote), cell_name(name)
    return column if alias == name else f"{column} AS {quote_name(alias, quote)}"


def check_names(*names: str) -> None:
    """Raise unless names of tables and columns are text."""
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"Names of tables and columns must be text, got {name!r}.")

"""The public summary of a bias audit that New York City's Local Law 144 asks for."""

from __future__ import annotations

import datetime
from typing import Any, Literal

import pandas as pd

from skfair._utils._text import plain
from skfair._utils._validation import check_choice
from skfair.report._markdown import markdown_table

_COLUMNS = ["n", "selected", "rate", "impact_ratio"]
_HEADINGS = {
    "selection": ["Number", "Selected", "Selection rate", "Impact ratio"],
    "scoring": ["Number", "Above the median", "Scoring rate", "Impact ratio"],
}


def public_summary(
    table: pd.DataFrame,
    *,
    audit_date: str | datetime.date,
    distribution_date: str | datetime.date,
    source: str,
    rate: Literal["selection", "scoring"] = "selection",
    justification: str | None = None,
) -> str:
    """Write the summary of a bias audit for New York City's Local Law 144.

    It has the fields that section 5-303 of the rules names: the date of the audit, the
    distribution date of the tool, the source and explanation of the data, the numbers
    of people in an unknown category, and for each category its number, its selection
    or scoring rate, and its impact ratio. It passes no judgement.

    Parameters
    ----------
    table : DataFrame
        Table of `skfair.metrics.impact_ratios`, or that of one model and kind of a
        report, with the index ``["attribute", "group"]``.
    audit_date : str or date
        Date of the most recent bias audit, a text as ``"2026-03-02"``.
    distribution_date : str or date
        Date on which the employer began to use the tool.
    source : str
        Source and explanation of the data.
    rate : {"selection", "scoring"}, default="selection"
        Kind of rate in `table`.
    justification : str, default=None
        Why categories are excluded from the ratios. It is required where `table`
        excludes any.

    Returns
    -------
    str
        Markdown in English: the fields, and a table for each attribute and for the
        intersection of all.

    Raises
    ------
    ValueError
        If a field is empty or no date, if `table` has other columns or two rows of a
        group, or if it excludes categories without `justification`.

    See Also
    --------
    skfair.metrics.impact_ratios : The table, with intervals.

    References
    ----------
    .. [1] Rules of the City of New York, Title 6, section 5-303.

    Examples
    --------
    >>> from skfair.metrics import impact_ratios
    >>> from skfair.report import public_summary
    >>> sex, hired = ["F", "F", "M", "M", None], [1, 0, 1, 1, 0]
    >>> table = impact_ratios(None, hired, sensitive_features=sex)
    >>> print(public_summary(
    ...     table,
    ...     audit_date="2026-03-02",
    ...     distribution_date="2025-11-10",
    ...     source="Applications of 2025, of all sites.",
    ... ))
    # Summary of the results of the bias audit
    <BLANKLINE>
    - Date of the bias audit: 2026-03-02
    - Distribution date of the tool: 2025-11-10
    - Source and explanation of the data: Applications of 2025, of all sites.
    - Number of people in an unknown category: 1 by group
    <BLANKLINE>
    ## group
    <BLANKLINE>
    | Category | Number | Selected | Selection rate | Impact ratio |
    | --- | --- | --- | --- | --- |
    | F | 2 | 1 | 0.500 | 0.500 |
    | M | 2 | 2 | 1.000 | 1.000 |
    """
    check_choice("rate", rate, tuple(_HEADINGS))
    _check_table(table)
    fields = {
        "Date of the bias audit": _written_date("audit_date", audit_date),
        "Distribution date of the tool": _written_date(
            "distribution_date", distribution_date
        ),
        "Source and explanation of the data": _text("source", source),
        "Number of people in an unknown category": _unknown(table),
    }
    excluded = table.index[table["status"] == "excluded"]
    if len(excluded):
        why = f"justification must say why {excluded[0][1]!r} is excluded, got None."
        if justification is None:
            raise ValueError(why)
        fields["Justification of exclusions"] = _text("justification", justification)
    lines = ["# Summary of the results of the bias audit", ""]
    lines += [f"- {name}: {plain(text)}" for name, text in fields.items()]
    for attribute in dict.fromkeys(table.index.get_level_values(0)):
        rows = markdown_table(_table_of_rates(table.loc[[attribute]], rate))
        lines += ["", f"## {plain(str(attribute))}", "", rows]
    return "\n".join(lines)


def _check_table(table: Any) -> None:
    """Raise unless a table has the rows and columns of `impact_ratios`."""
    if (
        not isinstance(table, pd.DataFrame)
        or list(table.index.names) != ["attribute", "group"]
        or not {*_COLUMNS, "status"} <= {*table.columns}
    ):
        raise ValueError(
            "table must be one of impact_ratios, with the index ['attribute', "
            f"'group'] and the columns {[*_COLUMNS, 'status']}, got {type(table)}."
        )
    twice = table.index[table.index.duplicated()]
    if len(twice):
        raise ValueError(
            "table must have one row for each group, of one model and one kind of "
            f"rate, got several for {twice[0]}."
        )


def _written_date(name: str, value: Any) -> str:
    """Write a date as in 2026-03-02."""
    try:
        return datetime.date.fromisoformat(str(value)).isoformat()
    except ValueError:
        raise ValueError(
            f"{name} must be a date, or a text as '2026-03-02', got {value!r}."
        ) from None


def _text(name: str, value: Any) -> str:
    """Return a text that says something."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} must be a text that is not empty, got {value!r}.")
    return value


def _unknown(table: pd.DataFrame) -> str:
    """Write the number of people without a group, by attribute."""
    counts = table["n"].where(table["status"] == "unknown", 0)
    counts = counts.groupby(level=0, sort=False).sum()
    return "; ".join(f"{int(n):,} by {attribute}" for attribute, n in counts.items())


def _table_of_rates(table: pd.DataFrame, rate: str) -> pd.DataFrame:
    """Rows of one attribute, by category, under the headings of the rules."""
    known = table[table["status"] != "unknown"].droplevel(0)
    shown = known[_COLUMNS].astype({"impact_ratio": object})
    shown["impact_ratio"] = shown["impact_ratio"].mask(
        known["status"] == "excluded", "excluded"
    )
    if not (shown["selected"] % 1).any():  # weights need not add up to whole numbers
        shown["selected"] = shown["selected"].astype(int)
    return shown.set_axis(_HEADINGS[rate], axis=1).rename_axis("Category")

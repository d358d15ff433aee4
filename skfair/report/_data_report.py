"""The data page: who is in a table, before any model."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping
from os import PathLike
from typing import Any, NamedTuple, Self

from numpy.typing import ArrayLike

from skfair._utils._class_methods import MadeByClassMethods
from skfair._utils._columns import names_columns, positions_of, select_columns
from skfair._utils._files import write_text
from skfair._utils._language import (
    DASH,
    LANGUAGES,
    counted,
    figure,
    in_quotes,
    interval,
    number,
    percent,
    say,
    speaking,
    whole,
)
from skfair._utils._text import visible_text
from skfair._utils._validation import (
    check_choice,
    check_integer,
    check_length,
    check_real,
)
from skfair._utils._warnings import warns_if_reordered
from skfair.groups import Groups, columns_of, encode_groups
from skfair.metrics._inputs import positive_class
from skfair.report._data_numbers import (
    Column,
    distance_rows,
    group_rows,
    missing_rows,
    proxy_rows,
    read_column,
)
from skfair.report._inputs import Attribute, named_columns, with_intersection
from skfair.report._names import name_of, title_text
from skfair.report._page._html import record_of, render_page
from skfair.report._summary import check_summary, versions_of
from skfair.statistics._grouped_confusion import encode_classes

Summary = dict[str, Any]

FORMAT = "skfair.data/1"
DEFAULT_TITLE = "Who is in the data"
#: An AUC of which the lower end is above this is called a proxy.
_TELLS = 0.6


class TextTable(NamedTuple):
    """A table of a page, as text: `head` names the columns of `rows`."""

    title: str
    sentence: str
    head: list[str]
    rows: list[list[str]]


class DataReport(MadeByClassMethods):
    """Report of a table before any model: groups, base rates, gaps and proxies.

    It is made by `from_frame`.

    Parameters
    ----------
    summary : dict
        All numbers, kept as the attribute of this name.

    See Also
    --------
    FairnessReport : The report of a model.
    skfair.sampling : Plans of who to sample.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skfair.report import DataReport
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.choice(["F", "M"], 500)
    >>> hours = 35 + 8 * (sex == "M") + rng.normal(size=500)
    >>> X = pd.DataFrame({"sex": sex, "hours": hours})
    >>> y = (rng.random(500) < np.where(sex == "M", 0.5, 0.3)).astype(int)
    >>> report = DataReport.from_frame(X, y, sensitive_features="sex")
    >>> by_sex = report.summary["attributes"][0]
    >>> [round(row["base_rate"], 2) for row in by_sex["groups"]]
    [0.28, 0.49]
    >>> round(by_sex["proxies"][0]["auc"], 2)
    1.0
    """

    def __init__(self, summary: dict[str, Any]) -> None:
        self.summary = check_summary(DataReport, summary)

    @classmethod
    @warns_if_reordered
    def from_frame(
        cls,
        X: Any,
        y: ArrayLike | None = None,
        *,
        sensitive_features: Any,
        pos_label: Any = None,
        limit: float = 0.1,
        confidence_level: float = 0.95,
        min_group_size: int = 10,
        title: str = DEFAULT_TITLE,
        language: str = "en",
        random_state: int = 0,
    ) -> Self:
        """Report on the rows of a table.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_columns)
            The features.
        y : array-like of shape (n_samples,), default=None
            Labels of two classes. Without them there are no base rates.
        sensitive_features : str, int, list of str, list of int, array-like, \
dataframe, Groups, or mapping of str to array-like
            Columns of X that hold the groups, which are then no features, or the groups
            themselves. Missing values are counted, and compared with nobody.
        pos_label : int, float, bool or str, default=None
            The label that counts as positive. None stands for 1 if labels are
            numbers; text labels require it.
        limit : float in (0, 1), default=0.1
            Disparity that an audit is to certify, for the rows that it needs.
        confidence_level : float in (0, 1), default=0.95
            Level of the intervals, each for its own number.
        min_group_size : int, default=10
            Smallest number of rows of a group that is compared.
        title : str, default="Who is in the data"
            Title of the page.
        language : {"en", "de"}, default="en"
            Language of the page.
        random_state : int, default=0
            Seed of the halves in which proxies are learnt and compared.

        Returns
        -------
        DataReport

        Raises
        ------
        ValueError
            On lengths that differ, no rows, more than two labels, missing labels, text
            labels without `pos_label`, or parameters out of range.

        Notes
        -----
        A proxy is a column that tells the group. Its AUC is the probability that the
        share of the group is larger in the cell of a row of the group than in that of
        another row: 0.5 says nothing, 1 everything. Cells are values, or up to 20
        intervals of numbers, or missing; shares are learnt on one half of the rows, and
        rows of the other half are compared. Of several groups that with the largest AUC
        is stated, with an interval that allows for this choice. Intervals are Wilson's
        with the number of rows of the smaller side, which bounds the variance of an AUC
        whatever the distribution [1]_. Columns together may tell more than each alone.

        Distances of numbers are MCDP(0), the Kolmogorov-Smirnov distance.
        Rows needed are those of `rows_to_certify` for two groups, this one and everyone
        else, if they do not differ in truth, and have the shares of this table.

        References
        ----------
        .. [1] Birnbaum, Klose. "Bounds for the variance of the Mann-Whitney statistic".
           Annals of Mathematical Statistics, 1957.
        """
        check_choice("language", language, LANGUAGES)
        settings: Summary = {
            "limit": check_real("limit", limit, 0, 1, closed="neither"),
            "confidence_level": check_real(
                "confidence_level", confidence_level, 0, 1, closed="neither"
            ),
            "min_group_size": check_integer("min_group_size", min_group_size, 1),
            "random_state": check_integer("random_state", random_state, 0),
        }
        with speaking(language):
            smallest = settings["min_group_size"]
            columns, attributes = _encode_table(X, sensitive_features, smallest)
            n_rows = len(attributes[0].every)
            positive, label = _positive_rows(y, pos_label, n_rows)
            return cls(
                {
                    "format": FORMAT,
                    "title": title_text(title, DEFAULT_TITLE),
                    "language": language,
                    "n_rows": n_rows,
                    "n_columns": len(columns),
                    "positive": label,
                    "attributes": [
                        _describe_attribute(one, columns, positive, settings)
                        for one in attributes
                    ],
                    "settings": settings,
                    "versions": versions_of("NumPy", "SciPy", "pandas"),
                }
            )

    def to_dict(self) -> dict[str, Any]:
        """Return a copy of all numbers, of strings, numbers, None, lists and dicts.

        Returns
        -------
        dict
            ``"attributes"`` has, for each, ``"groups"``, ``"missing"``, ``"proxies"``
            and ``"distances"``. Numbers that do not exist are None.
        """
        copy: dict[str, Any] = json.loads(json.dumps(self.summary))
        return copy

    def to_html(
        self,
        path: str | PathLike[str] | None = None,
        *,
        date: str | datetime.date | None = None,
        source: str | None = None,
    ) -> str:
        """Write one self-contained page: no script, nothing loaded from elsewhere.

        Parameters
        ----------
        path : str or path-like, default=None
            File to write, in UTF-8.
        date : str or date, default=None
            Date to write at the head, by default none.
        source : str, default=None
            Where the rows come from, for the head.

        Returns
        -------
        str

        Raises
        ------
        ImportError
            Without jinja2 or matplotlib.
        OSError
            If the file cannot be written; it names the path.
        """
        with speaking(self.summary["language"]):
            page = render_page(
                "data.html",
                self.summary,
                record_of(date, source),
                leads=[*_leads(self.summary)],
                tables=[*_tables_of_attributes(self.summary)],
            )
        if path is not None:
            write_text(path, page)
        return page

    def __str__(self) -> str:
        with speaking(self.summary["language"]):
            n = self.summary["n_rows"]
            lines = [self.summary["title"], say("{n} rows.", n=whole(n)), ""]
            lines += _leads(self.summary)
            for table in _tables_of_attributes(self.summary):
                if table.rows:
                    cells = [table.head, *table.rows]
                    lines += ["", table.title, *_text_columns(cells)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        names = ", ".join(one["name"] for one in self.summary["attributes"])
        return f"DataReport({self.summary['n_rows']:,} rows, groups by {names})"


def _encode_table(
    X: Any, sensitive_features: Any, min_group_size: int
) -> tuple[list[Column], tuple[Attribute, ...]]:
    """Encode features and groups, missing groups as -1."""
    names, values = columns_of(X, "X")
    n_rows = len(values[0]) if values else 0
    if not n_rows:
        raise ValueError("X has 0 rows, expected at least one.")
    used: list[int] = []
    if not isinstance(sensitive_features, (Mapping, Groups)) and names_columns(
        sensitive_features, n_rows
    ):
        used = positions_of(X, sensitive_features)
        sensitive_features = select_columns(X, sensitive_features)
    each = {
        name: encode_groups(column, missing="drop", min_group_size=min_group_size)
        for name, column in named_columns(
            "sensitive_features", sensitive_features, say("group"), say("attribute")
        ).items()
    }
    for name, groups in each.items():
        check_length(f"sensitive_features {name!r}", len(groups), n_rows)
    columns = [
        read_column(visible_text(name or f"{i}"), column)
        for i, (name, column) in enumerate(zip(names, values, strict=True))
        if i not in used
    ]
    return columns, with_intersection(each, None)


def _positive_rows(y: Any, pos_label: Any, n_rows: int) -> tuple[Any, str | None]:
    """Which rows are positive, and the name of their label; None without labels."""
    if y is None:
        return None, None
    codes, classes = encode_classes("y", y)
    check_length("y", len(codes), n_rows)
    label = positive_class(classes, "y", pos_label)
    positive = classes.index(label) if label in classes else -1
    return codes == positive, name_of(label)


def _describe_attribute(
    attribute: Attribute, columns: list[Column], positive: Any, settings: Summary
) -> Summary:
    """Compute the numbers of one attribute; an intersection has those of groups."""
    limit, level = settings["limit"], settings["confidence_level"]
    if len(attribute.groups.names) > 1:
        columns = []
    return {
        "name": visible_text(attribute.name),
        "n_missing": attribute.n_missing,
        "groups": group_rows(attribute, positive, limit, level),
        "missing": [*missing_rows(attribute, columns)],
        "proxies": proxy_rows(attribute, columns, level, settings["random_state"]),
        "distances": distance_rows(attribute, columns, level),
    }


def _leads(summary: Summary) -> Iterator[str]:
    """Say in a few sentences what stands out, for each attribute."""
    positive, limit = summary["positive"], summary["settings"]["limit"]
    for attribute in summary["attributes"]:
        name = attribute["name"]
        rated = [g for g in attribute["groups"] if g["base_rate"] is not None]
        if len(rated) > 1:
            low, high = (f(rated, key=lambda g: g["base_rate"]) for f in (min, max))
            yield say(
                "By {name}, the share of “{label}” lies between {low} ({first}) and "
                "{high} ({second}).",
                name=name,
                label=positive,
                low=percent(low["base_rate"]),
                high=percent(high["base_rate"]),
                first=in_quotes(low["label"]),
                second=in_quotes(high["label"]),
            )
        best = next(iter(attribute["proxies"]), None)
        if best is not None and best["lower"] > _TELLS:
            yield say(
                "The column {column} tells {name}: of a row of {group} and a row of "
                "the others, it picks the former in {auc} of cases.",
                column=in_quotes(best["column"]),
                name=name,
                group=in_quotes(best["group"]),
                auc=percent(best["auc"]),
            )
        few = [g for g in attribute["groups"] if g["n"] < (g["own_needed"] or 0)]
        if few:
            worst = min(few, key=lambda g: g["n"])
            yield say(
                "By {name}, groups with too few rows to certify a disparity of at most "
                "{limit} against everyone else: {n} of {all}. The smallest, {group}, "
                "has {own} of the {needed} needed.",
                name=name,
                n=whole(len(few)),
                all=whole(len(attribute["groups"])),
                limit=figure(f"{limit:g}"),
                group=in_quotes(worst["label"]),
                own=whole(worst["n"]),
                needed=whole(worst["own_needed"]),
            )


def _tables_of_attributes(summary: Summary) -> Iterator[TextTable]:
    """Tables of each attribute; those without rows are left out of a page."""
    for attribute in summary["attributes"]:
        name = attribute["name"]
        yield _group_table(summary, attribute)
        yield TextTable(
            say("Missing values by {name}", name=name),
            say("Share of rows without a value."),
            [say("Column"), say("Everyone"), say("Most"), say("Least")],
            [
                [
                    row["column"],
                    percent(row["everyone"]),
                    f"{percent(row['most'])} ({row['most_in']})",
                    f"{percent(row['least'])} ({row['least_in']})",
                ]
                for row in attribute["missing"]
            ],
        )
        yield TextTable(
            say("Proxies of {name}", name=name),
            say(
                "A proxy is a column that tells the group. The AUC is the probability "
                "that, of a row of the group and a row of the others, it picks the "
                "former: 0.5 is guessing, 1 is knowing."
            ),
            [say("Column"), say("Group told best"), "AUC", say("Interval")],
            [
                [row["column"], row["group"], number(row["auc"]), _ends(row)]
                for row in attribute["proxies"]
            ],
        )
        yield TextTable(
            say("Columns of numbers by {name}", name=name),
            say(
                "MCDP(0) is the largest difference between groups of the share of rows "
                "above a number, over all numbers: 0 if the column is distributed "
                "alike, 1 if groups do not overlap."
            ),
            [say("Column"), "MCDP(0)", say("Interval")],
            [
                [row["column"], number(row["value"]), _ends(row)]
                for row in attribute["distances"]
            ],
        )


def _ends(row: Summary) -> str:
    return interval(row["lower"], row["upper"])


def _group_table(summary: Summary, attribute: Summary) -> TextTable:
    """Table of the groups of an attribute."""
    positive, settings = summary["positive"], summary["settings"]
    head = [say("Group"), say("Rows"), say("Share of rows")]
    if positive is not None:
        head += [say("Share of “{label}”", label=positive), say("Interval")]
    rows = []
    for group in attribute["groups"]:
        cells = [group["label"], whole(group["n"]), percent(group["share"])]
        if positive is not None and group["base_rate"] is None:
            cells += [DASH, DASH]
        elif positive is not None:
            low, high = percent(group["lower"]), percent(group["upper"])
            ends = say("{low} to {high}", low=low, high=high)
            cells += [percent(group["base_rate"]), ends]
        needed = group["own_needed"]
        rows.append([*cells, DASH if needed is None else whole(needed)])
    text = say(
        "Intervals are of {level}%, each for its group alone. Rows needed are those of "
        "the group in a table like this one, with which an audit certifies that a "
        "disparity between it and everyone else is at most {limit}, if there is none.",
        level=figure(f"{100 * settings['confidence_level']:g}"),
        limit=figure(f"{settings['limit']:g}"),
    )
    if attribute["n_missing"]:
        rows_without = counted(attribute["n_missing"], "row")
        text += " " + say("Without a group: {rows}.", rows=rows_without)
    title = say("Groups by {name}", name=attribute["name"])
    return TextTable(title, text, [*head, say("Rows needed")], rows)


def _text_columns(rows: list[list[str]]) -> list[str]:
    """Write rows of text in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]

"""``python -m skfair data``: a report on a table before any model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pandas as pd

from skfair._cli._bins import into_bins, read_bins
from skfair._cli._options import SEVERAL, add_format, add_output_format, date_of
from skfair._cli._output import (
    check_output,
    input_record,
    say,
    unchanged,
    warn,
    write,
)
from skfair._cli._rows import label_like
from skfair._cli._tables import Columns, read_columns, read_names
from skfair._cli._text import check_columns, number_hint
from skfair._utils._language import LANGUAGES, speaking
from skfair.metrics._undefined import collected_reasons
from skfair.report import DataReport
from skfair.report._page._html import require_report_extra


def add_data(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "data",
        help="write a report on a table before any model",
        description="Write who is in a table: groups, base rates, missing values, "
        "proxies and distances by group, and the rows that an audit needs.",
    )
    parser.set_defaults(run=run_data)
    add = parser.add_argument
    add("table", type=Path, help="a .csv, .tsv, .csv.gz, .parquet or .xlsx file")
    add("--sensitive", help="groups", **SEVERAL)
    add("--y-true", metavar="COLUMN", help="true labels, for base rates")
    add("--pos-label", metavar="LABEL", help="the positive label; 1 where numbers are")
    add(
        "--limit",
        type=float,
        default=0.1,
        help="disparity to be certified, for the rows needed (default: %(default)s)",
    )
    add_format(parser)
    add("--out", type=Path, metavar="FILE", help="page to write; without, text")
    add_output_format(parser, ("html", "json"), "of --out (default: as its name)")
    add("--no-overwrite", action="store_true", help="stop if this file exists")
    add("--language", default="en", choices=LANGUAGES, help="language of the page")
    add("--date", nargs="?", const="today", help="write a date on the page")


def run_data(given: argparse.Namespace) -> int:
    """Write a report on a table, and return the exit code."""
    date = date_of(given)
    if given.out is not None:
        check_output(given.out, given.table, no_overwrite=given.no_overwrite)
        if given.format == "html":
            require_report_extra()
    with speaking(given.language), collected_reasons():
        report, record = _read(given)
    if given.out is None:
        say(str(report))
    else:
        write(report, given.out, given.format, record | date)
        say(str(given.out))
    return 0


def _read(given: argparse.Namespace) -> tuple[DataReport, dict[str, str]]:
    """Read all columns of a table, compute the report, and record what was read."""
    if not given.sensitive:
        raise ValueError("--sensitive must name a column.")
    bins = read_bins(given.bins, given.sensitive)
    with unchanged([given.table]):
        names = read_names(given.table, given.form)
        labels = [] if given.y_true is None else [given.y_true]
        check_columns(given.table, names, [*given.sensitive, *labels])
        if "" in names:
            warn(given, "note: columns without a name are left out.")
        features = [name for name in names if name and name not in given.sensitive]
        columns = Columns([], features, given.sensitive)
        table = read_columns(given.table, columns, given.form)
        record = input_record(given.table)
    y = table.pop(given.y_true) if labels else None
    for name, column in table.items():
        cells = column.dropna()
        is_text = len(cells) > 0 and pd.api.types.is_string_dtype(cells)
        hint = number_hint(cells, given.form) if is_text else ""
        if hint:
            warn(given, f"note: column {name!r} is text.{hint}")
    report = DataReport.from_frame(
        table.drop(columns=given.sensitive),
        y,
        sensitive_features=into_bins(table, given.sensitive, bins),
        pos_label=label_like(given.pos_label, [] if y is None else [y]),
        limit=given.limit,
        language=given.language,
    )
    return report, record

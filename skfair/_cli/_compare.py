"""``python -m skfair compare``: models beside a baseline, on rows that chose none."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from skfair._cli._bins import into_bins, read_bins
from skfair._cli._duckdb import files_of
from skfair._cli._options import SEVERAL, add_output_format, add_table
from skfair._cli._output import (
    NOTHING_SAID,
    check_output,
    input_record,
    say,
    unchanged,
    warn,
)
from skfair._cli._rows import intersection_of, label_like, naming_lines, without_missing
from skfair._cli._tables import Columns, read_columns
from skfair._utils._files import write_text
from skfair._utils._validation import check_real
from skfair.metrics._undefined import collected_reasons
from skfair.model_selection import ModelComparison, compare_models
from skfair.report._page._html import require_report_extra

_EXAMPLE = """\
example:
  python -m skfair compare predictions.csv --y-true y --y-score a,b,c \\
      --baseline a --sensitive sex --margin 0.02

predictions.csv has a row for each person, whom no model was fitted to. Which of the
models b and c have a lower MCDP than a, and an average precision that is lower by at
most 0.02?

exit codes: 0, the models are compared, whatever is confirmed; 2, the arguments or the
file are bad, and one line says why; 4, the groups cannot be compared; 130, interrupted.
"""


def add_compare(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "compare",
        help="test which models serve as well as a baseline and divide less",
        description="Test which models have a lower MCDP than a baseline and perform "
        "as well.",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run_compare)
    add_table(parser)
    add = parser.add_argument
    add("--y-true", required=True, metavar="COLUMN", help="true labels of two kinds")
    add("--y-score", help="scores of the models, any finite numbers", **SEVERAL)
    add("--baseline", required=True, metavar="COLUMN", help="scores of the baseline")
    add("--sensitive", help="who belongs to which group", **SEVERAL)
    add("--sample-weight", metavar="COLUMN", help="non-negative weights of the rows")
    add("--pos-label", metavar="LABEL", help="the positive label (default: 1)")
    add(
        "--margin",
        type=float,
        required=True,
        metavar="NUMBER",
        help="average precision that may be lost, such as 0.02",
    )
    add(
        "--confidence-level",
        type=float,
        default=0.95,
        metavar="NUMBER",
        help="probability that all confirmed statements are true together (default: "
        "%(default)s)",
    )
    add(
        "--min-group-size",
        type=int,
        default=10,
        metavar="N",
        help="without so many rows in each group nothing is compared (default: "
        "%(default)s)",
    )
    add("--out", type=Path, metavar="FILE", help="file to write (default: the console)")
    add("--no-overwrite", action="store_true", help="stop if this file exists")
    add_output_format(
        parser,
        ("html", "json", "md"),
        "a page, all numbers, or Markdown (default: as the name of --out ends, "
        "else html; without --out md)",
    )


def run_compare(given: argparse.Namespace) -> int:
    """Compare the models, write or print the result, and return the exit code."""
    if given.format == "html":
        require_report_extra()
    if given.out is not None:
        check_output(given.out, given.table, no_overwrite=given.no_overwrite)
    if not given.sensitive:
        raise ValueError("--sensitive must name a column.")
    if given.baseline not in given.y_score or len(given.y_score) < 2:
        raise ValueError(
            "--y-score must name the column of --baseline and others, got "
            f"{','.join(given.y_score)} and {given.baseline}."
        )
    with unchanged(files_of(given.table)), collected_reasons():
        result = _compare(given)
        record = input_record(given.table)
    rows = f"The rows are those of {record['input']}, SHA-256 {record['sha256']}."
    result = replace(result, notes=(rows,))
    if given.format == "html":
        text = result.to_html()
    elif given.format == "md":
        text = result.to_markdown()
    else:
        text = json.dumps(result.to_dict() | record, indent=1, ensure_ascii=False)
    if given.out is None:
        say(text)
    else:
        write_text(given.out, text.rstrip() + "\n")
        say(f"{result.sentences[0]}\n{given.out}")
    if result.table["pvalue"].isna().all():
        warn(given, "the groups cannot be compared.")
        return NOTHING_SAID
    return 0


def _compare(given: argparse.Namespace) -> ModelComparison:
    """Read the rows, and compare the models on them."""
    check_real("margin", given.margin, 0, math.inf, closed="left")
    check_real("confidence_level", given.confidence_level, 0, 1, closed="neither")
    bins = read_bins(given.bins, given.sensitive)
    weights = [] if given.sample_weight is None else [given.sample_weight]
    columns = Columns.of([*given.y_score, *weights], [given.y_true], [*given.sensitive])
    table = read_columns(given.table, columns, given.form)
    table = without_missing(given, table, columns.values())
    people = into_bins(table, given.sensitive, bins)
    groups = intersection_of(given, people, given.sensitive)
    with naming_lines(given.table, table, given.form):
        return compare_models(
            _is_positive(given, table[given.y_true]),
            table[given.y_score],
            baseline=given.baseline,
            sensitive_features=replace(groups, min_group_size=given.min_group_size),
            margin=given.margin,
            confidence_level=given.confidence_level,
            sample_weight=table[given.sample_weight] if weights else None,
        )


def _is_positive(given: argparse.Namespace, y_true: Any) -> Any:
    """Which rows have the positive one of two labels."""
    positive = label_like(given.pos_label or "1", [y_true])
    known = y_true.unique().tolist()
    if len(known) != 2 or positive not in known:
        raise ValueError(
            f"column {given.y_true!r} must have two labels, one of which --pos-label "
            f"names (default: 1), got {known[:5]}."
        )
    return (y_true == positive).astype(int)

"""``python -m skfair audit``: a report on a table of predictions."""

from __future__ import annotations

import argparse
import math
import os
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from skfair._cli._bins import into_bins, read_bins
from skfair._cli._duckdb import (
    ENGINES,
    DuckDBRows,
    UnsuitedError,
    files_of,
    takes_duckdb,
)
from skfair._cli._options import (
    SEVERAL,
    add_output_format,
    add_table,
    date_of,
    iso_date,
    option_of,
)
from skfair._cli._output import (
    ABOVE_LIMIT,
    NOTHING_SAID,
    check_output,
    input_record,
    say,
    unchanged,
    warn,
    write,
)
from skfair._cli._rows import (
    groups_of,
    intersection_of,
    label_like,
    naming_lines,
    note_bins,
    note_left_out,
    refuse_missing,
    without_missing,
)
from skfair._cli._tables import TAKES_ANY, Columns, read_columns
from skfair._utils._files import write_text
from skfair._utils._validation import check_choice, check_real
from skfair.groups import MISSING_LABEL
from skfair.metrics._inputs import collected_reasons
from skfair.report import FairnessReport, public_summary
from skfair.report._bundle import check_folder
from skfair.report._metrics import MEASURES
from skfair.report._options import Options
from skfair.report._page import require_report_extra
from skfair.report._summary import tell_left_out

_EXAMPLE = """\
example:
  python -m skfair audit predictions.csv --y-true y --y-score p \\
      --sensitive sex,race --out report.html

predictions.csv has a header, and a row for each person: the true label y (1 is
positive), the predicted probability p of the positive label, and the groups. Several
models are several columns: --y-score model_a,model_b. Options that take columns may
be given repeatedly. --bundle DIR writes what `skfair verify DIR` checks without
the rows.

exit codes: 0, the report is written; 2, the arguments or the file are bad, and one
line says why; 3, the report is written, and a metric is above its --limit or cannot
be computed; 4, the report is written, but nothing could be compared; 130, interrupted.
"""


def add_audit(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "audit",
        help="write a report on a table of predictions",
        description="Write a report on a table of predictions, as one HTML page.",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run_audit)
    add_table(
        parser,
        ", or a pattern of several in quotation marks, such as 'predictions/*.parquet'",
    )
    _add_reading(parser)
    _add_columns(parser)
    _add_settings(parser)
    _add_output(parser)


def _add_reading(audit: argparse.ArgumentParser) -> None:
    add = audit.add_argument
    add(
        "--engine",
        choices=ENGINES,
        default="auto",
        help="what reads the table: duckdb counts the rows of CSV and Parquet files "
        "outside Python, in bounded memory; pandas reads one file into memory "
        "(default: duckdb for patterns and for files of more than 32 MiB)",
    )
    add(
        "--rare",
        choices=("keep", "drop", "merge"),
        default="keep",
        help="what to do with groups of fewer rows than --min-group-size: name them "
        "and compare the others, leave their rows out of every number, or merge them "
        "into a group (other) (default: %(default)s)",
    )


def _add_columns(audit: argparse.ArgumentParser) -> None:
    add = audit.add_argument
    add(
        "--target",
        choices=("class", "number"),
        default="class",
        help="number: --y-true and --y-score are numbers, such as salaries, and the "
        "report is in their unit (default: %(default)s)",
    )
    add("--y-true", metavar="COLUMN", help="true labels; without, errors are left out")
    add(
        "--y-score",
        help="probabilities of the positive label, in [0, 1], unless --scale is rank",
        **SEVERAL,
    )
    add(
        "--scale",
        choices=("probability", "rank"),
        default="probability",
        help="rank compares ranks of scores that are no probabilities: any finite "
        "numbers (default: %(default)s)",
    )
    for option, what in {
        "--y-pred": "predicted labels",
        "--sensitive": "who belongs to which group",
        "--group-probability": "probability of one of two groups where groups are not "
        "known, or a column for each group: adds bounds of the metrics",
        "--proxy": "what tells of the group, such as a surname and a place; without, "
        "rows of like probability are joined",
        "--control-features": "strata, within which groups are compared too",
    }.items():
        add(option, help=what, **SEVERAL)
    add("--sample-weight", metavar="COLUMN", help="non-negative weights of the rows")


def _add_settings(audit: argparse.ArgumentParser) -> None:
    add = audit.add_argument
    add("--pos-label", metavar="LABEL", help="the positive label; 1 where numbers are")
    add(
        "--threshold",
        "--decision-threshold",
        type=float,
        help="least score that is a positive decision (default: 0.5); with --scale "
        "rank the least rank (default: none, so that nothing is decided)",
    )
    for parameter, default, what in (
        ("min_group_size", 10, "groups with fewer rows are left out and named"),
        ("n_resamples", 500, "resamples for the intervals of DCP and calibration gap"),
        ("n_permutations", 199, "shuffles behind each p-value"),
        ("random_state", 0, "the same one gives the same page"),
        ("n_jobs", 1, "number of processes"),
    ):
        add(
            option_of(parameter),
            dest=parameter,
            type=int,
            default=default,
            metavar="N",
            help=f"{what} (default: %(default)s)",
        )
    add(
        "--impact-ratios",
        action="store_true",
        help="add tables of selection and scoring rates over the highest rate",
    )
    add(
        "--min-share",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="smallest share of the rows of a group that has an impact ratio, such as "
        "0.02 (default: %(default)s)",
    )
    add(
        "--odds-ratio",
        type=_numbers_with_commas,
        default=Options.odds_ratio,
        metavar="NUMBERS",
        help="how far the odds of a group may differ among people with the same proxy, "
        "for the bounds (default: 1,1.5,2,inf)",
    )
    add(
        "--proxy-limit",
        type=float,
        default=Options.proxy_limit,
        metavar="NUMBER",
        help="disparity that the bounds are compared with (default: %(default)s)",
    )


def _numbers_with_commas(text: str) -> tuple[float, ...]:
    """Read numbers with commas between them."""
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        problem = f"must be numbers such as 1,1.5,inf, got {text!r}"
        raise argparse.ArgumentTypeError(problem) from None


def _add_output(audit: argparse.ArgumentParser) -> None:
    add = audit.add_argument
    add("--out", type=Path, metavar="FILE", help="file to write")
    add(
        "--bundle",
        type=Path,
        metavar="DIR",
        help="directory to write the page into, with the statistics from which others "
        "can verify it",
    )
    add(
        "--min-cell",
        type=int,
        metavar="N",
        help="in the bundle, join and withhold what tells of fewer than N people",
    )
    add(
        "--public-summary",
        type=Path,
        metavar="FILE",
        help="Markdown file to write the public summary of New York City's Local Law "
        "144 into; needs --date, that of the audit, --distribution-date and --source",
    )
    add("--distribution-date", metavar="DATE", help="when the use of the tool began")
    add("--source", metavar="TEXT", help="source and explanation of the data")
    add("--justification", metavar="TEXT", help="why categories are excluded")
    add("--no-overwrite", action="store_true", help="stop if these files exist")
    add_output_format(
        audit,
        ("html", "json", "md"),
        "a page, all numbers and texts, or Markdown (default: as the name of --out "
        "ends, else html)",
    )
    add("--title", default="Fairness report", help="title of the page")
    add(
        "--date",
        nargs="?",
        const="today",
        help="write a date on the page, such as 2026-01-31; without a value, today "
        "(default: no date, so that the same file gives the same page every day)",
    )
    add(
        "--limit",
        action="append",
        default=[],
        metavar="[METRIC=]NUMBER",
        help="--limit mcdp=0.1: exit with code 3 if this metric is larger for any "
        "attribute and model; --limit 0.1: say on the page what is within it",
    )
    add("--quiet", action="store_true", help="show no progress")


def run_audit(given: argparse.Namespace) -> int:
    """Write the report, say what is in it, and return the exit code."""
    limits, limit = _read_limits(given.limit)
    date = date_of(given)
    fields = _public_fields(given, date)
    with collected_reasons():
        _check_outputs(given)
        report, record = _report(given, limit)
    public = None if fields is None else _public_summary(report, given, fields)
    to_output = given.out is not None and _is_standard_output(given.out)
    if given.out is not None:
        write(report, given.out, given.format, record | date)
    if given.bundle is not None:
        source, digest = record["input"], record["sha256"]
        given_record = {"source": source, "sha256": digest, **date}
        report.to_bundle(given.bundle, min_cell=given.min_cell, **given_record)
    if public is not None:
        write_text(given.public_summary, public + "\n")
    paths = given.out, given.bundle, given.public_summary
    written = [str(path) for path in paths if path is not None]
    say("\n".join([str(report), *written]), sys.stderr if to_output else None)
    above = _beyond_limits(report, limits)
    for text in above:
        warn(given, f"limit: {text}")
    if _says_nothing(report):
        warn(given, "nothing could be compared; the page says why.")
        return NOTHING_SAID
    return ABOVE_LIMIT if above else 0


def _check_outputs(given: argparse.Namespace) -> None:
    """Raise before the long work if something cannot be written after it."""
    page = given.format == "html" and given.out is not None
    if page or given.bundle is not None:
        require_report_extra()
    if given.out is not None:
        check_output(given.out, given.table, no_overwrite=given.no_overwrite)
    elif given.bundle is None and given.public_summary is None:
        raise ValueError("--out or --bundle must name what is to be written.")
    if given.bundle is not None:
        check_folder(given.bundle)
    elif given.min_cell is not None:
        raise ValueError("--min-cell must be given with --bundle.")


def _is_standard_output(path: Path) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(1))
    except OSError:  # one of them does not exist
        return False


def _report(
    given: argparse.Namespace, limit: float | None
) -> tuple[FairnessReport, dict[str, str]]:
    """Read the table, compute the report, and record what was read.

    Cheap checks come first.
    """
    settings = _read_settings(given)
    if not given.y_score and not given.y_pred:
        raise ValueError("--y-score or --y-pred must name a column.")
    if not given.sensitive and not given.group_probability:
        raise ValueError("--sensitive or --group-probability must name a column.")
    if given.proxy and not given.group_probability:
        raise ValueError("--proxy must be given with --group-probability.")
    columns = _columns_to_read(given)
    values = columns.values()
    others = [n for n in (*given.control_features, *given.proxy) if n not in values]
    bins = read_bins(given.bins, [*given.sensitive, *others])
    settings |= {
        "limit": limit,
        "title": given.title,
        "verbose": int(not given.quiet and sys.stderr.isatty()),
    }
    files = files_of(given.table)
    with unchanged(files):
        if takes_duckdb(given.table, given.engine):
            try:
                _check_engine(given)
                return _report_of_counts(given, columns, bins, settings)
            except UnsuitedError:
                if given.engine != "auto" or files != [given.table]:
                    raise
        return _report_of_rows(given, columns, bins, settings)


def _read_settings(given: argparse.Namespace) -> dict[str, Any]:
    """Read and check the parameters of the report that have options of their names."""
    options = {field.name for field in fields(Options)} - {"limit"}
    settings = {name: value for name, value in vars(given).items() if name in options}
    settings["impact_ratios"] |= given.public_summary is not None
    if given.target == "number":
        _refuse_with_numbers(given)
        settings["scale"] = "real"
    Options(**settings)
    return settings


def _refuse_with_numbers(given: argparse.Namespace) -> None:
    """Raise if an option has no meaning where numbers are predicted."""
    of_classes = {
        "--scale": given.scale != "probability",
        "--threshold": given.threshold is not None,
        "--pos-label": given.pos_label is not None,
        "--group-probability": given.group_probability,
        "one of --y-score and --y-pred": given.y_score and given.y_pred,
    }
    for option, is_given in of_classes.items():
        if is_given:
            raise ValueError(f"{option} must be left out with --target number.")


def _check_engine(given: argparse.Namespace) -> None:
    """Raise if an option needs rows in memory."""
    in_memory = {
        "--group-probability": given.group_probability,
        "--target number": given.target == "number",
        "--decimal ','": given.decimal == ",",
        "--thousands": given.thousands is not None,
    }
    for option, asked in in_memory.items():
        if asked:
            raise UnsuitedError(
                f"{option} needs --engine pandas, which reads one file."
            )


def _read_limits(given: list[str]) -> tuple[dict[str, float], float | None]:
    """Read limits of metrics, such as ``mcdp=0.1``, and the one of no metric."""
    limits, plain = {}, []
    for text in given:
        key, named, written = text.partition("=")
        if named:
            check_choice("limit", key, tuple(MEASURES))
        try:
            value = float(written if named else text)
        except ValueError:
            form = "METRIC=NUMBER" if named else "NUMBER or METRIC=NUMBER"
            raise ValueError(f"--limit must be {form}, got {text!r}.") from None
        largest = MEASURES[key].maximum if named else 1
        check_real("limit", value, 0, math.inf if largest is None else largest)
        if named:
            limits[key] = value
        else:
            plain.append(text)
    if len(plain) > 1:
        raise ValueError(f"--limit must have one number, got {plain}.")
    return limits, float(plain[0]) if plain else None


def _public_fields(
    given: argparse.Namespace, date: dict[str, str]
) -> dict[str, Any] | None:
    """Fields of the public summary, checked before the long work; None without one."""
    options = {
        "--distribution-date": given.distribution_date,
        "--source": given.source,
        "--justification": given.justification,
    }
    if given.public_summary is None:
        for option in (name for name, value in options.items() if value is not None):
            raise ValueError(f"{option} must be given with --public-summary.")
        return None
    del options["--justification"]
    needed = {"--date": date.get("date"), **options}
    for option in (name for name, text in needed.items() if not (text or "").strip()):
        raise ValueError(f"--public-summary must be given with {option}.")
    if given.target == "number" or max(len(given.y_score), len(given.y_pred)) > 1:
        raise ValueError(
            "--public-summary must be of one model of classes, so that --y-score and "
            "--y-pred name a column each, and --target is left out."
        )
    path, no_overwrite = given.public_summary, given.no_overwrite
    check_output(path, given.table, "--public-summary", no_overwrite=no_overwrite)
    return {
        "audit_date": date["date"],
        "distribution_date": iso_date(given.distribution_date, "--distribution-date"),
        "source": given.source,
        "justification": given.justification,
    }


def _columns_to_read(given: argparse.Namespace) -> Columns:
    """Columns to read, by what they are; true and predicted numbers are no labels."""
    weight = [] if given.sample_weight is None else [given.sample_weight]
    true = [] if given.y_true is None else [given.y_true]
    numbers = [*given.y_score, *weight, *given.group_probability]
    predicted = [*given.y_pred, *true]
    labels = [] if given.target == "number" else predicted
    numbers += predicted if given.target == "number" else []
    groups = [*given.sensitive, *given.control_features, *given.proxy]
    return Columns.of(numbers, labels, groups)


def _report_of_rows(
    given: argparse.Namespace,
    columns: Columns,
    bins: dict[str, list[float]],
    settings: dict[str, Any],
) -> tuple[FairnessReport, dict[str, str]]:
    """Read all rows, and compute the report."""
    table = read_columns(given.table, columns, given.form)
    record = input_record(given.table)
    in_proxy = given.proxy if given.missing == "drop" else []
    needed = [*columns.values(), *in_proxy]
    complete = without_missing(given, table, needed)
    n_without, table = len(table) - len(complete), complete
    known = [*given.sensitive, *given.control_features, *given.proxy]
    people = into_bins(table, known, bins)
    groups = {
        name: groups_of(given, people[name], given.rare) for name in given.sensitive
    }
    strata = None
    if given.control_features:
        strata = intersection_of(given, people, given.control_features)
    labels = [name for name in (given.y_true, *given.y_pred) if name is not None]
    shares, weight = given.group_probability, given.sample_weight
    with naming_lines(given.table, table, given.form, TAKES_ANY):
        report = FairnessReport.from_predictions(
            None if given.y_true is None else table[given.y_true],
            {name: table[name] for name in given.y_score} or None,
            y_pred=table[given.y_pred] if given.y_pred else None,
            sensitive_features=groups or None,
            control_features=strata,
            group_probabilities=table[shares] if shares else None,
            cells=_proxy_cells(given, people),
            pos_label=label_like(given.pos_label, [table[name] for name in labels]),
            sample_weight=None if weight is None else table[weight],
            **settings,
        )
    if n_without:
        report.summary = tell_left_out(report.summary, n_without, needed)
    return report, record


def _proxy_cells(given: argparse.Namespace, people: dict[str, Any]) -> Any:
    """Proxy of each row, in which missing is a value; None for no columns."""
    columns = {}
    for name in given.proxy:
        column = people[name]
        if given.missing == "raise" and column.isna().any():
            refuse_missing(given, column, ", --missing group makes them a cell")
        columns[name] = column.astype(object).where(column.notna(), MISSING_LABEL)
    return pd.DataFrame(columns) if columns else None


def _report_of_counts(
    given: argparse.Namespace,
    columns: Columns,
    bins: dict[str, list[float]],
    settings: dict[str, Any],
) -> tuple[FairnessReport, dict[str, str]]:
    """Compute the report of rows that DuckDB counts."""
    values, groups = columns.values(), columns.groups
    rows = DuckDBRows(given.table, columns, given.form)
    n_without = 0
    if given.missing == "drop":
        n_without = rows.leave_out_missing(values)
    else:
        _refuse_missing_in(rows, values)
    for name, edges in bins.items():
        rows.into_bins(name, edges)
    lacking = rows.n_missing(groups)
    if given.missing == "raise" and lacking:
        _refuse_missing_in(rows, groups, ", --missing group makes them a group")
    if given.missing == "drop" and lacking:
        raise UnsuitedError(
            f"column {next(iter(lacking))!r} has missing groups, which DuckDB keeps: "
            "choose --missing group or --engine pandas."
        )
    if given.rare == "drop":
        raise UnsuitedError(
            "DuckDB keeps the rows of rare groups: choose --rare merge or --engine "
            "pandas."
        )
    note_left_out(given, n_without, values)
    for name in lacking:
        rows.name_missing(name)
    for name in groups:
        note_bins(given, rows.labels(name))
    if given.rare == "merge":
        for name in given.sensitive:
            rows.merge_rare(name, given.min_group_size)
    labels = [name for name in (given.y_true, *given.y_pred) if name is not None]
    with rows.problems():
        report = FairnessReport.from_frame(
            rows.relation,
            y_true=given.y_true,
            y_score=given.y_score or None,
            y_pred=given.y_pred or None,
            sensitive_features=given.sensitive,
            control_features=given.control_features or None,
            pos_label=label_like(given.pos_label, [rows.labels(n) for n in labels]),
            sample_weight=given.sample_weight,
            **settings,
        )
    if n_without:
        report.summary = tell_left_out(report.summary, n_without, values)
    return report, input_record(given.table)


def _refuse_missing_in(rows: DuckDBRows, names: list[str], also: str = "") -> None:
    for name, number in rows.n_missing(names).items():
        raise ValueError(
            f"column {name!r} of {rows.path} has {number:,} missing values; --missing "
            f"drop leaves these rows out{also}."
        )


def _public_summary(
    report: FairnessReport, given: argparse.Namespace, fields: dict[str, Any]
) -> str:
    """Write the public summary: labels have selection rates, scores scoring rates."""
    rate: Literal["selection", "scoring"] = "selection" if given.y_pred else "scoring"
    table = report.to_frame("impact_ratios").query("kind == @rate")
    by_group = table.set_index(["attribute", "group"])
    try:
        return public_summary(by_group, rate=rate, **fields)
    except ValueError as error:
        raise ValueError(f"--{error}") from error


def _beyond_limits(report: FairnessReport, limits: dict[str, float]) -> list[str]:
    """Name the metrics that are above their limits, or undefined."""
    found = []
    for row in report.to_frame().to_dict("records"):
        limit = limits.get(row["metric"])
        if limit is not None and not row["value"] <= limit:
            what = f"{row['metric']} of {row['model']} by {row['attribute']}"
            found.append(f"{what} is {row['value']:.6g}, the limit is {limit:g}")
    missing = set(limits) - set(report.to_frame()["metric"])
    return found + [
        f"{key} was not computed, so not checked" for key in sorted(missing)
    ]


def _says_nothing(report: FairnessReport) -> bool:
    """Whether nothing differs between rows, or no metric is defined or has bounds."""
    if all(model["alike"] for model in report.summary["models"]):
        return True
    values = report.to_frame()["value"]
    if report.summary["proxy"] is not None:
        values = pd.concat([values, report.to_frame("proxy")["estimate"]])
    return bool(values.isna().all())

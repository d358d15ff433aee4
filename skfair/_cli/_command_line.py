"""``python -m skfair``: reports, comparisons and monitors without code."""

from __future__ import annotations

import argparse
import datetime
import difflib
import hashlib
import json
import math
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NoReturn, TextIO

import pandas as pd

import skfair
from skfair._cli._bins import bins_hint, into_bins, read_bins
from skfair._cli._duckdb import (
    ENGINES,
    DuckDBRows,
    UnsuitedError,
    files_of,
    takes_duckdb,
)
from skfair._cli._monitor import add_monitor, alarmed, describe, run_monitor
from skfair._cli._tables import (
    SEVERAL,
    Columns,
    check_output,
    line_of,
    read_columns,
    read_names,
)
from skfair._cli._text import (
    Format,
    add_format,
    as_values,
    check_columns,
    format_of,
    number_hint,
)
from skfair._utils._files import sha256_of, write_text
from skfair._utils._text import visible_text
from skfair._utils._validation import ParameterError, RowError, check_choice, check_real
from skfair.groups import MISSING_LABEL, Groups, encode_groups, intersect
from skfair.metrics._undefined import collected_reasons
from skfair.model_selection import compare_models
from skfair.report import DataReport, FairnessReport, public_summary, verify_bundle
from skfair.report._bundle import check_folder
from skfair.report._inputs import Options
from skfair.report._language import LANGUAGES, counted, speaking
from skfair.report._metrics import KEYS, MEASURES
from skfair.report._page._html import require_report_extra

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

_EXAMPLE_OF_COMPARE = """\
example:
  python -m skfair compare predictions.csv --y-true y --y-score a,b,c \\
      --baseline a --sensitive sex --margin 0.02

predictions.csv has a row for each person, whom no model was fitted to. Which of the
models b and c have a lower MCDP than a, and an average precision that is lower by at
most 0.02?

exit codes: 0, the models are compared, whatever is confirmed; 2, the arguments or the
file are bad, and one line says why; 4, the groups cannot be compared; 130, interrupted.
"""

#: Exit codes beside 0 for success, 2 for bad input and 130 if interrupted.
ABOVE_LIMIT, NOTHING_SAID = 3, 4

#: Parameters of `FairnessReport.from_predictions` that have options.
_SETTINGS: tuple[str, ...] = ("threshold", "scale", "min_group_size")
_SETTINGS += ("impact_ratios", "min_share", "odds_ratio", "proxy_limit", "n_resamples")
_SETTINGS += ("n_permutations", "random_state", "language", "n_jobs")
#: Options of these and of other parameters.
_OPTIONS = {
    name: f"--{name.replace('_', '-')}"
    for name in (*_SETTINGS, "pos_label", "rare", "min_cell")
}
_OPTIONS |= {"n_resamples": "--resamples", "n_permutations": "--permutations"}
_OPTIONS |= {"random_state": "--seed", "n_jobs": "--jobs"}


def make_parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = _Parser(
        prog=_program(), description="Measure the fairness of predictions."
    )
    parser.add_argument(
        "--version", action="version", version=f"skfair {skfair.__version__}"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    audit = commands.add_parser(
        "audit",
        help="write a report on a table of predictions",
        description="Write a report on a table of predictions, as one HTML page.",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_table(audit)
    _add_reading(audit)
    _add_columns(audit)
    _add_settings(audit)
    _add_output(audit)
    compare = commands.add_parser(
        "compare",
        help="test which models serve as well as a baseline and divide less",
        description="Test which models have a lower MCDP than a baseline and perform "
        "as well.",
        epilog=_EXAMPLE_OF_COMPARE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_table(compare)
    _add_comparison(compare)
    add_monitor(commands)
    _add_data(
        commands.add_parser(
            "data",
            help="write a report on a table before any model",
            description="Write who is in a table: groups, base rates, missing values, "
            "proxies and distances by group, and the rows that an audit needs.",
        )
    )
    verify = commands.add_parser(
        "verify",
        help="compute the numbers of a bundle again, without the rows",
        description="Compute the numbers of a bundle that `audit --bundle` has written "
        "again. Exit codes: 0, they agree; 1, they do not, or it is no bundle; 2, it "
        "cannot be read.",
    )
    verify.add_argument("directory", type=Path, help="the bundle")
    for command in commands.choices.values():
        command.set_defaults(parser=command)
    return parser


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong with the arguments."""

    def error(self, message: str) -> NoReturn:
        name = self.prog.removeprefix("python -m ")
        end = "" if message.endswith((".", "?")) else "."
        text = f"{name}: error: {message}{end} {name} --help lists all options."
        _say(" ".join(text.split()), sys.stderr)
        raise SystemExit(2)

    def refuse(self, unknown: list[str]) -> None:
        """Name the options that arguments may stand for."""
        options = re.findall(r"--[\w-]+", self.format_usage())
        meant = [difflib.get_close_matches(text, options, 1) for text in unknown]
        found = " and ".join(name for names in meant for name in names)
        hint = f". Is {found} meant?" if found else "."
        self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")


def _add_data(data: argparse.ArgumentParser) -> None:
    add = data.add_argument
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
    _add_format(data)
    add("--out", type=Path, metavar="FILE", help="page to write; without, text")
    add("--format", choices=("html", "json"), help="of --out (default: as its name)")
    add("--no-overwrite", action="store_true", help="stop if this file exists")
    add("--language", default="en", choices=LANGUAGES, help="language of the page")
    add("--date", nargs="?", const="today", help="write a date on the page")


def _add_table(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "table",
        type=Path,
        help="a .csv, .tsv, .csv.gz, .parquet or .xlsx file, or a pattern of several "
        "in quotation marks, such as 'predictions/*.parquet'",
    )
    _add_format(parser)
    add(
        "--missing",
        choices=("raise", "drop", "group"),
        default="raise",
        help="what to do with missing values: raise an error, leave these rows out, or "
        "make rows without a group a group of their own (default: %(default)s)",
    )


def _add_format(parser: argparse.ArgumentParser) -> None:
    add_format(parser)
    parser.add_argument(
        "--bins",
        action="append",
        default=[],
        metavar="COLUMN=EDGES",
        help="make groups of a number: --bins age=30,50 are under 30, 30 to under 50, "
        "and 50 and over",
    )


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
        default=0.5,
        help="least score that is a positive decision, with --scale rank the least "
        "rank (default: %(default)s)",
    )
    of_resamples = "resamples for the intervals of DCP and calibration gap"
    for parameter, default, what in (
        ("min_group_size", 10, "groups with fewer rows are left out and named"),
        ("n_resamples", 500, of_resamples),
        ("n_permutations", 199, "shuffles behind each p-value"),
        ("random_state", 0, "the same one gives the same page"),
        ("n_jobs", 1, "number of processes"),
    ):
        add(
            _OPTIONS[parameter],
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
    add(
        "--format",
        choices=("html", "json", "md"),
        help="a page, all numbers and texts, or Markdown (default: as the name of "
        "--out ends, else html)",
    )
    add("--title", default="Fairness report", help="title of the page")
    add(
        "--language",
        default="en",
        choices=LANGUAGES,
        help="language of the page, not of messages (default: %(default)s)",
    )
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


def _add_comparison(compare: argparse.ArgumentParser) -> None:
    add = compare.add_argument
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
    add(
        "--format",
        choices=("html", "json", "md"),
        help="a page, all numbers, or Markdown (default: as the name of --out ends, "
        "else html; without --out md)",
    )
    # What an audit has beside.
    compare.set_defaults(y_pred=[], control_features=[], group_probability=[], proxy=[])
    compare.set_defaults(target="class")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code."""
    given, unknown = make_parser().parse_known_args(arguments)
    if unknown:
        given.parser.refuse(unknown)
    if "sep" in given:
        given.form = format_of(given)
    if "format" in given and given.format is None:
        given.format = _format_of_output(given)
    commands = {
        "audit": _run_audit,
        "compare": _run_comparison,
        "data": _run_data,
        "monitor": _run_monitor,
        "verify": _verify,
    }
    try:
        return commands[given.command](given)
    except (ValueError, OSError, ImportError) as error:
        _end_progress()
        message = str(error)
        if isinstance(error, ParameterError):
            option = _OPTIONS.get(error.parameter, error.parameter)
            message = f"{option} {error.problem}"
        message = " ".join(message.split())
        _say(f"skfair {given.command}: error: {message}", sys.stderr)
        return 2
    except KeyboardInterrupt:
        _end_progress()
        return 130


def _format_of_output(given: argparse.Namespace) -> str:
    """Return the format that the name of the output says, else that of a page."""
    if given.out is None:
        return "md"
    ending = given.out.suffix.lower().removeprefix(".")
    known = ("json",) if given.command == "data" else ("json", "md")
    return ending if ending in known else "html"


def _run_data(given: argparse.Namespace) -> int:
    """Write a data report, and return the exit code."""
    date = _date(given.date)
    if given.out is not None:
        _check_output(given, given.out)
        if given.format == "html":
            require_report_extra()
    with speaking(given.language), collected_reasons():
        report, record = _read_data(given)
    if given.out is not None:
        write(report, given.out, given.format, record | date)
    _say(str(report) if given.out is None else str(given.out), sys.stdout)
    return 0


def _read_data(given: argparse.Namespace) -> tuple[DataReport, dict[str, str]]:
    """Read all columns of a table, and compute the report."""
    if not given.sensitive:
        raise ValueError("--sensitive must name a column.")
    bins = read_bins(given.bins, given.sensitive)
    with _unchanged([given.table]):
        names = read_names(given.table, given.form)
        labels = [] if given.y_true is None else [given.y_true]
        check_columns(given.table, names, [*given.sensitive, *labels])
        if "" in names:
            _note(given, "columns without a name are left out.")
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
            _note(given, f"column {name!r} is text.{hint}")
    report = DataReport.from_frame(
        table.drop(columns=given.sensitive),
        y,
        sensitive_features=into_bins(table, given.sensitive, bins),
        pos_label=_label(given.pos_label, [y]),
        limit=given.limit,
        language=given.language,
    )
    return report, record


def _verify(given: argparse.Namespace) -> int:
    """Verify a bundle, and say what is wrong with it, and what was not verified."""
    if not given.directory.is_dir():
        raise NotADirectoryError(
            f"{given.directory} is no directory, as `skfair audit --bundle` writes."
        )
    found = verify_bundle(given.directory)
    for text in found.problems:
        _say(f"skfair verify: wrong: {text}", sys.stderr)
    numbers = counted(found.n_verified, "number")
    _say(f"{numbers} computed again from the statistics", sys.stdout)
    for text in found.not_verified:
        _say(f"not verified: {text}", sys.stdout)
    return 0 if found.ok else 1


def _run_audit(given: argparse.Namespace) -> int:
    """Write the report, say what is in it, and return the exit code."""
    limits, given.limit = read_limits(given.limit)
    date = _date(given.date)
    fields = _public_fields(given, date)
    with speaking(given.language), collected_reasons():
        report, record = _audit(given)
    public = None if fields is None else _public_summary(report, given, fields)
    to_output = given.out is not None and _is_standard_output(given.out)
    summaries = sys.stderr if to_output else sys.stdout
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
    _say("\n".join([str(report), *written]), summaries)
    above = beyond_limits(report, limits)
    for text in above:
        _say(f"skfair audit: limit: {text}", sys.stderr)
    if says_nothing(report):
        _say("skfair audit: nothing could be compared; the page says why.", sys.stderr)
        return NOTHING_SAID
    return ABOVE_LIMIT if above else 0


def _run_comparison(given: argparse.Namespace) -> int:
    """Compare the models, write or print the result, and return the exit code."""
    if given.format == "html":
        require_report_extra()
    if given.out is not None:
        _check_output(given, given.out)
    if not given.sensitive:
        raise ValueError("--sensitive must name a column.")
    if given.baseline not in given.y_score or len(given.y_score) < 2:
        raise ValueError(
            "--y-score must name the column of --baseline and others, got "
            f"{','.join(given.y_score)} and {given.baseline}."
        )
    margin = check_real("--margin", given.margin, 0, math.inf, closed="left")
    level = given.confidence_level
    level = check_real("--confidence-level", level, 0, 1, closed="neither")
    with _unchanged(files_of(given.table)), collected_reasons():
        columns, bins = _columns_to_read(given), read_bins(given.bins, given.sensitive)
        table = read_columns(given.table, columns, given.form)
        table = _without_missing(given, table, columns.values())
        weights = None if given.sample_weight is None else table[given.sample_weight]
        people = into_bins(table, given.sensitive, bins)
        groups = _intersection_of_columns(given, people, given.sensitive)
        assert groups is not None  # as there is a column
        result = compare_models(
            _is_positive(given, table[given.y_true]),
            table[given.y_score],
            baseline=given.baseline,
            sensitive_features=replace(groups, min_group_size=given.min_group_size),
            margin=margin,
            confidence_level=level,
            sample_weight=weights,
        )
        record = input_record(given.table)
    rows = f"The rows are those of {record['input']}, SHA-256 {record['sha256']}."
    result = replace(result, notes=(rows,))
    text = {
        "html": result.to_html,
        "md": result.to_markdown,
        "json": lambda: json.dumps(
            result.to_dict() | record, indent=1, ensure_ascii=False
        ),
    }[given.format]()
    if given.out is None:
        _say(text, sys.stdout)
    else:
        write_text(given.out, text.rstrip() + "\n")
        _say(f"{result.sentences[0]}\n{given.out}", sys.stdout)
    if result.table["pvalue"].isna().all():
        _say("skfair compare: the groups cannot be compared.", sys.stderr)
        return NOTHING_SAID
    return 0


def _is_positive(given: argparse.Namespace, y_true: Any) -> Any:
    """Which rows have the positive one of two labels."""
    positive = _label(given.pos_label or "1", [y_true])
    known = y_true.unique().tolist()
    if len(known) != 2 or positive not in known:
        raise ValueError(
            f"column {given.y_true!r} must have two labels, one of which --pos-label "
            f"names (default: 1), got {known[:5]}."
        )
    return (y_true == positive).astype(int)


def _run_monitor(given: argparse.Namespace) -> int:
    """Add a batch to a monitor, and return the exit code."""
    monitor, is_new, table = run_monitor(given)
    for name in given.sensitive:
        hint = bins_hint(table[name], "a column of ranges such as ")
        if hint:
            _note(given, hint)
    if not is_new:
        _say("skfair monitor: note: the batch was added before.", sys.stderr)
    if math.isnan(monitor.interval_.value):
        _say("skfair monitor: groups cannot be compared yet.", sys.stderr)
        return NOTHING_SAID
    _say(describe(monitor), sys.stdout)
    return ABOVE_LIMIT if alarmed(monitor) else 0


def _program() -> str:
    """Name the command as it was called."""
    name = Path(sys.argv[0]).stem
    return "skfair" if name == "skfair" else "python -m skfair"


def _say(text: str, stream: TextIO) -> None:
    """Print a line; characters that the console does not know are escaped."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream)


def _note(given: argparse.Namespace, text: str) -> None:
    _say(f"skfair {given.command}: note: {text}", sys.stderr)


def _numbers_with_commas(text: str) -> tuple[float, ...]:
    """Read numbers with commas between them."""
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        problem = f"must be numbers such as 1,1.5,inf, got {text!r}"
        raise argparse.ArgumentTypeError(problem) from None


def _date(text: str | None) -> dict[str, str]:
    """Read a date, or today's."""
    if text is None:
        return {}
    if text == "today":
        return {"date": datetime.date.today().isoformat()}
    return {"date": _iso_date(text, "--date", ", or have no value")}


def _iso_date(text: str, option: str, otherwise: str = "") -> str:
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError(
            f"{option} must be a date such as 2026-01-31{otherwise}, got {text!r}."
        ) from None


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
    given.impact_ratios = True
    _check_output(given, given.public_summary, "--public-summary")
    return {
        "audit_date": date["date"],
        "distribution_date": _iso_date(given.distribution_date, "--distribution-date"),
        "source": given.source,
        "justification": given.justification,
    }


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


def _audit(given: argparse.Namespace) -> tuple[FairnessReport, dict[str, str]]:
    """Read the table, compute the report, and say what was read.

    Cheap checks come first.
    """
    page = given.format == "html" and given.out is not None
    if page or given.bundle is not None:
        require_report_extra()
    if given.out is not None:
        _check_output(given, given.out)
    elif given.bundle is None and given.public_summary is None:
        raise ValueError("--out or --bundle must name what is to be written.")
    if given.bundle is not None:
        check_folder(given.bundle)
    elif given.min_cell is not None:
        raise ValueError("--min-cell must be given with --bundle.")
    if given.target == "number":
        if given.scale != "probability":
            raise ValueError("--scale must be left out with --target number.")
        given.scale = "real"
    settings = {name: getattr(given, name) for name in _SETTINGS}
    Options(**settings)
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
        "limit": given.limit,
        "title": given.title,
        "verbose": int(not given.quiet and sys.stderr.isatty()),
    }
    with _unchanged(files_of(given.table)):
        if takes_duckdb(given.table, given.engine):
            try:
                in_memory = {
                    "--group-probability": given.group_probability,
                    "--target number": given.target == "number",
                    "--decimal ','": given.decimal == ",",
                }
                for option, asked in in_memory.items():
                    if asked:
                        raise UnsuitedError(
                            f"{option} needs --engine pandas, which reads one file."
                        )
                return _report_of_counts(given, columns, bins, settings)
            except UnsuitedError:
                if given.engine != "auto" or files_of(given.table) != [given.table]:
                    raise
        return _report_of_rows(given, columns, bins, settings)


@contextmanager
def _unchanged(files: list[Path]) -> Iterator[None]:
    """Raise if files change meanwhile: their hashes would not be of what was read."""

    def states() -> list[tuple[int, ...] | None]:
        found = [file.stat() if file.exists() else None for file in files]
        return [s and (s.st_ino, s.st_size, s.st_mtime_ns) for s in found]

    before = states()
    yield
    for file, was, now in zip(files, before, states(), strict=True):
        if was != now:
            raise ValueError(f"{file} was changed while it was read.")


def _columns_to_read(given: argparse.Namespace) -> Columns:
    """Columns to read; one that is used in several ways is a number, or a label."""
    weight = [] if given.sample_weight is None else [given.sample_weight]
    true = [] if given.y_true is None else [given.y_true]
    numbers = dict.fromkeys([*given.y_score, *weight, *given.group_probability])
    if given.target == "number":
        numbers |= dict.fromkeys([*given.y_pred, *true])
    labels = dict.fromkeys(
        name for name in [*given.y_pred, *true] if name not in numbers
    )
    values = {**numbers, **labels}
    groups = dict.fromkeys(
        name
        for name in [*given.sensitive, *given.control_features, *given.proxy]
        if name not in values
    )
    return Columns([*numbers], [*labels], [*groups])


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
    table = _without_missing(given, table, [*columns.values(), *in_proxy])
    known = [*given.sensitive, *given.control_features, *given.proxy]
    people = into_bins(table, known, bins)
    groups = {
        name: _groups_of_column(given, people[name], given.rare)
        for name in given.sensitive
    }
    strata = _intersection_of_columns(given, people, given.control_features)
    labels = [name for name in (given.y_true, *given.y_pred) if name is not None]
    shares = given.group_probability
    try:
        report = FairnessReport.from_predictions(
            None if given.y_true is None else table[given.y_true],
            {name: table[name] for name in given.y_score} or None,
            y_pred=table[given.y_pred] if given.y_pred else None,
            sensitive_features=groups or None,
            control_features=strata,
            group_probabilities=table[shares] if shares else None,
            cells=_proxy_cells(given, people),
            pos_label=_label(given.pos_label, [table[name] for name in labels]),
            sample_weight=None
            if given.sample_weight is None
            else table[given.sample_weight],
            **settings,
        )
    except RowError as error:
        line = line_of(given.table, table.index[error.row], given.form)
        raise ValueError(error.at(f"line {line} of {given.table}")) from error
    return report, record


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
    _say_left_out(given.command, n_without, values)
    for name in lacking:
        rows.name_missing(name)
    for name in groups:
        hint = bins_hint(rows.labels(name))
        if hint:
            _note(given, hint)
    if given.rare == "merge":
        for name in given.sensitive:
            rows.merge_rare(name, given.min_group_size)
    known = [
        rows.labels(name) for name in (given.y_true, *given.y_pred) if name is not None
    ]
    with rows.problems():
        report = FairnessReport.from_frame(
            rows.relation,
            y_true=given.y_true,
            y_score=given.y_score or None,
            y_pred=given.y_pred or None,
            sensitive_features=given.sensitive,
            control_features=given.control_features or None,
            pos_label=_label(given.pos_label, known),
            sample_weight=given.sample_weight,
            **settings,
        )
    return report, input_record(given.table)


def _refuse_missing_in(rows: DuckDBRows, names: list[str], also: str = "") -> None:
    for name, number in rows.n_missing(names).items():
        raise ValueError(
            f"column {name!r} of {rows.path} has {number:,} missing values; --missing "
            f"drop leaves these rows out{also}."
        )


def _say_left_out(command: str, n_without: int, names: list[str]) -> None:
    if n_without:
        _say(
            f"skfair {command}: note: {n_without:,} rows without {', '.join(names)} "
            "are left out.",
            sys.stderr,
        )


def _without_missing(given: argparse.Namespace, table: Any, names: list[str]) -> Any:
    """Leave out rows without a score, label or weight if ``--missing`` is drop."""
    missing = table[list(dict.fromkeys(names))].isna()
    if given.missing != "drop":
        for name in missing.columns[missing.any()]:
            _refuse_missing(given, table[name])
    kept = ~missing.any(axis=1)
    n_without = int((~kept).sum())
    if n_without == len(table):
        raise ValueError(f"{given.table} has no row without missing values.")
    _say_left_out(given.command, n_without, names)
    return table[kept].infer_objects()


def _refuse_missing(given: argparse.Namespace, column: Any, also: str = "") -> None:
    missing = column.isna()
    first = column.index[missing.to_numpy().argmax()]
    raise ValueError(
        f"column {column.name!r} has {int(missing.sum())} missing values, the first in "
        f"line {line_of(given.table, first, given.form)} of {given.table}; --missing "
        f"drop leaves these rows out{also}."
    )


def _groups_of_column(
    given: argparse.Namespace, column: Any, rare: Any = "keep"
) -> Groups:
    """Encode the groups of a column; ``--missing`` is about missing ones."""
    if given.missing == "raise" and column.isna().any():
        _refuse_missing(given, column, ", --missing group makes them a group")
    missing: Literal["drop", "group"] = "drop" if given.missing == "drop" else "group"
    groups = encode_groups(
        column, missing=missing, rare=rare, min_group_size=given.min_group_size
    )
    hint = bins_hint(column)
    if hint:
        _note(given, hint)
    return groups


def _intersection_of_columns(
    given: argparse.Namespace, people: dict[str, Any], names: list[str]
) -> Groups | None:
    """Encode the intersection of some columns, None for no columns."""
    if not names:
        return None
    each = [_groups_of_column(given, people[name]) for name in names]
    codes, labels = intersect([(one.codes, one.labels) for one in each])
    return Groups(codes, labels, tuple(names))


def _proxy_cells(given: argparse.Namespace, people: dict[str, Any]) -> Any:
    """Proxy of each row, in which missing is a value; None for no columns."""
    columns = {}
    for name in given.proxy:
        column = people[name]
        if given.missing == "raise" and column.isna().any():
            _refuse_missing(given, column, ", --missing group makes them a cell")
        columns[name] = column.astype(object).where(column.notna(), MISSING_LABEL)
    return pd.DataFrame(columns) if columns else None


def _label(text: str | None, columns: list[Any]) -> Any:
    """Find the label of some columns that is written like this."""
    if text is None:
        return None
    meant = as_values(pd.Series([text]), Format())[0]  # as cells are
    for column in columns:
        for label in [] if column is None else column.dropna().unique().tolist():
            if text == str(label) or meant == label:
                return label
    return text


def _check_output(given: argparse.Namespace, path: Path, option: str = "--out") -> None:
    """Raise before the long work if a file cannot be written after it, or is input."""
    if given.no_overwrite and path.exists():
        raise FileExistsError(f"{path} exists already, and --no-overwrite is given.")
    check_output(path, option)
    table, files = given.table, files_of(given.table)
    same = [file for file in files if file.exists() and path.exists()]
    for file in same:
        if path.samefile(file):
            raise ValueError(f"{option} {path} is {file}, which is to be read.")
    # Another run would read what this one has written.
    if files != [table] and path.absolute().match(str(table.absolute())):
        raise ValueError(f"{option} {path} is a file that {table} matches.")


def _is_standard_output(path: Path) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(1))
    except OSError:  # one of them does not exist
        return False


def _end_progress() -> None:
    """End the line of the progress, so that a message has a line of its own."""
    if sys.stderr.isatty():
        print(file=sys.stderr)


def input_record(path: Path) -> dict[str, str]:
    """Name what was read, without its directory, and hash it.

    Of a file its bytes are hashed as they are stored, of the files of a pattern the
    lines that ``sha256sum`` writes of them.
    """
    files = files_of(path)
    if files == [path]:
        return {"input": visible_text(path.name, 100), "sha256": sha256_of(path)}
    lines = "".join(f"{sha256_of(file)}  {file.name}\n" for file in files)
    name = f"{visible_text(path.name, 80)} ({counted(len(files), 'file')})"
    return {"input": name, "sha256": hashlib.sha256(lines.encode()).hexdigest()}


def write(report: Any, path: Path, how: str, record: dict[str, str]) -> None:
    """Write a report and the record of its input as a page, JSON, or Markdown."""
    source = f"{record['input']}, SHA-256 {record['sha256']}"
    head = {"date": record.get("date"), "source": source}
    if how == "html":
        report.to_html(path, **head)
    elif how == "md":
        report.to_markdown(path, **head)
    else:
        text = json.dumps(report.summary | record, indent=1, ensure_ascii=False)
        write_text(path, text + "\n")


def read_limits(given: list[str]) -> tuple[dict[str, float], float | None]:
    """Read limits of metrics, such as ``mcdp=0.1``, and the one of no metric."""
    limits, plain = {}, []
    for text in given:
        key, named, written = text.partition("=")
        if named:
            check_choice("--limit", key, KEYS)
        try:
            value = float(written if named else text)
        except ValueError:
            form = "METRIC=NUMBER" if named else "NUMBER or METRIC=NUMBER"
            raise ValueError(f"--limit must be {form}, got {text!r}.") from None
        largest = MEASURES[key].maximum if named else 1
        check_real("--limit", value, 0, math.inf if largest is None else largest)
        if named:
            limits[key] = value
        else:
            plain.append(text)
    if len(plain) > 1:
        raise ValueError(f"--limit must have one number, got {plain}.")
    return limits, float(plain[0]) if plain else None


def beyond_limits(report: FairnessReport, limits: dict[str, float]) -> list[str]:
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


def says_nothing(report: FairnessReport) -> bool:
    """Whether no metric of the report is defined, and none has bounds."""
    values = report.to_frame()["value"]
    if report.summary["proxy"] is not None:
        values = pd.concat([values, report.to_frame("proxy")["estimate"]])
    return bool(values.isna().all())

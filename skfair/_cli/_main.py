"""``python -m skfair``: reports without code."""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn, TextIO

import numpy as np
import pandas as pd
from sklearn.exceptions import UndefinedMetricWarning

import skfair
from skfair._cli._columns import column_kinds
from skfair._cli._faults import Faults, option_name
from skfair._cli._options import add_options, check_output, read_date, read_limit
from skfair._cli._read import input_record, read_rows
from skfair._cli._values import (
    check_clusters,
    check_missing,
    check_people,
    check_scores,
    check_weights,
    names_of_outcomes,
    odd_values,
    read_labels,
    repeated,
)
from skfair._utils._files import write_text
from skfair._utils._validation import ParameterError, check_counts
from skfair.groups import encode_groups
from skfair.report import FairnessReport
from skfair.report._options import Options
from skfair.report._page import require_report_extra
from skfair.report._summary import (
    tell_left_out,
    tell_notes,
    tell_threshold,
    tell_true_labels,
)

_ABOUT = """\
Compare decisions or scores between groups of people, and write a page about it.

The table has a header and a row for each person, or for several of them (--count).
Names of several columns have commas between them, and no spaces.
"""
_AFTER = """\
exit codes: 0, the page is written; 2, something is wrong with the command or the
file: a line for each fault says what, and the last line is a command without them;
3, the page is written, and a --limit is missed; 4, the page is written, but nothing
could be compared; 130, interrupted.

example:
  python -m skfair audit loans.csv --y-pred decision --pos-label approved \\
      --sensitive sex,race --out report.html
"""
#: Exit codes beside 0 for success, 2 for bad input and 130 if interrupted.
_MISSED_LIMIT, _NOTHING_SAID = 3, 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code."""
    typed = [*(sys.argv[1:] if arguments is None else arguments)]
    parser = make_parser()
    if not typed:
        say(parser.format_help())
        return 0
    args, unknown = parser.parse_known_args(typed)
    if unknown:
        args.parser.refuse(unknown)
    args.typed = typed
    try:
        with _warnings_as_notes():
            return run_audit(args)
    except (ValueError, OSError, ImportError) as error:
        message = str(error)
        if isinstance(error, ParameterError):
            message = f"{option_name(error.parameter)} {error.problem}"
        for line in message.split("\n"):
            _warn(line if line.startswith("try: ") else f"error: {line}")
        return 2
    except KeyboardInterrupt:
        _end_progress()
        return 130


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Print warnings as notes, without the line of code."""

    def note(message: Warning | str, *_: object, **__: object) -> None:
        _warn(f"note: {message}")

    with warnings.catch_warnings():
        # The command has said so already, with the option that mends it.
        warnings.filterwarnings("ignore", "(sensitive|control)_features has the label")
        warnings.showwarning = note
        yield


def _end_progress() -> None:
    """End the line of the progress report, so that messages begin on a new line."""
    if sys.stderr.isatty():
        print(file=sys.stderr)


def say(text: str, stream: TextIO | None = None) -> None:
    """Print a text; characters that the console does not know are escaped."""
    stream = sys.stdout if stream is None else stream
    encoding = getattr(stream, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream)


def _warn(text: str) -> None:
    """Print a line to the standard error stream, after the name of the command."""
    _end_progress()
    say(f"skfair audit: {' '.join(text.split())}", sys.stderr)


def make_parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    called = Path(sys.argv[0]).stem
    parser = _Parser(
        prog="skfair" if called == "skfair" else "python -m skfair",
        description="Measure how fair decisions and predictions are.",
        epilog="example: python -m skfair audit --help",
    )
    parser.add_argument(
        "--version", action="version", version=f"skfair {skfair.__version__}"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    audit = commands.add_parser(
        "audit",
        help="write a report on a table of predictions",
        usage="%(prog)s TABLE --y-pred COLUMN --sensitive COLUMNS --out FILE [options]",
        description=_ABOUT,
        epilog=_AFTER,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    text = "a .csv, .tsv, .csv.gz, .parquet or .xlsx file, or a pattern of several, "
    text += "such as 'predictions/*.parquet', in quotation marks"
    audit.add_argument("table", metavar="TABLE", type=Path, help=text)
    add_options(audit)
    audit.set_defaults(parser=audit)
    return parser


class _Parser(argparse.ArgumentParser):
    """Parser that reports wrong arguments in one line."""

    def error(self, message: str) -> NoReturn:
        name = self.prog.removeprefix("python -m ")
        end = "" if message.endswith((".", "?")) else "."
        text = f"{name}: error: {message}{end} {name} --help lists all options."
        say(" ".join(text.split()), sys.stderr)
        raise SystemExit(2)

    def refuse(self, unknown: list[str]) -> NoReturn:
        """Raise on unknown arguments, and name the options that may be meant."""
        options = re.findall(r"--[\w-]+", self.format_help())
        close = [difflib.get_close_matches(text, options, 1, 0.7) for text in unknown]
        meant = " and ".join(name for names in close for name in names)
        hint = f". Is {meant} meant?" if meant else "."
        if not any(text.startswith("-") for text in unknown):
            hint += " Columns have commas and no spaces between them: --sensitive a,b."
        self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")


def run_audit(args: argparse.Namespace) -> int:
    """Write the report that a command asks for, and return its exit code."""
    args.limit = read_limit(args.limit)
    args.date = read_date(args.date)
    faults = Faults(args)
    _check_outputs(args, faults)
    _check_arguments(args)
    with warnings.catch_warnings():
        # The page and the notes say it.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        record = input_record(args.table)
        report = _report(args, faults)
        if input_record(args.table) != record:
            raise ValueError(f"{args.table} was changed while it was read.")
    _write(report, args, record)
    to_output = _is_standard_output(args.out)
    say(f"{report}\n{args.out}", sys.stderr if to_output else None)
    limits = report.summary["verdict"]["limits"]
    missed = [limit for limit in limits if not limit["kept"]]
    for limit in missed:
        _warn(f"limit: {limit['text']}")
    if _says_nothing(report):
        _warn("nothing could be compared; the page says why.")
        return _NOTHING_SAID
    return _MISSED_LIMIT if missed else 0


def _check_outputs(args: argparse.Namespace, faults: Faults) -> None:
    """Raise if an output cannot be written, before the long computation."""
    if args.out is None:
        faults.add("--out must name the file to write.")
        faults.mend(out=Path("report.html"))
    ending = args.out.suffix.lower().removeprefix(".")
    args.format = args.format or (ending if ending in ("json", "md") else "html")
    if not ending and not os.path.lexists(args.out):
        args.out = args.out.with_suffix(f".{args.format}")
    if args.format == "html":
        require_report_extra()
    check_output(args.out, args.table)


def _check_arguments(args: argparse.Namespace) -> None:
    """Check the options that do not depend on the table."""
    if args.thousands == args.decimal:
        raise ValueError(
            f"--thousands must differ from --decimal, got {args.thousands!r} twice."
        )
    if args.cluster is not None and (args.count or args.selected):
        raise ValueError(
            "--cluster must be left out with --count: a row that stands for several "
            "people is not one of several rows of a person."
        )
    Options(**_settings(args) | {"threshold": None})


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of the report that options set."""
    names = {field.name for field in fields(Options)} & vars(args).keys()
    settings = {name: getattr(args, name) for name in names}
    if args.scale == "rank":
        settings["threshold"] = None  # a threshold in the unit of the score decides
    return settings | {"verbose": int(sys.stderr.isatty())}


def _report(args: argparse.Namespace, faults: Faults) -> FairnessReport:
    """Read the table, and compute the report; raise if there are faults."""
    rows = read_rows(args, faults, in_memory=_needs_rows(args))
    check_people(rows, faults)
    if args.selected is not None:
        args.y_pred, args.selected = [args.selected], None
        if args.y_true is None and args.pos_label in ([], ["1"]):
            args.pos_label = ["selected"]
    values = [name for name, kind in column_kinds(args).items() if kind != "group"]
    labels = [name for name, kind in column_kinds(args).items() if kind == "label"]
    groups = [*dict.fromkeys(args.sensitive + args.control_features)]
    min_group_size = args.min_group_size
    notes = [] if args.cluster or args.count else [*repeated(rows, args.sensitive)]
    notes += [*odd_values(rows, [*groups, *labels], min_group_size)]
    outcomes = names_of_outcomes(rows, args)
    positive = read_labels(rows, labels, faults)
    check_weights(rows, faults)
    notes += faults.notes
    check_missing(rows, values, groups, faults)
    check_scores(rows, faults)
    check_clusters(rows, groups, faults)
    faults.check()
    for text in notes:
        _warn(f"note: {text}")
    missing = args.missing_values == "drop" and rows.n_missing(values)
    before = {name: rows.counts(name) for name in args.sensitive} if missing else {}
    n_without = rows.drop_missing(values) if missing else 0
    settings = _settings(args) | {"pos_label": positive}
    with rows.problems():
        make = _report_of_rows if rows.in_memory else _report_of_counts
        report = make(args, rows.frame, settings)
    if notes:
        report.summary = tell_notes(report.summary, notes)
    if outcomes is not None and len(report.summary["classes"]) == 2:
        report.summary = tell_true_labels(report.summary, outcomes)
    if args.scale == "rank" and args.threshold is not None and not args.y_pred:
        report.summary = tell_threshold(report.summary, args.threshold)
    if n_without:
        without = [
            (f"{name}: {label}", int(n - rows.counts(name).get(label, 0)), int(n))
            for name, counts in before.items()
            for label, n in counts.items()
        ]
        report.summary = tell_left_out(report.summary, n_without, values, without)
    return report


def _needs_rows(args: argparse.Namespace) -> bool:
    """Return whether an option requires all rows in memory."""
    return (
        args.count is not None
        or args.cluster is not None
        or args.selected is not None
        or args.missing_values != "raise"
        or args.missing_groups != "raise"
        or args.rare != "keep"
        or args.scale == "real"
        or (args.scale == "rank" and args.threshold is not None)
        or args.thousands is not None
    )


def _report_of_rows(
    args: argparse.Namespace, frame: pd.DataFrame, settings: dict[str, Any]
) -> FairnessReport:
    """Compute the report of rows in memory, some of which may have no group."""
    if args.count is not None and args.rare != "keep":  # which counts rows
        people: Any = check_counts(frame[args.count], len(frame))
        frame = frame.iloc[np.repeat(np.arange(len(frame)), people)]
        frame = frame.assign(**{args.count: 1})
    scores = {name: frame[name] for name in args.y_score}
    predicted = {name: frame[name] for name in args.y_pred}
    if len(scores) == len(predicted) == 1:
        predicted = dict(zip(scores, predicted.values(), strict=True))
    if args.scale == "rank" and args.threshold is not None and not predicted:
        positive = settings["pos_label"] or "1"
        settings["pos_label"] = positive
        true = [] if args.y_true is None else frame[args.y_true].unique()
        negative = next((x for x in true if x != positive), f"not {positive}")
        predicted = {
            name: np.where(values >= args.threshold, positive, negative)
            for name, values in scores.items()
        }
    how = {"missing": args.missing_groups, "missing_values": []}
    small = {"rare": args.rare, "min_group_size": args.min_group_size}
    strata = [*args.control_features]
    return FairnessReport.from_predictions(
        None if args.y_true is None else frame[args.y_true],
        scores or None,
        y_pred=predicted or None,
        sensitive_features={
            name: encode_groups(frame[name], **how, **small) for name in args.sensitive
        },
        control_features=encode_groups(frame[strata], **how) if strata else None,
        sample_weight=None if not args.sample_weight else frame[args.sample_weight],
        counts=None if args.count is None else frame[args.count],
        clusters=None if args.cluster is None else frame[args.cluster],
        **settings,
    )


def _report_of_counts(
    args: argparse.Namespace, frame: Any, settings: dict[str, Any]
) -> FairnessReport:
    """Compute the report of rows that an engine counts."""
    return FairnessReport.from_frame(
        frame,
        y_true=args.y_true,
        y_score=args.y_score or None,
        y_pred=args.y_pred or None,
        sensitive_features=args.sensitive,
        control_features=args.control_features or None,
        sample_weight=args.sample_weight,
        **settings,
    )


def _write(
    report: FairnessReport, args: argparse.Namespace, record: dict[str, str]
) -> None:
    """Write a report and the record of its input as a page, JSON, or Markdown."""
    source = f"{record['input']}, SHA-256 {record['sha256']}"
    if args.format == "html":
        report.to_html(args.out, date=args.date, source=source)
    elif args.format == "md":
        report.to_markdown(args.out, date=args.date, source=source)
    else:
        dated = {} if args.date is None else {"date": args.date}
        data = report.summary | record | dated
        write_text(args.out, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def _is_standard_output(path: Path) -> bool:
    """Return whether a path leads to the standard output stream."""
    try:
        return os.path.samestat(path.stat(), os.fstat(1))
    except OSError:  # one of them does not exist
        return False


def _says_nothing(report: FairnessReport) -> bool:
    """Return whether the report has no results: equal rows, or no defined metric."""
    if all(model["alike"] for model in report.summary["models"]):
        return True
    return all(
        measure["value"] is None
        for attribute in report.summary["attributes"]
        for result in attribute["results"]
        for measure in result["measures"]
    )

"""``python -m skfair``: reports and monitors without code."""

from __future__ import annotations

import argparse
import datetime
import difflib
import inspect
import json
import math
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import skfair
from skfair._cli._options import (
    ABOVE_LIMIT,
    NOTHING_SAID,
    OF_FILE,
    OF_MONITOR,
    add_options,
    check_labels_in_common,
    check_output,
    drop_missing,
    encode_strata,
    group_columns,
    iso_date,
    kinds_of,
    note_odd_values,
    option_of,
    parameter_of,
    positive_label,
    read_bins,
    read_marks,
    say,
    warn,
)
from skfair._cli._read import PandasRows, input_record, read_rows
from skfair._utils._files import check_writable, locked, write_text
from skfair._utils._text import counted, listed
from skfair._utils._validation import ParameterError, check_choice, check_real
from skfair.groups import MISSING_LABEL, encode_groups, sort_labels
from skfair.metrics._confidence_interval import metric_from_dict
from skfair.metrics._inputs import collected_reasons
from skfair.monitoring import FairnessMonitor
from skfair.report import FairnessReport, public_summary, verify_bundle
from skfair.report._bundle import check_folder
from skfair.report._metrics import MEASURES
from skfair.report._options import Options
from skfair.report._page import require_report_extra
from skfair.report._summary import tell_left_out
from skfair.statistics._statistic import check_format, with_format

#: Options of a monitor; those of a file may be others for each batch.
_OF_BATCHES = (
    *("--y-pred", "--y-score", "--y-true", "--sensitive", "--control-features"),
    *("--pos-label", "--scale", "--threshold", "--bins", "--min-group-size"),
    *("--replace", "--missing", "--drop-repeated", *OF_MONITOR),
)
#: Type of a state, and its entries.
_STATE = "skfair monitor"
_ENTRIES = "monitor", "batches", "options"
#: Kinds of pictures.
_PICTURES = ".png", ".svg", ".pdf"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code."""
    args, unknown = make_parser().parse_known_args(arguments)
    if unknown:
        args.parser.refuse(unknown)
    try:
        with _warnings_as_notes(args):
            code: int = args.run(args)
    except (ValueError, OSError, ImportError) as error:
        _end_progress()
        message = str(error)
        if isinstance(error, ParameterError):
            message = f"{option_of(error.parameter)} {error.problem}"
        warn(args, f"error: {message}")
        return 2
    except KeyboardInterrupt:
        _end_progress()
        return 130
    return code


@contextmanager
def _warnings_as_notes(args: argparse.Namespace) -> Iterator[None]:
    """Print what a warning says, without the line of code that it names."""

    def note(message: Warning | str, *_: object, **__: object) -> None:
        _end_progress()
        warn(args, f"note: {message}")

    with warnings.catch_warnings():
        # The command has said so already, with the option that mends it.
        warnings.filterwarnings("ignore", "(sensitive|control)_features has the labels")
        warnings.showwarning = note
        yield


def _end_progress() -> None:
    """End the line of the progress, so that a message has a line of its own."""
    if sys.stderr.isatty():
        print(file=sys.stderr)


def make_parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    called = Path(sys.argv[0]).stem
    parser = _Parser(
        prog="skfair" if called == "skfair" else "python -m skfair",
        description="Measure the fairness of predictions.",
    )
    parser.add_argument(
        "--version", action="version", version=f"skfair {skfair.__version__}"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in add_audit, add_monitor, _add_verify:
        add(commands)
    for command in commands.choices.values():
        command.set_defaults(parser=command)
    return parser


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong with the arguments."""

    def error(self, message: str) -> NoReturn:
        name = self.prog.removeprefix("python -m ")
        end = "" if message.endswith((".", "?")) else "."
        text = f"{name}: error: {message}{end} {name} --help lists all options."
        say(" ".join(text.split()), sys.stderr)
        raise SystemExit(2)

    def refuse(self, unknown: list[str]) -> NoReturn:
        """Name the options that arguments may stand for."""
        options = re.findall(r"--[\w-]+", self.format_help())
        close = [difflib.get_close_matches(text, options, 1, 0.7) for text in unknown]
        meant = " and ".join(name for names in close for name in names)
        hint = f". Is {meant} meant?" if meant else "."
        if not any(text.startswith("-") for text in unknown):
            hint += " Columns have commas and no spaces between them: --sensitive a,b."
        self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")


def _add_verify(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "verify",
        help="compute the numbers of a bundle again, without the rows",
        description="Compute the numbers of a bundle that `audit --bundle` has written "
        "again.",
        epilog="exit codes: 0, they agree; 1, they do not, or it is no bundle; 2, it "
        "cannot be read.",
    )
    parser.add_argument("directory", type=Path, help="the bundle")
    parser.set_defaults(run=_run_verify)


def _run_verify(args: argparse.Namespace) -> int:
    """Verify a bundle; say what was not verified, and at last whether it agrees."""
    if not args.directory.is_dir():
        raise NotADirectoryError(
            f"{args.directory} is no directory, as `skfair audit --bundle` writes."
        )
    check = verify_bundle(args.directory)
    say(f"{counted(check.n_verified, 'number')} computed again from the statistics")
    for text in check.not_verified:
        say(f"not verified: {text}")
    for text in check.problems:
        warn(args, f"differs: {text}")
    if check.ok:
        say("agrees: page, summary and statistics")
    return 0 if check.ok else 1


def add_audit(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "audit",
        help="write a report on a table of predictions",
        usage="%(prog)s TABLE [options]",
        description=inspect.cleandoc(run_audit.__doc__ or ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run_audit)
    text = "a .csv, .tsv, .csv.gz, .parquet or .xlsx file, or a pattern of several in "
    text += "quotation marks, such as 'predictions/*.parquet'"
    parser.add_argument("table", type=Path, help=text)
    add_options(parser)


def run_audit(args: argparse.Namespace) -> int:
    """Write a report on a table of predictions.

    Decisions only: which groups are selected how often.
      python -m skfair audit decisions.csv --y-pred decision --pos-label approved \\
          --sensitive sex,race --out report.html

    A score and a decision: the score is compared as a whole, too. A score that is no
    probability, such as 300 to 850, needs --scale rank. Without --y-pred, --threshold
    says from which score on the decision is positive.
      python -m skfair audit decisions.csv --y-score score --scale rank \\
          --y-pred decision --pos-label approved --sensitive sex --out report.html

    Outcomes of the approved only: one report on the decisions of everyone, as above,
    and one on the errors among those whose outcome is known. The others have empty
    cells, are left out, and are counted on the page.
      python -m skfair audit decisions.csv --y-true repaid --y-score p \\
          --sensitive sex --missing drop --out outcomes.html

    The table has a header, and a row for each person. Several columns have commas
    between them, without spaces. True and predicted labels are written alike, or
    --replace makes them so.

    exit codes: 0, the report is written; 2, the arguments or the file are bad, and
    one line says why; 3, the report is written, and a metric is above its --limit or
    cannot be computed; 4, the report is written, but nothing could be compared; 130,
    interrupted.
    """
    args.format = args.format or _format_of_name(args.out)
    limits, args.limit = _read_limits(args.limit)
    args.date = _date(args.date)
    summary_fields = _public_fields(args)
    with collected_reasons():
        _check_outputs(args)
        settings = _settings(args)
        record = input_record(args.table)
        report, n_repeated = _report(args, settings)
        if input_record(args.table) != record:
            raise ValueError(f"{args.table} was changed while it was read.")
    if n_repeated:
        rows = f"{counted(n_repeated, 'row')} with a repeated {args.drop_repeated!r}"
        warn(args, f"note: {rows} are left out.")
        record["input"] += f" ({rows} left out)"
    public = None
    if summary_fields is not None:
        public = _public_summary(report, args, summary_fields)
    to_output = args.out is not None and _is_standard_output(args.out)
    if args.out is not None:
        _write(report, args, record)
    if args.bundle is not None:
        report.to_bundle(
            args.bundle,
            min_cell=args.min_cell,
            date=args.date,
            source=record["input"],
            sha256=record["sha256"],
        )
    if public is not None:
        write_text(args.public_summary, public + "\n")
    paths = args.out, args.bundle, args.public_summary
    written = [str(path) for path in paths if path is not None]
    say("\n".join([str(report), *written]), sys.stderr if to_output else None)
    above = _beyond_limits(report, limits)
    for text in above:
        warn(args, f"limit: {text}")
    if _says_nothing(report):
        warn(args, "nothing could be compared; the page says why.")
        return NOTHING_SAID
    return ABOVE_LIMIT if above else 0


def _format_of_name(out: Path | None) -> str:
    """Format that the name of the output says, else that of a page."""
    ending = "" if out is None else out.suffix.lower().removeprefix(".")
    return ending if ending in ("json", "md") else "html"


def _check_outputs(args: argparse.Namespace) -> None:
    """Raise before the long work if something cannot be written after it."""
    if args.out is None and args.bundle is None and args.public_summary is None:
        raise ValueError("--out or --bundle must name what is to be written.")
    if args.bundle is not None or (args.out is not None and args.format == "html"):
        require_report_extra()
    if args.out is not None:
        check_output(args.out, args.table)
    if args.bundle is not None:
        check_folder(args.bundle)
    elif args.min_cell is not None:
        raise ValueError("--min-cell must be given with --bundle.")


def _is_standard_output(path: Path) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(1))
    except OSError:  # one of them does not exist
        return False


def _date(text: str | None) -> str | None:
    """Date to write, which is today's if it has no value."""
    if text is None:
        return None
    if text == "today":
        return datetime.date.today().isoformat()
    return iso_date(text, "--date", ", or have no value")


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


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """Parameters of the report that have options; cheap checks come first."""
    options = {field.name for field in fields(Options)} & vars(args).keys()
    settings = {name: getattr(args, name) for name in options}
    settings["impact_ratios"] |= args.public_summary is not None
    if args.limit is not None:
        settings["proxy_limit"] = args.limit
    above = args.threshold is not None and args.threshold > 1
    if args.scale == "probability" and above:
        raise ValueError(
            "--threshold must be in [0, 1], as probabilities are, got "
            f"{args.threshold:g}; --scale rank takes scores of any unit."
        )
    if args.scale == "rank":
        settings["threshold"] = None  # a threshold in the unit of the score decides
    settings["verbose"] = int(sys.stderr.isatty())
    Options(**settings)
    if not args.y_score and not args.y_pred:
        raise ValueError("--y-score or --y-pred must name a column.")
    if not args.sensitive and not args.group_probability:
        raise ValueError("--sensitive or --group-probability must name a column.")
    if args.proxy and not args.group_probability:
        raise ValueError("--proxy must be given with --group-probability.")
    return settings


def _read_limits(args: list[str]) -> tuple[dict[str, float], float | None]:
    """Read limits of metrics, such as ``mcdp=0.1``, and the one of no metric."""
    limits, plain = {}, []
    for text in args:
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
            plain.append(value)
    if len(plain) > 1:
        raise ValueError(f"--limit must have one number, got {plain}.")
    return limits, plain[0] if plain else None


def _kinds(args: argparse.Namespace) -> dict[str, str]:
    """Name columns, and say what they are read as."""
    numbers = [*args.y_score, *args.group_probability, args.sample_weight]
    labels = [*args.y_pred, args.y_true]
    if args.scale == "real":
        numbers, labels = [*numbers, *labels], []
    return kinds_of(numbers, labels, [*_group_columns(args), args.drop_repeated])


def _group_columns(args: argparse.Namespace) -> list[str]:
    """Names of columns of groups, strata and proxies, each once."""
    return [*dict.fromkeys(args.sensitive + args.control_features + args.proxy)]


def _needs_memory(args: argparse.Namespace) -> bool:
    """Whether an option needs the rows themselves, which an engine only counts."""
    return bool(
        args.bins
        or args.replace
        or args.group_probability
        or args.missing != "raise"
        or args.rare != "keep"
        or args.scale == "real"
        or (args.scale == "rank" and args.threshold is not None)
        or args.decimal == ","
        or args.thousands
        or args.drop_repeated
    )


def _report(
    args: argparse.Namespace, settings: dict[str, Any]
) -> tuple[FairnessReport, int]:
    """Read the table, compute the report, and count repeated rows that are left out."""
    kinds, groups = _kinds(args), _group_columns(args)
    values = [name for name, kind in kinds.items() if kind != "group"]
    binnable = {*groups} - {*values} | {*args.sensitive}
    bins = read_bins(args.bins, binnable)
    read_marks(args)
    rows = read_rows(args.table, kinds, args, in_memory=_needs_memory(args))
    labels = [name for name in (args.y_true, *args.y_pred) if name is not None]
    labels = [] if args.scale == "real" else labels
    n_repeated = rows.drop_repeated(args.drop_repeated)
    note_odd_values(args, rows, [*groups, *labels])
    if args.y_true in labels:
        for name in args.y_pred:
            check_labels_in_common(rows, args.y_true, name)
    needed = values + (args.proxy if args.missing == "drop" else [])
    drops = args.missing == "drop" and rows.n_missing(needed)
    before = {name: rows.counts(name) for name in args.sensitive} if drops else {}
    n_without = drop_missing(args, rows, needed)
    settings["pos_label"] = positive_label(
        args.pos_label, {name: rows.counts(name).index for name in labels}
    )
    people = group_columns(args, rows, groups, bins)
    with rows.problems():
        if rows.in_memory:
            report = _report_of_rows(args, rows.frame, people, settings)
        else:
            report = _report_of_counts(args, rows.frame, settings)
    if n_without:
        without = [
            (f"{name}: {label}", int(n - rows.counts(name).get(label, 0)), int(n))
            for name, counts in before.items()
            for label, n in counts.items()
        ]
        report.summary = tell_left_out(report.summary, n_without, needed, without)
    return report, n_repeated


def _report_of_rows(
    args: argparse.Namespace,
    frame: pd.DataFrame,
    people: dict[str, Any],
    settings: dict[str, Any],
) -> FairnessReport:
    """Compute the report of rows in memory, some of which may have no group."""
    scores = {name: frame[name] for name in args.y_score}
    predicted = {name: frame[name] for name in args.y_pred}
    if len(scores) == len(predicted) == 1:
        predicted = dict(zip(scores, predicted.values(), strict=True))
    if args.scale == "rank" and args.threshold is not None and not predicted:
        negative, positive = _two_labels(args, frame, settings["pos_label"])
        predicted = {
            name: np.where(values >= args.threshold, positive, negative)
            for name, values in scores.items()
        }
    sensitive = {
        name: encode_groups(
            people[name],
            missing=args.missing,
            rare=args.rare,
            min_group_size=args.min_group_size,
        )
        for name in args.sensitive
    }
    cells = pd.DataFrame({name: people[name] for name in args.proxy}, dtype=object)
    shares, weight = args.group_probability, args.sample_weight
    return FairnessReport.from_predictions(
        None if args.y_true is None else frame[args.y_true],
        scores or None,
        y_pred=predicted or None,
        sensitive_features=sensitive or None,
        control_features=encode_strata(args, people),
        group_probabilities=frame[shares] if shares else None,
        cells=cells.fillna(MISSING_LABEL) if len(cells) else None,
        sample_weight=None if weight is None else frame[weight],
        **settings,
    )


def _two_labels(
    args: argparse.Namespace, frame: pd.DataFrame, positive: Any
) -> NDArray[Any]:
    """Return the negative and the positive label of the true labels, or 0 and 1."""
    if args.y_true is None:
        return np.array([0, 1])
    labels = frame[args.y_true].unique().tolist()
    positive = 1 if positive is None else positive
    negative = [label for label in labels if label != positive]
    if len(negative) != 1:
        raise ValueError(
            "--threshold must be given with two true labels, got "
            f"{listed([*map(repr, sort_labels(labels))], 5)} in column "
            f"{args.y_true!r}."
        )
    return np.array([*negative, positive])


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


def _public_fields(args: argparse.Namespace) -> dict[str, Any] | None:
    """Fields of the public summary, checked before the long work; None without one."""
    needed = {
        "--date": args.date,
        "--distribution-date": args.distribution_date,
        "--source": args.source,
    }
    if args.public_summary is None:
        return None
    for option, value in needed.items():
        if not (value or "").strip():
            raise ValueError(f"--public-summary must be given with {option}.")
    if args.scale == "real" or max(len(args.y_score), len(args.y_pred)) > 1:
        raise ValueError(
            "--public-summary must be of one model of classes, so that --y-score and "
            "--y-pred name a column each, and --scale is not real."
        )
    check_output(args.public_summary, args.table, "--public-summary")
    return {
        "audit_date": args.date,
        "distribution_date": iso_date(args.distribution_date, "--distribution-date"),
        "source": args.source,
        "justification": args.justification,
    }


def _public_summary(
    report: FairnessReport, args: argparse.Namespace, summary_fields: dict[str, Any]
) -> str:
    """Write the public summary: labels have selection rates, scores scoring rates."""
    rate: Literal["selection", "scoring"] = "selection" if args.y_pred else "scoring"
    table = report.to_frame("impact_ratios").query("kind == @rate")
    by_group = table.set_index(["attribute", "group"])
    try:
        return public_summary(by_group, rate=rate, **summary_fields)
    except ValueError as error:
        raise ValueError(f"--{error}") from error


def _beyond_limits(report: FairnessReport, limits: dict[str, float]) -> list[str]:
    """Name the metrics that are above their limits, or undefined."""
    beyond = []
    for row in report.to_frame().to_dict("records"):
        limit = limits.get(row["metric"])
        if limit is not None and not row["value"] <= limit:
            what = f"{row['metric']} of {row['model']} by {row['attribute']}"
            beyond.append(f"{what} is {row['value']:.6g}, the limit is {limit:g}")
    missing = set(limits) - set(report.to_frame()["metric"])
    return beyond + [
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


def add_monitor(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "monitor",
        help="add a batch of predictions to a monitor",
        usage="%(prog)s STATE TABLE [options]",
        description=inspect.cleandoc(run_monitor.__doc__ or ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("state", type=Path, help="a JSON file, which the first batch makes")
    add("table", type=Path, help="the batch: .csv, .tsv, .csv.gz, .parquet or .xlsx")
    changed: dict[str, tuple[str, dict[str, Any]]] = {
        "--min-group-size": (
            "groups with fewer rows so far are left out and named",
            {"type": int, "default": 10},
        ),
        "--scale": (
            "rank compares ranks of scores that are any numbers",
            {"choices": ("probability", "rank"), "default": "probability"},
        ),
    }
    names = [*_OF_BATCHES, *OF_FILE]
    add_options(parser, names, changed)
    add("--out", type=Path, metavar="FILE", help="picture to draw: .png, .svg or .pdf")
    # Without defaults, options that are given can be told from others.
    defaults = vars(parser.parse_args(["state.json", "table.csv"]))
    defaults = {name: defaults[name] for name in map(parameter_of, names)}
    parser.set_defaults(**dict.fromkeys(defaults), defaults=defaults, run=run_monitor)


def run_monitor(args: argparse.Namespace) -> int:
    """Add a batch of predictions to a monitor.

    Decisions, or scores:
      python -m skfair monitor state.json monday.csv --y-pred decision \\
          --pos-label approved --sensitive sex --at-most 0.1
      python -m skfair monitor state.json monday.csv --y-score p --sensitive sex

    The first batch makes state.json, later ones are added to it. Options of later
    batches are those of the first, unless they say how the file is written: they may
    be left out, and those given again must be the same. A file with the same bytes is
    added once, so that a command that was stopped can be given again.

    exit codes: 0, no alarm; 2, the arguments or a file are bad, the state is as it
    was, and one line says why; 3, there is or was an alarm; 4, groups cannot be
    compared yet; 130, interrupted.
    """
    check_writable(args.state)
    if args.out is not None:
        check_output(args.out, args.table)
        if args.out.suffix not in _PICTURES:
            raise ValueError(
                f"--out must end in {', '.join(_PICTURES)}, got {args.out}."
            )
    with locked(args.state):
        monitor = _add_batch(args)
    if args.out is not None:
        _draw_monitor(monitor, args.out)
    if monitor.left_out_:
        small = [f"{label!r}: {n}" for label, n in monitor.left_out_.items()]
        warn(
            args,
            f"note: groups with fewer than {monitor.min_group_size} rows so far are "
            f"left out ({listed(small)}).",
        )
    if math.isnan(monitor.interval_.value):
        warn(args, "groups cannot be compared yet.")
        return NOTHING_SAID
    say(_last_look(monitor))
    return ABOVE_LIMIT if monitor.alarm_ or monitor.change_alarm_ else 0


def _add_batch(args: argparse.Namespace) -> FairnessMonitor:
    """Add the batch to the state, unless it was added before."""
    state = _load_state(args.state) if args.state.exists() else None
    options = _take_options(args, state)
    metric, _ = metric_from_dict(_metric_of(args))
    if state is None:
        monitor = FairnessMonitor(
            metric,
            at_most=args.at_most or 0.0,
            confidence_level=args.confidence_level,
            min_group_size=args.min_group_size,
        )
    else:
        monitor = FairnessMonitor.from_dict(state["monitor"])
    rows, digest = _read_batch(args), input_record(args.table)["sha256"]
    batches = [] if state is None else state["batches"]
    if digest in batches:
        warn(args, "note: the batch was added before.")
        return monitor
    if state is None:
        note_odd_values(args, rows, [*args.sensitive, *args.control_features])
    _update_monitor(monitor, args, rows)
    entries = monitor.to_dict(), [*batches, digest], options
    text = json.dumps(with_format(_STATE, dict(zip(_ENTRIES, entries, strict=True))))
    write_text(args.state, text)
    return monitor


def _take_options(
    args: argparse.Namespace, state: dict[str, Any] | None
) -> dict[str, Any]:
    """Complete the options by those of the state, and return what a state keeps."""
    own = {name: getattr(args, name) for name in map(parameter_of, _OF_BATCHES)}
    own = {name: value for name, value in own.items() if value is not None}
    of_state = {} if state is None else state["options"]
    for name, value in own.items() if state is not None else ():
        expected = of_state.get(name, args.defaults[name])
        if value != expected:
            raise ValueError(
                f"{option_of(name)} must be {_typed(expected)}, as in {args.state}, "
                f"got {_typed(value)}."
            )
    others = {name: getattr(args, name) for name in map(parameter_of, OF_FILE)}
    own |= {name: value for name, value in others.items() if value is not None}
    vars(args).update(args.defaults | of_state | own)
    if len(args.y_score) + len(args.y_pred) != 1:
        raise ValueError("--y-score or --y-pred must name one column.")
    if not args.sensitive:
        raise ValueError("--sensitive must name a column.")
    return of_state | {name: own[name] for name in own if name not in others}


def _typed(value: Any) -> str:
    """Write the value of an option as it is typed."""
    if value in (None, []):
        return "left out"
    return ",".join(value) if isinstance(value, list) else str(value)


def _metric_of(args: argparse.Namespace) -> dict[str, Any]:
    """Name and options of the metric, by default that of decisions or of scores."""
    decides = bool(args.y_pred) or args.threshold is not None
    default = "demographic_parity_difference" if decides else "mcdp"
    name, *written = (args.metric or default).split(",")
    options: dict[str, Any] = {}
    for text in written:
        option, _, value = text.partition("=")
        options[option] = value
        with suppress(ValueError):
            options[option] = float(value)
    if args.scale == "rank" and not decides:
        options["scale"] = "rank"
    return {"name": name, "options": options}


def _load_state(path: Path) -> dict[str, Any]:
    """Read a state that `_add_batch` has written."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # also of bytes that are no text
        raise ValueError(f"{path} is not JSON: {error}.") from error
    try:
        check_format(state, _STATE, _ENTRIES)
    except ValueError as error:
        raise ValueError(f"{path} is not the state of `skfair monitor`: {error}") from (
            error
        )
    for name, kind in zip(_ENTRIES, (dict, list, dict), strict=True):
        if not isinstance(state[name], kind):
            raise ValueError(f"{path} is not the state of `skfair monitor`.")
    return state  # type: ignore[no-any-return]


def _read_batch(args: argparse.Namespace) -> PandasRows:
    """Read the batch, without the rows that are left out."""
    groups = [*args.sensitive, *args.control_features, args.drop_repeated]
    kinds = kinds_of(args.y_score, [*args.y_pred, args.y_true], groups)
    read_marks(args)
    rows = PandasRows(args.table, kinds, args)
    rows.drop_repeated(args.drop_repeated)
    values = [name for name, kind in kinds.items() if kind != "group"]
    drop_missing(args, rows, values)
    return rows


def _update_monitor(
    monitor: FairnessMonitor, args: argparse.Namespace, rows: PandasRows
) -> None:
    """Add the rows of a batch; labels count as 1 if they are the positive one."""
    frame, true = rows.frame, None
    if args.y_pred:
        values = _is_positive(args, frame[args.y_pred[0]])
    else:
        values = frame[args.y_score[0]]
        if args.threshold is not None:
            values = (values >= args.threshold).astype(int)
    if args.y_true is not None:
        true = _is_positive(args, frame[args.y_true])
    names = [*args.sensitive, *args.control_features]
    people = group_columns(args, rows, names, read_bins(args.bins, names))
    groups = encode_groups(pd.DataFrame(people)[args.sensitive], missing=args.missing)
    strata = encode_strata(args, people)
    with collected_reasons(), rows.problems():
        monitor.update(true, values, sensitive_features=groups, control_features=strata)


def _is_positive(args: argparse.Namespace, column: Any) -> Any:
    """Whether labels are the positive one, as 0 and 1."""
    labels = column.unique().tolist()
    if args.pos_label is None and {*labels} <= {0, 1}:
        return column.astype(int)
    if args.pos_label is None:
        raise ValueError(
            f"--pos-label must say which label of column {column.name!r} is positive: "
            f"it has {listed([repr(label) for label in labels])}."
        )
    if len(labels) == 1:  # of a batch in which all are alike
        return (column.astype(str) == args.pos_label).astype(int)
    positive = positive_label(args.pos_label, {column.name: labels})
    return (column == positive).astype(int)


def _draw_monitor(monitor: FairnessMonitor, path: Path) -> None:
    """Draw the picture of a monitor."""
    from matplotlib.figure import Figure

    from skfair.inspection import MonitorDisplay

    ax = Figure(figsize=(8, 5), layout="constrained").subplots()
    MonitorDisplay.from_monitor(monitor, ax=ax).figure_.savefig(path)


def _last_look(monitor: FairnessMonitor) -> str:
    """Say in one line what the last look found."""
    interval, recent = monitor.interval_, monitor.interval_recent_
    alarms = {
        "disparity above the limit": monitor.alarm_,
        "change": monitor.change_alarm_,
    }
    raised = ", ".join(name for name, alarm in alarms.items() if alarm)
    return (
        f"{interval.value:.4g} ({interval.lower:.4g} to {interval.upper:.4g}), "
        f"recently {recent.value:.4g} ({recent.lower:.4g} to {recent.upper:.4g}); "
        f"alarm: {raised or 'none'}"
    )

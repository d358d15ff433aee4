"""``python -m skfair audit``: the report for an auditor who writes no code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import skfair
from skfair.groups import Groups, encode_groups
from skfair.report._audit import Options
from skfair.report._fairness_report import FairnessReport
from skfair.report._html import require_report_extra
from skfair.report._inputs import make_audit
from skfair.report._measures import check_metrics
from skfair.report._options import make_options
from skfair.report._read import read_columns
from skfair.report._summarize import summarize

_EXAMPLE = """\
example:
  python -m skfair audit predictions.csv --y-true y --y-score p \\
      --sensitive sex,race --out report.html

predictions.csv has a header, and a row for each person: the true label y (1 is
positive), the predicted probability p of the positive label, and the groups. Several
models are several columns: --y-score model_a,model_b. Options that take columns may
be given repeatedly.

exit codes: 0, the report is written; 2, the arguments or the file are bad, and one
line says why; 130, interrupted.
"""


def make_parser() -> argparse.ArgumentParser:
    """Describe the command line.

    Returns
    -------
    ArgumentParser
    """
    parser = argparse.ArgumentParser(
        prog="python -m skfair", description="Measure the fairness of predictions."
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
    _add_columns(audit)
    _add_settings(audit)
    return parser


def _add_columns(audit: argparse.ArgumentParser) -> None:
    several: dict[str, Any] = {"action": "append", "default": [], "metavar": "COLUMNS"}
    add = audit.add_argument
    add("table", type=Path, help="a .csv, .csv.gz or .parquet file")
    add("--y-true", metavar="COLUMN", help="true labels; without, errors are left out")
    add("--y-score", help="probabilities of the positive label, in [0, 1]", **several)
    add("--y-pred", help="predicted labels", **several)
    add("--sensitive", help="who belongs to which group", required=True, **several)
    add("--sample-weight", metavar="COLUMN", help="non-negative weights of the rows")
    add("--out", type=Path, required=True, metavar="FILE", help="page to write")


def _add_settings(audit: argparse.ArgumentParser) -> None:
    add = audit.add_argument
    add("--pos-label", metavar="LABEL", help="the positive label; 1 where numbers are")
    add(
        "--threshold",
        type=float,
        default=0.5,
        help="least score that is a positive decision (default: %(default)s)",
    )
    add(
        "--missing",
        choices=("error", "drop", "group"),
        default="error",
        help="what to do with rows without a group: stop, leave them out, or make them "
        "a group of their own (default: %(default)s)",
    )
    add(
        "--min-group-size",
        type=int,
        default=10,
        metavar="N",
        help="groups with fewer rows are left out and named (default: %(default)s)",
    )
    for name, default, what in (
        ("--bootstrap", 500, "resamples behind each interval"),
        ("--permutations", 199, "shuffles behind each p-value"),
        ("--seed", 0, "the same one gives the same page"),
        ("--jobs", 1, "number of processes"),
    ):
        text = f"{what} (default: %(default)s)"
        add(name, type=int, default=default, metavar="N", help=text)
    add("--title", default="Fairness report", help="title of the page")
    add("--quiet", action="store_true", help="show no progress")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Those of the process by default.

    Returns
    -------
    int
        Exit code: 0 for success, 2 for bad input, 130 if interrupted.
    """
    given = make_parser().parse_args(arguments)
    try:
        report = _audit(given)
        report.to_html(given.out)
    except (ValueError, OSError, ImportError) as error:
        _end_progress()
        message = " ".join(str(error).split())
        print(f"skfair audit: error: {_as_options(message)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        _end_progress()
        return 130
    print(f"{report}\n{given.out}")
    return 0


def _audit(given: argparse.Namespace) -> FairnessReport:
    """Read the table and compute the report; cheap checks come first."""
    require_report_extra()
    _check_writable(given.out)
    options = make_options(
        threshold=given.threshold,
        epsilon=Options.epsilon,
        alpha=Options.alpha,
        metrics=None,
        n_bootstrap=given.bootstrap,
        n_permutations=given.permutations,
        confidence_level=Options.confidence_level,
        min_group_size=given.min_group_size,
        random_state=given.seed,
        n_jobs=given.jobs,
    )
    scores, labels, sensitive = (
        _split(names) for names in (given.y_score, given.y_pred, given.sensitive)
    )
    if not scores and not labels:
        raise ValueError("--y-score or --y-pred must name a column.")
    others = [name for name in (given.y_true, given.sample_weight) if name is not None]
    wanted = [*scores, *labels, *sensitive, *others]
    table = read_columns(given.table, wanted, sensitive)
    y_true = None if given.y_true is None else table[given.y_true]
    audit = make_audit(
        y_true=y_true,
        scores={name: table[name].to_numpy() for name in scores},
        predictions={name: table[name] for name in labels},
        sensitive_features={
            name: _groups(table[name], given.missing) for name in sensitive
        },
        pos_label=_label(given.pos_label, [y_true, *(table[name] for name in labels)]),
        sample_weight=None
        if given.sample_weight is None
        else table[given.sample_weight].to_numpy(),
        options=options,
    )
    check_metrics(audit)
    return FairnessReport(summarize(audit, given.title, _progress(given.quiet)))


def _split(given: list[str]) -> list[str]:
    """Column names of an option, separated by commas."""
    names = [name.strip() for text in given for name in text.split(",")]
    return list(dict.fromkeys(name for name in names if name))


def _groups(column: Any, missing: str) -> Groups:
    n_missing = int(column.isna().sum())
    if n_missing and missing == "error":
        raise ValueError(
            f"column {column.name!r} has {n_missing} missing values; --missing drop "
            "leaves these rows out, --missing group makes them a group."
        )
    return encode_groups(column, missing="drop" if missing == "drop" else "group")


def _label(text: str | None, columns: list[Any]) -> Any:
    """Find the label that is written like this."""
    found = {
        label
        for column in columns
        if column is not None
        for label in column.dropna().unique().tolist()
    }
    for label in found:
        number = isinstance(label, float) and f"{label:g}" == text
        if text is not None and (str(label) == text or number):
            return label
    return text


def _check_writable(path: Path) -> None:
    """Raise before the long work if a file cannot be written after it."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory, expected a file to write.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} is in a directory that does not exist.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise PermissionError(f"{path} cannot be written.")


def _progress(quiet: bool) -> Callable[[int, int], None] | None:
    """Count draws on a terminal; None elsewhere."""
    if quiet or not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        # Fast draws would otherwise spend their time in the terminal.
        if done % 10 == 0 or done == total:
            end = "\n" if done == total else ""
            print(
                f"\rskfair audit: {done:,} of {total:,} draws",
                end=end,
                file=sys.stderr,
                flush=True,
            )

    return show


def _end_progress() -> None:
    if sys.stderr.isatty():
        print(file=sys.stderr)


def _as_options(message: str) -> str:
    """Name parameters as the options that set them."""
    names = {
        "pos_label": "--pos-label",
        "n_bootstrap": "--bootstrap",
        "n_permutations": "--permutations",
        "min_group_size": "--min-group-size",
        "threshold must": "--threshold must",
    }
    for name, option in names.items():
        message = message.replace(name, option)
    return message

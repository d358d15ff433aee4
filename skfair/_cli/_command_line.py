"""``python -m skfair audit``: the report for an auditor who writes no code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import skfair
from skfair._cli._tables import read_columns
from skfair._utils._validation import ParameterError
from skfair.groups import Groups, encode_groups
from skfair.report import FairnessReport
from skfair.report._options import Options
from skfair.report._page._html import require_report_extra

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

#: Parameters of `FairnessReport.from_predictions`, and the options that set them.
_OPTIONS = {
    "threshold": "--threshold",
    "min_group_size": "--min-group-size",
    "n_bootstrap": "--bootstrap",
    "n_permutations": "--permutations",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "pos_label": "--pos-label",
}


def make_parser() -> argparse.ArgumentParser:
    """Describe the command line."""
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
    for parameter, default, what in (
        ("min_group_size", 10, "groups with fewer rows are left out and named"),
        ("n_bootstrap", 500, "resamples behind each interval"),
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
    add("--title", default="Fairness report", help="title of the page")
    add("--quiet", action="store_true", help="show no progress")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line: 0 for success, 2 for bad input, 130 if interrupted."""
    given = make_parser().parse_args(arguments)
    try:
        report = _audit(given)
        report.to_html(given.out)
    except (ValueError, OSError, ImportError) as error:
        _end_progress()
        message = str(error)
        if isinstance(error, ParameterError):
            option = _OPTIONS.get(error.parameter, error.parameter)
            message = f"{option} {error.problem}"
        print(f"skfair audit: error: {' '.join(message.split())}", file=sys.stderr)
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
    settings = {name: getattr(given, name) for name in _OPTIONS if name != "pos_label"}
    Options(**settings)
    scores, labels, sensitive = (
        _split(names) for names in (given.y_score, given.y_pred, given.sensitive)
    )
    if not scores and not labels:
        raise ValueError("--y-score or --y-pred must name a column.")
    others = [name for name in (given.y_true, given.sample_weight) if name is not None]
    table = read_columns(
        given.table, [*scores, *labels, *sensitive, *others], sensitive
    )
    y_true = None if given.y_true is None else table[given.y_true]
    weights = None if given.sample_weight is None else table[given.sample_weight]
    return FairnessReport.from_predictions(
        y_true,
        _models(table, scores),
        y_pred=_models(table, labels),
        sensitive_features={
            name: _groups(table[name], given.missing) for name in sensitive
        },
        pos_label=_label(given.pos_label, [y_true, *(table[name] for name in labels)]),
        sample_weight=weights,
        title=given.title,
        verbose=not given.quiet and sys.stderr.isatty(),
        **settings,
    )


def _models(table: Any, names: list[str]) -> Any:
    """Columns of models by name; one alone, which may stand beside one of another kind.

    So one column of scores and one of labels are read as one model.
    """
    if len(names) == 1:
        return table[names[0]]
    return {name: table[name] for name in names} or None


def _split(given: list[str]) -> list[str]:
    """Split the values of an option into names of columns, each once."""
    names = [name.strip() for text in given for name in text.split(",")]
    return list(dict.fromkeys(name for name in names if name))


def _groups(column: Any, missing: str) -> Groups:
    """Encode the groups of a column, with missing values as ``--missing`` says."""
    n_missing = int(column.isna().sum())
    if n_missing and missing == "error":
        raise ValueError(
            f"column {column.name!r} has {n_missing} missing values; --missing drop "
            "leaves these rows out, --missing group makes them a group."
        )
    return encode_groups(column, missing="drop" if missing == "drop" else "group")


def _label(text: str | None, columns: list[Any]) -> Any:
    """Find the label of some columns that is written like this."""
    for column in columns:
        for label in [] if column is None else column.dropna().unique().tolist():
            number = f"{label:g}" if isinstance(label, float) else None
            if text is not None and text in (str(label), number):
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


def _end_progress() -> None:
    """Begin a new line after the count of draws."""
    if sys.stderr.isatty():
        print(file=sys.stderr)

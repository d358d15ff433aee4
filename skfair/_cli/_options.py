"""Options that several commands have, and how they are read."""

from __future__ import annotations

import argparse
import datetime
from pathlib import Path
from typing import Any

from skfair._cli._text import Format

#: Options that are not named after the parameter that they stand for.
_OTHER_NAMES = {
    "n_resamples": "--resamples",
    "n_permutations": "--permutations",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "at_most": "--limit",
}


def option_of(parameter: str) -> str:
    """Name the option of a parameter."""
    return _OTHER_NAMES.get(parameter, f"--{parameter.replace('_', '-')}")


class _ColumnNames(argparse.Action):
    """Add names, with commas between them, to those given before, each once."""

    def __call__(self, _: Any, given: Any, text: Any, option: Any = None) -> None:
        names = map(str.strip, text.split(","))
        every = [*getattr(given, self.dest), *filter(None, names)]
        setattr(given, self.dest, [*dict.fromkeys(every)])


#: What options have in common that take several columns.
SEVERAL: dict[str, Any] = {"action": _ColumnNames, "default": [], "metavar": "COLUMNS"}


def add_table(parser: argparse.ArgumentParser, also: str = "") -> None:
    """Describe the table of predictions, and what is done with missing values.

    `also` says what else than a file the table may be.
    """
    add = parser.add_argument
    text = f"a .csv, .tsv, .csv.gz, .parquet or .xlsx file{also}"
    add("table", type=Path, help=text)
    add_format(parser)
    add(
        "--missing",
        choices=("raise", "drop", "group"),
        default="raise",
        help="what to do with missing values: raise an error, leave these rows out, or "
        "make rows without a group a group of their own (default: %(default)s)",
    )


def add_format(parser: argparse.ArgumentParser) -> None:
    """Describe how a table is written, and which of its numbers are groups."""
    add = parser.add_argument
    add("--sep", type=_separator, help="separator of columns, such as ';' or tab")
    add("--encoding", default="utf-8", help="of text files (default: %(default)s)")
    add(
        "--decimal",
        choices=(".", ","),
        default=".",
        help="decimal mark of text files: 0.5 or 0,5 (default: %(default)s)",
    )
    add(
        "--thousands",
        choices=(",", ".", "'", " "),
        help="mark between groups of three digits: ',' reads 1,000 as a thousand",
    )
    add(
        "--bins",
        action="append",
        default=[],
        metavar="COLUMN=EDGES",
        help="make groups of a number: --bins age=30,50 are under 30, 30 to under 50, "
        "and 50 and over",
    )


def add_output_format(
    parser: argparse.ArgumentParser, formats: tuple[str, ...], text: str
) -> None:
    """Describe the format of the output; `formats` are those that it may have."""
    parser.set_defaults(formats=formats)
    parser.add_argument("--format", choices=formats, help=text)


def _separator(text: str) -> str:
    """Read a separator, which may be written as a word."""
    mark = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}.get(text, text)
    if len(mark) != 1:
        raise argparse.ArgumentTypeError(f"must be one character or tab, got {text!r}")
    return mark


def format_of(given: argparse.Namespace) -> Format:
    """Return how a table is written, as these options say."""
    return Format(given.sep, given.encoding, given.decimal, given.thousands)


def date_of(given: argparse.Namespace) -> dict[str, str]:
    """Return the date to write, of today if it has no value; nothing without it."""
    if given.date is None:
        return {}
    if given.date == "today":
        return {"date": datetime.date.today().isoformat()}
    return {"date": iso_date(given.date, "--date", ", or have no value")}


def iso_date(text: str, option: str, otherwise: str = "") -> str:
    """Read the date that an option has; `otherwise` says what else it may be."""
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError(
            f"{option} must be a date such as 2026-01-31{otherwise}, got {text!r}."
        ) from None

"""The options of an audit, and what they say of limits, dates and outputs."""

from __future__ import annotations

import argparse
import datetime
from pathlib import Path
from typing import Any, get_args

from skfair._cli._read import files_of
from skfair._utils._files import check_writable
from skfair._utils._validation import AnyScale, check_choice
from skfair.report._metrics import MEASURES, RATIO
from skfair.report._options import Options

#: Files that no command writes.
_OTHER_FORMATS = (".pdf", ".doc", ".docx", ".xlsx")


class _Names(argparse.Action):
    """Add names, with commas between them, to those given before, each once."""

    def __call__(self, _: Any, args: Any, text: Any, option: Any = None) -> None:
        names = map(str.strip, text.split(","))
        every = [*(getattr(args, self.dest) or ()), *filter(None, names)]
        setattr(args, self.dest, [*dict.fromkeys(every)])


def _separator(text: str) -> str:
    """Read a separator, which may be written as a word."""
    mark = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}.get(text, text)
    if len(mark) != 1:
        raise argparse.ArgumentTypeError(f"must be one character or tab, got {text!r}")
    return mark


_COLUMN = {"metavar": "COLUMN"}
_COLUMNS = {"metavar": "COLUMNS", "action": _Names, "default": []}
_NUMBER = {"metavar": "N", "type": float}
_WHOLE = {"metavar": "N", "type": int}
_REPEATED = {"action": "append", "default": []}

#: Options by what they are about: their help, and what else `add_argument` is given.
_TABLE: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "columns": {
        "--y-pred": ("decisions, or other predicted labels", _COLUMNS),
        "--y-score": (
            "probabilities of the positive label, unless --scale says otherwise",
            _COLUMNS,
        ),
        "--y-true": ("true labels; without, errors are left out", _COLUMN),
        "--sensitive": ("who belongs to which group", _COLUMNS),
        "--control-features": ("strata, within which groups are compared", _COLUMNS),
        "--sample-weight": ("non-negative weights of the rows", _COLUMN),
    },
    "what the values mean": {
        "--pos-label": (
            "the positive label (default: 1, or true); all others count as negative; "
            "twice where predicted and true labels have other names",
            {**_REPEATED, "metavar": "LABEL"},
        ),
        "--scale": (
            "rank compares ranks of scores that are any numbers; real is of predicted "
            "numbers, such as salaries",
            {"choices": get_args(AnyScale)},
        ),
        "--threshold": (
            "least score that is a positive decision, in the unit of the score "
            "(default: 0.5 of probabilities, else none)",
            _NUMBER,
        ),
        "--min-group-size": (
            "groups with fewer rows are left out and named",
            _WHOLE,
        ),
        "--rare": (
            "what to do with groups of fewer rows: name them and compare the others, "
            "leave their rows out of every number, or merge them into (other)",
            {"choices": ("keep", "drop", "merge"), "default": "keep"},
        ),
        "--na-values": (
            "words for missing values beside empty cells, such as NA,?",
            {"metavar": "WORDS", "action": _Names, "default": []},
        ),
        "--missing-values": (
            "what to do with rows without a label, score or weight: raise an error, "
            "or leave them out",
            {"choices": ("raise", "drop"), "default": "raise"},
        ),
        "--missing-groups": (
            "what to do with rows without a group: raise an error, leave them out, or "
            "make them a group of their own",
            {"choices": ("raise", "drop", "group"), "default": "raise"},
        ),
    },
    "how the table is written": {
        "--sep": ("separator of columns, such as ';' or tab", {"type": _separator}),
        "--encoding": ("of text files", {"default": "utf-8"}),
        "--decimal": (
            "decimal mark: 0.5 or 0,5",
            {"choices": (".", ","), "default": "."},
        ),
        "--thousands": (
            "mark between groups of three digits: , reads 1,000 as a thousand",
            {"metavar": "MARK"},
        ),
        "--sheet": ("name of the worksheet (default: the first)", {}),
    },
    "what is computed": {
        "--permutations": (
            "shuffles behind each p-value",
            {**_WHOLE, "dest": "n_permutations"},
        ),
        "--resamples": (
            "resamples for the intervals of DCP and calibration gap",
            {**_WHOLE, "dest": "n_resamples"},
        ),
        "--intersection": (
            "report on the intersection of more than two attributes, too",
            {"action": "store_true"},
        ),
        "--seed": (
            "the same one gives the same page",
            {**_WHOLE, "default": 0, "dest": "random_state"},
        ),
        "--jobs": ("number of processes", {**_WHOLE, "dest": "n_jobs"}),
        "--impact-ratios": (
            "add tables of selection and scoring rates over the highest rate",
            {"action": "store_true"},
        ),
    },
    "what is written": {
        "--out": ("file to write", {"metavar": "FILE", "type": Path}),
        "--format": (
            "a page, all numbers and texts, or Markdown (default: as --out ends)",
            {"choices": ("html", "json", "md")},
        ),
        "--title": ("title of the page", {}),
        "--date": (
            "write a date on the page, such as 2026-01-31; without a value, today",
            {"nargs": "?", "const": "today"},
        ),
        "--limit": (
            "mcdp=0.1: exit with code 3 if this metric is larger for any attribute and "
            "model; impact_ratio=0.8: if the smallest ratio of rates is smaller (the "
            "four-fifths rule); 0.1: say on the page what is within it",
            {**_REPEATED, "metavar": "[METRIC=]NUMBER"},
        ),
    },
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Describe the options of the table."""
    for title, options in _TABLE.items():
        group = parser.add_argument_group(title)
        for name, (text, keywords) in options.items():
            dest = keywords.get("dest", name[2:].replace("-", "_"))
            # Options of a report have its defaults.
            default = keywords.get("default", getattr(Options, dest, None))
            told = f" (default: {default})" if default else ""
            keywords = keywords | {"help": f"{text}{told}", "default": default}
            group.add_argument(name, **keywords)


def read_limit(texts: list[str]) -> float | dict[str, float] | None:
    """Read limits of metrics, such as ``mcdp=0.1``, or the one of no metric."""
    limits: dict[str, float] = {}
    for text in texts:
        key, _, written = text.rpartition("=")
        try:
            limits[key] = float(written)
        except ValueError:
            raise ValueError(
                f"--limit must be NUMBER or METRIC=NUMBER, got {text!r}."
            ) from None
        check_choice("limit", key, ("", RATIO, *MEASURES))
    if "" not in limits:
        return limits or None
    if len(texts) > 1:
        raise ValueError(
            f"--limit must be one number, or METRIC=NUMBER each time, got {texts}."
        )
    return limits[""]


def read_date(text: str | None) -> str | None:
    """Date to write, which is today's if it has no value."""
    if text is None:
        return None
    if text == "today":
        return datetime.date.today().isoformat()
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError(
            f"--date must be a date such as 2026-01-31, or have no value, got {text!r}."
        ) from None


def check_output(path: Path, table: Path) -> None:
    """Raise before the long work if a file cannot be written after it, or is input."""
    if path.suffix.lower() in _OTHER_FORMATS:
        raise ValueError(
            f"--out {path} must end in .html, .json or .md. A browser prints a page "
            "as PDF."
        )
    check_writable(path)
    files = files_of(table)
    for file in files if path.exists() else ():
        if file.exists() and path.samefile(file):
            raise ValueError(f"--out {path} is {file}, which is to be read.")
    # Another run would read what this one has written.
    if files != [table] and path.absolute().match(str(table.absolute())):
        raise ValueError(f"--out {path} is a file that {table} matches.")

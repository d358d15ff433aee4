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
    """Adds names, separated by commas, to the names given before."""

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

#: Options by task: their help, and what else `add_argument` is given.
_TABLE: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "which columns": {
        "--y-pred": ("decisions, or other predicted labels", _COLUMNS),
        "--y-score": (
            "scores: probabilities of the positive label, or what --scale says",
            _COLUMNS,
        ),
        "--y-true": ("outcomes; without them no errors are reported", _COLUMN),
        "--sensitive": ("groups that are compared, such as sex,race", _COLUMNS),
        "--control-features": (
            "strata: groups are also compared within each of them",
            _COLUMNS,
        ),
        "--sample-weight": ("weights of the rows, 0 or more", _COLUMN),
        "--cluster": (
            "person of each row, where people have several: visits, loans, months",
            _COLUMN,
        ),
    },
    "tables of counts": {
        "--count": ("how many people a row stands for", _COLUMN),
        "--selected": (
            "how many of these people are selected; takes the place of --y-pred",
            _COLUMN,
        ),
    },
    "what the values mean": {
        "--pos-label": (
            "positive label, all others are negative (default: 1, or true); given "
            "again for each other spelling, or name in another column",
            {**_REPEATED, "metavar": "LABEL"},
        ),
        "--scale": (
            "what scores are: probabilities; any numbers, whose ranks are compared; "
            "or predicted numbers, such as salaries",
            {"choices": get_args(AnyScale)},
        ),
        "--threshold": (
            "least score that is a positive decision (default: 0.5 of probabilities, "
            "none of other scores)",
            _NUMBER,
        ),
    },
    "missing values and small groups": {
        "--na-values": (
            "words for missing values, such as NA,?; empty cells are missing, too",
            {"metavar": "WORDS", "action": _Names, "default": []},
        ),
        "--missing-values": (
            "rows without a label, score, weight or count: stop, or leave them out",
            {"choices": ("raise", "drop"), "default": "raise"},
        ),
        "--missing-groups": (
            "rows without a group: stop, leave them out, or make them a group",
            {"choices": ("raise", "drop", "group"), "default": "raise"},
        ),
        "--min-group-size": (
            "groups of fewer people are named, and not compared",
            _WHOLE,
        ),
        "--rare": (
            "small groups: keep them in the figures of everyone, leave them out, or "
            "merge them into one",
            {"choices": ("keep", "drop", "merge"), "default": "keep"},
        ),
    },
    "how the file is written": {
        "--sep": (
            "mark between columns, such as ';' or tab (default: the one of the first "
            "line)",
            {"type": _separator},
        ),
        "--encoding": ("encoding of a text file", {"default": "utf-8"}),
        "--decimal": (
            "decimal mark: a point, or a comma as in 0,5",
            {"choices": (".", ","), "default": ".", "metavar": "MARK"},
        ),
        "--thousands": (
            "mark between thousands: with a comma 1,000 is a thousand",
            {"metavar": "MARK"},
        ),
        "--sheet": ("sheet of a spreadsheet (default: the first)", {"metavar": "NAME"}),
    },
    "what is computed": {
        "--permutations": (
            "shuffles for each p-value, 0 for no tests",
            {**_WHOLE, "dest": "n_permutations"},
        ),
        "--resamples": (
            "resamples for the intervals of DCP and the calibration gap",
            {**_WHOLE, "dest": "n_resamples"},
        ),
        "--intersection": (
            "compare the groups of three or more attributes together, too, and add "
            "pooled rates of small ones",
            {"action": "store_true"},
        ),
        "--impact-ratios": (
            "add tables of rates over the highest rate",
            {"action": "store_true"},
        ),
        "--seed": (
            "seed of chance: the same one gives the same page (default: 0)",
            {**_WHOLE, "default": 0, "dest": "random_state"},
        ),
        "--jobs": ("processes that work at once", {**_WHOLE, "dest": "n_jobs"}),
    },
    "what is written": {
        "--out": (
            "page to write: .html, .md, or .json",
            {"metavar": "FILE", "type": Path},
        ),
        "--format": (
            "a page, Markdown, or all numbers and texts (default: as --out ends)",
            {"choices": ("html", "md", "json")},
        ),
        "--title": ("title of the page", {}),
        "--date": (
            "date to write on the page, such as 2026-01-31 (without a value: today)",
            {"nargs": "?", "const": "today"},
        ),
        "--limit": (
            "largest value that is accepted, as mcdp=0.1, or smallest ratio of rates, "
            "impact_ratio=0.8; exit code 3 if it is missed. A number alone is for all "
            "metrics, and is told on the page",
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
    """Read a limit: ``mcdp=0.1`` of one metric, or ``0.1`` of all."""
    limits: dict[str, float] = {}
    for text in texts:
        key, _, written = text.rpartition("=")
        try:
            limits[key] = float(written)
        except ValueError:
            raise ValueError(
                f"--limit must be NUMBER or METRIC=NUMBER, got {text!r}."
            ) from None
        if key:
            check_choice("limit", key, (RATIO, *MEASURES))
    if "" not in limits:
        return limits or None
    if len(texts) > 1:
        raise ValueError(
            f"--limit must be one number, or METRIC=NUMBER each time, got {texts}."
        )
    return limits[""]


def read_date(text: str | None) -> str | None:
    """Return the date to write, which is today's if it has no value."""
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

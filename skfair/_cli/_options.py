"""The options of all commands in one table, and what they say of groups and labels."""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, get_args

import numpy as np
import pandas as pd

from skfair._cli._read import as_values, files_of
from skfair._utils._files import check_writable
from skfair._utils._text import all_digits, counted, listed
from skfair._utils._validation import AnyScale
from skfair.groups import (
    encode_groups,
    into_ranges,
    look_of,
    sort_labels,
    suggest_edges,
)
from skfair.report._options import Options

#: Exit codes beside 0 for success, 2 for bad input and 130 if interrupted.
ABOVE_LIMIT, NOTHING_SAID = 3, 4
#: Files that no command writes.
_OTHER_FORMATS = (".pdf", ".doc", ".docx", ".xlsx")


class _ColumnNames(argparse.Action):
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
_COLUMNS = {"metavar": "COLUMNS", "action": _ColumnNames, "default": []}
_FILE = {"metavar": "FILE", "type": Path}
_NUMBER = {"metavar": "N", "type": float}
_WHOLE = {"metavar": "N", "type": int}
_REPEATED = {"action": "append", "default": []}

#: Options by what they are about: their help, and what else `add_argument` is given.
#: `dest`, or else the name, is the parameter of the library that an option sets.
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
        "--group-probability": (
            "probability of one of two groups where groups are not known, or a column "
            "for each group: adds bounds of the metrics",
            _COLUMNS,
        ),
        "--proxy": (
            "what tells of the group, such as a surname and a place; without, rows of "
            "like probability are joined",
            _COLUMNS,
        ),
    },
    "what the values mean": {
        "--pos-label": ("the positive label (default: 1)", {"metavar": "LABEL"}),
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
        "--bins": (
            "make groups of a number: age=30,50 are under 30, 30 to under 50, and 50 "
            "and over",
            {**_REPEATED, "metavar": "COLUMN=EDGES"},
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
        "--replace": (
            "read a value as another: sex:f=F; without a new one, as in age:999=, it "
            "is missing",
            {**_REPEATED, "metavar": "COLUMN:OLD=NEW"},
        ),
        "--missing": (
            "what to do with empty cells: raise an error, leave these rows out, or "
            "make rows without a group a group of their own",
            {"choices": ("raise", "drop", "group"), "default": "raise"},
        ),
        "--drop-repeated": (
            "keep the first row of each value of a column, such as an identifier",
            _COLUMN,
        ),
    },
    "how the table is written": {
        "--sep": ("separator of columns, such as ';' or tab", {"type": _separator}),
        "--encoding": ("of text files", {"default": "utf-8"}),
        "--decimal": (
            "decimal mark of text files: 0.5 or 0,5",
            {"choices": (".", ","), "default": "."},
        ),
        "--thousands": (
            "mark between groups of three digits: ',' reads 1,000 as a thousand",
            {"choices": (",", ".", "'", " ")},
        ),
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
        "--min-share": (
            "least share of the rows of a group with an impact ratio, such as 0.02",
            _NUMBER,
        ),
    },
    "what is watched": {
        "--metric": (
            "such as mcdp, the default of scores, or mcdp,epsilon=0.1; decisions have "
            "demographic_parity_difference",
            {"metavar": "NAME[,OPTION=VALUE]"},
        ),
        "--at-most": ("largest disparity without an alarm (default: 0)", _NUMBER),
        "--confidence-level": (
            "probability of no false alarm, ever",
            {**_NUMBER, "default": 0.95},
        ),
    },
    "what is written": {
        "--out": ("file to write", _FILE),
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
            "model; 0.1: say on the page what is within it",
            {**_REPEATED, "metavar": "[METRIC=]NUMBER"},
        ),
        "--bundle": (
            "write the page into a directory, with the statistics from which others "
            "can verify it by `skfair verify DIR`",
            {"metavar": "DIR", "type": Path},
        ),
        "--min-cell": (
            "in the bundle, join and withhold what tells of fewer than N people",
            _WHOLE,
        ),
        "--public-summary": (
            "Markdown file for the public summary of New York City's Local Law 144; "
            "needs --date, that of the audit, and the next two",
            _FILE,
        ),
        "--distribution-date": ("when the use of the tool began", {"metavar": "DATE"}),
        "--source": ("source and explanation of the data", {"metavar": "TEXT"}),
        "--justification": ("why categories are excluded", {"metavar": "TEXT"}),
    },
}
_OPTIONS = {name: entry for title in _TABLE.values() for name, entry in title.items()}
#: Options that may differ between the batches of a monitor.
OF_FILE = _TABLE["how the table is written"].keys()
#: Options of a monitor alone.
OF_MONITOR = _TABLE["what is watched"].keys()


def add_options(
    parser: argparse.ArgumentParser,
    names: Collection[str] = _OPTIONS.keys() - OF_MONITOR,
    changed: Mapping[str, tuple[str, dict[str, Any]]] | None = None,
) -> None:
    """Describe some options of the table; `changed` has those that differ."""
    for title, options in _TABLE.items():
        group = parser.add_argument_group(title)
        for name in (name for name in options if name in names):
            text, keywords = (changed or {}).get(name, options[name])
            # Options of a report have its defaults.
            record = getattr(Options, parameter_of(name), None)
            default = keywords.get("default", record)
            told = f" (default: {default})" if default else ""
            keywords = keywords | {"help": f"{text}{told}", "default": default}
            group.add_argument(name, **keywords)


def parameter_of(option: str) -> str:
    """Name the parameter that an option sets."""
    return str(_OPTIONS[option][1].get("dest", option[2:].replace("-", "_")))


def option_of(parameter: str) -> str:
    """Name the option of a parameter."""
    named = {parameter_of(option): option for option in _OPTIONS}
    return named.get(parameter, f"--{parameter.replace('_', '-')}")


def read_marks(args: argparse.Namespace) -> None:
    """Read what stands for other texts, and check the marks of numbers."""
    if args.thousands == args.decimal:
        raise ValueError(
            f"--thousands must differ from --decimal, got {args.thousands!r} twice."
        )
    args.replaced = {}
    for text in args.replace:
        column, colon, change = text.partition(":")
        old, equals, new = change.rpartition("=")
        if not (column and colon and equals and old):
            raise ValueError(f"--replace must be COLUMN:OLD=NEW, got {text!r}.")
        args.replaced.setdefault(column, {})[old] = new


def read_bins(texts: Iterable[str], columns: Iterable[str]) -> dict[str, list[float]]:
    """Read the edges of ranges, such as ``age=30,50``."""
    columns, bins = [*columns], {}
    for text in texts:
        name, _, written = text.rpartition("=")
        if name not in columns:
            raise ValueError(
                "--bins must be COLUMN=EDGES with a column of --sensitive or "
                f"--control-features, got {text!r}."
            )
        try:
            edges = [float(edge) for edge in written.split(",")]
        except ValueError:
            edges = [np.nan]
        if not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
            raise ValueError(f"--bins must have increasing numbers, got {text!r}.")
        bins[name] = edges
    return bins


def iso_date(text: str, option: str, otherwise: str = "") -> str:
    """Read the date that an option has; `otherwise` says what else it may be."""
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError(
            f"{option} must be a date such as 2026-01-31{otherwise}, got {text!r}."
        ) from None


def check_output(path: Path, table: Path, option: str = "--out") -> None:
    """Raise before the long work if a file cannot be written after it, or is input."""
    if path.suffix.lower() in _OTHER_FORMATS:
        raise ValueError(
            f"{option} {path} must end in .html, .json or .md. A browser prints a page "
            "as PDF."
        )
    check_writable(path)
    files = files_of(table)
    for file in files if path.exists() else ():
        if file.exists() and path.samefile(file):
            raise ValueError(f"{option} {path} is {file}, which is to be read.")
    # Another run would read what this one has written.
    if files != [table] and path.absolute().match(str(table.absolute())):
        raise ValueError(f"{option} {path} is a file that {table} matches.")


def say(text: str, stream: TextIO | None = None) -> None:
    """Print a line; characters that the console does not know are escaped."""
    stream = sys.stdout if stream is None else stream
    encoding = getattr(stream, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream)


def warn(args: argparse.Namespace, text: str) -> None:
    """Print a line to the standard error stream, after the name of the command."""
    say(f"skfair {args.command}: {' '.join(text.split())}", sys.stderr)


Names = Iterable[str | None]

#: From so many groups of numbers on, ranges are suggested.
_MANY_NUMBERS = 20
#: From so many groups on, the column may not be the one that is meant.
_MANY_GROUPS = 200
#: How dates are written, with the year first or last.
_DATE = r"\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{2,4}"
#: Numbers that often stand for missing ones.
_STAND_INS = (-999, -99, -9, -1, 0, 99, 999, 9999)


def drop_missing(args: argparse.Namespace, rows: Any, names: Sequence[str]) -> int:
    """Leave out rows without a value in some columns, and count them.

    Unless ``--missing`` is drop, they are an error.
    """
    missing = rows.n_missing(names)
    if args.missing != "drop":
        for name in missing:
            refuse_missing(rows, name, missing[name])
    if not missing:
        return 0
    n_without = int(rows.drop_missing(names))
    if not len(rows.frame):
        raise ValueError(f"{rows.path} has no row without missing values.")
    warn(args, f"note: {n_without:,} rows without {', '.join(names)} are left out.")
    return n_without


def refuse_missing(rows: Any, name: str, n_missing: int, also: str = "") -> None:
    """Raise ValueError for the missing values of a column, and say what takes them."""
    raise ValueError(
        f"column {name!r} has {counted(n_missing, 'missing value')}"
        f"{rows.first_missing(name)}; --missing drop leaves these rows out{also}."
    )


def group_columns(
    args: argparse.Namespace,
    rows: Any,
    names: Sequence[str],
    bins: Mapping[str, list[float]],
) -> dict[str, Any]:
    """Columns of groups by name, in which ranges stand for numbers if there are edges.

    Columns of rows that are not in memory are only checked.
    """
    if args.missing == "raise":
        for name, n_missing in rows.n_missing(names).items():
            also = ", --missing group makes them a group"
            refuse_missing(rows, name, n_missing, also)
    if not rows.in_memory:
        return {}
    columns = {name: rows.frame[name] for name in names}
    for name in bins:
        which = f" of column {name!r}"
        columns[name] = into_ranges(columns[name], bins[name], which)
    return columns


def kinds_of(numbers: Names, labels: Names, groups: Names) -> dict[str, str]:
    """Say what columns are read as: a number or a label if that is one of the uses."""
    kinds: dict[str, str] = {}
    for kind, names in ("number", numbers), ("label", labels), ("group", groups):
        for name in names:
            if name is not None:
                kinds.setdefault(name, kind)
    return kinds


def encode_strata(args: argparse.Namespace, people: Mapping[str, Any]) -> Any:
    """Strata that an option names, None if there are none."""
    columns = pd.DataFrame({name: people[name] for name in args.control_features})
    return encode_groups(columns, missing=args.missing) if len(columns) else None


def note_odd_values(args: argparse.Namespace, rows: Any, names: Sequence[str]) -> None:
    """Say in a line each what looks odd in a table, and which option mends it."""
    if rows.identifier is not None:
        column = rows.frame[rows.identifier].dropna()
        n_repeated = int(column.duplicated().sum())
        if 0 < n_repeated < len(column) / 2:
            warn(
                args,
                f"note: column {rows.identifier!r} has {counted(n_repeated, 'value')} "
                "that an earlier row has, too; if each row should be another person, "
                f"--drop-repeated {_quoted(rows.identifier)} keeps the first row of "
                "each.",
            )
    for name in names:
        counts = rows.counts(name)
        binned = any(text.startswith(f"{name}=") for text in args.bins)
        notes = _look_alikes(name, counts), _stand_ins(name, counts)
        hint = None if binned else _too_many(name, counts, args)
        for text in filter(None, (*notes, hint)):
            warn(args, f"note: column {name!r} has {text}.")


def _look_alikes(name: str, counts: pd.Series[int]) -> str | None:
    """Name the labels that differ in upper and lower case, spaces or zeros alone."""
    if len(counts) > _MANY_GROUPS:
        return None
    common: dict[str, Any] = {}
    pairs = []
    for label in counts.sort_values(ascending=False, kind="stable").index:
        other = common.setdefault(str(look_of(label)).casefold(), label)
        if other is not label:
            pairs.append((label, other))
    if not pairs:
        return None
    typed = _replacing(name, pairs[:5])
    names = [f"{a!r} ({counts[a]:,}) beside {b!r} ({counts[b]:,})" for a, b in pairs]
    return f"{listed(names, 3)}, which look alike; {typed} reads them as one"


def _stand_ins(name: str, counts: pd.Series[int]) -> str | None:
    """Name numbers far from all others that may stand for missing ones."""
    numbers = pd.to_numeric(pd.Series(counts.index), errors="coerce")
    usual = numbers[~numbers.isin(_STAND_INS)]
    if numbers.isna().any() or len(usual) < _MANY_NUMBERS:
        return None
    low, high = usual.min(), usual.max()
    far = (numbers < low - (high - low) / 5) | (numbers > high + (high - low) / 5)
    odd = [*counts.index[(far & numbers.isin(_STAND_INS)).to_numpy()]]
    if not odd:
        return None
    typed = _replacing(name, [(label, "") for label in odd])
    names = listed([f"{label} ({counted(int(counts[label]), 'row')})" for label in odd])
    return (
        f"{names} beside {all_digits(low)} to {all_digits(high)}; if that is no number "
        f"but stands for a missing one, {typed} makes it missing"
    )


def _too_many(
    name: str, counts: pd.Series[int], args: argparse.Namespace
) -> str | None:
    """Suggest ranges where the groups are many numbers, or dates, or few rows each."""
    n_groups = len(counts)
    if n_groups < _MANY_NUMBERS:
        return None
    labels = pd.Series(counts.index, dtype=object)
    if labels.astype(str).str.fullmatch(_DATE).all():
        return (
            f"{n_groups:,} groups, each a date; a column of years or of ranges of them "
            "could be compared"
        )
    numbers = pd.to_numeric(labels, errors="coerce")
    if not numbers.isna().any():
        edges = ",".join(map(all_digits, suggest_edges(numbers, counts.to_numpy())))
        return (
            f"{n_groups:,} groups, each a number; --bins {_quoted(f'{name}={edges}')} "
            "would compare ranges"
        )
    if n_groups < _MANY_GROUPS:
        return None
    half = int(counts.median())
    return (
        f"{n_groups:,} groups, half of them of {counted(half, 'row')} at most: "
        "is it the column that is meant? --rare merge joins groups of fewer than "
        f"{args.min_group_size} rows"
    )


def check_labels_in_common(rows: Any, y_true: str, y_pred: str) -> None:
    """Raise where no true label is a predicted one, and say what to type."""
    true, predicted = (list(rows.counts(name).index) for name in (y_true, y_pred))
    if not true or not predicted or {*true} & {*predicted}:
        return
    text = (
        f"columns {y_true!r} ({_some(true)}) and {y_pred!r} ({_some(predicted)}) have "
        "no label in common: say which mean the same"
    )
    if rows.in_memory and len(true) == len(predicted) == 2:
        # The labels that stand together more often may mean the same.
        cells = pd.crosstab(rows.frame[y_pred], rows.frame[y_true])
        cells = cells.reindex(index=predicted, columns=true, fill_value=0).to_numpy()
        agree = cells[0, 0] + cells[1, 1] >= cells[0, 1] + cells[1, 0]
        pairs = zip(predicted, true if agree else true[::-1], strict=True)
        text += ", as " + _replacing(y_pred, pairs)
    raise ValueError(f"{text}, or leave --y-true out.")


def positive_label(text: str | None, columns: Mapping[str, Sequence[Any]]) -> Any:
    """Return the label of some columns, given by name, that is written like this."""
    if text is None or not columns:
        return text
    meant = as_values(pd.Series([text], dtype=object))[0]  # as cells are
    labels = [label for column in columns.values() for label in column]
    for label in labels:
        if text == str(label) or meant == label:
            return label
    names = " or ".join(map(repr, columns))
    raise ValueError(
        f"--pos-label must be a label of column {names}, which has "
        f"{_some(sort_labels(dict.fromkeys(labels)))}, got {text!r}."
    )


def _some(labels: Sequence[Any]) -> str:
    return listed([repr(label) for label in labels], 5)


def _replacing(name: str, pairs: Iterable[tuple[Any, Any]]) -> str:
    """Write options that read some values of a column as others."""
    return " ".join(f"--replace {_quoted(f'{name}:{a}={b}')}" for a, b in pairs)


def _quoted(text: str) -> str:
    """Write an argument as a shell reads it."""
    return text if re.fullmatch(r"[\w:=.,+/-]+", text) else f"'{text}'"

"""Groups and labels of a table: what is missing or odd, and which rows are left out."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from skfair._cli._options import warn
from skfair._cli._read import as_values
from skfair._utils._text import all_digits, counted, listed
from skfair.groups import (
    encode_groups,
    into_ranges,
    look_of,
    sort_labels,
    suggest_edges,
)

Names = Iterable[str | None]

#: From so many groups of numbers on, ranges are suggested.
_MANY_NUMBERS = 20
#: From so many groups on, the column may not be the one that is meant.
_MANY_GROUPS = 200
#: How dates are written, with the year first or last.
_DATE = r"\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{2,4}"
#: Numbers that often stand for missing ones.
_STAND_INS = (-999, -99, -9, -1, 0, 99, 999, 9999)


def drop_missing(given: argparse.Namespace, rows: Any, names: Sequence[str]) -> int:
    """Leave out rows without a value in some columns, and count them.

    Unless ``--missing`` is drop, they are an error.
    """
    missing = rows.n_missing(names)
    if given.missing != "drop":
        for name in missing:
            refuse_missing(rows, name, missing[name])
    if not missing:
        return 0
    n_without = int(rows.drop_missing(names))
    if not len(rows.frame):
        raise ValueError(f"{rows.path} has no row without missing values.")
    warn(given, f"note: {n_without:,} rows without {', '.join(names)} are left out.")
    return n_without


def refuse_missing(rows: Any, name: str, n_missing: int, also: str = "") -> None:
    """Raise ValueError for the missing values of a column, and say what takes them."""
    raise ValueError(
        f"column {name!r} has {counted(n_missing, 'missing value')}"
        f"{rows.first_missing(name)}; --missing drop leaves these rows out{also}."
    )


def group_columns(
    given: argparse.Namespace,
    rows: Any,
    names: Sequence[str],
    bins: Mapping[str, list[float]],
) -> dict[str, Any]:
    """Columns of groups by name, in which ranges stand for numbers if there are edges.

    Columns of rows that are not in memory are only checked.
    """
    if given.missing == "raise":
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


def encode_strata(given: argparse.Namespace, people: Mapping[str, Any]) -> Any:
    """Strata that an option names, None if there are none."""
    columns = pd.DataFrame({name: people[name] for name in given.control_features})
    return encode_groups(columns, missing=given.missing) if len(columns) else None


def note_odd_values(given: argparse.Namespace, rows: Any, names: Sequence[str]) -> None:
    """Say in a line each what looks odd in a table, and which option mends it."""
    if rows.identifier is not None:
        column = rows.frame[rows.identifier].dropna()
        n_repeated = int(column.duplicated().sum())
        if 0 < n_repeated < len(column) / 2:
            warn(
                given,
                f"note: column {rows.identifier!r} has {counted(n_repeated, 'value')} "
                "that an earlier row has, too; if each row should be another person, "
                f"--drop-repeated {_quoted(rows.identifier)} keeps the first row of "
                "each.",
            )
    for name in names:
        counts = rows.counts(name)
        binned = any(text.startswith(f"{name}=") for text in given.bins)
        notes = _look_alikes(name, counts), _stand_ins(name, counts)
        hint = None if binned else _too_many(name, counts, given)
        for text in filter(None, (*notes, hint)):
            warn(given, f"note: column {name!r} has {text}.")


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
    name: str, counts: pd.Series[int], given: argparse.Namespace
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
        f"{given.min_group_size} rows"
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

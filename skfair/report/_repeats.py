"""Columns that may name people who have several rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from skfair._utils._arrays import Integers
from skfair._utils._text import listed, whole

#: Names of columns that often identify people.
PEOPLE = re.compile(
    r"(?i:^id([_ .-]|$)|(^|[_ .-])(id|uuid|ssn|nbr|no|number)$)|[a-z]I[dD]$"
    r"|(?i:^(person|patient|student|pupil|customer|client|user|member|employee|worker"
    r"|applicant|candidate|borrower|subject|participant|respondent|defendant)$)"
)
#: Other columns may, where so many of their values differ.
_SHARE = 1 / 5
#: Fewer values, or fewer rows that repeat one, tell nothing.
_FEWEST = 10
#: Least agreement of the groups of rows of one value, beyond chance: 1 where they are
#: always the same, 0 where they are as often as in any two rows.
_AGREEMENT = 0.95
#: That of columns which are named as people are, whose groups may change.
_AGREEMENT_OF_NAMED = 0.5


@dataclass(frozen=True)
class Repeats:
    """How the values of a column repeat.

    `n_values` is the number of distinct values. `several` has, for each attribute, the
    number of values with several groups of the attribute, unless it is 0.
    """

    n_values: int
    several: dict[str, int]


def columns_of_people(
    table: pd.DataFrame, attributes: Iterable[pd.Series[Any]]
) -> dict[str, Repeats]:
    """Find the columns whose values may be people with several rows.

    All rows of a person must have one group of some attribute. Other attributes, such
    as age, may change.
    """
    attributes, found = [*attributes], dict[str, int]()
    for attribute in attributes:
        codes = np.asarray(pd.factorize(attribute, use_na_sentinel=False)[0])
        found |= _repeating_within(table, codes)
    return {
        name: Repeats(found[name], _several(table[name], attributes))
        for name in map(str, table.columns)
        if name in found
    }


def _several(
    column: pd.Series[Any], attributes: list[pd.Series[Any]]
) -> dict[str, int]:
    """Count the values of a column that are in several groups, by attribute."""
    codes = pd.factorize(column, use_na_sentinel=True)[0]
    known = codes >= 0
    counts = {
        str(attribute.name): int(
            (attribute[known].groupby(codes[known]).nunique() > 1).sum()
        )
        for attribute in attributes
    }
    return {name: n for name, n in counts.items() if n}


def _repeating_within(table: pd.DataFrame, groups: Integers) -> dict[str, int]:
    """Find the columns that repeat mostly within the groups of one attribute."""
    shares = np.bincount(groups) / max(len(groups), 1)
    chance, found = float(shares @ shares), {}
    for name in map(str, table.columns):
        n_values, agreement = _agreement(table[name], groups)
        is_named = PEOPLE.search(name) is not None
        many = n_values > len(groups) * _SHARE or is_named
        least = _AGREEMENT_OF_NAMED if is_named else _AGREEMENT
        alike = agreement - chance >= least * (1 - chance) > 0
        if many and alike and n_values > max(2 * len(shares), _FEWEST):
            found[name] = n_values
    return found


def _agreement(column: Any, groups: Integers) -> tuple[int, float]:
    """Return the number of values, and how often repeats keep the first row's group.

    Both are 0 if too few values repeat, and for fractions, which do not name people.
    """
    codes, values = pd.factorize(column)
    codes, groups = codes[codes >= 0], groups[codes >= 0]
    n_repeated = len(codes) - len(values)
    if n_repeated < _FEWEST or _are_fractions(values):
        return 0, 0.0
    first = np.unique(codes, return_index=True)[1]
    n_agree = np.count_nonzero(groups == groups[first][codes]) - len(values)
    return len(values), n_agree / n_repeated


def _are_fractions(values: Any) -> bool:
    """Whether values are numbers, or texts of numbers, some of them not whole."""
    numbers = pd.to_numeric(pd.Series(values), errors="coerce")
    return bool(numbers.notna().all() and (numbers % 1 != 0).any())


def tell_people(
    found: Mapping[str, Repeats], n_rows: int, option: Callable[[str], str]
) -> list[str]:
    """Say that columns repeat, and which option takes their values as people."""
    return [
        f"column {name!r} repeats: {whole(n_rows)} rows have {whole(repeats.n_values)} "
        f"values of it. If these are people who have several rows, {option(name)} "
        "permutes and counts people, not rows; otherwise p-values are too small, and "
        f"the verdict may be wrong.{_tell_several(repeats)}"
        for name, repeats in found.items()
    ]


def _tell_several(repeats: Repeats) -> str:
    """Say how many people have several groups, while each person needs one."""
    if not repeats.several:
        return ""
    counts = [f"{whole(n)} by {name!r}" for name, n in repeats.several.items()]
    return f" It takes one group a person, but people have several: {listed(counts)}."

"""Names, labels, shares and numbers as people read them."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Hashable
from inspect import isroutine
from typing import Any

import numpy as np

#: Control, format (writing direction among them), surrogate and unassigned characters.
_UNSEEN = ("Cc", "Cf", "Cs", "Cn")
#: Zero width non-joiner and joiner: they shape their neighbours in many scripts.
_JOINERS = "\u200c\u200d"
#: Combining class of the signs that mute a vowel, after which a joiner stands alone.
_VIRAMA = 9
#: The first script whose letters a joiner shapes begins here (Hebrew, then Arabic).
_FIRST_JOINING = 0x0590

#: Stands where there is no number.
DASH = "\u2013"

_MAX_LENGTH = 60


def one_line(value: Any) -> str:
    """Return the text of a value on one line, without invisible characters.

    Joiners stay where they shape their neighbours, as in Persian, Hindi and emoji.
    """
    text = " ".join(str(value).split())
    return "".join(
        "\ufffd"
        if unicodedata.category(char) in _UNSEEN and not _joins(text, position)
        else char
        for position, char in enumerate(text)
    )


def shown(value: Any) -> str:
    """Write a value for an error message, or its type if the value is long.

    A function is written by its name, since its repr has an address in memory.
    """
    text = value.__name__ if isroutine(value) else repr(value)
    is_short = len(text) <= 200 and "\n" not in text
    return text if is_short else f"a {type(value).__name__}"


def _joins(text: str, position: int) -> bool:
    """Return whether the character at a position is a joiner of its neighbours."""
    if text[position] not in _JOINERS or position == 0:
        return False
    if unicodedata.combining(text[position - 1]) == _VIRAMA:
        return True
    neighbours = text[position - 1] + text[position + 1 : position + 2]
    return len(neighbours) == 2 and all(map(_can_be_joined, neighbours))


def _can_be_joined(char: str) -> bool:
    """Return whether a character belongs to a script that joins its letters."""
    return ord(char) >= _FIRST_JOINING and unicodedata.category(char)[0] in "LMS"


def visible_text(value: Any, max_length: int = _MAX_LENGTH) -> str:
    """Write a label or name on one line, without characters that cannot be seen.

    The text is never empty. It is not escaped for HTML.
    """
    text = one_line(value)
    if len(text) > max_length:
        text = text[: max_length - 1] + "…"
    return text or "(empty)"


def plain(text: str) -> str:
    """Write text on one line, with the markup of Markdown and HTML escaped."""
    text = one_line(text).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{mark}" if mark in "\\`*_[]|#" else mark for mark in text)


def label_text(label: Hashable) -> str:
    """Write a group label; the labels of an intersection are separated by commas."""
    if isinstance(label, tuple):
        length = _MAX_LENGTH // len(label)
        return ", ".join(visible_text(part, length) for part in label)
    return visible_text(label)


def all_digits(number: float) -> str:
    """Write a number with all digits that distinguish it from others."""
    return np.format_float_positional(number, trim="-")


def nan_to_none(value: Any) -> float | None:
    """Write nan as None, since JSON has no nan."""
    return None if value is None or math.isnan(value) else float(value)


def percent(share: float | None) -> str:
    """Write a share as a percentage, 0.263 as ``26.3%``, and nan as a dash."""
    return DASH if share is None else f"{100 * share:.1f}%"


def points(difference: float) -> str:
    """Write a difference of shares in percentage points, 0.178 as ``17.8``."""
    return f"{100 * difference:z.1f}"


def number(value: float | None, digits: int = 3) -> str:
    """Write a number with a fixed number of decimals, and nan as a dash."""
    # With z, what is rounded to zero has no sign.
    return DASH if value is None else f"{value:z.{digits}f}"


def format_in_unit(value: float | None, width: float = 0.0) -> str:
    """Write a number in the unit of a target with four significant digits.

    The larger of the number and the width of its interval has the four digits.
    """
    if value is None:
        return DASH
    size = max(abs(value), width)
    places = min(max(3 - math.floor(math.log10(size)), 0), 12) if size else 0
    return f"{value:z,.{places}f}"


def rounded(values: list[float]) -> list[str]:
    """Write the numbers of a column with the same decimals.

    Numbers have three decimals, fewer if the largest is above ten, and none if all are
    whole. A number that would round to zero is written with two significant digits.
    """
    finite = [abs(value) for value in values if math.isfinite(value)]
    largest = max(finite, default=0.0)
    places = 0 if all(map(float.is_integer, finite)) else 3
    if places and largest > 10:
        places = max(4 - math.ceil(math.log10(largest)), 0)
    return [
        f"{value:.2g}"
        if 0 < abs(value) < 10**-places or abs(value) > 1e15
        else f"{value:z,.{places}f}"
        for value in values
    ]


def whole(value: float | None) -> str:
    """Write a whole number, 2000 as ``2,000``, and nan as a dash."""
    return DASH if value is None else f"{value:,.0f}"


def pvalue_text(pvalue: float | None, n_permutations: int) -> str:
    """Write a p-value, or its bound if it is the smallest possible p-value."""
    if pvalue is None:
        return DASH
    if pvalue <= 1 / (n_permutations + 1):
        return f"≤ {pvalue:.2g}"
    return f"{pvalue:.2g}" if pvalue < 0.1 else f"{pvalue:.2f}"


def interval(low: float, high: float) -> str:
    """Write the ends of an interval, ``0.331 to 0.376``."""
    return f"{number(low)} to {number(high)}"


def counted(n: int, noun: str) -> str:
    """Write a number of things: ``1 row``, ``2,000 rows``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def listed(texts: list[str], at_most: int = 5) -> str:
    """Write a list in words: ``a, b and c``, or ``a, b and 7 more``."""
    if len(texts) > at_most:
        return ", ".join(texts[:at_most]) + f" and {len(texts) - at_most:,} more"
    if len(texts) < 2:
        return "".join(texts)
    return ", ".join(texts[:-1]) + " and " + texts[-1]


def quote_group(labels: list[str], group: int | None) -> str:
    """Put the label of a group in quotation marks; the group None is everyone."""
    return "everyone" if group is None else quote(labels[group])


def quote(text: str) -> str:
    """Put a name in quotation marks."""
    return f"“{text}”"


def name_with_size(label: str, n: float) -> str:
    """Name a group with its number of rows."""
    return f"{quote(label)} ({whole(n)})"

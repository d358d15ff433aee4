"""The language of a report: its messages, from a catalogue, and its numbers.

A message is written in English where it is used, and translated by the file
``languages/<code>.json``, which has every message of every report and of its pictures.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

LANGUAGES = ("en", "de")
#: Stands where there is no number.
DASH = "\u2013"

_language: ContextVar[str] = ContextVar("language", default="en")


@contextmanager
def speaking(code: str) -> Iterator[None]:
    """Write messages and numbers in a language, given by its code."""
    token = _language.set(code)
    try:
        yield
    finally:
        _language.reset(token)


@functools.cache
def catalogue(code: str) -> dict[str, str]:
    """Read the translations of a language, by the message in English."""
    if code == "en":
        return {}
    folder = importlib.resources.files("skfair._utils") / "languages"
    found: dict[str, str] = json.loads((folder / f"{code}.json").read_text("utf-8"))
    return found


def say(message: str, **values: Any) -> str:
    """Write a message in the language of the report, with values for its braces."""
    text = catalogue(_language.get()).get(message, message)
    return text.format(**values) if values else text


def in_english() -> bool:
    """Whether the language of the report is English."""
    return _language.get() == "en"


def figure(text: str) -> str:
    """Write a number as the language of the report does, from its English form."""
    return text if in_english() else text.translate(_COMMA_FOR_POINT)


_COMMA_FOR_POINT = str.maketrans(",.", ".,")


def percent(share: float | None) -> str:
    """Write a share as a percentage, 0.263 as ``26.3%``, a dash where there is none."""
    return (
        DASH if share is None else say("{number}%", number=figure(f"{100 * share:.1f}"))
    )


def points(difference: float) -> str:
    """Write a difference of shares in percentage points, 0.178 as ``17.8``."""
    return figure(f"{100 * difference:z.1f}")


def number(value: float | None, digits: int = 3) -> str:
    """Write a number with fixed digits, a dash where there is none."""
    # With z, what is rounded to zero has no sign.
    return DASH if value is None else figure(f"{value:z.{digits}f}")


def in_unit(value: float | None, width: float = 0.0) -> str:
    """Write a number in the unit of a target with four significant digits.

    They are those of the width of its interval where that is larger.
    """
    if value is None:
        return DASH
    size = max(abs(value), width)
    places = min(max(3 - math.floor(math.log10(size)), 0), 12) if size else 0
    return figure(f"{value:z,.{places}f}")


def whole(value: float) -> str:
    """Write a whole number, 2000 as ``2,000``."""
    return figure(f"{value:,.0f}")


def pvalue_text(pvalue: float | None, n_permutations: int) -> str:
    """Write a p-value; the smallest possible one is written as a bound."""
    if pvalue is None:
        return DASH
    if pvalue <= 1 / (n_permutations + 1):
        return figure(f"≤ {pvalue:.2g}")
    return figure(f"{pvalue:.2g}" if pvalue < 0.1 else f"{pvalue:.2f}")


def interval(low: float, high: float) -> str:
    """Write the ends of an interval, ``0.331 to 0.376``."""
    return say("{low} to {high}", low=number(low), high=number(high))


def counted(n: int, noun: str) -> str:
    """Write a number of things: ``1 row``, ``2,000 rows``.

    Errors and warnings are English: they use `counted` and `listed` of ``_text``.
    """
    return f"{whole(n)} {say(noun if n == 1 else noun + 's')}"


def listed(texts: list[str], at_most: int = 5) -> str:
    """Write a list in words: ``a, b and c``, or ``a, b and 7 more``."""
    if len(texts) > at_most:
        n = whole(len(texts) - at_most)
        return say("{texts} and {n} more", texts=", ".join(texts[:at_most]), n=n)
    if len(texts) < 2:
        return "".join(texts)
    return say("{texts} and {last}", texts=", ".join(texts[:-1]), last=texts[-1])


def quoted(labels: list[str], group: int | None) -> str:
    """Put a group's label in quotation marks; None is everyone."""
    return say("everyone") if group is None else in_quotes(labels[group])


def in_quotes(text: str) -> str:
    """Put a name in the quotation marks of the language."""
    return say("“{text}”", text=text)


def with_size(label: str, n: int) -> str:
    """Name a group with its number of rows."""
    return f"{in_quotes(label)} ({whole(n)})"

"""Names, labels, shares and numbers as people read them."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Hashable
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

_MAX_LENGTH = 60


def one_line(value: Any) -> str:
    """Text of a value on one line, with U+FFFD for characters that cannot be seen.

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
    """Write a value that an error names; of one that is no short line its type."""
    text = repr(value)
    is_short = len(text) <= 200 and "\n" not in text
    return text if is_short else f"a {type(value).__name__}"


def _joins(text: str, position: int) -> bool:
    """Whether the character at a position is a joiner of its neighbours."""
    if text[position] not in _JOINERS or position == 0:
        return False
    if unicodedata.combining(text[position - 1]) == _VIRAMA:
        return True
    neighbours = text[position - 1] + text[position + 1 : position + 2]
    return len(neighbours) == 2 and all(map(_can_be_joined, neighbours))


def _can_be_joined(char: str) -> bool:
    """Whether a character is a letter, mark or symbol of a script with joiners."""
    return ord(char) >= _FIRST_JOINING and unicodedata.category(char)[0] in "LMS"


def visible_text(value: Any, max_length: int = _MAX_LENGTH) -> str:
    """Write a label or name on one line, without characters that cannot be seen.

    It is never empty, and still data: whoever writes it into a page escapes it.
    """
    text = one_line(value)
    if len(text) > max_length:
        text = text[: max_length - 1] + "…"
    return text or "(empty)"


def plain(text: str) -> str:
    """Write text on one line, without what Markdown and HTML take for markup."""
    text = one_line(text).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{mark}" if mark in "\\`*_[]|#" else mark for mark in text)


def label_text(label: Hashable) -> str:
    """Write a group label; the labels of an intersection are separated by commas."""
    if isinstance(label, tuple):
        length = _MAX_LENGTH // len(label)
        return ", ".join(visible_text(part, length) for part in label)
    return visible_text(label)


def all_digits(number: float) -> str:
    """Write a number with all of its digits, which tell it from every other one."""
    return np.format_float_positional(number, trim="-")


def or_none(value: Any) -> float | None:
    """Write nan as None, since JSON has no nan."""
    return None if value is None or math.isnan(value) else float(value)


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

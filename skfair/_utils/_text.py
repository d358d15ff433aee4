"""Names and labels as text on one line, without characters that cannot be seen."""

from __future__ import annotations

import unicodedata
from typing import Any

#: Control, format (writing direction among them), surrogate and unassigned characters.
_UNSEEN = ("Cc", "Cf", "Cs", "Cn")
#: Zero width non-joiner and joiner: they shape their neighbours in many scripts.
_JOINERS = "\u200c\u200d"
#: Combining class of the signs that mute a vowel, after which a joiner stands alone.
_VIRAMA = 9
#: The first script whose letters a joiner shapes begins here (Hebrew, then Arabic).
_FIRST_JOINING = 0x0590


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

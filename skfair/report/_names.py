"""Names on a page: data, which stay as they are, and those that nobody gave.

The latter are messages, as is the label of missing values.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from skfair._utils._language import say
from skfair._utils._text import label_text, visible_text
from skfair.groups import MISSING_LABEL

#: Labels of missing values and of empty texts.
NO_NAMES = MISSING_LABEL, visible_text("")


class Unnamed(str):
    """A name that nobody gave, in English: a message, and perhaps a number."""

    __slots__ = ()


def unnamed(name: str) -> str | None:
    """Return the English of a name that nobody gave; None of others, which are data."""
    return str(name) if isinstance(name, Unnamed) else None


def say_name(name: str) -> str:
    """Write a name, which is a message if nobody gave it."""
    if not isinstance(name, Unnamed):
        return visible_text(name)
    word, space, number = name.partition(" ")
    return f"{say(word)}{space}{number}"


def name_of(label: Hashable) -> str:
    """Write a label as `label_text` does; that of missing values is a message."""
    return str(say_label(label_text(label), {text: text for text in NO_NAMES}))


def say_label(text: Any, known: Mapping[str, str]) -> Any:
    """Write a label, in whose parts some texts stand for messages; no other value."""
    if not isinstance(text, str):
        return text
    parts = text.split(", ")
    return ", ".join(say(known[one]) if one in known else one for one in parts)


def title_text(title: str, default: str) -> str:
    """Write the title of a page; the one that nobody gave is a message."""
    return visible_text(say(title) if title == default else title, 120)

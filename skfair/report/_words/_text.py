"""Labels, shares and numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

from skfair._utils._text import one_line

_MAX_LENGTH = 60
_EVERYONE = "everyone"
#: Stands where there is no number.
DASH = "\u2013"


def visible_text(value: Any, max_length: int = _MAX_LENGTH) -> str:
    """Write a label or name on one line, without characters that cannot be seen.

    It is never empty, and still data: whoever writes it into a page escapes it.
    """
    text = one_line(value)
    if len(text) > max_length:
        text = text[: max_length - 1] + "…"
    return text or "(empty)"


def label_text(label: Hashable) -> str:
    """Write a group label; the labels of an intersection are separated by commas."""
    if isinstance(label, tuple):
        length = _MAX_LENGTH // len(label)
        return ", ".join(visible_text(part, length) for part in label)
    return visible_text(label)


def quoted(labels: list[str], group: int | None) -> str:
    """Put a group's label in quotation marks; None is everyone."""
    return _EVERYONE if group is None else f"“{labels[group]}”"


def percent(share: float) -> str:
    """Write a share as a percentage, 0.263 as ``26.3%``."""
    return f"{100 * share:.1f}%"


def points(difference: float) -> str:
    """Write a difference of shares in percentage points, 0.178 as ``17.8``."""
    return f"{100 * difference:.1f}"


def number(value: float | None, digits: int = 3) -> str:
    """Write a number with fixed digits, a dash where there is none."""
    return DASH if value is None else f"{value:.{digits}f}"


def pvalue_text(pvalue: float | None, n_permutations: int) -> str:
    """Write a p-value; the smallest possible one is written as a bound."""
    if pvalue is None:
        return DASH
    if pvalue <= 1 / (n_permutations + 1):
        return f"≤ {pvalue:.2g}"
    return f"{pvalue:.2g}" if pvalue < 0.1 else f"{pvalue:.2f}"


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

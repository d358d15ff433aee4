"""Errors that say what to type: a near name, or how to install a missing package."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Suggest one of some names: one that begins with it, or else the most similar."""
    names = list(names)
    longer = [known for known in names if name and known.startswith(name)]
    near = sorted(longer, key=len) or get_close_matches(name, names, 1)
    return f" Did you mean {near[0]!r}?" if near else ""


def require(package: str, caller: str, otherwise: str) -> Any:
    """Import a package; if it is missing, raise an error that says how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{caller} needs {package}, which is not installed. Install it with "
            f"'pip install {package.partition('.')[0]}', or {otherwise}."
        ) from error


def extra(name: str) -> str:
    """Return how to install the packages of one of the extras of the library."""
    return f"with the extra '{name}' of a skfair checkout: pip install -e \".[{name}]\""

"""Packages that only a part of the library needs."""

from __future__ import annotations

import importlib
from typing import Any


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
    """How to install the packages of one of the extras of the library."""
    return f"with the extra '{name}' of a skfair checkout: pip install -e \".[{name}]\""

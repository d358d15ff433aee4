"""Files of tables that the library has no loader of."""

from __future__ import annotations

from pathlib import Path

from skfair.datasets._tables import data_directory, existing


def find_table(filename: str, *, source: str) -> Path:
    """Find a file in the directory that the environment variable SKFAIR_DATA names.

    An error says that it comes from the `source` if it is missing.
    """
    advice = f"Get it from {source}, and save it there under this name."
    directory = data_directory()
    if directory is None:
        raise FileNotFoundError(
            f"{filename!r} not found: set the environment variable SKFAIR_DATA to a "
            f"directory of tables. {advice}"
        )
    return existing(directory, filename, advice)

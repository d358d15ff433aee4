"""Files of tables that the library has no loader of."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from sklearn.datasets import get_data_home


def find_table(filename: str, *, source: str) -> Path:
    """Find a file in the directory that the environment variable SKFAIR_DATA names.

    An error says that it comes from the `source` if it is missing.
    """
    path = Path(os.environ.get("SKFAIR_DATA", "")) / filename
    if "SKFAIR_DATA" not in os.environ or not path.is_file():
        raise FileNotFoundError(
            f"{filename!r} not found: set the environment variable SKFAIR_DATA to a "
            f"directory of tables. Get the file from {source}, and save it there under "
            "this name."
        )
    return path


def download(url: str, filename: str) -> Path:
    """Download a file once, into scikit-learn's folder of data."""
    path = Path(get_data_home()) / "skfair" / filename
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        request = Request(url, headers={"User-Agent": "Mozilla/5.0"})
        try:
            with urlopen(request, timeout=60) as answer:
                content = answer.read()
        except URLError as error:
            raise ConnectionError(
                f"{url} could not be downloaded ({error}). Save the file as {path}, "
                "and run the command again."
            ) from None
        path.write_bytes(content)
    return path

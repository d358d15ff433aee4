"""How far a long computation is, on the standard error stream."""

from __future__ import annotations

import sys
import time
from typing import Any

from skfair._utils._validation import check_integer

#: Seconds between two updates.
_INTERVAL = 0.5


def check_verbose(verbose: Any) -> int:
    """Return the verbosity, an integer or a bool."""
    # scikit-learn takes both.
    value = int(verbose) if isinstance(verbose, bool) else verbose
    return check_integer("verbose", value, 0)


class Progress:
    """Prints lines that begin with a name; without `verbose` it prints nothing."""

    def __init__(self, name: str, verbose: int) -> None:
        self.name, self.verbose = name, verbose
        self._due = 0.0  # the time of the next update
        self._width = 0  # of the update that is on the last line of the screen

    def line(self, text: str) -> None:
        """Print a line that stays."""
        if self.verbose:
            self._print(text, "\n")
            self._width = 0

    def update(self, text: str) -> None:
        """Print a line that the next one replaces, unless the last is too recent."""
        if self.verbose and time.monotonic() >= self._due:
            self._width = self._print(text, "")
            self._due = time.monotonic() + _INTERVAL

    def _print(self, text: str, end: str) -> int:
        """Print over an update, if there is one; return the length of the line."""
        start = "\r" if self._width else ""
        line = f"{self.name}: {text}"
        padded = line.ljust(self._width)
        print(f"{start}{padded}", end=end, file=sys.stderr, flush=True)
        return len(line)

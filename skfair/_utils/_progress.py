"""How far a long computation is, on the standard error stream."""

from __future__ import annotations

import sys
import time
from typing import Any

from skfair._utils._validation import check_integer

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replacement of scikit-learn's mixin in versions without callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return a method unchanged, in versions without callbacks."""
        return method


#: Seconds between two updates.
_INTERVAL = 0.5


def check_verbose(verbose: Any) -> int:
    """Return the verbosity, an integer or a bool."""
    # scikit-learn takes both.
    value = int(verbose) if isinstance(verbose, bool) else verbose
    return check_integer("verbose", value, 0)


class Progress:
    """Printer of lines that begin with a name; silent without `verbose`."""

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
        """Print a line that the next one replaces, unless the last update is recent."""
        if self.verbose and time.monotonic() >= self._due:
            self._width = self._print(text, "")
            self._due = time.monotonic() + _INTERVAL

    def _print(self, text: str, end: str) -> int:
        """Print a line over the last update; return its length."""
        start = "\r" if self._width else ""
        line = f"{self.name}: {text}"
        padded = line.ljust(self._width)
        print(f"{start}{padded}", end=end, file=sys.stderr, flush=True)
        return len(line)


class Tasks:
    """Tasks of a fit, reported to the estimator's callbacks or printed."""

    def __init__(self, estimator: Any) -> None:
        self._estimator: Any = estimator
        self._context: Any = None
        verbose = check_verbose(getattr(estimator, "verbose", 0))
        self._progress = Progress(type(estimator).__name__, verbose)
        self._n_tasks, self._n_done = 0, 0

    def begin(self, n_tasks: int) -> None:
        """Report that a number of tasks begins."""
        self._n_tasks = n_tasks
        start = getattr(self._estimator, "_init_callback_context", None)
        if start is not None:
            self._context = start(max_subtasks=n_tasks)
            self._context.call_on_fit_task_begin(estimator=self._estimator)

    def done(self, name: str) -> None:
        """Report that a task is done."""
        self._n_done += 1
        if self._context is not None:
            task = self._context.subcontext(task_name=name)
            task.call_on_fit_task_begin(estimator=self._estimator)
            task.call_on_fit_task_end(estimator=self._estimator)
        self._progress.update(f"{name}, {self._n_done} of {self._n_tasks}")

    def end(self) -> None:
        """Report that the fit is done."""
        if self._n_done:
            self._progress.line(f"done, {self._n_done} of {self._n_tasks}")
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)

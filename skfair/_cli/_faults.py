"""Faults of a command and its file, and the command without them."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Iterable
from typing import Any, NoReturn

#: Options that name columns.
COLUMNS = (
    *("y_pred", "y_score", "y_true", "sensitive", "control_features"),
    *("sample_weight", "cluster", "count", "selected"),
)
#: Parameters whose option has another name.
_RENAMED = {
    "n_permutations": "--permutations",
    "n_resamples": "--resamples",
    "random_state": "--seed",
    "n_jobs": "--jobs",
}


def option_name(parameter: str) -> str:
    """Return the name of the option that sets a parameter."""
    return _RENAMED.get(parameter, f"--{parameter.replace('_', '-')}")


class Faults:
    """Faults of a command, with options corrected so that the rest can be checked.

    `notes` are texts about what the command does, which is not a fault.
    """

    def __init__(self, args: Namespace) -> None:
        self.args, self.texts, self.notes = args, dict[str, None](), list[str]()
        self._changed: dict[str, Any] = {}

    def add(self, text: str) -> None:
        """Add a fault."""
        self.texts[" ".join(text.split())] = None

    def mend(self, **options: Any) -> None:
        """Change the options that mend the last fault."""
        self._changed |= options
        vars(self.args).update(options)

    def rename_column(self, text: str, name: str, meant: str) -> None:
        """Add the fault that a column has another name."""
        self.add(text)
        mended: dict[str, Any] = {}
        for parameter in COLUMNS:
            value = getattr(self.args, parameter)
            if isinstance(value, list) and name in value:
                mended[parameter] = [meant if n == name else n for n in value]
            elif value == name:
                mended[parameter] = meant
        self.mend(**mended)

    def stop(self, text: str) -> NoReturn:
        """Raise for a fault that prevents all further checks."""
        self.add(text)
        raise ValueError(self._message())

    def check(self) -> None:
        """Raise ValueError if there are faults."""
        if self.texts:
            raise ValueError(self._message())

    def _message(self) -> str:
        """Write a line for each fault, and the corrected command."""
        return "\n".join([*self.texts, *self._mended_command()])

    def _mended_command(self) -> Iterable[str]:
        """Yield a line with the corrected command, if options were corrected."""
        if not self._changed:
            return
        options = {option_name(name): value for name, value in self._changed.items()}
        words, typed = [], iter(self.args.typed)
        for word in typed:
            option = word.partition("=")[0]
            if option not in options:
                words.append(word)
            elif "=" not in word:
                next(typed, None)
        for option, value in options.items():
            if value is None or value == []:
                continue  # left out
            if option == "--pos-label":
                words += [part for label in value for part in (option, label)]
            else:
                text = ",".join(value) if isinstance(value, list) else f"{value}"
                words += [option, text.replace("\t", "tab")]
        yield f"try: python -m skfair {shlex.join(words)}"

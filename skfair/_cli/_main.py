"""``python -m skfair``: reports and monitors without code."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import skfair
from skfair._cli._audit import add_audit
from skfair._cli._monitor import add_monitor
from skfair._cli._options import option_of, say, warn
from skfair._cli._verify import add_verify
from skfair._utils._validation import ParameterError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code."""
    given, unknown = make_parser().parse_known_args(arguments)
    if unknown:
        given.parser.refuse(unknown)
    try:
        with _warnings_as_notes(given):
            code: int = given.run(given)
    except (ValueError, OSError, ImportError) as error:
        _end_progress()
        message = str(error)
        if isinstance(error, ParameterError):
            message = f"{option_of(error.parameter)} {error.problem}"
        warn(given, f"error: {message}")
        return 2
    except KeyboardInterrupt:
        _end_progress()
        return 130
    return code


@contextmanager
def _warnings_as_notes(given: argparse.Namespace) -> Iterator[None]:
    """Print what a warning says, without the line of code that it names."""

    def note(message: Warning | str, *_: object, **__: object) -> None:
        _end_progress()
        warn(given, f"note: {message}")

    with warnings.catch_warnings():
        # The command has said so already, with the option that mends it.
        warnings.filterwarnings("ignore", "(sensitive|control)_features has the labels")
        warnings.showwarning = note
        yield


def _end_progress() -> None:
    """End the line of the progress, so that a message has a line of its own."""
    if sys.stderr.isatty():
        print(file=sys.stderr)


def make_parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    called = Path(sys.argv[0]).stem
    parser = _Parser(
        prog="skfair" if called == "skfair" else "python -m skfair",
        description="Measure the fairness of predictions.",
    )
    parser.add_argument(
        "--version", action="version", version=f"skfair {skfair.__version__}"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in add_audit, add_monitor, add_verify:
        add(commands)
    for command in commands.choices.values():
        command.set_defaults(parser=command)
    return parser


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong with the arguments."""

    def error(self, message: str) -> NoReturn:
        name = self.prog.removeprefix("python -m ")
        end = "" if message.endswith((".", "?")) else "."
        text = f"{name}: error: {message}{end} {name} --help lists all options."
        say(" ".join(text.split()), sys.stderr)
        raise SystemExit(2)

    def refuse(self, unknown: list[str]) -> NoReturn:
        """Name the options that arguments may stand for."""
        options = re.findall(r"--[\w-]+", self.format_help())
        close = [difflib.get_close_matches(text, options, 1, 0.7) for text in unknown]
        meant = " and ".join(name for names in close for name in names)
        hint = f". Is {meant} meant?" if meant else "."
        if not any(text.startswith("-") for text in unknown):
            hint += " Columns have commas and no spaces between them: --sensitive a,b."
        self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")

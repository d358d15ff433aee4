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
from skfair._cli._options import format_of, option_of
from skfair._cli._output import end_progress, format_of_output, say, warn
from skfair._cli._verify import add_verify
from skfair._utils._validation import ParameterError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code."""
    given, unknown = make_parser().parse_known_args(arguments)
    if unknown:
        given.parser.refuse(unknown)
    if "sep" in given:
        given.form = format_of(given)
    if "format" in given and given.format is None:
        given.format = format_of_output(given)
    try:
        with _warnings_as_notes(given):
            code: int = given.run(given)
    except (ValueError, OSError, ImportError) as error:
        end_progress()
        message = str(error)
        if isinstance(error, ParameterError):
            message = f"{option_of(error.parameter)} {error.problem}"
        warn(given, f"error: {' '.join(message.split())}")
        return 2
    except KeyboardInterrupt:
        end_progress()
        return 130
    return code


@contextmanager
def _warnings_as_notes(given: argparse.Namespace) -> Iterator[None]:
    """Print what a warning says, without the line of code that it names."""

    def note(message: Warning | str, *_: object, **__: object) -> None:
        end_progress()
        warn(given, f"note: {' '.join(str(message).split())}")

    with warnings.catch_warnings():
        warnings.showwarning = note
        yield


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

    def refuse(self, unknown: list[str]) -> None:
        """Name the options that arguments may stand for."""
        options = re.findall(r"--[\w-]+", self.format_usage())
        meant = [difflib.get_close_matches(text, options, 1) for text in unknown]
        found = " and ".join(name for names in meant for name in names)
        hint = f". Is {found} meant?" if found else "."
        self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")

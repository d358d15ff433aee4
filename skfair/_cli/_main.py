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
from typing import Any, NoReturn

import skfair
from skfair._cli._audit import add_audit
from skfair._cli._monitor import add_monitor
from skfair._cli._options import option_of, say, warn
from skfair._utils._text import counted
from skfair._utils._validation import ParameterError
from skfair.report import verify_bundle


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
    for add in add_audit, add_monitor, _add_verify:
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


def _add_verify(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "verify",
        help="compute the numbers of a bundle again, without the rows",
        description="Compute the numbers of a bundle that `audit --bundle` has written "
        "again.",
        epilog="exit codes: 0, they agree; 1, they do not, or it is no bundle; 2, it "
        "cannot be read.",
    )
    parser.add_argument("directory", type=Path, help="the bundle")
    parser.set_defaults(run=_run_verify)


def _run_verify(given: argparse.Namespace) -> int:
    """Verify a bundle; say what was not verified, and at last whether it agrees."""
    if not given.directory.is_dir():
        raise NotADirectoryError(
            f"{given.directory} is no directory, as `skfair audit --bundle` writes."
        )
    check = verify_bundle(given.directory)
    say(f"{counted(check.n_verified, 'number')} computed again from the statistics")
    for text in check.not_verified:
        say(f"not verified: {text}")
    for text in check.problems:
        warn(given, f"differs: {text}")
    if check.ok:
        say("agrees: page, summary and statistics")
    return 0 if check.ok else 1

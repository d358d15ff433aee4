"""``python -m skfair verify``: the numbers of a bundle, computed again."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from skfair._cli._options import say, warn
from skfair._utils._text import counted
from skfair.report import verify_bundle


def add_verify(commands: Any) -> None:
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
    parser.set_defaults(run=run_verify)


def run_verify(given: argparse.Namespace) -> int:
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

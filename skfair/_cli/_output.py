"""What commands write: messages, files, and the record of what was read."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from skfair._cli._duckdb import files_of
from skfair._utils._files import check_writable, sha256_of, write_text
from skfair._utils._text import counted, visible_text

#: Exit codes beside 0 for success, 2 for bad input and 130 if interrupted.
ABOVE_LIMIT, NOTHING_SAID = 3, 4
#: Files that no command writes.
_OTHER_FORMATS = (".pdf", ".doc", ".docx", ".xlsx")


def say(text: str, stream: TextIO | None = None) -> None:
    """Print a line; characters that the console does not know are escaped."""
    stream = sys.stdout if stream is None else stream
    encoding = getattr(stream, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream)


def warn(given: argparse.Namespace, text: str) -> None:
    """Print a line to the standard error stream, after the name of the command."""
    say(f"skfair {given.command}: {text}", sys.stderr)


def end_progress() -> None:
    """End the line of the progress, so that a message has a line of its own."""
    if sys.stderr.isatty():
        print(file=sys.stderr)


def check_output(
    path: Path, table: Path, option: str = "--out", *, no_overwrite: bool = False
) -> None:
    """Raise before the long work if a file cannot be written after it, or is input."""
    if no_overwrite and path.exists():
        raise FileExistsError(f"{path} exists already, and --no-overwrite is given.")
    if path.suffix.lower() in _OTHER_FORMATS:
        raise ValueError(
            f"{option} {path} must end in .html, .json or .md. A browser prints a page "
            "as PDF."
        )
    check_writable(path)
    files = files_of(table)
    for file in files if path.exists() else ():
        if file.exists() and path.samefile(file):
            raise ValueError(f"{option} {path} is {file}, which is to be read.")
    # Another run would read what this one has written.
    if files != [table] and path.absolute().match(str(table.absolute())):
        raise ValueError(f"{option} {path} is a file that {table} matches.")


def format_of_output(given: argparse.Namespace) -> str:
    """Return the format that the name of the output says, else that of a page."""
    if given.out is None:
        return "md"
    ending = given.out.suffix.lower().removeprefix(".")
    return ending if ending in given.formats else "html"


@contextmanager
def unchanged(files: Sequence[Path]) -> Iterator[None]:
    """Raise if files change meanwhile: their hashes would not be of what was read."""

    def states() -> list[tuple[int, ...] | None]:
        found = [file.stat() if file.exists() else None for file in files]
        return [s and (s.st_ino, s.st_size, s.st_mtime_ns) for s in found]

    before = states()
    yield
    for file, was, now in zip(files, before, states(), strict=True):
        if was != now:
            raise ValueError(f"{file} was changed while it was read.")


def input_record(path: Path) -> dict[str, str]:
    """Name what was read, without its directory, and hash it.

    Of a file its bytes are hashed as they are stored, of the files of a pattern the
    lines that ``sha256sum`` writes of them.
    """
    files = files_of(path)
    if files == [path]:
        return {"input": visible_text(path.name, 100), "sha256": sha256_of(path)}
    lines = "".join(f"{sha256_of(file)}  {file.name}\n" for file in files)
    name = f"{visible_text(path.name, 80)} ({counted(len(files), 'file')})"
    return {"input": name, "sha256": hashlib.sha256(lines.encode()).hexdigest()}


def write(report: Any, path: Path, how: str, record: dict[str, str]) -> None:
    """Write a report and the record of its input as a page, JSON, or Markdown."""
    source = f"{record['input']}, SHA-256 {record['sha256']}"
    head = {"date": record.get("date"), "source": source}
    if how == "html":
        report.to_html(path, **head)
    elif how == "md":
        report.to_markdown(path, **head)
    else:
        text = json.dumps(report.summary | record, indent=1, ensure_ascii=False)
        write_text(path, text + "\n")

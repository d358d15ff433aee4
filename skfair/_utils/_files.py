"""Writes files, each of them whole or not at all."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from os import PathLike
from pathlib import Path

#: Names of streams that are open already; each may lead to an ordinary file.
_OPEN_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")


def write_text(path: str | PathLike[str], text: str) -> None:
    """Write a file in UTF-8; an existing file stays unchanged if writing fails.

    The text is written to a temporary file, which then takes the place of the target.
    If `path` is a symbolic link, the file that the link names is replaced. Streams and
    devices cannot be replaced, so the text is written to them directly.
    """
    check_writable(path)
    try:
        if is_stream(path):
            # What standard output was redirected to may hold earlier output.
            with open(path, "a", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
        else:
            _replace(Path(os.path.realpath(path)), text)
    except OSError as error:  # its message would name the temporary file
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def hash_file(path: Path) -> str:
    """Hash the bytes of a file as they are stored."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_stream(path: str | PathLike[str]) -> bool:
    """Return whether a path names a stream or a device, not a file or a directory."""
    if os.path.abspath(path).startswith(_OPEN_STREAMS):
        return True
    mode = _mode(path)
    return mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def check_writable(path: str | PathLike[str]) -> None:
    """Raise OSError unless a file can be written; write nothing."""
    name, mode = os.fspath(path), _mode(path)
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{name} is a directory, expected a file to write.")
    if mode is not None and not os.access(name, os.W_OK):
        raise PermissionError(f"{name} cannot be written: it is read-only.")
    if is_stream(path):
        return
    directory = os.path.dirname(os.path.realpath(name))
    if not os.path.isdir(directory):
        raise FileNotFoundError(f"{name} is in a directory that does not exist.")
    if not os.access(directory, os.W_OK):
        raise PermissionError(f"{name} is in a directory that is read-only.")


def _mode(path: str | PathLike[str]) -> int | None:
    """Return the permissions of a path, None if it does not exist."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _replace(target: Path, text: str) -> None:
    """Put a new file in the place of another, with the permissions of the old one."""
    temporary = target.with_name(f".skfair-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        mode = _mode(target)
        if mode is not None:
            temporary.chmod(stat.S_IMODE(mode))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

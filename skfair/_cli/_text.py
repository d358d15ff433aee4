"""Reads tables of text as they are written, and says in which line one is broken."""

from __future__ import annotations

import gzip
import io
import re
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from skfair._utils._text import counted

#: What is a number, and a whole one, in Python and in SQL; nan and inf are words.
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
WHOLE_NUMBER = r"[+-]?[0-9]+"
#: How truth values are written.
BOOLEANS = {
    "True": True,
    "TRUE": True,
    "true": True,
    "False": False,
    "FALSE": False,
    "false": False,
}
#: Numbers with a decimal comma become numbers with a point, and others no numbers.
_EXCHANGED = str.maketrans(",.", ".,")
#: What is left out around a cell.
BLANKS = " \t"
#: Columns of a table that is no CSV file, such as a page, are not all listed.
_MAX_NAMES = 20
#: Longer lines are refused: a small compressed file may hold one of many gigabytes.
_MAX_LINE = 2**24
#: Rows that are read at once.
_ROWS_AT_ONCE = 2**17


@dataclass(frozen=True)
class Format:
    """How a text file is written; None is a comma, or a tab in a .tsv file."""

    sep: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    thousands: str | None = None

    def __post_init__(self) -> None:
        if self.thousands == self.decimal:
            raise ValueError(
                f"--thousands must differ from --decimal, got {self.thousands!r} twice."
            )

    def with_points(self, cells: Any) -> Any:
        """Write numbers with a decimal point and without marks of thousands."""
        if self.thousands is not None:
            grouped = cells.str.fullmatch(_grouped(self.thousands, self.decimal))
            without = cells.str.replace(self.thousands, "", regex=False)
            cells = cells.mask(grouped, without)
        return cells.str.translate(_EXCHANGED) if self.decimal == "," else cells

    def of(self, path: Path) -> dict[str, Any]:
        """Parameters of `pandas.read_csv`."""
        is_tsv = path.name.lower().endswith((".tsv", ".tsv.gz"))
        sep = self.sep or ("\t" if is_tsv else ",")
        # Excel begins UTF-8 with a byte order mark.
        plain = self.encoding.lower().replace("_", "-") in ("utf-8", "utf8")
        encoding = "utf-8-sig" if plain else self.encoding
        return {"sep": sep, "encoding": encoding}


def _grouped(thousands: str, decimal: str) -> str:
    """Pattern of numbers of at least 1,000 whose digits are grouped by threes."""
    mark = re.escape(thousands)
    return rf"[+-]?[1-9][0-9]{{0,2}}({mark}[0-9]{{3}})+({re.escape(decimal)}[0-9]+)?"


class _Record(NamedTuple):
    """Text of a header or of a row, and the line in which it begins."""

    line: int
    text: str


def read_header(path: Path, form: Format) -> tuple[list[str], bool]:
    """Read the names of the columns, and whether the first line has all of them."""
    with text_problems(path, form):
        first = next(_records(path, form), None)
    if first is None:
        raise ValueError(f"{path} is empty, expected the names of columns.")
    if "\0" in first.text:
        raise ValueError(
            f"{path} is not text in {form.encoding}: its first line has NUL "
            "characters. --encoding names another encoding, such as utf-16."
        )
    names = pd.read_csv(
        io.StringIO(first.text),
        header=None,
        dtype=str,
        keep_default_na=False,
        sep=form.of(path)["sep"],
        skipinitialspace=True,
    ).iloc[0]
    is_first_line = first.line == 1 and len(first.text.splitlines()) == 1
    return [str(name).strip(BLANKS) for name in names], is_first_line


def read_rows(
    path: Path, wanted: Sequence[str], form: Format
) -> Iterator[pd.DataFrame]:
    """Read some columns as they are written, many rows at a time; empty is missing.

    The quotation marks are checked first, since pandas takes all that is written
    between one that is never closed and the next for one cell.
    """
    names, _ = read_header(path, form)
    check_columns(path, names, wanted)
    columns = {name: names.index(name) for name in wanted}
    with text_problems(path, form):
        for _ in _records(path, form):
            pass
        with warnings.catch_warnings():
            # The end of a row longer than the header would be dropped silently.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            with pd.read_csv(
                path,
                header=0,
                names=range(len(names)),
                index_col=False,
                dtype=dict.fromkeys(columns.values(), str),
                keep_default_na=False,
                na_values=[""],
                skipinitialspace=True,
                low_memory=False,
                chunksize=_ROWS_AT_ONCE,
                **form.of(path),
            ) as chunks:
                for chunk in chunks:
                    rows = chunk[[*columns.values()]].set_axis([*columns], axis=1)
                    rows = rows.apply(lambda cells: cells.str.strip(BLANKS))
                    yield rows.mask(rows == "")


def as_values(column: Any, form: Format) -> Any:
    """Turn text into whole numbers, numbers or truth values if all of it is written so.

    Whole numbers of more than 64 bits stay text.
    """
    known = form.with_points(column.dropna())
    if known.str.fullmatch(WHOLE_NUMBER).all():
        numbers = known.astype(object).map(int)
        if not numbers.between(-(2**63), 2**63 - 1).all():
            return column
        # Beside missing values they stay objects, since floats might round them.
        return numbers.reindex(column.index)
    numbers = as_numbers(column, form)
    if numbers is None and known.isin(list(BOOLEANS)).all():
        return known.astype(object).map(BOOLEANS).reindex(column.index)
    return column if numbers is None else numbers


def as_numbers(column: Any, form: Format) -> Any:
    """Turn text into numbers, None if some of it is no number."""
    written = column.dropna()
    _refuse_grouped(written, form)
    known = form.with_points(written)
    if not known.str.fullmatch(NUMBER).all():
        return None
    # Not by `pandas.to_numeric`, which may miss the nearest float.
    return known.astype(object).map(float).astype(float).reindex(column.index)


def _refuse_grouped(cells: Any, form: Format) -> None:
    """Raise if all commas of a column may be marks of thousands, not decimal marks."""
    grouped = cells.str.fullmatch(_grouped(",", "."))
    whole = grouped | cells.str.fullmatch("[+-]?[0-9]{1,3}")
    if form.decimal == "," and grouped.any() and whole.all():
        raise ValueError(
            f"column {cells.name!r} has numbers such as {cells[grouped].iloc[0]}, "
            "which --decimal ',' would read as less than 1,000: --thousands ',' in its "
            "place reads 1,000 as a thousand."
        )


def refuse_text(files: Sequence[Path], name: str, form: Format) -> None:
    """Raise ValueError for the first cell of a column that is no number."""
    for path in files:
        for rows in read_rows(path, [name], form):
            known = rows[name].dropna()
            bad = known[~form.with_points(known).str.fullmatch(NUMBER)]
            if len(bad):
                raise ValueError(
                    f"column {name!r} must be numbers, got {bad.iloc[0]!r} in line "
                    f"{line_of_text(path, bad.index[0], form)} of {path}."
                    f"{number_hint(bad, form)}"
                )


def number_hint(cells: Any, form: Format) -> str:
    """Say how cells can be read as numbers if they are written in another way."""
    if cells.str.fullmatch(NUMBER.replace(r"\.", "[.,]") + "[ \u00a0]?%").all():
        return " Write each as a share, as 0.45 for 45%."
    other = Format(decimal="." if form.decimal == "," else ",")
    if cells.str.fullmatch(_grouped(other.decimal, form.decimal)).all():
        return f" --thousands '{other.decimal}' reads numbers such as {cells.iloc[0]}."
    if other.with_points(cells).str.fullmatch(NUMBER).all():
        return f" --decimal '{other.decimal}' reads numbers such as {cells.iloc[0]}."
    return ""


def line_of_text(path: Path, position: int, form: Format) -> int:
    """Find the line in which a row begins."""
    records = _records(path, form)
    next(records)  # the header
    return next(record.line for i, record in enumerate(records) if i == position)


def check_columns(path: Path, names: list[str], wanted: Sequence[str]) -> None:
    """Raise unless a table has each of the columns once."""
    for name in wanted:
        if names.count(name) > 1:
            raise ValueError(f"{path} has several columns {name!r}, expected one.")
    lacking = [name for name in dict.fromkeys(wanted) if name not in names]
    if lacking:
        hint = ""
        if len(names) == 1 and any(mark in names[0] for mark in ";\t|,"):
            found = next(mark for mark in ";\t|," if mark in names[0])
            written = "tab" if found == "\t" else f"'{found}'"
            hint = f" Columns seem to be separated otherwise: try --sep {written}."
        elif lacking == [*dict.fromkeys(wanted)] and len(names) < 3:
            hint = " The first line must hold the names of the columns."
        missing = ", ".join(map(repr, lacking))
        known = ", ".join(repr(name[:100]) for name in names[:_MAX_NAMES])
        more = f" and {len(names) - _MAX_NAMES:,} more" * (len(names) > _MAX_NAMES)
        raise ValueError(
            f"{path} has no column {missing}; it has [{known}]{more}.{hint}"
        )


def holds_rows(files: Sequence[Path], form: Format, n_rows: int) -> bool:
    """Whether files hold a number of rows in all.

    DuckDB drops the last line of a file if it does not fit into its buffer, does not
    compare the checksum of a compressed file, and takes a separator at the end of a
    line for none, where it makes one cell more than the header has.
    """
    counts = [_count_lines(path, form) for path in files]
    if any(open_ended for _, open_ended in counts):
        return False
    if sum(n_lines - 1 for n_lines, _ in counts) == n_rows:
        return True
    n_records = 0  # some lines are blank, or some cells hold several lines
    for path in files:
        with text_problems(path, form):
            n_records += sum(1 for _ in _records(path, form))
    return n_records - len(files) == n_rows


def _count_lines(path: Path, form: Format) -> tuple[int, bool]:
    """Count the lines of a file, and say whether one of them ends in a separator.

    A line ends in a line feed, or with the file.
    """
    n_lines, last, open_ended = 0, b"\n", False
    sep = form.of(path)["sep"].encode()
    ends = re.compile(re.escape(sep) + rb"[ \r]*\n")
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with text_problems(path, form), opener(path, "rb") as file:
        while block := file.read(2**20):
            n_lines += block.count(b"\n")
            # The end of a line may be in the next block.
            open_ended |= ends.search(last[-64:] + block) is not None
            last = block
    open_ended |= last.rstrip(b" \r").endswith(sep)
    return n_lines + (not last.endswith(b"\n")), open_ended


@contextmanager
def text_problems(path: Path, form: Format) -> Iterator[None]:
    """Raise what is wrong with a file of text as ValueError, which names the file."""
    try:
        yield
    except LookupError as error:
        raise ValueError(f"--encoding: {error}.") from error
    except UnicodeError as error:
        raise ValueError(
            f"{path} is not text in {form.encoding}: {error}. --encoding names "
            "another encoding, such as cp1252, latin-1 or utf-16."
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} cannot be decompressed: {error}.") from error
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        said = _too_long(path, form) or " ".join(str(error).split())
        raise ValueError(f"{path} cannot be read as CSV: {said}") from error


def _too_long(path: Path, form: Format) -> str | None:
    """Say which row has more cells than the header, as far as it can be seen."""
    sep = form.of(path)["sep"]
    records = _records(path, form)

    def n_cells(record: _Record) -> int:
        text = re.sub(r'"(?:[^"]|"")*"', "x", record.text).rstrip("\r\n")
        return text.count(sep) + 1

    expected = n_cells(next(records))
    for record in records:
        if n_cells(record) > expected:
            cells = counted(n_cells(record), "cell")
            return f"line {record.line} has {cells}, the header {expected}."
    return None


def _patterns_of_quotes(
    sep: str, within: bool
) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns of a line that ends a row, and of one whose last cell goes on.

    `within` says that the line begins within quotation marks.
    """
    mark, blank = re.escape(sep), f"[{BLANKS.replace(sep, '')}]"
    inside = r'(?:[^"]|"")*+'
    cell = rf'{blank}*+(?:"{inside}"{blank}*+|(?!")[^{mark}]*+)'
    begins = rf'{inside}"{blank}*+' if within else cell
    opens = rf'(?:{cell}{mark})*+{blank}*+"{inside}'
    again = rf'{inside}(?:"{blank}*+{mark}{opens})?' if within else opens
    return re.compile(rf"{begins}(?:{mark}{cell})*+[\r\n]*"), re.compile(again)


def _records(path: Path, form: Format) -> Iterator[_Record]:
    """Read the header and the rows as text, without blank lines.

    A quotation mark that is never closed is an error, and so is text between the
    closing one and the separator, which shows that one is missing before.
    """
    sep = form.of(path)["sep"]
    outside, inside = (_patterns_of_quotes(sep, within) for within in (False, True))
    blanks = BLANKS.replace(sep, "") + "\r\n"
    start, size, parts = 0, 0, list[str]()
    for number, line in enumerate(_lines(path, form), start=1):
        if not parts:
            if not line.strip(blanks):
                continue
            start, size = number, 0
        if not parts and '"' not in line:
            yield _Record(number, line)
            continue
        ends, goes_on = inside if parts else outside
        parts.append(line)
        if ends.fullmatch(line):
            yield _Record(start, "".join(parts))
            parts.clear()
        elif not goes_on.fullmatch(line):
            raise ValueError(
                f"{path} cannot be read as CSV: a closing quotation mark in line "
                f"{number} is not followed by a separator."
            )
        elif (size := size + len(line)) > _MAX_LINE:
            break
    if parts:
        raise ValueError(
            f"{path} cannot be read as CSV: a quotation mark in line {start} is not "
            "closed."
        )


def _lines(path: Path, form: Format) -> Iterator[str]:
    """Read lines, with what ends them."""
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding=form.of(path)["encoding"], newline="") as file:
        number = 0
        while line := file.readline(_MAX_LINE):
            number += 1
            if len(line) == _MAX_LINE:
                raise ValueError(
                    f"{path} cannot be read as CSV: line {number} has more than "
                    f"{_MAX_LINE:,} characters."
                )
            yield line

"""What an audit ends with: a file to keep, notes, and an exit code."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from skfair._utils._files import write_text
from skfair._utils._text import visible_text
from skfair._utils._validation import check_choice, check_real
from skfair.report import FairnessReport
from skfair.report._language import counted
from skfair.report._metrics import KEYS, MEASURES

#: Exit codes beside 0 for success, 2 for bad input and 130 if interrupted.
ABOVE_LIMIT, NOTHING_SAID = 3, 4


def input_record(path: Path, files: list[Path]) -> dict[str, str]:
    """Name what was read, without its directory, and hash it.

    Of a file its bytes are hashed as they are stored, of the files of a pattern the
    lines that ``sha256sum`` writes of them.
    """
    if files == [path]:
        return {"input": visible_text(path.name, 100), "sha256": _digest(path)}
    lines = "".join(f"{_digest(file)}  {file.name}\n" for file in files)
    name = f"{visible_text(path.name, 80)} ({counted(len(files), 'file')})"
    return {"input": name, "sha256": hashlib.sha256(lines.encode()).hexdigest()}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(report: FairnessReport, path: Path, how: str, record: dict[str, str]) -> None:
    """Write a report and the record of its input as a page, JSON, or Markdown."""
    source = f"{record['input']}, SHA-256 {record['sha256']}"
    if how == "html":
        report.to_html(path, date=record.get("date"), source=source)
        return
    if how == "md":
        report.to_markdown(path, date=record.get("date"), source=source)
        return
    text = json.dumps(report.summary | record, indent=1, ensure_ascii=False)
    write_text(path, text + "\n")


def read_limits(given: list[str]) -> dict[str, float]:
    """Read limits such as ``mcdp=0.1``."""
    limits = {}
    for text in given:
        key, _, written = text.partition("=")
        check_choice("--limit", key, KEYS)
        try:
            value = float(written)
        except ValueError:
            raise ValueError(f"--limit must be METRIC=NUMBER, got {text!r}.") from None
        limits[key] = check_real("--limit", value, 0, MEASURES[key].maximum)
    return limits


def beyond_limits(report: FairnessReport, limits: dict[str, float]) -> list[str]:
    """Name the metrics that are above their limits, or undefined."""
    found = []
    for row in report.to_frame().to_dict("records"):
        limit = limits.get(row["metric"])
        if limit is not None and not row["value"] <= limit:
            what = f"{row['metric']} of {row['model']} by {row['attribute']}"
            found.append(f"{what} is {row['value']:.6g}, the limit is {limit:g}")
    missing = set(limits) - set(report.to_frame()["metric"])
    return found + [
        f"{key} was not computed, so not checked" for key in sorted(missing)
    ]


def says_nothing(report: FairnessReport) -> bool:
    """Whether no metric of the report is defined."""
    return bool(report.to_frame()["value"].isna().all())

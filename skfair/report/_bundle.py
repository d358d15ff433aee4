"""A bundle: a report, the statistics that it is computed from, and their hashes."""

from __future__ import annotations

import hashlib
import json
import math
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any

from skfair._utils._files import write_together
from skfair._utils._text import visible_text
from skfair._utils._validation import check_integer
from skfair.metrics._inputs import collected_reasons
from skfair.report._counted import (
    from_data,
    joined,
    n_tables,
    of_each_model,
    to_data,
    without_small_cells,
)
from skfair.report._draws import DRAWN, DRAWN_ENDS
from skfair.report._inputs import Audit, Options
from skfair.report._metrics import MEASURES, checked_options
from skfair.report._page._html import render
from skfair.report._performance import ENDS_OF_R2
from skfair.report._summary import STATED, summarize, versions_of

Data = dict[str, Any]

#: Format of a bundle: the number changes with its files, or what they hold.
FORMAT = "skfair.bundle/3"
MANIFEST = "manifest.json"
#: Files of a bundle beside its manifest.
FILES = ("call.json", "page.html", "statistics.json", "summary.json")
#: Distinct entries of all statistics together; more are joined. Each takes some 25
#: bytes, and 40 more for a weight that is no whole number, and its square.
_MOST_ENTRIES = 120_000
#: Bytes of all files of a bundle.
_MOST_BYTES = 2**26
#: Options that change no number.
_SILENT = ("n_jobs", "verbose")
#: Relative difference of numbers of other processors and versions.
_ROUNDING = 1e-9
#: Problems that are listed.
_MOST_PROBLEMS = 20


class _RefusedError(ValueError):
    """What is no bundle, so that nothing in it is computed."""


@dataclass(frozen=True)
class BundleCheck:
    """What `verify_bundle` found.

    Attributes
    ----------
    problems : tuple of str
        What is wrong, at most some twenty; empty where nothing is.
    n_verified : int
        How many numbers of the summary were computed again from the statistics, and
        found to be the same.
    not_verified : tuple of str
        What the statistics do not determine, and is taken as the bundle states it.

    See Also
    --------
    verify_bundle : Makes it.
    """

    problems: tuple[str, ...]
    n_verified: int
    not_verified: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.problems


def write_bundle(
    directory: str | PathLike[str],
    audits: Sequence[Audit],
    summary: Data,
    record: Mapping[str, str],
    sha256: str | None,
    min_cell: int | None,
) -> None:
    """Write a report and its statistics into a directory, which holds nothing else."""
    folder = Path(directory)
    check_folder(folder)
    n_withheld = 0
    if min_cell is not None:
        _check_min_cell(min_cell, audits, summary)
        with collected_reasons():
            only, n_withheld = without_small_cells(audits[0], min_cell)
        audits = [only]
    models = [one for audit in audits for one in of_each_model(audit)]
    most = _MOST_ENTRIES // (len(models) * n_tables(models[0]))
    weights = models[0].weights
    if weights is not None and weights.dtype.kind == "f":
        most //= 3
    counted = [joined(one, min_cell, most) for one in models]
    if min_cell is not None:
        summary = _summary_of_cells(counted, summary, min_cell, n_withheld)
    blur = [max(one.blur[i] for one in counted) for i in (0, 1)]
    summary = {**summary, "settings": {**summary["settings"], "blur": blur}}
    statistics = {"models": [to_data(one) for one in counted]}
    call = {
        "options": _options_to_data(audits[0].options),
        "record": dict(record),
        "input": None if sha256 is None else {"sha256": sha256},
        "versions": versions_of("jinja2", "matplotlib"),
    }
    again = _audits_of(statistics, call, summary)
    summary = _summarize(again, summary["title"], summary)
    page = render(summary, record)
    texts = {
        "call.json": _dump(call),
        "page.html": page,
        "statistics.json": _dump(statistics),
        "summary.json": _dump(summary),
    }
    hashes = {name: _sha256(text.encode()) for name, text in texts.items()}
    manifest = {"format": FORMAT, "input": call["input"], "files": hashes}
    write_together(folder, {**texts, MANIFEST: _dump(manifest)})


def check_folder(folder: Path) -> None:
    """Raise unless a directory is new, or holds nothing but a bundle."""
    if not folder.exists():
        if not folder.parent.is_dir():
            raise FileNotFoundError(f"{folder} is in a directory that does not exist.")
        return
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file, expected a directory.")
    for path in folder.iterdir():
        if path.name not in (*FILES, MANIFEST) or path.is_symlink():
            raise FileExistsError(
                f"{folder} has {path.name!r}, expected a new directory, or one that "
                "holds nothing but a bundle."
            )


def _check_min_cell(min_cell: Any, audits: Sequence[Audit], summary: Data) -> None:
    """Raise where cells of enough rows would not be enough."""
    check_integer("min_cell", min_cell, 2)
    reasons = {
        "with_explanations has added sections to, which tell of all rows": "why"
        in summary,
        "from_frame has counted for each of several models apart, so that decisions of "
        "two models are not known together": len(audits) > 1,
    }
    for reason in (text for text, holds in reasons.items() if holds):
        raise ValueError(
            f"min_cell must be None for a report that {reason}, got {min_cell}."
        )


def _summary_of_cells(
    counted: Sequence[Audit], summary: Data, min_cell: int, n_withheld: int
) -> Data:
    """Report of what is left, since draws of all rows would tell of the others."""
    found = _summarize(counted, summary["title"])
    few = 0 < n_withheld < min_cell
    found["settings"] |= {
        "min_cell": min_cell,
        "n_withheld": None if few else n_withheld,
    }
    return found


def _audits_of(statistics: Data, call: Data, claimed: Data) -> list[Audit]:
    """Read the audit of each model."""
    options = _options_from_data(call["options"])
    low, high = map(float, claimed["settings"]["blur"])
    return [from_data(one, options, (low, high)) for one in statistics["models"]]


def _summarize(
    audits: Sequence[Audit], title: str, claimed: Data | None = None
) -> Data:
    """Compute a summary, and take what audits do not tell from the claimed one."""
    with collected_reasons():
        return summarize(audits, title, claimed)


def _options_to_data(options: Options) -> Data:
    ratios = [None if math.isinf(x) else x for x in options.odds_ratio]
    metrics = None if options.metrics is None else [*options.metrics]
    data = {**vars(options), "odds_ratio": ratios, "metrics": metrics}
    return {name: value for name, value in data.items() if name not in _SILENT}


def _options_from_data(data: Data) -> Options:
    names = {field.name for field in fields(Options)} - {*_SILENT}
    if {*data} != names:
        raise ValueError(f"options must be {sorted(names)}, got {sorted(data)}.")
    ratios = [math.inf if x is None else x for x in data["odds_ratio"]]
    return checked_options(**{**data, "odds_ratio": ratios})


def verify_bundle(directory: str | PathLike[str]) -> BundleCheck:
    """Compute the numbers of a bundle again, without the rows that it tells of.

    A bundle is what `FairnessReport.to_bundle` writes. Its hashes are compared, its
    summary is computed from its statistics, and its page is drawn from its summary.
    Nothing in it is trusted: links, other files, and JSON of another form are refused.

    Parameters
    ----------
    directory : str or path-like
        The bundle.

    Returns
    -------
    BundleCheck
        With `ok`, `problems`, `n_verified` and `not_verified`.

    Raises
    ------
    OSError
        If the directory cannot be read.
    ImportError
        Without jinja2 or matplotlib, which draw the page.

    See Also
    --------
    FairnessReport.to_bundle : Writes a bundle.

    Notes
    -----
    Numbers agree if they differ by at most 1e-9 of their size, since processors and
    versions round sums differently; counts and texts agree exactly. The page must have
    the words and numbers of the summary; of its pictures the texts are compared. Hashes
    find accidents, and changes by someone who did not change the manifest, too: who may
    have done so needs a manifest from elsewhere. Whether the statistics are those of
    the input only its rows can tell.

    Examples
    --------
    >>> import tempfile
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.report import FairnessReport, verify_bundle
    >>> y_true, y_score, group = make_biased_scores(400, random_state=0)
    >>> report = FairnessReport.from_predictions(
    ...     y_true, y_score, sensitive_features={"sex": group},
    ...     n_resamples=50, n_permutations=99, random_state=0,
    ... )
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     report.to_bundle(directory)
    ...     verify_bundle(directory).ok
    True
    """
    try:
        texts = _read(Path(directory))
        data = {
            name: _parse(name, text)
            for name, text in texts.items()
            if name != "page.html"
        }
        problems = _problems_of_hashes(texts, data)
    except _RefusedError as error:
        problems = [str(error)]
    if problems:
        return BundleCheck(tuple(problems), 0, ())
    claimed, call = data["summary.json"], data["call.json"]
    statistics = data["statistics.json"]
    try:
        audits = _audits_of(statistics, call, claimed)
        found = _summarize(audits, claimed["title"], claimed)
        differing = [*_differences("summary", found, claimed)]
        problems += differing[:_MOST_PROBLEMS]
        if not problems:
            page = render(claimed, call["record"])
            if _words_of(page) != _words_of(texts["page.html"].decode()):
                problems.append("page.html is not the page of summary.json.")
    except ImportError:
        raise
    except Exception as error:  # whatever a strange bundle leads to
        text = visible_text(f"{type(error).__name__}: {error}", 300)
        problem = f"the numbers cannot be computed again: {text}"
        return BundleCheck((*problems, problem), 0, ())
    stated = {text: _count_numbers(numbers) for text, numbers in _stated(found)}
    n_verified = _count_numbers(found) - sum(stated.values()) - len(differing)
    listed = [f"{text} ({n:,} numbers)" for text, n in stated.items() if n]
    if found.get("why"):
        listed.append(_WHY)
    return BundleCheck(tuple(problems), max(n_verified, 0), (*listed, *_NEVER))


_WHY = (
    "sections on what a gap goes with, which need the rows, and the columns or the "
    "model that they tell of"
)
#: What no statistic tells.
_NEVER = (
    "how decisions were made, the title, the options, seed and versions, and the date "
    "and name of the input: as the bundle states them",
    "that the statistics are those of the input: only its rows can tell, which have "
    "the hash that manifest.json states",
)


def _read(folder: Path) -> dict[str, bytes]:
    """Read the files of a bundle, which are no links and not too large."""
    names = (*FILES, MANIFEST)
    found = {path.name: path.lstat() for path in folder.iterdir()}
    others = sorted({*found} - {*names})
    if others:
        raise _RefusedError(
            f"the bundle has {visible_text(others[0])!r}, which is no part."
        )
    lacking = [name for name in names if name not in found]
    if lacking:
        raise _RefusedError(f"the bundle has no {lacking[0]}.")
    for name, state in found.items():
        if not stat.S_ISREG(state.st_mode):
            raise _RefusedError(f"{name} must be a file, not a link or a directory.")
    size = sum(state.st_size for state in found.values())
    if size > _MOST_BYTES:
        raise _RefusedError(
            f"the bundle has {size:,} bytes, at most {_MOST_BYTES:,} are."
        )
    return {name: (folder / name).read_bytes() for name in names}


def _parse(name: str, text: bytes) -> Any:
    """Parse JSON."""
    with suppress(ValueError, RecursionError):
        data = json.loads(text)
        if isinstance(data, dict):
            return data
    raise _RefusedError(f"{name} is not JSON in the form that a bundle is written in.")


def _problems_of_hashes(texts: dict[str, bytes], data: Mapping[str, Any]) -> list[str]:
    """Compare the manifest with the files."""
    manifest = data[MANIFEST]
    hashes = {name: _sha256(texts[name]) for name in FILES}
    expected = {"format": FORMAT, "input": data["call.json"].get("input")}
    if {*manifest} != {*expected, "files"} or not isinstance(manifest["files"], dict):
        raise _RefusedError(f"{MANIFEST} must have format, input and files.")
    if {*manifest["files"]} != {*FILES}:
        raise _RefusedError(
            f"{MANIFEST} must list {', '.join(FILES)}, and nothing else."
        )
    if manifest["format"] != FORMAT:
        raise _RefusedError(f"the format of the bundle must be {FORMAT}.")
    problems = [
        f"{name} does not have the SHA-256 that {MANIFEST} states."
        for name, found in hashes.items()
        if manifest["files"][name] != found
    ]
    if manifest["input"] != expected["input"]:
        problems.append(f"{MANIFEST} and call.json state different inputs.")
    return problems


def _differences(where: str, found: Any, claimed: Any) -> Iterator[str]:
    """Name what a claimed summary has in another way than the one found."""
    if isinstance(found, dict) and isinstance(claimed, dict) and [*found] == [*claimed]:
        for key, value in found.items():
            yield from _differences(f"{where}.{key}", value, claimed[key])
    elif isinstance(found, list) and isinstance(claimed, list):
        if len(found) != len(claimed):
            n = len(claimed)
            yield f"{where} has {n} entries, the statistics give {len(found)}."
            return
        for i, (one, other) in enumerate(zip(found, claimed, strict=True)):
            named = one if isinstance(one, dict) else {}
            name = named.get("key", named.get("label", i))
            yield from _differences(f"{where}[{name}]", one, other)
    elif not _same(found, claimed):
        texts = (visible_text(str(value), 100) for value in (claimed, found))
        yield "{} is {}, the statistics give {}.".format(where, *texts)


def _same(found: Any, claimed: Any) -> bool:
    """Whether values agree, numbers up to rounding."""
    if type(found) is float and type(claimed) is float:
        return math.isclose(found, claimed, rel_tol=_ROUNDING, abs_tol=1e-12)
    return type(found) is type(claimed) and bool(found == claimed)


def _words_of(page: str) -> list[str]:
    """Words of a page; of pictures, which versions draw differently, their texts."""

    def without_tags(picture: re.Match[str]) -> str:
        inside = re.sub(r"<!--.*?-->|<[^>]*>", " ", picture[2], flags=re.DOTALL)
        return f"{picture[1]} {inside}"

    pictures = re.compile(r"(<svg\b[^>]*>)(.*?)</svg>", re.DOTALL)
    return pictures.sub(without_tags, page).split()


def _count_numbers(value: Any) -> int:
    if isinstance(value, (dict, list)):
        return sum(
            map(_count_numbers, value.values() if isinstance(value, dict) else value)
        )
    return int(type(value) in (int, float))


def _stated(summary: Data) -> list[tuple[str, list[Any]]]:
    """Numbers that statistics do not determine, by what they are."""
    results = [one for named in summary["attributes"] for one in named["results"]]
    measures = [measure for result in results for measure in result["measures"]]
    resampled = [one for one in measures if not MEASURES[one["key"]].bounded]
    searched = [one for one in measures if one["searched"] is not None]
    strata = [row for one in results if one["strata"] for row in one["strata"]["rows"]]
    drawn = [[one[name] for name in DRAWN] for one in measures]
    drawn += [[row["null_mean"], row["pvalue"]] for row in strata]
    settings = [summary["settings"][name] for name in STATED]
    some = any(one not in (None, False, [0.0, 0.0]) for one in settings)
    return [
        ("p-values and means by chance, which are draws of the rows", drawn),
        (
            "intervals of DCP and of the calibration gap, which are resampled",
            [[one[name] for name in DRAWN_ENDS] for one in resampled],
        ),
        (
            "DCP where its search ended early, and its bounds",
            [[one["value"], one["searched"]] for one in searched],
        ),
        ("bounds by a proxy, which need the cells of the proxy", [summary["proxy"]]),
        (
            "how far joining scores may move a number, and how many rows are withheld "
            "or left out",
            settings if some else [],
        ),
        (
            "differences to the first model, which pair the rows",
            [one["beside_first"] for one in (*summary["models"], *measures)],
        ),
        (
            "intervals of R2, which need the error and the true number of each row",
            [
                [one["performance"].get(end) for end in ENDS_OF_R2]
                for one in summary["models"]
            ],
        ),
    ]


def _dump(data: Any) -> str:
    """Write JSON in one way alone, numbers with all their bits."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text + "\n"


def _sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()

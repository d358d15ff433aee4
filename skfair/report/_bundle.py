"""A bundle: a report, the statistics that it is computed from, and their hashes."""

from __future__ import annotations

import hashlib
import json
import math
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any

from skfair._utils._files import write_text
from skfair._utils._text import visible_text
from skfair._utils._validation import check_integer
from skfair.metrics._undefined import collected_reasons
from skfair.report._counted import from_data, of_each_model, reduced, to_data
from skfair.report._draws import DRAWN, DRAWN_ENDS
from skfair.report._inputs import Audit, Options
from skfair.report._language import speaking
from skfair.report._metrics import MEASURES
from skfair.report._page._html import render
from skfair.report._summary import STATED, summarize, versions_of

Data = dict[str, Any]

#: Format of a bundle: the number changes with its files, or what they hold.
FORMAT = "skfair.bundle/1"
MANIFEST = "manifest.json"
#: Files of a bundle beside its manifest.
FILES = ("call.json", "page.html", "statistics.json", "summary.json")
#: Distinct entries of all models together; more are joined. Each takes some 25 bytes.
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
    if audits[0].options.scale == "real":
        raise ValueError("scale must not be 'real': numbers have no bundle yet.")
    check_folder(folder)
    if min_cell is not None:
        check_integer("min_cell", min_cell, 2)
        _check_min_cell(audits)
    options = audits[0].options
    models = [one for audit in audits for one in of_each_model(audit)]
    found = [reduced(one, min_cell, _MOST_ENTRIES // len(models)) for one in models]
    counted = [audit for audit, _ in found]
    if min_cell is not None:
        summary = _summary_of_cells(counted, summary, min_cell, found[0][1])
    blur = [max(one.blur[i] for one in counted) for i in (0, 1)]
    summary = {**summary, "settings": {**summary["settings"], "blur": blur}}
    statistics = {"models": [to_data(one) for one in counted]}
    call = {
        "options": _options_to_data(options),
        "record": dict(record),
        "input": None if sha256 is None else {"sha256": sha256},
        "versions": versions_of("jinja2", "matplotlib"),
    }
    summary = _recompute(statistics, call, summary)
    with speaking(summary["language"]):
        page = render(summary, record)
    texts = {
        "call.json": _dump(call),
        "page.html": page,
        "statistics.json": _dump(statistics),
        "summary.json": _dump(summary),
    }
    manifest = {
        "format": FORMAT,
        "input": call["input"],
        "files": {name: _sha256(text.encode()) for name, text in texts.items()},
    }
    folder.mkdir(exist_ok=True)
    for name, text in {**texts, MANIFEST: _dump(manifest)}.items():
        write_text(folder / name, text)


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


def _check_min_cell(audits: Sequence[Audit]) -> None:
    """Raise where cells of enough rows would not be enough."""
    audit = audits[0]
    reasons = {
        "weights, which tell of single rows": audit.sample_weight is not None,
        "group_probabilities, whose bounds count each row": audit.proxy is not None,
        "several models, whose cells may differ by single rows": len(audits) > 1
        or len(audit.models) > 1,
    }
    for reason in (text for text, holds in reasons.items() if holds):
        raise ValueError(
            f"min_cell must be None for a report with {reason}, got a number."
        )


def _summary_of_cells(
    counted: Sequence[Audit], summary: Data, min_cell: int, n_withheld: int
) -> Data:
    """Report of what is left, since draws of all rows would tell of the others."""
    with collected_reasons(), speaking(summary["language"]):
        found = summarize(counted, summary["title"])
    few = 0 < n_withheld < min_cell
    found["settings"] |= {
        "min_cell": min_cell,
        "n_withheld": None if few else n_withheld,
    }
    return found


def _recompute(statistics: Data, call: Data, claimed: Data) -> Data:
    """Compute a summary from statistics, and take from it what these do not tell."""
    options = _options_from_data(call["options"])
    low, high = claimed["settings"]["blur"]
    audits = [
        from_data(one, options, (float(low), float(high)))
        for one in statistics["models"]
    ]
    with collected_reasons(), speaking(options.language):
        return summarize(audits, claimed["title"], claimed)


def _options_to_data(options: Options) -> Data:
    data = {name: value for name, value in vars(options).items() if name not in _SILENT}
    data["odds_ratio"] = [None if math.isinf(x) else x for x in options.odds_ratio]
    data["metrics"] = None if options.metrics is None else [*options.metrics]
    return data


def _options_from_data(data: Data) -> Options:
    names = {field.name for field in fields(Options)} - {*_SILENT}
    if {*data} != names:
        raise ValueError(f"options must be {sorted(names)}, got {sorted(data)}.")
    ratios = [math.inf if x is None else x for x in data["odds_ratio"]]
    options = Options(**{**data, "odds_ratio": ratios})
    for key in options.metrics or ():
        MEASURES[key]
    return options


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
    versions round sums differently; counts and texts agree exactly. The page must agree
    byte for byte, for which jinja2, matplotlib and skfair must have the versions that
    `call.json` states. Hashes find accidents, and changes by someone who did not change
    the manifest, too: who may have done so needs a manifest from elsewhere. Whether the
    statistics are those of the input only its rows can tell.

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
    try:
        found = _recompute(data["statistics.json"], call, claimed)
        if data["statistics.json"] != _counted_again(data["statistics.json"], call):
            problems.append("statistics.json is not in the form that it is written in.")
        differing = [*_differences("summary", found, claimed)]
        problems += differing[:_MOST_PROBLEMS]
        if not problems:
            with speaking(found["language"]):
                page = render(claimed, call["record"])
            if page.encode() != texts["page.html"]:
                problems.append(_about_page(call))
    except ImportError:
        raise
    except Exception as error:  # whatever a strange bundle leads to
        text = visible_text(f"{type(error).__name__}: {error}", 300)
        problem = f"the numbers cannot be computed again: {text}"
        return BundleCheck((*problems, problem), 0, ())
    n_numbers, stated = _count_numbers(found), _stated(found)
    n_verified = n_numbers - sum(stated.values()) - len(differing)
    listed = [f"{text} ({n:,} numbers)" for text, n in stated.items() if n]
    return BundleCheck(tuple(problems), max(n_verified, 0), (*listed, *_NEVER))


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
    """Parse JSON that is written as `_dump` writes it."""
    with suppress(ValueError, RecursionError, OverflowError):
        data = json.loads(text)
        if isinstance(data, dict) and _dump(data).encode() == text:
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


def _counted_again(statistics: Data, call: Data) -> Data:
    """Write the statistics again, from the rows that they count."""
    options = _options_from_data(call["options"])
    return {
        "models": [
            to_data(from_data(one, options, (0.0, 0.0))) for one in statistics["models"]
        ]
    }


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
            name = next((one[k] for k in ("key", "label") if _names(one, k)), i)
            yield from _differences(f"{where}[{name}]", one, other)
    elif not _same(found, claimed):
        texts = (visible_text(str(value), 100) for value in (claimed, found))
        yield "{} is {}, the statistics give {}.".format(where, *texts)


def _names(value: Any, key: str) -> bool:
    return isinstance(value, dict) and key in value


def _same(found: Any, claimed: Any) -> bool:
    """Whether values agree, numbers up to rounding."""
    if type(found) is float and type(claimed) is float:
        return math.isclose(found, claimed, rel_tol=_ROUNDING, abs_tol=1e-12)
    return type(found) is type(claimed) and bool(found == claimed)


def _about_page(call: Data) -> str:
    """Say that the page is another one, and which versions may have drawn it."""
    text = "page.html is not the page of summary.json."
    here = versions_of("jinja2", "matplotlib")
    names = "skfair", "jinja2", "matplotlib"
    other = [n for n in names if call["versions"].get(n) != here[n]]
    if other:
        text += (
            f" It was drawn with another version of {', '.join(other)}, with which a "
            "page may have other bytes: verify it with the versions of call.json."
        )
    return text


def _count_numbers(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(_count_numbers, value.values()))
    if isinstance(value, list):
        return sum(map(_count_numbers, value))
    return int(type(value) in (int, float))


def _stated(summary: Data) -> dict[str, int]:
    """Count the numbers that statistics do not determine, by what they are."""
    counts = dict.fromkeys(_STATED, 0)
    of_draws, of_resamples, of_search, of_proxy, of_joining, of_pairs = counts
    for attribute in summary["attributes"]:
        for result in attribute["results"]:
            for measure in result["measures"]:
                drawn = [measure[name] for name in DRAWN]
                counts[of_draws] += _count_numbers(drawn)
                counts[of_pairs] += _count_numbers(measure["beside_first"])
                if not MEASURES[measure["key"]].bounded:
                    ends = [measure[name] for name in DRAWN_ENDS]
                    counts[of_resamples] += _count_numbers(ends)
                if measure["searched"] is not None:
                    counts[of_search] += 1 + _count_numbers(measure["searched"])
            for row in (result["strata"] or {"rows": ()})["rows"]:
                counts[of_draws] += _count_numbers([row["null_mean"], row["pvalue"]])
    pairs = [model["beside_first"] for model in summary["models"]]
    counts[of_pairs] += _count_numbers(pairs)
    counts[of_proxy] = _count_numbers(summary["proxy"])
    stated = [summary["settings"][name] for name in STATED]
    counts[of_joining] = _count_numbers(stated) if any(map(_some, stated)) else 0
    return counts


def _some(value: Any) -> bool:
    return value not in (None, False, [0.0, 0.0])


_STATED = (
    "p-values and means by chance, which are draws of the rows",
    "intervals of DCP, which are resampled",
    "DCP where its search ended early, and its bounds",
    "bounds by a proxy, which need the cells of the proxy",
    "how far joining scores may move a number, and how many rows are withheld",
    "differences to the first model, which pair the rows",
)


def _dump(data: Any) -> str:
    """Write JSON in one way alone, numbers with all their bits."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text + "\n"


def _sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()

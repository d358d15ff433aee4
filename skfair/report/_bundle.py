"""A bundle: a report, the table of cells that it is computed from, and their hashes.

A cell is what rows with the same groups, stratum, labels and score share. A report of
the cells is that of the rows, but for what is drawn row by row.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skfair._rows import distinct
from skfair._utils._arrays import Bools, Floats, Integers, quotients
from skfair._utils._files import write_together
from skfair._utils._text import visible_text
from skfair._utils._validation import check_integer, scores_on
from skfair.groups import Groups, keep_labels, rows_by_code
from skfair.metrics._inputs import collected_reasons
from skfair.report._inputs import (
    Audit,
    Model,
    blur_of,
    groups_compared,
    mid_ranks,
    rows_of,
    sum_of_two_largest,
)
from skfair.report._options import Options
from skfair.report._page import render
from skfair.report._summary import stated_in, summarize, versions_of
from skfair.statistics._statistic import label_to_json, labels_from_json

Data = dict[str, Any]
#: Codes of entries in several columns.
Columns = list[NDArray[Any]]

#: Format of a bundle: the number changes with its files, or what they hold.
FORMAT = "skfair.bundle/4"
MANIFEST = "manifest.json"
#: Files of a bundle beside its manifest.
FILES = ("call.json", "page.html", "statistics.json", "summary.json")
#: Cells of all models together; more are joined. Each takes some 25 bytes, and 40 more
#: for a weight that is no whole number, and its square, or a second number.
_MOST_ENTRIES = 120_000
#: Numbers of intervals of scores; their edges are short as decimal numbers.
_N_BINS = (10_000, 5_000, 2_000, 1_000, 500, 200, 100)
#: Bytes of all files of a bundle.
_MOST_BYTES = 2**26
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
    """Write a report and its table of cells into a directory with nothing else."""
    folder = Path(directory)
    check_folder(folder)
    n_withheld = 0
    if min_cell is not None:
        _check_min_cell(min_cell, audits, summary)
        with collected_reasons():
            large, n_withheld = without_small_cells(audits[0], min_cell)
        audits = [large]
    each = [
        replace(audit, models=(model,)) for audit in audits for model in audit.models
    ]
    cells = [joined(audit, min_cell, _most_entries(audit, len(each))) for audit in each]
    if min_cell is not None:
        summary = _summary_of_cells(cells, min_cell, n_withheld)
    blur = [max(audit.blur[i] for audit in cells) for i in (0, 1)]
    summary = {**summary, "settings": {**summary["settings"], "blur": blur}}
    statistics = {"models": [to_data(audit) for audit in cells]}
    call = {
        "options": audits[0].options.to_dict(),
        "record": dict(record),
        "input": None if sha256 is None else {"sha256": sha256},
        "versions": versions_of("jinja2", "matplotlib"),
    }
    summary = _summarize(_audits_of(statistics, call, summary), summary)
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


def _most_entries(audit: Audit, n_models: int) -> int:
    """How many cells a model of a bundle may have."""
    weights = audit.rows.totals
    long = audit.of_numbers or (weights is not None and weights.dtype.kind == "f")
    return _MOST_ENTRIES // n_models // (3 if long else 1)


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


def _summary_of_cells(counted: Sequence[Audit], min_cell: int, n_withheld: int) -> Data:
    """Report of what is left, since draws of all rows would tell of the others."""
    summary = _summarize(counted)
    few = 0 < n_withheld < min_cell
    n = None if few else n_withheld
    summary["settings"] |= {"min_cell": min_cell, "n_withheld": n}
    return summary


def _audits_of(statistics: Data, call: Data, claimed: Data) -> list[Audit]:
    """Read the audit of each model."""
    options = Options.from_dict(call["options"])
    low, high = map(float, claimed["settings"]["blur"])
    return [from_data(model, options, (low, high)) for model in statistics["models"]]


def _summarize(audits: Sequence[Audit], claimed: Data | None = None) -> Data:
    """Compute a summary, and take what audits do not tell from the claimed one."""
    with collected_reasons():
        return summarize(audits, claimed)


def verify_bundle(directory: str | PathLike[str]) -> BundleCheck:
    """Compute the numbers of a bundle again, without the rows that it tells of.

    A bundle is what `FairnessReport.to_bundle` writes. Its hashes are compared, its
    summary is computed from its statistics, and its page is drawn from its summary.
    Nothing in it is trusted: links, other files, and what is not JSON are refused.

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
        computed = _summarize(audits, claimed)
        differing = [*_differences("summary", computed, claimed)]
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
    stated = dict.fromkeys(_STATED, 0)
    for kind, part, names in stated_in(computed):
        if kind:
            stated[kind] += _count_numbers([part[name] for name in names])
    n_verified = _count_numbers(computed) - sum(stated.values()) - len(differing)
    listed = [f"{_STATED[k]} ({n:,} numbers)" for k, n in stated.items() if n]
    if computed.get("why"):
        listed.append(_WHY)
    return BundleCheck(tuple(problems), max(n_verified, 0), (*listed, *_NEVER))


#: Numbers that statistics do not determine, by their kind.
_STATED = {
    "drawn": "p-values and means by chance, which are draws of the rows",
    "resampled": "intervals of DCP and of the calibration gap, which are resampled",
    "searched": "DCP where its search ended early, and its bounds",
    "proxy": "bounds by a proxy, which need the cells of the proxy",
    "settings": "how far joining scores may move a number, and how many rows are "
    "withheld or left out",
    "beside": "differences to the first model, which pair the rows",
}
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
    states = {path.name: path.lstat() for path in folder.iterdir()}
    for name in sorted({*states} - {*names}):
        raise _RefusedError(f"the bundle has {visible_text(name)!r}, which is no part.")
    for name in names:
        if name not in states:
            raise _RefusedError(f"the bundle has no {name}.")
        if not stat.S_ISREG(states[name].st_mode):
            raise _RefusedError(f"{name} must be a file, not a link or a directory.")
    size = sum(state.st_size for state in states.values())
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
    raise _RefusedError(f"{name} is not a JSON object.")


def _problems_of_hashes(texts: dict[str, bytes], data: Mapping[str, Any]) -> list[str]:
    """Compare the manifest with the files."""
    manifest = data[MANIFEST]
    stated, source = manifest.get("files"), data["call.json"].get("input")
    if manifest.get("format") != FORMAT:
        return [f"the format of the bundle must be {FORMAT}."]
    if not isinstance(stated, dict) or {*stated} != {*FILES}:
        return [f"{MANIFEST} must list {', '.join(FILES)}, and nothing else."]
    problems = [
        f"{name} does not have the SHA-256 that {MANIFEST} states."
        for name in FILES
        if stated[name] != _sha256(texts[name])
    ]
    if manifest != {"format": FORMAT, "input": source, "files": stated}:
        problems.append(f"{MANIFEST} and call.json state different inputs.")
    return problems


def _differences(where: str, own: Any, claimed: Any) -> Iterator[str]:
    """Name what a claimed summary has in another way than the one found."""
    if isinstance(own, dict) and isinstance(claimed, dict) and [*own] == [*claimed]:
        for key, value in own.items():
            yield from _differences(f"{where}.{key}", value, claimed[key])
    elif isinstance(own, list) and isinstance(claimed, list):
        if len(own) != len(claimed):
            n = len(claimed)
            yield f"{where} has {n} entries, the statistics give {len(own)}."
            return
        for i, (entry, other) in enumerate(zip(own, claimed, strict=True)):
            named = entry if isinstance(entry, dict) else {}
            name = named.get("key", named.get("label", i))
            yield from _differences(f"{where}[{name}]", entry, other)
    elif not _same(own, claimed):
        texts = (visible_text(str(value), 100) for value in (claimed, own))
        yield "{} is {}, the statistics give {}.".format(where, *texts)


def _same(own: Any, claimed: Any) -> bool:
    """Whether values agree, numbers up to rounding."""
    if type(own) is float and type(claimed) is float:
        return math.isclose(own, claimed, rel_tol=_ROUNDING, abs_tol=1e-12)
    return type(own) is type(claimed) and bool(own == claimed)


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


def _dump(data: Any) -> str:
    """Write JSON in one way alone, numbers with all their bits."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text + "\n"


def _sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def to_data(audit: Audit) -> Data:
    """Count the rows of one model that are alike, in columns as in JSON."""
    (model,) = audit.models
    both: dict[str, Any] = {"y_score": model.y_score, "y_true": audit.y_true}
    numbers = {name: values for name, values in both.items() if values is not None}
    columns = [*_columns(audit), *numbers.values()]
    entries, cells = distinct(columns[::-1])

    def total(values: NDArray[Any]) -> list[Any]:
        return list(np.bincount(cells, values).astype(values.dtype).tolist())

    def groups(encoded: Groups) -> Data:
        labels = [label_to_json(label) for label in encoded.labels]
        described = {"labels": labels, "names": [*encoded.names]}
        size = {"min_group_size": encoded.min_group_size}
        return described | size | {"codes": encoded.codes[entries].tolist()}

    weighted = audit.weighted
    return {
        "model": model.name,
        "threshold": model.threshold,
        "decides": model.decides,
        "classes": [label_to_json(label) for label in audit.classes],
        "attributes": [
            {"name": name, **groups(each)} for name, each in audit.attributes.items()
        ],
        "strata": None if audit.strata is None else groups(audit.strata),
        "y_pred": model.y_pred[entries].tolist(),
        **dict.fromkeys(("y_score", "y_true")),
        **{name: values[entries].tolist() for name, values in numbers.items()},
        "n": total(audit.entry_rows),
        "weight": total(audit.entry_weights) if weighted else None,
        "squares": total(audit.entry_squares) if weighted else None,
    }


def from_data(data: Data, options: Options, blur: tuple[float, float]) -> Audit:
    """Read the table of one model; ValueError, KeyError or TypeError if it is none."""
    n = _column(data["n"], "i", least=1)
    classes = labels_from_json("classes", data["classes"])
    real = options.scale == "real"

    def column(name: str, kinds: str = "if", **ends: float) -> Any:
        return (
            None if data[name] is None else _column(data[name], kinds, len(n), **ends)
        )

    def groups(encoded: Data) -> Groups:
        labels = labels_from_json("labels", encoded["labels"])
        codes = _column(encoded["codes"], "i", len(n), least=-1, most=len(labels) - 1)
        names, smallest = tuple(map(str, encoded["names"])), encoded["min_group_size"]
        return Groups(
            codes, labels, names, check_integer("min_group_size", smallest, 0)
        )

    positions: dict[str, Any] = {"kinds": "i", "least": 0, "most": len(classes) - 1}
    scores = column("y_score")
    if scores is not None:
        scores = scores_on(options.scale, scores)
    predicted = _column(data["y_pred"], "i", len(n), least=0, most=len(classes or "0"))
    threshold = None if data["threshold"] is None else float(data["threshold"])
    model = Model(
        data["model"], scores, predicted, threshold, decides=bool(data["decides"])
    )
    return Audit(
        models=(model,),
        attributes={named["name"]: groups(named) for named in data["attributes"]},
        rows=replace(
            rows_of(None, len(n), classes, None, n),
            y_true=column("y_true", **({} if real else positions)),
            weight=column("weight", least=0),
            squares=column("squares", least=0),
        ),
        options=options,
        blur=blur,
        strata=None if data["strata"] is None else groups(data["strata"]),
    )


def _column(
    values: Any,
    kinds: str,
    n: int | None = None,
    least: float = -math.inf,
    most: float = math.inf,
) -> NDArray[Any]:
    """Read a column of a table, or raise ValueError."""
    column = np.asarray(values)
    lengths = (len(column),) if n is None else (n,)
    if column.dtype.kind not in kinds or column.shape != lengths or not len(column):
        raise ValueError(f"a column must have {n} numbers, got {column.shape}.")
    if not (np.isfinite(column) & (column >= least) & (column <= most)).all():
        raise ValueError(f"a column must have numbers from {least:g} to {most:g}.")
    return column


def _columns(audit: Audit) -> Columns:
    """List what the rows of a cell share beside numbers."""
    return [*_groups_of(audit), *_labels_of(audit), *_decisions_of(audit)]


def _groups_of(audit: Audit) -> Columns:
    groups = [attribute.codes for attribute in audit.attributes.values()]
    return groups if audit.strata is None else [*groups, audit.strata.codes]


def _labels_of(audit: Audit) -> Columns:
    return [] if audit.of_numbers or audit.y_true is None else [audit.y_true]


def _decisions_of(audit: Audit) -> Columns:
    """Decisions of each model; of numbers there is one, 0."""
    return [model.y_pred for model in audit.models]


def without_small_cells(audit: Audit, min_cell: int) -> tuple[Audit, int]:
    """Leave out what has few rows, and count the rows that are left out.

    All rows of an intersection of groups and strata, and of a cell of a proxy, are left
    out if fewer rows of it have one combination of true label and decisions of any two
    models, since numbers of two models may be subtracted.
    """
    parts = [_groups_of(audit)] if audit.attributes else []
    if audit.proxy is not None:
        parts.append([audit.proxy[0].codes])
    rows = audit.entry_rows
    large, before = np.ones(len(rows), dtype=bool), -1
    while before != large.sum():
        before = large.sum()
        for part in parts:
            of_part = distinct(part)[1]
            for classes in _classes_of_two_models(audit):
                cells = distinct([*part, *classes])[1]
                sizes = np.bincount(cells, rows * large)
                few = large & (sizes[cells] < min_cell)
                large &= ~np.isin(of_part, of_part[few])
    if not large.any():
        raise ValueError(
            f"min_cell is {min_cell}: each group has fewer rows of some combination of "
            "true label and decisions, so that nothing is left."
        )
    return _only(audit, large), int(rows[~large].sum())


def _classes_of_two_models(audit: Audit) -> Iterator[Columns]:
    """Yield true labels with the decisions of each two models, or of the only one."""
    for decisions in combinations(_decisions_of(audit), min(2, len(audit.models))):
        yield [*_labels_of(audit), *decisions]


def _only(audit: Audit, large: Bools) -> Audit:
    """Audit of some entries, without groups and strata that have lost all rows."""

    def of(groups: Groups) -> Groups:
        lost = set(groups.codes[~large].tolist()) - set(groups.codes[large].tolist())
        return keep_labels(
            groups[large], [i not in lost for i in range(len(groups.labels))]
        )

    rest = audit.at(large, *(model.at(large) for model in audit.models))
    proxy = audit.proxy
    if proxy is not None:
        cells = of(proxy[0])
        proxy = cells, {label: proxy[1][label] for label in cells.labels}
    return replace(
        rest,
        rows=replace(rest.rows, position=None),
        attributes={name: of(groups) for name, groups in audit.attributes.items()},
        strata=None if audit.strata is None else of(audit.strata),
        proxy=proxy,
    )


def joined(audit: Audit, min_cell: int | None, n_entries: int) -> Audit:
    """Join numbers that are close where cells are too many, or of too few rows.

    Scores of like people are joined in intervals of `min_cell` rows or more. Sums of
    weights, decisions and true labels stay as they are.
    """
    (model,) = audit.models
    if model.y_score is None:
        return audit
    scores, least = model.y_score, min_cell or 1
    cells = distinct(_columns(audit))[1]
    n_cells = int(cells.max()) + 1
    if n_cells > n_entries:
        raise ValueError(
            f"rows have {n_cells:,} distinct groups and labels, too many for a bundle, "
            f"whose statistics have at most {n_entries:,} entries."
        )
    if min_cell is None and _n_distinct(cells, scores, audit) <= n_entries:
        return audit
    if audit.of_numbers:
        return _with_joined_numbers(audit, cells, least, n_entries)
    if audit.options.scale == "rank":
        scores = mid_ranks(scores, audit.rows.totals)
    lows, highs, middles = _in_intervals(audit, scores, cells, least, n_entries)
    of_scores, length = blur_of(audit, lows, highs)
    return replace(
        audit,
        models=(replace(model, y_score=middles),),
        blur=(audit.blur[0] + of_scores, audit.blur[1] + length),
    )


def _n_distinct(cells: Integers, scores: Floats, audit: Audit) -> int:
    """Count distinct cells, and of predicted numbers distinct true ones."""
    columns = [cells, scores]
    if audit.of_numbers and audit.y_true is not None:
        columns.append(audit.y_true)
    return len(distinct(columns)[0])


def _in_intervals(
    audit: Audit, scores: Floats, cells: Integers, least: int, n_entries: int
) -> tuple[Floats, Floats, Floats]:
    """Find the ends of the interval of each score, and the score it counts as.

    Intervals consist of bins whose edges are short as decimal numbers. Scores count as
    the middle of the bin that holds the mean of their interval.
    """
    rows = audit.entry_rows
    for n_bins in _N_BINS:
        bins = np.minimum((scores * n_bins).astype(np.int64), n_bins - 1)
        keys, entries = np.unique(cells * n_bins + bins, return_inverse=True)
        if len(keys) <= 2 * n_entries:
            break
    parts = _runs(keys // n_bins, np.bincount(entries, rows), least)
    first = np.flatnonzero(np.diff(parts, prepend=-1))
    last = np.append(first[1:], len(keys)) - 1
    bins, part_of = keys % n_bins, parts[entries]
    means = np.bincount(part_of, rows * scores) / np.bincount(part_of, rows)
    middles = np.clip(np.floor(means * n_bins), bins[first], bins[last])
    # Twice a middle is a whole number of steps, so that middles are short numbers.
    steps = bins[first] * 2.0, bins[last] * 2.0 + 2, middles * 2 + 1
    lows, highs, middles = (step[part_of] / (2 * n_bins) for step in steps)
    return lows, highs, middles


def _runs(cells: Integers, sizes: NDArray[Any], min_cell: int) -> Integers:
    """Give a number to each run of neighbouring bins of a cell that hold enough rows.

    The last bins of a cell that hold too few belong to its last run.
    """
    if min_cell == 1:
        return np.arange(len(cells))
    starts = np.zeros(len(cells), dtype=bool)
    begun, held = 0, 0.0
    for i, size in enumerate(sizes.tolist()):
        if i == 0 or cells[i] != cells[i - 1]:
            if i and held < min_cell:
                starts[begun] = begun == 0 or cells[begun] != cells[begun - 1]
            begun, held, starts[i] = i, 0.0, True
        elif held >= min_cell:
            begun, held, starts[i] = i, 0.0, True
        held += size
    if held < min_cell:
        starts[begun] = begun == 0 or cells[begun] != cells[begun - 1]
    return np.cumsum(starts) - 1


def _with_joined_numbers(
    audit: Audit, cells: Integers, least: int, n_entries: int
) -> Audit:
    """Replace predictions, and errors, of like people by means of parts of them.

    A part of enough rows has two entries, with its mean and variance of either number,
    on which intervals depend.
    """
    (model,) = audit.models
    assert model.y_score is not None
    numbers = [model.y_score]
    if audit.y_true is not None:
        numbers.append(model.y_score - audit.y_true)
    values, weights = np.column_stack(numbers), audit.entry_weights
    spread = np.maximum(np.ptp(values, axis=0), 1e-290)
    digits = (6 - np.floor(np.log10(spread))).astype(int)
    joined_numbers, lows, highs = values.copy(), values.copy(), values.copy()
    fewest = max(2 * least, math.ceil(2 * len(cells) / n_entries))
    for part in _parts(values / spread, cells, fewest):
        joined_values = _two_means(values[part], weights[part], len(part) >= 2 * least)
        columns = zip(joined_values.T, digits, strict=True)
        joined_numbers[part] = np.column_stack([np.round(x, n) for x, n in columns])
        both = np.concatenate([values[part], joined_numbers[part]])
        lows[part], highs[part] = both.min(axis=0), both.max(axis=0)
    of_scores, _ = blur_of(audit, lows[:, 0], highs[:, 0])
    moved = max(_moved(audit, change) for change in (values - joined_numbers).T)
    true = None if audit.y_true is None else joined_numbers[:, 0] - joined_numbers[:, 1]
    return replace(
        audit,
        models=(replace(model, y_score=joined_numbers[:, 0]),),
        rows=replace(audit.rows, y_true=true),
        blur=(audit.blur[0] + of_scores, audit.blur[1] + moved),
    )


def _parts(values: Floats, cells: Integers, least: int) -> Iterator[Integers]:
    """Halve the rows of each cell where they differ most, into parts that are large.

    Rows of a part are in the order of the number in which they differ most.
    """
    waiting = rows_by_code(cells, int(cells.max()) + 1)
    while waiting:
        part = waiting.pop()
        spread, middle = np.ptp(values[part], axis=0), len(part) // 2
        part = part[np.argsort(values[part, spread.argmax()], kind="stable")]
        if middle < least or not spread.any():
            yield part
        else:
            waiting += [part[:middle], part[middle:]]


def _two_means(values: Floats, weights: NDArray[Any], two: bool) -> Floats:
    """Replace the two halves of a part by one row of numbers each, or all by the mean.

    The two have the mean and the variance of the part.
    """
    mean = np.average(values, axis=0, weights=weights)
    if not two or len(values) == 1:
        return np.broadcast_to(mean, values.shape)
    distances = values - mean
    variance = np.average(distances**2, axis=0, weights=weights)
    together = np.average(distances * distances[:, :1], axis=0, weights=weights)
    sides = np.where(together < 0, -1, 1) * np.sqrt(variance)
    upper = np.arange(len(values)) >= len(values) // 2
    if distances[upper, 0].sum() < 0:
        sides = -sides
    odds = quotients(weights[~upper].sum(), weights[upper].sum())
    shift = np.where(upper, np.sqrt(odds), -np.sqrt(quotients(1.0, odds)))
    return np.asarray(mean + shift[:, np.newaxis] * sides)


def _moved(audit: Audit, changes: Floats) -> float:
    """How far differences of means, and areas, move where numbers change so far.

    It is rounded up to two digits, since it is a number of all rows.
    """
    weights = audit.entry_weights
    moved = max(
        (
            sum_of_two_largest(
                float(np.average(np.abs(changes[own]), weights=weights[own]))
                for own in groups
            )
            for groups in groups_compared(audit)
        ),
        default=0.0,
    )
    return float(f"{1.06 * moved:.1e}")

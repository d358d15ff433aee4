"""Write a report on a table of predictions.

Decisions only: which groups are selected how often.
  python -m skfair audit decisions.csv --y-pred decision --pos-label approved \\
      --sensitive sex,race --out report.html

A score and a decision: the score is compared as a whole, too. A score that is no
probability, such as 300 to 850, needs --scale rank. Without --y-pred, --threshold says
from which score on the decision is positive.
  python -m skfair audit decisions.csv --y-score score --scale rank \\
      --y-pred decision --pos-label approved --sensitive sex --out report.html

Outcomes of the approved only: one report on the decisions of everyone, as above, and
one on the errors among those whose outcome is known. The others have empty cells, are
left out, and are counted on the page.
  python -m skfair audit decisions.csv --y-true repaid --y-score p \\
      --sensitive sex --missing drop --out outcomes.html

The table has a header, and a row for each person. Several columns have commas between
them, without spaces. True and predicted labels are written alike, or --replace makes
them so.

exit codes: 0, the report is written; 2, the arguments or the file are bad, and one
line says why; 3, the report is written, and a metric is above its --limit or cannot
be computed; 4, the report is written, but nothing could be compared; 130, interrupted.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfair._cli._groups import (
    check_labels_in_common,
    drop_missing,
    encode_strata,
    group_columns,
    kinds_of,
    note_odd_values,
    positive_label,
)
from skfair._cli._options import (
    ABOVE_LIMIT,
    NOTHING_SAID,
    add_options,
    check_output,
    iso_date,
    read_bins,
    read_marks,
    say,
    warn,
)
from skfair._cli._read import input_record, read_rows
from skfair._utils._files import write_text
from skfair._utils._text import counted, listed
from skfair._utils._validation import check_choice, check_real
from skfair.groups import MISSING_LABEL, encode_groups, sort_labels
from skfair.metrics._inputs import collected_reasons
from skfair.report import FairnessReport, public_summary
from skfair.report._bundle import check_folder
from skfair.report._metrics import MEASURES
from skfair.report._options import Options
from skfair.report._page import require_report_extra
from skfair.report._summary import tell_left_out


def add_audit(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "audit",
        help="write a report on a table of predictions",
        usage="%(prog)s TABLE [options]",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run_audit)
    text = "a .csv, .tsv, .csv.gz, .parquet or .xlsx file, or a pattern of several in "
    text += "quotation marks, such as 'predictions/*.parquet'"
    parser.add_argument("table", type=Path, help=text)
    add_options(parser)


def run_audit(given: argparse.Namespace) -> int:
    """Write the report, say what is in it, and return the exit code."""
    given.format = given.format or _format_of_name(given.out)
    limits, given.limit = _read_limits(given.limit)
    given.date = _date(given.date)
    summary_fields = _public_fields(given)
    with collected_reasons():
        _check_outputs(given)
        settings = _settings(given)
        record = input_record(given.table)
        report, n_repeated = _report(given, settings)
        if input_record(given.table) != record:
            raise ValueError(f"{given.table} was changed while it was read.")
    if n_repeated:
        rows = f"{counted(n_repeated, 'row')} with a repeated {given.drop_repeated!r}"
        warn(given, f"note: {rows} are left out.")
        record["input"] += f" ({rows} left out)"
    public = None
    if summary_fields is not None:
        public = _public_summary(report, given, summary_fields)
    to_output = given.out is not None and _is_standard_output(given.out)
    if given.out is not None:
        _write(report, given, record)
    if given.bundle is not None:
        report.to_bundle(
            given.bundle,
            min_cell=given.min_cell,
            date=given.date,
            source=record["input"],
            sha256=record["sha256"],
        )
    if public is not None:
        write_text(given.public_summary, public + "\n")
    paths = given.out, given.bundle, given.public_summary
    written = [str(path) for path in paths if path is not None]
    say("\n".join([str(report), *written]), sys.stderr if to_output else None)
    above = _beyond_limits(report, limits)
    for text in above:
        warn(given, f"limit: {text}")
    if _says_nothing(report):
        warn(given, "nothing could be compared; the page says why.")
        return NOTHING_SAID
    return ABOVE_LIMIT if above else 0


def _format_of_name(out: Path | None) -> str:
    """Format that the name of the output says, else that of a page."""
    ending = "" if out is None else out.suffix.lower().removeprefix(".")
    return ending if ending in ("json", "md") else "html"


def _check_outputs(given: argparse.Namespace) -> None:
    """Raise before the long work if something cannot be written after it."""
    if given.out is None and given.bundle is None and given.public_summary is None:
        raise ValueError("--out or --bundle must name what is to be written.")
    if given.bundle is not None or (given.out is not None and given.format == "html"):
        require_report_extra()
    if given.out is not None:
        check_output(given.out, given.table)
    if given.bundle is not None:
        check_folder(given.bundle)
    elif given.min_cell is not None:
        raise ValueError("--min-cell must be given with --bundle.")


def _is_standard_output(path: Path) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(1))
    except OSError:  # one of them does not exist
        return False


def _date(text: str | None) -> str | None:
    """Date to write, which is today's if it has no value."""
    if text is None:
        return None
    if text == "today":
        return datetime.date.today().isoformat()
    return iso_date(text, "--date", ", or have no value")


def _write(
    report: FairnessReport, given: argparse.Namespace, record: dict[str, str]
) -> None:
    """Write a report and the record of its input as a page, JSON, or Markdown."""
    source = f"{record['input']}, SHA-256 {record['sha256']}"
    if given.format == "html":
        report.to_html(given.out, date=given.date, source=source)
    elif given.format == "md":
        report.to_markdown(given.out, date=given.date, source=source)
    else:
        dated = {} if given.date is None else {"date": given.date}
        data = report.summary | record | dated
        write_text(given.out, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def _settings(given: argparse.Namespace) -> dict[str, Any]:
    """Parameters of the report that have options; cheap checks come first."""
    options = {field.name for field in fields(Options)} & vars(given).keys()
    settings = {name: getattr(given, name) for name in options}
    settings["impact_ratios"] |= given.public_summary is not None
    if given.limit is not None:
        settings["proxy_limit"] = given.limit
    above = given.threshold is not None and given.threshold > 1
    if given.scale == "probability" and above:
        raise ValueError(
            "--threshold must be in [0, 1], as probabilities are, got "
            f"{given.threshold:g}; --scale rank takes scores of any unit."
        )
    if given.scale == "rank":
        settings["threshold"] = None  # a threshold in the unit of the score decides
    settings["verbose"] = int(sys.stderr.isatty())
    Options(**settings)
    if not given.y_score and not given.y_pred:
        raise ValueError("--y-score or --y-pred must name a column.")
    if not given.sensitive and not given.group_probability:
        raise ValueError("--sensitive or --group-probability must name a column.")
    if given.proxy and not given.group_probability:
        raise ValueError("--proxy must be given with --group-probability.")
    return settings


def _read_limits(given: list[str]) -> tuple[dict[str, float], float | None]:
    """Read limits of metrics, such as ``mcdp=0.1``, and the one of no metric."""
    limits, plain = {}, []
    for text in given:
        key, named, written = text.partition("=")
        if named:
            check_choice("limit", key, tuple(MEASURES))
        try:
            value = float(written if named else text)
        except ValueError:
            form = "METRIC=NUMBER" if named else "NUMBER or METRIC=NUMBER"
            raise ValueError(f"--limit must be {form}, got {text!r}.") from None
        largest = MEASURES[key].maximum if named else 1
        check_real("limit", value, 0, math.inf if largest is None else largest)
        if named:
            limits[key] = value
        else:
            plain.append(value)
    if len(plain) > 1:
        raise ValueError(f"--limit must have one number, got {plain}.")
    return limits, plain[0] if plain else None


def _kinds(given: argparse.Namespace) -> dict[str, str]:
    """Name columns, and say what they are read as."""
    numbers = [*given.y_score, *given.group_probability, given.sample_weight]
    labels = [*given.y_pred, given.y_true]
    if given.scale == "real":
        numbers, labels = [*numbers, *labels], []
    return kinds_of(numbers, labels, [*_group_columns(given), given.drop_repeated])


def _group_columns(given: argparse.Namespace) -> list[str]:
    """Names of columns of groups, strata and proxies, each once."""
    return [*dict.fromkeys(given.sensitive + given.control_features + given.proxy)]


def _needs_memory(given: argparse.Namespace) -> bool:
    """Whether an option needs the rows themselves, which an engine only counts."""
    return bool(
        given.bins
        or given.replace
        or given.group_probability
        or given.missing != "raise"
        or given.rare != "keep"
        or given.scale == "real"
        or (given.scale == "rank" and given.threshold is not None)
        or given.decimal == ","
        or given.thousands
        or given.drop_repeated
    )


def _report(
    given: argparse.Namespace, settings: dict[str, Any]
) -> tuple[FairnessReport, int]:
    """Read the table, compute the report, and count repeated rows that are left out."""
    kinds, groups = _kinds(given), _group_columns(given)
    values = [name for name, kind in kinds.items() if kind != "group"]
    binnable = {*groups} - {*values} | {*given.sensitive}
    bins = read_bins(given.bins, binnable)
    read_marks(given)
    rows = read_rows(given.table, kinds, given, in_memory=_needs_memory(given))
    labels = [name for name in (given.y_true, *given.y_pred) if name is not None]
    labels = [] if given.scale == "real" else labels
    n_repeated = rows.drop_repeated(given.drop_repeated)
    note_odd_values(given, rows, [*groups, *labels])
    if given.y_true in labels:
        for name in given.y_pred:
            check_labels_in_common(rows, given.y_true, name)
    needed = values + (given.proxy if given.missing == "drop" else [])
    drops = given.missing == "drop" and rows.n_missing(needed)
    before = {name: rows.counts(name) for name in given.sensitive} if drops else {}
    n_without = drop_missing(given, rows, needed)
    settings["pos_label"] = positive_label(
        given.pos_label, {name: rows.counts(name).index for name in labels}
    )
    people = group_columns(given, rows, groups, bins)
    with rows.problems():
        if rows.in_memory:
            report = _report_of_rows(given, rows.frame, people, settings)
        else:
            report = _report_of_counts(given, rows.frame, settings)
    if n_without:
        without = [
            (f"{name}: {label}", int(n - rows.counts(name).get(label, 0)), int(n))
            for name, counts in before.items()
            for label, n in counts.items()
        ]
        report.summary = tell_left_out(report.summary, n_without, needed, without)
    return report, n_repeated


def _report_of_rows(
    given: argparse.Namespace,
    frame: pd.DataFrame,
    people: dict[str, Any],
    settings: dict[str, Any],
) -> FairnessReport:
    """Compute the report of rows in memory, some of which may have no group."""
    scores = {name: frame[name] for name in given.y_score}
    predicted = {name: frame[name] for name in given.y_pred}
    if len(scores) == len(predicted) == 1:
        predicted = dict(zip(scores, predicted.values(), strict=True))
    if given.scale == "rank" and given.threshold is not None and not predicted:
        negative, positive = _two_labels(given, frame, settings["pos_label"])
        predicted = {
            name: np.where(values >= given.threshold, positive, negative)
            for name, values in scores.items()
        }
    sensitive = {
        name: encode_groups(
            people[name],
            missing=given.missing,
            rare=given.rare,
            min_group_size=given.min_group_size,
        )
        for name in given.sensitive
    }
    cells = pd.DataFrame({name: people[name] for name in given.proxy}, dtype=object)
    shares, weight = given.group_probability, given.sample_weight
    return FairnessReport.from_predictions(
        None if given.y_true is None else frame[given.y_true],
        scores or None,
        y_pred=predicted or None,
        sensitive_features=sensitive or None,
        control_features=encode_strata(given, people),
        group_probabilities=frame[shares] if shares else None,
        cells=cells.fillna(MISSING_LABEL) if len(cells) else None,
        sample_weight=None if weight is None else frame[weight],
        **settings,
    )


def _two_labels(
    given: argparse.Namespace, frame: pd.DataFrame, positive: Any
) -> NDArray[Any]:
    """Return the negative and the positive label of the true labels, or 0 and 1."""
    if given.y_true is None:
        return np.array([0, 1])
    labels = frame[given.y_true].unique().tolist()
    positive = 1 if positive is None else positive
    negative = [label for label in labels if label != positive]
    if len(negative) != 1:
        raise ValueError(
            "--threshold must be given with two true labels, got "
            f"{listed([*map(repr, sort_labels(labels))], 5)} in column "
            f"{given.y_true!r}."
        )
    return np.array([*negative, positive])


def _report_of_counts(
    given: argparse.Namespace, frame: Any, settings: dict[str, Any]
) -> FairnessReport:
    """Compute the report of rows that an engine counts."""
    return FairnessReport.from_frame(
        frame,
        y_true=given.y_true,
        y_score=given.y_score or None,
        y_pred=given.y_pred or None,
        sensitive_features=given.sensitive,
        control_features=given.control_features or None,
        sample_weight=given.sample_weight,
        **settings,
    )


def _public_fields(given: argparse.Namespace) -> dict[str, Any] | None:
    """Fields of the public summary, checked before the long work; None without one."""
    needed = {
        "--date": given.date,
        "--distribution-date": given.distribution_date,
        "--source": given.source,
    }
    if given.public_summary is None:
        return None
    for option, value in needed.items():
        if not (value or "").strip():
            raise ValueError(f"--public-summary must be given with {option}.")
    if given.scale == "real" or max(len(given.y_score), len(given.y_pred)) > 1:
        raise ValueError(
            "--public-summary must be of one model of classes, so that --y-score and "
            "--y-pred name a column each, and --scale is not real."
        )
    check_output(given.public_summary, given.table, "--public-summary")
    return {
        "audit_date": given.date,
        "distribution_date": iso_date(given.distribution_date, "--distribution-date"),
        "source": given.source,
        "justification": given.justification,
    }


def _public_summary(
    report: FairnessReport, given: argparse.Namespace, summary_fields: dict[str, Any]
) -> str:
    """Write the public summary: labels have selection rates, scores scoring rates."""
    rate: Literal["selection", "scoring"] = "selection" if given.y_pred else "scoring"
    table = report.to_frame("impact_ratios").query("kind == @rate")
    by_group = table.set_index(["attribute", "group"])
    try:
        return public_summary(by_group, rate=rate, **summary_fields)
    except ValueError as error:
        raise ValueError(f"--{error}") from error


def _beyond_limits(report: FairnessReport, limits: dict[str, float]) -> list[str]:
    """Name the metrics that are above their limits, or undefined."""
    beyond = []
    for row in report.to_frame().to_dict("records"):
        limit = limits.get(row["metric"])
        if limit is not None and not row["value"] <= limit:
            what = f"{row['metric']} of {row['model']} by {row['attribute']}"
            beyond.append(f"{what} is {row['value']:.6g}, the limit is {limit:g}")
    missing = set(limits) - set(report.to_frame()["metric"])
    return beyond + [
        f"{key} was not computed, so not checked" for key in sorted(missing)
    ]


def _says_nothing(report: FairnessReport) -> bool:
    """Whether nothing differs between rows, or no metric is defined or has bounds."""
    if all(model["alike"] for model in report.summary["models"]):
        return True
    values = report.to_frame()["value"]
    if report.summary["proxy"] is not None:
        values = pd.concat([values, report.to_frame("proxy")["estimate"]])
    return bool(values.isna().all())

"""``python -m skfair monitor``: add a batch to a monitor's state, for a scheduler."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from skfair._cli._tables import Columns, read_columns
from skfair._cli._text import Format
from skfair._utils._files import check_writable, locked, sha256_of, write_text
from skfair.metrics._confidence._known_metrics import metric_from_dict
from skfair.metrics._undefined import collected_reasons
from skfair.monitoring import FairnessMonitor

_EXAMPLE = """\
example:
  python -m skfair monitor state.json monday.parquet --y-score p --sensitive sex \\
      --limit 0.1

The first batch makes state.json, later ones are added to it. Metric, limit and level
are those of the first batch. A file with the same bytes is added once, so that a
command that was stopped can be given again.

exit codes: 0, no alarm; 2, the arguments or a file are bad, the state is as it was, and
one line says why; 3, there is or was an alarm; 4, groups cannot be compared yet; 130,
interrupted.
"""


def add_monitor(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "monitor",
        help="add a batch of predictions to a monitor",
        description="Add a batch of predictions to the state of a monitor.",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("state", type=Path, help="a JSON file, which the first batch makes")
    add("table", type=Path, help="the batch: .csv, .tsv, .csv.gz, .parquet or .xlsx")
    add("--y-score", required=True, metavar="COLUMN", help="scores, or decisions")
    add("--y-true", metavar="COLUMN", help="true labels, of metrics that need them")
    several: dict[str, Any] = {"action": "append", "default": [], "metavar": "COLUMNS"}
    add("--sensitive", required=True, help="who belongs to which group", **several)
    add("--control-features", help="strata, in every batch or in none", **several)
    add("--metric", metavar="NAME", help="such as mcdp, the default")
    add("--limit", type=float, metavar="NUMBER", help="largest disparity (default: 0)")
    add(
        "--confidence-level",
        type=float,
        metavar="NUMBER",
        help="probability of no false alarm, ever (default: 0.95)",
    )
    add("--out", type=Path, metavar="FILE", help="HTML page of the monitor to write")


def run_monitor(given: argparse.Namespace) -> tuple[FairnessMonitor, bool]:
    """Add the batch, unless it is one of the state, and say whether it was added."""
    columns = Columns(
        [given.y_score],
        [] if given.y_true is None else [given.y_true],
        list(dict.fromkeys([*given.sensitive, *given.control_features])),
    )
    check_writable(given.state)
    if given.out is not None:
        check_writable(given.out)
    with locked(given.state):
        monitor, batches = _read(given)
        table = read_columns(given.table, columns, Format(None, "utf-8"))
        digest = sha256_of(given.table)
        is_new = digest not in batches
        if is_new:
            _update(monitor, given, table)
            state = {"monitor": monitor.to_dict(), "batches": [*batches, digest]}
            write_text(given.state, json.dumps(state))
    if given.out is not None:
        monitor.to_html(given.out)
    return monitor, is_new


def _update(monitor: FairnessMonitor, given: argparse.Namespace, table: Any) -> None:
    """Add the rows of a table."""
    missing = table.isna().any()
    if missing.any():
        name = missing.index[missing.to_numpy().argmax()]
        n_missing = int(table[name].isna().sum())
        raise ValueError(
            f"column {name!r} of {given.table} has {n_missing:,} missing values, "
            "expected none."
        )
    with collected_reasons():
        monitor.update(
            None if given.y_true is None else table[given.y_true],
            table[given.y_score],
            sensitive_features=table[given.sensitive],
            control_features=table[given.control_features]
            if given.control_features
            else None,
        )


def _read(given: argparse.Namespace) -> tuple[FairnessMonitor, list[str]]:
    """Read the state, or begin one; options that are given must be those of it."""
    options = {"at_most": given.limit, "confidence_level": given.confidence_level}
    options = {name: value for name, value in options.items() if value is not None}
    if not given.state.exists():
        name = given.metric or "mcdp"
        metric, _ = metric_from_dict({"name": name, "options": {}})
        return FairnessMonitor(metric, **options), []
    try:
        state = json.loads(given.state.read_text(encoding="utf-8"))
    except ValueError as error:  # also of bytes that are no text
        raise ValueError(f"{given.state} is not JSON: {error}.") from error
    if not isinstance(state, dict) or set(state) != {"monitor", "batches"}:
        raise ValueError(f"{given.state} is not the state of `skfair monitor`.")
    monitor, batches = FairnessMonitor.from_dict(state["monitor"]), state["batches"]
    if not isinstance(batches, list) or len(batches) != len(monitor.history_):
        raise ValueError(f"batches of {given.state} must be a list, one for each look.")
    known = {"at_most": monitor.at_most, "confidence_level": monitor.confidence_level}
    known["metric"] = state["monitor"]["metric"]["name"]
    if given.metric is not None:
        options["metric"] = given.metric
    for name, value in options.items():
        if value != known[name]:
            option = "--limit" if name == "at_most" else f"--{name.replace('_', '-')}"
            raise ValueError(
                f"{option} must be {known[name]}, as in {given.state}, got {value}."
            )
    return monitor, batches


def describe(monitor: FairnessMonitor) -> str:
    """Say in one line what the last look found."""
    interval, recent = monitor.interval_, monitor.interval_recent_
    alarms = {
        "disparity above the limit": monitor.alarm_,
        "change": monitor.change_alarm_,
        "drift": monitor.drift_alarm_,
    }
    raised = ", ".join(name for name, alarm in alarms.items() if alarm)
    return (
        f"{interval.value:.4g} ({interval.lower:.4g} to {interval.upper:.4g}), "
        f"recently {recent.value:.4g} ({recent.lower:.4g} to {recent.upper:.4g}); "
        f"alarm: {raised or 'none'}"
    )


def alarmed(monitor: FairnessMonitor) -> bool:
    """Whether any alarm was ever raised."""
    return monitor.alarm_ or monitor.change_alarm_ or monitor.drift_alarm_

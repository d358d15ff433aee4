"""``python -m skfair monitor``: add a batch to a monitor's state, for a scheduler."""

from __future__ import annotations

import argparse
import json
import math
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from skfair._cli._bins import into_bins, read_bins
from skfair._cli._options import SEVERAL, add_format, option_of
from skfair._cli._output import ABOVE_LIMIT, NOTHING_SAID, check_output, say, warn
from skfair._cli._rows import naming_lines, note_bins
from skfair._cli._tables import Columns, read_columns
from skfair._utils._files import check_writable, locked, sha256_of, write_text
from skfair.groups import encode_groups
from skfair.metrics._confidence_interval import metric_from_dict
from skfair.metrics._inputs import collected_reasons
from skfair.metrics._spec import unwrapped
from skfair.monitoring import FairnessMonitor
from skfair.statistics._statistic import check_sealed, sealed

_EXAMPLE = """\
example:
  python -m skfair monitor state.json monday.parquet --y-score p --sensitive sex \\
      --limit 0.1

The first batch makes state.json, later ones are added to it. Metric, limit, level and
all other options are those of the first batch: those given again must be the same. A
file with the same bytes is added once, so that a
command that was stopped can be given again.

exit codes: 0, no alarm; 2, the arguments or a file are bad, the state is as it was, and
one line says why; 3, there is or was an alarm; 4, groups cannot be compared yet; 130,
interrupted.
"""

#: Options of metrics, and what they are.
_OF_METRIC: dict[str, tuple[type, str]] = {
    "threshold": (float, "least score that is a positive decision"),
    "epsilon": (float, "width of the windows of MCDP"),
    "bandwidth": (float, "width of the bins of MADD"),
    "alpha": (float, "share of the tail of CVaR fairness"),
    "quality": (str, "rate of max-gap and CVaR fairness"),
    "pos_label": (float, "the positive label"),
    "multigroup": (str, "pairwise or pooled: how more than two groups are compared"),
    "multistratum": (str, "max or weighted: the largest over strata, or the mean"),
}

#: Type of a state, and its entries.
_KIND = "skfair monitor"
_ENTRIES = "monitor", "batches", "columns", "bins"
#: Kinds of pictures.
_PICTURES = ".png", ".svg", ".pdf"
#: Options that name columns.
_OF_COLUMNS = "y_score", "y_true", "sensitive", "control_features"


def add_monitor(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "monitor",
        help="add a batch of predictions to a monitor",
        description="Add a batch of predictions to the state of a monitor.",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run_monitor)
    add = parser.add_argument
    add("state", type=Path, help="a JSON file, which the first batch makes")
    add("table", type=Path, help="the batch: .csv, .tsv, .csv.gz, .parquet or .xlsx")
    add("--y-score", required=True, metavar="COLUMN", help="scores, or decisions")
    add("--y-true", metavar="COLUMN", help="true labels, of metrics that need them")
    add_format(parser)
    add("--sensitive", required=True, help="who belongs to which group", **SEVERAL)
    add("--control-features", help="strata, in every batch or in none", **SEVERAL)
    add("--metric", metavar="NAME", help="such as mcdp, the default")
    for name, (kind, what) in _OF_METRIC.items():
        metavar = "NUMBER" if kind is float else "NAME"
        add(option_of(name), type=kind, metavar=metavar, help=f"of the metric: {what}")
    add(
        "--min-group-size",
        type=int,
        metavar="N",
        help="groups with fewer rows so far are left out and named (default: 1)",
    )
    add("--limit", type=float, metavar="NUMBER", help="largest disparity (default: 0)")
    add(
        "--confidence-level",
        type=float,
        metavar="NUMBER",
        help="probability of no false alarm, ever (default: 0.95)",
    )
    add("--out", type=Path, metavar="FILE", help="picture to draw: .png, .svg or .pdf")


def run_monitor(given: argparse.Namespace) -> int:
    """Add a batch unless it was added before, and return the exit code."""
    monitor, is_new, people = _add_batch(given)
    for name in given.sensitive if len(monitor.history_) == 1 else ():
        note_bins(given, people[name])
    if not is_new:
        warn(given, "note: the batch was added before.")
    if math.isnan(monitor.interval_.value):
        warn(given, "groups cannot be compared yet.")
        return NOTHING_SAID
    say(_last_look(monitor))
    return ABOVE_LIMIT if monitor.alarm_ or monitor.change_alarm_ else 0


class _State(NamedTuple):
    """A monitor, hashes of the batches that it has seen, and what is read of each.

    `columns` are names by option; `bins` are those of all batches.
    """

    monitor: FairnessMonitor
    batches: list[str]
    columns: dict[str, str]
    bins: list[str]


def _add_batch(given: argparse.Namespace) -> tuple[FairnessMonitor, bool, Any]:
    """Add the batch unless it was added before; say whether, and return its groups."""
    check_writable(given.state)
    if given.out is not None:
        check_output(given.out, given.table)
        if given.out.suffix not in _PICTURES:
            raise ValueError(
                f"--out must end in {', '.join(_PICTURES)}, got {given.out}."
            )
    with locked(given.state):
        monitor, batches, columns, bins = _read(given)
        table = _read_rows(given, given.table)
        people = _people(given, table, bins)
        digest = sha256_of(given.table)
        is_new = digest not in batches
        if is_new:
            with naming_lines(given.table, table, given.form):
                _update(monitor, given, table, people)
            entries = monitor.to_dict(), [*batches, digest], columns, bins
            state = sealed(_KIND, dict(zip(_ENTRIES, entries, strict=True)))
            write_text(given.state, json.dumps(state))
    if given.out is not None:
        _draw(monitor, given.out)
    return monitor, is_new, people


def _draw(monitor: FairnessMonitor, path: Path) -> None:
    """Draw the picture of a monitor."""
    from matplotlib.figure import Figure

    from skfair.inspection import MonitorDisplay

    ax = Figure(figsize=(8, 5), layout="constrained").subplots()
    MonitorDisplay.from_monitor(monitor, ax=ax).figure_.savefig(path)


def _read_rows(given: argparse.Namespace, path: Path) -> Any:
    """Read a table, of which no value may be missing."""
    columns = Columns.of(
        [given.y_score],
        [] if given.y_true is None else [given.y_true],
        [*given.sensitive, *given.control_features],
    )
    table = read_columns(path, columns, given.form)
    missing = table.isna().any()
    if missing.any():
        name = missing.index[missing.to_numpy().argmax()]
        n_missing = int(table[name].isna().sum())
        raise ValueError(
            f"column {name!r} of {path} has {n_missing:,} missing values, "
            "expected none."
        )
    return table


def _people(given: argparse.Namespace, table: Any, bins: list[str]) -> pd.DataFrame:
    """Return the groups and strata of the rows of a table."""
    names = [*given.sensitive, *given.control_features]
    return pd.DataFrame(into_bins(table, names, read_bins(bins, names)))


def _update(
    monitor: FairnessMonitor,
    given: argparse.Namespace,
    table: Any,
    people: pd.DataFrame,
) -> None:
    """Add the rows of a table, with their groups and strata."""
    smallest = 1 if given.min_group_size is None else given.min_group_size
    groups = encode_groups(people[given.sensitive], min_group_size=smallest)
    with collected_reasons():
        monitor.update(
            None if given.y_true is None else table[given.y_true],
            table[given.y_score],
            sensitive_features=groups,
            control_features=people[given.control_features]
            if given.control_features
            else None,
        )


def _read(given: argparse.Namespace) -> _State:
    """Read the state, or begin one; options that are given must be those of it."""
    of_metric = {name: getattr(given, name) for name in _OF_METRIC}
    of_metric = {name: value for name, value in of_metric.items() if value is not None}
    own_columns = _columns(given)
    if not given.state.exists():
        name = given.metric or "mcdp"
        metric, _ = metric_from_dict({"name": name, "options": of_metric})
        options = {"at_most": given.limit, "confidence_level": given.confidence_level}
        options = {name: one for name, one in options.items() if one is not None}
        monitor = FairnessMonitor(metric, **options)
        return _State(monitor, [], own_columns, given.bins)
    found = _load(given.state)
    monitor = FairnessMonitor.from_dict(found["monitor"])
    batches, columns, bins = (found[name] for name in _ENTRIES[1:])
    if given.bins and given.bins != bins:
        raise ValueError(
            f"--bins must be {' '.join(bins) or 'left out'}, as in {given.state}, got "
            f"{' '.join(given.bins)}."
        )
    options = vars(given) | {"at_most": given.limit}
    options |= dict.fromkeys(_OF_COLUMNS) | own_columns
    for name, value in (_known(monitor) | columns).items():
        own = options.get(name)
        if own is not None and own != value:
            expected = "left out" if value is None else value
            raise ValueError(
                f"{option_of(name)} must be {expected}, as in {given.state}, got {own}."
            )
    # An option that the metric lacks is not known.
    name = found["monitor"]["metric"]["name"]
    metric_from_dict({"name": name, "options": of_metric})
    return _State(monitor, batches, columns | own_columns, bins)


def _load(path: Path) -> dict[str, Any]:
    """Read a state that `_add_batch` has written."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # also of bytes that are no text
        raise ValueError(f"{path} is not JSON: {error}.") from error
    try:
        check_sealed(found, _KIND, _ENTRIES)
    except ValueError as error:
        raise ValueError(f"{path} is not the state of `skfair monitor`: {error}") from (
            error
        )
    types = dict, list, dict, list
    if any(not isinstance(found[n], t) for n, t in zip(_ENTRIES, types, strict=True)):
        raise ValueError(f"{path} is not the state of `skfair monitor`.")
    return found  # type: ignore[no-any-return]


def _known(monitor: FairnessMonitor) -> dict[str, Any]:
    """Return the options of a monitor and of its metric, by name."""
    function, options = unwrapped(monitor.metric)
    bound = signature(function).bind_partial(**options)
    bound.apply_defaults()
    found = bound.arguments
    known = {name: found[name] for name in _OF_METRIC if name in found}
    known["metric"] = function.__name__
    known["at_most"] = monitor.at_most
    known["confidence_level"] = monitor.confidence_level
    parts = monitor.statistic_
    if parts is not None:
        first = next(iter(parts.values())) if isinstance(parts, dict) else parts
        known["min_group_size"] = first.min_group_size
    return known


def _columns(given: argparse.Namespace) -> dict[str, str]:
    """Return the names of the columns that are read, by option."""
    named = {name: getattr(given, name) for name in _OF_COLUMNS}
    return {
        name: value if isinstance(value, str) else ",".join(value)
        for name, value in named.items()
        if value
    }


def _last_look(monitor: FairnessMonitor) -> str:
    """Say in one line what the last look found."""
    interval, recent = monitor.interval_, monitor.interval_recent_
    alarms = {
        "disparity above the limit": monitor.alarm_,
        "change": monitor.change_alarm_,
    }
    raised = ", ".join(name for name, alarm in alarms.items() if alarm)
    return (
        f"{interval.value:.4g} ({interval.lower:.4g} to {interval.upper:.4g}), "
        f"recently {recent.value:.4g} ({recent.lower:.4g} to {recent.upper:.4g}); "
        f"alarm: {raised or 'none'}"
    )

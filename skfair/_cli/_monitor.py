"""Add a batch of predictions to a monitor.

Decisions, or scores:
  python -m skfair monitor state.json monday.csv --y-pred decision \\
      --pos-label approved --sensitive sex --at-most 0.1
  python -m skfair monitor state.json monday.csv --y-score p --sensitive sex

The first batch makes state.json, later ones are added to it. Options of later batches
are those of the first, unless they say how the file is written: they may be left out,
and those given again must be the same. A file with the same bytes is added once, so
that a command that was stopped can be given again.

exit codes: 0, no alarm; 2, the arguments or a file are bad, the state is as it was, and
one line says why; 3, there is or was an alarm; 4, groups cannot be compared yet; 130,
interrupted.
"""

from __future__ import annotations

import argparse
import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from skfair._cli._groups import (
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
    OF_FILE,
    OF_MONITOR,
    add_options,
    check_output,
    option_of,
    parameter_of,
    read_bins,
    read_marks,
    say,
    warn,
)
from skfair._cli._read import PandasRows, input_record
from skfair._utils._files import check_writable, locked, write_text
from skfair._utils._text import listed
from skfair.groups import encode_groups
from skfair.metrics._confidence_interval import metric_from_dict
from skfair.metrics._inputs import collected_reasons
from skfair.monitoring import FairnessMonitor
from skfair.statistics._statistic import check_sealed, sealed

#: Options of a monitor; those of a file may be others for each batch.
_NAMES = (
    *("--y-pred", "--y-score", "--y-true", "--sensitive", "--control-features"),
    *("--pos-label", "--scale", "--threshold", "--bins", "--min-group-size"),
    *("--replace", "--missing", "--drop-repeated", *OF_MONITOR),
)
#: Type of a state, and its entries.
_KIND = "skfair monitor"
_ENTRIES = "monitor", "batches", "options"
#: Kinds of pictures.
_PICTURES = ".png", ".svg", ".pdf"


def add_monitor(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "monitor",
        help="add a batch of predictions to a monitor",
        usage="%(prog)s STATE TABLE [options]",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("state", type=Path, help="a JSON file, which the first batch makes")
    add("table", type=Path, help="the batch: .csv, .tsv, .csv.gz, .parquet or .xlsx")
    changed: dict[str, tuple[str, dict[str, Any]]] = {
        "--min-group-size": (
            "groups with fewer rows so far are left out and named",
            {"type": int, "default": 1},
        ),
        "--scale": (
            "rank compares ranks of scores that are any numbers",
            {"choices": ("probability", "rank"), "default": "probability"},
        ),
    }
    names = [*_NAMES, *OF_FILE]
    add_options(parser, names, changed)
    add("--out", type=Path, metavar="FILE", help="picture to draw: .png, .svg or .pdf")
    # Without defaults, options that are given can be told from others.
    defaults = vars(parser.parse_args(["state.json", "table.csv"]))
    defaults = {name: defaults[name] for name in map(parameter_of, names)}
    parser.set_defaults(**dict.fromkeys(defaults), defaults=defaults, run=run_monitor)


def run_monitor(given: argparse.Namespace) -> int:
    """Add a batch unless it was added before, and return the exit code."""
    check_writable(given.state)
    if given.out is not None:
        check_output(given.out, given.table)
        if given.out.suffix not in _PICTURES:
            raise ValueError(
                f"--out must end in {', '.join(_PICTURES)}, got {given.out}."
            )
    with locked(given.state):
        monitor = _add_batch(given)
    if given.out is not None:
        _draw(monitor, given.out)
    if math.isnan(monitor.interval_.value):
        warn(given, "groups cannot be compared yet.")
        return NOTHING_SAID
    say(_last_look(monitor))
    return ABOVE_LIMIT if monitor.alarm_ or monitor.change_alarm_ else 0


def _add_batch(given: argparse.Namespace) -> FairnessMonitor:
    """Add the batch to the state, unless it was added before."""
    state = _load(given.state) if given.state.exists() else None
    options = _take_options(given, state)
    metric, _ = metric_from_dict(_metric(given))
    if state is None:
        monitor = FairnessMonitor(
            metric,
            at_most=given.at_most or 0.0,
            confidence_level=given.confidence_level,
        )
    else:
        monitor = FairnessMonitor.from_dict(state["monitor"])
    rows, digest = _read(given), input_record(given.table)["sha256"]
    batches = [] if state is None else state["batches"]
    if digest in batches:
        warn(given, "note: the batch was added before.")
        return monitor
    if state is None:
        note_odd_values(given, rows, [*given.sensitive, *given.control_features])
    _update(monitor, given, rows)
    entries = monitor.to_dict(), [*batches, digest], options
    text = json.dumps(sealed(_KIND, dict(zip(_ENTRIES, entries, strict=True))))
    write_text(given.state, text)
    return monitor


def _take_options(
    given: argparse.Namespace, state: dict[str, Any] | None
) -> dict[str, Any]:
    """Complete the options by those of the state, and return what a state keeps."""
    own = {name: getattr(given, name) for name in map(parameter_of, _NAMES)}
    own = {name: value for name, value in own.items() if value is not None}
    kept = {} if state is None else state["options"]
    for name, value in own.items() if state is not None else ():
        expected = kept.get(name, given.defaults[name])
        if value != expected:
            raise ValueError(
                f"{option_of(name)} must be {_written(expected)}, as in {given.state}, "
                f"got {_written(value)}."
            )
    others = {name: getattr(given, name) for name in map(parameter_of, OF_FILE)}
    own |= {name: value for name, value in others.items() if value is not None}
    vars(given).update(given.defaults | kept | own)
    if len(given.y_score) + len(given.y_pred) != 1:
        raise ValueError("--y-score or --y-pred must name one column.")
    if not given.sensitive:
        raise ValueError("--sensitive must name a column.")
    return kept | {name: own[name] for name in own if name not in others}


def _written(value: Any) -> str:
    """Write the value of an option as it is typed."""
    if value in (None, []):
        return "left out"
    return ",".join(value) if isinstance(value, list) else str(value)


def _metric(given: argparse.Namespace) -> dict[str, Any]:
    """Name and options of the metric, by default that of decisions or of scores."""
    decides = bool(given.y_pred) or given.threshold is not None
    default = "demographic_parity_difference" if decides else "mcdp"
    name, *written = (given.metric or default).split(",")
    options: dict[str, Any] = {}
    for text in written:
        option, _, value = text.partition("=")
        options[option] = value
        with suppress(ValueError):
            options[option] = float(value)
    if given.scale == "rank" and not decides:
        options["scale"] = "rank"
    return {"name": name, "options": options}


def _load(path: Path) -> dict[str, Any]:
    """Read a state that `_add_batch` has written."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # also of bytes that are no text
        raise ValueError(f"{path} is not JSON: {error}.") from error
    try:
        check_sealed(state, _KIND, _ENTRIES)
    except ValueError as error:
        raise ValueError(f"{path} is not the state of `skfair monitor`: {error}") from (
            error
        )
    for name, kind in zip(_ENTRIES, (dict, list, dict), strict=True):
        if not isinstance(state[name], kind):
            raise ValueError(f"{path} is not the state of `skfair monitor`.")
    return state  # type: ignore[no-any-return]


def _read(given: argparse.Namespace) -> PandasRows:
    """Read the batch, without the rows that are left out."""
    groups = [*given.sensitive, *given.control_features, given.drop_repeated]
    kinds = kinds_of(given.y_score, [*given.y_pred, given.y_true], groups)
    read_marks(given)
    rows = PandasRows(given.table, kinds, given)
    rows.drop_repeated(given.drop_repeated)
    values = [name for name, kind in kinds.items() if kind != "group"]
    drop_missing(given, rows, values)
    return rows


def _update(
    monitor: FairnessMonitor, given: argparse.Namespace, rows: PandasRows
) -> None:
    """Add the rows of a batch; labels count as 1 if they are the positive one."""
    frame, true = rows.frame, None
    if given.y_pred:
        values = _is_positive(given, frame[given.y_pred[0]])
    else:
        values = frame[given.y_score[0]]
        if given.threshold is not None:
            values = (values >= given.threshold).astype(int)
    if given.y_true is not None:
        true = _is_positive(given, frame[given.y_true])
    names = [*given.sensitive, *given.control_features]
    people = group_columns(given, rows, names, read_bins(given.bins, names))
    groups = encode_groups(
        pd.DataFrame(people)[given.sensitive],
        missing=given.missing,
        min_group_size=given.min_group_size,
    )
    strata = encode_strata(given, people)
    with collected_reasons(), rows.problems():
        monitor.update(true, values, sensitive_features=groups, control_features=strata)


def _is_positive(given: argparse.Namespace, column: Any) -> Any:
    """Whether labels are the positive one, as 0 and 1."""
    labels = column.unique().tolist()
    if given.pos_label is None and {*labels} <= {0, 1}:
        return column.astype(int)
    if given.pos_label is None:
        raise ValueError(
            f"--pos-label must say which label of column {column.name!r} is positive: "
            f"it has {listed([repr(label) for label in labels])}."
        )
    if len(labels) == 1:  # of a batch in which all are alike
        return (column.astype(str) == given.pos_label).astype(int)
    positive = positive_label(given.pos_label, {column.name: labels})
    return (column == positive).astype(int)


def _draw(monitor: FairnessMonitor, path: Path) -> None:
    """Draw the picture of a monitor."""
    from matplotlib.figure import Figure

    from skfair.inspection import MonitorDisplay

    ax = Figure(figsize=(8, 5), layout="constrained").subplots()
    MonitorDisplay.from_monitor(monitor, ax=ax).figure_.savefig(path)


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

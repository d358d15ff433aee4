"""Mitigators and peers on any folder of tables, each with a small description.

    python benchmarks/any_tables.py FOLDER [--seeds 0,1,2,3,4] [--methods unaware,...]
        [--models lightgbm,logistic] [--shared adult,bank,...]

FOLDER holds a TOML file for each table, such as `law.toml`:

    file = "law_school.csv.gz"   # CSV or Parquet, beside this file or in SKFAIR_DATA
    target = "pass_bar"
    positive = 1                 # the positive label, or a list of labels
    # above = "median"           # in its place: a target above this number is positive
    group = "race"               # a column, or a list of columns: their intersection
    drop = ["male"]              # columns that are not features

Nothing is chosen by the results. Rows without target or group are left out. Columns of
numbers are features as they are, with -1 for missing; others are features with one
column for each category, unless they have more than 50. Groups of fewer than 200 rows
are one group, "other". Rows are split 40/30/30 by label for each seed; at most 3,000 of
the first part train, and at most 3,000 of the second repair. All methods are around one
LightGBM of 80 trees, or around a logistic regression. Areas, and accuracies at half the
parity difference, are those of `fair_models.py`; with the group, `band` and `level` are
this package's repairs, `barycentre` is the path that EquiPy takes, and `equipy` that
package. `thresholds` is fairlearn's ThresholdOptimizer, and `group thresholds` the
thresholds of each group with the best accuracy on validation rows for a gap of
decisions: neither has scores. Peers that are not installed are left out. --shared adds
tables of `_tables.py`, some of whose groups are not columns. The folder `tables` has
descriptions of tables that this project reads.

It prints, for both kinds, the mean over seeds of each, and then this package's first
choice (`unaware`, `band`) minus the best peer of the table, losses first. Noise is the
MCDP(0) that groups of one distribution exceed in at most 5 % of samples of the test.
"""

from __future__ import annotations

import argparse
import tomllib
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import fair_models
import numpy as np
import pandas as pd
from _files import find_table
from _paper_protocol import Rows, Split, Task, split
from _peer_mitigation import Models, decided, thresholds_fairlearn, wasserstein
from _repair_ways import SHARES_LEFT, WAYS
from _tables import load_table
from fair_models import METHODS, accuracy, area, make_plain, point, positive
from numpy.lib.stride_tricks import sliding_window_view
from pandas.api.types import is_numeric_dtype

from skfair._comparison import mean_mcdp
from skfair._rows import Rows as Table
from skfair.groups import encode_groups

#: Most rows of a part, most categories of a feature, and least rows of a group.
N_ROWS, N_CATEGORIES, N_OF_GROUP = 3000, 50, 200
#: Shares of a group that thresholds are searched at.
N_SHARES = 1001


def repair(way: str, train: Rows, validation: Rows, test: Rows) -> Models:
    """Repair of the scores of a model by the validation rows, by one of `WAYS`."""
    model = make_plain().fit(train.X, train.y)
    held_out, scores = positive(model, validation), positive(model, test)
    for share in SHARES_LEFT:
        repaired = WAYS[way](held_out, validation.groups, share)
        yield point(test, repaired(scores, test.groups))


def unaware_of_groups(method: str, train: Rows, validation: Rows, test: Rows) -> Models:
    """One of `METHODS`, which take no validation rows."""
    return METHODS[method](train, test)


def group_thresholds(train: Rows, validation: Rows, test: Rows) -> Models:
    """Thresholds of the groups with the best accuracy of validation rows in a gap.

    For each largest gap of the shares selected, all windows of shares of that width
    are searched for the best share of each group.
    """
    model = make_plain().fit(train.X, train.y)
    held_out, scores = positive(model, validation), positive(model, test)
    heights = {}
    n_right = np.empty((0, N_SHARES))
    for group in np.unique(validation.groups):
        rows = validation.groups == group
        order = np.argsort(-held_out[rows], kind="stable")
        y = validation.y[rows][order]
        chosen = np.rint(np.linspace(0, 1, N_SHARES) * len(y)).astype(int)
        hits = np.append(0, np.cumsum(y))[chosen]
        n_right = np.vstack([n_right, 2 * hits - chosen])
        heights[group] = np.append(held_out[rows][order], -1.0)[chosen]
    largest = point(validation, held_out).parity
    for share in SHARES_LEFT:
        width = round(share * largest * (N_SHARES - 1)) + 1
        windows = sliding_window_view(n_right, width, axis=1)
        first = int(windows.max(axis=2).sum(axis=0).argmax())
        best = first + windows[:, first].argmax(axis=1)
        chosen = np.zeros(len(scores))
        for (group, ordered), place in zip(heights.items(), best, strict=True):
            rows = test.groups == group
            chosen[rows] = scores[rows] > ordered[place]
        yield decided(test, chosen)


EVERY: dict[str, Callable[[Rows, Rows, Rows], Models]] = {
    **{name: partial(unaware_of_groups, name) for name in METHODS},
    **{name: partial(repair, name) for name in WAYS},
    "equipy": wasserstein,
    "thresholds": thresholds_fairlearn,
    "group thresholds": group_thresholds,
}
#: Packages of the peers.
NEEDED = dict.fromkeys(("expgrad", "gridsearch", "thresholds"), "fairlearn")
NEEDED["equipy"] = "equipy"
#: What is compared with the best of its peers, without and with the group.
COMPARED = {
    "unaware": ("expgrad", "gridsearch"),
    "reweighter": ("gridsearch",),
    "band": ("barycentre", "equipy", "thresholds", "group thresholds"),
}
KEYS = {"file", "target", "positive", "above", "group", "drop"}


def read_task(description: Path) -> Task:
    """Read a table as its description says."""
    known = tomllib.loads(description.read_text(encoding="utf-8"))
    if unknown := set(known) - KEYS:
        raise ValueError(f"{description}: unknown {sorted(unknown)}, known: {KEYS}.")
    if ("positive" in known) == ("above" in known):
        raise ValueError(f"{description} must have one of positive and above.")
    path = description.parent / known["file"]
    if not path.exists():
        path = find_table(known["file"], source=f"see {description}")
    table = read_file(path)
    columns = known["group"]
    columns = [columns] if isinstance(columns, str) else columns
    target = known["target"]
    table = table.dropna(subset=[target, *columns]).reset_index(drop=True)
    y, above = table[target], known.get("above")
    if above is not None:
        y = y > (y.median() if above == "median" else above)
    else:
        labels = known["positive"]
        y = y.isin(labels if isinstance(labels, list) else [labels])
    if y.nunique() != 2:
        raise ValueError(f"{description}: {target} has {y.nunique()} of two labels.")
    groups = table[columns].astype(str).agg(" x ".join, axis=1)
    groups = groups.where(groups.map(groups.value_counts()) >= N_OF_GROUP, "other")
    X = table.drop(columns=[target, *columns, *known.get("drop", [])])
    numbers = [name for name in X if is_numeric_dtype(X[name])]
    others = [
        name for name in X if name not in numbers and X[name].nunique() <= N_CATEGORIES
    ]
    features = X[numbers].astype(float).fillna(-1)
    if others:
        categories = pd.get_dummies(X[others].astype(str), dtype=float)
        features = pd.concat([features, categories], axis=1)
    features.columns = [f"{position}" for position in range(features.shape[1])]
    numeric = list(features.columns[: len(numbers)])
    return Task(features, numeric, y.to_numpy(int), groups.to_numpy(object))


def read_file(path: Path) -> pd.DataFrame:
    """Read a table, in which only empty cells are missing values."""
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    return pd.read_csv(path, keep_default_na=False, na_values=[""], low_memory=False)


def measure(parts: Split, methods: list[str]) -> dict[tuple[str, str], float]:
    """Area and accuracy of each method for one split; the plain gap, and its noise."""
    train, validation = (Rows(*(part[:N_ROWS] for part in rows)) for rows in parts[:2])
    test = parts.test
    scores = positive(make_plain().fit(train.X, train.y), test)
    rows = Table(encode_groups(test.groups), y_pred=scores)
    plain = point(test, scores)
    found = {
        ("area", "plain MCDP"): plain.mcdp,
        ("area", "noise"): mean_mcdp(rows).noise,
    }
    for method in methods:
        try:
            points = list(EVERY[method](train, validation, test))
        except Exception as error:
            # A method that fails has no value, and all others are still measured.
            print(f"  {method} fails: {type(error).__name__}: {error}"[:200])
            found["area", method] = found["accuracy", method] = np.nan
            continue
        scored = [each for each in points if not np.isnan(each.average_precision)]
        found["area", method] = area(plain, scored) if scored else np.nan
        found["accuracy", method] = accuracy(plain, points)
    return found


def compare(found: pd.DataFrame, gaps: pd.DataFrame, ours: str, peers: Any) -> None:
    """Print by how much a method leads the best peer of each table, losses first.

    Seeds count in which both have a value: methods may fail, and an accuracy at half
    the parity difference is undefined where none is as low.
    """
    lines, without = [], found[ours].isna().sum()
    for table, rows in found.groupby("table"):
        best = rows[peers].mean().fillna(-np.inf).idxmax()
        ahead = (rows[ours] - rows[best]).dropna()
        if len(ahead):
            gap = gaps.loc[table].mean()
            told = gap["plain MCDP"] > gap["noise"]
            error = ahead.std(ddof=1) / np.sqrt(len(ahead))
            lines.append((ahead.mean(), error, table, best, len(ahead), told))
    for ahead, error, table, best, n_seeds, told in sorted(lines):
        noise = "" if told else ", plain gap within noise"
        print(
            f"  {ahead:+.4f} +- {error:.4f}  {table} ({best}, {n_seeds} seeds{noise})"
        )
    every = np.array([line[0] for line in lines])
    told = np.array([line[5] for line in lines], dtype=bool)
    for name, means in (("all", every), ("with a gap above noise", every[told])):
        error = means.std(ddof=1) / np.sqrt(len(means))
        n_ahead = np.sum(means > 0)
        print(f"  {name}: {means.mean():+.4f} +- {error:.4f},", end="")
        print(f" ahead on {n_ahead} of {len(means)} tables")
    n_peers = found[peers].isna().all(axis=1).sum()
    print(f"  without a value: {ours} in {without} of {len(found)} cells, ", end="")
    print(f"all peers in {n_peers}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--methods", default=",".join(EVERY))
    parser.add_argument("--models", default="lightgbm")
    parser.add_argument("--shared", default="")
    options = parser.parse_args()
    descriptions = sorted(options.folder.glob("*.toml"))
    if not descriptions:
        parser.error(f"{options.folder} holds no TOML file.")
    shared = options.shared.split(",") if options.shared else []
    read: dict[str, Callable[[], Task]] = {
        **{one.stem: partial(read_task, one) for one in descriptions},
        **{name: partial(load_table, name) for name in shared},
    }
    methods = []
    for name in options.methods.split(","):
        if name in NEEDED and find_spec(NEEDED[name]) is None:
            print(f"{NEEDED[name]} is not installed: {name} is left out.")
        else:
            methods.append(name)
    warnings.simplefilter("ignore")
    lines: list[dict[Any, Any]] = []
    for name, fair_models.around in product(read, options.models.split(",")):
        task, cell = read[name](), f"{name}, {fair_models.around}"
        for seed in map(int, options.seeds.split(",")):
            found = measure(split(task, seed), methods)
            lines.append({("table", ""): cell, ("seed", ""): seed, **found})
            print(cell, seed, found, flush=True)
    every = pd.DataFrame(lines).set_index([("table", ""), ("seed", "")])
    every.columns = pd.MultiIndex.from_tuples(every.columns)
    every.index.names = ["table", "seed"]
    for measured in ("area", "accuracy"):
        table = every[measured]
        print(f"\n{measured}\n{table.groupby('table').mean().round(4).to_string()}")
        for ours, names in COMPARED.items():
            peers = [name for name in names if name in methods]
            if ours in methods and peers:
                print(f"\n{measured}: {ours} minus the best peer")
                compare(table, every["area"], ours, peers)


if __name__ == "__main__":
    main()

"""Mitigators and peers on any folder of tables, each with a small description.

    python benchmarks/any_tables.py FOLDER [--seeds 0,1,2,3,4] [--methods unaware,...]

FOLDER holds a TOML file for each table, such as `law.toml`:

    file = "law_school.csv.gz"   # CSV or Parquet, relative to the TOML file
    target = "pass_bar"
    positive = 1                 # the positive label, or above = a number or "median"
    group = "race"               # a column, or a list of columns: their intersection
    drop = ["male"]              # columns that are no features

Nothing is chosen by the results. Rows without target or group are left out. Columns of
numbers are features as they are, with -1 for missing; others are features with one
column for each category, unless they have more than 50. Groups of fewer than 200 rows
are one group, "other". Rows are split 40/30/30 by label for each seed; at most 3,000 of
the first part train, and at most 3,000 of the second repair. All methods are around one
LightGBM of 80 trees. Areas are those of `fair_models.py`; with the group, `band` and
`level` are this package's repairs, and `barycentre` is the path that EquiPy takes.
fairlearn's methods are left out where it is not installed.

It prints, for both kinds, the mean over seeds of each area, and then this package's
first choice (`unaware`, `band`) minus the best peer of the table, losses first.
"""

from __future__ import annotations

import argparse
import tomllib
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _paper_protocol import Rows, Split, Task, split
from fair_models import METHODS, area, make_plain, point, positive
from pandas.api.types import is_numeric_dtype
from repair_bands import SHARES_LEFT, WAYS

#: Most rows of a part, most categories of a feature, and least rows of a group.
N_ROWS, N_CATEGORIES, N_OF_GROUP = 3000, 50, 200
#: What is compared with the best of its peers, without and with the group.
COMPARED = {
    "unaware": ("expgrad", "gridsearch"),
    "band": ("barycentre",),
}
KEYS = {"file", "target", "positive", "above", "group", "drop"}


def read_task(description: Path) -> Task:
    """Read a table as its description says."""
    known = tomllib.loads(description.read_text(encoding="utf-8"))
    if unknown := set(known) - KEYS:
        raise ValueError(f"{description}: unknown {sorted(unknown)}, known: {KEYS}.")
    if ("positive" in known) == ("above" in known):
        raise ValueError(f"{description} must have one of positive and above.")
    table = read_file(description.parent / known["file"])
    columns = known["group"]
    columns = [columns] if isinstance(columns, str) else columns
    target = known["target"]
    table = table.dropna(subset=[target, *columns]).reset_index(drop=True)
    y, above = table[target], known.get("above")
    if above is not None:
        y = y > (y.median() if above == "median" else above)
    else:
        y = y == known["positive"]
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


def areas(parts: Split, methods: list[str]) -> dict[str, float]:
    """Area of each method for one split."""
    train, validation = (Rows(*(part[:N_ROWS] for part in rows)) for rows in parts[:2])
    test = parts.test
    model = make_plain().fit(train.X, train.y)
    scores = positive(model, test)
    plain, found = point(test, scores), {}
    for method in methods:
        if method in WAYS:
            held_out = positive(model, validation)
            repairs = [
                WAYS[method](held_out, validation.groups, share)
                for share in SHARES_LEFT
            ]
            points = [point(test, repair(scores, test.groups)) for repair in repairs]
        else:
            points = list(METHODS[method](train, test))
        found[method] = area(plain, points)
    return found


def compare(found: pd.DataFrame, ours: str, peers: list[str]) -> None:
    """Print by how much a method leads the best peer of each table, losses first."""
    by_table = found.groupby("table")
    best = by_table[peers].mean().idxmax(axis=1)
    lines = []
    for table, rows in by_table:
        ahead = rows[ours] - rows[best[table]]
        error = ahead.std(ddof=1) / np.sqrt(len(ahead))
        lines.append((ahead.mean(), error, table, best[table]))
    print(f"\n{ours} minus the best peer")
    for ahead, error, table, peer in sorted(lines):
        print(f"  {ahead:+.3f} +- {error:.3f}  {table} ({peer})")
    means = np.array([line[0] for line in lines])
    n_ahead = np.sum(means.round(3) > 0)
    print(f"  mean {means.mean():+.3f}, ahead on {n_ahead} of {len(means)} tables")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--methods", default=",".join({**METHODS, **WAYS}))
    options = parser.parse_args()
    descriptions = sorted(options.folder.glob("*.toml"))
    if not descriptions:
        parser.error(f"{options.folder} holds no TOML file.")
    methods = options.methods.split(",")
    if find_spec("fairlearn") is None:
        methods = [name for name in methods if name not in COMPARED["unaware"]]
        print("fairlearn is not installed: its methods are left out.")
    warnings.simplefilter("ignore")
    lines: list[dict[str, Any]] = []
    for description in descriptions:
        task = read_task(description)
        for seed in map(int, options.seeds.split(",")):
            found = areas(split(task, seed), methods)
            lines.append({"table": description.stem, "seed": seed, **found})
            print(lines[-1], flush=True)
    table = pd.DataFrame(lines)
    print(table.drop(columns="seed").groupby("table").mean().round(3).to_string())
    for ours, names in COMPARED.items():
        peers = [name for name in names if name in methods]
        if ours in methods and peers:
            compare(table, ours, peers)


if __name__ == "__main__":
    main()

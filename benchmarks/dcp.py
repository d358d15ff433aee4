"""Intervals of DCP and their time, and tables 1 and 2 of the DCP paper on other trees.

    python benchmarks/dcp.py random
    SKFAIR_DATA=path/to/tables python benchmarks/dcp.py census

`random`: near-fair (a common matrix mixed with up to 10 % of noise for each group),
mixed (Dirichlet around a common matrix) and sparse (counts of 2 to 30 rows, with many
zeros).

`census`, about a minute: decision trees on the US census of 1990, the state of work as
group, as in tables 1 and 2: DCP of their confusion matrices, and an upper bound of
minDCP of their frequencies alone, beside the printed values. It needs a file that no
address has, and says which.
"""

from __future__ import annotations

import argparse
import itertools
import time
from typing import Any

import numpy as np
import pandas as pd
from _tables import read_table
from sklearn.tree import DecisionTreeClassifier

from skfair.metrics import DCPResult, dcp_bounds, min_dcp_bounds

KINDS = ("near-fair", "mixed", "sparse")
#: Classes and groups.
SIZES = (3, 5), (3, 51), (4, 20), (5, 51), (6, 20), (7, 51), (8, 10), (10, 20), (10, 51)
#: What the file of `census` is, and where it comes from.
CENSUS = (
    "UCI, US Census Data (1990): 50,000 rows of the raw coding, with a header of its "
    "column names"
)
#: Tables 1 and 2 of the paper, decision trees: error, DCP and minDCP in per cent. The
#: paper gives no names: rows are in the order of classes and columns.
PRINTED = {
    "AINCOME1": ("11.74", "5.39 to 7.65", "2.47"),
    "AINCOME2": ("5.71", "4.35 to 5.28", "1.11"),
    "AINCOME3": ("3.96", "3.24 to 3.25", "1.20"),
    "AINCOME4": ("5.15", "4.24 to 4.25", "0.84"),
    "AINCOME5": ("3.36", "2.65 to 3.81", "0.98"),
    "AINCOME6": ("1.85", "1.85", "1.13"),
    "AINCOME7": ("1.96", "1.96", "1.11"),
    "AINCOME8": ("2.32", "2.28", "0.68"),
    "SCHOOL": ("14.00", "4.57 to 6.10", "1.99"),
    "MILITARY": ("3.91", "1.48 to 1.49", "1.07"),
    "ENGLISH": ("5.61", "2.06 to 3.91", "2.08"),
    "RAGECHLD": ("11.83", "4.57 to 8.28", "3.13"),
    "RSPOUSE": ("0.87", "0.86", "0.32"),
    "CLASS": ("22.61", "8.29 to 23.61", "4.08"),
    "RIDERS": ("21.54", "5.03 to 6.17", "2.38"),
}
#: Seconds for one instance of at most 5, 7 and 10 classes.
LIMITS = {5: 10, 7: 60, 10: 180}


def random_instance(k: int, n_groups: int, kind: str, seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng([k, n_groups, KINDS.index(kind), seed])
    base = rng.dirichlet(np.ones(k), k)
    confusion = np.empty((n_groups, k, k))
    for a, y in np.ndindex(n_groups, k):
        if kind == "near-fair":
            share = rng.uniform(0, 0.1)
            confusion[a, y] = (1 - share) * base[y] + share * rng.dirichlet(np.ones(k))
        elif kind == "mixed":
            confusion[a, y] = rng.dirichlet(8 * base[y] + 0.3)
        else:
            n_rows = rng.integers(2, 30)
            confusion[a, y] = rng.multinomial(n_rows, base[y]) / n_rows
    weights = rng.dirichlet(np.full(n_groups, 2.0))
    return confusion, weights, rng.dirichlet(np.full(k, 3.0), n_groups)


def bound(name: str, arguments: tuple[Any, ...]) -> None:
    """Print the interval of an instance, and its time."""
    start, n_classes = time.perf_counter(), arguments[0].shape[1]
    limit = next(limit for most, limit in LIMITS.items() if n_classes <= most)
    result = dcp_bounds(*arguments, time_limit=limit)
    elapsed = time.perf_counter() - start
    print(
        f"{name:24s} {result.lower:.5f} {result.upper:.5f} {elapsed:6.1f} s", flush=True
    )


def random_instances() -> None:
    """Bound instances of all sizes and kinds."""
    for (k, n_groups), kind in itertools.product(SIZES, KINDS):
        bound(f"{k} x {n_groups} {kind}", random_instance(k, n_groups, kind, 0))


def census() -> None:
    """Bound DCP and minDCP of trees for each column with 3 to 10 classes."""
    table = read_table("us_census_1990_raw_50k.csv.gz", CENSUS)
    table = table[(table["POWSTATE"] > 0) & (table["POWSTATE"] < 90)]
    sizes = table.nunique()
    train = np.random.default_rng(0).random(len(table)) < 0.5
    columns = table.columns[(sizes >= 3) & (sizes <= 10)]
    print(
        "| column | classes | error, % (printed) | DCP printed, % | DCP measured, % "
        "| minDCP printed, % | minDCP measured, % |"
    )
    print("|---|---|---|---|---|---|---|")
    n_below = n_imperfect = 0
    for name in sorted(columns, key=lambda name: sizes[name]):
        if table[name].value_counts(normalize=True).iloc[0] > 0.95:
            continue
        features = table.drop(columns=[name, "POWSTATE"]).select_dtypes("number")
        tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
        tree.fit(features[train], table.loc[train, name])
        y, y_pred = table.loc[~train, name], tree.predict(features[~train])
        groups = table.loc[~train, "POWSTATE"]
        rows = {"sensitive_features": groups.to_numpy()}
        whole = DCPResult.from_predictions(y.to_numpy(), y_pred, **rows)
        counts = [pd.crosstab(groups, each) for each in (y, y_pred)]
        counts[1] = counts[1].reindex(columns=counts[0].columns, fill_value=0)
        shares = [each.div(each.sum(axis=1), axis=0) for each in counts]
        # So wide a tolerance leaves out the lower bound, which takes minutes.
        options = {"tol": 0.5, "n_starts": 1, "random_state": 0}
        least = min_dcp_bounds(groups.value_counts(), *shares, **options)
        n_below += least.upper < whole.lower
        n_imperfect += whole.lower > 0
        error, dcp, local = PRINTED.get(name, ("", "", ""))
        print(
            f"| {name} | {sizes[name]} | {100 * np.mean(y != y_pred):.2f} ({error}) "
            f"| {dcp} | {100 * whole.lower:.2f} to {100 * whole.upper:.2f} "
            f"| {local} | {100 * least.upper:.2f} |",
            flush=True,
        )
    print(f"minDCP is below DCP for {n_below} of {n_imperfect} columns with a DCP")


if __name__ == "__main__":
    parts = {"random": random_instances, "census": census}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=parts)
    try:
        parts[parser.parse_args().part]()
    except FileNotFoundError as error:
        parser.exit(1, f"{error}\n")

"""Intervals of DCP, and the time that they take.

    python benchmarks/dcp.py random
    SKFAIR_DATA=path/to/tables python benchmarks/dcp.py census

`random`: near-fair (a common matrix mixed with up to 10 % of noise for each group),
mixed (Dirichlet around a common matrix) and sparse (counts of 2 to 30 rows, with many
zeros). `census`: decision trees on the US census of 1990, the state of work as group,
as the paper's Table 1.
"""

from __future__ import annotations

import argparse
import itertools
import time
from typing import Any

import numpy as np
from _tables import read_table
from sklearn.tree import DecisionTreeClassifier

from skfair._utils._arrays import shares_of_sums
from skfair.metrics import dcp_bounds
from skfair.metrics._dcp import DCP

KINDS = ("near-fair", "mixed", "sparse")
#: Classes and groups.
SIZES = (3, 5), (3, 51), (4, 20), (5, 51), (6, 20), (7, 51), (8, 10), (10, 20), (10, 51)
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
    """Bound decision trees for each column with 3 to 10 classes."""
    table = read_table("us_census_1990_raw_50k.csv.gz", "UCI, US Census Data (1990)")
    table = table[(table["POWSTATE"] > 0) & (table["POWSTATE"] < 90)]
    sizes = table.nunique()
    train = np.random.default_rng(0).random(len(table)) < 0.5
    for name in table.columns[(sizes >= 3) & (sizes <= 10)]:
        if table[name].value_counts(normalize=True).iloc[0] > 0.95:
            continue
        features = table.drop(columns=[name, "POWSTATE"]).select_dtypes("number")
        tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
        tree.fit(features[train], table.loc[train, name])
        rows = DCP().tabulate(
            table.loc[~train, name].to_numpy(),
            tree.predict(features[~train]),
            table.loc[~train, "POWSTATE"].to_numpy(),
        )
        of_labels = rows.matrices.sum(axis=2)
        of_groups = shares_of_sums(rows.totals)
        bound(
            f"{name}, {len(rows.classes)} classes",
            (shares_of_sums(rows.matrices), of_groups, shares_of_sums(of_labels)),
        )


if __name__ == "__main__":
    parts = {"random": random_instances, "census": census}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=parts)
    parts[parser.parse_args().part]()

"""DCP: our intervals against the paper's methods.

    python benchmarks/dcp.py random
    SKFAIR_DATA=path/to/tables python benchmarks/dcp.py census

`random`: near-fair (a common matrix mixed with up to 10 % of noise for each group),
mixed (Dirichlet around a common matrix) and sparse (counts of 2 to 30 rows, with many
zeros). `census`: decision trees on the US census of 1990, the state of work as group,
as the paper's Table 1. Upper bounds of the paper's methods are evaluated on the true
matrices, not on the clipped ones on which they are found, with and without the small
values that clipping leaves in the baseline; the better of the two is printed. Every
instance is made here from a fixed seed.
"""

from __future__ import annotations

import argparse
import itertools
import time
from typing import Any

import _paper_dcp as paper
import numpy as np
from _tables import read_table
from sklearn.tree import DecisionTreeClassifier

from skfair.metrics import dcp_bounds
from skfair.statistics import GroupedConfusion

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


def unclipped(baseline: Any) -> Any:
    """Put back the zeros that clipping has lifted."""
    kept = np.where(baseline > 2 * paper.CLIP, baseline, 0.0)
    return kept / kept.sum(axis=1, keepdims=True)


def true_loss(baseline: Any, confusion: Any, weights: Any) -> float:
    return sum(
        paper.objective(baseline[y], confusion[:, y], weights[:, y])
        for y in range(len(baseline))
    )


def compare(name: str, given: tuple[Any, ...]) -> None:
    """Print one row: our interval and the paper's bounds."""
    confusion, group_weights, frequencies = given
    weights = group_weights[:, None] * frequencies
    k = weights.shape[1]
    start = time.perf_counter()
    limit = next(seconds for classes, seconds in LIMITS.items() if k <= classes)
    ours = dcp_bounds(*given, time_limit=limit)
    elapsed = time.perf_counter() - start
    lower = sum(paper.lower_bound(confusion[:, y], weights[:, y]) for y in range(k))
    rng = np.random.default_rng(0)
    theirs = [
        min(
            true_loss(rows, confusion, weights)
            for rows in (baseline, unclipped(baseline))
        )
        for baseline in paper.upper_bounds(confusion, weights, rng).values()
    ]
    attained = abs(true_loss(ours.baseline, confusion, weights) - ours.upper) < 1e-9
    right = attained and ours.upper <= min(theirs) + 1e-9
    print(
        f"{name:24s} {ours.lower:.5f} {ours.upper:.5f} {elapsed:6.1f} s | {lower:.5f} "
        + " ".join(f"{value:.5f}" for value in theirs)
        + ("" if right else "  FAILED"),
        flush=True,
    )


def random_instances() -> None:
    """Compare instances of all sizes and kinds."""
    for (k, n_groups), kind in itertools.product(SIZES, KINDS):
        compare(f"{k} x {n_groups} {kind}", random_instance(k, n_groups, kind, 0))


def census() -> None:
    """Compare decision trees for each column with 3 to 10 classes."""
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
        statistic = GroupedConfusion.from_predictions(
            table.loc[~train, name].to_numpy(),
            tree.predict(features[~train]),
            sensitive_features=table.loc[~train, "POWSTATE"].to_numpy(),
        )
        compare(
            f"{name}, {len(statistic.classes)} classes",
            (
                statistic.confusion,
                statistic.group_weights,
                statistic.label_frequencies,
            ),
        )


if __name__ == "__main__":
    parts = {"random": random_instances, "census": census}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=parts)
    print("instance  lower  upper  time | paper: lower, upper bounds of four methods")
    parts[parser.parse_args().part]()

"""Measures `MCDPBoostingClassifier` against its targets.

    SKFAIR_DATA=<folder of the tables> python benchmarks/boosting.py

Splits 40/30/30, the groups are not features, figures are means over the test rows of
five splits, with three random states each, which choose the rows held out and the
halves of the rows that probabilities of groups are learnt from. 80 trees of LightGBM
with its defaults.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _paper_protocol import SEEDS, measure
from _tables import Split, split_table
from lightgbm import LGBMClassifier

from skfair.inprocessing import MCDPBoostingClassifier

N_SMALL, N_DRAWS = 3000, 3
STRENGTHS = {
    "adult": (0.0, 0.1, 0.2, 0.3, 0.35, 0.48, 0.7),
    "bank": (0.0, 0.1, 0.2, 0.35, 0.4, 0.5, 1.0),
    "census": (0.0, 0.1, 0.2, 0.3, 0.5, 0.7),
}
#: Least AP and largest MCDP(0) to reach together, between strengths if need be.
TARGETS = {"adult": [(0.78, 0.058), (0.795, 0.088)], "bank": [(0.649, 0.09)]}
#: The same with the share of the plain classifier's AP, on a small table.
SMALL_TARGETS = {"census": [(0.99, 0.23), (0.95, 0.09)]}


def make() -> Any:
    return LGBMClassifier(n_estimators=80, n_jobs=1, verbose=-1)


def fit(parts: Split, seed: int, strength: float) -> MCDPBoostingClassifier:
    model = MCDPBoostingClassifier(make(), strength=strength, random_state=seed)
    rows = parts.train
    return model.fit(rows.X, rows.y, sensitive_features=rows.groups)


def quality(table: str, n_train: int | None, strength: float) -> np.ndarray:
    """AP, its share of plain AP, MCDP(0), that of training rows; means, deviations."""
    found = []
    for seed in SEEDS:
        parts = split_table(table, seed, n_train)
        plain = make().fit(parts.train.X, parts.train.y)
        least = measure(parts.test, plain.predict_proba(parts.test.X)[:, 1])
        drawn = []
        for draw in range(N_DRAWS if strength else 1):
            model = fit(parts, seed + 100 * draw, strength)
            test, train = (
                measure(rows, model.predict_proba(rows.X)[:, 1])
                for rows in (parts.test, parts.train)
            )
            share = test["ap"] / least["ap"]
            drawn.append([test["ap"], share, test["mcdp"], train["mcdp"]])
        found.append(np.mean(drawn, axis=0))
    return np.array([np.mean(found, axis=0), np.std(found, axis=0, ddof=1)])


def row(what: str, values: np.ndarray) -> None:
    names = ("AP", "AP share", "MCDP(0)", "training MCDP(0)")
    shown = [
        f"{name} {mean:.4f} +- {deviation:.4f}"
        for name, mean, deviation in zip(names, *values, strict=True)
    ]
    print(f"{what:<16}", *shown, sep="   ", flush=True)


def curve(table: str, n_train: int | None, column: int, targets: Any) -> None:
    """Print one line for each strength, and interpolate to see which are reached."""
    print(f"\n{table}, {n_train or 'all'} training rows")
    means = []
    for strength in STRENGTHS[table]:
        values = quality(table, n_train, strength)
        row(f"strength {strength}", values)
        means.append(values[0])
    gaps, values = np.array(sorted((m[2], m[column]) for m in means)).T
    for least, most in targets:
        found = float(np.interp(most, gaps, values))
        name = ("AP", "AP share")[column]
        verdict = "reached" if found >= least else "MISSED"
        print(f"{name} at MCDP(0) {most}: {found:.4f} (at least {least}: {verdict})")


def main() -> None:
    for table, targets in TARGETS.items():
        curve(table, None, 0, targets)
    for table, targets in SMALL_TARGETS.items():
        curve(table, N_SMALL, 1, targets)


if __name__ == "__main__":
    main()

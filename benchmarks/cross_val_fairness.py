"""What folds say about the disparity of a model, against rows that nobody used.

    python benchmarks/cross_val_fairness.py simulated
    SKFAIR_DATA=tables python benchmarks/cross_val_fairness.py adult

For each number of training rows: the mean of MCDP over five folds, `value` and
`corrected` of `cross_val_fairness`, and the value of a model fitted to all training
rows, on many rows that were left out. Five groups: race on Adult, where race is no
feature, and five of unequal sizes in the simulation. Means over seeds.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from skfair.datasets import fetch_adult, make_biased_classification
from skfair.metrics import get_fairness_scorer, mcdp
from skfair.model_selection import GroupStratifiedKFold, cross_val_fairness
from skfair.postprocessing import MADDPostProcessor

COLUMNS = ("fold mean", "together", "corrected", "new rows")
SHARES = {"a": 0.62, "b": 0.2, "c": 0.1, "d": 0.05, "e": 0.03}
#: Training rows, their labels, and rows for the test, each with a column of groups.
Task = tuple[pd.DataFrame, np.ndarray, pd.DataFrame]


def simulated(n_rows: int, shift: float) -> Callable[[int], Task]:
    """Draw training rows, and a hundred thousand others."""

    def draw(seed: int) -> Task:
        shifts = dict(zip(SHARES, shift * np.array([0.5, 0, 1, 0.3, 0.7]), strict=True))
        X, y = make_biased_classification(
            n_rows + 100_000,
            group_sizes={"group": SHARES},
            score_shifts={"group": shifts},
            random_state=seed,
        )
        return X[:n_rows], y[:n_rows], X[n_rows:]

    return draw


def adult(n_rows: int) -> Callable[[int], Task]:
    """Draw training rows of Adult; all others are new."""
    table = fetch_adult()
    X = pd.get_dummies(table.data.drop(columns=["fnlwgt", "race"]), dtype=float)
    X.columns = [f"x{i}" for i in range(X.shape[1])]
    X["group"] = table.data["race"].astype(str).to_numpy()
    y = (table.target == ">50K").to_numpy(int)

    def draw(seed: int) -> Task:
        rows = np.random.default_rng(seed).permutation(len(y))
        train, new = rows[:n_rows], rows[n_rows:]
        return X.iloc[train], y[train], X.iloc[new]

    return draw


def without_group(classifier: Any) -> Any:
    """Fit a classifier to all columns but the group."""
    drop = make_column_transformer(("drop", ["group"]), remainder="passthrough")
    return make_pipeline(drop, classifier)


def compare(model: Any, task: Task) -> Iterator[float]:
    """Yield the numbers of `COLUMNS`."""
    X, y, X_new = task
    folds = GroupStratifiedKFold(5, sensitive_features="group")
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="group")
    yield -np.nanmean(cross_val_score(model, X, y, cv=folds, scoring=scorer))
    draws = {"n_resamples": 1, "n_permutations": 99, "random_state": 0}
    result = cross_val_fairness(mcdp, model, X, y, sensitive_features="group", **draws)
    yield result.value
    yield result.corrected
    scores = clone(model).fit(X, y).predict_proba(X_new)[:, 1]
    yield mcdp(None, scores, sensitive_features=X_new["group"])


def print_rows(name: str, model: Any, draw: Callable[[int], Task], n: int) -> None:
    """Print the means over n seeds, and the standard error of each."""
    values = np.array([list(compare(model, draw(seed))) for seed in range(n)])
    means, errors = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(n)
    cells = "".join(f"{m:9.3f} +-{e:.3f}" for m, e in zip(means, errors, strict=True))
    print(f"{name:32}{cells}", flush=True)


def main() -> None:
    """Print a table for one source of rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", choices=("simulated", "adult"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, nargs="+", default=[3_000, 12_000])
    options = parser.parse_args()
    # Groups are absent from folds of few rows; nanmean leaves these folds out.
    warnings.simplefilter("ignore")
    print(" " * 32 + "".join(f"{name:>16}" for name in COLUMNS))
    if options.source == "adult":
        trees = HistGradientBoostingClassifier(max_iter=80, random_state=0)
        for n_rows in options.rows:
            name = f"Adult, boosted, {n_rows} rows"
            print_rows(name, without_group(trees), adult(n_rows), options.seeds)
        return
    plain = without_group(LogisticRegression())
    repair = MADDPostProcessor(
        LogisticRegression(), sensitive_features="group", drop_sensitive=True
    )
    for n_rows in options.rows:
        for shift in (0.0, 0.5, 2.0):
            draw = simulated(n_rows, shift)
            print_rows(f"shift {shift}, {n_rows} rows", plain, draw, options.seeds)
        draw = simulated(n_rows, 2.0)
        print_rows(f"shift 2.0, {n_rows} rows, repaired", repair, draw, options.seeds)


if __name__ == "__main__":
    main()

"""What folds say about the disparity of a model, against rows that nobody used.

    SKFAIR_DATA=tables python benchmarks/cross_val_fairness.py adult [--seeds 5]
    python benchmarks/cross_val_fairness.py coverage [--seeds 8] [--metric parity]

`adult` prints, for each number of training rows, the mean of MCDP over five folds,
`value` and `corrected` of `cross_val_fairness`, and the value of a model fitted to all
training rows, on the rows that were left out, by race, which is not a feature.

`coverage` simulates 12 cells, and prints the truth (the model fitted to all rows, on
20,000 new rows), `value`, and the shares of intervals that cover the truth, of
`cross_val_fairness` and of the basic bootstrap of the same held-out rows.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from skfair.datasets import fetch_adult, make_biased_classification
from skfair.metrics import bootstrap_interval, demographic_parity_difference, mcdp
from skfair.model_selection import GroupStratifiedKFold, cross_val_fairness

N_NEW = 20_000
METRICS: dict[str, Callable[..., float]] = {
    "mcdp": mcdp,
    "parity": partial(demographic_parity_difference, threshold=0.5),
}
#: Share of each group, and its shift of the scores where there is a gap.
GROUPS = {
    2: ({"a": 0.6, "b": 0.4}, {"a": 0.0, "b": 1.0}),
    5: (
        {"a": 0.4, "b": 0.2, "c": 0.15, "d": 0.13, "e": 0.12},
        {"a": 0.5, "b": 0.0, "c": 1.0, "d": 0.3, "e": 0.7},
    ),
}
TREES = HistGradientBoostingClassifier(
    max_iter=20, max_leaf_nodes=7, min_samples_leaf=10, random_state=0
)
#: Classifier, and by how much the shifts are multiplied.
MODELS: dict[str, tuple[Any, float]] = {
    "logistic, no gap": (LogisticRegression(), 0.0),
    "logistic": (LogisticRegression(), 1.0),
    "20 small trees": (TREES, 1.0),
}


def adult(n_seeds: int) -> None:
    """Print the mean over folds beside the numbers of `cross_val_fairness`."""
    table = fetch_adult()
    X = pd.get_dummies(table.data.drop(columns=["fnlwgt", "race"]), dtype=float)
    race, y = table.data["race"].astype(str), (table.target == ">50K").to_numpy(int)
    model = HistGradientBoostingClassifier(max_iter=80, random_state=0)
    for n_rows in 3_000, 12_000:
        values = []
        for seed in range(n_seeds):
            rows = np.random.default_rng(seed).permutation(len(y))
            train, new = rows[:n_rows], rows[n_rows:]
            groups = {"sensitive_features": race.iloc[train]}
            draws = {"n_resamples": 1, "n_permutations": 99, "random_state": 0}
            result = cross_val_fairness(
                mcdp, model, X.to_numpy()[train], y[train], **draws, **groups
            )
            fitted = clone(model).fit(X.to_numpy()[train], y[train])
            scores = fitted.predict_proba(X.to_numpy()[new])[:, 1]
            truth = mcdp(None, scores, sensitive_features=race.iloc[new])
            mean = np.nanmean(result.fold_values)
            values.append((mean, result.value, result.corrected, truth))
        means = ", ".join(f"{value:.3f}" for value in np.mean(values, axis=0))
        print(f"{n_rows} rows: folds, together, corrected, new rows: {means}")


def measure(
    metric: Any, model: Any, n_rows: int, n_groups: int, gap: float, seed: int
) -> list[float]:
    """Return truth, value and whether both intervals cover, for one sample."""
    sizes, shifts = GROUPS[n_groups]
    X, y = make_biased_classification(
        n_rows + N_NEW,
        group_sizes={"group": sizes},
        score_shifts={"group": {label: gap * shifts[label] for label in shifts}},
        random_state=seed,
    )
    groups = X.pop("group").to_numpy()
    train, new = slice(0, n_rows), slice(n_rows, None)
    rows = {"sensitive_features": groups[train], "random_state": seed}
    draws = {"n_resamples": 99, "n_permutations": 99}
    result = cross_val_fairness(metric, model, X[train], y[train], **draws, **rows)
    folds = GroupStratifiedKFold(5).split(X[train], y[train], groups[train])
    options = {"cv": list(folds), "method": "predict_proba"}
    held_out = cross_val_predict(model, X[train], y[train], **options)[:, 1]
    basic = bootstrap_interval(metric, None, held_out, n_resamples=99, **rows)
    scores = clone(model).fit(X[train], y[train]).predict_proba(X[new])[:, 1]
    truth = metric(None, scores, sensitive_features=groups[new])
    covers = [each.lower <= truth <= each.upper for each in (result, basic)]
    return [truth, result.value, *covers]


def coverage(n_seeds: int, metric: str) -> None:
    """Print a row for each cell, and the means of all cells."""
    columns = ["truth", "value", "covers", "bootstrap covers"]
    rows = {}
    for n_rows, n_groups, name in product((200, 1000), GROUPS, MODELS):
        model, gap = MODELS[name]
        cell = METRICS[metric], model, n_rows, n_groups, gap
        samples = [measure(*cell, seed) for seed in range(n_seeds)]
        rows[f"{n_rows} rows, {n_groups} groups, {name}"] = np.mean(samples, axis=0)
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    table.loc["mean"] = table.mean()
    print(table.round(3).to_string())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("adult", "coverage"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--metric", choices=METRICS, default="mcdp")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of groups that are absent from a fold
    if options.part == "adult":
        adult(options.seeds)
    else:
        coverage(options.seeds, options.metric)


if __name__ == "__main__":
    main()

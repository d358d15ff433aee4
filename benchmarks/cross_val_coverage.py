"""How often the interval of `cross_val_fairness` covers the disparity of new rows.

    python benchmarks/cross_val_coverage.py [--seeds 0 100] [--metric parity]
        [--models plain|unstable]

In each of 12 cells the truth is the disparity of the model fitted to all rows, on
20,000 new rows. The columns are means over seeds of the truth, of `value` and
`corrected`, of the width of the interval, and the shares of intervals that cover the
truth, that lie above it and that lie below it. The last columns are the coverage and
the width of the basic bootstrap interval of the same held-out rows.
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
from sklearn.tree import DecisionTreeClassifier

from skfair.datasets import make_biased_classification
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
#: Name, classifier, and by how much the shifts are multiplied.
MODELS: dict[str, list[tuple[str, Any, float]]] = {
    "plain": [
        ("logistic, no gap", LogisticRegression(), 0.0),
        ("logistic", LogisticRegression(), 1.0),
        (
            "20 small trees",
            HistGradientBoostingClassifier(
                max_iter=20, max_leaf_nodes=7, min_samples_leaf=10, random_state=0
            ),
            1.0,
        ),
    ],
    "unstable": [
        ("one tree, no gap", DecisionTreeClassifier(max_depth=4, random_state=0), 0.0),
        ("one tree", DecisionTreeClassifier(max_depth=4, random_state=0), 1.0),
        ("100 trees", HistGradientBoostingClassifier(random_state=0), 1.0),
    ],
}
COLUMNS = (
    "truth",
    "value",
    "corrected",
    "width",
    "covers",
    "above",
    "below",
    "bootstrap covers",
    "its width",
)


def measure(
    metric: Callable[..., float],
    model: Any,
    n_rows: int,
    n_groups: int,
    gap: float,
    seed: int,
) -> list[float]:
    """Return the numbers of `COLUMNS` for one sample."""
    sizes, shifts = GROUPS[n_groups]
    X, y = make_biased_classification(
        n_rows + N_NEW,
        group_sizes={"group": sizes},
        score_shifts={"group": {label: gap * shifts[label] for label in shifts}},
        random_state=seed,
    )
    groups = X.pop("group").to_numpy()
    train, new = slice(0, n_rows), slice(n_rows, None)
    given = {"sensitive_features": groups[train], "random_state": seed}
    draws = {"n_resamples": 99, "n_permutations": 99}
    found = cross_val_fairness(metric, model, X[train], y[train], **draws, **given)
    folds = GroupStratifiedKFold(5).split(X[train], y[train], groups[train])
    held_out = cross_val_predict(
        model, X[train], y[train], cv=list(folds), method="predict_proba"
    )[:, 1]
    basic = bootstrap_interval(metric, None, held_out, n_resamples=99, **given)
    scores = clone(model).fit(X[train], y[train]).predict_proba(X[new])[:, 1]
    truth = metric(None, scores, sensitive_features=groups[new])
    return [
        truth,
        found.value,
        found.corrected,
        found.upper - found.lower,
        found.lower <= truth <= found.upper,
        truth < found.lower,
        truth > found.upper,
        basic.lower <= truth <= basic.upper,
        basic.upper - basic.lower,
    ]


def main() -> None:
    """Print a row for each cell, and the means of all cells."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs=2, default=[0, 100])
    parser.add_argument("--metric", choices=METRICS, default="mcdp")
    parser.add_argument("--models", choices=MODELS, default="plain")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of groups that are absent from a fold
    rows = {}
    for n_rows, n_groups, (name, model, gap) in product(
        (200, 1000), GROUPS, MODELS[options.models]
    ):
        samples = [
            measure(METRICS[options.metric], model, n_rows, n_groups, gap, seed)
            for seed in range(*options.seeds)
        ]
        rows[f"{n_rows} rows, {n_groups} groups, {name}"] = np.mean(samples, axis=0)
        print(f"{len(rows)} of 12 cells", flush=True)
    table = pd.DataFrame.from_dict(rows, orient="index", columns=COLUMNS)
    table.loc["mean"] = table.mean()
    print(table.round(3).to_string())


if __name__ == "__main__":
    main()

"""What two fairness scorers add to the time of a search on Adult.

    OMP_NUM_THREADS=1 python benchmarks/search_overhead.py    # about 20 minutes

A `GridSearchCV` over 3 x 5 settings of boosted trees with five folds, scored by
accuracy and average precision, against the same search that scores MCDP and MADD by sex
as well, in alternation. Average precision by name uses `decision_function`, fairness
metrics use `predict_proba`, so that the search predicts twice for each fold; with
``response_method="predict_proba"`` it is the same number of one response.
"""

from __future__ import annotations

import argparse
from typing import Any

import pandas as pd
from _timing import processor_seconds
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score, make_scorer
from sklearn.model_selection import GridSearchCV

from skfair.datasets import fetch_adult
from skfair.metrics import get_fairness_scorer

FAIRNESS = {
    name: get_fairness_scorer(name, sensitive_features="sex")
    for name in ("neg_mcdp", "neg_madd")
}
PRECISIONS = {
    "precision of predict_proba": make_scorer(
        average_precision_score, response_method="predict_proba"
    ),
    "precision by name": "average_precision",
}
GRID = {
    "max_leaf_nodes": [7, 15, 31],
    "learning_rate": [0.05, 0.1, 0.15, 0.2, 0.3],
}


def search(X: pd.DataFrame, y: pd.Series, scoring: dict[str, Any]) -> None:
    """Search over the size and the learning rate of boosted trees."""
    model = HistGradientBoostingClassifier(
        categorical_features="from_dtype", max_iter=50, random_state=0
    )
    options = {"refit": False, "cv": 5, "error_score": "raise"}
    GridSearchCV(model, GRID, scoring=scoring, **options).fit(X, y)


def main() -> None:
    """Print the ratio of the least times of both searches."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=None, help="all by default")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    adult = fetch_adult()
    X = adult.data.drop(columns="fnlwgt")[: options.rows]
    y = (adult.target == ">50K").astype(int)[: options.rows]
    for name, precision in PRECISIONS.items():
        plain = {"accuracy": "accuracy", "average_precision": precision}
        times = [
            [
                processor_seconds(lambda s=scoring: search(X, y, s))
                for scoring in ({**plain, **FAIRNESS}, plain)
            ]
            for _ in range(options.repeats)
        ]
        ours, theirs = (min(column) for column in zip(*times, strict=True))
        print(f"{name}: {ours:.1f} s against {theirs:.1f} s, {ours / theirs:.3f} times")


if __name__ == "__main__":
    main()

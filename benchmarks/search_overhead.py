"""What two fairness scorers add to the time of a search on Adult.

A `GridSearchCV` over 3 x 5 settings with five folds, scored by accuracy and average
precision, against the same search that scores MCDP and MADD by sex as well. The two
searches alternate, so that changes of the machine's speed cancel out. Processor time is
compared, which other programs affect less::

    OMP_NUM_THREADS=1 python benchmarks/search_overhead.py    # about 20 minutes

scikit-learn calls each response method once for all scorers. Its average precision uses
`decision_function` where a model has one, fairness metrics use `predict_proba`, so the
search predicts twice for each fold. With ``response_method="predict_proba"``, average
precision is the same number, computed from the response that the other scorers use.
"""

from __future__ import annotations

import argparse
from statistics import median
from typing import Any

import pandas as pd
from _timing import processor_seconds
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score, make_scorer
from sklearn.model_selection import GridSearchCV

from skfair.datasets import fetch_adult
from skfair.metrics import get_fairness_scorer
from skfair.postprocessing import MADDPostProcessor

FAIRNESS = {
    name: get_fairness_scorer(name, sensitive_features="sex")
    for name in ("neg_mcdp", "neg_madd")
}
ACCURACY = {"accuracy": "accuracy"}
BY_NAME = {**ACCURACY, "average_precision": "average_precision"}
OF_PROBABILITIES = {
    **ACCURACY,
    "average_precision": make_scorer(
        average_precision_score, response_method="predict_proba"
    ),
}
#: How much longer the search may take.
TARGET = 1.05


def load(n_rows: int | None) -> tuple[pd.DataFrame, pd.Series]:
    """Adult, or its first rows."""
    adult = fetch_adult()
    X, y = adult.data.drop(columns="fnlwgt"), (adult.target == ">50K").astype(int)
    return X[:n_rows], y[:n_rows]


def boosting() -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        categorical_features="from_dtype", max_iter=50, random_state=0
    )


def repaired() -> MADDPostProcessor:
    """Make a mitigator, which has no `decision_function`."""
    return MADDPostProcessor(
        boosting(), sensitive_features="sex", repair_level=0.5, cv=2
    )


def search(X: pd.DataFrame, y: pd.Series, model: Any, scoring: dict[str, Any]) -> None:
    """Search over the size and the learning rate of boosted trees."""
    prefix = "estimator__" if isinstance(model, MADDPostProcessor) else ""
    grid = {
        f"{prefix}max_leaf_nodes": [7, 15, 31],
        f"{prefix}learning_rate": [0.05, 0.1, 0.15, 0.2, 0.3],
    }
    GridSearchCV(
        model, grid, scoring=scoring, refit=False, cv=5, error_score="raise"
    ).fit(X, y)


CASES = {
    "boosting, precision of predict_proba": (boosting, OF_PROBABILITIES),
    "boosting repaired, precision by name": (repaired, BY_NAME),
    "boosting, precision by name": (boosting, BY_NAME),
}


def parts(X: pd.DataFrame, y: pd.Series) -> None:
    """Print what one fold costs: the fit, a response, and each metric."""
    n_test = len(X) // 5
    test, labels, model = X[:n_test], y[:n_test], boosting()
    fitting = processor_seconds(lambda: model.fit(X[n_test:], y[n_test:]))
    responding = processor_seconds(lambda: model.predict_proba(test))
    print(f"one fold: fit {fitting:.3f} s, one response {responding:.4f} s", end="")
    scores = model.predict_proba(test)[:, 1]

    def cached(*args: Any, **options: Any) -> Any:
        return scores

    for name, scorer in FAIRNESS.items():
        times = [
            processor_seconds(lambda s=scorer: s._score(cached, model, test, labels))
            for _ in range(9)
        ]
        print(f", {name} {median(times):.4f} s", end="")
    print()


def compare(name: str, X: pd.DataFrame, y: pd.Series, repeats: int) -> None:
    """Print the median ratio of pairs of searches, and whether it meets the target."""
    make, plain = CASES[name]
    both = {**plain, **FAIRNESS}
    times = [
        (
            processor_seconds(lambda: search(X, y, make(), both)),
            processor_seconds(lambda: search(X, y, make(), plain)),
        )
        for _ in range(repeats)
    ]
    ratios = sorted(ours / theirs for ours, theirs in times)
    ours, theirs = (median(column) for column in zip(*times, strict=True))
    verdict = "yes" if median(ratios) <= TARGET else "NO"
    print(
        f"{name:36s} {ours:7.1f} s against {theirs:7.1f} s   {median(ratios):.3f} x "
        f"({ratios[0]:.3f} to {ratios[-1]:.3f})   at most {TARGET} x   {verdict}",
        flush=True,
    )


def main() -> None:
    """Print the parts of one fold, then the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=None, help="all by default")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    X, y = load(arguments.rows)
    parts(X, y)
    for name in CASES:
        compare(name, X, y, arguments.repeats)


if __name__ == "__main__":
    main()

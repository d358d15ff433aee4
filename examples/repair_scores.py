"""Repair the scores of a classifier, and choose how much inside a search.

A model gives men far higher scores than women. It is audited, repaired and audited
again on test rows; then a search over the level of repair and a parameter of the model
shows how accuracy changes with MADD::

    python examples/repair_scores.py
    python examples/repair_scores.py --data adult

The first runs on simulated data. Adult is downloaded from OpenML, or read from the
directory that the environment variable SKFAIR_DATA names (adult.csv.gz).
"""

import argparse

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, average_precision_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from skfair.datasets import fetch_adult, make_biased_classification
from skfair.metrics import (
    bootstrap_interval,
    get_fairness_scorer,
    madd,
    mcdp,
    permutation_test,
)
from skfair.postprocessing import MADDPostProcessor


def load(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Features with a column "sex", and labels 0 and 1."""
    if name == "simulated":
        X, y = make_biased_classification(
            4_000,
            group_sizes={"sex": {"female": 0.35, "male": 0.65}},
            base_rates={"sex": {"female": 0.15, "male": 0.4}},
            random_state=0,
        )
        return X, pd.Series(y)
    adult = fetch_adult()
    # The survey weight is not a feature of a person.
    return adult.data.drop(columns="fnlwgt"), (adult.target == ">50K").astype(int)


def boosting() -> HistGradientBoostingClassifier:
    """Make the model to be repaired."""
    return HistGradientBoostingClassifier(
        categorical_features="from_dtype", max_iter=20, random_state=0
    )


def audit(name: str, model, X: pd.DataFrame, y: pd.Series) -> None:
    """Print quality and disparity on test rows, with 95 % intervals."""
    scores = model.predict_proba(X)[:, 1]
    rows = {"sensitive_features": X["sex"], "random_state": 0}
    print(
        f"{name}: accuracy {accuracy_score(y, model.predict(X)):.3f}, average "
        f"precision {average_precision_score(y, scores):.3f}"
    )
    for metric in (madd, mcdp):
        found = bootstrap_interval(metric, y, scores, n_resamples=200, **rows)
        null = permutation_test(metric, y, scores, n_permutations=99, **rows)
        print(
            f"  {metric.__name__} {found.statistic:.3f} "
            f"[{found.low:.3f}, {found.high:.3f}], "
            f"{null.null_mean:.3f} under shuffled groups"
        )


def search(X: pd.DataFrame, y: pd.Series) -> pd.DataFrame:
    """Tabulate accuracy and MADD over the level and the size of the trees."""
    repaired = MADDPostProcessor(
        boosting(), sensitive_features="sex", cv=3, random_state=0
    )
    grid = GridSearchCV(
        Pipeline([("keep", FunctionTransformer()), ("repair", repaired)]),
        {
            "repair__repair_level": [0.0, 0.9],
            "repair__estimator__max_leaf_nodes": [7, 31],
        },
        scoring={
            "accuracy": "accuracy",
            "neg_madd": get_fairness_scorer("neg_madd", sensitive_features="sex"),
        },
        refit=False,
        cv=3,
        error_score="raise",
    ).fit(X, y)
    results = pd.DataFrame(grid.cv_results_)
    columns = {
        "param_repair__repair_level": "level",
        "param_repair__estimator__max_leaf_nodes": "leaves",
        "mean_test_accuracy": "accuracy",
        "std_test_accuracy": "+-",
        "mean_test_neg_madd": "neg_madd",
        "std_test_neg_madd": "+- ",
    }
    return results[list(columns)].rename(columns=columns)


def main() -> None:
    """Audit, repair, audit, search; draw the repair where matplotlib is installed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", default="simulated", choices=["simulated", "adult"])
    parser.add_argument("--picture", default="repair_scores.png", help="file to save")
    arguments = parser.parse_args()

    try:
        X, y = load(arguments.data)
    except OSError as error:  # no network, or no such table
        raise SystemExit(f"{parser.prog}: {error}") from None
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=0
    )
    audit("before", boosting().fit(X, y), X_test, y_test)
    model = MADDPostProcessor(boosting(), sensitive_features="sex", random_state=0)
    model.fit(X, y)
    print(f"\nlevel of repair chosen at theta = 0.5: {model.repair_level_:.2f}")
    audit("after", model, X_test, y_test)
    print("\n3-fold search, mean and standard deviation over folds")
    print(search(X, y).round(3).to_string(index=False))
    try:
        from skfair.inspection import RepairDisplay

        display = RepairDisplay.from_estimator(model, X_test)
    except ImportError as error:
        print(f"\nNo picture: {error}")
    else:
        display.figure_.savefig(arguments.picture, dpi=150, bbox_inches="tight")
        print(f"\nPicture of the repair: {arguments.picture}")


if __name__ == "__main__":
    main()

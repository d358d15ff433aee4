"""Search a model and its repair together, and choose on the trade-off.

One grid search varies the size of boosted trees and the level of repair of their
scores. The rule "the fairest candidate with at least 95 % of the best average
precision" chooses one, which is then compared with the best performer on test rows::

    python examples/search_tradeoff.py
    python examples/search_tradeoff.py --data adult

The first runs on simulated data. Adult is downloaded from OpenML, or read from the
directory that the environment variable SKFAIR_DATA names (adult.csv.gz).
"""

import argparse

import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, train_test_split

from skfair.datasets import fetch_adult, make_biased_classification
from skfair.metrics import get_fairness_scorer, mcdp, permutation_test
from skfair.model_selection import (
    BestUnder,
    FairestWithin,
    GroupStratifiedKFold,
    pareto_front,
)
from skfair.postprocessing import MADDPostProcessor

METRICS = ["average_precision", "neg_mcdp"]


def load(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Features with a column "sex", and labels 0 and 1."""
    if name == "simulated":
        X, y = make_biased_classification(
            10_000,
            group_sizes={"sex": {"female": 0.35, "male": 0.65}},
            base_rates={"sex": {"female": 0.15, "male": 0.4}},
            random_state=0,
        )
        return X, pd.Series(y)
    adult = fetch_adult()
    # The survey weight is not a feature of a person.
    return adult.data.drop(columns="fnlwgt"), (adult.target == ">50K").astype(int)


def make_search() -> GridSearchCV:
    """Two sizes of trees, six levels of repair, folds that keep both sexes."""
    boosting = HistGradientBoostingClassifier(
        categorical_features="from_dtype", max_iter=50, random_state=0
    )
    search = GridSearchCV(
        MADDPostProcessor(boosting, sensitive_features="sex", cv=3, random_state=0),
        {
            "estimator__max_leaf_nodes": [4, 16],
            "repair_level": [0.0, 0.25, 0.5, 0.75, 0.9, 1.0],
        },
        scoring={
            "average_precision": "average_precision",
            "neg_mcdp": get_fairness_scorer("neg_mcdp", sensitive_features="sex"),
        },
        refit=FairestWithin("average_precision", "neg_mcdp", tolerance=0.95),
        cv=GroupStratifiedKFold(
            3, shuffle=True, random_state=0, sensitive_features="sex"
        ),
        error_score="raise",
    )
    try:
        from sklearn.callback import ProgressBar

        return search.set_callbacks(ProgressBar(max_propagation_depth=0))
    except ImportError:  # scikit-learn before 1.9, or no package rich
        return search


def describe(name: str, model, X: pd.DataFrame, y: pd.Series) -> None:
    """Print quality and disparity on test rows."""
    scores = model.predict_proba(X)[:, 1]
    found = permutation_test(
        mcdp, y, scores, sensitive_features=X["sex"], random_state=0, n_permutations=99
    )
    print(
        f"  {name}: average precision {average_precision_score(y, scores):.3f}, "
        f"MCDP {found.statistic:.3f} ({found.null_mean:.3f} under shuffled groups)"
    )


def main() -> None:
    """Search, choose, test; draw the trade-off where matplotlib is installed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--data",
        default="simulated",
        choices=["simulated", "adult"],
    )
    parser.add_argument("--picture", default="search_tradeoff.png", help="file to save")
    arguments = parser.parse_args()

    try:
        X, y = load(arguments.data)
    except OSError as error:  # no network, or no such table
        raise SystemExit(f"{parser.prog}: {error}") from None
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=0
    )
    search = make_search().fit(X, y)
    results = search.cv_results_

    front = pareto_front(results, METRICS)
    print("\nPareto front: candidates that no other candidate dominates")
    params = pd.json_normalize(front["params"]).set_index(front.index)
    print(params.join(front.drop(columns="params")).round(4).to_string())

    print(f"\n{search.refit}\n  chooses {search.best_params_}")
    limit = BestUnder(*METRICS, limit=0.1)
    print(f"{limit}\n  would choose {results['params'][limit(results)]}")

    print(f"\nOn {len(X_test):,} test rows")
    best = results["params"][results["mean_test_average_precision"].argmax()]
    plain = clone(search.estimator).set_params(**best).fit(X, y)
    describe("best performer", plain, X_test, y_test)
    describe("fairest within 95 %", search, X_test, y_test)
    try:
        from skfair.inspection import TradeOffDisplay

        display = TradeOffDisplay.from_cv_results(search)
    except ImportError as error:
        print(f"\nNo picture: {error}")
    else:
        display.figure_.savefig(arguments.picture, dpi=150, bbox_inches="tight")
        print(f"\nPicture of the trade-off: {arguments.picture}")


if __name__ == "__main__":
    main()

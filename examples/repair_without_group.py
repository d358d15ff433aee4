"""Fair scores where the group is known in training only.

The scores of a classifier are repaired by a second one that infers the group from the
same features. One cross-fit gives the whole trade-off between performance and
fairness, from which a strength is chosen; held-out figures are checked on test rows::

    python examples/repair_without_group.py
    python examples/repair_without_group.py --data adult --plot tradeoff.png

The first runs on simulated data. Adult is downloaded from OpenML, or read from the
directory that the environment variable SKFAIR_DATA names (adult.csv.gz).
"""

import argparse

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split

from skfair.datasets import fetch_adult, make_biased_classification
from skfair.inspection import TradeOffDisplay
from skfair.metrics import mcdp
from skfair.model_selection import BestUnder
from skfair.postprocessing import UnawarePostProcessor


def load(name: str) -> tuple[pd.DataFrame, pd.Series, pd.Series]:
    """Features without the group, labels 0 and 1, and groups."""
    if name == "simulated":
        X, y = make_biased_classification(
            3_000,
            group_sizes={"sex": {"female": 0.4, "male": 0.6}},
            score_shifts={"sex": {"male": 1.0}},
            random_state=0,
        )
        X["proxy"] = (X["sex"] == "male") + X.iloc[:, 0]  # features tell the group
        return X.drop(columns="sex"), pd.Series(y), X["sex"]
    adult = fetch_adult()
    X = adult.data.drop(columns=["fnlwgt", "sex"])
    return X, (adult.target == ">50K").astype(int), adult.data["sex"]


def report(name: str, model, X: pd.DataFrame, y: pd.Series, groups: pd.Series) -> None:
    """Print quality and disparity on test rows."""
    scores = model.predict_proba(X)[:, 1]
    precision = average_precision_score(y, scores)
    gap = mcdp(y, scores, sensitive_features=groups)
    print(f"{name:<28} average precision {precision:.3f}  MCDP {gap:.3f}")


def main() -> None:
    """Fit once, print the path, and compare three strengths on test rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=["simulated", "adult"], default="simulated")
    parser.add_argument("--plot", metavar="FILE", help="save a picture of the path")
    options = parser.parse_args()
    X, y, sex = load(options.data)
    X, X_test, y, y_test, sex, sex_test = train_test_split(
        X, y, sex, stratify=y, random_state=0
    )
    boosting = HistGradientBoostingClassifier(
        categorical_features="from_dtype", max_iter=30, random_state=0
    )
    model = UnawarePostProcessor(boosting, cv=3, random_state=0)
    model.fit(X, y, sensitive_features=sex)
    print("Held-out rows:")
    columns = ["strength", "mean_test_average_precision", "mean_test_neg_mcdp"]
    print(model.path_[columns].round(3).to_string(index=False))

    rule = BestUnder(limit=0.1)  # the best performer with MCDP of at most 0.1
    limited = model.with_strength(model.path_["strength"][rule(model.path_)])
    print("\nTest rows, of which nobody's sex is known to the model:")
    tested = X_test, y_test, sex_test
    report("plain (strength 0)", model.with_strength(0), *tested)
    report(f"automatic ({model.strength_:g})", model, *tested)
    report(f"MCDP at most 0.1 ({limited.strength_:g})", limited, *tested)
    if options.plot:
        display = TradeOffDisplay.from_cv_results(model.path_, rule=rule)
        display.figure_.savefig(options.plot)


if __name__ == "__main__":
    main()

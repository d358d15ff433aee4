"""Audit a classifier, cross-validate its fairness, and search on it.

Run it as it is on simulated data, or on real data::

    python examples/quickstart.py
    python examples/quickstart.py --data berkeley
    python examples/quickstart.py --data adult
    python examples/quickstart.py --data bank

Adult and Bank Marketing are downloaded from OpenML, or read from the directory that the
environment variable SKFAIR_DATA names (adult.csv.gz, bank_additional_full.csv.gz). The
admissions at Berkeley come with the package: they show what a gap does not say.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skfair.datasets import (
    fetch_adult,
    fetch_bank_marketing,
    load_berkeley_admissions,
    make_biased_classification,
)
from skfair.metrics import (
    abcc,
    bootstrap_interval,
    demographic_parity_difference,
    get_fairness_scorer,
    madd,
    mcdp,
    permutation_test,
)

Table = tuple[pd.DataFrame, pd.Series, str, list[str]]


def load(name: str) -> Table:
    """Load features, target, the sensitive column and columns that are its proxies."""
    if name == "simulated":
        X, y = make_biased_classification(
            8_000,
            n_features=6,
            group_sizes={"sex": {"female": 0.35, "male": 0.65}},
            base_rates={"sex": {"female": 0.15, "male": 0.45}},
            class_sep=0.6,
            random_state=0,
        )
        # The district depends on sex, so that it is a proxy of it.
        moved = np.random.RandomState(0).random_sample(len(X)) < 0.1
        north = X["sex"].eq("female") ^ moved
        X["district"] = np.where(north, "north", "south")
        return X, pd.Series(y), "sex", ["district"]
    if name == "berkeley":
        X, y = load_berkeley_admissions(return_X_y=True)
        return X, y, "sex", []
    if name == "bank":
        X, y = fetch_bank_marketing(return_X_y=True)
        X = X.assign(age_25=np.where(X["age"] >= 25, "25+", "<25"))
        return X, (y == "yes").astype(int), "age_25", ["job", "marital"]
    X, y = fetch_adult(return_X_y=True)
    complete = X.notna().all(axis=1)
    X, y = X[complete].drop(columns="fnlwgt"), y[complete]
    return X, (y == ">50K").astype(int), "sex", ["relationship", "marital-status"]


def compare_departments(X: pd.DataFrame, y: pd.Series) -> None:
    """Print who was admitted at Berkeley, overall and by department."""
    overall = y.groupby(X["sex"], observed=True).mean()
    groups = [X["department"], X["sex"]]
    rates = y.groupby(groups, observed=True).mean().unstack()
    applied = y.groupby(groups, observed=True).size().unstack()
    table = rates.add_prefix("admitted ").assign(
        **{"women of applicants": applied["women"] / applied.sum(axis=1)}
    )
    print(
        f"Admitted: {overall['men']:.1%} of men and {overall['women']:.1%} of women. "
        "By department:\n"
    )
    print(table.map("{:.1%}".format).to_string())
    higher = (rates["women"] > rates["men"]).sum()
    hard = applied.loc["C":].sum() / applied.sum()
    print(
        f"\nIn {higher} of {len(rates)} departments the rate of women is the higher "
        f"one. But {hard['women']:.0%} of women\nand {hard['men']:.0%} of men applied "
        "to departments C to F, which reject most: Simpson's paradox.\n"
        "The model below knows the department and not sex. Its scores differ by sex "
        "because\ndepartments do. The gap is real; what caused it, and whether it is "
        "unjust, is not in\nthe numbers.\n"
    )


def make_model(X: pd.DataFrame, sensitive: str, proxies: list[str]) -> Pipeline:
    """Make a logistic regression that does not use the sensitive column."""
    numbers = make_column_selector(dtype_include="number")(X)
    texts = [name for name in X.columns if name not in (*numbers, *proxies, sensitive)]
    one_hot = OneHotEncoder(handle_unknown="ignore")
    features = ColumnTransformer(
        [
            ("numbers", StandardScaler(), numbers),
            ("texts", one_hot, texts),
            ("proxies", one_hot, proxies),
        ]
    )
    return make_pipeline(features, LogisticRegression(max_iter=1000))


def audit(y_true: Any, y_score: Any, groups: Any) -> pd.DataFrame:
    """Measure each metric, its interval and its mean under permuted groups."""
    rows = {}
    metrics = {
        "MCDP(0)": mcdp,
        "MADD": madd,
        "ABCC": abcc,
        "DeltaDP": demographic_parity_difference,
    }
    for name, metric in metrics.items():
        interval = bootstrap_interval(
            metric,
            y_true,
            y_score,
            sensitive_features=groups,
            n_resamples=199,
            random_state=0,
        )
        test = permutation_test(
            metric,
            y_true,
            y_score,
            sensitive_features=groups,
            n_permutations=199,
            random_state=0,
        )
        rows[name] = {
            "value": interval.statistic,
            "95% low": interval.low,
            "95% high": interval.high,
            "without disparity": test.null_mean,
            "p-value": test.pvalue,
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def search(model: Pipeline, X: pd.DataFrame, y: Any, sensitive: str) -> pd.DataFrame:
    """Cross-validate performance and fairness, with and without the proxies."""
    proxies = "columntransformer__proxies"
    has_proxies = bool(model["columntransformer"].transformers[-1][2])
    grid = GridSearchCV(
        model,
        {
            proxies: [model.get_params()[proxies], "drop"] if has_proxies else ["drop"],
            "logisticregression__C": [0.001, 0.1, 10.0],
        },
        scoring={
            "average_precision": "average_precision",
            "neg_mcdp": get_fairness_scorer("neg_mcdp", sensitive_features=sensitive),
            "neg_madd": get_fairness_scorer("neg_madd", sensitive_features=sensitive),
        },
        refit="average_precision",
        error_score="raise",
    ).fit(X, y)
    results = pd.DataFrame(grid.cv_results_)
    return pd.DataFrame(
        {
            "proxies": np.where(
                results[f"param_{proxies}"] == "drop", "left out", "used"
            ),
            "C": results["param_logisticregression__C"],
            "average precision": results["mean_test_average_precision"],
            "MCDP(0)": -results["mean_test_neg_mcdp"],
            "+-": results["std_test_neg_mcdp"],
            "MADD": -results["mean_test_neg_madd"],
        }
    )


def cross_validate_routed(model: Pipeline, X: pd.DataFrame, y: Any, groups: Any) -> Any:
    """Measure MCDP in each fold, with groups passed as metadata and not in X."""
    with sklearn.config_context(enable_metadata_routing=True):
        return cross_val_score(
            model,
            X,
            y,
            scoring=get_fairness_scorer("neg_mcdp"),
            params={"sensitive_features": groups},
            error_score="raise",
        )


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--data",
        default="simulated",
        choices=["simulated", "berkeley", "adult", "bank"],
    )
    parser.add_argument("--picture", default="quickstart.png", help="file to save")
    arguments = parser.parse_args()

    try:
        X, y, sensitive, proxies = load(arguments.data)
    except OSError as error:  # no network, or no such table
        raise SystemExit(f"{parser.prog}: {error}") from None
    if arguments.data == "berkeley":
        compare_departments(X, y)
    # 40 % to train, 30 % to test; 30 % stay unused, for validation.
    X_train, X_rest, y_train, y_rest = train_test_split(
        X, y, train_size=0.4, stratify=y, random_state=0
    )
    _, X_test, _, y_test = train_test_split(
        X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=0
    )
    model = make_model(X, sensitive, proxies).fit(X_train, y_train)
    y_score = model.predict_proba(X_test)[:, 1]
    groups = X_test[sensitive]

    sizes = ", ".join(
        f"{size:,} {label}" for label, size in groups.value_counts().items()
    )
    print(f"Audit on {len(groups):,} test rows ({sizes}):\n")
    print(audit(y_test, y_score, groups).round(3).to_string(), "\n")
    print("Search, five folds of the training rows:\n")
    print(search(model, X_train, y_train, sensitive).round(4).to_string(index=False))
    routed = cross_validate_routed(
        model, X_train.drop(columns=sensitive), y_train, X_train[sensitive]
    )
    print("\nMCDP(0) by fold, groups routed beside X:", (-routed).round(3))
    try:
        from skfair.inspection import CDFGapDisplay

        display = CDFGapDisplay.from_predictions(
            y_test, y_score, sensitive_features=groups, epsilon=0.05
        )
    except ImportError as error:
        print(f"\nNo picture: {error}")
    else:
        display.figure_.savefig(arguments.picture, dpi=150, bbox_inches="tight")
        print(f"\nPicture of the gap: {arguments.picture}")


if __name__ == "__main__":
    main()

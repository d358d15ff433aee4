"""Audit a classifier over the intersections of several sensitive attributes.

Run it as it is on simulated data, or on the Adult census table::

    python examples/audit_intersections.py
    python examples/audit_intersections.py --data adult

Adult is downloaded from OpenML, or read from the directory that the environment
variable SKFAIR_DATA names (adult.csv.gz).

How far are selection and error rates of the groups with the largest gaps from the
average, is this more than sampling noise, and which groups differ?
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skfair.datasets import fetch_adult
from skfair.groups import Groups, encode_groups
from skfair.metrics import (
    cvar_fairness,
    cvar_fairness_report,
    cvar_fairness_test,
    max_gap,
    max_gap_test,
    top_groups,
)

ALPHA, EPSILON = 0.9, 0.1


def load(name: str) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame]:
    """Features, target, and the sensitive columns."""
    if name == "adult":
        X, y = fetch_adult(return_X_y=True)
        X = X.drop(columns="fnlwgt")
        ages = pd.cut(X["age"], [0, 25, 35, 45, 55, 65, 120], right=False)
        sensitive = X[["sex", "race", "marital-status"]].astype(str)
        return X, (y == ">50K").astype(int), sensitive.assign(age=ages.astype(str))
    generator = np.random.RandomState(0)
    n = 12_000
    sensitive = pd.DataFrame(
        {
            "sex": generator.choice(["female", "male"], n),
            "race": generator.choice(list("ABCDE"), n, p=[0.5, 0.25, 0.15, 0.07, 0.03]),
            "age": generator.choice(["-25", "26-40", "41-60", "61-"], n),
            "region": generator.choice([f"region {k}" for k in range(8)], n),
        }
    )
    merit = generator.normal(size=n)
    # The marks of young women of race A and of all people of region 7 are too low.
    harmed = sensitive.eval("sex == 'female' and race == 'A' and age == '-25'")
    marked = merit - 1.2 * harmed - 0.8 * (sensitive["region"] == "region 7")
    X = pd.DataFrame({"mark": marked + 0.3 * generator.normal(size=n)})
    y = pd.Series((merit + 0.5 * generator.normal(size=n) > 0).astype(int))
    return X, y, sensitive


def make_model(X: pd.DataFrame) -> Pipeline:
    """Logistic regression on all features."""
    columns = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (
            OneHotEncoder(handle_unknown="ignore"),
            make_column_selector(dtype_exclude="number"),
        ),
    )
    return make_pipeline(columns, LogisticRegression(max_iter=1000))


def values(y_true: Any, y_pred: Any, groups: Groups) -> pd.DataFrame:
    """CVaR fairness and max-gap with their tests, by quality and group weights."""
    rows = {}
    for quality in ("selection_rate", "error_rate"):
        for weights in ("uniform", "proportional"):
            options = {
                "sensitive_features": groups,
                "quality": quality,
                "group_weights": weights,
            }
            test = cvar_fairness_test(
                y_true, y_pred, alpha=ALPHA, epsilon=EPSILON, random_state=0, **options
            )
            largest = max_gap_test(y_true, y_pred, random_state=0, **options)
            rows[quality, weights] = {
                f"CVaR({ALPHA})": cvar_fairness(y_true, y_pred, alpha=ALPHA, **options),
                "variance": test.statistic,
                "p-value": test.pvalue,
                "max-gap": max_gap(y_true, y_pred, **options),
                "without disparity": largest.null_mean,
                "p-value of max-gap": largest.pvalue,
            }
    return pd.DataFrame.from_dict(rows, orient="index")


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", default="simulated", choices=["simulated", "adult"])
    parser.add_argument("--picture", default="group_gaps.png", help="file to save")
    arguments = parser.parse_args()
    try:
        X, y, sensitive = load(arguments.data)
    except OSError as error:  # no network, or no such table
        raise SystemExit(f"{parser.prog}: {error}") from None
    X_train, X_test, y_train, y_test, _, people = train_test_split(
        X, y, sensitive, test_size=0.5, stratify=y, random_state=0
    )
    y_pred = make_model(X).fit(X_train, y_train).predict(X_test)
    groups = encode_groups(people)
    sizes = groups.sizes()
    print(
        f"{len(groups):,} test rows of {len(sizes)} groups by "
        f"{', '.join(people)}; {np.sum(sizes < 2)} groups have fewer than two rows, "
        f"{np.sum(sizes < 30)} fewer than 30.\n"
    )
    print(values(y_test, y_pred, groups).round(4).to_string())
    print(
        "\nWith equal weights a group of two rows counts as much as one of two "
        "thousand,\nand so does its noise. Proportional weights give all rows the same "
        "weight.\n"
    )
    test = cvar_fairness_test(
        y_test,
        y_pred,
        sensitive_features=groups,
        alpha=ALPHA,
        epsilon=EPSILON,
        quality="error_rate",
        group_weights="proportional",
        random_state=0,
    )
    print("Error rate, proportional weights.", test, "\n")
    options = {"sensitive_features": groups, "quality": "error_rate"}
    report = cvar_fairness_report(y_test, y_pred, alpha=ALPHA, **options)
    print(
        f"The ten largest gaps of the error rate, of {report['in_tail'].sum()} in the "
        "tail: mostly small groups with wide intervals.\n"
    )
    shown = ["size", "rate", "low", "high", "gap", "tail_share"]
    print(report[shown].head(10).round(3).to_string(), "\n")
    found = top_groups(y_test, y_pred, **options)
    print(
        f"{len(found)} groups differ in their error rate (false discovery rate 5 %):\n"
    )
    shown = ["size", "rate", "low", "high", "rate_of_others", "adjusted_pvalue"]
    print(found[shown].head(12).round(4).to_string())
    try:
        from skfair.inspection import GroupGapDisplay

        display = GroupGapDisplay.from_predictions(
            y_test, y_pred, alpha=ALPHA, **options
        )
    except ImportError as error:
        print(f"\nNo picture: {error}")
    else:
        display.figure_.savefig(arguments.picture, dpi=150)
        print(f"\nPicture of the gaps: {arguments.picture}")


if __name__ == "__main__":
    main()

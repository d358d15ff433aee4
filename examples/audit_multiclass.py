"""Audit a multiclass classifier: who is treated differently, with proven bounds.

Run it as it is on simulated data, or on real data::

    python examples/audit_multiclass.py
    SKFAIR_DATA=path/to/tables python examples/audit_multiclass.py --data diabetes

The real table, ``diabetes_130_us_hospitals.csv.gz``, is that of the UCI Machine
Learning Repository (doi 10.24432/C5230J, CC BY 4.0), compressed: hospital stays with
three outcomes, audited by race and gender together.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_score, train_test_split

from skfair.datasets import find_table
from skfair.metrics import (
    DCPResult,
    dcp,
    equalized_odds_difference,
    make_fairness_scorer,
)
from skfair.statistics import GroupedConfusion

Table = tuple[pd.DataFrame, "pd.Series[str]", list[str]]


def load(name: str) -> Table:
    """Features, target, and the sensitive columns among the features."""
    if name == "diabetes":
        path = find_table(
            "diabetes_130_us_hospitals.csv.gz",
            source="https://doi.org/10.24432/C5230J (diabetic_data.csv, compressed)",
        )
        table = pd.read_csv(
            path, keep_default_na=False, na_values=[""], low_memory=False
        )
        table = table.drop_duplicates("patient_nbr").dropna(subset=["race"])
        table = table[table["gender"].isin(["Female", "Male"])]
        numbers = table.select_dtypes("number").drop(columns="patient_nbr")
        sensitive = ["race", "gender"]
        return numbers.join(table[sensitive]), table["readmitted"], sensitive
    rng = np.random.default_rng(0)
    n_rows = 12_000
    region = rng.choice(["north", "south", "west"], n_rows, p=[0.5, 0.3, 0.2])
    sex = rng.choice(["F", "M"], n_rows)
    skill = rng.normal(size=n_rows)
    # The test, the model's only feature, is noisier in one group than in the others.
    blurred = (region == "south") & (sex == "F")
    seen = skill + rng.normal(scale=np.where(blurred, 1.5, 0.5))
    grade = np.array(["low", "middle", "high", "top"])[
        np.digitize(skill, [-0.7, 0.3, 1.2])
    ]
    X = pd.DataFrame({"test": seen, "region": region, "sex": sex})
    return X, pd.Series(grade), ["region", "sex"]


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--data", default="simulated", choices=["simulated", "diabetes"]
    )
    parser.add_argument(
        "--picture", default="audit_multiclass.png", help="file to save"
    )
    arguments = parser.parse_args()

    try:
        X, y, sensitive = load(arguments.data)
    except OSError as error:  # no network, or no such table
        raise SystemExit(f"{parser.prog}: {error}") from None
    features = X.drop(columns=sensitive)
    train, test = train_test_split(
        np.arange(len(X)), test_size=0.5, stratify=y, random_state=0
    )
    model = HistGradientBoostingClassifier(max_depth=4, random_state=0)
    model.fit(features.iloc[train], y.iloc[train])
    y_pred = model.predict(features.iloc[test])
    statistic = GroupedConfusion.from_predictions(
        y.iloc[test], y_pred, sensitive_features=X[sensitive].iloc[test]
    )
    result = DCPResult.from_predictions(None, statistic, time_limit=60)
    print(result, "\n")
    print(result.to_frame().head(8).round(4).to_string(index=False), "\n")

    # DCP by chance alone: the same predictions, with the groups shuffled.
    shuffled = X[sensitive].iloc[np.random.default_rng(0).permutation(test)]
    chance = dcp(y.iloc[test], y_pred, sensitive_features=shuffled, method="local")
    print(f"DCP with the groups shuffled: {chance:.4f}")
    odds = equalized_odds_difference(None, statistic)
    print(f"Equalized odds difference: {odds:.4f}")

    scorer = make_fairness_scorer(
        dcp,
        sensitive_features=lambda rows: X.loc[rows.index, sensitive],
        method="local",
    )
    scores = cross_val_score(
        model, features, y, cv=3, scoring=scorer, error_score="raise"
    )
    print("DCP in three folds:", (-scores).round(4))
    try:
        from skfair.inspection import DCPDisplay

        display = DCPDisplay(result=result, name="Gradient boosting").plot()
    except ImportError as error:
        print(f"\nNo picture: {error}")
    else:
        display.figure_.savefig(arguments.picture, dpi=150, bbox_inches="tight")
        print(f"\nPicture: {arguments.picture}")


if __name__ == "__main__":
    main()

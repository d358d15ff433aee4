"""Write a report on a model and on its repair, for people who do not read code.

A plain model and one whose scores are repaired by sex (MADDPostProcessor) are reported
on together, by sex, by race and by both, on rows that neither has seen::

    python examples/report.py
    python examples/report.py --data adult --out report.html

Groups of people with few rows, as in the intersection, show what chance does to a
difference.

The first runs on simulated data. Adult is downloaded from OpenML, or read from the
directory that the environment variable SKFAIR_DATA names (adult.csv.gz).
"""

import argparse
import tempfile
import time
from pathlib import Path

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from skfair.datasets import fetch_adult, make_biased_classification
from skfair.postprocessing import MADDPostProcessor
from skfair.report import FairnessReport


def load(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Features with the columns "sex" and "race", and labels 0 and 1."""
    if name == "adult":
        adult = fetch_adult()
        # The survey weight is no trait of a person.
        X = adult.data.drop(columns="fnlwgt")
        return X, (adult.target == ">50K").astype(int)
    X, y = make_biased_classification(
        12_000,
        group_sizes={
            "sex": {"female": 0.4, "male": 0.6},
            "race": {"black": 0.15, "white": 0.8, "other": 0.05},
        },
        base_rates={
            "sex": {"female": 0.15, "male": 0.4},
            "race": {"black": 0.2, "white": 0.35, "other": 0.3},
        },
        random_state=0,
    )
    return X.astype({"sex": "category", "race": "category"}), pd.Series(y)


def boosting() -> HistGradientBoostingClassifier:
    """Make the plain model."""
    return HistGradientBoostingClassifier(
        categorical_features="from_dtype", random_state=0
    )


def main() -> None:
    """Fit both models, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--data",
        default="simulated",
        choices=["simulated", "adult"],
    )
    parser.add_argument("--out", type=Path, help="page to write, a new file by default")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    arguments = parser.parse_args()
    out = arguments.out or Path(tempfile.mkdtemp()) / "report.html"

    try:
        X, y = load(arguments.data)
    except OSError as error:  # no network, or no such table
        raise SystemExit(f"{parser.prog}: {error}") from None
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=15_000 if len(X) > 40_000 else 0.4, stratify=y, random_state=0
    )
    repaired = MADDPostProcessor(boosting(), sensitive_features="sex", random_state=0)
    models = {"plain": boosting().fit(X, y), "repaired by sex": repaired.fit(X, y)}
    start = time.perf_counter()
    report = FairnessReport.from_estimator(
        models,
        X_test,
        y_test,
        sensitive_features=["sex", "race"],
        title=f"Two models of {arguments.data} data",
        random_state=0,
        n_jobs=arguments.jobs,
    )
    page = report.to_html(out)
    print(report)
    print(
        report.to_frame()
        .query("metric in ('mcdp', 'demographic_parity_difference')")
        .loc[:, ["model", "attribute", "metric", "value", "lower", "upper", "pvalue"]]
        .round(3)
        .to_string(index=False)
    )
    print(
        f"\n{len(page) / 1e6:.2f} MB in {time.perf_counter() - start:.1f} s: open {out}"
    )


if __name__ == "__main__":
    main()

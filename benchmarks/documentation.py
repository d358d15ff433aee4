"""What the README and the pages of the documentation show of the Adult table.

    SKFAIR_DATA=path/to/tables python benchmarks/documentation.py readme
    SKFAIR_DATA=path/to/tables python benchmarks/documentation.py trade_off
    SKFAIR_DATA=path/to/tables python benchmarks/documentation.py report

`readme` prints the audit and the search of the README and draws ``cdf_gap.png``.
`trade_off` searches a model and its repair together, prints what is reached on test
rows, and draws ``trade_off.png``. `report` writes ``report.html`` here, the page of
which ``report.png`` shows the beginning. Pictures are written to ``docs/images``.
Without SKFAIR_DATA the table is downloaded from OpenML.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skfair.datasets import fetch_adult
from skfair.inspection import CDFGapDisplay, TradeOffDisplay
from skfair.metrics import (
    abcc,
    confidence_interval,
    demographic_parity_difference,
    get_fairness_scorer,
    madd,
    mcdp,
    permutation_test,
)
from skfair.model_selection import FairestWithin, GroupStratifiedKFold
from skfair.postprocessing import MADDPostProcessor
from skfair.report import FairnessReport

IMAGES = Path(__file__).parents[1] / "docs" / "images"
PROXIES = ["relationship", "marital-status"]
SCORING = {
    "average_precision": "average_precision",
    "neg_mcdp": get_fairness_scorer("neg_mcdp", sensitive_features="sex"),
}


def adult() -> tuple[pd.DataFrame, pd.Series]:
    """Features, sex among them, and whether income is high."""
    X, y = fetch_adult(return_X_y=True)
    return X.drop(columns="fnlwgt"), (y == ">50K").astype(int)


def logistic_regression(X: pd.DataFrame) -> Pipeline:
    """Make a logistic regression that does not use sex."""
    numbers = make_column_selector(dtype_include="number")(X)
    texts = [name for name in X.columns if name not in (*numbers, *PROXIES, "sex")]
    one_hot = OneHotEncoder(handle_unknown="ignore")
    features = ColumnTransformer(
        [
            ("numbers", StandardScaler(), numbers),
            ("texts", one_hot, texts),
            ("proxies", one_hot, PROXIES),
        ]
    )
    return make_pipeline(features, LogisticRegression(max_iter=1000))


def audit(y_true: Any, y_score: Any, groups: Any) -> pd.DataFrame:
    """Measure each metric, its interval and its mean under permuted groups."""
    rows = {}
    data = {"sensitive_features": groups}
    for name, metric in {
        "MCDP(0)": mcdp,
        "MADD": madd,
        "ABCC": abcc,
        "DeltaDP": demographic_parity_difference,
    }.items():
        interval = confidence_interval(metric, y_true, y_score, **data)
        test = permutation_test(
            metric, y_true, y_score, n_permutations=199, random_state=0, **data
        )
        rows[name] = {
            "value": interval.value,
            "lower": interval.lower,
            "upper": interval.upper,
            "null_mean": test.null_mean,
            "pvalue": test.pvalue,
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def readme() -> None:
    """Audit a logistic regression, and search with and without proxies of sex."""
    X, y = adult()
    complete = X.notna().all(axis=1)
    X, y = X[complete], y[complete]
    # 40 % to train, 30 % to test; 30 % stay unused, for validation.
    X_train, X_rest, y_train, y_rest = train_test_split(
        X, y, train_size=0.4, stratify=y, random_state=0
    )
    _, X_test, _, y_test = train_test_split(
        X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=0
    )
    model = logistic_regression(X).fit(X_train, y_train)
    y_score, sex = model.predict_proba(X_test)[:, 1], X_test["sex"]
    sizes = ", ".join(f"{n:,} {label}" for label, n in sex.value_counts().items())
    print(f"Audit on {len(sex):,} test rows ({sizes}):\n")
    print(audit(y_test, y_score, sex).round(3).to_string(), "\n")
    one_hot = OneHotEncoder(handle_unknown="ignore")
    search = GridSearchCV(
        model,
        {
            "columntransformer__proxies": [one_hot, "drop"],
            "logisticregression__C": [0.001, 0.1, 10.0],
        },
        scoring=SCORING,
        refit=False,
        error_score="raise",
    ).fit(X_train, y_train)
    results = pd.DataFrame(search.cv_results_)
    dropped = results["param_columntransformer__proxies"] == "drop"
    table = {
        "proxies": np.where(dropped, "left out", "used"),
        "C": results["param_logisticregression__C"],
        "average precision": results["mean_test_average_precision"],
        "MCDP(0)": -results["mean_test_neg_mcdp"],
        "+-": results["std_test_neg_mcdp"],
    }
    print("Search, five folds of the training rows:\n")
    print(pd.DataFrame(table).round(4).to_string(index=False))
    display = CDFGapDisplay.from_predictions(
        y_test, y_score, sensitive_features=sex, epsilon=0.05
    )
    display.figure_.savefig(IMAGES / "cdf_gap.png", dpi=150, bbox_inches="tight")


def trade_off() -> None:
    """Search the size of trees and the level of repair, and measure on test rows."""
    X, y = adult()
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=0
    )
    boosting = HistGradientBoostingClassifier(
        categorical_features="from_dtype", max_iter=50, random_state=0
    )
    search = GridSearchCV(
        MADDPostProcessor(boosting, sensitive_features="sex", cv=3, random_state=0),
        {
            "estimator__max_leaf_nodes": [4, 16],
            "repair_level": [0.0, 0.25, 0.5, 0.75, 0.9, 1.0],
        },
        scoring=SCORING,
        refit=FairestWithin("average_precision", "neg_mcdp", tolerance=0.95),
        cv=GroupStratifiedKFold(
            3, shuffle=True, random_state=0, sensitive_features="sex"
        ),
        error_score="raise",
    ).fit(X, y)
    results = search.cv_results_
    best = results["params"][results["mean_test_average_precision"].argmax()]
    plain = clone(search.estimator).set_params(**best).fit(X, y)
    for name, model in {"best performer": plain, "chosen": search}.items():
        scores = model.predict_proba(X_test)[:, 1]
        gap = mcdp(None, scores, sensitive_features=X_test["sex"])
        precision = average_precision_score(y_test, scores)
        print(f"{name}: average precision {precision:.3f}, MCDP {gap:.3f}")
    print(search.best_params_)
    display = TradeOffDisplay.from_cv_results(search)
    display.figure_.savefig(IMAGES / "trade_off.png", dpi=150, bbox_inches="tight")


def report() -> None:
    """Report on a model and on its repair by sex, by sex, by race and by both."""
    X, y = adult()
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=15_000, stratify=y, random_state=0
    )
    boosting = HistGradientBoostingClassifier(
        categorical_features="from_dtype", random_state=0
    )
    repaired = MADDPostProcessor(boosting, sensitive_features="sex", random_state=0)
    models = {"plain": boosting.fit(X, y), "repaired by sex": repaired.fit(X, y)}
    FairnessReport.from_estimator(
        models,
        X_test,
        y_test,
        sensitive_features=["sex", "race"],
        title="Two models of adult data",
        random_state=0,
    ).to_html("report.html")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    pages = {"readme": readme, "trade_off": trade_off, "report": report}
    parser.add_argument("page", choices=pages)
    pages[parser.parse_args().page]()

"""What pages of the documentation show.

    SKFAIR_DATA=path/to/tables python benchmarks/documentation.py trade_off
    SKFAIR_DATA=path/to/tables python benchmarks/documentation.py report
    python benchmarks/documentation.py docs/postprocessing.md

Of the Adult table, `trade_off` searches a model and its repair together, prints what is
reached on test rows, and draws ``trade_off.png``. `report` writes ``report.html`` here,
the page of which ``report.png`` shows the beginning. The code of a page draws the
picture that follows it. Pictures are written to ``docs/images``. Without SKFAIR_DATA
the table is downloaded from OpenML.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, train_test_split

from skfair.datasets import fetch_adult
from skfair.inspection import TradeOffDisplay
from skfair.metrics import (
    get_fairness_scorer,
    mcdp,
)
from skfair.model_selection import FairestWithin, GroupStratifiedKFold
from skfair.postprocessing import MADDPostProcessor
from skfair.report import FairnessReport

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SCORING = {
    "average_precision": "average_precision",
    "neg_mcdp": get_fairness_scorer("neg_mcdp", sensitive_features="sex"),
}


def adult() -> tuple[pd.DataFrame, pd.Series]:
    """Features, sex among them, and whether income is high."""
    X, y = fetch_adult(return_X_y=True)
    return X.drop(columns="fnlwgt"), (y == ">50K").astype(int)


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
        refit=FairestWithin("average_precision", "neg_mcdp", tolerance=0.05),
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


def picture(page: str) -> None:
    """Draw the first picture of a page by the code above it."""
    code, name, *_ = re.split(r"images/(\w+\.png)", Path(page).read_text())
    exec("".join(re.findall(r"^```python\n(.*?)^```", code, re.M | re.S)), {})
    plt.savefig(IMAGES / name, dpi=150, bbox_inches="tight")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("page", help="trade_off, report, or the path of a page")
    page = parser.parse_args().page
    pages = {"trade_off": trade_off, "report": report}
    pages[page]() if page in pages else picture(page)

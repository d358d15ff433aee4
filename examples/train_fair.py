"""Train models whose scores have similar distributions for women and men.

Boosted trees are reweighted in rounds (`MCDPReweighter`), and a network is trained on
the penalised loss itself (`DiffMCDPClassifier`). Sex is not a feature of either, and
prediction does not need it. For each of the two, a grid search over the strength of the
penalty selects the fairest model with at least 95 % of the plain model's average
precision. The quality and the disparity of both models are then measured on test rows::

    python examples/train_fair.py
    python examples/train_fair.py --data adult

The first runs on simulated data. Adult is downloaded from OpenML, or read from the
directory that the environment variable SKFAIR_DATA names (adult.csv.gz).
"""

import argparse

import numpy as np
import pandas as pd
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skfair.datasets import fetch_adult, make_biased_classification
from skfair.inprocessing import DiffMCDPClassifier, MCDPReweighter
from skfair.metrics import get_fairness_scorer, mcdp, permutation_test
from skfair.model_selection import FairestWithin

STRENGTHS = [0.0, 0.15, 0.3, 0.45, 0.6, 0.8]


def load(name: str, n_samples: int) -> tuple[pd.DataFrame, pd.Series]:
    """Features with a column "sex", and labels 0 and 1."""
    if name == "simulated":
        X, y = make_biased_classification(
            n_samples,
            group_sizes={"sex": {"female": 0.35, "male": 0.65}},
            base_rates={"sex": {"female": 0.15, "male": 0.4}},
            random_state=0,
        )
        # A proxy of sex that has no effect on the label.
        hours = np.random.default_rng(0).normal(35, 8, n_samples)
        return X.assign(hours=hours + 8 * (X["sex"] == "male")), pd.Series(y)
    adult = fetch_adult()
    # The survey weight does not describe a person.
    X, y = adult.data.drop(columns="fnlwgt"), (adult.target == ">50K").astype(int)
    rows = X.sample(min(n_samples, len(X)), random_state=0).index
    return X.loc[rows].reset_index(drop=True), y[rows].reset_index(drop=True)


def searches() -> dict[str, GridSearchCV]:
    """Make a search over the strength of the penalty for each way to train."""
    boosting = HistGradientBoostingClassifier(
        categorical_features="from_dtype",
        learning_rate=0.2,
        max_iter=20,
        max_leaf_nodes=8,
        max_bins=32,  # edges of bins take most of the time where rows have weights
        early_stopping=False,
        random_state=0,
    )
    columns = make_column_transformer(
        (
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            make_column_selector(dtype_include="category"),
        ),
        remainder=StandardScaler(),
    )
    # The folds compare all strengths with 0: no further rows need be held out.
    options = {"validation_fraction": None}
    network = DiffMCDPClassifier(
        hidden_layer_sizes=64, max_iter=200, random_state=0, **options
    )
    models = {
        "boosting, reweighted": (MCDPReweighter(boosting, **options), "strength"),
        "network, DiffMCDP": (
            Pipeline([("columns", columns), ("network", network)]),
            "network__strength",
        ),
    }
    return {
        name: GridSearchCV(
            model,
            {strength: STRENGTHS},
            scoring={
                "average_precision": "average_precision",
                "neg_mcdp": get_fairness_scorer("neg_mcdp"),
            },
            refit=FairestWithin("average_precision", "neg_mcdp", tolerance=0.95),
            cv=3,
            error_score="raise",
        )
        for name, (model, strength) in models.items()
    }


def curve(search: GridSearchCV) -> pd.DataFrame:
    """Tabulate the trade-off, means over folds; strength 0 is the plain model."""
    results = search.cv_results_
    return pd.DataFrame(
        {
            "strength": STRENGTHS,
            "average_precision": results["mean_test_average_precision"],
            "mcdp": -results["mean_test_neg_mcdp"],
        }
    )


def describe(name: str, scores: np.ndarray, y: pd.Series, sex: pd.Series) -> None:
    """Print quality and disparity on test rows."""
    found = permutation_test(
        mcdp, y, scores, sensitive_features=sex, random_state=0, n_permutations=99
    )
    print(
        f"  {name}: average precision {average_precision_score(y, scores):.3f}, "
        f"MCDP {found.statistic:.3f} ({found.null_mean:.3f} under shuffled groups)"
    )


def draw(found: dict[str, GridSearchCV], picture: str) -> None:
    """Draw the curves, and mark what was chosen."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        print(f"\nNo picture: {error}")
        return
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for (name, search), style in zip(found.items(), ("o-", "s--"), strict=True):
        points = curve(search)
        (line,) = axes.plot(points["mcdp"], points["average_precision"], style)
        line.set_label(name)
        for point in points.itertuples():
            axes.annotate(
                f"{point.strength:g}",
                (point.mcdp, point.average_precision),
                xytext=(4, -11),
                textcoords="offset points",
                fontsize=8,
                color=line.get_color(),
            )
        chosen = points.iloc[search.best_index_]
        axes.plot(
            chosen["mcdp"],
            chosen["average_precision"],
            "o",
            markersize=15,
            markerfacecolor="none",
            color=line.get_color(),
        )
    axes.set(
        xlabel="MCDP(0), smaller is fairer",
        ylabel="Average precision",
        title="Strength of the penalty, 0 for the plain model; circled: chosen",
    )
    axes.legend(loc="lower right")
    figure.savefig(picture, dpi=150)
    print(f"\nPicture of the trade-off: {picture}")


def main() -> None:
    """Search, choose, test; draw the trade-off where matplotlib is installed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--data",
        default="simulated",
        choices=["simulated", "adult"],
    )
    parser.add_argument("--rows", type=int, default=8_000, help="rows of the table")
    parser.add_argument("--picture", default="train_fair.png", help="file to save")
    arguments = parser.parse_args()

    try:
        X, y = load(arguments.data, arguments.rows)
    except OSError as error:  # no network, or no such table
        raise SystemExit(f"{parser.prog}: {error}") from None
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=0
    )
    sex, sex_test = X.pop("sex"), X_test.pop("sex")
    found = searches()
    for name, search in found.items():
        # Groups are routed to the fits and to the scorer; they are no column of X.
        with config_context(enable_metadata_routing=True):
            search.fit(X, y, sensitive_features=sex)
        print(f"\n{name}: means over 3 folds")
        print(curve(search).round(3).to_string(index=False))
        chosen = curve(search)["strength"][search.best_index_]
        print(f"On {len(X_test):,} test rows")
        plain = clone(search.estimator).set_params(**search.cv_results_["params"][0])
        plain.fit(X, y)
        describe("plain", plain.predict_proba(X_test)[:, 1], y_test, sex_test)
        scores = search.predict_proba(X_test)[:, 1]
        describe(f"chosen, strength {chosen:g}", scores, y_test, sex_test)
    draw(found, arguments.picture)


if __name__ == "__main__":
    main()

"""What fair regressors reach on three tables: R2 and MCDP(0) on test rows.

``SKFAIR_DATA=tables python benchmarks/regression.py [table] [n_seeds]``. Models are
HistGradientBoostingRegressor(max_iter=80), rows are split 60/40 by five seeds, and at
most 6,000 are trained on. Where they are installed, EquiPy's FairWasserstein, which is
calibrated on a third of the training rows, and fairlearn's reductions are measured, the
latter on the first seed: ExponentiatedGradient and GridSearch with
BoundedGroupLoss, and with DemographicParity of the target above each of four quantiles,
whose answers add up to a prediction. Strengths of UnawareRegressor are named by the
share of the plain gap that their maps leave. The model without proxies is fitted
without the columns that alone tell most of the group.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
import pandas as pd
from _tables import read_table
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

from skfair.exceptions import MitigationWarning
from skfair.metrics import mcdp
from skfair.postprocessing import RepairedRegressor, UnawareRegressor

try:
    from equipy.fairness import FairWasserstein
except ImportError:
    FairWasserstein = None
try:
    from fairlearn import reductions
except ImportError:
    reductions = None

MAX_ROWS = 6_000
GAPS = (0.0, 0.05, 0.1, 0.2)
#: Seeds on which fairlearn is measured, which takes minutes.
SEEDS_OF_FAIRLEARN = 1
TABLES = "law school", "crime", "income"


def load(name):
    """Features, target and groups of a table."""
    if name == "law school":
        table = read_table("law_school.csv.gz", "LSAC (Wightman 1998)")
        table = table.dropna(subset=["zfygpa"])
        group = np.where(table["race"] == "White", "White", "other")
        # Deciles and averages of grades say the target.
        said = ["zfygpa", "zgpa", "decile1b", "decile3", "pass_bar", "race"]
        return table.drop(columns=said), (table["zfygpa"], group)
    if name == "crime":
        table = read_table("communities_crime.csv.gz", "UCI, Communities and Crime")
        share = table["racepctblack"]
        of_race = [c for c in table if "race" in c.lower()]
        of_race += ["whitePerCap", "blackPerCap", "indianPerCap", "AsianPerCap"]
        of_race += ["HispPerCap", "Black", "class", "state", "communityname", "fold"]
        group = np.where(share > share.median(), "above", "below")
        target = table["ViolentCrimesPerPop"]
        X = table.drop(columns=[*of_race, "ViolentCrimesPerPop"])
        return X, (target, group)
    if name != "income":
        raise ValueError(f"table must be one of {', '.join(TABLES)}, got {name!r}.")
    table = read_table("nist_acs_2019_national.csv.gz", "NIST, doi:10.18434/mds2-2895")
    table = table[(table["AGEP"] >= 18) & table["PINCP"].notna()]
    sex = table["SEX"].map({1: "male", 2: "female"}).to_numpy()
    left_out = ["PINCP", "PINCP_DECILE", "POVPIP", "SEX", "PWGTP", "WGTP"]
    return table.drop(columns=left_out), (table["PINCP"], sex)


def numbers_of(X):
    """Columns of text as codes of their values."""
    text = X.select_dtypes(exclude="number").columns
    return X.assign(**{name: pd.factorize(X[name])[0] for name in text}).astype(float)


def measure(X, y, group, seed):
    """Yield the name of a model, its R2 and MCDP(0), and the seconds of its fit."""
    split = train_test_split(X, y, group, test_size=0.4, random_state=seed)
    X, X_test, y, y_test, group, group_test = split
    X, y, group = X[:MAX_ROWS], y[:MAX_ROWS], group[:MAX_ROWS]
    boosting = HistGradientBoostingRegressor(max_iter=80, random_state=0)

    def found(name, predicted, start):
        seconds = time.perf_counter() - start
        gap = mcdp(None, predicted, sensitive_features=group_test, scale="rank")
        return name, r2_score(y_test, predicted), gap, seconds

    start = time.perf_counter()
    boosting.fit(X, y)
    yield found("plain", boosting.predict(X_test), start)
    yield from without_proxies(boosting, X, y, group, X_test, found)
    for gap in GAPS:
        start = time.perf_counter()
        aware = RepairedRegressor(boosting, max_mcdp=gap)
        aware.fit(X, y, sensitive_features=group)
        predicted = aware.predict(X_test, sensitive_features=group_test)
        yield found(f"RepairedRegressor {gap}", predicted, start)
    start = time.perf_counter()
    unaware = UnawareRegressor(boosting).fit(X, y, sensitive_features=group)
    yield found("UnawareRegressor auto", unaware.predict(X_test), start)
    strengths = unaware.path_["strength"]
    for left, strength in zip(
        np.linspace(1, 0, len(strengths)), strengths, strict=True
    ):
        start = time.perf_counter()
        model = unaware.with_strength(strength)
        yield found(f"UnawareRegressor {left:.2f}", model.predict(X_test), start)
    if reductions is not None and seed < SEEDS_OF_FAIRLEARN:
        yield from reduced_losses(boosting, X, y, group, X_test, found)
        yield from reduced_parities(X, y, group, X_test, found)
    if FairWasserstein is not None:
        yield from equipy(boosting, X, y, group, X_test, group_test, found)


def without_proxies(boosting, X, y, group, X_test, found):
    """Plain regressors without 1, 2, 4, ... columns that tell most of the group."""
    first = group == np.unique(group)[0]
    told = [
        abs(roc_auc_score(first, column.fillna(-1)) - 0.5) for _, column in X.items()
    ]
    order = np.argsort(told)[::-1]
    n_left_out = 1
    while n_left_out < X.shape[1]:
        start, kept = time.perf_counter(), np.sort(order[n_left_out:])
        model = boosting.fit(X.iloc[:, kept], y)
        predicted = model.predict(X_test.iloc[:, kept])
        yield found(f"without-proxies {n_left_out}", predicted, start)
        n_left_out *= 2


def mean_prediction(model, X):
    """Mean over the models that ExponentiatedGradient mixes."""
    mixed = zip(np.asarray(model.weights_), model.predictors_, strict=True)
    return sum(weight * part.predict(X) for weight, part in mixed if weight > 0)


def reduced_losses(boosting, X, y, group, X_test, found):
    """Bound the squared error of each group by fairlearn, with a target in [0, 1].

    Of incomes in dollars its weights would become nan.
    """
    least, spread = y.min(), np.ptp(y)
    y = (y - least) / spread
    squared = reductions.SquareLoss(0, 1)
    plain = boosting.fit(X, y).predict(X)
    losses = squared.eval(y, plain)
    worst = max(np.mean(losses[group == one]) for one in np.unique(group))
    start = time.perf_counter()
    bounded = reductions.BoundedGroupLoss(squared, upper_bound=0.8 * worst)
    model = reductions.ExponentiatedGradient(boosting, bounded, max_iter=8)
    model.fit(X, y, sensitive_features=group)
    predicted = least + spread * mean_prediction(model, X_test)
    yield found("ExponentiatedGradient-loss 0.8", predicted, start)
    start = time.perf_counter()
    bounded = reductions.BoundedGroupLoss(squared)
    model = reductions.GridSearch(boosting, bounded, grid_size=7)
    model.fit(X, y, sensitive_features=group)
    for i, one in enumerate(model.predictors_):
        predicted = least + spread * one.predict(X_test)
        yield found(f"GridSearch-loss {i}", predicted, start)


def reduced_parities(X, y, group, X_test, found):
    """Let fairlearn decide with parity whether the target is above each quantile."""
    cuts = np.unique(np.quantile(y, (0.2, 0.4, 0.6, 0.8)))
    bins = np.searchsorted(cuts, y, side="left")
    means = np.array([y[bins == i].mean() for i in range(len(cuts) + 1)])
    classifier = HistGradientBoostingClassifier(max_iter=80, random_state=0)
    for bound in (0.01, 0.1):
        start, predicted = time.perf_counter(), np.full(len(X_test), means[0])
        for cut, step in zip(cuts, np.diff(means), strict=True):
            parity = reductions.DemographicParity(difference_bound=bound)
            model = reductions.ExponentiatedGradient(classifier, parity, max_iter=12)
            model.fit(X, y > cut, sensitive_features=group)
            predicted += step * mean_prediction(model, X_test)
        yield found(f"ExponentiatedGradient-parity {bound}", predicted, start)
    start, sums = time.perf_counter(), 0
    for cut, step in zip(cuts, np.diff(means), strict=True):
        parity = reductions.DemographicParity()
        model = reductions.GridSearch(classifier, parity, grid_size=7, grid_limit=0.5)
        model.fit(X, y > cut, sensitive_features=group)
        parts = [one.predict_proba(X_test)[:, 1] for one in model.predictors_]
        sums = sums + step * np.array(parts)
    for i, predicted in enumerate(means[0] + sums):
        yield found(f"GridSearch-parity {i}", predicted, start)


def equipy(boosting, X, y, group, X_test, group_test, found):
    """Exact and approximate fairness by EquiPy, calibrated on rows held out."""
    start = time.perf_counter()
    held_out = np.arange(len(y)) % 3 == 0
    model = boosting.fit(X[~held_out], y[~held_out])
    peer = FairWasserstein(sigma=1e-9)
    peer.fit(model.predict(X[held_out]), group[held_out].reshape(-1, 1))
    for epsilon in (0.0, 0.1, 0.2, 0.4, 0.7):
        predicted = peer.transform(
            model.predict(X_test), group_test.reshape(-1, 1), epsilon=epsilon
        )
        yield found(f"EquiPy {epsilon}", np.asarray(predicted), start)


def area(points, largest):
    """Area under the best R2 (at least 0) at each MCDP from 0 to the plain one's."""
    gaps = np.linspace(0, largest, 501)
    best = [max([r2 for r2, gap in points if gap <= limit] + [0]) for limit in gaps]
    return float(np.mean(best))


def main(names, n_seeds):
    """Print means over seeds, and areas as shares of the plain R2."""
    for name in names:
        X, (y, group) = load(name)
        X, y = numbers_of(X), y.to_numpy(float)
        rows = pd.DataFrame(
            [
                (seed, *one)
                for seed in range(n_seeds)
                for one in measure(X, y, group, seed)
            ],
            columns=["seed", "model", "r2", "mcdp", "seconds"],
        )
        print(f"\n{name}: {len(y)} rows")
        means = rows.groupby("model", sort=False)[["r2", "mcdp", "seconds"]]
        print(means.mean().round(3).to_string())
        for kind in rows["model"].str.split().str[0].unique():
            areas = []
            for _, own in rows.groupby("seed"):
                plain = own[own["model"] == "plain"].iloc[0]
                chosen = own[own["model"].str.startswith(kind)]
                if chosen.empty:  # fairlearn is measured on the first seeds only
                    continue
                points = [*zip(chosen["r2"], chosen["mcdp"], strict=True)]
                areas.append(area(points, plain["mcdp"]) / plain["r2"])
            print(f"area {kind}: {np.mean(areas):.3f} +- {np.std(areas):.3f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore", MitigationWarning)
    given = sys.argv[1:]
    main(
        given[:1] or [*TABLES],
        int(given[1]) if len(given) > 1 else 5,
    )

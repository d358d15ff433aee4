"""What mitigators say of themselves in `comparison_`, beside many new rows.

    SKFAIR_DATA=<folder of the tables> python benchmarks/mitigator_claims.py
        [--mitigators MCDPReweighter,UnawarePostProcessor,...]
        [--tables normal,leaning,adult,census,nist,oulad]
        [--models lightgbm,tree,logistic] [--seeds 20] [--first-seed 0]
        [--n-train 3000]

Each mitigator has its default parameters, and is fitted to rows that a seed draws. The
truth is what it reaches on 30,000 new rows that are simulated, or on at most 20,000
other rows of a real table; groups are not features. Two changes are compared: of
average precision, and of MCDP(0) (`DecisionPostProcessor`: of accuracy, and of the
difference of decisions). The plain model is the classifier fitted to as many rows as
the mitigated one; of post-processors that predict by the mean of the folds' models it
is the mean of these models, without a repair, since the mean of models is better than
each, repaired or not. With three groups, the claimed MCDP(0) is lowered for the group
of few rows, and the true one is not.

For each mitigator and model it prints the means over tables of claimed and true shares
that are kept or left, and of the claimed change less the true one, with standard errors
between tables. Shares of gaps are not a measure of error: where the plain gap is .05,
as on NIST, an error of .01 is one of .2. A share of a table is the ratio of means over
its fits. `z` is the root mean square of claimed less true changes
(`DecisionPostProcessor`: differences) over the stated standard errors, 1 if these are
right, and `beyond` the share of fits in which it is above 2. Fits that change nothing
count with shares of 1, and not in the last two.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from _tables import load_table
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skfair import inprocessing, postprocessing
from skfair.metrics import demographic_parity_difference, mcdp

N_NEW = {"simulated": 30_000, "real": 20_000}
MITIGATORS = (
    "MCDPReweighter",
    "UnawarePostProcessor",
    "MADDPostProcessor",
    "DecisionPostProcessor",
    "MCDPBoostingClassifier",
    "DiffMCDPClassifier",
)
TABLES = ("normal", "leaning", "adult", "census", "nist", "oulad")
MODELS: dict[str, Callable[[], Any]] = {
    "lightgbm": lambda: LGBMClassifier(
        n_estimators=80, n_jobs=1, verbose=-1, random_state=0
    ),
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "logistic": lambda: make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=500)
    ),
}


def draw(table: str, n_train: int, seed: int) -> tuple[Any, Any]:
    """Draw training rows and new rows, each X, y and groups."""
    rng = np.random.default_rng(seed)
    if table in ("normal", "leaning"):
        X, y, groups = simulate(table, n_train + N_NEW["simulated"], rng)
    else:
        task = load_table(table)
        drawn = rng.permutation(len(task.y))[: n_train + N_NEW["real"]]
        X, y, groups = task.X.to_numpy()[drawn], task.y[drawn], task.groups[drawn]
    training, new = slice(None, n_train), slice(n_train, None)
    return (X[training], y[training], groups[training]), (X[new], y[new], groups[new])


def simulate(table: str, n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Eight normal features, of which three tell the group."""
    n_groups = 2 if table == "normal" else 3
    groups = rng.choice(n_groups, n, p=[0.5, 0.5] if n_groups == 2 else [0.6, 0.3, 0.1])
    X = rng.normal(size=(n, 8))
    X[:, :3] += 0.5 * groups[:, None]
    logits = X[:, 0] + 0.5 * X[:, 3] - 0.5 * X[:, 4] * X[:, 5] - 1.5
    y = (rng.random(n) < 1 / (1 + np.exp(-logits))).astype(int)
    return X, y, groups


def make(name: str, model: str, seed: int) -> Any:
    """Make a mitigator around a model, None where it takes no such model."""
    if name == "DiffMCDPClassifier":
        return inprocessing.DiffMCDPClassifier(max_iter=300, random_state=seed)
    if name == "MCDPBoostingClassifier" and model != "lightgbm":
        return None
    kind = getattr(inprocessing, name, None) or getattr(postprocessing, name)
    options = {} if name == "MADDPostProcessor" else {"random_state": seed}
    return kind(MODELS[model](), **options)


def fit(mitigator: Any, rows: Any) -> Any:
    """Fit to training rows; the logistic regression gets weights by its pipeline."""
    X, y, groups = rows
    return mitigator.fit(X, y, sensitive_features=groups)


def true_figures(fitted: Any, plain: Any, new: Any) -> list[list[float]]:
    """Measure performance and gap of the mitigated and the plain model on new rows."""
    X, y, groups = new
    needs_groups = isinstance(fitted, postprocessing.MADDPostProcessor)
    given = {"sensitive_features": groups} if needs_groups else {}
    if isinstance(fitted, postprocessing.DecisionPostProcessor):
        decided = fitted.predict(X), plain.predict(X)
        return [
            [
                float(np.mean(decisions == y)),
                demographic_parity_difference(
                    None, decisions, sensitive_features=groups
                ),
            ]
            for decisions in decided
        ]
    scores = fitted.predict_proba(X, **given)[:, 1], plain.predict_proba(X)[:, 1]
    return [
        [average_precision_score(y, s), mcdp(None, s, sensitive_features=groups)]
        for s in scores
    ]


class MeanOfModels:
    """Plain models of folds, whose probabilities are averaged."""

    def __init__(self, models: list[Any]) -> None:
        self.models = models

    def predict_proba(self, X: Any) -> Any:
        """Average probabilities."""
        return np.mean([model.predict_proba(X) for model in self.models], axis=0)

    def predict(self, X: Any) -> Any:
        """Predict classes by average probabilities."""
        return self.models[0].classes_[self.predict_proba(X).argmax(axis=1)]


def measure(name: str, table: str, model: str, n_train: int, seed: int) -> Any:
    """Fit once; return claimed and true shares, and what the errors say."""
    mitigator = make(name, model, seed)
    if mitigator is None:
        return None
    training, new = draw(table, n_train, seed)
    if name == "DiffMCDPClassifier":  # its own network takes numbers of one scale
        scale = StandardScaler().fit(training[0])
        training = scale.transform(training[0]), *training[1:]
        new = scale.transform(new[0]), *new[1:]
    fitted = fit(mitigator, training)
    found = fitted.comparison_
    if hasattr(fitted, "estimators_"):
        plain = MeanOfModels(fitted.estimators_)
    elif name in ("DiffMCDPClassifier", "MCDPBoostingClassifier"):
        plain = clone(mitigator).set_params(strength=0.0, validation_fraction=None)
        n_fitted = len(training[1]) - (found.n_samples if found else 0)
        plain.fit(*(part[:n_fitted] for part in training[:2]))
    elif name == "DecisionPostProcessor":
        plain = fitted.estimator_
    else:
        plain = MODELS[model]().fit(*training[:2])
    fair, unfair = true_figures(fitted, plain, new)
    if name == "DecisionPostProcessor":
        columns = found.mitigated, found.baseline, found.standard_error
        claimed, claimed_plain, errors = (
            (column["accuracy"], column["difference"]) for column in columns
        )
        # The error is that of the difference itself.
        off = np.subtract(claimed, fair)
    else:
        columns = found.mitigated, found.baseline, found.standard_error
        claimed, claimed_plain, errors = (
            tuple(column.values())[:: len(column) - 1] for column in columns
        )
        off = np.subtract(claimed, claimed_plain) - np.subtract(fair, unfair)
    changes = claimed != claimed_plain
    z = off / errors if changes else np.full(2, np.nan)
    record = {"mitigator": name, "table": table, "model": model, "seed": seed}
    for i, what in enumerate(("share kept", "gap left")):
        record |= {
            f"claimed {what}": claimed[i],
            f"claimed plain {what}": claimed_plain[i],
            f"true {what}": fair[i],
            f"true plain {what}": unfair[i],
            f"z {what}": z[i],
        }
    return record


def summarise(records: list[Any]) -> None:
    """Print shares over tables, and what is off in each of them."""
    every = pd.DataFrame(records)
    for (name, model), rows in every.groupby(["mitigator", "model"], sort=False):
        print(f"{name}, {model}, {len(rows)} fits")
        means = rows.groupby("table", sort=False).mean(numeric_only=True)
        for what in ("share kept", "gap left"):
            claimed, true = (
                means[f"{kind} {what}"] / means[f"{kind} plain {what}"]
                for kind in ("claimed", "true")
            )
            changes = (
                means[f"{kind} {what}"] - means[f"{kind} plain {what}"]
                for kind in ("claimed", "true")
            )
            off, z = np.subtract(*changes), rows[f"z {what}"].dropna()
            error = off.std() / np.sqrt(len(off))
            print(
                f"  {what}: claimed {claimed.mean():.3f}, true {true.mean():.3f}, "
                f"change less true {off.mean():+.4f} +- {error:.4f}; "
                f"z {np.sqrt((z**2).mean()):.2f}, "
                f"beyond {(z.abs() > 2).mean():.2f} of {len(z)}; "
                + ", ".join(f"{table} {value:+.4f}" for table, value in off.items()),
                flush=True,
            )
        names = [
            f"{k} {p}gap left" for k in ("claimed", "true") for p in ("plain ", "")
        ]
        print("  " + ", ".join(f"{n} {means[n].mean():.3f}" for n in names), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mitigators", default=",".join(MITIGATORS))
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--n-train", type=int, default=3000)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    names = given.mitigators.split(","), given.models.split(",")
    for name, model in product(*names):
        if make(name, model, 0) is None or (
            name == "DiffMCDPClassifier" and model != names[1][0]
        ):
            continue
        seeds = range(given.first_seed, given.first_seed + given.seeds)
        cases = product(given.tables.split(","), seeds)
        summarise(
            [measure(name, table, model, given.n_train, seed) for table, seed in cases]
        )


if __name__ == "__main__":
    main()

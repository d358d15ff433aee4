"""Counts how often a mitigator is worse than the plain model without a warning.

    SKFAIR_DATA=<folder of the tables> python benchmarks/never_worse.py [section ...]

Sections: census, simulated and small. The first two have 0.5 %, 2 % and 50 % positives
(all negatives are kept, positives are drawn), three seeds. Default parameters, groups
not among the features of the plain model. Classifiers that `fit` would replace by the
plain one are measured themselves, on all rows that they were not fitted to. Worse is an
MCDP(0) above the plain model's by more than groups of one distribution read in 95 % of
samples. A warning that says that it is worse is false where MCDP(0) is below the plain
model's; others say that no gain is shown, that no strength helps, or that shared scores
limit the repair.

Section small: default mitigators with `fallback`, on 70 of the small random problems of
`repair_promises.py` that no rule was chosen on, each measured on 8,000 new rows. Worse
is there an MCDP(0) of more than 0.02 above the plain model's.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
from _tables import Rows, Split, Task, load_table, split
from lightgbm import LGBMClassifier
from repair_promises import TREES, problem
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skfair._comparison import compare_with_plain
from skfair._training_rows import TrainingRows
from skfair.datasets import make_biased_classification
from skfair.exceptions import MitigationWarning
from skfair.groups import encode_groups
from skfair.inprocessing import (
    DiffMCDPClassifier,
    MCDPBoostingClassifier,
    MCDPReweighter,
)
from skfair.metrics import mcdp
from skfair.postprocessing import MADDPostProcessor, UnawarePostProcessor

RATES = (0.005, 0.02, 0.5)
SEEDS = range(3)
SMALL_SEEDS, N_NEW, INCREASE = range(210, 280), 8000, 0.02
#: How problems begin where rows cannot tell which of two models is better.
NOT_TOLD = "no gain is shown"
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
BOOSTING = HistGradientBoostingClassifier(max_iter=30, early_stopping=False)
TREE = DecisionTreeClassifier(random_state=0)


def simulated() -> Task:
    """12,000 people, a skill and a proxy of the group in five noisy features."""
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "b"], 12_000, p=[0.3, 0.7])
    hidden = rng.normal(size=(12_000, 2)) + (groups == "b")[:, None] * [0, 1.5]
    X = hidden[:, [0, 0, 1, 1, 1]] + rng.normal(size=(12_000, 5))
    y = (hidden.sum(axis=1) + rng.logistic(size=12_000) > 1).astype(int)
    columns = [f"x{i}" for i in range(5)]
    return Task(pd.DataFrame(X, columns=columns), columns, y, groups)


def draw(task: Task, rate: float, seed: int) -> Split:
    """Split 40/30/30 after drawing positives, or negatives, to a share of positives."""
    rng = np.random.default_rng(seed)
    positive, negative = (rng.permutation(np.flatnonzero(task.y == c)) for c in (1, 0))
    positive = positive[: round(len(negative) * rate / (1 - rate))]
    negative = negative[: round(len(positive) * (1 - rate) / rate)]
    rows = rng.permutation(np.concatenate([positive, negative]))
    X = task.X.iloc[rows].reset_index(drop=True)
    return split(Task(X, task.numeric, task.y[rows], task.groups[rows]), seed)


def mitigators(seed: int) -> dict[str, tuple[Any, Any]]:
    """Mitigators by name, each with its plain model."""
    found: dict[str, tuple[Any, Any]] = {}
    named = {"logistic": LOGISTIC, "boosting": BOOSTING, "full tree": TREE}
    for name, plain in named.items():
        for strength in (0.3, 1.0):
            model = MCDPReweighter(plain, strength=strength, random_state=seed)
            found[f"MCDPReweighter({name}), {strength:g}"] = model, plain
        found[f"MADDPostProcessor({name})"] = (
            MADDPostProcessor(plain),
            plain,
        )
    unaware = UnawarePostProcessor(BOOSTING, random_state=seed)
    found["UnawarePostProcessor(boosting)"] = unaware, BOOSTING
    trees = LGBMClassifier(n_estimators=80, n_jobs=1, verbose=-1)
    for strength in (0.3, 1.0):
        model = MCDPBoostingClassifier(trees, strength=strength, random_state=seed)
        found[f"MCDPBoostingClassifier, {strength:g}"] = model, trees
    options = {"hidden_layer_sizes": (32,), "random_state": seed}
    plain = DiffMCDPClassifier(strength=0, **options)
    for strength in (0.2, 1.0):
        model = DiffMCDPClassifier(strength=strength, **options)
        found[f"DiffMCDPClassifier, {strength:g}"] = model, plain
    return found


def measure(parts: Split, model: Any, plain: Any) -> dict[str, Any]:
    """Fit both, and compare them on the rows of validation and test."""
    train = parts.train
    rest = Rows(
        *(pd.concat(map(pd.DataFrame, part)) for part in zip(*parts[1:], strict=True))
    )
    y, groups = rest.y.to_numpy().ravel(), rest.groups.to_numpy().ravel()
    needs = isinstance(model, MADDPostProcessor)
    if "fallback" in model.get_params():
        model.set_params(fallback=False)  # keeps what is worse
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(train.X, train.y, sensitive_features=train.groups)
    compared = model.comparison_
    problems = compared.problems if compared else []
    others = [
        w
        for w in caught
        if issubclass(w.category, MitigationWarning)
        and not any(problem in str(w.message) for problem in problems)
    ]
    given = {"sensitive_features": groups} if needs else {}
    if isinstance(plain, DiffMCDPClassifier):
        plain.fit(train.X, train.y, sensitive_features=train.groups)
    else:
        plain = clone(plain).fit(train.X, train.y)
    found = compare_with_plain(
        TrainingRows(None, np.asarray(y, dtype=int), encode_groups(groups)),
        plain.predict_proba(rest.X)[:, 1],
        model.predict_proba(rest.X, **given)[:, 1],
    )
    return {
        "plain AP": found.plain_average_precision,
        "AP": found.average_precision,
        "plain MCDP": found.plain_mcdp,
        "MCDP": found.mcdp,
        "worse": found.mcdp > found.plain_mcdp + found.noise,
        "says worse": any(not text.startswith(NOT_TOLD) for text in problems),
        "no gain": compared is not None and not compared.shows_gain,
        "says else": bool(others),
    }


def small_mitigators() -> dict[str, tuple[Any, Any]]:
    """Default mitigators by name, each with its plain model."""
    found: dict[str, tuple[Any, Any]] = {
        "MCDPBoostingClassifier": (
            MCDPBoostingClassifier(TREES, random_state=0),
            TREES,
        )
    }
    for name, plain in {"logistic": LOGISTIC, "trees": TREES}.items():
        for kind in (UnawarePostProcessor, MCDPReweighter):
            found[f"{kind.__name__}({name})"] = kind(plain, random_state=0), plain
        for options in ({}, {"max_mcdp": 0.05}):
            model = MADDPostProcessor(plain, n_levels=21, **options)
            found[f"MADDPostProcessor({name}), {options}"] = model, plain
    return found


def small() -> None:
    """Count fits to small problems that widen the gap of new rows."""
    found = []
    for seed in SMALL_SEEDS:
        n_samples, options = problem(seed)
        X, y = make_biased_classification(n_samples, random_state=seed, **options)
        new, _ = make_biased_classification(N_NEW, random_state=5000 + seed, **options)
        groups, new_groups = X.pop("group"), new.pop("group")
        for name, (model, plain) in small_mitigators().items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model.fit(X, y, sensitive_features=groups)
            needs = isinstance(model, MADDPostProcessor)
            given = {"sensitive_features": new_groups} if needs else {}
            gap, plain_gap = (
                mcdp(None, scores[:, 1], sensitive_features=new_groups)
                for scores in (
                    model.predict_proba(new, **given),
                    clone(plain).fit(X, y).predict_proba(new),
                )
            )
            warned = any(issubclass(w.category, MitigationWarning) for w in caught)
            record = {"seed": seed, "mitigator": name, "plain": plain_gap}
            record |= {"rise": gap - plain_gap, "warned": warned}
            found.append(record)
    lines = pd.DataFrame(found)
    lines["worse"] = lines["rise"] > INCREASE
    lines["silent"] = lines["worse"] & ~lines["warned"]
    lines["same"] = lines["rise"] == 0
    print(f"\nsmall problems, MCDP(0) of new rows\n{lines[lines['worse']].to_string()}")
    counted = lines.groupby("mitigator")[["worse", "silent", "same", "warned"]].sum()
    means = lines.groupby("mitigator")[["plain", "rise"]].mean().round(3)
    print(counted.join(means).to_string())
    print(f"worse {lines['worse'].sum()}, of them without a warning ", end="")
    print(f"{lines['silent'].sum()}, of {len(lines)}")


def main() -> None:
    warnings.simplefilter("ignore")
    tables = {"census": lambda: load_table("census"), "simulated": simulated}
    for table in sys.argv[1:] or [*tables, "small"]:
        if table == "small":
            small()
            continue
        task, found = tables[table](), []
        for rate in RATES:
            for seed in SEEDS:
                parts = draw(task, rate, seed)
                for name, pair in mitigators(seed).items():
                    record = measure(parts, *pair)
                    cell = {"positives": rate, "seed": seed, "mitigator": name}
                    found.append(cell | record)
        lines = pd.DataFrame(found)
        warned = lines[["says worse", "no gain", "says else"]].any(axis=1)
        unsaid = lines[lines["worse"] & ~warned]
        silent = len(unsaid)
        fine = lines[~lines["worse"]]
        false = int((fine["says worse"] & (fine["MCDP"] < fine["plain MCDP"])).sum())
        cells = lines.drop(columns="seed").groupby(["mitigator", "positives"])
        means = cells.mean().round(3)
        print(f"\n{table}, means of {len(SEEDS)} seeds\n{means.to_string()}")
        verdict = "reached" if not silent else "MISSED"
        print(f"worse without a warning: {silent} of {len(lines)} (none: {verdict})")
        if silent:
            print(unsaid.to_string())
        verdict = "reached" if false <= 0.05 * len(fine) else "MISSED"
        print(f"falsely called worse: {false} of {len(fine)} (at most 5 %: {verdict})")
        print(lines[["says worse", "no gain", "says else"]].sum().to_string())


if __name__ == "__main__":
    main()

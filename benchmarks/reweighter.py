"""Measures `MCDPReweighter` against its targets, on Adult and Bank Marketing.

    SKFAIR_DATA=<folder of the tables> python benchmarks/reweighter.py [section ...]

Sections: frontier, options, settling, speed; all of them by default. The protocol is
that of the DiffMCDP paper (`_paper_protocol.py`): the groups are no features and never
given to predict, figures are means over the test rows of five splits.
"""

from __future__ import annotations

import sys
import time
from statistics import median
from typing import Any

import numpy as np
from _paper_protocol import SEEDS, Rows, load_task, measure, split
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from skfair.inprocessing import MCDPReweighter
from skfair.metrics import mcdp

#: Logistic regression is cheap, and needs more rounds to settle than trees.
ROUNDS = {"logistic": 30, "boosting": 10}
STRENGTHS = {
    ("adult", "logistic"): (0.0, 0.1, 0.2, 0.3, 0.4, 0.46, 0.6, 1.0),
    ("bank", "boosting"): (0.0, 0.2, 0.4, 0.6, 1.0),
    ("adult", "boosting"): (0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 0.9, 1.0),
}
#: Least AP and largest MCDP(0) that one strength must reach together.
TARGETS = {
    ("adult", "logistic"): [(0.725, 0.09)],
    ("bank", "boosting"): [(0.635, 0.125)],
    ("adult", "boosting"): [(0.785, 0.09), (0.77, 0.05)],
}


def make(name: str, seed: int) -> Any:
    if name == "logistic":
        return LogisticRegression(max_iter=300)
    return HistGradientBoostingClassifier(
        max_iter=80, early_stopping=False, random_state=seed
    )


def fit(name: str, rows: Rows, seed: int, **options: Any) -> MCDPReweighter:
    options = {"max_iter": ROUNDS[name], "random_state": seed, **options}
    model = MCDPReweighter(make(name, seed), **options)
    return model.fit(rows.X, rows.y, sensitive_features=rows.groups)


def quality(dataset: str, name: str, **options: Any) -> np.ndarray:
    """AP, MCDP(0) and DeltaDP on test rows, mean and deviation over the splits."""
    found = []
    for seed in SEEDS:
        train, _, test = split(load_task(dataset), seed)
        model = fit(name, train, seed, **options)
        values = measure(test, model.predict_proba(test.X)[:, 1])
        found.append([values[key] for key in ("ap", "mcdp", "delta_dp")])
    return np.array([np.mean(found, axis=0), np.std(found, axis=0, ddof=1)])


def row(what: str, values: np.ndarray) -> None:
    shown = [
        f"{key} {mean:.4f} +- {deviation:.4f}"
        for key, mean, deviation in zip(
            ("AP", "MCDP(0)", "DeltaDP"), *values, strict=True
        )
    ]
    print(f"{what:<34}", *shown, sep="   ", flush=True)


def shuffled(dataset: str) -> float:
    """MCDP(0) of the plain logistic model between shuffled groups."""
    found = []
    for seed in SEEDS:
        train, _, test = split(load_task(dataset), seed)
        scores = make("logistic", seed).fit(train.X, train.y).predict_proba(test.X)
        groups = np.random.default_rng(seed).permutation(test.groups)
        found.append(mcdp(None, scores[:, 1], sensitive_features=groups))
    return float(np.mean(found))


def frontier() -> None:
    for (dataset, name), targets in TARGETS.items():
        print(f"\n{dataset}, {name}; shuffled groups read {shuffled(dataset):.3f}")
        means = []
        for strength in STRENGTHS[dataset, name]:
            values = quality(dataset, name, strength=strength)
            row(f"strength {strength}", values)
            means.append(values[0])
        for least, most in targets:
            reached = any(ap >= least and gap <= most for ap, gap, _ in means)
            verdict = "reached" if reached else "MISSED"
            print(f"AP >= {least} with MCDP(0) <= {most}: {verdict}")


def options() -> None:
    """Compare what the defaults were chosen from."""
    changes: list[dict[str, Any]] = [
        {},
        *({"temperature": temperature} for temperature in (5.0, 10.0, 20.0, 100.0)),
        {"averaging": False},
        {"max_iter": 5},
        {"max_iter": 10},
        {"max_iter": 20},
        {"validation_fraction": 0.1},
        {"validation_fraction": None},
        {"form": "sample_weight"},
        {"objective": "dp"},
        {"objective": "abcc"},
    ]
    for dataset, name, strength in (
        ("adult", "logistic", 0.46),
        ("bank", "boosting", 0.4),
    ):
        print(f"\n{dataset}, {name}, strength {strength}; changed from the defaults:")
        for change in changes:
            values = quality(dataset, name, strength=strength, **change)
            row(str(change), values)


def settling() -> None:
    print("\nStandard deviation of the gap of training scores over the last 5 rounds")
    for dataset, name in TARGETS:
        train = split(load_task(dataset), 0).train
        for averaging in (True, False):
            model = fit(name, train, 0, averaging=averaging, max_iter=15, tol=0)
            gaps = model.history_["gap"]
            print(
                f"{dataset}, {name}, averaging={averaging!s:<5}: {gaps[-5:].std():.4f}"
                f" (from {gaps.iloc[0]:.3f} to {gaps.iloc[-1]:.3f})",
                flush=True,
            )


def speed() -> None:
    """Time rounds against as many fits to the doubled rows with the final weights."""
    print("\nTime of a fit, over its rounds times one fit to the doubled rows")
    for dataset, name in TARGETS:
        train = split(load_task(dataset), 0).train
        ratios = []
        for _ in range(5):
            start = time.perf_counter()
            model = fit(name, train, 0, tol=0)
            ours = time.perf_counter() - start
            rows = np.tile(np.arange(len(train.y)), 2)
            X, y = train.X.iloc[rows], np.repeat(model.classes_, len(train.y))
            weights = model.sample_weight_.T.ravel()
            start = time.perf_counter()
            clone(model.estimator).fit(X, y, sample_weight=weights)
            one = time.perf_counter() - start
            ratios.append(ours / (model.n_iter_ * one))
        verdict = "reached" if median(ratios) <= 1.1 else "MISSED"
        print(
            f"{dataset}, {name}: {median(ratios):.2f} (at most 1.10: {verdict}); "
            f"{ours:.1f} s for {model.n_iter_} rounds",
            flush=True,
        )


def main() -> None:
    sections = (frontier, options, settling, speed)
    chosen = sys.argv[1:] or [section.__name__ for section in sections]
    for section in sections:
        if section.__name__ in chosen:
            section()


if __name__ == "__main__":
    main()

"""How often a confirmed alternative is none, and what a search finds on real tables.

    SKFAIR_DATA=<folder of tables> python benchmarks/less_discriminatory.py [section]

Sections: gaps (level of the test of one gap, for gaps of different shapes), searches
(2,000 searches without any true alternative), adult, census; all of them by default, in
a few minutes.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial
from typing import Any

import numpy as np
from _tables import load_table
from lightgbm import LGBMClassifier
from scipy.optimize import brentq
from scipy.stats import loguniform, norm, randint
from sklearn.base import clone
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split

from skfair.exceptions import MitigationWarning
from skfair.groups import encode_groups
from skfair.inprocessing import MCDPBoostingClassifier
from skfair.metrics import mcdp
from skfair.model_selection import FairestWithin, LessDiscriminatorySearchCV
from skfair.model_selection._model_comparison import models_table
from skfair.model_selection._paired_tests import gap_test, largest_gap_place

LEVEL, MARGIN = 0.95, 0.02
N_SEARCHES, N_ROWS = 2000, 1000
#: Share of positives, and what a positive label and the second group add to a score.
POSITIVE, OF_LABEL, OF_GROUP = 0.3, 1.2, 1.2


def flat(gap: float, group: Any, ranks: Any, rng: Any) -> Any:
    """Scores with the same gap from .1 to .9."""
    ends = np.where(group == 0, 0.1, 1.0) - 0.1 * rng.random(len(group))
    return np.where(ranks < gap, ends, 0.1 + 0.8 * (ranks - gap) / (1 - gap))


def peaked(gap: float, group: Any, ranks: Any, rng: Any) -> Any:
    """Scores with the gap at .5 alone."""
    near = np.where(group == 0, 0.5, 0.51) - 0.01 * rng.random(len(group))
    return np.where(ranks < gap, near, rng.random(len(group)))


def gaps(n_samples: int = 2000) -> None:
    """Rejections of a candidate with the same gap, of other shapes, at two levels."""
    rng = np.random.default_rng(0)
    print("rows by group, gap, baseline to candidate: rejected at .05, at .01")
    for sizes in ((500, 500), (40, 1000)):
        group = np.repeat([0, 1], sizes)
        one_each = np.ones(len(group))
        for gap in (0.1, 0.4):
            for old, new in ((flat, peaked), (peaked, peaked), (peaked, flat)):
                pvalues = []
                for _ in range(n_samples):
                    ranks, others = rng.random((2, len(group)))
                    others = np.where(rng.random(len(group)) < 0.5, ranks, others)
                    first, second = (
                        shape(gap, group, one, rng)
                        for shape, one in ((old, ranks), (new, others))
                    )
                    kept = rng.random(len(group)) > 0.25
                    kept[[0, -1]] = False
                    place = largest_gap_place(
                        first[~kept], group[~kept], one_each[~kept]
                    )
                    args = group[kept], one_each[kept], LEVEL
                    test = gap_test(second[kept], first[kept], place, *args)
                    pvalues.append(test.pvalue)
                shares = [np.mean(np.array(pvalues) <= one) for one in (0.05, 0.01)]
                what = f"{sizes}, {gap}, {old.__name__} to {new.__name__}"
                print(f"{what}: {shares[0]:.4f}, {shares[1]:.4f}", flush=True)


def shares_above(t: Any, of_label: float, of_group: float, second: float) -> Any:
    """Shares of the positives, and of everyone, above a score."""
    members = ((1 - second, 0.0), (second, of_group))
    positive, negative = (
        sum(share * norm.sf(t - label - shift) for share, shift in members)
        for label in (of_label, 0.0)
    )
    return positive, POSITIVE * positive + (1 - POSITIVE) * negative


def true_precision(of_label: float, of_group: float, second: float) -> float:
    """Average precision of normal scores."""
    t = np.linspace(12, -8, 20_001)
    positive, everyone = shares_above(t, of_label, of_group, second)
    precision = POSITIVE * positive / everyone
    return float(np.trapezoid(precision, positive))


def true_gap(of_label: float, of_group: float) -> float:
    """MCDP(0) of normal scores."""
    t = np.linspace(-8, 12, 20_001)
    first, second = (
        (1 - POSITIVE) * norm.cdf(t - shift) + POSITIVE * norm.cdf(t - of_label - shift)
        for shift in (0.0, of_group)
    )
    return float(np.abs(first - second).max())


def boundaries(second: float) -> list[tuple[float, float]]:
    """Candidates that lose exactly the margin, or divide exactly as much."""
    target = true_precision(OF_LABEL, OF_GROUP, second) - MARGIN
    worse = brentq(lambda x: true_precision(x, 0.0, second) - target, 0, 3)
    better = OF_LABEL + 0.5
    gap = true_gap(OF_LABEL, OF_GROUP)
    as_unequal = brentq(lambda x: true_gap(better, x) - gap, 0, 3)
    return [(float(worse), 0.0), (better, float(as_unequal))]


def average_precision(hits: Any, ranks: Any, rows: Any) -> float:
    """Average precision of some rows, whose scores were ranked before."""
    kept = np.zeros(len(hits), dtype=bool)
    kept[ranks[rows]] = True
    found = hits[kept]
    return float(
        (found * found.cumsum() / np.arange(1, len(found) + 1)).sum() / found.sum()
    )


def searches() -> None:
    """Count searches that confirm anything, which would be false."""
    rng = np.random.default_rng(0)
    for kinds in ("performance", "disparity", "both"):
        for second in (0.3, 0.05):
            worse, unequal = boundaries(second)
            at = {"performance": [worse], "disparity": [unequal]}
            chosen = at.get(kinds, [worse, unequal])
            n_false = 0
            n_searches = N_SEARCHES // 6 + (N_SEARCHES % 6 > 0)
            for _ in range(n_searches):
                n_false += false_statement(rng, second, chosen)
            print(
                f"boundary of {kinds}, second group {second:.0%}: {n_false} of "
                f"{n_searches} searches, {n_false / n_searches:.4f}",
                flush=True,
            )


def false_statement(rng: Any, second: float, chosen: list[tuple[float, float]]) -> bool:
    """Whether anything is confirmed among 5 to 40 candidates at the boundary."""
    y = (rng.random(N_ROWS) < POSITIVE).astype(int)
    group = (rng.random(N_ROWS) < second).astype(int)
    common = rng.normal(size=N_ROWS)
    every = [(OF_LABEL, OF_GROUP)]
    every += [chosen[i % len(chosen)] for i in range(rng.integers(5, 41))]
    models = {}
    for i, (of_label, of_group) in enumerate(every):
        own = 0.8 * common + 0.6 * rng.normal(size=N_ROWS)
        scores = of_label * y + of_group * group + own
        order = np.argsort(-scores)
        ranks = np.empty_like(order)
        ranks[order] = np.arange(N_ROWS)
        models[i] = partial(average_precision, y[order], ranks), scores
    groups = encode_groups(group)
    table = models_table(
        models, groups, y, np.ones(N_ROWS), place=None, margin=MARGIN, level=LEVEL
    )
    return bool(table["confirmed"].any())


def real(name: str) -> None:
    """Search on 70 % of a table, and measure what it found on the others."""
    task = load_table(name)
    X = task.X.assign(group=task.groups)
    X, X_test, y, y_test = train_test_split(
        X, task.y, test_size=0.3, stratify=task.y, random_state=0
    )
    trees = LGBMClassifier(n_estimators=80, n_jobs=1, verbose=-1)
    model = MCDPBoostingClassifier(
        trees,
        strength=0.0,
        validation_fraction=None,
        sensitive_features="group",
        drop_sensitive=True,
        random_state=0,
    )
    search = LessDiscriminatorySearchCV(
        model,
        {"strength": loguniform(0.03, 0.6), "random_state": randint(0, 1000)},
        sensitive_features="group",
        margin=MARGIN,
        n_iter=10,
        cv=3,
        n_confirm=3,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MitigationWarning)
        search.fit(X, y)
        rule = FairestWithin(
            tolerance=MARGIN,
            kind="absolute",
            reference=search.alternatives_["search_performance"][0],
        )
        fairest = rule(search.cv_results_)
        params = search.alternatives_["params"][fairest]
        chosen = clone(model).set_params(**params).fit(X, y)
    n_taken = int(search.alternatives_["taken"].sum())
    n_fits = 3 * len(search.alternatives_) + 3 + 1 + n_taken
    print(f"{name}: {len(X)} rows, {n_fits} fits")
    shown = search.alternatives_.drop(columns=["params", "pvalue"])
    print(shown[shown["taken"] | (shown.index == 0)].round(4).T.to_string())
    for what, one in (
        ("baseline", search.baseline_),
        (f"confirmed ({search.best_params_})", search.best_estimator_),
        (f"RandomizedSearchCV with FairestWithin ({params})", chosen),
    ):
        scores = one.predict_proba(X_test)[:, 1]
        precision = average_precision_score(y_test, scores)
        gap = mcdp(None, scores, sensitive_features=X_test["group"])
        print(f"  {what}: {precision:.4f} at {gap:.4f} on {len(X_test)} other rows")


SECTIONS = {
    "gaps": gaps,
    "searches": searches,
    "adult": partial(real, "adult"),
    "census": partial(real, "census"),
}

if __name__ == "__main__":
    for section in sys.argv[1:] or SECTIONS:
        SECTIONS[section]()

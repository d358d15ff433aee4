"""Trade-offs of fair models on tables that their parameters were not chosen on.

    SKFAIR_DATA=<folder of the tables> python benchmarks/fair_models.py
        [--tables census,nist,diabetes] [--seeds 0,1] [--n-train 3000]
        [--methods unaware,boosting,reweighter,expgrad,gridsearch]
    SKFAIR_DATA=<folder of the tables> python benchmarks/fair_models.py --adult
    SKFAIR_DATA=<folder of the tables> python benchmarks/fair_models.py --opportunity
        [--tables adult,census] [--seeds 0,1,2,3,4]
        [--methods boosting,network,reweighter,unaware,repair]

All methods are around one LightGBM of 80 trees, and see no groups among the features.
Each gives models of several strengths, trained on the first rows of the training part
of a 40/30/30 split, and measured on all test rows, since those of a table as small as
the training rows would show little but noise:

- area: mean, over MCDP(0) from 0 to the plain model's, of the best average precision
  with at most that MCDP, as a share of the plain one, of which 0.8 counts as 0 and 1 as
  1; linear between models, 0 below the least MCDP;
- accuracy: at half the plain parity difference of decisions at 0.5, above the plain
  model's (expected values for models that decide at random);
- cost: CPU time of all strengths in plain fits.

With several methods, the last lines are the differences from the first.

--adult prints average precision at two values of MCDP(0) on all of Adult, with targets.

--opportunity trains and repairs for equal opportunity at every threshold, within the
positives (`control_features`), on all training rows: MCDP(0) among the positives of the
test rows, beside what shuffled groups read there, and the share of the plain model's
average precision. The target is half of the plain gap at 98 %.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from _tables import Rows, split_table
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score

from skfair import inprocessing
from skfair.groups import encode_groups
from skfair.metrics import mcdp
from skfair.postprocessing import MADDPostProcessor, UnawarePostProcessor

FLOOR = 0.8
STRENGTHS = (0.05, 0.1, 0.2, 0.4, 0.8)
BOUNDS = (0.12, 0.06, 0.03, 0.01)


class Point(NamedTuple):
    """A model on test rows."""

    average_precision: float
    mcdp: float
    accuracy: float
    parity: float


def make_trees() -> Any:
    return LGBMClassifier(n_estimators=80, n_jobs=1, verbose=-1, random_state=0)


def make_logistic() -> Any:
    return LogisticRegression(max_iter=1000)


MODELS = {"lightgbm": make_trees, "logistic": make_logistic}
#: The one of `MODELS` that methods are around, which `any_tables.py` changes.
around = "lightgbm"


def make_plain() -> Any:
    return MODELS[around]()


def point(rows: Rows, scores: NDArray[Any], decisions: Any = None) -> Point:
    """Measure scores, and decisions at 0.5 or given as probabilities."""
    if decisions is None:
        decisions = (scores > 0.5) + 0.0
    rates = [decisions[rows.groups == group].mean() for group in np.unique(rows.groups)]
    return Point(
        average_precision_score(rows.y, scores),
        mcdp(None, scores, sensitive_features=rows.groups),
        float(np.mean(np.where(rows.y == 1, decisions, 1 - decisions))),
        float(np.ptp(rates)),
    )


def positive(model: Any, rows: Rows) -> NDArray[Any]:
    repairs = isinstance(model, MADDPostProcessor)
    groups = {"sensitive_features": rows.groups} if repairs else {}
    return np.asarray(model.predict_proba(rows.X, **groups))[:, 1]


def unaware(train: Rows, test: Rows) -> Iterator[Point]:
    model = UnawarePostProcessor(make_plain(), random_state=0)
    model.fit(train.X, train.y, sensitive_features=train.groups)
    print(
        f"    strength chosen: {model.strength_:g}", point(test, positive(model, test))
    )
    for strength in model.path_["strength"]:
        yield point(test, positive(model.with_strength(strength), test))


def reweighter(train: Rows, test: Rows) -> Iterator[Point]:
    model = inprocessing.MCDPReweighter(make_plain(), random_state=0)
    model.fit(train.X, train.y, sensitive_features=train.groups)
    for strength in model.path_["strength"][1::2]:
        yield point(test, positive(model.with_strength(strength, train.X), test))


def boosting(train: Rows, test: Rows) -> Iterator[Point]:
    for strength in STRENGTHS:
        model = inprocessing.MCDPBoostingClassifier(
            make_plain(), strength=strength, random_state=0
        )
        model.fit(train.X, train.y, sensitive_features=train.groups)
        yield point(test, positive(model, test))


def expgrad(train: Rows, test: Rows) -> Iterator[Point]:
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient

    for bound in BOUNDS:
        model = ExponentiatedGradient(make_plain(), DemographicParity(), eps=bound)
        model.fit(train.X, train.y, sensitive_features=train.groups)
        scores = model._pmf_predict(test.X)[:, 1]
        yield point(test, scores, scores)


def gridsearch(train: Rows, test: Rows) -> Iterator[Point]:
    from fairlearn.reductions import DemographicParity, GridSearch

    model = GridSearch(make_plain(), DemographicParity(), grid_size=25)
    model.fit(train.X, train.y, sensitive_features=train.groups)
    for predictor in model.predictors_:
        yield point(test, positive(predictor, test))


METHODS: dict[str, Callable[[Rows, Rows], Iterator[Point]]] = {
    "unaware": unaware,
    "boosting": boosting,
    "reweighter": reweighter,
    "expgrad": expgrad,
    "gridsearch": gridsearch,
}


def best(points: list[Point], x: str, y: str, at: NDArray[Any]) -> NDArray[Any]:
    """Best y with at most that x, linear between models, nan left of all of them."""
    points = sorted(points, key=lambda found: getattr(found, x))
    xs = [getattr(found, x) for found in points]
    ys = np.maximum.accumulate([getattr(found, y) for found in points])
    return np.interp(at, xs, ys, left=np.nan)


def area(plain: Point, points: list[Point]) -> float:
    at = np.linspace(0, plain.mcdp, 1001)
    precision = best([plain, *points], "mcdp", "average_precision", at)
    shares = np.nan_to_num(precision / plain.average_precision)
    return float(np.clip((shares - FLOOR) / (1 - FLOOR), 0, None).mean())


def accuracy(plain: Point, points: list[Point]) -> float:
    at = np.array([plain.parity / 2])
    found = best([plain, *points], "parity", "accuracy", at)
    return float(found[0]) - plain.accuracy


def run(table: str, seed: int, n_train: int, methods: list[str], found: Any) -> None:
    parts = split_table(table, seed)
    train, test = Rows(*(part[:n_train] for part in parts.train)), parts.test
    start = time.process_time()
    model = make_plain().fit(train.X, train.y)
    cost = time.process_time() - start
    plain = point(test, positive(model, test))
    print(f"  seed {seed}, {len(train.y):,} training rows, plain {plain}", flush=True)
    for method in methods:
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            points = list(METHODS[method](train, test))
        fits = (time.process_time() - start) / cost
        values = area(plain, points), accuracy(plain, points), fits
        found[method].append(values)
        print(
            f"    {method:<12}",
            f"least MCDP {min(p.mcdp for p in points):.3f}",
            *(f"{value:8.3f}" for value in values),
            flush=True,
        )


def adult() -> None:
    """Average precision of UnawarePostProcessor at two values of MCDP, five seeds."""
    limits, targets, found, costs = np.array([0.08, 0.065]), (0.785, 0.775), [], []
    for seed in range(5):
        parts = split_table("adult", seed)
        train = parts.train
        start = time.process_time()
        model = UnawarePostProcessor(make_plain(), random_state=0)
        model.fit(train.X, train.y, sensitive_features=train.groups)
        fitted = time.process_time()
        fair = [model.with_strength(strength) for strength in model.path_["strength"]]
        costs.append((time.process_time() - fitted) / len(fair))
        points = [point(parts.test, positive(other, parts.test)) for other in fair]
        found.append(best(points, "mcdp", "average_precision", limits))
        print(f"seed {seed}: fit {fitted - start:.1f} s, {found[-1]}", flush=True)
    for limit, mean, target in zip(
        limits, np.mean(found, axis=0), targets, strict=True
    ):
        verdict = "reached" if mean >= target else "MISSED"
        print(f"Adult, AP at MCDP {limit}: {mean:.4f}  >= {target}  {verdict}")
    print(f"one strength: {np.mean(costs):.2f} s of CPU for {len(train.y):,} rows")


def among_positives(rows: Rows, scores: NDArray[Any], groups: Any = None) -> float:
    chosen, groups = rows.y == 1, rows.groups if groups is None else groups
    return mcdp(None, scores[chosen], sensitive_features=groups[chosen])


def noise_among_positives(rows: Rows, scores: NDArray[Any]) -> float:
    rng, groups = np.random.default_rng(0), rows.groups.copy()
    chosen, found = rows.y == 1, []
    for _ in range(50):
        groups[chosen] = rng.permutation(groups[chosen])
        found.append(among_positives(rows, scores, groups))
    return float(np.mean(found))


OPPORTUNITY: dict[str, tuple[Callable[[float], Any], tuple[float, ...]]] = {
    "boosting": (
        lambda strength: inprocessing.MCDPBoostingClassifier(
            make_plain(), strength=strength, random_state=0, validation_fraction=None
        ),
        (0.2, 0.3, 0.4, 0.5, 0.6, 0.8),
    ),
    "unaware": (
        lambda strength: UnawarePostProcessor(
            make_plain(), strength=strength, random_state=0
        ),
        (0.2, 0.4, 0.8, 1.6),
    ),
    "reweighter": (
        lambda strength: inprocessing.MCDPReweighter(
            make_logistic(), strength=strength, random_state=0
        ),
        (0.1, 0.2, 0.3, 0.45),
    ),
    # Its strength is the level of repair, and it needs the groups of new rows.
    "repair": (
        lambda strength: MADDPostProcessor(make_plain(), repair_level=strength),
        (0.25, 0.5, 0.75, 1.0),
    ),
    "network": (
        lambda strength: inprocessing.DiffMCDPClassifier(
            strength=strength, random_state=0, validation_fraction=None
        ),
        (0.2, 0.4, 0.8, 1.6),
    ),
}
#: Least share of the plain AP, and largest share of the plain gap, to reach together.
OPPORTUNITY_TARGET = 0.98, 0.5


def opportunity(tables: list[str], seeds: list[int], methods: list[str]) -> None:
    """Print what each strength reaches among the positives, means over seeds."""
    for table in tables:
        for method in methods:
            make, strengths = OPPORTUNITY[method]
            found = defaultdict(list)
            for seed in seeds:
                train, _, test = split_table(table, seed)
                positives = encode_groups(
                    np.where(train.y == 1, "positive", None), missing="drop"
                )
                for strength in (0.0, *strengths):
                    model = make(strength).fit(
                        train.X,
                        train.y,
                        sensitive_features=train.groups,
                        control_features=positives,
                    )
                    scores = positive(model, test)
                    precision = average_precision_score(test.y, scores)
                    found[strength].append((precision, among_positives(test, scores)))
                    if not strength:
                        noise = noise_among_positives(test, scores)
                        found["noise"].append((np.nan, noise))
            print_opportunity(f"{table}, {method}", found)


def print_opportunity(title: str, found: Any) -> None:
    noise = np.mean(found.pop("noise"), axis=0)[1]
    plain = np.array(found[0.0])
    print(f"\n{title}: MCDP(0) among positives, {noise:.3f} of shuffled groups")
    least, most = OPPORTUNITY_TARGET
    reached = False
    for strength, values in found.items():
        shares = (np.array(values) / plain)[:, 0]
        gaps = np.array(values)[:, 1]
        left = gaps.mean() / plain[:, 1].mean()
        reached |= shares.mean() >= least and left <= most
        print(
            f"  strength {strength:<4} AP share {shares.mean():.4f} "
            f"+- {shares.std(ddof=1):.4f}  MCDP(0) {gaps.mean():.4f} "
            f"+- {gaps.std(ddof=1):.4f}  {left:.2f} of the plain one",
            flush=True,
        )
    verdict = "reached" if reached else "MISSED"
    print(f"  {most:.0%} of the plain gap at {least:.0%} of AP: {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", default="census,nist,diabetes")
    parser.add_argument("--seeds", default="0,1")
    parser.add_argument("--n-train", type=int, default=3000)
    parser.add_argument("--methods", default=",".join({**METHODS, **OPPORTUNITY}))
    parser.add_argument("--adult", action="store_true")
    parser.add_argument("--opportunity", action="store_true")
    options = parser.parse_args()
    if options.adult:
        return adult()
    methods = options.methods.split(",")
    if options.opportunity:
        known = [method for method in methods if method in OPPORTUNITY]
        seeds = list(map(int, options.seeds.split(",")))
        return opportunity(options.tables.split(","), seeds, known)
    methods = [method for method in methods if method in METHODS]
    every: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for table in options.tables.split(","):
        print(table)
        found: dict[str, list[tuple[float, ...]]] = defaultdict(list)
        for seed in map(int, options.seeds.split(",")):
            run(table, seed, options.n_train, methods, found)
        for method, values in found.items():
            means = np.mean(values, axis=0)
            print(f"  {method:<12} area {means[0]:.3f}", end="")
            print(f"  accuracy {means[1]:+.4f}  cost {means[2]:.0f} plain fits")
            every[method] += values
    for method in methods[1:]:
        ahead = np.array(every[method]) - every[methods[0]]
        for column, name in enumerate(("area", "accuracy")):
            told = ahead[~np.isnan(ahead[:, column]), column]
            error = told.std(ddof=1) / np.sqrt(len(told))
            print(f"{method} minus {methods[0]}, {name}: ", end="")
            print(f"{told.mean():+.5f} +- {error:.5f}, {len(told)} cells")


if __name__ == "__main__":
    main()

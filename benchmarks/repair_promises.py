"""What a repair to a largest gap promises of new rows, and where it gives way.

    SKFAIR_DATA=<folder> python benchmarks/repair_promises.py [section ...]

Sections, all by default:

- confidence and expected: true gaps are those of 10,000 quantiles of the scores of each
  group, which have no noise.
- population: MCDP(0) that `max_mcdp=0.1` leaves in 100,000 new rows, of ten layouts
  of 600 to 4,000 rows, 16 fits each. None of them chose a constant.
- small_groups: a third group of 1 to 30 rows beside two of 1,000, 12 cases of four
  seeds, with `max_mcdp=0.1`, with the default, and in full; no case chose a constant.
- sizes: the gap that is left of groups of 10 to 400 rows, beside two of 1,000, by their
  own map, by everyone's, and by the mean of both.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skfair.exceptions import MitigationWarning
from skfair.metrics import mcdp
from skfair.postprocessing import (
    MADDPostProcessor,
    RepairedRegressor,
    ScoreRepairer,
    _group_cdfs,
)

N_QUANTILES = 10_000
#: New rows of all groups, and fits of each layout.
N_NEW, N_FITS = 100_000, 16
MAX_MCDP = 0.1


def scores_of(seed: int) -> tuple[list[Any], NDArray[np.int64], float]:
    """Score distributions of two or three groups, their sizes, and a gap to ask for."""
    rng = np.random.default_rng(seed)
    n_groups = int(rng.integers(2, 4))
    shapes = rng.uniform(0.5, 5, (n_groups, 2))
    sizes = np.exp(rng.uniform(np.log(500), np.log(8000), n_groups)).astype(int)
    return [stats.beta(*shape) for shape in shapes], sizes, rng.choice([0.1, 0.15, 0.2])


def repaired(seed: int, **options: Any) -> tuple[ScoreRepairer, float, float]:
    """Return a repair, the gap that was asked for, and the true one that is left."""
    distributions, sizes, max_mcdp = scores_of(seed)
    rng = np.random.default_rng(seed)
    scores = [
        found.rvs(size, random_state=rng)
        for found, size in zip(distributions, sizes, strict=True)
    ]
    groups = np.repeat(np.arange(len(sizes)), sizes)
    repairer = ScoreRepairer(max_mcdp=max_mcdp, **options)
    repairer.fit(np.concatenate(scores), sensitive_features=groups)
    places = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    new = np.concatenate([found.ppf(places) for found in distributions])
    groups = np.repeat(np.arange(len(sizes)), N_QUANTILES)
    moved = repairer.transform(new, sensitive_features=groups)
    return repairer, max_mcdp, mcdp(None, moved, sensitive_features=groups)


def confidence() -> None:
    """Count fits whose true gap is above the one asked for."""
    for options in ({}, {"confidence_level": 0.95}):
        above, kept, widths = 0, 0, []
        for seed in range(400):
            repairer, max_mcdp, gap = repaired(seed, **options)
            certified = repairer.certified_mcdp_ or max_mcdp
            kept += certified <= max_mcdp
            above += gap > max(certified, max_mcdp)
            widths.append(gap / max_mcdp)
        print(
            f"{options}: true gap above in {above} of 400 fits; promised in {kept}; "
            f"true gap {np.mean(widths):.2f} of the one asked for",
            flush=True,
        )


def expected() -> None:
    """Print the expected MCDP of a sample beside the mean over samples."""
    differences = []
    for seed in range(60):
        distributions, _, _ = scores_of(seed)
        repairer, _, _ = repaired(seed)
        sizes = np.random.default_rng(seed).integers(100, 2000, len(distributions))
        groups = np.repeat(np.arange(len(sizes)), sizes)
        found = []
        for draw in range(20):
            rng = np.random.default_rng(1000 * draw + seed)
            new = np.concatenate(
                [
                    scores.rvs(size, random_state=rng)
                    for scores, size in zip(distributions, sizes, strict=True)
                ]
            )
            moved = repairer.transform(new, sensitive_features=groups)
            found.append(mcdp(None, moved, sensitive_features=groups))
        told = repairer.expected_mcdp(dict(enumerate(sizes.tolist())))
        differences.append((told - np.mean(found), np.mean(found)))
    error, mean = np.array(differences).T
    print(
        f"expected MCDP of 60 repairs: mean {mean.mean():.3f}, told minus found "
        f"{error.mean():+.4f}, root mean square {np.sqrt((error**2).mean()):.4f}"
    )


class Layout(NamedTuple):
    """Sizes of groups, how far they are apart, and a model of them."""

    sizes: tuple[int, ...]
    shift: float
    model: Any
    options: dict[str, Any] = {}  # noqa: RUF012
    rounded: bool = False
    n_strata: int = 1

    def draw(self, sizes: Any, rng: Any) -> tuple[Any, Any, Any, Any]:
        """Skewed features, classes, groups and strata."""
        groups = np.repeat(np.arange(len(sizes)), sizes)
        places = self.shift * groups / max(1, len(sizes) - 1)
        strata = rng.integers(self.n_strata, size=len(groups))
        X = rng.gamma(3, 0.5, (len(groups), 4)) + rng.normal(size=(len(groups), 4))
        X[:, 0] += places
        X[:, 1] += 0.5 * strata
        y = rng.random(len(groups)) < expit(X @ [0.9, 0.7, 0.4, 0.2] - 4)
        return np.round(X) if self.rounded else X, y.astype(int), groups, strata


TREES = LGBMClassifier(n_estimators=60, num_leaves=15, verbose=-1, n_jobs=1)
LINE = make_pipeline(StandardScaler(), LogisticRegression())
LAYOUTS = {
    "two groups, 600 rows": Layout((300, 300), 1.0, LINE),
    "a group of 3 % of 3,000": Layout((1450, 1460, 90), 1.2, LINE),
    "ten groups, 4,000 rows": Layout((400,) * 10, 1.2, LINE),
    "rounded features, 800 rows": Layout((400, 400), 1.0, LINE, rounded=True),
    "tree of depth 4, 800 rows": Layout(
        (400, 400), 1.2, DecisionTreeClassifier(max_depth=4)
    ),
    "three groups, LightGBM": Layout((1000, 600, 400), 1.2, TREES),
    "frozen model, 1,000 rows": Layout((600, 400), 1.0, FrozenEstimator(LINE)),
    "regressor, 1,500 rows": Layout((1000, 500), 1.0, LinearRegression()),
    "three strata, 2,400 rows": Layout((1200, 1200), 1.0, LINE, n_strata=3),
    "tree, ties='random'": Layout(
        (600, 600),
        1.2,
        DecisionTreeClassifier(min_samples_leaf=60),
        {"ties": "random", "random_state": 0},
    ),
}


def population() -> None:
    """Print what `max_mcdp` leaves in the population, and how often it is warned."""
    every = []
    for name, layout in LAYOUTS.items():
        n_groups = len(layout.sizes)
        n_rows = (N_NEW // n_groups,) * n_groups
        new = layout.draw(n_rows, np.random.default_rng(10**6))
        found = pd.DataFrame([left_by(layout, seed, *new) for seed in range(N_FITS)])
        every.append(found)
        quiet = found[found["warned"] == 0]
        print(
            f"{name}: {found['gap'].mean():.3f} +- {found['gap'].sem():.3f} "
            f"(standard deviation {found['gap'].std():.3f}), plain "
            f"{found['plain'].mean():.3f}, stated {found['stated'].mean():.3f}, warned "
            f"{found['warned'].mean():.0%}, others {quiet['gap'].mean():.3f}",
            flush=True,
        )
    table = pd.concat(every)
    print(f"warned in {table['warned'].mean():.0%} of {len(table)} fits")


def left_by(
    layout: Layout, seed: int, X: Any, y: Any, groups: Any, strata: Any
) -> dict[str, float]:
    """Gaps of new rows before and after one repair, and whether it warned."""
    rng = np.random.default_rng(seed)
    rows, y_rows, of_rows, strata_of_rows = layout.draw(layout.sizes, rng)
    model: Any = layout.model
    if isinstance(model, FrozenEstimator):
        other, y_other, *_ = layout.draw(layout.sizes, rng)
        model = FrozenEstimator(model.estimator.fit(other, y_other))
    make, scale = MADDPostProcessor, "probability"
    if isinstance(model, LinearRegression):
        make, scale = RepairedRegressor, "rank"  # type: ignore[assignment]
        y_rows = rows @ [1, 1, 0.5, 0.5] + rng.normal(size=len(rows))
    fair = make(model, max_mcdp=MAX_MCDP, **layout.options)
    own, new = {"sensitive_features": of_rows}, {"sensitive_features": groups}
    if layout.n_strata > 1:
        own["control_features"], new["control_features"] = strata_of_rows, strata
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MitigationWarning)
        fair.fit(rows, y_rows, **own)
    regressor = scale == "rank"
    after = fair.predict(X, **new) if regressor else fair.predict_proba(X, **new)[:, 1]
    before = np.mean(
        [
            m.predict(X) if regressor else m.predict_proba(X)[:, 1]
            for m in fair.estimators_
        ],
        axis=0,
    )
    gaps = {
        what: np.mean(
            [
                mcdp(None, scores[own], sensitive_features=groups[own], scale=scale)
                for own in (strata == s for s in range(layout.n_strata))
            ]
        )
        for what, scores in {"gap": after, "plain": before}.items()
    }
    warned = any("not shown to hold" in str(found.message) for found in caught)
    return gaps | {"stated": fair.comparison_.mitigated["mcdp"], "warned": warned}


class Case(NamedTuple):
    """Rows to learn from, and others; the third group has the code 2."""

    X: Any
    y: Any
    groups: Any


def synthetic(shift: float, spread: float) -> Case:
    """Two groups that differ, and a third one somewhere else."""
    rng = np.random.default_rng(11)
    groups = np.repeat([0, 1, 2], 25_000)
    X = rng.normal(size=(len(groups), 4))
    X[:, 0] *= np.array([1, 1, spread])[groups]
    X[:, 0] += np.array([0, 0.8, shift])[groups]
    y = rng.random(len(groups)) < expit(X @ [1.0, 0.6, 0.3, 0.3] - 0.5)
    return Case(X, y.astype(int), groups)


def from_table(name: str) -> Case:
    """Take the three largest groups of a table, the smallest of them last."""
    from any_tables import read_task

    task = read_task(Path(__file__).parent / "tables" / f"{name}.toml")
    labels = task.groups.astype(str)
    largest = pd.Series(labels).value_counts().index[:3]
    codes = pd.Series(labels).map({label: i for i, label in enumerate(largest)})
    kept = codes.notna().to_numpy()
    X = task.X.to_numpy(float)[kept]
    return Case(X, task.y[kept], codes[kept].to_numpy(int))


CASES = {
    "far above": lambda: synthetic(2.0, 1),
    "between": lambda: synthetic(0.4, 1),
    "wider": lambda: synthetic(0.4, 2),
    "nist": lambda: from_table("nist_race"),
    "bank": lambda: from_table("bank_marital"),
    "diabetes": lambda: from_table("diabetes_race"),
}
WAYS: dict[str, dict[str, Any]] = {
    "max_mcdp=0.1": {"max_mcdp": MAX_MCDP},
    "auto": {},
    "in full": {"repair_level": 1},
}


def draw_case(case: Case, n_third: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Positions to learn from, 1,000 of both large groups first, and to test."""
    rng = np.random.default_rng(seed)
    learnt, tested = [], []
    for code, size in enumerate((1000, 1000, n_third)):
        own = rng.permutation(np.flatnonzero(case.groups == code))
        learnt.append(own[:size])
        tested.append(own[size : size + 8000])
    return np.concatenate(learnt), np.concatenate(tested)


def small_groups() -> None:
    """Count fits that a tiny group makes worse, and what it does to large ones."""
    found = []
    for name, make in CASES.items():
        case = make()
        for n_third in (1, 3) if name in ("between", "nist", "bank") else (5, 30):
            for seed in range(4):
                for way, options in WAYS.items():
                    one = beside_tiny(case, n_third, seed, options)
                    found.append(one | {"case": f"{name}, {n_third}", "way": way})
    table = pd.DataFrame(found)
    table["worse"] = (table["gap"] > table["plain"]) & (
        table["accuracy"] < table["plain_accuracy"]
    )
    table["silent"] = table["worse"] & ~table["warned"]
    shown = ["gap", "plain", "worse", "silent", "warned", "large_gap", "large_accuracy"]
    print(table.groupby(["way", "case"])[shown].mean().round(3).to_string())
    print(table.groupby("way")[shown].mean().round(4).to_string())
    print(table.groupby("way")[["large_gap", "large_accuracy"]].agg(["min", "max"]))


def beside_tiny(
    case: Case, n_third: int, seed: int, options: dict[str, Any]
) -> dict[str, Any]:
    """Fit with and without the third group, and measure both on other rows.

    `large_gap` and `large_accuracy` are what the third group adds to those of the two
    others.
    """
    learnt, tested = draw_case(case, n_third, seed)
    X, y, groups = (part[tested] for part in case)
    large, measured = groups < 2, []
    for rows in (learnt, learnt[:2000]):
        fair = MADDPostProcessor(LINE, random_state=0, **options)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", MitigationWarning)
            fair.fit(case.X[rows], case.y[rows], sensitive_features=case.groups[rows])
        if len(rows) > 2000:
            scores = fair.predict_proba(X, sensitive_features=groups)[:, 1]
            plain = np.mean(
                [m.predict_proba(X)[:, 1] for m in fair.estimators_], axis=0
            )
            both = {"": scores, "plain_": plain}
            figures: dict[str, Any] = {"warned": bool(caught)}
            for which, values in both.items():
                figures[f"{which}accuracy"] = accuracy_score(y, values >= 0.5)
                found = mcdp(None, values, sensitive_features=groups)
                figures["plain" if which else "gap"] = found
            found_large = scores[large]
        else:
            found_large = fair.predict_proba(X[large], sensitive_features=groups[large])
            found_large = found_large[:, 1]
        measured.append(
            (
                mcdp(None, found_large, sensitive_features=groups[large]),
                accuracy_score(y[large], found_large >= 0.5),
            )
        )
    with_third, without = np.array(measured)
    added = dict(
        zip(["large_gap", "large_accuracy"], with_third - without, strict=True)
    )
    return figures | added


def sizes() -> None:
    """Print the gap of a third group beside two large ones, by three maps."""
    ways = {"own": (1, 1), "mean": (20, 200), "everyone": (10**9, 10**9)}
    names = "_POOLED_ROWS", "MANY_ROWS_OF_GROUP"
    for name, make in CASES.items():
        case = make()
        X, y, groups = case
        rng = np.random.default_rng(0)
        first = rng.permutation(len(y))[: min(5000, len(y) // 3)]
        scores = LINE.fit(X[first], y[first]).predict_proba(X)[:, 1]
        rest = np.setdiff1d(np.arange(len(y)), first)
        rest_of = Case(scores[rest], y[rest], groups[rest])
        for n_third in (1, 3, 10, 20, 30, 60, 100, 200, 400):
            if n_third > np.sum(rest_of.groups == 2) // 2:
                continue
            found: dict[str, list[Any]] = {way: [] for way in ways}
            for seed in range(N_FITS):
                learnt, tested = draw_case(rest_of, n_third, seed)
                p, labels, of = (part[tested] for part in rest_of)
                for way, constants in ways.items():
                    for constant, value in zip(names, constants, strict=True):
                        setattr(_group_cdfs, constant, value)
                    repairer = ScoreRepairer(max_mcdp=0.05).fit(
                        rest_of.X[learnt], sensitive_features=rest_of.groups[learnt]
                    )
                    moved = repairer.transform(p, sensitive_features=of)
                    halves = np.where(of == 2, 2, 0)
                    own = of == 2
                    found[way].append(
                        (
                            mcdp(None, moved, sensitive_features=halves),
                            np.mean((moved[own] - labels[own]) ** 2),
                            average_precision_score(labels, moved),
                        )
                    )
            text = [
                f"{way} gap {np.mean(values, 0)[0]:.3f} +- {stats.sem(values)[0]:.3f}, "
                f"squared error {np.mean(values, 0)[1]:.4f}, "
                f"AP {np.mean(values, 0)[2]:.4f}"
                for way, values in found.items()
            ]
            print(f"{name}, {n_third} rows: {'; '.join(text)}", flush=True)
    for constant, value in zip(names, ways["mean"], strict=True):
        setattr(_group_cdfs, constant, value)


if __name__ == "__main__":
    parts = confidence, expected, population, small_groups, sizes
    sections = {part.__name__: part for part in parts}
    wanted = sys.argv[1:] or list(sections)
    if unknown := set(wanted) - set(sections):
        sys.exit(f"unknown sections {sorted(unknown)}, expected {list(sections)}")
    warnings.simplefilter("ignore", MitigationWarning)
    for name in wanted:
        sections[name]()

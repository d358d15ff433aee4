"""What a repair to a largest gap promises of new rows, and where it gives way.

    python benchmarks/repair_promises.py [section ...]

Sections: confidence, expected, folds, shared, problems and levels; all by default. True
gaps are those of 10,000 quantiles of the scores of each group, which have no noise, or
of 100,000 new rows; of problems of 8,000. The last section reads tables from the
directory that SKFAIR_DATA names.
"""

from __future__ import annotations

import sys
import warnings
from itertools import product
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from scipy import stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skfair.datasets import make_biased_classification
from skfair.exceptions import MitigationWarning
from skfair.metrics import mcdp
from skfair.postprocessing import MADDPostProcessor, ScoreRepairer

N_QUANTILES, N_NEW = 10_000, 100_000
#: Models that give many rows the same score.
SHARING = {
    "tree": DecisionTreeClassifier(min_samples_leaf=20, random_state=0),
    "forest": RandomForestClassifier(10, min_samples_leaf=5, n_jobs=1, random_state=0),
}
#: For small problems.
TREES = LGBMClassifier(
    n_estimators=40, min_child_samples=10, n_jobs=1, verbose=-1, random_state=0
)


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
    for options in ({}, {"confidence": 0.95}):
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


def folds() -> None:
    """Print the true gap of ensembles of five folds."""
    above, gaps = 0, []
    for seed in range(100):
        shifts = {"group": {"b": float(np.random.default_rng(seed).uniform(0.5, 1.5))}}
        X, y = make_biased_classification(6000, score_shifts=shifts, random_state=seed)
        new, _ = make_biased_classification(
            N_NEW, score_shifts=shifts, random_state=10_000 + seed
        )
        model = MADDPostProcessor(
            LogisticRegression(),
            max_mcdp=0.1,
            confidence=0.95,
            sensitive_features="group",
            drop_sensitive=True,
        )
        scores = model.fit(X, y).predict_proba(new)[:, 1]
        gaps.append(mcdp(None, scores, sensitive_features=new["group"]))
        above += gaps[-1] > model.repairer_.certified_mcdp_
    print(
        f"five folds: true gap above in {above} of 100 fits, mean {np.mean(gaps):.3f}"
    )


def shared() -> None:
    """Print the true gap of averages and refits of trees and forests."""
    for (name, plain), n_samples, ensemble in product(
        SHARING.items(), (1000, 4000), ("auto", False)
    ):
        above, gaps = 0, []
        for seed in range(100):
            shift = np.random.default_rng(seed).uniform(0.5, 1.5)
            options = {"score_shifts": {"group": {"b": float(shift)}}}
            X, y = make_biased_classification(n_samples, random_state=seed, **options)
            new, _ = make_biased_classification(
                N_NEW, random_state=10_000 + seed, **options
            )
            model = MADDPostProcessor(
                plain,
                max_mcdp=0.1,
                confidence=0.95,
                n_levels=2,
                ensemble=ensemble,
                ties="random",
                sensitive_features="group",
                drop_sensitive=True,
                random_state=0,
            )
            scores = model.fit(X, y).predict_proba(new)[:, 1]
            gaps.append(mcdp(None, scores, sensitive_features=new["group"]))
            above += gaps[-1] > model.repairer_.certified_mcdp_
        print(
            f"{name}, {n_samples} rows, ensemble={ensemble}: true gap above the "
            f"certified one in {above} of 100 fits, mean {np.mean(gaps):.3f}",
            flush=True,
        )


def problem(seed: int) -> tuple[int, dict[str, Any]]:
    """Draw the number of rows of a small problem, and the options of its simulation."""
    rng = np.random.default_rng(seed)
    n_groups = int(rng.integers(2, 4))
    sizes = np.maximum(rng.dirichlet(np.full(n_groups, 2.0)), 0.05)
    names = "abc"[:n_groups]
    n_samples = int(np.exp(rng.uniform(np.log(200), np.log(1500))))
    shifts = {
        name: float(rng.normal(0, 0.5) * (rng.random() < 0.7)) for name in names[1:]
    }
    shares = dict(zip(names, (sizes / sizes.sum()).tolist(), strict=True))
    return n_samples, {
        "group_sizes": {"group": shares},
        "score_shifts": {"group": shifts},
    }


def problems() -> None:
    """Count fits to small problems that widen the gap, and good ones not used."""
    found = []
    for seed in range(140, 210):
        n_samples, options = problem(seed)
        X, y = make_biased_classification(n_samples, random_state=seed, **options)
        new, _ = make_biased_classification(8000, random_state=5000 + seed, **options)
        groups, new_groups = X.pop("group"), new.pop("group")
        for plain in (LogisticRegression(), TREES):
            scores = plain.fit(X, y).predict_proba(new)[:, 1]
            before = mcdp(None, scores, sensitive_features=new_groups)
            for amount in ({}, {"max_mcdp": 0.0}, {"max_mcdp": 0.05}):
                model = MADDPostProcessor(plain, n_levels=21, **amount)
                changes = []
                for fallback in (False, True):
                    model.set_params(fallback=fallback)
                    model.fit(X, y, sensitive_features=groups)
                    scores = model.predict_proba(new, sensitive_features=new_groups)
                    after = mcdp(None, scores[:, 1], sensitive_features=new_groups)
                    changes.append(after - before)
                found.append(changes)
                if changes[1] > 0.02:
                    print(
                        f"  seed {seed}, {plain}, {amount}: {before:.3f}, {after:.3f}"
                    )
    changes = np.array(found)
    for fallback, change in zip((False, True), changes.T, strict=True):
        print(
            f"fallback={fallback}: MCDP(0) more than 0.02 above the plain one in "
            f"{np.sum(change > 0.02)} of {len(change)} fits, the same in "
            f"{np.sum(change == 0)}, mean change {change.mean():+.4f}",
            flush=True,
        )
    good = changes[:, 0] < -0.03
    print(
        f"MCDP(0) lower by more than 0.03 in {good.sum()} with fallback=False, of "
        f"which {np.sum(changes[good, 1] == 0)} are not used by default; their mean "
        f"change {changes[good, 0].mean():+.3f} and {changes[good, 1].mean():+.3f}"
    )


def levels() -> None:
    """Print the level that is chosen on tables, and the one if all could be."""
    from _tables import Rows, split_table
    from fair_models import make_plain, point, positive

    from skfair.postprocessing import _repair_losses

    limit = _repair_losses._SQUARES_LEFT
    for table in ("adult", "law", "oulad"):
        found = []
        for seed in range(3):
            parts = split_table(table, seed)
            train = Rows(*(part[:3000] for part in parts.train))
            plain = make_plain().fit(train.X, train.y)
            figures = [point(parts.test, positive(plain, parts.test)).mcdp]
            for _repair_losses._SQUARES_LEFT in (0, limit):
                model = MADDPostProcessor(make_plain())
                model.fit(train.X, train.y, sensitive_features=train.groups)
                after = point(parts.test, positive(model, parts.test)).mcdp
                figures += [model.repair_level_, after]
            found.append(figures)
        plain_gap, level, gap, limited, limited_gap = np.mean(found, axis=0)
        print(
            f"{table}: plain MCDP(0) {plain_gap:.3f}; level {level:.3f}, MCDP(0) "
            f"{gap:.4f}; with the limit of levels {limited:.3f}, {limited_gap:.4f}"
        )


if __name__ == "__main__":
    parts = confidence, expected, folds, shared, problems, levels
    sections = {part.__name__: part for part in parts}
    wanted = sys.argv[1:] or list(sections)
    if unknown := set(wanted) - set(sections):
        sys.exit(f"unknown sections {sorted(unknown)}, expected {list(sections)}")
    warnings.simplefilter("ignore", MitigationWarning)
    for name in wanted:
        sections[name]()

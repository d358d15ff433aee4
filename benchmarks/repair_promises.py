"""What a repair to a largest gap promises of new rows, and where it gives way.

    python benchmarks/repair_promises.py [section ...]

Sections: confidence, expected, folds, problems; all by default. True gaps are those of
10,000 quantiles of the scores of each group, which have no noise, or of 100,000 new
rows; of problems of 8,000.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from scipy import stats
from sklearn.linear_model import LogisticRegression

from skfair.datasets import make_biased_classification
from skfair.exceptions import MitigationWarning
from skfair.metrics import mcdp
from skfair.postprocessing import MADDPostProcessor, ScoreRepairer

N_QUANTILES, N_NEW = 10_000, 100_000
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
    """Count fits on small problems whose gap is larger than the plain model's."""
    for seeds, fallback in ((range(70), False), (range(140, 210), True)):
        increases = []
        for seed in seeds:
            n_samples, options = problem(seed)
            X, y = make_biased_classification(n_samples, random_state=seed, **options)
            new, _ = make_biased_classification(
                8000, random_state=5000 + seed, **options
            )
            groups, new_groups = X.pop("group"), new.pop("group")
            for plain in (LogisticRegression(), TREES):
                scores = plain.fit(X, y).predict_proba(new)[:, 1]
                before = mcdp(None, scores, sensitive_features=new_groups)
                for amount in ({}, {"max_mcdp": 0.0}, {"max_mcdp": 0.05}):
                    model = MADDPostProcessor(
                        plain, n_levels=21, fallback=fallback, **amount
                    )
                    model.fit(X, y, sensitive_features=groups)
                    scores = model.predict_proba(new, sensitive_features=new_groups)
                    after = mcdp(None, scores[:, 1], sensitive_features=new_groups)
                    increases.append(after - before)
        found = np.array(increases)
        print(
            f"fallback={fallback}: MCDP(0) more than 0.02 above the plain one in "
            f"{np.sum(found > 0.02)} of {len(found)} fits, the same in "
            f"{np.sum(found == 0)}, mean change {found.mean():+.3f}",
            flush=True,
        )


if __name__ == "__main__":
    sections = {part.__name__: part for part in (confidence, expected, folds, problems)}
    wanted = sys.argv[1:] or list(sections)
    if unknown := set(wanted) - set(sections):
        sys.exit(f"unknown sections {sorted(unknown)}, expected {list(sections)}")
    warnings.simplefilter("ignore", MitigationWarning)
    for name in wanted:
        sections[name]()

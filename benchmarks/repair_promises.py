"""What a repair to a largest gap promises of new rows, and where it gives way.

    python benchmarks/repair_promises.py [section ...]

Sections: confidence and expected; both by default. True gaps are those of 10,000
quantiles of the scores of each group, which have no noise.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from skfair.exceptions import MitigationWarning
from skfair.metrics import mcdp
from skfair.postprocessing import ScoreRepairer

N_QUANTILES = 10_000


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


if __name__ == "__main__":
    parts = confidence, expected
    sections = {part.__name__: part for part in parts}
    wanted = sys.argv[1:] or list(sections)
    if unknown := set(wanted) - set(sections):
        sys.exit(f"unknown sections {sorted(unknown)}, expected {list(sections)}")
    warnings.simplefilter("ignore", MitigationWarning)
    for name in wanted:
        sections[name]()

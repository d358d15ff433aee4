"""Speed of MCDP against named baselines.

    python benchmarks/distribution_metrics.py

Both calls of a row alternate; the ratio is that of their least processor times. The
baselines are `np.sort` of the same scores, and the paper's algorithms written plainly
in ``_paper_mcdp.py``. NumPy sorts about ten times as fast with AVX-512:
`NPY_DISABLE_CPU_FEATURES="X86_V4 X86_V3 AVX512_ICL AVX512_SPR"` shows the ratios
without.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from _paper_mcdp import approximate, exact
from _timing import compare

from skfair.metrics import mcdp, mcdp_curve

MILLION = 1_000_000


def draw(n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of two groups that differ, in random order."""
    generator = np.random.default_rng(0)
    groups = generator.integers(0, 2, n_samples)
    return generator.beta(2 + groups, 4), groups


def against_sort() -> None:
    """MCDP of a million rows, in units of one sort."""
    scores, groups = draw(MILLION)
    sort = partial(np.sort, scores)
    ours = partial(mcdp, None, scores, sensitive_features=groups)
    compare("mcdp(0), 1e6 rows / np.sort", ours, sort)
    window = partial(ours, epsilon=0.05)
    compare("mcdp(0.05), 1e6 rows / np.sort", window, sort)
    curve = partial(mcdp_curve, None, scores, sensitive_features=groups)
    compare("mcdp_curve, 1e6 rows / np.sort", curve, sort)
    margins = np.log(scores / (1 - scores))
    rank = {"sensitive_features": groups, "scale": "rank", "epsilon": 0.05}
    of_ranks = partial(mcdp, None, margins, **rank)
    compare("mcdp(0.05) of ranks, 1e6 rows / mcdp(0.05)", of_ranks, window)


def against_paper() -> None:
    """MCDP against the paper's two algorithms."""
    scores, groups = draw(15_000)
    ours = partial(mcdp, None, scores, sensitive_features=groups, epsilon=0.05)
    theirs = partial(exact, scores, groups, 0.05)
    compare("mcdp(0.05), 15,000 rows / Algorithm 1", ours, theirs, repeats=3)
    print(f"    values {ours():.12f} and {theirs():.12f}")
    for n_samples, epsilon in (20_000, 0.01), (20_000, 0.1), (MILLION, 0.05):
        scores, groups = draw(n_samples)
        compare(
            f"mcdp({epsilon}), {n_samples:,} rows / Algorithm 2, K = 32",
            partial(mcdp, None, scores, sensitive_features=groups, epsilon=epsilon),
            partial(approximate, scores, groups, epsilon),
        )


if __name__ == "__main__":
    print(f"{'ours / baseline':56s}{'ours':>13s}{'baseline':>13s}{'ratio':>10s}")
    against_sort()
    against_paper()

"""Speed of MCDP and MADD against named baselines.

    python benchmarks/distribution_metrics.py

Both calls of a row alternate; the ratio is that of their least processor times. The
baselines are `np.sort` of the same scores, scipy, `np.histogram`, and the paper's
algorithms written plainly in ``_paper_mcdp.py``. NumPy sorts about ten times as fast
with AVX-512: `NPY_DISABLE_CPU_FEATURES="X86_V4 X86_V3 AVX512_ICL AVX512_SPR"` shows
the ratios without.
"""

from __future__ import annotations

import tracemalloc
from functools import partial

import numpy as np
from _paper_mcdp import approximate, exact
from _timing import compare
from scipy.stats import ks_2samp

from skfair.metrics import madd_curve, mcdp, mcdp_curve

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
    parts = scores[groups == 0], scores[groups == 1]
    test = partial(ks_2samp, *parts, method="asymp")
    compare("mcdp(0), 1e6 rows / ks_2samp", ours, test)


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


def against_histograms() -> None:
    """MADD over 500 bandwidths."""
    scores, groups = draw(MILLION)
    parts = [scores[groups == 0], scores[groups == 1]]

    def histograms() -> None:
        for n_bins in range(1, 501):
            for part in parts:
                np.histogram(part, n_bins, range=(0, 1))

    ours = partial(madd_curve, None, scores, sensitive_features=groups)
    compare("madd_curve, 1e6 rows / 500 histograms", ours, histograms, repeats=2)


def memory() -> None:
    """Peak memory of MCDP, in units of the scores."""
    scores, groups = draw(MILLION)
    for name, metric in {"mcdp(0)": mcdp, "mcdp_curve": mcdp_curve}.items():
        tracemalloc.start()
        metric(None, scores, sensitive_features=groups)
        peak = tracemalloc.get_traced_memory()[1] / scores.nbytes
        tracemalloc.stop()
        print(f"peak memory of {name}, 1e6 rows: {peak:.1f} x scores")


if __name__ == "__main__":
    print(f"{'ours / baseline':56s}{'ours':>13s}{'baseline':>13s}{'ratio':>10s}")
    against_sort()
    against_paper()
    against_histograms()
    memory()

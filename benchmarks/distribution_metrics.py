"""Speed of MCDP, MADD and DeltaDP against named baselines.

    python benchmarks/distribution_metrics.py

Each row is one run of both calls in turn; ratios are medians over pairs. The
baselines are `np.sort` of the same scores, scipy, fairlearn, `np.histogram`, and the
paper's algorithms written plainly in ``_paper_mcdp.py``.
"""

from __future__ import annotations

import tracemalloc
import warnings
from functools import partial
from itertools import combinations

import numpy as np
from _paper_mcdp import approximate, exact
from _timing import compare, seconds
from scipy.stats import ks_2samp

from skfair.groups import encode_groups
from skfair.metrics import (
    demographic_parity_difference,
    madd,
    madd_curve,
    mcdp,
    mcdp_curve,
    permutation_test,
)
from skfair.metrics._distribution._madd import stable_interval

MILLION = 1_000_000


def draw(n_samples: int, n_groups: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Scores of groups that differ, in random order."""
    generator = np.random.default_rng(0)
    groups = generator.integers(0, n_groups, n_samples)
    return generator.beta(2 + groups / (n_groups - 1), 4), groups


def against_sort() -> None:
    """MCDP of a million rows, in units of one sort."""
    scores, groups = draw(MILLION)
    sort = partial(np.sort, scores)
    ours = partial(mcdp, None, scores, sensitive_features=groups)
    curve = partial(mcdp_curve, None, scores, sensitive_features=groups)
    compare("mcdp(0), 1e6 rows / np.sort", ours, sort, at_most=4)
    compare(
        "mcdp(0.05), 1e6 rows / np.sort", partial(ours, epsilon=0.05), sort, at_most=8
    )
    margins = np.log(scores / (1 - scores))
    ranked = partial(
        mcdp, None, margins, sensitive_features=groups, scale="rank", epsilon=0.05
    )
    compare(
        "mcdp(0.05) of ranks of log-odds, 1e6 rows / mcdp(0.05)",
        ranked,
        partial(ours, epsilon=0.05),
        at_most=1.5,
    )
    compare("mcdp_curve, 1e6 rows / np.sort", curve, sort, at_most=100, repeats=5)
    names = np.array(["F", "M"], dtype=object)[groups]
    compare(
        "mcdp(0), 1e6 rows, text labels / np.sort",
        partial(mcdp, None, scores, sensitive_features=names),
        sort,
        repeats=5,
    )
    first, second = scores[groups == 0], scores[groups == 1]
    compare(
        "mcdp(0), 1e6 rows : ks_2samp",
        ours,
        partial(ks_2samp, first, second, method="asymp"),
        at_least=1,
    )


def against_paper() -> None:
    """MCDP against the paper's two algorithms."""
    scores, groups = draw(15_000)
    ours = partial(mcdp, None, scores, sensitive_features=groups, epsilon=0.05)
    theirs = partial(exact, scores, groups, 0.05)
    name = "mcdp(0.05), 15,000 rows : Algorithm 1"
    compare(name, ours, theirs, at_least=500, repeats=3, n_calls=50)
    print(f"    values {ours():.12f} and {theirs():.12f}")
    for n_samples in (20_000, MILLION):
        scores, groups = draw(n_samples)
        for epsilon in (0.01, 0.05, 0.1):
            compare(
                f"mcdp({epsilon}), {n_samples:,} rows / Algorithm 2, K = 32",
                partial(mcdp, None, scores, sensitive_features=groups, epsilon=epsilon),
                partial(approximate, scores, groups, epsilon),
                at_most=2,
                repeats=41 if n_samples < MILLION else 9,
            )


def against_histograms() -> None:
    """MADD over 500 bandwidths, and the search for the stable interval."""
    scores, groups = draw(MILLION)
    parts = [scores[groups == 0], scores[groups == 1]]

    def histograms() -> None:
        for n_bins in range(1, 501):
            for part in parts:
                np.histogram(part, n_bins, range=(0, 1))

    ours = partial(madd_curve, None, scores, sensitive_features=groups)
    compare(
        "madd_curve, 1e6 rows : 500 histograms",
        ours,
        histograms,
        at_least=20,
        repeats=3,
    )
    values = np.random.default_rng(0).random(1000)
    search = partial(stable_interval, values, (1e4, 1e4))
    search()
    taken = np.median([seconds(search) for _ in range(9)])
    print(f"interval search, 1,000 bandwidths: {1e3 * taken:.1f} ms (target 50 ms)")
    compare_pairs()


def compare_pairs() -> None:
    """MADD of many groups, against one call for each pair of them."""
    scores, groups = draw(60_000, 60)
    members = [np.flatnonzero(groups == group) for group in range(60)]

    def pair_by_pair() -> None:
        for pair in combinations(members, 2):
            rows = np.concatenate(pair)
            madd(None, scores[rows], sensitive_features=groups[rows])

    compare(
        "madd, 60 groups of 1,000 rows : each pair",
        partial(madd, None, scores, sensitive_features=groups),
        pair_by_pair,
        at_least=5,
        repeats=3,
    )


def against_fairlearn() -> None:
    """Demographic parity difference of a million rows in 20 groups."""
    from fairlearn.metrics import demographic_parity_difference as theirs

    scores, groups = draw(MILLION, 20)
    decisions = (scores > 0.5).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(
            "DeltaDP, 1e6 rows, 20 groups : fairlearn",
            partial(
                demographic_parity_difference,
                decisions,
                decisions,
                sensitive_features=groups,
            ),
            partial(theirs, decisions, decisions, sensitive_features=groups),
            at_least=50,
            repeats=3,
        )


def resampling_and_memory() -> None:
    """Time of a permutation test, and peak memory of MCDP."""
    scores, groups = draw(100_000)
    test = partial(
        permutation_test,
        mcdp,
        None,
        scores,
        sensitive_features=groups,
        n_permutations=1000,
        random_state=0,
    )
    print(
        f"permutation_test(mcdp), 1e5 rows, 1,000 permutations: {seconds(test):.1f} s"
    )
    scores, groups = draw(MILLION)
    given = {"sensitive_features": encode_groups(groups)}
    for name, call in (
        ("mcdp(0)", partial(mcdp, None, scores, **given)),
        ("mcdp(0.05)", partial(mcdp, None, scores, epsilon=0.05, **given)),
        ("mcdp_curve", partial(mcdp_curve, None, scores, **given)),
        ("madd_curve", partial(madd_curve, None, scores, **given)),
    ):
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"peak memory of {name}, 1e6 rows: {peak / scores.nbytes:.1f} x scores")


if __name__ == "__main__":
    print(f"{'ours / or : baseline':58s} {'ours':>13s} {'baseline':>14s}")
    against_sort()
    against_paper()
    against_histograms()
    against_fairlearn()
    resampling_and_memory()

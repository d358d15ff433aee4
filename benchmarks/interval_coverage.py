"""How often intervals cover the true disparity, and how wide they are.

    python benchmarks/interval_coverage.py [--samples 2000] [--groups 2 5 12]

Scores of one group are shifted against those of all others. The truth is the metric of
the distributions themselves. Width is the mean width over that of `bootstrap_interval`
on the first samples, which keeps no level near parity.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import stats

from skfair.metrics import (
    abcc,
    bootstrap_interval,
    confidence_interval,
    demographic_parity_difference,
    madd,
    madd_curve,
    madd_optimal_bandwidth,
    mcdp,
)

METRICS: dict[str, Callable[..., float]] = {
    "MCDP(0)": mcdp,
    "MCDP(.05)": partial(mcdp, epsilon=0.05),
    "MCDP(.1)": partial(mcdp, epsilon=0.1),
    "ABCC": abcc,
    "DeltaDP": demographic_parity_difference,
    "parity at .5": partial(demographic_parity_difference, threshold=0.5),
    "MADD 10": partial(madd, bandwidth=1 / 10),
    "MADD 100": partial(madd, bandwidth=1 / 100),
    "MADD": madd,
}
SIZES = ((20, 200), (100, 300), (1000, 1000))
SHIFTS = (0.0, 0.1, 0.3, 1.5)
N_BOOTSTRAPPED = 5


def continuous(uniform: NDArray[Any], shift: float) -> NDArray[Any]:
    """Beta scores."""
    return stats.beta.ppf(uniform, 2 + shift, 5)


def flat(uniform: NDArray[Any], shift: float) -> NDArray[Any]:
    """Uniform scores, shifted: the gap is the same over many thresholds."""
    return 0.5 * uniform + shift / 3


def five(uniform: NDArray[Any], shift: float) -> NDArray[Any]:
    """Five distinct scores."""
    return np.round(4 * continuous(uniform, 2 * shift)) / 4


def atoms(uniform: NDArray[Any], shift: float) -> NDArray[Any]:
    """Much of the mass at 0 and at 1."""
    return np.clip(2 * continuous(uniform, 3 * shift) - 0.3, 0, 1)


SHAPES = (continuous, flat, five, atoms)


def stable_truth(scores: NDArray[Any], groups: NDArray[Any], curve: Any) -> float:
    """Mean of the true MADD over the bandwidths that a sample of two groups chose."""
    found = madd_optimal_bandwidth(None, scores, sensitive_features=groups)
    low, high = found.interval
    bandwidths, values = curve
    return values[(bandwidths >= low) & (bandwidths < high)].mean()


def quantile_scores(
    shape: Callable[..., Any], shift: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Scores at quantiles of the two distributions, and their groups."""
    uniform = (np.arange(100_000) + 0.5) / 100_000
    scores = np.concatenate([shape(uniform, shift), shape(uniform, 0)])
    return scores, np.repeat([0, 1], len(uniform))


def truths(shape: Callable[..., Any], shift: float) -> dict[str, float]:
    """Metrics of the two distributions, from their quantiles."""
    scores, groups = quantile_scores(shape, shift)
    return {
        name: metric(None, scores, sensitive_features=groups)
        for name, metric in METRICS.items()
    }


def cell(
    shape: Callable[..., Any],
    shift: float,
    sizes: tuple[int, int],
    n_groups: int,
    n_samples: int,
) -> pd.DataFrame:
    """Coverage and relative width of all metrics for one distribution and size."""
    groups = np.repeat(np.arange(n_groups), [sizes[0], *[sizes[1]] * (n_groups - 1)])
    shifted = groups == 0
    truth, metrics = truths(shape, shift), dict(METRICS)
    if n_groups > 2:  # each pair chooses bandwidths of its own
        del metrics["MADD"]
    scores, two = quantile_scores(shape, shift)
    curve = madd_curve(None, scores, sensitive_features=two)
    covered = dict.fromkeys(metrics, 0)
    width, bootstrapped = dict.fromkeys(metrics, 0.0), dict.fromkeys(metrics, 0.0)
    for seed in range(n_samples):
        uniform = np.random.default_rng(seed).random(len(groups))
        scores = np.where(shifted, shape(uniform, shift), shape(uniform, 0))
        if "MADD" in metrics:
            truth["MADD"] = stable_truth(scores, groups, curve)
        for name, metric in metrics.items():
            arguments = {"y_true": None, "y_score": scores}
            options: dict[str, Any] = {"sensitive_features": groups}
            found = confidence_interval(metric, **arguments, **options)
            covered[name] += found.low - 1e-9 <= truth[name] <= found.high + 1e-9
            if shift == max(SHIFTS) and seed < N_BOOTSTRAPPED:
                width[name] += found.high - found.low
                options |= {"n_resamples": 99, "random_state": seed}
                rough = bootstrap_interval(metric, **arguments, **options)
                bootstrapped[name] += rough.high - rough.low
    rows = [
        (
            shape.__name__,
            shift,
            sizes,
            n_groups,
            name,
            covered[name] / n_samples,
            width[name] / bootstrapped[name] if bootstrapped[name] else np.nan,
        )
        for name in metrics
    ]
    columns = ["shape", "shift", "sizes", "groups", "metric", "coverage", "width"]
    return pd.DataFrame(rows, columns=columns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--groups", type=int, nargs="+", default=[2, 5, 12])
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tasks = [
        (shape, shift, sizes, n_groups, options.samples)
        for n_groups in options.groups
        for shape in SHAPES
        for sizes in SIZES
        for shift in SHIFTS
    ]
    parallel = Parallel(n_jobs=options.jobs)
    found = pd.concat(parallel(delayed(cell)(*task) for task in tasks))
    away = found[found["shift"] == max(SHIFTS)]
    for by in (["metric", "groups"], ["metric", "shape"], ["metric", "sizes"]):
        least = found.groupby(by)["coverage"].min().unstack()
        print(f"\nLeast coverage of nominal 95 %\n{least.round(3)}")
    widths = away.groupby(["metric", "sizes"])["width"].mean().unstack()
    print(f"\nWidth over the bootstrap's, shift {max(SHIFTS)}\n{widths.round(2)}")
    bad = found[found["coverage"] < 0.94]
    print(f"\n{len(bad)} of {len(found)} cells below 94 %\n{bad.to_string()}")


if __name__ == "__main__":
    main()

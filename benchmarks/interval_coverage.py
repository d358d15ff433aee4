"""How often the bootstrap interval covers the true disparity.

    python benchmarks/interval_coverage.py

Scores of two groups are Beta(2, 5) and Beta(2 + shift, 5); the truth is the metric
of the distributions themselves.
"""

from __future__ import annotations

import numpy as np
from scipy import integrate, stats

from skfair.metrics import (
    abcc,
    bootstrap_interval,
    demographic_parity_difference,
    madd,
    mcdp,
)

METRICS = {
    "MCDP(0)": mcdp,
    "ABCC": abcc,
    "DeltaDP": demographic_parity_difference,
    "MADD": madd,
}


def truths(shift: float) -> dict[str, float]:
    """Metrics of the two distributions."""
    first, second = stats.beta(2, 5), stats.beta(2 + shift, 5)
    grid = np.linspace(0, 1, 20_001)
    gap = np.abs(first.cdf(grid) - second.cdf(grid))
    area = integrate.trapezoid(gap, grid)
    distance = integrate.trapezoid(np.abs(first.pdf(grid) - second.pdf(grid)), grid)
    means = abs(first.mean() - second.mean())
    return dict(zip(METRICS, (gap.max(), area, means, distance), strict=True))


def coverage(name: str, shift: float, sizes: tuple[int, int], n_trials: int) -> float:
    """Share of nominal 95 % intervals that hold the truth."""
    truth = truths(shift)[name]
    groups = np.repeat([0, 1], sizes)
    covered = 0
    for seed in range(n_trials):
        generator = np.random.default_rng(seed)
        scores = generator.beta(2 + shift * groups, 5)
        result = bootstrap_interval(
            METRICS[name],
            None,
            scores,
            sensitive_features=groups,
            n_resamples=199,
            random_state=seed,
        )
        covered += result.low <= truth <= result.high
    return covered / n_trials


if __name__ == "__main__":
    print(f"{'metric':8s} {'shift':>6s} {'truth':>7s} {'sizes':>14s} {'coverage':>9s}")
    for name in METRICS:
        n_trials = 50 if name == "MADD" else 200
        for shift in (0.0, 0.3, 1.5):
            for sizes in ((100, 300), (1000, 1000)):
                share = coverage(name, shift, sizes, n_trials)
                print(
                    f"{name:8s} {shift:6.1f} {truths(shift)[name]:7.3f} "
                    f"{sizes!s:>14s} {share:9.2f}",
                    flush=True,
                )

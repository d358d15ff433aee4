"""How many rows an audit needs, against the number of groups.

    python benchmarks/cvar_sample_complexity.py    # about ten minutes

For each number of groups, the fewest rows with which a test errs with probability
0.05 (the mean of false alarms and misses), by simulation of whole audits:

- max-gap: rows drawn at random, alarm if the largest gap reaches epsilon / 2;
- weighted: the CVaR test (algorithm 1) under weighted sampling;
- attribute specific: the CVaR test under attribute-specific sampling.

Groups have equal weights. If they are not served alike, half of the groups in the tail
have a rate of 0.5 + epsilon, half 0.5 - epsilon, all others 0.5. The exponent is the
slope of log(rows) on log(groups); its standard error comes from the regression alone.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.stats import linregress

from skfair.sampling._plans import (
    draw_sizes,
    simulated_estimates,
    unequal_rates,
)

ERROR = 0.05
SETTINGS = {
    "asymptotic": {"epsilon": 0.45, "alpha": 0.5},
    "not yet asymptotic": {"epsilon": 0.3, "alpha": 0.9},
}
#: Tests, with the exponent that the theory gives.
TESTS = {
    "max-gap": "1, proposition 1",
    "weighted": "0.5, theorem 1",
    "attribute_specific": "0, theorem 2",
}


def error_probability(
    test: str, n_groups: int, n: int, epsilon: float, alpha: float, n_audits: int
) -> float:
    """Mean of the shares of false alarms and of misses."""
    generator = np.random.default_rng(n_groups)
    alarms = []
    for shift in (0.0, epsilon):
        if test == "max-gap":
            largest = largest_gaps(n_groups, n, shift, alpha, n_audits, generator)
            alarms.append(np.mean(largest >= epsilon / 2))
            continue
        estimates = simulated_estimates(
            np.full(n_groups, 1 / n_groups),
            n,
            (test, 2 / 3 if test == "weighted" else None),
            tail=1 - alpha,
            epsilon=shift,
            n_simulations=n_audits,
            generator=generator,
        )
        alarms.append(np.mean(estimates >= (1 - alpha) * epsilon**2 / 2))
    return float((alarms[0] + 1 - alarms[1]) / 2)


def largest_gaps(
    n_groups: int,
    n: int,
    shift: float,
    alpha: float,
    n_audits: int,
    generator: np.random.Generator,
) -> np.ndarray:
    """Max-gap of many audits; groups without rows are left out."""
    weights = np.full(n_groups, 1 / n_groups)
    largest = np.empty(n_audits)
    n_in_block = max(1, 2**20 // n_groups)
    for start in range(0, n_audits, n_in_block):
        n_block = min(n_in_block, n_audits - start)
        rates = unequal_rates(weights, n_block, 1 - alpha, shift, generator)
        sizes, _ = draw_sizes(weights, n, ("weighted", 2 / 3), n_block, generator)
        seen = sizes > 0
        observed = generator.binomial(sizes, rates) / np.maximum(sizes, 1)
        mean = (observed * seen).sum(axis=1) / seen.sum(axis=1)
        gaps = np.where(seen, np.abs(observed - mean[:, np.newaxis]), 0)
        largest[start : start + n_block] = gaps.max(axis=1)
    return largest


def rows_needed(
    test: str, n_groups: int, epsilon: float, alpha: float, n_audits: int
) -> int:
    """Fewest rows with an error probability of at most 0.05, to about 2 %."""

    def errs(n: int) -> bool:
        error = error_probability(test, n_groups, n, epsilon, alpha, n_audits)
        return error > ERROR

    low, high = 2, 4
    while errs(high):
        low, high = high, 2 * high
    while high > 1.02 * low + 1:
        middle = round((low * high) ** 0.5)
        if errs(middle):
            low = middle
        else:
            high = middle
    return high


def main() -> None:
    """Print the rows needed in every setting, and the exponents from 256 groups on."""
    n_groups = [2**power for power in range(4, 15)]
    for (name, setting), test in itertools.product(SETTINGS.items(), TESTS):
        rows = []
        for groups in n_groups:
            print(f"{name}, {test}: {groups:,} groups", flush=True)
            rows.append(rows_needed(test, groups, **setting, n_audits=1000))
        fit = linregress(np.log(n_groups[4:]), np.log(rows[4:]))
        theory = f"theory: {TESTS[test]}"
        print(
            f"{name}, {test}: exponent {fit.slope:.3f} +- {fit.stderr:.3f} ({theory})"
        )
        print(dict(zip(n_groups, rows, strict=True)), flush=True)


if __name__ == "__main__":
    main()

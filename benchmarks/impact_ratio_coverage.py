"""How often nominal 95 % intervals of impact ratios hold the true ratio.

For two groups the probability is exact, summed over all outcomes; for several it is
the share of simulated tables.
"""

from itertools import product

import numpy as np
from scipy.stats import binom

from skfair.metrics._impact_ratios import _intervals
from skfair.metrics._rate_intervals import clopper_pearson, ratio_bounds

TAIL = 0.025
SIZES = (5, 10, 20, 40, 80, 200)
HIGHEST = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.98)
RATIOS = (0.1, 0.3, 0.5, 0.8, 0.95, 1.0)
SEVERAL = {
    "4 groups of 300, rate .3 each": ((300,) * 4, (0.3,) * 4),
    "1000, 100, 30, 500; .3, .25, .4, .1": (
        (1000, 100, 30, 500),
        (0.3, 0.25, 0.4, 0.1),
    ),
    "10 groups of 50, rate .2 each": ((50,) * 10, (0.2,) * 10),
    "5 and 1000, rate .5 each": ((5, 1000), (0.5, 0.5)),
}


def of_two_groups():
    """Coverage and mean width for every pair of sizes, highest rate and ratio."""
    for first, second in product(SIZES, SIZES):
        hits = np.arange(first + 1), np.arange(second + 1)
        sizes = np.repeat([first, second], [first + 1, second + 1]).astype(float)
        every = np.concatenate(hits)
        bounds = ratio_bounds(every / sizes, *clopper_pearson(every, sizes, TAIL))
        low, high = (np.minimum(b[: first + 1, first + 1 :], 1) for b in bounds)
        for highest, ratio in product(HIGHEST, RATIOS):
            chance = np.outer(
                binom.pmf(hits[0], first, ratio * highest),
                binom.pmf(hits[1], second, highest),
            )
            chance[0, 0] = 0  # nobody is selected: there is no ratio
            held = (low <= ratio + 1e-12) & (ratio <= high + 1e-12)
            yield (chance * held).sum() / chance.sum()


def of_several(sizes, rates, n_tables=4000, seed=0):
    """Least coverage of a group, and how often all intervals hold at once."""
    rng = np.random.default_rng(seed)
    true, held = np.array(rates) / max(rates), []
    for hits in rng.binomial(sizes, rates, (n_tables, len(sizes))):
        if hits.any():
            low, high = _intervals(hits / sizes, np.array(sizes, dtype=float), 0.95)
            held.append((low <= true + 1e-12) & (true <= high + 1e-12))
    return np.mean(held, axis=0).min(), np.mean(np.all(held, axis=1))


def main():
    coverage = np.array(list(of_two_groups()))
    print(
        f"two groups, {len(coverage)} cases: least {coverage.min():.4f}, "
        f"mean {coverage.mean():.4f}, largest {coverage.max():.4f}"
    )
    for name, (sizes, rates) in SEVERAL.items():
        least, together = of_several(sizes, rates)
        print(f"{name}: least of a group {least:.3f}, all at once {together:.3f}")


if __name__ == "__main__":
    main()

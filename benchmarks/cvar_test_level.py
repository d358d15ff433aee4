"""Level and power of the CVaR test in simulation.

    python benchmarks/cvar_test_level.py            # about ten minutes
    python benchmarks/cvar_test_level.py --quick

Audits of 1,000 groups with equal weights. The level is measured where most groups have
0 to 3 rows, 1,500 in all. The power is measured where groups of weight 1 - alpha = 0.1
have rates 0.5 + 0.3 and 0.5 - 0.3, all others 0.5, against the threshold test whose
threshold is tuned to the same level on simulated audits of equal groups.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from scipy.stats import binomtest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import Groups
from skfair.metrics import cvar_fairness_test, max_gap_test, rate_variance
from skfair.sampling import attribute_specific_sampling, weighted_sampling
from skfair.sampling._plans import unequal_rates
from skfair.statistics import CountTable

N_GROUPS = 1000
LEVEL = 0.05
ALPHA, EPSILON = 0.9, 0.3


def audit(n_rows: int, epsilon: float, generator: np.random.Generator) -> CountTable:
    """Outcomes of one audit, rows drawn at random; groups without rows count."""
    groups = generator.integers(0, N_GROUPS, n_rows)
    rates = np.full(N_GROUPS, 0.5)
    unequal = generator.permutation(N_GROUPS)[: round((1 - ALPHA) * N_GROUPS)]
    rates[unequal[::2]] += epsilon
    rates[unequal[1::2]] -= epsilon
    outcomes = generator.random(n_rows) < rates[groups]
    everyone = Groups(groups, tuple(range(N_GROUPS)))
    return CountTable.from_rows(None, outcomes, sensitive_features=everyone)


def estimate(everyone: CountTable) -> float:
    """F of definition 7 under weighted sampling, where groups without rows count."""
    return rate_variance(None, everyone, sampling=("weighted", 1.0)).value


def rejections(
    audits: list[CountTable], sampling: str, n_permutations: int
) -> list[bool]:
    """Whether the permutation test rejects each audit."""
    options = {"alpha": ALPHA, "epsilon": EPSILON, "n_permutations": n_permutations}
    if sampling == "weighted":
        options["sampling"] = ("weighted", 1.0)
    tests = [
        cvar_fairness_test(None, statistic, random_state=seed, **options)
        for seed, statistic in enumerate(audits)
    ]
    return [test.pvalue <= LEVEL for test in tests]


def report(name: str, alarms: list[bool]) -> None:
    """Print a share with its interval and its number of audits."""
    test = binomtest(int(np.sum(alarms)), len(alarms))
    interval = test.proportion_ci(method="wilson")
    print(
        f"{name:52s} {test.statistic:6.3f}   95 % interval {interval.low:.3f} to "
        f"{interval.high:.3f}, {len(alarms):,} audits",
        flush=True,
    )


def level(n_audits: int, n_permutations: int) -> None:
    """Share of audits of equal groups that are rejected."""
    generator = np.random.default_rng(0)
    print(f"{n_audits:,} audits of 1,500 rows", flush=True)
    audits = [audit(1500, 0.0, generator) for _ in range(n_audits)]
    n_large = np.mean([np.sum(statistic.counts > 3) for statistic in audits])
    print(
        f"Level {LEVEL}: 1,500 rows, {n_large:.0f} of 1,000 groups have more than 3\n"
    )
    for sampling in ("fixed", "weighted"):
        alarms = rejections(audits, sampling, n_permutations)
        report(f"CVaR test, {sampling} sampling", alarms)
    largest = [
        max_gap_test(None, statistic, n_permutations=n_permutations, random_state=seed)
        for seed, statistic in enumerate(audits)
    ]
    report("max-gap test", [test.pvalue <= LEVEL for test in largest])


def power(n_rows: int, n_audits: int, n_permutations: int) -> None:
    """Share of audits of unequal groups that each test rejects."""
    generator = np.random.default_rng(n_rows)
    equal = [estimate(audit(n_rows, 0.0, generator)) for _ in range(4 * n_audits)]
    critical = np.quantile(equal, 1 - LEVEL, method="higher")
    unequal = [audit(n_rows, EPSILON, generator) for _ in range(n_audits)]
    print(f"\nPower at level {LEVEL}: {n_rows:,} rows\n")
    report("threshold tuned", [estimate(statistic) > critical for statistic in unequal])
    for sampling in ("fixed", "weighted"):
        alarms = rejections(unequal, sampling, n_permutations)
        report(f"permutation, {sampling} sampling", alarms)


def power_of_plans(n_audits: int, n_permutations: int) -> None:
    """Power with what each sampling plan draws, the plan named to the test or not."""
    generator = np.random.default_rng(0)
    n_groups, alpha, epsilon = 500, 0.5, 0.3
    heavy = generator.pareto(1.5, n_groups) + 0.2
    plans = {
        "weighted": (weighted_sampling, 600),
        "attribute_specific": (attribute_specific_sampling, 500),
    }
    print(f"\nPower at level {LEVEL}, {n_groups} groups, alpha {alpha}")
    for kind, weights in (
        ("equal weights", np.full(n_groups, 1 / n_groups)),
        ("unequal weights", heavy / heavy.sum()),
    ):
        for method, (plan, n_rows) in plans.items():
            alarms: dict[str, list[bool]] = {"fixed": [], method: []}
            for seed in range(n_audits):
                sizes = plan(weights, n_rows, random_state=seed).to_numpy()
                rates = unequal_rates(weights, 1, 1 - alpha, epsilon, generator)[0]
                groups = np.repeat(np.arange(n_groups), sizes)
                statistic = CountTable.from_rows(
                    None,
                    generator.random(len(groups)) < rates[groups],
                    sensitive_features=Groups(groups, tuple(range(n_groups))),
                )
                for sampling, found in alarms.items():
                    test = cvar_fairness_test(
                        None,
                        statistic,
                        alpha=alpha,
                        epsilon=epsilon,
                        group_weights=weights,
                        sampling=sampling,
                        n_permutations=n_permutations,
                        random_state=seed,
                    )
                    found.append(test.pvalue <= LEVEL)
            print(f"\n{kind}, {n_rows} rows in {method} sampling")
            for sampling, found in alarms.items():
                report(f"sampling={sampling!r}", found)


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the audits")
    quick = parser.parse_args().quick
    # Most groups have no rows here, on purpose.
    warnings.simplefilter("ignore", UndefinedMetricWarning)
    level(200 if quick else 2000, 199 if quick else 999)
    for n_rows in (2000, 4000, 6000):
        power(n_rows, 100 if quick else 1000, 199 if quick else 999)
    power_of_plans(100 if quick else 1000, 199 if quick else 999)


if __name__ == "__main__":
    main()

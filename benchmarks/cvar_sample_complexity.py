"""How many rows an audit needs, against the number of groups.

    python benchmarks/cvar_sample_complexity.py            # about ten minutes
    python benchmarks/cvar_sample_complexity.py --quick    # fewer audits and groups

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

import argparse
import time

import numpy as np
import pandas as pd
from scipy.stats import linregress

from skfair.sampling._required_sample_size import (
    draw_sizes,
    simulated_estimates,
    unequal_rates,
)

ERROR = 0.05
SETTINGS = {
    "asymptotic": {"epsilon": 0.45, "alpha": 0.5},
    "not yet asymptotic": {"epsilon": 0.3, "alpha": 0.9},
}
TESTS = ("max-gap", "weighted", "attribute_specific")
#: What theory says about the exponent, and how far it may be off.
EXPECTED = {
    "max-gap": (1, 0.2),
    "weighted": (0.5, 0.1),
    "attribute_specific": (0, 0.15),
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


def measure(n_groups: list[int], n_audits: int) -> pd.DataFrame:
    """Rows needed in every setting, with progress."""
    rows = []
    for setting, values in SETTINGS.items():
        for test in TESTS:
            for groups in n_groups:
                start = time.perf_counter()
                n = rows_needed(test, groups, **values, n_audits=n_audits)
                seconds = time.perf_counter() - start
                rows.append(
                    {"setting": setting, "test": test, "groups": groups, "n": n}
                )
                print(
                    f"{setting:20s} {test:20s} {groups:6,d} groups {n:10,d} rows "
                    f"({seconds:.0f} s)",
                    flush=True,
                )
    return pd.DataFrame(rows)


def exponents(measured: pd.DataFrame) -> pd.DataFrame:
    """Fitted exponents, from 256 groups on."""
    rows = []
    for (setting, test), part in measured[measured["groups"] >= 256].groupby(
        ["setting", "test"], sort=False
    ):
        fit = linregress(np.log(part["groups"]), np.log(part["n"]))
        row = {"setting": setting, "test": test, "exponent": fit.slope}
        row["standard error"] = fit.stderr
        expected, off = EXPECTED[test]
        row["theory"] = expected
        if setting == "asymptotic":
            row["within"] = off
            row["reached"] = "yes" if abs(fit.slope - expected) <= off else "NO"
        rows.append(row)
    return pd.DataFrame(rows)


def draw(measured: pd.DataFrame, path: str) -> None:
    """Rows needed against groups, a panel for each setting."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(SETTINGS), figsize=(10, 4.4), sharey=True, layout="constrained"
    )
    styles = {
        "max-gap": ("#D55E00", "s", (0, (4, 1.5))),
        "weighted": ("#0072B2", "o", "-"),
        "attribute_specific": ("#009E73", "^", (0, (1, 1.2))),
    }
    for ax, (setting, values) in zip(axes, SETTINGS.items(), strict=True):
        for test, (color, marker, line) in styles.items():
            chosen = (measured["setting"] == setting) & (measured["test"] == test)
            part = measured[chosen]
            ax.loglog(
                part["groups"],
                part["n"],
                color=color,
                marker=marker,
                linestyle=line,
                label=test.replace("_", " "),
            )
        ax.set(
            title=f"epsilon = {values['epsilon']}, alpha = {values['alpha']}",
            xlabel="Number of groups",
        )
    axes[0].set_ylabel(f"Rows for error probability {ERROR}")
    axes[0].legend()
    figure.savefig(path, dpi=150)


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a rough look")
    parser.add_argument("--picture", default="cvar_sample_complexity.png")
    arguments = parser.parse_args()
    powers = range(4, 11, 2) if arguments.quick else range(4, 15)
    n_audits = 200 if arguments.quick else 1000
    measured = measure([2**power for power in powers], n_audits)
    table = measured.pivot(index="groups", columns=["setting", "test"], values="n")
    print(f"\nRows for error probability {ERROR}, {n_audits:,} audits each way:\n")
    print(table.to_string(), "\n")
    print(exponents(measured).round(3).to_string(index=False, na_rep=""))
    try:
        draw(measured, arguments.picture)
    except ImportError as error:
        print(f"\nNo picture: {error}")
    else:
        print(f"\nPicture: {arguments.picture}")


if __name__ == "__main__":
    main()

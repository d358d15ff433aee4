"""Plan an audit of many groups: how many rows of which groups, and then the test.

    python examples/plan_an_audit.py

The population is simulated: groups of very different sizes, some of them served worse.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

from skfair.metrics import cvar_fairness, cvar_fairness_test, rate_variance
from skfair.sampling import (
    attribute_specific_sampling,
    renyi_entropy,
    required_sample_size,
    sample_rows,
    weighted_sampling,
)

ALPHA, EPSILON = 0.75, 0.35
N_PEOPLE = 400_000


def population(generator: np.random.Generator) -> pd.DataFrame:
    """People of 480 groups, and whether the model served each of them well."""
    people = pd.DataFrame(
        {
            "state": generator.choice(60, N_PEOPLE, p=np.arange(1, 61) / 1830),
            "age": generator.choice(4, N_PEOPLE),
            "sex": generator.choice(["F", "M"], N_PEOPLE),
        }
    )
    served = pd.Series(0.55, index=people.index)
    served[(people["state"] % 4 == 0) & (people["sex"] == "F")] = 0.15
    served[(people["state"] % 4 == 1) & (people["sex"] == "M")] = 0.95
    return people.assign(well=(generator.random(N_PEOPLE) < served).astype(int))


def main() -> None:
    """Run the example."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    generator = np.random.default_rng(0)
    people = population(generator)
    columns = ["state", "age", "sex"]
    weights = people.groupby(columns).size() / N_PEOPLE
    print(
        f"{len(weights)} groups by {', '.join(columns)}, weighted by their share of "
        f"people: {weights.min():.3%} to {weights.max():.3%}. Their Rényi entropy of "
        f"order 2/3 is that of {2 ** renyi_entropy(weights):.0f} equal groups.\n"
    )
    truth = cvar_fairness(
        None,
        people["well"],
        sensitive_features=people[columns],
        alpha=ALPHA,
        group_weights="proportional",
    )
    print(
        f"CVaR({ALPHA}) of all {N_PEOPLE:,} people, unknown to the audit: {truth:.3f}\n"
    )
    plans = {
        "weighted": weighted_sampling,
        "attribute_specific": attribute_specific_sampling,
    }
    for method, plan in plans.items():
        size = required_sample_size(
            weights, alpha=ALPHA, epsilon=EPSILON, method=method, random_state=0
        )
        print(f"{method}\n{'-' * len(method)}\n{size}\n")
        counts = plan(weights, size.n_samples, random_state=0)
        rows = sample_rows(people, counts, sensitive_features=columns, random_state=0)
        options = {
            "sensitive_features": rows[columns],
            # The Series also has the groups of which the plan drew no rows.
            "group_weights": weights,
            "sampling": method,
        }
        print(f"Sampled {len(rows):,} rows of {(counts > 0).sum()} groups.")
        test = cvar_fairness_test(
            None,
            rows["well"],
            alpha=ALPHA,
            epsilon=EPSILON,
            random_state=0,
            **options,
        )
        print(test)
        estimate = rate_variance(None, rows["well"], bias_correction=True, **options)
        print(
            "Unbiased estimate of the variance of rates between groups: "
            f"{estimate.value:.4f} from {estimate.n_rows:,} rows.\n"
        )


if __name__ == "__main__":
    main()

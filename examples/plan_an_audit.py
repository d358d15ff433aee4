"""
Plan an audit of many groups: how many rows, of which groups
============================================================

People must be asked one by one whether a model served them well. A plan says how many
rows to draw from which of 480 groups, so that a disparity of a given size is found; the
audit follows on the rows drawn.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from skfair.metrics import cvar_fairness, cvar_fairness_test, rate_variance
from skfair.sampling import (
    attribute_specific_sampling,
    renyi_entropy,
    required_sample_size,
    sample_rows,
    weighted_sampling,
)

# %%
# The population
# --------------
# Groups of very different sizes, some of them served worse.

n_people = 200_000
generator = np.random.default_rng(0)
people = pd.DataFrame(
    {
        "state": generator.choice(60, n_people, p=np.arange(1, 61) / 1830),
        "age": generator.choice(4, n_people),
        "sex": generator.choice(["F", "M"], n_people),
    }
)
served = pd.Series(0.55, index=people.index)
served[(people["state"] % 4 == 0) & (people["sex"] == "F")] = 0.15
served[(people["state"] % 4 == 1) & (people["sex"] == "M")] = 0.95
people["well"] = (generator.random(n_people) < served).astype(int)

columns = ["state", "age", "sex"]
weights = people.groupby(columns).size() / n_people
truth = cvar_fairness(
    None,
    people["well"],
    sensitive_features=people[columns],
    alpha=0.75,
    group_weights="proportional",
)
print(f"CVaR(0.75) of all {n_people:,} people, unknown to the audit: {truth:.3f}")
print(
    f"The Rényi entropy of order 2/3 of the {len(weights)} groups is that of "
    f"{2 ** renyi_entropy(weights):.0f} equal ones."
)
assert truth > 0.35

# %%
# Two plans
# ---------
# Weighted sampling draws people at random. Attribute-specific sampling draws groups
# first, and several people of each.

plans = {
    "weighted": weighted_sampling,
    "attribute_specific": attribute_specific_sampling,
}
sizes = {
    method: required_sample_size(
        weights, alpha=0.75, epsilon=0.35, method=method, random_state=0
    )
    for method in plans
}
for size in sizes.values():
    print(size, "\n")

# %%
# The audits
# ----------
# Each draws its rows and tests. The unbiased estimate of the variance of rates between
# groups says how far they are apart. The picture shows the rows that each plan draws of
# each group.

_, ax = plt.subplots(layout="constrained")
for method, plan in plans.items():
    counts = plan(weights, sizes[method].n_samples, random_state=0)
    ax.scatter(weights, counts, s=8, label=method.replace("_", " "))
    rows = sample_rows(people, counts, sensitive_features=columns, random_state=0)
    options = {
        "sensitive_features": rows[columns],
        "group_weights": weights,  # also of the groups of which no rows were drawn
        "sampling": method,
    }
    test = cvar_fairness_test(
        None, rows["well"], alpha=0.75, epsilon=0.35, random_state=0, **options
    )
    estimate = rate_variance(None, rows["well"], bias_correction=True, **options)
    print(
        f"{method}: {len(rows):,} rows of {(counts > 0).sum()} groups, p = "
        f"{test.pvalue:.3f}, variance of rates {estimate.value:.4f}"
    )
    assert test.pvalue < 0.05
ax.set(xlabel="share of the population", ylabel="rows drawn of the group")
ax.legend(title="sampling")

"""Find the subgroup that a model treats most differently, and the age from which on.

    python examples/worst_subgroup.py

The applicants are simulated: labels do not depend on sex, region or age, but those that
the model learned from were lowered for women above 50 in the north.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from skfair.metrics import (
    continuous_mcdp,
    continuous_mcdp_cuts,
    mcdp,
    permutation_test,
    worst_subgroup,
)

AGES = [30, 50]
COLUMNS = ["sex", "region", "family", "age"]


def applicants(n_people: int, seed: int) -> tuple[pd.DataFrame, pd.Series, pd.Series]:
    """People, and whether they were approved, as they should be and as they were."""
    generator = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "sex": generator.choice(["F", "M"], n_people),
            "region": generator.choice(["north", "south", "west"], n_people),
            "family": generator.choice(["single", "couple", "children"], n_people),
            "age": generator.integers(18, 75, n_people),
            "income": generator.normal(size=n_people),
        }
    )
    wronged = people["sex"].eq("F") & people["region"].eq("north")
    wronged &= people["age"] > 50
    merit = people["income"] + generator.normal(size=n_people)
    return people, (merit > 0).astype(int), (merit - 1.5 * wronged > 0).astype(int)


def main() -> None:
    """Run the example."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    people, _, approved = applicants(20_000, seed=0)
    model = HistGradientBoostingClassifier(
        max_iter=60, categorical_features="from_dtype", random_state=0
    )
    categories = dict.fromkeys(COLUMNS[:3], "category")
    model.fit(people.astype(categories), approved)
    people, deserved, _ = applicants(6_000, seed=1)
    y_score = model.predict_proba(people.astype(categories))[:, 1]

    print("One column at a time, MCDP between its values:")
    for column in COLUMNS[:3]:
        value = mcdp(None, y_score, sensitive_features=people[column])
        print(f"  {column:7s} {value:.3f}")
    age = people["age"]
    by_age = continuous_mcdp_cuts(None, y_score, sensitive_features=age, min_share=0.2)
    test = permutation_test(
        partial(continuous_mcdp, min_share=0.2),
        None,
        y_score,
        sensitive_features=age,
        n_permutations=99,
        random_state=0,
    )
    print(
        f"  age     {by_age.value:.3f} between those of at most {by_age.cut:.0f} and "
        f"older people (p = {test.pvalue:.2f})\n"
    )

    found = worst_subgroup(
        None,
        y_score,
        sensitive_features=people[COLUMNS],
        bins={"age": AGES},
        min_group_size=200,
        n_subgroups=4,
        random_state=0,
    )
    print("All conjunctions of at least 200 people, scores:\n")
    print(found.table.round(3).to_string(), "\n")
    by_chance = found.null_distribution.mean()
    print(
        f"Where scores are shuffled the search finds {by_chance:.3f} on average: a "
        "subgroup with no more than that may be noise.\n"
    )

    found = worst_subgroup(
        deserved,
        (y_score > 0.5).astype(int),
        sensitive_features=people[COLUMNS],
        bins={"age": AGES},
        quality="true_positive_rate",
        min_group_size=100,
        n_subgroups=2,
        random_state=0,
    )
    print("Approved among those who deserve it:\n")
    print(found.table.round(3).to_string(), "\n")

    # What a search has chosen is too large on average: ask people it has not seen.
    fresh, _, _ = applicants(6_000, seed=2)
    again = model.predict_proba(fresh.astype(categories))[:, 1]
    wronged = fresh["sex"].eq("F") & fresh["region"].eq("north") & (fresh["age"] > 50)
    value = mcdp(None, again, sensitive_features=wronged)
    print(f"Women above 50 in the north among 6,000 other people: MCDP {value:.3f}")


if __name__ == "__main__":
    main()

"""
Find the subgroup that a model treats most differently
======================================================

Nobody knows which intersection to look at. The applicants are simulated: labels do not
depend on sex, region or age, but those that the model learned from were lowered for
women of 50 and over in the north.
"""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from skfair.inspection import CDFGapDisplay
from skfair.metrics import mcdp, permutation_test, worst_subgroup

columns = ["sex", "region", "family", "age"]


def applicants(n_people, seed):
    """Make people, who deserves approval, and who was approved."""
    generator = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "sex": generator.choice(["F", "M"], n_people),
            "region": generator.choice(["north", "south", "west"], n_people),
            "family": generator.choice(["single", "couple", "children"], n_people),
            "age": generator.integers(18, 75, n_people),
            "income": generator.normal(size=n_people),
        }
    ).astype(dict.fromkeys(columns[:3], "category"))
    merit = people["income"] + generator.normal(size=n_people)
    lowered = merit - 1.5 * wronged(people)
    return people, (merit > 0).astype(int), (lowered > 0).astype(int)


def wronged(people):
    """Women of 50 and over in the north."""
    return people.eval("sex == 'F' and region == 'north' and age >= 50")


people, _, approved = applicants(20_000, seed=0)
model = HistGradientBoostingClassifier(
    max_iter=60, categorical_features="from_dtype", random_state=0
).fit(people, approved)
people, deserved, _ = applicants(6_000, seed=1)
y_score = model.predict_proba(people)[:, 1]

# %%
# One column at a time
# --------------------

for column in columns[:3]:
    value = mcdp(None, y_score, sensitive_features=people[column])
    print(f"{column:7s} {value:.3f}")
    assert value < 0.2

# %%
# Age is a number, which `pandas.cut` turns into ranges. The p-value is that of the
# largest gap between two of them.

age = pd.cut(people["age"], [0, 30, 40, 50, 60, 120], right=False).astype(str)
test = permutation_test(
    mcdp, None, y_score, sensitive_features=age, n_permutations=99, random_state=0
)
print(f"age     {test.value:.3f} (p = {test.pvalue:.2f})")
CDFGapDisplay.from_predictions(None, y_score, sensitive_features=age)
assert test.pvalue < 0.05

# %%
# All conjunctions
# ----------------
# Of at least 200 people, each compared with everyone else.

search = {"sensitive_features": people[columns], "bins": {"age": [30, 50]}}
found = worst_subgroup(
    None, y_score, min_group_size=200, n_subgroups=4, random_state=0, **search
)
print(found.table.round(3).to_string())
by_chance = found.null_distribution.mean()
print(f"Where scores are shuffled the search finds {by_chance:.3f} on average.")
assert found.table.index[0] == "sex = F and region = north and age >= 50"

# %%
# The same for a rate: who is not approved among those who deserve it?

found = worst_subgroup(
    deserved,
    (y_score > 0.5).astype(int),
    quality="true_positive_rate",
    min_group_size=100,
    n_subgroups=2,
    random_state=0,
    **search,
)
print(found.table.round(3).to_string())

# %%
# On other people
# ---------------
# What a search has chosen is too large on average: measure it on rows it has not seen.

fresh, _, _ = applicants(6_000, seed=2)
again = model.predict_proba(fresh)[:, 1]
value = mcdp(None, again, sensitive_features=wronged(fresh))
print(f"Women of 50 and over in the north among 6,000 other people: MCDP {value:.3f}")
assert value > 0.3

"""
Why is there a gap: hours, occupation, or something else?
=========================================================

What goes with the gap of a model: how much would remain between women and men with the
same hours and the same occupation? The people are simulated, so that the answer is
known: the score depends on hours and occupation, which differ between the groups, and
on nothing else that does.
"""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from skfair.inspection import explained_gap

rng = np.random.default_rng(0)
n_people = 6_000
sex = pd.Series(rng.choice(["F", "M"], n_people), name="sex")
man = (sex == "M").to_numpy()
occupation = np.where(rng.random(n_people) < 0.35 + 0.2 * man, "engineer", "teacher")
people = pd.DataFrame(
    {
        "hours": rng.normal(36 + 5 * man, 7),
        "occupation": pd.Categorical(occupation),
        "age": rng.integers(20, 65, n_people),
    }
)
merit = (people["hours"] - 38) / 7 + (occupation == "engineer")
high_pay = merit + rng.normal(size=n_people) > 1
train, test = np.arange(n_people) < 3_000, np.arange(n_people) >= 3_000
model = HistGradientBoostingClassifier(
    max_iter=40, categorical_features="from_dtype", random_state=0
).fit(people[train], high_pay[train])
people, sex = people[test], sex[test]
score = model.predict_proba(people)[:, 1]

# %%
# What goes with the gap
# ----------------------
# Each set of columns is taken alone, and then together with those before it. Hours need
# no bins: the probability of being a man, given hours, is a logistic regression here.

sets = {"hours": people["hours"], "occupation": people["occupation"] == "engineer"}
result = explained_gap(
    score,
    sensitive_features=sex,
    explained_by=sets,
    estimator=LogisticRegression(),
    random_state=0,
)
print(result.to_frame().round(3).T)
result.plot()
remaining = result.table["remaining"]
assert remaining["hours + occupation"] < remaining["hours"] < result.value / 2

# %%
# Given both, hardly anything remains. What occupation explains alone and what it adds
# to hours are two numbers: "how much is due to occupation" has no answer that does not
# depend on the order.

alone = result.value - remaining["occupation"]
added = remaining["hours"] - remaining["hours + occupation"]
print(f"Occupation explains {alone:.3f} alone, and {added:.3f} more than hours.")

# %%
# Compared with women as they are: men are given the women's hours and occupations.

women = explained_gap(
    score,
    sensitive_features=sex,
    explained_by=pd.DataFrame(sets),
    population="F",
    estimator=LogisticRegression(),
    random_state=0,
)
print(women.effective_sizes.round())

# %%
# Neither number says whether the gap is just. Hours may be shorter because somebody
# must care for children, and occupations are not always chosen. That a gap goes with
# them says where to look next.

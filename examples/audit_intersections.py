"""
Audit the intersections of several attributes
=============================================

How far are selection and error rates of the groups with the largest gaps from the
average, is this more than sampling noise, and which groups differ? With 320
intersections of sex, race, age and region most groups are small, and the largest gap is
nearly always that of a group of one or two people.
"""

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from skfair.groups import encode_groups
from skfair.inspection import GroupDotsDisplay
from skfair.metrics import (
    cvar_fairness,
    cvar_fairness_report,
    cvar_fairness_test,
    max_gap,
    max_gap_test,
)

# %%
# The people
# ----------
# The marks of young women of race A and of all people of region 7 are too low.

generator = np.random.RandomState(0)
n = 12_000
sensitive = pd.DataFrame(
    {
        "sex": generator.choice(["female", "male"], n),
        "race": generator.choice(list("ABCDE"), n, p=[0.5, 0.25, 0.15, 0.07, 0.03]),
        "age": generator.choice(["-25", "26-40", "41-60", "61-"], n),
        "region": generator.choice([f"region {k}" for k in range(8)], n),
    }
)
merit = generator.normal(size=n)
harmed = sensitive.eval("sex == 'female' and race == 'A' and age == '-25'")
marked = merit - 1.2 * harmed - 0.8 * (sensitive["region"] == "region 7")
X = pd.DataFrame({"mark": marked + 0.3 * generator.normal(size=n)})
y = (merit + 0.5 * generator.normal(size=n) > 0).astype(int)

X_train, X_test, y_train, y_test, _, people = train_test_split(
    X, y, sensitive, test_size=0.5, stratify=y, random_state=0
)
y_pred = LogisticRegression().fit(X_train, y_train).predict(X_test)
groups = encode_groups(people)
sizes = groups.sizes()
print(
    f"{len(groups):,} test rows of {len(sizes)} groups; {np.sum(sizes < 30)} groups "
    "have fewer than 30."
)
assert np.sum(sizes < 30) > 200

# %%
# Two summaries of many gaps
# --------------------------
# Max-gap is the largest distance of a group from the average rate, CVaR fairness the
# mean of the largest ones. With equal weights a group of two rows counts as much as one
# of two thousand, and so does its noise; proportional weights give all rows the same
# weight. Max-gap has no power here: its mean under permuted groups is about as large.

rows = {}
for weights in ("uniform", "proportional"):
    options = {
        "sensitive_features": groups,
        "quality": "error_rate",
        "group_weights": weights,
    }
    test = cvar_fairness_test(
        y_test, y_pred, alpha=0.9, epsilon=0.1, random_state=0, **options
    )
    largest = max_gap_test(y_test, y_pred, random_state=0, **options)
    rows[weights] = {
        "CVaR(0.9)": cvar_fairness(y_test, y_pred, alpha=0.9, **options),
        "pvalue": test.pvalue,
        "max-gap": max_gap(y_test, y_pred, **options),
        "null_mean of max-gap": largest.null_mean,
        "pvalue of max-gap": largest.pvalue,
    }
summary = pd.DataFrame.from_dict(rows, orient="index")
print(summary.round(3).to_string())
assert summary.loc["proportional", "pvalue"] < 0.05
assert (summary["pvalue of max-gap"] > 0.05).all()

# %%
# Which groups
# ------------
# The ten largest gaps are mostly of small groups with wide intervals.

options = {"sensitive_features": groups, "quality": "error_rate"}
report = cvar_fairness_report(y_test, y_pred, alpha=0.9, **options)
print(report[["size", "rate", "lower", "upper", "gap"]].head(10).round(3).to_string())
assert report["size"].head(6).max() < 10

# %%
# The table has a test of each group against all other rows. At a false discovery rate
# of 5 % it finds the groups that were harmed most.

found = report[report["adjusted_pvalue"] <= 0.05]
shown = ["size", "rate", "rate_of_others", "adjusted_pvalue"]
print(found[shown].round(4).to_string())
assert ("female", "A", "-25", "region 7") in list(found.index)

# %%
# All rates beside their average, and the tail that CVaR averages:

GroupDotsDisplay.from_table(report, "rate")

"""
Fair predictions of grades, with and without the group
======================================================

Grades of law students are predicted from a test score, grades at college and the
family's income, all of which differ by group. The predictions are audited in their own
unit, and repaired with and without the group of each student. The students are
simulated.
"""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from skfair.inspection import TradeOffDisplay
from skfair.metrics import (
    abcc,
    confidence_interval,
    demographic_parity_difference,
    mcdp,
    mean_error_difference,
    permutation_test,
)
from skfair.model_selection import BestUnder
from skfair.postprocessing import RepairedRegressor, UnawareRegressor
from skfair.report import FairnessReport

rng = np.random.default_rng(0)
n_students = 4_000
group = rng.choice(["majority", "minority"], n_students, p=[0.8, 0.2])
minority = group == "minority"
test_score = rng.normal(37 - 5 * minority, 5)
college = rng.normal(3.2 - 0.2 * minority, 0.4)
income = rng.poisson(3.5 - 0.8 * minority)
grade = (
    0.06 * (test_score - 36) + 0.5 * (college - 3.2) + rng.normal(0, 0.8, n_students)
)
X = pd.DataFrame({"test_score": test_score, "college": college, "income": income})
X, X_new, y, y_new, group, group_new = train_test_split(
    X, grade, group, test_size=0.5, random_state=0
)

# %%
# The audit
# ---------
# Differences are in the unit of the grade: standard deviations of all students.

boosting = HistGradientBoostingRegressor(max_iter=40, max_leaf_nodes=8, random_state=0)
predicted = boosting.fit(X, y).predict(X_new)
people = {"sensitive_features": group_new}
distance = partial(abcc, scale="real")
print(confidence_interval(distance, None, predicted, **people))
print(permutation_test(distance, None, predicted, n_permutations=199, **people))
means = demographic_parity_difference(None, predicted, scale="real", **people)
errors = confidence_interval(mean_error_difference, y_new, predicted, **people)
print(f"mean predictions differ by {means:.2f}, mean errors by {errors.value:.2f}")

# %%
# A report has the same numbers for people who do not read code. ``to_html`` writes it
# as a page, as ``python -m skfair audit grades.csv --scale real`` does of a table.

report = FairnessReport.from_estimator(
    {"boosting": boosting},
    X_new,
    y_new,
    sensitive_features={"group": group_new},
    scale="real",
    random_state=0,
)
print(report)
print(report.to_frame("groups").drop(columns=["model", "attribute"]).T.to_string())
in_report = report.to_frame().set_index("metric").loc["mean_error_difference"]
assert np.isclose(in_report["lower"], errors.lower)

# %%
# The repair
# ----------
# With the group each is mapped to the common distribution. Without it a second model
# infers the group, and a map of both predictions is fitted.

aware = RepairedRegressor(boosting, max_mcdp=0.1, random_state=0)
aware.fit(X, y, sensitive_features=group)
unaware = UnawareRegressor(boosting, max_mcdp=0.2, random_state=0)
unaware.fit(X, y, sensitive_features=group)
predictions = {
    "plain": predicted,
    "with the group": aware.predict(X_new, sensitive_features=group_new),
    "without the group": unaware.predict(X_new),
}
table = pd.DataFrame(
    {
        name: {
            "R2": r2_score(y_new, values),
            "MCDP": mcdp(None, values, scale="rank", **people),
            "distance": distance(None, values, **people),
            "difference of errors": mean_error_difference(y_new, values, **people),
        }
        for name, values in predictions.items()
    }
).T
print(table.round(3).to_string())
assert table.loc["with the group", "MCDP"] < table.loc["plain", "MCDP"] / 2
assert table.loc["without the group", "MCDP"] < table.loc["plain", "MCDP"]

# %%
# What it costs
# -------------
# Each point is a strength of the repair without the group on held-out rows. The second
# picture shows the distributions of the predictions. Predictions that are alike have
# errors that are less alike: parity of predictions and of errors are two questions.

TradeOffDisplay.from_cv_results(unaware.path_, rule=BestUnder("r2", limit=0.2))
figure, axes = plt.subplots(1, 3, sharex=True, sharey=True, figsize=(9, 3))
for axis, (name, values) in zip(axes, predictions.items(), strict=True):
    for label in ("majority", "minority"):
        axis.ecdf(values[group_new == label], label=label)
    axis.set(title=name, xlabel="predicted grade")
axes[0].set_ylabel("share of the group below")
axes[0].legend()
figure.tight_layout()

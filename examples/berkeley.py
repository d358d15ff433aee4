"""
What a gap does not say: admissions at Berkeley
===============================================

In 1973 a smaller share of women than of men was admitted to the graduate school of the
University of California at Berkeley. The table comes with the package.
"""

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfair.datasets import load_berkeley_admissions
from skfair.inspection import CDFGapDisplay, explained_gap
from skfair.metrics import (
    demographic_parity_difference,
    mcdp,
    permutation_test,
    values_by_stratum,
)

X, y = load_berkeley_admissions(return_X_y=True)
overall = y.groupby(X["sex"], observed=True).mean()
print(f"Admitted: {overall['men']:.1%} of men and {overall['women']:.1%} of women.")
gap = demographic_parity_difference(None, y, sensitive_features=X["sex"])
print(f"The rates differ by {gap:.3f}.")
assert round(gap, 3) == 0.142

# %%
# By department
# -------------
# In most departments the rate of women is the higher one. They applied to departments
# that reject most: this is Simpson's paradox.

groups = [X["department"], X["sex"]]
rates = y.groupby(groups, observed=True).mean().unstack()
applied = y.groupby(groups, observed=True).size().unstack()
table = rates.add_prefix("admitted ").assign(
    **{"women of applicants": applied["women"] / applied.sum(axis=1)}
)
print(table.map("{:.1%}".format).to_string())
higher = (rates["women"] > rates["men"]).sum()
hard = applied.loc["C":].sum() / applied.sum()
print(
    f"The rate of women is higher in {higher} of {len(rates)} departments; "
    f"{hard['women']:.0%} of women and {hard['men']:.0%} of men applied to C to F."
)
assert higher == 4

# %%
# Within departments
# ------------------
# `control_features` compares men and women who applied to the same department. The
# value is the largest over departments; the mean by their numbers of applicants is less
# than half of the difference over everyone. It has no sign: in department A it is in
# favour of women.

rows = {"sensitive_features": X["sex"], "control_features": X["department"]}
print(values_by_stratum(demographic_parity_difference, None, y, **rows).round(3))
largest = demographic_parity_difference(None, y, **rows)
mean = demographic_parity_difference(None, y, **rows, multistratum="weighted")
print(f"Within departments: largest {largest:.3f} (in A), mean {mean:.3f}.")
assert rates.loc["A", "women"] - rates.loc["A", "men"] == largest > gap > 2 * mean

# %%
# With its sign: what remains
# ---------------------------
# `explained_gap` weights men and women so that they applied to the same departments.
# Differences of opposite sign cancel: nearly the whole gap goes with the departments,
# and the little that remains is in favour of women.

explained = explained_gap(
    y,
    sensitive_features=X["sex"],
    explained_by=X["department"],
    metric="demographic_parity_difference",
    random_state=0,
)
print(explained.to_frame().round(3).T)
explained.plot(name="Admissions at Berkeley")
assert round(explained.table.loc["department", "remaining"], 3) == 0.018

# %%
# The test shuffles sex among the applicants to each department. Outside of A the
# largest difference is one that chance alone often exceeds.

others = X["department"] != "A"
rows = {
    "sensitive_features": X["sex"][others],
    "control_features": X["department"][others].cat.remove_unused_categories(),
}
test = permutation_test(
    demographic_parity_difference, None, y[others], **rows, random_state=0
)
print(f"B to F: largest {test.value:.3f}, p = {test.pvalue:.2f}.")
assert test.pvalue > 0.5

# %%
# A model that knows the department and not sex
# ---------------------------------------------
# Its scores differ by sex because departments do. The gap is real; what caused it, and
# whether it is unjust, is not in the numbers.

features = make_column_transformer((OneHotEncoder(), ["department"]))
model = make_pipeline(features, LogisticRegression()).fit(X, y)
scores = pd.Series(model.predict_proba(X)[:, 1], index=X.index)
CDFGapDisplay.from_predictions(None, scores, sensitive_features=X["sex"])
value = mcdp(None, scores, sensitive_features=X["sex"])
print(f"MCDP of the model: {value:.3f}")
assert value > 0.3

# %%
# Within a department it gives everyone the same score, and no gap is left.

within = mcdp(
    None, scores, sensitive_features=X["sex"], control_features=X["department"]
)
assert within == 0

# %%
# Which of the two numbers matters is not in the data. If departments choose on their
# merits, the gap is not theirs. If women are led to other departments, or the
# departments that women choose are given fewer places, a comparison within departments
# hides it.

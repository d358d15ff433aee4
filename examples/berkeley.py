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
from skfair.inspection import CDFGapDisplay
from skfair.metrics import demographic_parity_difference, mcdp

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

within = [
    mcdp(None, part, sensitive_features=X.loc[part.index, "sex"])
    for _, part in scores.groupby(X["department"], observed=True)
]
assert max(within) == 0

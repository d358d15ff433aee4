"""
ROC, precision-recall and calibration curves by group
=====================================================

One display for the curves of each group, with bands that say how much of a difference
is noise.
"""

# %%
# A model of credit whose scores say less about a small group, on rows that it has not
# seen: those that a cross-validation held out.
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate

from skfair.inspection import GroupCurveDisplay

rng = np.random.default_rng(0)
group = rng.choice(["citizen", "immigrant"], 4_000, p=[0.85, 0.15])
repays = rng.random(4_000) < 0.7
known = np.where(group == "citizen", 2.0, 0.8)  # less is on record of immigrants
X = (known * repays + rng.normal(size=4_000)).reshape(-1, 1)
cv_results = cross_validate(
    LogisticRegression(), X, repays, return_estimator=True, return_indices=True
)


def draw(kind):
    """Draw one curve for each group, of all held-out rows."""
    return GroupCurveDisplay.from_cv_results(
        cv_results, X, repays, sensitive_features=group, kind=kind, random_state=0
    )


# %%
# A band covers the whole curve of a group. The areas in the legend have intervals. The
# scores tell who repays less well among immigrants, by more than noise.
roc = draw("roc")

# %%
precision_recall = draw("precision_recall")

# %%
# Immigrants with a low score repay more often than it says.
calibration = draw("calibration")

# %%
# The numbers of the legends.
areas = roc.areas.droplevel("metric")
areas.round(3)

# %%
assert areas.loc["immigrant", "upper"] < areas.loc["citizen", "lower"]

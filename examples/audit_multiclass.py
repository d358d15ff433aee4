"""
Audit a classifier of several classes, with proven bounds
=========================================================

Disparate conditional prediction (DCP) is the least share of people whose predictions
must change so that all groups have the same confusion matrix. It is hard to compute:
`dcp_bounds` returns an interval that is proven to contain it.
"""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_score, train_test_split

from skfair.metrics import DCPResult, dcp, make_fairness_scorer
from skfair.statistics import CountTable

# %%
# The people
# ----------
# Grades of pupils, predicted from a test which is noisier for girls of the south than
# for all others.

rng = np.random.default_rng(0)
n = 12_000
region = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
sex = rng.choice(["F", "M"], n)
skill = rng.normal(size=n)
blurred = (region == "south") & (sex == "F")
seen = skill + rng.normal(scale=np.where(blurred, 1.5, 0.5))
grades = np.array(["low", "middle", "high", "top"])
X = pd.DataFrame({"test": seen, "region": region, "sex": sex})
y = pd.Series(grades[np.digitize(skill, [-0.7, 0.3, 1.2])])
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)
model = HistGradientBoostingClassifier(max_depth=4, max_iter=40, random_state=0)
y_pred = model.fit(X_train[["test"]], y_train).predict(X_test[["test"]])

# %%
# The bounds
# ----------
# Everything is computed from one count of people by group, true grade and prediction.

sensitive = X_test[["region", "sex"]]
statistic = CountTable.from_rows(y_test, y_pred, sensitive_features=sensitive)
result = DCPResult.from_predictions(None, statistic, time_limit=60)
print(result)
worst = result.to_frame()
print(worst.head(6).round(3).to_string(index=False))
assert result.upper - result.lower <= 1e-3
assert worst["group"].iloc[0] == ("south", "F")

# %%
# The part of each group and grade in it:

result.plot(name="Gradient boosting")

# %%
# Noise
# -----
# Small cells differ by chance: this is what DCP reads with the groups shuffled.

shuffled = sensitive.sample(frac=1, random_state=0)
chance = dcp(y_test, y_pred, sensitive_features=shuffled, method="local")
print(f"DCP {result.upper:.3f}, with the groups shuffled {chance:.3f}")
assert chance < result.lower

# %%
# As a scorer
# -----------
# The groups may be columns that the model does not see.

scorer = make_fairness_scorer(
    dcp,
    sensitive_features=lambda rows: X.loc[rows.index, ["region", "sex"]],
    method="local",
)
scores = cross_val_score(
    model, X[["test"]], y, cv=3, scoring=scorer, error_score="raise"
)
print("DCP in three folds:", (-scores).round(3))
assert (-scores > chance).all()

"""
Metrics of scikit-learn by group
================================

Accuracy, recall, selection rate and the area under the ROC curve of four groups, with
intervals, differences and ratios.
"""

# %%
# Simulated people whose chances differ by sex, and a model that does not see sex.
import pandas as pd
from sklearn.linear_model import LogisticRegression

from skfair.datasets import make_biased_classification
from skfair.metrics import group_metrics

X, y = make_biased_classification(
    1_000,
    group_sizes={"sex": {"F": 0.4, "M": 0.6}, "race": {"A": 0.8, "B": 0.2}},
    base_rates={"sex": {"F": 0.3, "M": 0.5}},
    random_state=0,
)
features, people = X.drop(columns=["sex", "race"]), X[["sex", "race"]]
model = LogisticRegression().fit(features, y)

# %%
# Each panel is a metric. The dots are the groups with their intervals, the line is the
# overall value.
result = group_metrics(
    ["accuracy", "recall", "selection_rate", "roc_auc"],
    y,
    model.predict(features),
    y_score=model.predict_proba(features)[:, 1],
    sensitive_features=people,
    random_state=0,
)
result.plot(name="LogisticRegression")

# %%
# The numbers behind the picture: rows of each group, rows in the denominator, values
# and intervals.
result.to_frame().round(3)

# %%
# The largest difference between two groups, and the smallest ratio.
difference, ratio = result.difference(), result.ratio()
pd.concat({"difference": difference, "ratio": ratio}, axis=1).round(3)

# %%
# Selection rates differ by more than noise would make them differ, accuracies do not.
assert difference.loc["selection_rate", "lower"] > 0
assert difference.loc["accuracy", "lower"] == 0

"""
Does a score mean the same in each group?
=========================================

A model that does not see sex gives women and men with the same score different chances.
A model that sees it does not, and divides them more.
"""

# %%
# Simulated people: the same features go with a positive label more often for men. Half
# of them train a model without sex and one with it; the other half is audited.
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from skfair.datasets import make_biased_classification
from skfair.inspection import GroupCurveDisplay
from skfair.metrics import (
    bootstrap_interval,
    calibration_gap,
    mcdp,
    metric_bounds,
    permutation_test,
)
from skfair.statistics import CountTable

X, y = make_biased_classification(
    8_000,
    group_sizes={"sex": {"F": 0.5, "M": 0.5}},
    base_rates={"sex": {"F": 0.3, "M": 0.5}},
    random_state=0,
)
sex = X.pop("sex")
with_sex = X.assign(male=sex.eq("M").astype(float))
train, test = train_test_split(X.index, test_size=0.5, random_state=0)
scores = {}
for name, columns in {"without sex": X, "with sex": with_sex}.items():
    model = LogisticRegression().fit(columns.loc[train], y[train])
    scores[name] = model.predict_proba(columns.loc[test])[:, 1]
y_test, sex_test = y[test], sex.loc[test].to_numpy()

# %%
# The curve of a group adds up outcome minus score, from the lowest score on. Without
# sex it falls for women, whose scores are too high, and rises for men. The largest
# distance of the two curves is the calibration gap.
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, (name, y_score) in zip(axes, scores.items(), strict=True):
    GroupCurveDisplay.from_predictions(
        y_test,
        y_score,
        sensitive_features=sex_test,
        kind="calibration_gap",
        random_state=0,
        ax=ax,
        name=name,
    )

# %%
# The gap with its interval, and the test whether the groups are equally calibrated.
# MCDP says how far the scores of the groups are apart: the model that is calibrated
# divides them more.
drawn = {"sensitive_features": sex_test, "random_state": 0}
rows = {}
for name, y_score in scores.items():
    gap = bootstrap_interval(calibration_gap, y_test, y_score, n_resamples=200, **drawn)
    equally = permutation_test(
        calibration_gap, y_test, y_score, n_permutations=199, **drawn
    )
    rows[name] = {
        "gap": gap.value,
        "lower": gap.lower,
        "upper": gap.upper,
        "p, equally calibrated": equally.pvalue,
        "MCDP": mcdp(None, y_score, sensitive_features=sex_test),
    }
table = pd.DataFrame(rows).T
table.round(3)

# %%
# Where rows cannot be kept, or cannot leave their place, a statistic of scores and
# labels in bins takes their place. Those of batches add up, and bound the gap of all
# rows.
batches = [
    CountTable.from_rows(
        y_test[part],
        scores["without sex"][part],
        sensitive_features=sex_test[part],
        n_bins=2**16,
    )
    for part in (slice(0, 2_000), slice(2_000, None))
]
bounds = metric_bounds(calibration_gap, sum(batches))
bounds

# %%
# The model without sex is not equally calibrated, and chance alone does not explain it.
# The bounds from two batches hold the value of the rows.
assert table.loc["without sex", "p, equally calibrated"] <= 0.01
assert table.loc["with sex", "p, equally calibrated"] > 0.05
assert table.loc["with sex", "MCDP"] > table.loc["without sex", "MCDP"]
assert bounds.lower <= table.loc["without sex", "gap"] <= bounds.upper
assert bounds.width < 0.001

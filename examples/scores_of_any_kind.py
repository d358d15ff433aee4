"""
Scores that are not probabilities, and scores of several classes
================================================================

A credit limit, a margin and a chance of each of three classes: each is compared between
groups by the same functions. The applicants are simulated; income depends on sex.
"""

from functools import partial

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skfair.inspection import CDFGapDisplay
from skfair.metrics import (
    abcc,
    confidence_interval,
    get_fairness_scorer,
    mcdp,
    permutation_test,
    values_by_class,
)

generator = np.random.default_rng(0)
n_people = 4_000
sex = generator.choice(["F", "M"], n_people)
income = generator.lognormal(10 + 0.2 * (sex == "M"), 0.4)
debt = generator.lognormal(8, 1, n_people)
X = pd.DataFrame({"income": income, "debt": debt})
limit = 0.3 * income - 0.2 * debt + generator.normal(0, 2_000, n_people)
train, test = np.split(np.arange(n_people), 2)

# %%
# A regression
# ------------
# Predicted credit limits are not probabilities, and a window of euros has no natural
# width. Of ranks it has: with epsilon 0.05 a window holds a tenth of everyone.

model = HistGradientBoostingRegressor(max_iter=60, random_state=0)
predicted = model.fit(X.iloc[train], limit[train]).predict(X.iloc[test])
of_ranks = partial(mcdp, scale="rank", epsilon=0.05)
rows = {"sensitive_features": sex[test]}
print(f"MCDP(0.05) of limits from {predicted.min():.0f} to {predicted.max():.0f}:")
interval = confidence_interval(of_ranks, None, predicted, **rows)
print(f"{interval.value:.3f}, from {interval.lower:.3f} to {interval.upper:.3f}")
p_value = permutation_test(
    of_ranks, None, predicted, n_permutations=99, random_state=0, **rows
).pvalue
print(f"p = {p_value:.2f}")
assert p_value < 0.05

# %%
# Euros or logarithms of euros: ranks are the same.

assert of_ranks(None, np.exp(predicted / 1e4), **rows) == interval.value

# %%
# Where one group is ahead at every score, 0.5 + ABCC of ranks is the chance that a man
# drawn at random is ahead of a woman drawn at random.

area = abcc(None, predicted, scale="rank", **rows)
women, men = predicted[sex[test] == "F"], predicted[sex[test] == "M"]
ahead = (men > women[:, np.newaxis]).mean()
ahead += (men == women[:, np.newaxis]).mean() / 2
print(f"A man is ahead with chance {ahead:.3f}; 0.5 + ABCC = {0.5 + area:.3f}")
assert abs(0.5 + area - ahead) < 0.01

# %%
# A classifier without probabilities
# ----------------------------------
# Its margins have ranks, too, in cross-validation as well.

approved = limit > np.quantile(limit, 0.7)
scorer = get_fairness_scorer(
    "neg_mcdp",
    sensitive_features=lambda X: sex[X.index],
    scale="rank",
    epsilon=0.05,
)
values = cross_val_score(
    make_pipeline(StandardScaler(), LinearSVC()), X, approved, scoring=scorer
)
print(f"MCDP(0.05) of margins, five folds: {-values.mean():.3f}")
assert (values < 0).all()

# %%
# Three classes
# -------------
# What `predict_proba` returns is compared class by class, each against the rest. `mcdp`
# is the largest value, and a permutation test of it pays for the choice of the class.

grade = np.array(["refused", "small", "large"])[np.digitize(limit, [5_000, 8_000])]
model = make_pipeline(StandardScaler(), LogisticRegression())
y_score = model.fit(X.iloc[train], grade[train]).predict_proba(X.iloc[test])
by_class = values_by_class(mcdp, None, y_score, labels=model.classes_, **rows)
print(by_class.round(3).to_string())
assert mcdp(None, y_score, **rows) == by_class.max()

# %%
# The class with the largest gap, as a picture.

worst = by_class.idxmax()
column = list(model.classes_).index(worst)
CDFGapDisplay.from_predictions(None, y_score[:, column], name=worst, **rows)

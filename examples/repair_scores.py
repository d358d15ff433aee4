"""
Repair the scores of a classifier
=================================

Boosted trees give men far higher scores than women. They are audited, repaired and
audited again on test rows; then a search over the level of repair shows what it costs.
The repair needs the group of a person at prediction.
"""

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, train_test_split

from skfair.datasets import make_biased_classification
from skfair.inspection import BeforeAfterDisplay
from skfair.metrics import get_fairness_scorer, madd, mcdp
from skfair.postprocessing import MADDPostProcessor

X, y = make_biased_classification(
    4_000,
    group_sizes={"sex": {"female": 0.35, "male": 0.65}},
    base_rates={"sex": {"female": 0.15, "male": 0.4}},
    random_state=0,
)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
boosting = HistGradientBoostingClassifier(
    categorical_features="from_dtype", max_iter=20, random_state=0
)

# %%
# Before and after
# ----------------
# `MADDPostProcessor` moves the scores of each group towards a common distribution, and
# chooses how far on held-out rows.

plain = boosting.fit(X, y)
repaired = MADDPostProcessor(boosting, sensitive_features="sex", random_state=0)
repaired.fit(X, y)
rows = {}
for name, model in {"plain": plain, "repaired": repaired}.items():
    scores = model.predict_proba(X_test)[:, 1]
    rows[name] = {
        "average precision": average_precision_score(y_test, scores),
        "MADD": madd(y_test, scores, sensitive_features=X_test["sex"]),
        "MCDP": mcdp(y_test, scores, sensitive_features=X_test["sex"]),
    }
table = pd.DataFrame.from_dict(rows, orient="index")
print(f"Level of repair: {repaired.repair_level_:.2f}")
print(table.round(3).to_string())
assert table.loc["repaired", "MCDP"] < table.loc["plain", "MCDP"] / 2
assert table.loc["repaired", "average precision"] < table.loc["plain"].iloc[0]

# %%
# The distributions before and after:

BeforeAfterDisplay.from_estimators(
    plain,
    repaired,
    X_test,
    y_test,
    sensitive_features="sex",
    metric=average_precision_score,
)

# %%
# The mitigator has compared itself with the plain model, on rows that neither was
# fitted to.

print(repaired.comparison_)

# %%
# In a search
# -----------
# The level is a parameter as any other, and the scorer reads the groups from X.

search = GridSearchCV(
    MADDPostProcessor(boosting, sensitive_features="sex", cv=3, random_state=0),
    {"repair_level": [0.0, 0.5, 0.9]},
    scoring={
        "average_precision": "average_precision",
        "neg_mcdp": get_fairness_scorer("neg_mcdp", sensitive_features="sex"),
    },
    refit=False,
    cv=3,
    error_score="raise",
).fit(X, y)
columns = ["param_repair_level", "mean_test_average_precision", "mean_test_neg_mcdp"]
results = pd.DataFrame(search.cv_results_)[columns]
print(results.round(3).to_string(index=False))
assert results["mean_test_neg_mcdp"].is_monotonic_increasing

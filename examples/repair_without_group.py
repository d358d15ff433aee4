"""
Fair scores where the group is known in training only
=====================================================

The scores of a classifier are changed by what a second classifier infers about the
group from the same features. One cross-fit gives the whole trade-off between
performance and fairness, from which a strength is chosen.
"""

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split

from skfair.datasets import make_biased_classification
from skfair.inspection import TradeOffDisplay
from skfair.metrics import mcdp
from skfair.model_selection import BestUnder
from skfair.postprocessing import UnawarePostProcessor

X, y = make_biased_classification(
    3_000,
    group_sizes={"sex": {"female": 0.4, "male": 0.6}},
    score_shifts={"sex": {"male": 1.0}},
    random_state=0,
)
X["proxy"] = (X["sex"] == "male") + X.iloc[:, 0]  # the features tell the group
sex = X.pop("sex")
X, X_test, y, y_test, sex, sex_test = train_test_split(
    X, y, sex, stratify=y, random_state=0
)
boosting = HistGradientBoostingClassifier(max_iter=30, random_state=0)
model = UnawarePostProcessor(boosting, cv=3, random_state=0)
model.fit(X, y, sensitive_features=sex)

# %%
# The path
# --------
# What each strength reaches on held-out rows, and the strength that a rule takes from
# it: the best performer with MCDP of at most 0.1.

columns = ["strength", "mean_test_average_precision", "mean_test_neg_mcdp"]
print(pd.DataFrame(model.path_)[columns].round(3).to_string(index=False))
rule = BestUnder(limit=0.1)
TradeOffDisplay.from_cv_results(model.path_, rule=rule)

# %%
# On test rows
# ------------
# No model knows the sex of these people. A new strength needs no new classifier.

limit = model.path_["strength"][rule(model.path_)]
models = {
    "plain": model.with_strength(0),
    "chosen by itself": model,
    "MCDP at most 0.1": model.with_strength(limit),
}
rows = {}
for name, fitted in models.items():
    scores = fitted.predict_proba(X_test)[:, 1]
    rows[name] = {
        "strength": fitted.strength_,
        "average precision": average_precision_score(y_test, scores),
        "MCDP": mcdp(y_test, scores, sensitive_features=sex_test),
    }
table = pd.DataFrame.from_dict(rows, orient="index")
print(table.round(3).to_string())
assert table.loc["chosen by itself", "MCDP"] < table.loc["plain", "MCDP"] / 2

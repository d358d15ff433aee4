"""
Audit a classifier, cross-validate its fairness, and search on it
=================================================================

A logistic regression that never sees the sex of a person is audited for women and men,
then for how its disparity changes with its features and parameters.
"""

import numpy as np
import pandas as pd
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skfair.datasets import make_biased_classification
from skfair.inspection import CDFGapDisplay
from skfair.metrics import (
    abcc,
    certify,
    confidence_interval,
    demographic_parity_difference,
    get_fairness_scorer,
    madd,
    mcdp,
    permutation_test,
)

# %%
# The people
# ----------
# Simulated: fewer women than men have a positive label, and the district where somebody
# lives tells sex in nine of ten cases. It is a proxy of sex.

X, y = make_biased_classification(
    8_000,
    n_features=6,
    group_sizes={"sex": {"female": 0.35, "male": 0.65}},
    base_rates={"sex": {"female": 0.15, "male": 0.45}},
    class_sep=0.6,
    random_state=0,
)
moved = np.random.RandomState(0).random_sample(len(X)) < 0.1
X["district"] = np.where(X["sex"].eq("female") ^ moved, "north", "south")
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.3, stratify=y, random_state=0
)

numbers = [name for name in X.columns if name not in ("sex", "district")]
features = ColumnTransformer(
    [("numbers", StandardScaler(), numbers), ("proxy", OneHotEncoder(), ["district"])]
)
model = make_pipeline(features, LogisticRegression()).fit(X_train, y_train)
y_score = model.predict_proba(X_test)[:, 1]
sex = X_test["sex"]
print(f"Audit on {len(sex):,} test rows: {sex.value_counts().to_dict()}")

# %%
# The audit
# ---------
# Four metrics of the scores, each with a 95 % confidence interval, its mean where sex
# is shuffled (noise makes it larger than 0), and a p-value.

rows = {}
for metric in (mcdp, madd, abcc, demographic_parity_difference):
    interval = confidence_interval(metric, y_test, y_score, sensitive_features=sex)
    test = permutation_test(
        metric,
        y_test,
        y_score,
        sensitive_features=sex,
        n_permutations=199,
        random_state=0,
    )
    rows[metric.__name__] = {
        "value": interval.value,
        "lower": interval.lower,
        "upper": interval.upper,
        "null_mean": test.null_mean,
        "pvalue": test.pvalue,
    }
audit = pd.DataFrame.from_dict(rows, orient="index")
print(audit.round(3).to_string())
assert (audit["pvalue"] < 0.01).all()
assert (audit["value"] > 2 * audit["null_mean"]).all()

# %%
# MCDP is the largest gap between the shares of women and men above a threshold. The
# picture marks the threshold.

display = CDFGapDisplay.from_predictions(y_test, y_score, sensitive_features=sex)
display.figure_.savefig("quickstart.png", dpi=150, bbox_inches="tight")

# %%
# What can be said with 95 % confidence, whatever the threshold?

certificate = certify(mcdp, y_test, y_score, sensitive_features=sex, at_most=0.5)
print(certificate)
assert certificate.certified

# %%
# The trade-off, in a search
# --------------------------
# A scorer reads the groups from a column of X, so that `GridSearchCV` needs nothing
# else. Without the proxy the gap is smaller, and so is performance.

search = GridSearchCV(
    model,
    {
        "columntransformer__proxy": [OneHotEncoder(), "drop"],
        "logisticregression__C": [0.001, 0.1, 10.0],
    },
    scoring={
        "average_precision": "average_precision",
        "neg_mcdp": get_fairness_scorer("neg_mcdp", sensitive_features="sex"),
    },
    refit="average_precision",
    error_score="raise",
).fit(X_train, y_train)
results = pd.DataFrame(search.cv_results_)
table = pd.DataFrame(
    {
        "proxy": np.where(
            results["param_columntransformer__proxy"] == "drop", "left out", "used"
        ),
        "C": results["param_logisticregression__C"],
        "average precision": results["mean_test_average_precision"],
        "MCDP": -results["mean_test_neg_mcdp"],
        "+-": results["std_test_neg_mcdp"],
    }
)
print(table.round(4).to_string(index=False))
gaps = table.groupby("proxy")["MCDP"].max()
assert gaps["left out"] < gaps["used"]

# %%
# Groups that are not a column of X
# ---------------------------------
# They are routed beside X, as any metadata of scikit-learn.

with sklearn.config_context(enable_metadata_routing=True):
    scores = cross_val_score(
        model,
        X_train.drop(columns="sex"),
        y_train,
        scoring=get_fairness_scorer("neg_mcdp"),
        params={"sensitive_features": X_train["sex"]},
        error_score="raise",
    )
print("MCDP by fold:", (-scores).round(3))
assert (-scores > 0.2).all()

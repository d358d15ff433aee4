"""
Search for a less discriminatory model, and confirm it
======================================================

A model of hiring uses a test, an interview and a hobby. Is there another one that
predicts as well and divides women and men less? A search says yes easily: the luckiest
of many candidates looks good. Here a part of the rows chooses nothing and confirms.
"""

# %%
# Simulated applicants. The hobby tells the sex, and adds little to the rest.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import loguniform, randint
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skfair.inspection import TradeOffDisplay
from skfair.metrics import mcdp
from skfair.model_selection import LessDiscriminatorySearchCV

rng = np.random.default_rng(0)


def applicants(n_samples):
    """Draw applicants, and whether they did well."""
    man = rng.integers(0, 2, n_samples)
    skill, luck, *noise = rng.normal(size=(5, n_samples))
    X = pd.DataFrame(
        {
            "sex": np.where(man, "M", "F"),
            "test": skill + noise[0] / 2,
            "interview": skill + noise[1] / 2,
            "hobby": 3 * man + noise[2],
        }
    )
    return X, (skill + 0.6 * man + luck / 2 > 0.3).astype(int)


X, y = applicants(8000)

# %%
# The baseline is a logistic regression on all three columns. Candidates have other
# columns, other penalties, or trees in place of the regression.

every = ["test", "interview", "hobby"]
columns = [every, ["test", "interview"], ["test"], ["interview"]]
features = {
    "columntransformer__transformers": [[("kept", "passthrough", c)] for c in columns]
}
trees = HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=4)
search = LessDiscriminatorySearchCV(
    make_pipeline(
        make_column_transformer(("passthrough", every)), LogisticRegression()
    ),
    [
        {**features, "logisticregression__C": loguniform(1e-3, 10)},
        {
            **features,
            "logisticregression": [trees],
            "logisticregression__random_state": randint(0, 1000),
        },
    ],
    sensitive_features="sex",
    margin=0.04,
    n_iter=16,
    cv=3,
    random_state=0,
).fit(X, y)
print(search.best_params_)

# %%
# Every candidate, and those that were tested on the rows of the confirmation.

columns = ["performance", "disparity", "performance_lower", "disparity_upper"]
print(search.alternatives_.loc[search.alternatives_["taken"], [*columns, "confirmed"]])

# %%
# The confirmed model leaves the hobby out.

kept = search.best_params_["columntransformer__transformers"][0][2]
assert kept == ["test", "interview"]
TradeOffDisplay.from_cv_results(
    search, performance="average_precision", fairness="neg_mcdp"
)
plt.show()

# %%
# New applicants, of whom neither the search nor the confirmation knew.

X_new, y_new = applicants(20_000)
gaps = [
    mcdp(None, model.predict_proba(X_new)[:, 1], sensitive_features=X_new["sex"])
    for model in (search.baseline_, search.best_estimator_)
]
print(f"MCDP of the baseline {gaps[0]:.3f}, of the alternative {gaps[1]:.3f}")
assert gaps[1] < 0.6 * gaps[0]

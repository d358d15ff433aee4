"""
Search on several machines with Dask
====================================

Whatever of skfair and scikit-learn has `n_jobs` runs where joblib is told to run it.
Here two processes of this machine, which speak TCP as machines do, share a search over
models and levels of repair, and a permutation test of the model that is chosen.
"""

import joblib
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV, train_test_split

from skfair.datasets import make_biased_classification
from skfair.metrics import mcdp, permutation_test
from skfair.model_selection import FairestWithin, GroupStratifiedKFold
from skfair.postprocessing import MADDPostProcessor

try:
    from dask.distributed import Client, LocalCluster
except ImportError:
    raise SystemExit(
        "This example needs Dask: pip install 'dask[distributed]'"
    ) from None

# sphinx_gallery_thumbnail_path = "images/trade_off.png"

# %%
# The search
# ----------
# It is the same on one process and on a thousand: nothing in it names Dask.

X, y = make_biased_classification(
    4_000,
    group_sizes={"sex": {"female": 0.35, "male": 0.65}},
    base_rates={"sex": {"female": 0.15, "male": 0.4}},
    random_state=0,
)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)

boosting = HistGradientBoostingClassifier(
    categorical_features="from_dtype", max_iter=20, random_state=0
)
rule = FairestWithin("average_precision", "neg_mcdp", tolerance=0.05)
search = GridSearchCV(
    MADDPostProcessor(boosting, sensitive_features="sex", cv=3, random_state=0),
    {"estimator__max_leaf_nodes": [4, 16], "repair_level": [0.0, 0.5, 1.0]},
    scoring=rule.scoring(sensitive_features="sex"),
    refit=rule,
    cv=GroupStratifiedKFold(3, shuffle=True, random_state=0, sensitive_features="sex"),
    error_score="raise",
)

# %%
# Two workers
# -----------
# A worker is a process of its own, which imports this script: what must happen once is
# under ``if __name__ == "__main__"``. On a cluster, ``Client("tcp://scheduler:8786")``
# stands in place of the two here, and skfair is installed on each machine.

COLUMNS = ["mean_test_average_precision", "mean_test_neg_mcdp"]


def run():
    """Search and test on two workers; return scores of test rows, and the test."""
    local = {"host": "127.0.0.1", "protocol": "tcp", "dashboard_address": None}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, **local) as cluster,
        Client(cluster),
        joblib.parallel_config("dask"),
    ):
        search.fit(X, y)
        scores = search.predict_proba(X_test)[:, 1]
        test = permutation_test(
            mcdp, y_test, scores, sensitive_features=X_test["sex"], random_state=0
        )
    return scores, test


if __name__ == "__main__":
    scores, test = run()
    print(search.cv_results_["params"][search.best_index_])
    print(f"MCDP on test rows: {test.value:.3f} (p = {test.pvalue:.3f})")

# %%
# The same on one process
# -----------------------
# Random states are part of the estimators, and draws of a test are made before they are
# handed out: the table is the same, and so are the model and the p-value.

if __name__ == "__main__":
    table = {name: search.cv_results_[name] for name in COLUMNS}
    search.fit(X, y)
    for name in COLUMNS:
        print(name, search.cv_results_[name].round(3))
        assert np.allclose(table[name], search.cv_results_[name], rtol=0, atol=1e-9)
    assert np.allclose(scores, search.predict_proba(X_test)[:, 1], rtol=0, atol=1e-9)
    alone = permutation_test(
        mcdp, y_test, scores, sensitive_features=X_test["sex"], random_state=0
    )
    assert alone.pvalue == test.pvalue
    assert table["mean_test_neg_mcdp"][0] < -0.2 < table["mean_test_neg_mcdp"][2]
    assert test.value < 0.2

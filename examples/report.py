"""
Write a report for people who do not read code
==============================================

A plain model and one whose scores are repaired by sex are reported on together, by sex,
by region and by both, on rows that neither has seen. The page is one file, with
sentences in place of code, and prints well.
"""

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from skfair.datasets import make_biased_classification
from skfair.postprocessing import MADDPostProcessor
from skfair.report import FairnessReport

X, y = make_biased_classification(
    6_000,
    group_sizes={
        "sex": {"female": 0.4, "male": 0.6},
        "region": {"north": 0.15, "south": 0.85},
    },
    base_rates={
        "sex": {"female": 0.15, "male": 0.4},
        "region": {"north": 0.2, "south": 0.35},
    },
    random_state=0,
)
X = X.astype({"sex": "category", "region": "category"})
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
boosting = HistGradientBoostingClassifier(
    categorical_features="from_dtype", max_iter=30, random_state=0
)
repaired = MADDPostProcessor(boosting, sensitive_features="sex", random_state=0)
models = {"plain": boosting.fit(X, y), "repaired by sex": repaired.fit(X, y)}

# sphinx_gallery_thumbnail_path = "images/report.png"

# %%
# The report computes all numbers once. It compares groups with at least
# `min_group_size` rows, and names the others.

report = FairnessReport.from_estimator(
    models,
    X_test,
    y_test,
    sensitive_features=["sex", "region"],
    title="Two models of simulated data",
    random_state=0,
    n_resamples=99,
    n_permutations=99,
)
page = report.to_html()  # or to_html("report.html")
print(report)
assert "Two models of simulated data" in page

# %%
# The same numbers as a table. Repair by sex leaves the gap by region, as it was asked
# to.

table = report.to_frame().query("metric == 'mcdp'").round(3)
shown = ["model", "attribute", "value", "lower", "upper", "pvalue"]
print(table[shown].to_string(index=False))
values = table.set_index(["attribute", "model"])["value"]
assert values["sex", "repaired by sex"] < values["sex", "plain"] / 2
assert values["region", "repaired by sex"] > values["region", "plain"] / 2

# %%
# In a notebook the last line of a cell shows the page itself:

report

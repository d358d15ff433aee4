"""
Audit Parquet files without reading their rows
==============================================

Predictions lie in two Parquet files. DuckDB counts them where they are, and everything
that follows, tests, intervals and the report, is computed from the counts: it costs the
same for a thousand times as many rows.
"""

import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from skfair.frames import count_table
from skfair.inspection import CDFGapDisplay
from skfair.metrics import confidence_interval, mcdp, permutation_test
from skfair.report import FairnessReport

rng = np.random.default_rng(0)
directory = tempfile.TemporaryDirectory()
for month in "january", "february":
    sex = rng.choice(["female", "male"], 100_000)
    score = 1 / (1 + np.exp(-rng.normal(0.1 * (sex == "male"))))
    repaid = rng.random(100_000) < score
    table = pa.table({"sex": sex, "score": score, "repaid": repaid})
    pq.write_table(table, Path(directory.name) / f"{month}.parquet")

# %%
# A relation of DuckDB is a query that has not run yet. Distinct scores counted by group
# are all that a metric or a picture needs. MCDP(0) is the largest difference between
# the groups' cumulative distributions.

rows = duckdb.read_parquet(f"{directory.name}/*.parquet")
counted = count_table(rows, y_pred="score", sensitive_features="sex")
exact = mcdp(None, counted)
print(f"MCDP(0) = {exact:.5f}")
CDFGapDisplay.from_predictions(None, counted)

# %%
# A histogram of the scores takes one pass, and adds up: those of further files, or of
# another party, may be added with ``+``. The test and the interval draw its counts, not
# rows. The interval allows for what bins do not tell.

histogram = count_table(rows, y_pred="score", sensitive_features="sex", n_bins=4096)
test = permutation_test(mcdp, None, histogram, n_permutations=99, random_state=0)
interval = confidence_interval(mcdp, None, histogram)
print(f"p = {test.pvalue}, {interval.lower:.4f} to {interval.upper:.4f}")
assert test.pvalue == 0.01
assert interval.lower < exact < interval.upper

# %%
# The report takes names of columns in place of arrays. The command line writes it
# without code: ``python -m skfair audit 'predictions/*.parquet' ...``

report = FairnessReport.from_frame(
    rows,
    y_true="repaid",
    y_score="score",
    sensitive_features="sex",
    metrics=["demographic_parity_difference", "mcdp", "equalized_odds_difference"],
    n_permutations=99,
    random_state=0,
    title="Loans of January and February",
)
table = report.to_frame()[["metric", "value", "lower", "upper", "pvalue"]].round(4)
print(table.to_string(index=False))
assert report.summary["n_rows"] == 200_000
directory.cleanup()

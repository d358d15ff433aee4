"""
Audit rows that do not fit into memory
======================================

Metrics are computed from a table of counts, which is small and adds up. Scores of each
batch, file or party in bins bound MCDP with certainty; where distinct scores are
counted it is exact.
"""

import numpy as np
import pandas as pd

from skfair import frames
from skfair.inspection import CDFGapDisplay
from skfair.metrics import abcc, mcdp, metric_bounds
from skfair.statistics import CountTable, sum_tables

# %%
# Batches
# -------
# Ten batches, of which only one is in memory at a time.


def batch(seed, n_rows=50_000):
    """Make the rows of one day."""
    generator = np.random.default_rng(seed)
    sex = generator.choice(["F", "M"], n_rows, p=[0.4, 0.6])
    return pd.DataFrame({"score": generator.beta(2 + (sex == "M"), 4), "sex": sex})


parts = []
for seed in range(10):
    day = batch(seed)
    groups = day["sex"]
    parts.append(
        CountTable.from_rows(
            None, day["score"], sensitive_features=groups, n_bins=2**16
        )
    )

total = sum_tables(parts)
bounds = metric_bounds(mcdp, total)
n_rows = total.counts.sum()
print(f"MCDP of {n_rows:,} rows is in [{bounds.lower:.5f}, {bounds.upper:.5f}]")

# %%
# All rows at once, as a check: the value lies between the bounds.

rows = pd.concat([batch(seed) for seed in range(10)])
value = mcdp(None, rows["score"], sensitive_features=rows["sex"])
print(f"MCDP of all rows: {value:.5f}")
assert bounds.lower <= value <= bounds.upper
assert bounds.upper - bounds.lower < 1e-3

# %%
# The gap that is bounded, drawn from all rows.

CDFGapDisplay.from_predictions(None, rows["score"], sensitive_features=rows["sex"])

# %%
# Where the rows are
# ------------------
# `skfair.frames.count_table` counts by a query: in pandas, Polars, PyArrow, DuckDB over
# Parquet, Spark or a warehouse. It counts each distinct score, for exact values, or
# scores in bins, for bounds.

columns = {"y_pred": "score", "sensitive_features": "sex"}
exact = mcdp(None, frames.count_table(rows, **columns))
assert exact == value
between = metric_bounds(abcc, frames.count_table(rows, n_bins=2**16, **columns))
print(f"ABCC is in [{between.lower:.5f}, {between.upper:.5f}]")
assert between.lower <= abcc(None, rows["score"], sensitive_features=rows["sex"])

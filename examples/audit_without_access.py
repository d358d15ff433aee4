"""
Audit a classifier from published frequencies alone
===================================================

Nobody has the predictions, only shares by region: how many people are in each class,
and how many are predicted to be. `min_dcp_bounds` bounds the least share of people who
must have been treated in another way than the country as a whole.
"""

import numpy as np
import pandas as pd

from skfair.metrics import min_dcp_bounds

# %%
# Frequencies
# -----------
# Four years of a classifier of six regions. It treats the first one worse and worse.

rng = np.random.default_rng(0)
common = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])
harsh = np.array([[1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [0.6, 0.3, 0.1]])
rows = {}
for step in range(4):
    true = rng.dirichlet([6, 5, 4], 6)
    channels = np.tile(common, (6, 1, 1))
    channels[0] = (1 - step / 3) * common + step / 3 * harsh
    predicted = np.einsum("ay,ayz->az", true, channels)
    result = min_dcp_bounds(np.full(6, 1 / 6), true, predicted, time_limit=2)
    # The classifier itself allows for its frequencies, so it is no less unfair.
    rows[2020 + step] = {"lower": result.lower, "upper": result.upper}
table = pd.DataFrame.from_dict(rows, orient="index")
print(table.round(4).to_string())

# %%
# The bounds are certified: no classifier with these frequencies is fairer than the
# lower one, and one exists that attains the upper one.

assert table["upper"].iloc[0] < 1e-3
assert table["lower"].is_monotonic_increasing

(100 * table).plot(
    style=["o-", "s--"],
    xlabel="year",
    ylabel="least DCP (% of people)",
    xticks=table.index,
)

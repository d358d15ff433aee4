"""
Audit without the group: proxies
================================

A lender holds no race, but surnames and places, of which shares of the groups are
published. How large can the disparity be, how small, how strong must a hidden link be
to explain it, and what does a survey add?
"""

import numpy as np
import pandas as pd

from skfair.inspection import CDFGapDisplay
from skfair.metrics import mcdp, proxy_bounds

# %%
# The people
# ----------
# Score and group are linked beyond what name and place tell: people of the group have
# lower scores than others of the same name and place.

rng = np.random.default_rng(0)
n = 20_000
surname, place = rng.integers(0, 30, n), rng.integers(0, 10, n)
by_name, by_place = rng.normal(0, 1.5, 30), rng.normal(0, 1, 10)
share = 1 / (1 + np.exp(-(by_name[surname] + by_place[place])))
group = np.where(rng.uniform(size=n) < share, "A", "B")
score = rng.beta(np.where(group == "A", 2.2, 3), 3)
truth = mcdp(None, score, sensitive_features=group)
print(f"MCDP, which the lender cannot know: {truth:.3f}")

# %%
# The bounds
# ----------
# Many pairs of surname and place are rare: rows of like probability form 20 cells. The
# odds ratio 1 gives the usual weighted estimate, each row in both groups by its
# probability. It takes the score to be independent of the group within each cell, and
# is too small here. With an infinite one nothing is assumed beyond the shares.

shares = pd.DataFrame({"A": share, "B": 1 - share})
given = {"group_probabilities": shares, "odds_ratio": [1, 1.5, 2, 4, np.inf]}
result = proxy_bounds(mcdp, None, score, **given)
print(result.to_frame().round(3).to_string(index=False))
print(f"At most 0.01 is possible from {result.tipping_odds_ratio(0.01):.2f} on,")
print(f"and 0.2 or more from {result.tipping_odds_ratio(0.2):.2f} on.")
assert result.estimate < truth - 0.02
assert result.lower[-1] < truth < result.upper[-1]

# %%
# From where the band crosses the limit on, these data cannot tell whether the disparity
# is above 0.1.

result.plot(limit=0.1)

# %%
# A survey
# --------
# One person of twenty tells the group. The answers agree with the shares, or a warning
# would name the cells; and the odds ratio that they show is at least this:

asked = np.where(rng.uniform(size=n) < 0.05, group, None)
surveyed = proxy_bounds(mcdp, None, score, sensitive_features=asked, **given)
print(f"Shown odds ratio: {surveyed.shown_odds_ratio:.2f}")
assert surveyed.upper[-1] - surveyed.lower[-1] < result.upper[-1] - result.lower[-1]

# %%
# Noise
# -----
# Confidence bounds cover both bounds of the population.

noisy = proxy_bounds(mcdp, None, score, confidence_level=0.95, random_state=0, **given)
print(noisy.to_frame().round(3).to_string(index=False))
assert (noisy.upper_confidence >= noisy.upper).all()

# %%
# The distributions of both groups lie within their bands:

CDFGapDisplay.from_proxy_bounds(result, odds_ratio=2)

# %%
# Five per cent without a group
# -----------------------------
# Where most groups are known and nothing is assumed about the rest, the interval is
# what the missing ones can do at most.

most = np.where(rng.uniform(size=n) < 0.95, group, None)
missing = proxy_bounds(mcdp, None, score, sensitive_features=most, missing="bounds")
print(f"MCDP lies between {missing.lower:.3f} and {missing.upper:.3f}.")
assert missing.lower <= truth <= missing.upper

"""
Watch a disparity batch by batch
================================

An interval that is computed again every day misses the truth some day. Those of
`FairnessMonitor` hold at all looks at once: the alarm is false, ever, with probability
5 % at most.
"""

import json

from skfair.datasets import make_biased_scores
from skfair.inspection import MonitorDisplay
from skfair.metrics import mcdp
from skfair.monitoring import FairnessMonitor

# %%
# Twenty days of 300 people
# -------------------------
# The scores of both groups differ by more than the 0.2 that is allowed. How soon does
# the monitor say so?

monitor = FairnessMonitor(mcdp, at_most=0.2)
for day in range(20):
    _, y_score, group = make_biased_scores(300, random_state=day)
    monitor.update(None, y_score, sensitive_features=group)
history = monitor.history_
print(history[["n_rows", "value", "lower", "upper", "alarm"]].round(3).to_string())
assert monitor.alarm_
assert history["lower"].iloc[-1] > history["lower"].iloc[0]

# %%
# The interval narrows as rows are added up:

MonitorDisplay.from_monitor(monitor)

# %%
# The state is a small statistic. Another process goes on from there.

text = json.dumps(monitor.to_dict())
again = FairnessMonitor.from_dict(json.loads(text))
print(f"{len(text):,} characters for {history['n_rows'].iloc[-1]:,} rows")
assert again.interval_ == monitor.interval_

"""Which share of its level a monitor spends at each look, and for each group."""

from dataclasses import astuple

import numpy as np
import pytest

from skfair.metrics import (
    confidence_interval,
    demographic_parity_difference,
    mcdp,
)
from skfair.monitoring import FairnessMonitor

LEVEL = 0.9
#: Shares of the level after the first, second, ... change of what is compared.
SHARES = [0.9, 0.1 / 2, 0.1 / 6, 0.1 / 12, 0.1 / 20]


def rows(groups, n_rows=120, seed=0, control=None):
    """Rows whose scores differ by group; groups are codes from 0 on."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n_rows) % groups
    scores = (rng.random(n_rows) + codes) / groups
    found = {"y_true": None, "y_score": scores, "sensitive_features": codes}
    if control is not None:
        found["control_features"] = np.arange(n_rows) // groups % control
    return found


def joined(batches):
    names = [name for name in batches[0] if name != "y_true"]
    found = {name: np.concatenate([one[name] for one in batches]) for name in names}
    return {"y_true": None, **found}


def at_tail(tail, metric, data):
    """Interval whose ends are each missed with this probability."""
    return confidence_interval(
        metric, **data, method="anytime", confidence_level=1 - 2 * tail
    )


@pytest.mark.slow
@pytest.mark.parametrize("metric", [mcdp, demographic_parity_difference])
@pytest.mark.parametrize("kind", ["groups", "strata"])
def test_share_of_each_change(metric, kind):
    """0.9 at first, then 0.1 / (k (k - 1)) after the k-th change: 1 in all."""
    monitor = FairnessMonitor(metric, confidence_level=LEVEL)
    batches = []
    for change, share in enumerate(SHARES):
        more = {"groups": change + 2} if kind == "groups" else {"groups": 2}
        more["control"] = None if kind == "groups" else change + 1
        for again in range(2):
            batches.append(rows(**more, n_rows=600, seed=2 * change + again))
            monitor.update(**batches[-1])
            tail = (1 - LEVEL) * share / 2
            expected = at_tail(tail, metric, joined(batches))
            np.testing.assert_allclose(
                astuple(monitor.interval_)[:3], astuple(expected)[:3], rtol=1e-12
            )
            assert monitor._looks[-1]["epoch"] == change + 1
    shares = [0.9] + [0.1 / (k * (k - 1)) for k in range(2, 100_000)]
    assert pytest.approx(shares[:5]) == SHARES
    assert sum(shares) == pytest.approx(1, abs=1e-5)
    assert sum(shares) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("n_changes", [1, 2, 3])
def test_pvalue_is_the_least_level_of_an_alarm(n_changes):
    """The lower end of all pairs at the share of the level is what is tolerated."""
    batches = [rows(2 + i, 300 * 4**i, seed=i) for i in range(n_changes)]
    share = SHARES[n_changes - 1]
    tolerated = at_tail(1e-4 * share, mcdp, joined(batches)).lower
    assert 0 < tolerated < 1
    alarms = []
    for level in (1.01e-4, 0.99e-4):
        monitor = FairnessMonitor(mcdp, at_most=tolerated, confidence_level=1 - level)
        for one in batches:
            monitor.update(**one)
        assert monitor.pvalue_ == pytest.approx(1e-4, rel=1e-6)
        alarms.append(monitor.alarm_)
    assert alarms == [True, False]

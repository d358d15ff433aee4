"""Which share of its level a monitor spends at each look, and for each group."""

from dataclasses import astuple
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import encode_groups
from skfair.metrics import (
    confidence_interval,
    demographic_parity_difference,
    equalized_odds_difference,
    mcdp,
)
from skfair.monitoring import FairnessMonitor
from skfair.statistics import GroupedScores

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


def test_pvalue_is_the_smallest_so_far():
    monitor = FairnessMonitor(mcdp, at_most=0.05)
    unequal, equal = rows(2, 600), rows(2, 20_000)
    equal["y_score"] = np.repeat(np.linspace(0, 1, 10_000), 2)
    monitor.update(**unequal)
    first = monitor.pvalue_
    assert first < 0.05
    monitor.update(**equal)
    assert monitor.interval_.lower == 0
    assert monitor.pvalue_ == first
    assert monitor.alarm_
    assert monitor.history_["alarm"].tolist() == [True, True]


def drift_lower(tail, before, now):
    data = {
        "y_true": None,
        "y_score": np.concatenate([before, now]),
        "sensitive_features": np.repeat([0, 1], [len(before), len(now)]),
    }
    return at_tail(tail, mcdp, data).lower


def test_level_of_drift_is_shared_by_the_groups_of_the_reference():
    """One of three groups is never seen again, and keeps its third."""
    rng = np.random.default_rng(0)
    before, now = rng.beta(2, 5, (3, 800)), rng.beta(5, 2, (2, 500))
    reference = GroupedScores.from_scores(
        before.ravel(), sensitive_features=np.repeat(["a", "b", "c"], 800)
    )
    monitor = FairnessMonitor(mcdp, reference=reference, confidence_level=LEVEL)
    with pytest.warns(UndefinedMetricWarning, match="leaves out groups: .* have 'c'"):
        monitor.update(None, now.ravel(), sensitive_features=np.repeat(["a", "b"], 500))
    expected = max(drift_lower((1 - LEVEL) / 3, before[i], now[i]) for i in range(2))
    assert 0 < expected < 1
    found = monitor.history_.iloc[0]
    assert found["drift_lower"] == pytest.approx(expected, abs=1e-12)
    # With two strata there are twice as many comparisons.
    within = FairnessMonitor(
        mcdp, reference={"x": reference, "y": reference}, confidence_level=LEVEL
    )
    y_absent = "have 'c' in 'x', 'a' in 'y', 'b' in 'y' and 'c' in 'y'"
    with pytest.warns(UndefinedMetricWarning, match=y_absent):
        within.update(None, {"x": monitor.statistic_})
    expected = max(drift_lower((1 - LEVEL) / 6, before[i], now[i]) for i in range(2))
    assert within.history_["drift_lower"].iloc[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_alarm_of_drift_stays():
    rng = np.random.default_rng(0)
    before = rng.random(2000)
    groups = np.repeat(["a", "b"], 1000)
    reference = GroupedScores.from_scores(before, sensitive_features=groups)
    monitor = FairnessMonitor(mcdp, reference=reference)
    scores = [before, before**3, *[before] * 12]
    for one in scores:
        monitor.update(None, one, sensitive_features=groups)
    history = monitor.history_
    assert history["drift_lower"].iloc[0] == 0
    assert history["drift_lower"].iloc[1] > 0
    assert history["drift_lower"].iloc[-1] == 0
    assert history["drift_alarm"].tolist() == [False] + [True] * 13


@pytest.mark.parametrize("absent_from", ["reference", "batch"])
def test_drift_of_groups_without_rows(absent_from):
    """A group without rows is left out with a warning, in any order of groups."""
    rng = np.random.default_rng(0)
    scores = rng.random(200)
    for labels in (["a", "b", "c"], ["c", "b", "a"]):
        two = encode_groups(list("ab") * 100, labels=labels)
        three = encode_groups((list("abc") * 67)[:200], labels=labels)
        first, second = (two, three) if absent_from == "reference" else (three, two)
        reference = GroupedScores.from_scores(scores, sensitive_features=first)
        monitor = FairnessMonitor(mcdp, reference=reference)
        batch = GroupedScores.from_scores(scores**2, sensitive_features=second)
        with pytest.warns(UndefinedMetricWarning) as caught:
            monitor.update(None, batch)
        said = [str(one.message) for one in caught]
        assert "drift of mcdp leaves out groups: too few rows" in said.pop()
        assert ["'c' has 0 rows" in one for one in said] == [True] * len(said)
        assert bool(said) == (absent_from == "batch")
        expected = max(
            mcdp(None, both, sensitive_features=np.repeat([0, 1], sizes))
            for group in "ab"
            for before in [scores[np.asarray(first) == group]]
            for now in [scores[np.asarray(second) == group] ** 2]
            for both, sizes in [(np.append(before, now), [len(before), len(now)])]
        )
        assert monitor.history_["drift"].iloc[0] == pytest.approx(expected)
        assert monitor.history_["drift_lower"].iloc[0] >= 0


@pytest.mark.parametrize("labels", [["x", "y"], ["0", "1"]])
def test_drift_without_any_group_of_the_reference(labels):
    scores = np.random.default_rng(0).random(200)
    reference = GroupedScores.from_scores(scores, sensitive_features=[0, 1] * 100)
    monitor = FairnessMonitor(mcdp, reference=reference)
    message = "drift of mcdp is undefined and set to nan: .* 0, 1, '.' and '.'"
    for _ in range(2):
        with pytest.warns(UndefinedMetricWarning, match=message):
            monitor.update(None, scores, sensitive_features=labels * 100)
    assert monitor.history_["drift"].isna().all()
    # A state that is loaded has warned when it was made.
    FairnessMonitor.from_dict(monitor.to_dict())


def test_drift_of_groups_that_cannot_be_compared():
    """Rates of a true label that one group lacks leave the other group's drift."""
    earlier = FairnessMonitor(equalized_odds_difference)
    y_true, y_pred, groups = [0, 1] * 8, [0, 1, 1, 0] * 4, ["a", "a", "b", "b"] * 4
    earlier.update(y_true, y_pred, sensitive_features=groups)
    for swap in (False, True):
        names = np.array(["b", "a"] if swap else ["a", "b"])
        monitor = FairnessMonitor(
            equalized_odds_difference, reference=earlier.statistic_
        )
        now_true, now_groups = [0, 1, 0, 0], names[[0, 0, 1, 1]]
        with pytest.warns(UndefinedMetricWarning):
            monitor.update(now_true, [0, 0, 0, 1], sensitive_features=now_groups)
        assert np.isfinite(monitor.history_["drift"].iloc[0])


def test_weighted_strata_share_each_tail():
    metric = partial(mcdp, multistratum="weighted")
    data = rows(2, 900, control=3)
    monitor = FairnessMonitor(metric, confidence_level=LEVEL)
    monitor.update(**data)
    expected = at_tail((1 - LEVEL) * 0.9 / 2, metric, data)
    assert astuple(monitor.interval_)[:3] == pytest.approx(astuple(expected)[:3])
    assert monitor.history_["stratum"].tolist() == [None]
    assert monitor.history_["n_rows"].tolist() == [900]

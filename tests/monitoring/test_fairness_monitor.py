"""Monitors: what they see, that they may be looked at always, and their state."""

import math
from dataclasses import astuple
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics import (
    abcc,
    confidence_interval,
    cvar_fairness,
    dcp,
    demographic_parity_difference,
    equalized_odds_difference,
    madd,
    max_gap,
    mcdp,
)
from skfair.monitoring import FairnessMonitor
from skfair.statistics import CountTable

METRICS = {
    "mcdp": mcdp,
    "mcdp_epsilon": partial(mcdp, epsilon=0.1),
    "abcc": abcc,
    "madd": partial(madd, bandwidth=0.25),
    "parity": partial(demographic_parity_difference, threshold=0.5),
    "odds": equalized_odds_difference,
    "max_gap": max_gap,
    "cvar": partial(cvar_fairness, alpha=0.5),
}


def batch(seed, shift=0.0, n_samples=300, name="mcdp"):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 2, n_samples)
    scores = rng.beta(2 + shift * groups, 5)
    y_true = rng.integers(0, 2, n_samples)
    if name in ("odds", "max_gap", "cvar"):
        scores = (scores > 0.3).astype(int)
    return {"y_true": y_true, "y_score": scores, "sensitive_features": groups}


def anytime(metric, **rows):
    """Interval with the share of the level that the groups of the first look have."""
    level = 1 - 0.9 * (1 - 0.95)
    return confidence_interval(metric, **rows, method="anytime", confidence_level=level)


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
def test_looks_are_those_of_all_rows_so_far(name):
    monitor, batches = FairnessMonitor(METRICS[name]), []
    for seed in range(3):
        batches.append(batch(seed, 1.0, name=name))
        monitor.update(**batches[-1])
    rows = {key: np.concatenate([b[key] for b in batches]) for key in batches[0]}
    expected = anytime(METRICS[name], **rows)
    assert astuple(monitor.interval_)[:3] == astuple(expected)[:3]
    assert monitor.history_["n_rows"].tolist() == [300, 600, 900]


@pytest.mark.parametrize("metric", [mcdp, demographic_parity_difference, abcc])
def test_no_alarm_where_groups_do_not_differ(metric):
    """At the limit of 0 a lower bound of 0 is not a sign of a disparity."""
    monitor = FairnessMonitor(metric)
    scores = np.repeat(np.linspace(0, 1, 50), 2)
    for _ in range(3):
        monitor.update(None, scores, sensitive_features=list("ab") * 50)
    assert monitor.pvalue_ == 1
    assert not monitor.alarm_


@pytest.mark.slow
def test_alarm_and_pvalue():
    monitor = FairnessMonitor(mcdp, at_most=0.05)
    for seed in range(8):
        monitor.update(**batch(seed, 2.0, 40))
    history = monitor.history_
    assert monitor.alarm_
    assert monitor.pvalue_ < 1e-6
    assert (history["pvalue"].diff().dropna() <= 0).all()
    assert (history["alarm"] == (history["pvalue"] <= 0.05)).all()
    assert (history["lower"] <= history["value"]).all()
    assert (history["value"] <= history["upper"]).all()
    # An alarm is raised as soon as the one-sided bound exceeds the limit.
    one_sided = FairnessMonitor(mcdp, at_most=0.05, confidence_level=0.9)
    for seed in range(8):
        one_sided.update(**batch(seed, 2.0, 40))
    below = one_sided.history_["lower"] > 0.05
    assert below.tolist() == history["alarm"].tolist()
    assert not below.iloc[0]


def test_pvalue_never_rises():
    monitor = FairnessMonitor(mcdp, at_most=0.05)
    monitor.update(**batch(0, 2.0, 200))
    lowest = monitor.pvalue_
    assert lowest < 0.05
    monitor.update(**batch(1, 0.0, 5000))  # the gap of all rows is small again
    assert monitor.interval_.value < 0.05
    assert monitor.pvalue_ == lowest
    assert monitor.alarm_


def test_tables_of_batches():
    rows = batch(0)
    del rows["y_true"]
    first, second = FairnessMonitor(mcdp), FairnessMonitor(mcdp)
    first.update(None, **rows)
    scores = rows.pop("y_score")
    second.update(None, CountTable.from_rows(None, scores, **rows))
    assert first.history_.equals(second.history_)


def test_undefined_looks_pass():
    monitor = FairnessMonitor(mcdp, min_group_size=1)
    with pytest.warns(UndefinedMetricWarning):
        monitor.update(None, [0.1, 0.4], sensitive_features=["a", "a"])
    assert math.isnan(monitor.interval_.lower)
    assert monitor.pvalue_ == 1
    monitor.update(None, [0.1, 0.4], sensitive_features=["a", "b"])
    assert monitor.interval_.value == pytest.approx(2 / 3)


def test_failed_updates_change_nothing():
    monitor = FairnessMonitor(mcdp)
    monitor.update(**batch(0))
    before = monitor.to_dict()
    with pytest.raises(ValueError, match="y_score must lie in"):
        monitor.update(None, [0.1, 1.4], sensitive_features=["a", "a"])
    assert monitor.to_dict() == before


def test_errors():
    with pytest.raises(ValueError, match=r"metric must be one of .*mcdp"):
        FairnessMonitor(dcp)
    with pytest.raises(ValueError, match="at_most must be a number"):
        FairnessMonitor(mcdp, at_most=-1)
    with pytest.raises(ValueError, match=r"at_most must be a number in \[0, 1\.0\)"):
        FairnessMonitor(mcdp, at_most=1)
    assert FairnessMonitor(METRICS["madd"], at_most=1.5).at_most == 1.5
    with pytest.raises(ValueError, match="bandwidth must be a number"):
        FairnessMonitor(madd).update(**batch(0))
    with pytest.raises(ValueError, match="call update first"):
        _ = FairnessMonitor(mcdp).pvalue_
    with pytest.raises(ValueError, match="dictionary of type 'FairnessMonitor'"):
        FairnessMonitor.from_dict({})
    quality = partial(max_gap, quality=lambda y_true, y_pred: y_pred == 1)
    with pytest.raises(ValueError, match="metric has the option quality"):
        FairnessMonitor(quality).to_dict()


@pytest.mark.parametrize("metric", [max_gap, demographic_parity_difference])
def test_tables_of_weighted_rows_are_refused(metric):
    rows = {"y_pred": [0, 1, 1], "sensitive_features": list("aab")}
    for weights in ([1, 2, 2], [0.5, 1, 1.5]):
        statistic = CountTable.from_rows(None, **rows, sample_weight=weights)
        monitor = FairnessMonitor(metric, min_group_size=1)
        for given in (statistic, {"x": statistic}):
            with pytest.raises(ValueError, match="people without sample weights"):
                monitor.update(None, given)
    monitor.update(None, CountTable.from_rows(None, **rows))
    assert monitor.interval_.value == 0.5 or metric is max_gap


def test_strata_must_be_tables():
    statistic = CountTable.from_rows(None, [0.2, 0.4], sensitive_features=["a", "b"])
    with pytest.raises(TypeError, match="each stratum to a table, got a dict"):
        FairnessMonitor(mcdp).update(None, {"x": {"y": statistic}})
    with pytest.raises(TypeError, match="each stratum to a table, got a list"):
        FairnessMonitor(mcdp).update(None, {"x": [0.2, 0.4]})
    for given in (statistic, {"x": statistic}):
        with pytest.raises(ValueError, match="control_features must be None"):
            FairnessMonitor(mcdp).update(None, given, control_features=["x"])


@pytest.mark.parametrize("name", ["sample_weight", "sensitive_features", "y_score"])
def test_values_of_rows_are_no_options(name):
    """As an option they would be left aside without a word."""
    metric = partial(mcdp, **{name: [1, 2, 3, 4]})
    with pytest.raises(ValueError, match=f"{name} must be given beside the metric"):
        FairnessMonitor(metric)
    with pytest.raises(ValueError, match=f"{name} must be given beside the metric"):
        confidence_interval(metric, None, [0.1, 0.2], sensitive_features=["a", "b"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mcdp", "odds"])
@pytest.mark.promise("A monitor's false alarms are at most 5 % over all looks")
def test_false_alarms_over_all_looks(name):
    """At most 2 in 40 runs of 8 looks; of alarms in 10 % there are more in 78 %."""
    alarms = 0
    for run in range(40):
        monitor = FairnessMonitor(METRICS[name], min_group_size=1)
        for look in range(8):
            monitor.update(**batch(1000 * run + look, n_samples=40, name=name))
        alarms += monitor.alarm_ or monitor.change_alarm_
    assert alarms <= 2

"""Monitors that compare groups within strata."""

from dataclasses import astuple
from datetime import date
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics import (
    confidence_interval,
    cvar_fairness,
    demographic_parity_difference,
    equalized_odds_difference,
    max_gap,
    mcdp,
)
from skfair.monitoring import FairnessMonitor
from skfair.statistics import CountTable

METRICS = {
    "mcdp": mcdp,
    "weighted": partial(mcdp, multistratum="weighted"),
    "parity": demographic_parity_difference,
    "odds": equalized_odds_difference,
    "max_gap": max_gap,
}
QUICK = "parity", "max_gap"
STRATA = ("a", "b", "c")


def batch(seed, shift=0.0, n_samples=240, name="mcdp", strata=STRATA):
    """Rows of three strata; a shift is one of the group 1 in the stratum "b"."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 2, n_samples)
    of_rows = rng.choice(strata, n_samples)
    scores = rng.beta(2 + shift * groups * (of_rows == "b"), 5)
    if name in ("odds", "max_gap"):
        scores = (scores > 0.3).astype(int)
    return {
        "y_true": rng.integers(0, 2, n_samples),
        "y_score": scores,
        "sensitive_features": groups,
        "control_features": of_rows,
    }


def anytime(metric, share, **rows):
    level = 1 - share * (1 - 0.95)
    return confidence_interval(metric, **rows, method="anytime", confidence_level=level)


def joined(batches):
    return {key: np.concatenate([b[key] for b in batches]) for key in batches[0]}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK))
        for name in METRICS
    ],
)
def test_looks_are_those_of_all_rows_so_far(name):
    monitor = FairnessMonitor(METRICS[name])
    batches = [batch(seed, 2.0, name=name) for seed in range(3)]
    for one in batches:
        monitor.update(**one)
    expected = anytime(METRICS[name], 0.9, **joined(batches))
    np.testing.assert_allclose(
        astuple(monitor.interval_)[:3], astuple(expected)[:3], rtol=1e-12
    )
    history = monitor.history_
    assert history["n_rows"].tolist() == [240, 480, 720]
    assert history["stratum"].tolist() == [None if name == "weighted" else "b"] * 3


@pytest.mark.parametrize(
    "kind", ["groups", pytest.param("strata", marks=pytest.mark.slow)]
)
def test_what_appears_later_has_a_share_of_the_level_of_its_own(kind):
    batches = [batch(seed, strata=STRATA[: 2 + (seed > 0)]) for seed in range(3)]
    if kind == "groups":
        for seed, one in enumerate(batches):
            one["control_features"] = np.full(240, "a")
            one["sensitive_features"][:80] += 2 * (seed > 0)
    monitor = FairnessMonitor(mcdp)
    for seed, one in enumerate(batches):
        monitor.update(**one)
        share = 0.9 if seed == 0 else 0.1 / 2
        expected = anytime(mcdp, share, **joined(batches[: seed + 1]))
        found = astuple(monitor.interval_)[:3]
        np.testing.assert_allclose(found, astuple(expected)[:3], rtol=1e-12)


@pytest.mark.slow
def test_alarm_is_for_all_strata_at_once():
    monitor = FairnessMonitor(mcdp, at_most=0.1)
    for seed in range(4):
        monitor.update(**batch(seed, 4.0, 600))
    assert monitor.alarm_
    assert monitor.pvalue_ < 0.01
    assert set(monitor.history_["stratum"]) == {"b"}
    weighted = FairnessMonitor(METRICS["weighted"], at_most=0.2)
    weighted.update(**batch(0, 4.0, 600))
    assert weighted.pvalue_ == 1


def test_tables_of_strata_take_the_place_of_rows():
    rows = batch(0)
    del rows["y_true"]
    first, second = FairnessMonitor(mcdp), FairnessMonitor(mcdp)
    first.update(None, **rows)
    scores, groups = rows["y_score"], rows["sensitive_features"]
    of_strata = {}
    for label in STRATA:
        own = rows["control_features"] == label
        of_strata[label] = CountTable.from_rows(
            None, scores[own], sensitive_features=groups[own]
        )
    second.update(None, of_strata)
    assert first.history_.equals(second.history_)
    third, strata = FairnessMonitor(mcdp), rows.pop("control_features")
    known = {"sensitive_features": groups, "control_features": strata}
    table = CountTable.from_rows(None, scores, **known)
    third.update(None, table)
    assert first.history_.equals(third.history_)
    with pytest.raises(ValueError, match="each stratum to a table without strata"):
        third.update(None, {"one": table})


def test_strata_without_two_groups_are_left_out():
    monitor = FairnessMonitor(mcdp, min_group_size=1)
    rows = {"sensitive_features": list("xyxx"), "control_features": list("aabb")}
    with pytest.warns(UndefinedMetricWarning, match=r"'b' \(only the group 'x' has"):
        monitor.update(None, [0.1, 0.4, 0.3, 0.3], **rows)
    assert monitor.history_["stratum"].tolist() == ["a"]
    # The group that is missing in one stratum is compared in the other.
    rows = {"sensitive_features": ["y", "z"], "control_features": ["b", "b"]}
    with pytest.warns(UndefinedMetricWarning, match=r"'a' \(without 'z': 0 rows\)"):
        monitor.update(None, [0.9, 0.2], **rows)
    assert monitor.history_["stratum"].tolist() == ["a", "a"]


def test_one_row_at_a_time():
    monitor = FairnessMonitor(mcdp, min_group_size=1)
    with pytest.warns(UndefinedMetricWarning, match="no stratum has two groups"):
        monitor.update(None, [0.1], sensitive_features=["x"], control_features=["a"])
    assert monitor.pvalue_ == 1
    monitor.update(None, [0.2], sensitive_features=["y"], control_features=["a"])
    assert monitor.interval_.value == 1


def test_errors_change_nothing():
    rows = batch(0)
    monitor = FairnessMonitor(mcdp)
    monitor.update(**rows)
    before = monitor.to_dict()
    plain = {key: rows[key] for key in rows if key != "control_features"}
    with pytest.raises(ValueError, match="control_features must be given with every"):
        monitor.update(**plain)
    with pytest.raises(ValueError, match="control_features"):
        monitor.update(**plain, control_features=[None] * 240)
    with pytest.raises(ValueError, match="control_features"):
        monitor.update(**plain, control_features=["a"] * 239)
    statistic = CountTable.from_rows(
        None, rows["y_score"], sensitive_features=rows["sensitive_features"]
    )
    with pytest.raises(ValueError, match="make the table with it"):
        monitor.update(None, statistic, control_features=["a"])
    assert monitor.to_dict() == before
    with pytest.raises(ValueError, match="multistratum must be"):
        FairnessMonitor(partial(mcdp, multistratum="mean"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_false_alarms_over_all_looks_and_strata():
    """At most 2 in 40 runs of 10 looks; of alarms in 10 % there are more in 78 %."""
    alarms = 0
    for run in range(40):
        monitor = FairnessMonitor(demographic_parity_difference)
        for look in range(10):
            strata = STRATA[: 1 + (look > 3) + (look > 10)]
            monitor.update(**batch(1000 * run + look, 0.0, 30, strata=strata))
        alarms += monitor.alarm_
    assert alarms <= 2


def test_strata_of_batches_that_look_alike():
    monitor, rows = (
        FairnessMonitor(mcdp, min_group_size=1),
        {"sensitive_features": ["x", "y"] * 2},
    )
    monitor.update(None, [0.1, 0.4, 0.3, 0.3], control_features=[1, 1, 2, 2], **rows)
    monitor.update(None, [0.1, 0.4, 0.3, 0.3], control_features=[1, 1, 3, 3], **rows)
    with pytest.warns(UserWarning, match="control_features has the labels 1 and '1'"):
        monitor.update(None, [0.1, 0.4, 0.3, 0.3], control_features=["1"] * 4, **rows)


RATES = {
    "max_gap": (max_gap, "true_positive_rate"),
    "cvar_fairness": (cvar_fairness, "false_positive_rate"),
    "callable": (max_gap, lambda y_true, y_pred: (y_pred == 1, y_true == 1)),
}


@pytest.mark.parametrize("name", RATES)
def test_weighted_mean_of_rates_of_some_rows_is_refused(name):
    """The metric weighs strata by all their rows, of which a table has some."""
    function, quality = RATES[name]
    rng = np.random.default_rng(0)
    rows = {
        "sensitive_features": rng.integers(0, 2, 300),
        "control_features": rng.integers(0, 3, 300),
    }
    y_true, y_pred = rng.integers(0, 2, (2, 300))
    metric = partial(function, quality=quality)
    monitor = FairnessMonitor(metric)
    monitor.update(y_true, y_pred, **rows)
    assert monitor.interval_.value == metric(y_true, y_pred, **rows)
    monitor = FairnessMonitor(partial(metric, multistratum="weighted"))
    with pytest.raises(
        ValueError, match=r"multistratum='max' .* rows of the stratum 0"
    ):
        monitor.update(y_true, y_pred, **rows)
    assert monitor.table_ is None


def test_strata_of_tables_are_those_of_rows():
    """A day is the same stratum, whichever library holds it."""
    rows, groups = [0.1, 0.4, 0.2, 0.9], list("abab")
    monitor, day = FairnessMonitor(mcdp, min_group_size=1), date(2026, 1, 5)
    monitor.update(None, rows, sensitive_features=groups, control_features=[day] * 4)
    one = CountTable.from_rows(None, rows, sensitive_features=groups)
    monitor.update(None, {pd.Timestamp(day): one})
    assert list(monitor.table_) == [day]
    assert monitor.history_["n_rows"].tolist() == [4, 8]
    with pytest.raises(ValueError, match="must map distinct strata"):
        monitor.update(None, {pd.Timestamp(day): one, day: one})

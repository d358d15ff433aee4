"""Changes: that they are found soon, when they began, and that there are few alarms."""

import json
import math
from functools import partial, reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics import demographic_parity_difference, madd, mcdp
from skfair.metrics._quantiles import Comparisons
from skfair.monitoring import FairnessMonitor
from skfair.monitoring._fairness_monitor import (
    add_look,
    look_share,
    round_scores,
    separation,
    split_blocks,
)
from skfair.statistics import CountTable


def rows(gap, seed, n_rows=500):
    """Scores of two groups whose MCDP is the gap, and the groups."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 2, n_rows)
    scores = rng.random(n_rows)
    scores = np.where(groups == 1, gap + (1 - gap) * scores, scores)
    return {"y_score": scores.round(3), "sensitive_features": groups}


def watch(monitor, *gaps, first=0, n_rows=500):
    for look, gap in enumerate(gaps):
        monitor.update(None, **rows(gap, first + look, n_rows))
    return monitor


def evaluate(metric, joined):
    scores, groups = joined["y_score"], joined["sensitive_features"]
    return metric(None, scores, sensitive_features=groups)


PARITY = partial(demographic_parity_difference, threshold=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("metric", [mcdp, PARITY])
@pytest.mark.promise("A change is found soon after a long history")
def test_a_change_is_found_soon(metric):
    """The cumulative disparity is still below the limit when the change is found."""
    monitor = watch(FairnessMonitor(metric, at_most=0.3), *[0.03] * 12, *[0.5] * 3)
    assert monitor.change_alarm_
    assert not monitor.alarm_
    alarms = monitor.history_["change_alarm"]
    assert alarms.tolist() == [False] * 12 + alarms.tolist()[12:]
    time = monitor.change_time_
    assert 1 <= time.lower <= time.value == 12 <= time.upper < 15
    since = [rows(0.5, seed) for seed in (12, 13, 14)]
    joined = {key: np.concatenate([one[key] for one in since]) for key in since[0]}
    assert monitor.value_recent_ == pytest.approx(evaluate(metric, joined), abs=1 / 256)
    recent = monitor.interval_recent_
    assert 0 < recent.lower < recent.value < recent.upper <= 1
    assert recent.value == monitor.value_recent_


@pytest.mark.slow
def test_no_alarm_without_a_change():
    monitor = watch(FairnessMonitor(PARITY, at_most=0.2), *[0.1] * 30, n_rows=100)
    assert not monitor.change_alarm_
    assert monitor.change_time_ is None
    # The recent rows are those of a quarter of the looks, or a little more.
    values = {}
    for n in range(1, 31):
        parts = [rows(0.1, seed, 100) for seed in range(30 - n, 30)]
        joined = {key: np.concatenate([p[key] for p in parts]) for key in parts[0]}
        values[n] = evaluate(PARITY, joined)
    recent = {n for n in values if math.isclose(values[n], monitor.value_recent_)}
    assert recent
    assert recent <= {8, 9, 10, 11}


@pytest.mark.slow
def test_stable_rows_above_the_limit_are_no_change():
    """A change is a difference between rows, not a disparity above the limit."""
    monitor = watch(FairnessMonitor(mcdp, at_most=0.1), *[0.6] * 6)
    assert monitor.history_["alarm"].tolist() == [True] * 6
    assert not monitor.change_alarm_
    assert monitor.change_time_ is None


@pytest.mark.slow
def test_new_strata_and_undefined_looks():
    monitor = FairnessMonitor(mcdp, at_most=0.9, min_group_size=1)
    for seed in range(6):
        batch = rows(0.1, seed, 60)
        strata = np.arange(60) % (2 if seed < 3 else 3)
        monitor.update(None, **batch, control_features=strata)
    assert np.isfinite(monitor.value_recent_)
    again = FairnessMonitor.from_dict(json.loads(json.dumps(monitor.to_dict())))
    assert again.to_dict() == monitor.to_dict()
    lonely = FairnessMonitor(mcdp)
    with pytest.warns(UndefinedMetricWarning):
        lonely.update(None, [0.5], sensitive_features=["a"])
    assert math.isnan(lonely.value_recent_)


@given(st.integers(1, 300))
def test_blocks(n_looks):
    blocks = []
    for look in range(n_looks):
        blocks = add_look(blocks, 1 << look)
    lengths = [length for length, _ in blocks]
    assert sum(lengths) == n_looks
    assert lengths == sorted(lengths, reverse=True)
    assert lengths == [n for n, _ in reduce(add_look, [0] * n_looks, [])]
    assert max(map(lengths.count, lengths)) <= 4
    end = 0
    for length, part in blocks:
        assert part == sum(1 << look for look in range(end, end + length))
        end += length
    for start, before, since in split_blocks(blocks):
        assert before == 2**start - 1
        assert before + since == 2**n_looks - 1
    assert len(split_blocks(blocks)) == len(blocks) - 1
    # A start is near any time: 2/3 of the looks since are kept, or all but one.
    starts = [0, *(start for start, _, _ in split_blocks(blocks))]
    for look in range(n_looks):
        kept = n_looks - min((s for s in starts if s >= look), default=n_looks)
        assert kept >= 2 / 3 * (n_looks - look) - 1


def test_shares_add_up_to_at_most_one():
    n_looks = 10**5
    total = sum(look_share(n) for n in range(1, n_looks + 1))
    assert total < 1
    # The integral of the rest.
    assert total + 1 / (2.11 * math.log(n_looks + 1)) == pytest.approx(1, abs=2e-4)
    assert total + 1 / (2.11 * math.log(n_looks + 1)) <= 1


def known(value, deviation):
    """Comparison whose noise is normal."""
    return Comparisons(
        value,
        1,
        lambda level: value + ndtri(level) * deviation,
        lambda level: value - ndtri(level) * deviation,
    )


@pytest.mark.parametrize(
    "deviations", [(0.03, 0.03), pytest.param((0.01, 0.05), marks=pytest.mark.slow)]
)
def test_separation_keeps_its_level(deviations):
    """Equal values of normal noise, in the direction that the sample suggests."""
    rng, n_found, tail = np.random.default_rng(0), 0, 0.05
    for _ in range(1000):
        one, other = (known(rng.normal(0.5, d), d) for d in deviations)
        n_found += separation(one, other, tail) > 0
    assert 5 < n_found <= 2 * tail * 1000


@pytest.mark.slow
@given(
    st.lists(st.floats(0, 1) | st.integers(0, 10).map(lambda i: i / 10), min_size=4),
    st.sampled_from([0.1, 0.25, 1 / 3, 0.05]),
)
def test_rounded_scores(scores, bandwidth):
    groups = np.arange(len(scores)) % 2
    statistic = CountTable.from_rows(None, scores, sensitive_features=groups)
    down = np.minimum(np.floor(np.array(scores) * 256), 255) / 256
    expected = CountTable.from_rows(None, down, sensitive_features=groups)
    assert round_scores(statistic, 256).to_dict() == expected.to_dict()
    assert round_scores({1: statistic}, 256)[1].to_dict() == expected.to_dict()
    monitor = FairnessMonitor(partial(madd, bandwidth=bandwidth))
    binned = round_scores(statistic, monitor._n_scores)
    value = madd(None, statistic, bandwidth=bandwidth)
    assert madd(None, binned, bandwidth=bandwidth) == pytest.approx(value)


def test_state_of_many_looks_is_small():
    """All 256 scores of both groups in each block of 4,000 looks, in less than 1 MB."""
    scores = np.tile(np.arange(256) / 256, 2)
    batch = CountTable.from_rows(
        None, scores, sensitive_features=np.repeat(["first", "second"], 256)
    )
    blocks = reduce(add_look, [0] * 4000, [])
    blocks = [[n, batch.to_dict()] for n, _ in blocks]
    assert len(json.dumps(blocks)) < 1_000_000


@pytest.mark.slow
def test_merged_places():
    gaps = [0.05] * 8 + [0.6] * 2
    places = [FairnessMonitor(PARITY, at_most=0.3) for _ in range(3)]
    joined = FairnessMonitor(PARITY, at_most=0.3)
    for place, monitor in enumerate(places):
        watch(monitor, *gaps, first=10 * place, n_rows=90)
    for look, gap in enumerate(gaps):
        parts = [rows(gap, 10 * place + look, 90) for place in range(3)]
        joined.update(
            None, **{k: np.concatenate([p[k] for p in parts]) for k in parts[0]}
        )
    merged = places[0].merge(*places[1:])
    assert merged.to_dict()["table"] == joined.to_dict()["table"]
    assert merged.to_dict()["blocks"] == joined.to_dict()["blocks"]
    assert merged.history_["n_rows"].tolist() == [2700]
    assert merged.change_alarm_
    assert merged.change_time_.value == 8
    again = FairnessMonitor.from_dict(json.loads(json.dumps(merged.to_dict())))
    for one in (merged, again, joined):
        watch(one, 0.6, first=50)
    assert again.to_dict() == merged.to_dict()
    recent = ["recent", "recent_lower", "recent_upper", "change_alarm"]
    assert joined.history_[recent].iloc[-1].equals(merged.history_[recent].iloc[-1])
    assert places[0].to_dict()["table"] != merged.to_dict()["table"]
    assert FairnessMonitor(mcdp).merge(FairnessMonitor(mcdp)).history_.empty


def test_what_cannot_be_merged():
    one = watch(FairnessMonitor(mcdp), 0.1)
    others = {
        "metric and options": FairnessMonitor(partial(mcdp, epsilon=0.1)),
        "at_most": FairnessMonitor(mcdp, at_most=0.1),
        "confidence_level": FairnessMonitor(mcdp, confidence_level=0.9),
        "number of looks": FairnessMonitor(mcdp),
    }
    for name, other in others.items():
        with pytest.raises(ValueError, match=f"others must be .* the same {name}"):
            one.merge(other)
    match = r"got 'partial\(mcdp, epsilon=0.1\)' and 'mcdp'"
    with pytest.raises(ValueError, match=match):
        one.merge(others["metric and options"])
    for twice in ([one], [others["at_most"]] * 2):
        with pytest.raises(ValueError, match="other monitors, each given once"):
            one.merge(*twice)
    within = FairnessMonitor(mcdp)
    within.update(None, **rows(0.1, 0), control_features=np.arange(500) % 2)
    with pytest.raises(ValueError, match="control_features must be given with every"):
        one.merge(within)


@pytest.mark.slow
def test_the_first_possible_look_of_a_change_pays_for_all_pairs_of_starts():
    """A quarter of the level of a look is split over all rows between two starts.

    Were it split over starts alone, the evidence would exclude the first two looks.
    """
    monitor = FairnessMonitor(demographic_parity_difference, at_most=0.9)
    groups = np.repeat([0, 1], 28)
    for look in range(12):
        selected = [14, 14 if look < 6 else 28]
        y_pred = np.concatenate([np.arange(28) < n for n in selected])
        monitor.update(None, y_pred.astype(int), sensitive_features=groups)
    assert (monitor.change_time_.lower, monitor.change_time_.value) == (1, 6)


def test_recent_rows_are_those_of_the_last_quarter_of_the_looks():
    """Here only they have a difference, too small a one for an alarm."""
    monitor = FairnessMonitor(demographic_parity_difference, at_most=0.9)
    groups = np.repeat([0, 1], 20)
    for look in range(12):
        selected = [10, 10 if look < 9 else 11]
        y_pred = np.concatenate([np.arange(20) < n for n in selected])
        monitor.update(None, y_pred.astype(int), sensitive_features=groups)
    assert not monitor.change_alarm_
    assert monitor.value_recent_ == pytest.approx(0.05)

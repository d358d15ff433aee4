"""Monitors compare groups that are large enough, and others when they have grown."""

import json
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import Groups, encode_groups
from skfair.metrics import (
    confidence_interval,
    demographic_parity_difference,
    equalized_odds_difference,
    max_gap,
    mcdp,
)
from skfair.monitoring import FairnessMonitor

LABELS = np.array(["Female", "Male", "Non-binary"])
LEVEL = 0.05
#: Scores of a group are those of another, moved up.
MOVES = {"Female": 0.0, "Male": 0.1, "Non-binary": 0.6}


def rows(*sizes, seed=0):
    """Rows of groups of these sizes, the third of which has far larger scores."""
    groups = np.repeat(LABELS[: len(sizes)], sizes)
    scores = 0.4 * np.random.default_rng(seed).random(len(groups)).round(3)
    scores += np.array([MOVES[group] for group in groups])
    return {"y_score": scores, "sensitive_features": groups}


def joined(*batches):
    return {key: np.concatenate([one[key] for one in batches]) for key in batches[0]}


def only(batch, groups):
    kept = np.isin(batch["sensitive_features"], groups)
    return {key: values[kept] for key, values in batch.items()}


def interval(metric, batch, *, lower, upper):
    """Ends that hold at all looks, each with a probability of its own."""
    tails = {"lower": lower, "upper": upper}
    return [
        getattr(
            confidence_interval(
                metric, None, **batch, method="anytime", confidence_level=1 - 2 * tail
            ),
            end,
        )
        for end, tail in tails.items()
    ]


def ends(monitor):
    return [monitor.interval_.lower, monitor.interval_.upper]


def update(monitor, *batches):
    """Monitor after batches, of which some leave groups out."""
    for batch in batches:
        with pytest.warns(UndefinedMetricWarning, match="leaves groups out"):
            monitor.update(None, **batch)
    return monitor


@pytest.mark.slow
def test_a_tiny_group_does_not_blind_the_monitor():
    batch = rows(408, 485, 7)
    monitor = update(FairnessMonitor(mcdp, at_most=0.05), batch)
    others = FairnessMonitor(mcdp, at_most=0.05)
    others.update(None, **only(batch, LABELS[:2]))
    assert monitor.interval_.value == others.interval_.value
    assert monitor.alarm_
    assert monitor.history_["n_groups"].tolist() == [2]
    assert monitor.left_out_ == {"Non-binary": 7}
    assert others.left_out_ == {}


def test_groups_left_out_are_named():
    monitor = FairnessMonitor(mcdp, at_most=0.9)
    named = (
        r"mcdp leaves groups out: 1 of 3 groups have fewer than 10 rows that count "
        r"\('Non-binary'\)"
    )
    with pytest.warns(UndefinedMetricWarning, match=named):
        monitor.update(None, **rows(20, 20, 7))
    lonely = FairnessMonitor(mcdp, at_most=0.9)
    reason = "only the group 'Male' has at least 10 rows"
    with pytest.warns(UndefinedMetricWarning, match=reason):
        lonely.update(None, **rows(5, 20, 7))
    assert np.isnan(lonely.interval_.value)
    assert lonely.left_out_ == {"Female": 5, "Male": 20, "Non-binary": 7}


@pytest.mark.parametrize("metric", [mcdp, demographic_parity_difference])
def test_groups_of_the_first_look_keep_their_share_of_the_level(metric):
    """Each of three pairs has a third of 0.9 of the level, before the join and after.

    The upper end has half of it for each set of groups that may be compared.
    """
    first, second = rows(60, 80, 7), rows(10, 10, 5, seed=1)
    monitor, tail = update(FairnessMonitor(metric, at_most=0.9), first), 0.9 * LEVEL / 2
    expected = interval(metric, only(first, LABELS[:2]), lower=tail / 3, upper=tail / 2)
    np.testing.assert_allclose(ends(monitor), expected, rtol=1e-12)
    monitor.update(None, **second)
    assert monitor.history_["n_groups"].tolist() == [2, 3]
    # The lower end of all pairs divides by three by itself.
    expected = interval(metric, joined(first, second), lower=tail, upper=tail / 2)
    np.testing.assert_allclose(ends(monitor), expected, rtol=1e-12)


def test_a_group_that_appears_later_has_a_share_of_its_own():
    """It is known from its first row on, and keeps that share when it is compared."""
    first, second, third = rows(60, 80), rows(10, 10, 5, seed=1), rows(9, 9, 5, seed=2)
    monitor, tail = FairnessMonitor(mcdp, at_most=0.9), LEVEL / 2
    monitor.update(None, **first)
    expected = interval(mcdp, first, lower=0.9 * tail, upper=0.9 * tail)
    np.testing.assert_allclose(ends(monitor), expected, rtol=1e-12)
    update(monitor, second)
    two = only(joined(first, second), LABELS[:2])
    expected = interval(mcdp, two, lower=0.05 * tail / 3, upper=0.05 * tail / 2)
    np.testing.assert_allclose(ends(monitor), expected, rtol=1e-12)
    monitor.update(None, **third)
    every = joined(first, second, third)
    expected = interval(mcdp, every, lower=0.05 * tail, upper=0.05 * tail / 2)
    np.testing.assert_allclose(ends(monitor), expected, rtol=1e-12)


def test_expected_groups_without_rows_are_known():
    """Labels of a `Groups` have their share of the level from the first look on."""
    batch = rows(60, 80)
    groups = Groups(np.repeat([0, 1], [60, 80]), tuple(LABELS.tolist()))
    monitor = update(
        FairnessMonitor(mcdp, at_most=0.9), batch | {"sensitive_features": groups}
    )
    tail = 0.9 * LEVEL / 2
    expected = interval(mcdp, batch, lower=tail / 3, upper=tail / 2)
    np.testing.assert_allclose(ends(monitor), expected, rtol=1e-12)
    assert monitor.left_out_ == {"Non-binary": 0}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:mcdp leaves groups out")
@pytest.mark.parametrize("known", [True, False])
def test_a_group_that_joins_is_no_change(known):
    """Nobody's scores change, only who is compared."""
    monitor = FairnessMonitor(mcdp, at_most=0.9)
    for seed in range(6):
        more = 40 if seed > 2 else int(known)
        monitor.update(None, **rows(*[40, 40, more][: 2 + (more > 0)], seed=seed))
    assert monitor.history_["n_groups"].iloc[-1] == 3
    assert monitor.interval_.value > 0.9
    assert not monitor.change_alarm_


def test_rows_of_each_true_label_count():
    """A group with many rows, few of which have one of the labels, has no such rate."""
    groups = np.repeat(["a", "b", "c"], 40)
    y_true = np.tile([0, 1], 60)
    y_true[80:] = [1] * 7 + [0] * 33
    y_pred = y_true.copy()
    y_pred[:10] = 0
    y_pred[80:87] = 0
    monitor = FairnessMonitor(equalized_odds_difference)
    named = r"fewer than 10 rows of each true label \('c'\)"
    with pytest.warns(UndefinedMetricWarning, match=named):
        monitor.update(y_true, y_pred, sensitive_features=groups)
    assert monitor.interval_.value == 0.25
    monitor.update([1] * 3, [1] * 3, sensitive_features=["c"] * 3)
    assert monitor.interval_.value == pytest.approx(0.7)
    assert monitor.left_out_ == {}


def test_metrics_that_leave_groups_out_have_the_same_least_size():
    groups = np.repeat(LABELS, [40, 40, 7])
    y_pred = np.r_[np.tile([0, 1], 40), np.ones(7, int)]
    monitor = FairnessMonitor(max_gap)
    with pytest.warns(UndefinedMetricWarning, match=r"fewer than 10 .*'Non-binary'"):
        monitor.update(None, y_pred, sensitive_features=groups)
    assert monitor.interval_.value == 0
    assert monitor.left_out_ == {"Non-binary": 7}


def test_a_larger_least_size_of_the_groups_counts():
    batch = rows(60, 80, 20)
    groups = encode_groups(batch["sensitive_features"], min_group_size=30)
    monitor = update(
        FairnessMonitor(mcdp, at_most=0.9), batch | {"sensitive_features": groups}
    )
    assert monitor.left_out_ == {"Non-binary": 20}


def test_groups_are_left_out_within_strata():
    north, south = rows(40, 40, 7), rows(40, 40, 30, seed=1)
    batch = joined(north, south)
    strata = np.repeat(["north", "south"], [87, 110])
    monitor = FairnessMonitor(mcdp, at_most=0.9)
    with pytest.warns(UndefinedMetricWarning, match=r"'north' \(without 'Non-binary'"):
        monitor.update(None, **batch, control_features=strata)
    assert monitor.history_["n_groups"].tolist() == [2 + 3]
    assert monitor.left_out_ == {}
    # Six pairs are known, of which two are too small.
    tail = 0.9 * LEVEL / 2
    lower, _ = interval(mcdp, south, lower=tail / 2, upper=tail)
    _, upper = interval(mcdp, south, lower=tail, upper=tail / 2)
    np.testing.assert_allclose(ends(monitor), [lower, upper], rtol=1e-12)


def test_places_together_have_enough_rows():
    places = [FairnessMonitor(mcdp, at_most=0.9), FairnessMonitor(mcdp, at_most=0.9)]
    for seed, place in enumerate(places):
        update(place, rows(40, 40, 7, seed=seed))
    merged = places[0].merge(places[1])
    assert merged.left_out_ == {}
    assert merged.history_["n_groups"].tolist() == [3]
    with pytest.raises(ValueError, match="monitors of the same min_group_size"):
        places[0].merge(FairnessMonitor(mcdp, at_most=0.9, min_group_size=1))


def test_the_state_knows_the_least_size():
    monitor = update(
        FairnessMonitor(mcdp, at_most=0.9, min_group_size=8), rows(40, 40, 7)
    )
    again = FairnessMonitor.from_dict(json.loads(json.dumps(monitor.to_dict())))
    assert again.min_group_size == 8
    assert again.left_out_ == {"Non-binary": 7}
    for one in (monitor, again):
        one.update(None, **rows(1, 1, 1, seed=1))
    assert again.to_dict() == monitor.to_dict()
    assert again.history_["n_groups"].tolist() == [2, 3]
    assert "min_group_size=8" in repr(again)


@pytest.mark.parametrize("size", [0, -1, 2.5, True, "10"])
def test_least_sizes_are_whole_numbers(size):
    with pytest.raises(ValueError, match="min_group_size must be"):
        FairnessMonitor(mcdp, min_group_size=size)


def test_a_weighted_mean_keeps_the_shares_of_strata():
    """A stratum that cannot be compared yet has its share of the level, too."""
    metric = partial(mcdp, multistratum="weighted")
    north, south = rows(40, 60), rows(7, 7, seed=1)
    monitor = FairnessMonitor(metric, at_most=0.9)
    with pytest.warns(UndefinedMetricWarning, match="'south'"):
        monitor.update(
            None,
            **joined(north, south),
            control_features=np.repeat(["north", "south"], [100, 14]),
        )
    tail = 0.9 * LEVEL / 2
    expected = interval(mcdp, north, lower=tail / 2, upper=tail / 3)
    np.testing.assert_allclose(ends(monitor), expected, rtol=1e-12)

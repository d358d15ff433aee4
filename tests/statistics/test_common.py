"""What every statistic promises: its sum, its copies, and how it is printed."""

import copy
import pickle
from functools import reduce

import numpy as np
import pytest

from skfair.groups import encode_groups
from skfair.statistics import (
    GroupedCalibration,
    GroupedConfusion,
    GroupedHistogram,
    GroupedOutcomes,
    GroupedScores,
    sum_statistics,
)


def rows(seed, n=40, weights=None):
    """Scores, labels, decisions, groups with missing ones, and weights."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(["a", "b", "c", None], n)
    weights = {
        None: None,
        "whole": rng.integers(1, 5, n),
        "dyadic": rng.integers(1, 20, n) / 8,
        "some": rng.integers(0, 3, n) + (rng.random(n) < 0.8),
    }[weights]
    scores = rng.integers(0, 65, n) / 64  # sums have no rounding
    return scores, rng.integers(0, 2, n), rng.choice([0, 1], n), groups, weights


def join(parts):
    """All rows of some parts, which weigh one where they have no weights."""
    *columns, weights = zip(*parts, strict=True)
    weights = [
        np.ones(len(part[0]), int) if own is None else own
        for part, own in zip(parts, weights, strict=True)
    ]
    return *map(np.concatenate, columns), np.concatenate(weights)


def of(make, part):
    scores, y_true, y_pred, labels, weights = part
    groups = encode_groups(labels, missing="drop", min_group_size=2)
    return make(
        scores, y_true, y_pred, {"sensitive_features": groups, "sample_weight": weights}
    )


KINDS = {
    "scores": lambda s, y, d, g: GroupedScores.from_scores(s, **g),
    "histogram": lambda s, y, d, g: GroupedHistogram.from_scores(s, n_bins=16, **g),
    "outcomes": lambda s, y, d, g: GroupedOutcomes.from_outcomes(s, **g),
    "rates": lambda s, y, d, g: GroupedOutcomes.from_outcomes(d, mask=y == 1, **g),
    "confusion": lambda s, y, d, g: GroupedConfusion.from_predictions(y, d, **g),
    "calibration": lambda s, y, d, g: GroupedCalibration.from_scores(y, s, **g),
}
each_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


@each_kind
@pytest.mark.parametrize("weights", [None, "whole", "dyadic", "some"])
@pytest.mark.promise("A sum of statistics is the statistic of the joined rows")
def test_sum_is_the_statistic_of_the_joined_rows(make, weights):
    """In any order, by any of the ways to add, and without a change of the parts."""
    kinds = [weights, None, weights, "whole", weights]
    parts = [rows(seed, weights=kind) for seed, kind in enumerate(kinds)]
    statistics = [of(make, part) for part in parts]
    before = [one.to_dict() for one in statistics]
    expected = of(make, join(parts)).to_dict()
    assert sum(statistics).to_dict() == expected
    assert sum_statistics(iter(statistics)).to_dict() == expected
    assert sum_statistics(statistics[::-1]).to_dict() == expected
    assert reduce(lambda a, b: b + a, statistics).to_dict() == expected
    assert [one.to_dict() for one in statistics] == before


@each_kind
def test_groups_of_either_part(make):
    """Labels keep an order that was asked for, and the larger least size holds."""

    def statistic(labels, wanted, least):
        scores, y_true, y_pred, _, _ = rows(0, n=len(labels))
        y_true[:] = 1
        groups = encode_groups(list(labels), labels=wanted, min_group_size=least)
        return make(scores, y_true, y_pred, {"sensitive_features": groups})

    wanted, more = statistic("FM", ["M", "F"], 3), statistic("F", ["F"], 5)
    for total in (wanted + more, more + wanted):
        assert total.labels == ("M", "F")
        assert total.min_group_size == 5
        assert total.counts.tolist() == [1, 2]
    absent = statistic("F", ["F", "M"], 1) + statistic("M", ["M"], 1)
    assert absent.counts.tolist() == [1, 1]
    another = statistic("F", ["F"], 1) + statistic("G", ["G"], 1)
    assert another.labels == ("F", "G")


@each_kind
def test_rows_that_all_miss_their_group_add_nothing(make):
    part = rows(0)
    nobody = *part[:3], np.full(40, None), None
    empty = of(make, nobody)
    assert empty.n_groups == 0
    assert (of(make, part) + empty).to_dict() == of(make, part).to_dict()


@each_kind
def test_only_statistics_of_one_class_add_up(make):
    statistic = of(make, rows(0))
    for other in (1, 0.5, None, "text"):
        with pytest.raises(TypeError):
            statistic + other
    others = [of(other, rows(0)) for other in KINDS.values()]
    for other in others:
        if type(other) is not type(statistic):
            with pytest.raises(TypeError, match="statistics must be of one class"):
                sum_statistics([statistic, other])


@each_kind
def test_copies_are_the_same_and_say_what_they_hold(make):
    statistic = of(make, rows(0, weights="dyadic"))
    for again in (pickle.loads(pickle.dumps(statistic)), copy.deepcopy(statistic)):
        assert again.to_dict() == statistic.to_dict()
    assert repr(statistic).startswith(type(statistic).__name__ + "(")
    assert "'a': " in repr(statistic)

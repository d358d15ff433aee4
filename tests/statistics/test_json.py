"""Statistics survive the way through JSON text, and broken text is refused."""

import json
import random
import re
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair.groups import Groups, encode_groups, plain_label
from skfair.statistics import (
    GroupedCalibration,
    GroupedConfusion,
    GroupedHistogram,
    GroupedOutcomes,
    GroupedScores,
)


def statistics(weights=None, n_rows=40, groups=None):
    """One statistic of each class, of the same rows."""
    rng = np.random.default_rng(0)
    if groups is None:
        groups = np.array([("F", 1), ("M", 2)], dtype=object)
        groups = groups[rng.integers(0, 2, n_rows)]
    rows = {"sensitive_features": groups, "sample_weight": weights}
    scores, y_true = rng.random(n_rows), rng.integers(0, 2, n_rows)
    return [
        GroupedScores.from_scores(scores, **rows),
        GroupedOutcomes.from_outcomes(scores, **rows),
        GroupedConfusion.from_predictions(y_true, scores > 0.5, **rows),
        GroupedHistogram.from_scores(scores, n_bins=16, **rows),
        GroupedCalibration.from_scores(y_true, scores, n_bins=16, **rows),
    ]


def through_text(statistic):
    """Return the statistic that is read from the text of another."""
    text = json.dumps(statistic.to_dict(), allow_nan=False)
    return type(statistic).from_dict(json.loads(text))


def assert_same(loaded, statistic):
    for name, value in vars(statistic).items():
        other = getattr(loaded, name)
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, other)
            assert value.shape == other.shape
            assert not value.size or value.dtype.kind in (other.dtype.kind, "u")
        elif isinstance(value, GroupedHistogram):
            assert_same(other, value)
        elif not name.startswith("_"):
            assert value == other
            assert repr(value) == repr(other)
    assert repr(statistic + loaded) == repr(statistic + statistic)


@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 1, 40)])
@pytest.mark.parametrize("which", range(5))
@pytest.mark.promise("A statistic comes back from JSON as it was written")
def test_round_trip(which, weights):
    statistic = statistics(weights)[which]
    assert_same(through_text(statistic), statistic)


ATOMS = (
    st.text(max_size=3)
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
)
LABELS = ATOMS | st.lists(ATOMS, min_size=1, max_size=3).map(tuple)


@pytest.mark.slow
@given(
    labels=st.lists(LABELS, min_size=1, max_size=4, unique=True),
    weights=st.sampled_from([None, "whole", "fractions"]),
    names=st.lists(st.text(max_size=3), max_size=2).map(tuple),
    smallest=st.integers(1, 5),
    n_rows=st.integers(0, 8),
    which=st.integers(0, 4),
)
def test_round_trip_of_any_labels(labels, weights, names, smallest, n_rows, which):
    rng = np.random.default_rng(n_rows)
    codes = rng.integers(-1, len(labels), max(n_rows, 1))
    if n_rows == 0:
        codes[:] = -1  # no row has a group
    groups = Groups(codes, tuple(labels), names, smallest)
    given = {"whole": rng.integers(1, 4, len(codes)), "fractions": rng.random()}
    weights = None if weights is None else np.broadcast_to(given[weights], codes.shape)
    statistic = statistics(weights, len(codes), groups)[which]
    assert_same(through_text(statistic), statistic)


ROWS = 40
BROKEN = [
    (0, {"scores": [0.1]}, r"codes must have shape|scores must have shape \(40,\)"),
    (0, {"scores": [[0.1], 0.2]}, "scores must be lists of equal length"),
    (0, {"scores": 0.1}, "scores must be a list, got 0.1"),
    (0, {"scores": [10**400] * ROWS}, "scores must be finite numbers of 64 bits"),
    (0, {"scores": ["a"] * ROWS}, "scores must be finite numbers of 64 bits"),
    (0, {"counts": [40]}, r"counts must have shape \(2,\), got \(1,\)"),
    (0, {"counts": [0.5, 1.0]}, "counts must be whole numbers of 64 bits"),
    (0, {"counts": [2**70, 40]}, "counts must be whole numbers of 64 bits"),
    (0, {"codes": [2] * ROWS}, "codes must be positions of the 2 labels"),
    (0, {"labels": "FM"}, "labels must be a list, got 'FM'"),
    (0, {"labels": ["F", "F"]}, "labels must be distinct, got 'F' twice"),
    (0, {"labels": ["F", {"M": 1}]}, r"numbers, dates or lists of these, got \{'M': 1"),
    (0, {"names": [1]}, "names must be a list of text, got 1"),
    (0, {"min_group_size": 0}, "positive integer, got 0"),
    (1, {"sums": [1.0]}, r"sums must have shape \(2,\)"),
    (2, {"matrices": [[1]]}, r"matrices must have shape \(2, 2, 2\)"),
    (2, {"label_counts": [1]}, "label_counts must have shape"),
    (2, {"classes": [False, False]}, "classes must be distinct, got False twice"),
    (3, {"squares": [1e9] * 5}, "squares must have shape"),
    (3, {"n_bins": 16.0}, "n_bins must be a positive integer, got 16.0"),
]


@pytest.mark.parametrize(("which", "change", "message"), BROKEN)
def test_other_types_and_sizes_are_refused(which, change, message):
    statistic = statistics()[which]
    with pytest.raises(ValueError, match=message):
        type(statistic).from_dict(statistic.to_dict() | change)


@pytest.mark.parametrize("which", range(4))
def test_random_changes_are_refused_or_of_the_same_types(which, change_at_random):
    statistic = statistics(None, 8)[which]
    data = json.loads(json.dumps(statistic.to_dict()))
    for seed in range(60):
        broken = change_at_random(data, random.Random(seed))
        problem = "must be"
        try:
            written = type(statistic).from_dict(broken).to_dict()
            assert [*map(type, written.values())] == [*map(type, data.values())]
        except ValueError as error:
            problem = str(error)
        assert re.search("must (have|be)", problem)
        assert len(problem) < 300


def test_other_classes_and_formats_are_refused():
    data = statistics()[0].to_dict()
    with pytest.raises(ValueError, match="type 'GroupedOutcomes', got 'GroupedScores'"):
        GroupedOutcomes.from_dict(data)
    with pytest.raises(ValueError, match="format 3, got 1: another version of skfair"):
        GroupedScores.from_dict(data | {"format": 1})
    with pytest.raises(ValueError, match="must be a dictionary"):
        GroupedScores.from_dict([1])


def test_labels_that_are_nested_without_end():
    label = "a"
    for _ in range(100_000):
        label = [label]
    data = statistics()[0].to_dict()
    with pytest.raises(ValueError, match="labels are nested too deeply"):
        GroupedScores.from_dict(data | {"labels": ["a", label]})


def test_what_was_written_with_a_checksum_is_read():
    statistic = statistics()[0]
    data = statistic.to_dict() | {"sha256": "0" * 64}
    assert_same(GroupedScores.from_dict(data), statistic)


def test_entries_that_are_missing_or_unknown():
    data = statistics()[0].to_dict()
    with pytest.raises(ValueError, match="'GroupedScores' must have codes, which it"):
        GroupedScores.from_dict({n: v for n, v in data.items() if n != "codes"})
    with pytest.raises(ValueError, match=r"the entries scores, .* got 'bins', too"):
        GroupedScores.from_dict(data | {"bins": []})


@pytest.mark.parametrize(
    "label",
    [
        b"a",
        frozenset("a"),
        pd.Interval(0, 1),
        float("nan"),
        np.float32("nan"),
        ("a", (1, b"b")),
    ],
)
def test_labels_that_are_no_text_or_numbers(label):
    groups = Groups(np.array([0, 1]), ("b", label))
    statistic = GroupedOutcomes.from_outcomes([0, 1], sensitive_features=groups)
    with pytest.raises(ValueError, match="labels must be text, numbers"):
        statistic.to_dict()


@pytest.mark.parametrize(
    "label",
    [
        date(2020, 2, 29),
        date(1, 1, 1),
        datetime(2020, 2, 29, 9, 30, 0, 1),
        datetime(2020, 2, 29, tzinfo=UTC),
        pd.Timestamp("2020-02-29 00:00:00.000000001"),
        ("F", date(2020, 2, 29)),
        Decimal("0.25"),
        np.float32(0.5),
        np.True_,
    ],
    ids=str,
)
def test_labels_of_dates_and_numbers_return(label):
    statistic = GroupedOutcomes.from_outcomes(
        [0, 1], sensitive_features=encode_groups(["x", "y"])
    )
    statistic = replace(statistic, labels=("x", label))
    text = json.dumps(statistic.to_dict())
    found = GroupedOutcomes.from_dict(json.loads(text)).labels
    assert found == ("x", label)
    assert found[1] == plain_label(label)
    assert type(found[1]) is type(plain_label(label))

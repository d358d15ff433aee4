"""Tables survive the way through JSON text, and broken text is refused."""

import json
import random
import re
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair.groups import Groups, encode_groups, python_label
from skfair.statistics import CountTable


def tables(weights=None, n_rows=40, groups=None):
    """Tables of each kind, of the same rows."""
    rng = np.random.default_rng(0)
    if groups is None:
        groups = np.array([("F", 1), ("M", 2)], dtype=object)
        groups = groups[rng.integers(0, 2, n_rows)]
    rows = {"sensitive_features": groups, "sample_weight": weights}
    scores, y_true = rng.random(n_rows), rng.integers(0, 2, n_rows)
    text, strata = np.array(["no", "yes"])[y_true], rng.integers(0, 2, n_rows)
    return [
        CountTable.from_rows(None, scores, **rows),
        CountTable.from_rows(text, scores > 0.5, **rows),
        CountTable.from_rows(text, text, control_features=strata, **rows),
        CountTable.from_rows(y_true, scores, n_bins=16, **rows),
    ]


def through_text(table):
    """Return the table that is read from the text of another."""
    text = json.dumps(table.to_dict(), allow_nan=False)
    return CountTable.from_dict(json.loads(text))


def assert_same(loaded, table):
    assert loaded.to_dict() == table.to_dict()
    assert repr(loaded.labels) == repr(table.labels)
    pd.testing.assert_frame_equal(
        loaded.to_frame(), table.to_frame(), check_dtype=False
    )
    assert (table + loaded).to_dict() == (table + table).to_dict()


@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 1, 40)])
@pytest.mark.parametrize("which", range(4))
@pytest.mark.promise("A table comes back from JSON as it was written")
def test_round_trip(which, weights):
    table = tables(weights)[which]
    assert_same(through_text(table), table)


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
    which=st.integers(0, 3),
)
def test_round_trip_of_any_labels(labels, weights, names, smallest, n_rows, which):
    rng = np.random.default_rng(n_rows)
    codes = rng.integers(-1, len(labels), max(n_rows, 1))
    if n_rows == 0:
        codes[:] = -1  # no row has a group
    groups = Groups(codes, tuple(labels), names, smallest)
    given = {"whole": rng.integers(1, 4, len(codes)), "fractions": rng.random()}
    weights = None if weights is None else np.broadcast_to(given[weights], codes.shape)
    table = tables(weights, len(codes), groups)[which]
    assert through_text(table).to_dict() == table.to_dict()


def of_groups(**change):
    """Groups of the first table with a change."""
    return {"groups": tables()[0].to_dict()["groups"] | change}


ROWS = 40
BROKEN = [
    (0, {"y_pred": [0.1]}, r"y_pred must have shape \(40,\)"),
    (0, {"y_pred": [[0.1], 0.2]}, r"y_pred must have 40 entries, got 2"),
    (0, {"y_pred": 0.1}, "y_pred must be a list, got 0.1"),
    (0, {"y_pred": [10**400] * ROWS}, "y_pred must be finite numbers of 64 bits"),
    (0, {"n": [1]}, r"n must have shape \(40,\), got \(1,\)"),
    (0, {"n": [0.5] * ROWS}, "n must be whole numbers of 64 bits"),
    (0, {"n": [2**70] * ROWS}, "n must be whole numbers of 64 bits"),
    (0, {"n": [0] * ROWS}, "n must be positive numbers"),
    (0, {"n_cells": 1.5}, "n_cells must be a whole number, got 1.5"),
    (0, of_groups(codes=[2] * ROWS), "codes must be positions of the 2 labels"),
    (0, of_groups(labels="FM"), "labels must be a list, got 'FM'"),
    (0, of_groups(labels=["F", "F"]), "labels must be distinct, got 'F' twice"),
    (0, of_groups(labels=["F", {"M": 1}]), r"dates or lists of these, got \{'M': 1"),
    (0, of_groups(names=[1]), "names must be a list of text, got 1"),
    (0, of_groups(min_group_size=0), "positive integer, got 0"),
    (0, {"groups": [1]}, "groups must be a dictionary of labels, names"),
    (0, {"weight": [1.0] * ROWS}, "weight and squares must both be given"),
    (0, {"low": [0.5] * ROWS}, "low, high and n_bins must all be given"),
    (3, {"n_bins": 16.5}, "n_bins must be an integer"),
    (3, {"n_bins": 15}, "n_bins must be a power of two"),
    (3, {"n_bins": 32}, "low and high must be scores in the bins"),
]


@pytest.mark.parametrize(("which", "change", "message"), BROKEN)
def test_other_types_and_sizes_are_refused(which, change, message):
    with pytest.raises(ValueError, match=message):
        CountTable.from_dict(tables()[which].to_dict() | change)


@pytest.mark.parametrize("which", range(4))
def test_random_changes_are_refused_or_of_the_same_types(which, change_at_random):
    data = json.loads(json.dumps(tables(None, 8)[which].to_dict()))
    for seed in range(60):
        broken = change_at_random(data, random.Random(seed))
        problem = "must be"
        try:
            written = CountTable.from_dict(broken).to_dict()
            assert written.keys() == data.keys()
        except ValueError as error:
            problem = str(error)
        assert re.search("must (both |all )?(have|be)", problem)
        assert len(problem) < 300


def test_other_classes_and_formats_are_refused():
    data = tables()[0].to_dict()
    with pytest.raises(ValueError, match="type 'CountTable', got 'GroupedScores'"):
        CountTable.from_dict(data | {"type": "GroupedScores"})
    with pytest.raises(ValueError, match="format 4, got 1: another version of skfair"):
        CountTable.from_dict(data | {"format": 1})
    with pytest.raises(ValueError, match="must be a dictionary"):
        CountTable.from_dict([1])


def test_labels_that_are_nested_without_end():
    label = "a"
    for _ in range(100_000):
        label = [label]
    data = tables()[0].to_dict() | of_groups(labels=["a", label])
    with pytest.raises(ValueError, match="labels are nested too deeply"):
        CountTable.from_dict(data)


def test_what_was_written_with_a_checksum_is_read():
    table = tables()[0]
    assert_same(CountTable.from_dict(table.to_dict() | {"sha256": "0" * 64}), table)


def test_entries_that_are_missing_or_unknown():
    data = tables()[0].to_dict()
    with pytest.raises(ValueError, match="'CountTable' must have groups, which it"):
        CountTable.from_dict({n: v for n, v in data.items() if n != "groups"})
    with pytest.raises(ValueError, match=r"the entries n_cells, .* got 'bins', too"):
        CountTable.from_dict(data | {"bins": []})


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
    table = CountTable.from_rows(None, [0, 1], sensitive_features=groups)
    with pytest.raises(ValueError, match="labels must be text, numbers"):
        table.to_dict()


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
    groups = Groups(np.array([0, 1]), ("x", label))
    table = CountTable.from_rows(None, [0, 1], sensitive_features=groups)
    found = CountTable.from_dict(json.loads(json.dumps(table.to_dict()))).labels
    assert found == ("x", label)
    assert found[1] == python_label(label)
    assert type(found[1]) is type(python_label(label))


def test_dates_as_true_labels_return():
    days = pd.to_datetime(["2024-01-01", "2024-01-02"])
    table = CountTable.from_rows(
        days, days, sensitive_features=encode_groups(["x", "y"])
    )
    assert_same(through_text(table), table)

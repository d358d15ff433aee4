"""Labels of groups: types, containers, intersections."""

import re
import sys
import warnings
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

import skfair
from skfair.groups import (
    Groups,
    encode_groups,
    python_label,
    resolve_groups,
    resolve_strata,
    suggest_edges,
)
from skfair.metrics import get_fairness_scorer, mcdp, permutation_test
from skfair.model_selection import GroupStratifiedKFold
from skfair.postprocessing import MADDPostProcessor
from skfair.statistics import CountTable


def decoded(groups):
    """Label of each row, None where it is left out."""
    return [groups.labels[code] if code >= 0 else None for code in groups.codes]


# --- one column of labels


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([-100, 100, 0, -100], np.int8),
        ([-128, 127], np.int8),
        ([0, 255, 7], np.uint8),
        ([2**64 - 1, 2**64 - 2, 2**64 - 1], np.uint64),
        ([2**63, 2**63 - 1], np.uint64),
        ([0, 2**64 - 1], np.uint64),
        ([2**40 + 5, 2**40, 2**40 + 5], np.uint64),
        ([-(2**63), 2**63 - 1, 0], np.int64),
        ([-(2**63) + 3, -(2**63)], np.int64),
        ([2**63 - 1, 2**63 - 3], np.int64),
        ([-5, -3, -3, -9], np.int64),
        ([10**9, -(10**9), 7, 7], np.int64),
        ([2**16 + 1, 0, 2**16], np.int32),
        ([2**16 - 1, 0], np.uint16),
        ([True, False, True], bool),
        ([True, True], bool),
        ([7, 7, 7], np.int64),
    ],
    ids=str,
)
def test_integers_of_any_span_keep_their_values(values, dtype):
    column = np.array(values, dtype=dtype)
    groups = encode_groups(column)
    assert decoded(groups) == values
    assert groups.labels == tuple(sorted(set(values)))
    assert {type(label) for label in groups.labels} == {type(values[0])}
    by_hashing = encode_groups(column.astype(object))
    assert groups.labels == by_hashing.labels
    assert groups.codes.tolist() == by_hashing.codes.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [1, 2, 8, 9, 127, 128, 129, 255, 256, 40_000])
def test_number_of_groups_never_overflows_the_codes(n_groups):
    numbers = np.arange(n_groups).repeat(2)
    for column in (numbers, numbers * 1_000_003, numbers.astype(str)):
        groups = encode_groups(column)
        assert len(groups.labels) == n_groups
        assert groups.sizes().tolist() == [2] * n_groups
        assert decoded(groups) == column.tolist()


def test_labels_of_mixed_types():
    column = [1, "b", 2.5, "a", 1]
    groups = encode_groups(column)
    assert decoded(groups) == column
    assert groups.labels == encode_groups(column[::-1]).labels


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_dates_stay_dates(unit):
    column = np.array(["2020-01-02", "2020-01-01"], dtype=f"datetime64[{unit}]")
    for label in encode_groups(column).labels:
        assert not isinstance(label, int)
        assert pd.Timestamp(label).year == 2020


@pytest.mark.parametrize("missing", ["drop", "group"])
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_large_integers_beside_a_missing_value_stay_apart(library, missing):
    values = [2**53, 2**53 + 1, None]
    if library == "pandas":
        column = pd.Series(values, dtype="Int64")
    else:
        column = pl.Series(values)
    groups = encode_groups(column, missing=missing)
    assert groups.labels[:2] == (2**53, 2**53 + 1)


# --- containers


SEX = ["F", "M", "M", "F", "X"]


@pytest.mark.parametrize(
    "column",
    [
        SEX,
        tuple(SEX),
        np.array(SEX),
        np.array(SEX, dtype=object),
        np.array(SEX)[:, None],
        pd.Series(SEX, index=[4, 2, 0, 1, 3]),
        pd.Series(SEX, dtype="category"),
        pd.Series(SEX, dtype="string"),
        pd.Categorical(SEX),
        pd.Index(SEX),
        pd.CategoricalIndex(SEX),
        pd.DataFrame({"sex": SEX}, index=[1, 1, 1, 0, 0]),
        pl.Series("sex", SEX),
        pl.Series(SEX, dtype=pl.Categorical),
        pl.Series(SEX, dtype=pl.Enum(["F", "M", "X"])),
        pl.DataFrame({"sex": SEX}),
        pd.Series(SEX, dtype="category").to_frame("sex"),
    ],
    ids=lambda column: (
        f"{type(column).__module__.split('.')[0]}-"
        f"{type(column).__name__}-{getattr(column, 'dtype', '')}"
    ),
)
def test_containers_agree(column):
    groups = encode_groups(column)
    assert decoded(groups) == SEX
    assert groups.labels == ("F", "M", "X")


def test_an_index_of_several_levels_is_as_many_columns():
    people = pd.DataFrame({"sex": ["F", "M", "F", "M"], "race": ["x", "x", None, "y"]})
    index = pd.MultiIndex.from_frame(people)
    found = encode_groups(index, missing="group")
    expected = encode_groups(people, missing="group")
    assert (found.labels, found.names) == (expected.labels, expected.names)
    np.testing.assert_array_equal(found.codes, expected.codes)
    with pytest.raises(ValueError, match="1 missing value in column 'race'"):
        encode_groups(index)


@pytest.mark.parametrize("null", [None, np.nan, pd.NA, pd.NaT])
def test_a_tuple_with_a_missing_value_is_missing(null):
    """Rows with another object that is NaN were groups of their own."""
    rows = pd.Series([("F", "x"), ("M", null), ("M", "x"), ("M", float("nan"))])
    with pytest.raises(ValueError, match="2 missing values"):
        encode_groups(rows)
    assert encode_groups(rows, missing="drop").codes.tolist() == [0, -1, 1, -1]
    groups = encode_groups(rows, missing="group")
    assert groups.labels == (("F", "x"), ("M", "x"), "(missing)")
    assert groups.codes.tolist() == [0, 2, 1, 2]


def test_names_of_columns_are_kept():
    frame = pd.DataFrame({"sex": SEX, "race": list("aabbb")})
    assert encode_groups(frame).names == ("sex", "race")
    assert encode_groups(frame["sex"]).names == ("sex",)
    assert encode_groups(pl.Series("sex", SEX)).names == ("sex",)
    assert encode_groups(SEX).names == ()


@pytest.mark.parametrize(
    "column",
    [
        pd.Categorical(["M", "F"], categories=["X", "M", "F"]),
        pd.Series(["M", "F"], dtype=pd.CategoricalDtype(["X", "M", "F"])),
        pl.Series(["M", "F"], dtype=pl.Enum(["X", "M", "F"])),
    ],
    ids=["Categorical", "Series", "Enum"],
)
def test_categories_keep_their_order_and_the_absent_ones(column):
    groups = encode_groups(column)
    assert groups.labels == ("X", "M", "F")
    assert groups.sizes().tolist() == [0, 1, 1]


def test_a_groups_stays_what_it_is():
    groups = encode_groups(SEX, labels=["X", "M", "F"], min_group_size=3)
    again = encode_groups(groups)
    assert again.labels == ("X", "M", "F")
    assert again.min_group_size == 3
    np.testing.assert_array_equal(again.codes, groups.codes)


# --- labels that are the same in every container


DAY = date(2024, 2, 28)
NOON = datetime(2024, 2, 28, 12)


@pytest.mark.parametrize(
    ("label", "plain"),
    [
        (np.datetime64("2024-02-28"), DAY),
        (np.datetime64("2024-02-28T12", "ns"), NOON),
        (pd.Timestamp("2024-02-28"), DAY),
        (datetime(2024, 2, 28), DAY),
        (pd.Timestamp("2024-02-28 12:00"), NOON),
        (
            pd.Timestamp("2024-02-28 13:00", tz="Europe/Berlin"),
            NOON.replace(tzinfo=UTC),
        ),
        (pd.Timestamp("2024-02-28", tz="UTC"), datetime(2024, 2, 28, tzinfo=UTC)),
        (pd.Timedelta("1 days"), timedelta(days=1)),
        (np.timedelta64(86_400, "s"), timedelta(days=1)),
        (Decimal("0.10"), 0.1),
        (Decimal(2**60 + 1), Decimal(2**60 + 1)),
        (np.float32(0.5), 0.5),
        (np.int8(3), 3),
        (np.True_, True),
        (np.str_("a"), "a"),
        (("F", pd.Timestamp("2024-02-28")), ("F", DAY)),
    ],
    ids=repr,
)
def test_plain_labels(label, plain):
    found = python_label(label)
    assert found == plain
    assert type(found) is type(plain)
    column = np.empty(2, dtype=object)
    column[:] = [label, label]
    assert encode_groups(column).labels == (plain,)
    assert encode_groups(column, labels=[label, "other"]).labels == (plain, "other")


def test_times_of_nanoseconds_stay_apart():
    column = np.array(["2024-02-28", "2024-02-28T00:00:00.000000001"], "M8[ns]")
    first, second = encode_groups(column).labels
    assert first == DAY
    assert second == pd.Timestamp("2024-02-28 00:00:00.000000001")


def test_dates_and_times_are_in_order():
    times = [NOON, DAY, datetime(2024, 2, 29), datetime(2024, 2, 27, 23)]
    expected = (datetime(2024, 2, 27, 23), DAY, NOON, date(2024, 2, 29))
    assert encode_groups(np.array(times, dtype=object)).labels == expected
    assert encode_groups(pd.Series(pd.to_datetime(times))).labels == expected
    assert decoded(encode_groups(pd.Series(pd.to_datetime(times[:2])))) == [NOON, DAY]


# --- labels that cannot be


@pytest.mark.parametrize("values", [[{1}, {2}], [{"a": 1}, {"a": 1}], ["a", ["b"]]])
def test_labels_that_cannot_be_compared(values):
    column = np.empty(2, dtype=object)
    column[:] = values
    row = 1 if values[0] == "a" else 0
    message = f"sensitive_features must hold text.* got {re.escape(repr(values[row]))}"
    for given_column in column, pd.Series(column), column.tolist():
        if values[0] == "a" and given_column is not column:
            continue
        with pytest.raises(TypeError, match=f"{message} in row {row}"):
            encode_groups(given_column)
    with pytest.raises(TypeError, match="control_features must hold text"):
        resolve_strata(column, n_samples=2)


def test_expected_labels_that_cannot_be():
    with pytest.raises(
        TypeError, match=r"labels must hold text.* \['M'\] in position 1"
    ):
        encode_groups(SEX, labels=["F", ["M"]])
    for labels in {"F", "M", "X"}, "FMX", 3:
        with pytest.raises(TypeError, match="labels must be a list of groups, got"):
            encode_groups(SEX, labels=labels)


def test_columns_of_one_name():
    X = pd.DataFrame([[1, "F", 3], [2, "M", 4]], columns=["a", "sex", "a"])
    for selector in "sex", 1, ["sex"]:
        with pytest.raises(ValueError, match="X has several columns of the name 'a'"):
            resolve_groups(None, n_samples=2, X=X, selector=selector)


@pytest.mark.parametrize(
    "container", [np.array, np.ndarray.tolist, pd.DataFrame, pl.DataFrame]
)
def test_probabilities_of_groups_are_no_labels(container):
    rng = np.random.default_rng(0)
    for n_groups in 2, 4:
        table = rng.dirichlet(np.ones(n_groups), 30)
        with pytest.raises(ValueError, match="look like probabilities of the groups"):
            encode_groups(container(table))
        with pytest.raises(ValueError, match="control_features must be labels, got"):
            resolve_strata(container(table + 1e-8), n_samples=30)


@pytest.mark.parametrize(
    "table",
    [
        [[1.0, 0.0], [0.0, 1.0]],  # a column for each group
        [[0.5, 0.5], [0.5, 0.6]],
        [[2.0, -1.0], [0.5, 0.5]],
        [[0.2], [0.8]],
        np.empty((0, 2)),
    ],
)
def test_numbers_that_are_labels(table):
    table = np.array(table)
    expected = table.tolist() if table.shape[1] == 1 else map(tuple, table.tolist())
    found = decoded(encode_groups(table))
    assert [np.ravel(label).tolist() for label in found] == [
        np.ravel(label).tolist() for label in expected
    ]


# --- intersections


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(
            st.tuples(*[st.one_of(st.none(), st.sampled_from("abc"))] * n),
            min_size=1,
            max_size=30,
        )
    ),
    st.sampled_from(["drop", "group"]),
)
def test_intersection_is_the_tuple_of_values(rows, missing):
    frame = pd.DataFrame(rows, dtype=object)
    groups = encode_groups(frame, missing=missing)
    if missing == "drop":
        expected = [None if None in row else row for row in rows]
    else:
        expected = [tuple("(missing)" if v is None else v for v in row) for row in rows]
    if frame.shape[1] == 1:
        expected = [row and row[0] for row in expected]
    assert decoded(groups) == expected
    assert set(groups.labels) == {row for row in expected if row is not None}


def test_intersection_of_many_values():
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 3_000, (5_000, 3))
    groups = encode_groups(columns)
    assert decoded(groups) == [tuple(row) for row in columns.tolist()]


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (
            np.zeros((2, 2, 2)),
            {},
            r"sensitive_features must .* got .*shape \(2, 2, 2\)",
        ),
        ("F", {}, "sensitive_features must .* got .*a single str"),
        (3, {}, "sensitive_features must .* got .*a single int"),
        ({"F": 2}, {}, "sensitive_features must .* got .*a single dict"),
        (np.empty((3, 0)), {}, "sensitive_features has no columns"),
        (SEX, {"missing": "ignore"}, "missing must be .* got 'ignore'"),
        (SEX, {"labels": ["F", "M"]}, r"unknown groups \['X'\].*\['F', 'M'\]"),
        (SEX, {"labels": ["F", "M", "X", "F"]}, "labels .*'F'"),
        *(
            (SEX, {"min_group_size": size}, f"min_group_size must .* got {size!r}")
            for size in (0, -1, 2.5, "x", None)
        ),
        (SEX, {"rare": "drop"}, "min_group_size must be above 1 with rare="),
        (SEX, {"rare": "other", "min_group_size": 3}, "rare must be 'keep', 'drop' or"),
    ],
)
def test_what_is_refused(data, options, message):
    with pytest.raises(ValueError, match=message):
        encode_groups(data, **options)


# --- missing values


MISSING = {
    "list of None": ["F", None, "M", None],
    "list of nan": ["F", float("nan"), "M", float("nan")],
    "numbers": [1.0, float("nan"), 2.0, float("nan")],
    "integers and None": [1, None, 2, None],
    "NA": np.array(["F", pd.NA, "M", pd.NA], dtype=object),
    "Int64": pd.Series([1, None, 2, None], dtype="Int64"),
    "boolean": pd.Series([True, None, False, None], dtype="boolean"),
    "string": pd.Series(["F", None, "M", None], dtype="string"),
    "category": pd.Categorical(["F", None, "M", None]),
    "polars text": pl.Series(["F", None, "M", None]),
    "polars integers": pl.Series([1, None, 2, None]),
    "polars booleans": pl.Series([True, None, False, None]),
    "polars categories": pl.Series(["F", None, "M", None], dtype=pl.Categorical),
    "polars enum": pl.Series(["F", None, "M", None], dtype=pl.Enum(["F", "M"])),
    "dates": np.array(["2020-01-01", "NaT", "2021-01-01", "NaT"], "datetime64[s]"),
    "NaN beside NA": pd.Series(
        pd.arrays.FloatingArray(
            np.array([1.0, np.nan, 2.0, 0.0]), np.array([False, False, False, True])
        )
    ),
    "NaN beside NULL": pd.Series(
        pd.array(pa.array([1.0, np.nan, 2.0, None]), dtype=pd.ArrowDtype(pa.float64()))
    ),
}


@pytest.mark.parametrize("column", MISSING.values(), ids=MISSING.keys())
def test_missing_values_raise_are_left_out_or_form_a_group(column):
    with pytest.raises(ValueError, match="sensitive_features has 2 missing values"):
        encode_groups(column)
    dropped = encode_groups(column, missing="drop")
    assert (dropped.codes < 0).tolist() == [False, True, False, True]
    assert dropped.sizes().tolist() == [1, 1]
    groups = encode_groups(column, missing="group")
    assert len(groups.labels) == 3
    assert [label == "(missing)" for label in decoded(groups)] == [False, True] * 2


def test_message_names_the_column():
    frame = pd.DataFrame({"sex": SEX, "race": ["a", None, None, None, "b"]})
    with pytest.raises(ValueError, match="3 missing values in column 'race'"):
        encode_groups(frame)


def test_missing_values_join_a_group_of_that_name():
    groups = encode_groups(["(missing)", None, "F"], missing="group")
    assert decoded(groups) == ["(missing)", "(missing)", "F"]


@pytest.mark.parametrize("n_groups", [126, 127, 128])
def test_missing_group_beside_many_categories(n_groups):
    values = [f"{i:03}" for i in range(n_groups)]
    groups = encode_groups(pd.Categorical([*values, None]), missing="group")
    assert decoded(groups) == [*values, "(missing)"]


# --- labels and sizes


def test_labels_set_order_and_absent_groups():
    groups = encode_groups(["F", "M"], labels=["M", "X", "F"])
    assert groups.labels == ("M", "X", "F")
    assert groups.codes.tolist() == [2, 0]
    assert groups.sizes().tolist() == [1, 0, 1]


def test_an_unused_category_is_expected_with_all_levels_of_other_columns():
    """A combination of levels that have rows is not: it may never occur."""
    people = pd.DataFrame(
        {
            "race": pd.Categorical(["a", "b", "a", None], categories=["a", "X", "b"]),
            "sex": ["F", "M", "M", "F"],
        }
    )
    groups = encode_groups(people, missing="drop")
    labels = [("a", "F"), ("a", "M"), ("X", "F"), ("X", "M"), ("b", "M")]
    assert groups.labels == tuple(labels)
    assert groups.codes.tolist() == [0, 4, 1, -1]
    swapped = encode_groups(people[["sex", "race"]], missing="drop")
    assert {*swapped.labels} == {(sex, race) for race, sex in labels}
    assert np.asarray(swapped).tolist()[:3] == [("F", "a"), ("M", "b"), ("M", "a")]
    three = people.assign(age=pd.Categorical(["old"] * 4, categories=["old", "young"]))
    labels = encode_groups(three, missing="drop").labels
    assert ("X", "F", "young") in labels
    assert ("a", "M", "young") in labels
    assert ("b", "F", "old") not in labels
    used = people.assign(race=people["race"].cat.remove_unused_categories())
    assert len(encode_groups(used, missing="drop").labels) == 3


def test_unused_category_may_be_left_out_of_labels():
    column = pd.Categorical(["F"], categories=["F", "X"])
    assert encode_groups(column, labels=["F", "M"]).labels == ("F", "M")


@pytest.mark.parametrize("labels", [[3, 1, 2, 1], ["c", "a", "b", "a"]])
def test_masked_labels_are_missing(labels):
    column = np.ma.array(labels, mask=[False, False, True, False])
    with pytest.raises(ValueError, match="sensitive_features has 1 missing value"):
        encode_groups(column)
    dropped = encode_groups(column, missing="drop")
    assert decoded(dropped) == [labels[0], labels[1], None, labels[1]]
    assert encode_groups(column, missing="group").sizes().sum() == 4
    assert column.tolist() == [labels[0], labels[1], None, labels[3]]


def test_columns_of_the_same_name():
    people = pd.DataFrame([["F", "x"], ["M", "y"]], columns=["same", "same"])
    groups = encode_groups(people)
    assert (groups.labels, groups.names) == ((("F", "x"), ("M", "y")), ("same", "same"))


# --- strata


def test_strata_are_given_or_columns_of_a_table():
    X = pd.DataFrame({"sex": SEX, "dept": list("aabba"), "level": [1, 2, 1, 2, 1]})
    strata = resolve_strata(None, n_samples=5, X=X, selector=["dept", "level"])
    assert strata.labels == (("a", 1), ("a", 2), ("b", 1), ("b", 2))
    given = resolve_strata(X["sex"], n_samples=5, X=X, selector="dept")
    assert given.labels == ("F", "M", "X")
    dropped = encode_groups(["a", None, "b"], missing="drop")
    assert resolve_strata(dropped, n_samples=3) is dropped


@pytest.mark.parametrize(
    ("strata", "options", "message"),
    [
        (None, {}, "control_features is None"),
        (["a"] * 4, {}, "control_features has 4 rows, expected 5"),
        (["a", None] * 2 + ["b"], {}, "control_features has 2 missing values"),
        (np.zeros((5, 2, 2)), {}, "control_features must have shape"),
        (np.empty((5, 0)), {}, "control_features has no columns"),
        (None, {"selector": "dept"}, r"no column 'dept' \(control_features\)"),
        (None, {"selector": []}, "control_features is an empty list"),
        (None, {"selector": 7}, "control_features=7 is out of range"),
    ],
)
def test_messages_about_strata_name_them(strata, options, message):
    X = pd.DataFrame({"sex": SEX})
    with pytest.raises(ValueError, match=message):
        resolve_strata(strata, n_samples=5, X=X, **options)


def test_a_column_of_a_table_has_the_labels_of_the_rows():
    """pandas had taken groups for a single value, the same in all rows."""
    groups = encode_groups(SEX)
    table = pd.DataFrame({"sex": groups, "race": list("aabba")})
    assert table["sex"].tolist() == pd.Series(groups).tolist() == list(groups) == SEX
    assert encode_groups(table).labels[0] == ("F", "a")
    assert "F" in groups


@pytest.mark.parametrize(
    "codes",
    [[0, 1, 1], np.array([0, 1, 2]), np.array([0, 1, -2]), np.array([0.0, 1, 1])],
)
def test_codes_that_are_no_positions_of_labels(codes):
    groups = Groups(codes, ("F", "M"))
    with pytest.raises(ValueError, match=r"codes .* from -1 to 1, positions among 2"):
        resolve_groups(groups, n_samples=3)


def test_one_row_of_groups():
    one = encode_groups(SEX)[1]
    assert repr(one) == "Groups(1 rows; 'F': 0, 'M': 1, 'X': 0)"


def test_as_an_array_the_labels_of_the_rows():
    groups = encode_groups(["F", None, "M", "F"], missing="drop")
    assert np.asarray(groups).tolist() == ["F", None, "M", "F"]
    assert np.asarray(groups[2:]).tolist() == ["M", "F"]
    assert np.asarray(encode_groups([2, 1]), dtype=float).tolist() == [2.0, 1.0]
    pairs = np.asarray(encode_groups(pd.DataFrame({"sex": ["F"], "old": [True]})))
    assert pairs.tolist() == [("F", True)]
    with pytest.raises(ValueError, match="copy must not be False"):
        np.asarray(groups, copy=False)


# --- ranges of numbers, and rare groups


@pytest.mark.parametrize(
    "container",
    [list, np.array, pd.Series, pl.Series, lambda v: pd.Series(v, dtype="Int64")],
)
def test_ranges_begin_at_their_edges(container):
    groups = encode_groups(container([29, 30, 49, 50, 17]), bins=[30, 50])
    assert decoded(groups) == [
        "under 30",
        "30 to under 50",
        "30 to under 50",
        "50 and over",
        "under 30",
    ]
    assert groups.labels == ("under 30", "30 to under 50", "50 and over")


def test_names_of_ranges_have_all_digits_of_their_edges():
    edges = [0.1, 1234567, 1234567.5, 2e9]
    assert encode_groups([0, 1, 1234567.2, 1e7, 3e9], bins=edges).labels == (
        "under 0.1",
        "0.1 to under 1234567",
        "1234567 to under 1234567.5",
        "1234567.5 to under 2000000000",
        "2000000000 and over",
    )


@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=2, max_size=30),
    st.sampled_from([1, 0.1, 7.25]),
)
def test_suggested_ranges_tell_quartiles_apart(numbers, unit):
    values = unit * np.array(numbers)
    quartiles = np.unique(np.quantile(values, [0.25, 0.5, 0.75]))
    edges = suggest_edges(values, np.ones(len(values), dtype=int))
    assert len(edges) == len(quartiles)
    np.testing.assert_allclose(edges, quartiles, rtol=0.05)


def test_infinite_numbers_are_in_the_first_and_last_range():
    groups = encode_groups([-np.inf, 2.0, np.inf], bins=[2])
    assert groups.codes.tolist() == [0, 1, 1]


def test_ranges_without_rows_are_no_groups_and_missing_numbers_are_missing():
    groups = encode_groups([None, 3.5, np.nan], bins=[0, 2], missing="drop")
    assert groups.labels == ("2 and over",)
    assert groups.codes.tolist() == [-1, 0, -1]
    with pytest.raises(ValueError, match="2 missing values"):
        encode_groups([None, 3.5, np.nan], bins=[0, 2])


def test_ranges_of_one_of_several_columns():
    people = pd.DataFrame({"sex": ["F", "M"], "age": [20, 40]})
    groups = encode_groups(people, bins={"age": [30]})
    assert groups.labels == (("F", "under 30"), ("M", "30 and over"))
    assert groups.names == ("sex", "age")


@pytest.mark.parametrize(
    ("labels", "bins", "message"),
    [
        ([1, 2], [3, 3], "bins must be a list of increasing numbers"),
        ([1, 2], [], "bins must be a list of increasing numbers"),
        ([1, 2], 3, "bins must be a list of increasing numbers"),
        ([1, 2], ["a"], "bins must be a list of increasing numbers"),
        ([1, "x"], [3], "bins need numbers, got 'x'"),
        (pd.Series(["x"], name="age"), [3], "bins of column 'age' need numbers, got"),
        (pd.DataFrame({"a": [1], "b": [2]}), [3], "bins must be a dictionary"),
        (pd.DataFrame({"a": [1], "b": [2]}), {"c": [3]}, "bins has the column 'c'"),
        (encode_groups(["F"]), [3], "bins must be None for Groups"),
    ],
)
def test_messages_about_ranges(labels, bins, message):
    with pytest.raises(ValueError, match=message):
        encode_groups(labels, bins=bins)


def test_rare_groups_are_kept_dropped_or_merged():
    labels = [*"aaabbc", None]
    options = {"missing": "drop", "min_group_size": 3}
    kept = encode_groups(labels, **options)
    assert kept.labels == ("a", "b", "c")
    dropped = encode_groups(labels, rare="drop", **options)
    assert dropped.labels == ("a",)
    assert dropped.codes.tolist() == [0, 0, 0, -1, -1, -1, -1]
    merged = encode_groups(labels, rare="merge", **options)
    assert merged.labels == ("a", "(other)")
    assert merged.codes.tolist() == [0, 0, 0, 1, 1, 1, -1]
    assert merged.min_group_size == 3
    again = encode_groups(kept, rare="merge", min_group_size=2)
    assert again.labels == merged.labels
    no_change = encode_groups(labels, missing="drop", rare="merge", min_group_size=2)
    assert no_change.labels == ("a", "b", "(other)")


def test_rare_groups_have_a_name_of_their_own():
    with pytest.raises(ValueError, match="rare must not be 'merge' where a group is"):
        encode_groups(["(other)"] * 3 + ["b"], rare="merge", min_group_size=3)


@given(
    st.lists(st.sampled_from("abcdef"), min_size=1, max_size=40),
    st.integers(2, 10),
    st.sampled_from(["drop", "merge"]),
)
def test_no_group_but_the_other_one_is_rare(labels, least, rare):
    groups = encode_groups(labels, rare=rare, min_group_size=least)
    sizes = dict(zip(groups.labels, groups.sizes().tolist(), strict=True))
    sizes.pop("(other)", None)
    assert all(size >= least for size in sizes.values())
    expected = {one: labels.count(one) for one in labels if labels.count(one) >= least}
    assert sizes == expected
    if rare == "merge":
        assert (groups.codes >= 0).all()


# --- order of rows


def test_an_index_in_another_order_is_warned_of():
    X = pd.DataFrame({"x": [1, 2, 3]}, index=[5, 3, 4])
    sex = pd.Series(["F", "M", "M"], index=[3, 4, 5])
    with pytest.warns(UserWarning, match=r"X and sensitive_features have the same"):
        groups = resolve_groups(sex, n_samples=3, X=X)
    assert decoded(groups) == ["F", "M", "M"]
    for same in (sex.reset_index(drop=True), sex.loc[X.index], sex.to_numpy()):
        resolve_groups(same, n_samples=3, X=X)


def test_text_of_variable_length():
    text = np.array(["F", "M", "F"], dtype=np.dtypes.StringDType())
    assert encode_groups(text).labels == ("F", "M")
    kind = np.dtypes.StringDType(na_object=np.nan)
    with pytest.raises(ValueError, match="has 1 missing value"):
        encode_groups(np.array(["F", np.nan], dtype=kind))
    both = encode_groups(np.stack([text, text[::-1]], axis=1))
    assert both.labels == (("F", "F"), ("M", "M"))


def test_warnings_of_a_file_beside_the_package():
    """A script skfair_audit.py in a checkout is the user's."""
    name = f"{Path(skfair.__file__).parent}_audit.py"
    code = compile("encode_groups(['M', 'M '])", name, "exec")
    with pytest.warns(UserWarning, match="look alike") as caught:
        exec(code, {"encode_groups": encode_groups})
    if sys.version_info >= (3, 12):
        assert caught[0].filename == name


#: Pairs of labels that a reader cannot tell apart.
ALIKE = [
    ("M", "M "),
    ("M", "\u00a0M"),
    ("\u00e9", "e\u0301"),
    (1, "1"),
    (2.0, "2"),
    (True, "True"),
    (".", " ."),
    ("1", "1.0"),
    ("-2.5", "-2.50"),
    (1e16, "10000000000000000"),
]


@pytest.mark.filterwarnings("ignore:.*looks like a missing value")
@pytest.mark.parametrize(("first", "second"), ALIKE)
@pytest.mark.parametrize(
    "container", [list, pytest.param(pd.Series, marks=pytest.mark.slow), pd.Categorical]
)
@pytest.mark.promise("Labels of groups that look alike but differ are named")
def test_labels_that_look_alike(first, second, container):
    labels = container([first, second, "x", first])
    with pytest.warns(UserWarning, match="sensitive_features .* look alike") as caught:
        groups = encode_groups(labels)
    assert len(groups.labels) == 3
    said = str(caught[0].message)
    assert ascii(first) in said
    assert ascii(second) in said
    assert said.isascii()
    with pytest.warns(UserWarning, match="control_features .* look alike"):
        resolve_strata(labels, n_samples=4)
    with pytest.warns(UserWarning, match="look alike"):
        encode_groups(pd.DataFrame({"label": labels, "other": list("aabb")}))


#: Words for missing values of containers, R, SQL and spreadsheets.
WORDS = ["", "nan", "NaN", "NaT", "<NA>", "NA", "N/A", "NULL", "None", "\\N", *"?.-"]
WORDS += ["#N/A", "n/a", "missing", "Missing"]


@pytest.mark.parametrize(
    "container",
    [np.array, pytest.param(pd.Series, marks=pytest.mark.slow), pd.Categorical],
)
@pytest.mark.parametrize("label", WORDS)
def test_words_for_missing_values(container, label):
    labels = container(["F", "M", label])
    expected = f"label {label!r}, which looks like a missing value"
    with pytest.warns(UserWarning, match=re.escape(expected)):
        assert label in encode_groups(labels).labels
    # Silent: they are given.
    assert encode_groups(labels, missing_values=[]).labels.count(label) == 1
    dropped = encode_groups(labels, missing_values=WORDS, missing="drop")
    assert (dropped.labels, dropped.codes.tolist()) == (("F", "M"), [0, 1, -1])
    grouped = encode_groups(labels, missing_values=(label,), missing="group")
    assert grouped.labels == ("F", "M", "(missing)")
    with pytest.raises(ValueError, match="has 1 missing value"):
        encode_groups(labels, missing_values=[label])


def words_named(caught):
    return [str(one.message) for one in caught if "missing value" in str(one.message)]


def test_all_words_of_a_call_are_in_one_warning():
    table = pd.DataFrame({"sex": list("FM??"), "race": ["x", "NA", "y", None]})
    with pytest.warns(UserWarning, match="look like missing") as caught:
        encode_groups(table, missing="drop")
    (said,) = words_named(caught)
    assert "labels '?' and 'NA', which look like missing values" in said
    assert "missing_values=['?', 'NA']" in said
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encode_groups(pd.Categorical(["F", "M"], ["F", "M", "NA"]))  # has no rows
        encode_groups(["unknown", "other", "n/a?", "-1", "Nan a"])


def test_values_that_stand_for_missing_ones():
    ages = [20, 999, "?", 40]
    by_range = encode_groups(ages, bins=[30], missing_values=[999, "?"], missing="drop")
    assert by_range.labels == ("under 30", "30 and over")
    assert by_range.codes.tolist() == [0, -1, -1, 1]
    numbers = encode_groups(np.array([1, 9, 2]), missing_values=[9], missing="drop")
    assert numbers.codes.tolist() == [0, -1, 1]
    kept = encode_groups(["F", "NA", "M"], missing_values=["NA"], missing="drop")
    with pytest.raises(ValueError, match="missing_values must be None for Groups"):
        encode_groups(kept, missing_values=["F"])
    with pytest.raises(TypeError, match="missing_values must be a list of labels, got"):
        encode_groups(["F", "M"], missing_values="NA")


LABELS_WITH_A_WORD = ["F", "M", "NA", "F", "M", "NA"] * 10
SCORES_OF_THESE = np.linspace(0, 1, 60)


@pytest.mark.parametrize(
    "call",
    [
        partial(mcdp, None, SCORES_OF_THESE),
        partial(mcdp, None, SCORES_OF_THESE, control_features=["x", "y"] * 30),
        partial(permutation_test, mcdp, None, SCORES_OF_THESE, n_permutations=5),
        partial(CountTable.from_rows, None, SCORES_OF_THESE),
    ],
    ids=["metric", "within strata", "permutation test", "table"],
)
def test_each_call_warns_once_of_words(call):
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(sensitive_features=LABELS_WITH_A_WORD)
        assert len(words_named(caught)) == 1
        if sys.version_info >= (3, 12):
            assert caught[0].filename == __file__


@pytest.mark.slow
def test_scorers_and_splitters_do_not_repeat_the_warning_of_words():
    X = pd.DataFrame({"score": SCORES_OF_THESE, "sex": LABELS_WITH_A_WORD})
    y = np.arange(60) % 2
    fold = GroupStratifiedKFold(3, sensitive_features="sex")
    model = MADDPostProcessor(
        GaussianNB(),
        sensitive_features="sex",
        drop_sensitive=True,
        repair_level=0,
        cv=2,
    )
    scorer = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")  # once for each line
        cross_val_score(model, X, y, scoring=scorer, cv=fold, error_score="raise")
    assert len(words_named(caught)) <= 6  # a fit and its predictions in each fold


@pytest.mark.filterwarnings("ignore:.*looks like a missing value")
@pytest.mark.parametrize(("first", "second"), ALIKE)
def test_tables_whose_labels_look_alike(first, second):
    one, other = (
        CountTable.from_rows(None, [0.1, 0.5], sensitive_features=["x", label])
        for label in (first, second)
    )
    with pytest.warns(UserWarning, match="sum of tables has .* look alike"):
        both = one + other
    assert len(both.labels) == 3
    tuples = [
        CountTable.from_rows(
            None,
            [0.1, 0.5],
            sensitive_features=Groups(np.array([0, 1]), (("x", "a"), (label, "a"))),
        )
        for label in (first, second)
    ]
    with pytest.warns(UserWarning, match="look alike"):
        sum(tuples)


def test_other_numbers_in_text_look_different():
    texts = ["9007199254740993", "9007199254740992", "10", "1", "-1", "0.1", "1.1"]
    assert len(encode_groups(texts).labels) == len(texts)


@given(st.lists(st.integers() | st.floats(allow_nan=False) | st.booleans(), min_size=1))
def test_numbers_that_differ_do_not_look_alike(numbers):
    encode_groups(np.array(numbers, dtype=object))


def test_text_that_differs_does_not_look_alike():
    encode_groups(["a", "A", "a b", "ab", "1.5", "1", "01", "\u00b2", "2"])


@pytest.mark.parametrize(
    "labels",
    [
        ["under 6", "6 to under 26", "26 to under 40", "40 and over"],
        ["(-inf, 6.0)", "[6.0, 26.0)", "[26.0, inf)"],
        ["<6", "6-25", "26-39", "40+"],
        ["10", "2", "6"],  # numbers alone are text
        ["26-39", "6-25", "unknown"],
    ],
)
def test_texts_of_ranges_are_in_the_order_of_their_numbers(labels):
    assert encode_groups(labels[::-1]).labels == tuple(labels)
    table = pd.DataFrame({"age": labels[::-1], "sex": "F"})
    assert encode_groups(table).labels == tuple((label, "F") for label in labels)


def test_ranges_keep_their_order_in_a_file_of_text():
    ages = [3, 8, 30, 50]
    groups = encode_groups(ages, bins=[6, 26, 40])
    texts = [str(groups.labels[code]) for code in groups.codes]
    assert encode_groups(texts).labels == groups.labels

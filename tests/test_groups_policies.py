"""What `encode_groups` does about missing values, expected labels and sizes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skfair.groups import encode_groups

SEX = ["F", "M", "M", "F", "X"]


def decoded(groups):
    """Label of each row, None where it is left out."""
    return [groups.labels[code] if code >= 0 else None for code in groups.codes]


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
}


@pytest.mark.parametrize("column", MISSING.values(), ids=MISSING.keys())
def test_missing_values_raise_with_their_count(column):
    with pytest.raises(ValueError, match="sensitive_features has 2 missing values"):
        encode_groups(column)


@pytest.mark.parametrize("column", MISSING.values(), ids=MISSING.keys())
def test_missing_values_are_left_out(column):
    groups = encode_groups(column, missing="drop")
    assert (groups.codes < 0).tolist() == [False, True, False, True]
    assert len(groups.labels) == 2
    assert groups.sizes().tolist() == [1, 1]


@pytest.mark.parametrize("column", MISSING.values(), ids=MISSING.keys())
def test_missing_values_form_a_group(column):
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


def test_unknown_way_of_missing():
    with pytest.raises(ValueError, match=r"missing must be .* got 'ignore'"):
        encode_groups(SEX, missing="ignore")


# --- labels and sizes


def test_labels_set_order_and_absent_groups():
    groups = encode_groups(["F", "M"], labels=["M", "X", "F"])
    assert groups.labels == ("M", "X", "F")
    assert groups.codes.tolist() == [2, 0]
    assert groups.sizes().tolist() == [1, 0, 1]


def test_labels_leave_out_missing_rows():
    groups = encode_groups(["F", None, "M"], labels=["M", "F"], missing="drop")
    assert groups.codes.tolist() == [1, -1, 0]


def test_label_that_is_not_expected():
    with pytest.raises(ValueError, match=r"unknown groups \['X'\].*\['F', 'M'\]"):
        encode_groups(SEX, labels=["F", "M"])


def test_unused_category_may_be_left_out_of_labels():
    column = pd.Categorical(["F"], categories=["F", "X"])
    assert encode_groups(column, labels=["F", "M"]).labels == ("F", "M")


def test_repeated_labels_are_refused():
    with pytest.raises(ValueError, match=r"labels .*'F'"):
        encode_groups(["F", "M"], labels=["F", "M", "F"])


@pytest.mark.parametrize("size", [0, -1, 2.5, "x", None])
def test_min_group_size_is_a_positive_integer(size):
    with pytest.raises(ValueError, match=f"min_group_size must .* got {size!r}"):
        encode_groups(SEX, min_group_size=size)

"""Groups beside X: subsets, and the columns that name them."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.utils._indexing import _safe_indexing

from skfair.groups import Groups, encode_groups, resolve_groups

SEX = ["F", "M", "M", "F", "X"]


def decoded(groups):
    """Label of each row, None where it is left out."""
    return [groups.labels[code] if code >= 0 else None for code in groups.codes]


# --- a Groups as an array


@pytest.mark.parametrize(
    "rows",
    [
        [0, 1],
        np.array([1, 0, 1]),
        np.array([True, False, False, True, False]),
        slice(1, 4),
        slice(None, None, -1),
    ],
    ids=str,
)
@pytest.mark.promise("A subset of groups keeps all labels: a lost group is noticed")
def test_subsets_keep_every_label(rows):
    groups = encode_groups(SEX, min_group_size=2)
    for subset in (groups[rows], _safe_indexing(groups, rows)):
        assert isinstance(subset, Groups)
        assert subset.labels == groups.labels
        assert subset.min_group_size == 2
        assert decoded(subset) == np.array(SEX)[rows].tolist()


def test_scikit_learn_splits_groups_with_the_rows():
    rows = np.arange(100)
    groups = encode_groups(rows % 7)
    left, right, left_groups, right_groups = train_test_split(
        rows, groups, random_state=0
    )
    assert decoded(left_groups) == (left % 7).tolist()
    assert decoded(right_groups) == (right % 7).tolist()


def test_repr_names_groups_and_sizes():
    assert repr(encode_groups(SEX)) == "Groups(5 rows; 'F': 2, 'M': 2, 'X': 1)"


def test_pickle():
    groups = encode_groups(SEX, min_group_size=2)
    again = pickle.loads(pickle.dumps(groups))
    assert decoded(again) == SEX
    assert (again.labels, again.min_group_size) == (groups.labels, 2)


# --- columns of X


FRAME = pd.DataFrame(
    {"age": [31, 47, 25], "sex": ["F", "M", "F"], "race": ["a", "b", "b"]},
    index=[7, 7, 3],
)


@pytest.fixture(params=["pandas", "polars"])
def frame(request):
    return FRAME if request.param == "pandas" else pl.DataFrame(FRAME.to_dict("list"))


@pytest.mark.parametrize("selector", ["sex", 1, -2, ["sex"], [1], np.int64(1)])
def test_one_column_of_a_frame(frame, selector):
    groups = resolve_groups(None, n_samples=3, X=frame, selector=selector)
    assert decoded(groups) == ["F", "M", "F"]
    assert groups.names == ("sex",)


@pytest.mark.parametrize("selector", [["sex", "race"], [1, 2], ["sex", 2]])
def test_intersection_of_columns_of_a_frame(frame, selector):
    groups = resolve_groups(None, n_samples=3, X=frame, selector=selector)
    assert decoded(groups) == [("F", "a"), ("M", "b"), ("F", "b")]


def test_missing_column_lists_the_columns(frame):
    with pytest.raises(ValueError, match=r"no column 'gender'.*'age', 'sex', 'race'"):
        resolve_groups(None, n_samples=3, X=frame, selector="gender")


@pytest.mark.parametrize("selector", [3, -4, [0, 3]])
def test_position_out_of_range(frame, selector):
    for X in (frame, np.zeros((3, 3))):
        with pytest.raises(ValueError, match=r"sensitive_features=.* out of range"):
            resolve_groups(None, n_samples=3, X=X, selector=selector)


@pytest.mark.parametrize(
    "container",
    [np.array, sparse.csr_matrix, sparse.csc_array, np.ndarray.tolist],
    ids=["array", "csr_matrix", "csc_array", "list"],
)
def test_columns_of_an_array(container):
    values = np.array([[1, 0, 5], [0, 1, 5], [1, 1, 5]])
    one = resolve_groups(None, n_samples=3, X=container(values), selector=1)
    assert decoded(one) == [0, 1, 1]
    two = resolve_groups(None, n_samples=3, X=container(values), selector=[0, 1])
    assert decoded(two) == [(1, 0), (0, 1), (1, 1)]


def test_column_name_needs_a_frame():
    with pytest.raises(ValueError, match="'sex' names a column, but X is a ndarray"):
        resolve_groups(None, n_samples=3, X=np.zeros((3, 2)), selector="sex")


def test_callable_of_x(frame):
    def over_30(X):
        return np.asarray(X["age"]) > 30

    groups = resolve_groups(None, n_samples=3, X=frame, selector=over_30)
    assert decoded(groups) == [True, True, False]


def test_given_labels_win_over_the_selector():
    groups = resolve_groups(["x", "y", "z"], n_samples=3, X=FRAME, selector="sex")
    assert decoded(groups) == ["x", "y", "z"]

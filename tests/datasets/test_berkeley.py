import numpy as np
import pandas as pd
import pytest

from skfair.datasets import load_berkeley_admissions


def test_counts_are_the_published_ones():
    counts = load_berkeley_admissions().counts
    assert counts[["admitted", "rejected"]].to_numpy().sum() == 4526
    totals = counts.groupby("sex")[["admitted", "rejected"]].sum()
    assert totals.loc["men"].tolist() == [1198, 1493]
    assert totals.loc["women"].tolist() == [557, 1278]


def test_rows_are_the_counts():
    berkeley = load_berkeley_admissions()
    assert berkeley.data.shape == (4526, 2)
    assert berkeley.frame.index.equals(pd.RangeIndex(4526))
    table = pd.crosstab(
        [berkeley.data["department"], berkeley.data["sex"]], berkeley.target
    )
    expected = berkeley.counts.set_index(["department", "sex"])
    np.testing.assert_array_equal(table[1], expected["admitted"])
    np.testing.assert_array_equal(table[0], expected["rejected"])
    assert [tuple(key) for key in table.index] == [tuple(k) for k in expected.index]


def test_simpsons_paradox():
    frame = load_berkeley_admissions().frame
    overall = frame.groupby("sex", observed=True)["admitted"].mean()
    assert overall.round(3).to_dict() == {"men": 0.445, "women": 0.304}
    rates = frame.groupby(["department", "sex"], observed=True)["admitted"].mean()
    lead_of_men = rates.unstack().diff(axis=1)["women"].mul(-1)
    assert lead_of_men[lead_of_men < 0].index.tolist() == ["A", "B", "D", "F"]
    assert lead_of_men.max() < 0.04


def test_follows_scikit_learn():
    berkeley = load_berkeley_admissions()
    assert berkeley.feature_names == ["department", "sex"]
    assert berkeley.target_names == ["admitted"]
    assert berkeley.sensitive_features == ["sex"]
    assert berkeley.target.dtype == "int64"
    assert "Simpson's paradox" in berkeley.DESCR
    assert "Science 187" in berkeley.DESCR
    X, y = load_berkeley_admissions(return_X_y=True)
    pd.testing.assert_frame_equal(X, berkeley.data)
    pd.testing.assert_series_equal(y, berkeley.target)


@pytest.mark.parametrize("name", ["return_X_y", "as_frame"])
def test_what_is_neither_true_nor_false_is_refused(name):
    with pytest.raises(ValueError, match=f"{name} must be True or False, got 'no'"):
        load_berkeley_admissions(**{name: "no"})


def test_arrays():
    berkeley = load_berkeley_admissions(as_frame=False)
    assert berkeley.frame is None
    assert berkeley.data.dtype == object
    X, y = load_berkeley_admissions(return_X_y=True, as_frame=False)
    np.testing.assert_array_equal(X, berkeley.data)
    np.testing.assert_array_equal(y, berkeley.target)
    assert set(X[:, 1]) == {"men", "women"}
    assert y.sum() == 1755

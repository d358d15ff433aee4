"""What all fetched tables share."""

import re
import warnings
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest

from skfair.datasets import (
    fetch_adult,
    fetch_bank_marketing,
    fetch_oulad,
)

FETCHERS = [fetch_adult, fetch_bank_marketing, fetch_oulad]


@pytest.mark.parametrize("fetch", FETCHERS)
def test_bunch_follows_scikit_learn(fetch, local_data):
    dataset = fetch()
    assert isinstance(dataset.data, pd.DataFrame)
    assert isinstance(dataset.target, pd.Series)
    assert dataset.feature_names == list(dataset.data.columns)
    assert dataset.target_names == [dataset.target.name]
    assert dataset.target.name not in dataset.data
    expected = dataset.data.assign(**{dataset.target.name: dataset.target})
    pd.testing.assert_frame_equal(dataset.frame, expected)
    assert set(dataset.sensitive_features) <= set(dataset.feature_names)
    for word in ("Source", "Citation", "Licence", "caveats"):
        assert word in dataset.DESCR


@pytest.mark.slow
@pytest.mark.parametrize("fetch", FETCHERS)
def test_arrays(fetch, local_data):
    frames, arrays = fetch(), fetch(as_frame=False)
    assert arrays.frame is None
    for name in ("data", "target"):
        assert isinstance(arrays[name], np.ndarray)
        pd.testing.assert_frame_equal(
            pd.DataFrame(arrays[name]), pd.DataFrame(frames[name].to_numpy())
        )
    assert arrays.feature_names == frames.feature_names
    X, y = fetch(return_X_y=True, as_frame=False)
    assert X.shape == frames.data.shape
    assert y.tolist() == frames.target.tolist()
    assert X.dtype == (float if fetch is fetch_oulad else object)


@pytest.mark.parametrize("fetch", FETCHERS)
def test_return_x_y(fetch, local_data):
    dataset = fetch()
    X, y = fetch(return_X_y=True)
    pd.testing.assert_frame_equal(X, dataset.data)
    pd.testing.assert_series_equal(y, dataset.target)


@pytest.mark.parametrize("fetch", FETCHERS)
def test_missing_file_is_named_with_what_there_is(fetch, monkeypatch, tmp_path, openml):
    (tmp_path / "other.csv.gz").touch()
    monkeypatch.setenv("SKFAIR_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"has other\.csv\.gz") as error:
        fetch()
    assert str(tmp_path) in str(error.value)
    assert openml == [], "the network must not be a silent second choice"


@pytest.mark.parametrize(
    ("fetch", "elsewhere"),
    [
        (fetch_adult, True),
        pytest.param(fetch_bank_marketing, False, marks=pytest.mark.slow),
        (fetch_oulad, False),
    ],
)
def test_a_file_in_data_home_is_read(fetch, elsewhere, local_data, monkeypatch, openml):
    expected = fetch()
    monkeypatch.delenv("SKFAIR_DATA")
    if elsewhere:  # the argument takes precedence over the environment
        monkeypatch.setenv("SKFAIR_DATA", str(local_data / "elsewhere"))
    pd.testing.assert_frame_equal(fetch(data_home=local_data).frame, expected.frame)
    pd.testing.assert_frame_equal(
        fetch(data_home=str(local_data)).frame, expected.frame
    )
    assert openml == []


def test_missing_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("SKFAIR_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="the directory does not exist"):
        fetch_adult()


def test_empty_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("SKFAIR_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"has no \.csv\.gz file"):
        fetch_adult()


@pytest.mark.parametrize(
    ("fetch", "file", "column"),
    [
        (fetch_adult, "adult", "race"),
        (fetch_bank_marketing, "bank_additional_full", "marital"),
        (fetch_oulad, "oulad_madd_bbb", "poverty"),
    ],
)
def test_missing_column_is_named(fetch, file, column, local_data):
    path = local_data / f"{file}.csv.gz"
    pd.read_csv(path).drop(columns=column).to_csv(path, index=False)
    with pytest.raises(ValueError, match=rf"without \['{column}'\]"):
        fetch()


@pytest.mark.parametrize(
    ("fetch", "file", "source"),
    [
        (fetch_adult, "adult", "C5XW20"),
        (fetch_bank_marketing, "bank_additional_full", "C5K306"),
    ],
)
def test_no_network_is_one_error_that_says_what_to_do(
    fetch, file, source, monkeypatch, local_data
):
    def fail(**options):
        warnings.warn("A network error occurred while downloading", stacklevel=1)
        raise URLError("no route to host")

    monkeypatch.delenv("SKFAIR_DATA", raising=False)
    monkeypatch.setattr("skfair.datasets._tables.fetch_openml", fail)
    message = rf"no route to host.*{source} as '{file}\.csv\.gz'.*set .* SKFAIR_DATA"
    with pytest.raises(ConnectionError, match=message) as error:
        fetch()
    table = pd.read_csv(local_data / f"{file}.csv.gz")
    columns = [name for name in table if name != "split"]
    assert f"the columns {', '.join(columns)}. Then" in str(error.value)
    missing = local_data / "missing"
    with pytest.raises(ConnectionError, match=re.escape(str(missing / file))):
        fetch(data_home=missing)

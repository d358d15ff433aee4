import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from skfair.datasets import fetch_adult, fetch_bank_marketing, fetch_oulad
from skfair.datasets._adult import COLUMNS as ADULT_COLUMNS
from skfair.datasets._bank_marketing import ADDITIONAL_COLUMNS, OLDER_COLUMNS
from skfair.datasets._oulad import COLUMNS as OULAD_FEATURES_AND_TARGET
from skfair.datasets._oulad import PROBABILITIES
from skfair.groups import encode_groups

REAL_DATA = Path(
    os.environ.get("SKFAIR_DATA")
    or Path(__file__).resolve().parents[3] / "shared" / "data"
)
needs_real_data = pytest.mark.skipif(
    not (REAL_DATA / "adult.csv.gz").is_file(),
    reason=f"no real data in {REAL_DATA}; set SKFAIR_DATA to their directory",
)

# fmt: off
ADULT_ROWS = [
    (39, "State-gov", 77516, "Bachelors", 13, "Never-married", "Adm-clerical",
     "Not-in-family", "White", "Male", 2174, 0, 40, "United-States", "<=50K"),
    (30, None, 141297, "Bachelors", 13, "Married-civ-spouse", None,
     "Husband", "Asian-Pac-Islander", "Male", 0, 0, 40, None, ">50K"),
    (28, "Private", 338409, "Bachelors", 13, "Married-civ-spouse", "Prof-specialty",
     "Wife", "Black", "Female", 0, 0, 40, "Cuba", "<=50K"),
]
BANK_ADDITIONAL_ROWS = [
    (56, "housemaid", "married", "basic.4y", "no", "no", "no", "telephone", "may",
     "mon", 261, 1, 999, 0, "nonexistent", 1.1, 93.994, -36.4, 4.857, 5191.0, "no"),
    (37, "admin.", "single", "unknown", "no", "yes", "no", "cellular", "nov",
     "fri", 500, 1, 3, 1, "success", -1.1, 94.767, -50.8, 1.028, 4963.6, "yes"),
]
BANK_OLDER_ROWS = [
    (58, "management", "married", "tertiary", "no", 2143, "yes", "no", "unknown", 5,
     "may", 261, 1, -1, 0, "unknown", "1"),
    (44, "admin.", "single", "secondary", "no", -29, "yes", "no", "cellular", 5,
     "may", 151, 1, 90, 2, "success", "2"),
]
OULAD_ROWS = [
    (0.0, 0.25, 0.0, 0.5, 1.0, 0.0, 0.05, 0.01, 0.0, "train", *[None] * 4),
    (1.0, 0.50, 1.0, 0.0, 0.0, 0.5, 0.15, 0.03, 1.0, "test", 1.0, 0.8, 0.7, 0.9),
]
# fmt: on
OULAD_COLUMNS = [*OULAD_FEATURES_AND_TARGET, "split", *PROBABILITIES]


def adult_table():
    return pd.DataFrame(ADULT_ROWS, columns=list(ADULT_COLUMNS))


def openml_adult():
    """The three rows as fetch_openml gives them: categories, floats, column class."""
    table = adult_table().rename(columns={"income": "class"})
    numbers = table.select_dtypes("number").columns
    return table.astype(
        {name: "float64" if name in numbers else "category" for name in table}
    )


def openml_bank():
    names = [*(f"V{i}" for i in range(1, 17)), "Class"]
    table = pd.DataFrame(BANK_OLDER_ROWS, columns=names)
    text = table.select_dtypes(exclude="number").columns
    return table.astype(dict.fromkeys(text, "category"))


@pytest.fixture(autouse=True)
def no_local_data(monkeypatch):
    monkeypatch.delenv("SKFAIR_DATA", raising=False)


@pytest.fixture
def local_data(monkeypatch, tmp_path):
    tables = {
        "adult": adult_table().assign(split=["train", "train", "test"]),
        "bank_additional_full": pd.DataFrame(
            BANK_ADDITIONAL_ROWS, columns=list(ADDITIONAL_COLUMNS)
        ),
        "oulad_madd_bbb": pd.DataFrame(OULAD_ROWS, columns=OULAD_COLUMNS),
    }
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv.gz", index=False)
    monkeypatch.setenv("SKFAIR_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def openml(monkeypatch):
    """Stand in for OpenML; returns the list of the calls."""
    calls = []
    tables = {1590: openml_adult(), 1461: openml_bank()}

    def fetch_openml(*, data_id, **options):
        calls.append({"data_id": data_id, **options})
        return Bunch(frame=tables[data_id].copy())

    monkeypatch.setattr("skfair.datasets._adult.fetch_openml", fetch_openml)
    monkeypatch.setattr("skfair.datasets._bank_marketing.fetch_openml", fetch_openml)
    return calls


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


def test_adult_same_from_file_and_openml(local_data, monkeypatch, openml):
    local = fetch_adult()
    monkeypatch.delenv("SKFAIR_DATA")
    remote = fetch_adult(data_home="somewhere")
    pd.testing.assert_frame_equal(local.frame, remote.frame)
    assert local.DESCR == remote.DESCR
    assert [(call["data_id"], call["data_home"]) for call in openml] == [
        (1590, "somewhere")
    ]


def test_adult_split_is_not_a_feature(local_data, monkeypatch, openml):
    dataset = fetch_adult()
    assert "split" not in dataset.data
    assert dataset.split.tolist() == ["train", "train", "test"]
    assert fetch_adult(as_frame=False).split.tolist() == ["train", "train", "test"]
    monkeypatch.delenv("SKFAIR_DATA")
    assert "split" not in fetch_adult()


def test_adult_spellings(local_data):
    path = local_data / "adult.csv.gz"
    table = pd.read_csv(path).fillna({"workclass": "?"})
    table["income"] = [" <=50K", " >50K", " <=50K."]
    table["race"] = " " + table["race"]
    table.to_csv(path, index=False)
    dataset = fetch_adult()
    assert dataset.target.tolist() == ["<=50K", ">50K", "<=50K"]
    assert dataset.data["race"].tolist() == ["White", "Asian-Pac-Islander", "Black"]
    assert dataset.data["workclass"].isna().tolist() == [False, True, False]


def test_missing_values_are_kept_and_noticed(local_data):
    X = fetch_adult().data
    assert X["native-country"].isna().tolist() == [False, True, False]
    with pytest.raises(ValueError, match="missing"):
        encode_groups(X["native-country"])


def test_none_is_a_category(local_data):
    path = local_data / "adult.csv.gz"
    table = pd.read_csv(path)
    table.loc[0, "occupation"] = "None"
    table.to_csv(path, index=False)
    assert fetch_adult().data["occupation"][0] == "None"


def test_a_subset_that_lost_a_group_still_knows_it(local_data):
    sex = fetch_adult().data["sex"]
    assert encode_groups(sex[:2]).labels == ("Female", "Male")


def test_bank_editions_are_told_apart(local_data, monkeypatch, openml):
    local = fetch_bank_marketing()
    assert local.feature_names == list(ADDITIONAL_COLUMNS[:-1])
    assert '"bank-additional-full" (2014)' in local.DESCR
    monkeypatch.delenv("SKFAIR_DATA")
    remote = fetch_bank_marketing(data_home="somewhere")
    assert remote.feature_names == list(OLDER_COLUMNS[:-1])
    assert 'NOT the table "bank-additional-full"' in remote.DESCR
    assert openml[0]["data_id"] == 1461
    assert local.sensitive_features == remote.sensitive_features


def test_bank_from_openml_gets_its_names_back(openml):
    dataset = fetch_bank_marketing()
    first = dataset.frame.iloc[0].to_dict()
    assert first == dict(
        zip(OLDER_COLUMNS, [*BANK_OLDER_ROWS[0][:-1], "no"], strict=True)
    )
    assert dataset.target.tolist() == ["no", "yes"]
    assert (dataset.data.dtypes.loc[["age", "balance", "pdays"]] == "int64").all()
    assert dataset.data["education"].cat.categories.tolist() == [
        "secondary",
        "tertiary",
    ]


def test_oulad_keeps_predictions_out_of_the_features(local_data):
    dataset = fetch_oulad()
    assert dataset.feature_names == OULAD_COLUMNS[:8]
    assert dataset.target.tolist() == [0, 1]
    assert dataset.split.tolist() == ["train", "test"]
    assert list(dataset.probabilities.columns) == list(PROBABILITIES)
    assert dataset.probabilities.isna().all(axis=1).tolist() == [True, False]
    assert dataset.probabilities.index.equals(dataset.data.index)
    arrays = fetch_oulad(as_frame=False)
    np.testing.assert_array_equal(arrays.probabilities[1], [1.0, 0.8, 0.7, 0.9])
    assert "MIXED ARRAYS" in dataset.DESCR


def test_oulad_of_ones_own_needs_no_predictions(local_data):
    path = local_data / "oulad_madd_bbb.csv.gz"
    table = pd.read_csv(path)[OULAD_COLUMNS[:9]]
    table.to_csv(local_data / "oulad_madd_fff.csv.gz", index=False)
    dataset = fetch_oulad(course="FFF", data_home=local_data)
    assert "split" not in dataset
    assert "probabilities" not in dataset
    assert "course FFF" in dataset.DESCR


def test_oulad_tells_where_to_get_the_data():
    with pytest.raises(FileNotFoundError, match=r"analyse\.kmi\.open\.ac\.uk") as error:
        fetch_oulad()
    assert "num_of_prev_attempts" in str(error.value)


def test_oulad_unknown_course():
    with pytest.raises(ValueError, match="course must be 'BBB' or 'FFF', got 'AAA'"):
        fetch_oulad(course="AAA")


@needs_real_data
def test_real_adult(monkeypatch):
    monkeypatch.setenv("SKFAIR_DATA", str(REAL_DATA))
    dataset = fetch_adult()
    assert dataset.data.shape == (48842, 14)
    assert dataset.data.isna().sum()[lambda n: n > 0].to_dict() == {
        "workclass": 2799,
        "occupation": 2809,
        "native-country": 857,
    }
    assert dataset.split.value_counts().to_dict() == {"train": 32561, "test": 16281}
    rich = (dataset.target == ">50K").astype(int)
    rates = rich.groupby(dataset.data["sex"], observed=True).mean()
    assert rates.round(3).to_dict() == {"Female": 0.109, "Male": 0.304}
    assert rich.mean() == pytest.approx(0.239, abs=5e-4)
    assert dataset.data["native-country"].value_counts().min() == 1
    assert dataset.frame.duplicated().sum() == 52


@needs_real_data
def test_real_bank_marketing(monkeypatch):
    monkeypatch.setenv("SKFAIR_DATA", str(REAL_DATA))
    dataset = fetch_bank_marketing()
    assert dataset.data.shape == (41188, 20)
    assert dataset.target.value_counts().to_dict() == {"no": 36548, "yes": 4640}
    assert not dataset.frame.isna().any(axis=None)
    assert dataset.frame.duplicated().sum() == 12
    assert dataset.data["education"].nunique() == 8
    assert dataset.data["pdays"].max() == 999


@needs_real_data
@pytest.mark.parametrize(
    ("course", "n_samples", "n_test", "men"),
    [("BBB", 5299, 1590, 0.12), ("FFF", 4740, 1422, 0.82)],
)
def test_real_oulad(course, n_samples, n_test, men, monkeypatch):
    monkeypatch.setenv("SKFAIR_DATA", str(REAL_DATA))
    dataset = fetch_oulad(course=course)
    assert dataset.data.shape == (n_samples, 8)
    assert dataset.data.min().min() == 0
    assert dataset.data.max().max() == 1
    assert dataset.data["gender"].mean() == pytest.approx(men, abs=0.005)
    predicted = dataset.probabilities.notna().all(axis=1)
    assert predicted.sum() == n_test
    assert predicted.equals((dataset.split == "test").rename(None))
    # P(y = 1) it is: each model ranks those who passed above those who did not.
    passed = dataset.target[predicted] == 1
    means = dataset.probabilities[predicted].groupby(passed).mean()
    assert (means.loc[True] > means.loc[False]).all()

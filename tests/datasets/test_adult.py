import pandas as pd
import pytest

from skfair.datasets import fetch_adult
from skfair.groups import encode_groups


@pytest.mark.slow
def test_adult_same_from_file_and_openml(local_data, monkeypatch, openml):
    local = fetch_adult()
    monkeypatch.delenv("SKFAIR_DATA")
    remote = fetch_adult(data_home="somewhere")
    pd.testing.assert_frame_equal(local.frame, remote.frame)
    assert local.DESCR == remote.DESCR
    assert [(call["data_id"], call["data_home"]) for call in openml] == [
        (1590, "somewhere")
    ]


@pytest.mark.slow
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

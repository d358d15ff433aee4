from skfair.datasets import fetch_bank_marketing
from skfair.datasets._tables import BANK_ADDITIONAL_COLUMNS as ADDITIONAL_COLUMNS
from skfair.datasets._tables import BANK_OLDER_COLUMNS as OLDER_COLUMNS


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


def test_bank_from_openml_gets_its_names_back(openml, bank_older_rows):
    dataset = fetch_bank_marketing()
    first = dataset.frame.iloc[0].to_dict()
    assert first == dict(
        zip(OLDER_COLUMNS, [*bank_older_rows[0][:-1], "no"], strict=True)
    )
    assert dataset.target.tolist() == ["no", "yes"]
    assert (dataset.data.dtypes.loc[["age", "balance", "pdays"]] == "int64").all()
    assert dataset.data["education"].cat.categories.tolist() == [
        "secondary",
        "tertiary",
    ]

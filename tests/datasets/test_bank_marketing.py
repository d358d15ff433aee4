import pytest

from skfair.datasets import fetch_bank_marketing

# As the files' own descriptions list them, the target last.
# fmt: off
ADDITIONAL_COLUMNS = [
    "age", "job", "marital", "education", "default", "housing", "loan", "contact",
    "month", "day_of_week", "duration", "campaign", "pdays", "previous", "poutcome",
    "emp.var.rate", "cons.price.idx", "cons.conf.idx", "euribor3m", "nr.employed",
    "y",
]
OLDER_COLUMNS = [
    "age", "job", "marital", "education", "default", "balance", "housing", "loan",
    "contact", "day", "month", "duration", "campaign", "pdays", "previous",
    "poutcome", "y",
]
# fmt: on


@pytest.mark.slow
def test_bank_editions_are_told_apart(local_data, monkeypatch, openml):
    local = fetch_bank_marketing()
    assert local.feature_names == ADDITIONAL_COLUMNS[:-1]
    assert '"bank-additional-full" (2014)' in local.DESCR
    monkeypatch.delenv("SKFAIR_DATA")
    remote = fetch_bank_marketing(data_home="somewhere")
    assert remote.feature_names == OLDER_COLUMNS[:-1]
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

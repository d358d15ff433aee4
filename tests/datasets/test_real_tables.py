"""The real tables, against their published counts."""

import pytest

from skfair.datasets import fetch_adult, fetch_bank_marketing, fetch_oulad


@pytest.fixture(autouse=True)
def read_real_tables(no_local_data, real_tables, monkeypatch):
    monkeypatch.setenv("SKFAIR_DATA", str(real_tables))


@pytest.mark.slow
def test_real_adult():
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


@pytest.mark.slow
def test_real_bank_marketing():
    dataset = fetch_bank_marketing()
    assert dataset.data.shape == (41188, 20)
    assert dataset.target.value_counts().to_dict() == {"no": 36548, "yes": 4640}
    assert not dataset.frame.isna().any(axis=None)
    assert dataset.frame.duplicated().sum() == 12
    assert dataset.data["education"].nunique() == 8
    assert dataset.data["pdays"].max() == 999


@pytest.mark.parametrize(
    ("course", "n_samples", "n_test", "men"),
    [("BBB", 5299, 1590, 0.12), ("FFF", 4740, 1422, 0.82)],
)
def test_real_oulad(course, n_samples, n_test, men):
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

import pandas as pd
import pytest
from sklearn.utils import Bunch

ADULT_COLUMNS = [
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status"),
    *("occupation", "relationship", "race", "sex", "capital-gain", "capital-loss"),
    *("hours-per-week", "native-country", "income"),
]
ADDITIONAL_COLUMNS = [
    *("age", "job", "marital", "education", "default", "housing", "loan", "contact"),
    *("month", "day_of_week", "duration", "campaign", "pdays", "previous", "poutcome"),
    *("emp.var.rate", "cons.price.idx", "cons.conf.idx", "euribor3m", "nr.employed"),
    "y",
]

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
OULAD_COLUMNS = [
    *("gender", "highest_education", "poverty", "age", "disability"),
    *("num_of_prev_attempts", "studied_credits", "sum_click", "final_result"),
    *("split", "proba_DT", "proba_KN", "proba_LR", "proba_NB"),
]


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

    monkeypatch.setattr("skfair.datasets._tables.fetch_openml", fetch_openml)
    return calls


@pytest.fixture
def bank_older_rows():
    """The rows behind the table that `openml` gives."""
    return BANK_OLDER_ROWS

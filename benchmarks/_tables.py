"""Tables of the benchmarks of mitigators, beside Adult and Bank Marketing.

Groups are not features. Files are read from the directory that SKFAIR_DATA names.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pandas as pd
from _files import find_table
from _paper_protocol import Rows, Split, Task, load_task, split

TABLES = ("adult", "bank", "census", "nist", "diabetes", "oulad")
#: Others, of `split_table`.
SMALLER = ("law", "crime", "german")
#: Tables that no parameter of a repair was chosen on, with some of the above.
MORE_TABLES = ("law by race", "law by sex", "crime by state")


@cache
def load_table(name: str) -> Task:
    """Read one of `TABLES`, `SMALLER` or `MORE_TABLES`."""
    if name in ("adult", "bank"):
        return load_task(name)
    others = {
        "census": _census,
        "nist": _nist,
        "diabetes": _diabetes,
        "oulad": _oulad,
        "law": _law,
        "crime": partial(_crime, []),
        "german": _german,
        "law by race": partial(_law_by, "race"),
        "law by sex": partial(_law_by, "male"),
        "crime by state": partial(_crime, ["state"]),
    }
    return others[name]()


def split_table(name: str, seed: int, n_train: int | None = None) -> Split:
    """Split 40/30/30 by label, as `split`, after drawing rows for `n_train` of them."""
    task = load_table(name)
    if n_train is not None and n_train / 0.4 < len(task.y):
        drawn = np.random.default_rng(seed).permutation(len(task.y))
        drawn = drawn[: round(n_train / 0.4)]
        X = task.X.iloc[drawn].reset_index(drop=True)
        task = Task(X, task.numeric, task.y[drawn], task.groups[drawn])
    return split(task, seed)


def _census() -> Task:
    """US census 1990: people of 16 or more at work; income above their median; sex."""
    table = read_table("us_census_1990_raw_50k.csv.gz", "UCI, US Census Data (1990)")
    table = table[(table["AGE"] >= 16) & (table["WORKLWK"] == 1)]
    y = table["RPINCOME"] > table["RPINCOME"].median()
    categories = ["CLASS", "MARITAL", "MEANS", "RACE", "SCHOOL", "MILITARY", "ENGLISH"]
    numbers = ["AGE", "YEARSCH", "HOURS", "TRAVTIME", "ROWNCHLD", "OCCUP", "INDUSTRY"]
    sex = table["SEX"].map({0: "male", 1: "female"})
    return _task(table, numbers, categories, y, sex)


def _nist() -> Task:
    """NIST excerpt of ACS 2019: adults; income above their median; sex."""
    table = read_table("nist_acs_2019_national.csv.gz", "NIST, doi:10.18434/mds2-2895")
    table = table[(table["AGEP"] >= 18) & table["PINCP"].notna()]
    y = table["PINCP"] > table["PINCP"].median()
    categories = ["MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "INDP_CAT", "PUMA"]
    numbers = ["AGEP", "EDU", "NOC", "NPF", "DENSITY", "DPHY", "DREM", "DEYE", "DEAR"]
    sex = table["SEX"].map({1: "male", 2: "female"})
    return _task(table, numbers, categories, y, sex)


def _diabetes() -> Task:
    """Diabetes in 130 US hospitals: first encounters; readmitted at all; gender."""
    table = read_table("diabetes_130_us_hospitals.csv.gz", "UCI, doi:10.24432/C5230J")
    table = table[table["gender"].isin(["Female", "Male"])]
    table = table.drop_duplicates("patient_nbr").copy()
    table["years"] = table["age"].str.extract(r"(\d+)", expand=False).astype(int)
    for name in ("admission_type_id", "admission_source_id"):
        table[name] = table[name].astype(str)
    categories = ["race", "admission_type_id", "admission_source_id", "A1Cresult"]
    categories += ["max_glu_serum", "insulin", "metformin", "change", "diabetesMed"]
    numbers = ["years", *table.columns[table.columns.str.startswith(("num", "time"))]]
    y = table["readmitted"] != "NO"
    return _task(table, numbers, categories, y, table["gender"])


def _oulad() -> Task:
    """Students of the Open University; passed or better; the more deprived half."""
    table = read_table("oulad_studentclick.csv.gz", "OULAD, doi:10.1038/sdata.2017.171")
    table = table[table["imd_band"].notna()]
    y = table["final_result"].isin(["Pass", "Distinction"])
    categories = ["code_module", "code_presentation", "region", "highest_education"]
    categories += ["gender", "age_band", "disability"]
    numbers = ["num_of_prev_attempts", "studied_credits", "sum_click"]
    band = table["imd_band"].str.extract(r"(\d+)", expand=False).astype(int)
    return _task(table, numbers, categories, y, (band < 50).map(str))


def _law() -> Task:
    """Law students; passed the bar; white or not."""
    table = _law_students()
    table = table[table["race"].isin(["White", "Non-White"])]
    numbers = ["lsat", "ugpa", "zfygpa", "zgpa", "fulltime", "fam_inc", "male", "tier"]
    return _task(table, numbers, [], table["pass_bar"] == 1, table["race"] == "White")


def _law_by(group: str) -> Task:
    """Law students; passed the bar; race, or sex, which is then no feature."""
    table = _law_students()
    numbers = ["decile1b", "decile3", "lsat", "ugpa", "zfygpa", "zgpa", "fulltime"]
    numbers += ["fam_inc", *["male"] * (group != "male")]
    groups = table[group].astype(str)
    return _task(table, numbers, ["tier"], table["pass_bar"] == 1, groups)


def _law_students() -> pd.DataFrame:
    """Read the Bar Passage Study of 1998."""
    return read_table("law_school.csv.gz", "LSAC, Bar Passage Study (1998)")


def _crime(categories: list[str]) -> Task:
    """Communities; more violent crime than the median; more Black people than it.

    The state is a category, or a number.
    """
    table = read_table("communities_crime.csv.gz", "UCI, doi:10.24432/C53W3X")
    crimes = table["ViolentCrimesPerPop"]
    left_out = ["communityname", "fold", "ViolentCrimesPerPop", "Black", "class"]
    features = table.drop(columns=[*left_out, "racepctblack"])
    numbers = [name for name in features if name not in categories]
    groups = table["Black"].astype(str) if categories else table["Black"]
    return _task(table, numbers, categories, crimes > crimes.median(), groups)


def _german() -> Task:
    """German credit: good risks; sex, which `personal_status_sex` would tell."""
    table = read_table("german_credit.csv.gz", "UCI, doi:10.24432/C5NC77")
    left_out = ("class", "sex", "personal_status_sex")
    names = [name for name in table if name not in left_out]
    numbers = [name for name in names if table[name].dtype.kind in "if"]
    categories = [name for name in names if name not in numbers]
    return _task(table, numbers, categories, table["class"] == 1, table["sex"])


def _task(
    table: pd.DataFrame,
    numbers: list[str],
    categories: list[str],
    y: pd.Series,
    groups: pd.Series,
) -> Task:
    """One column for each category; missing numbers are -1, which trees can tell."""
    X = table[numbers].fillna(-1).astype(float)
    if categories:
        dummies = pd.get_dummies(table[categories].astype(str), dtype=float)
        X = pd.concat([X, dummies], axis=1)
    X = X.reset_index(drop=True)
    return Task(X, numbers, y.to_numpy(int), groups.to_numpy(object))


def read_table(filename: str, source: str) -> pd.DataFrame:
    """Read a file of the directory, in which only empty cells are missing values."""
    return pd.read_csv(
        find_table(filename, source=source),
        keep_default_na=False,
        na_values=[""],
        low_memory=False,
    )


__all__ = [
    "MORE_TABLES",
    "TABLES",
    "Rows",
    "Split",
    "Task",
    "load_table",
    "read_table",
    "split_table",
]

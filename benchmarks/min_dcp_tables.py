"""Tables 9 and 10 of the DCP paper: minDCP of frequencies that are published.

    python benchmarks/min_dcp_tables.py elections    # table 9, about five minutes
    python benchmarks/min_dcp_tables.py education    # table 10, about three minutes

Nothing depends on the clock: each search ends after a fixed number of steps.
`elections` takes each general election of the UK as a prediction of the next, with the
regions as groups (section 7.2). It downloads the votes of all constituencies from the
House of Commons Library (CBP-8647). `education` takes the educational attainment of
adults in a period as a prediction of the next, with the states of the US as groups
(appendix B). It downloads the table of the USDA Economic Research Service.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pandas as pd
from _files import download

from skfair.metrics import min_dcp_bounds

ELECTIONS = (
    "https://researchbriefings.files.parliament.uk/documents/CBP-8647/"
    "1918-2019election_results.csv"
)
EDUCATION = "https://www.ers.usda.gov/webdocs/DataFiles/48747/Education.csv"
PARTIES = ["con_votes", "lib_votes", "lab_votes", "oth_votes"]
#: Tables 9 and 10 of the paper, in per cent, by the later election or period.
# fmt: off
PRINTED = {
    "1922": 6.36, "1923": 8.57, "1924": 3.26, "1929": 4.92, "1931": 5.14, "1935": 3.11,
    "1945": 5.69, "1950": 4.75, "1951": 3.79, "1955": 5.54, "1959": 2.40, "1964": 2.16,
    "1966": 1.37, "1970": 1.32, "1974F": 2.69, "1974O": 6.28, "1979": 3.67,
    "1983": 3.23, "1987": 1.43, "1992": 4.21, "1997": 5.25, "2001": 5.25, "2005": 4.83,
    "2010": 5.26, "2015": 3.96, "2017": 5.54, "2019": 5.24,
    # education
    "1980": 2.38, "1990": 2.94, "2000": 2.22,
}
# fmt: on


def read_elections(path: Path) -> dict[str, pd.DataFrame]:
    """Read the shares of parties where there is a turnout, by election.

    As in the paper's code a region has the mean of the shares of its constituencies,
    and nationalists of Scotland and Wales are not counted.
    """
    table = pd.read_csv(path, encoding="cp1252", low_memory=False, dtype=str)
    table.columns = table.columns.str.strip()
    table = table.apply(lambda column: column.str.strip())
    numbers = [*PARTIES, "total_votes", "turnout"]
    table[numbers] = table[numbers].apply(pd.to_numeric, errors="coerce")
    table = table.dropna(subset=["total_votes", "turnout"])
    votes = table[PARTIES].fillna(0)
    table[PARTIES] = votes.div(votes.sum(axis=1), axis=0)
    for name in ("constituency_name", "country/region"):
        table[name] = table[name].str.upper()
    return dict(iter(table.groupby("election")))


def elections() -> dict[str, list[pd.DataFrame | pd.Series]]:
    """Votes of regions, sums of shares, and those of the election before, by year."""
    parts = read_elections(download(ELECTIONS, "1918-2019election_results.csv"))
    pairs = {}
    for before, after in zip(list(parts)[:-1], list(parts)[1:], strict=True):
        both = parts[after].merge(
            parts[before], on=["constituency_name", "country/region"]
        )
        regions = both.groupby("country/region")
        pairs[after] = [
            regions["total_votes_x"].sum(),
            regions[[f"{party}_x" for party in PARTIES]].sum(),
            regions[[f"{party}_y" for party in PARTIES]].sum(),
        ]
    return pairs


def read_education(path: Path) -> dict[str, pd.DataFrame]:
    """Read the numbers of adults of four levels in each state, by period."""
    table = pd.read_csv(path, encoding="latin-1", thousands=",")
    table = table.rename(columns=lambda name: name.strip())
    if "State" not in table:
        raise ValueError(
            f"{path} must be the table of educational attainment of the USDA Economic "
            f"Research Service, with a column 'State', got {list(table)[:5]}."
        )
    codes = table.iloc[:, 0].astype(int)
    # Rows of states; Puerto Rico (72) has no first period.
    states = (codes % 1000 == 0) & (codes > 0) & (codes < 72_000)
    table = table[states].set_index("State")
    periods: dict[str, list[str]] = {}
    for name in table:
        period = re.search(r", (\d{4}(?:-\d+)?)$", str(name))
        if period and not name.startswith("Percent"):
            periods.setdefault(period[1], []).append(name)
    return {period: table[levels] for period, levels in periods.items()}


def education() -> dict[str, list[pd.DataFrame | pd.Series]]:
    """Sizes of states, levels and levels of the period before, by period."""
    parts = read_education(download(EDUCATION, "Education.csv"))
    return {
        after: [parts[after].sum(axis=1), parts[after], parts[before]]
        for before, after in zip(list(parts)[:-1], list(parts)[1:], strict=True)
    }


def main() -> None:
    """Print the interval of each pair beside the printed value."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    tables = {"elections": elections, "education": education}
    parser.add_argument("table", choices=tables)
    print("| later year | printed, % | minDCP, interval, % |\n|---|---|---|")
    for year, (sizes, *counts) in tables[parser.parse_args().table]().items():
        shares = [part.div(part.sum(axis=1), axis=0).to_numpy() for part in counts]
        result = min_dcp_bounds(sizes.to_numpy(), *shares, random_state=0)
        printed = f"{PRINTED[year]:.2f}" if year in PRINTED else ""
        interval = f"{100 * result.lower:.2f} to {100 * result.upper:.2f}"
        print(f"| {year} | {printed} | {interval} |", flush=True)


if __name__ == "__main__":
    main()

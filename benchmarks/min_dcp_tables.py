"""Least DCP of real frequencies: UK elections, and education in US states.

    SKFAIR_DATA=path/to/tables python benchmarks/min_dcp_tables.py uk
    SKFAIR_DATA=path/to/tables python benchmarks/min_dcp_tables.py education

`uk`: each UK general election "predicted" by the one before it, by region, from
``uk_min_dcp_inputs.json`` (derived from House of Commons Library CBP-8647), as in
section 7.2 of Sabato, Treister, Yom-Tov, ICML 2025. `education`: the educational
attainment of adults by US state, each period predicted by the one before it
(``usda_education_states.csv.gz``, USDA Economic Research Service), as in appendix B.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import pandas as pd
from _files import find_table

from skfair.metrics import min_dcp_bounds

NAMES = "group_weights", "label_frequencies", "prediction_frequencies"


def elections() -> dict[str, dict[str, Any]]:
    """Pairs of consecutive UK elections, by the year of the later one."""
    path = find_table(
        "uk_min_dcp_inputs.json",
        source="House of Commons Library, CBP-8647 (votes by region and party: an "
        f"entry for each pair of elections, with {', '.join(NAMES)})",
    )
    pairs = json.loads(path.read_text())
    # The second election of 1974 is coded as 1975 in the file.
    return {
        name.split("_")[-1].replace("1975", "1974 Oct"): pair
        for name, pair in pairs.items()
    }


def education() -> dict[str, dict[str, Any]]:
    """Pairs of consecutive periods of US states; Puerto Rico has no first period."""
    path = find_table(
        "usda_education_states.csv.gz",
        source="https://www.ers.usda.gov/data-products/county-level-data-sets (columns "
        "state, year, and four levels of education)",
    )
    table = pd.read_csv(path)
    levels = list(table.columns[-4:])
    periods = {
        str(year): part.set_index("state")[levels].dropna()
        for year, part in table.groupby("year", sort=True)
    }
    first = next(iter(periods.values())).index
    pairs = {}
    for before, after in zip(list(periods)[:-1], list(periods)[1:], strict=True):
        shared = first.intersection(periods[after].index)
        now, then = periods[after].loc[shared], periods[before].loc[shared]
        pairs[after] = {
            "group_weights": now.sum(axis=1).to_numpy(),
            "label_frequencies": now.div(now.sum(axis=1), axis=0).to_numpy(),
            "prediction_frequencies": then.div(then.sum(axis=1), axis=0).to_numpy(),
        }
    return pairs


def main() -> None:
    """Bound each pair, beside the printed value and the best of eleven starts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    sources = {"uk": elections, "education": education}
    parser.add_argument("data", choices=sources)
    parser.add_argument("--seconds", type=float, default=6.0, help="for each pair")
    options = parser.parse_args()
    for name, pair in sources[options.data]().items():
        arguments = [pair[key] for key in NAMES]
        limits = {"time_limit": options.seconds, "random_state": 0}
        result = min_dcp_bounds(*arguments, **limits)
        print(
            f"{name:10s} {100 * result.lower:.2f} to {100 * result.upper:.2f} %", end=""
        )
        if "table_9_percent" in pair:
            best = pair["best_of_eleven_starts_percent"]
            printed = pair["table_9_percent"]
            print(f"   printed {printed:.2f}, best of eleven starts {best:.2f}", end="")
        print(flush=True)


if __name__ == "__main__":
    main()

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

import numpy as np
import pandas as pd

from skfair.datasets._tables import find_table
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


def bound(pairs: dict[str, dict[str, Any]], time_limit: float) -> pd.DataFrame:
    """Interval of minDCP for each pair, and the value printed in the paper."""
    rows = {}
    for name, pair in pairs.items():
        result = min_dcp_bounds(
            *(pair[key] for key in NAMES), time_limit=time_limit, random_state=0
        )
        rows[name] = {
            "lower": result.lower,
            "upper": result.upper,
            "printed": pair.get("table_9_percent", np.nan) / 100,
        }
        print(
            f"{name:10s} {result.lower:.4f} to {result.upper:.4f}"
            + (
                ""
                if np.isnan(rows[name]["printed"])
                else f"   printed {rows[name]['printed']:.4f}"
            ),
            flush=True,
        )
    return pd.DataFrame.from_dict(rows, orient="index")


def draw(table: pd.DataFrame, title: str, path: str) -> None:
    """Draw the intervals over the years."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(max(6, 0.36 * len(table)), 4), layout="constrained")
    x = np.arange(len(table))
    ax.vlines(
        x,
        100 * table["lower"],
        100 * table["upper"],
        color="#0072B2",
        linewidth=5,
        label="certified interval",
    )
    # Where the bounds are equal the line has no length: mark its ends.
    ends = 100 * np.concatenate([table["lower"], table["upper"]])
    ax.plot(np.tile(x, 2), ends, "_", color="#0072B2", markersize=9, clip_on=False)
    if table["printed"].notna().any():
        ax.plot(
            x, 100 * table["printed"], "o", color="#D55E00", label="printed, Table 9"
        )
    ax.set_xticks(x, table.index, rotation=90)
    ax.set(ylabel="minDCP (% of people)", title=title)
    ax.set_ylim(bottom=0)
    ax.legend()
    ax.figure.savefig(path, dpi=150)
    print(f"\nPicture: {path}")


def main() -> None:
    """Bound each pair, and draw the intervals."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    sources = {"uk": elections, "education": education}
    parser.add_argument("data", choices=sources)
    parser.add_argument("--picture", default="min_dcp.png")
    parser.add_argument(
        "--seconds", type=float, default=6.0, help="limit for each pair"
    )
    arguments = parser.parse_args()
    try:
        pairs = sources[arguments.data]()
    except OSError as error:  # no such table
        raise SystemExit(f"{parser.prog}: {error}") from None
    table = bound(pairs, arguments.seconds)
    title = f"Least DCP that the frequencies allow: {arguments.data}"
    draw(table, title, arguments.picture)


if __name__ == "__main__":
    main()

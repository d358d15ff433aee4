"""Areas of paths of repair around the same frozen models, and of parts of the band.

    SKFAIR_DATA=<folder of the tables> python benchmarks/repair_areas.py [--seeds 0,1]

Seventeen tables, those of `benchmarks/tables` and seven of `_tables.py`, around a
logistic regression and a LightGBM of 80 trees, split and cut as `any_tables.py` does.
Each way of `_repair_ways.py` repairs the test scores by what the validation scores
tell, to four shares of their gap. Areas are those of `fair_models.py`; standard errors
are over cells, of which each is the mean of its seeds.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import fair_models
import numpy as np
import pandas as pd
from _paper_protocol import Rows, split
from _repair_ways import SHARES_LEFT, WAYS
from _tables import load_table
from any_tables import read_task
from fair_models import area, make_plain, point, positive

SHARED = ("adult", "bank", "census", "nist", "diabetes", "oulad", "crime by state")
#: Most rows that are trained on and repaired by, and most that are measured.
N_ROWS, N_TEST = 3000, 12_000


def areas(task: Any, seed: int) -> dict[str, float]:
    """Area of each way around one model."""
    parts = split(task, seed)
    train, validation, test = (
        Rows(*(part[:n_rows] for part in rows))
        for rows, n_rows in zip(parts, (N_ROWS, N_ROWS, N_TEST), strict=True)
    )
    model = make_plain().fit(train.X, train.y)
    held_out, scores = positive(model, validation), positive(model, test)
    plain, groups = point(test, scores), validation.groups
    return {
        name: area(
            plain,
            [
                point(test, way(held_out, groups, share)(scores, test.groups))
                for share in SHARES_LEFT
            ],
        )
        for name, way in WAYS.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0,1")
    seeds = [int(seed) for seed in parser.parse_args().seeds.split(",")]
    described = sorted((Path(__file__).parent / "tables").glob("*.toml"))
    tables = {path.stem: read_task(path) for path in described}
    tables |= {name: load_table(name) for name in SHARED}
    warnings.simplefilter("ignore")
    lines = {}
    for name, task in tables.items():
        for around in fair_models.MODELS:
            fair_models.around = around
            means = pd.DataFrame([areas(task, seed) for seed in seeds]).mean()
            lines[name, around] = means
            print(name, around, means.round(3).to_dict(), flush=True)
    every = pd.DataFrame(lines).T
    print(every.mean().round(4).to_string())
    for way in list(WAYS)[1:]:
        behind = every[way] - every["band"]
        error = behind.std(ddof=1) / np.sqrt(len(behind))
        print(f"{way} minus band: {behind.mean():+.4f} +- {error:.4f}")


if __name__ == "__main__":
    main()

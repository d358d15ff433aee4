"""Trains fair classifiers by the paper's protocol, and prints a table as its Table 1.

    python benchmarks/diffmcdp_table.py                    # about eight minutes
    python benchmarks/diffmcdp_table.py --network paper    # about 25 minutes

Adult comes from OpenML, Bank Marketing from UCI, or both from the folder that the
environment variable SKFAIR_DATA names.

For each seed and row, the plain model and one model per strength are fitted; the
fairest with 95 % of the plain AP on the validation rows is measured on the test rows.
The table is printed as Markdown, with the rows that the paper prints.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from _paper_protocol import (
    DATASETS,
    MEASURES,
    PRINTED,
    SEEDS,
    Split,
    load_task,
    measure_split,
    select,
    split,
)
from sklearn.exceptions import ConvergenceWarning

from skfair.inprocessing import DiffMCDPClassifier

NETWORKS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {
        "hidden_layer_sizes": (512, 256, 64),
        "dropout": 0.5,  # of its code; its text says 256 units and names no dropout
        "learning_rate_init": (1e-3, 1e-4, 1e-5),
        "max_iter": 150,
    },
}
STRENGTHS = {
    "DiffDP": (0.2, 0.4, 0.6, 0.8, 1.0, 1.4, 2.0, 3.0),
    "DiffABCC": (0.2, 0.4, 0.6, 0.8, 1.0, 1.4, 2.0, 3.0),
    "DiffMCDP": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0),
}
ROWS = ("ERM", *STRENGTHS)


def make_model(row: str, strength: float, network: str, seed: int) -> Any:
    return DiffMCDPClassifier(
        strength=strength,
        objective=row.removeprefix("Diff").lower() if row != "ERM" else "mcdp",
        validation_fraction=None,  # a comparison takes as long as the training
        random_state=seed,
        **NETWORKS[network],
    )


def fit_and_measure(
    dataset: str, row: str, strength: float, network: str, seed: int
) -> dict[str, Any]:
    parts = Split(
        *(
            rows._replace(X=rows.X.astype(np.float32))
            for rows in split(load_task(dataset), seed)
        )
    )
    model = make_model(row, strength, network, seed)
    start = time.perf_counter()
    model.fit(parts.train.X, parts.train.y, sensitive_features=parts.train.groups)
    seconds = time.perf_counter() - start
    key = {"dataset": dataset, "row": row, "strength": strength, "seed": seed}
    return {**key, "seconds": seconds, **measure_split(parts, model)}


def candidates(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Fit every model that is asked for, and say so."""
    for dataset in options.datasets:
        for row in dict.fromkeys(["ERM", *options.rows]):
            for strength in STRENGTHS.get(row, (0.0,)):
                found = []
                for seed in options.seeds:
                    found.append(
                        fit_and_measure(dataset, row, strength, options.network, seed)
                    )
                    yield found[-1]
                mean = pd.DataFrame(found).mean(numeric_only=True)
                print(
                    f"{dataset:6s} {row:20s} strength {strength:<5g} "
                    f"AP {mean['test_ap']:.3f}  MCDP(0) {mean['test_mcdp']:.3f}  "
                    f"{mean['seconds']:.1f} s a fit",
                    flush=True,
                )


def selected(found: pd.DataFrame) -> pd.DataFrame:
    """Choose a candidate for each dataset, row and seed."""
    chosen = []
    for (dataset, _, seed), models in found.groupby(["dataset", "row", "seed"]):
        of_seed = found[(found["dataset"] == dataset) & (found["seed"] == seed)]
        plain = of_seed[of_seed["row"] == "ERM"].iloc[0]
        chosen.append(select(models, plain["validation_ap"]))
    return pd.DataFrame(chosen)


def table_of(chosen: pd.DataFrame, rows: list[str]) -> pd.DataFrame:
    """Means and deviations of the measures, in per cent, with the paper's rows."""
    lines = []
    for dataset in chosen["dataset"].unique():
        for row in rows:
            models = chosen[(chosen["dataset"] == dataset) & (chosen["row"] == row)]
            line = {"dataset": dataset, "model": row}
            for name in MEASURES:
                values = 100 * models[f"test_{name}"]
                line[name], line[f"{name}_sd"] = values.mean(), values.std(ddof=0)
            strengths = models["strength"].unique()
            line["strength"] = ", ".join(f"{value:g}" for value in sorted(strengths))
            lines.append(line)
        for row, printed in PRINTED[dataset].items():
            line = {"dataset": dataset, "model": f"{row} (printed)"}
            for name, (mean, deviation) in zip(MEASURES, printed, strict=True):
                line[name], line[f"{name}_sd"] = mean, deviation
            lines.append(line)
    return pd.DataFrame(lines).fillna({"strength": ""})


def as_markdown(table: pd.DataFrame) -> str:
    head = ["dataset", "model", "AP", "DeltaDP", "ABCC", "MCDP(0)", "strength"]
    lines = [head, ["---"] * len(head)]
    for _, line in table.iterrows():
        cells = [f"{line[name]:.2f} ± {line[f'{name}_sd']:.2f}" for name in MEASURES]
        lines.append([line["dataset"], line["model"], *cells, line["strength"]])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=DATASETS)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=ROWS)
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--network", choices=tuple(NETWORKS), default="default")
    return parser.parse_args()


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    models = pd.DataFrame(candidates(parse_options()))
    rows = list(dict.fromkeys(models["row"]))
    print("\n" + as_markdown(table_of(selected(models), rows)))


if __name__ == "__main__":
    main()

"""Tables 3 and 5 of the MADD paper: four models of two courses, by three attributes.

    python benchmarks/madd_tables.py    # about a minute

Downloads the attributes of the test rows and the probabilities that the paper's authors
published with their code. These are P(y = 1) where the attribute is 1 and P(y = 0)
where it is 0, and the paper compares them so. Printed here are the paper's value and
interval of bandwidths; those of the same comparison; and MADD of P(y = 1) in both
groups, as it is defined, beside its mean where groups are shuffled.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _files import download

from skfair.metrics import madd, madd_optimal_bandwidth, permutation_test

SOURCE = (
    "https://raw.githubusercontent.com/melinaverger/MADD/"
    "3cc183f893696b239c249a564e6a2d6d76ad99b1/JEDM2024/optimal_bandwidth"
)
GROUPS = ("gender", "poverty", "disability")
#: The package of the authors asks for an interval of bandwidths of this length.
LENGTH = 0.05
#: Value and left end of the interval, by gender, poverty and disability.
PRINTED = {
    "BBB": {
        "LR": ((1.71, 0.013), (1.85, 0.015), (1.55, 0.010)),
        "KN": ((1.13, 0.002), (1.12, 0.002), (0.93, 0.002)),
        "DT": ((0.69, 0.002), (0.85, 0.002), (0.65, 0.002)),
        "NB": ((0.47, 0.012), (0.87, 0.002), (1.39, 0.002)),
    },
    "FFF": {
        "LR": ((1.14, 0.015), (0.98, 0.015), (0.92, 0.015)),
        "KN": ((1.06, 0.002), (0.93, 0.002), (0.78, 0.002)),
        "DT": ((0.76, 0.003), (0.65, 0.002), (0.55, 0.002)),
        "NB": ((0.57, 0.012), (0.46, 0.010), (0.82, 0.012)),
    },
}


class ArraysOnly(pickle.Unpickler):
    """Reads a pickle that holds arrays of NumPy, and nothing that could run."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what a pickle of an array names."""
        if module.partition(".")[0] == "numpy" and name in (
            "_reconstruct",
            "ndarray",
            "dtype",
            "scalar",
            "_frombuffer",
        ):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is no part of an array.")


def read_array(path: Path) -> np.ndarray:
    """Read an array from a pickle."""
    with path.open("rb") as file:
        return np.asarray(ArraysOnly(file).load(), float).ravel()


def read_course(course: str) -> tuple[pd.DataFrame, dict[tuple[str, str], np.ndarray]]:
    """Read the attributes of test rows, and published arrays by model and attribute."""
    table = pd.read_csv(
        download(
            f"{SOURCE}/data_course{course}/X_test_stClick_7030.csv",
            f"madd_{course}.csv",
        )
    )
    arrays = {}
    for model in PRINTED[course]:
        for group in GROUPS:
            file = f"y_pp_{model}_{group}"
            address = f"{SOURCE}/data_EDM23_{course[0].lower()}/{file}"
            arrays[model, group] = read_array(
                download(address, f"madd_{course}_{file}.pickle")
            )
    return table, arrays


def cell(groups: np.ndarray, published: np.ndarray) -> str:
    """Return what is measured for a model and an attribute."""
    mixed = published.round(12).clip(0, 1)
    rows = {"sensitive_features": groups}
    h_sup = madd_optimal_bandwidth(None, mixed, **rows).h_sup
    found = madd_optimal_bandwidth(None, mixed, **rows, min_length=LENGTH / h_sup)
    low, high = found.interval
    scores = np.where(groups == 1, published, 1 - published).round(12).clip(0, 1)
    test = permutation_test(madd, None, scores, **rows, random_state=0)
    same = f"{found.value:.3f}, [{low:.3f}, {high:.3f}]"
    return f"{same} | {test.value:.2f} ({test.null_mean:.2f})"


def main() -> None:
    """Print both tables in one."""
    print(
        "| course, model, attribute | printed | the same comparison | MADD (chance) |"
    )
    print("|---|---|---|---|")
    for course, models in PRINTED.items():
        table, arrays = read_course(course)
        for model, values in models.items():
            for group, (value, left) in zip(GROUPS, values, strict=True):
                measured = cell(table[group].to_numpy(), arrays[model, group])
                printed = f"{value:.2f}, [{left:.3f}, ...]"
                print(f"| {course}, {model}, {group} | {printed} | {measured} |")


if __name__ == "__main__":
    main()

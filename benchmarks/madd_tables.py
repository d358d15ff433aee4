"""Tables 3 and 5 of the MADD paper, and the figures of its figure 19.

    python benchmarks/madd_tables.py             # tables 3 and 5, about a minute
    python benchmarks/madd_tables.py figure19    # ten seconds

Downloads what the paper's authors published with their code. Tables 3 and 5 are of four
models of two courses, by three attributes of the test rows. The probabilities are those
of y = 1 where the attribute is 1 and of y = 0 where it is 0, and the paper compares
them so. Printed here are the paper's value and interval of bandwidths; those of the
same comparison; and MADD of P(y = 1) in both groups, as it is defined, beside its mean
where groups are shuffled.

Figure 19 repairs the logistic regression of course BBB by poverty on another split,
which is not published. Here the repair is fitted to 700 test rows, and its losses
(equations 18 and 19) are those of 700 others, for each of 20 seeds, at the level with
the least fairness loss. The accuracy loss is also that of comparing each label with the
decisions of all people, as happens where NumPy broadcasts an array of shape (n, 1).
"""

from __future__ import annotations

import argparse
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _files import download
from sklearn.model_selection import train_test_split

from skfair.metrics import madd, madd_optimal_bandwidth, permutation_test
from skfair.postprocessing import ScoreRepairer

REPOSITORY = "https://raw.githubusercontent.com/melinaverger/MADD"
FOLDER = "JEDM2024/optimal_bandwidth"
SOURCE = f"{REPOSITORY}/3cc183f893696b239c249a564e6a2d6d76ad99b1/{FOLDER}"
LABELS = (
    f"{REPOSITORY}/c2ebb8a0a0e8030e5869a9c78d71857998137d0b/{FOLDER}/data_courseBBB/"
    "y_test_stClick_7030.csv"
)
#: Rows of the paper's validation, which has about 700, and splits of ours.
N_VALIDATION = 700
SEEDS = range(20)
#: Losses before and after the repair.
PRINTED_LOSSES = {"fairness loss": (0.431, 0.158), "accuracy loss": (0.332, 0.336)}
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
        raise pickle.UnpicklingError(f"{module}.{name} is not part of an array.")


def read_array(path: Path) -> np.ndarray:
    """Read an array from a pickle."""
    with path.open("rb") as file:
        return np.asarray(ArraysOnly(file).load(), float).ravel()


def read_test_rows(course: str) -> pd.DataFrame:
    """Read the attributes of test rows."""
    address = f"{SOURCE}/data_course{course}/X_test_stClick_7030.csv"
    return pd.read_csv(download(address, f"madd_{course}.csv"))


def read_model(course: str, model: str, group: str) -> np.ndarray:
    """Read the array that is published for a model and an attribute."""
    file = f"y_pp_{model}_{group}"
    address = f"{SOURCE}/data_EDM23_{course[0].lower()}/{file}"
    return read_array(download(address, f"madd_{course}_{file}.pickle"))


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


def losses(y: np.ndarray, scores: np.ndarray, groups: np.ndarray) -> tuple[float, ...]:
    """Compute the fairness loss, the accuracy loss, and that of a broadcast."""
    positive = scores >= 0.5
    return (
        madd(None, scores, sensitive_features=groups) / 2,
        np.mean(positive != y),
        np.mean(positive[:, None] != y),
    )


def figure_19() -> None:
    """Print losses before and after the repair, with standard deviations."""
    table = read_test_rows("BBB")
    y = pd.read_csv(download(LABELS, "madd_BBB_labels.csv"))["final_result"].to_numpy()
    groups = table["poverty"].to_numpy()
    published = read_model("BBB", "LR", "poverty")
    scores = np.where(groups == 1, published, 1 - published).clip(0, 1)
    found = []
    for seed in SEEDS:
        rows, others = train_test_split(
            np.arange(len(y)),
            train_size=N_VALIDATION,
            test_size=N_VALIDATION,
            stratify=y,
            random_state=seed,
        )
        path = []
        for level in np.linspace(0, 1, 51):
            repairer = ScoreRepairer(level, ties="random", random_state=0)
            repairer.fit(scores[rows], sensitive_features=groups[rows])
            new = repairer.transform(scores[others], sensitive_features=groups[others])
            path.append(losses(y[others], np.ravel(new), groups[others]))
        found.append([path[0], min(path)])
    means, deviations = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)
    print("| loss | printed | measured |")
    print("|---|---|---|")
    printed = {**PRINTED_LOSSES, "broadcast": PRINTED_LOSSES["accuracy loss"]}
    for column, (name, values) in enumerate(printed.items()):
        measured = " to ".join(
            f"{mean[column]:.3f} ± {deviation[column]:.3f}"
            for mean, deviation in zip(means, deviations, strict=True)
        )
        print(f"| {name} | {values[0]} to {values[1]} | {measured} |")


def tables() -> None:
    """Print tables 3 and 5 in one."""
    print(
        "| course, model, attribute | printed | the same comparison | MADD (chance) |"
    )
    print("|---|---|---|---|")
    for course, models in PRINTED.items():
        table = read_test_rows(course)
        for model, values in models.items():
            for group, (value, left) in zip(GROUPS, values, strict=True):
                measured = cell(
                    table[group].to_numpy(), read_model(course, model, group)
                )
                printed = f"{value:.2f}, [{left:.3f}, ...]"
                print(f"| {course}, {model}, {group} | {printed} | {measured} |")


def main() -> None:
    parts = {"tables": tables, "figure19": figure_19}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=parts, nargs="?", default="tables")
    parts[parser.parse_args().part]()


if __name__ == "__main__":
    main()
